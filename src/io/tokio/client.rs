//! The async client: one method per command, one connection per call.

use std::sync::Arc;

use super::{AsyncConnect, AsyncConnection, AsyncEnvironmentBlock, AsyncTrace, Clock, until};
use crate::exchange::fallback::{DroppedFields, Fallback};
use crate::io::answer::check_result;
use crate::io::drive::ClientDriver;
use crate::io::{Answer, Deadlines, Endpoint, Error, Phase, Stopped};
use crate::message::Request;
use crate::message::eventpipe::SessionReply;
use crate::message::server::ResultReply;

/// An async client of a runtime, like [`Client`](crate::io::Client). Each call opens a new
/// connection: a connection carries one request.
///
/// A runtime answers one client at a time (F-75); several runtimes can be asked at once.
///
/// ```no_run
/// use dotnet_diagnostics_ipc::io::{AsyncClient, Endpoint};
///
/// # tokio::runtime::Builder::new_current_thread().enable_all().build()?.block_on(async {
/// let (one, other) = (AsyncClient::new(Endpoint::process(12345)), AsyncClient::new(Endpoint::process(12346)));
/// let (one, other) = tokio::join!(one.process_info3(), other.process_info3());
/// for answer in [one?, other?] {
///     if let Some(info) = answer.payload() {
///         println!("{} runs {}", info.process_id, info.command_line);
///     }
/// }
/// # Ok::<(), dotnet_diagnostics_ipc::io::Error>(())
/// # })?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// A request that a runtime would refuse, or crash on, is not sent: see
/// [`unchecked`](Self::unchecked). Only the blocking half can start a `user_events`
/// session, which needs a descriptor.
#[derive(Debug)]
pub struct AsyncClient<C = Endpoint> {
    connect: Arc<C>,
    deadlines: Deadlines,
    checks_limits: bool,
}

impl<C> Clone for AsyncClient<C> {
    fn clone(&self) -> Self {
        Self { connect: Arc::clone(&self.connect), ..*self }
    }
}

impl<C: AsyncConnect> AsyncClient<C> {
    /// A client of the runtime at `connect`.
    pub fn new(connect: C) -> Self {
        Self { connect: Arc::new(connect), deadlines: Deadlines::DEFAULT, checks_limits: true }
    }

    /// Sets the deadlines.
    #[must_use]
    pub fn with_deadlines(mut self, deadlines: Deadlines) -> Self {
        self.deadlines = deadlines;
        self
    }

    /// Sends requests unchecked. Some invalid requests kill a runtime (F-72, P-19).
    #[must_use]
    pub fn unchecked(mut self) -> Self {
        self.checks_limits = false;
        self
    }

    /// A new connection, before any byte is sent.
    ///
    /// # Errors
    /// [`Phase::Find`], [`Phase::Trust`], [`Phase::Connect`].
    pub async fn connect(&self) -> Result<AsyncConnection<C::Stream>, Error> {
        self.connect_by(Clock::start(&self.deadlines)).await
    }

    /// Like `connect`, if the whole call began earlier.
    async fn connect_by(&self, clock: Clock) -> Result<AsyncConnection<C::Stream>, Error> {
        let connecting = async { Ok(self.connect.connect().await) };
        let connected = until(clock.within(self.deadlines.connect), connecting).await;
        let stream = connected.map_err(|stopped: Stopped| stopped.during(Phase::Connect))??;
        let connection = AsyncConnection::new(stream).with_deadlines(self.deadlines).begun(clock);
        Ok(if self.checks_limits { connection } else { connection.unchecked() })
    }

    /// Sends any `request` and waits for the reply. Does not read what follows the reply: for
    /// sessions use [`trace`](Self::trace), for the environment
    /// [`environment`](Self::environment).
    ///
    /// # Errors
    /// [`Error`], as for every call.
    pub async fn call<'r, R: Request<'r>>(&self, request: &R) -> Result<Answer<R>, Error> {
        self.connect().await?.call(request).await
    }

    /// `ProcessEnvironment`: the block is then read entry by entry.
    ///
    /// # Errors
    /// [`Error`], as for every call.
    pub async fn environment(&self) -> Result<AsyncEnvironmentBlock<C::Stream>, Error> {
        self.connect().await?.environment().await
    }

    /// Starts a session that streams: `CollectTracing` to `CollectTracing4`, or a newer one whose
    /// session type says so.
    ///
    /// # Errors
    /// As [`Client::trace`](crate::io::Client::trace).
    pub async fn trace<'r, R: Request<'r, Reply = SessionReply>>(
        &self,
        request: &R,
    ) -> Result<AsyncTrace<C::Stream>, Error> {
        let drive = ClientDriver::trace(request, self.checks_limits)?;
        self.connect().await?.begin_trace(drive).await
    }

    /// Starts a session that streams with the newest command that the runtime knows, following
    /// `fallback`; also returns what was lost. Each command uses a new connection;
    /// [`Deadlines::whole`] covers all of them.
    ///
    /// # Errors
    /// [`Error`] of the last command, as for every call.
    pub async fn trace_by(
        &self,
        mut fallback: Fallback<'_>,
    ) -> Result<(AsyncTrace<C::Stream>, DroppedFields), Error> {
        if self.checks_limits {
            fallback.check_limits().map_err(|error| Error::new(Phase::Send, error))?;
        }
        let clock = Clock::start(&self.deadlines);
        loop {
            let drive = ClientDriver::trace_by(&fallback)?;
            match self.connect_by(clock).await?.begin_trace(drive).await {
                Ok(trace) => return Ok((trace, fallback.dropped())),
                Err(error)
                    if error.hresult().is_some_and(|hresult| fallback.refused(hresult).is_ok()) => {
                }
                Err(error) => return Err(error),
            }
        }
    }

    /// Sends a request that only succeeds or fails. An OK with a failure result is a refusal.
    pub(in crate::io) async fn done<'r, R: Request<'r, Reply = ResultReply>>(
        &self,
        request: &R,
    ) -> Result<(), Error> {
        check_result(self.call(request).await?.message())
    }
}
