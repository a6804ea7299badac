//! `string`: a count that includes the NUL, then UTF-16LE units. A string may be absent.

use core::fmt::{self, Write as _};
use core::ops::Range;

use super::EncodeError;
use super::sink::{Encode, Sink, count_of};
use super::transcode::{self, Unit};

/// The protocol's `string`: UTF-16 text that may be absent.
///
/// The wire has a count of 4 bytes, which includes the final NUL, then the little-endian UTF-16
/// units. A count of 0 means absent, 1 means empty (F-11).
///
/// Holds either bytes from the wire or the caller's text. Equality compares the units, and absent
/// differs from empty. Units that are not valid Unicode and inner NULs are kept unchanged.
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
    /// Units from the wire without the NUL, in an even number of bytes.
    Wire(&'a [u8]),
    Text(&'a str),
    Units(&'a [u16]),
}

impl<'a> IpcString<'a> {
    /// The absent string, of length 0.
    pub const ABSENT: Self = Self(Repr::Absent);

    /// Returns a string that is present. `text` does not include the final NUL.
    #[inline]
    pub const fn new(text: &'a str) -> Self {
        Self(Repr::Text(text))
    }

    /// Returns a string of these UTF-16 units, valid or not, without the final NUL.
    #[inline]
    pub const fn from_units(units: &'a [u16]) -> Self {
        Self(Repr::Units(units))
    }

    /// Returns the part before the first `separator` (ASCII) that is not the first unit, or the
    /// whole string if there is none.
    #[inline]
    pub(crate) fn before(self, separator: u8) -> Self {
        self.part(separator, |nth, _| 0..nth).unwrap_or(self)
    }

    /// Returns the part after that separator.
    #[inline]
    pub(crate) fn after(self, separator: u8) -> Option<Self> {
        self.part(separator, |nth, len| nth.saturating_add(1)..len)
    }

    /// Returns a part beside the separator; `part` returns its range, from index and length.
    #[inline]
    fn part(self, separator: u8, part: impl Fn(usize, usize) -> Range<usize>) -> Option<Self> {
        let nth = self.find_inside(separator)?;
        Some(Self(match self.0 {
            Repr::Absent => return None,
            Repr::Wire(bytes) => {
                let Range { start, end } = part(nth, bytes.len() / 2);
                Repr::Wire(bytes.get(start.saturating_mul(2)..end.saturating_mul(2))?)
            }
            Repr::Text(text) => Repr::Text(text.get(part(nth, text.len()))?),
            Repr::Units(units) => Repr::Units(units.get(part(nth, units.len()))?),
        }))
    }

    /// Returns the index (in a text, of bytes) of the first `separator` (ASCII) after the first
    /// unit.
    #[inline]
    fn find_inside(self, separator: u8) -> Option<usize> {
        match self.0 {
            Repr::Absent => None,
            Repr::Wire(bytes) => transcode::find_inside(transcode::units(bytes), separator),
            // An ASCII byte is always a whole character.
            Repr::Text(text) => transcode::find_inside(text.as_bytes(), separator),
            Repr::Units(units) => transcode::find_inside(units, separator),
        }
    }

    /// Returns a string of units from the wire without the final NUL. Ignores an odd last byte.
    #[inline]
    pub(crate) const fn from_wire_units(bytes: &'a [u8]) -> Self {
        Self(Repr::Wire(bytes))
    }

    /// Returns whether the string is absent (length 0).
    #[inline]
    pub const fn is_absent(self) -> bool {
        matches!(self.0, Repr::Absent)
    }

    /// Returns whether the string has no units before its NUL, or is absent.
    #[inline]
    pub const fn is_empty(self) -> bool {
        match self.0 {
            Repr::Absent => true,
            Repr::Wire(bytes) => bytes.is_empty(),
            Repr::Text(text) => text.is_empty(),
            Repr::Units(units) => units.is_empty(),
        }
    }

    /// Returns whether the string is empty to a runtime: absent, empty, or beginning with a NUL,
    /// which ends it (P-43).
    ///
    /// ```
    /// use dotnet_diagnostics_ipc::wire::IpcString;
    ///
    /// let string = IpcString::new("\0arguments");
    /// assert!(!string.is_empty() && string.is_empty_to_runtimes());
    /// ```
    #[inline]
    pub fn is_empty_to_runtimes(self) -> bool {
        self.begins_with() == 0
    }

    /// Returns whether the string names nothing to a runtime, because all units before its first
    /// NUL are white space in C (space and `\t` to `\r`; F-147).
    ///
    /// ```
    /// use dotnet_diagnostics_ipc::wire::IpcString;
    ///
    /// assert!(IpcString::new(" \t").is_blank_to_runtimes() && IpcString::ABSENT.is_blank_to_runtimes());
    /// assert!(!IpcString::new(" a").is_blank_to_runtimes());
    /// // No-break space.
    /// assert!(!IpcString::new("\u{a0}").is_blank_to_runtimes());
    /// ```
    #[inline]
    pub fn is_blank_to_runtimes(self) -> bool {
        // Almost every name begins with a letter.
        let first = self.begins_with();
        first == 0 || (is_white_space(first) && self.has_only_white_space())
    }

    /// Returns the first unit, or the first byte of a text (equal if ASCII). 0 if there is none.
    #[inline]
    fn begins_with(self) -> u16 {
        match self.0 {
            Repr::Wire([low, high, ..]) => u16::from_le_bytes([*low, *high]),
            Repr::Text(text) => text.as_bytes().first().map_or(0, |byte| u16::from(*byte)),
            Repr::Units(units) => units.first().copied().unwrap_or(0),
            Repr::Absent | Repr::Wire(_) => 0,
        }
    }

    #[inline(never)]
    fn has_only_white_space(self) -> bool {
        let mut named = self.units().take_while(|unit| *unit != 0);
        named.all(is_white_space)
    }

    /// Returns the UTF-16 units without the NUL. An absent string has none.
    #[inline]
    pub fn units(self) -> Units<'a> {
        Units(match self.0 {
            Repr::Absent => UnitsRepr::Slice([].iter()),
            Repr::Wire(bytes) => UnitsRepr::Wire(transcode::units(bytes).iter()),
            Repr::Text(text) => UnitsRepr::Text(text.encode_utf16()),
            Repr::Units(units) => UnitsRepr::Slice(units.iter()),
        })
    }

    /// Returns the number of units without the NUL.
    #[inline]
    pub(crate) fn units_len(self) -> usize {
        match self.0 {
            Repr::Absent => 0,
            Repr::Wire(bytes) => bytes.len() / 2,
            Repr::Text(text) => transcode::utf16_len(text),
            Repr::Units(units) => units.len(),
        }
    }

    /// Returns the characters, with an error for each unit that is not part of a character.
    pub fn chars(self) -> core::char::DecodeUtf16<Units<'a>> {
        char::decode_utf16(self.units())
    }

    /// Returns whether the units are valid Unicode.
    pub fn is_unicode(self) -> bool {
        self.chars().all(|c| c.is_ok())
    }

    /// Returns whether a unit is NUL. For runtimes, such a string ends there (F-80).
    pub fn has_inner_nul(self) -> bool {
        self.units().any(|unit| unit == 0)
    }

    /// Returns the text, or `None` if it is absent or not valid Unicode.
    #[cfg(feature = "alloc")]
    pub fn to_unicode(self) -> Option<alloc::string::String> {
        match self.0 {
            Repr::Absent => None,
            Repr::Wire(bytes) => transcode::to_utf8(transcode::units(bytes)),
            Repr::Text(text) => Some(text.into()),
            Repr::Units(units) => transcode::to_utf8(units),
        }
    }
}

/// Returns whether a unit is white space in C (`isspace`): space, and `\t` to `\r`.
#[inline]
pub(crate) const fn is_white_space(unit: u16) -> bool {
    matches!(unit, 0x09..=0x0d | 0x20)
}

/// The units of an [`IpcString`].
#[derive(Clone, Debug)]
pub struct Units<'a>(UnitsRepr<'a>);

#[derive(Clone, Debug)]
enum UnitsRepr<'a> {
    Wire(core::slice::Iter<'a, Unit>),
    Text(core::str::EncodeUtf16<'a>),
    Slice(core::slice::Iter<'a, u16>),
}

impl Iterator for Units<'_> {
    type Item = u16;

    #[inline]
    fn next(&mut self) -> Option<u16> {
        match &mut self.0 {
            UnitsRepr::Wire(units) => units.next().map(|unit| unit.get()),
            UnitsRepr::Text(text) => text.next(),
            UnitsRepr::Slice(units) => units.next().copied(),
        }
    }

    #[inline]
    fn fold<B, F: FnMut(B, u16) -> B>(self, init: B, f: F) -> B {
        match self.0 {
            UnitsRepr::Wire(units) => units.map(|unit| unit.get()).fold(init, f),
            UnitsRepr::Text(text) => text.fold(init, f),
            UnitsRepr::Slice(units) => units.copied().fold(init, f),
        }
    }

    #[inline]
    fn size_hint(&self) -> (usize, Option<usize>) {
        match &self.0 {
            UnitsRepr::Wire(units) => units.size_hint(),
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

impl PartialEq<&str> for IpcString<'_> {
    fn eq(&self, other: &&str) -> bool {
        *self == IpcString::new(other)
    }
}

/// Writes the text with U+FFFD for each unit that is no part of a character. Absent is empty.
impl fmt::Display for IpcString<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Repr::Absent => Ok(()),
            Repr::Wire(bytes) => transcode::write_lossy(transcode::units(bytes), f),
            Repr::Text(text) => f.write_str(text),
            Repr::Units(units) => transcode::write_lossy(units, f),
        }
    }
}

/// Writes the text in quotes, with `\u{d800}` for a unit outside a character, or `absent`.
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

impl Encode for IpcString<'_> {
    #[inline]
    fn encode<S: Sink + ?Sized>(&self, sink: &mut S) -> Result<(), EncodeError> {
        if self.is_absent() {
            return 0u32.encode(sink);
        }
        let len = self.units_len();
        let count = count_of(len.saturating_add(1))?;
        if let Repr::Text(text) = self.0 {
            if let Some(place) = sink.room((count as usize).saturating_mul(2).saturating_add(4)) {
                transcode::fill(text, count, place);
                return Ok(());
            }
        }
        count.encode(sink)?;
        self.put_units(len, sink);
        0u16.encode(sink)
    }
}

impl IpcString<'_> {
    /// Writes the text in UTF-8, with U+FFFD for each unit that is not part of a character.
    pub(crate) fn put_utf8<S: Sink + ?Sized>(self, sink: &mut S) {
        match self.0 {
            Repr::Absent => {}
            Repr::Wire(bytes) => transcode::put_utf8(transcode::units(bytes), sink),
            Repr::Text(text) => sink.put(text.as_bytes()),
            Repr::Units(units) => transcode::put_utf8(units, sink),
        }
    }

    /// Writes `len` units.
    pub(crate) fn put_units<S: Sink + ?Sized>(self, len: usize, sink: &mut S) {
        match self.0 {
            Repr::Absent => {}
            Repr::Wire(bytes) => sink.put(bytes),
            Repr::Text(text) => transcode::put_text(text, len, sink),
            Repr::Units(units) => transcode::put_units(units, sink),
        }
    }
}

#[cfg(test)]
mod tests {
    extern crate std;
    use super::*;
    use crate::wire::{Decode as _, Reader, SliceSink};
    use std::{format, string::ToString};

    #[test]
    fn lone_surrogates_are_kept_and_shown() {
        let wire = b"\x03\0\0\0a\0\x00\xd8\0\0";
        let s = IpcString::decode(&mut Reader::new(wire)).unwrap();
        assert_eq!(s, IpcString::from_units(&[0x61, 0xd800]));
        assert!(!s.is_unicode());
        assert_eq!(
            (s.to_string(), format!("{s:?}")),
            ("a\u{fffd}".into(), "\"a\\u{d800}\"".into())
        );
        let mut out = [0; 10];
        let mut sink = SliceSink::new(&mut out);
        s.encode(&mut sink).unwrap();
        assert_eq!(sink.finish(), Ok(10));
        assert_eq!(&out, wire);
    }

    #[test]
    fn absent_is_not_empty() {
        assert_eq!(IpcString::ABSENT.encoded_len(), Ok(4));
        assert_eq!(IpcString::new("").encoded_len(), Ok(6));
        assert_ne!(IpcString::ABSENT, IpcString::new(""));
        assert_eq!(format!("{:?} {:?}", IpcString::ABSENT, IpcString::new("")), "absent \"\"");
    }
}
