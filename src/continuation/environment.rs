//! The environment block as a whole.

use super::Entry;
use super::interruption::error_message;
use crate::message::process::ProcessEnvironmentReply;
use crate::wire::{
    Array, Decode as _, Encode, EncodeError, Iter, Reader, Root, Sink, WireError, WireErrorKind,
    clamp,
};

/// The environment block that follows the reply to `ProcessEnvironment`: `array<array<wchar>>`,
/// `nIncomingBytes` long.
///
/// | bytes | what |
/// |---|---|
/// | 4 | count of entries |
/// | … | the entries: each an [`Entry`] |
///
/// Four bytes of 0 are a valid block without entries (F-88). Entries stay in the order of the wire,
/// duplicates too (F-79). Use this for a block that is already in memory or will be written;
/// [`EnvironmentDecoder`](super::EnvironmentDecoder) reads one as it arrives. Section
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
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Environment<'a>(Array<'a, Entry<'a>>);

impl<'a> Environment<'a> {
    /// A block of these entries.
    pub const fn new(entries: &'a [Entry<'a>]) -> Self {
        Self(Array::new(entries))
    }

    /// Reads a block that is all of `block`, `nIncomingBytes` long.
    ///
    /// # Errors
    /// [`UnexpectedEnd`](WireErrorKind::UnexpectedEnd) or
    /// [`CountTooLarge`](WireErrorKind::CountTooLarge) if the block ends before its last
    /// entry does, [`BytesAfterMessage`](WireErrorKind::BytesAfterMessage) if bytes follow the
    /// last entry, and [`ErrorMessage`](WireErrorKind::ErrorMessage) if an error message
    /// replaces a count (the module docs say when it is recognised).
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

    /// The number of entries.
    pub const fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether there are no entries.
    pub const fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The entries in the order of the wire.
    pub fn iter(&self) -> Iter<'a, Entry<'a>> {
        self.0.iter()
    }

    /// The reply that announces this block.
    ///
    /// # Errors
    /// [`EncodeError::CountTooLarge`] if the size does not fit in 32 bits.
    pub fn reply(&self) -> Result<ProcessEnvironmentReply, EncodeError> {
        let count = self.encoded_len()?;
        let n_incoming_bytes =
            u32::try_from(count).map_err(|_| EncodeError::CountTooLarge { count })?;
        Ok(ProcessEnvironmentReply { n_incoming_bytes, future: 0 })
    }
}

/// Returns the error for `block`: a count that is too large may be the start of an error message.
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

/// Writes the count and the entries; an entry without NUL is written as it was read.
impl Encode for Environment<'_> {
    fn encode<S: Sink + ?Sized>(&self, sink: &mut S) -> Result<(), EncodeError> {
        self.0.encode(sink)
    }
}
