//! Bytes that a script knows in advance.

use alloc::{
    collections::BTreeMap,
    format,
    string::{String, ToString as _},
    vec::Vec,
};
use core::fmt;

use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error as _};
use serde_json::Value;

use crate::value::object_of;

/// The captured bytes, by name.
pub type Captures = BTreeMap<String, Vec<u8>>;

/// Bytes that are known in advance.
///
/// ```
/// use dotnet_diagnostics_ipc_vectors::script::{Captures, Literal};
///
/// let captures = Captures::from([("id".into(), vec![42, 0])]);
/// assert_eq!(Literal::Same("id".into()).bytes(&captures), Ok(vec![42, 0]));
/// assert_eq!(Literal::Repeat { unit: vec![1, 2], times: 2 }.bytes(&captures), Ok(vec![1, 2, 1, 2]));
/// assert!(Literal::Same("other".into()).bytes(&captures).is_err());
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Literal {
    /// These.
    Bytes(Vec<u8>),
    /// These, repeated.
    Repeat {
        /// The bytes.
        unit: Vec<u8>,
        /// The number of repetitions.
        times: usize,
    },
    /// Those captured under this name.
    Same(String),
}

/// Nothing was captured under this name: an error in the script.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Uncaptured(pub(super) String);

impl Literal {
    /// The bytes.
    ///
    /// # Errors
    /// [`Uncaptured`].
    pub fn bytes(&self, captures: &Captures) -> Result<Vec<u8>, Uncaptured> {
        match self {
            Self::Bytes(bytes) => Ok(bytes.clone()),
            Self::Repeat { unit, times } => Ok(unit.repeat(*times)),
            Self::Same(name) => captures.get(name).cloned().ok_or_else(|| Uncaptured(name.clone())),
        }
    }
}

impl fmt::Display for Uncaptured {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "nothing was captured as `{}`", self.0)
    }
}

impl core::error::Error for Uncaptured {}

impl Serialize for Literal {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Bytes(bytes) => hex::encode(bytes).serialize(serializer),
            Self::Repeat { unit, times } => {
                serde_json::json!({ "repeat": hex::encode(unit), "times": times })
                    .serialize(serializer)
            }
            Self::Same(name) => serde_json::json!({ "same": name }).serialize(serializer),
        }
    }
}

impl<'de> Deserialize<'de> for Literal {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        literal(&Value::deserialize(deserializer)?).map_err(D::Error::custom)
    }
}

pub(super) fn literal(value: &Value) -> Result<Literal, String> {
    let wanted = || format!("expected bytes in hexadecimal, or a part, not {value}");
    let bytes = |value: &Value| {
        value.as_str().and_then(|digits| crate::hexadecimal::bytes(digits).ok()).ok_or_else(wanted)
    };
    if value.is_string() {
        return bytes(value).map(Literal::Bytes);
    }
    let object =
        object_of(value, &["repeat", "times", "same"]).map_err(|error| error.to_string())?;
    match (
        object.get("repeat"),
        object.get("times").and_then(Value::as_u64),
        object.get("same").and_then(Value::as_str),
    ) {
        (Some(unit), Some(times), None) => Ok(Literal::Repeat {
            unit: bytes(unit)?,
            times: usize::try_from(times).map_err(|_| wanted())?,
        }),
        (None, None, Some(name)) => Ok(Literal::Same(name.to_string())),
        _ => Err(wanted()),
    }
}
