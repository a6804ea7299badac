//! The blocking client: one method per command, one connection per call.

use std::marker::PhantomData;
use std::sync::Arc;
use std::vec::Vec;

use super::connection::ClientDriver;
use super::deadlines::Clock;
#[cfg(feature = "tokio")]
use super::{AsyncClient, AsyncConnect};
use super::{
    Canceller, Connection, Deadlines, Endpoint, EnvironmentBlock, Error, ErrorKind, Phase, Trace,
    Transport, Until,
};
use crate::exchange::fallback::{DroppedFields, Fallback};
use crate::hresult::HResult;
use crate::message::dump::{GenerateCoreDump, GenerateCoreDump2, GenerateCoreDump3};
use crate::message::eventpipe::{SessionReply, StopTracing};
use crate::message::process::{
    ApplyStartupHook, DisablePerfMap, EnablePerfMap, PerfMapType, ProcessInfo, ProcessInfo2,
    ProcessInfo3, ResumeRuntime, SetEnvironmentVariable,
};
use crate::message::profiler::{AttachProfiler, StartupProfiler};
use crate::message::server::ResultReply;
use crate::message::{Message, Reply, Request};
use crate::wire::IpcString;

/// Provides a [`Client`](super::Client) with a new connection for each request.
///
/// ```
/// use std::net::TcpStream;
/// use dotnet_diagnostics_ipc::io::{Client, Connect, Error, Stream, Until};
///
/// /// A runtime whose port is forwarded.
/// struct Forwarded(&'static str);
///
/// impl Connect for Forwarded {
///     type Transport = Stream<TcpStream>;
///
///     fn connect(&self, until: &Until<'_>) -> Result<Self::Transport, Error> {
///         let stream = TcpStream::connect(self.0).map_err(Error::connecting)?;
///         stream.set_read_timeout(until.left()).map_err(Error::connecting)?;
///         Ok(Stream(stream))
///     }
/// }
///
/// assert!(Client::new(Forwarded("127.0.0.1:1")).process_info().is_err());
/// ```
pub trait Connect {
    /// The connection type.
    type Transport: Transport;

    /// A new connection, before any byte is sent.
    ///
    /// # Errors
    /// [`Error`], with the phase that failed.
    fn connect(&self, until: &Until<'_>) -> Result<Self::Transport, Error>;
}

impl<C: Connect + ?Sized> Connect for &C {
    type Transport = C::Transport;

    fn connect(&self, until: &Until<'_>) -> Result<Self::Transport, Error> {
        (**self).connect(until)
    }
}

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

macro_rules! commands {
    ($client:ident, $connect:ident, [$($async:tt)*], [$($await:tt)*]) => {
        impl<C: $connect> $client<C> {
            /// `ProcessInfo`. Since .NET 5.
            ///
            /// # Errors
            /// [`Error`], as for every call.
            pub $($async)* fn process_info(&self) -> Result<Answer<ProcessInfo>, Error> {
                self.call(&ProcessInfo {})$($await)*
            }

            /// `ProcessInfo2`: also the entry assembly and the version. Since .NET 6.
            ///
            /// # Errors
            /// [`Error`], as for every call.
            pub $($async)* fn process_info2(&self) -> Result<Answer<ProcessInfo2>, Error> {
                self.call(&ProcessInfo2 {})$($await)*
            }

            /// `ProcessInfo3`: also the runtime identifier. Since .NET 8.
            ///
            /// # Errors
            /// [`Error`], as for every call.
            pub $($async)* fn process_info3(&self) -> Result<Answer<ProcessInfo3>, Error> {
                self.call(&ProcessInfo3 {})$($await)*
            }

            /// `ResumeRuntime`: resumes the port of this client (F-42).
            ///
            /// # Errors
            /// [`Error`], as for every call.
            pub $($async)* fn resume(&self) -> Result<(), Error> {
                self.done(&ResumeRuntime {})$($await)*
            }

            /// `SetEnvironmentVariable`: sets a variable of the process, or deletes it.
            ///
            /// # Errors
            /// [`Error`], as for every call; deleting a missing variable is refused (F-80).
            pub $($async)* fn set_environment_variable(&self, name: &str, value: Option<&str>) -> Result<(), Error> {
                let value = value.map_or(IpcString::ABSENT, IpcString::new);
                self.done(&SetEnvironmentVariable { name: name.into(), value })$($await)*
            }

            /// `EnablePerfMap`.
            ///
            /// # Errors
            /// [`Error`], as for every call.
            pub $($async)* fn enable_perf_map(&self, perf_map_type: PerfMapType) -> Result<(), Error> {
                self.done(&EnablePerfMap { perf_map_type })$($await)*
            }

            /// `DisablePerfMap`.
            ///
            /// # Errors
            /// [`Error`], as for every call.
            pub $($async)* fn disable_perf_map(&self) -> Result<(), Error> {
                self.done(&DisablePerfMap {})$($await)*
            }

            /// `ApplyStartupHook`. A hook that cannot be loaded ends a 9.0 process (P-2, P-27).
            ///
            /// # Errors
            /// [`Error`], as for every call.
            pub $($async)* fn apply_startup_hook(&self, path: &str) -> Result<(), Error> {
                self.done(&ApplyStartupHook { startup_hook_path: path.into() })$($await)*
            }

            /// `AttachProfiler`: the reply may take as long as the request's `attachTimeout`.
            ///
            /// # Errors
            /// [`Error`], as for every call.
            pub $($async)* fn attach_profiler(&self, request: &AttachProfiler<'_>) -> Result<(), Error> {
                self.done(request)$($await)*
            }

            /// `StartupProfiler`, of a suspended runtime.
            ///
            /// # Errors
            /// [`Error`], as for every call.
            pub $($async)* fn startup_profiler(&self, request: &StartupProfiler<'_>) -> Result<(), Error> {
                self.done(request)$($await)*
            }

            /// `GenerateCoreDump`: returns once the dump is written.
            ///
            /// # Errors
            /// [`Error`], as for every call.
            pub $($async)* fn generate_core_dump(&self, request: &GenerateCoreDump<'_>) -> Result<(), Error> {
                self.done(request)$($await)*
            }

            /// `GenerateCoreDump2`: with flags. Since .NET 6.
            ///
            /// # Errors
            /// [`Error`], as for every call.
            pub $($async)* fn generate_core_dump2(&self, request: &GenerateCoreDump2<'_>) -> Result<(), Error> {
                self.done(request)$($await)*
            }

            /// `GenerateCoreDump3`: a failure includes a text. Since .NET 7.
            ///
            /// # Errors
            /// [`Error`], as for every call.
            pub $($async)* fn generate_core_dump3(&self, request: &GenerateCoreDump3<'_>) -> Result<(), Error> {
                self.done(request)$($await)*
            }

            /// `StopTracing` of a session by its id; returns the id that the runtime echoes. An unknown id is OK too (F-31). The
            /// reply arrives once the session's stream is drained, so only [`Deadlines::whole`](crate::io::Deadlines::whole) limits
            /// it. For your own sessions use a trace's `stopper`.
            ///
            /// # Errors
            /// [`Error`], as for every call.
            pub $($async)* fn stop_tracing(&self, session_id: u64) -> Result<Option<u64>, Error> {
                let answer = self.call(&StopTracing { session_id })$($await)*?;
                Ok(answer.payload().map(|reply: SessionReply| reply.session_id))
            }
        }
    };
}

commands!(Client, Connect, [], []);
#[cfg(feature = "tokio")]
commands!(AsyncClient, AsyncConnect, [async], [.await]);

/// An OK, and its payload.
///
/// ```
/// # #[cfg(unix)] {
/// use std::os::unix::net::UnixStream;
/// use dotnet_diagnostics_ipc::io::{Connection, UnixTransport};
/// use dotnet_diagnostics_ipc::message::eventpipe::StopTracing;
///
/// let (ours, mut theirs) = UnixStream::pair()?;
/// std::io::Write::write_all(&mut theirs, b"DOTNET_IPC_V1\0\x1c\0\xff\0\0\0\x2a\0\0\0\0\0\0\0")?;
/// let answer = Connection::new(UnixTransport::new(ours)).call(&StopTracing { session_id: 42 })?;
/// assert_eq!(answer.payload().unwrap().session_id, 42);
/// # }
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answer<R> {
    message: Vec<u8>,
    request: PhantomData<fn() -> R>,
}

impl<R> Answer<R> {
    /// The message; the exchange has checked that it is an OK reply whose payload decodes.
    pub(super) const fn new(message: Vec<u8>) -> Self {
        Self { message, request: PhantomData }
    }

    /// The whole message, including the header.
    pub fn message(&self) -> &[u8] {
        &self.message
    }

    /// The payload; `None` if there is none, as in the generic OK of the document (F-2). For a
    /// caller-defined [`Request`] of a command unknown to this crate, also `None` if its reply
    /// does not decode.
    pub fn payload<'s>(&'s self) -> Option<<R as Request<'s>>::Reply>
    where
        R: Request<'s>,
    {
        match Message::decode(&self.message).ok()?.reply_as::<R>().ok()? {
            Reply::Ok(reply) => Some(reply),
            Reply::OkWithoutPayload | Reply::Error(_) => None,
        }
    }

    /// The result in the payload; [`HResult::OK`] if there is none.
    pub fn result<'s>(&'s self) -> HResult
    where
        R: Request<'s, Reply = ResultReply>,
    {
        self.payload().map_or(HResult::OK, |reply| reply.hresult)
    }
}

/// Whether the result in the OK `message` is a success too. The generic OK has none (F-2).
pub(super) fn check_result(message: &[u8]) -> Result<(), Error> {
    let decode = |message: Message<'_>| match message.payload {
        [] => Ok(HResult::OK),
        _ => message.decode_payload().map(|(ResultReply { hresult }, _)| hresult),
    };
    match Message::decode(message)
        .and_then(decode)
        .map_err(|error| Error::new(Phase::Reply, error))?
    {
        hresult if !hresult.is_success() => {
            Err(Error::new(Phase::Reply, ErrorKind::Refused { hresult, message: None }))
        }
        _ => Ok(()),
    }
}
