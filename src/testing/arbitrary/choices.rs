//! The source of generated values: bytes chosen by someone else.

use alloc::vec::Vec;

use ::arbitrary::Unstructured;

/// How values are chosen.
///
/// ```
/// use dotnet_diagnostics_ipc::testing::arbitrary::Style;
///
/// assert_eq!(Style::default(), Style::Plain);
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Style {
    /// Small numbers, short text, few items, and sometimes anything.
    #[default]
    Plain,
    /// Numbers at the limits of what readers check, text that is absent, empty or not Unicode,
    /// arrays without items.
    Boundary,
}

/// Numbers on both sides of a reader's check: levels, formats, counts of providers, sizes of parts,
/// signs.
pub(super) const EDGES: [u32; 18] = [
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

/// Text that readers have failed on.
const TEXTS: [&str; 6] = [
    "a",
    "Microsoft-Windows-DotNETRuntime",
    "A=1",
    "=C:=C:\\",
    "/tmp/\u{e9}.nettrace",
    "\u{1f600}",
];

/// Units that are not text, or end it early.
const UNITS: [&[u16]; 4] = [&[0], &[0x61, 0, 0x62], &[0xd800], &[0xdc00, 0xd800]];

/// Decisions taken from given bytes. Once those are used up, every decision is the smallest.
///
/// ```
/// use dotnet_diagnostics_ipc::testing::arbitrary::{Choices, Generate as _, Style};
/// use dotnet_diagnostics_ipc::wire::IpcString;
///
/// let mut bytes = Vec::new();
/// IpcString::generate(&mut Choices::new(&[], Style::Plain), &mut bytes);
/// assert_eq!(bytes, [0; 4]); // absent
/// ```
#[derive(Debug)]
pub struct Choices<'c> {
    input: Unstructured<'c>,
    style: Style,
}

impl<'c> Choices<'c> {
    /// Decisions by `chosen`.
    pub fn new(chosen: &'c [u8], style: Style) -> Self {
        Self { input: Unstructured::new(chosen), style }
    }

    /// One of `count`.
    pub(crate) fn below(&mut self, count: usize) -> usize {
        self.input.int_in_range(0..=count.saturating_sub(1)).unwrap_or_default()
    }

    pub(crate) fn pick<T: Copy>(&mut self, items: &[T], otherwise: T) -> T {
        let which = self.below(items.len());
        items.get(which).copied().unwrap_or(otherwise)
    }

    pub(crate) fn yes(&mut self) -> bool {
        self.input.arbitrary().unwrap_or_default()
    }

    pub(crate) fn byte(&mut self) -> u8 {
        self.input.arbitrary().unwrap_or_default()
    }

    /// 64 bits, often small.
    pub(crate) fn number(&mut self) -> u64 {
        match (self.style, self.yes()) {
            (Style::Plain, false) => u64::from(self.byte() & 7),
            (Style::Plain, true) => self.input.arbitrary().unwrap_or_default(),
            (Style::Boundary, false) => self.pick(&EDGES, 0).into(),
            (Style::Boundary, true) => self.pick(&[u64::MAX, 1 << 63, 1 << 32, u32::MAX.into()], 0),
        }
    }

    /// At most `most` bytes.
    pub(crate) fn bytes(&mut self, most: usize) -> &'c [u8] {
        let count = self.below(most.saturating_add(1)).min(self.input.len());
        self.input.bytes(count).unwrap_or_default()
    }

    /// The number of items of an array, if there is room for them.
    pub(crate) fn count(&mut self) -> u32 {
        match (self.style, self.byte()) {
            // One more provider than servers accept (F-16).
            (Style::Boundary, 248..) => 1001,
            (Style::Plain, 250..) => 40,
            (Style::Boundary, byte) => u32::from(byte & 1),
            (Style::Plain, byte) => u32::from(byte & 3),
        }
    }

    /// The units of a string without its NUL; `None` for absent.
    pub(crate) fn text(&mut self) -> Option<Vec<u16>> {
        Some(match self.below(6) {
            0 => return None,
            1 => Vec::new(),
            2 => self.pick(&TEXTS, "").encode_utf16().collect(),
            3 => self.pick(&UNITS, &[]).to_vec(),
            4 if self.style == Style::Boundary => {
                alloc::vec![0x78; self.pick(&[1, 31, 255, 256, 436, 437, 511], 1)]
            }
            4 => self.bytes(12).iter().map(|byte| u16::from(*byte & 0x7f).max(0x20)).collect(),
            _ => self
                .bytes(24)
                .chunks_exact(2)
                .filter_map(|pair| pair.first_chunk())
                .map(|pair| u16::from_le_bytes(*pair))
                .collect(),
        })
    }

    /// Both styles, by one more choice.
    pub(crate) fn any_style(chosen: &[u8]) -> (Style, &[u8]) {
        match chosen.split_first() {
            Some((which, rest)) if which & 1 == 1 => (Style::Boundary, rest),
            Some((_, rest)) => (Style::Plain, rest),
            None => (Style::Plain, chosen),
        }
    }
}
