//! Wrong encodings of strings: what each writes, and its fault.
#![cfg_attr(not(test), deny(clippy::arithmetic_side_effects))]

use std::char::{REPLACEMENT_CHARACTER, decode_utf16};

use crate::faults::Fault;

/// An encoding of strings.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Spelling {
    /// By the grammar.
    Right,
    /// A count of the characters and the NUL.
    CountInChars,
    /// A character above U+FFFF is one unit.
    NonBmpCut,
    /// Each byte of UTF-8 is a unit; whether it is sign-extended.
    BytesAsUnits { signed: bool },
    /// A count without the NUL, which is present.
    NulUncounted,
    /// No NUL; whether the count includes it.
    WithoutNul { counted: bool },
    /// A count of bytes; whether it excludes the NUL.
    CountInBytes { uncounted_nul: bool },
    /// A count of the bytes that UTF-8 would have; whether it excludes the NUL.
    CountInUtf8 { uncounted_nul: bool },
    /// UTF-8, a count of bytes; whether an uncounted NUL follows.
    Utf8 { uncounted_nul: bool },
    /// A big-endian count; whether the units are big-endian too.
    BigEndian { units: bool },
    /// Units of four bytes; whether only as many bytes are written as units of two would have.
    Wide { cut: bool },
    /// A byte-order mark before each text.
    Marked,
    /// An empty string is its NUL alone.
    EmptyWithoutCount,
    /// Counts of so many bytes.
    Counts(usize),
    /// Strings at multiples of four bytes; whether numbers are at multiples of their sizes too.
    Aligned { numbers: bool },
}

/// The wrong ones, the likelier first.
pub(crate) const WRONG: [Spelling; 23] = [
    Spelling::NulUncounted,
    Spelling::WithoutNul { counted: false },
    Spelling::CountInBytes { uncounted_nul: false },
    Spelling::CountInBytes { uncounted_nul: true },
    Spelling::CountInChars,
    Spelling::NonBmpCut,
    Spelling::BytesAsUnits { signed: true },
    Spelling::BytesAsUnits { signed: false },
    Spelling::CountInUtf8 { uncounted_nul: false },
    Spelling::CountInUtf8 { uncounted_nul: true },
    Spelling::Utf8 { uncounted_nul: false },
    Spelling::Utf8 { uncounted_nul: true },
    Spelling::Counts(2),
    Spelling::Counts(8),
    Spelling::BigEndian { units: true },
    Spelling::BigEndian { units: false },
    Spelling::Wide { cut: false },
    Spelling::Wide { cut: true },
    Spelling::WithoutNul { counted: true },
    Spelling::Marked,
    Spelling::EmptyWithoutCount,
    Spelling::Aligned { numbers: false },
    Spelling::Aligned { numbers: true },
];

impl Spelling {
    pub(crate) const fn fault(self) -> Option<Fault> {
        match self {
            Self::Right => None,
            Self::CountInChars => Some(Fault::StringLengthInChars),
            Self::NonBmpCut => Some(Fault::NonBmpTruncated),
            Self::BytesAsUnits { signed: true } => Some(Fault::UnitsSignExtended),
            Self::BytesAsUnits { signed: false } => Some(Fault::BytesAsUnits),
            Self::NulUncounted => Some(Fault::StringLengthWithoutNul),
            Self::WithoutNul { .. } => Some(Fault::StringWithoutNul),
            Self::CountInBytes { .. } | Self::CountInUtf8 { .. } => {
                Some(Fault::StringLengthInBytes)
            }
            Self::Utf8 { .. } => Some(Fault::StringInUtf8),
            Self::BigEndian { .. } => Some(Fault::NumbersBigEndian),
            Self::Wide { .. } => Some(Fault::WcharOf4Bytes),
            Self::Marked => Some(Fault::StringWithByteOrderMark),
            Self::EmptyWithoutCount => Some(Fault::EmptyStringAsTwoBytes),
            Self::Counts(2) => Some(Fault::FieldTooNarrow),
            Self::Counts(_) => Some(Fault::FieldTooWide),
            Self::Aligned { .. } => Some(Fault::FieldsPadded),
        }
    }

    /// Whether only who knows the text sees it: it is read as another text, or not at all.
    pub(crate) const fn needs_the_text(self) -> bool {
        matches!(
            self,
            Self::CountInChars
                | Self::NonBmpCut
                | Self::BytesAsUnits { .. }
                | Self::CountInUtf8 { .. }
                | Self::Wide { cut: true }
                | Self::Marked
                | Self::EmptyWithoutCount
        )
    }

    /// A count in this encoding, `at` bytes after the start of the message.
    pub(crate) fn count(self, count: usize, at: usize) -> Vec<u8> {
        let number = u32::try_from(count).unwrap_or(u32::MAX);
        let mut bytes = match self {
            Self::BigEndian { .. } => number.to_be_bytes().to_vec(),
            _ => number.to_le_bytes().to_vec(),
        };
        match self {
            Self::Counts(len) => bytes.resize(len, 0),
            Self::Aligned { .. } => {
                let padding = at.next_multiple_of(4).saturating_sub(at);
                bytes = [vec![0; padding], bytes].concat();
            }
            _ => {}
        }
        bytes
    }

    /// The string with these units, and a NUL after them, in this encoding, `at` bytes after the
    /// start of the message.
    pub(crate) fn written(self, units: &[u16], at: usize) -> Vec<u8> {
        let text: String = decode_utf16(units.iter().copied())
            .map(|unit| unit.unwrap_or(REPLACEMENT_CHARACTER))
            .collect();
        let raw = |units: &[u16]| -> Vec<u8> {
            units.iter().chain(&[0]).flat_map(|unit| unit.to_le_bytes()).collect()
        };
        let without_nul = |bytes: Vec<u8>, len: usize| -> Vec<u8> {
            bytes.get(..bytes.len().saturating_sub(len)).unwrap_or_default().to_vec()
        };
        let less = |count: usize, is_less: bool| count.saturating_sub(usize::from(is_less));
        let (right, utf8) = (units.len().saturating_add(1), text.len().saturating_add(1));
        let (count, string) = match self {
            Self::CountInChars => (text.chars().count().saturating_add(1), raw(units)),
            Self::NonBmpCut => {
                let low = |c: char| u16::try_from(u32::from(c) & 0xffff).unwrap_or_default();
                let cut: Vec<u16> = text.chars().map(low).collect();
                (cut.len().saturating_add(1), raw(&cut))
            }
            Self::BytesAsUnits { signed } => {
                let high = |byte: u8| if signed && byte >= 0x80 { 0xff } else { 0 };
                let wide: Vec<u16> =
                    text.bytes().map(|byte| u16::from_le_bytes([byte, high(byte)])).collect();
                (utf8, raw(&wide))
            }
            Self::NulUncounted => (units.len(), raw(units)),
            Self::WithoutNul { counted } => (less(right, !counted), without_nul(raw(units), 2)),
            Self::CountInBytes { uncounted_nul } => {
                (less(right, uncounted_nul).saturating_mul(2), raw(units))
            }
            Self::CountInUtf8 { uncounted_nul } => (less(utf8, uncounted_nul), raw(units)),
            Self::Utf8 { uncounted_nul } => {
                (less(utf8, uncounted_nul), text.bytes().chain([0]).collect())
            }
            Self::BigEndian { units: true } => {
                (right, raw(&units.iter().map(|unit| unit.swap_bytes()).collect::<Vec<_>>()))
            }
            Self::Wide { cut } => {
                let wide: Vec<u8> =
                    text.chars().chain(['\0']).flat_map(|c| u32::from(c).to_le_bytes()).collect();
                let half = if cut { wide.len() / 2 } else { 0 };
                (wide.len() / 4, without_nul(wide, half))
            }
            Self::Marked => (right.saturating_add(1), raw(&[&[0xfeff], units].concat())),
            Self::EmptyWithoutCount if units.is_empty() => return raw(units),
            Self::Right
            | Self::BigEndian { .. }
            | Self::EmptyWithoutCount
            | Self::Counts(_)
            | Self::Aligned { .. } => (right, raw(units)),
        };
        [self.count(count, at), string].concat()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_writes_what_its_name_says() {
        for (spelling, text, bytes) in [
            (Spelling::Right, "é", "02000000 e900 0000"),
            (Spelling::CountInChars, "😀", "02000000 3dd8 00de 0000"),
            (Spelling::NonBmpCut, "😀", "02000000 00f6 0000"),
            (Spelling::BytesAsUnits { signed: true }, "é", "03000000 c3ff a9ff 0000"),
            (Spelling::BytesAsUnits { signed: false }, "é", "03000000 c300 a900 0000"),
            (Spelling::NulUncounted, "ab", "02000000 6100 6200 0000"),
            (Spelling::WithoutNul { counted: false }, "ab", "02000000 6100 6200"),
            (Spelling::WithoutNul { counted: true }, "ab", "03000000 6100 6200"),
            (Spelling::CountInBytes { uncounted_nul: false }, "é", "04000000 e900 0000"),
            (Spelling::CountInBytes { uncounted_nul: true }, "ab", "04000000 6100 6200 0000"),
            (Spelling::CountInUtf8 { uncounted_nul: false }, "é", "03000000 e900 0000"),
            (Spelling::CountInUtf8 { uncounted_nul: true }, "€", "03000000 ac20 0000"),
            (Spelling::Utf8 { uncounted_nul: false }, "é", "03000000 c3a9 00"),
            (Spelling::Utf8 { uncounted_nul: true }, "é", "02000000 c3a9 00"),
            (Spelling::BigEndian { units: true }, "a", "00000002 0061 0000"),
            (Spelling::BigEndian { units: false }, "a", "00000002 6100 0000"),
            (Spelling::Wide { cut: false }, "ab", "03000000 61000000 62000000 00000000"),
            (Spelling::Wide { cut: true }, "ab", "03000000 61000000 6200"),
            (Spelling::Marked, "a", "03000000 fffe 6100 0000"),
            (Spelling::EmptyWithoutCount, "", "0000"),
            (Spelling::EmptyWithoutCount, "a", "02000000 6100 0000"),
            (Spelling::Counts(2), "a", "0200 6100 0000"),
            (Spelling::Counts(8), "a", "0200000000000000 6100 0000"),
            (Spelling::Aligned { numbers: false }, "a", "0000 02000000 6100 0000"),
        ] {
            let units: Vec<u16> = text.encode_utf16().collect();
            let bytes = hex::decode(bytes.replace(' ', "")).unwrap();
            assert_eq!(spelling.written(&units, 22), bytes, "{spelling:?} {text}");
        }
    }
}
