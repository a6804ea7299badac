//! The numbers of the two `ioctl`s of `user_events_data`.
//!
//! Linux builds the number of an `ioctl` from four parts (`_IOC`):
//!
//! | bits | what | `DIAG_IOCSREG` | `DIAG_IOCSUNREG` |
//! |---|---|---|---|
//! | 31–30 | direction: 1 = the caller writes, 2 = the caller reads | 3, `_IOWR` | 1, `_IOW` |
//! | 29–16 | size of the argument | that of a pointer | that of a pointer |
//! | 15–8 | type | `'*'` | `'*'` |
//! | 7–0 | number | 0 | 2 |
//!
//! The argument's type is declared as a pointer to the structure, so its size is that of a pointer:
//! 8 bytes in a 64-bit process, 4 in a 32-bit one. `PowerPC`, MIPS, SPARC and Alpha encode
//! direction and size differently; these numbers are wrong there.

use super::user_reg::UserReg;
use super::user_unreg::UserUnreg;

const WRITE: u32 = 1;
const READ: u32 = 2;

/// Registers a tracepoint; the argument points to a [`UserReg`]. In a 64-bit process (F-64).
///
/// ```
/// assert_eq!(dotnet_diagnostics_ipc::user_events::DIAG_IOCSREG, 0xC008_2A00);
/// ```
pub const DIAG_IOCSREG: u32 = number(READ | WRITE, 8, UserReg::IOCTL);
/// The same in a 32-bit process.
pub const DIAG_IOCSREG_32: u32 = number(READ | WRITE, 4, UserReg::IOCTL);

/// Ends a registration; the argument points to a [`UserUnreg`]. In a 64-bit process (F-64).
///
/// ```
/// assert_eq!(dotnet_diagnostics_ipc::user_events::DIAG_IOCSUNREG, 0x4008_2A02);
/// ```
pub const DIAG_IOCSUNREG: u32 = number(WRITE, 8, UserUnreg::IOCTL);
/// The same in a 32-bit process.
pub const DIAG_IOCSUNREG_32: u32 = number(WRITE, 4, UserUnreg::IOCTL);

const fn number(direction: u32, pointer_size: u32, nr: u32) -> u32 {
    direction << 30 | pointer_size << 16 | (b'*' as u32) << 8 | nr
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_size_differs_in_a_32_bit_process() {
        assert_eq!((DIAG_IOCSREG, DIAG_IOCSREG_32), (0xc008_2a00, 0xc004_2a00));
        assert_eq!((DIAG_IOCSUNREG, DIAG_IOCSUNREG_32), (0x4008_2a02, 0x4004_2a02));
    }
}
