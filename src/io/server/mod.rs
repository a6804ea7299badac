//! Serve the protocol over real sockets, with deadlines and a handler that has a method for each
//! command.
//!
//! Unlike a runtime, a server of this module does not block forever on half a request (F-6), or on
//! a client that does not read. It answers errors as runtimes do.
//!
//! | | |
//! |---|---|
//! | [`Handler`] | the server's implementation |
//! | [`serve`] | many clients: a thread each, or one after another as in runtimes ([`ServeOptions::most_at_once`]) |
//! | [`serve_connection`] | one connection of any kind |
//! | [`StreamSession`], [`HeldSession`], [`Entries`] | what follows a reply |
//! | [`Listen`] | a source of connections |
//!
//! ```
//! use std::os::unix::net::UnixListener;
//! use dotnet_diagnostics_ipc::hresult::HResult;
//! use dotnet_diagnostics_ipc::io::server::{Handler, ServeOptions, StreamSession, serve};
//! use dotnet_diagnostics_ipc::io::{Canceller, Client, Endpoint};
//! use dotnet_diagnostics_ipc::message::eventpipe::{CollectTracing2, EventLevel, Format, ProviderConfig};
//! use dotnet_diagnostics_ipc::wire::Array;
//! use std::io::{Read as _, Write as _};
//!
//! struct Runtime;
//! impl Handler for Runtime {
//!     fn collect_tracing2(&self, _: CollectTracing2<'_>) -> Result<StreamSession<'_>, HResult> {
//!         Ok(StreamSession::new(1, |stream| stream.write_all(b"Nettrace")))
//!     }
//! }
//!
//! let directory = tempfile::tempdir()?;
//! let path = directory.path().join("socket");
//! let (listener, shutdown) = (UnixListener::bind(&path)?, Canceller::new()?);
//! let mut stream = Vec::new();
//! std::thread::scope(|scope| {
//!     scope.spawn(|| serve(&listener, &Runtime, &ServeOptions::DEFAULT, &shutdown));
//!     let providers = [ProviderConfig::new("Provider", 0, EventLevel::VERBOSE)];
//!     let request = CollectTracing2 {
//!         circular_buffer_mb: 1, format: Format::NET_TRACE, request_rundown: false, providers: Array::new(&providers),
//!     };
//!     let streamed = Client::new(Endpoint::socket(&path)).trace(&request).map(|mut trace| trace.read_to_end(&mut stream));
//!     shutdown.cancel();
//!     streamed
//! })??;
//! assert_eq!(stream, b"Nettrace");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod connection;
mod handler;

use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

pub use connection::{serve, serve_connection, serve_with};
pub use handler::{
    Entries, Handler, HeldConnection, HeldSession, Refusal, StreamSession, StreamWriter,
};

use super::{Error, Transport, WaitLimit};
use crate::command::Command;
use crate::exchange::{KnownCommands, ServerOutcome};
use crate::message::eventpipe::MAX_SESSIONS;

/// A server's limits: how long it waits for clients, and how many it serves at once. `None` means
/// no limit.
///
/// ```
/// use dotnet_diagnostics_ipc::io::server::ServeOptions;
///
/// // One after another, as runtimes do: a client that sends half a request blocks the others (F-6), here for 5 s at most.
/// let as_runtimes = ServeOptions { most_at_once: 1, ..ServeOptions::DEFAULT };
/// # let _ = as_runtimes;
/// ```
#[derive(Clone, Copy, Debug)]
pub struct ServeOptions {
    /// The commands that the server knows; it answers the others with `UNKNOWN_COMMAND`.
    pub commands: KnownCommands,
    /// The time from the start of a connection to the last byte of the request, and to the
    /// descriptor. Runtimes wait forever (F-6).
    pub request: Option<Duration>,
    /// The time for sending a reply, and each piece of an environment block.
    pub send: Option<Duration>,
    /// The time for sending each piece of a stream. A client that does not read blocks the handler
    /// this long.
    pub stream: Option<Duration>,
    /// The maximum number of requests that are served at once; further clients wait to be accepted.
    /// A session counts until its reply is sent.
    pub most_at_once: usize,
    /// The maximum number of concurrent sessions; one more is answered with `E_FAIL` (F-32).
    pub most_sessions: usize,
    #[doc(hidden)]
    pub more: (),
}

impl ServeOptions {
    /// The default limits: 5 s for a request, 5 s to send, 30 s for a piece of a stream; 64
    /// requests at once, and 64 sessions, as in runtimes.
    pub const DEFAULT: Self = Self {
        commands: KnownCommands::All,
        request: Some(Duration::from_secs(5)),
        send: Some(Duration::from_secs(5)),
        stream: Some(Duration::from_secs(30)),
        most_at_once: 64,
        most_sessions: MAX_SESSIONS,
        more: (),
    };
}

impl Default for ServeOptions {
    fn default() -> Self {
        Self::DEFAULT
    }
}

/// The outcome of one connection.
///
/// ```
/// use std::os::unix::net::UnixStream;
/// use dotnet_diagnostics_ipc::exchange::{End, ServerOutcome};
/// use dotnet_diagnostics_ipc::io::SocketTransport;
/// use dotnet_diagnostics_ipc::io::server::{Handler, ServeOptions, Served, serve_connection};
///
/// struct Nothing;
/// impl Handler for Nothing {}
///
/// let (_says_nothing, theirs) = UnixStream::pair()?;
/// let options = ServeOptions { request: Some(std::time::Duration::from_millis(10)), ..ServeOptions::DEFAULT };
/// let served = serve_connection(SocketTransport::new(theirs), &Nothing, &options, None)?;
/// assert_eq!(served, Served { command: None, outcome: ServerOutcome::Gone { end: End::TimedOut }, streamed: 0 });
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Served {
    /// The command, if it became known.
    pub command: Option<Command>,
    /// How the connection ended.
    pub outcome: ServerOutcome,
    /// How many bytes of a stream were sent.
    pub streamed: u64,
}

/// A source of connections.
pub trait Listen {
    /// The connection type.
    type Transport: Transport;

    /// Waits for the next client.
    ///
    /// # Errors
    /// Fails in [`Phase::Listen`](crate::io::Phase::Listen). It can be called again after
    /// [`TimedOut`](crate::io::ErrorKind::TimedOut) and
    /// [`Cancelled`](crate::io::ErrorKind::Cancelled), which `until` causes.
    fn accept(&mut self, until: &WaitLimit<'_>) -> Result<Self::Transport, Error>;
}

impl<L: Listen + ?Sized> Listen for &mut L {
    type Transport = L::Transport;

    fn accept(&mut self, until: &WaitLimit<'_>) -> Result<Self::Transport, Error> {
        (**self).accept(until)
    }
}

/// Limits how many threads hold a [`Permit`] at once.
#[derive(Debug)]
struct Semaphore {
    free: Mutex<usize>,
    released: Condvar,
}

/// Held by a request or a session; released on drop.
#[derive(Debug)]
struct Permit<'s>(&'s Semaphore);

impl Semaphore {
    const fn new(permits: usize) -> Self {
        Self { free: Mutex::new(permits), released: Condvar::new() }
    }

    fn free(&self) -> MutexGuard<'_, usize> {
        self.free.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits for a permit.
    fn acquire(&self) -> Permit<'_> {
        let free = self.released.wait_while(self.free(), |free| *free == 0);
        let mut free = free.unwrap_or_else(PoisonError::into_inner);
        *free = free.saturating_sub(1);
        Permit(self)
    }

    /// Takes a permit, if one is free.
    fn try_acquire(&self) -> Option<Permit<'_>> {
        let mut free = self.free();
        *free = free.checked_sub(1)?;
        Some(Permit(self))
    }
}

impl Drop for Permit<'_> {
    fn drop(&mut self) {
        let mut free = self.0.free();
        *free = free.saturating_add(1);
        self.0.released.notify_one();
    }
}
