//! The conversations, played by the client of tokio.

use tokio::io::AsyncReadExt as _;

use super::*;

type Client<C> = adapters::AsyncClient<C>;
type Trace = adapters::Trace<tokio::net::UnixStream>;

fn of_tokio(stream: UnixStream) -> std::io::Result<tokio::net::UnixStream> {
    stream.set_nonblocking(true)?;
    tokio::net::UnixStream::from_std(stream)
}

fn connection(peer: &Peer) -> adapters::Connection<tokio::net::UnixStream> {
    adapters::Connection::new(of_tokio(peer.pair().unwrap()).unwrap())
}

impl adapters::AsyncConnect for Peer {
    type Stream = tokio::net::UnixStream;

    async fn connect(&self) -> Result<Self::Stream, Error> {
        self.pair().and_then(of_tokio).map_err(Error::connecting)
    }
}

impl adapters::AsyncConnect for Late<'_, Trace> {
    type Stream = tokio::net::UnixStream;

    async fn connect(&self) -> Result<Self::Stream, Error> {
        drop(self.trace.lock().unwrap().take());
        adapters::AsyncConnect::connect(self.peer).await
    }
}

macro_rules! wait {
    ($future:expr) => {
        $future.await
    };
}
/// Waits for a method of a connection or an environment.
macro_rules! ask {
    ($it:expr, call($request:expr)) => {
        $it.call_async($request).await
    };
    ($it:expr, trace($request:expr)) => {
        $it.trace_async($request).await
    };
    ($it:expr, environment()) => {
        $it.environment_async().await
    };
    ($it:expr, for_each($take:expr)) => {
        $it.for_each_async($take).await
    };
}
macro_rules! case {
    ($(#[doc = $doc:literal])* #[test] fn $name:ident() $body:block) => {
        $(#[doc = $doc])*
        #[tokio::test]
        async fn $name() $body
    };
}
#[allow(clippy::duplicate_mod, reason = "each client plays them")]
#[path = "calls.rs"]
mod calls;
#[allow(clippy::duplicate_mod, reason = "each client plays them")]
#[path = "sessions.rs"]
mod sessions;
