//! The whole environment block, and its entries.

use crate::command::Command;
use crate::header::{Header, MAGIC};
use crate::hresult::HResult;
use crate::message::process::ProcessEnvironmentReply;
use crate::wire::{
    Array, Cursor, Decode, Encode, EncodeError, Failed, IpcString, Iter, Reader, Root, Sink,
    WireError, WireErrorKind, clamp, count_of, decode_by_read,
};

/// An entry of an [`Environment`](super::Environment), usually `NAME=VALUE`.
///
/// | bytes | what |
/// |---|---|
/// | 4 | number of UTF-16 units, including the NUL (F-43) |
/// | 2 × number | units, little-endian; the last one is NUL |
///
/// Runtimes pass on what the operating system gives them (F-79). Some entries have no `=`, a name
/// may occur twice, and on Windows some names begin with `=`. The document types an entry as
/// `array<wchar>`, so an entry without a final NUL is valid, but no runtime sends one; see
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
    /// The text, which is never absent.
    text: IpcString<'a>,
    terminated: bool,
}

impl<'a> Entry<'a> {
    /// Returns an entry with this text, which does not include the final NUL.
    pub const fn new(text: &'a str) -> Self {
        Self { text: IpcString::new(text), terminated: true }
    }

    /// Returns an entry of these UTF-16 units, valid or not, without the final NUL.
    pub const fn from_units(units: &'a [u16]) -> Self {
        Self { text: IpcString::from_units(units), terminated: true }
    }

    /// Returns an entry without a NUL, which no runtime sends. An absent text has no units. Returns
    /// `None` if the last unit of `text` is NUL, because that would be read as the terminator.
    pub fn unterminated(text: IpcString<'a>) -> Option<Self> {
        let text = if text.is_absent() { IpcString::new("") } else { text };
        (text.units().last() != Some(0)).then_some(Self { text, terminated: false })
    }

    /// Returns the entry of these units from the wire, including the NUL if there is one.
    #[inline]
    pub(crate) fn from_wire(units: &'a [u8]) -> Self {
        match units.split_last_chunk::<2>() {
            Some((text, [0, 0])) => {
                Self { text: IpcString::from_wire_units(text), terminated: true }
            }
            _ => Self { text: IpcString::from_wire_units(units), terminated: false },
        }
    }

    /// Returns the whole text without the NUL. It is never absent.
    pub const fn text(self) -> IpcString<'a> {
        self.text
    }

    /// Returns the part before the first `=` that is not the first unit, or the whole text.
    #[inline]
    pub fn name(self) -> IpcString<'a> {
        self.text.before(b'=')
    }

    /// Returns the part after the first `=` that is not the first unit.
    #[inline]
    pub fn value(self) -> Option<IpcString<'a>> {
        self.text.after(b'=')
    }

    /// Returns whether the last unit on the wire is NUL, as in every entry sent by a runtime.
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
        count_of(count)?.encode(sink)?;
        self.text.put_units(count, sink);
        Ok(())
    }
}

/// The environment block that follows the reply to `ProcessEnvironment`: `array<array<wchar>>`,
/// with a length of `nIncomingBytes`.
///
/// | bytes | what |
/// |---|---|
/// | 4 | number of entries |
/// | … | the entries, each an [`Entry`] |
///
/// Four bytes of 0 are a valid block without entries (F-88). Entries and duplicates stay in the
/// order of the wire (F-79). Use this type for a block that is in memory or will be written;
/// [`EnvironmentDecoder`](super::EnvironmentDecoder) reads a block as it arrives. See section
/// "`ProcessEnvironment`" of the document.
///
/// ```
/// use dotnet_diagnostics_ipc::continuation::{Entry, Environment};
/// use dotnet_diagnostics_ipc::wire::{Encode as _, SliceSink};
///
/// let entries = [Entry::new("A=1"), Entry::new("B")];
/// let environment = Environment::new(&entries);
/// assert_eq!(environment.reply()?.n_incoming_bytes, 4 + (4 + 8) + (4 + 4));
///
/// let mut block = [0; 24];
/// environment.encode(&mut SliceSink::new(&mut block))?;
/// let read = Environment::decode(&block).unwrap();
/// assert_eq!(read.iter().map(|entry| entry.name().to_string()).collect::<Vec<_>>(), ["A", "B"]);
/// # Ok::<(), dotnet_diagnostics_ipc::wire::EncodeError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Environment<'a>(Array<'a, Entry<'a>>);

impl<'a> Environment<'a> {
    /// Returns a block of these entries.
    pub const fn new(entries: &'a [Entry<'a>]) -> Self {
        Self(Array::new(entries))
    }

    /// Reads a block that fills `block`, whose length is `nIncomingBytes`.
    ///
    /// # Errors
    /// [`UnexpectedEnd`](WireErrorKind::UnexpectedEnd) or
    /// [`CountTooLarge`](WireErrorKind::CountTooLarge) if the block ends before its last entry
    /// does, [`BytesAfterMessage`](WireErrorKind::BytesAfterMessage) if bytes follow the last
    /// entry, and [`ErrorMessage`](WireErrorKind::ErrorMessage) if an error message replaces a
    /// count, as the module docs describe.
    pub fn decode(block: &'a [u8]) -> Result<Self, WireError> {
        let mut reader = Reader::new(block);
        Array::decode(&mut reader)
            .and_then(|entries| match reader.rest().len() {
                0 => Ok(Self(entries)),
                extra => Err(WireError::new(
                    WireErrorKind::BytesAfterMessage { extra: clamp(extra) },
                    reader.offset(),
                )),
            })
            .map_err(|error| refusal(block, error.in_root(Root::ENVIRONMENT)))
    }

    /// Returns the number of entries.
    pub const fn len(&self) -> usize {
        self.0.len()
    }

    /// Returns whether there are no entries.
    pub const fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns the entries in the order of the wire.
    pub fn iter(&self) -> Iter<'a, Entry<'a>> {
        self.0.iter()
    }

    /// Returns the reply that announces this block.
    ///
    /// # Errors
    /// [`EncodeError::CountTooLarge`] if the size does not fit in 32 bits.
    pub fn reply(&self) -> Result<ProcessEnvironmentReply, EncodeError> {
        let n_incoming_bytes = count_of(self.encoded_len()?)?;
        Ok(ProcessEnvironmentReply { n_incoming_bytes, future: 0 })
    }
}

/// Returns the error for `block`. A count that is too large may be the start of an error message.
fn refusal(block: &[u8], error: WireError) -> WireError {
    let message = match error.kind() {
        WireErrorKind::CountTooLarge { .. } => block.get(error.offset()..).and_then(error_message),
        _ => None,
    };
    match message {
        Some(hresult) => error.with_kind(WireErrorKind::ErrorMessage { hresult }),
        None => error,
    }
}

impl<'a> IntoIterator for Environment<'a> {
    type Item = Entry<'a>;
    type IntoIter = Iter<'a, Entry<'a>>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

impl<'a> IntoIterator for &Environment<'a> {
    type Item = Entry<'a>;
    type IntoIter = Iter<'a, Entry<'a>>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

/// Writes the count and the entries. An entry without a NUL is written as it was read.
impl Encode for Environment<'_> {
    fn encode<S: Sink + ?Sized>(&self, sink: &mut S) -> Result<(), EncodeError> {
        self.0.encode(sink)
    }
}

/// The size of the shortest error message: header and HRESULT.
pub(super) const ERROR_LEN: usize = 24;

/// Returns the HRESULT of the error message at the front of `bytes`, once 24 bytes are there.
pub(super) fn error_message(bytes: &[u8]) -> Option<HResult> {
    let message = bytes.first_chunk::<ERROR_LEN>()?;
    let header = Header::decode(message).ok()?;
    let code = message.last_chunk::<4>()?;
    let is_error = header.command == Command::ERROR && usize::from(header.size) >= ERROR_LEN;
    is_error.then_some(HResult(u32::from_le_bytes(*code)))
}

/// Returns whether `begun` can still become an error message.
pub(super) fn may_be_error(begun: &[u8]) -> bool {
    let is = |at: usize, byte: u8| begun.get(at).is_none_or(|have| *have == byte);
    let size = begun
        .get(14..16)
        .and_then(|size| size.first_chunk::<2>())
        .map_or(u16::MAX, |size| u16::from_le_bytes(*size));
    begun.iter().zip(MAGIC).all(|(have, want)| *have == want)
        && usize::from(size) >= ERROR_LEN
        && is(16, Command::ERROR.set)
        && is(17, Command::ERROR.id)
}

#[cfg(test)]
mod tests {
    extern crate std;
    use super::*;
    use std::format;
    use std::vec::Vec;

    #[test]
    fn equals_sign_is_found_at_any_place() {
        // Units are compared several at a time.
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

    const ERROR: &[u8; 24] = b"DOTNET_IPC_V1\0\x18\0\xff\xff\0\0\x05\x40\0\x80";

    #[test]
    fn other_bytes_cannot_become_error_message() {
        for at in 0..18 {
            let mut bytes = *ERROR;
            bytes[at] ^= 1;
            // A size of 25 or 280 is also valid.
            let still = at == 14 || at == 15;
            assert_eq!(
                (may_be_error(&bytes), error_message(&bytes).is_some()),
                (still, still),
                "byte {at}"
            );
        }
        let mut short = *ERROR;
        short[14] = 23;
        assert!(!may_be_error(&short) && error_message(&short).is_none());
    }
}
