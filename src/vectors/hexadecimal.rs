//! Bytes as hexadecimal digits.

use alloc::{vec, vec::Vec};

use hex::FromHexError;

/// The bytes of a text of digits, without a prefix. `hex::decode` takes longer in a debug build, where the
/// files of vectors have a million bytes.
pub(super) fn bytes(digits: &str) -> Result<Vec<u8>, FromHexError> {
    if digits.starts_with("0x") {
        return Err(FromHexError::InvalidHexCharacter { c: 'x', index: 1 });
    }
    let mut bytes = vec![0; digits.len().div_ceil(2)];
    hex::decode_to_slice(digits, &mut bytes)?;
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use alloc::string::ToString as _;

    use super::*;

    #[test]
    fn digits_are_read_whole_or_refused() {
        assert_eq!(bytes("").unwrap(), [0; 0]);
        assert_eq!(bytes("00fFa1").unwrap(), [0, 255, 161]);
        for (wrong, why) in [
            ("0", "odd number of digits"),
            ("000", "odd number of digits"),
            ("0g", "invalid character 'g' at position 1"),
            ("+1", "invalid character '+' at position 0"),
            (" 1", "invalid character ' ' at position 0"),
            ("0x12", "invalid character 'x' at position 1"),
        ] {
            assert_eq!(bytes(wrong).unwrap_err().to_string(), why, "{wrong}");
        }
    }
}
