//! Reads dumps: lines of bytes after an offset, and the log of socat.

use alloc::{format, string::String, vec::Vec};

use super::decorations::is_date;
use super::turns;
use super::{PasteError, Pasted, offset_of};

/// The radixes of offsets; od prints octal ones.
const RADIXES: [u32; 3] = [16, 8, 10];
/// The maximum number of bytes that programs print on a line.
const MAX_LINE: u64 = 64;

/// A line of a dump.
struct Line<'t> {
    whole: &'t str,
    offset: &'t str,
    /// Whether a colon follows the offset, or the offset has 64 bits as WinDbg prints it. Then no
    /// gap is between the bytes.
    has_colon: bool,
    /// The rest of the line after the offset.
    rest: &'t str,
}

/// The bytes of a line, and whether there are more than two digits in a group.
#[derive(Default)]
struct Cells {
    bytes: Vec<u8>,
    has_words: bool,
    /// Whether other text follows.
    has_text: bool,
    /// Whether memory could not be read.
    has_unreadable: bool,
}

/// Returns the lines that begin with an offset of 4 to 16 digits.
fn lines_with_offset(text: &str) -> impl Iterator<Item = Line<'_>> {
    text.lines().map(str::trim_end).filter_map(|line| {
        let word = line.split_whitespace().next()?;
        let (offset, has_colon) =
            word.split_once(':').map_or((word, false), |(offset, _)| (offset, true));
        let rest = line.trim_start().strip_prefix(offset)?;
        let rest = if has_colon { rest.strip_prefix(':')? } else { rest };
        let plain = offset.strip_prefix("0x").unwrap_or(offset);
        let has_tick = plain.get(8..9) == Some("`");
        let digits = plain.len().saturating_sub(has_tick.into());
        let is_offset = (4..=16).contains(&digits)
            && number(plain, 16).is_some()
            && (rest.is_empty() || rest.starts_with(char::is_whitespace));
        let has_colon = has_colon || has_tick;
        is_offset.then_some(Line { whole: line.trim_start(), offset, has_colon, rest })
    })
}

/// Returns the lines of a dump in hexadecimal.
fn lines(text: &str) -> impl Iterator<Item = Line<'_>> {
    lines_with_offset(text).filter(|line| {
        let cells = line.cells();
        let has_cells = cells.has_unreadable || !cells.bytes.is_empty();
        line.rest.is_empty() || line.is_shortened() || has_cells
    })
}

/// Parses an offset. WinDbg writes a backtick in the middle of 16 digits.
fn number(offset: &str, radix: u32) -> Option<u64> {
    let offset = if radix == 16 { offset.strip_prefix("0x").unwrap_or(offset) } else { offset };
    offset.chars().filter(|one| *one != '`').try_fold(0u64, |sum, one| {
        sum.checked_mul(radix.into())?.checked_add(one.to_digit(radix)?.into())
    })
}

impl Line<'_> {
    /// Returns whether bytes are left out, as `diagipc decode` does.
    fn is_shortened(&self) -> bool {
        self.rest.trim_start().starts_with('…')
    }

    /// Returns the bytes. Characters follow after a wide gap. Without a colon after the offset, a
    /// gap of two may also be in the middle of 16 bytes.
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
            let ends = ends && !cells.bytes.is_empty();
            let word = word.split_whitespace().next().unwrap_or_default();
            cells.has_unreadable |= !ends && (word == "??" || word.starts_with("??-"));
            // WinDbg writes a sign between the halves of a line.
            let (first, second) = match word.split_once('-') {
                Some((first, second)) if first.len() == 2 && second.len() == 2 => (first, second),
                _ => (word, ""),
            };
            let digits = hex::decode(first).ok().filter(|bytes| !bytes.is_empty());
            let pair = digits.zip(hex::decode(second).ok());
            let Some((bytes, more)) = pair.filter(|_| !ends) else {
                cells.has_text = !word.is_empty();
                return cells;
            };
            cells.has_words |= bytes.len() > 1;
            cells.bytes.extend(bytes);
            cells.bytes.extend(more);
            rest = rest.trim_start().strip_prefix(word).unwrap_or_default();
        }
    }
}

/// Returns whether a line has a colon or text after its bytes, or the offsets follow each other.
pub(super) fn is_dump(text: &str) -> bool {
    let mut lines = lines(text);
    let Some(first) = lines.next() else { return false };
    let cells = first.cells();
    let is_followed = lines.next().is_some_and(|second| {
        RADIXES.into_iter().any(|radix| {
            let (before, after) = (number(first.offset, radix), number(second.offset, radix));
            let step = before.zip(after).and_then(|(before, after)| after.checked_sub(before));
            step.is_some_and(|step| step > 0 && u64::try_from(cells.bytes.len()) == Ok(step))
        })
    });
    is_followed || (!cells.bytes.is_empty() && (first.has_colon || cells.has_text))
}

pub(super) fn read_dump(text: &str) -> Result<Vec<u8>, PasteError> {
    let wrong = read_dump_in(text, 16);
    // The offsets of od are octal or decimal.
    let others = RADIXES.into_iter().skip(1).filter_map(|radix| read_dump_in(text, radix).ok());
    wrong.or_else(|error| others.into_iter().next().ok_or(error))
}

fn read_dump_in(text: &str, radix: u32) -> Result<Vec<u8>, PasteError> {
    let error = |part, message: &str| Err(PasteError::at(text, offset_of(text, part), message));
    refuse_star(text)?;
    let mut bytes = Vec::new();
    let mut expected: Option<u64> = None;
    for line in lines(text) {
        if line.is_shortened() {
            return error(line.rest, "this dump leaves out bytes; --json has all of them");
        }
        let cells = line.cells();
        if cells.has_unreadable {
            return error(line.whole, "?? is memory that the debugger could not read");
        }
        if cells.has_words && !line.has_colon {
            return error(
                line.rest,
                "groups of several bytes are in the order of the machine; hexdump -C and od -t x1 print bytes",
            );
        }
        let Some(offset) = number(line.offset, radix) else {
            return error(line.whole, "this offset is of another kind than those before it");
        };
        // A dump may begin anywhere, and another one may follow it.
        let begins = offset == 0 && !cells.bytes.is_empty();
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

fn refuse_star(text: &str) -> Result<(), PasteError> {
    let Some(star) = text.lines().find(|line| line.trim() == "*") else { return Ok(()) };
    let message = "* leaves out lines; hexdump -v, od -v and xxd print all of them";
    Err(PasteError::at(text, offset_of(text, star), message))
}

/// Returns whether the first line with an offset has characters in columns of four, as of `od -c`.
pub(super) fn is_characters(text: &str) -> bool {
    lines_with_offset(text).find(|line| !line.rest.trim().is_empty()).is_some_and(|line| {
        !line.has_colon && columns(line.rest).all(|column| character(column).is_some())
    })
}

/// Splits a line into columns of four characters. White space may be missing at the end.
fn columns(line: &str) -> impl Iterator<Item = &str> {
    let mut rest = line;
    core::iter::from_fn(move || {
        let end = rest.char_indices().nth(4).map_or(rest.len(), |(end, _)| end);
        let (column, after) = rest.split_at_checked(end)?;
        rest = after;
        (!column.is_empty()).then_some(column)
    })
}

/// Parses a column of `od -c` or `od -b`: `   D`, `  \n`, ` 012`.
fn character(column: &str) -> Option<u8> {
    let mut characters = column.chars();
    let cell: [char; 4] = core::array::from_fn(|_| characters.next().unwrap_or(' '));
    match cell {
        [' ', ' ', ' ', one] if one.is_ascii_graphic() || one == ' ' => u8::try_from(one).ok(),
        [' ', ' ', '\\', one] => {
            let escapes = [
                ('0', 0),
                ('a', 7),
                ('b', 8),
                ('t', 9),
                ('n', 10),
                ('v', 11),
                ('f', 12),
                ('r', 13),
            ];
            escapes.into_iter().find(|(sign, _)| *sign == one).map(|(_, byte)| byte)
        }
        [' ', digits @ ..] if digits.iter().all(|one| one.is_digit(8)) => {
            u8::from_str_radix(&digits.iter().collect::<String>(), 8).ok()
        }
        _ => None,
    }
}

/// Reads the output of `od -c`. The next offset shows whether spaces at a line's end are missing.
pub(super) fn read_characters(text: &str) -> Result<Vec<u8>, PasteError> {
    refuse_star(text)?;
    // In a wrong radix more spaces seem to be missing than in the right one.
    let mut best = read_characters_in(text, 8);
    for radix in [10, 16] {
        let added = best.as_ref().map_or(u64::MAX, |(_, added)| *added);
        let other = read_characters_in(text, radix);
        if other.as_ref().is_ok_and(|(_, more)| *more < added) {
            best = other;
        }
    }
    best.map(|(bytes, _)| bytes)
}

/// Returns the bytes, and how many of them are spaces that are not in the text.
fn read_characters_in(text: &str, radix: u32) -> Result<(Vec<u8>, u64), PasteError> {
    let error = |part, message: &str| Err(PasteError::at(text, offset_of(text, part), message));
    let (mut bytes, mut added, mut expected): (Vec<u8>, u64, Option<u64>) = (Vec::new(), 0, None);
    for line in lines_with_offset(text) {
        let Some(offset) = number(line.offset, radix) else {
            return error(line.whole, "this offset is of another kind than those before it");
        };
        let missing = expected.map_or(Some(0), |expected| offset.checked_sub(expected));
        let Some(missing) = missing.filter(|missing| *missing < MAX_LINE) else {
            return error(line.whole, "this offset does not follow from the line before it");
        };
        bytes.extend((0..missing).map(|_| b' '));
        added = added.saturating_add(missing);
        let before = bytes.len();
        for column in columns(line.rest) {
            match character(column) {
                Some(byte) => bytes.push(byte),
                None => {
                    return error(column, "expected four columns for a byte, such as \"  \\n\"");
                }
            }
        }
        let read = u64::try_from(bytes.len().saturating_sub(before)).unwrap_or(u64::MAX);
        expected = Some(offset.saturating_add(read));
    }
    Ok((bytes, added))
}

/// Returns whether the line begins a block of socat:
/// `> 2026/11/29 01:00:23.000883525  length=28 from=0 to=27`.
pub(super) fn is_socat_header(line: &str) -> bool {
    socat_header(line).is_some()
}

/// Returns whether the first side sent the block, its length, and the offset of its first byte.
fn socat_header(line: &str) -> Option<(bool, u64, u64)> {
    let mut words = line.split_whitespace();
    let is_first = match words.next()? {
        ">" => true,
        "<" => false,
        _ => return None,
    };
    words.next().filter(|date| is_date(date))?;
    let mut number = |name| words.find_map(|word| word.strip_prefix(name)?.parse().ok());
    Some((is_first, number("length=")?, number("from=")?))
}

pub(super) fn is_socat(text: &str) -> bool {
    text.lines().any(is_socat_header)
}

/// Reads the log of `socat -x`, with or without `-v`. Each block has its sender and its length.
pub(super) fn read_socat(text: &str) -> Result<Pasted, PasteError> {
    let error = |part, message: &str| Err(PasteError::at(text, offset_of(text, part), message));
    let mut turns = Vec::new();
    let mut expected = [None; 2];
    let mut lines = text.lines().peekable();
    while let Some(header) = lines.next() {
        let Some((is_first, length, from)) = socat_header(header) else { continue };
        let mut bytes = Vec::new();
        while let Some(line) = lines.next_if(|line| !is_socat_header(line) && line.trim() != "--") {
            let cells = Line { whole: line, offset: "", has_colon: true, rest: line }.cells();
            if cells.bytes.is_empty() && !line.trim().is_empty() {
                return error(
                    line,
                    "expected bytes in hexadecimal: socat -x prints them, -v alone does not",
                );
            }
            bytes.extend(cells.bytes);
        }
        let read = u64::try_from(bytes.len()).unwrap_or(u64::MAX);
        if read != length {
            return error(header, &format!("length={length}, but {read} bytes follow"));
        }
        let side = expected.get_mut(usize::from(is_first));
        let before = side.and_then(|side| side.replace(from.saturating_add(length)));
        // Another connection begins at 0.
        if let Some(before) = before.filter(|before| from != 0 && *before != from) {
            return error(
                header,
                &format!("from={from}, expected {before} after the bytes of this side"),
            );
        }
        turns::add(&mut turns, is_first, &bytes);
    }
    let mut pasted = Pasted::default();
    pasted.append(turns);
    Ok(pasted)
}
