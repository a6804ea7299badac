//! The client over connections of other kinds than a runtime's socket: how it is cancelled, what it
//! refuses to send, and its error texts.

mod calls;
mod endpoints;
mod found_before;
mod newest;
mod traces;
mod transports;

use std::collections::VecDeque;
use std::io::{ErrorKind, Read as _, Write as _};
use std::os::unix::net::UnixStream;
use std::sync::Mutex;
use std::time::Duration;

use dotnet_diagnostics_ipc::io::{Connect, Error, UnixTransport, WaitLimit};
use dotnet_diagnostics_ipc::message::eventpipe::*;
use dotnet_diagnostics_ipc::wire::{Array, IpcString};

/// An OK whose payload is `S_OK`.
const DONE: &[u8] = b"DOTNET_IPC_V1\0\x18\0\xff\0\0\0\0\0\0\0";
/// An OK with the session id 42.
const SESSION: &[u8] = b"DOTNET_IPC_V1\0\x1c\0\xff\0\0\0\x2a\0\0\0\0\0\0\0";
/// The error `E_FAIL`.
const FAILED: &[u8] = b"DOTNET_IPC_V1\0\x18\0\xff\xff\0\0\x05\x40\0\x80";

/// Sends something on each connection before any request, and keeps the connections open.
#[derive(Default)]
struct Peer {
    says: Mutex<VecDeque<Vec<u8>>>,
    connections: Mutex<Vec<UnixStream>>,
}

impl Peer {
    /// One connection for each of `says`; a further one fails.
    fn saying(says: &[&[u8]]) -> Self {
        Self {
            says: Mutex::new(says.iter().map(|bytes| bytes.to_vec()).collect()),
            connections: Mutex::default(),
        }
    }

    /// The peer's end of this connection.
    fn end(&self, nth: usize) -> UnixStream {
        let end = self.connections.lock().unwrap()[nth].try_clone().unwrap();
        end.set_read_timeout(Some(Duration::from_secs(10))).unwrap();
        end
    }

    /// Waits for this number of request bytes on this connection.
    fn asked(&self, nth: usize, len: usize) -> Vec<u8> {
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

impl Connect for Peer {
    type Transport = UnixTransport;

    fn connect(&self, _: &WaitLimit<'_>) -> Result<UnixTransport, Error> {
        let refused = || Error::connecting(ErrorKind::ConnectionRefused.into());
        let says = self.says.lock().unwrap().pop_front().ok_or_else(refused)?;
        let (ours, mut theirs) = UnixStream::pair().map_err(Error::connecting)?;
        theirs.write_all(&says).map_err(Error::connecting)?;
        self.connections.lock().unwrap().push(theirs);
        Ok(UnixTransport::new(ours))
    }
}

const PROVIDERS: &[ProviderConfig<'_>] = &[ProviderConfig::new("P", 1, EventLevel::ERROR)];
/// A message of 57 bytes.
const COLLECT: CollectTracing2<'_> = CollectTracing2 {
    circular_buffer_mb: 1,
    format: Format::NET_TRACE,
    request_rundown: false,
    providers: Array::new(PROVIDERS),
};
const USER_EVENTS: CollectTracing5<'_> = CollectTracing5::UserEvents(UserEventsSession {
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
