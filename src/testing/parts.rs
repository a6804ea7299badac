//! Implements `Arbitrary` for types outside messages: names, codes, and the parts of continuations
//! and `user_events`. Allocates nothing, because text and bytes are borrowed from the input.

use crate::advertise::Advertise;
use crate::command::Command;
use crate::continuation::Entry;
use crate::endpoint::{NamePrefix, PipeName, ProcessStat, SocketForm, SocketName};
use crate::header::Header;
use crate::hresult::HResult;
use crate::port::{PortConfig, SuspendMode};
use crate::user_events::{
    Extension, ExtensionItem, Metadata, Record, RecordV1, RelLoc, TracepointCommand, UserReg,
    UserRegSize, UserUnreg, WrittenRecord,
};
use crate::wire::{Decode as _, Guid, Reader};
use ::arbitrary::{Arbitrary, Error, Result, Unstructured};

/// Implements `Arbitrary` for a struct whose fields may have any value.
macro_rules! of_fields {
    ($($Name:ident $(<$lt:lifetime>)? { $($field:ident),* })*) => {$(
        impl<'a> Arbitrary<'a> for $Name $(<$lt>)? {
            fn arbitrary(input: &mut Unstructured<'a>) -> Result<Self> {
                Ok(Self { $($field: input.arbitrary()?,)* })
            }
        }
    )*};
}

/// Implements `Arbitrary` for a type with a few values.
macro_rules! one_of {
    ($($Name:ident: $($value:expr),*;)*) => {$(
        impl<'a> Arbitrary<'a> for $Name {
            fn arbitrary(input: &mut Unstructured<'a>) -> Result<Self> {
                input.choose(&[$($value),*]).copied()
            }
        }
    )*};
}

of_fields! {
    Advertise { runtime_cookie, process_id, future }
    SocketName { prefix, pid, key, form }
    PipeName { prefix, pid, is_path }
    ProcessStat { pid, start_time }
    RelLoc { offset, len }
    UserUnreg { disable_bit, reserved, reserved2, disable_addr }
    UserReg { size, enable_bit, enable_size, flags, enable_addr, name_args, write_index }
    WrittenRecord<'a> { write_index, record }
}

one_of! {
    NamePrefix: Self::Current, Self::Draft, Self::Router;
    SocketForm: Self::Socket, Self::AsPrinted;
    SuspendMode: Self::Suspend, Self::NoSuspend;
    UserRegSize: Self::Packed, Self::Padded;
}

/// Chooses a known command in most cases.
impl<'a> Arbitrary<'a> for Command {
    fn arbitrary(input: &mut Unstructured<'a>) -> Result<Self> {
        let commands = || Self::known().chain([Self::OK, Self::ERROR]);
        let which = input.int_in_range(0..=commands().count())?;
        commands().nth(which).map_or_else(|| input.arbitrary().map(Self::from_code), Ok)
    }
}

/// Chooses a code with a name in half of the cases.
impl<'a> Arbitrary<'a> for HResult {
    fn arbitrary(input: &mut Unstructured<'a>) -> Result<Self> {
        if input.arbitrary()? {
            input.choose(Self::NAMED).copied()
        } else {
            input.arbitrary().map(Self)
        }
    }
}

impl<'a> Arbitrary<'a> for Guid {
    fn arbitrary(input: &mut Unstructured<'a>) -> Result<Self> {
        input.arbitrary().map(Self::from_bytes)
    }
}

/// Chooses a valid size, 20 or more.
impl<'a> Arbitrary<'a> for Header {
    fn arbitrary(input: &mut Unstructured<'a>) -> Result<Self> {
        let size = input.int_in_range(20..=u16::MAX)?;
        Ok(Self { size, command: input.arbitrary()?, reserved: input.arbitrary()? })
    }
}

/// Chooses an entry with or without a final NUL.
impl<'a> Arbitrary<'a> for Entry<'a> {
    fn arbitrary(input: &mut Unstructured<'a>) -> Result<Self> {
        let units: &[u8] = input.arbitrary()?;
        Ok(Self::from_wire(units.get(..units.len() & !1).unwrap_or_default()))
    }
}

/// Chooses a port that a runtime may have read from its variable, with any allowed address.
impl<'a> Arbitrary<'a> for PortConfig<'a> {
    fn arbitrary(input: &mut Unstructured<'a>) -> Result<Self> {
        let text: &str = input.arbitrary()?;
        let address = text.split([';', ',', '\0']).next().unwrap_or_default();
        let port = Self { address, suspend_mode: input.arbitrary()? };
        // A blank address means no port.
        if address.trim().is_empty() { Err(Error::IncorrectFormat) } else { Ok(port) }
    }
}

/// Chooses a name of at most 436 bytes in UTF-8 without spaces and NULs.
impl<'a> Arbitrary<'a> for TracepointCommand<'a> {
    fn arbitrary(input: &mut Unstructured<'a>) -> Result<Self> {
        let text: &str = input.arbitrary()?;
        let name = text.split([' ', '\0']).next().unwrap_or_default();
        Self::new(name.into()).map_err(|_| Error::IncorrectFormat)
    }
}

/// Chooses at most 65,535 bytes, with or without a provider's name at the front.
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

/// Chooses an unknown label for an unknown item.
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

/// Chooses bytes of the input that decode as items.
impl<'a> Arbitrary<'a> for Extension<'a> {
    fn arbitrary(input: &mut Unstructured<'a>) -> Result<Self> {
        Self::decode(&mut Reader::new(input.arbitrary()?)).map_err(|_| Error::IncorrectFormat)
    }
}

/// Chooses parts of at most 65,535 bytes.
impl<'a> Arbitrary<'a> for RecordV1<'a> {
    fn arbitrary(input: &mut Unstructured<'a>) -> Result<Self> {
        let event_id: u16 = input.arbitrary()?;
        Self::new(event_id.into(), input.arbitrary()?, input.arbitrary()?)
            .map_err(|_| Error::IncorrectFormat)
    }
}

/// Chooses bytes for a version other than 1, which is not interpreted.
impl<'a> Arbitrary<'a> for Record<'a> {
    fn arbitrary(input: &mut Unstructured<'a>) -> Result<Self> {
        Ok(match input.arbitrary()? {
            version if version & 1 == 1 => Self::V1(input.arbitrary()?),
            version => Self::Other { version, rest: input.arbitrary()? },
        })
    }
}
