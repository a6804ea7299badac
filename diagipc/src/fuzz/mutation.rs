//! Mutations of a valid request.

use std::ops::Range;

use dotnet_diagnostics_ipc::command::Command;
use dotnet_diagnostics_ipc::header::{HEADER_LEN, MAX_MESSAGE_LEN, RawHeader};
use dotnet_diagnostics_ipc_vectors::{Annotation, FieldKind};
use rand::RngExt as _;
use rand::seq::IndexedRandom as _;
use rand_chacha::ChaCha8Rng;

use crate::conversation::request_as;

/// The maximum number of bytes appended to a payload.
const MAX_EXTRA: usize = 600;
/// Lengths in units that are too long for a tracepoint's name and for a path (F-72).
const LONG_STRINGS: [usize; 3] = [437, 600, 5000];
/// Codes that are not commands, in known sets and others, and the codes of OK and Error.
pub(super) const NO_COMMANDS: [u16; 12] = [
    0x0000, 0x0100, 0xfe00, 0x0200, 0xfe09, 0x0300, 0xfeff, 0x04ff, 0x0500, 0x7f01, 0xff00, 0xffff,
];

/// Counts around zero and one, around the limits of the protocol (F-16), and around the ends of 16
/// and 32 bits and their doubles (F-8, F-72).
const COUNTS: [u32; 14] = [
    0,
    1,
    2,
    600,
    1000,
    1001,
    0xffff,
    0x1_0000,
    0x3fff_ffff,
    0x4000_0000,
    0x7fff_ffff,
    0x8000_0000,
    0x8000_0001,
    0xffff_ffff,
];
/// Other numbers: small ones, and numbers around the ends of 8, 16, 31, 32, 63 and 64 bits.
const NUMBERS: [u64; 19] = [
    0,
    1,
    2,
    3,
    4,
    5,
    7,
    0x7f,
    0xff,
    0x7fff,
    0xffff,
    0x1_0000,
    0x7fff_ffff,
    0x8000_0000,
    0xffff_ffff,
    0x1_0000_0000,
    0x7fff_ffff_ffff_ffff,
    0x8000_0000_0000_0000,
    0xffff_ffff_ffff_ffff,
];

named! {
    /// A mutation of a valid request. Mutations of the frame are last, and are applied last.
    ///
    /// ```
    /// use diagipc::fuzz::Mutation;
    ///
    /// assert!(Mutation::ALL.contains(&Mutation::EmptyPayload));
    /// assert_eq!(Mutation::EmptyPayload.to_string(), "empty-payload");
    /// ```
    Mutation {
        /// The count of an array, a string or bytes is changed.
        Count = "count",
        /// A number or an identifier is changed.
        Number = "number",
        /// A boolean is inverted, or is neither 0 nor 1.
        Boolean = "boolean",
        /// Units of a string are changed: half a character, an inner NUL, or no final NUL.
        Units = "units",
        /// A string is absent, or empty.
        EmptyString = "empty-string",
        /// A string is long.
        LongString = "long-string",
        /// An item of an array is duplicated.
        DuplicateItem = "duplicate-item",
        /// An item of an array is removed.
        MissingItem = "missing-item",
        /// An item is truncated, or replaced by one of another array.
        ForeignItem = "foreign-item",
        /// A field is omitted.
        MissingField = "missing-field",
        /// Some bytes of the payload are changed.
        Noise = "noise",
        /// The payload is truncated, and the size is adjusted.
        Cut = "cut",
        /// The payload is removed.
        EmptyPayload = "empty-payload",
        /// The payload has more bytes than the command's fields.
        ExtraBytes = "extra-bytes",
        /// The payload is sent with another command.
        OtherCommand = "other-command",
        /// Magic or reserved bytes are changed.
        Header = "header",
        /// The size is wrong.
        Size = "size",
        /// The message is truncated without adjusting the size.
        CutShort = "cut-short",
        /// Bytes follow the message.
        BytesBehind = "bytes-behind",
    }
}

impl Mutation {
    /// Returns the mutated message; `None` if the mutation does not apply to it.
    pub(super) fn of(self, message: &[u8], rng: &mut ChaCha8Rng) -> Option<Vec<u8>> {
        let fields = fields(message);
        let mut is = |wanted: &[FieldKind]| {
            let found: Vec<&Field> =
                fields.iter().filter(|field| wanted.contains(&field.kind)).collect();
            found.choose(rng).map(|field| (*field).clone())
        };
        match self {
            Self::Count => {
                let range =
                    is(&[FieldKind::ItemCount, FieldKind::StringLength, FieldKind::ByteCount])?
                        .range;
                let new = another_count(read_number(message, &range)?, rng);
                replaced(message, &range, &new.to_le_bytes())
            }
            Self::Number => {
                let range = is(&[FieldKind::Plain])?.range;
                replaced(message, &range, &another_number(range.len(), rng))
            }
            Self::Boolean => {
                let range = is(&[FieldKind::Boolean])?.range;
                let new = *[0, 1, 2, 0x7f, 0x80, 0xff].choose(rng)?;
                replaced(message, &range, &[new])
            }
            Self::Units => units(message, &is(&[FieldKind::Units])?.range, rng),
            Self::EmptyString => {
                let new: &[u8] = [&[0, 0, 0, 0][..], &[1, 0, 0, 0, 0, 0]].choose(rng)?;
                string(message, &fields, new, rng)
            }
            Self::LongString => {
                let len = *LONG_STRINGS.choose(rng)?;
                let count = u32::try_from(len).ok()?.saturating_add(1).to_le_bytes();
                string(
                    message,
                    &fields,
                    &[&count[..], &[b'x', 0].repeat(len), &[0, 0]].concat(),
                    rng,
                )
            }
            Self::DuplicateItem | Self::MissingItem | Self::ForeignItem => {
                self.item(message, &fields, rng)
            }
            Self::MissingField => {
                let range = fields.choose(rng)?.range.clone();
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
                let extra = bytes(rng.random_range(1..=MAX_EXTRA), rng);
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
                let after = bytes(rng.random_range(1..=MAX_EXTRA), rng);
                // The bytes may be a second message.
                let after = if rng.random_bool(0.5) { message } else { after.as_slice() };
                Some([message, after].concat())
            }
        }
    }

    /// Edits an array, and adjusts its count.
    fn item(self, message: &[u8], fields: &[Field], rng: &mut ChaCha8Rng) -> Option<Vec<u8>> {
        let arrays = arrays(fields);
        let filled: Vec<_> = arrays.iter().filter(|array| !array.items.is_empty()).collect();
        let array = filled.choose(rng)?;
        let item = array.items.choose(rng)?;
        let there = message.get(item.clone())?;
        let count = read_number(message, &array.count)?;
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
        // The count precedes the items, so its position does not change.
        replaced(&replaced(message, item, &new)?, &array.count, &count.to_le_bytes())
    }
}

/// Returns a position for truncating a message, after `least` and before its end.
fn end_inside(message: &[u8], least: usize, rng: &mut ChaCha8Rng) -> Option<usize> {
    let first = least + 1;
    (first < message.len()).then(|| rng.random_range(first..message.len()))
}

fn bytes(len: usize, rng: &mut ChaCha8Rng) -> Vec<u8> {
    (0..len).map(|_| rng.random::<u8>()).collect()
}

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

/// Replaces units by the same number of others.
fn units(message: &[u8], range: &Range<usize>, rng: &mut ChaCha8Rng) -> Option<Vec<u8>> {
    let mut units = message.get(range.clone())?.to_vec();
    let new: [u8; 2] = match rng.random_range(0..5) {
        // Remove the terminator.
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

fn string(message: &[u8], fields: &[Field], new: &[u8], rng: &mut ChaCha8Rng) -> Option<Vec<u8>> {
    let mut ranges = Vec::new();
    for (nth, field) in
        fields.iter().enumerate().filter(|(_, field)| field.kind == FieldKind::StringLength)
    {
        let units = fields.get(nth + 1).filter(|next| next.kind == FieldKind::Units);
        ranges.push(field.range.start..units.map_or(field.range.end, |units| units.range.end));
    }
    let range = ranges.choose(rng)?;
    replaced(message, range, new)
}

fn another_count(old: u32, rng: &mut ChaCha8Rng) -> u32 {
    let near = [old.wrapping_sub(1), old.wrapping_add(1), old.wrapping_mul(2)];
    let all: Vec<u32> = near.into_iter().chain(COUNTS).filter(|new| *new != old).collect();
    all.choose(rng).copied().unwrap_or_default()
}

/// Returns `len` bytes of a number that replaces another. Beyond 8 bytes the eighth is repeated.
fn another_number(len: usize, rng: &mut ChaCha8Rng) -> Vec<u8> {
    let mut bytes = NUMBERS.choose(rng).copied().unwrap_or_default().to_le_bytes().to_vec();
    let last = bytes.last().copied().unwrap_or_default();
    bytes.resize(len, last);
    bytes
}

fn read_number(message: &[u8], range: &Range<usize>) -> Option<u32> {
    message.get(range.clone())?.try_into().ok().map(u32::from_le_bytes)
}

/// Returns `message` with `with` in place of `range`, and an adjusted size; `None` if too large.
pub(super) fn replaced(message: &[u8], range: &Range<usize>, with: &[u8]) -> Option<Vec<u8>> {
    let (before, after) = (message.get(..range.start)?, message.get(range.end..)?);
    sized([before, with, after].concat())
}

pub(super) fn sized(message: Vec<u8>) -> Option<Vec<u8>> {
    let len =
        u16::try_from(message.len()).ok().filter(|len| usize::from(*len) <= MAX_MESSAGE_LEN)?;
    with_size(message, len)
}

fn with_size(mut message: Vec<u8>, size: u16) -> Option<Vec<u8>> {
    RawHeader::read(&message).size?;
    RawHeader { size: Some(size), ..RawHeader::default() }.write(&mut message);
    Some(message)
}

/// Whether this is exactly one message, neither truncated nor followed by bytes.
pub(super) fn is_whole(message: &[u8]) -> bool {
    message.len() >= HEADER_LEN
        && RawHeader::read(message).size.is_some_and(|size| usize::from(size) == message.len())
}

/// A field of a payload.
#[derive(Clone, Debug)]
pub(super) struct Field {
    pub(super) range: Range<usize>,
    kind: FieldKind,
    path: String,
}

/// An array, with its count and its items.
#[derive(Clone, Debug)]
struct Array {
    count: Range<usize>,
    items: Vec<Range<usize>>,
}

/// Returns the fields of the payload, as far as it decodes.
pub(super) fn fields(message: &[u8]) -> Vec<Field> {
    let notes = request_as(None).explain(message);
    let of_payload = notes.iter().filter(|note| note.offset >= HEADER_LEN && note.len > 0);
    let field = |note: &Annotation| {
        let range = note.offset..note.offset.saturating_add(note.len);
        Field { range, kind: note.kind, path: note.field.clone() }
    };
    of_payload.map(field).collect()
}

/// Returns the arrays with their items, including nested arrays.
fn arrays(fields: &[Field]) -> Vec<Array> {
    let counts = fields.iter().filter(|field| field.kind == FieldKind::ItemCount);
    let of_count = |count: &Field| {
        let mut items: Vec<Range<usize>> = Vec::new();
        for field in fields {
            let Some(nth) = index(&field.path, &count.path) else { continue };
            match items.get_mut(nth) {
                Some(item) => item.end = field.range.end,
                None => items.push(field.range.clone()),
            }
        }
        Array { count: count.range.clone(), items }
    };
    counts.map(of_count).collect()
}

/// Returns the index of the item of `array` on `path`.
fn index(path: &str, array: &str) -> Option<usize> {
    let (index, _) = path.strip_prefix(array)?.strip_prefix('[')?.split_once(']')?;
    index.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A `CollectTracing2` with the providers `A` and, with arguments, `B`.
    const COLLECT: &str = "444f544e45545f4950435f5631005600020300000001000001000000010200000001000000000000000400000002000000\
                           41000000000000000000000000000000050000000200000042000000020000004300000000";

    #[test]
    fn fields_have_range_and_kind() {
        let mut message = hex::decode(COLLECT).unwrap();
        message.truncate(0x56);
        let fields = fields(&message);
        let kinds: Vec<_> = fields.iter().map(|field| (field.range.clone(), field.kind)).collect();
        assert_eq!(
            kinds,
            [
                (20..24, FieldKind::Plain),
                (24..28, FieldKind::Plain),
                (28..29, FieldKind::Boolean),
                (29..33, FieldKind::ItemCount),
                (33..41, FieldKind::Plain),
                (41..45, FieldKind::Plain),
                (45..49, FieldKind::StringLength),
                (49..53, FieldKind::Units),
                (53..57, FieldKind::StringLength),
                (57..65, FieldKind::Plain),
                (65..69, FieldKind::Plain),
                (69..73, FieldKind::StringLength),
                (73..77, FieldKind::Units),
                (77..81, FieldKind::StringLength),
                (81..85, FieldKind::Units),
                (85..86, FieldKind::Plain),
            ]
        );
        let arrays = arrays(&fields);
        assert_eq!(arrays.len(), 1);
        assert_eq!(arrays[0].items, [33..57, 57..85]);
    }
}
