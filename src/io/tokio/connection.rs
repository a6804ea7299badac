//! One request over one connection.

#[cfg(unix)]
use std::os::fd::{AsFd, BorrowedFd};

#[cfg(unix)]
use tokio::io::Interest;
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};

use super::{AsyncEnvironmentBlock, AsyncTrace, Clock, until};
use crate::exchange::Outcome;
use crate::io::drive::{Drive, Finished, Next};
use crate::io::{Answer, Deadlines, Error, ErrorKind, Phase};
#[cfg(unix)]
use crate::io::{UserEvents, fd};
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
    pub const fn without_limits(mut self) -> Self {
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
        let drive = Drive::new(request, self.checks_limits)?;
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
        let drive = Drive::trace(request, self.checks_limits)?;
        self.begin_trace(drive).await
    }

    pub(super) async fn begin_trace(mut self, drive: Drive) -> Result<AsyncTrace<S>, Error> {
        let session_id = self.run(drive).await?.stream()?;
        Ok(AsyncTrace::new(self.stream, session_id, self.deadlines.stream))
    }

    /// Asks for the environment, which is then read entry by entry.
    ///
    /// # Errors
    /// As [`call`](Self::call).
    pub async fn environment(mut self) -> Result<AsyncEnvironmentBlock<S>, Error> {
        let clock = self.clock();
        let drive = Drive::new(&ProcessEnvironment {}, self.checks_limits)?;
        let n_incoming_bytes = self.run(drive).await?.environment()?;
        let deadline = clock.within(self.deadlines.continuation);
        Ok(AsyncEnvironmentBlock::new(self.stream, n_incoming_bytes, deadline))
    }

    /// The connection in its current state: what follows the reply arrives on it.
    pub(super) fn into_stream(self) -> S {
        self.stream
    }

    /// The deadlines of the call, which begins now unless it has begun.
    fn clock(&mut self) -> Clock {
        *self.clock.get_or_insert_with(|| Clock::start(&self.deadlines))
    }

    async fn run(&mut self, mut drive: Drive) -> Result<Finished, Error> {
        let outcome = self.perform(&mut drive).await?;
        Ok(drive.finish(outcome))
    }

    /// Performs the exchange's actions until it is finished.
    pub(super) async fn perform(&mut self, drive: &mut Drive) -> Result<Outcome, Error> {
        let no_fd = || Error::new(Phase::SendFd, ErrorKind::Unsupported("no descriptor to pass"));
        self.perform_until_fd(drive).await?.ok_or_else(no_fd)
    }

    /// Performs the exchange's actions until it is finished; `None` where a descriptor is to be sent.
    async fn perform_until_fd(&mut self, drive: &mut Drive) -> Result<Option<Outcome>, Error> {
        let clock = self.clock();
        let sending = clock.within(self.deadlines.send);
        let reply_within = drive.reply_within(&self.deadlines);
        let mut replying = None;
        loop {
            match drive.next()? {
                Next::Send(bytes) => {
                    let sent = until(sending, self.stream.write(bytes)).await;
                    drive.sent(sent)?;
                }
                Next::SendFd => return Ok(None),
                Next::Receive(into) => {
                    if replying.is_none() {
                        // The stream may have buffered what was written.
                        let _ = until(sending, self.stream.flush()).await;
                    }
                    let deadline = *replying.get_or_insert_with(|| clock.within(reply_within));
                    let received = until(deadline, self.stream.read(into)).await;
                    drive.received(received)?;
                }
                Next::Finish(outcome) => return Ok(Some(outcome)),
            }
        }
    }
}

#[cfg(unix)]
impl AsyncConnection<tokio::net::UnixStream> {
    /// Starts a session that writes `user_events`, as
    /// [`Connection::user_events`](crate::io::Connection::user_events).
    ///
    /// # Errors
    /// As [`Connection::user_events`](crate::io::Connection::user_events).
    pub async fn user_events<'r, R: Request<'r, Reply = SessionReply>>(
        self,
        request: &R,
        user_events_data: impl AsFd,
    ) -> Result<UserEvents<tokio::net::UnixStream>, Error> {
        let drive = Drive::user_events(request, self.checks_limits)?;
        self.begin_user_events(drive, user_events_data.as_fd()).await
    }

    pub(super) async fn begin_user_events(
        mut self,
        mut drive: Drive,
        user_events_data: BorrowedFd<'_>,
    ) -> Result<UserEvents<tokio::net::UnixStream>, Error> {
        let sending = self.clock().within(self.deadlines.send);
        loop {
            if let Some(outcome) = self.perform_until_fd(&mut drive).await? {
                let session_id = drive.finish(outcome).user_events()?;
                return Ok(UserEvents::new(self.stream, session_id));
            }
            let send_fd = || fd::send_fd(self.stream.as_fd(), user_events_data);
            let sent = until(sending, self.stream.async_io(Interest::WRITABLE, send_fd)).await;
            drive.fd_sent(sent)?;
        }
    }
}
