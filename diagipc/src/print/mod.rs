//! Generate a codec for another language: the [`Grammar`] in a format that it or its tools read.
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

/// The longest line of a printed table.
const WIDTH: usize = 140;
/// A dissector: an engine and the grammar as its table.
const DISSECTOR: &str = include_str!("dotnet_ipc.lua.jinja");

/// The formats of a [`Grammar`].
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
    /// `spec/grammar.json`: all of it.
    Json,
    /// `c/dotnet_ipc.h`: a reader, a writer and a client in C99 and C++98, without the 2019 draft.
    C,
    /// `vectors/dotnetipc/dotnetipc.go`: a codec in Go, without the 2019 draft.
    Go,
    /// `spec/dotnet_ipc.lua`: a dissector for Wireshark.
    Lua,
}

impl Format {
    /// The text of a file in this format.
    ///
    /// # Errors
    /// If the format does not support something in the grammar. It supports all of this crate's.
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

/// A [`Grammar`] that a format does not support: it was changed by hand.
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
    /// The name of a value in an object, and what follows it.
    name: fn(&str) -> String,
}

const JSON: Language =
    Language { list: ['[', ']'], name: |name| format!("{}: ", Value::from(name)) };
const LUA: Language = Language { list: ['{', '}'], name: lua_name };

/// Returns the grammar as readable text: what fits into a line is on one.
fn written(grammar: &Grammar, language: &Language) -> String {
    // Cannot fail: every key is text.
    let value = serde_json::to_value(grammar).unwrap_or_default();
    let mut text = String::new();
    language.write(&value, 0, &mut text);
    text
}

impl Language {
    fn write(&self, value: &Value, depth: usize, out: &mut String) {
        let line = self.in_a_line(value);
        // The outermost is never one line, so diffs stay small.
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

    /// Returns the brackets of a list or an object, and its items with their names.
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

/// Numbers are keys in brackets; all other keys of the grammar are valid names in Lua.
fn lua_name(key: &str) -> String {
    if key.chars().all(|letter| letter.is_ascii_digit()) {
        return format!("[{key}] = ");
    }
    format!("{key} = ")
}

/// The number of bytes on a line of a dump.
const BYTES_PER_LINE: usize = 16;
/// The lines shown for one part; further bytes are only counted.
const LINES: usize = 4;

/// One item: a line of what it is, and its fields.
pub fn explained(out: &mut dyn Write, item: &Item, input: &[u8]) -> io::Result<()> {
    let hint = if item.lacks_request() { " (--request COMMAND names it)" } else { "" };
    writeln!(out, "{}{hint}", item.title())?;
    parts(out, &item.parts(input), item.bytes_in(input), item.offset)?;
    for remark in item.remarks(input) {
        writeln!(out, "  {remark}")?;
    }
    writeln!(out)
}

/// The fields of one message or piece, then the undecoded bytes.
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

/// `44 4f 54`.
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
