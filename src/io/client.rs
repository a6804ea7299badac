//! The blocking client: one method per command, one connection per call.

use std::sync::Arc;

use super::answer::check_result;
use super::deadlines::Clock;
use super::drive::ClientDriver;
use super::{
    Answer, Canceller, Connect, Connection, Deadlines, Endpoint, EnvironmentBlock, Error, Phase,
    Trace,
};
use crate::exchange::fallback::{DroppedFields, Fallback};
use crate::message::Request;
use crate::message::eventpipe::SessionReply;
use crate::message::server::ResultReply;

/// A blocking client of a runtime. Each call opens a new connection: a connection carries one
/// request.
///
/// ```no_run
/// use dotnet_diagnostics_ipc::io::{Client, Endpoint};
///
/// let client = Client::new(Endpoint::process(12345));
/// let answer = client.process_info3()?;
/// if let Some(info) = answer.payload() {
///     println!("{} runs {}", info.process_id, info.command_line);
/// }
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// A request that a runtime would refuse, or crash on, is not sent: see
/// [`unchecked`](Self::unchecked).
#[derive(Debug)]
pub struct Client<C = Endpoint> {
    connect: Arc<C>,
    deadlines: Deadlines,
    canceller: Option<Canceller>,
    checks_limits: bool,
}

impl<C> Clone for Client<C> {
    fn clone(&self) -> Self {
        Self { connect: Arc::clone(&self.connect), canceller: self.canceller.clone(), ..*self }
    }
}

impl<C: Connect> Client<C> {
    /// A client of the runtime at `connect`.
    pub fn new(connect: C) -> Self {
        Self {
            connect: Arc::new(connect),
            deadlines: Deadlines::DEFAULT,
            canceller: None,
            checks_limits: true,
        }
    }

    /// Sets the deadlines.
    #[must_use]
    pub fn with_deadlines(mut self, deadlines: Deadlines) -> Self {
        self.deadlines = deadlines;
        self
    }

    /// Lets `canceller` end calls early.
    #[must_use]
    pub fn with_canceller(mut self, canceller: Canceller) -> Self {
        self.canceller = Some(canceller);
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
    pub fn connect(&self) -> Result<Connection<'_, C::Transport>, Error> {
        self.connect_by(Clock::start(&self.deadlines, self.canceller.as_ref()))
    }

    /// Like `connect`, if the whole call began earlier.
    fn connect_by<'s>(&'s self, clock: Clock<'s>) -> Result<Connection<'s, C::Transport>, Error> {
        let until = clock.within(self.deadlines.connect);
        until.check().map_err(|stopped| stopped.during(Phase::Find))?;
        let transport = self.connect.connect(&until)?;
        let mut connection = Connection::new(transport).with_deadlines(self.deadlines).begun(clock);
        if let Some(canceller) = &self.canceller {
            connection = connection.with_canceller(canceller);
        }
        Ok(if self.checks_limits { connection } else { connection.unchecked() })
    }

    /// Sends any `request` and waits for the reply. Does not read what follows the reply: for
    /// sessions use [`trace`](Self::trace), for the environment
    /// [`environment`](Self::environment).
    ///
    /// # Errors
    /// [`Error`], as for every call.
    pub fn call<'r, R: Request<'r>>(&self, request: &R) -> Result<Answer<R>, Error> {
        self.connect()?.call(request)
    }

    /// `ProcessEnvironment`: the block is then read entry by entry.
    ///
    /// # Errors
    /// [`Error`], as for every call.
    pub fn environment(&self) -> Result<EnvironmentBlock<'_, C::Transport>, Error> {
        self.connect()?.environment()
    }

    /// Starts a session that streams: `CollectTracing` to `CollectTracing4`, or a newer one whose
    /// session type says so.
    ///
    /// # Errors
    /// [`Error`], as for every call; [`ErrorKind::Unsupported`](super::ErrorKind::Unsupported) for
    /// a session that does not stream.
    pub fn trace<'r, R: Request<'r, Reply = SessionReply>>(
        &self,
        request: &R,
    ) -> Result<Trace<C::Transport>, Error> {
        let drive = ClientDriver::trace(request, self.checks_limits)?;
        self.connect()?.begin_trace(drive)
    }

    /// Starts a session that streams with the newest command that the runtime knows, following
    /// `fallback`; also returns what was lost. Each command uses a new connection;
    /// [`Deadlines::whole`] covers all of them.
    ///
    /// # Errors
    /// [`Error`] of the last command, as for every call.
    pub fn trace_by(
        &self,
        mut fallback: Fallback<'_>,
    ) -> Result<(Trace<C::Transport>, DroppedFields), Error> {
        if self.checks_limits {
            fallback.check_limits().map_err(|error| Error::new(Phase::Send, error))?;
        }
        let clock = Clock::start(&self.deadlines, self.canceller.as_ref());
        loop {
            let drive = ClientDriver::trace_by(&fallback)?;
            match self.connect_by(clock)?.begin_trace(drive) {
                Ok(trace) => return Ok((trace, fallback.dropped())),
                Err(error)
                    if error.hresult().is_some_and(|hresult| fallback.refused(hresult).is_ok()) => {
                }
                Err(error) => return Err(error),
            }
        }
    }

    #[cfg(unix)]
    pub(super) const fn checks_limits(&self) -> bool {
        self.checks_limits
    }

    /// Sends a request that only succeeds or fails. An OK with a failure result is a refusal.
    pub(super) fn done<'r, R: Request<'r, Reply = ResultReply>>(
        &self,
        request: &R,
    ) -> Result<(), Error> {
        check_result(self.connect()?.call(request)?.message())
    }
}
