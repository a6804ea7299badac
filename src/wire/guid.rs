//! `GUID` and `CLSID`: 16 bytes. The first eight are three little-endian integers.

use core::{fmt, str::FromStr};

use super::EncodeError;
use super::sink::{Encode, Sink};
use crate::text::{TextError, TextErrorKind};

/// A GUID: a runtime's cookie, or a profiler's class id.
///
/// The wire has three little-endian integers of 4, 2 and 2 bytes, then 8 single bytes. No edition of the document defines
/// this layout (F-85). A CLSID also has 16 bytes, though it is printed with 14 (F-52).
///
/// ```
/// use dotnet_diagnostics_ipc::wire::Guid;
///
/// let guid: Guid = "00112233-4455-6677-8899-aabbccddeeff".parse()?;
/// assert_eq!(guid.to_bytes()[..8], [0x33, 0x22, 0x11, 0x00, 0x55, 0x44, 0x77, 0x66]);
/// assert_eq!(guid.to_string(), "00112233-4455-6677-8899-aabbccddeeff");
/// # Ok::<(), dotnet_diagnostics_ipc::text::TextError>(())
/// ```
#[derive(Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Guid {
    /// The bytes in wire order.
    bytes: [u8; 16],
}

/// A class id, as in [`AttachProfiler`](crate::message::profiler::AttachProfiler). It is a GUID.
pub type Clsid = Guid;

/// The index of the wire byte for each byte of the text.
const TEXT_ORDER: [usize; 16] = [3, 2, 1, 0, 5, 4, 7, 6, 8, 9, 10, 11, 12, 13, 14, 15];

impl Guid {
    /// The GUID of sixteen zero bytes.
    pub const NIL: Self = Self { bytes: [0; 16] };

    /// Returns the GUID with these 16 bytes on the wire.
    #[inline]
    pub const fn from_bytes(bytes: [u8; 16]) -> Self {
        Self { bytes }
    }

    /// Returns the 16 bytes on the wire.
    #[inline]
    pub const fn to_bytes(self) -> [u8; 16] {
        self.bytes
    }
}

/// Parses `8-4-4-4-12` hexadecimal digits, with or without braces.
impl FromStr for Guid {
    type Err = TextError;

    fn from_str(text: &str) -> Result<Self, TextError> {
        let (inner, start) = match text.strip_prefix('{').and_then(|t| t.strip_suffix('}')) {
            Some(inner) => (inner, 1),
            None => (text, 0),
        };
        let wrong = |at: usize| TextError::new(TextErrorKind::NotAGuid, at.saturating_add(start));
        let mut digits = heapless::Vec::<u8, 32>::new();
        for (at, c) in inner.char_indices() {
            if matches!(at, 8 | 13 | 18 | 23) {
                if c != '-' {
                    return Err(wrong(at));
                }
                continue;
            }
            let digit = c.to_digit(16).and_then(|d| u8::try_from(d).ok()).ok_or(wrong(at))?;
            digits.push(digit).map_err(|_| wrong(at))?;
        }
        let mut bytes = [0; 16];
        for (pair, place) in digits.chunks(2).zip(TEXT_ORDER) {
            let (&[high, low], Some(byte)) = (pair, bytes.get_mut(place)) else {
                return Err(wrong(inner.len()));
            };
            *byte = high << 4 | low;
        }
        if digits.is_full() { Ok(Self { bytes }) } else { Err(wrong(inner.len())) }
    }
}

impl fmt::Display for Guid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (nth, place) in TEXT_ORDER.into_iter().enumerate() {
            if matches!(nth, 4 | 6 | 8 | 10) {
                f.write_str("-")?;
            }
            write!(f, "{:02x}", self.bytes.get(place).copied().unwrap_or_default())?;
        }
        Ok(())
    }
}

impl fmt::Debug for Guid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Guid({self})")
    }
}

impl Encode for Guid {
    #[inline]
    fn encode<S: Sink + ?Sized>(&self, sink: &mut S) -> Result<(), EncodeError> {
        sink.put(&self.bytes);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    extern crate std;
    use super::*;
    use std::string::ToString;

    const TEXT: &str = "123e4567-e89b-12d3-a456-426614174000";

    #[test]
    fn text_and_bytes_follow_the_mixed_order() {
        let guid =
            Guid::from_bytes(*b"\x67\x45\x3e\x12\x9b\xe8\xd3\x12\xa4\x56\x42\x66\x14\x17\x40\x00");
        assert_eq!(guid.to_string(), TEXT);
        assert_eq!(TEXT.parse(), Ok(guid));
    }

    #[test]
    fn text_in_either_case_or_braces_parses() {
        let guid: Guid = TEXT.parse().unwrap();
        assert_eq!(TEXT.to_uppercase().parse(), Ok(guid));
        assert_eq!(std::format!("{{{TEXT}}}").parse(), Ok(guid));
    }

    #[test]
    fn other_text_is_refused_at_first_wrong_byte() {
        let offset = |text: &str| text.parse::<Guid>().map_err(|e| e.offset());
        assert_eq!(offset(""), Err(0));
        assert_eq!(offset(&TEXT[..35]), Err(35));
        assert_eq!(offset(&std::format!("{TEXT}0")), Err(36));
        assert_eq!(offset(&TEXT.replace('-', "")), Err(8));
        assert_eq!(offset("123e4567-e89b-12d3-a456-42661417400g"), Err(35));
        assert_eq!(offset("{123e4567-e89b"), Err(0));
        assert_eq!(offset("123e4567-e89b-12d3-a456-4266141740\u{e9}"), Err(34));
    }
}
