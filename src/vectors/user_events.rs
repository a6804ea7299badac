//! What goes to the kernel in a `user_events` session, by name: value form and bytes.

use alloc::{format, string::String, vec::Vec};

use super::fault::{encoded, is_canonical};
use super::types::{Family, Type};
use super::value::wants;
use super::{Annotations, Arena, ObjectReader, ObjectWriter, Value, ValueError, ValueForm};
use super::{EncodeFailure, Refusal};
use crate::user_events::{
    Extension, ExtensionItem, Metadata, Record, RecordV1, RelLoc, StructSize, TRACEPOINT_FORMAT_V1, TracepointCommand, UserReg,
    UserRegSize, UserUnreg, WrittenRecord,
};
use crate::wire::{Decode, DecodeError, Encode, Field, Guid, IpcString, Reader};

pub(super) const FAMILY: Family = Family { decode, encode, annotate };

fn decode(kind: Type, wire: &[u8]) -> Result<(Value, bool), Refusal> {
    let decoded = match kind {
        Type::UserReg => read::<UserReg>(wire),
        Type::UserUnreg => read::<UserUnreg>(wire),
        Type::TracepointCommand => TracepointCommand::parse(wire).map(|command| meaning(command_to_value(command), &command, wire)),
        Type::UserEventsRecord => read::<WrittenRecord<'_>>(wire),
        _ => read::<Extension<'_>>(wire),
    };
    // No server is asked about any of these.
    decoded.map_err(|error| Refusal { answer: None, ..error.into() })
}

fn read<'a, T: Decode<'a> + Encode + ValueForm<'a>>(wire: &'a [u8]) -> Result<(Value, bool), DecodeError> {
    T::decode(&mut Reader::new(wire)).map(|value| meaning(value.to_value(), &value, wire))
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

fn write<'a, T: Encode + ValueForm<'a>>(value: &'a Value, arena: &'a Arena) -> Result<Vec<u8>, EncodeFailure> {
    encoded(&T::from_value(value, arena).map_err(EncodeFailure::Value)?)
}

fn annotate(kind: Type, wire: &[u8], notes: &mut Annotations) {
    let mut reader = Reader::new(wire);
    // The fault is `decode`'s to tell.
    let whole = match kind {
        Type::UserReg => UserReg::annotate(&mut reader, notes),
        Type::UserUnreg => UserUnreg::annotate(&mut reader, notes),
        Type::TracepointCommand => TracepointCommand::parse(wire).map(|command| {
            let name = wire.len().saturating_sub(TRACEPOINT_FORMAT_V1.len()).saturating_sub(1);
            notes.surplus(0, name, &format!("tracepoint_name {:?}", command.name()));
            notes.surplus(name, wire.len().saturating_sub(name), "the fields of format version 1");
        }),
        Type::UserEventsRecord => WrittenRecord::annotate(&mut reader, notes),
        _ => Extension::annotate(&mut reader, notes),
    };
    if whole.is_ok() && matches!(kind, Type::UserReg | Type::UserUnreg) && !reader.rest().is_empty() {
        notes.surplus(reader.offset(), reader.rest().len(), "behind the last field");
    }
}

/// The number, which can be no other.
impl<'a, const N: u32> ValueForm<'a> for StructSize<N> {
    fn to_value(&self) -> Value {
        N.into()
    }

    fn from_value(value: &'a Value, _: &'a Arena) -> Result<Self, ValueError> {
        if value.as_u64() == Some(N.into()) { Ok(Self) } else { wants(&format!("{N}"), value) }
    }

    fn annotate(reader: &mut Reader<'a>, notes: &mut Annotations) -> Result<(), DecodeError> {
        notes.leaf(reader, |_: &Self| format!("{N}"))
    }
}

/// The number, which can be one of two.
impl<'a> ValueForm<'a> for UserRegSize {
    fn to_value(&self) -> Value {
        self.bytes().into()
    }

    fn from_value(value: &'a Value, arena: &'a Arena) -> Result<Self, ValueError> {
        let size = u32::from_value(value, arena).map(Self::from_bytes);
        size.and_then(|size| size.map_or_else(|| wants("28 or 32", value), Ok))
    }

    fn annotate(reader: &mut Reader<'a>, notes: &mut Annotations) -> Result<(), DecodeError> {
        notes.leaf(reader, |size: &Self| format!("{}", size.bytes()))
    }
}

/// The size says whether there is padding, which has no value of its own.
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
        let mut object = ObjectReader::new(value, arena)?;
        let reg = Self {
            size: object.field(Field::Size)?,
            enable_bit: object.field(Field::EnableBit)?,
            enable_size: object.field(Field::EnableSize)?,
            flags: object.field(Field::Flags)?,
            enable_addr: object.field(Field::EnableAddr)?,
            name_args: object.field(Field::NameArgs)?,
            write_index: object.field(Field::WriteIndex)?,
        };
        object.finish()?;
        Ok(reg)
    }

    fn annotate(reader: &mut Reader<'a>, notes: &mut Annotations) -> Result<(), DecodeError> {
        let size = UserRegSize::decode(&mut reader.clone())?;
        notes.field::<UserRegSize>(Field::Size, reader)?;
        notes.field::<u8>(Field::EnableBit, reader)?;
        notes.field::<u8>(Field::EnableSize, reader)?;
        notes.field::<u16>(Field::Flags, reader)?;
        notes.field::<u64>(Field::EnableAddr, reader)?;
        notes.field::<u64>(Field::NameArgs, reader)?;
        notes.field::<u32>(Field::WriteIndex, reader)?;
        let padding = size.padding().len();
        if padding == 0 { Ok(()) } else { notes.bytes(reader, padding, "padding".into()) }
    }
}

fn command_to_value(command: TracepointCommand<'_>) -> Value {
    ObjectWriter::new().field(Field::TracepointName, &command.name()).finish()
}

fn command_from_value<'a>(value: &'a Value, arena: &'a Arena) -> Result<TracepointCommand<'a>, EncodeFailure> {
    let mut object = ObjectReader::new(value, arena).map_err(EncodeFailure::Value)?;
    let name = object.field::<IpcString<'_>>(Field::TracepointName).map_err(EncodeFailure::Value)?;
    object.finish().map_err(EncodeFailure::Value)?;
    TracepointCommand::new(name).map_err(EncodeFailure::Encode)
}

/// In an annotated dump alone; a record's value has the bytes.
impl<'a> ValueForm<'a> for RelLoc {
    fn to_value(&self) -> Value {
        self.to_u32().into()
    }

    fn from_value(value: &'a Value, arena: &'a Arena) -> Result<Self, ValueError> {
        u32::from_value(value, arena).map(Self::from_u32)
    }

    fn annotate(reader: &mut Reader<'a>, notes: &mut Annotations) -> Result<(), DecodeError> {
        notes.leaf(reader, |loc: &Self| format!("{} bytes, {} behind this", loc.len, loc.offset))
    }
}

impl<'a> ValueForm<'a> for WrittenRecord<'a> {
    fn to_value(&self) -> Value {
        let object = ObjectWriter::new().field(Field::WriteIndex, &self.write_index).field(Field::Version, &self.record.version());
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
        let mut object = ObjectReader::new(value, arena)?;
        let write_index = object.field(Field::WriteIndex)?;
        let record = match object.field(Field::Version)? {
            1u8 => Record::V1(RecordV1 {
                event_id: object.field(Field::EventId)?,
                extension: object.field(Field::Extension)?,
                payload: object.field(Field::Payload)?,
            }),
            version => Record::Other { version, rest: object.field(Field::Rest)? },
        };
        object.finish()?;
        Ok(Self { write_index, record })
    }

    fn annotate(reader: &mut Reader<'a>, notes: &mut Annotations) -> Result<(), DecodeError> {
        notes.field::<u32>(Field::WriteIndex, reader)?;
        let version = u8::decode(&mut reader.clone());
        notes.field::<u8>(Field::Version, reader)?;
        let text = if version == Ok(1) {
            notes.field::<u16>(Field::EventId, reader)?;
            notes.field::<RelLoc>(Field::Extension, reader)?;
            notes.field::<RelLoc>(Field::Payload, reader)?;
            "the bytes of extension and payload"
        } else {
            "of a version that is not known"
        };
        if reader.rest().is_empty() { Ok(()) } else { notes.bytes(reader, reader.rest().len(), text.into()) }
    }
}

/// A list of the items.
impl<'a> ValueForm<'a> for Extension<'a> {
    fn to_value(&self) -> Value {
        self.iter().map(|item| item.to_value()).collect()
    }

    fn from_value(value: &'a Value, arena: &'a Arena) -> Result<Self, ValueError> {
        let Value::Array(list) = value else {
            return wants("a list", value);
        };
        let items = list
            .iter()
            .enumerate()
            .map(|(index, item)| ExtensionItem::from_value(item, arena).map_err(|error| error.within(&format!("[{index}]"))));
        Ok(Self::new(arena.slice(&items.collect::<Result<Vec<_>, _>>()?)))
    }

    fn annotate(reader: &mut Reader<'a>, notes: &mut Annotations) -> Result<(), DecodeError> {
        let mut index = 0u32;
        while !reader.rest().is_empty() {
            notes.item::<ExtensionItem<'_>>(index, reader)?;
            index = index.saturating_add(1);
        }
        Ok(())
    }
}

impl<'a> ValueForm<'a> for ExtensionItem<'a> {
    fn to_value(&self) -> Value {
        let object = ObjectWriter::new().field(Field::Label, &self.label());
        match self {
            Self::Metadata(metadata) => object.field(Field::Metadata, metadata),
            Self::ActivityId(id) | Self::RelatedActivityId(id) => object.field(Field::Guid, id),
            Self::Unknown { rest, .. } => object.field(Field::Rest, rest),
        }
        .finish()
    }

    fn from_value(value: &'a Value, arena: &'a Arena) -> Result<Self, ValueError> {
        let mut object = ObjectReader::new(value, arena)?;
        let item = match object.field(Field::Label)? {
            1u8 => Self::Metadata(object.field(Field::Metadata)?),
            2 => Self::ActivityId(object.field(Field::Guid)?),
            3 => Self::RelatedActivityId(object.field(Field::Guid)?),
            label => Self::Unknown { label, rest: object.field(Field::Rest)? },
        };
        object.finish()?;
        Ok(item)
    }

    fn annotate(reader: &mut Reader<'a>, notes: &mut Annotations) -> Result<(), DecodeError> {
        let label = u8::decode(&mut reader.clone())?;
        notes.field::<u8>(Field::Label, reader)?;
        match label {
            1 => notes.field::<Metadata<'_>>(Field::Metadata, reader),
            2 | 3 => notes.field::<Guid>(Field::Guid, reader),
            _ if reader.rest().is_empty() => Ok(()),
            _ => notes.bytes(reader, reader.rest().len(), String::from("behind a label that is not known")),
        }
    }
}

/// The bytes behind the length, in hexadecimal: whether a provider's name stands in front they do not say.
impl<'a> ValueForm<'a> for Metadata<'a> {
    fn to_value(&self) -> Value {
        hex::encode(self.bytes().collect::<Vec<_>>()).into()
    }

    fn from_value(value: &'a Value, arena: &'a Arena) -> Result<Self, ValueError> {
        <&[u8]>::from_value(value, arena).map(Self::new)
    }

    fn annotate(reader: &mut Reader<'a>, notes: &mut Annotations) -> Result<(), DecodeError> {
        <&[u8]>::annotate(reader, notes)
    }
}
