//! Where each part of a message stands: what an annotated dump shows.

use alloc::{format, string::String, vec::Vec};

use super::ValueForm;
use crate::advertise::{ADVERTISE_MAGIC, Advertise};
use crate::header::{HEADER_LEN, Header};
use crate::wire::{Decode, DecodeError, Field, Guid, Reader};

/// What a part of a message is, whatever field it belongs to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum FieldKind {
    /// The length of a string: how many units, with its NUL.
    StringLength,
    /// The units of a string.
    Units,
    /// How many items an array has.
    ItemCount,
    /// How many bytes follow.
    ByteCount,
    /// One byte: false if it is 0.
    Boolean,
    /// A number, an identifier, or bytes without a structure.
    #[default]
    Plain,
}

/// One part of a message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Annotation {
    /// Where it begins, from the start of the message.
    pub offset: usize,
    /// How many bytes it has.
    pub len: usize,
    /// The field, as a path: `providers[0].keywords`.
    pub field: String,
    /// What it is.
    pub kind: FieldKind,
    /// What the bytes say.
    pub text: String,
}

/// The parts of a message in the order of the wire.
#[derive(Clone, Debug, Default)]
pub struct Annotations {
    list: Vec<Annotation>,
    path: String,
}

impl Annotations {
    /// The parts that were read.
    pub fn list(&self) -> &[Annotation] {
        &self.list
    }

    /// Reads a part of one piece.
    pub(crate) fn leaf<'a, T: Decode<'a>>(
        &mut self,
        reader: &mut Reader<'a>,
        show: impl FnOnce(&T) -> String,
    ) -> Result<(), DecodeError> {
        self.leaf_of(FieldKind::Plain, reader, show)
    }

    /// Reads a part of one piece, of that kind.
    pub(crate) fn leaf_of<'a, T: Decode<'a>>(
        &mut self,
        kind: FieldKind,
        reader: &mut Reader<'a>,
        show: impl FnOnce(&T) -> String,
    ) -> Result<(), DecodeError> {
        let offset = reader.offset();
        let value = T::decode(reader)?;
        self.note(kind, offset, reader.offset().saturating_sub(offset), show(&value));
        Ok(())
    }

    /// Reads the count of a string or array.
    pub(crate) fn count(
        &mut self,
        kind: FieldKind,
        reader: &mut Reader<'_>,
        show: impl FnOnce(u32) -> String,
    ) -> Result<(), DecodeError> {
        self.leaf_of(kind, reader, |count: &u32| show(*count))
    }

    /// Takes `len` bytes.
    pub(crate) fn bytes(&mut self, reader: &mut Reader<'_>, len: usize, text: String) -> Result<(), DecodeError> {
        self.bytes_of(FieldKind::Plain, reader, len, text)
    }

    /// Takes the units of a string, `len` bytes.
    pub(crate) fn units(&mut self, reader: &mut Reader<'_>, len: usize, text: String) -> Result<(), DecodeError> {
        self.bytes_of(FieldKind::Units, reader, len, text)
    }

    fn bytes_of(&mut self, kind: FieldKind, reader: &mut Reader<'_>, len: usize, text: String) -> Result<(), DecodeError> {
        let offset = reader.offset();
        reader.take(len)?;
        self.note(kind, offset, len, text);
        Ok(())
    }

    /// Reads the value in a field.
    pub(crate) fn field<'a, T: ValueForm<'a>>(&mut self, field: Field, reader: &mut Reader<'a>) -> Result<(), DecodeError> {
        let dot = if self.path.is_empty() { "" } else { "." };
        self.below(&format!("{dot}{}", field.name()), |notes| T::annotate(reader, notes))
    }

    /// Reads the item of an array.
    pub(crate) fn item<'a, T: ValueForm<'a>>(&mut self, index: u32, reader: &mut Reader<'a>) -> Result<(), DecodeError> {
        self.below(&format!("[{index}]"), |notes| T::annotate(reader, notes))
    }

    /// Notes the header, which has been read.
    pub(crate) fn header(&mut self, header: Header) {
        let note = |notes: &mut Self, field, offset, len, text| {
            notes.below(field, |notes| notes.note(FieldKind::Plain, offset, len, text));
        };
        note(self, "magic", 0, 14, "\"DOTNET_IPC_V1\"".into());
        note(self, "size", 14, 2, format!("{} = {HEADER_LEN} + {}", header.size, header.payload_len()));
        let set = header.command.set_name().unwrap_or("unknown");
        note(self, "command_set", 16, 1, format!("{:#04x} {set}", header.command.set));
        let id = header.command.name().unwrap_or("unknown");
        note(self, "command_id", 17, 1, format!("{:#04x} {id}", header.command.id));
        note(self, "reserved", 18, 2, format!("{:#06x}", header.reserved));
    }

    /// Notes an advertise.
    pub(crate) fn advertise(&mut self, bytes: &[u8]) -> Result<(), DecodeError> {
        Advertise::decode(bytes)?;
        let mut reader = Reader::new(bytes);
        self.below("magic", |notes| notes.bytes(&mut reader, ADVERTISE_MAGIC.len(), "\"ADVR_V1\"".into()))?;
        self.field::<Guid>(Field::RuntimeCookie, &mut reader)?;
        self.field::<u64>(Field::ProcessId, &mut reader)?;
        self.field::<u16>(Field::Future, &mut reader)
    }

    /// Notes `len` bytes that belong to no field.
    pub(crate) fn surplus(&mut self, offset: usize, len: usize, text: &str) {
        self.note(FieldKind::Plain, offset, len, text.into());
    }

    fn below<R>(&mut self, segment: &str, read: impl FnOnce(&mut Self) -> R) -> R {
        let outer = self.path.len();
        self.path.push_str(segment);
        let result = read(self);
        self.path.truncate(outer);
        result
    }

    fn note(&mut self, kind: FieldKind, offset: usize, len: usize, text: String) {
        self.list.push(Annotation { offset, len, field: self.path.clone(), kind, text });
    }
}
