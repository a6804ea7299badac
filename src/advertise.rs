//! The 34 bytes with which a runtime introduces itself to a diagnostic port (`ADVR_V1`).
#![forbid(unsafe_code)]

use zerocopy::{
    FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned,
    byteorder::{LittleEndian, U16, U64},
};

use crate::wire::{DecodeError, DecodeErrorKind, Field, Guid, clamp};

/// The first 8 bytes of an advertise: `ADVR_V1` and a NUL.
pub const ADVERTISE_MAGIC: [u8; 8] = *b"ADVR_V1\0";

/// The size of an advertise.
pub const ADVERTISE_LEN: usize = 34;

/// An advertise (section "Advertise Protocol"): sent by the runtime, once a connection, never answered.
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
/// # Ok::<(), dotnet_diagnostics_ipc::wire::ParseGuidError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Advertise {
    /// The same in every advertise and `ProcessInfo` of one runtime.
    pub runtime_cookie: Guid,
    /// The process id, in the runtime's own pid namespace.
    pub process_id: u64,
    /// Unused. Kept as it came.
    pub future: u16,
}

#[derive(FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned)]
#[repr(C)]
struct RawAdvertise {
    magic: [u8; 8],
    runtime_cookie: [u8; 16],
    process_id: U64<LittleEndian>,
    future: U16<LittleEndian>,
}

impl Advertise {
    /// Reads an advertise that is all of `bytes`.
    ///
    /// # Errors
    /// [`BadMagic`](DecodeErrorKind::BadMagic) at the first wrong byte, also where fewer than 34 bytes are there;
    /// [`EndOfInput`](DecodeErrorKind::EndOfInput) and [`BytesAfterMessage`](DecodeErrorKind::BytesAfterMessage) where they
    /// are not 34.
    pub fn decode(bytes: &[u8]) -> Result<Self, DecodeError> {
        let fail = |kind, offset| Err(DecodeError::new(kind, offset).in_root("Advertise"));
        if let Some(wrong) = bytes.iter().zip(ADVERTISE_MAGIC).position(|(have, want)| *have != want) {
            return Err(DecodeError::new(DecodeErrorKind::BadMagic, wrong).within(Field::Magic).in_root("Advertise"));
        }
        let Ok((raw, rest)) = RawAdvertise::ref_from_prefix(bytes) else {
            return fail(DecodeErrorKind::EndOfInput { needed: clamp(ADVERTISE_LEN) }, bytes.len());
        };
        if !rest.is_empty() {
            return fail(DecodeErrorKind::BytesAfterMessage { extra: clamp(rest.len()) }, ADVERTISE_LEN);
        }
        Ok(Self {
            runtime_cookie: Guid::from_bytes(raw.runtime_cookie),
            process_id: raw.process_id.get(),
            future: raw.future.get(),
        })
    }

    /// The 34 bytes.
    pub fn to_bytes(self) -> [u8; ADVERTISE_LEN] {
        zerocopy::transmute!(RawAdvertise {
            magic: ADVERTISE_MAGIC,
            runtime_cookie: self.runtime_cookie.to_bytes(),
            process_id: self.process_id.into(),
            future: self.future.into(),
        })
    }
}
