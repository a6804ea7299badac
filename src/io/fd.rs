//! Pass descriptors over a Unix socket. Only `user_events` sessions need one.
//!
//! [`Client::user_events`](super::Client::user_events) and a [`Handler`](super::server::Handler) do
//! this already. These functions are for a transport of your own, or a proxy. None of them waits.

use std::io::{self, IoSlice, IoSliceMut};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::vec::Vec;

use rustix::io::retry_on_intr;
use rustix::net::{
    AddressFamily, RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, ReturnFlags,
    SendAncillaryBuffer, SendAncillaryMessage, SendFlags, getsockname, recvmsg, sendmsg,
};

use super::ErrorKind;
use super::transport::CANNOT_PASS_FDS;
use crate::continuation::FdByte;

/// The maximum number of descriptors in one message (`SCM_MAX_FD` of Linux). With room for this
/// many none is truncated; some systems leave a truncated descriptor open.
const MOST: usize = 253;

/// Sends some of `bytes`, with `fds` attached to the first of them, and returns how many bytes were
/// sent. A closed peer is an error, not a signal; on Apple's systems this needs [`without_signal`].
///
/// ```
/// use dotnet_diagnostics_ipc::continuation::FdByte;
/// use dotnet_diagnostics_ipc::io::fd;
/// use std::os::fd::AsFd;
/// use std::os::unix::net::UnixStream;
///
/// let (ours, theirs) = UnixStream::pair()?;
/// let file = tempfile::tempfile()?;
/// assert_eq!(fd::send(&ours, &FdByte::BYTES, &[file.as_fd()])?, 1);
///
/// let mut byte = [0];
/// let (n, fds) = fd::receive(&theirs, &mut byte)?;
/// assert_eq!((n, byte, fds.len()), (1, FdByte::BYTES, 1));
/// # Ok::<(), std::io::Error>(())
/// ```
///
/// # Errors
/// Returns the errors of `sendmsg`, including `WouldBlock` if the socket is full, and
/// `InvalidInput` for more than 253 descriptors, the maximum of Linux.
pub fn send(stream: impl AsFd, bytes: &[u8], fds: &[BorrowedFd<'_>]) -> io::Result<usize> {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(MOST))];
    let mut control = SendAncillaryBuffer::new(&mut space);
    if !fds.is_empty() && !control.push(SendAncillaryMessage::ScmRights(fds)) {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "more than 253 descriptors"));
    }
    Ok(retry_on_intr(|| sendmsg(&stream, &[IoSlice::new(bytes)], &mut control, send_flags()))?)
}

/// Receives bytes and the descriptors attached to them, which are closed on `exec`. 0 bytes mean
/// the end of the input.
///
/// Only a one-byte buffer tells which byte carried the descriptors.
///
/// # Errors
/// Returns the errors of `recvmsg`, including `WouldBlock` if nothing has arrived. It also fails if a
/// descriptor arrived for which the process has no room; the bytes are then lost.
pub fn receive(stream: impl AsFd, into: &mut [u8]) -> io::Result<(usize, Vec<OwnedFd>)> {
    received(stream.as_fd(), into, RecvFlags::empty())
}

/// Receives as [`receive`] does, but leaves the bytes, so that the descriptors are copies.
///
/// # Errors
/// Fails as [`receive`] does.
pub fn peek(stream: impl AsFd, into: &mut [u8]) -> io::Result<(usize, Vec<OwnedFd>)> {
    received(stream.as_fd(), into, RecvFlags::PEEK)
}

fn received(
    stream: BorrowedFd<'_>,
    into: &mut [u8],
    flags: RecvFlags,
) -> io::Result<(usize, Vec<OwnedFd>)> {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(MOST))];
    let mut control = RecvAncillaryBuffer::new(&mut space);
    let flags = flags | RecvFlags::DONTWAIT;
    #[cfg(not(any(target_vendor = "apple", target_os = "illumos", target_os = "solaris")))]
    let flags = flags | RecvFlags::CMSG_CLOEXEC;
    let received =
        retry_on_intr(|| recvmsg(stream, &mut [IoSliceMut::new(into)], &mut control, flags))?;
    let mut fds = Vec::new();
    for message in control.drain() {
        if let RecvAncillaryMessage::ScmRights(rights) = message {
            fds.extend(rights);
        }
    }
    if fds.is_empty() && received.flags.contains(ReturnFlags::CTRUNC) {
        // Linux reports this if the descriptor table is full.
        return Err(io::Error::other(
            "a descriptor arrived but could not be received: too many are open",
        ));
    }
    // `recvmsg` has no flag here: a program started between the two calls inherits them.
    #[cfg(any(target_vendor = "apple", target_os = "illumos", target_os = "solaris"))]
    for fd in &fds {
        rustix::io::fcntl_setfd(fd, rustix::io::FdFlags::CLOEXEC)?;
    }
    Ok((received.bytes, fds))
}

/// Checks that the stream does not drop descriptors silently, as TCP does.
pub(super) fn check_can_pass(stream: impl AsFd) -> Result<(), ErrorKind> {
    match getsockname(stream) {
        Ok(address) if address.address_family() != AddressFamily::UNIX => Err(CANNOT_PASS_FDS),
        _ => Ok(()),
    }
}

/// Sends the byte of [`FdByte`] with `fd` attached, in one `sendmsg` (F-20).
///
/// # Errors
/// Fails as [`send`] does.
pub(super) fn send_fd(stream: BorrowedFd<'_>, fd: BorrowedFd<'_>) -> io::Result<()> {
    match send(stream, &FdByte::BYTES, &[fd])? {
        // One byte is sent completely or not at all.
        0 => Err(io::Error::from(io::ErrorKind::WriteZero)),
        _ => Ok(()),
    }
}

/// Receives one byte, and the first descriptor attached to it; the others are closed (P-21). `None`
/// at the end of the input.
///
/// # Errors
/// Fails as [`receive`] does.
pub(super) fn receive_fd(stream: BorrowedFd<'_>) -> io::Result<Option<(FdByte, Option<OwnedFd>)>> {
    let mut byte = [0];
    let (n, fds) = receive(stream, &mut byte)?;
    let [byte] = byte;
    Ok((n > 0).then(|| (FdByte(byte), fds.into_iter().next())))
}

/// Returns flags for a send that never waits, and reports a closed peer as an error, not a signal.
pub(super) fn send_flags() -> SendFlags {
    #[cfg(not(target_vendor = "apple"))]
    return SendFlags::NOSIGNAL | SendFlags::DONTWAIT;
    #[cfg(target_vendor = "apple")]
    return SendFlags::DONTWAIT; // `without_signal` disables the signal.
}

/// Makes a send to a closed peer an error instead of a signal, on systems where that is set per
/// socket (Apple's), not per send. std sets it for sockets that it creates, but not for accepted
/// ones or pairs. Elsewhere it does nothing.
///
/// # Errors
/// Fails on such a system once the peer has closed.
pub fn without_signal(socket: impl AsFd) -> io::Result<()> {
    #[cfg(target_vendor = "apple")]
    rustix::net::sockopt::set_socket_nosigpipe(socket, true)?;
    #[cfg(not(target_vendor = "apple"))]
    let _ = socket;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::File;
    use std::io::{Read as _, Seek as _, Write as _};
    use std::os::unix::net::UnixStream;

    fn file(text: &str) -> File {
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(text.as_bytes()).unwrap();
        file.rewind().unwrap();
        file
    }

    fn read(fd: OwnedFd) -> std::string::String {
        let (mut file, mut text) = (File::from(fd), std::string::String::new());
        file.read_to_string(&mut text).unwrap();
        text
    }

    #[test]
    fn descriptor_arrives_with_byte_and_closes_on_exec() {
        let (ours, theirs) = UnixStream::pair().unwrap();
        send_fd(ours.as_fd(), file("data").as_fd()).unwrap();
        let (byte, fd) = receive_fd(theirs.as_fd()).unwrap().unwrap();
        let fd = fd.unwrap();
        assert_eq!(byte, FdByte::CANONICAL);
        assert!(rustix::io::fcntl_getfd(&fd).unwrap().contains(rustix::io::FdFlags::CLOEXEC));
        assert_eq!(read(fd), "data");
    }

    #[test]
    fn exactly_one_byte_is_read() {
        let (ours, mut theirs) = UnixStream::pair().unwrap();
        assert_eq!(send(&ours, b"xyz", &[file("data").as_fd()]).unwrap(), 3);
        let (byte, fd) = receive_fd(theirs.as_fd()).unwrap().unwrap();
        assert_eq!((byte, read(fd.unwrap()).as_str()), (FdByte(b'x'), "data"));
        let mut rest = [0; 8];
        assert_eq!(theirs.read(&mut rest).unwrap(), 2);
    }

    #[test]
    fn byte_without_descriptor_differs_from_end() {
        let (mut ours, theirs) = UnixStream::pair().unwrap();
        ours.write_all(b"x").unwrap();
        assert!(matches!(receive_fd(theirs.as_fd()), Ok(Some((FdByte(b'x'), None)))));
        theirs.set_nonblocking(true).unwrap();
        assert_eq!(receive_fd(theirs.as_fd()).unwrap_err().kind(), io::ErrorKind::WouldBlock);
        drop(ours);
        assert!(matches!(receive_fd(theirs.as_fd()), Ok(None)));
    }

    /// A socket that requests credentials gets them with the descriptor.
    #[test]
    #[cfg(target_os = "linux")]
    fn credentials_are_not_a_descriptor() {
        let (mut ours, theirs) = UnixStream::pair().unwrap();
        rustix::net::sockopt::set_socket_passcred(&theirs, true).unwrap();
        send_fd(ours.as_fd(), file("data").as_fd()).unwrap();
        assert_eq!(read(receive_fd(theirs.as_fd()).unwrap().unwrap().1.unwrap()), "data");
        ours.write_all(b"x").unwrap();
        assert!(matches!(receive_fd(theirs.as_fd()), Ok(Some((FdByte(b'x'), None)))));
    }

    #[test]
    fn first_of_many_descriptors_is_kept_others_are_closed() {
        let (ours, theirs) = UnixStream::pair().unwrap();
        let (first, mut end) = (file("first"), Vec::new());
        let (mut read_end, write_end) = UnixStream::pair().unwrap();
        for count in [2, 253] {
            let mut fds = std::vec![write_end.as_fd(); count];
            fds[0] = first.as_fd();
            assert_eq!(send(&ours, b"x", &fds).unwrap(), 1);
            let (_, fd) = receive_fd(theirs.as_fd()).unwrap().unwrap();
            let mut file = File::from(fd.unwrap());
            file.rewind().unwrap();
            assert_eq!(read(file.into()), "first");
        }
        // The stream ends once every copy of its other end is closed.
        drop(write_end);
        read_end.set_read_timeout(Some(std::time::Duration::from_secs(5))).unwrap();
        assert_eq!(read_end.read_to_end(&mut end).unwrap(), 0);
    }
}
