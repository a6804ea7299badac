//! A port on a named pipe.

use std::any::Any;
use std::boxed::Box;
use std::io;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;
use std::vec::Vec;

use crate::advertise::ADVERTISE_LEN;
use crate::io::trust::TrustPolicy;
use crate::io::windows::{
    EndpointTransport, Event, PipeListener, PipeMaker, PipeTransport, Watched,
};
use crate::io::{Error, Phase};

/// The number of the listener among the ready ones. Connections have higher numbers.
pub(super) const LISTENER: u64 = 0;

/// How many runtimes can connect before any of them is accepted. A runtime that finds none free
/// retries by itself, some 400 ms later (F-124).
const FREE_PIPES: usize = 4;

pub(super) type Connection = Watched<ADVERTISE_LEN>;

/// Listens so that only this user can connect. A pipe without handles disappears.
pub(super) fn bind_private(
    path: &Path,
    _: TrustPolicy,
) -> Result<(PipeListener, Box<dyn Any + Send + Sync>), Error> {
    let Some(name) = path.to_str() else {
        return Err(Error::new(
            Phase::Listen,
            io::Error::new(io::ErrorKind::InvalidInput, "the pipe name is not Unicode"),
        ));
    };
    Ok((PipeListener::bind(name)?, Box::new(())))
}

/// Returns the transport of a connection that is handed out.
pub(super) fn transport(connection: Connection) -> io::Result<EndpointTransport> {
    PipeTransport::of(connection).map(EndpointTransport::Pipe)
}

/// Wakes a port's thread.
#[derive(Debug)]
pub(super) struct EventWaker(Arc<Event>);

/// The waker of this system.
pub(super) type PollerWaker = EventWaker;

impl EventWaker {
    pub(super) fn wake(&self) {
        self.0.set();
    }
}

/// Pipes that wait for their client, and connected ones.
///
/// Each has at most one operation in flight: the wait for a client, the read of an advertise, or
/// the read that ends with the connection. All operations set the same event when they end; their
/// own memory shows which of them did. Starting an operation resets that event, so none is started
/// between the check of all of them and the wait.
#[derive(Debug)]
pub(super) struct PipePoller {
    maker: PipeMaker,
    free: Vec<Connection>,
    woken: Arc<Event>,
    /// Set by each operation that ends.
    ended: Arc<Event>,
    is_paused: bool,
}

/// The poller of this system.
pub(super) type Poller = PipePoller;

impl PipePoller {
    pub(super) fn new(listener: PipeListener) -> io::Result<(Self, EventWaker)> {
        let woken = Arc::new(Event::for_each_wait()?);
        let ended = Arc::new(Event::for_each_wait()?);
        let (maker, first) = listener.into_parts();
        let free = first.map(|pipe| Watched::new(pipe, &ended)).into_iter().collect();
        let waker = EventWaker(Arc::clone(&woken));
        Ok((Self { maker, free, woken, ended, is_paused: false }, waker))
    }

    /// Fills up the pipes that wait for a client.
    fn make_free(&mut self) -> io::Result<()> {
        while self.free.len() < FREE_PIPES {
            let pipe = self.maker.make()?;
            self.free.push(Watched::new(pipe, &self.ended));
        }
        // A pipe that cannot wait is dropped, to make room for another.
        let mut failed = Ok(());
        self.free.retain_mut(|pipe| match pipe.begin_connect() {
            Ok(()) => true,
            Err(error) => {
                failed = Err(error);
                false
            }
        });
        failed
    }

    pub(super) fn accept(&mut self) -> io::Result<Connection> {
        while let Some(nth) = self.free.iter().position(Watched::is_over) {
            // The other pipes stay in the order in which the system gives them to clients.
            let mut pipe = self.free.remove(nth);
            // The next one is ready before this one is used (F-124).
            let made = self.make_free();
            match pipe.connected() {
                Ok(()) => return Ok(pipe),
                // No client connected: the wait for one failed.
                Err(_) => made?,
            }
        }
        self.make_free()?;
        Err(io::ErrorKind::WouldBlock.into())
    }

    pub(super) fn pause(&mut self) {
        self.is_paused = true;
    }

    pub(super) fn resume(&mut self) -> bool {
        self.is_paused = self.make_free().is_err();
        !self.is_paused
    }

    #[allow(
        clippy::unused_self,
        clippy::unnecessary_wraps,
        reason = "as on Unix, where it can fail"
    )]
    pub(super) fn add(&mut self, _: &Connection, _: u64) -> io::Result<()> {
        Ok(())
    }

    #[allow(clippy::unused_self, reason = "as on Unix")]
    pub(super) fn remove(&mut self, connection: &mut Connection) -> io::Result<()> {
        connection.give_up()
    }

    pub(super) fn wait<'c>(
        &mut self,
        all: impl Iterator<Item = (u64, &'c Connection)>,
        timeout: Option<Duration>,
        ready: &mut Vec<u64>,
    ) -> io::Result<()> {
        // They are not made at creation, because operations end with the thread that started them.
        let has_failed = !self.is_paused && self.make_free().is_err();
        let all: Vec<_> = all.collect();
        let look = |ready: &mut Vec<u64>| {
            if has_failed || (!self.is_paused && self.free.iter().any(Watched::is_over)) {
                ready.push(LISTENER);
            }
            ready.extend(
                all.iter().filter(|(_, connection)| connection.is_over()).map(|(id, _)| *id),
            );
        };
        look(ready);
        if ready.is_empty() {
            Event::wait([&self.woken, &self.ended], timeout)?;
            look(ready);
        }
        Ok(())
    }
}

pub(super) fn read(from: &mut Connection, into: &mut [u8]) -> io::Result<usize> {
    from.read(into)
}

pub(super) fn await_end(connection: &mut Connection) -> io::Result<()> {
    connection.begin_read(1)
}

/// Returns no limit: a process may have sixteen million handles, more than a port allows.
pub(super) fn most_connections() -> usize {
    usize::MAX
}

pub(super) fn most_held() -> usize {
    usize::MAX
}
