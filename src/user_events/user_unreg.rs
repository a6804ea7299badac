//! `user_unreg`: the kernel's structure that ends the registration of a tracepoint.

use super::UserReg;
use crate::wire::{Encode, EncodeError, Field, Reader, Sink, WireError, WireErrorKind};

/// The size of a [`UserUnreg`].
pub const USER_UNREG_LEN: usize = 16;

/// The same, as the type of the `size` field.
const SIZE: u32 = 16;

/// `struct user_unreg`: the argument of [`DIAG_IOCSUNREG`](super::DIAG_IOCSUNREG) (F-87). Packed or
/// not, it has 16 bytes, and no padding, unlike a [`UserReg`].
///
/// | offset | bytes | what |
/// |---|---|---|
/// | 0 | 4 | `size`: 16 |
/// | 4 | 1 | `disable_bit` |
/// | 5 | 1 | `reserved` |
/// | 6 | 2 | `reserved2` |
/// | 8 | 8 | `disable_addr` |
///
/// ```
/// use dotnet_diagnostics_ipc::user_events::{UserReg, UserUnreg};
/// use dotnet_diagnostics_ipc::wire::Encode as _;
///
/// let reg = UserReg::new(0x7f00_1000, 0x7f00_2000);
/// let unreg = UserUnreg::of(&reg);
/// assert_eq!((unreg.disable_bit, unreg.disable_addr), (31, 0x7f00_1000));
/// assert_eq!(unreg.encoded_len(), Ok(16));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UserUnreg {
    /// The `enable_bit` of the registration.
    pub disable_bit: u8,
    /// 0; kept as received.
    pub reserved: u8,
    /// 0; kept as received.
    pub reserved2: u16,
    /// The `enable_addr` of the registration.
    pub disable_addr: u64,
}

impl UserUnreg {
    /// The number of the `ioctl`, without direction and size.
    pub(super) const IOCTL: u32 = 2;

    /// The structure that ends `registration`.
    pub const fn of(registration: &UserReg) -> Self {
        Self {
            disable_bit: registration.enable_bit,
            reserved: 0,
            reserved2: 0,
            disable_addr: registration.enable_addr,
        }
    }

    /// Reads a structure and moves the reader after it.
    ///
    /// # Errors
    /// [`WrongStructSize`](WireErrorKind::WrongStructSize) at `size`;
    /// [`UnexpectedEnd`](crate::wire::WireErrorKind::UnexpectedEnd) in a field.
    pub fn decode(reader: &mut Reader<'_>) -> Result<Self, WireError> {
        let offset = reader.offset();
        match reader.field::<u32>(Field::Size)? {
            SIZE => {}
            size => {
                let wrong = WireErrorKind::WrongStructSize { size, expected: SIZE };
                return Err(WireError::new(wrong, offset).within(Field::Size));
            }
        }
        Ok(Self {
            disable_bit: reader.field(Field::DisableBit)?,
            reserved: reader.field(Field::Reserved)?,
            reserved2: reader.field(Field::Reserved2)?,
            disable_addr: reader.field(Field::DisableAddr)?,
        })
    }
}

impl Encode for UserUnreg {
    #[inline]
    fn encode<S: Sink + ?Sized>(&self, sink: &mut S) -> Result<(), EncodeError> {
        SIZE.encode(sink)?;
        self.disable_bit.encode(sink)?;
        self.reserved.encode(sink)?;
        self.reserved2.encode(sink)?;
        self.disable_addr.encode(sink)
    }
}

#[cfg(test)]
mod tests {
    extern crate std;
    use super::*;
    use crate::wire::{SliceSink, WireErrorKind};
    use std::string::ToString as _;

    const BYTES: [u8; USER_UNREG_LEN] = *b"\x10\0\0\0\x1f\0\0\0\x08\x07\x06\x05\x04\x03\x02\x01";

    #[test]
    fn fields_are_at_their_offsets() {
        let unreg = UserUnreg::of(&UserReg::new(0x0102_0304_0506_0708, 0));
        let mut bytes = [0; USER_UNREG_LEN];
        let mut sink = SliceSink::new(&mut bytes);
        unreg.encode(&mut sink).unwrap();
        assert_eq!(sink.finish(), Ok(USER_UNREG_LEN));
        assert_eq!(bytes, BYTES);
        assert_eq!(UserUnreg::decode(&mut Reader::new(&BYTES)), Ok(unreg));
    }

    #[test]
    fn reserved_bytes_are_kept() {
        let mut bytes = BYTES;
        bytes[5..8].copy_from_slice(&[1, 2, 3]);
        let unreg = UserUnreg::decode(&mut Reader::new(&bytes)).unwrap();
        assert_eq!((unreg.reserved, unreg.reserved2), (1, 0x0302));
        let mut again = [0; USER_UNREG_LEN];
        unreg.encode(&mut SliceSink::new(&mut again)).unwrap();
        assert_eq!(again, bytes);
    }

    #[test]
    fn size_other_than_16_is_refused() {
        let mut bytes = BYTES;
        bytes[0] = 28;
        let error = UserUnreg::decode(&mut Reader::new(&bytes)).unwrap_err();
        assert_eq!(error.kind(), WireErrorKind::WrongStructSize { size: 28, expected: 16 });
        assert_eq!((error.offset(), error.path().to_string()), (0, "size".into()));
    }

    #[test]
    fn structure_truncated_is_refused() {
        for len in 0..USER_UNREG_LEN {
            let error = UserUnreg::decode(&mut Reader::new(&BYTES[..len])).unwrap_err();
            assert!(
                matches!(error.kind(), WireErrorKind::UnexpectedEnd { .. })
                    && error.offset() <= len,
                "{len}"
            );
        }
    }
}
