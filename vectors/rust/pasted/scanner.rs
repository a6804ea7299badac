//! A place in a text.

use alloc::string::String;

use super::PasteError;

#[derive(Clone)]
pub(super) struct Scanner<'t> {
    text: &'t str,
    at: usize,
}

impl<'t> Scanner<'t> {
    pub(super) fn new(text: &'t str) -> Self {
        Self { text, at: 0 }
    }

    /// The byte of the text that comes next.
    pub(super) fn at(&self) -> usize {
        self.at
    }

    pub(super) fn rest(&self) -> &'t str {
        self.text.get(self.at..).unwrap_or_default()
    }

    pub(super) fn peek(&self) -> Option<char> {
        self.rest().chars().next()
    }

    pub(super) fn next(&mut self) -> Option<char> {
        let next = self.peek()?;
        self.skip(next.len_utf8());
        Some(next)
    }

    /// Whether this comes next, which is then skipped.
    pub(super) fn takes(&mut self, wanted: &str) -> bool {
        let is_next = self.rest().starts_with(wanted);
        if is_next {
            self.skip(wanted.len());
        }
        is_next
    }

    /// The characters that are such, up to so many.
    pub(super) fn take_while(&mut self, most: usize, is_it: impl Fn(char) -> bool) -> &'t str {
        let rest = self.rest();
        let len = rest.chars().take(most).take_while(|one| is_it(*one)).map(char::len_utf8).sum();
        self.skip(len);
        rest.get(..len).unwrap_or_default()
    }

    /// To what follows this, or to the end.
    pub(super) fn skip_past(&mut self, end: &str) {
        let rest = self.rest();
        self.skip(rest.find(end).map_or(rest.len(), |at| at.saturating_add(end.len())));
    }

    pub(super) fn error(&self, at: usize, message: impl Into<String>) -> PasteError {
        PasteError::at(self.text, at, message)
    }

    fn skip(&mut self, bytes: usize) {
        self.at = self.at.saturating_add(bytes);
    }

    /// Whether a comment comes next, which is then skipped.
    pub(super) fn skips_comment(&mut self) -> bool {
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

/// The text without `//` and `/* */`.
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
