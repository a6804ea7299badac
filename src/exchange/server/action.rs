//! Actions and outcomes of a server exchange.

use core::ops::Range;

use super::super::End;
use super::RefusalReason;
use crate::hresult::HResult;

/// What a [`Server`](super::Server) asks for.
///
/// ```
/// use dotnet_diagnostics_ipc::exchange::{Server, ServerAction};
///
/// assert_eq!(Server::new().action(), ServerAction::Receive(0..20));
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[must_use = "the exchange advances only when the action is done"]
pub enum ServerAction {
    /// Read into this range of the buffer, and no more; then
    /// [`Server::received`](super::Server::received), or [`Server::ended`](super::Server::ended).
    Receive(Range<usize>),
    /// The request is this range of the buffer: read it with
    /// [`Server::request`](super::Server::request).
    Decode(Range<usize>),
    /// Receive one byte and the descriptor with it; then
    /// [`Server::fd_received`](super::Server::fd_received), or
    /// [`Server::fd_missing`](super::Server::fd_missing) if the byte had no descriptor, or
    /// [`Server::ended`](super::Server::ended).
    ReceiveFd,
    /// Execute the request, then [`Server::respond`](super::Server::respond) or
    /// [`Server::refuse`](super::Server::refuse).
    Respond,
    /// The request is refused for this reason: [`Server::refuse`](super::Server::refuse), usually
    /// with [`RefusalReason::hresult`].
    Refuse(RefusalReason),
    /// Write this range of the buffer, or some of it; then [`Server::sent`](super::Server::sent),
    /// or [`Server::send_failed`](super::Server::send_failed).
    Send(Range<usize>),
    /// Put the next bytes of the stream or environment block at the front of the buffer, then
    /// [`Server::piece`](super::Server::piece); or
    /// [`Server::continuation_ended`](super::Server::continuation_ended).
    Continue {
        /// How many bytes of the environment block are left; `None` for a stream.
        left: Option<u32>,
    },
    /// Keep the connection until the client hangs up, then [`Server::ended`](super::Server::ended):
    /// a `user_events` session lasts that long. A half-close does not count (F-23).
    Hold,
    /// Close the connection, then [`Server::closed`](super::Server::closed).
    Close,
    /// The exchange is over.
    Finished(ServerOutcome),
}

/// The outcome of a connection on the runtime's side.
///
/// ```
/// use dotnet_diagnostics_ipc::exchange::{End, Server, ServerAction, ServerOutcome};
///
/// let mut server = Server::new();
/// server.ended(End::Reset)?;
/// assert_eq!(server.action(), ServerAction::Close);
/// server.closed()?;
/// assert_eq!(server.action(), ServerAction::Finished(ServerOutcome::Gone { end: End::Reset }));
/// # Ok::<(), dotnet_diagnostics_ipc::exchange::MisuseError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ServerOutcome {
    /// The reply was sent, and everything after it.
    Answered,
    /// An error was sent.
    Refused(HResult),
    /// The environment block was interrupted by an error (F-43).
    BrokenOff(HResult),
    /// The request has `size` bytes, which exceeds the buffer. Its header is in the buffer, the
    /// rest is unread: [`Server::enlarged`](super::Server::enlarged) continues,
    /// [`Server::refuse`](super::Server::refuse) ends it.
    BufferTooSmall {
        /// The required size of the buffer in bytes.
        size: u16,
    },
    /// The client disconnected, or was silent beyond the caller's time limit.
    Gone {
        /// How.
        end: End,
    },
}
