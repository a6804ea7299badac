//! Converts wire data to the value form.

use alloc::{borrow::ToOwned as _, format, string::String, vec::Vec};

use serde_json::Map;

use super::{Value, ValueForm};
use dotnet_diagnostics_ipc::hresult::HResult;
use dotnet_diagnostics_ipc::wire::visit::{Names, Visit, Visitor};
use dotnet_diagnostics_ipc::wire::{Array, Decode, Field, Guid, IpcString, Reader, WireError};

/// Reads the parts of a payload and keeps the JSON of each. Borrowed data is not returned: the JSON
/// has it.
pub(super) struct ToJson<'w> {
    reader: Reader<'w>,
    /// The part that was read last.
    value: Value,
    object: ObjectWriter,
}

impl<'w> ToJson<'w> {
    /// The value that `build` reads from `wire`.
    pub(super) fn of<T>(
        wire: &'w [u8],
        build: impl FnOnce(&mut Self) -> Result<T, WireError>,
    ) -> Result<Value, WireError> {
        let mut source =
            Self { reader: Reader::new(wire), value: Value::Null, object: ObjectWriter::new() };
        build(&mut source).map(|_| source.value)
    }

    fn part<T: Decode<'w>>(&mut self, value: impl FnOnce(&T) -> Value) -> Result<T, WireError> {
        let part = T::decode(&mut self.reader)?;
        self.value = value(&part);
        Ok(part)
    }
}

impl<'a> Visitor<'a> for ToJson<'_> {
    type Error = WireError;

    fn byte(&mut self) -> Result<u8, WireError> {
        self.part(|number| Value::from(*number))
    }

    fn ushort(&mut self) -> Result<u16, WireError> {
        self.part(|number| Value::from(*number))
    }

    fn uint(&mut self) -> Result<u32, WireError> {
        self.part(|number| Value::from(*number))
    }

    /// A decimal string: not every JSON reader preserves 64 bits of a number.
    fn ulong(&mut self) -> Result<u64, WireError> {
        self.part(|number| format!("{number}").into())
    }

    fn bool(&mut self) -> Result<bool, WireError> {
        self.part(|value| Value::from(*value))
    }

    fn hresult(&mut self) -> Result<HResult, WireError> {
        self.part(|code: &HResult| format!("0x{:08X}", code.0).into())
    }

    fn guid(&mut self) -> Result<Guid, WireError> {
        self.part(|guid| format!("{guid}").into())
    }

    /// Text, `null` if absent, `{"utf16": […]}` if it is not valid Unicode.
    fn string(&mut self) -> Result<IpcString<'a>, WireError> {
        self.part(|text: &IpcString<'_>| match text.to_unicode() {
            Some(text) => text.into(),
            None if text.is_absent() => Value::Null,
            None => serde_json::json!({ "utf16": text.units().collect::<Vec<_>>() }),
        })
        .map(|_| IpcString::ABSENT)
    }

    /// Hexadecimal text.
    fn bytes(&mut self) -> Result<&'a [u8], WireError> {
        self.part(|bytes: &&[u8]| hex::encode(bytes).into()).map(|_| &[][..])
    }

    fn array<T: Visit<'a>>(&mut self) -> Result<Array<'a, T>, WireError> {
        let count = self.reader.count(T::MIN_LEN)?;
        let items = (0..count).map(|_| T::build(self).map(|_| self.value.take()));
        self.value = items.collect::<Result<Vec<_>, _>>()?.into();
        Ok(Array::EMPTY)
    }

    fn number(&mut self, _: Option<Names>) -> Result<u32, WireError> {
        self.uint()
    }

    fn tail(&mut self) -> Result<&'a [u8], WireError> {
        let bytes = self.reader.take(self.reader.rest().len())?;
        self.value = hex::encode(bytes).into();
        Ok(&[])
    }

    fn is_user_events(&mut self) -> Result<bool, WireError> {
        let user_events = self.reader.read(|cursor| cursor.is_user_events())?;
        self.object.put(Field::SessionType, u32::from(user_events).into());
        Ok(user_events)
    }

    fn field<T: Visit<'a>>(&mut self, field: Field) -> Result<T, WireError> {
        let part = T::build(self)?;
        self.object.put(field, self.value.take());
        Ok(part)
    }

    fn object<T>(
        &mut self,
        fields: impl FnOnce(&mut Self) -> Result<T, WireError>,
    ) -> Result<T, WireError> {
        let outer = core::mem::replace(&mut self.object, ObjectWriter::new());
        let made = fields(self)?;
        self.value = core::mem::replace(&mut self.object, outer).finish();
        Ok(made)
    }
}

/// Writes a JSON object field by field.
pub(super) struct ObjectWriter(Map<String, Value>);

impl ObjectWriter {
    pub(super) fn new() -> Self {
        Self(Map::new())
    }

    /// Adds a field.
    pub(super) fn field<'a, T: ValueForm<'a>>(mut self, field: Field, value: &T) -> Self {
        self.put(field, value.to_value());
        self
    }

    /// An empty tail is omitted.
    fn put(&mut self, field: Field, value: Value) {
        if !(matches!(field, Field::Tail) && value == "") {
            self.0.insert(field.name().to_owned(), value);
        }
    }

    pub(super) fn finish(self) -> Value {
        Value::Object(self.0)
    }
}
