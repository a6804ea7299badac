//! Bytes on a Unix socket, with their descriptors on the right bytes.

use std::io;
use std::os::fd::{BorrowedFd, OwnedFd};

use dotnet_diagnostics_ipc::io::fd;
use rustix::event::{PollFd, PollFlags, Timespec, poll};

/// The most read at once.
pub(super) const MOST: usize = 65_536;

/// Bytes, and the descriptors on the first of them.
#[derive(Default)]
pub(super) struct Piece {
    pub(super) bytes: Vec<u8>,
    pub(super) fds: Vec<OwnedFd>,
}

/// The available data of a socket, without waiting: no piece is its end.
///
/// The last `lag` bytes read before are still in the socket. If `keeps_last` returns true for the
/// new bytes, the last of them stays there, and is read the next time: closing a socket with an
/// unread byte resets it for its peer.
///
/// # Errors
/// Those of `recvmsg`, including `WouldBlock` if nothing has arrived.
pub(super) fn take(
    stream: BorrowedFd<'_>,
    lag: &mut usize,
    keeps_last: impl FnOnce(&[u8]) -> bool,
) -> io::Result<Vec<Piece>> {
    let mut buffer = vec![0; MOST];
    let (n, fds) = fd::peek(stream, &mut buffer)?;
    if n == 0 {
        return Ok(Vec::new());
    }
    if n <= *lag {
        return Err(io::ErrorKind::WouldBlock.into());
    }
    if fds.is_empty() {
        let kept = usize::from(keeps_last(buffer.get(*lag..n).unwrap_or_default()));
        let taken = n.saturating_sub(kept);
        let (read, _) = match buffer.get_mut(..taken) {
            Some(into) if !into.is_empty() => fd::receive(stream, into)?,
            _ => (0, Vec::new()),
        };
        buffer.truncate(if read == taken { n } else { read });
        let bytes = buffer.get(*lag..).unwrap_or_default().to_vec();
        *lag = kept;
        return Ok(vec![Piece { bytes, fds: Vec::new() }]);
    }
    // Only reading shows which byte carries them.
    drop(fds);
    let (mut before, mut with) = (Piece::default(), Piece::default());
    for nth in 0..n {
        let mut byte = [0];
        let (read, fds) = fd::receive(stream, &mut byte)?;
        if read == 0 {
            break;
        }
        let is_first = !fds.is_empty() && with.bytes.is_empty();
        with.fds.extend(fds);
        if is_first || !with.bytes.is_empty() {
            with.bytes.extend(byte);
        } else if nth >= *lag {
            before.bytes.extend(byte);
        }
    }
    *lag = 0;
    Ok([before, with].into_iter().filter(|piece| !piece.bytes.is_empty()).collect())
}

/// Reads and discards the available bytes.
pub(super) fn discard(stream: BorrowedFd<'_>) {
    let mut buffer = vec![0; MOST];
    while matches!(fd::receive(stream, &mut buffer), Ok((1.., _))) {}
}

/// Whether the peer has closed the connection, not only its sending direction.
pub(super) fn has_hung_up(stream: BorrowedFd<'_>) -> bool {
    is_now(stream, PollFlags::HUP)
}

/// Whether the peer sends nothing more. If the system does not report it, a read shows it.
pub(super) fn sends_no_more(stream: BorrowedFd<'_>) -> bool {
    #[cfg(any(target_os = "linux", target_os = "android"))]
    return is_now(stream, PollFlags::RDHUP | PollFlags::HUP);
    #[cfg(not(any(target_os = "linux", target_os = "android")))]
    has_hung_up(stream)
}

fn is_now(stream: BorrowedFd<'_>, flags: PollFlags) -> bool {
    let mut fds = [PollFd::from_borrowed_fd(stream, flags)];
    let at_once = Timespec { tv_sec: 0, tv_nsec: 0 };
    poll(&mut fds, Some(&at_once)).is_ok() && fds.iter().any(|fd| fd.revents().intersects(flags))
}
