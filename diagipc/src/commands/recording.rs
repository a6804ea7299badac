//! The files of a recording: an exchange script, and the conversation in words.

use std::io::Write;
use std::path::Path;

use anyhow::Context as _;
use diagipc::print::explained;
use diagipc::record::{Direction, Recording, script_file};
use dotnet_diagnostics_ipc::command::Command;
use dotnet_diagnostics_ipc::header::Header;
use dotnet_diagnostics_ipc_vectors::explain::Splitter;
use dotnet_diagnostics_ipc_vectors::player::{Event, EventKind, TurnDirection};
use dotnet_diagnostics_ipc_vectors::script::Ending;

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
    let mut events = recording.conversation.passed().peekable();
    while let Some((Event { at, connection, by, did }, bytes)) = events.next() {
        let side = side(*by);
        let what = match did {
            EventKind::Opened => "opened".to_owned(),
            EventKind::Said { fds, .. } if fds.is_empty() => {
                let (mut pieces, mut len) = (1_usize, bytes.len());
                let is_more = |next: &(&Event, &[u8])| {
                    let is_plain =
                        matches!(&next.0.did, EventKind::Said { fds, .. } if fds.is_empty());
                    is_plain && (next.0.connection, next.0.by) == (*connection, *by)
                };
                while let Some((_, more)) = events.next_if(is_more) {
                    pieces += 1;
                    len += more.len();
                }
                let pieces =
                    if pieces > 1 { format!(" in {pieces} pieces") } else { String::new() };
                format!("{side}: {len} bytes{pieces}")
            }
            EventKind::Said { fds, .. } => {
                format!("{side}: {} bytes with a descriptor: {fds:?}", bytes.len())
            }
            EventKind::Ended(Ending::HalfClose) => format!("{side}: sends no more"),
            EventKind::Ended(Ending::Close) => format!("{side}: closed"),
            EventKind::Ended(Ending::Reset) => format!("{side}: closed, with bytes unread"),
        };
        writeln!(out, "{:>9.3} s  {connection:>3}  {what}", at.as_secs_f64())?;
    }
    for (nth, connection) in recording.conversation.connections.iter().enumerate() {
        let (client, runtime) = (&connection.sent, &connection.came);
        writeln!(out)?;
        writeln!(
            out,
            "Connection {nth}: {} bytes of the client, {} of the runtime",
            client.len, runtime.len
        )?;
        writeln!(out)?;
        let header = Header::decode(&client.first).ok();
        let size = header.map_or(usize::MAX, |header| header.size.into());
        let (request, surplus) =
            client.first.split_at_checked(size).unwrap_or((&client.first, &[]));
        items(request, Direction::Client, None, out)?;
        if !surplus.is_empty() {
            writeln!(out, "{} bytes of the client after its request", surplus.len())?;
            writeln!(out)?;
        }
        items(&runtime.first, Direction::Server, header.map(|header| header.command), out)?;
    }
    Ok(())
}

fn items(
    bytes: &[u8],
    from: Direction,
    request: Option<Command>,
    out: &mut dyn Write,
) -> anyhow::Result<()> {
    for item in Splitter::new(bytes, Some(from), request) {
        explained::item(out, &item, bytes)?;
    }
    Ok(())
}

const fn side(side: TurnDirection) -> &'static str {
    match side {
        TurnDirection::Sent => "client",
        TurnDirection::Received => "runtime",
    }
}
