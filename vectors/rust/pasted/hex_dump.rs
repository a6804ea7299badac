//! Lines with an offset and bytes.

use alloc::{format, string::String, vec::Vec};

use super::PasteError;

/// A line of a dump.
struct Line<'t> {
    /// Where it is in the text.
    at: usize,
    offset: u64,
    has_colon: bool,
    /// What follows the offset.
    rest: &'t str,
    /// Where that is.
    rest_at: usize,
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
    let mut end = 0usize;
    text.split_inclusive('\n').filter_map(move |whole| {
        let begin = end;
        end = end.saturating_add(whole.len());
        let line = whole.trim_start();
        let at = begin.saturating_add(whole.len().saturating_sub(line.len()));
        let line = line.trim_end();
        let word = line.split_whitespace().next()?;
        let digits = word.split_once(':').map_or(word, |(digits, _)| digits);
        let has_colon = word.len() > digits.len();
        let begin = digits.len().saturating_add(usize::from(has_colon));
        let rest = line.get(begin..).unwrap_or_default();
        let plain = digits.strip_prefix("0x").unwrap_or(digits);
        let is_offset = (4..=16).contains(&plain.len())
            && plain.chars().all(|one| one.is_ascii_hexdigit())
            && (rest.is_empty() || rest.starts_with(char::is_whitespace));
        let offset = u64::from_str_radix(plain, 16).ok().filter(|_| is_offset)?;
        let found = Line { at, offset, has_colon, rest, rest_at: at.saturating_add(begin) };
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
            let gap = rest.len().saturating_sub(word.len());
            let ends = match gap {
                0 | 1 => false,
                2 => self.has_colon || cells.bytes.len() != 8,
                _ => true,
            };
            let word = word.split_whitespace().next().unwrap_or_default();
            let digits = hex::decode(word).ok().filter(|bytes| !bytes.is_empty());
            let is_first = cells.bytes.is_empty();
            let Some(bytes) = digits.filter(|_| is_first || !ends) else {
                cells.has_text = !word.is_empty();
                return cells;
            };
            cells.has_words |= bytes.len() > 1;
            cells.bytes.extend(bytes);
            rest = rest.get(gap.saturating_add(word.len())..).unwrap_or_default();
        }
    }
}

/// Whether a line has a colon or text after its bytes, or the second offset follows from the first.
pub(super) fn is_one(text: &str) -> bool {
    let mut lines = lines(text);
    let Some(first) = lines.next() else { return false };
    let cells = first.cells();
    let is_followed = lines.next().is_some_and(|second| {
        let step = second.offset.checked_sub(first.offset);
        step.is_some_and(|step| step > 0 && u64::try_from(cells.bytes.len()) == Ok(step))
    });
    is_followed || (!cells.bytes.is_empty() && (first.has_colon || cells.has_text))
}

pub(super) fn read(text: &str) -> Result<Vec<u8>, PasteError> {
    let mut bytes = Vec::new();
    let mut expected: Option<u64> = None;
    let stars = text.split_inclusive('\n').scan(0usize, |end, line| {
        let at = *end;
        *end = end.saturating_add(line.len());
        Some((at, line))
    });
    if let Some((at, _)) = stars.into_iter().find(|(_, line)| line.trim() == "*") {
        let message = "* leaves out lines; hexdump -v and xxd print all of them";
        return Err(PasteError::at(text, at, message));
    }
    for line in lines(text) {
        if line.is_shortened() {
            let message = "this dump leaves out bytes; --json has all of them";
            return Err(PasteError::at(text, line.rest_at, message));
        }
        let cells = line.cells();
        if cells.has_words && !line.has_colon {
            let message = "groups of several bytes are in the order of the machine; hexdump -C and od -t x1 print bytes";
            return Err(PasteError::at(text, line.rest_at, message));
        }
        // A dump may begin anywhere, and another one may follow it.
        if let Some(expected) = expected.filter(|expected| line.offset != *expected) {
            if line.offset != 0 || cells.bytes.is_empty() {
                return Err(PasteError::at(text, line.at, out_of_order(line.offset, expected)));
            }
        }
        let len = u64::try_from(cells.bytes.len()).unwrap_or(u64::MAX);
        expected = Some(line.offset.saturating_add(len));
        bytes.extend(cells.bytes);
    }
    if bytes.is_empty() {
        return Err(PasteError::at(text, 0, "no line begins with an offset and bytes"));
    }
    Ok(bytes)
}

fn out_of_order(offset: u64, expected: u64) -> String {
    format!("the offset is {offset:#x}, expected {expected:#x} after the bytes before it")
}
