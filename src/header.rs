//! The 20 bytes before every payload.
#![forbid(unsafe_code)]

use zerocopy::{
    FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned,
    byteorder::{LittleEndian, U16},
};

use crate::command::Command;
use crate::wire::{DecodeError, DecodeErrorKind, Field, clamp};

/// The first 14 bytes of every message: `DOTNET_IPC_V1` and a NUL.
pub const MAGIC: [u8; 14] = *b"DOTNET_IPC_V1\0";

/// The size of a header, and so of the smallest message.
pub const HEADER_LEN: usize = 20;

/// The largest message that `size` can say.
pub const MAX_MESSAGE_LEN: usize = u16::MAX as usize;

/// The header of a message (`IpcHeader` in the document, section "Headers").
///
/// | offset | bytes | what |
/// |---|---|---|
/// | 0 | 14 | [`MAGIC`] |
/// | 14 | 2 | `size`: of header and payload together, little-endian |
/// | 16 | 1 | `command_set` |
/// | 17 | 1 | `command_id` |
/// | 18 | 2 | `reserved`: written as 0, never looked at by runtimes (F-4) |
///
/// ```
/// use dotnet_diagnostics_ipc::{command::Command, header::Header};
///
/// let header = Header { size: 20, command: Command::PROCESS_INFO, reserved: 0 };
/// assert_eq!(&header.to_bytes(), b"DOTNET_IPC_V1\0\x14\0\x04\0\0\0");
/// assert_eq!(Header::decode(&header.to_bytes()), Ok(header));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Header {
    /// Bytes of the whole message, these 20 included.
    pub size: u16,
    /// What is asked for, or [`Command::OK`] / [`Command::ERROR`] in a reply.
    pub command: Command,
    /// For future use. A message with another value than 0 is taken, but is not canonical.
    pub reserved: u16,
}

/// The header as it lies in memory.
#[derive(FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned)]
#[repr(C)]
struct RawHeader {
    magic: [u8; 14],
    size: U16<LittleEndian>,
    command_set: u8,
    command_id: u8,
    reserved: U16<LittleEndian>,
}

impl Header {
    /// Reads the header at the front of `bytes`; what follows is not looked at.
    ///
    /// Runtimes judge `size` first, and the magic only once the whole payload has come (F-3, F-69). Here the magic comes
    /// first: a `size` behind a wrong magic means nothing (F-71).
    ///
    /// # Errors
    /// [`BadMagic`](DecodeErrorKind::BadMagic) at the first wrong byte, also where fewer than 20 are there,
    /// [`EndOfInput`](DecodeErrorKind::EndOfInput) with fewer than 20 bytes,
    /// [`SizeTooSmall`](DecodeErrorKind::SizeTooSmall) with a `size` below 20.
    pub fn decode(bytes: &[u8]) -> Result<Self, DecodeError> {
        if let Some(wrong) = bytes.iter().zip(MAGIC).position(|(have, want)| *have != want) {
            return Err(DecodeError::new(DecodeErrorKind::BadMagic, wrong).within(Field::Magic).in_root("header"));
        }
        let Ok((raw, _)) = RawHeader::ref_from_prefix(bytes) else {
            let kind = DecodeErrorKind::EndOfInput { needed: clamp(HEADER_LEN) };
            return Err(DecodeError::new(kind, bytes.len()).in_root("header"));
        };
        let size = raw.size.get();
        if usize::from(size) < HEADER_LEN {
            return Err(DecodeError::new(DecodeErrorKind::SizeTooSmall { size }, 14).within(Field::Size).in_root("header"));
        }
        let command = Command { set: raw.command_set, id: raw.command_id };
        Ok(Self { size, command, reserved: raw.reserved.get() })
    }

    /// The 20 bytes.
    pub fn to_bytes(self) -> [u8; HEADER_LEN] {
        zerocopy::transmute!(RawHeader {
            magic: MAGIC,
            size: self.size.into(),
            command_set: self.command.set,
            command_id: self.command.id,
            reserved: self.reserved.into(),
        })
    }

    /// How many bytes of payload follow.
    pub const fn payload_len(&self) -> usize {
        (self.size as usize).saturating_sub(HEADER_LEN)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::WireErrorKind as _;

    #[test]
    fn errors_say_where() {
        let good = Header { size: 28, command: Command::STOP_TRACING, reserved: 0 }.to_bytes();
        for (at, value, kind, offset) in [(12, b'2', "bad_magic", 12), (13, b' ', "bad_magic", 13), (14, 19, "size_too_small", 14)]
        {
            let mut bytes = good;
            bytes[at] = value;
            let error = Header::decode(&bytes).unwrap_err();
            assert_eq!((error.kind().name(), error.offset()), (kind, offset));
        }
        let error = Header::decode(&good[..19]).unwrap_err();
        assert_eq!((error.kind(), error.offset()), (DecodeErrorKind::EndOfInput { needed: 20 }, 19));
    }
}
