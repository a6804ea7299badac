//! Reads arrays and strings as in source code.

use alloc::{format, string::String, vec::Vec};

use super::{PasteError, Pasted};

/// Reads an array of numbers and characters.
pub(super) fn read_array(text: &str) -> Result<Vec<u8>, PasteError> {
    let code = without_comments(text);
    let brackets = [('{', '}'), ('[', ']')].into_iter().find(|(open, _)| code.contains(*open));
    let mut scanner = Scanner::new(text);
    if brackets.is_some_and(|(open, _)| open == '[') && code.contains('=') {
        // In `[u8; 2] = [1, 2]` the type is not the array.
        scanner.skip_past("=");
    }
    let mut bytes = Vec::new();
    // These are the positions of the open brackets.
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

/// Reads a character in quotes, such as `'D'`.
fn quoted(scanner: &mut Scanner<'_>) -> Result<u8, PasteError> {
    let (at, mut bytes) = (scanner.at(), Vec::new());
    scanner.next();
    character(scanner, &mut bytes)?;
    match bytes.as_slice() {
        [byte] if scanner.takes("'") => Ok(*byte),
        _ => Err(scanner.error(at, "not a character of one byte in quotes")),
    }
}

/// Reads a number, possibly with the suffix of an unsigned byte.
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
    let (digits, radix) = match plain.strip_prefix("0x").or_else(|| plain.strip_prefix("0X")) {
        Some(digits) => (digits, 16),
        None => (plain, 10),
    };
    if digits.is_empty() || !digits.chars().all(|one| one.is_digit(radix)) {
        let is_without_prefix = plain.chars().all(|one| one.is_ascii_hexdigit());
        let hint = if is_without_prefix { "; hexadecimal begins with 0x" } else { "" };
        return Err(scanner.error(at, format!("{word} is not a number{hint}")));
    }
    if radix == 10 && digits.starts_with('0') && digits.trim_start_matches('0').len() > 1 {
        let message = format!("{word} is octal in C and decimal elsewhere: write it without the 0");
        return Err(scanner.error(at, message));
    }
    let sign = if is_negative { "-" } else { "" };
    let number = i32::from_str_radix(&format!("{sign}{digits}"), radix).ok();
    let byte = number.filter(|number| (-128..=255).contains(number)).map(|number| number & 0xFF);
    byte.and_then(|byte| u8::try_from(byte).ok()).ok_or_else(|| {
        scanner.error(at, format!("{sign}{word} is not a byte: it is not from -128 to 255"))
    })
}

/// Reads the strings in a text. A string that strace has cut leaves a gap.
pub(super) fn read_strings(text: &str) -> Result<Pasted, PasteError> {
    let (mut pasted, mut bytes) = (Pasted::default(), Vec::new());
    let Some(quote) = ["\"", "'"].into_iter().find(|quote| text.contains(quote)) else {
        let mut scanner = Scanner::new(text.trim_end());
        scanner.take_while(usize::MAX, char::is_whitespace);
        while scanner.peek().is_some() {
            character(&mut scanner, &mut bytes)?;
        }
        pasted.push(&bytes, None);
        return Ok(pasted);
    };
    let mut scanner = Scanner::new(text);
    // Both are for this line: the number of bytes, and whether a string was cut before.
    let (mut on_line, mut was_cut) = (0, false);
    loop {
        let before = scanner.rest();
        scanner.skip_past(quote);
        if scanner.rest().is_empty() && !before.contains(quote) {
            return Ok(pasted);
        }
        let skipped = before.len().saturating_sub(scanner.rest().len());
        if before.get(..skipped).is_some_and(|skipped| skipped.contains('\n')) {
            (on_line, was_cut) = (0, false);
        }
        let begin = scanner.at().saturating_sub(1);
        is_of_bytes(text, begin, &scanner)?;
        while !scanner.takes(quote) {
            if matches!(scanner.peek(), None | Some('\n')) {
                return Err(scanner.error(begin, "this string does not end on its line"));
            }
            character(&mut scanner, &mut bytes)?;
        }
        pasted.push(&bytes, None);
        on_line = bytes.len().saturating_add(on_line);
        bytes.clear();
        if scanner.takes("...") {
            // With another string on the line, the result is not for this one.
            let line = scanner.rest().lines().next().unwrap_or_default();
            let is_only = !was_cut && !line.contains(quote);
            let result = line.rsplit_once(" = ").filter(|_| is_only);
            let result = result.and_then(|(_, result)| result.trim().parse::<usize>().ok());
            let missing = result.and_then(|result| result.checked_sub(on_line));
            pasted.close(Some(match missing {
                Some(missing) => format!("{missing} bytes that strace has cut"),
                None => "what strace has cut".into(),
            }));
            was_cut = true;
        }
    }
}

/// Reads a `Buffer` as Node prints it, without the bytes after the first 50.
pub(super) fn read_buffers(text: &str) -> Result<Pasted, PasteError> {
    let mut pasted = Pasted::default();
    let mut scanner = Scanner::new(text);
    while scanner.rest().contains(BUFFER) {
        scanner.skip_past(BUFFER);
        let at = scanner.at();
        let inside = scanner.take_while(usize::MAX, |one| one != '>');
        if !scanner.takes(">") {
            return Err(scanner.error(at, "this <Buffer does not end with >"));
        }
        let (digits, more) =
            inside.split_once("...").map_or((inside, None), |(digits, more)| (digits, Some(more)));
        let read = super::digits::read_hexadecimal(digits);
        let before = text.get(..at).unwrap_or_default();
        let bytes = read.map_err(|error| {
            let column = error.column.saturating_sub(1);
            PasteError::at(text, before.len().saturating_add(column), error.message)
        })?;
        pasted.push(&bytes, None);
        if let Some(more) = more {
            pasted.close(Some(format!("{} that Node has left out", more.trim())));
        }
    }
    Ok(pasted)
}

/// The start of a buffer as Node prints it.
pub(super) const BUFFER: &str = "<Buffer ";

/// Refuses a string after a prefix that may change its meaning.
fn is_of_bytes(text: &str, quote: usize, scanner: &Scanner<'_>) -> Result<(), PasteError> {
    let before = text.get(..quote).unwrap_or_default();
    let name = before.rsplit(|one: char| !one.is_alphanumeric()).next().unwrap_or_default();
    if matches!(name, "" | "b" | "B" | "u8") || name.chars().all(|one| one.is_ascii_digit()) {
        return Ok(());
    }
    let message = format!("a string with {name} before it may have other characters or no escapes");
    Err(scanner.error(quote.saturating_sub(name.len()), message))
}

/// Reads one character, which may be escaped.
fn character(scanner: &mut Scanner<'_>, bytes: &mut Vec<u8>) -> Result<(), PasteError> {
    let at = scanner.at();
    match scanner.next() {
        Some('\\') => escaped(scanner, at, bytes),
        Some(one) => {
            bytes.extend_from_slice(one.encode_utf8(&mut [0; 4]).as_bytes());
            Ok(())
        }
        None => Ok(()),
    }
}

/// Reads an escape after its backslash.
fn escaped(scanner: &mut Scanner<'_>, at: usize, bytes: &mut Vec<u8>) -> Result<(), PasteError> {
    let octal = scanner.take_while(3, |one| one.is_digit(8));
    if !octal.is_empty() {
        let byte = u8::from_str_radix(octal, 8);
        bytes.push(byte.map_err(|_| scanner.error(at, format!("\\{octal} is more than a byte")))?);
        return Ok(());
    }
    let next = scanner.next();
    let simple = SIMPLE_ESCAPES.iter().find(|(sign, _)| next == Some(*sign));
    bytes.push(match (simple, next) {
        (Some((_, byte)), _) => *byte,
        (None, Some('x')) => {
            let digits = scanner.take_while(2, |one| one.is_ascii_hexdigit());
            u8::from_str_radix(digits, 16)
                .map_err(|_| scanner.error(at, "\\x without hexadecimal digits"))?
        }
        // The string goes on in the next line.
        (None, Some('\n')) => return Ok(()),
        (None, Some(one @ ('u' | 'U'))) => {
            let message =
                format!("\\{one} is a character and not a byte: write its bytes with \\x");
            return Err(scanner.error(at, message));
        }
        (None, Some(one)) => {
            return Err(scanner.error(at, format!("\\{one} is not an escape")));
        }
        (None, None) => return Err(scanner.error(at, "the text ends with a backslash")),
    });
    Ok(())
}

/// The escapes of one character that stand for one byte.
#[rustfmt::skip]
const SIMPLE_ESCAPES: [(char, u8); 12] = [
    ('a', 7), ('b', 8), ('t', b'\t'), ('n', b'\n'), ('v', 11), ('f', 12), ('r', b'\r'), ('e', 27),
    ('\\', b'\\'), ('\'', b'\''), ('"', b'"'), ('?', b'?'),
];

/// A cursor over text that tracks its position.
struct Scanner<'t> {
    text: &'t str,
    at: usize,
}

impl<'t> Scanner<'t> {
    fn new(text: &'t str) -> Self {
        Self { text, at: 0 }
    }

    /// Returns the position of the next byte.
    fn at(&self) -> usize {
        self.at
    }

    fn rest(&self) -> &'t str {
        self.text.get(self.at..).unwrap_or_default()
    }

    fn peek(&self) -> Option<char> {
        self.rest().chars().next()
    }

    fn next(&mut self) -> Option<char> {
        let next = self.peek()?;
        self.skip(next.len_utf8());
        Some(next)
    }

    /// Skips this text if it comes next; returns whether it did.
    fn takes(&mut self, wanted: &str) -> bool {
        let is_next = self.rest().starts_with(wanted);
        if is_next {
            self.skip(wanted.len());
        }
        is_next
    }

    /// Takes the next characters that match, at most so many.
    fn take_while(&mut self, most: usize, is_it: impl Fn(char) -> bool) -> &'t str {
        let rest = self.rest();
        let len = rest.chars().take(most).take_while(|one| is_it(*one)).map(char::len_utf8).sum();
        self.skip(len);
        rest.get(..len).unwrap_or_default()
    }

    /// Skips to the end of this text, or to the end.
    fn skip_past(&mut self, end: &str) {
        let rest = self.rest();
        self.skip(rest.find(end).map_or(rest.len(), |at| at.saturating_add(end.len())));
    }

    fn error(&self, at: usize, message: impl Into<String>) -> PasteError {
        PasteError::at(self.text, at, message)
    }

    fn skip(&mut self, bytes: usize) {
        self.at = self.at.saturating_add(bytes);
    }

    /// Skips a comment if it comes next; returns whether it did.
    fn skips_comment(&mut self) -> bool {
        if self.takes("//") {
            self.skip_past("\n");
        } else if self.takes("/*") {
            self.skip_past("*/");
        } else {
            return false;
        }
        true
    }
}

/// Returns the text without its `//` and `/* */` comments.
pub(super) fn without_comments(text: &str) -> String {
    let (mut scanner, mut left) = (Scanner::new(text), String::new());
    loop {
        if !scanner.skips_comment() {
            let Some(next) = scanner.next() else { return left };
            left.push(next);
            left.push_str(scanner.take_while(usize::MAX, |one| one != '/'));
        }
    }
}
