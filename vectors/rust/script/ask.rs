//! The request for a client under test.

use alloc::string::String;

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// The request that a client under test must send.
///
/// ```
/// use dotnet_diagnostics_ipc_vectors::script::Ask;
///
/// let ask: Ask = serde_json::from_str(r#"{ "command": "Process/ProcessInfo", "value": {}, "patience_ms": 500 }"#)?;
/// assert_eq!((ask.patience_ms, ask.fallback, ask.limits.stream_bytes), (Some(500), false, None));
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Ask {
    /// `Set/Name`; `None` with `old_protocol`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub command: Option<String>,
    /// Whether the request is one of the previous protocol.
    #[serde(default, skip_serializing_if = "is_false")]
    pub old_protocol: bool,
    /// The request in the form of the vectors.
    pub value: Value,
    /// The diagnostic port owned by the client, if it should not connect to the default port.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub port: Option<String>,
    /// The client's buffer for a message, in bytes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub buffer: Option<usize>,
    /// The client's time limit for the next byte.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub patience_ms: Option<u32>,
    /// Whether to use the older command after `UNKNOWN_COMMAND`.
    #[serde(default, skip_serializing_if = "is_false")]
    pub fallback: bool,
    /// Send `StopTracing` after this many bytes of the stream.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stop_after: Option<u64>,
    /// Limits on what it accepts.
    #[serde(default, skip_serializing_if = "AskLimits::is_none")]
    pub limits: AskLimits,
}

/// The most that a client under test accepts; `None` is no limit.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AskLimits {
    /// Bytes of a stream.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stream_bytes: Option<u64>,
    /// Bytes of an environment block.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub environment_bytes: Option<u32>,
    /// Its entries.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub environment_entries: Option<u32>,
    /// Bytes of one entry, including its NUL, without its count.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub entry_bytes: Option<usize>,
}

impl AskLimits {
    fn is_none(&self) -> bool {
        *self == Self::default()
    }
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde requires this form")]
pub(super) fn is_false(value: &bool) -> bool {
    !value
}
