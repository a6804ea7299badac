//! What a script requires: how a runtime is started, or what a client sends.

use alloc::{
    borrow::Cow,
    collections::BTreeMap,
    string::{String, ToString as _},
    vec::Vec,
};
use core::fmt;

use serde::{Deserialize, Deserializer, Serialize, de::Error as _};
use serde_json::Value;

/// How the runtime under test must be started.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Target {
    /// Whether it is started with `DOTNET_DefaultDiagnosticPortSuspend=1`.
    pub suspended: bool,
    /// The addresses of `DOTNET_DiagnosticPorts`, in this order.
    pub ports: Vec<TargetPort>,
    /// The value of `DOTNET_DiagnosticPorts`, with `{id}` for the address of a port. `None` if it
    /// is made from `ports`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub spelled: Option<String>,
    /// The environment variables of the runtime.
    pub environment: BTreeMap<String, VariableValue>,
    /// The required system or family, `linux` or `unix`, or `None` for any.
    pub platform: Option<String>,
    /// Other required abilities, which the document leaves open.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub wants: Vec<Ability>,
    /// Whether to wait for its default port, which its environment may disable.
    #[serde(default = "yes", skip_serializing_if = "is_true")]
    pub default_port: bool,
}

impl Default for Target {
    fn default() -> Self {
        let (ports, environment, wants) = (Vec::new(), BTreeMap::new(), Vec::new());
        Self {
            suspended: false,
            ports,
            spelled: None,
            environment,
            platform: None,
            wants,
            default_port: true,
        }
    }
}

/// An address of [`Target::ports`].
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TargetPort {
    /// The name of the port in the steps.
    pub id: String,
    /// The mode of the port: `suspend`, or `nosuspend` if false.
    pub suspend: bool,
    /// Whether the player listens at the port before the target starts.
    pub listening: bool,
}

/// The value of a variable in [`Target::environment`].
///
/// ```
/// use dotnet_diagnostics_ipc_vectors::script::VariableValue;
///
/// let latin: VariableValue = serde_json::from_str(r#"{ "bytes": "e9" }"#)?;
/// assert_eq!(&latin.as_bytes()[..], [0xe9]);
/// assert!(serde_json::from_str::<VariableValue>(r#"{ "bytes": "e9", "other": 1 }"#).is_err());
/// let long: VariableValue = serde_json::from_str(r#"{ "repeat": "ab", "times": 2 }"#)?;
/// assert_eq!(&long.as_bytes()[..], b"abab");
/// assert_eq!(&VariableValue::from("x").as_bytes()[..], b"x");
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(
    untagged,
    deny_unknown_fields,
    expecting = "expected a text, bytes in hexadecimal, or a text of at most 64 characters to repeat"
)]
pub enum VariableValue {
    /// A text.
    Text(String),
    /// Bytes, which may not be UTF-8: `{"bytes": "e9"}`.
    Bytes {
        /// The bytes.
        #[serde(with = "crate::hexadecimal")]
        bytes: Vec<u8>,
    },
    /// A text that is repeated: `{"repeat": "x", "times": 1000}`.
    Repeat {
        /// The text to repeat, at most 64 characters.
        #[serde(deserialize_with = "unit")]
        repeat: String,
        /// The number of repetitions.
        times: u16,
    },
}

impl VariableValue {
    /// Returns the bytes after the equals sign.
    pub fn as_bytes(&self) -> Cow<'_, [u8]> {
        match self {
            Self::Text(text) => text.as_bytes().into(),
            Self::Bytes { bytes } => bytes.into(),
            Self::Repeat { repeat, times } => {
                repeat.repeat(usize::from(*times)).into_bytes().into()
            }
        }
    }
}

impl From<&str> for VariableValue {
    fn from(text: &str) -> Self {
        Self::Text(text.to_string())
    }
}

/// Reads a text to repeat. Its limit keeps a script from exhausting the memory.
fn unit<'de, D: Deserializer<'de>>(deserializer: D) -> Result<String, D::Error> {
    let text = String::deserialize(deserializer)?;
    if text.chars().count() > 64 {
        return Err(D::Error::custom("too long"));
    }
    Ok(text)
}

const fn yes() -> bool {
    true
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde requires this form")]
const fn is_true(value: &bool) -> bool {
    *value
}

/// An optional ability of a server, which the document leaves open and a script needs.
///
/// ```
/// use dotnet_diagnostics_ipc_vectors::script::Ability;
///
/// assert_eq!(serde_json::from_str::<Ability>("\"one-client-at-a-time\"")?, Ability::OneClientAtATime);
/// assert_eq!(Ability::Ports.to_string(), "diagnostic ports");
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Ability {
    /// The server connects to the ports of `DOTNET_DiagnosticPorts`.
    Ports,
    /// The server waits for `ResumeRuntime` if its default port or another port suspends it.
    Suspension,
    /// The server has sessions that write to `user_events_data`.
    UserEvents,
    /// The server serves one client after another, so a silent client blocks all others (F-75).
    OneClientAtATime,
    /// The server has sessions in format 0, netperf.
    Netperf,
}

impl Ability {
    /// All abilities.
    pub const ALL: [Self; 5] =
        [Self::Ports, Self::Suspension, Self::UserEvents, Self::OneClientAtATime, Self::Netperf];
}

impl fmt::Display for Ability {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Ports => "diagnostic ports",
            Self::Suspension => "suspension at startup",
            Self::UserEvents => "sessions with user_events",
            Self::OneClientAtATime => "one client at a time",
            Self::Netperf => "streams in the netperf format",
        })
    }
}

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
    /// The command as `Set/Name`, or `None` with `old_protocol`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub command: Option<String>,
    /// Whether the request is one of the previous protocol.
    #[serde(default, skip_serializing_if = "core::ops::Not::not")]
    pub old_protocol: bool,
    /// The request in the value form.
    pub value: Value,
    /// The diagnostic port owned by the client, if it should not connect to the default port.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub port: Option<String>,
    /// The size of the client's buffer for a message, in bytes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub buffer: Option<usize>,
    /// The client's time limit for the next byte, in milliseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub patience_ms: Option<u32>,
    /// Whether the client uses the older command after `UNKNOWN_COMMAND`.
    #[serde(default, skip_serializing_if = "core::ops::Not::not")]
    pub fallback: bool,
    /// The number of bytes of the stream after which the client sends `StopTracing`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stop_after: Option<u64>,
    /// Limits on what the client accepts.
    #[serde(default, skip_serializing_if = "AskLimits::is_none")]
    pub limits: AskLimits,
}

/// The limits on what a client under test accepts; `None` means no limit.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AskLimits {
    /// The maximum number of bytes in a stream.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stream_bytes: Option<u64>,
    /// The maximum number of bytes in an environment block.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub environment_bytes: Option<u32>,
    /// The maximum number of entries in an environment block.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub environment_entries: Option<u32>,
    /// The maximum number of bytes in an entry, including its NUL but not its count.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub entry_bytes: Option<usize>,
}

impl AskLimits {
    fn is_none(&self) -> bool {
        *self == Self::default()
    }
}
