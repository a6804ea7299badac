//! Listen at a diagnostic port: runtimes connect, send an advertise, and wait for commands.
//!
//! One thread per port accepts connections, reads the advertises and holds the connections. A
//! silent peer costs a descriptor or handle until it times out, and there are at most
//! [`PortOptions::most_silent`] of them.
//!
//! A port is a Unix socket or a named pipe of Windows; everything else is the same.

//! # Example
//!
//! Listen at a port, and resume the runtime that connects:
//!
//! ```no_run
//! use dotnet_diagnostics_ipc::io::Until;
//! use dotnet_diagnostics_ipc::io::port_listener::{PortListener, PortOptions, RuntimeFilter};
//!
//! // And then, elsewhere: DOTNET_DiagnosticPorts=/run/me/port dotnet app.dll
//! let port = PortListener::bind("/run/me/port", PortOptions::DEFAULT)?;
//! let runtime = port.wait_for(RuntimeFilter::Any, &Until::FOREVER)?;
//! println!("process {} waits", runtime.process_id());
//! runtime.resume(&Until::FOREVER)?;
//! # Ok::<(), dotnet_diagnostics_ipc::io::Error>(())
//! ```

mod ask;
mod options;
mod pump;
#[cfg(unix)]
mod readiness;
mod runtime;
mod system;
#[cfg(unix)]
mod unix;
#[cfg(windows)]
mod windows;

pub use options::{PortCounts, PortOptions, RuntimeFilter};
pub use runtime::PortRuntime;

use std::any::Any;
use std::boxed::Box;
use std::fmt;
use std::hash::{BuildHasher as _, RandomState};
use std::io;
use std::path::Path;
use std::string::{String, ToString as _};
use std::sync::Arc;
use std::thread::{self, JoinHandle};
use std::vec::Vec;

use ask::{Ask, Giver, Queue};
use pump::Pump;
use system::System;
#[cfg(unix)]
use unix::{Connection, Woken, bind_private, transport};
#[cfg(windows)]
use windows::{Connection, Pipes, Woken, bind_private, transport};

use super::{Error, ErrorKind, Phase, Until};
use crate::advertise::Advertise;
#[cfg(windows)]
use crate::io::windows::{PipeListener as Listener, PipeTransport as PeerTransport};
#[cfg(unix)]
use {
    super::UnixTransport as PeerTransport, readiness::Best,
    std::os::unix::net::UnixListener as Listener,
};

#[cfg(unix)]
type Peers = unix::Sockets<Best>;
#[cfg(windows)]
type Peers = Pipes;

/// What callers ask the port's thread.
type Questions = Queue<Connection>;

/// A diagnostic port on which this process listens. [`close`](Self::close) or a drop closes it, and
/// removes its socket.
///
/// ```no_run
/// use dotnet_diagnostics_ipc::io::port_listener::{PortListener, PortOptions, RuntimeFilter};
/// use dotnet_diagnostics_ipc::io::{Client, Until};
///
/// // And then, elsewhere: DOTNET_DiagnosticPorts=/run/me/port dotnet app.dll
/// let port = PortListener::bind("/run/me/port", PortOptions::DEFAULT)?;
/// let runtime = port.wait_for(RuntimeFilter::Any, &Until::FOREVER)?;
/// println!("process {} waits", runtime.process_id());
///
/// let client = Client::new(runtime.clone()); // each call takes the next connection of this runtime
/// let info = client.process_info2()?;
/// runtime.resume(&Until::FOREVER)?;
/// # Ok::<(), dotnet_diagnostics_ipc::io::Error>(())
/// ```
#[must_use = "dropping it closes the port"]
pub struct PortListener {
    queue: Arc<Questions>,
    thread: Option<JoinHandle<()>>,
    /// Removes the socket, if there is one.
    _path: Box<dyn Any + Send + Sync>,
}

impl PortListener {
    /// Listens so that only this user can connect.
    ///
    /// - On Unix: on a socket with mode 0600, in a directory of 0700 that is created if missing.
    ///   Our own socket without a listener is replaced; anything else there is an error.
    /// - On Windows: on a pipe of that name, with or without `\\\\.\pipe\`, open to this user,
    ///   administrators and the system, and to no other machine. A runtime needs only the name:
    ///   `DOTNET_DiagnosticPorts=NAME` (F-124).
    ///
    /// # Errors
    /// [`Phase::Listen`].
    pub fn bind(path: impl AsRef<Path>, options: PortOptions) -> Result<Self, Error> {
        let (listener, path) = bind_private(path.as_ref())?;
        Self::start(listener, path, options, Peers::new)
    }

    /// Listens on a socket or pipe made by the caller. The caller controls its permissions and its
    /// removal.
    ///
    /// # Errors
    /// [`Phase::Listen`].
    pub fn on(listener: Listener, options: PortOptions) -> Result<Self, Error> {
        Self::start(listener, Box::new(()), options, Peers::new)
    }

    fn start<S: System<Connection = Connection>>(
        listener: Listener,
        path: Box<dyn Any + Send + Sync>,
        options: PortOptions,
        system: impl FnOnce(Listener, Woken) -> io::Result<S>,
    ) -> Result<Self, Error> {
        let start = || -> io::Result<_> {
            let (queue, woken) = Queue::new()?;
            let queue = Arc::new(queue);
            let pump = Pump::new(system(listener, woken)?, Arc::clone(&queue), options, seed())?;
            let thread = thread::Builder::new()
                .name(String::from("diagnostic port"))
                .spawn(move || pump.run())?;
            Ok((queue, thread))
        };
        let (queue, thread) = start().map_err(|error| Error::new(Phase::Listen, error))?;
        Ok(Self { queue, thread: Some(thread), _path: path })
    }

    /// Waits for a matching runtime, and returns its advertise. Its connection stays, for the
    /// [`PortRuntime`].
    ///
    /// A waiting runtime is found again; [`RuntimeFilter::NotAmong`] finds others.
    ///
    /// # Errors
    /// [`ErrorKind::TimedOut`] and [`ErrorKind::Cancelled`] by `until`.
    pub fn wait_for(&self, which: RuntimeFilter, until: &Until<'_>) -> Result<PortRuntime, Error> {
        find(&self.queue, which, until)
    }

    /// `wait_for` on another thread.
    #[cfg(all(unix, feature = "tokio"))]
    pub(super) fn waiter(
        &self,
        which: RuntimeFilter,
    ) -> impl FnOnce(&Until<'_>) -> Result<PortRuntime, Error> + Send + use<> {
        let queue = Arc::clone(&self.queue);
        move |until| find(&queue, which, until)
    }

    /// Waits for a connection of a matching runtime, and returns it: it is good for one request.
    ///
    /// # Errors
    /// [`ErrorKind::TimedOut`] and [`ErrorKind::Cancelled`] by `until`.
    pub fn take(
        &self,
        which: RuntimeFilter,
        until: &Until<'_>,
    ) -> Result<(Advertise, PeerTransport), Error> {
        take(&self.queue, which, until)
    }

    /// The waiting runtimes, in the order in which their advertises were read.
    ///
    /// # Errors
    /// [`ErrorKind::NotFound`] if the port's thread has ended.
    pub fn waiting(&self) -> Result<Vec<PortRuntime>, Error> {
        let all = question(&self.queue, &Until::FOREVER, Ask::List)?;
        Ok(all
            .into_iter()
            .map(|advertise| PortRuntime { queue: Arc::clone(&self.queue), advertise })
            .collect())
    }

    /// Closes the port, and waits until its thread has ended; a drop does the same, silently.
    /// Runtimes that wait are disconnected, and connect again by themselves (F-57).
    ///
    /// # Errors
    /// [`Phase::Listen`] if the thread had panicked.
    pub fn close(mut self) -> Result<(), Error> {
        self.end().map_err(|_| {
            Error::new(Phase::Listen, io::Error::other("the thread of the port has panicked"))
        })
    }

    fn end(&mut self) -> thread::Result<()> {
        self.queue.close();
        self.thread.take().map_or(Ok(()), JoinHandle::join)
    }

    /// The port's counters.
    ///
    /// # Errors
    /// [`ErrorKind::NotFound`] if the port's thread has ended.
    pub fn counts(&self) -> Result<PortCounts, Error> {
        question(&self.queue, &Until::FOREVER, Ask::Counts)
    }
}

impl Drop for PortListener {
    fn drop(&mut self) {
        // A panic was reported when it happened.
        let _ = self.end();
    }
}

impl fmt::Debug for PortListener {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PortListener").finish_non_exhaustive()
    }
}

/// Asks the thread, and waits for its answer.
fn question<T: Send + 'static>(
    queue: &Questions,
    until: &Until<'_>,
    ask: impl FnOnce(Giver<T>) -> Ask<Connection>,
) -> Result<T, Error> {
    let (answer, giver) = ask::answer();
    queue.put(ask(giver));
    match answer.wait(until) {
        Ok(Some(answer)) => Ok(answer),
        Ok(None) => {
            Err(Error::new(Phase::Connect, ErrorKind::NotFound("the diagnostic port".to_string())))
        }
        Err(stopped) => Err(stopped.during(Phase::Connect)),
    }
}

/// Waits for a matching runtime.
fn find(
    queue: &Arc<Questions>,
    which: RuntimeFilter,
    until: &Until<'_>,
) -> Result<PortRuntime, Error> {
    let advertise = question(queue, until, |giver| Ask::Find(which, giver))?;
    Ok(PortRuntime { queue: Arc::clone(queue), advertise })
}

fn take(
    queue: &Questions,
    which: RuntimeFilter,
    until: &Until<'_>,
) -> Result<(Advertise, PeerTransport), Error> {
    let (advertise, connection) = question(queue, until, |giver| Ask::Take(which, giver))?;
    let transport = transport(connection).map_err(|error| Error::new(Phase::Connect, error))?;
    Ok((advertise, transport))
}

/// Bits that no peer knows: the standard library's seed for maps.
fn seed() -> u128 {
    let [low, high] = [0u8, 1].map(|half| u128::from(RandomState::new().hash_one(half)));
    high << 64 | low
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;
    use std::io::Write as _;
    use std::os::unix::net::UnixStream;
    use std::time::{Duration, Instant};

    use crate::wire::Guid;
    use readiness::{Poll, Readiness};
    use unix::Sockets;

    /// The `poll` variant, for systems with nothing better.
    fn comes_goes_and_is_handed_out<R: Readiness>() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("port");
        let options = PortOptions {
            advertise: Duration::from_secs(2),
            most_silent: 3,
            ..PortOptions::DEFAULT
        };
        let port = PortListener::start(
            Listener::bind(&path).unwrap(),
            Box::new(()),
            options,
            Sockets::<R>::new,
        )
        .unwrap();
        let until = Until {
            deadline: Instant::now().checked_add(Duration::from_secs(10)),
            canceller: None,
        };
        let counted = |done: fn(PortCounts) -> bool| {
            while !done(port.counts().unwrap()) {
                until.check().unwrap();
                thread::sleep(Duration::from_millis(5));
            }
        };
        let advertise = |process_id| Advertise {
            runtime_cookie: Guid::from_bytes([process_id; 16]),
            process_id: process_id.into(),
            future: 0,
        };
        let silent: Vec<_> = (0..5).map(|_| UnixStream::connect(&path).unwrap()).collect();
        counted(|counts| (counts.silent_dropped, counts.silent_timed_out) == (2, 3));
        let come = |process_id| {
            let mut stream = UnixStream::connect(&path).unwrap();
            let bytes = advertise(process_id).to_bytes();
            let (first, second) = bytes.split_at(20);
            stream.write_all(first).unwrap();
            thread::sleep(Duration::from_millis(10));
            stream.write_all(second).unwrap();
            stream
        };
        let mut streams = [come(1), come(2), come(3)].map(Some);
        counted(|counts| counts.held == 3);
        streams[1] = None;
        counted(|counts| (counts.held, counts.ended_waiting) == (2, 1));
        let (taken, mut transport) = port.take(RuntimeFilter::Process(3), &until).unwrap();
        assert_eq!(taken, advertise(3));
        // Bytes on a connection that was handed out belong to the caller.
        streams[2].as_mut().unwrap().write_all(b"reply").unwrap();
        thread::sleep(Duration::from_millis(50));
        let mut bytes = [0; 8];
        assert_eq!(crate::io::Transport::receive(&mut transport, &mut bytes, &until).unwrap(), 5);
        assert_eq!(port.waiting().unwrap().len(), 1);
        drop(silent);
    }

    #[test]
    fn waiting_works_with_poll() {
        comes_goes_and_is_handed_out::<Poll>();
    }

    #[test]
    fn waiting_works_with_best_of_system() {
        comes_goes_and_is_handed_out::<Best>();
    }

    /// An answer without a waiting caller goes back into the table.
    #[test]
    fn answer_is_delivered_or_returned() {
        let (answer, giver) = ask::answer::<u32>();
        assert_eq!(giver.give(1), Ok(()));
        assert_eq!(answer.wait(&Until::FOREVER).unwrap(), Some(1));
        let (answer, giver) = ask::answer::<u32>();
        assert!(answer.wait(&Until { deadline: Some(Instant::now()), canceller: None }).is_err());
        assert_eq!(giver.give(1), Err(1));
        let (answer, giver) = ask::answer::<u32>();
        drop(giver);
        assert_eq!(answer.wait(&Until::FOREVER).unwrap(), None);
        // Answered at the last moment.
        let (answer, giver) = ask::answer::<u32>();
        giver.give(1).unwrap();
        assert_eq!(
            answer.wait(&Until { deadline: Some(Instant::now()), canceller: None }).unwrap(),
            Some(1)
        );
    }
}
