//! What every request has.

use super::frame::encode;
use crate::command::{Command, Continuation};
use crate::header::HEADER_LEN;
use crate::wire::{Decode, Encode, EncodeError, LimitError};

/// A request: which command it is, what answers it, and what a server would refuse.
///
/// Those of the protocol are in the modules beside this one. It is not sealed: a command that is newer than this crate can have its
/// own, and go through the same exchanges.
pub trait Request<'a>: Decode<'a> + Encode {
    /// The command that the header names.
    const COMMAND: Command;

    /// The payload of the OK reply.
    type Reply: Decode<'a> + Encode;

    /// What follows the OK reply.
    fn continuation(&self) -> Continuation {
        Self::COMMAND.continuation().unwrap_or(Continuation::Close)
    }

    /// Whether a server takes the values (F-16 and the like). Decoding does not ask that.
    ///
    /// # Errors
    /// The first value that it refuses, with its offset in the encoded message.
    fn check_limits(&self) -> Result<(), LimitError> {
        self.check_values().map_err(|error| error.behind(HEADER_LEN).in_root(Self::COMMAND.name().unwrap_or_default()))
    }

    /// What [`check_limits`](Self::check_limits) asks of this request.
    ///
    /// # Errors
    /// The first value that a server refuses, with its offset in the payload.
    #[doc(hidden)]
    fn check_values(&self) -> Result<(), LimitError> {
        Ok(())
    }

    /// Writes header and payload to the front of `buffer`, and says how many bytes that is.
    ///
    /// # Errors
    /// As [`encode`].
    fn encode_message(&self, buffer: &mut [u8]) -> Result<usize, EncodeError> {
        encode(Self::COMMAND, self, buffer)
    }
}
