//! Reads digits without offsets: hexadecimal and base64.

use alloc::{format, vec::Vec};

use super::decorations::is_time;
use super::{PasteError, offset_of};

/// Returns whether there are only digits, in pairs, with white space or one kind of separators. A
/// comma may also separate decimal numbers, which are an array.
pub(super) fn is_hexadecimal(text: &str) -> bool {
    let is_part = |one: char| one.is_ascii_hexdigit() || one.is_whitespace() || ":-".contains(one);
    without_prefix(text.trim()).chars().all(is_part)
}

fn without_prefix(text: &str) -> &str {
    text.strip_prefix("0x").or_else(|| text.strip_prefix("0X")).unwrap_or(text)
}

pub(super) fn read_hexadecimal(text: &str) -> Result<Vec<u8>, PasteError> {
    if let Some(time) = text.lines().find_map(ambiguous_time) {
        let message =
            format!("{time} is a time or three bytes: leave it out, or separate all bytes alike");
        return Err(PasteError::at(text, offset_of(text, time), message));
    }
    let mut bytes = Vec::new();
    let is_separator = |one: char| one.is_whitespace() || ":-,".contains(one);
    for group in without_prefix(text.trim_start()).split(is_separator) {
        let at = offset_of(text, group);
        let wrong = group.char_indices().find(|(_, one)| !one.is_ascii_hexdigit());
        if let Some((nth, wrong)) = wrong {
            let message = format!("{wrong:?} is not a hexadecimal digit");
            return Err(PasteError::at(text, at.saturating_add(nth), message));
        }
        let message =
            |_| format!("{} digits: a byte has two, so a group has an even number", group.len());
        bytes.extend(
            hex::decode(group).map_err(message).map_err(|why| PasteError::at(text, at, why))?,
        );
    }
    Ok(bytes)
}

/// Returns the time-like start of a line, if no colon separates the bytes after it.
fn ambiguous_time(line: &str) -> Option<&str> {
    let mut words = line.split_whitespace();
    let time = words.next().filter(|word| word.len() == 8 && is_time(word))?;
    words.next().filter(|next| !next.contains(':')).map(|_| time)
}

/// Returns the value of a digit of base64, in the standard alphabet or the one for URLs.
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

/// Returns whether the text is only base64, with more of it than a few mistakes in hexadecimal.
pub(super) fn is_base64(text: &str) -> bool {
    let mut signs = text.chars().filter(|one| !one.is_whitespace());
    let others = signs.clone().filter(|one| !one.is_ascii_hexdigit());
    let is_marked = others.clone().any(|one| "=+/_".contains(one)) || others.count() > 3;
    is_marked && signs.all(|one| one == '=' || value(one).is_some())
}

pub(super) fn read_base64(text: &str) -> Result<Vec<u8>, PasteError> {
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
