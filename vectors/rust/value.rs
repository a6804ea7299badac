//! The value form, which is the meaning of a message as JSON. `vectors/README.md` defines it.

use alloc::{format, string::String, vec::Vec};
use core::fmt;

use serde_json::Map;

pub use serde_json::Value;

use super::from_wire::FromWire;
use dotnet_diagnostics_ipc::hresult::HResult;
use dotnet_diagnostics_ipc::wire::visit::{Names, Visit, Visitor};
use dotnet_diagnostics_ipc::wire::{Array, Field, Guid, IpcString, WireError};

/// The memory from which values that are read from JSON borrow the items of arrays.
#[derive(Debug, Default)]
pub struct Arena(bumpalo::Bump);

impl Arena {
    /// Returns an empty arena.
    pub fn new() -> Self {
        Self::default()
    }

    pub(super) fn slice<T: Copy>(&self, items: &[T]) -> &[T] {
        self.0.alloc_slice_copy(items)
    }
}

/// The error of JSON that is not a value of the expected type, with a path such as
/// `providers[2].keywords`.
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
    /// Returns the value as JSON.
    fn to_value(&self) -> Value;

    /// Reads the value from JSON.
    ///
    /// # Errors
    /// If the JSON is not a value of this type. Unknown keys are an error.
    fn from_value(value: &'a Value, arena: &'a Arena) -> Result<Self, ValueError>;

    /// Reads a value from the wire, and records each of its parts.
    #[doc(hidden)]
    fn explain(source: &mut FromWire<'a>) -> Result<(), WireError>;
}

/// Parses `"0x"` followed by exactly `digits` digits.
pub(super) fn hexadecimal(value: &Value, digits: usize) -> Option<u32> {
    let text = value.as_str()?.strip_prefix("0x")?;
    if text.len() != digits || !text.bytes().all(|b| b.is_ascii_hexdigit()) {
        return None;
    }
    u32::from_str_radix(text, 16).ok()
}

/// Returns the object if it has only these keys.
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

/// Adds a field to an object.
pub(super) fn insert(object: &mut Value, key: &str, value: impl Into<Value>) {
    if let Value::Object(fields) = object {
        fields.insert(key.into(), value.into());
    }
}

/// Reads a field of an object, in the form of the wire types.
pub(super) fn field<'a, T: ValueForm<'a>>(
    value: &'a Value,
    key: &str,
    arena: &'a Arena,
) -> Result<T, ValueError> {
    let field = value.get(key).ok_or_else(|| ValueError::new("missing"));
    field.and_then(|field| T::from_value(field, arena)).map_err(|error| error.within(key))
}

/// A source that takes the parts of a payload from JSON. Every key of an object must be read.
pub(super) struct FromJson<'a> {
    value: &'a Value,
    arena: &'a Arena,
    /// The keys read so far.
    taken: Vec<&'a str>,
}

impl<'a> FromJson<'a> {
    pub(super) fn new(value: &'a Value, arena: &'a Arena) -> Self {
        Self { value, arena, taken: Vec::new() }
    }

    /// Returns the value of a field by its name, or by its name in another edition.
    fn find(&mut self, field: Field) -> Result<&'a Value, ValueError> {
        const ABSENT_TAIL: &Value = &Value::String(String::new());
        let mut names = core::iter::once(field.name()).chain(former_names(field).iter().copied());
        match names.find_map(|name| self.value.as_object()?.get_key_value(name)) {
            Some((key, value)) => {
                self.taken.push(key);
                Ok(value)
            }
            None if matches!(field, Field::Tail) => Ok(ABSENT_TAIL),
            None => Err(ValueError::new("missing").within(field.name())),
        }
    }

    fn whole<T: TryFrom<u64>>(&self, name: &str) -> Result<T, ValueError> {
        let number = self.value.as_u64().and_then(|number| T::try_from(number).ok());
        number.map_or_else(|| expected(&format!("a whole number ({name})"), self.value), Ok)
    }
}

impl<'a> Visitor<'a> for FromJson<'a> {
    type Error = ValueError;

    fn byte(&mut self) -> Result<u8, ValueError> {
        self.whole("u8")
    }

    fn ushort(&mut self) -> Result<u16, ValueError> {
        self.whole("u16")
    }

    fn uint(&mut self) -> Result<u32, ValueError> {
        self.whole("u32")
    }

    /// Reads a decimal string, because some JSON readers lose digits of 64-bit numbers.
    fn ulong(&mut self) -> Result<u64, ValueError> {
        // Only digits are allowed, but `parse` would accept a sign.
        let digits = self.value.as_str().filter(|text| text.bytes().all(|b| b.is_ascii_digit()));
        digits
            .and_then(|digits| digits.parse().ok())
            .map_or_else(|| expected("a decimal string of 64 bits", self.value), Ok)
    }

    fn bool(&mut self) -> Result<bool, ValueError> {
        self.value.as_bool().map_or_else(|| expected("true or false", self.value), Ok)
    }

    fn hresult(&mut self) -> Result<HResult, ValueError> {
        let code = hexadecimal(self.value, 8).map(HResult);
        code.map_or_else(|| expected("a HRESULT such as \"0x80131384\"", self.value), Ok)
    }

    fn guid(&mut self) -> Result<Guid, ValueError> {
        self.value
            .as_str()
            .and_then(|text| text.parse().ok())
            .map_or_else(|| expected("a GUID", self.value), Ok)
    }

    /// Reads text, `null` for absent, or `{"utf16": […]}` if it is not valid Unicode.
    fn string(&mut self) -> Result<IpcString<'a>, ValueError> {
        match self.value {
            Value::Null => Ok(IpcString::ABSENT),
            Value::String(text) => Ok(IpcString::new(text)),
            Value::Object(object) if object.len() == 1 && object.contains_key("utf16") => {
                let units = object.get("utf16").unwrap_or(&Value::Null);
                items(units, |unit| u16::from_value(unit, self.arena))
                    .map(|units| IpcString::from_units(self.arena.slice(&units)))
                    .map_err(|error| error.within("utf16"))
            }
            other => expected("text, null or {\"utf16\": […]}", other),
        }
    }

    /// Reads hexadecimal text.
    fn bytes(&mut self) -> Result<&'a [u8], ValueError> {
        let bytes = self.value.as_str().and_then(|digits| hex::decode(digits).ok());
        bytes.map_or_else(
            || expected("hexadecimal text", self.value),
            |bytes| Ok(self.arena.slice(&bytes)),
        )
    }

    fn array<T: Visit<'a>>(&mut self) -> Result<Array<'a, T>, ValueError> {
        let items = items(self.value, |item| T::build(&mut Self::new(item, self.arena)))?;
        Ok(Array::new(self.arena.slice(&items)))
    }

    fn number(&mut self, _: Option<Names>) -> Result<u32, ValueError> {
        self.uint()
    }

    fn tail(&mut self) -> Result<&'a [u8], ValueError> {
        self.bytes()
    }

    fn is_user_events(&mut self) -> Result<bool, ValueError> {
        match self.field(Field::SessionType)? {
            0 => Ok(false),
            1u32 => Ok(true),
            _ => Err(ValueError::new("neither 0 nor 1").within(Field::SessionType.name())),
        }
    }

    fn field<T: Visit<'a>>(&mut self, field: Field) -> Result<T, ValueError> {
        T::build(&mut Self::new(self.find(field)?, self.arena))
            .map_err(|error| error.within(field.name()))
    }

    fn object<T>(
        &mut self,
        fields: impl FnOnce(&mut Self) -> Result<T, ValueError>,
    ) -> Result<T, ValueError> {
        let Value::Object(object) = self.value else {
            return expected("an object", self.value);
        };
        let made = fields(self)?;
        match object.keys().find(|key| !self.taken.contains(&key.as_str())) {
            Some(key) => Err(ValueError::new("unknown field").within(key)),
            None => Ok(made),
        }
    }
}

/// Reads the items of a JSON list.
pub(super) fn items<'a, T>(
    value: &'a Value,
    mut item: impl FnMut(&'a Value) -> Result<T, ValueError>,
) -> Result<Vec<T>, ValueError> {
    let Value::Array(list) = value else {
        return expected("a list", value);
    };
    let items = list.iter().enumerate();
    items
        .map(|(index, value)| item(value).map_err(|error| error.within(&format!("[{index}]"))))
        .collect()
}

/// Returns the names of the same field in other editions, or in an edition's structs.
fn former_names(field: Field) -> &'static [&'static str] {
    match field {
        Field::Arch => &["Arch"],
        Field::Arguments => &["filter_data"],
        Field::AttachTimeout => &["dwAttachTimeout"],
        Field::ClientData => &["pClientData"],
        Field::ClrProductVersion => &["ClrProductVersion"],
        Field::CommandLine => &["CommandLine"],
        Field::ManagedEntrypointAssemblyName => &["ManagedEntrypointAssemblyName"],
        Field::ProcessId => &["ProcessId"],
        Field::RuntimeCookie => &["RuntimeCookie"],
        Field::RuntimeIdentifier => &["RuntimeIdentifier"],
        Field::StreamingCircularBufferMb => &["circularBufferMB"],
        Field::StreamingFormat => &["format"],
        Field::Version => &["Version"],
        _ => &[],
    }
}
