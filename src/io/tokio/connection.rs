//! One request over one connection.

use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};

use super::{AsyncEnvironmentBlock, AsyncTrace, Clock, until};
use crate::io::drive::{ClientDriver, Finished, Step};
use crate::io::{Answer, Deadlines, Error};
use crate::message::Request;
use crate::message::eventpipe::SessionReply;
use crate::message::process::ProcessEnvironment;

/// One request over an existing connection: a Unix socket, a named pipe, a TCP stream, TLS.
///
/// ```
/// use dotnet_diagnostics_ipc::io::AsyncConnection;
/// use dotnet_diagnostics_ipc::message::process::ResumeRuntime;
/// use tokio::io::AsyncWriteExt as _;
///
/// # tokio::runtime::Builder::new_current_thread().enable_all().build()?.block_on(async {
/// let (ours, mut theirs) = tokio::io::duplex(64);
/// theirs.write_all(b"DOTNET_IPC_V1\0\x18\0\xff\0\0\0\0\0\0\0").await?;
/// let answer = AsyncConnection::new(ours).call(&ResumeRuntime {}).await?;
/// assert!(answer.result().is_success());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// # })?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
#[must_use = "nothing is sent before a call"]
pub struct AsyncConnection<S> {
    stream: S,
    deadlines: Deadlines,
    checks_limits: bool,
    clock: Option<Clock>,
}

impl<S: AsyncRead + AsyncWrite + Unpin> AsyncConnection<S> {
    /// A connection before any byte is sent.
    pub const fn new(stream: S) -> Self {
        Self { stream, deadlines: Deadlines::DEFAULT, checks_limits: true, clock: None }
    }

    /// Sets the deadlines. With [`Deadlines::NONE`] the tokio runtime needs no time driver.
    pub const fn with_deadlines(mut self, deadlines: Deadlines) -> Self {
        self.deadlines = deadlines;
        self
    }

    /// Sends the request unchecked. Some invalid requests kill a runtime (F-72, P-19).
    pub const fn unchecked(mut self) -> Self {
        self.checks_limits = false;
        self
    }

    /// Like `new`, if the whole call began earlier.
    pub(super) const fn begun(mut self, clock: Clock) -> Self {
        self.clock = Some(clock);
        self
    }

    /// Sends the request and waits for the reply.
    ///
    /// # Errors
    /// As [`Connection::call`](crate::io::Connection::call).
    pub async fn call<'r, R: Request<'r>>(mut self, request: &R) -> Result<Answer<R>, Error> {
        let drive = ClientDriver::new(request, self.checks_limits)?;
        self.run(drive).await?.ok().map(|(message, _)| Answer::new(message))
    }

    /// Starts a session that streams: `CollectTracing` to `CollectTracing4`, or a newer one whose
    /// session type says so.
    ///
    /// # Errors
    /// As [`call`](Self::call); [`ErrorKind::Unsupported`](crate::io::ErrorKind::Unsupported) for a
    /// session that does not stream.
    pub async fn trace<'r, R: Request<'r, Reply = SessionReply>>(
        self,
        request: &R,
    ) -> Result<AsyncTrace<S>, Error> {
        let drive = ClientDriver::trace(request, self.checks_limits)?;
        self.begin_trace(drive).await
    }

    pub(super) async fn begin_trace(mut self, drive: ClientDriver) -> Result<AsyncTrace<S>, Error> {
        let session_id = self.run(drive).await?.stream()?;
        Ok(AsyncTrace::new(self.stream, session_id, self.deadlines.stream))
    }

    /// Asks for the environment, which is then read entry by entry.
    ///
    /// # Errors
    /// As [`call`](Self::call).
    pub async fn environment(mut self) -> Result<AsyncEnvironmentBlock<S>, Error> {
        let clock = self.clock();
        let drive = ClientDriver::new(&ProcessEnvironment {}, self.checks_limits)?;
        let n_incoming_bytes = self.run(drive).await?.environment()?;
        let deadline = clock.within(self.deadlines.continuation);
        Ok(AsyncEnvironmentBlock::new(self.stream, n_incoming_bytes, deadline))
    }

    /// The deadlines of the call, which begins now unless it has begun.
    fn clock(&mut self) -> Clock {
        *self.clock.get_or_insert_with(|| Clock::start(&self.deadlines))
    }

    /// Performs the exchange's actions until it is finished.
    pub(super) async fn run(&mut self, mut drive: ClientDriver) -> Result<Finished, Error> {
        let clock = self.clock();
        let sending = clock.within(self.deadlines.send);
        let reply_within = drive.reply_within(&self.deadlines);
        let mut replying = None;
        loop {
            match drive.next()? {
                Step::Send(bytes) => {
                    let sent = until(sending, self.stream.write(bytes)).await;
                    drive.sent(sent)?;
                }
                Step::SendFd => drive
                    .fd_sent(Err(std::io::Error::from(std::io::ErrorKind::Unsupported).into()))?,
                Step::Receive(into) => {
                    if replying.is_none() {
                        // The stream may have buffered what was written.
                        let _ = until(sending, self.stream.flush()).await;
                    }
                    let deadline = *replying.get_or_insert_with(|| clock.within(reply_within));
                    let received = until(deadline, self.stream.read(into)).await;
                    drive.received(received)?;
                }
                Step::Finish(outcome) => return Ok(drive.finish(outcome)),
            }
        }
    }
}
