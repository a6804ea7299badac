//! Numbers and characters, as in source code.

use alloc::{format, vec::Vec};

use super::PasteError;
use super::escapes::character;
use super::scanner::{Scanner, without_comments};

pub(super) fn read(text: &str) -> Result<Vec<u8>, PasteError> {
    let code = without_comments(text);
    let brackets = [('{', '}'), ('[', ']')].into_iter().find(|(open, _)| code.contains(*open));
    let mut scanner = Scanner::new(text);
    if brackets.is_some_and(|(open, _)| open == '[') && code.contains('=') {
        // `[u8; 2] = [1, 2]`: the type is not the array.
        scanner.skip_past("=");
    }
    let mut bytes = Vec::new();
    // Where the brackets around this place are.
    let mut open = Vec::new();
    loop {
        if scanner.skips_comment() {
            continue;
        }
        let at = scanner.at();
        let Some(next) = scanner.peek() else { break };
        if brackets.is_some_and(|(first, _)| first == next) {
            open.push(at);
            scanner.next();
        } else if brackets.is_some_and(|(_, last)| last == next) {
            scanner.next();
            if open.pop().is_none() {
                return Err(scanner.error(at, format!("{next:?} without an opening one")));
            }
        } else if next.is_whitespace() || next == ',' || (brackets.is_some() && open.is_empty()) {
            scanner.next();
        } else if next == '\'' {
            bytes.push(quoted(&mut scanner)?);
        } else {
            bytes.push(number(&mut scanner)?);
        }
    }
    match open.last() {
        Some(at) => Err(scanner.error(*at, "this bracket is not closed: the array is cut")),
        None => Ok(bytes),
    }
}

/// `'D'`.
fn quoted(scanner: &mut Scanner<'_>) -> Result<u8, PasteError> {
    let (at, mut bytes) = (scanner.at(), Vec::new());
    scanner.next();
    character(scanner, &mut bytes)?;
    match bytes.as_slice() {
        [byte] if scanner.takes("'") => Ok(*byte),
        _ => Err(scanner.error(at, "not a character of one byte in quotes")),
    }
}

/// A number, possibly with the suffix of an unsigned byte.
fn number(scanner: &mut Scanner<'_>) -> Result<u8, PasteError> {
    let at = scanner.at();
    let is_negative = scanner.takes("-");
    let word = scanner.take_while(usize::MAX, |one| one.is_ascii_alphanumeric() || one == '_');
    if word.is_empty() {
        let next = scanner.peek().map_or_else(|| "the end".into(), |one| format!("{one:?}"));
        return Err(scanner.error(at, format!("expected a number such as 0x44 or 68, not {next}")));
    }
    let plain = ["u8", "u", "U"].into_iter().find_map(|suffix| word.strip_suffix(suffix));
    let plain = plain.unwrap_or(word);
    let digits = plain.strip_prefix("0x").or_else(|| plain.strip_prefix("0X"));
    let not_a_number = || {
        let hint = if plain.chars().all(|one| one.is_ascii_hexdigit()) {
            "; hexadecimal begins with 0x"
        } else {
            ""
        };
        scanner.error(at, format!("{word} is not a number{hint}"))
    };
    let (digits, radix) = match digits {
        Some(digits) => (digits, 16),
        None => (plain, 10),
    };
    if digits.is_empty() || !digits.chars().all(|one| one.is_digit(radix)) {
        return Err(not_a_number());
    }
    let begins_with_0 = radix == 10 && digits.len() > 1 && digits.starts_with('0');
    if begins_with_0 && digits.trim_start_matches('0').len() > 1 {
        let message = format!("{word} is octal in C and decimal elsewhere: write it without the 0");
        return Err(scanner.error(at, message));
    }
    let sign = if is_negative { "-" } else { "" };
    let number = i32::from_str_radix(digits, radix).ok();
    let number = if is_negative { number.and_then(i32::checked_neg) } else { number };
    let byte = number.and_then(|number| {
        let signed = || i8::try_from(number).ok().map(i8::to_ne_bytes);
        u8::try_from(number).ok().or_else(|| signed().map(|[byte]| byte))
    });
    byte.ok_or_else(|| {
        scanner.error(at, format!("{sign}{word} is not a byte: it is not from -128 to 255"))
    })
}
