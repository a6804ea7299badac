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
