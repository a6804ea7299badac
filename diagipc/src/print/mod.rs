//! Generates a codec for another language, or input for its tools, from the [`Grammar`].
//!
//! ```
//! use diagipc::print::Format;
//! use dotnet_diagnostics_ipc_vectors::grammar::Grammar;
//!
//! let json = Format::Json.print(&Grammar::of_this_crate())?;
//! assert!(json.contains(r#""fields": [{ "name": "sessionId", "type": "ulong" }]"#));
//! # Ok::<(), diagipc::print::PrintError>(())
//! ```

mod c_header;
mod go_package;

use std::fmt;
use std::io::{self, Write};

use dotnet_diagnostics_ipc_vectors::explain::Item;
use dotnet_diagnostics_ipc_vectors::grammar::Grammar;
use dotnet_diagnostics_ipc_vectors::{Annotation, TypedCodec};
use minijinja::Environment;
use minijinja::syntax::SyntaxConfig;
use minijinja::value::Serde;
use serde::Serialize;
use serde_json::Value;

/// The maximum line length of a printed table.
const WIDTH: usize = 140;
/// The template of a Wireshark dissector: an engine and the grammar as its table.
const DISSECTOR: &str = include_str!("dotnet_ipc.lua.jinja");

/// A format in which a [`Grammar`] can be printed.
///
/// ```
/// use diagipc::print::Format;
/// use dotnet_diagnostics_ipc_vectors::grammar::Grammar;
///
/// let header = Format::C.print(&Grammar::of_this_crate())?;
/// assert!(header.starts_with("/*\n * dotnet_ipc.h: "));
/// # Ok::<(), diagipc::print::PrintError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Format {
    /// The whole grammar, as in `spec/grammar.json`.
    Json,
    /// A codec and client in C99 and C++98, without the 2019 draft, as in `c/dotnet_ipc.h`.
    C,
    /// A codec in Go, without the 2019 draft, as in `vectors/dotnetipc/dotnetipc.go`.
    Go,
    /// A dissector for Wireshark, as in `spec/dotnet_ipc.lua`.
    Lua,
}

impl Format {
    /// Returns the text of a file in this format.
    ///
    /// # Errors
    /// Returns an error if the format does not support something in the grammar. Every format
    /// supports all of this crate's grammar.
    pub fn print(self, grammar: &Grammar) -> Result<String, PrintError> {
        match self {
            Self::Json => Ok(written(grammar, &JSON) + "\n"),
            Self::C => c_header::header(grammar),
            Self::Go => go_package::package(grammar),
            Self::Lua => {
                filled(DISSECTOR, minijinja::context! { grammar => written(grammar, &LUA) })
            }
        }
    }
}

/// The error for a [`Grammar`] that was changed by hand and that a format does not support.
///
/// ```
/// use diagipc::print::Format;
/// use dotnet_diagnostics_ipc_vectors::grammar::Grammar;
///
/// let mut grammar = Grammar::of_this_crate();
/// grammar.header.magic = "no digits".into();
/// assert!(Format::C.print(&grammar).is_err());
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PrintError(String);

fn error(text: impl Into<String>) -> PrintError {
    PrintError(text.into())
}

fn bytes_of(digits: &str) -> Result<Vec<u8>, PrintError> {
    hex::decode(digits).map_err(|_| error(format!("{digits} is not hexadecimal")))
}

impl fmt::Display for PrintError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "not a grammar: {}", self.0)
    }
}

impl std::error::Error for PrintError {}

fn filled(template: &str, page: impl Serialize) -> Result<String, PrintError> {
    render(template, Serde(page)).map_err(|unfilled| error(unfilled.to_string()))
}

fn render(template: &str, page: Serde<impl Serialize>) -> Result<String, minijinja::Error> {
    let mut jinja = Environment::new();
    jinja.set_syntax(SyntaxConfig::builder().keep_trailing_newline(true).build()?);
    go_package::add_filters(&mut jinja);
    jinja.render_str(template, page)
}

struct Language {
    list: [char; 2],
    /// Formats the key of a value in an object, with what follows it.
    name: fn(&str) -> String,
}

const JSON: Language =
    Language { list: ['[', ']'], name: |name| format!("{}: ", Value::from(name)) };
const LUA: Language = Language { list: ['{', '}'], name: lua_name };

/// Returns the grammar as readable text. A value that fits on one line is printed on one line.
fn written(grammar: &Grammar, language: &Language) -> String {
    // This cannot fail, because every key is a string.
    let value = serde_json::to_value(grammar).unwrap_or_default();
    let mut text = String::new();
    language.write(&value, 0, &mut text);
    text
}

impl Language {
    fn write(&self, value: &Value, depth: usize, out: &mut String) {
        let line = self.in_a_line(value);
        // The outermost value is never on one line, which keeps diffs small.
        if depth > 0 && line.chars().count() + depth * 2 <= WIDTH {
            out.push_str(&line);
            return;
        }
        let ([first, last], entries) = match value {
            Value::Array(_) | Value::Object(_) => self.entries(value),
            _ => return out.push_str(&line),
        };
        let indent = |depth: usize| format!("\n{}", "  ".repeat(depth));
        out.push(first);
        for (nth, (name, item)) in entries.into_iter().enumerate() {
            out.push_str(if nth == 0 { "" } else { "," });
            out.push_str(&indent(depth + 1));
            out.push_str(&name);
            self.write(item, depth + 1, out);
        }
        out.push_str(&indent(depth));
        out.push(last);
    }

    /// Returns the brackets of a list or an object, and its items with their keys.
    fn entries<'v>(&self, value: &'v Value) -> ([char; 2], Vec<(String, &'v Value)>) {
        match value {
            Value::Array(items) => {
                (self.list, items.iter().map(|item| (String::new(), item)).collect())
            }
            Value::Object(object) => {
                let entry = |(key, item): (&String, &'v Value)| ((self.name)(key), item);
                (['{', '}'], object.iter().map(entry).collect())
            }
            _ => (['{', '}'], Vec::new()),
        }
    }

    fn in_a_line(&self, value: &Value) -> String {
        let ([first, last], entries) = match value {
            Value::Array(_) | Value::Object(_) => self.entries(value),
            other => return other.to_string(),
        };
        let item = |(name, item): &(String, &Value)| format!("{name}{}", self.in_a_line(item));
        let items = entries.iter().map(item).collect::<Vec<_>>().join(", ");
        let space = if value.is_object() && !items.is_empty() { " " } else { "" };
        format!("{first}{space}{items}{space}{last}")
    }
}

/// Returns the name of a key in Lua. Numbers go in brackets; all other keys are valid names.
fn lua_name(key: &str) -> String {
    if key.chars().all(|letter| letter.is_ascii_digit()) {
        return format!("[{key}] = ");
    }
    format!("{key} = ")
}

/// The number of bytes on a line of a hex dump.
const BYTES_PER_LINE: usize = 16;
/// The maximum number of lines shown for one part. Further bytes are only counted.
const LINES: usize = 4;

/// Prints one item: a line with its description, and its fields.
pub fn explained(out: &mut dyn Write, item: &Item, input: &[u8]) -> io::Result<()> {
    let hint = if item.lacks_request() { " (--request COMMAND names it)" } else { "" };
    writeln!(out, "{}{hint}", item.title())?;
    parts(out, &item.parts(input), item.bytes_in(input), item.offset)?;
    for remark in item.remarks(input) {
        writeln!(out, "  {remark}")?;
    }
    writeln!(out)
}

/// Prints the fields of one message or piece, then the undecoded bytes.
pub fn explained_fields(out: &mut dyn Write, subject: TypedCodec, bytes: &[u8]) -> io::Result<()> {
    parts(out, &subject.parts(bytes), bytes, 0)
}

fn parts(out: &mut dyn Write, parts: &[Annotation], bytes: &[u8], base: usize) -> io::Result<()> {
    let width = parts.iter().map(|part| part.field.len()).max().unwrap_or(0).min(56);
    for Annotation { offset, len, field, text, .. } in parts {
        let mut at = base.saturating_add(*offset);
        let bytes = bytes.get(*offset..offset.saturating_add(*len)).unwrap_or_default();
        for (nth, line) in bytes.chunks(BYTES_PER_LINE).take(LINES).enumerate() {
            let digits = digits(line);
            match nth {
                0 => writeln!(out, "  {at:06x}  {digits:<47}  {field:<width$}  {text}")?,
                _ => writeln!(out, "  {at:06x}  {digits}")?,
            }
            at = at.saturating_add(line.len());
        }
        let more = bytes.len().saturating_sub(BYTES_PER_LINE * LINES);
        if more > 0 {
            writeln!(out, "  {at:06x}  … {more} more bytes")?;
        }
    }
    Ok(())
}

/// Formats bytes as `44 4f 54`.
fn digits(bytes: &[u8]) -> String {
    let mut digits = String::with_capacity(bytes.len() * 3);
    for (nth, digit) in hex::encode(bytes).chars().enumerate() {
        if nth > 0 && nth % 2 == 0 {
            digits.push(' ');
        }
        digits.push(digit);
    }
    digits
}
