//! What the server sends for more than one command: results, errors, and no payload at all.

use super::Message;
use crate::command::Command;
use crate::hresult::HResult;
use crate::wire::{Decode, DecodeError, Encode, EncodeError, Field, IpcString, Reader, Sink, macros::wire_struct};

wire_struct! {
    /// The payload of the OK reply to every command that only succeeds or fails.
    ///
    /// | offset | bytes | what |
    /// |---|---|---|
    /// | 20 | 4 | `hresult` |
    ///
    /// Printed with a size of 28 (F-1) or, for `ResumeRuntime`, without payload (F-41); 24 is what runtimes send.
    ///
    /// ```
    /// use dotnet_diagnostics_ipc::{hresult::HResult, message::{Message, Reply, process::ResumeRuntime, server::ResultReply}};
    ///
    /// let message = Message::decode(b"DOTNET_IPC_V1\0\x18\0\xff\0\0\0\0\0\0\0")?;
    /// assert_eq!(message.reply_as::<ResumeRuntime>()?, Reply::Ok(ResultReply { hresult: HResult::OK }));
    /// # Ok::<(), dotnet_diagnostics_ipc::wire::DecodeError>(())
    /// ```
    pub struct ResultReply {
        /// 0 for success.
        pub hresult: HResult = HResult,
    }
}

/// The payload of an error (`0xFFFF`, section "Errors").
///
/// | offset | bytes | what |
/// |---|---|---|
/// | 20 | 4 | `hresult` |
/// | 24 | … | only after `GenerateCoreDump3`: a string that says why (F-50, F-81) |
///
/// The document prints a size of 28 and gives the code 8 bytes; 24 is what runtimes send (F-1). Not every error is followed
/// by a close (F-5, F-74): do not wait for it.
///
/// ```
/// use dotnet_diagnostics_ipc::{command::Command, hresult::HResult, message::{Message, server::ErrorReply}};
///
/// let message = Message::decode(b"DOTNET_IPC_V1\0\x18\0\xff\xff\0\0\x85\x13\x13\x80")?;
/// let error = ErrorReply::from_message(&message, Some(Command::PROCESS_INFO3))?;
/// assert_eq!(error, ErrorReply { hresult: HResult::UNKNOWN_COMMAND, message: None });
/// # Ok::<(), dotnet_diagnostics_ipc::wire::DecodeError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ErrorReply<'a> {
    /// What went wrong.
    pub hresult: HResult,
    /// Why, from `GenerateCoreDump3`. `None` where the payload ends with the code.
    pub message: Option<IpcString<'a>>,
}

impl<'a> ErrorReply<'a> {
    /// An error with a code and no text.
    pub const fn new(hresult: HResult) -> Self {
        Self { hresult, message: None }
    }

    /// Whether the errors of `command` may carry text.
    pub fn has_message(command: Option<Command>) -> bool {
        command == Some(Command::GENERATE_CORE_DUMP3)
    }

    /// Reads the payload of an error that answers `command`.
    ///
    /// # Errors
    /// Those of the payload. The header's command is not looked at.
    pub fn from_message(message: &Message<'a>, command: Option<Command>) -> Result<Self, DecodeError> {
        let mut reader = Reader::at(message.payload, crate::header::HEADER_LEN);
        Self::read(&mut reader, command).map_err(|error| error.in_root("Error"))
    }

    fn read(reader: &mut Reader<'a>, command: Option<Command>) -> Result<Self, DecodeError> {
        let hresult = reader.field(Field::HResult)?;
        let texted = Self::has_message(command) && !reader.rest().is_empty();
        Ok(Self { hresult, message: if texted { Some(reader.field(Field::Message)?) } else { None } })
    }
}

impl Encode for ErrorReply<'_> {
    fn encode<S: Sink + ?Sized>(&self, sink: &mut S) -> Result<(), EncodeError> {
        self.hresult.encode(sink)?;
        self.message.map_or(Ok(()), |message| message.encode(sink))
    }
}

/// No payload: of the generic OK (F-2).
impl<'a> Decode<'a> for () {
    const MIN_LEN: usize = 0;

    fn decode(_: &mut Reader<'a>) -> Result<Self, DecodeError> {
        Ok(())
    }
}

impl Encode for () {
    fn encode<S: Sink + ?Sized>(&self, _: &mut S) -> Result<(), EncodeError> {
        Ok(())
    }
}
