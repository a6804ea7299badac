//! Explains a trace file for `diagipc decode`: whether it is whole, its events, and what was lost.

use std::io::{self, Read, Write};
use std::path::Path;

use dotnet_diagnostics_ipc::continuation::StreamStart;
use dotnet_diagnostics_ipc_vectors::nettrace::{Stream, StreamState};
use serde_json::{Value, json};

use crate::commands::Outcome;
use crate::commands::printable::{json_array, printable};

/// The number of bytes that tell a trace from messages.
pub(crate) const FRONT_BYTES: u64 = 32;

/// Returns whether a file of this name that begins like this is a trace, or should be one.
pub(crate) fn is_trace(name: &str, front: &[u8]) -> bool {
    front.starts_with(b"Nettrace")
        || StreamStart::recognise(front) == StreamStart::Netperf
        || Path::new(name).extension().is_some_and(|extension| extension == "nettrace")
}

/// Reads a trace piece by piece and prints what is in it. A whole trace that lost nothing is good.
pub(crate) fn explain(
    front: &[u8],
    rest: impl Read,
    as_json: bool,
    out: &mut dyn Write,
) -> anyhow::Result<Outcome> {
    let mut stream = Stream::default();
    let (mut size, mut piece) = (0, vec![0; 1 << 16]);
    let mut source = front.chain(rest);
    loop {
        match source.read(&mut piece) {
            Ok(0) => break,
            Ok(count) => {
                size += count as u64;
                stream.feed(piece.get(..count).unwrap_or_default());
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error.into()),
        }
    }
    let is_netperf = StreamStart::recognise(front) == StreamStart::Netperf;
    let state = if is_netperf { StreamState::Unknown } else { stream.state() };
    let format = if is_netperf { "netperf" } else { "nettrace" };
    if as_json {
        json_array([as_item(&stream, state, format, size)].into_iter(), out)?;
    } else {
        print(&stream, state, format, size, out)?;
    }
    let is_well = matches!(state, StreamState::Whole { lost: 0 });
    Ok(if is_well { Outcome::Well } else { Outcome::Faulty })
}

fn print(
    stream: &Stream,
    state: StreamState,
    format: &str,
    size: u64,
    out: &mut dyn Write,
) -> io::Result<()> {
    let version = stream.version().map(|version| format!(" {version}")).unwrap_or_default();
    let judged = match state {
        StreamState::Whole { lost: 0 } => "complete".to_owned(),
        StreamState::Whole { lost } => format!("whole, but the runtime dropped {lost} events"),
        StreamState::Cut => "cut: it has no end".to_owned(),
        StreamState::Broken { at, .. } => format!("not a trace from byte {at} on"),
        StreamState::Unknown if format == "netperf" => {
            "the format before nettrace, of .NET Core 2 and previews of 3.0: it is not read"
                .to_owned()
        }
        StreamState::Unknown if stream.version() == Some(6) => {
            "it has its end; the events of this format are not read".to_owned()
        }
        StreamState::Unknown => "a newer format: it is not read".to_owned(),
    };
    writeln!(out, "{format}{version}, {size} bytes, {judged}")?;
    if let StreamState::Broken { at, expected } = state {
        let found = match stream.found() {
            [] => "the end".to_owned(),
            found => format!("{} \"{}\"", hex::encode(found), found.escape_ascii()),
        };
        writeln!(out, "  at byte {at} ({at:#x}) expected {expected}, found {found}")?;
    }
    if !matches!(state, StreamState::Whole { .. }) && stream.lost() > 0 {
        writeln!(out, "  until there the runtime dropped {} events", stream.lost())?;
    }
    for (nth, (name, events)) in stream.providers().enumerate() {
        if nth == 0 {
            writeln!(out, "{:>11}  provider", "events")?;
        }
        writeln!(out, "{events:>11}  {}", printable(name))?;
    }
    Ok(())
}

/// Returns the item of `--json`.
fn as_item(stream: &Stream, state: StreamState, format: &str, size: u64) -> Value {
    let providers =
        stream.providers().map(|(name, events)| json!({ "name": name, "events": events }));
    let mut item = json!({
        "offset": 0,
        "size": size,
        "kind": "trace",
        "format": format,
        "version": stream.version(),
        "state": match state {
            StreamState::Whole { .. } => "whole",
            StreamState::Cut => "cut",
            StreamState::Broken { .. } => "broken",
            StreamState::Unknown => "unknown",
        },
        "lost": stream.lost(),
        "providers": providers.collect::<Vec<_>>(),
    });
    if let StreamState::Broken { at, expected } = state {
        item["error"] =
            json!({ "at": at, "expected": expected, "found": hex::encode(stream.found()) });
    }
    item
}
