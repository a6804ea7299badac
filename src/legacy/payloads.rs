//! The payloads of the draft of 2019-05, and the previous protocol.

use crate::hresult::HResult;
use crate::message::eventpipe::EventLevel;
use crate::wire::macros::{open_enum, wire_struct};
use crate::wire::{Array, Encode, EncodeError, Field, IpcString, Reader, Sink, WireError};

wire_struct! {
    /// `CollectTracing`, `0x0202`, in the 2019 draft: with a path in place of the format.
    ///
    /// No released runtime accepts it: only this type's own functions decode it, never
    /// [`Message::request`](crate::message::Message::request).
    ///
    /// ```
    /// use dotnet_diagnostics_ipc::{legacy::DraftCollectTracing, wire::{Array, Encode as _, IpcString}};
    ///
    /// let request = DraftCollectTracing { circular_buffer_mb: 250, output_path: IpcString::ABSENT, providers: Array::EMPTY };
    /// assert_eq!(request.encoded_len(), Ok(12));
    /// ```
    pub struct DraftCollectTracing<'a> {
        /// The size of the buffer, in MB.
        pub circular_buffer_mb: u32 = CircularBufferMb,
        /// "Currently unused", to be sent absent.
        pub output_path: IpcString<'a> = OutputPath,
        /// The providers to enable.
        pub providers: Array<'a, DraftProviderConfig<'a>> = Providers,
    }
}

wire_struct! {
    /// `provider_config` with the field names of the 2019 draft and the editions up to .NET 6.
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
        /// Groups of events.
        pub keywords: u64 = Keywords,
        /// The level of detail.
        pub log_level: EventLevel = LogLevel,
        /// The provider's name.
        pub provider_name: IpcString<'a> = ProviderName,
        /// Later called `arguments`. Called optional here, but always present (F-83).
        pub filter_data: IpcString<'a> = FilterData,
    }
}

open_enum! {
    /// `DiagnosticServerErrorCode` of the 2019 draft: the `uint32_t` of its error messages. Since 3.x it is an HRESULT.
    /// It has 4 bytes; the draft's table prints 8 (F-1).
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
        /// Anything else.
        UNKNOWN_ERROR = 0xffff_ffff, "UnknownError";
    }
}

impl DraftErrorCode {
    /// Every code named in the draft.
    pub const NAMED: &'static [Self] = &[
        Self::OK,
        Self::BAD_ENCODING,
        Self::UNKNOWN_COMMAND,
        Self::UNKNOWN_MAGIC,
        Self::BAD_INPUT,
        Self::UNKNOWN_ERROR,
    ];

    /// The HRESULT with the same name in later editions. There is none for `BadInput` or for a code
    /// without name.
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
    /// `DiagnosticMessageType` of the old protocol.
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
        /// Stop a session. Printed without a number: follows 1024.
        STOP = 1025, "StopEventPipeTracing";
        /// Start a session that streams into the connection. Printed without a number: follows 1025.
        COLLECT = 1026, "CollectEventPipeTracing";
    }
}

wire_struct! {
    /// `MessageHeader` of the old protocol (sections "Current Implementation (OLD)" of the 2019-05 and 3.x editions).
    ///
    /// It has no magic and no size. No edition gives the payload after these 8 bytes (the session to stop, the providers to
    /// enable): it is left to the caller.
    ///
    /// The flow, in which [`OldReply`](super::OldReply) is the session id:
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
        /// The request's type.
        pub request_type: OldRequestType = RequestType,
        /// The process; 32 bits, unlike later `processId`s.
        pub pid: u32 = Pid,
    }
}

/// The reply of the old protocol to each [`OldRequest`]: a bare session id, little-endian and without
/// header; 0 is an error, after which the runtime closes.
///
/// No edition gives the width of the id, and the bytes do not show it, so the caller gives it.
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
    /// 4 bytes, as "control is handled via `uint32` enum values" may be read.
    Bits32(u32),
    /// 8 bytes, as in sources of that time.
    Bits64(u64),
}

impl OldReply {
    /// Reads 4 bytes at the front of `bytes`. Also returns the rest, which belongs to the stream.
    ///
    /// # Errors
    /// [`UnexpectedEnd`](crate::wire::WireErrorKind::UnexpectedEnd) if there are fewer bytes.
    pub fn decode_32(bytes: &[u8]) -> Result<(Self, &[u8]), WireError> {
        let mut reader = Reader::new(bytes);
        Ok((Self::Bits32(reader.field(Field::SessionId)?), reader.rest()))
    }

    /// Reads 8 bytes at the front of `bytes`. Also returns the rest, which belongs to the stream.
    ///
    /// # Errors
    /// As [`decode_32`](Self::decode_32).
    pub fn decode_64(bytes: &[u8]) -> Result<(Self, &[u8]), WireError> {
        let mut reader = Reader::new(bytes);
        Ok((Self::Bits64(reader.field(Field::SessionId)?), reader.rest()))
    }

    /// Returns the session; `None` if the reply is the error.
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
