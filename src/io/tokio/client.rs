//! Asks a runtime: one method a command, one connection a call.

use std::sync::Arc;

use super::{AsyncConnect, AsyncConnection, AsyncTrace, Clock, until};
use crate::continuation::{Entry, EnvironmentLimits};
use crate::exchange::fallback::{DroppedFields, TracingFallback};
use crate::io::answer::check_result;
use crate::io::drive::Drive;
use crate::io::{Answer, Deadlines, Endpoint, Error, Phase, Stopped};
use crate::message::Request;
use crate::message::eventpipe::SessionReply;
use crate::message::server::ResultReply;

/// Asks a runtime, as [`Client`](crate::io::Client) does. Each call opens a connection of its own: a connection carries one request.
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
/// A request that a runtime would refuse, or die of, is not sent: see [`without_limits`](Self::without_limits). A `user_events` session
/// takes a descriptor, which only the blocking half passes.
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
    /// A client of what is at `connect`.
    pub fn new(connect: C) -> Self {
        Self { connect: Arc::new(connect), deadlines: Deadlines::DEFAULT, checks_limits: true }
    }

    /// The same with other deadlines.
    #[must_use]
    pub fn with_deadlines(mut self, deadlines: Deadlines) -> Self {
        self.deadlines = deadlines;
        self
    }

    /// The same, where requests go out as they are. Some of those that a runtime should refuse kill it (F-72, P-19).
    #[must_use]
    pub fn without_limits(mut self) -> Self {
        self.checks_limits = false;
        self
    }

    /// A connection on which nothing was said yet.
    ///
    /// # Errors
    /// [`Phase::Find`], [`Phase::Trust`], [`Phase::Connect`].
    pub async fn connect(&self) -> Result<AsyncConnection<C::Stream>, Error> {
        self.connect_by(Clock::start(&self.deadlines)).await
    }

    /// The same, where the whole call began earlier.
    async fn connect_by(&self, clock: Clock) -> Result<AsyncConnection<C::Stream>, Error> {
        let connecting = async { Ok(self.connect.connect().await) };
        let connected = until(clock.within(self.deadlines.connect), connecting).await;
        let stream = connected.map_err(|stopped: Stopped| stopped.during(Phase::Connect))??;
        let connection = AsyncConnection::new(stream).with_deadlines(self.deadlines).begun(clock);
        Ok(if self.checks_limits { connection } else { connection.without_limits() })
    }

    /// Asks `request`, whatever it is, and waits for the reply. What follows the reply is not read: for sessions there is
    /// [`trace`](Self::trace), for the environment [`environment`](Self::environment).
    ///
    /// # Errors
    /// [`Error`], as every call.
    pub async fn call<'r, R: Request<'r>>(&self, request: &R) -> Result<Answer<R>, Error> {
        self.connect().await?.call(request).await
    }

    /// `ProcessEnvironment`: gives each entry to `take` as it comes; an entry of more than 256 KiB is an error.
    ///
    /// # Errors
    /// As [`EnvironmentBlock::for_each`](crate::io::EnvironmentBlock::for_each).
    pub async fn environment(&self, limits: EnvironmentLimits, take: impl FnMut(Entry<'_>)) -> Result<(), Error> {
        self.connect().await?.environment(limits, take).await
    }

    /// Starts a session that streams: `CollectTracing` to `CollectTracing4`, or a newer one whose session type says so.
    ///
    /// # Errors
    /// As [`Client::trace`](crate::io::Client::trace).
    pub async fn trace<'r, R: Request<'r, Reply = SessionReply>>(&self, request: &R) -> Result<AsyncTrace<C::Stream>, Error> {
        let drive = Drive::trace(request, self.checks_limits)?;
        self.connect().await?.begin_trace(drive).await
    }

    /// Starts a session that streams with the newest command that the runtime knows, as `fallback` says; and what was lost. Each command
    /// goes over a connection of its own; [`Deadlines::whole`] is for all of them.
    ///
    /// # Errors
    /// [`Error`], as every call: the last command's.
    pub async fn trace_by(&self, mut fallback: TracingFallback<'_>) -> Result<(AsyncTrace<C::Stream>, DroppedFields), Error> {
        if self.checks_limits {
            fallback.request().check_limits().map_err(|error| Error::new(Phase::Send, error))?;
        }
        let clock = Clock::start(&self.deadlines);
        loop {
            let drive = Drive::trace_by(&fallback.request())?;
            match self.connect_by(clock).await?.begin_trace(drive).await {
                Ok(trace) => return Ok((trace, fallback.dropped())),
                Err(error) if error.hresult().is_some_and(|hresult| fallback.refused(hresult).is_ok()) => {}
                Err(error) => return Err(error),
            }
        }
    }

    /// Asks something that only succeeds or fails. An OK whose result says failure is a refusal.
    pub(in crate::io) async fn done<'r, R: Request<'r, Reply = ResultReply>>(&self, request: &R) -> Result<(), Error> {
        check_result(self.call(request).await?.message())
    }
}
