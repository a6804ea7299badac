//! `Arbitrary` of the grammar, of what follows replies, of names and of what the 2019 editions had.

use ::arbitrary::{Arbitrary, Error, Result, Unstructured};

use super::{of_fields, one_of};
use crate::continuation::{Entry, EnvironmentLimits, FdByte};
use crate::endpoint::{NamePrefix, PipeName, ProcessStat, SocketForm, SocketName, SocketPath};
use crate::hresult::HResult;
use crate::legacy::{CollectTracingWithoutFilterData, OldReply, SessionIdWidth, SessionLayout};
use crate::message::process::Tail;
use crate::port::{PortConfig, PortType, SuspendMode};
use crate::wire::{Array, Decode, Guid, IpcString, Reader};

/// Absent, text, or units that need be no text.
impl<'a> Arbitrary<'a> for IpcString<'a> {
    fn arbitrary(input: &mut Unstructured<'a>) -> Result<Self> {
        match input.int_in_range(0..=3)? {
            0 => Ok(Self::ABSENT),
            1 => input.arbitrary().map(Self::new),
            _ => {
                let units: &[u8] = input.arbitrary()?;
                Ok(Self::from_wire_units(units.get(..units.len() & !1).unwrap_or_default()))
            }
        }
    }
}

/// The items that stand at the front of some bytes of the input: as many as can be read.
impl<'a, T: Decode<'a>> Arbitrary<'a> for Array<'a, T> {
    fn arbitrary(input: &mut Unstructured<'a>) -> Result<Self> {
        Ok(Self::front_of(input.arbitrary()?))
    }
}

impl<'a> Arbitrary<'a> for Tail<'a> {
    fn arbitrary(input: &mut Unstructured<'a>) -> Result<Self> {
        input.arbitrary().map(Self)
    }
}

impl<'a> Arbitrary<'a> for Guid {
    fn arbitrary(input: &mut Unstructured<'a>) -> Result<Self> {
        input.arbitrary().map(Self::from_bytes)
    }
}

/// Codes with a name, and any other.
impl<'a> Arbitrary<'a> for HResult {
    fn arbitrary(input: &mut Unstructured<'a>) -> Result<Self> {
        if input.arbitrary()? { input.choose(Self::NAMED).copied() } else { input.arbitrary().map(Self) }
    }
}

/// An entry with or without a NUL behind it.
impl<'a> Arbitrary<'a> for Entry<'a> {
    fn arbitrary(input: &mut Unstructured<'a>) -> Result<Self> {
        let units: &[u8] = input.arbitrary()?;
        Ok(Self::from_wire(units.get(..units.len() & !1).unwrap_or_default()))
    }
}

/// A port that a runtime may have read from its variable: what can stand there, and connects or would listen.
impl<'a> Arbitrary<'a> for PortConfig<'a> {
    fn arbitrary(input: &mut Unstructured<'a>) -> Result<Self> {
        let text: &str = input.arbitrary()?;
        let address = text.split([';', ',', '\0']).next().unwrap_or_default();
        let port = Self { suspend_mode: input.arbitrary()?, port_type: input.arbitrary()?, ..Self::new(address) };
        // A blank address is none.
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

/// With the fields that one of the layouts has.
impl<'a> Arbitrary<'a> for CollectTracingWithoutFilterData<'a> {
    fn arbitrary(input: &mut Unstructured<'a>) -> Result<Self> {
        let layout: SessionLayout = input.arbitrary()?;
        let (draft, second) = (layout == SessionLayout::Draft, layout == SessionLayout::CollectTracing2);
        Ok(Self {
            circular_buffer_mb: input.arbitrary()?,
            output_path: draft.then(|| input.arbitrary()).transpose()?,
            format: (!draft).then(|| input.arbitrary()).transpose()?,
            request_rundown: second.then(|| input.arbitrary()).transpose()?,
            providers: input.arbitrary()?,
        })
    }
}

one_of! {
    SuspendMode: Self::Suspend, Self::NoSuspend;
    PortType: Self::Connect, Self::Listen;
    NamePrefix: Self::Current, Self::Draft;
    SocketForm: Self::Socket, Self::AsPrinted;
    SessionIdWidth: Self::Bits32, Self::Bits64;
    SessionLayout: Self::Draft, Self::CollectTracing, Self::CollectTracing2;
}

of_fields! {
    EnvironmentLimits { max_bytes, max_entries }
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

/// A value that is read from some bytes of the input.
pub(super) fn read<'a, T: Decode<'a>>(input: &mut Unstructured<'a>) -> Result<T> {
    T::decode(&mut Reader::new(input.arbitrary()?)).map_err(|_| Error::IncorrectFormat)
}
