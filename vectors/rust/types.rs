//! The types of the vectors.

use core::{fmt, str::FromStr};

use serde::de::IntoDeserializer as _;
use serde::{Deserialize, Serialize, de::value};

macro_rules! types {
    ($($Type:ident = $name:literal,)*) => {
        /// The type of a group's bytes: the `type` of the vectors.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
        #[non_exhaustive]
        #[allow(missing_docs, reason = "the names are those of vectors/README.md")]
        pub enum Type {
            $(#[serde(rename = $name)] $Type,)*
        }
    };
}

types! {
    Request = "request",
    Reply = "reply",
    Error = "error",
    Unknown = "unknown",
    LegacyRequest = "legacy-request",
    Advertise = "advertise",
    Byte = "byte",
    Ushort = "ushort",
    Uint = "uint",
    Ulong = "ulong",
    HResult = "hresult",
    Bool = "bool",
    Wchar = "wchar",
    String = "string",
    Guid = "guid",
    Clsid = "clsid",
    ByteArray = "array<byte>",
    WcharArray = "array<wchar>",
    UintArray = "array<uint>",
    StringArray = "array<string>",
    EventFilter = "event_filter",
    TracepointSet = "tracepoint_set",
    TracepointConfig = "tracepoint_config",
    ProviderConfig = "provider_config",
    StreamingProviderConfig = "streaming_provider_config",
    UserEventsProviderConfig = "user_events_provider_config",
    Environment = "environment",
    StreamStart = "stream-start",
    Ports = "ports",
    PortsStrict = "ports-strict",
    DefaultPortSuspend = "default-port-suspend",
    SocketName = "socket-name",
    PipeName = "pipe-name",
    ProcessStat = "process-stat",
    UserReg = "user_reg",
    UserUnreg = "user_unreg",
    TracepointCommand = "tracepoint-command",
    UserEventsRecord = "user_events-record",
    Extension = "extension",
    OldRequest = "old-request",
    OldReply = "old-reply",
    LegacyError = "legacy-error",
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
