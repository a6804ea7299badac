//! The location of each part of a message, for annotated dumps.

use alloc::{format, string::String, vec::Vec};

use dotnet_diagnostics_ipc::advertise::{ADVERTISE_MAGIC, Advertise};
use dotnet_diagnostics_ipc::command::Command;
use dotnet_diagnostics_ipc::header::{HEADER_LEN, Header};
use dotnet_diagnostics_ipc::hresult::HResult;
use dotnet_diagnostics_ipc::message::{eventpipe::SessionType, server::ErrorReply};
use dotnet_diagnostics_ipc::wire::visit::{Names, Visit, Visitor};
use dotnet_diagnostics_ipc::wire::{Array, Decode, Field, Guid, IpcString, Reader, WireError};

/// The kind of a part, whatever its field.
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
    /// One byte: false if it is 0.
    Boolean,
    /// A number, an identifier, or unstructured bytes.
    #[default]
    Plain,
}

/// One part of a message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Annotation {
    /// Its offset from the start of the message.
    pub offset: usize,
    /// Its length in bytes.
    pub len: usize,
    /// The field, as a path: `providers[0].keywords`.
    pub field: String,
    /// Its kind.
    pub kind: FieldKind,
    /// Its value.
    pub text: String,
}

/// The parts of a message in the order of the wire.
#[derive(Clone, Debug, Default)]
pub struct Annotations {
    list: Vec<Annotation>,
    path: String,
}

impl Annotations {
    /// The parts read so far.
    pub fn list(&self) -> &[Annotation] {
        &self.list
    }

    /// The parts, and of a message of `len` bytes those after the last part as one.
    pub(super) fn into_parts(mut self, len: usize) -> Vec<Annotation> {
        let end = self.list.last().map_or(0, |last| last.offset.saturating_add(last.len));
        let rest = len.saturating_sub(end);
        if rest > 0 {
            self.surplus(end, rest, "not decoded");
        }
        self.list
    }

    /// Reads a part without parts.
    pub(super) fn part<'a, T: Decode<'a>>(
        &mut self,
        kind: FieldKind,
        reader: &mut Reader<'a>,
        text: impl FnOnce(&T) -> String,
    ) -> Result<T, WireError> {
        let offset = reader.offset();
        let value = T::decode(reader)?;
        self.note(kind, offset, reader.offset().saturating_sub(offset), text(&value));
        Ok(value)
    }

    /// Takes `len` bytes.
    pub(super) fn bytes(
        &mut self,
        kind: FieldKind,
        reader: &mut Reader<'_>,
        len: usize,
        text: String,
    ) -> Result<(), WireError> {
        let offset = reader.offset();
        reader.take(len)?;
        self.note(kind, offset, len, text);
        Ok(())
    }

    /// Reads the value in a field.
    pub(super) fn field<'a, T: Annotate<'a>>(
        &mut self,
        field: Field,
        reader: &mut Reader<'a>,
    ) -> Result<(), WireError> {
        self.in_field(field, |notes| T::annotate(reader, notes))
    }

    fn in_field<R>(&mut self, field: Field, read: impl FnOnce(&mut Self) -> R) -> R {
        let dot = if self.path.is_empty() { "" } else { "." };
        self.below(&format!("{dot}{}", field.name()), read)
    }

    /// Reads the item of an array.
    pub(super) fn item<'a>(
        &mut self,
        index: u32,
        reader: &mut Reader<'a>,
        read: impl FnOnce(&mut Reader<'a>, &mut Self) -> Result<(), WireError>,
    ) -> Result<(), WireError> {
        self.below(&format!("[{index}]"), |notes| read(reader, notes))
    }

    /// Reads an array whose items take at least `item` bytes each.
    pub(super) fn items<'a>(
        &mut self,
        item: usize,
        reader: &mut Reader<'a>,
        read: impl Fn(&mut Reader<'a>, &mut Self) -> Result<(), WireError>,
    ) -> Result<(), WireError> {
        // Refuse an impossible count before walking it.
        let count = reader.clone().count(item);
        self.part(FieldKind::ItemCount, reader, |count: &u32| format!("{count} items"))?;
        (0..count?).try_for_each(|index| self.item(index, reader, &read))
    }

    /// Notes the header, which has been read.
    pub(super) fn header(&mut self, header: Header) {
        let note = |notes: &mut Self, field, offset, len, text| {
            notes.below(field, |notes| notes.note(FieldKind::Plain, offset, len, text));
        };
        note(self, "magic", 0, 14, "\"DOTNET_IPC_V1\"".into());
        note(
            self,
            "size",
            14,
            2,
            format!("{} = {HEADER_LEN} + {}", header.size, header.payload_len()),
        );
        let set = header.command.set_name().unwrap_or("unknown");
        note(self, "command_set", 16, 1, format!("{:#04x} {set}", header.command.set));
        let id = header.command.name().unwrap_or("unknown");
        note(self, "command_id", 17, 1, format!("{:#04x} {id}", header.command.id));
        note(self, "reserved", 18, 2, format!("{:#06x}", header.reserved));
    }

    /// Notes an advertise.
    pub(super) fn advertise(&mut self, bytes: &[u8]) -> Result<(), WireError> {
        Advertise::decode(bytes)?;
        let mut reader = Reader::new(bytes);
        self.below("magic", |notes| {
            notes.bytes(FieldKind::Plain, &mut reader, ADVERTISE_MAGIC.len(), "\"ADVR_V1\"".into())
        })?;
        self.field::<Guid>(Field::RuntimeCookie, &mut reader)?;
        self.field::<u64>(Field::ProcessId, &mut reader)?;
        self.field::<u16>(Field::Future, &mut reader)
    }

    /// Reads an error that answers `command`.
    pub(super) fn error(
        &mut self,
        command: Option<Command>,
        reader: &mut Reader<'_>,
    ) -> Result<(), WireError> {
        self.field::<HResult>(Field::HResult, reader)?;
        if ErrorReply::has_message(command) && !reader.rest().is_empty() {
            self.field::<IpcString<'_>>(Field::Message, reader)?;
        }
        Ok(())
    }

    /// Notes `len` bytes that belong to no field.
    pub(super) fn surplus(&mut self, offset: usize, len: usize, text: &str) {
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

/// A type whose parts can be located in a message.
pub(super) trait Annotate<'a> {
    /// Reads the value from the wire, and notes the location of each of its parts. Parts before a
    /// fault are noted.
    fn annotate(reader: &mut Reader<'a>, notes: &mut Annotations) -> Result<(), WireError>;
}

/// The wire as the source of the parts of a payload; each is noted.
pub(super) struct Annotating<'r, 'a> {
    pub(super) reader: &'r mut Reader<'a>,
    pub(super) notes: &'r mut Annotations,
}

impl<'a> Annotating<'_, 'a> {
    fn part<T: Decode<'a>>(&mut self, text: impl FnOnce(&T) -> String) -> Result<T, WireError> {
        self.notes.part(FieldKind::Plain, self.reader, text)
    }
}

impl<'a> Visitor<'a> for Annotating<'_, 'a> {
    type Error = WireError;

    fn byte(&mut self) -> Result<u8, WireError> {
        self.part(|number| format!("{number}"))
    }

    fn ushort(&mut self) -> Result<u16, WireError> {
        self.part(|number| format!("{number}"))
    }

    fn uint(&mut self) -> Result<u32, WireError> {
        self.part(|number| format!("{number}"))
    }

    fn ulong(&mut self) -> Result<u64, WireError> {
        self.part(
            |number| {
                if *number > 9 { format!("{number} ({number:#x})") } else { format!("{number}") }
            },
        )
    }

    fn bool(&mut self) -> Result<bool, WireError> {
        self.notes.part(FieldKind::Boolean, self.reader, |value| format!("{value}"))
    }

    fn hresult(&mut self) -> Result<HResult, WireError> {
        self.part(|code| format!("{code}"))
    }

    fn guid(&mut self) -> Result<Guid, WireError> {
        self.part(|guid| format!("{guid}"))
    }

    fn string(&mut self) -> Result<IpcString<'a>, WireError> {
        let string = IpcString::decode(&mut self.reader.clone());
        self.notes.part(FieldKind::StringLength, self.reader, |count: &u32| {
            match (count, &string) {
                (0, _) => "length 0: absent".into(),
                (count, Ok(_)) => format!("length {count}, with the NUL"),
                (count, Err(_)) => format!("length {count}"),
            }
        })?;
        let string = string?;
        if !string.is_absent() {
            let bytes = string.units().count().saturating_add(1).saturating_mul(2);
            self.notes.bytes(FieldKind::Units, self.reader, bytes, format!("{string:?}"))?;
        }
        Ok(string)
    }

    fn bytes(&mut self) -> Result<&'a [u8], WireError> {
        let bytes = <&[u8]>::decode(&mut self.reader.clone());
        self.notes
            .part(FieldKind::ByteCount, self.reader, |count: &u32| format!("{count} bytes"))?;
        let bytes = bytes?;
        if !bytes.is_empty() {
            self.notes.bytes(FieldKind::Plain, self.reader, bytes.len(), String::new())?;
        }
        Ok(bytes)
    }

    fn array<T: Visit<'a>>(&mut self) -> Result<Array<'a, T>, WireError> {
        self.notes.items(T::MIN_LEN, self.reader, |reader, notes| {
            T::build(&mut Annotating { reader, notes }).map(|_| ())
        })?;
        Ok(Array::EMPTY)
    }

    fn number(&mut self, names: Option<Names>) -> Result<u32, WireError> {
        self.part(|number| match names {
            None => format!("{number:#x}"),
            Some(names) => names(*number)
                .map_or_else(|| format!("{number}"), |name| format!("{number} ({name})")),
        })
    }

    fn tail(&mut self) -> Result<&'a [u8], WireError> {
        let bytes = self.reader.rest();
        if !bytes.is_empty() {
            self.notes.bytes(
                FieldKind::Plain,
                self.reader,
                bytes.len(),
                "of a later version".into(),
            )?;
        }
        Ok(bytes)
    }

    fn is_user_events(&mut self) -> Result<bool, WireError> {
        let user_events = self.reader.clone().read(|cursor| cursor.is_user_events())?;
        self.field::<SessionType>(Field::SessionType)?;
        Ok(user_events)
    }

    fn field<T: Visit<'a>>(&mut self, field: Field) -> Result<T, WireError> {
        let (notes, reader) = (&mut *self.notes, &mut *self.reader);
        notes.in_field(field, |notes| T::build(&mut Annotating { reader, notes }))
    }
}
