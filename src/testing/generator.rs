//! Generates values field by field, with choices made from a caller's bytes.

use crate::command::Command;
use crate::hresult::HResult;
use crate::message::encode_to_vec;
use crate::message::process::Tail;
use crate::wire::visit::{Names, Visit, Visitor};
use crate::wire::{Array, Field, Guid, IpcString};
use ::arbitrary::Unstructured;
use alloc::vec::Vec;
use core::convert::Infallible;

/// The kind of values that are generated.
///
/// ```
/// use dotnet_diagnostics_ipc::testing::{Made, Style};
/// use dotnet_diagnostics_ipc::wire::IpcString;
///
/// let text = Made::<IpcString<'_>>::new(&[], Style::Boundary);
/// assert_eq!(text.bytes(), [0; 4]); // absent
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Style {
    /// Small numbers, short texts and few items, and occasionally any value.
    #[default]
    Plain,
    /// Numbers at the limits that readers check, one provider more than servers accept (F-16),
    /// names one unit too long (F-65), and text that is absent, empty or not Unicode.
    Boundary,
}

/// Numbers on both sides of a reader's check: levels, formats, counts, sizes of parts, signs.
const EDGES: [u32; 18] = [
    0,
    1,
    2,
    4,
    5,
    6,
    7,
    0xff,
    0x100,
    999,
    1000,
    1001,
    0xffff,
    0x1_0000,
    0x7fff_ffff,
    0x8000_0000,
    0x8000_0001,
    0xffff_ffff,
];

/// Text that readers have mishandled.
const TEXTS: [&str; 6] = [
    "a",
    "Microsoft-Windows-DotNETRuntime",
    "A=1",
    "=C:=C:\\",
    "/tmp/\u{e9}.nettrace",
    "\u{1f600}",
];

/// Units that are not text, or that end it early.
const UNITS: [&[u16]; 4] = [&[0], &[0x61, 0, 0x62], &[0xd800], &[0xdc00, 0xd800]];

/// A visitor that writes each part. It returns only values that decide which parts follow.
///
/// Every choice is the smallest once the given bytes are used up.
pub(super) struct Generator<'c> {
    input: Unstructured<'c>,
    style: Style,
    out: Vec<u8>,
}

impl<'c> Generator<'c> {
    pub(super) fn new(chosen: &'c [u8], style: Style) -> Self {
        Self { input: Unstructured::new(chosen), style, out: Vec::new() }
    }

    /// Writes a value, and returns all bytes written.
    pub(super) fn value<'a, T: Visit<'a>>(mut self) -> Vec<u8> {
        let Ok(_) = T::build(&mut self);
        self.out
    }

    /// Returns the bytes written as the payload of a message.
    #[allow(clippy::expect_used, reason = "generated payloads are small")]
    pub(super) fn message(self, command: Command) -> Vec<u8> {
        encode_to_vec(command, &Tail(&self.out)).expect("no generated payload is too large")
    }

    /// Chooses a number below `count`.
    pub(super) fn below(&mut self, count: usize) -> usize {
        self.input.int_in_range(0..=count.saturating_sub(1)).unwrap_or_default()
    }

    pub(super) fn pick<T: Copy>(&mut self, items: &[T], otherwise: T) -> T {
        let which = self.below(items.len());
        items.get(which).copied().unwrap_or(otherwise)
    }

    pub(super) fn yes(&mut self) -> bool {
        self.input.arbitrary().unwrap_or_default()
    }

    pub(super) fn any_byte(&mut self) -> u8 {
        self.input.arbitrary().unwrap_or_default()
    }

    /// Chooses a number of 64 bits, often a small one.
    fn any_number(&mut self) -> u64 {
        match (self.style, self.yes()) {
            (Style::Plain, false) => u64::from(self.any_byte() & 7),
            (Style::Plain, true) => self.input.arbitrary().unwrap_or_default(),
            (Style::Boundary, false) => self.pick(&EDGES, 0).into(),
            (Style::Boundary, true) => self.pick(&[u64::MAX, 1 << 63, 1 << 32, u32::MAX.into()], 0),
        }
    }

    /// Chooses at most `most` bytes.
    fn any_bytes(&mut self, most: usize) -> &'c [u8] {
        let count = self.below(most.saturating_add(1)).min(self.input.len());
        self.input.bytes(count).unwrap_or_default()
    }

    /// Chooses the number of items in an array.
    fn item_count(&mut self) -> u32 {
        match (self.style, self.any_byte()) {
            (Style::Boundary, 248..) => 1001,
            (Style::Plain, 250..) => 40,
            (Style::Boundary, byte) => u32::from(byte & 1),
            (Style::Plain, byte) => u32::from(byte & 3),
        }
    }

    /// Chooses the units of a string without its NUL, or `None` for absent.
    fn text(&mut self) -> Option<Vec<u16>> {
        Some(match self.below(6) {
            0 => return None,
            1 => Vec::new(),
            2 => self.pick(&TEXTS, "").encode_utf16().collect(),
            3 => self.pick(&UNITS, &[]).to_vec(),
            4 if self.style == Style::Boundary => {
                alloc::vec![0x78; self.pick(&[1, 31, 255, 256, 436, 437, 511], 1)]
            }
            4 => self.any_bytes(12).iter().map(|byte| u16::from(*byte & 0x7f).max(0x20)).collect(),
            _ => {
                let pairs = self.any_bytes(24).chunks_exact(2);
                pairs
                    .filter_map(<[u8]>::first_chunk)
                    .map(|pair| u16::from_le_bytes(*pair))
                    .collect()
            }
        })
    }

    fn put<const N: usize>(&mut self, bytes: [u8; N]) {
        self.out.extend_from_slice(&bytes);
    }

    fn put_count(&mut self, count: usize) {
        self.put(u32::try_from(count).unwrap_or(u32::MAX).to_le_bytes());
    }

    /// Changes `bytes` at one place, usually after the first `spared` bytes.
    pub(super) fn damage(&mut self, bytes: &mut Vec<u8>, spared: usize) {
        let front = if self.below(8) > 0 { spared } else { 0 };
        let at =
            front.min(bytes.len()).saturating_add(self.below(bytes.len().saturating_sub(front)));
        match self.below(6) {
            0 => bytes.truncate(at),
            1 => {
                let flipped = 1 << self.below(8);
                if let Some(byte) = bytes.get_mut(at) {
                    *byte ^= flipped;
                }
            }
            2 => {
                let edge = self.pick(&EDGES, u32::MAX).to_le_bytes();
                if let Some(place) = bytes.get_mut(at..).and_then(<[u8]>::first_chunk_mut) {
                    *place = edge;
                }
            }
            3 => {
                let inserted = self.any_bytes(16).to_vec();
                bytes.splice(at..at, inserted);
            }
            4 => {
                let end = at.saturating_add(self.below(16)).min(bytes.len());
                bytes.drain(at..end);
            }
            _ => {
                // Doubles the bytes, but never beyond the largest message.
                let again =
                    bytes.get(at..).filter(|rest| rest.len() < 4096).unwrap_or_default().to_vec();
                bytes.extend(again);
            }
        }
    }
}

/// Writes numbers, truncated to their width.
macro_rules! numbers {
    ($($part:ident: $t:ty),*) => {$(
        #[allow(clippy::cast_possible_truncation, reason = "any number is fine")]
        fn $part(&mut self) -> Result<$t, Infallible> {
            let number = self.any_number() as $t;
            self.put(number.to_le_bytes());
            Ok(number)
        }
    )*};
}

impl<'a> Visitor<'a> for Generator<'_> {
    type Error = Infallible;

    numbers! { byte: u8, ushort: u16, uint: u32, ulong: u64 }

    fn bool(&mut self) -> Result<bool, Infallible> {
        let yes = self.yes();
        self.put([yes.into()]);
        Ok(yes)
    }

    fn hresult(&mut self) -> Result<HResult, Infallible> {
        if self.yes() {
            return self.uint().map(HResult);
        }
        let code = self.pick(HResult::NAMED, HResult::OK);
        self.put(code.0.to_le_bytes());
        Ok(code)
    }

    fn guid(&mut self) -> Result<Guid, Infallible> {
        let all = self.pick(&[None, Some(0), Some(0xff)], None);
        let guid = core::array::from_fn(|_| all.unwrap_or_else(|| self.any_byte()));
        self.put(guid);
        Ok(Guid::from_bytes(guid))
    }

    fn string(&mut self) -> Result<IpcString<'a>, Infallible> {
        match self.text() {
            None => self.put_count(0),
            Some(units) => {
                self.put_count(units.len().saturating_add(1));
                self.out.extend(units.iter().chain(&[0]).flat_map(|unit| unit.to_le_bytes()));
            }
        }
        Ok(IpcString::ABSENT)
    }

    fn bytes(&mut self) -> Result<&'a [u8], Infallible> {
        let bytes = self.any_bytes(40);
        self.put_count(bytes.len());
        self.out.extend_from_slice(bytes);
        Ok(&[])
    }

    fn array<T: Visit<'a>>(&mut self) -> Result<Array<'a, T>, Infallible> {
        // This is far below the largest message, because the last item may double the size.
        const ENOUGH: usize = 24 << 10;
        let (at, most) = (self.out.len(), self.item_count());
        self.put_count(0);
        let mut count = 0u32;
        while count < most && self.out.len() < ENOUGH {
            T::build(self)?;
            count = count.saturating_add(1);
        }
        if let Some(place) = self.out.get_mut(at..).and_then(<[u8]>::first_chunk_mut) {
            *place = count.to_le_bytes();
        }
        Ok(Array::EMPTY)
    }

    fn number(&mut self, _: Option<Names>) -> Result<u32, Infallible> {
        self.uint()
    }

    fn tail(&mut self) -> Result<&'a [u8], Infallible> {
        let bytes = self.any_bytes(20);
        self.out.extend_from_slice(bytes);
        Ok(&[])
    }

    fn is_user_events(&mut self) -> Result<bool, Infallible> {
        let user_events = self.yes();
        self.put(u32::from(user_events).to_le_bytes());
        Ok(user_events)
    }

    fn field<T: Visit<'a>>(&mut self, _: Field) -> Result<T, Infallible> {
        T::build(self)
    }
}
