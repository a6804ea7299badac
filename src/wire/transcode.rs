//! Converts between UTF-8 and UTF-16; ASCII many units at a time.

use core::fmt;

use zerocopy::{FromBytes as _, byteorder::little_endian::U16};

use super::path::clamp;
use super::sink::Sink;

/// A unit as on the wire: at any address, little-endian.
pub(super) type Unit = U16;

/// How many bytes are processed together: those of a `u64`.
const LANES: usize = 8;

/// The units in bytes from the wire; an odd last byte is ignored.
#[inline]
pub(super) fn units(bytes: &[u8]) -> &[Unit] {
    <[Unit]>::ref_from_prefix(bytes).map_or(&[], |(units, _)| units)
}

/// How many units a text has in UTF-16: one for each byte that begins a character, and one more for
/// characters of four bytes.
#[inline(never)]
pub(super) fn utf16_len(text: &str) -> usize {
    let bytes = text.as_bytes();
    if bytes.len() < LANES {
        let word = bytes.iter().rfold(0, |word, byte| word << 8 | u64::from(*byte));
        return units_in(word).saturating_sub(LANES.saturating_sub(bytes.len()));
    }
    let (mut units, mut rest) = (0usize, bytes);
    while let Some((words, behind)) = rest.split_first_chunk::<{ 2 * LANES }>() {
        let words = u128::from_le_bytes(*words);
        units = units.saturating_add(if words & NOT_ASCII_TWICE == 0 {
            2 * LANES
        } else {
            units_in_two(words)
        });
        rest = behind;
    }
    while let Some((word, behind)) = rest.split_first_chunk() {
        units = units.saturating_add(units_in(u64::from_le_bytes(*word)));
        rest = behind;
    }
    // The last bytes once more, shifted so that zeros replace those already counted; zeros count as
    // units.
    let missing = LANES.saturating_sub(rest.len());
    let word = bytes.last_chunk().map_or(0, |word| u64::from_le_bytes(*word));
    let word = word.checked_shr(clamp(missing.saturating_mul(8))).unwrap_or_default();
    units.saturating_add(units_in(word)).saturating_sub(missing)
}

/// The same of two words.
#[inline]
#[allow(clippy::cast_possible_truncation, reason = "each is a half")]
fn units_in_two(words: u128) -> usize {
    units_in(words as u64).saturating_add(units_in((words >> 64) as u64))
}

/// How many units the characters have that begin in these eight bytes.
#[inline]
fn units_in(word: u64) -> usize {
    const ONES: u64 = 0x0101_0101_0101_0101;
    if word & NOT_ASCII == 0 {
        return LANES;
    }
    let inner = word >> 7 & !(word >> 6) & ONES;
    let of_four = word >> 7 & word >> 6 & word >> 5 & word >> 4 & ONES;
    let sum = |ones: u64| {
        let [sum, ..] = ones.wrapping_mul(ONES).to_be_bytes();
        usize::from(sum)
    };
    LANES.saturating_sub(sum(inner)).saturating_add(sum(of_four))
}

/// Writes a text of `len` units in UTF-16.
#[inline]
pub(super) fn put_text<S: Sink + ?Sized>(text: &str, len: usize, sink: &mut S) {
    match sink.room(len.saturating_mul(2)) {
        Some(place) => to_utf16(text, place),
        None => put_pieces(text, sink),
    }
}

/// Writes a text to a sink that does not offer a place.
#[inline(never)]
fn put_pieces<S: Sink + ?Sized>(text: &str, sink: &mut S) {
    let mut rest = text;
    while !rest.is_empty() {
        // 32 bytes have at most that many units.
        let mut buffer = [0; 64];
        let end = (0..=32).rev().find(|end| rest.is_char_boundary(*end)).unwrap_or_default();
        let (piece, behind) = rest.split_at_checked(end).unwrap_or((rest, ""));
        let place = buffer.get_mut(..utf16_len(piece).saturating_mul(2)).unwrap_or_default();
        to_utf16(piece, place);
        sink.put(place);
        rest = behind;
    }
}

/// Writes units.
#[inline]
pub(super) fn put_units<S: Sink + ?Sized>(units: &[u16], sink: &mut S) {
    #[cfg(target_endian = "little")]
    sink.put(zerocopy::IntoBytes::as_bytes(units));
    #[cfg(not(target_endian = "little"))]
    units.iter().for_each(|unit| sink.put(&unit.to_le_bytes()));
}

/// Fills `place` with the units of a text; it has room for all of them or for none.
#[inline(never)]
fn to_utf16(text: &str, place: &mut [u8]) {
    let Ok((mut place, _)) = <[Unit]>::mut_from_prefix(place) else { return };
    let mut rest = text.as_bytes();
    if place.len() == rest.len() {
        // As many units as bytes: all is ASCII. The compiler takes many at a time.
        place.iter_mut().zip(rest).for_each(|(unit, byte)| *unit = Unit::new((*byte).into()));
        return;
    }
    loop {
        // ASCII, many at a time.
        while let Some((ascii, behind)) = rest.split_first_chunk::<16>() {
            if u128::from_le_bytes(*ascii) & NOT_ASCII_TWICE != 0 {
                break;
            }
            let Some((wide, further)) = place.split_first_chunk_mut::<16>() else { return };
            widen(ascii, wide);
            (rest, place) = (behind, further);
        }
        // Then one by one, and again. A text has no other bytes: a first byte gives the length of a
        // character.
        for _ in 0..16 {
            let (unit, behind) = match *rest {
                [a @ ..0x80, ref behind @ ..] => (u16::from(a), behind),
                [a @ ..0xe0, b, ref behind @ ..] => (bits(a, 0x1f) << 6 | bits(b, 0x3f), behind),
                [a @ ..0xf0, b, c, ref behind @ ..] => {
                    (bits(a, 0x0f) << 12 | bits(b, 0x3f) << 6 | bits(c, 0x3f), behind)
                }
                [a, b, c, d, ref behind @ ..] => {
                    // The upper half of a pair: 10 bits, less 0x10000; the lower half is written
                    // below.
                    let upper = bits(a, 0x07) << 8 | bits(b, 0x3f) << 2 | bits(c, 0x30) >> 4;
                    let Some((first, further)) = place.split_first_mut() else { return };
                    *first = Unit::new(0xd800 | upper.wrapping_sub(0x40) & 0x3ff);
                    place = further;
                    (0xdc00 | bits(c, 0x0f) << 6 | bits(d, 0x3f), behind)
                }
                _ => return,
            };
            let Some((first, further)) = place.split_first_mut() else { return };
            *first = Unit::new(unit);
            (rest, place) = (behind, further);
        }
    }
}

/// Makes a unit of each byte. A separate function: if the compiler sees the test for ASCII too, it
/// extracts the tested bytes one by one, instead of all in one instruction.
#[inline(never)]
fn widen(ascii: &[u8; 16], wide: &mut [Unit; 16]) {
    // In place: an array of units would be copied.
    wide.iter_mut().zip(ascii).for_each(|(unit, byte)| *unit = Unit::new((*byte).into()));
}

/// The bits that are clear in ASCII.
const NOT_ASCII: u64 = u64::from_le_bytes([0x80; LANES]);
const NOT_ASCII_TWICE: u128 = u128::from_le_bytes([0x80; 2 * LANES]);

#[inline]
fn bits(byte: u8, mask: u8) -> u16 {
    u16::from(byte & mask)
}

/// A unit from the wire or of the caller.
pub(super) trait AnyUnit: Copy {
    fn value(self) -> u16;
}

impl AnyUnit for Unit {
    #[inline]
    fn value(self) -> u16 {
        self.get()
    }
}

impl AnyUnit for u16 {
    #[inline]
    fn value(self) -> u16 {
        self
    }
}

/// A byte of a text, for what is ASCII.
impl AnyUnit for u8 {
    #[inline]
    fn value(self) -> u16 {
        self.into()
    }
}

/// The place of the first `wanted` behind the first unit.
#[inline(never)]
pub(super) fn find_inside<U: AnyUnit>(units: &[U], wanted: u8) -> Option<usize> {
    let is_it = |unit: &U| unit.value() == u16::from(wanted);
    let mut rest = units.get(1..)?;
    // Many at a time, and then one by one.
    while let Some((wide, behind)) = rest.split_first_chunk::<8>() {
        if wide.iter().fold(false, |any, unit| any | is_it(unit)) {
            break;
        }
        rest = behind;
    }
    let nth = rest.iter().position(is_it)?;
    units.len().checked_sub(rest.len())?.checked_add(nth)
}

/// The text of the units, if they are valid Unicode.
#[cfg(feature = "alloc")]
pub(super) fn to_utf8<U: AnyUnit>(units: &[U]) -> Option<alloc::string::String> {
    let mut text = alloc::string::String::with_capacity(units.len());
    let put = |piece: Piece<'_>| match piece {
        Piece::Text(piece) => {
            text.push_str(piece);
            Ok(())
        }
        Piece::Lone => Err(()),
    };
    pieces(units, put).ok().map(|()| text)
}

/// Writes the text of the units, with U+FFFD for each that is not part of a character.
pub(super) fn write_lossy<U: AnyUnit>(units: &[U], f: &mut fmt::Formatter<'_>) -> fmt::Result {
    pieces(units, |piece| match piece {
        Piece::Text(piece) => f.write_str(piece),
        Piece::Lone => f.write_str("\u{fffd}"),
    })
}

/// Writes the text of the units in UTF-8, with U+FFFD for each that is not part of a character.
pub(super) fn put_utf8<U: AnyUnit, S: Sink + ?Sized>(units: &[U], sink: &mut S) {
    let put = |piece: Piece<'_>| {
        sink.put(if let Piece::Text(piece) = piece {
            piece.as_bytes()
        } else {
            "\u{fffd}".as_bytes()
        });
        Ok::<(), core::convert::Infallible>(())
    };
    let Ok(()) = pieces(units, put);
}

/// Some text, or a unit that is not part of a character.
enum Piece<'p> {
    Text(&'p str),
    Lone,
}

/// Makes a byte of each unit. A separate function, as `widen`.
#[inline(never)]
fn narrow<U: AnyUnit>(wide: &[U; WIDE], ascii: &mut [u8; WIDE]) {
    // In place: an array of units would be copied.
    ascii.iter_mut().zip(wide).for_each(|(byte, unit)| [*byte, _] = unit.value().to_le_bytes());
}

/// How many units are looked at together, and the most bytes in one piece of text.
const WIDE: usize = 32;
const PIECE: usize = 8 * WIDE;

/// The text of the units piece by piece.
#[inline]
fn pieces<U: AnyUnit, E>(
    units: &[U],
    mut put: impl FnMut(Piece<'_>) -> Result<(), E>,
) -> Result<(), E> {
    let (mut rest, mut piece) = (units, [0; PIECE]);
    while !rest.is_empty() {
        let (len, is_lone) = fill(&mut piece, &mut rest);
        let text = core::str::from_utf8(piece.get(..len).unwrap_or_default());
        put(Piece::Text(text.unwrap_or_default()))?;
        if is_lone {
            put(Piece::Lone)?;
        }
    }
    Ok(())
}

/// Writes the characters at the front of `units` while there is certainly room for another. How many
/// bytes those are, and whether the last unit taken is not part of a character, and was not written.
#[inline]
fn fill<U: AnyUnit>(piece: &mut [u8; PIECE], units: &mut &[U]) -> (usize, bool) {
    let (mut room, mut rest) = (Room(piece), *units);
    // ASCII, many at a time.
    while let (Some((wide, behind)), true) =
        (rest.split_first_chunk::<WIDE>(), room.0.len() >= WIDE)
    {
        if wide.iter().fold(0, |all, unit| all | unit.value()) >= 0x80 {
            break;
        }
        room.put(|ascii| narrow(wide, ascii));
        rest = behind;
    }
    // Then one by one.
    let mut is_lone = false;
    while let (Some((unit, behind)), false, true) = (rest.split_first(), is_lone, room.0.len() >= 4)
    {
        rest = behind;
        let unit = u32::from(unit.value());
        match unit {
            0..0x80 => room.bytes([unit]),
            0x80..0x800 => room.bytes([0xc0 | unit >> 6, 0x80 | unit & 0x3f]),
            0xd800..0xe000 => {
                match rest.split_first().map(|(low, behind)| (u32::from(low.value()), behind)) {
                    Some((low @ 0xdc00..0xe000, behind)) if unit < 0xdc00 => {
                        rest = behind;
                        let code = ((unit & 0x3ff) << 10 | low & 0x3ff).wrapping_add(0x1_0000);
                        room.bytes([
                            0xf0 | code >> 18,
                            0x80 | code >> 12 & 0x3f,
                            0x80 | code >> 6 & 0x3f,
                            0x80 | code & 0x3f,
                        ]);
                    }
                    _ => is_lone = true,
                }
            }
            _ => room.bytes([0xe0 | unit >> 12, 0x80 | unit >> 6 & 0x3f, 0x80 | unit & 0x3f]),
        }
    }
    *units = rest;
    (PIECE.saturating_sub(room.0.len()), is_lone)
}

/// Where UTF-8 is written.
struct Room<'p>(&'p mut [u8]);

impl Room<'_> {
    #[inline]
    #[allow(clippy::cast_possible_truncation, reason = "each is a byte")]
    fn bytes<const N: usize>(&mut self, bytes: [u32; N]) {
        self.put(|place| *place = bytes.map(|byte| byte as u8));
    }

    /// Writes the next bytes; the caller knows that there is room.
    #[inline]
    fn put<const N: usize>(&mut self, write: impl FnOnce(&mut [u8; N])) {
        if let Some((place, room)) = core::mem::take(&mut self.0).split_first_chunk_mut() {
            write(place);
            self.0 = room;
        }
    }
}

#[cfg(test)]
mod tests {
    extern crate std;
    use super::*;
    use std::{format, string::String, vec::Vec};

    /// Texts with characters of one to four bytes at every place of a piece.
    fn texts() -> Vec<String> {
        let mut texts = Vec::new();
        for character in ["a", "\u{e9}", "\u{8a3a}", "\u{1f600}"] {
            for before in (0..70).chain(220..270) {
                texts.push(format!(
                    "{}{character}{}",
                    "x".repeat(before),
                    "y\u{e9}\u{8a3a}\u{1f600}".repeat(before % 17)
                ));
            }
            texts.push(character.repeat(300));
        }
        texts
    }

    struct Wire(Vec<u8>, bool);

    impl Sink for Wire {
        fn put(&mut self, bytes: &[u8]) {
            self.0.extend_from_slice(bytes);
        }

        fn room(&mut self, len: usize) -> Option<&mut [u8]> {
            let start = self.0.len();
            self.1.then(|| {
                self.0.resize(start + len, 0);
                &mut self.0[start..]
            })
        }
    }

    #[test]
    fn text_is_encoded_as_std_with_and_without_room() {
        for text in texts() {
            let expected: Vec<u8> = text.encode_utf16().flat_map(u16::to_le_bytes).collect();
            assert_eq!(utf16_len(&text), expected.len() / 2, "{text}");
            for has_room in [false, true] {
                let mut wire = Wire(Vec::new(), has_room);
                put_text(&text, expected.len() / 2, &mut wire);
                assert_eq!(wire.0, expected, "{text}");
            }
        }
    }

    #[test]
    fn units_with_lone_surrogates_decode_as_std() {
        for text in texts() {
            let whole: Vec<u16> = text.encode_utf16().collect();
            // A half before, in the middle, after, and half of each pair.
            let broken = [
                whole.clone(),
                [&[0xdc00], &whole[..]].concat(),
                [&whole[..], &[0xd800]].concat(),
                whole.iter().copied().filter(|unit| !(0xdc00..0xe000).contains(unit)).collect(),
                whole.iter().copied().filter(|unit| !(0xd800..0xdc00).contains(unit)).collect(),
            ];
            for units in broken {
                let bytes: Vec<u8> = units.iter().copied().flat_map(u16::to_le_bytes).collect();
                let string = super::super::IpcString::from_wire_units(&bytes);
                assert_eq!(format!("{string}"), String::from_utf16_lossy(&units));
                assert_eq!(
                    format!("{}", super::super::IpcString::from_units(&units)),
                    String::from_utf16_lossy(&units)
                );
                #[cfg(feature = "alloc")]
                assert_eq!(to_utf8(&units), String::from_utf16(&units).ok());
            }
        }
    }
}
