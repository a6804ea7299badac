//! The same exchanges over `AsyncRead + AsyncWrite`.
//!
//! There are no deadlines here: `tokio::time::timeout` around a call is one. A call that is dropped has used its connection up.

use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};

use super::drive::{Drive, Finished, Next};
use super::environment::{ENTRY, PIECE, take_entries};
use super::{Answer, Error, ErrorKind, Phase, Stopped};
use crate::continuation::{Entry, EnvironmentDecoder, EnvironmentLimits};
use crate::exchange::End;
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
/// assert!(answer.result().is_success());
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
        self.run(Drive::new(request, self.checks_limits)?).await?.ok().map(|(message, _)| Answer::new(message))
    }

    /// Starts a session that streams: its id, and the connection, over which now the stream comes. `StopTracing` goes over another,
    /// while this one is read on (F-75).
    ///
    /// # Errors
    /// As [`call`](Self::call); [`ErrorKind::Unsupported`] for a session that does not stream.
    pub async fn trace<'r, R: Request<'r, Reply = SessionReply>>(mut self, request: &R) -> Result<(Option<u64>, S), Error> {
        let session_id = self.run(Drive::trace(request, self.checks_limits)?).await?.stream()?;
        Ok((session_id, self.stream))
    }

    /// Asks for the environment, and gives each entry to `take` as it comes; an entry of more than 256 KiB is an error.
    ///
    /// # Errors
    /// As [`EnvironmentBlock::for_each`](super::EnvironmentBlock::for_each).
    pub async fn environment(mut self, limits: EnvironmentLimits, mut take: impl FnMut(Entry<'_>)) -> Result<(), Error> {
        let drive = Drive::new(&ProcessEnvironment {}, self.checks_limits)?;
        let n_incoming_bytes = self.run(drive).await?.environment()?;
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

    /// Does what the exchange says, until it is finished.
    async fn run(&mut self, mut drive: Drive) -> Result<Finished, Error> {
        loop {
            match drive.next()? {
                Next::Send(bytes) => {
                    let sent = self.stream.write(bytes).await;
                    drive.sent(sent.map_err(Stopped::Io))?;
                }
                Next::SendFd => drive.fd_sent(Err(std::io::Error::from(std::io::ErrorKind::Unsupported).into()))?,
                Next::Receive(into) => {
                    // What was written may lie in a buffer of the stream's own.
                    let _ = self.stream.flush().await;
                    let received = self.stream.read(into).await;
                    drive.received(received.map_err(Stopped::Io))?;
                }
                Next::Finish(outcome) => return Ok(drive.finish(outcome)),
            }
        }
    }
}
