//! `user_events` data for the kernel.

use ::arbitrary::{Arbitrary, Error, Result, Unstructured};

use super::borrowed::read;
use super::{of_fields, one_of};
use crate::user_events::{
    EventTraits, Extension, ExtensionItem, Metadata, Record, RecordV1, RelLoc, TracepointCommand,
    UserReg, UserRegSize, UserUnreg, WrittenRecord,
};

/// A name of at most 436 bytes of UTF-8 without spaces and NULs.
impl<'a> Arbitrary<'a> for TracepointCommand<'a> {
    fn arbitrary(input: &mut Unstructured<'a>) -> Result<Self> {
        let text: &str = input.arbitrary()?;
        let name = text.split([' ', '\0']).next().unwrap_or_default();
        Self::new(name.into()).map_err(|_| Error::IncorrectFormat)
    }
}

/// At most 65,535 bytes, with or without a provider's name at the front.
impl<'a> Arbitrary<'a> for Metadata<'a> {
    fn arbitrary(input: &mut Unstructured<'a>) -> Result<Self> {
        let bytes: &[u8] = input.arbitrary()?;
        let bytes = bytes.get(..0x7fff).unwrap_or(bytes);
        if input.arbitrary()? {
            return Ok(Self::new(bytes));
        }
        let name: &str = input.arbitrary()?;
        Self::named(name.into(), bytes).map_err(|_| Error::IncorrectFormat)
    }
}

/// An unknown item has an unknown label.
impl<'a> Arbitrary<'a> for ExtensionItem<'a> {
    fn arbitrary(input: &mut Unstructured<'a>) -> Result<Self> {
        Ok(match input.arbitrary()? {
            1 => Self::Metadata(input.arbitrary()?),
            2 => Self::ActivityId(input.arbitrary()?),
            3 => Self::RelatedActivityId(input.arbitrary()?),
            label => Self::Unknown { label, rest: input.arbitrary()? },
        })
    }
}

/// Bytes of the input that decode as items.
impl<'a> Arbitrary<'a> for Extension<'a> {
    fn arbitrary(input: &mut Unstructured<'a>) -> Result<Self> {
        read(input)
    }
}

/// Parts of at most 65,535 bytes.
impl<'a> Arbitrary<'a> for RecordV1<'a> {
    fn arbitrary(input: &mut Unstructured<'a>) -> Result<Self> {
        let event_id: u16 = input.arbitrary()?;
        Self::new(event_id.into(), input.arbitrary()?, input.arbitrary()?)
            .map_err(|_| Error::IncorrectFormat)
    }
}

/// A version other than 1 is not interpreted.
impl<'a> Arbitrary<'a> for Record<'a> {
    fn arbitrary(input: &mut Unstructured<'a>) -> Result<Self> {
        Ok(match input.arbitrary()? {
            1 => Self::V1(input.arbitrary()?),
            version if version & 1 == 1 => Self::V1(input.arbitrary()?),
            version => Self::Other { version, rest: input.arbitrary()? },
        })
    }
}

one_of! {
    UserRegSize: Self::Packed, Self::Padded;
}

of_fields! {
    RelLoc { offset, len }
    UserUnreg { disable_bit, reserved, reserved2, disable_addr }
    UserReg { size, enable_bit, enable_size, flags, enable_addr, name_args, write_index }
    WrittenRecord<'a> { write_index, record }
    EventTraits { keywords, level, id }
}
