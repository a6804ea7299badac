//! The files of a recording: an exchange script, and the conversation in words.

use std::io::Write;
use std::path::Path;

use anyhow::Context as _;
use diagipc::annotated;
use diagipc::record::{Direction, Event, EventKind, RecordedConnection, Recording, script_file};
use dotnet_diagnostics_ipc::vectors::annotated::Splitter;
use dotnet_diagnostics_ipc::vectors::script::Ending;

use crate::commands::output_file::create_new;

/// Writes the files of a recording, under a new name, and reports it.
pub(crate) fn write(
    recording: &Recording,
    directory: &Path,
    name: &str,
    out: &mut dyn Write,
) -> anyhow::Result<()> {
    let Some(file) = script_file(recording, name) else {
        writeln!(out, "no connection; nothing was recorded")?;
        return Ok(());
    };
    let stem = file
        .scripts
        .first()
        .and_then(|script| script.name.strip_suffix("-client"))
        .unwrap_or("recording")
        .to_owned();
    let paths = (1..=u32::MAX).map(|nth| {
        let stem = if nth == 1 { stem.clone() } else { format!("{stem}-{nth}") };
        (directory.join(format!("{stem}.json")), directory.join(format!("{stem}.txt")))
    });
    // Complete before it gets its name: an existing file is whole.
    let mut script = serde_json::to_vec_pretty(&file)?;
    script.push(b'\n');
    let mut words = Vec::new();
    describe(recording, &mut words)?;
    for (json, text) in paths {
        let mut written = match create_new(&json) {
            Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => continue,
            created => created.with_context(|| json.display().to_string())?,
        };
        // Newly created too: existing files and targets of symbolic links are not changed.
        let mut described = match create_new(&text) {
            Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => {
                drop(written);
                std::fs::remove_file(&json).with_context(|| json.display().to_string())?;
                continue;
            }
            created => created.with_context(|| text.display().to_string())?,
        };
        written.write_all(&script).with_context(|| json.display().to_string())?;
        described.write_all(&words).with_context(|| text.display().to_string())?;
        writeln!(out, "wrote {} and {}", json.display(), text.display())?;
        break;
    }
    Ok(())
}

/// The conversation, in words.
fn describe(recording: &Recording, out: &mut dyn Write) -> anyhow::Result<()> {
    writeln!(out, "Time, connection, side, event")?;
    writeln!(out)?;
    let mut events = recording.events.iter().peekable();
    while let Some(Event { at, connection, seen }) = events.next() {
        let what = match seen {
            EventKind::Opened => "opened".to_owned(),
            EventKind::Piece { from, bytes, fds } if fds.is_empty() => {
                let (mut pieces, mut len) = (1_usize, bytes.len());
                while let Some(more) =
                    events.peek().and_then(|next| plain_piece(next, *connection, *from))
                {
                    events.next();
                    pieces += 1;
                    len += more;
                }
                let pieces =
                    if pieces > 1 { format!(" in {pieces} pieces") } else { String::new() };
                format!("{}: {len} bytes{pieces}", side(*from))
            }
            EventKind::Piece { from, bytes, fds } => {
                format!("{}: {} bytes with a descriptor: {fds:?}", side(*from), bytes.len())
            }
            EventKind::Ended { by, how: Ending::HalfClose } => {
                format!("{}: sends no more", side(*by))
            }
            EventKind::Ended { by, how: Ending::Close } => format!("{}: closed", side(*by)),
            EventKind::Ended { by, how: Ending::Reset } => {
                format!("{}: closed, with bytes unread", side(*by))
            }
        };
        writeln!(out, "{:>9.3} s  {connection:>3}  {what}", at.as_secs_f64())?;
    }
    let connections = RecordedConnection::all(recording);
    for (nth, (connection, [client, runtime])) in
        connections.iter().zip(&recording.totals).enumerate()
    {
        writeln!(out)?;
        writeln!(
            out,
            "Connection {nth}: {} bytes of the client, {} of the runtime",
            client.bytes, runtime.bytes
        )?;
        writeln!(out)?;
        items(connection.request(), Direction::Client, connection, out)?;
        let surplus = connection.client.len().saturating_sub(connection.request_len);
        if surplus > 0 {
            writeln!(out, "{surplus} bytes of the client after its request")?;
            writeln!(out)?;
        }
        items(&connection.runtime, Direction::Server, connection, out)?;
    }
    Ok(())
}

/// How many bytes, if it is a piece of that side without a descriptor.
fn plain_piece(event: &Event, on: usize, of: Direction) -> Option<usize> {
    match &event.seen {
        EventKind::Piece { from, bytes, fds }
            if event.connection == on && *from == of && fds.is_empty() =>
        {
            Some(bytes.len())
        }
        _ => None,
    }
}

fn items(
    bytes: &[u8],
    from: Direction,
    connection: &RecordedConnection,
    out: &mut dyn Write,
) -> anyhow::Result<()> {
    let request = if from == Direction::Server { connection.command } else { None };
    for item in Splitter::new(bytes, Some(from), request) {
        annotated::item(out, &item, bytes)?;
    }
    Ok(())
}

const fn side(side: Direction) -> &'static str {
    match side {
        Direction::Client => "client",
        Direction::Server => "runtime",
    }
}
