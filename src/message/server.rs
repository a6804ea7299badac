//! Read and write the replies that several commands share: results, errors, and the empty payload.

//! # Example
//!
//! Read the result that answers most commands:
//!
//! ```
//! use dotnet_diagnostics_ipc::message::{Message, Reply, process::ResumeRuntime};
//!
//! let message = Message::decode(b"DOTNET_IPC_V1\0\x18\0\xff\xff\0\0\x85\x13\x13\x80")?;
//! let Reply::Error(error) = message.reply_as::<ResumeRuntime>()? else { panic!("no error") };
//! assert_eq!(error.hresult.to_string(), "0x80131385 DS_IPC_E_UNKNOWN_COMMAND");
//! # Ok::<(), dotnet_diagnostics_ipc::wire::WireError>(())
//! ```

use super::Message;
use crate::command::Command;
use crate::hresult::HResult;
use crate::wire::{
    Cursor, Encode, EncodeError, Failed, Field, IpcString, Root, Sink, WireError,
    macros::wire_struct,
};

wire_struct! {
    /// The payload of the OK reply to every command that only succeeds or fails.
    ///
    /// Runtimes send 24 bytes. The document prints 28 (F-1) or, for `ResumeRuntime`, none (F-41).
    ///
    /// ```
    /// use dotnet_diagnostics_ipc::{hresult::HResult, message::{Message, Reply, process::ResumeRuntime, server::ResultReply}};
    ///
    /// let message = Message::decode(b"DOTNET_IPC_V1\0\x18\0\xff\0\0\0\0\0\0\0")?;
    /// assert_eq!(message.reply_as::<ResumeRuntime>()?, Reply::Ok(ResultReply { hresult: HResult::OK }));
    /// # Ok::<(), dotnet_diagnostics_ipc::wire::WireError>(())
    /// ```
    pub struct ResultReply {
        /// The result code, 0 for success.
        pub hresult: HResult = HResult,
    }
}

/// The payload of an error (`0xFFFF`, section "Errors"): a code of 4 bytes and, in the reply to
/// `GenerateCoreDump3`, a string with the reason (F-50, F-81).
///
/// The document prints 28 bytes and a code of 8; runtimes send 24 in total (F-1). Do not wait for a
/// close after an error, because some runtimes keep the connection open (F-5, F-74).
///
/// ```
/// use dotnet_diagnostics_ipc::{command::Command, hresult::HResult, message::{Message, server::ErrorReply}};
///
/// let message = Message::decode(b"DOTNET_IPC_V1\0\x18\0\xff\xff\0\0\x85\x13\x13\x80")?;
/// let error = ErrorReply::from_message(&message, Some(Command::PROCESS_INFO3))?;
/// assert_eq!(error, ErrorReply { hresult: HResult::UNKNOWN_COMMAND, message: None });
/// # Ok::<(), dotnet_diagnostics_ipc::wire::WireError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ErrorReply<'a> {
    /// The code of the error.
    pub hresult: HResult,
    /// The reason, in the reply to `GenerateCoreDump3`. `None` if the payload ends after the code.
    pub message: Option<IpcString<'a>>,
}

impl<'a> ErrorReply<'a> {
    /// Returns an error with a code and no text.
    pub const fn new(hresult: HResult) -> Self {
        Self { hresult, message: None }
    }

    /// Returns whether errors in reply to `command` may carry a text.
    pub fn has_message(command: Option<Command>) -> bool {
        command.is_some_and(|command| command.code() == Command::GENERATE_CORE_DUMP3.code())
    }

    /// Reads the payload of an error in reply to `command`.
    ///
    /// # Errors
    /// Returns the error of the payload. The command in the header is ignored.
    #[inline]
    pub fn from_message(
        message: &Message<'a>,
        command: Option<Command>,
    ) -> Result<Self, WireError> {
        message.read(Command::ERROR, |cursor| Self::read(cursor, command))
    }

    #[inline]
    pub(super) fn read(
        cursor: &mut Cursor<'a, '_>,
        command: Option<Command>,
    ) -> Result<Self, Failed> {
        let error = Self::fields(cursor, Self::has_message(command));
        error.map_err(|Failed| cursor.in_root(Root::of(Command::ERROR)))
    }

    #[inline]
    fn fields(cursor: &mut Cursor<'a, '_>, has_message: bool) -> Result<Self, Failed> {
        let hresult = cursor.read_field(Field::HResult)?;
        let texted = has_message && !cursor.rest().is_empty();
        let message = if texted { Some(cursor.read_field(Field::Message)?) } else { None };
        Ok(Self { hresult, message })
    }
}

impl Encode for ErrorReply<'_> {
    #[inline]
    fn encode<S: Sink + ?Sized>(&self, sink: &mut S) -> Result<(), EncodeError> {
        self.hresult.encode(sink)?;
        self.message.map_or(Ok(()), |message| message.encode(sink))
    }
}

/// Encodes no payload, as in the generic OK (F-2).
impl Encode for () {
    #[inline]
    fn encode<S: Sink + ?Sized>(&self, _: &mut S) -> Result<(), EncodeError> {
        Ok(())
    }
}
