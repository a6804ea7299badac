//! The byte that carries a file descriptor.

use crate::wire::{Decode, DecodeError, Encode, EncodeError, Reader, Sink};

/// The one byte to which the file descriptor of a `user_events` session is attached.
///
/// | bytes | what |
/// |---|---|
/// | 1 | anything; 0 is written |
///
/// The descriptor itself is no part of the bytes: it is ancillary data (`SCM_RIGHTS`) of the `sendmsg` that sends this byte.
/// Four things about it are easy to get wrong:
///
/// - The client sends it **before** it reads the reply to `CollectTracing5`: the runtime does not reply without it (F-19).
/// - It is a byte of its own, behind the request. A descriptor attached to bytes of the request is lost (F-20).
/// - A byte without descriptor is answered by an error (F-21); none at all blocks every other client (F-75).
/// - It is one descriptor. Of two in one control message the first is used; the second stays open in the runtime for good (P-21).
///
/// ```
/// use dotnet_diagnostics_ipc::continuation::FdByte;
/// use dotnet_diagnostics_ipc::wire::{Decode as _, Reader};
///
/// assert_eq!(FdByte::CANONICAL.0, 0);
/// assert_eq!(FdByte::decode(&mut Reader::new(b"x")), Ok(FdByte(b'x')));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct FdByte(pub u8);

impl FdByte {
    /// The byte to write.
    pub const CANONICAL: Self = Self(0);

    /// The byte to write, as what `sendmsg` takes.
    pub const BYTES: [u8; 1] = [0];
}

impl Default for FdByte {
    fn default() -> Self {
        Self::CANONICAL
    }
}

/// Takes any byte.
impl<'a> Decode<'a> for FdByte {
    const MIN_LEN: usize = 1;

    fn decode(reader: &mut Reader<'a>) -> Result<Self, DecodeError> {
        u8::decode(reader).map(Self)
    }
}

/// Writes 0, whatever was read.
impl Encode for FdByte {
    fn encode<S: Sink + ?Sized>(&self, sink: &mut S) -> Result<(), EncodeError> {
        sink.put(&Self::BYTES);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::{DecodeErrorKind, SliceSink};

    #[test]
    fn any_byte_is_taken_and_0_is_written() {
        for byte in 0..=u8::MAX {
            let read = FdByte::decode(&mut Reader::new(&[byte])).unwrap();
            assert_eq!(read, FdByte(byte));
            let mut out = [0xaa; 1];
            read.encode(&mut SliceSink::new(&mut out)).unwrap();
            assert_eq!(out, [0]);
        }
    }

    #[test]
    fn no_byte_is_none() {
        let error = FdByte::decode(&mut Reader::new(&[])).unwrap_err();
        assert_eq!(error.kind(), DecodeErrorKind::UnexpectedEnd { needed: 1, remaining: 0 });
    }
}
