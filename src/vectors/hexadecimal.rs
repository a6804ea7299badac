//! Bytes as hexadecimal digits.

use alloc::{vec, vec::Vec};

use hex::FromHexError;

/// The bytes of a text of digits. `hex::decode` gives the same, but takes four times as long in a
/// debug build, where the files of vectors have a million bytes.
pub(super) fn bytes(digits: &str) -> Result<Vec<u8>, FromHexError> {
    let mut bytes = vec![0; digits.len().div_ceil(2)];
    hex::decode_to_slice(digits, &mut bytes)?;
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digits_are_read_whole_or_refused() {
        assert_eq!(bytes("").unwrap(), [0; 0]);
        assert_eq!(bytes("00fFa1").unwrap(), [0, 255, 161]);
        for wrong in ["0", "000", "0g", "+1", " 1", "0x12"] {
            assert_eq!(bytes(wrong).unwrap_err(), hex::decode(wrong).unwrap_err(), "{wrong}");
        }
    }
}
