//! Listen at a diagnostic port: runtimes connect, send an advertise, and wait for commands.
//!
//! One thread per port accepts connections, reads the advertises and holds the connections. A
//! silent peer costs a descriptor or handle until it times out, and there are at most
//! [`PortOptions::most_silent`] of them.
//!
//! A port is a Unix socket, a named pipe of Windows or, on Unix, a TCP address.

mod options;
mod thread;
#[cfg(unix)]
mod unix;
#[cfg(windows)]
mod windows;

pub use options::{PortCounts, PortOptions};

use std::any::Any;
use std::boxed::Box;
use std::fmt;
use std::io;
#[cfg(unix)]
use std::net::TcpListener;
use std::path::Path;
use std::pin::{Pin, pin};
use std::string::{String, ToString as _};
use std::sync::Arc;
use std::task::{Context, Poll, Wake, Waker};
use std::thread::{Builder, JoinHandle, Thread, current, park, park_timeout};

use thread::{EventKind, NextConnection, PortThread, Shared};
#[cfg(unix)]
use unix::{Poller, PollerWaker, bind_private, transport};
#[cfg(windows)]
use windows::{Poller, PollerWaker, bind_private, transport};

use super::wait::Sleeper;
use super::{Connect, Deadlines, Error, ErrorKind, Phase, WaitLimit};
use crate::advertise::Advertise;
use crate::hresult::HResult;
#[cfg(windows)]
use crate::io::windows::{EndpointTransport as PeerTransport, PipeListener as Listener};
use crate::message::process::ResumeRuntime;
use crate::wire::Guid;
#[cfg(unix)]
use {super::SocketTransport as PeerTransport, std::os::unix::net::UnixListener as Listener};

/// An event of a runtime at a port, returned by [`PortListener::next_event`].
///
/// A port keeps at most one event for each runtime: a newer event replaces an older one that was
/// not returned yet. A runtime that ended before its `New` was returned is not reported.
///
/// Besides the waiting runtimes, a port remembers at most 16,384 others by their cookies: those
/// that may connect again, and those reported as gone, of which it forgets the oldest first. If it
/// can forget none, it disconnects a new runtime, which retries by itself (F-57).
///
/// ```no_run
/// use dotnet_diagnostics_ipc::io::port_listener::{PortEvent, PortListener, PortRuntime};
/// use dotnet_diagnostics_ipc::io::{Error, WaitLimit};
///
/// fn next_new(port: &PortListener) -> Result<PortRuntime, Error> {
///     loop {
///         if let PortEvent::New(runtime) = port.next_event(&WaitLimit::FOREVER)? {
///             return Ok(runtime);
///         }
///     }
/// }
/// ```
#[derive(Clone, Debug)]
pub enum PortEvent {
    /// The runtime connected for the first time, as far as the port remembers its cookie.
    New(PortRuntime),
    /// The runtime connected again, as it does after each command, and its connection waits.
    Again(PortRuntime),
    /// The waiting connection ended, and the runtime has not connected again within
    /// [`PortOptions::reconnect`], so it has exited. If its connection was taken, it has 10 minutes,
    /// because it may write a dump meanwhile. If it connects after all, that is
    /// [`Again`](Self::Again).
    Gone(PortRuntime),
}

/// A diagnostic port on which this process listens. [`close`](Self::close) or a drop closes it, and
/// removes its socket.
///
/// ```no_run
/// use dotnet_diagnostics_ipc::io::port_listener::{PortEvent, PortListener, PortOptions};
/// use dotnet_diagnostics_ipc::io::{Client, WaitLimit};
///
/// // And then, elsewhere: DOTNET_DiagnosticPorts=/run/me/port dotnet app.dll
/// let port = PortListener::bind("/run/me/port", PortOptions::DEFAULT)?;
/// while let PortEvent::New(runtime) = port.next_event(&WaitLimit::FOREVER)? {
///     println!("process {} waits", runtime.process_id());
///     let client = Client::new(runtime.clone()); // each call takes the next connection of this runtime
///     let info = client.process_info2()?;
///     runtime.resume(&WaitLimit::FOREVER)?;
/// }
/// # Ok::<(), dotnet_diagnostics_ipc::io::Error>(())
/// ```
#[must_use = "dropping it closes the port"]
pub struct PortListener {
    shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
    /// Removes the socket on drop, if there is one.
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
    /// Fails in [`Phase::Listen`].
    pub fn bind(path: impl AsRef<Path>, options: PortOptions) -> Result<Self, Error> {
        let (listener, path) = bind_private(path.as_ref(), options.trust)?;
        Self::start(path, options, Poller::new(listener))
    }

    /// Listens on a socket or pipe made by the caller. The caller controls its permissions and its
    /// removal.
    ///
    /// # Errors
    /// Fails in [`Phase::Listen`].
    pub fn on(listener: Listener, options: PortOptions) -> Result<Self, Error> {
        Self::start(Box::new(()), options, Poller::new(listener))
    }

    /// Listens on TCP, where the router of a device or its application connects.
    ///
    /// ```no_run
    /// use dotnet_diagnostics_ipc::io::bind_tcp;
    /// use dotnet_diagnostics_ipc::io::port_listener::{PortListener, PortOptions};
    ///
    /// // And then, for an emulator of Android: DOTNET_DiagnosticPorts=10.0.2.2:9000,suspend
    /// let options = PortOptions::DEFAULT;
    /// let port = PortListener::on_tcp(bind_tcp(([127, 0, 0, 1], 9000), options.trust)?, options)?;
    /// # Ok::<(), dotnet_diagnostics_ipc::io::Error>(())
    /// ```
    ///
    /// # Errors
    /// Fails in [`Phase::Listen`].
    #[cfg(unix)]
    pub fn on_tcp(listener: TcpListener, options: PortOptions) -> Result<Self, Error> {
        Self::start(Box::new(()), options, Poller::new(unix::Listener::Tcp(listener)))
    }

    fn start(
        path: Box<dyn Any + Send + Sync>,
        options: PortOptions,
        poller: io::Result<(Poller, PollerWaker)>,
    ) -> Result<Self, Error> {
        let start = || -> io::Result<_> {
            let (poller, waker) = poller?;
            let shared = Arc::new(Shared::new(waker));
            let thread = PortThread::new(poller, Arc::clone(&shared), options);
            let name = String::from("diagnostic port");
            Ok((shared, Builder::new().name(name).spawn(move || thread.run())?))
        };
        let (shared, thread) = start().map_err(|error| Error::new(Phase::Listen, error))?;
        Ok(Self { shared, thread: Some(thread), _path: path })
    }

    /// Waits for the next event. Each event is returned once, to one caller.
    ///
    /// # Errors
    /// [`ErrorKind::TimedOut`] and [`ErrorKind::Cancelled`] by `until`.
    pub fn next_event(&self, until: &WaitLimit<'_>) -> Result<PortEvent, Error> {
        block_on(self.next_event_async(), until)
            .map_err(|ended| Error::new(Phase::Connect, ended))?
    }

    /// Waits as [`next_event`](Self::next_event) does, with `async`. The port's thread wakes the
    /// future, so any async runtime works. Dropping the future ends the wait and loses no event.
    ///
    /// ```no_run
    /// use dotnet_diagnostics_ipc::io::port_listener::{PortEvent, PortListener};
    ///
    /// async fn print_new(port: &PortListener) -> Result<(), dotnet_diagnostics_ipc::io::Error> {
    ///     while let PortEvent::New(runtime) = port.next_event_async().await? {
    ///         println!("process {} waits", runtime.process_id());
    ///     }
    ///     Ok(())
    /// }
    /// ```
    ///
    /// # Errors
    /// [`ErrorKind::NotFound`] if the port's thread has ended.
    pub async fn next_event_async(&self) -> Result<PortEvent, Error> {
        NextEvent { shared: &self.shared, wait: None }.await
    }

    /// Closes the port, and waits until its thread has ended; a drop does the same, silently.
    /// Runtimes that wait are disconnected, and connect again by themselves (F-57).
    ///
    /// # Errors
    /// Fails in [`Phase::Listen`] if the thread had panicked.
    pub fn close(mut self) -> Result<(), Error> {
        self.end().map_err(|_| {
            Error::new(Phase::Listen, io::Error::other("the thread of the port has panicked"))
        })
    }

    fn end(&mut self) -> std::thread::Result<()> {
        self.shared.close();
        self.thread.take().map_or(Ok(()), JoinHandle::join)
    }

    /// Returns the port's counters.
    pub fn counts(&self) -> PortCounts {
        self.shared.lock().counts
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

/// A runtime connected to a [`PortListener`]. Connecting to it takes its next connection, so a
/// [`Client`](crate::io::Client) works as with a socket or pipe.
///
/// ```no_run
/// use dotnet_diagnostics_ipc::io::Client;
/// use dotnet_diagnostics_ipc::io::port_listener::PortRuntime;
///
/// fn command_line(runtime: &PortRuntime) -> Result<String, Box<dyn std::error::Error>> {
///     let answer = Client::new(runtime.clone()).process_info()?;
///     Ok(answer.payload().map(|info| info.command_line.to_string()).unwrap_or_default())
/// }
/// ```
#[derive(Clone)]
pub struct PortRuntime {
    shared: Arc<Shared>,
    advertise: Advertise,
}

impl PortRuntime {
    /// Returns the advertise of the runtime.
    pub const fn advertise(&self) -> Advertise {
        self.advertise
    }

    /// Returns the cookie, which identifies the runtime.
    pub const fn cookie(&self) -> Guid {
        self.advertise.runtime_cookie
    }

    /// Returns the process id of the runtime, in its own pid namespace.
    pub const fn process_id(&self) -> u64 {
        self.advertise.process_id
    }

    /// Resumes the runtime if it waits on this port; otherwise does nothing (F-42). This takes the
    /// runtime's next connection.
    ///
    /// `until` limits the wait for the connection; the request uses [`Deadlines::DEFAULT`].
    ///
    /// # Errors
    /// Fails as every call may.
    pub fn resume(&self, until: &WaitLimit<'_>) -> Result<HResult, Error> {
        let mut connection =
            super::Connection::new(self.connect(until)?).with_deadlines(Deadlines::DEFAULT);
        if let Some(canceller) = until.canceller {
            connection = connection.with_canceller(canceller.clone());
        }
        connection.call(&ResumeRuntime {}).map(|answer| answer.result())
    }

    /// Waits for the runtime's next connection. If the future is dropped just as a connection
    /// arrives, the connection is closed, and the runtime connects again (F-57).
    pub(super) async fn next_connection(&self) -> Result<PeerTransport, Error> {
        let next = NextConnection { shared: &self.shared, cookie: self.cookie(), request: None };
        let connection = next.await.ok_or_else(closed)?;
        transport(connection).map_err(|error| Error::new(Phase::Connect, error))
    }
}

impl Connect for PortRuntime {
    type Transport = PeerTransport;

    fn connect(&self, until: &WaitLimit<'_>) -> Result<PeerTransport, Error> {
        block_on(self.next_connection(), until)
            .map_err(|ended| Error::new(Phase::Connect, ended))?
    }
}

impl fmt::Debug for PortRuntime {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PortRuntime").field("advertise", &self.advertise).finish_non_exhaustive()
    }
}

fn closed() -> Error {
    Error::new(Phase::Connect, ErrorKind::NotFound("the diagnostic port".to_string()))
}

/// A wait for an event.
struct NextEvent<'p> {
    shared: &'p Arc<Shared>,
    /// The number of this wait, once it waits.
    wait: Option<u64>,
}

impl Future for NextEvent<'_> {
    type Output = Result<PortEvent, Error>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let mut state = self.shared.lock();
        self.wait.take().map(|wait| state.waits.remove(&wait));
        if let Some((what, advertise)) = state.runtimes.next_event() {
            let runtime = PortRuntime { shared: Arc::clone(self.shared), advertise };
            return Poll::Ready(Ok(match what {
                EventKind::New => PortEvent::New(runtime),
                EventKind::Again => PortEvent::Again(runtime),
                EventKind::Gone => PortEvent::Gone(runtime),
            }));
        }
        if !state.is_open {
            return Poll::Ready(Err(closed()));
        }
        self.wait = Some(state.add_wait(context.waker()));
        Poll::Pending
    }
}

impl Drop for NextEvent<'_> {
    fn drop(&mut self) {
        let Some(wait) = self.wait else { return };
        let mut state = self.shared.lock();
        // This wait was woken for an event that another wait can take.
        let next = if state.waits.remove(&wait).is_none() { state.next_woken() } else { None };
        drop(state);
        next.into_iter().for_each(Waker::wake);
    }
}

/// A thread that waits for a future.
struct Parked(Thread);

impl Wake for Parked {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }
}

impl Sleeper for Parked {
    fn wake(&self) {
        self.0.unpark();
    }
}

/// Waits for a future. A result that arrives at the last moment is not lost.
fn block_on<T>(future: impl Future<Output = T>, until: &WaitLimit<'_>) -> Result<T, ErrorKind> {
    let parked = Arc::new(Parked(current()));
    let waker = Waker::from(Arc::clone(&parked));
    if let Some(canceller) = until.canceller {
        let sleeper: Arc<dyn Sleeper> = parked;
        canceller.wakes(Arc::downgrade(&sleeper));
    }
    let mut future = pin!(future);
    loop {
        if let Poll::Ready(result) = future.as_mut().poll(&mut Context::from_waker(&waker)) {
            return Ok(result);
        }
        until.check()?;
        match until.left() {
            None => park(),
            Some(left) => park_timeout(left),
        }
    }
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;
    use std::io::Write as _;
    use std::os::unix::net::UnixStream;
    use std::time::{Duration, Instant};
    use std::vec::Vec;

    use crate::io::Transport as _;

    /// Tests the poller without `epoll`; the other tests use the poller of this system.
    #[test]
    fn port_works_with_poll() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("port");
        let listener = Listener::bind(&path).unwrap();
        let options = PortOptions {
            advertise: Duration::from_secs(1),
            most_silent: 3,
            reconnect: Duration::ZERO,
            ..PortOptions::DEFAULT
        };
        let port = PortListener::start(Box::new(()), options, Poller::with_poll(listener)).unwrap();
        let until = WaitLimit {
            deadline: Instant::now().checked_add(Duration::from_secs(10)),
            canceller: None,
        };
        let counted = |done: fn(PortCounts) -> bool| {
            while !done(port.counts()) {
                until.check().unwrap();
                std::thread::sleep(Duration::from_millis(5));
            }
        };
        let silent: Vec<_> = (0..5).map(|_| UnixStream::connect(&path).unwrap()).collect();
        counted(|counts| (counts.silent_dropped, counts.silent_timed_out) == (2, 3));
        let come = |process_id| {
            let runtime_cookie = Guid::from_bytes([process_id; 16]);
            let advertise = Advertise { runtime_cookie, process_id: process_id.into(), future: 0 };
            let (mut stream, bytes) = (UnixStream::connect(&path).unwrap(), advertise.to_bytes());
            stream.write_all(&bytes[..20]).unwrap();
            std::thread::sleep(Duration::from_millis(10));
            stream.write_all(&bytes[20..]).unwrap();
            let event = port.next_event(&until).unwrap();
            let PortEvent::New(runtime) = event else { panic!("{event:?}") };
            assert_eq!(runtime.advertise(), advertise);
            (stream, runtime)
        };
        let (mut first, runtime) = come(1);
        drop(come(2));
        let event = port.next_event(&until).unwrap();
        assert!(matches!(event, PortEvent::Gone(runtime) if runtime.process_id() == 2));
        let mut transport = runtime.connect(&until).unwrap();
        // Bytes on a connection that was handed out belong to the caller.
        first.write_all(b"reply").unwrap();
        std::thread::sleep(Duration::from_millis(50));
        assert_eq!(transport.receive(&mut [0; 8], &until).unwrap(), 5);
        counted(|counts| (counts.held, counts.ended_waiting, counts.handed_out) == (0, 1, 1));
        drop(silent);
    }
}
