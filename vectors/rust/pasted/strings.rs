//! The strings in a text.

use alloc::{format, vec::Vec};

use super::PasteError;
use super::escapes::character;
use super::scanner::Scanner;

pub(super) fn read(text: &str) -> Result<Vec<u8>, PasteError> {
    let mut bytes = Vec::new();
    let Some(quote) = ["\"", "'"].into_iter().find(|quote| text.contains(quote)) else {
        let mut scanner = Scanner::new(text.trim_end());
        scanner.take_while(usize::MAX, char::is_whitespace);
        while scanner.peek().is_some() {
            character(&mut scanner, &mut bytes)?;
        }
        return Ok(bytes);
    };
    let mut scanner = Scanner::new(text);
    loop {
        let before = scanner.rest();
        scanner.skip_past(quote);
        if scanner.rest().is_empty() && !before.contains(quote) {
            return Ok(bytes);
        }
        let begin = scanner.at().saturating_sub(1);
        is_of_bytes(text, begin, &scanner)?;
        while !scanner.takes(quote) {
            if matches!(scanner.peek(), None | Some('\n')) {
                return Err(scanner.error(begin, "this string does not end on its line"));
            }
            character(&mut scanner, &mut bytes)?;
        }
        if scanner.rest().starts_with("...") {
            let message = "the string was cut here; strace -s 65536 prints all of it";
            return Err(scanner.error(scanner.at(), message));
        }
    }
}

/// What stands before a quote may change what is in the string.
fn is_of_bytes(text: &str, quote: usize, scanner: &Scanner<'_>) -> Result<(), PasteError> {
    let before = text.get(..quote).unwrap_or_default();
    let name = before.rsplit(|one: char| !one.is_alphanumeric()).next().unwrap_or_default();
    if matches!(name, "" | "b" | "B" | "u8") || name.chars().all(|one| one.is_ascii_digit()) {
        return Ok(());
    }
    let message = format!("a string with {name} before it may have other characters or no escapes");
    Err(scanner.error(quote.saturating_sub(name.len()), message))
}
