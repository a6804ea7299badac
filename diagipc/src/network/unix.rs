//! The parts of a network that only sockets have: descriptors, half-closes, resets and files.

use std::fs::{self, File};
use std::io;
use std::net::TcpListener;
use std::os::fd::{AsFd, AsRawFd as _, BorrowedFd, OwnedFd};
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use dotnet_diagnostics_ipc::endpoint::SocketName;
use dotnet_diagnostics_ipc::io::trust::peer_of;
use dotnet_diagnostics_ipc::io::{
    Connect as _, Endpoint, Error, ErrorKind, Phase, SocketGuard, SocketTransport, WaitLimit,
    bind_tcp, bind_trusting, fd,
};
use dotnet_diagnostics_ipc_vectors::player::{Flow, PlayerError};
use dotnet_diagnostics_ipc_vectors::script::{FdKind, SignalKind, Step};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::FileType;
use rustix::net::Shutdown;
use rustix::process::{self, Pid, Signal, test_kill_process};

use super::{Background, cancelled, failed, tcp_address, trust_policy};
use crate::process::procfs::Stat;

/// The interval of polling.
const POLL_INTERVAL: Duration = Duration::from_millis(10);
/// How long a connection to a listener with room takes.
const CONNECT_TIMEOUT: Duration = Duration::from_millis(50);

/// The possible paths of the file in tracefs.
const USER_EVENTS_DATA: [&str; 2] =
    ["/sys/kernel/tracing/user_events_data", "/sys/kernel/debug/tracing/user_events_data"];

pub(super) type Stream = OwnedFd;

/// A socket or TCP address at which this process listens. The file of a socket is removed with the
/// last copy.
#[derive(Clone, Debug)]
pub struct SocketListener(Arc<Inner>);

#[derive(Debug)]
enum Inner {
    Socket(UnixListener, SocketGuard),
    Tcp(TcpListener, PathBuf),
}

impl SocketListener {
    /// Listens at the socket `address`, which only this user can reach, or at a TCP address. The
    /// listener does not block.
    ///
    /// # Errors
    /// Returns whatever [`bind_trusting`] and [`bind_tcp`] return.
    pub fn bind(address: impl AsRef<Path>) -> Result<Self, Error> {
        let failed = |error| Error::new(Phase::Listen, error);
        let inner = if let Some(address) = tcp_address(address.as_ref()) {
            let listener = bind_tcp(address, trust_policy())?;
            let address = listener.local_addr().map_err(failed)?;
            Inner::Tcp(listener, address.to_string().into())
        } else {
            let (listener, guard) = bind_trusting(address, trust_policy())?;
            Inner::Socket(listener, guard)
        };
        let listener = Self(Arc::new(inner));
        rustix::io::ioctl_fionbio(&listener, true).map_err(|errno| failed(errno.into()))?;
        Ok(listener)
    }

    /// Returns where it listens: the absolute path, or the TCP address with the port that it got.
    pub fn place(&self) -> &Path {
        match &*self.0 {
            Inner::Socket(_, guard) => guard.path(),
            Inner::Tcp(_, place) => place,
        }
    }

    /// Accepts a connection that waits.
    pub(crate) fn accept_now(&self) -> io::Result<OwnedFd> {
        Ok(match &*self.0 {
            Inner::Socket(listener, _) => listener.accept()?.0.into(),
            Inner::Tcp(listener, _) => listener.accept()?.0.into(),
        })
    }

    /// Accepts a connection, or `None` on a timeout.
    pub(super) fn accept(&self, until: &WaitLimit<'_>) -> Result<Option<Stream>, PlayerError> {
        if !self.is_called(until)? {
            return Ok(None);
        }
        let stream = self.accept_now().map_err(failed("accepting"))?;
        // If the peer has closed already, its bytes are still readable.
        let _ = fd::without_signal(&stream);
        Ok(Some(stream))
    }

    /// Returns whether a connection arrives in time.
    pub(super) fn is_called(&self, until: &WaitLimit<'_>) -> Result<bool, PlayerError> {
        match until.readable(self) {
            Ok(()) => Ok(true),
            Err(ErrorKind::TimedOut) => Ok(false),
            Err(ErrorKind::Cancelled) => Err(cancelled()),
            Err(error) => Err(failed("waiting for a connection")(error)),
        }
    }
}

impl AsFd for SocketListener {
    fn as_fd(&self) -> BorrowedFd<'_> {
        match &*self.0 {
            Inner::Socket(listener, _) => listener.as_fd(),
            Inner::Tcp(listener, _) => listener.as_fd(),
        }
    }
}

/// Returns `None`, because sockets can play every step.
pub(super) const fn lacks(_: &Step) -> Option<&'static str> {
    None
}

/// Returns the endpoint at a [`place`](super::place), with the trust policy of this process.
#[must_use]
pub fn endpoint_at(place: &Path) -> Endpoint {
    let endpoint = tcp_address(place).map_or_else(|| Endpoint::socket(place), Endpoint::tcp);
    endpoint.trusting(trust_policy())
}

/// Connects to a [`place`](super::place). The owner of a socket is not checked.
pub(crate) fn connect_to(place: &Path, until: &WaitLimit<'_>) -> Result<SocketTransport, Error> {
    match tcp_address(place) {
        Some(_) => endpoint_at(place).connect(until),
        None => SocketTransport::connect(place, until),
    }
}

/// Connects once there is a listener. The file of a socket exists a moment before, so a refusal is
/// not final.
pub(super) fn connect(path: &Path, until: &WaitLimit<'_>) -> Result<Stream, PlayerError> {
    let mut missing = None;
    loop {
        match connect_to(path, until) {
            Ok(transport) => return Ok(transport.into()),
            Err(error) if is_missing(&error) && until.left().is_none_or(|left| !left.is_zero()) => {
                if let Some(id) = named_process(path).filter(|id| !lives(*id)) {
                    let text = format!("process {id} has exited: {error}");
                    return Err(PlayerError::differs(text));
                }
                // A socket needs its directory. A bare name is in the current directory.
                let directory = path.parent().filter(|directory| *directory != Path::new(""));
                if directory.is_some_and(|directory| !directory.exists()) {
                    let text = format!("{error}: its directory was deleted");
                    return Err(PlayerError::differs(text));
                }
                missing = Some(error);
                thread::sleep(POLL_INTERVAL);
            }
            // The missing condition explains more than the timeout.
            Err(error) if matches!(error.kind(), ErrorKind::TimedOut) => {
                return Err(PlayerError::differs(missing.unwrap_or(error).to_string()));
            }
            Err(error) => return Err(PlayerError::differs(error.to_string())),
        }
    }
}

/// Does nothing, because the next connection may follow at once.
pub(super) const fn after_connecting() {}

/// Returns whether there is no listener, or not yet.
fn is_missing(error: &Error) -> bool {
    matches!(error.kind(), ErrorKind::NotFound(_) | ErrorKind::NotAnEndpoint(_))
}

/// Returns whether a process listens there. A full backlog counts too.
pub(crate) fn is_served(path: &Path) -> bool {
    let until =
        WaitLimit { deadline: Instant::now().checked_add(CONNECT_TIMEOUT), canceller: None };
    connect_to(path, &until).err().is_none_or(|error| !is_missing(&error))
}

/// Returns the process at the other end that called `listen` or connected, if the system reports
/// it.
pub(super) fn peer_process(stream: &Stream) -> Option<u32> {
    peer_of(stream).ok()?.process_id
}

/// Sends some of the bytes, with the descriptor attached to the first.
pub(super) fn send(
    stream: &mut Stream,
    bytes: &[u8],
    descriptor: Option<&OwnedFd>,
    until: &WaitLimit<'_>,
) -> Result<usize, ErrorKind> {
    retried(
        || fd::send(&*stream, bytes, descriptor.map(AsFd::as_fd).as_slice()),
        || until.writable(&*stream),
    )
}

/// Receives some bytes, and the number of descriptors.
pub(super) fn receive(
    stream: &mut Stream,
    into: &mut [u8],
    until: &WaitLimit<'_>,
) -> Result<(usize, Vec<FdKind>), ErrorKind> {
    let (count, descriptors) =
        retried(|| fd::receive(&*stream, into), || until.readable(&*stream))?;
    Ok((count, descriptors.iter().map(kind_of).collect()))
}

/// Returns the kind of a descriptor's file, as scripts name it; anything else is `null`.
pub(crate) fn kind_of(fd: &OwnedFd) -> FdKind {
    let name = fs::read_link(format!("/proc/self/fd/{}", fd.as_raw_fd())).unwrap_or_default();
    if name.ends_with("user_events_data") {
        return FdKind::UserEventsData;
    }
    match rustix::fs::fstat(fd) {
        Ok(stat) if FileType::from_raw_mode(stat.st_mode) == FileType::Fifo => FdKind::Pipe,
        _ => FdKind::Null,
    }
}

/// Tries `io` before it waits, because what is possible at once needs no time.
fn retried<T>(
    mut io: impl FnMut() -> io::Result<T>,
    wait: impl Fn() -> Result<(), ErrorKind>,
) -> Result<T, ErrorKind> {
    loop {
        match io() {
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => wait()?,
            done => return Ok(done?),
        }
    }
}

/// Returns whether the system reports that the peer has disconnected.
pub(super) fn is_gone(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::ConnectionReset | io::ErrorKind::BrokenPipe | io::ErrorKind::NotConnected
    )
}

/// Returns whether the peer has closed the connection, not only its sending direction.
pub(crate) fn has_hung_up(stream: &impl AsFd) -> bool {
    is_now(stream, PollFlags::HUP)
}

/// Returns whether the peer sends nothing more. If the system does not report it, a read shows it.
pub(crate) fn sends_no_more(stream: &impl AsFd) -> bool {
    #[cfg(any(target_os = "linux", target_os = "android"))]
    return is_now(stream, PollFlags::RDHUP | PollFlags::HUP);
    #[cfg(not(any(target_os = "linux", target_os = "android")))]
    has_hung_up(stream)
}

fn is_now(stream: &impl AsFd, flags: PollFlags) -> bool {
    let mut fds = [PollFd::new(stream, flags)];
    let at_once = Timespec { tv_sec: 0, tv_nsec: 0 };
    poll(&mut fds, Some(&at_once)).is_ok() && fds.iter().any(|fd| fd.revents().intersects(flags))
}

pub(super) fn half_close(stream: &Stream) -> io::Result<()> {
    Ok(rustix::net::shutdown(stream, Shutdown::Write)?)
}

pub(super) fn in_background(stream: &Stream, flow: Flow) -> io::Result<Background> {
    let (reader, stopper) = (stream.try_clone()?, stream.try_clone()?);
    rustix::io::ioctl_fionbio(&reader, false)?;
    Background::start(
        flow,
        move |into| Ok(rustix::io::read(&reader, into)?),
        move || {
            // A connection that has ended needs no end.
            let _ = rustix::net::shutdown(&stopper, Shutdown::Both);
        },
    )
}

/// The descriptors to pass.
#[derive(Default)]
pub(super) struct Descriptors {
    /// Whether `user_events_data` was chosen, and a socket replaces it.
    is_replaced: Option<bool>,
    /// The ends of pipes and sockets whose other ends were passed.
    kept: Vec<OwnedFd>,
}

impl Descriptors {
    /// Passes the file of this system as `user_events_data`, or a socket, on which every write is a
    /// packet.
    pub(super) const fn new(is_replaced: bool) -> Self {
        Self { is_replaced: Some(is_replaced), kept: Vec::new() }
    }

    /// Opens a descriptor of this kind.
    pub(super) fn open(&mut self, kind: FdKind) -> Result<OwnedFd, PlayerError> {
        let mut keep = |(ours, theirs)| {
            self.kept.push(ours);
            theirs
        };
        let opened = match (kind, self.is_replaced) {
            (FdKind::Null, _) => read_write("/dev/null"),
            (FdKind::Pipe, _) => rustix::pipe::pipe().map(keep).map_err(io::Error::from),
            (FdKind::UserEventsData, Some(true)) => packets().map(&mut keep),
            (FdKind::UserEventsData, Some(false)) => {
                let [first, second] = USER_EVENTS_DATA.map(read_write);
                first.or(second)
            }
            (FdKind::UserEventsData, None) => {
                let why = "there is no user_events_data here";
                return Err(PlayerError::Unavailable(why.to_owned()));
            }
        };
        opened.map_err(|error| PlayerError::Unavailable(format!("no descriptor to pass: {error}")))
    }
}

fn read_write(path: &str) -> io::Result<OwnedFd> {
    File::options().read(true).write(true).open(path).map(OwnedFd::from)
}

/// Creates a pair of packet sockets.
#[cfg(not(target_vendor = "apple"))]
fn packets() -> io::Result<(OwnedFd, OwnedFd)> {
    use rustix::net::{AddressFamily, SocketFlags, SocketType, socketpair};
    Ok(socketpair(AddressFamily::UNIX, SocketType::SEQPACKET, SocketFlags::CLOEXEC, None)?)
}

/// Fails, because this system has no packet sockets, and no `user_events` either.
#[cfg(target_vendor = "apple")]
fn packets() -> io::Result<(OwnedFd, OwnedFd)> {
    Err(io::ErrorKind::Unsupported.into())
}

pub(super) fn signal(id: u32, signal: SignalKind) -> io::Result<()> {
    let signal = match signal {
        SignalKind::Term => Signal::TERM,
        SignalKind::Int => Signal::INT,
        SignalKind::Hup => Signal::HUP,
        SignalKind::Kill => Signal::KILL,
    };
    let pid = i32::try_from(id).ok().and_then(Pid::from_raw).ok_or(io::ErrorKind::InvalidInput)?;
    Ok(process::kill_process(pid, signal)?)
}

/// Returns the process in the name of a default port's socket.
pub(crate) fn named_process(path: &Path) -> Option<u32> {
    SocketName::from_path(path.to_str()?).ok().map(|name| name.pid)
}

/// Returns the process in the name of a socket, if it has exited and nobody listens there.
pub(crate) fn exited_process(path: &Path) -> Option<u32> {
    named_process(path).filter(|id| !lives(*id) && !is_served(path))
}

/// Returns whether a process with this id exists and has not ended. A zombie has ended, but its
/// parent has not waited for it yet.
pub(crate) fn lives(id: u32) -> bool {
    let Some(pid) = i32::try_from(id).ok().and_then(Pid::from_raw) else { return false };
    match Stat::of(id) {
        Some(stat) => !stat.has_ended,
        // A process of another user exists too.
        None => !matches!(test_kill_process(pid), Err(rustix::io::Errno::SRCH)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::process::Command;
    use std::process::Stdio;
    use std::thread;
    use std::time::Duration;
    use std::time::Instant;

    #[test]
    #[cfg(target_os = "linux")]
    fn zombie_is_dead_before_it_is_waited_for() {
        let mut child =
            Command::new("cat").stdin(Stdio::piped()).stdout(Stdio::null()).spawn().unwrap();
        let id = child.id();
        assert!(lives(id));
        drop(child.stdin.take());
        let began = Instant::now();
        while lives(id) {
            assert!(began.elapsed() < Duration::from_secs(30), "it lives");
            thread::sleep(Duration::from_millis(5));
        }
        assert!(fs::exists(std::format!("/proc/{id}")).unwrap(), "nobody has waited for it");
        assert!(child.wait().unwrap().success());
        assert!(!lives(id));
    }

    #[test]
    fn process_without_number_does_not_live() {
        assert!(lives(std::process::id()));
        assert!(!lives(u32::MAX) && !lives(0));
    }
}
