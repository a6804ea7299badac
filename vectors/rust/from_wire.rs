//! Reads values from the wire part by part, and records the value form and location of each part.

use alloc::{
    borrow::ToOwned as _,
    format,
    string::{String, ToString},
    vec::Vec,
};

use serde_json::Map;

use super::Value;
use dotnet_diagnostics_ipc::header::{HEADER_LEN, Header};
use dotnet_diagnostics_ipc::hresult::HResult;
use dotnet_diagnostics_ipc::message::eventpipe::SessionType;
use dotnet_diagnostics_ipc::wire::visit::{Names, Visit, Visitor};
use dotnet_diagnostics_ipc::wire::{Array, Decode, Field, Guid, IpcString, Reader, WireError};

/// The kind of a part, independent of its field.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum FieldKind {
    /// The length of a string in units, including its NUL.
    StringLength,
    /// The units of a string.
    Units,
    /// The number of items of an array.
    ItemCount,
    /// A length in bytes.
    ByteCount,
    /// One byte, which is false if it is 0.
    Boolean,
    /// A number, an identifier, or unstructured bytes.
    #[default]
    Plain,
}

/// One part of a message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Annotation {
    /// The offset of the part from the start of the message.
    pub offset: usize,
    /// The length of the part in bytes.
    pub len: usize,
    /// The path of the field, such as `providers[0].keywords`.
    pub field: String,
    /// The kind of the part.
    pub kind: FieldKind,
    /// The value of the part.
    pub text: String,
}

impl Annotation {
    /// Returns a part without a field.
    pub(crate) fn rest(offset: usize, len: usize, text: String) -> Self {
        Self { offset, len, field: String::new(), kind: FieldKind::Plain, text }
    }
}

/// A source that takes the parts of a payload from the wire. It returns no borrowed data, because
/// the value form has them.
pub struct FromWire<'w> {
    pub(super) reader: Reader<'w>,
    /// The parts, including those before an error. `None` if only the value form is needed.
    notes: Option<Vec<Annotation>>,
    path: String,
    /// The part that was read last, if parts are not recorded.
    value: Value,
    object: Map<String, Value>,
}

/// Returns the value form that `build` reads from `wire`.
pub(super) fn value_of<'w, T>(
    wire: &'w [u8],
    build: impl FnOnce(&mut FromWire<'w>) -> Result<T, WireError>,
) -> Value {
    let mut source = FromWire::new(Reader::new(wire), None);
    // This cannot fail, because the bytes were decoded or written before.
    build(&mut source).map(|_| source.value).unwrap_or_default()
}

/// Returns the parts that `read` finds in `wire`, even if it fails. `decode` reports the error.
pub(super) fn parts_of<'w>(
    wire: &'w [u8],
    read: impl FnOnce(&mut FromWire<'w>) -> Result<(), WireError>,
) -> Vec<Annotation> {
    let mut source = FromWire::new(Reader::new(wire), Some(Vec::new()));
    let _ = read(&mut source);
    source.notes.unwrap_or_default()
}

impl<'w> FromWire<'w> {
    fn new(reader: Reader<'w>, notes: Option<Vec<Annotation>>) -> Self {
        Self { reader, notes, path: String::new(), value: Value::Null, object: Map::new() }
    }

    /// Reads a part that has no parts of its own.
    pub(super) fn part<T: Decode<'w>>(
        &mut self,
        kind: FieldKind,
        value: impl FnOnce(&T) -> Value,
        text: impl FnOnce(&T) -> String,
    ) -> Result<T, WireError> {
        let offset = self.reader.offset();
        let part = T::decode(&mut self.reader)?;
        self.keep(|| value(&part));
        self.note(kind, offset, self.reader.offset().saturating_sub(offset), || text(&part));
        Ok(part)
    }

    fn plain<T: Decode<'w> + ToString>(
        &mut self,
        value: impl FnOnce(&T) -> Value,
    ) -> Result<T, WireError> {
        self.part(FieldKind::Plain, value, T::to_string)
    }

    /// Reads a number that is recorded but has no value form.
    pub(super) fn count(
        &mut self,
        kind: FieldKind,
        text: impl FnOnce(u32) -> String,
    ) -> Result<u32, WireError> {
        self.part(kind, |_| Value::Null, |count| text(*count))
    }

    /// Takes `len` bytes.
    pub(super) fn take(
        &mut self,
        kind: FieldKind,
        len: usize,
        text: impl FnOnce() -> String,
    ) -> Result<&'w [u8], WireError> {
        let offset = self.reader.offset();
        let bytes = self.reader.take(len)?;
        self.note(kind, offset, len, text);
        Ok(bytes)
    }

    /// Takes all further bytes.
    pub(super) fn take_rest(&mut self, text: &str) -> Result<&'w [u8], WireError> {
        self.take(FieldKind::Plain, self.reader.rest().len(), || text.to_owned())
    }

    /// Reads the items of an array, each of which takes at least `item` bytes.
    pub(super) fn items<T>(
        &mut self,
        item: usize,
        mut read: impl FnMut(&mut Self) -> Result<T, WireError>,
    ) -> Result<(), WireError> {
        // An impossible count is refused before its items are read.
        let count = self.reader.clone().count(item);
        self.count(FieldKind::ItemCount, |count| format!("{count} items"))?;
        let mut items = Vec::new();
        for index in 0..count? {
            self.below(format_args!("[{index}]"), |source| read(source).map(|_| ()))?;
            if self.notes.is_none() {
                items.push(self.value.take());
            }
        }
        self.keep(|| items.into());
        Ok(())
    }

    /// Reads parts whose path begins with `segment`.
    pub(super) fn below<R>(
        &mut self,
        segment: core::fmt::Arguments<'_>,
        read: impl FnOnce(&mut Self) -> R,
    ) -> R {
        if self.notes.is_none() {
            return read(self);
        }
        let outer = self.path.len();
        // Writing to a `String` cannot fail.
        let _ = core::fmt::write(&mut self.path, segment);
        let result = read(self);
        self.path.truncate(outer);
        result
    }

    /// Records and skips the header.
    pub(super) fn header(&mut self, header: Header) -> Result<(), WireError> {
        let name = |name: Option<&'static str>| name.unwrap_or("unknown");
        let (size, command) = (header.size, header.command);
        for (field, len, text) in [
            ("magic", 14, "\"DOTNET_IPC_V1\"".to_owned()),
            ("size", 2, format!("{size} = {HEADER_LEN} + {}", header.payload_len())),
            ("command_set", 1, format!("{:#04x} {}", command.set, name(command.set_name()))),
            ("command_id", 1, format!("{:#04x} {}", command.id, name(command.name()))),
            ("reserved", 2, format!("{:#06x}", header.reserved)),
        ] {
            self.below(format_args!("{field}"), |source| {
                source.take(FieldKind::Plain, len, || text)
            })?;
        }
        Ok(())
    }

    /// Keeps the value form of a part, unless only its location is needed.
    fn keep(&mut self, value: impl FnOnce() -> Value) {
        if self.notes.is_none() {
            self.value = value();
        }
    }

    /// Records bytes, if there are any.
    pub(super) fn note(
        &mut self,
        kind: FieldKind,
        offset: usize,
        len: usize,
        text: impl FnOnce() -> String,
    ) {
        if let (Some(notes), true) = (&mut self.notes, len > 0) {
            notes.push(Annotation { offset, len, field: self.path.clone(), kind, text: text() });
        }
    }
}

impl<'a> Visitor<'a> for FromWire<'_> {
    type Error = WireError;

    fn byte(&mut self) -> Result<u8, WireError> {
        self.plain(|number| Value::from(*number))
    }

    fn ushort(&mut self) -> Result<u16, WireError> {
        self.plain(|number| Value::from(*number))
    }

    fn uint(&mut self) -> Result<u32, WireError> {
        self.plain(|number| Value::from(*number))
    }

    /// Reads a decimal string, because some JSON readers lose digits of 64-bit numbers.
    fn ulong(&mut self) -> Result<u64, WireError> {
        let text = |number: &u64| {
            if *number > 9 { format!("{number} ({number:#x})") } else { format!("{number}") }
        };
        self.part(FieldKind::Plain, |number| number.to_string().into(), text)
    }

    fn bool(&mut self) -> Result<bool, WireError> {
        self.part(FieldKind::Boolean, |value| Value::from(*value), bool::to_string)
    }

    fn hresult(&mut self) -> Result<HResult, WireError> {
        self.plain(|code: &HResult| format!("0x{:08X}", code.0).into())
    }

    fn guid(&mut self) -> Result<Guid, WireError> {
        self.plain(|guid: &Guid| guid.to_string().into())
    }

    /// Reads text, `null` for absent, or `{"utf16": […]}` if it is not valid Unicode.
    fn string(&mut self) -> Result<IpcString<'a>, WireError> {
        let text = IpcString::decode(&mut self.reader.clone());
        self.count(FieldKind::StringLength, |count| match (count, &text) {
            (0, _) => "length 0: absent".into(),
            (count, Ok(_)) => format!("length {count}, with the NUL"),
            (count, Err(_)) => format!("length {count}"),
        })?;
        let text = text?;
        if !text.is_absent() {
            let bytes = text.units().count().saturating_add(1).saturating_mul(2);
            self.take(FieldKind::Units, bytes, || format!("{text:?}"))?;
        }
        self.keep(|| match text.to_unicode() {
            Some(text) => text.into(),
            None if text.is_absent() => Value::Null,
            None => serde_json::json!({ "utf16": text.units().collect::<Vec<_>>() }),
        });
        Ok(IpcString::ABSENT)
    }

    /// Reads hexadecimal text.
    fn bytes(&mut self) -> Result<&'a [u8], WireError> {
        let bytes = <&[u8]>::decode(&mut self.reader.clone());
        self.count(FieldKind::ByteCount, |count| format!("{count} bytes"))?;
        let bytes = self.take(FieldKind::Plain, bytes?.len(), String::new)?;
        self.keep(|| hex::encode(bytes).into());
        Ok(&[])
    }

    fn array<T: Visit<'a>>(&mut self) -> Result<Array<'a, T>, WireError> {
        self.items(T::MIN_LEN, |source| T::build(source))?;
        Ok(Array::EMPTY)
    }

    fn number(&mut self, names: Option<Names>) -> Result<u32, WireError> {
        let text = |number: &u32| match names {
            None => format!("{number:#x}"),
            Some(names) => names(*number)
                .map_or_else(|| format!("{number}"), |name| format!("{number} ({name})")),
        };
        self.part(FieldKind::Plain, |number| Value::from(*number), text)
    }

    fn tail(&mut self) -> Result<&'a [u8], WireError> {
        let bytes = self.take_rest("of a later version")?;
        self.keep(|| hex::encode(bytes).into());
        Ok(&[])
    }

    fn is_user_events(&mut self) -> Result<bool, WireError> {
        let user_events = self.reader.clone().read(|cursor| cursor.is_user_events())?;
        self.field::<SessionType>(Field::SessionType)?;
        Ok(user_events)
    }

    /// Leaves an empty tail out of the value form.
    fn field<T: Visit<'a>>(&mut self, field: Field) -> Result<T, WireError> {
        let dot = if self.path.is_empty() { "" } else { "." };
        let part = self.below(format_args!("{dot}{}", field.name()), T::build)?;
        let value = self.value.take();
        if self.notes.is_none() && !(matches!(field, Field::Tail) && value == "") {
            self.object.insert(field.name().to_owned(), value);
        }
        Ok(part)
    }

    fn object<T>(
        &mut self,
        fields: impl FnOnce(&mut Self) -> Result<T, WireError>,
    ) -> Result<T, WireError> {
        let outer = core::mem::take(&mut self.object);
        let made = fields(self)?;
        let object = core::mem::replace(&mut self.object, outer);
        self.keep(|| object.into());
        Ok(made)
    }
}
