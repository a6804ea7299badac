//! The files of a recording: an exchange script, the conversation in words, and packets for
//! Wireshark, which `spec/GRAMMAR.md` describes.

use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use anyhow::Context as _;
use diagipc::print;
use diagipc::record::{Direction, Recording, script_file};
use dotnet_diagnostics_ipc::command::Command;
use dotnet_diagnostics_ipc::header::Header;
use dotnet_diagnostics_ipc_vectors::explain::Splitter;
use dotnet_diagnostics_ipc_vectors::player::{Event, EventKind, TurnDirection};
use dotnet_diagnostics_ipc_vectors::script::{Ending, FdKind};

use crate::commands::backlog::Backlog;
use crate::commands::output_file::{self, create_new};

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
    // The script is complete before it gets its name, so an existing file is whole.
    let mut script = serde_json::to_vec_pretty(&file)?;
    script.push(b'\n');
    let mut words = Vec::new();
    describe(recording, &mut words)?;
    for (json, text) in paths {
        let mut written = match create_new(&json) {
            Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => continue,
            created => created.with_context(|| json.display().to_string())?,
        };
        // This file is new too: existing files and targets of symbolic links are not changed.
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
        print::explained(out, &item, bytes)?;
    }
    Ok(())
}

const fn side(side: TurnDirection) -> &'static str {
    match side {
        TurnDirection::Sent => "client",
        TurnDirection::Received => "runtime",
    }
}

/// `LINKTYPE_USER0`, as no other packets have our pseudo-header.
const LINK_TYPE: u16 = 147;
const MAGIC: &[u8] = b"DIPC";
const VERSION: u8 = 1;
/// Timestamps count units of 10⁻⁹ s.
const RESOLUTION: u8 = 9;

// The three kinds of blocks of a pcapng file that are written, and their options:
// draft-ietf-opsawg-pcapng.
const SECTION_HEADER: u32 = 0x0a0d_0d0a;
const INTERFACE: u32 = 1;
const ENHANCED_PACKET: u32 = 6;
const BYTE_ORDER: u32 = 0x1a2b_3c4d;
const SHB_USERAPPL: u16 = 4;
const IF_NAME: u16 = 2;
const IF_TSRESOL: u16 = 9;
const END_OF_OPTIONS: [u8; 4] = [0; 4];

/// A file that is written packet by packet, and can be read at any time.
#[derive(Debug)]
pub(crate) struct Capture {
    path: PathBuf,
    packets: Backlog,
}

impl Capture {
    pub(crate) fn create(path: &Path, endpoint: &str) -> anyhow::Result<Self> {
        let mut file = output_file::create(path)?;
        // An older file is replaced only now.
        let packets = front(endpoint)
            .and_then(|front| file.write_all(&front))
            .and_then(|()| file.finish())
            .and_then(Backlog::start)
            .with_context(|| path.display().to_string())?;
        Ok(Self { path: path.to_owned(), packets })
    }

    /// Ends the file; returns why it is not whole, if it could not be written.
    pub(crate) fn finish(&self) -> anyhow::Result<()> {
        self.packets.finish().with_context(|| self.path.display().to_string())
    }

    /// Records an event. This never waits for the reader of a stream.
    pub(crate) fn saw(&self, event: &Event, bytes: &[u8]) {
        self.packets.push(|| {
            // The time is taken here, so that packets are in order of time.
            let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
            let nanoseconds = u64::try_from(now.as_nanos()).unwrap_or(u64::MAX);
            packet(&contents(event, bytes), nanoseconds)
        });
    }
}

/// Returns the pseudo-header and the bytes that were sent.
fn contents(event: &Event, bytes: &[u8]) -> Vec<u8> {
    let from = match event.by {
        TurnDirection::Sent => 0,
        TurnDirection::Received => 1,
    };
    let (kind, detail, fds) = match &event.did {
        EventKind::Opened => (0, 0, &[][..]),
        EventKind::Said { fds, .. } => {
            // One message carries at most 253 descriptors.
            let fds = fds.get(..usize::from(u8::MAX)).unwrap_or(fds);
            (1, u8::try_from(fds.len()).unwrap_or(u8::MAX), fds)
        }
        EventKind::Ended(Ending::HalfClose) => (2, 0, &[][..]),
        EventKind::Ended(Ending::Close) => (2, 1, &[][..]),
        EventKind::Ended(Ending::Reset) => (2, 2, &[][..]),
    };
    let connection = u32::try_from(event.connection).unwrap_or(u32::MAX).to_le_bytes();
    let fds = fds.iter().map(|fd| match fd {
        FdKind::Null => 0,
        FdKind::Pipe => 1,
        FdKind::UserEventsData => 2,
    });
    let header = MAGIC.iter().copied().chain([VERSION, kind, from, detail]).chain(connection);
    header.chain(fds).chain(bytes.iter().copied()).collect()
}

fn front(endpoint: &str) -> io::Result<Vec<u8>> {
    let section = [
        &BYTE_ORDER.to_le_bytes()[..],
        // Version 1.0; the length of the section is not known before its end.
        &[1, 0, 0, 0],
        &u64::MAX.to_le_bytes(),
        &option(SHB_USERAPPL, concat!("diagipc ", env!("CARGO_PKG_VERSION")).as_bytes())?,
        &END_OF_OPTIONS,
    ];
    let interface = [
        &LINK_TYPE.to_le_bytes()[..],
        &[0, 0],
        // Packets may have any length.
        &[0; 4],
        &option(IF_NAME, endpoint.as_bytes())?,
        &option(IF_TSRESOL, &[RESOLUTION])?,
        &END_OF_OPTIONS,
    ];
    Ok([block(SECTION_HEADER, &section.concat())?, block(INTERFACE, &interface.concat())?].concat())
}

fn packet(data: &[u8], nanoseconds: u64) -> io::Result<Vec<u8>> {
    let len = u32::try_from(data.len()).map_err(io::Error::other)?.to_le_bytes();
    let time = nanoseconds.to_le_bytes();
    let (low, high) = time.split_at(4);
    let body = [&[0; 4][..], high, low, &len, &len, data];
    block(ENHANCED_PACKET, &body.concat())
}

/// Returns a block: type and length, the body in words of 4 bytes, and the length again.
fn block(kind: u32, body: &[u8]) -> io::Result<Vec<u8>> {
    let body = in_words(body);
    let len = u32::try_from(body.len() + 12).map_err(io::Error::other)?.to_le_bytes();
    Ok([&kind.to_le_bytes()[..], &len, &body, &len].concat())
}

/// Returns an option: code and length, and the value in words of 4 bytes.
fn option(code: u16, value: &[u8]) -> io::Result<Vec<u8>> {
    let len = u16::try_from(value.len()).map_err(io::Error::other)?;
    Ok([&code.to_le_bytes()[..], &len.to_le_bytes(), &in_words(value)].concat())
}

fn in_words(bytes: &[u8]) -> Vec<u8> {
    let mut words = bytes.to_vec();
    words.resize(bytes.len().next_multiple_of(4), 0);
    words
}
