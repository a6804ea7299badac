//! The value form: what a message means, as JSON. `vectors/README.md` defines it.

use alloc::{borrow::ToOwned as _, format, string::String, vec::Vec};
use core::fmt;

use serde_json::Map;

use super::Annotations;
use crate::command::Command;
use crate::hresult::HResult;
use crate::message::{process::Tail, server::ErrorReply};
use crate::wire::{Array, Decode, DecodeError, Field, Guid, IpcString, Reader};

pub use serde_json::Value;

/// What values that are read from JSON borrow from: slices of items that a message holds.
#[derive(Debug, Default)]
pub struct Arena(bumpalo::Bump);

impl Arena {
    /// An empty one.
    pub fn new() -> Self {
        Self::default()
    }

    fn slice<T: Copy>(&self, items: &[T]) -> &[T] {
        self.0.alloc_slice_copy(items)
    }
}

/// JSON that is no value of the type it should be, and where: `providers[2].keywords`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ValueError {
    path: String,
    message: String,
}

impl ValueError {
    pub(crate) fn new(message: impl Into<String>) -> Self {
        Self { path: String::new(), message: message.into() }
    }

    /// Puts `segment` in front of the path.
    #[must_use]
    pub(crate) fn within(mut self, segment: &str) -> Self {
        let dot = if self.path.is_empty() || self.path.starts_with('[') { "" } else { "." };
        self.path = format!("{segment}{dot}{}", self.path);
        self
    }
}

impl fmt::Display for ValueError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.path.is_empty() { f.write_str(&self.message) } else { write!(f, "{}: {}", self.path, self.message) }
    }
}

impl core::error::Error for ValueError {}

fn wants<T>(what: &str, value: &Value) -> Result<T, ValueError> {
    let shown = format!("{value}");
    let short: String = shown.chars().take(60).collect();
    let dots = if short.len() < shown.len() { "…" } else { "" };
    Err(ValueError::new(format!("{what} is wanted, not {short}{dots}")))
}

/// A type of the wire that has a value form.
pub trait ValueForm<'a>: Sized {
    /// The value as JSON.
    fn to_value(&self) -> Value;

    /// The value of JSON.
    ///
    /// # Errors
    /// Where it is no value of this type. Keys that the type does not have are an error.
    fn from_value(value: &'a Value, arena: &'a Arena) -> Result<Self, ValueError>;

    /// Reads the value from the wire, and notes where each of its parts stands.
    ///
    /// # Errors
    /// As [`Decode::decode`]; what came before the fault has been noted.
    fn annotate(reader: &mut Reader<'a>, notes: &mut Annotations) -> Result<(), DecodeError>;
}

/// A payload whose fields may stand beside others in one object.
pub(crate) trait FromFields<'a>: Sized {
    fn from_fields(object: &mut ObjectReader<'a>) -> Result<Self, ValueError>;
}

/// Writes a JSON object field by field.
pub(crate) struct ObjectWriter(Map<String, Value>);

impl ObjectWriter {
    pub(crate) fn new() -> Self {
        Self(Map::new())
    }

    /// Adds a field; a tail that is empty is left out.
    pub(crate) fn field<'a, T: ValueForm<'a>>(mut self, field: Field, value: &T) -> Self {
        let value = value.to_value();
        if !(matches!(field, Field::Tail) && value == "") {
            self.0.insert(field.name().to_owned(), value);
        }
        self
    }

    /// Adds the fields of another object.
    pub(crate) fn flatten<'a, T: ValueForm<'a>>(mut self, value: &T) -> Self {
        if let Value::Object(fields) = value.to_value() {
            self.0.extend(fields);
        }
        self
    }

    pub(crate) fn finish(self) -> Value {
        Value::Object(self.0)
    }
}

/// Reads a JSON object field by field, and refuses what is left.
pub(crate) struct ObjectReader<'a> {
    object: &'a Map<String, Value>,
    arena: &'a Arena,
    taken: Vec<&'a str>,
}

impl<'a> ObjectReader<'a> {
    pub(crate) fn new(value: &'a Value, arena: &'a Arena) -> Result<Self, ValueError> {
        match value {
            Value::Object(object) => Ok(Self { object, arena, taken: Vec::new() }),
            other => wants("an object", other),
        }
    }

    /// The field under its name, or under one that another edition gives it.
    pub(crate) fn field<T: ValueForm<'a>>(&mut self, field: Field) -> Result<T, ValueError> {
        const ABSENT_TAIL: &Value = &Value::String(String::new());
        let mut names = core::iter::once(field.name()).chain(field.aliases().iter().copied());
        let value = match names.find_map(|name| self.object.get_key_value(name)) {
            Some((key, value)) => {
                self.taken.push(key);
                value
            }
            None if matches!(field, Field::Tail) => ABSENT_TAIL,
            None => return Err(ValueError::new("missing").within(field.name())),
        };
        T::from_value(value, self.arena).map_err(|error| error.within(field.name()))
    }

    pub(crate) fn finish(self) -> Result<(), ValueError> {
        match self.object.keys().find(|key| !self.taken.contains(&key.as_str())) {
            Some(key) => Err(ValueError::new("there is no such field").within(key)),
            None => Ok(()),
        }
    }
}

macro_rules! numbers {
    ($($t:ty),*) => {$(
        impl<'a> ValueForm<'a> for $t {
            fn to_value(&self) -> Value {
                (*self).into()
            }

            fn from_value(value: &'a Value, _: &'a Arena) -> Result<Self, ValueError> {
                let number = value.as_u64().and_then(|number| Self::try_from(number).ok());
                number.map_or_else(|| wants(concat!("a whole number (", stringify!($t), ")"), value), Ok)
            }

            fn annotate(reader: &mut Reader<'a>, notes: &mut Annotations) -> Result<(), DecodeError> {
                notes.leaf(reader, |number: &Self| format!("{number}"))
            }
        }
    )*};
}

numbers!(u8, u16, u32);

/// A decimal string: not every JSON reader keeps 64 bits of a number.
impl<'a> ValueForm<'a> for u64 {
    fn to_value(&self) -> Value {
        format!("{self}").into()
    }

    fn from_value(value: &'a Value, _: &'a Arena) -> Result<Self, ValueError> {
        // The digits alone: `parse` would take a sign.
        let digits = value.as_str().filter(|text| text.bytes().all(|b| b.is_ascii_digit()));
        digits.and_then(|digits| digits.parse().ok()).map_or_else(|| wants("a decimal string of 64 bits", value), Ok)
    }

    fn annotate(reader: &mut Reader<'a>, notes: &mut Annotations) -> Result<(), DecodeError> {
        notes.leaf(reader, |number: &Self| if *number > 9 { format!("{number} ({number:#x})") } else { format!("{number}") })
    }
}

impl<'a> ValueForm<'a> for bool {
    fn to_value(&self) -> Value {
        (*self).into()
    }

    fn from_value(value: &'a Value, _: &'a Arena) -> Result<Self, ValueError> {
        value.as_bool().map_or_else(|| wants("true or false", value), Ok)
    }

    fn annotate(reader: &mut Reader<'a>, notes: &mut Annotations) -> Result<(), DecodeError> {
        notes.leaf(reader, |value: &Self| format!("{value}"))
    }
}

impl<'a> ValueForm<'a> for HResult {
    fn to_value(&self) -> Value {
        format!("0x{:08X}", self.0).into()
    }

    fn from_value(value: &'a Value, _: &'a Arena) -> Result<Self, ValueError> {
        hexadecimal(value, 8).map_or_else(|| wants("a HRESULT such as \"0x80131384\"", value), |code| Ok(Self(code)))
    }

    fn annotate(reader: &mut Reader<'a>, notes: &mut Annotations) -> Result<(), DecodeError> {
        notes.leaf(reader, |code: &Self| format!("{code}"))
    }
}

/// `"0x"` and exactly `digits` digits.
fn hexadecimal(value: &Value, digits: usize) -> Option<u32> {
    let text = value.as_str()?.strip_prefix("0x")?;
    if text.len() != digits || !text.bytes().all(|b| b.is_ascii_hexdigit()) {
        return None;
    }
    u32::from_str_radix(text, 16).ok()
}

impl<'a> ValueForm<'a> for Guid {
    fn to_value(&self) -> Value {
        format!("{self}").into()
    }

    fn from_value(value: &'a Value, _: &'a Arena) -> Result<Self, ValueError> {
        value.as_str().and_then(|text| text.parse().ok()).map_or_else(|| wants("a GUID", value), Ok)
    }

    fn annotate(reader: &mut Reader<'a>, notes: &mut Annotations) -> Result<(), DecodeError> {
        notes.leaf(reader, |guid: &Self| format!("{guid}"))
    }
}

/// Text, `null` if absent, `{"utf16": […]}` if it is no valid Unicode.
impl<'a> ValueForm<'a> for IpcString<'a> {
    fn to_value(&self) -> Value {
        match self.to_unicode() {
            Some(text) => text.into(),
            None if self.is_absent() => Value::Null,
            None => serde_json::json!({ "utf16": self.units().collect::<Vec<_>>() }),
        }
    }

    fn from_value(value: &'a Value, arena: &'a Arena) -> Result<Self, ValueError> {
        match value {
            Value::Null => Ok(Self::ABSENT),
            Value::String(text) => Ok(Self::new(text)),
            Value::Object(object) if object.len() == 1 && object.contains_key("utf16") => {
                let units = object.get("utf16").unwrap_or(&Value::Null);
                items(units, arena).map(|units| Self::from_units(arena.slice(&units))).map_err(|error| error.within("utf16"))
            }
            other => wants("text, null or {\"utf16\": […]}", other),
        }
    }

    fn annotate(reader: &mut Reader<'a>, notes: &mut Annotations) -> Result<(), DecodeError> {
        let string = Self::decode(&mut reader.clone());
        notes.count(reader, |count| match (count, &string) {
            (0, _) => "length 0: absent".into(),
            (count, Ok(_)) => format!("length {count}, with the NUL"),
            (count, Err(_)) => format!("length {count}"),
        })?;
        let string = string?;
        if !string.is_absent() {
            let bytes = string.units().count().saturating_add(1).saturating_mul(2);
            notes.bytes(reader, bytes, format!("{string:?}"))?;
        }
        Ok(())
    }
}

/// Hexadecimal text.
impl<'a> ValueForm<'a> for &'a [u8] {
    fn to_value(&self) -> Value {
        hex::encode(self).into()
    }

    fn from_value(value: &'a Value, arena: &'a Arena) -> Result<Self, ValueError> {
        let bytes = value.as_str().and_then(|digits| hex::decode(digits).ok());
        bytes.map_or_else(|| wants("hexadecimal text", value), |bytes| Ok(arena.slice(&bytes)))
    }

    fn annotate(reader: &mut Reader<'a>, notes: &mut Annotations) -> Result<(), DecodeError> {
        let bytes = Self::decode(&mut reader.clone());
        notes.count(reader, |count| format!("{count} bytes"))?;
        let len = bytes?.len();
        if len > 0 { notes.bytes(reader, len, String::new()) } else { Ok(()) }
    }
}

impl<'a> ValueForm<'a> for Tail<'a> {
    fn to_value(&self) -> Value {
        self.0.to_value()
    }

    fn from_value(value: &'a Value, arena: &'a Arena) -> Result<Self, ValueError> {
        ValueForm::from_value(value, arena).map(Self)
    }

    fn annotate(reader: &mut Reader<'a>, notes: &mut Annotations) -> Result<(), DecodeError> {
        match reader.rest().len() {
            0 => Ok(()),
            n => notes.bytes(reader, n, "of a later version".into()),
        }
    }
}

impl<'a, T: ValueForm<'a> + Decode<'a> + Copy> ValueForm<'a> for Array<'a, T> {
    fn to_value(&self) -> Value {
        self.iter().map(|item| item.to_value()).collect()
    }

    fn from_value(value: &'a Value, arena: &'a Arena) -> Result<Self, ValueError> {
        items(value, arena).map(|items| Self::new(arena.slice(&items)))
    }

    fn annotate(reader: &mut Reader<'a>, notes: &mut Annotations) -> Result<(), DecodeError> {
        // Refuse a count that cannot be before walking it.
        let mut probe = reader.clone();
        let count = probe.count(T::MIN_LEN);
        notes.count(reader, |count| format!("{count} items"))?;
        for index in 0..count? {
            notes.item::<T>(index, reader)?;
        }
        Ok(())
    }
}

/// The items of a JSON list.
fn items<'a, T: ValueForm<'a>>(value: &'a Value, arena: &'a Arena) -> Result<Vec<T>, ValueError> {
    let Value::Array(list) = value else {
        return wants("a list", value);
    };
    list.iter()
        .enumerate()
        .map(|(index, item)| T::from_value(item, arena).map_err(|error| error.within(&format!("[{index}]"))))
        .collect()
}

impl ErrorReply<'_> {
    pub(crate) fn to_value(self) -> Value {
        let object = ObjectWriter::new().field(Field::HResult, &self.hresult);
        match &self.message {
            Some(message) => object.field(Field::Message, message).finish(),
            None => object.finish(),
        }
    }
}

impl<'a> ErrorReply<'a> {
    /// The error that answers `command`.
    pub(crate) fn from_value(command: Option<Command>, value: &'a Value, arena: &'a Arena) -> Result<Self, ValueError> {
        let mut object = ObjectReader::new(value, arena)?;
        let hresult = object.field(Field::HResult)?;
        let texted = Self::has_message(command) && value.get(Field::Message.name()).is_some();
        let message = if texted { Some(object.field(Field::Message)?) } else { None };
        object.finish()?;
        Ok(Self { hresult, message })
    }

    pub(crate) fn annotate(command: Option<Command>, reader: &mut Reader<'a>, notes: &mut Annotations) -> Result<(), DecodeError> {
        notes.field::<HResult>(Field::HResult, reader)?;
        if Self::has_message(command) && !reader.rest().is_empty() {
            notes.field::<IpcString<'_>>(Field::Message, reader)?;
        }
        Ok(())
    }
}

/// The value of a message that is not known: its code and its payload.
pub(crate) fn unknown_to_value(command: Command, payload: &[u8]) -> Value {
    serde_json::json!({ "code": format!("0x{:04X}", command.code()), "payload": hex::encode(payload) })
}

/// The code and the payload of a message that is not known.
pub(crate) fn unknown_from_value<'a>(value: &'a Value, arena: &'a Arena) -> Result<(Command, &'a [u8]), ValueError> {
    let Value::Object(object) = value else {
        return wants("an object", value);
    };
    if let Some(key) = object.keys().find(|key| !["code", "payload"].contains(&key.as_str())) {
        return Err(ValueError::new("there is no such field").within(key));
    }
    let field = |name: &str| object.get(name).ok_or_else(|| ValueError::new("missing").within(name));
    let code = field("code")?;
    let code =
        hexadecimal(code, 4).and_then(|code| u16::try_from(code).ok()).map_or_else(|| wants("a code such as \"0x6301\"", code), Ok);
    let payload = ValueForm::from_value(field("payload")?, arena).map_err(|error: ValueError| error.within("payload"))?;
    Ok((Command::from_code(code.map_err(|error| error.within("code"))?), payload))
}
