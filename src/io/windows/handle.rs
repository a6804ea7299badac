//! The calls of Windows that pipes need: with `event`, the one module with `unsafe` in it.
//!
//! Windows gives pipes no other way than these calls, and `std` wraps none of them. What is safe about this module, for each of its
//! functions and whatever its arguments are:
//!
//! - Handles come in as [`BorrowedHandle`] and go out as [`OwnedHandle`]: open as long as they are used, closed once.
//! - A path is a [`PipePath`], which ends in a NUL.
//! - The system reads and writes the memory of an [`Operation`] until the operation has ended, however long that takes. So [`run`]
//!   does not come back before: it cancels what is not wanted any more, and waits for the cancellation as well. Between start
//!   and end nothing in it panics, and if it did, [`Running`] would wait while it is dropped.
//! - An operation that outlives the call that began it has memory of its own, an [`InFlight`], which is given back to nobody before the
//!   operation has ended.
#![allow(unsafe_code, reason = "the calls of Windows; every other module of src/io but event forbids it")]
#![deny(clippy::undocumented_unsafe_blocks, clippy::multiple_unsafe_ops_per_block)]

use std::boxed::Box;
use std::io;
use std::os::windows::io::{AsHandle, AsRawHandle as _, BorrowedHandle, FromRawHandle as _, OwnedHandle};
use std::ptr::{NonNull, null, null_mut};
use std::sync::Arc;
use std::time::Duration;

use windows_sys::Win32::Foundation::{
    ERROR_BROKEN_PIPE, ERROR_HANDLE_EOF, ERROR_IO_PENDING, ERROR_NO_DATA, ERROR_PIPE_NOT_CONNECTED, GENERIC_READ, GENERIC_WRITE,
    HANDLE, INVALID_HANDLE_VALUE, STATUS_PENDING, WAIT_FAILED, WAIT_OBJECT_0, WAIT_TIMEOUT,
};
use windows_sys::Win32::Storage::FileSystem::{
    CreateFileW, FILE_FLAG_FIRST_PIPE_INSTANCE, FILE_FLAG_OVERLAPPED, OPEN_EXISTING, PIPE_ACCESS_DUPLEX, ReadFile,
    SECURITY_IDENTIFICATION, SECURITY_SQOS_PRESENT, WriteFile,
};
use windows_sys::Win32::System::IO::{CancelIoEx, GetOverlappedResult, OVERLAPPED};
use windows_sys::Win32::System::Pipes::{
    ConnectNamedPipe, CreateNamedPipeW, GetNamedPipeServerProcessId, PIPE_READMODE_BYTE, PIPE_REJECT_REMOTE_CLIENTS,
    PIPE_TYPE_BYTE, PIPE_UNLIMITED_INSTANCES, PIPE_WAIT, WaitNamedPipeW,
};
use windows_sys::Win32::System::Threading::{INFINITE, WaitForMultipleObjects};

use super::event::Event;
use super::path::PipePath;
use super::user::Rights;
use crate::io::{Stopped, Until};

/// The buffers of a pipe, as those of a runtime (F-62).
const BUFFER: u32 = 16 * 1024;

/// The most bytes that one call takes from a caller: a write may keep its bytes in the kernel until they are read.
const MOST: usize = 64 * 1024;

/// Opens a pipe as a client, in byte mode. Its server may learn who the client is and may not act in its name.
pub(super) fn open(path: &PipePath) -> io::Result<OwnedHandle> {
    let (access, shared) = (GENERIC_READ | GENERIC_WRITE, 0);
    let flags = FILE_FLAG_OVERLAPPED | SECURITY_SQOS_PRESENT | SECURITY_IDENTIFICATION;
    // SAFETY: The path ends in a NUL. No attributes and no template are allowed.
    let pipe = unsafe { CreateFileW(path.units().as_ptr(), access, shared, null(), OPEN_EXISTING, flags, null_mut()) };
    owned(pipe)
}

/// Waits until a pipe is free to be opened, and no longer than so many milliseconds.
pub(super) fn wait_until_free(path: &PipePath, milliseconds: u32) -> io::Result<()> {
    // SAFETY: The path ends in a NUL.
    match unsafe { WaitNamedPipeW(path.units().as_ptr(), milliseconds) } {
        0 => Err(io::Error::last_os_error()),
        _ => Ok(()),
    }
}

/// Makes a pipe that one client can open, if it has the rights; `first` fails if there is a pipe of this name already.
pub(super) fn create(path: &PipePath, rights: &Rights, first: bool) -> io::Result<OwnedHandle> {
    let mode = PIPE_ACCESS_DUPLEX | FILE_FLAG_OVERLAPPED | if first { FILE_FLAG_FIRST_PIPE_INSTANCE } else { 0 };
    let kind = PIPE_TYPE_BYTE | PIPE_READMODE_BYTE | PIPE_WAIT | PIPE_REJECT_REMOTE_CLIENTS;
    let (default_wait, attributes) = (0, rights.attributes());
    // SAFETY: The path ends in a NUL. The descriptor that the attributes name is borrowed.
    let pipe = unsafe {
        CreateNamedPipeW(
            path.units().as_ptr(),
            mode,
            kind,
            PIPE_UNLIMITED_INSTANCES,
            BUFFER,
            BUFFER,
            default_wait,
            &raw const attributes,
        )
    };
    owned(pipe)
}

/// Which process made the pipe that a client has opened.
pub(in crate::io) fn server_process_id(pipe: BorrowedHandle<'_>) -> io::Result<u32> {
    let mut pid = 0;
    // SAFETY: The handle is open, being borrowed; `pid` is written within the call.
    match unsafe { GetNamedPipeServerProcessId(pipe.as_raw_handle(), &raw mut pid) } {
        0 => Err(io::Error::last_os_error()),
        _ => Ok(pid),
    }
}

/// What [`CreateFileW`] and [`CreateNamedPipeW`] give; called right after them, while their error number is there.
fn owned(pipe: HANDLE) -> io::Result<OwnedHandle> {
    if pipe == INVALID_HANDLE_VALUE {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: It is new and valid, and nobody else has it.
    Ok(unsafe { OwnedHandle::from_raw_handle(pipe) })
}

/// What is done with a pipe.
pub(super) enum Operation<'b> {
    /// Waits for a client.
    Connect,
    /// Reads into it, no more than 64 KiB.
    Read(&'b mut [u8]),
    /// Writes of it, no more than 64 KiB.
    Write(&'b [u8]),
}

/// What became of an operation that was started.
pub(super) enum Ran {
    /// So many bytes went or came.
    Done(usize),
    /// The system ended it, with this error.
    Failed(io::Error),
    /// It was cancelled, for this reason. Of a write, some bytes may have gone out.
    Stopped(Stopped),
}

/// Runs an operation until it has ended, or until `until` says; what came in before it could be cancelled counts. It is started in
/// any case: whoever wants to start nothing after the deadline looks first.
///
/// `pipe` was opened by [`open`] or [`create`]; `done` is used for one operation at a time, which `&mut` says.
pub(super) fn run(pipe: BorrowedHandle<'_>, operation: Operation<'_>, done: &mut Event, until: &Until<'_>) -> Ran {
    let mut overlapped = OVERLAPPED { hEvent: done.as_handle().as_raw_handle(), ..OVERLAPPED::default() };
    // From here to the end of `running` the system may write to it at any time: only this pointer is used.
    let overlapped = &raw mut overlapped;
    // SAFETY: `overlapped` and the bytes of the operation outlive it, since `running` waits for its end; nobody else uses them.
    if let Err(error) = unsafe { start(pipe, operation, overlapped) } {
        return Ran::Failed(error);
    }
    let running = Running(Started { pipe, overlapped });
    let stopped = wait(done, until);
    if stopped.is_err() {
        running.0.cancel();
    }
    match (running.0.end(), stopped) {
        (Ok(count), _) => Ran::Done(count),
        // Not `ERROR_OPERATION_ABORTED` alone: what else the system makes of it is no news of the peer either.
        (Err(_), Err(stopped)) => Ran::Stopped(stopped),
        (Err(error), Ok(())) => Ran::Failed(error),
    }
}

/// Begins an operation. Where that fails, the system does not know of `overlapped` any more.
///
/// # Safety
/// `overlapped` names an event that is open, and is used by nobody else until the operation has ended, as are the bytes of `operation`.
unsafe fn start(pipe: BorrowedHandle<'_>, operation: Operation<'_>, overlapped: *mut OVERLAPPED) -> io::Result<()> {
    let handle = pipe.as_raw_handle();
    let started = match operation {
        // SAFETY: The handle is open, being borrowed; the rest is the caller's promise.
        Operation::Connect => unsafe { ConnectNamedPipe(handle, overlapped) },
        Operation::Read(into) => {
            // SAFETY: As above. `into` has at least `len` bytes.
            unsafe { ReadFile(handle, into.as_mut_ptr(), len(into), null_mut(), overlapped) }
        }
        Operation::Write(bytes) => {
            // SAFETY: As above. The system only reads `bytes`.
            unsafe { WriteFile(handle, bytes.as_ptr(), len(bytes), null_mut(), overlapped) }
        }
    };
    if started == 0 {
        let error = io::Error::last_os_error();
        if !is(&error, ERROR_IO_PENDING) {
            return Err(error);
        }
    }
    Ok(())
}

/// An operation that was begun: its memory is there for as long as this is.
struct Started<'p> {
    pipe: BorrowedHandle<'p>,
    overlapped: *mut OVERLAPPED,
}

impl Started<'_> {
    /// Asks for the end of it. That there is nothing to cancel any more is as good.
    fn cancel(&self) {
        // SAFETY: The handle is open, being borrowed. `overlapped` is there for as long as `self`, and names one operation.
        unsafe { CancelIoEx(self.pipe.as_raw_handle(), self.overlapped) };
    }

    /// Waits for the end of it; how many bytes went or came.
    fn end(&self) -> io::Result<usize> {
        loop {
            let (mut count, wait) = (0, 1);
            // SAFETY: The handle is open, being borrowed. `overlapped` is there for as long as `self`, with an event that is.
            let result = unsafe { GetOverlappedResult(self.pipe.as_raw_handle(), self.overlapped, &raw mut count, wait) };
            let error = io::Error::last_os_error();
            if self.is_over() {
                return if result == 0 { Err(error) } else { Ok(usize::try_from(count).unwrap_or(MOST)) };
            }
        }
    }

    /// Whether the system has let go of it: the status is the last that it writes.
    fn is_over(&self) -> bool {
        // SAFETY: `overlapped` is there for as long as `self`, and this makes no reference to it.
        let status = unsafe { &raw const (*self.overlapped).Internal };
        // SAFETY: As above; the system writes it whole.
        let status = unsafe { status.read_volatile() };
        usize::try_from(STATUS_PENDING).is_ok_and(|pending| status != pending)
    }
}

/// An operation that the system may still be busy with. It is over once this is gone.
struct Running<'p>(Started<'p>);

impl Drop for Running<'_> {
    fn drop(&mut self) {
        if !self.0.is_over() {
            self.0.cancel();
            let _ = self.0.end();
        }
    }
}

/// What the system uses while an operation runs.
struct Memory<const N: usize> {
    overlapped: OVERLAPPED,
    bytes: [u8; N],
}

/// A pipe, and an operation that runs while its owner does something else: the wait for a client, or a read of up to `N` bytes.
///
/// What a thread has begun is cancelled by the system when that thread ends.
#[derive(Debug)]
pub(super) struct InFlight<const N: usize> {
    pipe: OwnedHandle,
    /// Set at the end of the operation, and of those of others that have the same event.
    done: Arc<Event>,
    /// From a `Box`, which would say that nobody else has a pointer to it.
    memory: NonNull<Memory<N>>,
    is_running: bool,
}

// SAFETY: Its pointer is to memory of its own, and the system does not care which thread asks for the end of an operation.
unsafe impl<const N: usize> Send for InFlight<N> {}
// SAFETY: By a shared reference nothing is begun or ended; what the system writes meanwhile is read as such.
unsafe impl<const N: usize> Sync for InFlight<N> {}

impl<const N: usize> InFlight<N> {
    /// Nothing runs yet.
    pub(super) fn new(pipe: OwnedHandle, done: &Arc<Event>) -> Self {
        let memory = Box::new(Memory { overlapped: OVERLAPPED::default(), bytes: [0; N] });
        Self { pipe, done: Arc::clone(done), memory: NonNull::from(Box::leak(memory)), is_running: false }
    }

    pub(super) fn pipe(&self) -> BorrowedHandle<'_> {
        self.pipe.as_handle()
    }

    pub(super) fn is_running(&self) -> bool {
        self.is_running
    }

    /// Waits for a client in the background, unless something runs already.
    pub(super) fn begin_connect(&mut self) -> io::Result<()> {
        self.begin(None)
    }

    /// Reads up to so many bytes in the background, unless something runs already.
    pub(super) fn begin_read(&mut self, most: usize) -> io::Result<()> {
        self.begin(Some(most))
    }

    fn begin(&mut self, read: Option<usize>) -> io::Result<()> {
        if self.is_running {
            return Ok(());
        }
        let (memory, overlapped) = (self.memory.as_ptr(), self.overlapped());
        let fresh = OVERLAPPED { hEvent: self.done.as_handle().as_raw_handle(), ..OVERLAPPED::default() };
        // SAFETY: The memory is there for as long as `self`, and nothing runs that uses it.
        unsafe { overlapped.write(fresh) };
        // SAFETY: As above. The reference is gone before anything else looks at the bytes: `end` does, after the operation.
        let bytes: &mut [u8] = unsafe { &mut (*memory).bytes };
        let operation = match read {
            Some(most) => Operation::Read(bytes.get_mut(..most.min(N)).unwrap_or_default()),
            None => Operation::Connect,
        };
        // SAFETY: The memory stays in its place until `self` is dropped, which waits for the end; nobody uses it before. The event is
        // open: it is ours too.
        unsafe { start(self.pipe.as_handle(), operation, overlapped) }?;
        self.is_running = true;
        Ok(())
    }

    /// Whether what was begun has ended, and [`end`](Self::end) does not wait.
    pub(super) fn is_over(&self) -> bool {
        self.is_running && self.started().is_over()
    }

    /// Asks for the end of what runs.
    pub(super) fn cancel(&self) {
        if self.is_running {
            self.started().cancel();
        }
    }

    /// Waits for the end of what runs: the bytes that came.
    pub(super) fn end(&mut self) -> io::Result<&[u8]> {
        if !self.is_running {
            return Ok(&[]);
        }
        let ended = self.started().end();
        self.is_running = false;
        // SAFETY: The memory is there for as long as `self`, and nothing runs any more that writes to it.
        let bytes: &[u8] = unsafe { &(*self.memory.as_ptr()).bytes };
        ended.map(|count| bytes.get(..count).unwrap_or(bytes))
    }

    fn overlapped(&self) -> *mut OVERLAPPED {
        // SAFETY: The memory is there for as long as `self`, and this makes no reference to it.
        unsafe { &raw mut (*self.memory.as_ptr()).overlapped }
    }

    fn started(&self) -> Started<'_> {
        Started { pipe: self.pipe.as_handle(), overlapped: self.overlapped() }
    }
}

impl<const N: usize> Drop for InFlight<N> {
    fn drop(&mut self) {
        self.cancel();
        let _ = self.end();
        // SAFETY: It comes from a `Box`, nobody else has it, and the system has let go of it.
        drop(unsafe { Box::from_raw(self.memory.as_ptr()) });
    }
}

/// Waits for an event, no longer than `until` says. If it was set in time, that counts.
fn wait(done: &Event, until: &Until<'_>) -> Result<(), Stopped> {
    let done = done.as_handle().as_raw_handle();
    // The same event twice is an error: without a canceller there is one.
    let (both, count) = match until.canceller {
        Some(canceller) => ([done, canceller.wake().as_handle().as_raw_handle()], 2),
        None => ([done, null_mut()], 1),
    };
    let all_of_them = 0;
    loop {
        // SAFETY: `both` has at least `count` handles, which are open: their events are borrowed.
        match unsafe { WaitForMultipleObjects(count, both.as_ptr(), all_of_them, milliseconds(until.left())) } {
            WAIT_OBJECT_0 => return Ok(()),
            WAIT_TIMEOUT => until.check()?,
            WAIT_FAILED => return Err(io::Error::last_os_error().into()),
            // The second of `both`; an event is never abandoned.
            _ => return Err(Stopped::Cancelled),
        }
    }
}

/// Waits for one of two events, no longer than so long.
pub(in crate::io) fn wait_for_either(one: &Event, other: &Event, timeout: Option<Duration>) -> io::Result<()> {
    let (both, all_of_them) = ([one, other].map(|event| event.as_handle().as_raw_handle()), 0);
    // SAFETY: Both handles are open: their events are borrowed.
    match unsafe { WaitForMultipleObjects(2, both.as_ptr(), all_of_them, milliseconds(timeout)) } {
        WAIT_FAILED => Err(io::Error::last_os_error()),
        _ => Ok(()),
    }
}

/// How long to wait, rounded up: a wait that ends early would be tried again and again.
fn milliseconds(left: Option<Duration>) -> u32 {
    left.map_or(INFINITE, |left| {
        u32::try_from(left.as_nanos().div_ceil(1_000_000)).unwrap_or(INFINITE).min(INFINITE.saturating_sub(1))
    })
}

/// Whether an error is this one.
pub(super) fn is(error: &io::Error, code: u32) -> bool {
    error.raw_os_error().is_some_and(|raw| u32::try_from(raw) == Ok(code))
}

/// Whether the other end is closed, or was disconnected by its server, as runtimes do once all is read (F-116).
pub(super) fn is_end(error: &io::Error) -> bool {
    [ERROR_BROKEN_PIPE, ERROR_PIPE_NOT_CONNECTED, ERROR_NO_DATA, ERROR_HANDLE_EOF].iter().any(|code| is(error, *code))
}

/// How many of the bytes one operation takes.
fn len(bytes: &[u8]) -> u32 {
    u32::try_from(bytes.len().min(MOST)).unwrap_or_default()
}
