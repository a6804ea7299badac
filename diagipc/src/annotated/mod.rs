//! The annotated dump: each field's offset, bytes, name and meaning.

use std::io::{self, Write};

use dotnet_diagnostics_ipc::continuation::StreamStart;
use dotnet_diagnostics_ipc::message::{Message, server::ErrorReply};
use dotnet_diagnostics_ipc::vectors::{Annotation, ReadAs};

pub mod items;

use items::{Item, Kind};

/// Bytes on a line.
const WIDTH: usize = 16;
/// The lines shown for one part; further bytes are only counted.
const LINES: usize = 4;

/// The name of a value that is a string in JSON.
pub fn name(word: &impl serde::Serialize) -> serde_json::Result<String> {
    Ok(serde_json::to_value(word)?.as_str().unwrap_or_default().to_owned())
}

/// One item: a line of what it is, and its fields.
pub fn item(out: &mut dyn Write, item: &Item, bytes: &[u8]) -> io::Result<()> {
    let kind = match item.kind {
        Kind::Request => "request",
        Kind::Reply => "reply to",
        Kind::Error => "error after",
        Kind::Advertise => "advertise",
        Kind::Continuation => "continuation of",
        Kind::Unknown => "unknown message",
        Kind::Piece => "",
    };
    write!(out, "{kind}")?;
    if let Some(piece) = &item.piece {
        write!(out, "{}", name(piece)?)?;
    }
    match (&item.command, item.kind) {
        (Some(command), _) => write!(out, " {command}")?,
        (None, Kind::Continuation) => write!(out, " an unknown request")?,
        (None, Kind::Reply | Kind::Error) => {
            write!(out, " an unknown request (--request COMMAND names it)")?;
        }
        _ => {}
    }
    if let Some(code) = &item.code {
        write!(out, ", {code}")?;
    }
    write!(out, ", {} bytes at offset {}", item.size, item.offset)?;
    writeln!(
        out,
        "{}",
        if item.canonical || item.error.is_some() { "" } else { ", not canonical" }
    )?;
    if let Some(subject) = item.subject {
        fields(out, subject, bytes, item.offset)?;
    } else {
        part(out, bytes, item.offset, "", &format_of(bytes))?;
    }
    if item.kind == Kind::Error && says_success(bytes) {
        writeln!(out, "  still a failure: .NET 6 uses this code for a failed dump (F-127)")?;
    }
    if let Some(problem) = &item.limits {
        let answer = problem.answer.map(|answer| format!(" with {answer}")).unwrap_or_default();
        writeln!(out, "  a server refuses this{answer}: {} ({})", problem.message, problem.fault)?;
    }
    if let Some(problem) = &item.error {
        writeln!(out, "  error: {} ({})", problem.message, problem.fault)?;
        if let (Some(answer), Some(false)) =
            (problem.answer, item.subject.map(|subject| subject.from_server))
        {
            writeln!(out, "  a server answers {answer}")?;
        }
    }
    writeln!(out)
}

/// The format of a stream, if it is known.
fn format_of(stream: &[u8]) -> String {
    match StreamStart::recognise(stream) {
        StreamStart::Nettrace => "a stream of events: nettrace, up to version 5".to_owned(),
        StreamStart::NettraceBlocks { major, minor } => {
            format!("a stream of events: nettrace, version {major}.{minor}")
        }
        StreamStart::Netperf => "a stream of events: netperf".to_owned(),
        _ => String::new(),
    }
}

/// Whether the code of an error means success.
fn says_success(error: &[u8]) -> bool {
    let error = Message::decode(error).and_then(|message| ErrorReply::from_message(&message, None));
    error.is_ok_and(|error| error.hresult.is_success())
}

/// The fields of one message or piece, then the undecoded bytes.
pub fn fields(out: &mut dyn Write, subject: ReadAs, bytes: &[u8], base: usize) -> io::Result<()> {
    let notes = subject.annotate(bytes);
    let width = notes.list().iter().map(|note| note.field.len()).max().unwrap_or(0).min(56);
    let mut end = 0;
    for Annotation { offset, len, field, text, .. } in notes.list() {
        end = offset.saturating_add(*len);
        part(
            out,
            bytes.get(*offset..end).unwrap_or_default(),
            base.saturating_add(*offset),
            &format!("{field:<width$}"),
            text,
        )?;
    }
    let unread = bytes.get(end..).unwrap_or_default();
    if !unread.is_empty() {
        part(out, unread, base.saturating_add(end), "", "not decoded")?;
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

fn part(
    out: &mut dyn Write,
    bytes: &[u8],
    offset: usize,
    field: &str,
    text: &str,
) -> io::Result<()> {
    let mut at = offset;
    for (nth, line) in bytes.chunks(WIDTH).take(LINES).enumerate() {
        let digits = digits(line);
        match nth {
            0 => writeln!(out, "  {at:06x}  {digits:<47}  {field}  {text}")?,
            _ => writeln!(out, "  {at:06x}  {digits}")?,
        }
        at += line.len();
    }
    let shown = at.saturating_sub(offset);
    if shown < bytes.len() {
        writeln!(out, "  {at:06x}  … {} more bytes", bytes.len().saturating_sub(shown))?;
    }
    Ok(())
}
