//! Read and write the advertise (`ADVR_V1`), with which a runtime introduces itself to a tool.
//!
//! # Example
//!
//! Read an advertise:
//!
//! ```
//! use dotnet_diagnostics_ipc::advertise::Advertise;
//!
//! let received = b"ADVR_V1\0\x67\x45\x3e\x12\x9b\xe8\xd3\x12\xa4\x56\x42\x66\x14\x17\x40\0\x39\x30\0\0\0\0\0\0\0\0";
//! let advertise = Advertise::decode(received)?;
//! assert_eq!(advertise.process_id, 12345);
//! assert_eq!(advertise.runtime_cookie.to_string(), "123e4567-e89b-12d3-a456-426614174000");
//! # Ok::<(), dotnet_diagnostics_ipc::wire::WireError>(())
//! ```
#![forbid(unsafe_code)]

use crate::wire::{Field, Guid, Root, Sink as _, SliceSink, WireError, WireErrorKind, clamp};

/// The first 8 bytes of an advertise: `ADVR_V1` and a NUL.
pub const ADVERTISE_MAGIC: [u8; 8] = *b"ADVR_V1\0";

/// The size of an advertise in bytes.
pub const ADVERTISE_LEN: usize = 34;

/// An advertise (section "Advertise Protocol"), which a runtime sends on each connection to a
/// diagnostic port. It gets no answer.
///
/// | offset | bytes | what |
/// |---|---|---|
/// | 0 | 8 | [`ADVERTISE_MAGIC`] |
/// | 8 | 16 | `runtimeCookie`, a [`Guid`] |
/// | 24 | 8 | `processId`, little-endian |
/// | 32 | 2 | `future` |
///
/// ```
/// use dotnet_diagnostics_ipc::advertise::Advertise;
///
/// let advertise = Advertise {
///     runtime_cookie: "123e4567-e89b-12d3-a456-426614174000".parse()?,
///     process_id: 12345,
///     future: 0,
/// };
/// assert_eq!(Advertise::decode(&advertise.to_bytes()), Ok(advertise));
/// # Ok::<(), dotnet_diagnostics_ipc::text::TextError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Advertise {
    /// The cookie of the runtime, the same in all its advertises and `ProcessInfo` replies.
    pub runtime_cookie: Guid,
    /// The process id, in the runtime's own pid namespace.
    pub process_id: u64,
    /// Unused; kept as received.
    pub future: u16,
}

impl Advertise {
    /// Reads an advertise that fills `bytes`.
    ///
    /// # Errors
    /// [`BadMagic`](WireErrorKind::BadMagic) at the first wrong byte, even if there are fewer
    /// than 34 bytes; [`EndOfInput`](WireErrorKind::EndOfInput) or
    /// [`BytesAfterMessage`](WireErrorKind::BytesAfterMessage) if there are not exactly 34.
    #[inline]
    pub fn decode(bytes: &[u8]) -> Result<Self, WireError> {
        match Self::read(bytes) {
            Some(advertise) => Ok(advertise),
            None => Err(wrong(bytes)),
        }
    }

    /// [`decode`](Self::decode) without the reason for a failure.
    #[inline]
    fn read(bytes: &[u8]) -> Option<Self> {
        let bytes: &[u8; ADVERTISE_LEN] = bytes.try_into().ok()?;
        let (magic, rest) = bytes.split_first_chunk()?;
        let (cookie, rest) = rest.split_first_chunk()?;
        let (process_id, rest) = rest.split_first_chunk()?;
        let advertise = Self {
            runtime_cookie: Guid::from_bytes(*cookie),
            process_id: u64::from_le_bytes(*process_id),
            future: u16::from_le_bytes(*rest.first_chunk()?),
        };
        (*magic == ADVERTISE_MAGIC).then_some(advertise)
    }

    /// Returns the 34 bytes of the advertise.
    #[inline]
    pub fn to_bytes(self) -> [u8; ADVERTISE_LEN] {
        let mut bytes = [0; ADVERTISE_LEN];
        let mut sink = SliceSink::new(&mut bytes);
        sink.put(&ADVERTISE_MAGIC);
        sink.put(&self.runtime_cookie.to_bytes());
        sink.put(&self.process_id.to_le_bytes());
        sink.put(&self.future.to_le_bytes());
        bytes
    }
}

/// Explains why `bytes` are not an advertise.
#[cold]
#[inline(never)]
fn wrong(bytes: &[u8]) -> WireError {
    if let Some(wrong) = bytes.iter().zip(ADVERTISE_MAGIC).position(|(have, want)| *have != want) {
        return WireError::new(WireErrorKind::BadMagic, wrong)
            .within(Field::Magic)
            .in_root(Root::ADVERTISE);
    }
    let (kind, offset) = match bytes.len().checked_sub(ADVERTISE_LEN) {
        None => (WireErrorKind::EndOfInput { needed: clamp(ADVERTISE_LEN) }, bytes.len()),
        Some(extra) => (WireErrorKind::BytesAfterMessage { extra: clamp(extra) }, ADVERTISE_LEN),
    };
    WireError::new(kind, offset).in_root(Root::ADVERTISE)
}
