//! The annotated dump for a terminal: each field's offset, bytes, name and meaning.

use std::io::{self, Write};

use dotnet_diagnostics_ipc_vectors::explain::Item;
use dotnet_diagnostics_ipc_vectors::{Annotation, TypedCodec};

/// Bytes on a line.
const WIDTH: usize = 16;
/// The lines shown for one part; further bytes are only counted.
const LINES: usize = 4;

/// One item: a line of what it is, and its fields.
pub fn item(out: &mut dyn Write, item: &Item, input: &[u8]) -> io::Result<()> {
    let hint = if item.lacks_request() { " (--request COMMAND names it)" } else { "" };
    writeln!(out, "{}{hint}", item.title())?;
    parts(out, &item.parts(input), item.bytes_in(input), item.offset)?;
    for remark in item.remarks(input) {
        writeln!(out, "  {remark}")?;
    }
    writeln!(out)
}

/// The fields of one message or piece, then the undecoded bytes.
pub fn fields(out: &mut dyn Write, subject: TypedCodec, bytes: &[u8]) -> io::Result<()> {
    parts(out, &subject.parts(bytes), bytes, 0)
}

fn parts(out: &mut dyn Write, parts: &[Annotation], bytes: &[u8], base: usize) -> io::Result<()> {
    let width = parts.iter().map(|part| part.field.len()).max().unwrap_or(0).min(56);
    for Annotation { offset, len, field, text, .. } in parts {
        let mut at = base.saturating_add(*offset);
        let bytes = bytes.get(*offset..offset.saturating_add(*len)).unwrap_or_default();
        for (nth, line) in bytes.chunks(WIDTH).take(LINES).enumerate() {
            let digits = digits(line);
            match nth {
                0 => writeln!(out, "  {at:06x}  {digits:<47}  {field:<width$}  {text}")?,
                _ => writeln!(out, "  {at:06x}  {digits}")?,
            }
            at = at.saturating_add(line.len());
        }
        let more = bytes.len().saturating_sub(WIDTH * LINES);
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
