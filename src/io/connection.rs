//! One request over one connection.

use super::deadlines::Clock;
use super::drive::{ClientDriver, Finished, Step};
use super::{
    Answer, Canceller, Deadlines, EnvironmentBlock, Error, Stopped, Trace, Transport, Until,
};
use crate::message::Request;
use crate::message::eventpipe::SessionReply;
use crate::message::process::ProcessEnvironment;

/// One request over an existing connection, which it consumes.
///
/// ```
/// # #[cfg(unix)] {
/// use std::os::unix::net::UnixStream;
/// use dotnet_diagnostics_ipc::io::{Connection, ErrorKind, Phase, UnixTransport};
/// use dotnet_diagnostics_ipc::message::process::ProcessInfo3;
///
/// // A peer that speaks another protocol.
/// let (ours, mut theirs) = UnixStream::pair()?;
/// std::io::Write::write_all(&mut theirs, b"HTTP/1.1 400 Bad Request\r\n")?;
/// let error = Connection::new(UnixTransport::new(ours)).call(&ProcessInfo3 {}).unwrap_err();
/// assert!(matches!((error.phase(), error.kind()), (Phase::Reply, ErrorKind::Malformed(_))));
/// # }
/// # Ok::<(), std::io::Error>(())
/// ```
#[derive(Debug)]
#[must_use = "nothing is sent before a call"]
pub struct Connection<'c, T> {
    transport: T,
    deadlines: Deadlines,
    canceller: Option<&'c Canceller>,
    checks_limits: bool,
    clock: Option<Clock<'c>>,
}

/// The descriptor type on systems that cannot pass one.
#[cfg(not(unix))]
pub(super) type Fd<'f> = core::convert::Infallible;
#[cfg(unix)]
pub(super) type Fd<'f> = std::os::fd::BorrowedFd<'f>;

impl<'c, T: Transport> Connection<'c, T> {
    /// A connection before any byte is sent.
    pub const fn new(transport: T) -> Self {
        Self {
            transport,
            deadlines: Deadlines::DEFAULT,
            canceller: None,
            checks_limits: true,
            clock: None,
        }
    }

    /// Sets the deadlines.
    pub const fn with_deadlines(mut self, deadlines: Deadlines) -> Self {
        self.deadlines = deadlines;
        self
    }

    /// Lets `canceller` end the call early.
    pub const fn with_canceller(mut self, canceller: &'c Canceller) -> Self {
        self.canceller = Some(canceller);
        self
    }

    /// Sends the request unchecked. Some invalid requests kill a runtime (F-72, P-19).
    pub const fn unchecked(mut self) -> Self {
        self.checks_limits = false;
        self
    }

    /// Like `new`, if the whole call began earlier.
    pub(super) const fn begun(mut self, clock: Clock<'c>) -> Self {
        self.clock = Some(clock);
        self
    }

    /// Sends the request and waits for the reply.
    ///
    /// # Errors
    /// [`Error`]: everything but an OK whose payload decodes. A session that writes `user_events` is refused before anything is
    /// sent: it takes a descriptor.
    pub fn call<'r, R: Request<'r>>(mut self, request: &R) -> Result<Answer<R>, Error> {
        let drive = ClientDriver::new(request, self.checks_limits)?;
        self.run(drive, None)?.ok().map(|(message, _)| Answer::new(message))
    }

    /// Performs the exchange's actions until it is finished.
    pub(super) fn run(
        &mut self,
        mut drive: ClientDriver,
        fd: Option<Fd<'_>>,
    ) -> Result<Finished, Error> {
        let clock = self.clock();
        let sending = clock.within(self.deadlines.send);
        let reply_within = drive.reply_within(&self.deadlines);
        let mut replying = None;
        loop {
            match drive.next()? {
                Step::Send(bytes) => {
                    let sent = self.transport.send(bytes, &sending);
                    drive.sent(sent)?;
                }
                Step::SendFd => {
                    let sent = self.send_fd(fd, &sending);
                    drive.fd_sent(sent)?;
                }
                Step::Receive(into) => {
                    let until = replying.get_or_insert_with(|| clock.within(reply_within));
                    let received = self.transport.receive(into, until);
                    drive.received(received)?;
                }
                Step::Finish(outcome) => return Ok(drive.finish(outcome)),
            }
        }
    }

    /// The deadlines of the call, which begins now unless it has begun.
    fn clock(&mut self) -> Clock<'c> {
        *self.clock.get_or_insert_with(|| Clock::start(&self.deadlines, self.canceller))
    }

    #[cfg(unix)]
    fn send_fd(&mut self, fd: Option<Fd<'_>>, until: &Until<'_>) -> Result<(), Stopped> {
        fd.map_or_else(|| Err(no_fd()), |fd| self.transport.send_fd(fd, until))
    }

    #[cfg(not(unix))]
    #[allow(clippy::unused_self)] // it is used where descriptors are
    fn send_fd(&mut self, _: Option<Fd<'_>>, _: &Until<'_>) -> Result<(), Stopped> {
        Err(no_fd())
    }

    /// Asks for the environment, which is then read entry by entry.
    ///
    /// # Errors
    /// As [`call`](Self::call).
    pub fn environment(mut self) -> Result<EnvironmentBlock<'c, T>, Error> {
        let clock = self.clock();
        let n_incoming_bytes = self
            .run(ClientDriver::new(&ProcessEnvironment {}, self.checks_limits)?, None)?
            .environment()?;
        let until = clock.within(self.deadlines.continuation);
        Ok(EnvironmentBlock::new(self.transport, n_incoming_bytes, until))
    }

    /// Starts a session that streams: `CollectTracing` to `CollectTracing4`, or a newer one whose
    /// session type says so.
    ///
    /// ```
    /// # #[cfg(unix)] {
    /// use std::io::{Read as _, Write as _};
    /// use std::os::unix::net::UnixStream;
    /// use dotnet_diagnostics_ipc::io::{Connection, UnixTransport};
    /// use dotnet_diagnostics_ipc::message::eventpipe::{CollectTracing2, EventLevel, Format, ProviderConfig};
    /// use dotnet_diagnostics_ipc::wire::Array;
    ///
    /// let (ours, mut theirs) = UnixStream::pair()?;
    /// theirs.write_all(b"DOTNET_IPC_V1\0\x1c\0\xff\0\0\0\x2a\0\0\0\0\0\0\0Nettrace")?;
    /// let providers = [ProviderConfig::new("P", 1, EventLevel::ERROR)];
    /// let request =
    ///     CollectTracing2 { circular_buffer_mb: 1, format: Format::NET_TRACE, request_rundown: true, providers: Array::new(&providers) };
    /// let mut trace = Connection::new(UnixTransport::new(ours)).trace(&request)?;
    /// let mut magic = [0; 8];
    /// trace.read_exact(&mut magic)?;
    /// assert_eq!((trace.session_id(), &magic), (Some(42), b"Nettrace"));
    /// # }
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// As [`call`](Self::call); [`ErrorKind::Unsupported`](super::ErrorKind::Unsupported) for a
    /// session that does not stream.
    pub fn trace<'r, R: Request<'r, Reply = SessionReply>>(
        self,
        request: &R,
    ) -> Result<Trace<T>, Error> {
        let drive = ClientDriver::trace(request, self.checks_limits)?;
        self.begin_trace(drive)
    }

    pub(super) fn begin_trace(mut self, drive: ClientDriver) -> Result<Trace<T>, Error> {
        let session_id = self.run(drive, None)?.stream()?;
        Ok(Trace::new(self.transport, session_id, self.deadlines.stream, self.canceller))
    }

    /// The connection in its current state: what follows the reply arrives on it.
    #[cfg(unix)]
    pub(super) fn into_transport(self) -> T {
        self.transport
    }
}

fn no_fd() -> Stopped {
    Stopped::Io(std::io::Error::new(std::io::ErrorKind::Unsupported, "no descriptor to pass"))
}
