//! A session that writes `user_events`, held by its connection.

use std::os::fd::AsFd;

use rustix::io::Errno;
use rustix::net::{RecvFlags, recv};

use super::connection::ClientDriver;
use super::{Client, Connect, Error, ErrorKind, Phase, Stopped, Until};
use crate::exchange::AfterReply;
use crate::message::Request;
use crate::message::eventpipe::SessionReply;

/// A session that writes `user_events`: it lasts until this is dropped, or the process ends (F-23).
///
/// ```no_run
/// use std::fs::File;
/// use dotnet_diagnostics_ipc::io::{Client, Endpoint};
/// use dotnet_diagnostics_ipc::message::eventpipe::{
///     CollectTracing5, EventFilter, EventLevel, TracepointConfig, TracepointSet, UserEventsProviderConfig, UserEventsSession,
/// };
/// use dotnet_diagnostics_ipc::wire::{Array, IpcString};
///
/// let sets = [TracepointSet { tracepoint_name: "gc".into(), event_ids: Array::new(&[1, 2]) }];
/// let providers = [UserEventsProviderConfig {
///     keywords: 1,
///     log_level: EventLevel::INFORMATIONAL,
///     provider_name: "Microsoft-Windows-DotNETRuntime".into(),
///     arguments: IpcString::ABSENT,
///     filter: EventFilter::ALL,
///     config: TracepointConfig { default_tracepoint_name: "rest".into(), tracepoints: Array::new(&sets) },
/// }];
/// let request = CollectTracing5::UserEvents(UserEventsSession { rundown_keyword: 0, providers: Array::new(&providers) });
/// let data = File::options().read(true).write(true).open("/sys/kernel/tracing/user_events_data")?;
/// let session = Client::new(Endpoint::process(12345)).user_events(&request, &data)?;
/// // … the tracepoints exist; perf or another reader reads them …
/// drop(session);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
#[must_use = "dropping it ends the session"]
pub struct UserEvents<T> {
    transport: T,
    session_id: Option<u64>,
}

impl<T> UserEvents<T> {
    /// The session's id; `None` if the runtime did not report it (F-2).
    pub const fn session_id(&self) -> Option<u64> {
        self.session_id
    }
}

impl<T: AsFd> UserEvents<T> {
    /// Waits until the session ends by itself: the process has exited. Bytes, which no runtime
    /// sends here, are read and ignored.
    ///
    /// # Errors
    /// [`ErrorKind::TimedOut`] if it lasts longer; [`ErrorKind::Cancelled`].
    pub fn wait(&self, until: &Until<'_>) -> Result<(), Error> {
        let fd = self.transport.as_fd();
        let at_end = || -> Result<(), Stopped> {
            loop {
                until.readable(fd)?;
                match recv(fd, &mut [0; 64], RecvFlags::DONTWAIT) {
                    Ok((0, _)) | Err(Errno::CONNRESET) => return Ok(()),
                    Ok(_) | Err(Errno::AGAIN | Errno::INTR) => {}
                    Err(errno) => return Err(Stopped::Io(errno.into())),
                }
            }
        };
        at_end().map_err(|stopped| stopped.during(Phase::Continuation))
    }
}

impl<C: Connect> Client<C> {
    /// Starts a session that writes `user_events` through `user_events_data`, which the caller
    /// keeps: the runtime gets a duplicate, with a separate byte, before its reply is awaited
    /// (F-19, F-20).
    ///
    /// # Errors
    /// [`Error`], as for every call; [`ErrorKind::Unsupported`] for a session of another type.
    pub fn user_events<'r, R: Request<'r, Reply = SessionReply>>(
        &self,
        request: &R,
        user_events_data: impl AsFd,
    ) -> Result<UserEvents<C::Transport>, Error> {
        let drive = ClientDriver::user_events(request, self.checks_limits())?;
        let mut connection = self.connect()?;
        match connection.run(drive, Some(user_events_data.as_fd()))?.ok()? {
            (_, AfterReply::UserEvents { session_id }) => {
                Ok(UserEvents { transport: connection.into_transport(), session_id })
            }
            _ => Err(Error::new(
                Phase::Reply,
                ErrorKind::Unsupported("the runtime did not start a user_events session"),
            )),
        }
    }
}
