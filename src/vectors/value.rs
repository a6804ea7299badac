//! The value form: what a message means, as JSON. `vectors/README.md` defines it.

use alloc::{borrow::ToOwned as _, format, string::String, vec::Vec};
use core::fmt;

use serde_json::Map;

use super::Annotations;
use crate::command::Command;
use crate::hresult::HResult;
use crate::message::server::ErrorReply;
use crate::wire::{DecodeError, Field, IpcString, Reader};

pub use serde_json::Value;

/// What values that are read from JSON borrow from: slices of items that a message holds.
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

pub(super) fn wants<T>(what: &str, value: &Value) -> Result<T, ValueError> {
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
    /// As [`Decode::decode`](crate::wire::Decode::decode); what came before the fault has been noted.
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
    let object = object_of(value, &["code", "payload"])?;
    let field = |name: &str| object.get(name).ok_or_else(|| ValueError::new("missing").within(name));
    let code = field("code")?;
    let code =
        hexadecimal(code, 4).and_then(|code| u16::try_from(code).ok()).map_or_else(|| wants("a code such as \"0x6301\"", code), Ok);
    let payload = ValueForm::from_value(field("payload")?, arena).map_err(|error: ValueError| error.within("payload"))?;
    Ok((Command::from_code(code.map_err(|error| error.within("code"))?), payload))
}

/// `"0x"` and exactly `digits` digits.
pub(super) fn hexadecimal(value: &Value, digits: usize) -> Option<u32> {
    let text = value.as_str()?.strip_prefix("0x")?;
    if text.len() != digits || !text.bytes().all(|b| b.is_ascii_hexdigit()) {
        return None;
    }
    u32::from_str_radix(text, 16).ok()
}

/// The object, if it has no other keys than these.
pub(super) fn object_of<'v>(value: &'v Value, keys: &[&str]) -> Result<&'v Map<String, Value>, ValueError> {
    let Value::Object(object) = value else {
        return wants("an object", value);
    };
    match object.keys().find(|key| !keys.contains(&key.as_str())) {
        Some(key) => Err(ValueError::new("there is no such field").within(key)),
        None => Ok(object),
    }
}
