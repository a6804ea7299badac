//! How the runtime under test must be started.

use alloc::{
    collections::BTreeMap,
    string::{String, ToString as _},
    vec::Vec,
};

use serde::{Deserialize, Serialize};

use super::Ability;

/// How the runtime under test must be started.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Target {
    /// With `DOTNET_DefaultDiagnosticPortSuspend=1`.
    pub suspended: bool,
    /// The addresses of `DOTNET_DiagnosticPorts`, in this order.
    pub ports: Vec<TargetPort>,
    /// Its environment variables.
    pub environment: BTreeMap<String, VariableValue>,
    /// The required system or family, `linux` or `unix`; `None` is any.
    pub platform: Option<String>,
    /// Other required abilities that the document leaves open.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub wants: Vec<Ability>,
    /// Whether to wait for its default port: not if its environment disables it.
    #[serde(default = "yes", skip_serializing_if = "is_true")]
    pub default_port: bool,
}

impl Default for Target {
    fn default() -> Self {
        let (ports, environment, wants) = (Vec::new(), BTreeMap::new(), Vec::new());
        Self { suspended: false, ports, environment, platform: None, wants, default_port: true }
    }
}

/// An address of [`Target::ports`].
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TargetPort {
    /// Its name in the steps.
    pub id: String,
    /// `suspend`, or `nosuspend`.
    pub suspend: bool,
    /// Whether the player listens there before the target starts.
    pub listening: bool,
}

/// The value of a variable in [`Target::environment`].
///
/// ```
/// use dotnet_diagnostics_ipc_vectors::script::VariableValue;
///
/// let latin: VariableValue = serde_json::from_str(r#"{ "bytes": "e9" }"#)?;
/// assert_eq!(latin.as_bytes(), [0xe9]);
/// assert_eq!(VariableValue::from("x").as_bytes(), b"x");
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum VariableValue {
    /// A text.
    Text(String),
    /// Bytes, which may not be UTF-8.
    Bytes(VariableBytes),
}

/// `{"bytes": "e9"}`
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct VariableBytes {
    /// The bytes.
    #[serde(with = "crate::hexadecimal")]
    pub bytes: Vec<u8>,
}

impl VariableValue {
    /// The bytes after the equals sign.
    pub fn as_bytes(&self) -> &[u8] {
        match self {
            Self::Text(text) => text.as_bytes(),
            Self::Bytes(VariableBytes { bytes }) => bytes,
        }
    }
}

impl From<&str> for VariableValue {
    fn from(text: &str) -> Self {
        Self::Text(text.to_string())
    }
}

const fn yes() -> bool {
    true
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde requires this form")]
const fn is_true(value: &bool) -> bool {
    *value
}
