//! The value form of the grammar: integers, strings, arrays, GUIDs.

use alloc::{format, string::String, vec::Vec};

use super::value::{hexadecimal, wants};
use super::{Annotations, Arena, FieldKind, Value, ValueError, ValueForm};
use crate::hresult::HResult;
use crate::message::process::Tail;
use crate::wire::{Array, Decode, DecodeError, Guid, IpcString, Reader};

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
        notes.leaf_of(FieldKind::Boolean, reader, |value: &Self| format!("{value}"))
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
        notes.count(FieldKind::StringLength, reader, |count| match (count, &string) {
            (0, _) => "length 0: absent".into(),
            (count, Ok(_)) => format!("length {count}, with the NUL"),
            (count, Err(_)) => format!("length {count}"),
        })?;
        let string = string?;
        if !string.is_absent() {
            let bytes = string.units().count().saturating_add(1).saturating_mul(2);
            notes.units(reader, bytes, format!("{string:?}"))?;
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
        notes.count(FieldKind::ByteCount, reader, |count| format!("{count} bytes"))?;
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
        notes.count(FieldKind::ItemCount, reader, |count| format!("{count} items"))?;
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
