//! The blocking client, and the methods that it shares with the async client.

use std::string::{String, ToString as _};
use std::sync::Arc;
use std::time::Instant;

use super::connection::{ClientDriver, Finished, NOT_STREAMING, ensure, lacking};
use super::wait::{CallOptions, Clock};
use super::{
    Answer, Canceller, Connect, Connection, Deadlines, Endpoint, EnvironmentBlock, Error,
    ErrorKind, Phase, StopHandle, Trace,
};
#[cfg(feature = "tokio")]
use super::{AsyncClient, AsyncConnect};
use crate::command::{Command, Continuation};
use crate::exchange::fallback::{DroppedFields, Fallback, FallbackError};
use crate::exchange::{Outcome, StopOutcome};
use crate::message::dump::{GenerateCoreDump, GenerateCoreDump2, GenerateCoreDump3};
use crate::message::eventpipe::{SessionReply, StopTracing};
use crate::message::process::{
    ApplyStartupHook, DisablePerfMap, EnablePerfMap, PerfMapType, ProcessInfo, ProcessInfo2,
    ProcessInfo2Reply, ProcessInfo3, ProcessInfo3Reply, ProcessInfoReply, ResumeRuntime,
    SetEnvironmentVariable,
};
use crate::message::profiler::{AttachProfiler, StartupProfiler};
use crate::message::server::ResultReply;
use crate::message::{AnyReply, AnyRequest, Message, Reply, Request};
use crate::wire::{Guid, IpcString};

/// A blocking client of a runtime. Each call opens a new connection, because a connection carries
/// only one request.
///
/// ```no_run
/// use dotnet_diagnostics_ipc::io::{Client, Endpoint};
///
/// let client = Client::new(Endpoint::process(12345));
/// let info = client.info()?;
/// println!("{} runs {}", info.process_id, info.command_line);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// The client does not send a request that a runtime would refuse or crash on;
/// [`unchecked`](Self::unchecked) turns this off.
#[derive(Debug)]
pub struct Client<C = Endpoint> {
    connect: Arc<C>,
    pub(super) options: CallOptions,
}

impl<C: Connect> Client<C> {
    /// Lets `canceller` end calls early.
    #[must_use]
    pub fn with_canceller(mut self, canceller: Canceller) -> Self {
        self.options.canceller = Some(canceller);
        self
    }

    /// Opens a new connection, and sends nothing yet.
    ///
    /// # Errors
    /// Fails in [`Phase::Find`], [`Phase::Trust`] or [`Phase::Connect`].
    pub fn connect(&self) -> Result<Connection<C::Transport>, Error> {
        self.connect_by(self.start())
    }

    fn start(&self) -> Clock {
        Clock::start(Instant::now, &self.options.deadlines)
    }

    /// Opens a connection for a call that began earlier.
    fn connect_by(&self, clock: Clock) -> Result<Connection<C::Transport>, Error> {
        let until = self.options.until(clock, self.options.deadlines.connect);
        until.check().map_err(|stopped| Error::new(Phase::Find, stopped))?;
        let transport = self.connect.connect(&until)?;
        Ok(Connection::of_call(transport, self.options.clone(), clock))
    }
}

/// Declares the methods that the blocking client and the async client have in common.
macro_rules! commands {
    ($client:ident, $connect:ident::$stream:ident, $environment:ident, $run:ident, $perform:ident,
     [$($async:tt)*], [$($await:tt)*]) => {
        impl<C> Clone for $client<C> {
            fn clone(&self) -> Self {
                Self { connect: Arc::clone(&self.connect), options: self.options.clone() }
            }
        }

        impl<C: $connect> $client<C> {
            /// Creates a client of the runtime at `connect`.
            pub fn new(connect: C) -> Self {
                Self { connect: Arc::new(connect), options: CallOptions::DEFAULT }
            }

            /// Sets the deadlines. With [`Deadlines::NONE`] an async client needs no time driver.
            #[must_use]
            pub fn with_deadlines(mut self, deadlines: Deadlines) -> Self {
                self.options.deadlines = deadlines;
                self
            }

            /// Sends requests without checking their values. Some invalid requests kill a runtime
            /// (F-72, P-19).
            #[must_use]
            pub fn unchecked(mut self) -> Self {
                self.options.checks_limits = false;
                self
            }
        }

        /// The requests. A call fails with an [`Error`], whose [`ErrorKind`] says why.
        impl<C: $connect> $client<C> {
            /// Sends any `request` and waits for the reply, but does not read what follows the
            /// reply. For sessions use [`trace`](Self::trace), for the environment
            /// [`environment`](Self::environment).
            pub $($async)* fn call<'r, R: Request<'r>>(&self, request: &R) -> Result<Answer<R>, Error> {
                let driver = ClientDriver::new(request, self.options.checks_limits)?;
                let mut connection = self.connect()$($await)*?;
                connection.$run(driver)$($await)*?.answer()
            }

            /// Sends a request that only succeeds or fails. A failure inside an OK is a refusal.
            $($async)* fn done<'r, R: Request<'r, Reply = ResultReply>>(&self, request: &R) -> Result<(), Error> {
                check_result(self.call(request)$($await)*?.message())
            }

            /// Sends the newest command that the runtime knows, following `fallback`. Each command
            /// uses a new connection.
            $($async)* fn newest(&self, fallback: &mut Fallback<'_>) -> Result<(Connection<C::$stream>, Finished), Error> {
                if self.options.checks_limits {
                    fallback.check_limits().map_err(|error| Error::new(Phase::Send, error))?;
                }
                let clock = self.start();
                loop {
                    let driver = ClientDriver::newest(fallback)?;
                    let mut connection = self.connect_by(clock)$($await)*?;
                    let finished = connection.$run(driver)$($await)*?;
                    let Outcome::Error { hresult, .. } = finished.outcome else {
                        return Ok((connection, finished));
                    };
                    match fallback.refused(hresult) {
                        Ok(_) => {}
                        Err(FallbackError::OtherError(_)) => return Ok((connection, finished)),
                        Err(why) => {
                            let message = Some(why.to_string());
                            return Err(Error::new(Phase::Reply, ErrorKind::Refused { hresult, message }));
                        }
                    }
                }
            }

            /// Asks for information about the process with `ProcessInfo3`. If the runtime does not
            /// know that command, asks with an older one. [`Deadlines::whole`] limits all attempts
            /// together.
            ///
            /// # Errors
            /// .NET Core 3.1 and older refuse it with
            /// [`UNKNOWN_COMMAND`](crate::hresult::HResult::UNKNOWN_COMMAND).
            pub $($async)* fn info(&self) -> Result<RuntimeInfo, Error> {
                let mut fallback = Fallback::new(AnyRequest::ProcessInfo3(ProcessInfo3 {}));
                let (_, finished) = self.newest(&mut fallback)$($await)*?;
                RuntimeInfo::from_reply(fallback.command(), &finished.ok()?.0)
            }

            /// Makes the process write a dump of itself with `GenerateCoreDump3`. If the runtime
            /// does not know that command, tries an older one. Returns once the dump is written.
            /// [`Deadlines::whole`] limits all attempts together.
            ///
            /// # Errors
            /// .NET 5 and older know only the flag
            /// [`LOGGING`](crate::message::dump::DumpFlags::LOGGING), and refuse others with
            /// [`UNKNOWN_COMMAND`](crate::hresult::HResult::UNKNOWN_COMMAND).
            pub $($async)* fn dump(&self, request: &GenerateCoreDump3<'_>) -> Result<(), Error> {
                let mut fallback = Fallback::new(AnyRequest::GenerateCoreDump3(*request));
                let (_, finished) = self.newest(&mut fallback)$($await)*?;
                check_result(&finished.ok()?.0)
            }

            /// Starts a streaming session with `CollectTracing` to `CollectTracing4`, or with a
            /// newer command whose session type is streaming.
            ///
            /// # Errors
            /// [`ErrorKind::Unsupported`] for a session that does not stream.
            pub $($async)* fn trace<'r, R: Request<'r, Reply = SessionReply>>(&self, request: &R) -> Result<Trace<C::$stream>, Error> {
                let driver = ClientDriver::trace(request, self.options.checks_limits)?;
                let mut connection = self.connect()$($await)*?;
                let finished = connection.$run(driver)$($await)*?;
                connection.traced(finished)
            }

            /// Starts a session that streams. If the runtime does not know the command, tries the
            /// older ones of `fallback`, each on a new connection. Also returns the fields that the
            /// older command lacks. [`Deadlines::whole`] limits all attempts together.
            ///
            /// # Errors
            /// [`ErrorKind::Refused`] if no older command can express the session; its message says
            /// why.
            pub $($async)* fn trace_by(&self, mut fallback: Fallback<'_>) -> Result<(Trace<C::$stream>, DroppedFields), Error> {
                ensure(fallback.continuation() == Some(Continuation::Nettrace), NOT_STREAMING)?;
                let (connection, finished) = self.newest(&mut fallback)$($await)*?;
                Ok((connection.traced(finished)?, fallback.dropped()))
            }

            /// Sends `ProcessEnvironment`. Read the entries from the returned block.
            pub $($async)* fn environment(&self) -> Result<EnvironmentBlock<C::$stream>, Error> {
                self.connect()$($await)*?.$environment()$($await)*
            }

            /// Sends `ProcessInfo`, known since .NET 5.
            pub $($async)* fn process_info(&self) -> Result<Answer<ProcessInfo>, Error> {
                self.call(&ProcessInfo {})$($await)*
            }

            /// Sends `ProcessInfo2`, known since .NET 6. Its reply adds the entry assembly and the
            /// version.
            pub $($async)* fn process_info2(&self) -> Result<Answer<ProcessInfo2>, Error> {
                self.call(&ProcessInfo2 {})$($await)*
            }

            /// Sends `ProcessInfo3`, known since .NET 8. Its reply adds the runtime identifier.
            pub $($async)* fn process_info3(&self) -> Result<Answer<ProcessInfo3>, Error> {
                self.call(&ProcessInfo3 {})$($await)*
            }

            /// Sends `ResumeRuntime`, which resumes only the port of this client (F-42).
            pub $($async)* fn resume(&self) -> Result<(), Error> {
                self.done(&ResumeRuntime {})$($await)*
            }

            /// Sends `SetEnvironmentVariable`, which sets a variable of the process, or deletes it.
            ///
            /// # Errors
            /// The runtime refuses to delete a variable that is not set (F-80).
            pub $($async)* fn set_environment_variable(&self, name: &str, value: Option<&str>) -> Result<(), Error> {
                let value = value.map_or(IpcString::ABSENT, IpcString::new);
                self.done(&SetEnvironmentVariable { name: name.into(), value })$($await)*
            }

            /// Sends `EnablePerfMap`.
            pub $($async)* fn enable_perf_map(&self, perf_map_type: PerfMapType) -> Result<(), Error> {
                self.done(&EnablePerfMap { perf_map_type })$($await)*
            }

            /// Sends `DisablePerfMap`.
            pub $($async)* fn disable_perf_map(&self) -> Result<(), Error> {
                self.done(&DisablePerfMap {})$($await)*
            }

            /// Sends `ApplyStartupHook`. A hook that cannot be loaded ends a 9.0 process (P-2,
            /// P-27).
            pub $($async)* fn apply_startup_hook(&self, path: &str) -> Result<(), Error> {
                self.done(&ApplyStartupHook { startup_hook_path: path.into() })$($await)*
            }

            /// Sends `AttachProfiler`. The reply may take as long as the request's `attachTimeout`.
            pub $($async)* fn attach_profiler(&self, request: &AttachProfiler<'_>) -> Result<(), Error> {
                self.done(request)$($await)*
            }

            /// Sends `StartupProfiler` to a suspended runtime.
            pub $($async)* fn startup_profiler(&self, request: &StartupProfiler<'_>) -> Result<(), Error> {
                self.done(request)$($await)*
            }

            /// Sends `GenerateCoreDump`. Returns once the dump is written.
            pub $($async)* fn generate_core_dump(&self, request: &GenerateCoreDump<'_>) -> Result<(), Error> {
                self.done(request)$($await)*
            }

            /// Sends `GenerateCoreDump2`, known since .NET 6, which has flags.
            pub $($async)* fn generate_core_dump2(&self, request: &GenerateCoreDump2<'_>) -> Result<(), Error> {
                self.done(request)$($await)*
            }

            /// Sends `GenerateCoreDump3`, known since .NET 7. A failure includes a text.
            pub $($async)* fn generate_core_dump3(&self, request: &GenerateCoreDump3<'_>) -> Result<(), Error> {
                self.done(request)$($await)*
            }

            /// Sends `StopTracing` for the session with this id; returns the id that the runtime
            /// echoes. Runtimes answer OK to an unknown id too (F-31). The reply arrives once the
            /// session's stream is drained, so only [`Deadlines::whole`] limits the wait. For your
            /// own sessions use [`Trace::stop_handle`].
            pub $($async)* fn stop_tracing(&self, session_id: u64) -> Result<Option<u64>, Error> {
                let answer = self.call(&StopTracing { session_id })$($await)*?;
                Ok(answer.payload().map(|reply: SessionReply| reply.session_id))
            }
        }

        impl<C: $connect> StopHandle<$client<C>> {
            /// Stops the session, and waits for the reply. The runtime replies once the stream has
            /// been read to its end, so another thread or task must read the stream.
            ///
            /// If the runtime refuses, you may call this again. A stop that was sent cannot be
            /// withdrawn: if this call is cancelled or dropped, or its deadline passes, the next
            /// call sends nothing and waits for the same reply. Keep the [`Trace`] until then.
            ///
            /// If no byte of the stream has been read, this sends nothing and returns
            /// [`StopOutcome::NotSent`], and the reader closes the connection. `StopTracing` would
            /// harm a runtime that waits at its start (F-160). So begin to read before you stop.
            ///
            /// # Errors
            /// [`ErrorKind::SessionOver`] if no stop was sent, and the stream has ended or its
            /// [`Trace`] was dropped. Another session may have the id by then, so nothing is sent
            /// (F-143). [`ErrorKind::AlreadyStopped`] if another call waits for the reply, or the
            /// reply has arrived. All other errors are those of every call; their phase is
            /// [`Phase::Stop`] from the reply on.
            pub $($async)* fn stop(&self) -> Result<StopOutcome, Error> {
                let Some(mut stop) = self.begin::<C::$stream>()? else {
                    return Ok(StopOutcome::NotSent);
                };
                let clock = self.client.start();
                if !stop.is_connected() {
                    stop.connect(self.client.connect_by(clock)$($await)*?.transport)?;
                }
                let (driver, connection) = stop.parts()?;
                let mut connection = Connection::of_call(connection, self.client.options.clone(), clock);
                let asked = connection.$perform(driver)$($await)*;
                stop.finish(asked)
            }
        }
    };
}

commands!(Client, Connect::Transport, environment, run, perform, [], []);
#[cfg(feature = "tokio")]
commands!(AsyncClient, AsyncConnect::Stream, environment_async, run_async, perform_async, [async], [.await]);

/// What a process reports about itself.
///
/// ```no_run
/// use dotnet_diagnostics_ipc::io::{Client, Endpoint};
///
/// let info = Client::new(Endpoint::process(12345)).info()?;
/// let version = info.clr_product_version.as_deref().unwrap_or("5.0");
/// println!("{} runs {} on .NET {version}", info.process_id, info.command_line);
/// # Ok::<(), dotnet_diagnostics_ipc::io::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct RuntimeInfo {
    /// The process id in the target's own pid namespace.
    pub process_id: u64,
    /// The cookie of the runtime, equal in all its replies and advertises.
    pub runtime_cookie: Guid,
    /// The executable with its arguments. Without them if `CoreCLR` on Unix is suspended, or if
    /// this is `NativeAOT` (F-79, F-100, F-126).
    pub command_line: String,
    /// The operating system: `Linux`, `macOS`, `Windows`, `Unknown` or undocumented (F-38).
    pub os: String,
    /// The processor architecture: `x64`, `arm64`, …, or an undocumented value (F-38).
    pub arch: String,
    /// The name of the entry assembly; `None` before .NET 6.
    pub managed_entrypoint_assembly_name: Option<String>,
    /// The version of the runtime; `None` before .NET 6.
    pub clr_product_version: Option<String>,
    /// The platform that the runtime was built for; `None` before .NET 8.
    pub runtime_identifier: Option<String>,
}

impl RuntimeInfo {
    /// Reads the OK reply to one of the `ProcessInfo` commands.
    fn from_reply(command: Command, message: &[u8]) -> Result<Self, Error> {
        let reply = Message::decode(message).and_then(|message| message.reply_to(Some(command)));
        match reply.map_err(|error| Error::new(Phase::Reply, error))? {
            AnyReply::ProcessInfo(reply) => Ok(reply.into()),
            AnyReply::ProcessInfo2(reply) => Ok(reply.into()),
            AnyReply::ProcessInfo3(reply) => Ok(reply.into()),
            _ => lacking("the runtime answered OK without a payload"),
        }
    }
}

/// Converts a reply to [`RuntimeInfo`]; fields that an older command does not have are `None`.
macro_rules! runtime_info {
    ($Reply:ident: $($newer:ident)*; $($absent:ident)*) => {
        impl From<$Reply<'_>> for RuntimeInfo {
            fn from(reply: $Reply<'_>) -> Self {
                Self {
                    process_id: reply.process_id,
                    runtime_cookie: reply.runtime_cookie,
                    command_line: reply.command_line.to_string(),
                    os: reply.os.to_string(),
                    arch: reply.arch.to_string(),
                    $($newer: Some(reply.$newer.to_string()),)*
                    $($absent: None,)*
                }
            }
        }
    };
}

runtime_info! { ProcessInfoReply: ; managed_entrypoint_assembly_name clr_product_version runtime_identifier }
runtime_info! { ProcessInfo2Reply: managed_entrypoint_assembly_name clr_product_version; runtime_identifier }
runtime_info! { ProcessInfo3Reply: managed_entrypoint_assembly_name clr_product_version runtime_identifier; }

/// Checks that the result in the OK `message` is a success too. The generic OK has none (F-2).
fn check_result(message: &[u8]) -> Result<(), Error> {
    let reply = Message::decode(message).and_then(|message| message.reply_as::<ResumeRuntime>());
    match reply.map_err(|error| Error::new(Phase::Reply, error))? {
        Reply::Ok(ResultReply { hresult }) if !hresult.is_success() => {
            Err(Error::new(Phase::Reply, ErrorKind::Refused { hresult, message: None }))
        }
        _ => Ok(()),
    }
}
