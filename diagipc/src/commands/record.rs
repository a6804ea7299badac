//! `diagipc record`, and its output files.

use std::ffi::OsString;
use std::io::Write;
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use diagipc::annotated;
use diagipc::annotated::items::{self, Splitter};
use diagipc::record::{Event, EventKind, RecordedConnection, Recording, Side, script_file};
use dotnet_diagnostics_ipc::vectors::script::Ending;

use crate::commands::Outcome;
use crate::commands::output_file::create_new;

/// Records the messages between a client and a runtime, as an exchange script and as a capture for
/// Wireshark.
///
/// Runs the client with a new directory as TMPDIR, which contains the socket of a process that
/// plays the runtime. `{pid}`, `{socket}` and `{tmpdir}` in the command are replaced by theirs.
/// With `--out` it writes NAME.json, an exchange script that plays the client, and NAME.txt, the
/// conversation in words.
#[derive(clap::Args)]
#[command(
    after_help = "Exit status: 0 the client succeeded, 1 it failed, 2 usage error, or a file that cannot be written, 3 the runtime does not exist, 129, 130 or 143 interrupted by SIGHUP, SIGINT or SIGTERM."
)]
#[cfg_attr(not(unix), allow(dead_code))]
pub(crate) struct Arguments {
    /// The directory of the files
    #[arg(long, value_name = "DIR", required_unless_present = "pcapng")]
    out: Option<PathBuf>,

    /// Write a capture to this file, for Wireshark (`spec/WIRESHARK.md`)
    #[arg(long, value_name = "FILE")]
    pcapng: Option<PathBuf>,

    /// The runtime: the path of its socket, or its process id
    #[arg(long, value_name = "ENDPOINT")]
    to: String,

    /// The name of the files; by default that of the client's program
    #[arg(long, value_name = "NAME", requires = "out")]
    name: Option<String>,

    /// The client and its arguments
    #[arg(last = true, value_name = "COMMAND", required = true)]
    client: Vec<OsString>,
}

#[cfg(not(unix))]
pub(crate) fn run(_: &Arguments, _: &mut dyn Write) -> anyhow::Result<Outcome> {
    anyhow::bail!("this needs Unix sockets, which this system does not have")
}

#[cfg(unix)]
pub(crate) fn run(arguments: &Arguments, out: &mut dyn Write) -> anyhow::Result<Outcome> {
    use anyhow::bail;
    use diagipc::record::RecordedClient;

    use crate::commands::interrupt;

    let canceller = interrupt::canceller()?;
    crate::commands::owner::own()?;
    let program = arguments.client.first().map(Path::new).and_then(Path::file_stem);
    let name = arguments
        .name
        .clone()
        .or_else(|| program.map(|name| name.to_string_lossy().into_owned()))
        .unwrap_or_default();
    let mut proxy = vec![std::env::current_exe().context("the path of this program")?.into()];
    proxy.extend(
        ["proxy", "--until-eof", "--to", &arguments.to, "--listen", "{tmpdir}"].map(OsString::from),
    );
    if let Some(directory) = &arguments.out {
        proxy.extend(["--name".into(), name.into(), "--out".into(), directory.clone().into()]);
    }
    if let Some(file) = &arguments.pcapng {
        proxy.extend(["--pcapng".into(), file.clone().into()]);
    }
    let run = RecordedClient { proxy, client: arguments.client.clone() }.run(&canceller)?;
    if let Some(status) = run.client {
        writeln!(out, "the client ended: {status}")?;
    }
    let is_written = run.proxy.is_some_and(|status| status.success());
    match (run.client, interrupt::signal()) {
        (None, _) if run.proxy.and_then(|status| status.code()) == Some(3) => Ok(Outcome::Lost),
        (_, Some(signal)) if run.is_interrupted => {
            let recording = if is_written {
                "the recording has all messages until then"
            } else {
                "nothing was recorded"
            };
            writeln!(out, "INTERRUPTED  {recording}")?;
            Ok(Outcome::Interrupted(signal))
        }
        (None, _) => bail!("the proxy did not start"),
        (Some(_), _) if !is_written => bail!("the recording could not be written"),
        (Some(status), _) => Ok(if status.success() { Outcome::Well } else { Outcome::Faulty }),
    }
}

/// Writes the files of a recording, under a new name, and reports it.
#[cfg_attr(not(unix), allow(dead_code))]
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
    for (nth, [client, runtime]) in recording.totals.iter().enumerate() {
        let connection = RecordedConnection::of(recording, nth);
        writeln!(out)?;
        writeln!(
            out,
            "Connection {nth}: {} bytes of the client, {} of the runtime",
            client.bytes, runtime.bytes
        )?;
        writeln!(out)?;
        items(connection.request(), items::Side::Client, &connection, out)?;
        let surplus = connection.client.len().saturating_sub(connection.request_len);
        if surplus > 0 {
            writeln!(out, "{surplus} bytes of the client after its request")?;
            writeln!(out)?;
        }
        items(&connection.runtime, items::Side::Server, &connection, out)?;
    }
    Ok(())
}

/// How many bytes, if it is a piece of that side without a descriptor.
fn plain_piece(event: &Event, on: usize, of: Side) -> Option<usize> {
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
    from: items::Side,
    connection: &RecordedConnection,
    out: &mut dyn Write,
) -> anyhow::Result<()> {
    let request = if from == items::Side::Server { connection.command } else { None };
    for item in Splitter::new(bytes, Some(from), request) {
        annotated::item(out, &item, item.bytes_in(bytes))?;
    }
    Ok(())
}

const fn side(side: Side) -> &'static str {
    match side {
        Side::Client => "client",
        Side::Runtime => "runtime",
    }
}
