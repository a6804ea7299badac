//! Registration of tracepoints: the command string, the kernel's two structures, and the numbers of
//! the two `ioctl`s.
//!
//! Linux builds the number of an `ioctl` from four parts (`_IOC`):
//!
//! | bits | what | `DIAG_IOCSREG` | `DIAG_IOCSUNREG` |
//! |---|---|---|---|
//! | 31–30 | direction: 1 = the caller writes, 2 = the caller reads | 3, `_IOWR` | 1, `_IOW` |
//! | 29–16 | size of the argument | size of a pointer | size of a pointer |
//! | 15–8 | type | `'*'` | `'*'` |
//! | 7–0 | number | 0 | 2 |
//!
//! The argument's type is declared as a pointer to the structure, so its size is that of a pointer:
//! 8 bytes in a 64-bit process, 4 in a 32-bit one. These numbers are wrong on `PowerPC`, MIPS,
//! SPARC and Alpha, which encode direction and size differently.

use crate::message::eventpipe::MAX_TRACEPOINT_NAME_LEN;
use crate::wire::{
    self, Encode, EncodeError, Field, IpcString, Reader, Sink, SliceSink, WireError, WireErrorKind,
    clamp,
};
use core::fmt;

/// The fields of a record, as registered with the kernel ("Tracepoint Format V1").
pub const TRACEPOINT_FORMAT_V1: &str =
    "u8 version; u16 event_id; __rel_loc u8[] extension; __rel_loc u8[] payload";

/// The maximum length of a command string that the kernel accepts, including the NUL (F-65).
pub const MAX_COMMAND_LEN: usize = 512;

/// The command string of a tracepoint (section "`User_events` Registration", F-65).
///
/// | bytes | what |
/// |---|---|
/// | 1 to 436 | the name, in UTF-8 |
/// | 1 | a space |
/// | 74 | [`TRACEPOINT_FORMAT_V1`] |
///
/// A [`UserReg`](super::UserReg) points to the command string, followed by a NUL. Names are UTF-16
/// in a session request but UTF-8 here, so the limit is in bytes, not units. A name that contains a
/// space or NUL, or is not valid Unicode, has no command string. Runtimes do not check names: they
/// register the part before the NUL, a session whose name has a space fails with `E_FAIL` (P-22),
/// and released .NET 10 builds crash on a longer name (P-19).
///
/// ```
/// use dotnet_diagnostics_ipc::user_events::TracepointCommand;
///
/// let command = TracepointCommand::new("MyTracepoint".into())?;
/// let text = "MyTracepoint u8 version; u16 event_id; __rel_loc u8[] extension; __rel_loc u8[] payload";
/// assert_eq!(command.to_string(), text);
/// assert_eq!(TracepointCommand::parse(text.as_bytes()), Ok(command));
///
/// let mut buffer = [0xff; 100];
/// let len = command.write_c_string(&mut buffer)?;
/// assert_eq!((len, &buffer[..13], buffer[len - 1]), (text.len() + 1, &b"MyTracepoint "[..], 0));
/// # Ok::<(), dotnet_diagnostics_ipc::wire::EncodeError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TracepointCommand<'a> {
    /// The name, checked to be nonempty Unicode without NUL or space, and not too long.
    name: IpcString<'a>,
}

impl<'a> TracepointCommand<'a> {
    /// Returns the command string of the tracepoint `name`.
    ///
    /// # Errors
    /// [`EncodeError::EmptyName`] if it is empty or absent, [`EncodeError::ForbiddenUnit`] at a
    /// space, a NUL or half a surrogate pair, [`EncodeError::PartTooLong`] with its length in
    /// UTF-8 above [`MAX_TRACEPOINT_NAME_LEN`].
    pub fn new(name: IpcString<'a>) -> Result<Self, EncodeError> {
        if name.is_empty() {
            return Err(EncodeError::EmptyName);
        }
        let mut len = 0usize;
        for c in name.chars() {
            match c {
                Ok(' ') => return Err(EncodeError::ForbiddenUnit { unit: 0x20 }),
                Ok('\0') => return Err(EncodeError::ForbiddenUnit { unit: 0 }),
                Ok(c) => len = len.saturating_add(c.len_utf8()),
                Err(lone) => {
                    return Err(EncodeError::ForbiddenUnit { unit: lone.unpaired_surrogate() });
                }
            }
        }
        if len > MAX_TRACEPOINT_NAME_LEN {
            return Err(EncodeError::PartTooLong { len, max: wire::MAX_TRACEPOINT_NAME_LEN });
        }
        Ok(Self { name })
    }

    /// Parses a command string without the final NUL. The first space ends the name.
    ///
    /// # Errors
    /// For `tracepoint_name`: [`EmptyCommandName`](WireErrorKind::EmptyCommandName),
    /// [`BadTracepointName`](WireErrorKind::BadTracepointName) at the first NUL or byte that is not
    /// UTF-8, [`CommandNameTooLong`](WireErrorKind::CommandNameTooLong) at the first byte beyond
    /// the limit. Otherwise [`UnknownTracepointFormat`](WireErrorKind::UnknownTracepointFormat) at
    /// the first byte that differs from [`TRACEPOINT_FORMAT_V1`] (or at the end of the text).
    pub fn parse(text: &'a [u8]) -> Result<Self, WireError> {
        let of_name =
            |kind, offset| Err(WireError::new(kind, offset).within(Field::TracepointName));
        let end = text.iter().position(|byte| *byte == b' ').unwrap_or(text.len());
        let (name, rest) = text.split_at_checked(end).unwrap_or((text, &[]));
        if name.is_empty() {
            return of_name(WireErrorKind::EmptyCommandName, 0);
        }
        let utf8 = core::str::from_utf8(name);
        let valid = utf8.map_or_else(|error| error.valid_up_to(), str::len);
        let bad = name.iter().position(|byte| *byte == 0).unwrap_or(valid).min(valid);
        if let Some(byte) = name.get(bad) {
            return of_name(WireErrorKind::BadTracepointName { byte: *byte }, bad);
        }
        if name.len() > MAX_TRACEPOINT_NAME_LEN {
            return of_name(
                WireErrorKind::CommandNameTooLong { len: clamp(name.len()) },
                MAX_TRACEPOINT_NAME_LEN,
            );
        }
        if rest.strip_prefix(b" ") != Some(TRACEPOINT_FORMAT_V1.as_bytes()) {
            let format = b" ".iter().chain(TRACEPOINT_FORMAT_V1.as_bytes());
            let same = rest.iter().zip(format).take_while(|(have, want)| have == want).count();
            return Err(WireError::new(
                WireErrorKind::UnknownTracepointFormat,
                end.saturating_add(same),
            ));
        }
        Ok(Self { name: IpcString::new(utf8.unwrap_or_default()) })
    }

    /// Returns the tracepoint's name.
    pub const fn name(&self) -> IpcString<'a> {
        self.name
    }

    /// Writes the text and a final NUL, as the kernel expects. Returns the length in bytes,
    /// including the NUL.
    ///
    /// # Errors
    /// [`EncodeError::BufferTooSmall`]; [`MAX_COMMAND_LEN`] bytes are always enough.
    pub fn write_c_string(&self, buffer: &mut [u8]) -> Result<usize, EncodeError> {
        let mut sink = SliceSink::new(buffer);
        self.encode(&mut sink)?;
        sink.put(&[0]);
        sink.finish()
    }
}

/// Writes the text without a NUL.
impl fmt::Display for TracepointCommand<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {TRACEPOINT_FORMAT_V1}", self.name)
    }
}

/// Writes the text in UTF-8 without a NUL.
impl Encode for TracepointCommand<'_> {
    #[inline]
    fn encode<S: Sink + ?Sized>(&self, sink: &mut S) -> Result<(), EncodeError> {
        // `new` and `parse` checked that the whole name is text.
        self.name.put_utf8(sink);
        sink.put(b" ");
        sink.put(TRACEPOINT_FORMAT_V1.as_bytes());
        Ok(())
    }
}

/// The size of a [`UserReg`] as runtimes pass it, which is also the maximum.
pub const USER_REG_LEN: usize = 32;

/// The size of a [`UserReg`] without padding.
pub const USER_REG_PACKED_LEN: usize = 28;

/// The `size` of a [`UserReg`], which determines whether padding follows the fields.
///
/// The kernel's own structure is packed and has 28 bytes (F-64). The runtime's structure is not
/// packed. On platforms that align 64-bit integers to 8, the compiler rounds it up to 32, and .NET
/// passes that size (P-18). A kernel accepts a structure longer than its own if the rest is zero.
///
/// ```
/// use dotnet_diagnostics_ipc::user_events::UserRegSize;
///
/// assert_eq!(UserRegSize::from_bytes(32), Some(UserRegSize::Padded));
/// assert_eq!(UserRegSize::Packed.bytes(), 28);
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum UserRegSize {
    /// 28 bytes: only the fields, as in the kernel's documents.
    Packed,
    /// 32 bytes: the fields and 4 zero bytes, as in runtimes.
    #[default]
    Padded,
}

impl UserRegSize {
    /// Returns the value of the field, the number of all bytes including padding.
    pub const fn bytes(self) -> u32 {
        match self {
            Self::Packed => 28,
            Self::Padded => 32,
        }
    }

    /// Returns the size with this value of the field.
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

    /// Returns the bytes after the fields.
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

/// The kernel's `struct user_reg`, for [`DIAG_IOCSREG`](super::DIAG_IOCSREG) (F-64, P-18).
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
/// here. The kernel uses the machine's byte order, which differs only on machines such as s390x.
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
/// // The kernel sets the index:
/// bytes[24] = 5;
/// assert_eq!(UserReg::decode(&mut Reader::new(&bytes)).unwrap().write_index, 5);
/// // The form in the kernel's documents:
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
    /// The flags. The runtime sets none.
    pub flags: u16,
    /// The address of the bit in the registering process.
    pub enable_addr: u64,
    /// The address of the [`TracepointCommand`](super::TracepointCommand), which ends with a NUL.
    pub name_args: u64,
    /// The first field of a record. It is 0 before the kernel has set it.
    pub write_index: u32,
}

impl Encode for UserReg {
    #[inline]
    fn encode<S: Sink + ?Sized>(&self, sink: &mut S) -> Result<(), EncodeError> {
        self.size.encode(sink)?;
        self.enable_bit.encode(sink)?;
        self.enable_size.encode(sink)?;
        self.flags.encode(sink)?;
        self.enable_addr.encode(sink)?;
        self.name_args.encode(sink)?;
        self.write_index.encode(sink)?;
        sink.put(self.size.padding());
        Ok(())
    }
}

impl UserReg {
    /// The number of the `ioctl`, without direction and size.
    const IOCTL: u32 = 0;

    /// The bit that the runtime uses.
    pub const RUNTIME_ENABLE_BIT: u8 = 31;
    /// The number of bytes at `enable_addr` that the runtime uses.
    pub const RUNTIME_ENABLE_SIZE: u8 = 4;
    /// The flags that the runtime sets, which are none.
    pub const RUNTIME_FLAGS: u16 = 0;

    /// Returns a registration as the runtime makes it, with padding (P-18).
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

    /// Reads a structure with its padding, and advances the reader.
    ///
    /// # Errors
    /// [`WrongStructSize`](WireErrorKind::WrongStructSize) at `size`;
    /// [`UnexpectedEnd`](crate::wire::WireErrorKind::UnexpectedEnd) in a field or in the padding;
    /// [`NonZeroPadding`](WireErrorKind::NonZeroPadding) at the first padding byte that is not
    /// zero, which the kernel refuses (`E2BIG`).
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

/// The size of a [`UserUnreg`] in bytes.
pub const USER_UNREG_LEN: usize = 16;

/// The size of a [`UserUnreg`], in the type of its `size` field.
const SIZE: u32 = 16;

/// The kernel's `struct user_unreg`, the argument of [`DIAG_IOCSUNREG`](super::DIAG_IOCSUNREG)
/// (F-87). It has 16 bytes and, unlike a [`UserReg`], no padding.
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
    /// A byte that is 0; kept as received.
    pub reserved: u8,
    /// A number that is 0; kept as received.
    pub reserved2: u16,
    /// The `enable_addr` of the registration.
    pub disable_addr: u64,
}

impl UserUnreg {
    /// The number of the `ioctl`, without direction and size.
    const IOCTL: u32 = 2;

    /// Returns the structure that ends `registration`.
    pub const fn of(registration: &UserReg) -> Self {
        Self {
            disable_bit: registration.enable_bit,
            reserved: 0,
            reserved2: 0,
            disable_addr: registration.enable_addr,
        }
    }

    /// Reads a structure and advances the reader.
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

const WRITE: u32 = 1;
const READ: u32 = 2;

/// Registers a tracepoint in a 64-bit process (F-64). The argument points to a [`UserReg`].
///
/// ```
/// assert_eq!(dotnet_diagnostics_ipc::user_events::DIAG_IOCSREG, 0xC008_2A00);
/// ```
pub const DIAG_IOCSREG: u32 = number(READ | WRITE, 8, UserReg::IOCTL);
/// Registers a tracepoint in a 32-bit process.
pub const DIAG_IOCSREG_32: u32 = number(READ | WRITE, 4, UserReg::IOCTL);

/// Ends a registration in a 64-bit process (F-64). The argument points to a [`UserUnreg`].
///
/// ```
/// assert_eq!(dotnet_diagnostics_ipc::user_events::DIAG_IOCSUNREG, 0x4008_2A02);
/// ```
pub const DIAG_IOCSUNREG: u32 = number(WRITE, 8, UserUnreg::IOCTL);
/// Ends a registration in a 32-bit process.
pub const DIAG_IOCSUNREG_32: u32 = number(WRITE, 4, UserUnreg::IOCTL);

const fn number(direction: u32, pointer_size: u32, nr: u32) -> u32 {
    direction << 30 | pointer_size << 16 | (b'*' as u32) << 8 | nr
}

#[cfg(test)]
mod tests {
    extern crate std;
    use super::*;
    use std::format;
    use std::string::ToString as _;
    use std::vec::Vec;

    #[test]
    fn longest_name_fills_the_command() {
        let name = "n".repeat(436);
        let command = TracepointCommand::new(IpcString::new(&name)).unwrap();
        let mut buffer = [0xff; MAX_COMMAND_LEN];
        assert_eq!(command.write_c_string(&mut buffer), Ok(512));
        assert_eq!(buffer[511], 0);
        assert_eq!(TracepointCommand::parse(&buffer[..511]), Ok(command));
        assert_eq!(
            command.write_c_string(&mut buffer[..511]),
            Err(EncodeError::BufferTooSmall { needed: 512 })
        );
    }

    #[test]
    fn utf16_units_become_utf8() {
        let units: Vec<u16> = "Ereignis-Ü😀".encode_utf16().collect();
        let command = TracepointCommand::new(IpcString::from_units(&units)).unwrap();
        let mut bytes = Vec::new();
        command.encode(&mut bytes).unwrap();
        assert_eq!(bytes, format!("Ereignis-Ü😀 {TRACEPOINT_FORMAT_V1}").as_bytes());
        assert_eq!(command.to_string().as_bytes(), bytes);
    }

    #[test]
    fn only_the_size_differs_in_a_32_bit_process() {
        assert_eq!((DIAG_IOCSREG, DIAG_IOCSREG_32), (0xc008_2a00, 0xc004_2a00));
        assert_eq!((DIAG_IOCSUNREG, DIAG_IOCSUNREG_32), (0x4008_2a02, 0x4004_2a02));
    }
}
