//! Escapes text from outside for a terminal: anything that would move a cursor, change a colour, or
//! reverse the direction of a line.

use std::io::{self, Write};

use serde::{Serialize, Serializer as _};
use serde_json::ser::{Formatter, PrettyFormatter, Serializer};

/// Escapes invisible characters of the text: `\u{9b}`, `\u{202e}`, `\n`. Everything else is
/// unchanged.
pub(crate) fn printable(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    for character in text.chars() {
        if is_printable(character) {
            shown.push(character);
        } else {
            shown.extend(character.escape_default());
        }
    }
    shown
}

/// Prepares a target's text for a line of a terminal: shortens it, and escapes characters that
/// would move the cursor.
pub(crate) fn plain(text: &str) -> String {
    printable(&shortened(text))
}

/// Shortens text for a line, with a mark.
pub(crate) fn shortened(text: &str) -> String {
    const MOST: usize = 1000;
    match text.char_indices().nth(MOST) {
        Some((end, _)) => {
            format!(
                "{}… ({} more characters)",
                text.get(..end).unwrap_or_default(),
                text.chars().count() - MOST
            )
        }
        None => text.to_owned(),
    }
}

/// Escapes like [`printable`], but keeps line breaks.
pub(crate) fn printable_lines(text: &str) -> String {
    text.lines().map(printable).collect::<Vec<_>>().join("\n")
}

/// Writes a note to standard error, which may be closed.
pub(crate) fn say(text: &str) {
    let _ = writeln!(io::stderr(), "{}", printable_lines(text));
}

/// Says what the runs could not end, unless a report lists it already.
pub(crate) fn say_leftovers() {
    for text in diagipc::leftovers() {
        say(&format!("diagipc: {}", plain(&text)));
    }
}

/// Returns whether Rust's `Debug` prints the character, or it is a quote or a combining mark: no
/// controls, no format characters such as U+202E, no private or unassigned characters.
fn is_printable(character: char) -> bool {
    let is_quoted = matches!(character, '\'' | '"' | '\\');
    is_quoted || character.is_alphanumeric() || character.escape_debug().len() == 1
}

/// Writes JSON and a newline. Invisible characters are escaped; those above U+FFFF as two escapes.
pub(crate) fn json(value: &impl Serialize, out: &mut dyn Write) -> io::Result<()> {
    let mut serializer = Serializer::with_formatter(&mut *out, Printable(PrettyFormatter::new()));
    value.serialize(&mut serializer)?;
    writeln!(out)
}

/// Writes an array as [`json`] does; its items are created one at a time.
pub(crate) fn json_array(
    items: impl Iterator<Item: Serialize>,
    out: &mut dyn Write,
) -> io::Result<()> {
    let mut serializer = Serializer::with_formatter(&mut *out, Printable(PrettyFormatter::new()));
    serializer.collect_seq(items)?;
    writeln!(out)
}

struct Printable(PrettyFormatter<'static>);

macro_rules! as_pretty {
    ($($name:ident($($argument:ident: $Type:ty),*);)*) => {$(
        fn $name<W: ?Sized + Write>(&mut self, writer: &mut W $(, $argument: $Type)*) -> io::Result<()> {
            self.0.$name(writer $(, $argument)*)
        }
    )*};
}

impl Formatter for Printable {
    as_pretty! {
        begin_array();
        end_array();
        begin_array_value(first: bool);
        end_array_value();
        begin_object();
        end_object();
        begin_object_key(first: bool);
        begin_object_value();
        end_object_value();
    }

    fn write_string_fragment<W: ?Sized + Write>(
        &mut self,
        writer: &mut W,
        fragment: &str,
    ) -> io::Result<()> {
        let mut rest = fragment;
        while let Some((at, character)) =
            rest.char_indices().find(|(_, character)| !is_printable(*character))
        {
            let (before, after) = rest.split_at_checked(at).unwrap_or((rest, ""));
            writer.write_all(before.as_bytes())?;
            for unit in character.encode_utf16(&mut [0; 2]) {
                write!(writer, "\\u{unit:04x}")?;
            }
            rest = after.get(character.len_utf8()..).unwrap_or_default();
        }
        writer.write_all(rest.as_bytes())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn printable_escapes_control_characters() {
        assert_eq!(
            printable("plain \"text\" \\ 'of' ÄÖ 中文 🔑 e\u{301}"),
            "plain \"text\" \\ 'of' ÄÖ 中文 🔑 e\\u{301}"
        );
        assert_eq!(
            printable("a\x1b[31m\u{9b}2J\u{202e}b\u{2028}\r\nc\u{feff}\u{200b}"),
            r"a\u{1b}[31m\u{9b}2J\u{202e}b\u{2028}\r\nc\u{feff}\u{200b}"
        );
        assert_eq!(printable_lines("first\x07\nsecond"), "first\\u{7}\nsecond");
    }

    #[test]
    fn json_escapes_control_characters() {
        let value = serde_json::json!({ "k\u{9b}": ["a\u{202e}b", "\u{e0001}", "\n\t\"", "plain Ä 🔑"], "empty": {}, "n": 1 });
        let mut bytes = Vec::new();
        json(&value, &mut bytes).unwrap();
        let text = String::from_utf8(bytes).unwrap();
        assert_eq!(serde_json::from_str::<serde_json::Value>(&text).unwrap(), value);
        assert!(
            text.contains(r"a\u202eb")
                && text.contains(r"\udb40\udc01")
                && text.contains("plain Ä 🔑"),
            "{text}"
        );
        assert!(text.contains("\"k\\u009b\": [\n    \"a"), "{text}");
    }
}
