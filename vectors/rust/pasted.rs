//! Parses pasted bytes: hexadecimal, dumps, logs of programs, arrays, strings, base64, captures.
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
//!     ("> 10:00:00.125 DEBUG sent: 44 4f 54 4e", PastedForm::Hexadecimal),
//! ] {
//!     assert_eq!(PastedForm::of(text), form, "{text}");
//!     assert_eq!(form.read(text)?.bytes, b"DOTN", "{text}");
//! }
//! let error = PastedForm::Hexadecimal.read("44 4f\n54 4g").unwrap_err();
//! assert_eq!(error.to_string(), "line 2, column 5: 'g' is not a hexadecimal digit");
//! # Ok::<(), dotnet_diagnostics_ipc_vectors::pasted::PasteError>(())
//! ```

mod capture;
mod decorations;
mod digits;
mod dumps;
mod source_code;
mod turns;

pub use capture::{is_capture, read_capture};

use alloc::{
    string::{String, ToString as _},
    vec::Vec,
};
use core::fmt;

use crate::Direction;
use decorations::Undecorated;

/// The form of bytes in a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum PastedForm {
    /// Hexadecimal digits. White space, `:`, `-` and `,` may separate bytes, or groups of them.
    Hexadecimal,
    /// Lines with an offset, as printed by `xxd`, `hexdump -C`, `od -t x1`, WinDbg's `db`,
    /// Wireshark, tcpdump and `diagipc decode`. Lines without an offset are skipped. Offsets must
    /// continue, or begin again with 0.
    HexDump,
    /// Lines with an offset and four columns for each character or octal number, as by `od -c`.
    CharacterDump,
    /// Blocks of `socat -x`, with or without `-v`, which name their sender.
    SocatLog,
    /// `<Buffer 44 4f>`, as Node prints it.
    NodeBuffer,
    /// Numbers from -128 to 255 and characters, as in C, C#, Go, Java, JavaScript, Python or Rust:
    /// those in braces, else those in square brackets after a `=`, else all. `//` and `/* */`
    /// comments are skipped.
    Array,
    /// The strings in a text, one after the other, with the escapes of C. They are from source code
    /// or from strace, which may have cut them. A text without quotes is one string.
    Strings,
    /// The standard alphabet of base64 or its alphabet for URLs, with padding.
    Base64,
}

impl PastedForm {
    /// All forms.
    pub const ALL: [Self; 8] = [
        Self::Hexadecimal,
        Self::HexDump,
        Self::CharacterDump,
        Self::SocatLog,
        Self::NodeBuffer,
        Self::Array,
        Self::Strings,
        Self::Base64,
    ];

    /// Recognises the form of a text by its characters. Text in no form counts as hexadecimal, and
    /// so do digits with up to three wrong characters.
    ///
    /// Quote signs and fences of Markdown, and times, levels and labels at the start of lines are
    /// ignored, as in [`read`](Self::read).
    pub fn of(text: &str) -> Self {
        Self::of_plain(&Undecorated::new(text).text)
    }

    fn of_plain(text: &str) -> Self {
        let has = |signs: &[char]| text.contains(signs);
        if dumps::is_socat(text) {
            return Self::SocatLog;
        }
        if text.contains(source_code::BUFFER) {
            return Self::NodeBuffer;
        }
        if dumps::is_characters(text) {
            return Self::CharacterDump;
        }
        if dumps::is_dump(text) {
            return Self::HexDump;
        }
        // Quotes in a comment do not begin a string.
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

    /// Returns the bytes of a text in this form.
    ///
    /// # Errors
    /// Returns what is wrong in the text, and where. Wrong parts are never skipped.
    pub fn read(self, text: &str) -> Result<Pasted, PasteError> {
        let undecorated = Undecorated::new(text);
        let text = undecorated.text.as_str();
        let read = match self {
            Self::Hexadecimal => digits::read_hexadecimal(text).map(Pasted::from),
            Self::HexDump => dumps::read_dump(text).map(Pasted::from),
            Self::CharacterDump => dumps::read_characters(text).map(Pasted::from),
            Self::SocatLog => dumps::read_socat(text),
            Self::NodeBuffer => source_code::read_buffers(text),
            Self::Array => source_code::read_array(text).map(Pasted::from),
            Self::Strings => source_code::read_strings(text),
            Self::Base64 => digits::read_base64(text).map(Pasted::from),
        };
        read.map_err(|error| undecorated.in_original(error))
    }
}

/// The bytes of a text or a capture, with what the source shows about them.
///
/// ```
/// use dotnet_diagnostics_ipc_vectors::pasted::PastedForm;
///
/// let cut = PastedForm::Strings.read(r#"read(3, "DOT"..., 131072) = 28"#)?;
/// assert_eq!(cut.bytes, b"DOT");
/// assert_eq!(cut.gaps(), ["after byte 3: 25 bytes that strace has cut"]);
/// # Ok::<(), dotnet_diagnostics_ipc_vectors::pasted::PasteError>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Pasted {
    /// All bytes.
    pub bytes: Vec<u8>,
    /// The parts of the bytes, in order; no message continues from one part to the next.
    pub parts: Vec<PastedPart>,
    is_closed: bool,
}

/// A part of the bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PastedPart {
    /// The number of bytes.
    pub len: usize,
    /// The sender, if it is known.
    pub sender: Option<Direction>,
    /// What is left out after the part.
    pub gap: Option<String>,
}

impl Pasted {
    /// Returns what is left out, and where.
    pub fn gaps(&self) -> Vec<String> {
        let mut end = 0usize;
        let gaps = self.parts.iter().filter_map(|part| {
            end = end.saturating_add(part.len);
            part.gap.as_ref().map(|gap| alloc::format!("after byte {end}: {gap}"))
        });
        gaps.collect()
    }

    /// Appends bytes to the last part, if they belong there.
    fn push(&mut self, bytes: &[u8], sender: Option<Direction>) {
        self.bytes.extend_from_slice(bytes);
        let is_open = !self.is_closed;
        match self.parts.last_mut().filter(|last| is_open && last.sender == sender) {
            Some(last) => last.len = last.len.saturating_add(bytes.len()),
            None => self.parts.push(PastedPart { len: bytes.len(), sender, gap: None }),
        }
        self.is_closed = false;
    }

    /// Ends a part, with what is left out after it.
    fn close(&mut self, gap: Option<String>) {
        if let Some(last) = self.parts.last_mut().filter(|_| gap.is_some()) {
            last.gap = gap;
        }
        self.is_closed = true;
    }
}

/// Creates one part without a sender.
impl From<Vec<u8>> for Pasted {
    fn from(bytes: Vec<u8>) -> Self {
        let part = PastedPart { len: bytes.len(), sender: None, gap: None };
        Self { bytes, parts: alloc::vec![part], is_closed: false }
    }
}

/// Reads text in the form that it seems to have.
///
/// ```
/// use dotnet_diagnostics_ipc_vectors::pasted::{PastedForm, read};
///
/// let (form, read) = read("hello!");
/// assert_eq!(form, PastedForm::Hexadecimal);
/// let tried = "'h' is not a hexadecimal digit, and it looks like no dump, log of socat, buffer of Node, array, strings or base64";
/// assert_eq!(read.unwrap_err().message, tried);
/// ```
pub fn read(text: &str) -> (PastedForm, Result<Pasted, PasteError>) {
    let form = PastedForm::of(text);
    let read = form.read(text).map_err(|mut error| {
        if form == PastedForm::Hexadecimal {
            error.message.push_str(", and it looks like no dump, log of socat, buffer of Node, array, strings or base64");
        }
        error
    });
    (form, read)
}

/// Returns the text of a file without control characters, and without its byte order mark; `None`
/// if it is not text.
pub fn text_of(file: &[u8]) -> Option<&str> {
    let is_control = |one: &u8| *one == 127 || (*one < 32 && !b"\t\n\r".contains(one));
    let text = core::str::from_utf8(file).ok().filter(|_| !file.iter().any(is_control))?;
    Some(text.strip_prefix('\u{feff}').unwrap_or(text))
}

/// Writes `hexadecimal`, `a hex dump`, `a dump of od -c`, `a log of socat`, `a buffer of Node`, `an
/// array`, `strings` or `base64`.
impl fmt::Display for PastedForm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Hexadecimal => "hexadecimal",
            Self::HexDump => "a hex dump",
            Self::CharacterDump => "a dump of od -c",
            Self::SocatLog => "a log of socat",
            Self::NodeBuffer => "a buffer of Node",
            Self::Array => "an array",
            Self::Strings => "strings",
            Self::Base64 => "base64",
        })
    }
}

/// The error for text that cannot be read in a form.
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
    /// The number of the line, from 1.
    pub line: usize,
    /// The number of the character in the line, from 1.
    pub column: usize,
    /// What is wrong there.
    pub message: String,
}

impl PasteError {
    /// Creates an error at this byte of the text.
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

/// Returns the offset in `text` of `part`, which is a slice of it.
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
