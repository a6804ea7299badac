//! Known texts in the bytes of a request: the fault with which they are written.

use crate::conversation::{Spelling, WRONG};
use crate::faults::Fault;

/// The fault whose wrong encoding of `text` is in `bytes`, if the right one is not. Where two look
/// alike, it is one that is right for ASCII, or else one that `explains_all` the bytes.
pub(super) fn misspelled(
    text: &str,
    bytes: &[u8],
    explains_all: impl Fn(Spelling) -> bool,
) -> Option<Fault> {
    let units: Vec<u16> = text.encode_utf16().collect();
    if holds_right(text, bytes) {
        return None;
    }
    let right = right(text);
    let is_written = |wrong: &Spelling| {
        let written = wrong.written(&units, 0);
        // The start of the right one is what is left of a request that is cut in its NUL.
        let is_cut = right.starts_with(&written) && !explains_all(*wrong);
        written != right && !is_cut && holds(bytes, &written)
    };
    let found: Vec<Spelling> = WRONG.into_iter().filter(is_written).collect();
    let is_beyond_ascii = |wrong: &&Spelling| wrong.needs_the_text() && !text.is_ascii();
    let explained = || found.iter().find(|wrong| explains_all(**wrong));
    found.iter().find(is_beyond_ascii).or_else(explained).or(found.first())?.fault()
}

/// The fault with which an empty text is written at the end of `bytes`, after the text `before`.
pub(super) fn empty_at_the_end(before: Option<&str>, bytes: &[u8]) -> Option<Fault> {
    let before = right(before?);
    let ends = |tail: &[u8]| bytes.ends_with(&[&before, tail].concat());
    (ends(&[0; 2]) || ends(&[0; 6])).then_some(Fault::EmptyStringAsTwoBytes)
}

/// The same for an empty text before an event filter without events and an array: whether it is
/// absent or empty, the zeroes after `before` or after its length are a byte and a number of
/// lengths.
pub(super) fn empty_before_zeroes(before: Option<&str>, bytes: &[u8]) -> Option<Fault> {
    let before = right(before?);
    let at = bytes.windows(before.len()).position(|window| window == before)?;
    let zeroes =
        bytes.iter().skip(at.saturating_add(before.len())).take_while(|byte| **byte == 0).count();
    (zeroes % 4 == 3).then_some(Fault::EmptyStringAsTwoBytes)
}

/// Whether `text` is in `bytes` by the grammar.
pub(super) fn holds_right(text: &str, bytes: &[u8]) -> bool {
    holds(bytes, &right(text))
}

/// The string by the grammar.
fn right(text: &str) -> Vec<u8> {
    Spelling::Right.written(&text.encode_utf16().collect::<Vec<_>>(), 0)
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
            ("ab", "02000000 6100 6200", Some(Fault::StringWithoutNul)),
            ("ab", "02000000 6100 6200 0000", Some(Fault::StringLengthWithoutNul)),
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
                misspelled(text, &[&prefix[..], &payload].concat(), |_| false),
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
            assert_eq!(empty_at_the_end(Some("N"), &[&name[..], end].concat()), fault);
        }
    }
}
