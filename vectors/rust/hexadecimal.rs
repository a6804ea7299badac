//! Bytes as hexadecimal digits.

use alloc::{string::String, vec, vec::Vec};

use hex::FromHexError;
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// Bytes that are hexadecimal text in JSON, with `#[serde(with = …)]` and this module.
pub(super) trait InDigits: Sized {
    /// The texts in JSON.
    type Text: Serialize + for<'de> Deserialize<'de>;

    fn digits(&self) -> Self::Text;

    fn of(digits: &Self::Text) -> Result<Self, FromHexError>;
}

impl InDigits for Vec<u8> {
    type Text = String;

    fn digits(&self) -> String {
        hex::encode(self)
    }

    fn of(digits: &String) -> Result<Self, FromHexError> {
        bytes(digits)
    }
}

impl<T: InDigits> InDigits for Option<T> {
    type Text = Option<T::Text>;

    fn digits(&self) -> Self::Text {
        self.as_ref().map(T::digits)
    }

    fn of(digits: &Self::Text) -> Result<Self, FromHexError> {
        digits.as_ref().map(T::of).transpose()
    }
}

impl InDigits for Vec<Vec<u8>> {
    type Text = Vec<String>;

    fn digits(&self) -> Vec<String> {
        self.iter().map(hex::encode).collect()
    }

    fn of(digits: &Vec<String>) -> Result<Self, FromHexError> {
        digits.iter().map(|text| bytes(text)).collect()
    }
}

pub(super) fn serialize<T: InDigits, S: Serializer>(
    bytes: &T,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    bytes.digits().serialize(serializer)
}

pub(super) fn deserialize<'de, T: InDigits, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<T, D::Error> {
    T::of(&T::Text::deserialize(deserializer)?).map_err(D::Error::custom)
}

/// Parses hexadecimal digits without a prefix. `hex::decode` is slower in a debug build, and the files of
/// vectors have a million bytes.
pub(super) fn bytes(digits: &str) -> Result<Vec<u8>, FromHexError> {
    if digits.starts_with("0x") {
        return Err(FromHexError::InvalidHexCharacter { c: 'x', index: 1 });
    }
    let mut bytes = vec![0; digits.len().div_ceil(2)];
    hex::decode_to_slice(digits, &mut bytes)?;
    Ok(bytes)
}

#[cfg(test)]
#[test]
fn digits_are_read_without_prefix() {
    assert_eq!(bytes("00fFa1").unwrap(), [0, 255, 161]);
    for (wrong, why) in [
        ("000", "odd number of digits"),
        ("0g", "invalid character 'g' at position 1"),
        ("0x12", "invalid character 'x' at position 1"),
    ] {
        assert_eq!(alloc::format!("{}", bytes(wrong).unwrap_err()), why, "{wrong}");
    }
}
