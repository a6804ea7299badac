//! What all requests have in common.

use super::frame::encode;
use crate::command::{Command, Continuation};
use crate::header::HEADER_LEN;
use crate::wire::{Decode, Encode, EncodeError, Root, WireError};

/// A request: its command, its reply, and the values that a server refuses.
///
/// The protocol's requests are in the sibling modules. The trait is not sealed: a command newer
/// than this crate can implement it and use the same exchanges.
pub trait Request<'a>: Decode<'a> + Encode {
    /// The command in the header.
    const COMMAND: Command;

    /// The payload of the OK reply.
    type Reply: Decode<'a> + Encode;

    /// What follows the OK reply.
    fn continuation(&self) -> Continuation {
        Self::COMMAND.continuation().unwrap_or(Continuation::Close)
    }

    /// Whether a server accepts the values (F-16 and others). Decoding does not check them.
    ///
    /// # Errors
    /// The first refused value, with its offset in the encoded message.
    fn check_limits(&self) -> Result<(), WireError> {
        in_request(Self::COMMAND, self.check_values())
    }

    /// The checks of [`check_limits`](Self::check_limits) for this request.
    ///
    /// # Errors
    /// The first refused value, with its offset in the payload.
    #[doc(hidden)]
    fn check_values(&self) -> Result<(), WireError> {
        Ok(())
    }

    /// Writes header and payload to the front of `buffer`, and returns their size in bytes.
    ///
    /// # Errors
    /// As [`encode`].
    #[inline]
    fn encode_message(&self, buffer: &mut [u8]) -> Result<usize, EncodeError> {
        encode(Self::COMMAND, self, buffer)
    }
}

/// What is refused in the payload of a request of `command`, with its place in the message.
#[inline]
pub(super) fn in_request(
    command: Command,
    mut checked: Result<(), WireError>,
) -> Result<(), WireError> {
    if let Err(error) = &mut checked {
        error.move_behind(HEADER_LEN);
        error.path_mut().begin(Root::of(command));
    }
    checked
}
