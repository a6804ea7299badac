//! The same exchanges over `AsyncRead + AsyncWrite`.
//!
//! There are no deadlines here: `tokio::time::timeout` around a call is one. A call that is dropped has used its connection up.

use std::marker::PhantomData;
use std::vec::Vec;

use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};

use super::connection::{Answer, judge, room};
use super::environment::{ENTRY, PIECE, take_entries};
use super::{Error, ErrorKind, Phase};
use crate::command::Continuation;
use crate::continuation::{Entry, EnvironmentDecoder, EnvironmentLimits};
use crate::exchange::{Client, ClientAction, End, Illegal, Outcome, Then};
use crate::message::Request;
use crate::message::eventpipe::SessionReply;
use crate::message::process::ProcessEnvironment;

/// One request over a connection that is there already: a Unix socket, a named pipe, a TCP stream, TLS.
///
/// ```
/// use dotnet_diagnostics_ipc::io::AsyncConnection;
/// use dotnet_diagnostics_ipc::message::process::ResumeRuntime;
/// use tokio::io::AsyncWriteExt as _;
///
/// # tokio::runtime::Builder::new_current_thread().build()?.block_on(async {
/// let (ours, mut theirs) = tokio::io::duplex(64);
/// theirs.write_all(b"DOTNET_IPC_V1\0\x18\0\xff\0\0\0\0\0\0\0").await?;
/// let answer = AsyncConnection::new(ours).call(&ResumeRuntime {}).await?;
/// assert!(answer.result()?.is_success());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// # })?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct AsyncConnection<S> {
    stream: S,
    checks_limits: bool,
}

impl<S: AsyncRead + AsyncWrite + Unpin> AsyncConnection<S> {
    /// A connection on which nothing was said yet.
    pub const fn new(stream: S) -> Self {
        Self { stream, checks_limits: true }
    }

    /// The same, where requests go out as they are. Some of those that a runtime should refuse kill it (F-72, P-19).
    #[must_use]
    pub const fn without_limits(mut self) -> Self {
        self.checks_limits = false;
        self
    }

    /// Asks, and waits for the reply.
    ///
    /// # Errors
    /// As [`Connection::call`](super::Connection::call).
    pub async fn call<'r, R: Request<'r>>(mut self, request: &R) -> Result<Answer<R>, Error> {
        let (message, _) = self.ask(request).await?;
        Ok(Answer { message, request: PhantomData })
    }

    /// Starts a session that streams: its id, and the connection, over which now the stream comes. `StopTracing` goes over another,
    /// while this one is read on (F-75).
    ///
    /// # Errors
    /// As [`call`](Self::call); [`ErrorKind::Unsupported`] for a session that does not stream.
    pub async fn trace<'r, R: Request<'r, Reply = SessionReply>>(mut self, request: &R) -> Result<(Option<u64>, S), Error> {
        if request.continuation() != Continuation::Nettrace {
            return Err(Error::new(Phase::Send, ErrorKind::Unsupported("that is no session that streams")));
        }
        match self.ask(request).await? {
            (_, Then::Stream { session_id }) => Ok((session_id, self.stream)),
            _ => Err(Error::new(Phase::Reply, ErrorKind::Unsupported("the runtime did not begin a stream"))),
        }
    }

    /// Asks for the environment, and gives each entry to `take` as it comes; an entry of more than 256 KiB is an error.
    ///
    /// # Errors
    /// As [`EnvironmentBlock::for_each`](super::EnvironmentBlock::for_each).
    pub async fn environment(mut self, limits: EnvironmentLimits, mut take: impl FnMut(Entry<'_>)) -> Result<(), Error> {
        let (_, Then::EnvironmentBlock { n_incoming_bytes }) = self.ask(&ProcessEnvironment {}).await? else {
            return Err(Error::new(Phase::Reply, ErrorKind::Unsupported("the runtime did not say how large the environment is")));
        };
        let fail = |kind| Error::new(Phase::Continuation, kind);
        let mut room = std::vec![0; ENTRY.min(n_incoming_bytes as usize)];
        let mut piece = std::vec![0; PIECE];
        let mut decoder = EnvironmentDecoder::with_limits(n_incoming_bytes, &mut room, limits);
        let mut have: &[u8] = &[];
        loop {
            if take_entries(&mut decoder, &mut have, &mut take)? {
                return Ok(());
            }
            let wanted = decoder.wanted().min(piece.len());
            let ended = |end| fail(ErrorKind::Ended { end, received: decoder.taken().into() });
            let into = piece.get_mut(..wanted).unwrap_or_default();
            let n = self.stream.read(into).await.map_err(|_| ended(End::Reset))?;
            if n == 0 {
                return decoder.finish().map_err(|_| ended(End::Closed));
            }
            have = piece.get(..n).unwrap_or_default();
        }
    }

    /// Drives the exchange to its end.
    async fn ask<'r, R: Request<'r>>(&mut self, request: &R) -> Result<(Vec<u8>, Then), Error> {
        if self.checks_limits {
            request.check_limits().map_err(|error| Error::new(Phase::Send, error))?;
        }
        let mut buffer = room(request)?;
        let mut client = Client::new(request, &mut buffer).map_err(|error| Error::new(Phase::Send, error))?;
        let bug = |illegal: Illegal| Error::new(Phase::Reply, illegal);
        loop {
            match client.action() {
                ClientAction::Send(range) => match self.stream.write(buffer.get(range).unwrap_or_default()).await {
                    Ok(0) | Err(_) => client.send_failed().map_err(bug)?,
                    Ok(n) => client.sent(n).map_err(bug)?,
                },
                ClientAction::SendFd => {
                    return Err(Error::new(Phase::SendFd, ErrorKind::Unsupported("this connection passes no descriptors")));
                }
                ClientAction::Receive(range) => {
                    // What was written may lie in a buffer of the stream's own.
                    let _ = self.stream.flush().await;
                    match self.stream.read(buffer.get_mut(range).unwrap_or_default()).await {
                        Ok(0) => client.ended(End::Closed).map_err(bug)?,
                        Ok(n) => client.received(&buffer, n).map_err(bug)?,
                        Err(_) => client.ended(End::Reset).map_err(bug)?,
                    }
                }
                ClientAction::Finished(Outcome::BufferTooSmall { size }) => {
                    buffer.resize(size.into(), 0);
                    client.enlarged(&buffer).map_err(bug)?;
                }
                ClientAction::Finished(outcome) => {
                    let then = judge(outcome, &buffer, R::COMMAND)?;
                    if let Outcome::Ok { size, .. } = outcome {
                        buffer.truncate(size.into());
                    }
                    return Ok((buffer, then));
                }
            }
        }
    }
}
