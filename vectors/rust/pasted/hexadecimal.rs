//! Digits.

use alloc::{format, vec::Vec};

use super::PasteError;

const SEPARATORS: [char; 3] = [':', '-', ','];

/// Whether there are only digits, in pairs, and white space or one kind of separators. A comma may
/// also separate decimal numbers: those are an array.
pub(super) fn is_one(text: &str) -> bool {
    let text = text.trim();
    let digits = text.strip_prefix("0x").or_else(|| text.strip_prefix("0X")).unwrap_or(text);
    let is_part = |one: char| one.is_ascii_hexdigit() || one.is_whitespace() || ":-".contains(one);
    digits.chars().all(is_part)
}

pub(super) fn read(text: &str) -> Result<Vec<u8>, PasteError> {
    let mut bytes = Vec::new();
    // The digits of a byte, and where the first is.
    let mut byte = 0u8;
    let (mut first, mut digits) = (0, 0usize);
    let trimmed = text.trim_start();
    let is_prefixed = trimmed.starts_with("0x") || trimmed.starts_with("0X");
    let begin =
        if is_prefixed { text.len().saturating_sub(trimmed.len()).saturating_add(2) } else { 0 };
    let cut = |first, digits| {
        let message = format!("{digits} digits: a byte has two, so a group has an even number");
        Err(PasteError::at(text, first, message))
    };
    for (at, one) in text.char_indices().filter(|(at, _)| *at >= begin) {
        match one.to_digit(16).and_then(|digit| u8::try_from(digit).ok()) {
            Some(digit) => {
                if digits == 0 {
                    first = at;
                }
                digits = digits.saturating_add(1);
                byte = byte << 4 | digit;
                if digits % 2 == 0 {
                    bytes.push(byte);
                    byte = 0;
                }
            }
            None if one.is_whitespace() || SEPARATORS.contains(&one) => {
                if digits % 2 == 1 {
                    return cut(first, digits);
                }
                digits = 0;
            }
            None => {
                return Err(PasteError::at(
                    text,
                    at,
                    format!("{one:?} is not a hexadecimal digit"),
                ));
            }
        }
    }
    if digits % 2 == 1 { cut(first, digits) } else { Ok(bytes) }
}
