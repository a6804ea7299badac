//! Parses pasted bytes: hexadecimal, a hex dump, an array, strings, base64.
//!
//! ```
//! use dotnet_diagnostics_ipc_vectors::pasted::PastedForm;
//!
//! for (text, form) in [
//!     ("444f 54 4e", PastedForm::Hexadecimal),
//!     ("00000000  44 4f 54 4e  |DOTN|", PastedForm::HexDump),
//!     ("const uint8_t magic[] = { 0x44, 79, 'T', 0x4e }; // C", PastedForm::Array),
//!     (r#"write(3, "DO\x54\116", 4) = 4"#, PastedForm::Strings),
//!     ("RE9UTg==", PastedForm::Base64),
//! ] {
//!     assert_eq!(PastedForm::of(text), form, "{text}");
//!     assert_eq!(form.read(text)?, b"DOTN", "{text}");
//! }
//! let error = PastedForm::Hexadecimal.read("44 4f\n54 4g").unwrap_err();
//! assert_eq!(error.to_string(), "line 2, column 5: 'g' is not a hexadecimal digit");
//! # Ok::<(), dotnet_diagnostics_ipc_vectors::pasted::PasteError>(())
//! ```

mod digits;
mod source_code;

use alloc::{
    string::{String, ToString as _},
    vec::Vec,
};
use core::fmt;

/// How bytes are written in a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum PastedForm {
    /// Digits. White space, `:`, `-` and `,` may separate bytes, or groups of them.
    Hexadecimal,
    /// Lines with an offset, as of `xxd`, `hexdump -C`, Wireshark, tcpdump and `diagipc decode`. Lines
    /// without an offset are passed over. Offsets must continue, or begin again with 0.
    HexDump,
    /// Numbers from -128 to 255 and characters, as in C, C#, Go, Java, JavaScript, Python or Rust:
    /// those in braces, else those in square brackets after a `=`, else all. `//` and `/* */` are comments.
    Array,
    /// The strings in a text, one after the other, with the escapes of C: of source code, or of strace.
    /// A text without quotes is one string.
    Strings,
    /// The standard alphabet or that for URLs, with its padding.
    Base64,
}

impl PastedForm {
    /// All of them.
    pub const ALL: [Self; 5] =
        [Self::Hexadecimal, Self::HexDump, Self::Array, Self::Strings, Self::Base64];

    /// The form of a text, by the characters in it. Text that is not in any form counts as
    /// hexadecimal, and so do digits with up to three wrong ones.
    pub fn of(text: &str) -> Self {
        let has = |signs: &[char]| text.contains(signs);
        if digits::is_dump(text) {
            return Self::HexDump;
        }
        // The quotes in a comment are not of a string.
        let code = if has(&['{']) { source_code::without_comments(text) } else { text.to_string() };
        if code.contains('"') {
            Self::Strings
        } else if has(&['{']) {
            Self::Array
        } else if has(&['\'', '\\']) {
            Self::Strings
        } else if digits::is_hexadecimal(text) {
            Self::Hexadecimal
        } else if has(&['[', ',']) || text.contains("0x") || text.contains("0X") {
            Self::Array
        } else if digits::is_base64(text) {
            Self::Base64
        } else {
            Self::Hexadecimal
        }
    }

    /// The bytes of a text in this form.
    ///
    /// # Errors
    /// What is wrong in the text, and where. No part of it is left out.
    pub fn read(self, text: &str) -> Result<Vec<u8>, PasteError> {
        match self {
            Self::Hexadecimal => digits::read_hexadecimal(text),
            Self::HexDump => digits::read_dump(text),
            Self::Array => source_code::read_array(text),
            Self::Strings => source_code::read_strings(text),
            Self::Base64 => digits::read_base64(text),
        }
    }
}

/// `hexadecimal`, `a hex dump`, `an array`, `strings` or `base64`.
impl fmt::Display for PastedForm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Hexadecimal => "hexadecimal",
            Self::HexDump => "a hex dump",
            Self::Array => "an array",
            Self::Strings => "strings",
            Self::Base64 => "base64",
        })
    }
}

/// Text that is not bytes in a form.
///
/// ```
/// use dotnet_diagnostics_ipc_vectors::pasted::PastedForm;
///
/// let error = PastedForm::Array.read("{ 0x44,\n  0x1ff }").unwrap_err();
/// assert_eq!((error.line, error.column), (2, 3));
/// assert_eq!(error.message, "0x1ff is not a byte: it is not from -128 to 255");
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PasteError {
    /// The line, from 1.
    pub line: usize,
    /// The character in the line, from 1.
    pub column: usize,
    /// What is wrong there.
    pub message: String,
}

impl PasteError {
    /// At this byte of the text.
    fn at(text: &str, offset: usize, message: impl Into<String>) -> Self {
        let before = text.get(..offset).unwrap_or(text);
        let line = before.rsplit('\n').next().unwrap_or_default();
        Self {
            line: before.matches('\n').count().saturating_add(1),
            column: line.chars().count().saturating_add(1),
            message: message.into(),
        }
    }
}

/// Where `part`, a slice of `text`, is in it.
fn offset_of(text: &str, part: &str) -> usize {
    (part.as_ptr() as usize).saturating_sub(text.as_ptr() as usize)
}

impl fmt::Display for PasteError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}, column {}: {}", self.line, self.column, self.message)
    }
}

impl core::error::Error for PasteError {}

#[cfg(test)]
mod tests;
