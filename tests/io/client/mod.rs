//! The client over connections of other kinds than a runtime's socket. Conversations that the
//! blocking client and that of tokio have alike are written down once, and played by both.

mod blocking;
mod blocking_half;
mod endpoint;
#[cfg(feature = "tokio")]
mod tokio_half;
mod transports;

use std::collections::VecDeque;
use std::io::{ErrorKind, Read as _};
use std::os::unix::net::UnixStream;
use std::sync::Mutex;
use std::time::Duration;

use dotnet_diagnostics_ipc::io::{self as adapters, Error, SocketTransport, WaitLimit};
use dotnet_diagnostics_ipc::message::eventpipe::*;
use dotnet_diagnostics_ipc::wire::{Array, IpcString};

/// An OK whose payload is `S_OK`.
pub(crate) const DONE: &[u8] = b"DOTNET_IPC_V1\0\x18\0\xff\0\0\0\0\0\0\0";
/// An OK with the session id 42.
pub(crate) const SESSION: &[u8] = b"DOTNET_IPC_V1\0\x1c\0\xff\0\0\0\x2a\0\0\0\0\0\0\0";
/// `UNKNOWN_COMMAND`.
pub(crate) const UNKNOWN: &[u8] = b"DOTNET_IPC_V1\0\x18\0\xff\xff\0\0\x85\x13\x13\x80";
/// The error `E_FAIL`.
const FAILED: &[u8] = b"DOTNET_IPC_V1\0\x18\0\xff\xff\0\0\x05\x40\0\x80";

/// Sends something on each connection before any request, and keeps the connections open.
#[derive(Default)]
pub(crate) struct Peer {
    says: Mutex<VecDeque<Vec<u8>>>,
    pub(crate) connections: Mutex<Vec<UnixStream>>,
}

impl Peer {
    /// One connection for each of `says`; a further one fails.
    pub(crate) fn saying(says: &[&[u8]]) -> Self {
        Self {
            says: Mutex::new(says.iter().map(|bytes| bytes.to_vec()).collect()),
            connections: Mutex::default(),
        }
    }

    /// The client's end of a new connection.
    fn pair(&self) -> std::io::Result<UnixStream> {
        let says = self.says.lock().unwrap().pop_front().ok_or(ErrorKind::ConnectionRefused)?;
        let (ours, mut theirs) = UnixStream::pair()?;
        std::io::Write::write_all(&mut theirs, &says)?;
        self.connections.lock().unwrap().push(theirs);
        Ok(ours)
    }

    /// The number of connections so far.
    fn count(&self) -> usize {
        self.connections.lock().unwrap().len()
    }

    /// Asserts that these requests were sent, each on its own connection, and nothing else. They are
    /// written without the magic; if empty, nothing was sent.
    #[track_caller]
    fn was_asked(&self, requests: &[&[u8]]) {
        assert_eq!(self.count(), requests.len(), "connections");
        for (nth, request) in requests.iter().enumerate() {
            if request.is_empty() {
                assert_eq!(self.end(nth).read(&mut [0; 1]).unwrap(), 0, "nothing was sent");
                continue;
            }
            let asked = [&b"DOTNET_IPC_V1\0"[..], request].concat();
            assert_eq!(self.asked(nth, asked.len()), asked);
        }
    }

    /// Asserts that one connection was made, that a request of this length was sent on it, and then
    /// that it was closed.
    #[track_caller]
    pub(crate) fn was_asked_once_and_left(&self, len: usize) {
        assert_eq!(self.count(), 1, "nothing was sent on another connection");
        self.asked(0, len);
        assert_eq!(self.end(0).read(&mut [0; 28]).unwrap(), 0, "the connection is closed");
    }

    /// The peer's end of this connection.
    pub(crate) fn end(&self, nth: usize) -> UnixStream {
        let end = self.connections.lock().unwrap()[nth].try_clone().unwrap();
        end.set_read_timeout(Some(Duration::from_secs(10))).unwrap();
        end
    }

    /// Waits for this number of request bytes on this connection.
    pub(crate) fn asked(&self, nth: usize, len: usize) -> Vec<u8> {
        let mut asked = vec![0; len];
        self.end(nth).read_exact(&mut asked).unwrap();
        asked
    }

    /// The same, once that connection exists.
    fn asked_when_connected(&self, nth: usize, len: usize) -> Vec<u8> {
        while self.connections.lock().unwrap().len() <= nth {
            std::thread::yield_now();
        }
        self.asked(nth, len)
    }

    /// Closes all, without a reset: the requests are read first.
    fn hang_up(&self) {
        for mut connection in self.connections.lock().unwrap().drain(..) {
            connection.set_nonblocking(true).unwrap();
            let end = std::io::copy(&mut connection, &mut std::io::sink());
            assert!(end.map_or_else(|error| error.kind() == ErrorKind::WouldBlock, |_| true));
        }
    }
}

impl adapters::Connect for Peer {
    type Transport = SocketTransport;

    fn connect(&self, _: &WaitLimit<'_>) -> Result<SocketTransport, Error> {
        self.pair().map(SocketTransport::new).map_err(Error::connecting)
    }
}

/// Drops the trace before a connection is made, as a full backlog can let it happen.
struct Late<'p, T> {
    peer: &'p Peer,
    trace: Mutex<Option<T>>,
}

pub(crate) const PROVIDERS: &[ProviderConfig<'_>] =
    &[ProviderConfig::new("P", 1, EventLevel::ERROR)];
/// A message of 57 bytes.
pub(crate) const COLLECT: CollectTracing2<'_> = CollectTracing2 {
    circular_buffer_mb: 1,
    format: Format::NET_TRACE,
    request_rundown: false,
    providers: Array::new(PROVIDERS),
};
pub(crate) const USER_EVENTS: CollectTracing5<'_> =
    CollectTracing5::UserEvents(UserEventsSession {
        rundown_keyword: 0,
        providers: Array::new(&[UserEventsProviderConfig {
            keywords: 1,
            log_level: EventLevel::INFORMATIONAL,
            provider_name: IpcString::new("P"),
            arguments: IpcString::ABSENT,
            filter: EventFilter::ALL,
            config: TracepointConfig {
                default_tracepoint_name: IpcString::new("t"),
                tracepoints: Array::EMPTY,
            },
        }]),
    });

const STREAMED: &[StreamingProviderConfig<'_>] = &[StreamingProviderConfig {
    keywords: 0,
    log_level: EventLevel::ERROR,
    provider_name: IpcString::new("P"),
    arguments: IpcString::ABSENT,
    filter: EventFilter::ALL,
}];
pub(crate) const COLLECT5: StreamingSession<'_> = StreamingSession {
    circular_buffer_mb: 1,
    format: Format::NET_TRACE,
    rundown_keyword: 0,
    request_stackwalk: false,
    providers: Array::new(STREAMED),
};

/// An OK with this payload.
fn ok(payload: &[&[u8]]) -> Vec<u8> {
    let payload = payload.concat();
    let size = u16::try_from(20 + payload.len()).unwrap().to_le_bytes();
    [b"DOTNET_IPC_V1\0", &size[..], b"\xff\0\0\0", &payload].concat()
}

/// A reply to `ProcessInfo` with a command line of `units` units, and unrelated bytes after it.
fn long_reply(units: usize) -> (Vec<u8>, String) {
    let command_line = "0123456789".repeat(units / 10);
    let string = |text: &str| -> Vec<u8> {
        let units: Vec<u16> = text.encode_utf16().chain([0]).collect();
        let len = u32::try_from(units.len()).unwrap();
        len.to_le_bytes().into_iter().chain(units.into_iter().flat_map(u16::to_le_bytes)).collect()
    };
    let texts = [string(&command_line), string("Linux"), string("x64")].concat();
    let reply = ok(&[&7_u64.to_le_bytes(), &[0x11; 16], &texts]);
    ([&reply, &b"behind it"[..]].concat(), command_line)
}
