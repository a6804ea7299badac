//! The value form of `user_events` data for the kernel.

use alloc::format;

use super::from_json::{FromJson, items};
use super::from_wire::FromWire;
use super::value::expected;
use super::value_forms::value_of_encoded;
use super::{Arena, EncodeFailure, FieldKind, Value, ValueError, ValueForm};
use dotnet_diagnostics_ipc::user_events::{
    Extension, ExtensionItem, Record, RecordV1, RelLoc, TRACEPOINT_FORMAT_V1, TracepointCommand,
    UserReg, UserRegSize, UserUnreg, WrittenRecord,
};
use dotnet_diagnostics_ipc::wire::visit::Visitor;
use dotnet_diagnostics_ipc::wire::{Field, IpcString, WireError};

/// The `size` of a [`UserUnreg`].
const USER_UNREG_SIZE: u32 = 16;

/// Refuses a value whose `size` is not that of the type.
fn check_size(value: &Value, is_size: bool, what: &str) -> Result<(), ValueError> {
    if is_size {
        return Ok(());
    }
    let size = value.get(Field::Size.name()).unwrap_or(&Value::Null);
    expected(what, size).map_err(|error: ValueError| error.within(Field::Size.name()))
}

/// Builds the size, if it is known, and the struct. The size determines the padding, which has no
/// value.
fn user_reg<'a, S: Visitor<'a>>(source: &mut S) -> Result<(bool, UserReg), S::Error> {
    source.object(|source| {
        let size = UserRegSize::from_bytes(source.field(Field::Size)?);
        let user_reg = UserReg {
            size: size.unwrap_or_default(),
            enable_bit: source.field(Field::EnableBit)?,
            enable_size: source.field(Field::EnableSize)?,
            flags: source.field(Field::Flags)?,
            enable_addr: source.field(Field::EnableAddr)?,
            name_args: source.field(Field::NameArgs)?,
            write_index: source.field(Field::WriteIndex)?,
        };
        Ok((size.is_some(), user_reg))
    })
}

impl<'a> ValueForm<'a> for UserReg {
    fn to_value(&self) -> Value {
        value_of_encoded(self, |source| user_reg(source))
    }

    fn from_value(value: &'a Value, arena: &'a Arena) -> Result<Self, ValueError> {
        let (is_size, user_reg) = user_reg(&mut FromJson::new(value, arena))?;
        check_size(value, is_size, "28 or 32").map(|()| user_reg)
    }

    fn explain(source: &mut FromWire<'a>) -> Result<(), WireError> {
        let size = UserRegSize::decode(&mut source.reader.clone())?;
        user_reg(source)?;
        let padding = if size == UserRegSize::Padded { 4 } else { 0 };
        source.take(FieldKind::Plain, padding, || "padding".into()).map(|_| ())
    }
}

/// Builds the size and the struct.
fn user_unreg<'a, S: Visitor<'a>>(source: &mut S) -> Result<(u32, UserUnreg), S::Error> {
    source.object(|source| {
        let size = source.field(Field::Size)?;
        let user_unreg = UserUnreg {
            disable_bit: source.field(Field::DisableBit)?,
            reserved: source.field(Field::Reserved)?,
            reserved2: source.field(Field::Reserved2)?,
            disable_addr: source.field(Field::DisableAddr)?,
        };
        Ok((size, user_unreg))
    })
}

impl<'a> ValueForm<'a> for UserUnreg {
    fn to_value(&self) -> Value {
        value_of_encoded(self, |source| user_unreg(source))
    }

    fn from_value(value: &'a Value, arena: &'a Arena) -> Result<Self, ValueError> {
        let (size, user_unreg) = user_unreg(&mut FromJson::new(value, arena))?;
        check_size(value, size == USER_UNREG_SIZE, "16").map(|()| user_unreg)
    }

    fn explain(source: &mut FromWire<'a>) -> Result<(), WireError> {
        user_unreg(source).map(|_| ())
    }
}

pub(super) fn command_to_value(command: TracepointCommand<'_>) -> Value {
    serde_json::json!({ "tracepoint_name": command.name().to_value() })
}

pub(super) fn command_from_value<'a>(
    value: &'a Value,
    arena: &'a Arena,
) -> Result<TracepointCommand<'a>, EncodeFailure> {
    let name = FromJson::new(value, arena)
        .object(|source| source.field::<IpcString<'_>>(Field::TracepointName))
        .map_err(EncodeFailure::Value)?;
    TracepointCommand::new(name).map_err(EncodeFailure::Encode)
}

pub(super) fn explain_command(source: &mut FromWire<'_>) -> Result<(), WireError> {
    let wire = source.reader.rest();
    let command = TracepointCommand::parse(wire)?;
    let name = wire.len().saturating_sub(TRACEPOINT_FORMAT_V1.len()).saturating_sub(1);
    let text = || format!("tracepoint_name {:?}", command.name());
    source.take(FieldKind::Plain, name, text)?;
    source.take_rest("the fields of format version 1").map(|_| ())
}

fn explain_rel_loc(source: &mut FromWire<'_>, field: Field) -> Result<(), WireError> {
    source.below(format_args!("{}", field.name()), |source| {
        let text = |loc: &RelLoc| format!("{} bytes, {} after this", loc.len, loc.offset);
        source.part(FieldKind::Plain, |_| Value::Null, text).map(|_| ())
    })
}

impl<'a> ValueForm<'a> for WrittenRecord<'a> {
    fn to_value(&self) -> Value {
        let (write_index, version) = (self.write_index, self.record.version());
        match self.record {
            Record::V1(RecordV1 { event_id, extension, payload }) => serde_json::json!({
                "write_index": write_index,
                "version": version,
                "event_id": event_id,
                "extension": hex::encode(extension),
                "payload": hex::encode(payload),
            }),
            Record::Other { rest, .. } => serde_json::json!({
                "write_index": write_index,
                "version": version,
                "rest": hex::encode(rest),
            }),
        }
    }

    fn from_value(value: &'a Value, arena: &'a Arena) -> Result<Self, ValueError> {
        FromJson::new(value, arena).object(|source| {
            let write_index = source.field(Field::WriteIndex)?;
            let record = match source.field(Field::Version)? {
                1u8 => Record::V1(RecordV1 {
                    event_id: source.field(Field::EventId)?,
                    extension: source.field(Field::Extension)?,
                    payload: source.field(Field::Payload)?,
                }),
                version => Record::Other { version, rest: source.field(Field::Rest)? },
            };
            Ok(Self { write_index, record })
        })
    }

    fn explain(source: &mut FromWire<'a>) -> Result<(), WireError> {
        source.field::<u32>(Field::WriteIndex)?;
        if source.field::<u8>(Field::Version)? != 1 {
            return source.take_rest("of an unknown version").map(|_| ());
        }
        source.field::<u16>(Field::EventId)?;
        explain_rel_loc(source, Field::Extension)?;
        explain_rel_loc(source, Field::Payload)?;
        source.take_rest("the bytes of extension and payload").map(|_| ())
    }
}

/// The value is the list of the items.
impl<'a> ValueForm<'a> for Extension<'a> {
    fn to_value(&self) -> Value {
        self.iter().map(|item| item.to_value()).collect()
    }

    fn from_value(value: &'a Value, arena: &'a Arena) -> Result<Self, ValueError> {
        items(value, |item| ExtensionItem::from_value(item, arena))
            .map(|items| Self::new(arena.slice(&items)))
    }

    fn explain(source: &mut FromWire<'a>) -> Result<(), WireError> {
        let mut index = 0u32;
        while !source.reader.rest().is_empty() {
            source.below(format_args!("[{index}]"), ExtensionItem::explain)?;
            index = index.saturating_add(1);
        }
        Ok(())
    }
}
