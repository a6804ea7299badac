//! The types of the vectors.

use alloc::vec::Vec;
use core::{fmt, str::FromStr};

use serde::de::IntoDeserializer as _;
use serde::{Deserialize, Serialize, de::value};

use super::{Annotations, DecodeRefusal, EncodeFailure, Value};

/// The type of a group's bytes: the `type` of the vectors.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[non_exhaustive]
#[allow(missing_docs, reason = "the names are those of vectors/README.md")]
pub enum Type {
    #[serde(rename = "request")]
    Request,
    #[serde(rename = "reply")]
    Reply,
    #[serde(rename = "error")]
    Error,
    #[serde(rename = "unknown")]
    Unknown,
    #[serde(rename = "legacy-request")]
    LegacyRequest,
    #[serde(rename = "advertise")]
    Advertise,
    #[serde(rename = "byte")]
    Byte,
    #[serde(rename = "ushort")]
    Ushort,
    #[serde(rename = "uint")]
    Uint,
    #[serde(rename = "ulong")]
    Ulong,
    #[serde(rename = "hresult")]
    HResult,
    #[serde(rename = "bool")]
    Bool,
    #[serde(rename = "wchar")]
    Wchar,
    #[serde(rename = "string")]
    String,
    #[serde(rename = "guid")]
    Guid,
    #[serde(rename = "clsid")]
    Clsid,
    #[serde(rename = "array<byte>")]
    ByteArray,
    #[serde(rename = "array<wchar>")]
    WcharArray,
    #[serde(rename = "array<uint>")]
    UintArray,
    #[serde(rename = "array<string>")]
    StringArray,
    #[serde(rename = "event_filter")]
    EventFilter,
    #[serde(rename = "tracepoint_set")]
    TracepointSet,
    #[serde(rename = "tracepoint_config")]
    TracepointConfig,
    #[serde(rename = "provider_config")]
    ProviderConfig,
    #[serde(rename = "streaming_provider_config")]
    StreamingProviderConfig,
    #[serde(rename = "user_events_provider_config")]
    UserEventsProviderConfig,
    #[serde(rename = "environment")]
    Environment,
    #[serde(rename = "stream-start")]
    StreamStart,
    #[serde(rename = "ports")]
    Ports,
    #[serde(rename = "ports-strict")]
    PortsStrict,
    #[serde(rename = "default-port-suspend")]
    DefaultPortSuspend,
    #[serde(rename = "socket-name")]
    SocketName,
    #[serde(rename = "pipe-name")]
    PipeName,
    #[serde(rename = "process-stat")]
    ProcessStat,
    #[serde(rename = "user_reg")]
    UserReg,
    #[serde(rename = "user_unreg")]
    UserUnreg,
    #[serde(rename = "tracepoint-command")]
    TracepointCommand,
    #[serde(rename = "user_events-record")]
    UserEventsRecord,
    #[serde(rename = "extension")]
    Extension,
    #[serde(rename = "old-request")]
    OldRequest,
    #[serde(rename = "old-reply")]
    OldReply,
    #[serde(rename = "legacy-error")]
    LegacyError,
}

/// Its name in the vectors.
impl fmt::Display for Type {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.serialize(f)
    }
}

/// From its name in the vectors; `user-events` and `legacy` are short for two of them.
///
/// ```
/// use dotnet_diagnostics_ipc_vectors::Type;
///
/// assert_eq!("array<byte>".parse(), Ok(Type::ByteArray));
/// assert_eq!("legacy".parse(), Ok(Type::LegacyRequest));
/// assert!("nonsense".parse::<Type>().is_err());
/// ```
impl FromStr for Type {
    type Err = ParseTypeError;

    fn from_str(name: &str) -> Result<Self, ParseTypeError> {
        let name = match name {
            "user-events" => "user_events-record",
            "legacy" => "legacy-request",
            name => name,
        };
        let read: Result<Self, value::Error> = Self::deserialize(name.into_deserializer());
        read.map_err(|_| ParseTypeError(()))
    }
}

/// Text that is not the name of a [`Type`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ParseTypeError(());

impl fmt::Display for ParseTypeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("`type` in vectors/README.md lists the types")
    }
}

impl core::error::Error for ParseTypeError {}

/// A value, and whether it is canonical.
pub(super) type Reading = Result<(Value, bool), DecodeRefusal>;

/// How to read and write the types of one part of the protocol that are not pieces of a payload.
pub(super) struct Family {
    /// The value, and whether it is canonical.
    pub(super) decode: fn(Type, &[u8]) -> Reading,
    pub(super) encode: fn(Type, &Value) -> Result<Vec<u8>, EncodeFailure>,
    pub(super) annotate: fn(Type, &[u8], &mut Annotations),
}
