//! The source of generated values: bytes chosen by someone else, and the wire form written from
//! them.

use crate::command::{Command, ReplyType};
use crate::hresult::HResult;
use crate::message::process::Tail;
use crate::message::{AnyReply, AnyRequest};
use crate::wire::visit::{Names, Visit, Visitor};
use crate::wire::{Array, Decode, Encode, Field, Guid, IpcString};
use ::arbitrary::Unstructured;
use alloc::vec::Vec;
use core::convert::Infallible;
use core::fmt::Debug;

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

/// A type of the grammar whose wire form can be generated from choices. The output decodes, and is
/// canonical.
///
/// ```
/// use dotnet_diagnostics_ipc::testing::arbitrary::{Choices, Generate as _, Style};
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

    /// Appends a value to `out`.
    fn generate(choices: &mut Choices<'_>, out: &mut Vec<u8>);
}

/// Writes the parts of a value; the value itself only determines which parts there are.
struct Writer<'w, 'c> {
    choices: &'w mut Choices<'c>,
    out: &'w mut Vec<u8>,
}

impl Writer<'_, '_> {
    fn put<const N: usize>(&mut self, bytes: [u8; N]) {
        self.out.extend_from_slice(&bytes);
    }
}

/// Numbers, truncated to their width.
macro_rules! numbers {
    ($($part:ident: $t:ty),*) => {$(
        #[allow(clippy::cast_possible_truncation, reason = "any number is fine")]
        fn $part(&mut self) -> Result<$t, Infallible> {
            let number = self.choices.number() as $t;
            self.put(number.to_le_bytes());
            Ok(number)
        }
    )*};
}

impl<'a> Visitor<'a> for Writer<'_, '_> {
    type Error = Infallible;

    numbers! { byte: u8, ushort: u16, uint: u32, ulong: u64 }

    fn bool(&mut self) -> Result<bool, Infallible> {
        let yes = self.choices.yes();
        self.put([yes.into()]);
        Ok(yes)
    }

    fn hresult(&mut self) -> Result<HResult, Infallible> {
        if self.choices.yes() {
            return self.uint().map(HResult);
        }
        let code = self.choices.pick(HResult::NAMED, HResult::OK);
        self.put(code.0.to_le_bytes());
        Ok(code)
    }

    fn guid(&mut self) -> Result<Guid, Infallible> {
        let all = self.choices.pick(&[None, Some(0), Some(0xff)], None);
        let guid = core::array::from_fn(|_| all.unwrap_or_else(|| self.choices.byte()));
        self.put(guid);
        Ok(Guid::from_bytes(guid))
    }

    fn string(&mut self) -> Result<IpcString<'a>, Infallible> {
        match self.choices.text() {
            None => put_count(0, self.out),
            Some(units) => {
                put_count(units.len().saturating_add(1), self.out);
                self.out.extend(units.iter().chain(&[0]).flat_map(|unit| unit.to_le_bytes()));
            }
        }
        Ok(IpcString::ABSENT)
    }

    fn bytes(&mut self) -> Result<&'a [u8], Infallible> {
        let bytes = self.choices.bytes(40);
        put_count(bytes.len(), self.out);
        self.out.extend_from_slice(bytes);
        Ok(&[])
    }

    fn array<T: Visit<'a>>(&mut self) -> Result<Array<'a, T>, Infallible> {
        put_array(self.choices, self.out, put::<T>);
        Ok(Array::EMPTY)
    }

    fn number(&mut self, _: Option<Names>) -> Result<u32, Infallible> {
        self.uint()
    }

    fn tail(&mut self) -> Result<&'a [u8], Infallible> {
        let bytes = self.choices.bytes(20);
        self.out.extend_from_slice(bytes);
        Ok(&[])
    }

    fn is_user_events(&mut self) -> Result<bool, Infallible> {
        let user_events = self.choices.yes();
        self.put(u32::from(user_events).to_le_bytes());
        Ok(user_events)
    }

    fn field<T: Visit<'a>>(&mut self, _: Field) -> Result<T, Infallible> {
        T::build(self)
    }
}

/// Appends a value to `out`.
pub(super) fn put<'a, T: Visit<'a>>(choices: &mut Choices<'_>, out: &mut Vec<u8>) {
    let Ok(_) = T::build(&mut Writer { choices, out });
}

/// Appends the payload of a request of any command to `out`, and returns the command.
pub(super) fn put_request(choices: &mut Choices<'_>, out: &mut Vec<u8>) -> Command {
    let which = choices.below(Command::known().len().saturating_add(1));
    if let Some(command) = Command::known().nth(which) {
        let Ok(_) = AnyRequest::build(command, &mut Writer { choices, out });
        return command;
    }
    put::<Tail<'_>>(choices, out);
    unknown(Command { set: choices.byte(), id: choices.byte() })
}

/// The command, or a neighbouring unknown one.
pub(super) fn unknown(command: Command) -> Command {
    if command.reply_type().is_some() {
        Command { id: command.id | 0x80, ..command }
    } else {
        command
    }
}

/// Appends the payload of an OK reply to `out`.
pub(super) fn put_reply(reply_type: ReplyType, choices: &mut Choices<'_>, out: &mut Vec<u8>) {
    let Ok(_) = AnyReply::build(reply_type, &mut Writer { choices, out });
}

fn put_array(
    choices: &mut Choices<'_>,
    out: &mut Vec<u8>,
    mut item: impl FnMut(&mut Choices<'_>, &mut Vec<u8>),
) {
    // Far less than a message: the last item may double it.
    const ENOUGH: usize = 24 << 10;
    let (at, most) = (out.len(), choices.count());
    put_count(0, out);
    let mut count = 0u32;
    while count < most && out.len() < ENOUGH {
        item(choices, out);
        count = count.saturating_add(1);
    }
    if let Some(place) = out.get_mut(at..).and_then(<[u8]>::first_chunk_mut) {
        *place = count.to_le_bytes();
    }
}

impl<T: Generate> Generate for Array<'_, T> {
    type Of<'o> = Array<'o, T::Of<'o>>;

    fn generate(choices: &mut Choices<'_>, out: &mut Vec<u8>) {
        put_array(choices, out, T::generate);
    }
}

impl Generate for i32 {
    type Of<'o> = i32;

    fn generate(choices: &mut Choices<'_>, out: &mut Vec<u8>) {
        put::<u32>(choices, out);
    }
}

fn put_count(count: usize, out: &mut Vec<u8>) {
    out.extend_from_slice(&u32::try_from(count).unwrap_or(u32::MAX).to_le_bytes());
}
