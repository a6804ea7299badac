//! Wrong encodings of strings, which tell faults apart.

use crate::faults::Fault;

/// The fault whose wrong encoding of `text` is in `bytes`, if the right one is not. `before` is the
/// preceding string.
pub(super) fn misspelled(text: &str, before: Option<&str>, bytes: &[u8]) -> Option<Fault> {
    let units: Vec<u16> = text.encode_utf16().collect();
    let len = units.len() + 1;
    if text.is_empty() {
        let before: Vec<u16> = before?.encode_utf16().collect();
        let before = spelled(before.len() + 1, &before);
        let ends = |tail: &[u8]| bytes.ends_with(&[&before, tail].concat());
        return (ends(&[0; 2]) || ends(&[0; 6])).then_some(Fault::EmptyStringAsTwoBytes);
    }
    if holds(bytes, &spelled(len, &units)) {
        return None;
    }
    let chars = text.chars().count() + 1;
    let cut: Vec<u16> =
        text.chars().map(|c| u16::try_from(u32::from(c) & 0xffff).unwrap_or_default()).collect();
    let utf32: Vec<u8> =
        text.chars().chain(['\0']).flat_map(|c| u32::from(c).to_le_bytes()).collect();
    // As much of it as there would be bytes if a unit had two.
    let half = utf32.get(..chars * 2).unwrap_or_default();
    let wide = [&utf32[..], half].map(|wide| {
        holds(bytes, &[&le(chars)[..], wide].concat())
            || holds(bytes, &[&le(len)[..], wide].concat())
    });
    let in_bytes = [text.len(), text.len() + 1, len * 2, units.len() * 2];
    let with_nul = |count: usize| holds(bytes, &spelled(count, &units));
    let widened = |widen: fn(u8) -> u16| text.bytes().map(widen).collect::<Vec<_>>();
    let utf8 = |count: usize| holds(bytes, &[&le(count)[..], text.as_bytes()].concat());
    let as_units = |units: &[u16]| {
        let counts = [units.len() + 1, units.len(), len];
        !text.is_ascii()
            && counts.iter().any(|count| holds(bytes, &[&le(*count)[..], &raw(units)].concat()))
    };
    match () {
        () if utf8(text.len() + 1) || utf8(text.len()) => Some(Fault::StringInUtf8),
        () if as_units(&widened(sign_extended)) => Some(Fault::UnitsSignExtended),
        () if as_units(&widened(u16::from)) => Some(Fault::BytesAsUnits),
        () if holds(bytes, &[&be(len)[..], &raw(&units)].concat()) => Some(Fault::NumbersBigEndian),
        () if wide.contains(&true) => Some(Fault::WcharOf4Bytes),
        () if cut.len() != units.len()
            && [cut.len(), chars, len].iter().any(|count| holds(bytes, &spelled(*count, &cut))) =>
        {
            Some(Fault::NonBmpTruncated)
        }
        () if chars != len && with_nul(chars) => Some(Fault::StringLengthInChars),
        () if in_bytes
            .into_iter()
            .any(|count| count != len && count != units.len() && with_nul(count)) =>
        {
            Some(Fault::StringLengthInBytes)
        }
        () if holds(bytes, &[&le(units.len())[..], &raw(&units)].concat()) => {
            Some(Fault::StringLengthWithoutNul)
        }
        () => None,
    }
}

/// The same for an empty text before an event filter without events and an array: whether it is
/// absent or empty, the zeroes after `before` or after its length are a byte and a number of
/// lengths.
pub(super) fn empty_before_zeroes(before: Option<&str>, bytes: &[u8]) -> Option<Fault> {
    let before: Vec<u16> = before?.encode_utf16().collect();
    let before = spelled(before.len() + 1, &before);
    let at = bytes.windows(before.len()).position(|window| window == before)?;
    let zeroes =
        bytes.iter().skip(at.saturating_add(before.len())).take_while(|byte| **byte == 0).count();
    (zeroes % 4 == 3).then_some(Fault::EmptyStringAsTwoBytes)
}

/// A string with the length `count`.
fn spelled(count: usize, units: &[u16]) -> Vec<u8> {
    [&le(count)[..], &raw(units), &[0, 0]].concat()
}

fn raw(units: &[u16]) -> Vec<u8> {
    units.iter().flat_map(|unit| unit.to_le_bytes()).collect()
}

fn le(number: usize) -> [u8; 4] {
    u32::try_from(number).unwrap_or(u32::MAX).to_le_bytes()
}

/// A sign-extended byte as a unit.
fn sign_extended(byte: u8) -> u16 {
    u16::from_le_bytes(i16::from(i8::from_le_bytes([byte])).to_le_bytes())
}

fn be(number: usize) -> [u8; 4] {
    u32::try_from(number).unwrap_or(u32::MAX).to_be_bytes()
}

fn holds(bytes: &[u8], part: &[u8]) -> bool {
    bytes.windows(part.len().max(1)).any(|window| window == part)
}

#[cfg(test)]
mod tests {
    extern crate std;
    use super::*;

    #[test]
    fn wrong_spellings_are_distinguished() {
        let prefix = [9; 20];
        for (text, payload, fault) in [
            ("ab", "03000000 6100 6200 0000", None),
            ("é", "02000000 e900 0000", None),
            ("é", "03000000 e900 0000", Some(Fault::StringLengthInBytes)),
            ("é", "04000000 e900 0000", Some(Fault::StringLengthInBytes)),
            ("😀", "02000000 3dd8 00de 0000", Some(Fault::StringLengthInChars)),
            ("😀", "02000000 00f6 0000", Some(Fault::NonBmpTruncated)),
            ("ab", "02000000 6100 6200", Some(Fault::StringLengthWithoutNul)),
            ("ab", "03000000 61000000 62000000 00000000", Some(Fault::WcharOf4Bytes)),
            ("ab", "03000000 61000000 6200", Some(Fault::WcharOf4Bytes)),
            ("ab", "00000000", None),
            ("é", "03000000 c3a9 00", Some(Fault::StringInUtf8)),
            ("é", "03000000 c3ff a9ff 0000", Some(Fault::UnitsSignExtended)),
            ("é", "03000000 c300 a900 0000", Some(Fault::BytesAsUnits)),
            ("é", "00000002 e900 0000", Some(Fault::NumbersBigEndian)),
        ] {
            let payload = hex::decode(payload.replace(' ', "")).unwrap();
            assert_eq!(
                misspelled(text, None, &[&prefix[..], &payload].concat()),
                fault,
                "{text} {payload:02x?}"
            );
        }
        // After a name of one letter, and before a filter without events and the length of a
        // tracepoint's name.
        let filtered = |empty: &[u8]| {
            [&[2, 0, 0, 0, 0x4e, 0, 0, 0], empty, &[0, 0, 0, 0, 0, 6, 0, 0, 0]].concat()
        };
        assert_eq!(
            empty_before_zeroes(Some("N"), &filtered(&[0; 2])),
            Some(Fault::EmptyStringAsTwoBytes)
        );
        assert_eq!(empty_before_zeroes(Some("N"), &filtered(&[0; 4])), None);
        assert_eq!(empty_before_zeroes(Some("N"), &filtered(&[1, 0, 0, 0, 0, 0])), None);
        // After a name of one letter.
        let name = [2, 0, 0, 0, 0x4e, 0, 0, 0];
        for (end, fault) in [
            (&[1, 0, 0, 0, 0, 0][..], None),
            (&[0, 0, 0, 0], None),
            (&[0, 0], Some(Fault::EmptyStringAsTwoBytes)),
            (&[0, 0, 0, 0, 0, 0], Some(Fault::EmptyStringAsTwoBytes)),
        ] {
            assert_eq!(misspelled("", Some("N"), &[&name[..], end].concat()), fault);
        }
    }
}
