//! A file of packets for Wireshark: what a proxy heard, as `spec/WIRESHARK.md` says.

use std::borrow::Cow;
use std::fs::File;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::{SystemTime, UNIX_EPOCH};

use anyhow::Context as _;
use diagipc::record::{Event, EventKind, Side, Witness};
use dotnet_diagnostics_ipc::vectors::script::{Ending, FdKind};
use pcap_parser::pcapng::{
    EnhancedPacketBlock, InterfaceDescriptionBlock, OptionCode, PcapNGOption, SectionHeaderBlock,
};
use pcap_parser::{Linktype, ToVec};

use crate::commands::output_file;

/// `LINKTYPE_USER0`: no other packets have our pseudo-header.
const LINK_TYPE: Linktype = Linktype(147);
const MAGIC: &[u8] = b"DIPC";
const VERSION: u8 = 1;
/// Timestamps count nanoseconds: 10 to the power of minus this.
const RESOLUTION: u8 = 9;

/// A file that is being written, packet by packet: it can be read at any time.
#[derive(Debug)]
pub(crate) struct Capture {
    path: PathBuf,
    /// Who opens connections.
    opens: Side,
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    file: File,
    /// Why nothing more is written.
    trouble: Option<io::Error>,
}

impl Capture {
    /// Begins a file with one interface, which is an endpoint; `opens` opens connections to it.
    pub(crate) fn create(path: &Path, endpoint: &str, opens: Side) -> anyhow::Result<Self> {
        let mut file = output_file::create(path)?;
        front(endpoint)
            .and_then(|front| file.write_all(&front))
            .with_context(|| path.display().to_string())?;
        Ok(Self { path: path.to_owned(), opens, state: Mutex::new(State { file, trouble: None }) })
    }

    /// Why the file is not whole, if it is not.
    pub(crate) fn finish(&self) -> anyhow::Result<()> {
        let trouble = self.state.lock().unwrap_or_else(PoisonError::into_inner).trouble.take();
        trouble.map_or(Ok(()), Err).with_context(|| self.path.display().to_string())
    }
}

impl Witness for Capture {
    fn saw(&self, event: &Event) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        if state.trouble.is_none() {
            // Taken here, so that packets are in the order of their times.
            let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
            let nanoseconds = u64::try_from(now.as_nanos()).unwrap_or(u64::MAX);
            let written = packet(&contents(event, self.opens), nanoseconds)
                .and_then(|block| state.file.write_all(&block));
            state.trouble = written.err();
        }
    }
}

/// The pseudo-header, and what was sent.
fn contents(event: &Event, opens: Side) -> Vec<u8> {
    let side = |side: Side| match side {
        Side::Client => 0,
        Side::Runtime => 1,
    };
    let nothing: (&[u8], &[FdKind]) = (&[], &[]);
    let (kind, from, detail, (bytes, fds)) = match &event.seen {
        EventKind::Opened => (0, side(opens), 0, nothing),
        EventKind::Piece { from, bytes, fds } => {
            // One message carries 253 at most.
            let fds = fds.get(..usize::from(u8::MAX)).unwrap_or(fds);
            (1, side(*from), u8::try_from(fds.len()).unwrap_or(u8::MAX), (&bytes[..], fds))
        }
        EventKind::Ended { by, how } => {
            let how = match how {
                Ending::HalfClose => 0,
                Ending::Close => 1,
                Ending::Reset => 2,
            };
            (2, side(*by), how, nothing)
        }
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

/// The blocks at the front of the file.
fn front(endpoint: &str) -> io::Result<Vec<u8>> {
    let mut section = SectionHeaderBlock {
        block_type: 0,
        block_len1: 0,
        bom: 0,
        major_version: 0,
        minor_version: 0,
        // Not known before the end.
        section_len: -1,
        options: vec![option(
            OptionCode::ShbUserAppl,
            concat!("diagipc ", env!("CARGO_PKG_VERSION")).as_bytes(),
        )],
        block_len2: 0,
    };
    let mut interface = InterfaceDescriptionBlock {
        block_type: 0,
        block_len1: 0,
        linktype: LINK_TYPE,
        reserved: 0,
        // No limit.
        snaplen: 0,
        options: vec![
            option(OptionCode::IfName, endpoint.as_bytes()),
            option(OptionCode::IfTsresol, &[RESOLUTION]),
        ],
        block_len2: 0,
        if_tsresol: RESOLUTION,
        if_tsoffset: 0,
    };
    Ok([bytes(&mut section)?, bytes(&mut interface)?].concat())
}

fn packet(data: &[u8], nanoseconds: u64) -> io::Result<Vec<u8>> {
    let length = u32::try_from(data.len()).map_err(io::Error::other)?;
    bytes(&mut EnhancedPacketBlock {
        block_type: 0,
        block_len1: 0,
        if_id: 0,
        ts_high: u32::try_from(nanoseconds >> 32).unwrap_or(u32::MAX),
        ts_low: u32::try_from(nanoseconds & u64::from(u32::MAX)).unwrap_or(u32::MAX),
        caplen: length,
        origlen: length,
        data,
        options: Vec::new(),
        block_len2: 0,
    })
}

fn option(code: OptionCode, value: &[u8]) -> PcapNGOption<'_> {
    // An endpoint is a path.
    PcapNGOption {
        code,
        len: u16::try_from(value.len()).unwrap_or(u16::MAX),
        value: Cow::Borrowed(value),
    }
}

fn bytes(block: &mut impl ToVec) -> io::Result<Vec<u8>> {
    block.to_vec().map_err(io::Error::other)
}
