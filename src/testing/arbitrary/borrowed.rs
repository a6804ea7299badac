//! `Arbitrary` for the parts of payloads, continuations, names, the 2019 editions and
//! `user_events`.

use super::{of_fields, one_of};
use crate::continuation::{Entry, EnvironmentLimits, FdByte};
use crate::endpoint::{NamePrefix, PipeName, ProcessStat, SocketForm, SocketName, SocketPath};
use crate::hresult::HResult;
use crate::legacy::{OldReply, SessionIdWidth};
use crate::port::{PortConfig, PortType, SuspendMode};
use crate::user_events::{
    EventTraits, Extension, ExtensionItem, Metadata, Record, RecordV1, RelLoc, TracepointCommand,
    UserReg, UserRegSize, UserUnreg, WrittenRecord,
};
use crate::wire::visit::{Names, Visit, Visitor};
use crate::wire::{Array, Decode, Field, Guid, IpcString, Reader};
use ::arbitrary::{Arbitrary, Error, Result, Unstructured};

macro_rules! chosen {
    ($($part:ident: $t:ty),*) => {$(
        fn $part(&mut self) -> Result<$t> {
            self.arbitrary()
        }
    )*};
}

/// A fuzzer's choice. The source that a value borrows from.
impl<'a> Visitor<'a> for Unstructured<'a> {
    type Error = Error;

    chosen! { byte: u8, ushort: u16, uint: u32, ulong: u64, bool: bool, bytes: &'a [u8], tail: &'a [u8], is_user_events: bool }

    /// Codes with a name, and any other.
    fn hresult(&mut self) -> Result<HResult> {
        if self.arbitrary()? {
            self.choose(HResult::NAMED).copied()
        } else {
            self.arbitrary().map(HResult)
        }
    }

    fn guid(&mut self) -> Result<Guid> {
        self.arbitrary().map(Guid::from_bytes)
    }

    /// Absent, text, or units that may not be text.
    fn string(&mut self) -> Result<IpcString<'a>> {
        match self.int_in_range(0..=3)? {
            0 => Ok(IpcString::ABSENT),
            1 => self.arbitrary().map(IpcString::new),
            _ => {
                let units: &[u8] = self.arbitrary()?;
                Ok(IpcString::from_wire_units(units.get(..units.len() & !1).unwrap_or_default()))
            }
        }
    }

    fn array<T: Visit<'a>>(&mut self) -> Result<Array<'a, T>> {
        self.arbitrary()
    }

    /// Half of them as small as named values.
    fn number(&mut self, _: Option<Names>) -> Result<u32> {
        let number: u32 = self.arbitrary()?;
        Ok(if number & 0x100 == 0 { number & 7 } else { number })
    }

    fn field<T: Visit<'a>>(&mut self, _: Field) -> Result<T> {
        T::build(self)
    }
}

/// The items at the front of some bytes of the input: as many as decode.
impl<'a, T: Decode<'a>> Arbitrary<'a> for Array<'a, T> {
    fn arbitrary(input: &mut Unstructured<'a>) -> Result<Self> {
        let bytes = input.arbitrary()?;
        let (mut reader, mut count, mut len) = (Reader::new(bytes), 0u32, 0);
        // An item without bytes could be read forever.
        while T::decode(&mut reader).is_ok() && reader.offset() > len {
            (count, len) = (count.saturating_add(1), reader.offset());
        }
        Reader::new(bytes)
            .read(|cursor| Self::items(count, cursor))
            .map_err(|_| Error::IncorrectFormat)
    }
}

/// An entry with or without a final NUL.
impl<'a> Arbitrary<'a> for Entry<'a> {
    fn arbitrary(input: &mut Unstructured<'a>) -> Result<Self> {
        let units: &[u8] = input.arbitrary()?;
        Ok(Self::from_wire(units.get(..units.len() & !1).unwrap_or_default()))
    }
}

/// A port that a runtime may have read from its variable: any allowed address, connecting or
/// listening.
impl<'a> Arbitrary<'a> for PortConfig<'a> {
    fn arbitrary(input: &mut Unstructured<'a>) -> Result<Self> {
        let text: &str = input.arbitrary()?;
        let address = text.split([';', ',', '\0']).next().unwrap_or_default();
        let port = Self {
            suspend_mode: input.arbitrary()?,
            port_type: input.arbitrary()?,
            ..Self::new(address)
        };
        // A blank address counts as none.
        if address.trim().is_empty() { Err(Error::IncorrectFormat) } else { Ok(port) }
    }
}

impl<'a> Arbitrary<'a> for OldReply {
    fn arbitrary(input: &mut Unstructured<'a>) -> Result<Self> {
        Ok(match input.arbitrary()? {
            SessionIdWidth::Bits32 => Self::new_32(input.arbitrary()?),
            SessionIdWidth::Bits64 => Self::new_64(input.arbitrary()?),
        })
    }
}

one_of! {
    SuspendMode: Self::Suspend, Self::NoSuspend;
    PortType: Self::Connect, Self::Listen;
    NamePrefix: Self::Current, Self::Draft;
    SocketForm: Self::Socket, Self::AsPrinted;
    SessionIdWidth: Self::Bits32, Self::Bits64;
}

of_fields! {
    EnvironmentLimits { max_bytes, max_entries, more }
    SocketName { prefix, pid, key, form }
    SocketPath<'a> { directory, name }
    PipeName { prefix, pid, is_path }
    ProcessStat { pid, start_time }
}

impl<'a> Arbitrary<'a> for FdByte {
    fn arbitrary(input: &mut Unstructured<'a>) -> Result<Self> {
        input.arbitrary().map(Self)
    }
}

/// A value read from some bytes of the input.
pub(super) fn read<'a, T: Decode<'a>>(input: &mut Unstructured<'a>) -> Result<T> {
    T::decode(&mut Reader::new(input.arbitrary()?)).map_err(|_| Error::IncorrectFormat)
}

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
