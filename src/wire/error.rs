//! The error of all functions that read or check bytes: its kind, offset, path and layer, and the
//! answer of a server.

use core::fmt;

use super::field::Field;
use super::path::{Path, Root, clamp};
use crate::hresult::HResult;

/// The maximum length of a tracepoint's name in UTF-8 bytes, limited by a command string (F-65).
pub(crate) const MAX_TRACEPOINT_NAME_LEN: u16 = 436;

/// The part of a message that has the error. The vectors call it `layer`; it is the only part of an
/// error that other implementations must match.
///
/// ```
/// use dotnet_diagnostics_ipc::wire::{Layer, WireErrorKind};
///
/// assert_eq!(WireErrorKind::BadMagic.layer(), Layer::Header);
/// assert_eq!(Layer::Header.name(), "header");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Layer {
    /// The bytes end too early, or `size` is impossible.
    Transport,
    /// The magic or the command code is wrong.
    Header,
    /// The payload does not decode.
    Payload,
    /// The bytes decode, but a server refuses the values (F-16).
    Limits,
    /// The message of a server is not a reply.
    Reply,
}

impl Layer {
    /// Returns the name in the vectors: `"transport"`, `"header"`, `"payload"`, `"limits"` or `"reply"`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Transport => "transport",
            Self::Header => "header",
            Self::Payload => "payload",
            Self::Limits => "limits",
            Self::Reply => "reply",
        }
    }
}

impl fmt::Display for Layer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// An error with its kind, its byte offset and the path of the field, such as
/// `CollectTracing5.providers[2].arguments`. It takes at most 32 bytes.
///
/// ```
/// use dotnet_diagnostics_ipc::message::Message;
/// use dotnet_diagnostics_ipc::wire::{Layer, WireErrorKind};
///
/// // StopTracing (0x0201) that carries 2 of the 8 bytes of its sessionId.
/// let error = Message::decode(b"DOTNET_IPC_V1\0\x16\0\x02\x01\0\0\x2a\0").unwrap().request().unwrap_err();
/// assert_eq!(error.kind(), WireErrorKind::UnexpectedEnd { needed: 8, remaining: 2 });
/// assert_eq!((error.layer(), error.offset()), (Layer::Payload, 20));
/// assert_eq!(
///     error.to_string(),
///     "StopTracing.sessionId at byte 20: the field needs 8 bytes, the payload has 2 left"
/// );
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct WireError {
    kind: WireErrorKind,
    offset: u32,
    path: Path,
}

impl WireError {
    #[doc(hidden)]
    pub fn new(kind: WireErrorKind, offset: usize) -> Self {
        Self { kind, offset: clamp(offset), path: Path::EMPTY }
    }

    /// Returns the kind of the error.
    pub const fn kind(&self) -> WireErrorKind {
        self.kind
    }

    /// Returns the byte offset of the error from the start of the message, or of the decoded piece.
    pub const fn offset(&self) -> usize {
        self.offset as usize
    }

    /// Returns the path of the field, which begins with the message's name.
    pub const fn path(&self) -> Path {
        self.path
    }

    /// Returns the layer of the error, the part of a message that it is in.
    pub const fn layer(&self) -> Layer {
        self.kind.layer()
    }

    /// Returns the HRESULT that a server answers to a request with this error.
    pub const fn hresult(&self) -> HResult {
        self.kind.hresult()
    }

    /// Returns an error of another kind at the same place.
    pub(crate) const fn with_kind(mut self, kind: WireErrorKind) -> Self {
        self.kind = kind;
        self
    }

    /// Returns the path for changes in place, because an error is too large to pass by value.
    pub(crate) const fn path_mut(&mut self) -> &mut Path {
        &mut self.path
    }

    /// Counts the offset from `n` bytes earlier.
    #[cold]
    #[inline(never)]
    pub(crate) fn move_behind(&mut self, n: usize) {
        self.offset = self.offset.saturating_add(clamp(n));
    }

    /// Prepends `field` to the path.
    #[cold]
    #[inline(never)]
    #[must_use]
    #[doc(hidden)]
    pub fn within(mut self, field: Field) -> Self {
        self.path.push(field);
        self
    }

    /// Sets the index of the field that `within` prepends next.
    #[cold]
    #[inline(never)]
    #[must_use]
    pub(crate) fn at_index(mut self, index: usize) -> Self {
        self.path.index(index);
        self
    }

    /// Puts `root` at the start of the path, unless the path has a root.
    #[cold]
    #[inline(never)]
    #[must_use]
    #[doc(hidden)]
    pub fn in_root(mut self, root: Root) -> Self {
        self.path.begin(root);
        self
    }
}

impl fmt::Display for WireError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.path.is_empty() {
            write!(f, "at byte {}: {}", self.offset, self.kind)
        } else {
            write!(f, "{} at byte {}: {}", self.path, self.offset, self.kind)
        }
    }
}

impl core::error::Error for WireError {}

/// Declares the kinds of error, each with its layer, its name in the vectors, the HRESULT that a
/// server answers, and its text.
macro_rules! kinds {
    ($(
        $(#[$doc:meta])*
        $Kind:ident $({ $($(#[$field_doc:meta])* $field:ident: $Type:ty),* })?,
        $layer:ident, $name:literal, $hresult:expr, $text:literal;
    )*) => {
        /// The kind of an error in bytes, or in a value that a server refuses.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        #[non_exhaustive]
        pub enum WireErrorKind {$(
            $(#[$doc])*
            $Kind $({ $($(#[$field_doc])* $field: $Type),* })?,
        )*}

        #[allow(unused_variables, reason = "most results do not depend on the fields")]
        impl WireErrorKind {
            /// Returns the layer of this kind of error.
            pub const fn layer(self) -> Layer {
                match self {
                    $(Self::$Kind $({ $($field),* })? => Layer::$layer,)*
                }
            }

            /// Returns the name in the vectors, such as `"missing_terminator"`.
            pub const fn name(self) -> &'static str {
                match self {
                    $(Self::$Kind $({ $($field),* })? => $name,)*
                }
            }

            /// Returns the HRESULT that a server answers to a request with this error.
            pub const fn hresult(self) -> HResult {
                match self {
                    $(Self::$Kind $({ $($field),* })? => $hresult,)*
                }
            }
        }

        impl fmt::Display for WireErrorKind {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                match *self {
                    $(Self::$Kind $({ $($field),* })? => write!(f, $text),)*
                }
            }
        }
    };
}

kinds! {
    /// The input ends before the end of the header, payload or advertise.
    EndOfInput {
        /// The required number of bytes.
        needed: u32
    }, Transport, "end_of_input", HResult::BAD_ENCODING, "the input ends here, {needed} bytes are needed";
    /// Bytes follow the message.
    BytesAfterMessage {
        /// The number of bytes after the message.
        extra: u32
    }, Transport, "bytes_after_message", HResult::BAD_ENCODING, "bytes after the end of the message: {extra}";
    /// The header's `size` is below the header's 20 bytes.
    SizeTooSmall {
        /// The size received.
        size: u16
    }, Transport, "size_too_small", HResult::BAD_ENCODING, "size {size} is less than the 20 bytes of the header";
    /// The first bytes are not the magic.
    BadMagic, Header, "bad_magic", HResult::UNKNOWN_MAGIC, "magic mismatch, expected \"DOTNET_IPC_V1\\0\"";
    /// The header has another command than expected.
    UnexpectedCommand {
        /// The code received, as `0xSSII`.
        code: u16,
        /// The expected code.
        expected: u16
    }, Header, "unexpected_command", HResult::UNKNOWN_COMMAND, "command is {code:#06x}, expected {expected:#06x}";
    /// The message of a server is no reply: its command set is not `0xFF`, or its id is neither OK nor Error.
    NotAReply {
        /// The code received, as `0xSSII`.
        code: u16
    }, Reply, "not_a_reply", HResult::BAD_ENCODING, "{code:#06x} is neither OK (0xff00) nor Error (0xffff)";
    /// The payload ends inside a field of fixed size.
    UnexpectedEnd {
        /// The size of the field.
        needed: u32,
        /// The number of bytes left in the payload.
        remaining: u32
    }, Payload, "unexpected_end", HResult::BAD_ENCODING, "the field needs {needed} bytes, the payload has {remaining} left";
    /// The count of a string or array is too large for the rest of the payload.
    CountTooLarge {
        /// The count received.
        count: u32,
        /// The number of bytes in the payload after the count.
        remaining: u32
    }, Payload, "count_too_large", HResult::BAD_ENCODING,
        "count is {count}, too large for the {remaining} bytes left in the payload";
    /// The last unit of a string is not NUL.
    MissingTerminator {
        /// The unit received in place of the NUL.
        unit: u16
    }, Payload, "missing_terminator", HResult::BAD_ENCODING, "the string ends with unit {unit:#06x} instead of NUL";
    /// `session_type` is neither 0 (streaming) nor 1 (`user_events`); F-18.
    UnknownSessionType {
        /// The number received.
        session_type: u32
    }, Payload, "unknown_session_type", HResult::BAD_ENCODING,
        "session_type {session_type} is neither 0 (streaming) nor 1 (user_events)";

    /// `circularBufferMB` is 0.
    ZeroBuffer, Limits, "zero_buffer", HResult::BAD_ENCODING, "the circular buffer must not be 0 MB";
    /// `format` is above 1.
    UnknownFormat {
        /// The number received.
        format: u32
    }, Limits, "unknown_format", HResult::BAD_ENCODING, "format {format} is neither 0 (NetPerf) nor 1 (NetTrace)";
    /// `logLevel` is above 5.
    LogLevelOutOfRange {
        /// The number received.
        level: u32
    }, Limits, "log_level_out_of_range", HResult::BAD_ENCODING, "level {level} is above 5 (Verbose)";
    /// The session has no provider.
    NoProviders, Limits, "no_providers", HResult::BAD_ENCODING, "at least one provider is needed";
    /// The session has more than 1,000 providers.
    TooManyProviders {
        /// The number of providers.
        count: u32
    }, Limits, "too_many_providers", HResult::BAD_ENCODING, "{count} providers exceed the limit of 1000";
    /// A provider has no name, or its name begins with a NUL (P-43).
    EmptyProviderName, Limits, "empty_provider_name", HResult::BAD_ENCODING, "the provider name is empty";
    /// A `tracepoint_config` has neither a default tracepoint nor a set.
    NoTracepoint, Limits, "no_tracepoint", HResult::BAD_ENCODING, "a default tracepoint or a tracepoint set is needed";
    /// A `tracepoint_set` has no name, or its name begins with a NUL (P-43).
    EmptyTracepointName, Limits, "empty_tracepoint_name", HResult::BAD_ENCODING, "the tracepoint name is empty";
    /// The name of a tracepoint has more than 436 bytes in UTF-8, the space in a command string.
    /// Runtimes should answer with an error (F-21), but released .NET 10 builds crash (P-19).
    TracepointNameTooLong {
        /// The length of the name in bytes.
        len: u32
    }, Limits, "tracepoint_name_too_long", HResult::FAIL,
        "the tracepoint name has {len} bytes, the maximum is {MAX_TRACEPOINT_NAME_LEN}";
    /// An event id occurs twice in the sets of one provider. Runtimes should answer with an error
    /// (F-21), but some crash first (F-72).
    DuplicateEventId {
        /// The event id.
        id: u32
    }, Limits, "duplicate_event_id", HResult::FAIL, "event id {id} occurs twice in the provider's tracepoint sets";
    /// `sessionBufferMode` is above 1 (F-30).
    UnknownBufferMode {
        /// The number received.
        mode: u32
    }, Limits, "unknown_buffer_mode", HResult::BAD_ENCODING, "buffer mode {mode} is neither 0 (drop) nor 1 (block)";
    /// `perfMapType` is 0, or 4 to 0x7FFFFFFF (F-46). Runtimes read higher numbers as negative and accept them (P-44).
    UnknownPerfMapType {
        /// The number received.
        map_type: u32
    }, Limits, "unknown_perf_map_type", HResult::INVALID_ARG,
        "perf map type {map_type} is not 1 (all), 2 (jitdump) or 3 (perfmap)";
    /// `dumpType` is 0 or above 4 (P-3).
    UnknownDumpType {
        /// The number received.
        dump_type: u32
    }, Limits, "unknown_dump_type", HResult::FAIL, "dump type {dump_type} is not one of 1 to 4";
    /// A required name or path is absent.
    AbsentName, Limits, "absent_name", HResult::INVALID_ARG, "the name or path must not be absent";

    /// An error message of the server replaces the rest of an environment block (F-43).
    ErrorMessage {
        /// The HRESULT of the error message.
        hresult: HResult
    }, Reply, "error_message", hresult, "an error message begins here: {hresult}";
    /// An environment block exceeds the caller's limit.
    LimitExceeded {
        /// The limit.
        limit: u32,
        /// The number that the runtime announced.
        found: u32
    }, Limits, "limit_exceeded", HResult::BAD_ENCODING, "{found} exceeds the limit of {limit}";

    /// The `size` at the front of a kernel structure is wrong.
    WrongStructSize {
        /// The size received.
        size: u32,
        /// The size of the structure, without padding.
        expected: u32
    }, Payload, "wrong_struct_size", HResult::BAD_ENCODING, "size is {size}, expected {expected}";
    /// The padding at the end of a kernel structure is not zero (P-18).
    NonZeroPadding {
        /// The byte received.
        byte: u8
    }, Payload, "non_zero_padding", HResult::BAD_ENCODING, "padding is {byte:#04x}, expected 0x00";
    /// A `__rel_loc` points outside the data after the fixed fields (F-66).
    RelLocOutOfRange {
        /// The offset from the end of the `__rel_loc` itself.
        offset: u16,
        /// The length of the data in bytes.
        len: u16
    }, Payload, "rel_loc_out_of_range", HResult::BAD_ENCODING,
        "{len} bytes at offset {offset} from here are not all within the record's data";
    /// The fields of a tracepoint's command string are not those of format version 1 (F-65).
    UnknownTracepointFormat, Payload, "unknown_tracepoint_format", HResult::BAD_ENCODING,
        "expected the fields of tracepoint format version 1";
    /// A tracepoint's command string has no name.
    EmptyCommandName, Payload, "empty_tracepoint_name", HResult::BAD_ENCODING, "the tracepoint name is empty";
    /// A tracepoint's name leaves no space for the fields in the 512 bytes of a command string.
    CommandNameTooLong {
        /// The length of the name in bytes.
        len: u32
    }, Payload, "tracepoint_name_too_long", HResult::BAD_ENCODING,
        "the tracepoint name has {len} bytes, the maximum is {MAX_TRACEPOINT_NAME_LEN}";
    /// A byte of a tracepoint's name is a NUL or not UTF-8.
    BadTracepointName {
        /// The byte received.
        byte: u8
    }, Payload, "bad_tracepoint_name", HResult::BAD_ENCODING, "byte {byte:#04x} is not allowed in a tracepoint name";
}

#[cfg(test)]
mod tests {
    extern crate std;
    use super::*;
    use crate::command::Command;
    use std::string::ToString;

    fn at(offset: usize) -> WireError {
        WireError::new(WireErrorKind::BadMagic, offset)
    }

    #[test]
    fn path_prints_outermost_first() {
        let e = at(9)
            .at_index(2)
            .within(Field::EventIds)
            .at_index(1)
            .within(Field::Tracepoints)
            .within(Field::Config);
        let e = e
            .at_index(70_000)
            .within(Field::Providers)
            .in_root(Root::of(Command::COLLECT_TRACING5));
        assert_eq!(
            e.path().to_string(),
            "CollectTracing5.providers[70000].config.tracepoints[1].event_ids[2]"
        );
        let segments = [
            ("CollectTracing5", None),
            ("providers", Some(70_000)),
            ("config", None),
            ("tracepoints", Some(1)),
        ];
        assert!(e.path().segments().eq(segments.into_iter().chain([("event_ids", Some(2))])));
    }

    #[test]
    fn piece_alone_has_path_without_root() {
        assert_eq!(at(0).path().to_string(), "");
        assert!(at(0).path().is_empty());
        assert_eq!(at(0).within(Field::EventIds).path().to_string(), "event_ids");
        assert_eq!(at(0).at_index(1).path().to_string(), "[1]");
        assert!(at(0).at_index(1).path().segments().eq([("", Some(1))]));
        assert_eq!(at(0).path().segments().count(), 0);
        assert_eq!(at(0).to_string(), "at byte 0: magic mismatch, expected \"DOTNET_IPC_V1\\0\"");
    }

    #[test]
    fn error_is_small() {
        assert!(size_of::<WireError>() <= 32, "{}", size_of::<WireError>());
        assert_eq!(size_of::<Path>(), 16);
    }
}
