//! The value form: the meaning of a message, as JSON. `vectors/README.md` defines it.

use alloc::{format, string::String};
use core::fmt;

use serde_json::Map;

pub use serde_json::Value;

use super::from_wire::FromWire;
use dotnet_diagnostics_ipc::wire::WireError;

/// The memory that values read from JSON borrow from: slices of items in a message.
#[derive(Debug, Default)]
pub struct Arena(bumpalo::Bump);

impl Arena {
    /// An empty one.
    pub fn new() -> Self {
        Self::default()
    }

    pub(super) fn slice<T: Copy>(&self, items: &[T]) -> &[T] {
        self.0.alloc_slice_copy(items)
    }
}

/// JSON that is not a value of the expected type, and where: `providers[2].keywords`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ValueError {
    path: String,
    message: String,
}

impl ValueError {
    pub(crate) fn new(message: impl Into<String>) -> Self {
        Self { path: String::new(), message: message.into() }
    }

    /// Prepends `segment` to the path.
    #[must_use]
    pub(crate) fn within(mut self, segment: &str) -> Self {
        let dot = if self.path.is_empty() || self.path.starts_with('[') { "" } else { "." };
        self.path = format!("{segment}{dot}{}", self.path);
        self
    }
}

impl fmt::Display for ValueError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.path.is_empty() {
            f.write_str(&self.message)
        } else {
            write!(f, "{}: {}", self.path, self.message)
        }
    }
}

impl core::error::Error for ValueError {}

pub(super) fn expected<T>(what: &str, value: &Value) -> Result<T, ValueError> {
    let shown = format!("{value}");
    let short: String = shown.chars().take(60).collect();
    let dots = if short.len() < shown.len() { "…" } else { "" };
    Err(ValueError::new(format!("expected {what}, not {short}{dots}")))
}

/// A wire type with a value form.
pub trait ValueForm<'a>: Sized {
    /// The value as JSON.
    fn to_value(&self) -> Value;

    /// The value from JSON.
    ///
    /// # Errors
    /// If it is not a value of this type. Unknown keys are an error.
    fn from_value(value: &'a Value, arena: &'a Arena) -> Result<Self, ValueError>;

    /// Reads a value from the wire, and notes each of its parts.
    #[doc(hidden)]
    fn explain(source: &mut FromWire<'a>) -> Result<(), WireError>;
}

/// `"0x"` and exactly `digits` digits.
pub(super) fn hexadecimal(value: &Value, digits: usize) -> Option<u32> {
    let text = value.as_str()?.strip_prefix("0x")?;
    if text.len() != digits || !text.bytes().all(|b| b.is_ascii_hexdigit()) {
        return None;
    }
    u32::from_str_radix(text, 16).ok()
}

/// The object, if it has only these keys.
pub(super) fn object_of<'v>(
    value: &'v Value,
    keys: &[&str],
) -> Result<&'v Map<String, Value>, ValueError> {
    let Value::Object(object) = value else {
        return expected("an object", value);
    };
    match object.keys().find(|key| !keys.contains(&key.as_str())) {
        Some(key) => Err(ValueError::new("unknown field").within(key)),
        None => Ok(object),
    }
}
