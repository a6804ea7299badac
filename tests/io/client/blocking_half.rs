//! The conversations, played by the blocking client.

use std::io::Read as _;

use super::*;

type Client<C> = adapters::Client<C>;
type Trace = adapters::Trace<SocketTransport>;

fn connection(peer: &Peer) -> adapters::Connection<SocketTransport> {
    adapters::Connection::new(SocketTransport::new(peer.pair().unwrap()))
}

impl adapters::Connect for Late<'_, Trace> {
    type Transport = SocketTransport;

    fn connect(&self, until: &WaitLimit<'_>) -> Result<SocketTransport, Error> {
        drop(self.trace.lock().unwrap().take());
        adapters::Connect::connect(self.peer, until)
    }
}

macro_rules! wait {
    ($result:expr) => {
        $result
    };
}
/// Waits for a method of a connection or an environment.
macro_rules! ask {
    ($it:expr, $method:ident($($argument:expr),*)) => {
        $it.$method($($argument),*)
    };
}
macro_rules! case {
    ($(#[doc = $doc:literal])* #[test] fn $name:ident() $body:block) => {
        $(#[doc = $doc])*
        #[test]
        fn $name() $body
    };
}
#[allow(clippy::duplicate_mod, reason = "each client plays them")]
#[path = "calls.rs"]
mod calls;
#[allow(clippy::duplicate_mod, reason = "each client plays them")]
#[path = "sessions.rs"]
mod sessions;
