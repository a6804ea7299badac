//! Removes what surrounds bytes in a text: Markdown, and the start of log lines.

use alloc::{string::String, vec::Vec};

use super::{PasteError, dumps};

/// A text without its surroundings, in the lines of the original.
pub(super) struct Undecorated {
    pub(super) text: String,
    /// The number of characters left out at the start of each line.
    left_out: Vec<usize>,
}

impl Undecorated {
    /// Removes from a text the quote signs of Markdown, the fences and everything outside of them,
    /// and times, levels and labels at the start of lines.
    pub(super) fn new(text: &str) -> Self {
        let mut undecorated = Self { text: String::new(), left_out: Vec::new() };
        let is_fence = |line: &str| {
            let line = unquoted(line).trim_start();
            line.starts_with("```") || line.starts_with("~~~")
        };
        let has_fences = text.lines().filter(|line| is_fence(line)).count() > 1;
        let mut is_inside = !has_fences;
        for (nth, line) in text.split('\n').enumerate() {
            if nth > 0 {
                undecorated.text.push('\n');
            }
            let plain = if has_fences && is_fence(line) {
                is_inside = !is_inside;
                ""
            } else if is_inside {
                without_log_prefix(unquoted(line))
            } else {
                ""
            };
            let left_out = line.strip_suffix(plain).unwrap_or_default();
            undecorated.left_out.push(left_out.chars().count());
            undecorated.text.push_str(plain);
        }
        undecorated
    }

    /// Returns the error with its place in the original.
    pub(super) fn in_original(&self, mut error: PasteError) -> PasteError {
        let left_out = self.left_out.get(error.line.saturating_sub(1)).copied().unwrap_or_default();
        error.column = error.column.saturating_add(left_out);
        error
    }
}

/// Removes the quote signs of Markdown from a line; in a line of socat they name the sender.
fn unquoted(mut line: &str) -> &str {
    while let Some(rest) = line.trim_start().strip_prefix('>') {
        if dumps::is_socat_header(line.trim()) {
            return line.trim_start();
        }
        line = rest.strip_prefix(' ').unwrap_or(rest);
    }
    line
}

/// Returns the message of a log line. After a time, a level or a label, the words before the
/// message are removed too.
fn without_log_prefix(line: &str) -> &str {
    let (mut rest, mut is_log) = (line, false);
    loop {
        let word = first_word(rest);
        let after = rest.trim_start().strip_prefix(word).unwrap_or_default();
        let next = first_word(after);
        let (taken, of_log) = if let Some(group) = bracketed(rest) {
            (group, is_stamp(inner(group), "") || is_level(inner(group)))
        } else if is_date(word) && is_time(next) {
            (through(rest, next), true)
        } else if is_month(word) && is_time(first_word(after_word(after))) {
            (through(rest, first_word(after_word(after))), true)
        } else {
            (through(rest, word), is_stamp(word, next) || is_level(word) || is_label(word))
        };
        if word.is_empty() || !(of_log || is_log && is_filler(taken.trim_start())) {
            return if is_log { rest.trim_start() } else { rest };
        }
        is_log = true;
        rest = rest.strip_prefix(taken).unwrap_or_default();
    }
}

fn first_word(text: &str) -> &str {
    text.split_whitespace().next().unwrap_or_default()
}

fn after_word(text: &str) -> &str {
    text.trim_start().strip_prefix(first_word(text)).unwrap_or_default()
}

/// Returns the start of a text up to the end of a word in it.
fn through<'t>(text: &'t str, word: &str) -> &'t str {
    let end = super::offset_of(text, word).saturating_add(word.len());
    text.get(..end).unwrap_or(text)
}

/// Returns `[INFO]`, with white space before it.
fn bracketed(text: &str) -> Option<&str> {
    let (open, close) = match text.trim_start().chars().next()? {
        '[' => ('[', ']'),
        '(' => ('(', ')'),
        _ => return None,
    };
    let (group, _) = text.split_once(close)?;
    let is_plain = !group.contains([',', '"', '\'']) && group.matches(open).count() == 1;
    is_plain.then(|| text.get(..group.len().saturating_add(1)).unwrap_or(text))
}

fn inner(group: &str) -> &str {
    group.trim_matches(|one: char| one.is_whitespace() || "[]()".contains(one))
}

/// Returns whether a word is a time that cannot be bytes: with its date, with parts of a second,
/// before a level, or the seconds since a start.
fn is_stamp(word: &str, next: &str) -> bool {
    let (date, time) = word.split_once(['T', ' ']).unwrap_or(("", word));
    let is_seconds = word.split_once('.').is_some_and(|(whole, parts)| {
        let digits = |text: &str| !text.is_empty() && text.bytes().all(|one| one.is_ascii_digit());
        digits(whole) && digits(parts)
    });
    let is_plain = !time.contains(['.', ',', 'Z', '+']);
    is_seconds || (is_time(time) && (is_date(date) || !is_plain || is_level(inner(next))))
}

/// Returns whether a word is a date such as `2026-11-27` or `2026/11/27`.
pub(super) fn is_date(word: &str) -> bool {
    let mut parts = word.split(['-', '/']);
    [4, 2, 2].into_iter().all(|len| {
        let is_number =
            |part: &str| part.len() == len && part.bytes().all(|one| one.is_ascii_digit());
        parts.next().is_some_and(is_number)
    }) && parts.next().is_none()
}

/// Returns whether a word is a time such as `10:00:00`, with or without a fraction and a zone.
pub(super) fn is_time(word: &str) -> bool {
    let (time, rest) = word.split_at_checked(8).unwrap_or((word, ""));
    let mut parts = time.split(':');
    let is_two = |part: &str| part.len() == 2 && part.bytes().all(|one| one.is_ascii_digit());
    (0..3).all(|_| parts.next().is_some_and(is_two))
        && parts.next().is_none()
        && rest.chars().all(|one| one.is_ascii_digit() || ".,:Z+-".contains(one))
        && !rest.starts_with([':', '-'])
}

/// Returns whether a word is a month, as in `Nov 27 10:00:00 host program[123]:`.
fn is_month(word: &str) -> bool {
    ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"]
        .contains(&word)
}

fn is_level(word: &str) -> bool {
    const LEVELS: [&str; 16] = [
        "trace",
        "trce",
        "debug",
        "dbg",
        "dbug",
        "verbose",
        "info",
        "information",
        "notice",
        "warn",
        "warning",
        "error",
        "fail",
        "crit",
        "critical",
        "fatal",
    ];
    let word = word.trim_end_matches([':', '|']);
    LEVELS.iter().any(|level| word.eq_ignore_ascii_case(level))
}

/// Returns whether a word is a label, such as `Payload:`; hexadecimal digits may be an offset.
fn is_label(word: &str) -> bool {
    let name = word.strip_suffix(':').unwrap_or_default();
    name.starts_with(|one: char| one.is_ascii_alphabetic()) && is_filler(name)
}

/// Returns whether a word is neither digits of bytes nor source code.
fn is_filler(word: &str) -> bool {
    let is_arrow = word.chars().all(|one| "<->=|:".contains(one));
    let is_name = |one: char| one.is_ascii_alphanumeric() || "._-=:/|[]()<>".contains(one);
    let is_digits = |one: char| one.is_ascii_hexdigit() || ":-".contains(one);
    is_arrow
        || bracketed(word).is_some()
        || (word.len() > 2
            && word.starts_with(|one: char| one.is_ascii_alphabetic())
            && word.chars().all(is_name)
            && !word.chars().all(is_digits))
}
