//! Mutations of a valid request.

use std::fmt;
use std::ops::Range;

use dotnet_diagnostics_ipc::command::Command;
use dotnet_diagnostics_ipc::header::{HEADER_LEN, RawHeader};
use dotnet_diagnostics_ipc_vectors::FieldKind;
use rand::RngExt as _;
use rand::seq::IndexedRandom as _;
use rand_chacha::ChaCha8Rng;
use serde::Serialize;

use super::layout::{self, Leaf};
use super::numbers::{self, replaced, sized, with_size};

/// The most bytes appended to a payload.
const MOST_EXTRA: usize = 600;
/// Units of a string that is too long for a tracepoint's name, and for a path (F-72).
const LONG: [usize; 3] = [437, 600, 5000];
/// Codes that no command has, in known sets and others; OK and Error.
pub(super) const NO_COMMANDS: [u16; 12] = [
    0x0000, 0x0100, 0xfe00, 0x0200, 0xfe09, 0x0300, 0xfeff, 0x04ff, 0x0500, 0x7f01, 0xff00, 0xffff,
];

macro_rules! mutations {
    ($($(#[doc = $doc:literal])+ $Kind:ident = $name:literal;)*) => {
        /// A mutation of a valid request. Those of the frame are last, and are applied last.
        ///
        /// ```
        /// use diagipc::fuzz::Mutation;
        ///
        /// assert!(Mutation::ALL.contains(&Mutation::EmptyPayload));
        /// assert_eq!(Mutation::EmptyPayload.to_string(), "empty-payload");
        /// ```
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
        #[serde(rename_all = "kebab-case")]
        pub enum Mutation {
            $($(#[doc = $doc])+ $Kind,)*
        }

        impl Mutation {
            /// All of them.
            pub const ALL: &'static [Self] = &[$(Self::$Kind),*];

            /// Its name in reports.
            pub const fn name(self) -> &'static str {
                match self {
                    $(Self::$Kind => $name,)*
                }
            }
        }
    };
}

mutations! {
    /// The count of an array, a string or bytes is changed.
    Count = "count";
    /// A number or an identifier is changed.
    Number = "number";
    /// A boolean is neither 0 nor 1, or inverted.
    Boolean = "boolean";
    /// Units of a string: half a character, an inner NUL, no final NUL.
    Units = "units";
    /// A string is absent, or empty.
    EmptyString = "empty-string";
    /// A string is long.
    LongString = "long-string";
    /// An item of an array is duplicated.
    DuplicateItem = "duplicate-item";
    /// An item of an array is removed.
    MissingItem = "missing-item";
    /// An item is replaced by one of another array, or is truncated.
    ForeignItem = "foreign-item";
    /// A field is omitted.
    MissingField = "missing-field";
    /// Some bytes of the payload are changed.
    Noise = "noise";
    /// The payload is truncated, and the size is adjusted.
    Cut = "cut";
    /// The payload is removed.
    EmptyPayload = "empty-payload";
    /// The payload has more bytes than the command's fields.
    ExtraBytes = "extra-bytes";
    /// The payload is sent with another command.
    OtherCommand = "other-command";
    /// Magic or reserved bytes are changed.
    Header = "header";
    /// The size is wrong.
    Size = "size";
    /// The message is truncated without adjusting the size.
    CutShort = "cut-short";
    /// Bytes follow the message.
    BytesBehind = "bytes-behind";
}

impl fmt::Display for Mutation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl Mutation {
    /// The mutated message; `None` if it does not apply.
    pub(super) fn of(self, message: &[u8], rng: &mut ChaCha8Rng) -> Option<Vec<u8>> {
        let leaves = layout::leaves(message);
        let mut is = |wanted: &[FieldKind]| {
            let found: Vec<&Leaf> =
                leaves.iter().filter(|leaf| wanted.contains(&leaf.kind)).collect();
            found.choose(rng).map(|leaf| (*leaf).clone())
        };
        match self {
            Self::Count => {
                let range =
                    is(&[FieldKind::ItemCount, FieldKind::StringLength, FieldKind::ByteCount])?
                        .range;
                let new = numbers::count(numbers::read(message, &range)?, rng);
                replaced(message, &range, &new.to_le_bytes())
            }
            Self::Number => {
                let range = is(&[FieldKind::Plain])?.range;
                replaced(message, &range, &numbers::number(range.len(), rng))
            }
            Self::Boolean => {
                let range = is(&[FieldKind::Boolean])?.range;
                let new = *[0, 1, 2, 0x7f, 0x80, 0xff].choose(rng)?;
                replaced(message, &range, &[new])
            }
            Self::Units => units(message, &is(&[FieldKind::Units])?.range, rng),
            Self::EmptyString => {
                let new: &[u8] = [&[0, 0, 0, 0][..], &[1, 0, 0, 0, 0, 0]].choose(rng)?;
                string(message, &leaves, new, rng)
            }
            Self::LongString => {
                let len = *LONG.choose(rng)?;
                let count = u32::try_from(len).ok()?.saturating_add(1).to_le_bytes();
                string(
                    message,
                    &leaves,
                    &[&count[..], &[b'x', 0].repeat(len), &[0, 0]].concat(),
                    rng,
                )
            }
            Self::DuplicateItem | Self::MissingItem | Self::ForeignItem => {
                self.item(message, &leaves, rng)
            }
            Self::MissingField => {
                let range = leaves.choose(rng)?.range.clone();
                replaced(message, &range, &[])
            }
            Self::Noise => noise(message, rng),
            Self::Cut => {
                let end = end_inside(message, HEADER_LEN, rng)?;
                sized(message.get(..end)?.to_vec())
            }
            Self::EmptyPayload => sized(
                message.get(..HEADER_LEN).filter(|header| header.len() < message.len())?.to_vec(),
            ),
            Self::ExtraBytes => {
                let extra = bytes(rng.random_range(1..=MOST_EXTRA), rng);
                replaced(message, &(message.len()..message.len()), &extra)
            }
            Self::OtherCommand => {
                let known: Vec<u16> =
                    Command::known().map(Command::code).chain(NO_COMMANDS).collect();
                let code = *known.choose(rng)?;
                let command = Some(Command::from_code(code));
                let mut message = message.to_vec();
                RawHeader { command, ..RawHeader::default() }.write(&mut message);
                sized(message)
            }
            Self::Header => {
                let place = *[0_usize, 7, 11, 12, 13, 18, 19].choose(rng)?;
                replaced(message, &(place..place + 1), &bytes(1, rng))
            }
            Self::Size => {
                let len = u16::try_from(message.len()).ok()?;
                let sizes =
                    [0, 1, 19, 20, 21, len.saturating_sub(1), len + 1, len + 100, 0x7fff, 0xffff];
                with_size(message.to_vec(), *sizes.choose(rng)?)
            }
            Self::CutShort => Some(message.get(..end_inside(message, 0, rng)?)?.to_vec()),
            Self::BytesBehind => {
                let behind = bytes(rng.random_range(1..=MOST_EXTRA), rng);
                // Also a second message.
                let behind = if rng.random_bool(0.5) { message } else { behind.as_slice() };
                Some([message, behind].concat())
            }
        }
    }

    /// An edit of an array that adjusts its count.
    fn item(self, message: &[u8], leaves: &[Leaf], rng: &mut ChaCha8Rng) -> Option<Vec<u8>> {
        let arrays = layout::arrays(leaves);
        let filled: Vec<_> = arrays.iter().filter(|array| !array.items.is_empty()).collect();
        let array = filled.choose(rng)?;
        let item = array.items.choose(rng)?;
        let there = message.get(item.clone())?;
        let count = numbers::read(message, &array.count)?;
        let (new, count) = match self {
            Self::DuplicateItem => (there.repeat(2), count.wrapping_add(1)),
            Self::MissingItem => (Vec::new(), count.wrapping_sub(1)),
            _ => {
                let others =
                    filled.iter().flat_map(|array| &array.items).filter(|other| *other != item);
                let others: Vec<_> = others.collect();
                let new = match others.choose(rng) {
                    Some(other) => message.get((*other).clone())?,
                    None => there.get(..there.len().checked_div(2)?)?,
                };
                (new.to_vec(), count)
            }
        };
        // The count precedes its items, and keeps its place.
        replaced(&replaced(message, item, &new)?, &array.count, &count.to_le_bytes())
    }
}

/// Where a message may be cut, after `least` and before its end.
fn end_inside(message: &[u8], least: usize, rng: &mut ChaCha8Rng) -> Option<usize> {
    let first = least + 1;
    (first < message.len()).then(|| rng.random_range(first..message.len()))
}

/// Any bytes.
fn bytes(len: usize, rng: &mut ChaCha8Rng) -> Vec<u8> {
    (0..len).map(|_| rng.random::<u8>()).collect()
}

/// One to four bytes of the payload are changed.
fn noise(message: &[u8], rng: &mut ChaCha8Rng) -> Option<Vec<u8>> {
    let mut noisy = message.to_vec();
    if noisy.len() <= HEADER_LEN {
        return None;
    }
    for _ in 0..rng.random_range(1..=4) {
        let place = rng.random_range(HEADER_LEN..noisy.len());
        *noisy.get_mut(place)? ^= rng.random_range(1..=u8::MAX);
    }
    Some(noisy)
}

/// Other units, as many as before.
fn units(message: &[u8], range: &Range<usize>, rng: &mut ChaCha8Rng) -> Option<Vec<u8>> {
    let mut units = message.get(range.clone())?.to_vec();
    let new: [u8; 2] = match rng.random_range(0..5) {
        // Without a terminator.
        0 => {
            let last = units.len().checked_sub(2)?;
            units.get_mut(last..)?.copy_from_slice(&[b'x', 0]);
            return replaced(message, range, &units);
        }
        1 => [0, 0],
        2 => [0x3d, 0xd8],
        3 => [0x00, 0xdc],
        _ => [0xff, 0xff],
    };
    let place =
        rng.random_range(0..units.len().checked_div(2).filter(|n| *n > 0)?).saturating_mul(2);
    units.get_mut(place..place + 2)?.copy_from_slice(&new);
    replaced(message, range, &units)
}

/// Another string, count and units.
fn string(message: &[u8], leaves: &[Leaf], new: &[u8], rng: &mut ChaCha8Rng) -> Option<Vec<u8>> {
    let mut ranges = Vec::new();
    for (nth, leaf) in
        leaves.iter().enumerate().filter(|(_, leaf)| leaf.kind == FieldKind::StringLength)
    {
        let units = leaves.get(nth + 1).filter(|next| next.kind == FieldKind::Units);
        ranges.push(leaf.range.start..units.map_or(leaf.range.end, |units| units.range.end));
    }
    let range = ranges.choose(rng)?;
    replaced(message, range, new)
}

/// The name of a case's mutations.
pub(super) fn names(mutations: &[Mutation]) -> String {
    let names: Vec<&str> = mutations.iter().map(|mutation| mutation.name()).collect();
    if names.is_empty() { "none".into() } else { names.join("+") }
}
