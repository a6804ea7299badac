//! Converts between UTF-8 and UTF-16 with the standard library. ASCII, which nearly all texts are, is
//! converted many units at a time.

use core::fmt;

use zerocopy::{FromBytes as _, byteorder::little_endian::U16};

use super::sink::Sink;

/// A UTF-16 unit on the wire: unaligned and little-endian.
pub(super) type Unit = U16;

/// Returns the units in bytes from the wire. Ignores an odd last byte.
#[inline]
pub(super) fn units(bytes: &[u8]) -> &[Unit] {
    <[Unit]>::ref_from_prefix(bytes).map_or(&[], |(units, _)| units)
}

/// Returns the length of a text in UTF-16 units: two for a character of four bytes, else one.
#[inline(never)]
pub(super) fn utf16_len(text: &str) -> usize {
    if text.is_ascii() {
        return text.len();
    }
    let pairs = text.bytes().filter(|byte| *byte >= 0xf0).count();
    text.chars().count().saturating_add(pairs)
}

/// Writes the count, the units and the NUL of a text to `place`, if that is not empty.
pub(super) fn fill(text: &str, count: u32, place: &mut [u8]) {
    let Some((to, place)) = place.split_first_chunk_mut() else { return };
    let Some((place, nul)) = place.split_last_chunk_mut::<2>() else { return };
    (*to, *nul) = (count.to_le_bytes(), [0; 2]);
    to_utf16(text, place);
}

/// Writes a text of `len` units in UTF-16.
pub(super) fn put_text<S: Sink + ?Sized>(text: &str, len: usize, sink: &mut S) {
    match sink.room(len.saturating_mul(2)) {
        Some(place) => to_utf16(text, place),
        None => text.encode_utf16().for_each(|unit| sink.put(&unit.to_le_bytes())),
    }
}

/// Writes the units of a text to `place`, which has space for all of them or is empty.
#[inline(never)]
fn to_utf16(text: &str, place: &mut [u8]) {
    let Ok((place, _)) = <[Unit]>::mut_from_prefix(place) else { return };
    if place.len() == text.len() {
        // All is ASCII if there are as many units as bytes. The compiler converts many at a time.
        place.iter_mut().zip(text.bytes()).for_each(|(unit, byte)| *unit = Unit::new(byte.into()));
    } else {
        text.encode_utf16().zip(place).for_each(|(unit, to)| *to = Unit::new(unit));
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

/// A unit from the wire or from the caller.
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

/// A byte of a text as a unit, for ASCII text.
impl AnyUnit for u8 {
    #[inline]
    fn value(self) -> u16 {
        self.into()
    }
}

/// Returns the index of the first `wanted` after unit 0.
#[inline(never)]
pub(super) fn find_inside<U: AnyUnit>(units: &[U], wanted: u8) -> Option<usize> {
    let is_it = |unit: &U| unit.value() == u16::from(wanted);
    let mut rest = units.get(1..)?;
    // Compares eight at a time, and the last ones individually.
    while let Some((wide, behind)) = rest.split_first_chunk::<8>() {
        if wide.iter().fold(false, |any, unit| any | is_it(unit)) {
            break;
        }
        rest = behind;
    }
    let nth = rest.iter().position(is_it)?;
    units.len().checked_sub(rest.len())?.checked_add(nth)
}

/// Returns the text of the units if they are valid Unicode.
#[cfg(feature = "alloc")]
pub(super) fn to_utf8<U: AnyUnit>(units: &[U]) -> Option<alloc::string::String> {
    if is_ascii(units) {
        let ascii = units.iter().map(|unit| low(*unit)).collect();
        return alloc::string::String::from_utf8(ascii).ok();
    }
    char::decode_utf16(units.iter().map(|unit| unit.value())).collect::<Result<_, _>>().ok()
}

/// Writes the text of the units, with U+FFFD for each that is not part of a character.
pub(super) fn write_lossy<U: AnyUnit>(units: &[U], f: &mut fmt::Formatter<'_>) -> fmt::Result {
    lossy(units, |piece| f.write_str(piece))
}

/// Writes the text of the units in UTF-8, with U+FFFD for each that is not part of a character.
pub(super) fn put_utf8<U: AnyUnit, S: Sink + ?Sized>(units: &[U], sink: &mut S) {
    let put = |piece: &str| {
        sink.put(piece.as_bytes());
        Ok::<(), core::convert::Infallible>(())
    };
    let Ok(()) = lossy(units, put);
}

/// The number of units that are converted together.
const PIECE: usize = 32;

/// Passes the text of the units to `put` in pieces, with U+FFFD for units outside a character.
#[inline]
fn lossy<U: AnyUnit, E>(units: &[U], mut put: impl FnMut(&str) -> Result<(), E>) -> Result<(), E> {
    let mut rest = units;
    while !rest.is_empty() {
        // Keeps both units of a pair in one piece.
        let len = match rest.get(PIECE.saturating_sub(1)) {
            Some(last) if (0xd800..0xdc00).contains(&last.value()) => PIECE.saturating_sub(1),
            Some(_) => PIECE,
            None => rest.len(),
        };
        let (piece, behind) = rest.split_at_checked(len).unwrap_or_default();
        // A unit has at most three bytes in UTF-8, but encoding the last one needs room for four.
        let (mut text, mut len) = ([0; 3 * PIECE + 1], 0usize);
        if is_ascii(piece) {
            text.iter_mut().zip(piece).for_each(|(byte, unit)| *byte = low(*unit));
            len = piece.len();
        } else {
            for char in char::decode_utf16(piece.iter().map(|unit| unit.value())) {
                let place = text.get_mut(len..).and_then(<[u8]>::first_chunk_mut::<4>);
                let char = char.unwrap_or(char::REPLACEMENT_CHARACTER);
                len = len.saturating_add(place.map_or(0, |place| char.encode_utf8(place).len()));
            }
        }
        put(core::str::from_utf8(text.get(..len).unwrap_or_default()).unwrap_or_default())?;
        rest = behind;
    }
    Ok(())
}

/// Returns whether all units are ASCII. The compiler compares many at a time.
#[inline]
fn is_ascii<U: AnyUnit>(units: &[U]) -> bool {
    units.iter().fold(0, |all, unit| all | unit.value()) < 0x80
}

/// Returns the lower byte of a unit.
#[inline]
fn low<U: AnyUnit>(unit: U) -> u8 {
    let [low, _] = unit.value().to_le_bytes();
    low
}

#[cfg(test)]
mod tests {
    extern crate std;
    use super::*;
    use std::{format, string::String, vec::Vec};

    /// Returns texts with characters of one to four bytes at every position of a piece.
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
            // The text, a half pair before or after it, and only one half of each of its pairs.
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
