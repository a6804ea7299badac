//! Digits: hexadecimal, dumps of lines with an offset, and base64.

use alloc::{format, vec::Vec};

use super::{PasteError, offset_of};

/// Whether there are only digits, in pairs, and white space or one kind of separators. A comma may
/// also separate decimal numbers: those are an array.
pub(super) fn is_hexadecimal(text: &str) -> bool {
    let is_part = |one: char| one.is_ascii_hexdigit() || one.is_whitespace() || ":-".contains(one);
    without_prefix(text.trim()).chars().all(is_part)
}

fn without_prefix(text: &str) -> &str {
    text.strip_prefix("0x").or_else(|| text.strip_prefix("0X")).unwrap_or(text)
}

pub(super) fn read_hexadecimal(text: &str) -> Result<Vec<u8>, PasteError> {
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

/// A line of a dump.
struct Line<'t> {
    whole: &'t str,
    offset: u64,
    has_colon: bool,
    /// What follows the offset.
    rest: &'t str,
}

/// The bytes of a line, and whether there are more than two digits in a group.
#[derive(Default)]
struct Cells {
    bytes: Vec<u8>,
    has_words: bool,
    /// Whether other text follows.
    has_text: bool,
}

/// The lines that begin with an offset of 4 to 16 digits.
fn lines(text: &str) -> impl Iterator<Item = Line<'_>> {
    text.lines().map(str::trim).filter_map(|line| {
        let word = line.split_whitespace().next()?;
        let (digits, has_colon) =
            word.split_once(':').map_or((word, false), |(digits, _)| (digits, true));
        let rest = line.strip_prefix(digits)?;
        let rest = if has_colon { rest.strip_prefix(':')? } else { rest };
        let plain = digits.strip_prefix("0x").unwrap_or(digits);
        let is_offset = (4..=16).contains(&plain.len())
            && plain.chars().all(|one| one.is_ascii_hexdigit())
            && (rest.is_empty() || rest.starts_with(char::is_whitespace));
        let offset = u64::from_str_radix(plain, 16).ok().filter(|_| is_offset)?;
        let found = Line { whole: line, offset, has_colon, rest };
        let is_line = rest.is_empty() || found.is_shortened() || !found.cells().bytes.is_empty();
        is_line.then_some(found)
    })
}

impl Line<'_> {
    /// Whether bytes are left out, as `diagipc decode` does.
    fn is_shortened(&self) -> bool {
        self.rest.trim_start().starts_with('…')
    }

    /// The bytes. Characters follow them after a wide gap; a gap of two is also in the middle of 16
    /// bytes if there is no colon after the offset.
    fn cells(&self) -> Cells {
        let mut cells = Cells::default();
        let mut rest = self.rest;
        loop {
            let word = rest.trim_start();
            let ends = match rest.len().saturating_sub(word.len()) {
                0 | 1 => false,
                2 => self.has_colon || cells.bytes.len() != 8,
                _ => true,
            };
            let word = word.split_whitespace().next().unwrap_or_default();
            let digits = hex::decode(word).ok().filter(|bytes| !bytes.is_empty());
            let Some(bytes) = digits.filter(|_| cells.bytes.is_empty() || !ends) else {
                cells.has_text = !word.is_empty();
                return cells;
            };
            cells.has_words |= bytes.len() > 1;
            cells.bytes.extend(bytes);
            rest = rest.trim_start().strip_prefix(word).unwrap_or_default();
        }
    }
}

/// Whether a line has a colon or text after its bytes, or the second offset follows from the first.
pub(super) fn is_dump(text: &str) -> bool {
    let mut lines = lines(text);
    let Some(first) = lines.next() else { return false };
    let cells = first.cells();
    let is_followed = lines.next().is_some_and(|second| {
        let step = second.offset.checked_sub(first.offset);
        step.is_some_and(|step| step > 0 && u64::try_from(cells.bytes.len()) == Ok(step))
    });
    is_followed || (!cells.bytes.is_empty() && (first.has_colon || cells.has_text))
}

pub(super) fn read_dump(text: &str) -> Result<Vec<u8>, PasteError> {
    let error = |part, message: &str| Err(PasteError::at(text, offset_of(text, part), message));
    if let Some(star) = text.lines().find(|line| line.trim() == "*") {
        return error(star, "* leaves out lines; hexdump -v and xxd print all of them");
    }
    let mut bytes = Vec::new();
    let mut expected: Option<u64> = None;
    for line in lines(text) {
        if line.is_shortened() {
            return error(line.rest, "this dump leaves out bytes; --json has all of them");
        }
        let cells = line.cells();
        if cells.has_words && !line.has_colon {
            return error(
                line.rest,
                "groups of several bytes are in the order of the machine; hexdump -C and od -t x1 print bytes",
            );
        }
        // A dump may begin anywhere, and another one may follow it.
        let (offset, begins) = (line.offset, line.offset == 0 && !cells.bytes.is_empty());
        if let Some(expected) = expected.filter(|expected| offset != *expected && !begins) {
            let order = format!(
                "the offset is {offset:#x}, expected {expected:#x} after the bytes before it"
            );
            return error(line.whole, &order);
        }
        let len = u64::try_from(cells.bytes.len()).unwrap_or(u64::MAX);
        expected = Some(offset.saturating_add(len));
        bytes.extend(cells.bytes);
    }
    if bytes.is_empty() {
        return Err(PasteError::at(text, 0, "no line begins with an offset and bytes"));
    }
    Ok(bytes)
}

/// The value of a digit of the standard alphabet of base64, or that for URLs.
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
