//! Time limits and maximum numbers of a server.

use std::time::Duration;

use crate::command::Command;
use crate::exchange::{KnownCommands, ServerOutcome};
use crate::message::eventpipe::MAX_SESSIONS;

/// A server's time limits for its clients, and how many it serves at once. `None` means no limit.
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
    /// From the start of a connection to the last byte of the request, and to the descriptor.
    /// Runtimes wait forever (F-6).
    pub request: Option<Duration>,
    /// For sending a reply, and each piece of an environment block.
    pub send: Option<Duration>,
    /// For sending each piece of a stream: a client that does not read blocks the handler this
    /// long.
    pub stream: Option<Duration>,
    /// How many requests are served at once; further clients wait to be accepted. A session counts
    /// until its reply is sent.
    pub most_at_once: usize,
    /// The most concurrent sessions; one more is answered with `E_FAIL` (F-32).
    pub most_sessions: usize,
    #[doc(hidden)]
    pub more: (),
}

impl ServeOptions {
    /// 5 s for a request, 5 s to send, 30 s for a piece of a stream; 64 requests at once, and 64
    /// sessions, as in runtimes.
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
/// use dotnet_diagnostics_ipc::io::UnixTransport;
/// use dotnet_diagnostics_ipc::io::server::{Handler, ServeOptions, Served, serve_connection};
///
/// struct Nothing;
/// impl Handler for Nothing {}
///
/// let (_says_nothing, theirs) = UnixStream::pair()?;
/// let options = ServeOptions { request: Some(std::time::Duration::from_millis(10)), ..ServeOptions::DEFAULT };
/// let served = serve_connection(UnixTransport::new(theirs), &Nothing, &options, None)?;
/// assert_eq!(served, Served { command: None, outcome: ServerOutcome::Gone { end: End::TimedOut }, streamed: 0 });
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Served {
    /// The command, if it became known.
    pub command: Option<Command>,
    /// How it ended.
    pub outcome: ServerOutcome,
    /// How many bytes of a stream were sent.
    pub streamed: u64,
}
