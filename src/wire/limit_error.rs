//! Why a server refuses a request that decodes: its limits (F-16 and others).

use core::fmt;

use super::error::{Layer, WireError, WireErrorKind, sealed::Sealed};
use crate::hresult::HResult;

/// The most bytes of a tracepoint's name in UTF-8: the room in a command string (F-65).
pub(crate) const MAX_TRACEPOINT_NAME_LEN: u16 = 436;

/// Why a server would refuse a request that decodes, with the offset and the field.
pub type LimitError = WireError<LimitKind>;

/// Why a server refuses a request that decodes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum LimitKind {
    /// `circularBufferMB` is 0.
    ZeroBuffer,
    /// `format` is above 1.
    UnknownFormat(u32),
    /// `logLevel` is above 5.
    LogLevelOutOfRange(u32),
    /// No providers.
    NoProviders,
    /// More than 1,000 providers.
    TooManyProviders(u32),
    /// A provider without a name, or with a name that begins with NUL (P-43).
    EmptyProviderName,
    /// A `tracepoint_config` with neither a default tracepoint nor a set.
    NoTracepoint,
    /// A `tracepoint_set` without a name, or with a name that begins with NUL (P-43).
    EmptyTracepointName,
    /// A tracepoint name of more than 436 bytes in UTF-8, the room in a command string. Meant to be
    /// answered by an error (F-21); released .NET 10 builds crash on it (P-19).
    TracepointNameTooLong(u32),
    /// An event id occurs twice in the sets of one provider.
    DuplicateEventId(u32),
    /// `sessionBufferMode` is above 1 (F-30).
    UnknownBufferMode(u32),
    /// `perfMapType` is 0, or 4 to 0x7FFFFFFF (F-46). Runtimes read higher numbers as negative, and
    /// accept them (P-44).
    UnknownPerfMapType(u32),
    /// `dumpType` is 0 or above 4.
    UnknownDumpType(u32),
    /// A name or path that must not be absent.
    AbsentName,
}

impl Sealed for LimitKind {}

impl WireErrorKind for LimitKind {
    fn layer(self) -> Layer {
        Layer::Limits
    }

    fn name(self) -> &'static str {
        match self {
            Self::ZeroBuffer => "zero_buffer",
            Self::UnknownFormat(_) => "unknown_format",
            Self::LogLevelOutOfRange(_) => "log_level_out_of_range",
            Self::NoProviders => "no_providers",
            Self::TooManyProviders(_) => "too_many_providers",
            Self::EmptyProviderName => "empty_provider_name",
            Self::NoTracepoint => "no_tracepoint",
            Self::EmptyTracepointName => "empty_tracepoint_name",
            Self::TracepointNameTooLong(_) => "tracepoint_name_too_long",
            Self::DuplicateEventId(_) => "duplicate_event_id",
            Self::UnknownBufferMode(_) => "unknown_buffer_mode",
            Self::UnknownPerfMapType(_) => "unknown_perf_map_type",
            Self::UnknownDumpType(_) => "unknown_dump_type",
            Self::AbsentName => "absent_name",
        }
    }

    fn hresult(self) -> HResult {
        match self {
            // A dump type: seen on 8.0.30, 9.0.5 and 10.0.9 (P-3). The others: by design (F-21), if
            // the process does not crash first (F-72, P-19).
            Self::TracepointNameTooLong(_)
            | Self::DuplicateEventId(_)
            | Self::UnknownDumpType(_) => HResult::FAIL,
            Self::UnknownPerfMapType(_) | Self::AbsentName => HResult::INVALID_ARG,
            _ => HResult::BAD_ENCODING,
        }
    }
}

impl fmt::Display for LimitKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::ZeroBuffer => f.write_str("the circular buffer must not be 0 MB"),
            Self::UnknownFormat(n) => {
                write!(f, "format {n} is neither 0 (NetPerf) nor 1 (NetTrace)")
            }
            Self::LogLevelOutOfRange(n) => write!(f, "level {n} is above 5 (Verbose)"),
            Self::NoProviders => f.write_str("at least one provider is needed"),
            Self::TooManyProviders(n) => write!(f, "{n} providers exceed the limit of 1000"),
            Self::EmptyProviderName => f.write_str("the provider name is empty"),
            Self::NoTracepoint => f.write_str("a default tracepoint or a tracepoint set is needed"),
            Self::EmptyTracepointName => f.write_str("the tracepoint name is empty"),
            Self::TracepointNameTooLong(len) => {
                write!(
                    f,
                    "the tracepoint name has {len} bytes, the maximum is {MAX_TRACEPOINT_NAME_LEN}"
                )
            }
            Self::DuplicateEventId(id) => {
                write!(f, "event id {id} occurs twice in the provider's tracepoint sets")
            }
            Self::UnknownBufferMode(n) => {
                write!(f, "buffer mode {n} is neither 0 (drop) nor 1 (block)")
            }
            Self::UnknownPerfMapType(n) => {
                write!(f, "perf map type {n} is not 1 (all), 2 (jitdump) or 3 (perfmap)")
            }
            Self::UnknownDumpType(n) => write!(f, "dump type {n} is not one of 1 to 4"),
            Self::AbsentName => f.write_str("the name or path must not be absent"),
        }
    }
}
