//! The server's handler with a method for each command, its answers, and the writers of sessions.

use std::boxed::Box;
use std::fmt;
use std::io;
#[cfg(unix)]
use std::os::fd::OwnedFd;
use std::string::String;
use std::time::Duration;
use std::vec::Vec;

use super::Served;
use crate::continuation::Entry;
use crate::exchange::{self, End, MisuseError, RefusalReason, ServerAction};
use crate::hresult::HResult;
use crate::io::{Canceller, Error, ErrorKind, Phase, Transport, WaitLimit};
use crate::message::dump::{GenerateCoreDump, GenerateCoreDump2, GenerateCoreDump3};
#[cfg(unix)]
use crate::message::eventpipe::UserEventsSession;
use crate::message::eventpipe::{
    CollectTracing, CollectTracing2, CollectTracing3, CollectTracing4, CollectTracing5,
    CollectTracing6, SessionReply, StopTracing, StreamingSession, StreamingSession6,
};
use crate::message::process::{
    ApplyStartupHook, DisablePerfMap, EnablePerfMap, ProcessInfo2Reply, ProcessInfo3Reply,
    ProcessInfoReply, ResumeRuntime, SetEnvironmentVariable,
};
use crate::message::profiler::{AttachProfiler, StartupProfiler};
use crate::message::server::ResultReply;
use crate::message::{AnyReply, AnyRequest, Message};

/// Declares methods that answer `UNKNOWN_COMMAND`.
macro_rules! commands {
    ($($(#[$meta:meta])* $method:ident($($argument:ident: $Argument:ty),*) -> $Reply:ty, $Error:ty;)*) => {$(
        $(#[$meta])*
        ///
        /// # Errors
        /// Returns the error that the client gets, which is `UNKNOWN_COMMAND` by default.
        fn $method(&self $(, $argument: $Argument)*) -> Result<$Reply, $Error> {
            $(let _ = $argument;)*
            Err(HResult::UNKNOWN_COMMAND.into())
        }
    )*};
}

/// A server's handler: one method for each command; the default answer of each is
/// `UNKNOWN_COMMAND`.
///
/// A request passed to a method decodes and is within the limits (F-16); others go to
/// [`refuse`](Self::refuse). Several threads call it at once, one for each connection, unless
/// [`ServeOptions::most_at_once`](super::ServeOptions::most_at_once) is 1.
///
/// ```
/// use std::os::unix::net::UnixStream;
/// use dotnet_diagnostics_ipc::hresult::HResult;
/// use dotnet_diagnostics_ipc::io::server::{Handler, ServeOptions, serve_connection};
/// use dotnet_diagnostics_ipc::io::{Connection, SocketTransport};
/// use dotnet_diagnostics_ipc::message::process::{ProcessInfo, ProcessInfoReply};
/// use dotnet_diagnostics_ipc::wire::Guid;
///
/// struct Runtime(String);
/// impl Handler for Runtime {
///     fn process_info(&self) -> Result<ProcessInfoReply<'_>, HResult> {
///         let command_line = self.0.as_str().into();
///         Ok(ProcessInfoReply { process_id: 1, runtime_cookie: Guid::NIL, command_line, os: "Linux".into(), arch: "x64".into() })
///     }
/// }
///
/// let (ours, theirs) = UnixStream::pair()?;
/// let (ours, theirs) = (SocketTransport::new(ours), SocketTransport::new(theirs));
/// std::thread::spawn(|| serve_connection(theirs, &Runtime("app".into()), &ServeOptions::DEFAULT, None));
/// let answer = Connection::new(ours).call(&ProcessInfo {})?;
/// assert_eq!(answer.payload().unwrap().command_line, "app");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub trait Handler {
    commands! {
        /// Answers `GenerateCoreDump`.
        generate_core_dump(request: GenerateCoreDump<'_>) -> ResultReply, HResult;
        /// Answers `GenerateCoreDump2`.
        generate_core_dump2(request: GenerateCoreDump2<'_>) -> ResultReply, HResult;
        /// Answers `GenerateCoreDump3`; a failure may include a reason (F-50).
        generate_core_dump3(request: GenerateCoreDump3<'_>) -> ResultReply, Refusal;
        /// Answers `StopTracing`. Runtimes first drain the stream, and accept any id (F-31).
        stop_tracing(request: StopTracing) -> SessionReply, HResult;
        /// Answers `CollectTracing`.
        collect_tracing(request: CollectTracing<'_>) -> StreamSession<'_>, HResult;
        /// Answers `CollectTracing2`.
        collect_tracing2(request: CollectTracing2<'_>) -> StreamSession<'_>, HResult;
        /// Answers `CollectTracing3`.
        collect_tracing3(request: CollectTracing3<'_>) -> StreamSession<'_>, HResult;
        /// Answers `CollectTracing4`.
        collect_tracing4(request: CollectTracing4<'_>) -> StreamSession<'_>, HResult;
        /// Answers `CollectTracing5` for a session that streams.
        collect_tracing5(request: StreamingSession<'_>) -> StreamSession<'_>, HResult;
        /// Answers `CollectTracing6` for a session that streams.
        collect_tracing6(request: StreamingSession6<'_>) -> StreamSession<'_>, HResult;
        /// Answers `AttachProfiler`.
        attach_profiler(request: AttachProfiler<'_>) -> ResultReply, HResult;
        /// Answers `StartupProfiler`.
        startup_profiler(request: StartupProfiler<'_>) -> ResultReply, HResult;
        /// Answers `ProcessInfo`.
        process_info() -> ProcessInfoReply<'_>, HResult;
        /// Answers `ResumeRuntime`.
        resume_runtime(request: ResumeRuntime) -> ResultReply, HResult;
        /// Answers `ProcessEnvironment`.
        process_environment() -> Entries<'_>, HResult;
        /// Answers `SetEnvironmentVariable`.
        set_environment_variable(request: SetEnvironmentVariable<'_>) -> ResultReply, HResult;
        /// Answers `ProcessInfo2`.
        process_info2() -> ProcessInfo2Reply<'_>, HResult;
        /// Answers `EnablePerfMap`.
        enable_perf_map(request: EnablePerfMap) -> ResultReply, HResult;
        /// Answers `DisablePerfMap`.
        disable_perf_map(request: DisablePerfMap) -> ResultReply, HResult;
        /// Answers `ApplyStartupHook`.
        apply_startup_hook(request: ApplyStartupHook<'_>) -> ResultReply, HResult;
        /// Answers `ProcessInfo3`.
        process_info3() -> ProcessInfo3Reply<'_>, HResult;
    }

    #[cfg(unix)]
    commands! {
        /// Answers `CollectTracing5` or `6` for a session that writes `user_events` to `fd`.
        collect_user_events(request: UserEventsSession<'_>, fd: OwnedFd) -> HeldSession<'_>, HResult;
    }

    /// Called before the method of a command. By default every request goes on to its method.
    ///
    /// # Errors
    /// Returns the reply that the client gets in place of the method's.
    fn check(&self, request: &AnyRequest<'_>) -> Result<(), Refusal> {
        let _ = request;
        Ok(())
    }

    /// Returns the reply to a request that reaches no method; by default
    /// [`RefusalReason::hresult`], as in runtimes. `request` is given if its header is right, its
    /// command known, and its payload complete.
    fn refuse(&self, request: Option<Message<'_>>, reason: RefusalReason) -> Refusal {
        let _ = request;
        reason.hresult().into()
    }

    /// Called when a connection is over, with its outcome, unless the shutdown ends it. Does
    /// nothing by default.
    fn served(&self, served: &Served) {
        let _ = served;
    }
}

/// A received descriptor, on systems that support it.
#[cfg(unix)]
pub(super) type Passed = Option<OwnedFd>;
#[cfg(not(unix))]
pub(super) type Passed = Option<core::convert::Infallible>;

/// The handler's answer.
pub(super) enum Response<'h> {
    Reply(AnyReply<'h>),
    Environment(Entries<'h>),
    Stream(StreamSession<'h>),
    // Systems without descriptors never construct this.
    #[cfg_attr(not(unix), allow(dead_code))]
    Held(HeldSession<'h>),
}

/// Calls the handler. The answer borrows from the handler, not from the request, which the reply
/// will overwrite.
pub(super) fn ask<'h, H: Handler + ?Sized>(
    handler: &'h H,
    request: &AnyRequest<'_>,
    fd: Passed,
) -> Result<Response<'h>, Refusal> {
    use AnyRequest as Ask;
    use Response::{Environment, Reply, Stream};
    let done = |result| Reply(AnyReply::Result(result));
    handler.check(request)?;
    Ok(match *request {
        Ask::GenerateCoreDump(request) => done(handler.generate_core_dump(request)?),
        Ask::GenerateCoreDump2(request) => done(handler.generate_core_dump2(request)?),
        Ask::GenerateCoreDump3(request) => done(handler.generate_core_dump3(request)?),
        Ask::AttachProfiler(request) => done(handler.attach_profiler(request)?),
        Ask::StartupProfiler(request) => done(handler.startup_profiler(request)?),
        Ask::ResumeRuntime(request) => done(handler.resume_runtime(request)?),
        Ask::SetEnvironmentVariable(request) => done(handler.set_environment_variable(request)?),
        Ask::EnablePerfMap(request) => done(handler.enable_perf_map(request)?),
        Ask::DisablePerfMap(request) => done(handler.disable_perf_map(request)?),
        Ask::ApplyStartupHook(request) => done(handler.apply_startup_hook(request)?),
        Ask::StopTracing(request) => Reply(AnyReply::Session(handler.stop_tracing(request)?)),
        Ask::ProcessInfo(_) => Reply(AnyReply::ProcessInfo(handler.process_info()?)),
        Ask::ProcessInfo2(_) => Reply(AnyReply::ProcessInfo2(handler.process_info2()?)),
        Ask::ProcessInfo3(_) => Reply(AnyReply::ProcessInfo3(handler.process_info3()?)),
        Ask::ProcessEnvironment(_) => Environment(handler.process_environment()?),
        Ask::CollectTracing(request) => Stream(handler.collect_tracing(request)?),
        Ask::CollectTracing2(request) => Stream(handler.collect_tracing2(request)?),
        Ask::CollectTracing3(request) => Stream(handler.collect_tracing3(request)?),
        Ask::CollectTracing4(request) => Stream(handler.collect_tracing4(request)?),
        Ask::CollectTracing5(CollectTracing5::Streaming(request)) => {
            Stream(handler.collect_tracing5(request)?)
        }
        Ask::CollectTracing6(CollectTracing6::Streaming(request)) => {
            Stream(handler.collect_tracing6(request)?)
        }
        // A request without a descriptor was refused earlier (F-21).
        #[cfg(unix)]
        Ask::CollectTracing5(CollectTracing5::UserEvents(request))
        | Ask::CollectTracing6(CollectTracing6::UserEvents(request)) => {
            let fd = fd.ok_or(HResult::BAD_ENCODING)?;
            Response::Held(handler.collect_user_events(request, fd)?)
        }
        #[cfg(not(unix))]
        Ask::CollectTracing5(_) | Ask::CollectTracing6(_) => {
            let _ = fd;
            return Err(HResult::NOT_SUPPORTED.into());
        }
        Ask::Unknown { .. } => return Err(HResult::UNKNOWN_COMMAND.into()),
    })
}

/// A session whose stream follows the reply.
///
/// ```
/// use dotnet_diagnostics_ipc::io::server::StreamSession;
///
/// let session = StreamSession::new(1, |stream| std::io::Write::write_all(stream, b"Nettrace"));
/// assert_eq!(session.session_id(), 1);
/// ```
pub struct StreamSession<'h> {
    session_id: u64,
    pub(super) stream: Stream<'h>,
}

type Stream<'h> = Box<dyn FnOnce(&mut StreamWriter<'_>) -> io::Result<()> + 'h>;

impl<'h> StreamSession<'h> {
    /// Creates a session. Once the reply is sent, `stream` is called to write the stream, and then
    /// the connection is closed. If the reply cannot be sent, `stream` is not called.
    pub fn new(
        session_id: u64,
        stream: impl FnOnce(&mut StreamWriter<'_>) -> io::Result<()> + 'h,
    ) -> Self {
        Self { session_id, stream: Box::new(stream) }
    }

    /// Returns the session id in the reply.
    pub const fn session_id(&self) -> u64 {
        self.session_id
    }
}

impl fmt::Debug for StreamSession<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("StreamSession")
            .field("session_id", &self.session_id)
            .finish_non_exhaustive()
    }
}

/// A `user_events` session, which lasts as long as its connection (F-23).
///
/// ```
/// use dotnet_diagnostics_ipc::io::server::HeldSession;
///
/// // Ends when the client hangs up.
/// let session = HeldSession::new(2, |connection| while let Ok(false) = connection.wait(None) {});
/// assert_eq!(session.session_id(), 2);
/// ```
pub struct HeldSession<'h> {
    session_id: u64,
    pub(super) hold: Hold<'h>,
}

type Hold<'h> = Box<dyn FnOnce(&mut HeldConnection<'_>) + 'h>;

impl<'h> HeldSession<'h> {
    /// Creates a session. Once the reply is sent, `hold` is called; the session ends when it
    /// returns, and the connection is closed. If the reply cannot be sent, `hold` is not called.
    pub fn new(session_id: u64, hold: impl FnOnce(&mut HeldConnection<'_>) + 'h) -> Self {
        Self { session_id, hold: Box::new(hold) }
    }

    /// Returns the session id in the reply.
    pub const fn session_id(&self) -> u64 {
        self.session_id
    }
}

impl fmt::Debug for HeldSession<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HeldSession").field("session_id", &self.session_id).finish_non_exhaustive()
    }
}

/// The entries of an environment block.
///
/// ```
/// use dotnet_diagnostics_ipc::io::server::Entries;
///
/// let entries: Entries = ["HOME=/", "no equals sign"].into_iter().collect();
/// assert_eq!(entries.entries.len(), 2);
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Entries<'h> {
    /// The entries to send, in this order.
    pub entries: Vec<Entry<'h>>,
    /// Interrupts the block with an error after this many of its bytes, like a runtime that fails
    /// while sending (F-43).
    pub broken_off: Option<(u32, HResult)>,
}

impl<'h, E: Into<Entry<'h>>> FromIterator<E> for Entries<'h> {
    fn from_iter<I: IntoIterator<Item = E>>(entries: I) -> Self {
        Self { entries: entries.into_iter().map(Into::into).collect(), broken_off: None }
    }
}

/// The refusal of a request; `GenerateCoreDump3` may include a text (F-50).
///
/// ```
/// use dotnet_diagnostics_ipc::hresult::HResult;
/// use dotnet_diagnostics_ipc::io::server::Refusal;
///
/// assert_eq!(Refusal::from(HResult::FAIL).message, None);
/// let refusal = Refusal { hresult: HResult::FAIL, message: Some("the disk is full".into()) };
/// assert_eq!(refusal.to_string(), "refused with 0x80004005 DS_IPC_E_FAIL: the disk is full");
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal {
    /// The code.
    pub hresult: HResult,
    /// The text; `None` if the message ends with the code.
    pub message: Option<String>,
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "refused with {}", self.hresult)?;
        self.message.as_ref().map_or(Ok(()), |message| write!(f, ": {message}"))
    }
}

impl From<HResult> for Refusal {
    fn from(hresult: HResult) -> Self {
        Self { hresult, message: None }
    }
}

/// Sends the whole reply. If the wait ends before, the exchange is told.
pub(super) fn send(
    server: &mut exchange::Server,
    transport: &mut dyn Transport,
    buffer: &[u8],
    until: &WaitLimit<'_>,
) -> Result<Option<ErrorKind>, MisuseError> {
    while let ServerAction::Send(range) = server.action() {
        let stopped = match transport.send(buffer.get(range).unwrap_or_default(), until) {
            // A transport that is ready to send but takes nothing never will.
            Ok(0) => ErrorKind::Io(io::ErrorKind::WriteZero.into()),
            Ok(n) => {
                server.sent(n)?;
                continue;
            }
            Err(stopped) => stopped,
        };
        match stopped {
            ErrorKind::TimedOut => server.ended(End::TimedOut)?,
            _ => server.send_failed()?,
        }
        return Ok(Some(stopped));
    }
    Ok(None)
}

/// The maximum number of bytes that are sent at once.
const STREAM_PIECE: usize = 64 * 1024;

/// Writes the stream of a session. A write returns once the client's side has accepted it: a client
/// that does not read blocks the handler, for up to
/// [`ServeOptions::stream`](super::ServeOptions::stream).
///
/// ```
/// use std::io::Write as _;
/// use dotnet_diagnostics_ipc::io::server::StreamSession;
///
/// let session = StreamSession::new(1, |stream| {
///     stream.write_all(b"Nettrace")?;
///     // Until the client hangs up.
///     while !stream.pause(std::time::Duration::from_secs(1))? {}
///     Ok(())
/// });
/// # drop(session);
/// ```
///
/// Writing fails with `TimedOut` if the client did not read in time, with `ConnectionAborted` on
/// shutdown, and with the system's error if the client has disconnected. Nothing can be written
/// after that.
pub struct StreamWriter<'w> {
    pub(super) server: &'w mut exchange::Server,
    pub(super) transport: &'w mut dyn Transport,
    pub(super) buffer: &'w mut Vec<u8>,
    pub(super) within: Option<Duration>,
    pub(super) canceller: Option<&'w Canceller>,
    pub(super) streamed: u64,
}

impl StreamWriter<'_> {
    /// Returns how many bytes were sent.
    pub const fn streamed(&self) -> u64 {
        self.streamed
    }

    /// Waits this long; returns whether the client hung up meanwhile, as far as that can be
    /// detected.
    ///
    /// # Errors
    /// `ConnectionAborted` if the server is shut down.
    pub fn pause(&mut self, time: Duration) -> io::Result<bool> {
        wait(self.transport, Some(time), self.canceller)
    }
}

impl io::Write for StreamWriter<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let piece = bytes.get(..bytes.len().min(STREAM_PIECE)).unwrap_or_default();
        if self.buffer.len() < piece.len() {
            self.buffer.resize(piece.len(), 0);
        }
        for (to, from) in self.buffer.iter_mut().zip(piece) {
            *to = *from;
        }
        // An earlier failure closed the stream.
        self.server
            .piece(self.buffer, piece.len())
            .map_err(|_| io::Error::from(io::ErrorKind::BrokenPipe))?;
        let until = WaitLimit::within(self.within, self.canceller);
        let sent = send(self.server, self.transport, self.buffer, &until);
        match sent.map_err(io::Error::other)? {
            None => {}
            Some(ErrorKind::Cancelled) => return Err(shut_down()),
            Some(ErrorKind::Io(error)) => return Err(error),
            Some(stopped) => return Err(Error::new(Phase::Continuation, stopped).into()),
        }
        self.streamed = self.streamed.saturating_add(piece.len() as u64);
        Ok(piece.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl fmt::Debug for StreamWriter<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("StreamWriter").field("streamed", &self.streamed).finish_non_exhaustive()
    }
}

/// The connection of a `user_events` session: it carries no data.
pub struct HeldConnection<'w> {
    pub(super) transport: &'w mut dyn Transport,
    pub(super) canceller: Option<&'w Canceller>,
    pub(super) hung_up: bool,
}

impl HeldConnection<'_> {
    /// Waits until the client hangs up, or until the timeout; returns whether it hung up. A
    /// half-close does not count (F-23).
    ///
    /// # Errors
    /// `ConnectionAborted` if the server is shut down.
    pub fn wait(&mut self, time: Option<Duration>) -> io::Result<bool> {
        if !self.hung_up {
            self.hung_up = wait(self.transport, time, self.canceller)?;
        }
        Ok(self.hung_up)
    }
}

impl fmt::Debug for HeldConnection<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HeldConnection").field("hung_up", &self.hung_up).finish_non_exhaustive()
    }
}

fn wait(
    transport: &mut dyn Transport,
    time: Option<Duration>,
    canceller: Option<&Canceller>,
) -> io::Result<bool> {
    match transport.hung_up(&WaitLimit::within(time, canceller)) {
        Err(ErrorKind::TimedOut) => Ok(false),
        Err(ErrorKind::Cancelled) => Err(shut_down()),
        // The client hung up, however the connection ended.
        _ => Ok(true),
    }
}

fn shut_down() -> io::Error {
    io::Error::new(io::ErrorKind::ConnectionAborted, "the server is shut down")
}
