//! `user_reg`: the kernel's structure that registers a tracepoint.

use crate::wire::{Encode, EncodeError, Field, Reader, Sink, SliceSink, WireError, WireErrorKind};

/// The size of a [`UserReg`] as runtimes pass it, and its maximum.
pub const USER_REG_LEN: usize = 32;

/// The size of a [`UserReg`] without padding.
pub const USER_REG_PACKED_LEN: usize = 28;

/// The `size` of a [`UserReg`], which determines whether padding follows the fields.
///
/// The kernel's own structure is packed and has 28 bytes (F-64). The runtime's structure is not
/// packed: on platforms that align 64-bit integers to 8, the compiler rounds it up to 32, and .NET
/// passes that (P-18). A kernel accepts a longer structure than its own if the rest is zero.
///
/// ```
/// use dotnet_diagnostics_ipc::user_events::UserRegSize;
///
/// assert_eq!(UserRegSize::from_bytes(32), Some(UserRegSize::Padded));
/// assert_eq!(UserRegSize::Packed.bytes(), 28);
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum UserRegSize {
    /// 28: only the fields, as in the kernel's documents.
    Packed,
    /// 32: 4 bytes of zero after the fields, as in runtimes.
    #[default]
    Padded,
}

impl UserRegSize {
    /// The value of the field: all bytes, including padding.
    pub const fn bytes(self) -> u32 {
        match self {
            Self::Packed => 28,
            Self::Padded => 32,
        }
    }

    /// The size given by `bytes`.
    #[inline]
    pub const fn from_bytes(bytes: u32) -> Option<Self> {
        match bytes {
            28 => Some(Self::Packed),
            32 => Some(Self::Padded),
            _ => None,
        }
    }

    #[doc(hidden)]
    pub fn decode(reader: &mut Reader<'_>) -> Result<Self, WireError> {
        let offset = reader.offset();
        let size = reader.field(Field::Size)?;
        let wrong = WireErrorKind::WrongStructSize { size, expected: Self::Packed.bytes() };
        Self::from_bytes(size).ok_or_else(|| WireError::new(wrong, offset).within(Field::Size))
    }

    /// The bytes after the fields.
    pub(crate) const fn padding(self) -> &'static [u8] {
        match self {
            Self::Packed => &[],
            Self::Padded => &[0; 4],
        }
    }
}

impl Encode for UserRegSize {
    #[inline]
    fn encode<S: Sink + ?Sized>(&self, sink: &mut S) -> Result<(), EncodeError> {
        self.bytes().encode(sink)
    }
}

/// `struct user_reg`: the argument of [`DIAG_IOCSREG`](super::DIAG_IOCSREG) (F-64, P-18).
///
/// | offset | bytes | what |
/// |---|---|---|
/// | 0 | 4 | `size`: 32, or 28 without padding |
/// | 4 | 1 | `enable_bit` |
/// | 5 | 1 | `enable_size` |
/// | 6 | 2 | `flags` |
/// | 8 | 8 | `enable_addr` |
/// | 16 | 8 | `name_args` |
/// | 24 | 4 | `write_index`, written by the kernel |
/// | 28 | 4 or 0 | padding: zero |
///
/// The fields have the same offsets in 32-bit and 64-bit processes. Integers are little-endian
/// here; the kernel uses the machine's byte order, which differs only on machines such as s390x.
///
/// ```
/// use dotnet_diagnostics_ipc::user_events::{USER_REG_LEN, USER_REG_PACKED_LEN, UserReg, UserRegSize};
/// use dotnet_diagnostics_ipc::wire::{Encode as _, Reader, SliceSink};
///
/// let mut bytes = [0xff; USER_REG_LEN];
/// let mut sink = SliceSink::new(&mut bytes);
/// let reg = UserReg::new(0x7f00_1000, 0x7f00_2000);
/// reg.encode(&mut sink)?;
/// assert_eq!(sink.finish(), Ok(USER_REG_LEN));
/// assert_eq!((&bytes[..8], &bytes[28..]), (&[32, 0, 0, 0, 31, 4, 0, 0][..], &[0; 4][..]));
/// // What the kernel did:
/// bytes[24] = 5;
/// assert_eq!(UserReg::decode(&mut Reader::new(&bytes)).unwrap().write_index, 5);
/// // As the kernel's documents have it:
/// let packed = UserReg { size: UserRegSize::Packed, ..reg };
/// assert_eq!(packed.encoded_len(), Ok(USER_REG_PACKED_LEN));
/// # Ok::<(), dotnet_diagnostics_ipc::wire::EncodeError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UserReg {
    /// The size of the structure.
    pub size: UserRegSize,
    /// The bit at `enable_addr` that the kernel sets while the tracepoint is enabled. The runtime
    /// uses 31.
    pub enable_bit: u8,
    /// The number of bytes at `enable_addr`. The runtime uses 4.
    pub enable_size: u8,
    /// The runtime uses none.
    pub flags: u16,
    /// The address of the bit, in the process that registers.
    pub enable_addr: u64,
    /// The address of the [`TracepointCommand`](super::TracepointCommand), followed by a NUL.
    pub name_args: u64,
    /// The first field of a record; 0 before the kernel has set it.
    pub write_index: u32,
}

impl Encode for UserReg {
    #[inline]
    fn encode<S: Sink + ?Sized>(&self, sink: &mut S) -> Result<(), EncodeError> {
        // All at once, so that the sink is asked for room once.
        let mut padded = [0; USER_REG_LEN];
        let mut fixed = SliceSink::new(&mut padded);
        self.size.encode(&mut fixed)?;
        self.enable_bit.encode(&mut fixed)?;
        self.enable_size.encode(&mut fixed)?;
        self.flags.encode(&mut fixed)?;
        self.enable_addr.encode(&mut fixed)?;
        self.name_args.encode(&mut fixed)?;
        self.write_index.encode(&mut fixed)?;
        match (self.size, padded.first_chunk::<USER_REG_PACKED_LEN>()) {
            (UserRegSize::Packed, Some(packed)) => sink.put(packed),
            _ => sink.put(&padded),
        }
        Ok(())
    }
}

impl UserReg {
    /// The number of the `ioctl`, without direction and size.
    pub(super) const IOCTL: u32 = 0;

    /// The runtime's bit.
    pub const RUNTIME_ENABLE_BIT: u8 = 31;
    /// The runtime's number of bytes at `enable_addr`.
    pub const RUNTIME_ENABLE_SIZE: u8 = 4;
    /// The runtime's flags: none.
    pub const RUNTIME_FLAGS: u16 = 0;

    /// A registration as the runtime makes it, including padding (P-18).
    pub const fn new(enable_addr: u64, name_args: u64) -> Self {
        Self {
            size: UserRegSize::Padded,
            enable_bit: Self::RUNTIME_ENABLE_BIT,
            enable_size: Self::RUNTIME_ENABLE_SIZE,
            flags: Self::RUNTIME_FLAGS,
            enable_addr,
            name_args,
            write_index: 0,
        }
    }

    /// Reads a structure, including padding, and moves the reader after it.
    ///
    /// # Errors
    /// [`WrongStructSize`](WireErrorKind::WrongStructSize) at `size`;
    /// [`UnexpectedEnd`](crate::wire::WireErrorKind::UnexpectedEnd) in a field or in the padding;
    /// [`NonZeroPadding`](WireErrorKind::NonZeroPadding) at the first byte of the padding
    /// that is not zero, as the kernel refuses it (`E2BIG`).
    pub fn decode(reader: &mut Reader<'_>) -> Result<Self, WireError> {
        let size = UserRegSize::decode(reader)?;
        let reg = Self {
            size,
            enable_bit: reader.field(Field::EnableBit)?,
            enable_size: reader.field(Field::EnableSize)?,
            flags: reader.field(Field::Flags)?,
            enable_addr: reader.field(Field::EnableAddr)?,
            name_args: reader.field(Field::NameArgs)?,
            write_index: reader.field(Field::WriteIndex)?,
        };
        let offset = reader.offset();
        let padding = reader.take(reg.size.padding().len())?;
        match (offset..).zip(padding).find(|(_, byte)| **byte != 0) {
            Some((at, byte)) => {
                Err(WireError::new(WireErrorKind::NonZeroPadding { byte: *byte }, at))
            }
            None => Ok(reg),
        }
    }
}
