//! The payloads of the 2019-05 draft, and the messages of the previous protocol.

use crate::hresult::HResult;
use crate::message::eventpipe::EventLevel;
use crate::wire::macros::{open_enum, wire_struct};
use crate::wire::{Array, Encode, EncodeError, Field, IpcString, Reader, Sink, WireError};

wire_struct! {
    /// The `CollectTracing` request (`0x0202`) of the 2019 draft, which has a path in place of the format.
    ///
    /// No released runtime accepts it. Only this type's own functions decode it, never
    /// [`Message::request`](crate::message::Message::request).
    ///
    /// ```
    /// use dotnet_diagnostics_ipc::{legacy::DraftCollectTracing, wire::{Array, Encode as _, IpcString}};
    ///
    /// let request = DraftCollectTracing { circular_buffer_mb: 250, output_path: IpcString::ABSENT, providers: Array::EMPTY };
    /// assert_eq!(request.encoded_len(), Ok(12));
    /// ```
    pub struct DraftCollectTracing<'a> {
        /// The size of the session's buffer in MB.
        pub circular_buffer_mb: u32 = CircularBufferMb,
        /// A path that is "Currently unused" and should be absent.
        pub output_path: IpcString<'a> = OutputPath,
        /// The providers to enable.
        pub providers: Array<'a, DraftProviderConfig<'a>> = Providers,
    }
}

wire_struct! {
    /// A provider (`provider_config`) with the field names of the 2019 draft and the editions up to .NET 6.
    ///
    /// ```
    /// use dotnet_diagnostics_ipc::{legacy::DraftProviderConfig, message::eventpipe::EventLevel, wire::{Encode as _, IpcString}};
    ///
    /// let provider = DraftProviderConfig {
    ///     keywords: 100,
    ///     log_level: EventLevel::ERROR,
    ///     provider_name: "MyEventSource".into(),
    ///     filter_data: IpcString::ABSENT,
    /// };
    /// assert_eq!(provider.encoded_len(), Ok(48));
    /// ```
    pub struct DraftProviderConfig<'a> {
        /// The groups of events, as bits that the provider defines.
        pub keywords: u64 = Keywords,
        /// The level of detail.
        pub log_level: EventLevel = LogLevel,
        /// The name of the provider.
        pub provider_name: IpcString<'a> = ProviderName,
        /// The field that is later called `arguments`. The document calls it optional, but it is always present (F-83).
        pub filter_data: IpcString<'a> = FilterData,
    }
}

open_enum! {
    /// The error code of the 2019 draft: `DiagnosticServerErrorCode`, a `uint32_t`. It has 4 bytes, though the draft's
    /// table prints 8 (F-1). Since 3.x, an HRESULT replaces it.
    ///
    /// ```
    /// use dotnet_diagnostics_ipc::{hresult::HResult, legacy::DraftErrorCode};
    ///
    /// assert_eq!(DraftErrorCode(1).name(), Some("BadEncoding"));
    /// assert_eq!(DraftErrorCode::BAD_ENCODING.hresult(), Some(HResult::BAD_ENCODING));
    /// assert_eq!(DraftErrorCode::BAD_INPUT.hresult(), None);
    /// ```
    pub enum DraftErrorCode {
        /// No error.
        OK = 0, "OK";
        /// The message does not decode.
        BAD_ENCODING = 1, "BadEncoding";
        /// The command is unknown.
        UNKNOWN_COMMAND = 2, "UnknownCommand";
        /// The magic is unknown.
        UNKNOWN_MAGIC = 3, "UnknownMagic";
        /// The request is not possible.
        BAD_INPUT = 4, "BadInput";
        /// Any other error.
        UNKNOWN_ERROR = 0xffff_ffff, "UnknownError";
    }
}

impl DraftErrorCode {
    /// Every code that the draft names.
    pub const NAMED: &'static [Self] = &[
        Self::OK,
        Self::BAD_ENCODING,
        Self::UNKNOWN_COMMAND,
        Self::UNKNOWN_MAGIC,
        Self::BAD_INPUT,
        Self::UNKNOWN_ERROR,
    ];

    /// Returns the HRESULT with the same name in later editions. `BadInput` and codes without a name have none.
    pub const fn hresult(self) -> Option<HResult> {
        match self {
            Self::OK => Some(HResult::OK),
            Self::BAD_ENCODING => Some(HResult::BAD_ENCODING),
            Self::UNKNOWN_COMMAND => Some(HResult::UNKNOWN_COMMAND),
            Self::UNKNOWN_MAGIC => Some(HResult::UNKNOWN_MAGIC),
            Self::UNKNOWN_ERROR => Some(HResult::UNKNOWN_ERROR),
            _ => None,
        }
    }
}

open_enum! {
    /// The type of a request of the old protocol: `DiagnosticMessageType`.
    ///
    /// ```
    /// use dotnet_diagnostics_ipc::legacy::OldRequestType;
    ///
    /// assert_eq!(OldRequestType::STOP.0, 1025);
    /// assert_eq!(OldRequestType(1026).name(), Some("CollectEventPipeTracing"));
    /// ```
    pub enum OldRequestType {
        /// Start a session that writes a file.
        START = 1024, "StartEventPipeTracing";
        /// Stop a session. The document prints no number; the value follows 1024.
        STOP = 1025, "StopEventPipeTracing";
        /// Start a session that streams over the connection. The document prints no number; the value follows 1025.
        COLLECT = 1026, "CollectEventPipeTracing";
    }
}

wire_struct! {
    /// The header of a request of the old protocol: `MessageHeader` (sections "Current Implementation (OLD)" of the
    /// 2019-05 and 3.x editions).
    ///
    /// It has no magic and no size. The caller handles the payload after these 8 bytes (the session to stop, the providers
    /// to enable), because no edition describes it.
    ///
    /// An exchange consists of these messages; [`OldReply`](super::OldReply) is the session id:
    ///
    /// ```text
    /// runtime <- client : MessageHeader { CollectEventPipeTracing }
    ///     error? -> 0, then the runtime closes
    /// runtime -> client : session id
    /// runtime -> client : event stream (netperf in the draft, nettrace in 3.x)
    /// ...
    /// runtime <- client : MessageHeader { StopEventPipeTracing }, on another connection
    /// runtime -> client : session id, and the session stops
    /// ```
    ///
    /// ```
    /// use dotnet_diagnostics_ipc::{legacy::{OldRequest, OldRequestType}, wire::{Decode as _, Reader}};
    ///
    /// let request = OldRequest::decode(&mut Reader::new(b"\x02\x04\0\0\x39\x30\0\0")).unwrap();
    /// assert_eq!(request, OldRequest { request_type: OldRequestType::COLLECT, pid: 12345 });
    /// ```
    pub struct OldRequest {
        /// The type of the request.
        pub request_type: OldRequestType = RequestType,
        /// The process id, in 32 bits unlike later `processId` fields.
        pub pid: u32 = Pid,
    }
}

/// The reply of the old protocol to each [`OldRequest`]: a bare little-endian session id without a
/// header. 0 is an error, after which the runtime closes the connection.
///
/// The caller gives the width of the id, because no edition gives it and the bytes do not show it.
///
/// ```
/// use dotnet_diagnostics_ipc::legacy::OldReply;
///
/// // Eight bytes, and the first of the stream.
/// let (reply, stream) = OldReply::decode_64(b"\x07\0\0\0\0\0\0\0N")?;
/// assert_eq!((reply.session_id(), stream), (Some(7), &b"N"[..]));
/// assert_eq!(OldReply::Bits32(0).session_id(), None);
/// # Ok::<(), dotnet_diagnostics_ipc::wire::WireError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OldReply {
    /// An id of 4 bytes, one reading of "control is handled via `uint32` enum values".
    Bits32(u32),
    /// An id of 8 bytes, as in source code of that time.
    Bits64(u64),
}

impl OldReply {
    /// Reads an id of 4 bytes at the front of `bytes`. Also returns the rest, which belongs to the stream.
    ///
    /// # Errors
    /// [`UnexpectedEnd`](crate::wire::WireErrorKind::UnexpectedEnd) if there are fewer bytes.
    pub fn decode_32(bytes: &[u8]) -> Result<(Self, &[u8]), WireError> {
        let mut reader = Reader::new(bytes);
        Ok((Self::Bits32(reader.field(Field::SessionId)?), reader.rest()))
    }

    /// Reads an id of 8 bytes at the front of `bytes`. Also returns the rest, which belongs to the stream.
    ///
    /// # Errors
    /// Returns the error of [`decode_32`](Self::decode_32).
    pub fn decode_64(bytes: &[u8]) -> Result<(Self, &[u8]), WireError> {
        let mut reader = Reader::new(bytes);
        Ok((Self::Bits64(reader.field(Field::SessionId)?), reader.rest()))
    }

    /// Returns the session id, or `None` if the reply is the error.
    pub fn session_id(self) -> Option<u64> {
        let id = match self {
            Self::Bits32(id) => id.into(),
            Self::Bits64(id) => id,
        };
        (id != 0).then_some(id)
    }
}

impl Encode for OldReply {
    fn encode<S: Sink + ?Sized>(&self, sink: &mut S) -> Result<(), EncodeError> {
        match self {
            Self::Bits32(id) => id.encode(sink),
            Self::Bits64(id) => id.encode(sink),
        }
    }
}
