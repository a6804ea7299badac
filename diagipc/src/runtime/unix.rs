//! The sockets and TCP connections of the reference runtime.

use std::os::fd::{AsFd, OwnedFd};
use std::path::Path;
use std::time::Duration;

use dotnet_diagnostics_ipc::io::{Canceller, Error, ErrorKind, SocketTransport, WaitLimit};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::net::{RecvFlags, recv};

use super::misbehaviour::MisbehaviourKind;
use crate::network::{Listener, connect_to, has_hung_up, sends_no_more, tcp_address};

/// The pause after a failed accept.
const ACCEPT_PAUSE: Duration = Duration::from_millis(5);
/// The pause while bytes are left unread, because such a connection is always readable.
const POLL_INTERVAL: Duration = Duration::from_millis(2);

/// The connection to a client, or to a tool's port.
pub(super) type Link = SocketTransport;

/// The faults that this system cannot show.
pub(super) const LACKING: &[MisbehaviourKind] = &[];

#[derive(Debug)]
pub(super) struct SocketListening {
    /// The listener, which does not block.
    listener: Listener,
}

impl SocketListening {
    /// Listens. The guard keeps the socket file, and removes it.
    pub(super) fn bind(path: &Path) -> Result<(Self, SocketFile), Error> {
        let listener = Listener::bind(path)?;
        Ok((Self { listener: listener.clone() }, SocketFile(listener)))
    }

    pub(super) fn accept(&mut self) -> Option<Link> {
        let Ok(stream) = self.listener.accept_now() else {
            // A client that has disconnected again is skipped. The pause keeps a system without
            // descriptors from being polled in a busy loop.
            std::thread::sleep(ACCEPT_PAUSE);
            return None;
        };
        Some(SocketTransport::new(stream))
    }

    /// Waits for the next event. Returns its port (`None` for the default port), and whether a
    /// request or a client has arrived; if not, the tool has ended the connection. Connections to
    /// the default port count only with `accepts`.
    pub(super) fn wait<'l>(
        &mut self,
        ports: impl Iterator<Item = (usize, &'l mut Link)>,
        accepts: bool,
        stop: &Canceller,
        most: Duration,
    ) -> Option<(Option<usize>, bool)> {
        let waiting: Vec<_> = ports.collect();
        let events = if accepts { PollFlags::IN } else { PollFlags::empty() };
        let mut fds = vec![PollFd::new(stop, PollFlags::IN), PollFd::new(&self.listener, events)];
        fds.extend(waiting.iter().map(|(_, link)| PollFd::new(&**link, PollFlags::IN)));
        // The wait must not end before the delay has passed.
        let most = most.saturating_add(Duration::from_micros(50));
        let timeout = Timespec { tv_sec: 0, tv_nsec: most.subsec_nanos().into() };
        // A signal is not an event.
        if !matches!(poll(&mut fds, Some(&timeout)), Ok(n) if n > 0) {
            return None;
        }
        let mut events = fds.iter().map(PollFd::revents).skip(1);
        let default = events.next().is_some_and(|events| events.contains(PollFlags::IN));
        // The ports come first, because a busy client of the default port would starve them.
        let port = waiting.iter().zip(events).find(|(_, events)| !events.is_empty());
        match port {
            // A half-close counts as a request.
            Some(((nth, link), events)) => {
                Some((Some(*nth), !events.contains(PollFlags::HUP) || has_byte(link)))
            }
            None => default.then_some((None, true)),
        }
    }
}

/// Removes the socket file at the end.
#[derive(Debug)]
pub(super) struct SocketFile(Listener);

impl SocketFile {
    pub(super) fn path(&self) -> &Path {
        self.0.place()
    }
}

/// Connects to a tool's port. If the backlog is full it waits, and nobody else is served (P-24).
pub(super) fn connect(path: &Path, stop: &Canceller) -> Option<Link> {
    connect_to(path, &WaitLimit { deadline: None, canceller: Some(stop) }).ok()
}

fn has_byte(link: &Link) -> bool {
    matches!(
        recv(link.as_fd(), &mut [0u8; 1][..], RecvFlags::PEEK | RecvFlags::DONTWAIT),
        Ok((_, 1))
    )
}

/// Receives bytes after `left` others, and leaves them unread.
pub(super) fn look(
    link: &mut Link,
    left: &mut usize,
    into: &mut [u8],
    until: &WaitLimit<'_>,
) -> Result<usize, ErrorKind> {
    let mut all = vec![0; *left + into.len()];
    loop {
        until.check()?;
        match recv(link.as_fd(), &mut *all, RecvFlags::PEEK | RecvFlags::DONTWAIT) {
            Ok((_, n)) if n > *left => {
                let new = all.get(*left..n).unwrap_or_default();
                into.iter_mut().zip(new).for_each(|(into, new)| *into = *new);
                *left = n;
                return Ok(new.len());
            }
            Ok((_, 0)) => return Ok(0),
            // The end follows the unread bytes.
            Ok(_) if sends_no_more(link) => return Ok(0),
            Ok(_) | Err(rustix::io::Errno::AGAIN | rustix::io::Errno::INTR) => {
                std::thread::sleep(POLL_INTERVAL);
            }
            Err(errno) => return Err(ErrorKind::Io(errno.into())),
        }
    }
}

pub(super) fn take(link: &Link, left: usize) -> Result<(), ErrorKind> {
    if left > 0 {
        recv(link.as_fd(), &mut *vec![0; left], RecvFlags::DONTWAIT)
            .map_err(|errno| ErrorKind::Io(errno.into()))?;
    }
    Ok(())
}

/// A connection left open without further data.
pub(super) struct KeptSocket(OwnedFd);

impl KeptSocket {
    /// Keeps a connection, or closes it if there is no free descriptor.
    pub(super) fn new(link: &Link) -> Option<Self> {
        link.as_fd().try_clone_to_owned().ok().map(Self)
    }

    /// Whether the client has disconnected. A half-close does not count (F-23).
    pub(super) fn has_hung_up(&mut self) -> bool {
        has_hung_up(&self.0)
    }
}

/// Removes the file of the default port while others may still have it open.
pub(super) fn remove(path: &Path) {
    if tcp_address(path).is_none() {
        // The file may not exist any more.
        let _ = std::fs::remove_file(path);
    }
}
