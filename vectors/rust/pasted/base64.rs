//! Base64, of the standard alphabet or that for URLs.

use alloc::{format, vec::Vec};

use super::PasteError;

fn value(digit: char) -> Option<u32> {
    let digit = u8::try_from(digit).ok()?;
    let value = match digit {
        b'A'..=b'Z' => digit.checked_sub(b'A')?,
        b'a'..=b'z' => digit.checked_sub(b'a')?.checked_add(26)?,
        b'0'..=b'9' => digit.checked_sub(b'0')?.checked_add(52)?,
        b'+' | b'-' => 62,
        b'/' | b'_' => 63,
        _ => return None,
    };
    Some(value.into())
}

/// Whether there is nothing else, and more of it than a few mistakes in hexadecimal.
pub(super) fn is_one(text: &str) -> bool {
    let mut signs = text.chars().filter(|one| !one.is_whitespace());
    let others = signs.clone().filter(|one| !one.is_ascii_hexdigit());
    let is_marked = others.clone().any(|one| "=+/_".contains(one)) || others.count() > 3;
    is_marked && signs.all(|one| one == '=' || value(one).is_some())
}

pub(super) fn read(text: &str) -> Result<Vec<u8>, PasteError> {
    let mut bytes = Vec::new();
    let (mut bits, mut digits, mut padding) = (0u32, 0u32, 0u32);
    for (at, one) in text.char_indices().filter(|(_, one)| !one.is_whitespace()) {
        let error = |message| Err(PasteError::at(text, at, message));
        match value(one) {
            None if one == '=' => padding = padding.saturating_add(1),
            None => return error(format!("{one:?} is not a character of base64")),
            Some(_) if padding > 0 => return error(format!("{one:?} after the padding (=)")),
            Some(value) => {
                bits = bits << 6 | value;
                digits = digits.saturating_add(1) % 4;
                if digits == 0 {
                    let [_, first, second, third] = bits.to_be_bytes();
                    bytes.extend([first, second, third]);
                    bits = 0;
                }
            }
        }
    }
    let error = |message| Err(PasteError::at(text, text.trim_end().len(), message));
    let (rest, unused) = match (digits, padding) {
        (0, 0) => return Ok(bytes),
        (2, 2) => (bits << 12, 1),
        (3, 1) => (bits << 6, 2),
        _ => {
            return error(format!(
                "{digits} characters and {padding} of padding (=) after the last group of four, expected 2 and 2, or 3 and 1"
            ));
        }
    };
    let mut last = rest.to_be_bytes().into_iter().skip(1);
    bytes.extend(last.by_ref().take(unused));
    if last.any(|byte| byte != 0) {
        return error("the last character has bits that belong to no byte".into());
    }
    Ok(bytes)
}
