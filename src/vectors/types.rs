//! The types of the vectors.

use alloc::vec::Vec;

use serde::{Deserialize, Serialize};

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

/// A value, and whether it is canonical.
pub(super) type Reading = Result<(Value, bool), DecodeRefusal>;

/// How to read and write the types of one part of the protocol that are not pieces of a payload.
pub(super) struct Family {
    /// The value, and whether it is canonical.
    pub(super) decode: fn(Type, &[u8]) -> Reading,
    pub(super) encode: fn(Type, &Value) -> Result<Vec<u8>, EncodeFailure>,
    pub(super) annotate: fn(Type, &[u8], &mut Annotations),
}
