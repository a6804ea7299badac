//! `user_reg`: the kernel's structure that registers a tracepoint.

use super::StructSize;
use crate::wire::macros::wire_struct;

/// The size of a [`UserReg`].
pub const USER_REG_LEN: usize = 28;

wire_struct! {
    /// `struct user_reg`, packed: the argument of [`DIAG_IOCSREG`](super::DIAG_IOCSREG) (F-64).
    ///
    /// | offset | bytes | what |
    /// |---|---|---|
    /// | 0 | 4 | `size`: 28 |
    /// | 4 | 1 | `enable_bit` |
    /// | 5 | 1 | `enable_size` |
    /// | 6 | 2 | `flags` |
    /// | 8 | 8 | `enable_addr` |
    /// | 16 | 8 | `name_args` |
    /// | 24 | 4 | `write_index`, written by the kernel |
    ///
    /// The same in 32-bit and 64-bit processes. Integers are little-endian here; the kernel wants the machine's own order, which
    /// is another only on machines such as s390x.
    ///
    /// ```
    /// use dotnet_diagnostics_ipc::user_events::{USER_REG_LEN, UserReg};
    /// use dotnet_diagnostics_ipc::wire::{Decode as _, Encode as _, Reader, SliceSink};
    ///
    /// let mut bytes = [0; USER_REG_LEN];
    /// let mut sink = SliceSink::new(&mut bytes);
    /// UserReg::new(0x7f00_1000, 0x7f00_2000).encode(&mut sink)?;
    /// assert_eq!(sink.finish(), Ok(USER_REG_LEN));
    /// assert_eq!(bytes[..8], [28, 0, 0, 0, 31, 4, 0, 0]);
    /// // What the kernel did:
    /// bytes[24] = 5;
    /// assert_eq!(UserReg::decode(&mut Reader::new(&bytes)).unwrap().write_index, 5);
    /// # Ok::<(), dotnet_diagnostics_ipc::wire::EncodeError>(())
    /// ```
    pub struct UserReg {
        /// The size of the structure, 28.
        pub size: StructSize<28> = Size,
        /// The bit at `enable_addr` that the kernel sets while somebody listens. The runtime uses 31.
        pub enable_bit: u8 = EnableBit,
        /// How many bytes there are at `enable_addr`. The runtime uses 4.
        pub enable_size: u8 = EnableSize,
        /// The runtime uses none.
        pub flags: u16 = Flags,
        /// Where the bit is, in the process that registers.
        pub enable_addr: u64 = EnableAddr,
        /// Where the [`TracepointCommand`](super::TracepointCommand) is, with a NUL behind it.
        pub name_args: u64 = NameArgs,
        /// What a record begins with; 0 before the kernel has set it.
        pub write_index: u32 = WriteIndex,
    }
}

impl UserReg {
    /// The number of the `ioctl`, without direction and size.
    pub(super) const IOCTL: u32 = 0;

    /// The bit that the runtime uses.
    pub const RUNTIME_ENABLE_BIT: u8 = 31;
    /// The bytes that the runtime has at `enable_addr`.
    pub const RUNTIME_ENABLE_SIZE: u8 = 4;
    /// The runtime's flags: none.
    pub const RUNTIME_FLAGS: u16 = 0;

    /// A registration as the runtime makes it (F-64).
    pub const fn new(enable_addr: u64, name_args: u64) -> Self {
        Self {
            size: StructSize,
            enable_bit: Self::RUNTIME_ENABLE_BIT,
            enable_size: Self::RUNTIME_ENABLE_SIZE,
            flags: Self::RUNTIME_FLAGS,
            enable_addr,
            name_args,
            write_index: 0,
        }
    }
}

#[cfg(test)]
mod tests {
    extern crate std;
    use super::*;
    use crate::wire::{Decode, DecodeErrorKind, Encode as _, Reader, SliceSink};
    use std::string::ToString as _;

    const BYTES: [u8; USER_REG_LEN] =
        *b"\x1c\0\0\0\x1f\x04\0\0\x08\x07\x06\x05\x04\x03\x02\x01\x18\x17\x16\x15\x14\x13\x12\x11\x07\0\0\0";

    fn example() -> UserReg {
        UserReg { write_index: 7, ..UserReg::new(0x0102_0304_0506_0708, 0x1112_1314_1516_1718) }
    }

    #[test]
    fn every_field_has_its_place() {
        let mut bytes = [0; USER_REG_LEN];
        let mut sink = SliceSink::new(&mut bytes);
        example().encode(&mut sink).unwrap();
        assert_eq!(sink.finish(), Ok(USER_REG_LEN));
        assert_eq!(bytes, BYTES);
        assert_eq!(UserReg::decode(&mut Reader::new(&BYTES)), Ok(example()));
        assert_eq!(<UserReg as Decode<'_>>::MIN_LEN, USER_REG_LEN);
    }

    #[test]
    fn what_the_runtime_does_not_use_is_kept() {
        let mut bytes = BYTES;
        bytes[4..8].copy_from_slice(&[63, 8, 1, 2]);
        let reg = UserReg::decode(&mut Reader::new(&bytes)).unwrap();
        assert_eq!((reg.enable_bit, reg.enable_size, reg.flags), (63, 8, 0x0201));
    }

    #[test]
    fn a_size_other_than_28_is_refused() {
        for size in [0u8, 16, 27, 29, 32] {
            let mut bytes = BYTES;
            bytes[0] = size;
            let error = UserReg::decode(&mut Reader::new(&bytes)).unwrap_err();
            assert_eq!(error.kind(), DecodeErrorKind::WrongStructSize { size: size.into(), expected: 28 });
            assert_eq!((error.offset(), error.path().to_string()), (0, "size".into()));
        }
    }

    #[test]
    fn a_structure_that_ends_early_is_refused() {
        for len in 0..USER_REG_LEN {
            let error = UserReg::decode(&mut Reader::new(&BYTES[..len])).unwrap_err();
            assert!(matches!(error.kind(), DecodeErrorKind::UnexpectedEnd { .. }), "{len}");
            assert!(error.offset() <= len);
        }
    }
}
