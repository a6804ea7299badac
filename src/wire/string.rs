//! `string`: UTF-16LE code units with a length in units that counts the NUL, or absent.

use core::fmt::{self, Write as _};

use super::reader::{Decode, Reader};
use super::sink::{Encode, Sink, encode_count};
use super::{DecodeError, DecodeErrorKind, EncodeError};

/// The protocol's `string`.
///
/// | bytes | what |
/// |---|---|
/// | 4 | count of UTF-16 units, the NUL included; 0 = absent, 1 = empty (F-11) |
/// | 2 × count | units, little-endian; the last one is NUL |
///
/// Holds either bytes from the wire or the caller's text, and compares by its units. Absent and empty are different.
/// Nothing is changed on the way: units that are no valid Unicode, and NULs inside, stay as they are.
///
/// ```
/// use dotnet_diagnostics_ipc::wire::{Decode as _, IpcString, Reader};
///
/// let name = IpcString::decode(&mut Reader::new(b"\x03\0\0\0h\0i\0\0\0")).unwrap();
/// assert_eq!(name, IpcString::new("hi"));
/// assert_eq!(name.to_string(), "hi");
/// assert_ne!(IpcString::ABSENT, IpcString::new(""));
/// ```
#[derive(Clone, Copy)]
pub struct IpcString<'a>(Repr<'a>);

#[derive(Clone, Copy)]
enum Repr<'a> {
    Absent,
    /// Units from the wire, without the NUL; an even number of bytes.
    Wire(&'a [u8]),
    Text(&'a str),
    Units(&'a [u16]),
}

impl<'a> IpcString<'a> {
    /// The string of length 0: not there at all.
    pub const ABSENT: Self = Self(Repr::Absent);

    /// A string that is there. The NUL at the end is not part of `text`.
    pub const fn new(text: &'a str) -> Self {
        Self(Repr::Text(text))
    }

    /// A string of UTF-16 units as they are, valid or not. The NUL at the end is not part of `units`.
    pub const fn from_units(units: &'a [u16]) -> Self {
        Self(Repr::Units(units))
    }

    /// What stands before and after the first `separator` (ASCII) that is not the first unit.
    pub(crate) fn split_inside(self, separator: u8) -> Option<(Self, Self)> {
        match self.0 {
            Repr::Absent => None,
            Repr::Wire(bytes) => {
                let nth = bytes.chunks_exact(2).skip(1).position(|unit| unit == [separator, 0])?;
                let (head, tail) = bytes.split_at_checked(nth.saturating_add(1).saturating_mul(2))?;
                Some((Self::from_wire_units(head), Self::from_wire_units(tail.get(2..)?)))
            }
            Repr::Text(text) => {
                // An ASCII byte is a character of its own wherever it stands in UTF-8.
                let nth = text.bytes().skip(1).position(|byte| byte == separator)?;
                let (head, tail) = text.split_at_checked(nth.saturating_add(1))?;
                Some((Self::new(head), Self::new(tail.get(1..)?)))
            }
            Repr::Units(units) => {
                let nth = units.iter().skip(1).position(|unit| *unit == u16::from(separator))?;
                let (head, tail) = units.split_at_checked(nth.saturating_add(1))?;
                Some((Self::from_units(head), Self::from_units(tail.get(1..)?)))
            }
        }
    }

    /// A string of little-endian units as they stand on the wire, without a NUL at the end; an odd last byte is not looked at.
    pub(crate) const fn from_wire_units(bytes: &'a [u8]) -> Self {
        Self(Repr::Wire(bytes))
    }

    /// Whether the string is not there at all (length 0).
    pub const fn is_absent(self) -> bool {
        matches!(self.0, Repr::Absent)
    }

    /// Whether there is no unit: absent, or only the NUL.
    pub const fn is_empty(self) -> bool {
        match self.0 {
            Repr::Absent => true,
            Repr::Wire(bytes) => bytes.is_empty(),
            Repr::Text(text) => text.is_empty(),
            Repr::Units(units) => units.is_empty(),
        }
    }

    /// Whether a runtime finds no text in it: absent, empty, or with a NUL as its first unit, where such a string ends (P-43).
    pub(crate) fn is_empty_to_runtimes(self) -> bool {
        self.units().next().is_none_or(|unit| unit == 0)
    }

    /// The UTF-16 units without the NUL; none if absent.
    pub fn units(self) -> Units<'a> {
        Units(match self.0 {
            Repr::Absent => UnitsRepr::Slice([].iter()),
            Repr::Wire(bytes) => UnitsRepr::Wire(bytes),
            Repr::Text(text) => UnitsRepr::Text(text.encode_utf16()),
            Repr::Units(units) => UnitsRepr::Slice(units.iter()),
        })
    }

    /// The characters, where each unit that is no part of one comes as an error with that unit.
    pub fn chars(self) -> core::char::DecodeUtf16<Units<'a>> {
        char::decode_utf16(self.units())
    }

    /// Whether the units are valid Unicode.
    pub fn is_unicode(self) -> bool {
        self.chars().all(|c| c.is_ok())
    }

    /// Whether a unit is NUL. Runtimes end such a string there (F-80).
    pub fn has_inner_nul(self) -> bool {
        self.units().any(|unit| unit == 0)
    }

    /// The text, or `None` where it is absent or no valid Unicode.
    #[cfg(feature = "alloc")]
    pub fn to_unicode(self) -> Option<alloc::string::String> {
        if self.is_absent() { None } else { self.chars().collect::<Result<_, _>>().ok() }
    }
}

/// The units of an [`IpcString`].
#[derive(Clone, Debug)]
pub struct Units<'a>(UnitsRepr<'a>);

#[derive(Clone, Debug)]
enum UnitsRepr<'a> {
    Wire(&'a [u8]),
    Text(core::str::EncodeUtf16<'a>),
    Slice(core::slice::Iter<'a, u16>),
}

impl Iterator for Units<'_> {
    type Item = u16;

    fn next(&mut self) -> Option<u16> {
        match &mut self.0 {
            UnitsRepr::Wire(bytes) => {
                let (unit, rest) = bytes.split_first_chunk::<2>()?;
                *bytes = rest;
                Some(u16::from_le_bytes(*unit))
            }
            UnitsRepr::Text(text) => text.next(),
            UnitsRepr::Slice(units) => units.next().copied(),
        }
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        match &self.0 {
            UnitsRepr::Wire(bytes) => (bytes.len() / 2, Some(bytes.len() / 2)),
            UnitsRepr::Text(text) => text.size_hint(),
            UnitsRepr::Slice(units) => units.size_hint(),
        }
    }
}

impl<'a> From<&'a str> for IpcString<'a> {
    fn from(text: &'a str) -> Self {
        Self::new(text)
    }
}

impl PartialEq for IpcString<'_> {
    fn eq(&self, other: &Self) -> bool {
        self.is_absent() == other.is_absent() && self.units().eq(other.units())
    }
}

impl Eq for IpcString<'_> {}

impl PartialEq<str> for IpcString<'_> {
    fn eq(&self, other: &str) -> bool {
        *self == IpcString::new(other)
    }
}

impl PartialEq<&str> for IpcString<'_> {
    fn eq(&self, other: &&str) -> bool {
        *self == IpcString::new(other)
    }
}

/// The text, with U+FFFD for each unit that is no part of a character; nothing if absent.
impl fmt::Display for IpcString<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.chars().try_for_each(|c| f.write_char(c.unwrap_or(char::REPLACEMENT_CHARACTER)))
    }
}

/// The text in quotes with units that are no part of a character as `\u{d800}`; `absent` if absent.
impl fmt::Debug for IpcString<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.is_absent() {
            return f.write_str("absent");
        }
        f.write_char('"')?;
        for c in self.chars() {
            match c {
                Ok(c) => write!(f, "{}", c.escape_debug())?,
                Err(lone) => write!(f, "\\u{{{:x}}}", lone.unpaired_surrogate())?,
            }
        }
        f.write_char('"')
    }
}

impl<'a> Decode<'a> for IpcString<'a> {
    const MIN_LEN: usize = 4;

    fn decode(reader: &mut Reader<'a>) -> Result<Self, DecodeError> {
        let count = reader.count(2)?;
        if count == 0 {
            return Ok(Self::ABSENT);
        }
        let bytes = reader.take((count as usize).saturating_mul(2))?;
        match bytes.split_last_chunk::<2>() {
            Some((text, [0, 0])) => Ok(Self(Repr::Wire(text))),
            last => {
                let unit = last.map_or(0, |(_, unit)| u16::from_le_bytes(*unit));
                let offset = reader.offset().saturating_sub(2);
                Err(DecodeError::new(DecodeErrorKind::MissingTerminator { unit }, offset))
            }
        }
    }
}

impl Encode for IpcString<'_> {
    fn encode<S: Sink + ?Sized>(&self, sink: &mut S) -> Result<(), EncodeError> {
        if self.is_absent() {
            return 0u32.encode(sink);
        }
        encode_count(self.units().count().saturating_add(1), sink)?;
        match self.0 {
            Repr::Wire(bytes) => sink.put(bytes),
            _ => put_units(self.units(), sink),
        }
        0u16.encode(sink)
    }
}

/// Writes units a buffer at a time.
fn put_units<S: Sink + ?Sized>(units: Units<'_>, sink: &mut S) {
    let mut buffer = heapless::Vec::<u8, 64>::new();
    for unit in units {
        if buffer.extend_from_slice(&unit.to_le_bytes()).is_err() {
            sink.put(&buffer);
            buffer.clear();
            sink.put(&unit.to_le_bytes());
        }
    }
    sink.put(&buffer);
}

#[cfg(test)]
mod tests {
    extern crate std;
    use super::*;
    use crate::wire::SliceSink;
    use std::{format, string::ToString};

    #[test]
    fn lone_surrogates_are_kept_and_shown() {
        let wire = b"\x03\0\0\0a\0\x00\xd8\0\0";
        let s = IpcString::decode(&mut Reader::new(wire)).unwrap();
        assert_eq!(s, IpcString::from_units(&[0x61, 0xd800]));
        assert!(!s.is_unicode());
        assert_eq!((s.to_string(), format!("{s:?}")), ("a\u{fffd}".into(), "\"a\\u{d800}\"".into()));
        let mut out = [0; 10];
        let mut sink = SliceSink::new(&mut out);
        s.encode(&mut sink).unwrap();
        assert_eq!(sink.finish(), Ok(10));
        assert_eq!(&out, wire);
    }

    #[test]
    fn text_longer_than_the_buffer_is_written_in_order() {
        let text = "0123456789abcdef\u{1f600}".repeat(9);
        let mut out = [0; 512];
        let mut sink = SliceSink::new(&mut out);
        IpcString::new(&text).encode(&mut sink).unwrap();
        assert_eq!(sink.finish(), Ok(4 + 2 * (18 * 9 + 1)));
        assert_eq!(IpcString::decode(&mut Reader::new(&out)), Ok(IpcString::new(&text)));
    }

    #[test]
    fn count_is_in_units_not_in_characters_or_bytes() {
        assert_eq!(IpcString::new("a\u{1f600}").encoded_len(), Ok(4 + 2 * 4));
    }

    #[test]
    fn absent_is_not_empty() {
        assert_eq!(IpcString::ABSENT.encoded_len(), Ok(4));
        assert_eq!(IpcString::new("").encoded_len(), Ok(6));
        assert_ne!(IpcString::ABSENT, IpcString::new(""));
        assert_eq!(format!("{:?} {:?}", IpcString::ABSENT, IpcString::new("")), "absent \"\"");
    }
}
