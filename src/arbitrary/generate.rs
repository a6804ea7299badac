//! The wire form of a value, written field by field.

use alloc::vec::Vec;
use core::fmt::Debug;

use super::{Choices, Style};
use crate::hresult::HResult;
use crate::message::process::Tail;
use crate::wire::{Array, Decode, Encode, Guid, IpcString};

/// A type of the grammar whose wire form can be made from choices. What is written decodes, and is canonical.
///
/// ```
/// use dotnet_diagnostics_ipc::arbitrary::{Choices, Generate as _, Style};
/// use dotnet_diagnostics_ipc::message::eventpipe::EventFilter;
/// use dotnet_diagnostics_ipc::wire::{Decode as _, Reader};
///
/// let mut bytes = Vec::new();
/// EventFilter::generate(&mut Choices::new(&[1, 2, 0, 5, 0, 6], Style::Plain), &mut bytes);
/// let filter = EventFilter::decode(&mut Reader::new(&bytes)).unwrap();
/// assert!(filter.enable && filter.event_ids.len() == 2);
/// ```
pub trait Generate {
    /// The type, borrowing for `'o`.
    type Of<'o>: Decode<'o> + Encode + Copy + PartialEq + Debug + 'o;

    /// Writes a value behind `out`.
    fn generate(choices: &mut Choices<'_>, out: &mut Vec<u8>);
}

/// Numbers, cut to their width.
macro_rules! numbers {
    ($($t:ty),*) => {$(
        impl Generate for $t {
            type Of<'o> = $t;

            #[allow(clippy::cast_possible_truncation, clippy::cast_possible_wrap, reason = "any number will do")]
            fn generate(choices: &mut Choices<'_>, out: &mut Vec<u8>) {
                out.extend_from_slice(&(choices.number() as $t).to_le_bytes());
            }
        }
    )*};
}

numbers!(u8, u16, u32, i32, u64);

impl Generate for bool {
    type Of<'o> = bool;

    fn generate(choices: &mut Choices<'_>, out: &mut Vec<u8>) {
        out.push(choices.yes().into());
    }
}

impl Generate for HResult {
    type Of<'o> = HResult;

    fn generate(choices: &mut Choices<'_>, out: &mut Vec<u8>) {
        if choices.yes() {
            return u32::generate(choices, out);
        }
        out.extend_from_slice(&choices.pick(HResult::NAMED, HResult::OK).0.to_le_bytes());
    }
}

impl Generate for Guid {
    type Of<'o> = Guid;

    fn generate(choices: &mut Choices<'_>, out: &mut Vec<u8>) {
        let all = choices.pick(&[None, Some(0), Some(0xff)], None);
        out.extend((0..16).map(|_| all.unwrap_or_else(|| choices.byte())));
    }
}

impl Generate for IpcString<'_> {
    type Of<'o> = IpcString<'o>;

    fn generate(choices: &mut Choices<'_>, out: &mut Vec<u8>) {
        let Some(units) = choices.text() else { return put_count(0, out) };
        put_count(units.len().saturating_add(1), out);
        out.extend(units.iter().chain(&[0]).flat_map(|unit| unit.to_le_bytes()));
    }
}

impl Generate for &[u8] {
    type Of<'o> = &'o [u8];

    fn generate(choices: &mut Choices<'_>, out: &mut Vec<u8>) {
        let bytes = choices.bytes(40);
        put_count(bytes.len(), out);
        out.extend_from_slice(bytes);
    }
}

impl<T: Generate> Generate for Array<'_, T> {
    type Of<'o> = Array<'o, T::Of<'o>>;

    fn generate(choices: &mut Choices<'_>, out: &mut Vec<u8>) {
        // Far less than a message: the last item may be as large again.
        const ENOUGH: usize = 24 << 10;
        let (at, most) = (out.len(), choices.count());
        put_count(0, out);
        let mut count = 0u32;
        while count < most && out.len() < ENOUGH {
            T::generate(choices, out);
            count = count.saturating_add(1);
        }
        if let Some(place) = out.get_mut(at..).and_then(<[u8]>::first_chunk_mut) {
            *place = count.to_le_bytes();
        }
    }
}

impl Generate for Tail<'_> {
    type Of<'o> = Tail<'o>;

    fn generate(choices: &mut Choices<'_>, out: &mut Vec<u8>) {
        out.extend_from_slice(choices.bytes(20));
    }
}

fn put_count(count: usize, out: &mut Vec<u8>) {
    out.extend_from_slice(&u32::try_from(count).unwrap_or(u32::MAX).to_le_bytes());
}

impl Choices<'_> {
    /// Both styles, by one more choice.
    pub(crate) fn any_style(chosen: &[u8]) -> (Style, &[u8]) {
        match chosen.split_first() {
            Some((which, rest)) if which & 1 == 1 => (Style::Boundary, rest),
            Some((_, rest)) => (Style::Plain, rest),
            None => (Style::Plain, chosen),
        }
    }
}
