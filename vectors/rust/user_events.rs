//! `user_events` data for the kernel, by name: value form and bytes.

use alloc::{format, vec::Vec};

use super::annotate::Annotate;
use super::fault::{encoded, is_canonical};
use super::from_json::{items, object};
use super::to_json::ObjectWriter;
use super::types::{Family, Type};
use super::value::expected;
use super::{Annotations, Arena, FieldKind, Value, ValueError, ValueForm};
use super::{DecodeRefusal, EncodeFailure};
use dotnet_diagnostics_ipc::user_events::{
    Extension, ExtensionItem, Record, RecordV1, RelLoc, TRACEPOINT_FORMAT_V1, TracepointCommand,
    UserReg, UserRegSize, UserUnreg, WrittenRecord,
};
use dotnet_diagnostics_ipc::wire::{Decode as _, Encode, Field, IpcString, Reader, WireError};

/// The `size` of a [`UserUnreg`].
const USER_UNREG_SIZE: u32 = 16;

pub(super) const FAMILY: Family = Family { decode, encode, annotate };

fn decode(kind: Type, wire: &[u8]) -> Result<(Value, bool), DecodeRefusal> {
    let decoded = match kind {
        Type::UserReg => read(wire, UserReg::decode),
        Type::UserUnreg => read(wire, UserUnreg::decode),
        Type::TracepointCommand => TracepointCommand::parse(wire)
            .map(|command| meaning(command_to_value(command), &command, wire))
            .map_err(DecodeRefusal::from),
        Type::UserEventsRecord => read(wire, WrittenRecord::decode),
        _ => read(wire, Extension::decode),
    };
    // None of these is a request to a server.
    decoded.map_err(|refusal| DecodeRefusal { answer: None, ..refusal })
}

fn read<'a, T: Encode + ValueForm<'a>>(
    wire: &'a [u8],
    decode: impl FnOnce(&mut Reader<'a>) -> Result<T, WireError>,
) -> Result<(Value, bool), DecodeRefusal> {
    let value = decode(&mut Reader::new(wire))?;
    Ok(meaning(value.to_value(), &value, wire))
}

fn meaning(value: Value, again: &impl Encode, wire: &[u8]) -> (Value, bool) {
    (value, is_canonical(again, wire))
}

fn encode(kind: Type, value: &Value) -> Result<Vec<u8>, EncodeFailure> {
    let arena = &Arena::new();
    match kind {
        Type::UserReg => write::<UserReg>(value, arena),
        Type::UserUnreg => write::<UserUnreg>(value, arena),
        Type::TracepointCommand => encoded(&command_from_value(value, arena)?),
        Type::UserEventsRecord => write::<WrittenRecord<'_>>(value, arena),
        _ => write::<Extension<'_>>(value, arena),
    }
}

fn write<'a, T: Encode + ValueForm<'a>>(
    value: &'a Value,
    arena: &'a Arena,
) -> Result<Vec<u8>, EncodeFailure> {
    encoded(&T::from_value(value, arena).map_err(EncodeFailure::Value)?)
}

fn annotate(kind: Type, wire: &[u8], notes: &mut Annotations) {
    let mut reader = Reader::new(wire);
    // `decode` reports the fault.
    let whole = match kind {
        Type::UserReg => annotate_user_reg(&mut reader, notes),
        Type::UserUnreg => UserUnreg::annotate(&mut reader, notes),
        Type::TracepointCommand => TracepointCommand::parse(wire).map(|command| {
            let name = wire.len().saturating_sub(TRACEPOINT_FORMAT_V1.len()).saturating_sub(1);
            notes.surplus(0, name, &format!("tracepoint_name {:?}", command.name()));
            notes.surplus(name, wire.len().saturating_sub(name), "the fields of format version 1");
        }),
        Type::UserEventsRecord => WrittenRecord::annotate(&mut reader, notes),
        _ => Extension::annotate(&mut reader, notes),
    };
    if whole.is_ok() && matches!(kind, Type::UserReg | Type::UserUnreg) && !reader.rest().is_empty()
    {
        notes.surplus(reader.offset(), reader.rest().len(), "after the last field");
    }
}

/// The number, one of two.
impl<'a> ValueForm<'a> for UserRegSize {
    fn to_value(&self) -> Value {
        self.bytes().into()
    }

    fn from_value(value: &'a Value, arena: &'a Arena) -> Result<Self, ValueError> {
        let size = u32::from_value(value, arena).map(Self::from_bytes);
        size.and_then(|size| size.map_or_else(|| expected("28 or 32", value), Ok))
    }
}

/// The size determines the padding, which has no value.
impl<'a> ValueForm<'a> for UserReg {
    fn to_value(&self) -> Value {
        ObjectWriter::new()
            .field(Field::Size, &self.size)
            .field(Field::EnableBit, &self.enable_bit)
            .field(Field::EnableSize, &self.enable_size)
            .field(Field::Flags, &self.flags)
            .field(Field::EnableAddr, &self.enable_addr)
            .field(Field::NameArgs, &self.name_args)
            .field(Field::WriteIndex, &self.write_index)
            .finish()
    }

    fn from_value(value: &'a Value, arena: &'a Arena) -> Result<Self, ValueError> {
        object(value, arena, |object| {
            Ok(Self {
                size: object.get(Field::Size)?,
                enable_bit: object.get(Field::EnableBit)?,
                enable_size: object.get(Field::EnableSize)?,
                flags: object.get(Field::Flags)?,
                enable_addr: object.get(Field::EnableAddr)?,
                name_args: object.get(Field::NameArgs)?,
                write_index: object.get(Field::WriteIndex)?,
            })
        })
    }
}

fn annotate_user_reg(reader: &mut Reader<'_>, notes: &mut Annotations) -> Result<(), WireError> {
    let size = UserRegSize::decode(&mut reader.clone())?;
    notes.field::<u32>(Field::Size, reader)?;
    notes.field::<u8>(Field::EnableBit, reader)?;
    notes.field::<u8>(Field::EnableSize, reader)?;
    notes.field::<u16>(Field::Flags, reader)?;
    notes.field::<u64>(Field::EnableAddr, reader)?;
    notes.field::<u64>(Field::NameArgs, reader)?;
    notes.field::<u32>(Field::WriteIndex, reader)?;
    if size == UserRegSize::Padded {
        notes.bytes(FieldKind::Plain, reader, 4, "padding".into())?;
    }
    Ok(())
}

impl<'a> ValueForm<'a> for UserUnreg {
    fn to_value(&self) -> Value {
        ObjectWriter::new()
            .field(Field::Size, &USER_UNREG_SIZE)
            .field(Field::DisableBit, &self.disable_bit)
            .field(Field::Reserved, &self.reserved)
            .field(Field::Reserved2, &self.reserved2)
            .field(Field::DisableAddr, &self.disable_addr)
            .finish()
    }

    fn from_value(value: &'a Value, arena: &'a Arena) -> Result<Self, ValueError> {
        object(value, arena, |object| {
            let size: u32 = object.get(Field::Size)?;
            if size != USER_UNREG_SIZE {
                return expected("16", &size.into())
                    .map_err(|error: ValueError| error.within(Field::Size.name()));
            }
            Ok(Self {
                disable_bit: object.get(Field::DisableBit)?,
                reserved: object.get(Field::Reserved)?,
                reserved2: object.get(Field::Reserved2)?,
                disable_addr: object.get(Field::DisableAddr)?,
            })
        })
    }
}

impl<'a> Annotate<'a> for UserUnreg {
    fn annotate(reader: &mut Reader<'a>, notes: &mut Annotations) -> Result<(), WireError> {
        notes.field::<u32>(Field::Size, reader)?;
        notes.field::<u8>(Field::DisableBit, reader)?;
        notes.field::<u8>(Field::Reserved, reader)?;
        notes.field::<u16>(Field::Reserved2, reader)?;
        notes.field::<u64>(Field::DisableAddr, reader)
    }
}

fn command_to_value(command: TracepointCommand<'_>) -> Value {
    ObjectWriter::new().field(Field::TracepointName, &command.name()).finish()
}

fn command_from_value<'a>(
    value: &'a Value,
    arena: &'a Arena,
) -> Result<TracepointCommand<'a>, EncodeFailure> {
    let name = object(value, arena, |object| object.get::<IpcString<'_>>(Field::TracepointName))
        .map_err(EncodeFailure::Value)?;
    TracepointCommand::new(name).map_err(EncodeFailure::Encode)
}

impl<'a> Annotate<'a> for RelLoc {
    fn annotate(reader: &mut Reader<'a>, notes: &mut Annotations) -> Result<(), WireError> {
        notes
            .part(FieldKind::Plain, reader, |loc: &Self| {
                format!("{} bytes, {} after this", loc.len, loc.offset)
            })
            .map(|_| ())
    }
}

impl<'a> ValueForm<'a> for WrittenRecord<'a> {
    fn to_value(&self) -> Value {
        let object = ObjectWriter::new()
            .field(Field::WriteIndex, &self.write_index)
            .field(Field::Version, &self.record.version());
        match self.record {
            Record::V1(record) => object
                .field(Field::EventId, &record.event_id)
                .field(Field::Extension, &record.extension)
                .field(Field::Payload, &record.payload)
                .finish(),
            Record::Other { rest, .. } => object.field(Field::Rest, &rest).finish(),
        }
    }

    fn from_value(value: &'a Value, arena: &'a Arena) -> Result<Self, ValueError> {
        object(value, arena, |object| {
            let write_index = object.get(Field::WriteIndex)?;
            let record = match object.get(Field::Version)? {
                1u8 => Record::V1(RecordV1 {
                    event_id: object.get(Field::EventId)?,
                    extension: object.get(Field::Extension)?,
                    payload: object.get(Field::Payload)?,
                }),
                version => Record::Other { version, rest: object.get(Field::Rest)? },
            };
            Ok(Self { write_index, record })
        })
    }
}

impl<'a> Annotate<'a> for WrittenRecord<'a> {
    fn annotate(reader: &mut Reader<'a>, notes: &mut Annotations) -> Result<(), WireError> {
        notes.field::<u32>(Field::WriteIndex, reader)?;
        let version = u8::decode(&mut reader.clone());
        notes.field::<u8>(Field::Version, reader)?;
        let text = if version == Ok(1) {
            notes.field::<u16>(Field::EventId, reader)?;
            notes.field::<RelLoc>(Field::Extension, reader)?;
            notes.field::<RelLoc>(Field::Payload, reader)?;
            "the bytes of extension and payload"
        } else {
            "of an unknown version"
        };
        if reader.rest().is_empty() {
            Ok(())
        } else {
            notes.bytes(FieldKind::Plain, reader, reader.rest().len(), text.into())
        }
    }
}

/// A list of the items.
impl<'a> ValueForm<'a> for Extension<'a> {
    fn to_value(&self) -> Value {
        self.iter().map(|item| item.to_value()).collect()
    }

    fn from_value(value: &'a Value, arena: &'a Arena) -> Result<Self, ValueError> {
        items(value, |item| ExtensionItem::from_value(item, arena))
            .map(|items| Self::new(arena.slice(&items)))
    }
}

impl<'a> Annotate<'a> for Extension<'a> {
    fn annotate(reader: &mut Reader<'a>, notes: &mut Annotations) -> Result<(), WireError> {
        let mut index = 0u32;
        while !reader.rest().is_empty() {
            notes.item(index, reader, ExtensionItem::annotate)?;
            index = index.saturating_add(1);
        }
        Ok(())
    }
}
