//! One entry of an environment block.

use crate::wire::{Cursor, Decode, Encode, EncodeError, Failed, IpcString, Sink, decode_by_read};

/// One entry of an [`Environment`](super::Environment): usually `NAME=VALUE`.
///
/// | bytes | what |
/// |---|---|
/// | 4 | count of UTF-16 units, including the NUL (F-43) |
/// | 2 × count | units, little-endian; the last one is NUL |
///
/// Runtimes pass on what the operating system gives them (F-79): some entries have no `=`, a name
/// may occur twice, and on Windows some names begin with `=`. The document types an entry as
/// `array<wchar>`, so an entry without a final NUL is valid; no runtime sends one. See
/// [`is_terminated`](Self::is_terminated).
///
/// ```
/// use dotnet_diagnostics_ipc::continuation::Entry;
///
/// let entry = Entry::new("PATH=/bin");
/// assert_eq!((entry.name(), entry.value()), ("PATH".into(), Some("/bin".into())));
/// // A Windows drive's directory: the first `=` belongs to the name.
/// let entry = Entry::new("=C:=C:\\dir");
/// assert_eq!((entry.name(), entry.value()), ("=C:".into(), Some("C:\\dir".into())));
/// assert_eq!(Entry::new("no equals sign").value(), None);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Entry<'a> {
    /// Never absent.
    text: IpcString<'a>,
    terminated: bool,
}

impl<'a> Entry<'a> {
    /// An entry with this text. `text` does not include the final NUL.
    pub const fn new(text: &'a str) -> Self {
        Self { text: IpcString::new(text), terminated: true }
    }

    /// An entry of these UTF-16 units, valid or not. `units` does not include the final NUL.
    pub const fn from_units(units: &'a [u16]) -> Self {
        Self { text: IpcString::from_units(units), terminated: true }
    }

    /// An entry without NUL, which no runtime sends; an absent text has no units. `None` if the
    /// last unit of `text` is NUL: it would be read as the terminator.
    pub fn unterminated(text: IpcString<'a>) -> Option<Self> {
        let text = if text.is_absent() { IpcString::new("") } else { text };
        (text.units().last() != Some(0)).then_some(Self { text, terminated: false })
    }

    /// The entry of these units from the wire, including the NUL if there is one.
    #[inline]
    pub(crate) fn from_wire(units: &'a [u8]) -> Self {
        match units.split_last_chunk::<2>() {
            Some((text, [0, 0])) => {
                Self { text: IpcString::from_wire_units(text), terminated: true }
            }
            _ => Self { text: IpcString::from_wire_units(units), terminated: false },
        }
    }

    /// The whole text, without the NUL. Never absent.
    pub const fn text(self) -> IpcString<'a> {
        self.text
    }

    /// The part before the first `=` that is not the first unit; the whole text if there is none.
    #[inline]
    pub fn name(self) -> IpcString<'a> {
        self.text.before(b'=')
    }

    /// The part after the first `=` that is not the first unit.
    #[inline]
    pub fn value(self) -> Option<IpcString<'a>> {
        self.text.after(b'=')
    }

    /// Whether the last unit on the wire is NUL, as in every entry sent by a runtime.
    pub const fn is_terminated(self) -> bool {
        self.terminated
    }
}

impl<'a> From<&'a str> for Entry<'a> {
    fn from(text: &'a str) -> Self {
        Self::new(text)
    }
}

impl<'a> Decode<'a> for Entry<'a> {
    const MIN_LEN: usize = 4;

    decode_by_read! {}

    #[inline]
    fn read(cursor: &mut Cursor<'a, '_>) -> Result<Self, Failed> {
        let count = cursor.count(2)?;
        cursor.take((count as usize).saturating_mul(2)).map(Self::from_wire)
    }
}

impl Encode for Entry<'_> {
    #[inline]
    fn encode<S: Sink + ?Sized>(&self, sink: &mut S) -> Result<(), EncodeError> {
        if self.terminated {
            return self.text.encode(sink);
        }
        let count = self.text.units_len();
        u32::try_from(count).map_err(|_| EncodeError::CountTooLarge { count })?.encode(sink)?;
        self.text.put_units(count, sink);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    extern crate std;
    use super::*;
    use std::{format, vec::Vec};

    #[test]
    fn equals_sign_is_found_at_any_place() {
        // The units are compared some at a time.
        for before in 1..40 {
            let name = "\u{e9}".repeat(before);
            let text = format!("{name}=1=");
            let units: Vec<u16> = text.encode_utf16().collect();
            let wire: Vec<u8> = units.iter().flat_map(|unit| unit.to_le_bytes()).collect();
            for entry in [Entry::new(&text), Entry::from_units(&units), Entry::from_wire(&wire)] {
                let split = (entry.name(), entry.value());
                assert_eq!(split, (IpcString::new(&name), Some("1=".into())));
            }
            assert_eq!(Entry::new(&name).value(), None);
        }
    }

    #[test]
    fn unterminated_entry_does_not_end_with_nul() {
        assert_eq!(Entry::unterminated(IpcString::from_units(&[0])), None);
        let absent = Entry::unterminated(IpcString::ABSENT);
        assert_eq!(absent.map(|entry| entry.encoded_len()), Some(Ok(4)));
    }
}
