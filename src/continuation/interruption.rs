//! An error message in the middle of an environment block (F-43).

use crate::command::Command;
use crate::header::{Header, MAGIC};
use crate::hresult::HResult;

/// The shortest error message: header and HRESULT.
pub(super) const ERROR_LEN: usize = 24;

/// The error message at the front of `bytes`, if all of its first 24 bytes are there.
pub(super) fn error_message(bytes: &[u8]) -> Option<HResult> {
    let message = bytes.first_chunk::<ERROR_LEN>()?;
    let header = Header::decode(message).ok()?;
    let code = message.last_chunk::<4>()?;
    let is_error = header.command == Command::ERROR && usize::from(header.size) >= ERROR_LEN;
    is_error.then_some(HResult(u32::from_le_bytes(*code)))
}

/// Whether `begun` can still become an error message.
pub(super) fn may_be_error(begun: &[u8]) -> bool {
    let is = |at: usize, byte: u8| begun.get(at).is_none_or(|have| *have == byte);
    let size = begun
        .get(14..16)
        .and_then(|size| size.first_chunk::<2>())
        .map_or(u16::MAX, |size| u16::from_le_bytes(*size));
    begun.iter().zip(MAGIC).all(|(have, want)| *have == want)
        && usize::from(size) >= ERROR_LEN
        && is(16, Command::ERROR.set)
        && is(17, Command::ERROR.id)
}

#[cfg(test)]
mod tests {
    use super::*;

    const ERROR: &[u8; 24] = b"DOTNET_IPC_V1\0\x18\0\xff\xff\0\0\x05\x40\0\x80";

    #[test]
    fn other_bytes_cannot_become_error_message() {
        for at in 0..18 {
            let mut bytes = *ERROR;
            bytes[at] ^= 1;
            // A size of 25 or 280 is also valid.
            let still = at == 14 || at == 15;
            assert_eq!(
                (may_be_error(&bytes), error_message(&bytes).is_some()),
                (still, still),
                "byte {at}"
            );
        }
        let mut short = *ERROR;
        short[14] = 23;
        assert!(!may_be_error(&short) && error_message(&short).is_none());
    }
}
