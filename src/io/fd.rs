//! One byte with a descriptor, on a Unix socket.

use std::io::{self, IoSlice, IoSliceMut};
use std::mem::MaybeUninit;
use std::os::fd::{BorrowedFd, OwnedFd};

use rustix::net::{
    RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, ReturnFlags, SendAncillaryBuffer,
    SendAncillaryMessage, SendFlags, recvmsg, sendmsg,
};

use crate::continuation::FdByte;

/// The most descriptors in one message (`SCM_MAX_FD` of Linux). With room for all of them none is
/// truncated, which would leave it open on some systems.
const MOST: usize = 253;

/// Sends the byte of [`FdByte`] with `fd` attached, in one `sendmsg` (F-20).
///
/// # Errors
/// Those of `sendmsg`; `WouldBlock` if the socket is full.
pub(crate) fn send_fd(stream: BorrowedFd<'_>, fd: BorrowedFd<'_>) -> io::Result<()> {
    match send_with_fd(stream, &FdByte::BYTES, fd)? {
        // It is sent completely or not at all.
        0 => Err(io::Error::from(io::ErrorKind::WriteZero)),
        _ => Ok(()),
    }
}

/// Sends some of `bytes`, and `fd` with the first of them; returns how many were sent.
///
/// # Errors
/// Those of `sendmsg`; `WouldBlock` if the socket is full.
pub(crate) fn send_with_fd(
    stream: BorrowedFd<'_>,
    bytes: &[u8],
    fd: BorrowedFd<'_>,
) -> io::Result<usize> {
    let fds = [fd];
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
    let mut control = SendAncillaryBuffer::new(&mut space);
    if !control.push(SendAncillaryMessage::ScmRights(&fds)) {
        return Err(io::Error::from(io::ErrorKind::OutOfMemory));
    }
    Ok(sendmsg(stream, &[IoSlice::new(bytes)], &mut control, send_flags())?)
}

/// Receives bytes, and counts and closes the descriptors attached to them. 0 bytes are the end of
/// the input.
///
/// # Errors
/// Those of `recvmsg`, including `WouldBlock` if nothing has arrived.
#[cfg(feature = "conformance")]
pub(crate) fn receive_counting_fds(
    stream: BorrowedFd<'_>,
    into: &mut [u8],
) -> io::Result<(usize, usize)> {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(MOST))];
    let mut control = RecvAncillaryBuffer::new(&mut space);
    let received = recvmsg(stream, &mut [IoSliceMut::new(into)], &mut control, receive_flags())?;
    let rights = control.drain().map(|message| match message {
        RecvAncillaryMessage::ScmRights(fds) => fds.count(),
        _ => 0,
    });
    Ok((received.bytes, rights.sum()))
}

/// Never waits; and a closed peer is an error, not a signal.
pub(crate) fn send_flags() -> SendFlags {
    #[cfg(not(target_vendor = "apple"))]
    return SendFlags::NOSIGNAL | SendFlags::DONTWAIT;
    #[cfg(target_vendor = "apple")]
    return SendFlags::DONTWAIT; // `without_signal` disables the signal.
}

/// Makes a send to a closed peer an error instead of a signal, on systems where that is set per
/// socket, not per send. std sets it for sockets that it creates, but not for accepted ones or
/// pairs.
///
/// # Errors
/// Once the peer has closed.
#[cfg(target_vendor = "apple")]
pub(crate) fn without_signal(socket: BorrowedFd<'_>) -> io::Result<()> {
    Ok(rustix::net::sockopt::set_socket_nosigpipe(socket, true)?)
}

#[cfg(not(target_vendor = "apple"))]
#[allow(clippy::unnecessary_wraps)]
pub(crate) fn without_signal(_: BorrowedFd<'_>) -> io::Result<()> {
    Ok(())
}

/// Receives one byte, and the first descriptor attached to it; the others are closed (P-21). `None`
/// at the end of the input.
///
/// # Errors
/// Those of `recvmsg`, including `WouldBlock` if nothing has arrived; and a descriptor arrived but
/// the process has no room for it. The byte is lost then.
pub(crate) fn receive_fd(stream: BorrowedFd<'_>) -> io::Result<Option<(FdByte, Option<OwnedFd>)>> {
    let (mut byte, mut space) =
        ([0], [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(MOST))]);
    let mut control = RecvAncillaryBuffer::new(&mut space);
    let received =
        recvmsg(stream, &mut [IoSliceMut::new(&mut byte)], &mut control, receive_flags())?;
    let mut first = None;
    for message in control.drain() {
        if let RecvAncillaryMessage::ScmRights(fds) = message {
            // Iterates over all: those not kept are closed.
            for fd in fds {
                first.get_or_insert(fd);
            }
        }
    }
    if received.bytes == 0 {
        return Ok(None);
    }
    if first.is_none() && received.flags.contains(ReturnFlags::CTRUNC) {
        // Linux reports this if the descriptor table is full.
        return Err(io::Error::other(
            "a descriptor arrived but could not be received: too many are open",
        ));
    }
    if let Some(fd) = &first {
        closed_on_exec(fd)?;
    }
    let [byte] = byte;
    Ok(Some((FdByte(byte), first)))
}

/// Never waits. Received descriptors are closed on `exec` if the system has a flag for it;
/// `closed_on_exec` does the others.
#[cfg(not(any(target_vendor = "apple", target_os = "illumos", target_os = "solaris")))]
pub(crate) fn receive_flags() -> RecvFlags {
    RecvFlags::CMSG_CLOEXEC | RecvFlags::DONTWAIT
}

#[cfg(any(target_vendor = "apple", target_os = "illumos", target_os = "solaris"))]
pub(crate) fn receive_flags() -> RecvFlags {
    RecvFlags::DONTWAIT
}

/// Lets a received descriptor be closed on `exec`.
///
/// # Errors
/// Those of `fcntl`.
#[cfg(not(any(target_vendor = "apple", target_os = "illumos", target_os = "solaris")))]
#[allow(clippy::unnecessary_wraps)]
pub(crate) fn closed_on_exec(_: &OwnedFd) -> io::Result<()> {
    Ok(())
}

/// There is no flag for it: a program started between the two calls inherits the descriptor too.
#[cfg(any(target_vendor = "apple", target_os = "illumos", target_os = "solaris"))]
pub(crate) fn closed_on_exec(fd: &OwnedFd) -> io::Result<()> {
    Ok(rustix::io::fcntl_setfd(fd, rustix::io::FdFlags::CLOEXEC)?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::File;
    use std::io::{Read as _, Seek as _, Write as _};
    use std::os::fd::AsFd as _;
    use std::os::unix::net::UnixStream;
    use std::vec::Vec;

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

    /// Sends `byte` with several descriptors in one message.
    fn send(stream: &UnixStream, bytes: &[u8], fds: &[BorrowedFd<'_>]) {
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(MOST))];
        let mut control = SendAncillaryBuffer::new(&mut space);
        assert!(control.push(SendAncillaryMessage::ScmRights(fds)));
        assert_eq!(
            sendmsg(stream, &[IoSlice::new(bytes)], &mut control, SendFlags::NOSIGNAL).unwrap(),
            bytes.len()
        );
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
        send(&ours, b"xyz", &[file("data").as_fd()]);
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
            send(&ours, b"x", &fds);
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
