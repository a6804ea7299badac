//! The byte that carries a file descriptor.

use crate::wire::{Decode, Encode, EncodeError, Sink, decode_from};

/// The byte that carries the file descriptor of a `user_events` session.
///
/// | bytes | what |
/// |---|---|
/// | 1 | anything; 0 is written |
///
/// The descriptor is not part of the bytes: it is ancillary data (`SCM_RIGHTS`) of the `sendmsg`
/// that sends this byte. Four common mistakes:
///
/// - The client sends it **before** it reads the reply to `CollectTracing5`: the runtime does not
///   reply without it (F-19).
/// - It is a separate byte, after the request. A descriptor attached to bytes of the request is
///   lost (F-20).
/// - A byte without a descriptor is answered with an error (F-21); no byte at all blocks every
///   other client (F-75).
/// - Send one descriptor. Of two in one control message the runtime uses the first and never closes
///   the second (P-21).
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

    /// The byte to write, as `sendmsg` takes it.
    pub const BYTES: [u8; 1] = [0];
}

impl Default for FdByte {
    fn default() -> Self {
        Self::CANONICAL
    }
}

/// Accepts any byte.
impl<'a> Decode<'a> for FdByte {
    decode_from! { u8, Self }
}

/// Always writes 0.
impl Encode for FdByte {
    fn encode<S: Sink + ?Sized>(&self, sink: &mut S) -> Result<(), EncodeError> {
        sink.put(&Self::BYTES);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::{Reader, SliceSink, WireErrorKind};

    #[test]
    fn any_byte_is_accepted_and_0_is_written() {
        for byte in 0..=u8::MAX {
            let read = FdByte::decode(&mut Reader::new(&[byte])).unwrap();
            assert_eq!(read, FdByte(byte));
            let mut out = [0xaa; 1];
            read.encode(&mut SliceSink::new(&mut out)).unwrap();
            assert_eq!(out, [0]);
        }
    }

    #[test]
    fn missing_byte_is_refused() {
        let error = FdByte::decode(&mut Reader::new(&[])).unwrap_err();
        assert_eq!(error.kind(), WireErrorKind::UnexpectedEnd { needed: 1, remaining: 0 });
    }
}
