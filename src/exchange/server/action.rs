//! What a server exchange asks for, and how it ends.

use core::ops::Range;

use super::super::End;
use super::Reason;
use crate::hresult::HResult;

/// What a [`Server`] asks for.
///
/// ```
/// use dotnet_diagnostics_ipc::exchange::{Server, ServerAction};
///
/// assert_eq!(Server::new().action(), ServerAction::Receive(0..20));
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ServerAction {
    /// Read into this range of the buffer, and no more; then [`Server::received`], or [`Server::ended`].
    Receive(Range<usize>),
    /// The request is this range of the buffer: ask for it with [`Server::request`].
    Decode(Range<usize>),
    /// Receive one byte and the descriptor with it; then [`Server::fd_received`], or [`Server::fd_missing`] where the byte came
    /// alone, or [`Server::ended`].
    ReceiveFd,
    /// Do what was asked, then [`Server::respond`] or [`Server::refuse`].
    Respond,
    /// The request is refused for this reason: [`Server::refuse`], most often with [`Reason::hresult`].
    Refuse(Reason),
    /// Write this range of the buffer, or some of it; then [`Server::sent`], or [`Server::send_failed`].
    Send(Range<usize>),
    /// Put the next bytes of the stream or environment block at the front of the buffer, then [`Server::piece`]; or
    /// [`Server::continuation_ended`].
    Continue {
        /// How many bytes of the environment block are still to come; `None` for a stream.
        left: Option<u32>,
    },
    /// Keep the connection until the client hangs up, then [`Server::ended`]: a `user_events` session lasts as long. A half-close is
    /// no hang-up (F-23).
    Hold,
    /// Close the connection, then [`Server::closed`].
    Close,
    /// Nothing more is asked for.
    Finished(ServerOutcome),
}

/// What became of a connection on the runtime's side.
///
/// ```
/// use dotnet_diagnostics_ipc::exchange::{End, Server, ServerAction, ServerOutcome};
///
/// let mut server = Server::new();
/// server.ended(End::Reset)?;
/// assert_eq!(server.action(), ServerAction::Close);
/// server.closed()?;
/// assert_eq!(server.action(), ServerAction::Finished(ServerOutcome::Gone { end: End::Reset }));
/// # Ok::<(), dotnet_diagnostics_ipc::exchange::Illegal>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ServerOutcome {
    /// The reply was sent, and all that follows it.
    Answered,
    /// An error was sent.
    Refused(HResult),
    /// The environment block was broken off with an error (F-43).
    BrokenOff(HResult),
    /// The request has `size` bytes, and the buffer has not. Its header is in the buffer, the rest is unread:
    /// [`Server::enlarged`] goes on, [`Server::refuse`] ends it.
    BufferTooSmall {
        /// How many bytes the buffer must have.
        size: u16,
    },
    /// The client went, or stayed silent for longer than the caller gives it.
    Gone {
        /// How.
        end: End,
    },
}
