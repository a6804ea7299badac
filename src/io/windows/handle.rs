//! The Windows calls for pipes and events: with `user`, the only module for Windows with `unsafe`.
//!
//! Pipes need these calls on Windows, and `std` wraps none of them. Why this module is safe, for
//! each function and all arguments:
//!
//! - Handles are passed as [`BorrowedHandle`] and owned by an [`Event`] or a [`Pipe`]: open while
//!   used, closed once.
//! - A path is a [`PipePath`], which ends with a NUL.
//! - The system reads and writes the memory of an operation until that has ended, however long it
//!   takes. An [`InFlight`] owns that memory, and is dropped only after the operation has ended.
#![allow(unsafe_code, reason = "calls into Windows; of the other modules only user has it")]
#![deny(clippy::undocumented_unsafe_blocks, clippy::multiple_unsafe_ops_per_block)]

use std::boxed::Box;
use std::io;
use std::os::windows::io::{
    AsHandle, AsRawHandle as _, BorrowedHandle, FromRawHandle as _, OwnedHandle,
};
use std::ptr::{NonNull, null, null_mut};
use std::string::String;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use std::vec::Vec;

use windows_sys::Win32::Foundation::{
    ERROR_BROKEN_PIPE, ERROR_HANDLE_EOF, ERROR_IO_PENDING, ERROR_NO_DATA, ERROR_PIPE_NOT_CONNECTED,
    GENERIC_READ, GENERIC_WRITE, HANDLE, INVALID_HANDLE_VALUE, STATUS_PENDING, WAIT_FAILED,
    WAIT_OBJECT_0, WAIT_TIMEOUT,
};
use windows_sys::Win32::Storage::FileSystem::{
    CreateFileW, FILE_FLAG_FIRST_PIPE_INSTANCE, FILE_FLAG_OVERLAPPED, OPEN_EXISTING,
    PIPE_ACCESS_DUPLEX, ReadFile, SECURITY_IDENTIFICATION, SECURITY_SQOS_PRESENT, WriteFile,
};
use windows_sys::Win32::System::IO::{CancelIoEx, GetOverlappedResult, OVERLAPPED};
use windows_sys::Win32::System::Pipes::{
    ConnectNamedPipe, CreateNamedPipeW, DisconnectNamedPipe, GetNamedPipeServerProcessId,
    PIPE_READMODE_BYTE, PIPE_REJECT_REMOTE_CLIENTS, PIPE_TYPE_BYTE, PIPE_UNLIMITED_INSTANCES,
    PIPE_WAIT, WaitNamedPipeW,
};
use windows_sys::Win32::System::Threading::{
    CreateEventW, INFINITE, SetEvent, WaitForMultipleObjects,
};

use super::user::Rights;
use crate::endpoint::{PIPE_PREFIX, strip_pipe_prefix};

/// The buffers of a pipe, as in a runtime (F-62).
const BUFFER: u32 = 16 * 1024;

/// A Windows event, which ends one wait or all waits.
#[derive(Debug)]
pub(in crate::io) struct Event(OwnedHandle);

impl Event {
    /// Creates an event that stays set for all waits once it is set.
    ///
    /// # Errors
    /// Fails if the system provides no handle.
    pub(in crate::io) fn new() -> io::Result<Self> {
        Self::create(true)
    }

    /// Creates an event that ends one wait when it is set, and is then reset.
    ///
    /// # Errors
    /// Fails if the system provides no handle.
    pub(in crate::io) fn for_each_wait() -> io::Result<Self> {
        Self::create(false)
    }

    fn create(stays: bool) -> io::Result<Self> {
        let (manual_reset, set) = (i32::from(stays), 0);
        // SAFETY: No attributes and no name are allowed; nothing else is read.
        let event = unsafe { CreateEventW(null(), manual_reset, set, null()) };
        if event.is_null() {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: It is new and valid, and has no other owner.
        Ok(Self(unsafe { OwnedHandle::from_raw_handle(event) }))
    }

    /// Sets the event, which ends every wait for it, now and later, or only the next one.
    pub(in crate::io) fn set(&self) {
        // SAFETY: The handle is open, being borrowed. The call cannot fail for an event created
        // with all rights.
        unsafe { SetEvent(self.0.as_raw_handle()) };
    }

    /// Waits for one of these different events and returns its index; `None` if the time is over.
    ///
    /// # Errors
    /// Fails if the system cannot wait for them.
    pub(in crate::io) fn wait<const N: usize>(
        events: [&Self; N],
        timeout: Option<Duration>,
    ) -> io::Result<Option<usize>> {
        let handles = events.map(|event| event.0.as_raw_handle());
        let count = u32::try_from(N).map_err(io::Error::other)?;
        let (all_of_them, most) = (0, milliseconds(timeout));
        // SAFETY: There are `count` handles, which are open: their events are borrowed.
        match unsafe { WaitForMultipleObjects(count, handles.as_ptr(), all_of_them, most) } {
            WAIT_TIMEOUT => Ok(None),
            WAIT_FAILED => Err(io::Error::last_os_error()),
            // An event is never abandoned.
            set => Ok(usize::try_from(set.wrapping_sub(WAIT_OBJECT_0)).ok()),
        }
    }
}

/// Returns the time to wait, rounded up, because a wait that ends early would be repeated.
fn milliseconds(left: Option<Duration>) -> u32 {
    left.map_or(INFINITE, |left| {
        u32::try_from(left.as_nanos().div_ceil(1_000_000))
            .unwrap_or(INFINITE)
            .min(INFINITE.saturating_sub(1))
    })
}

/// One end of a pipe.
///
/// An end that we created disconnects its client when it is dropped, if nothing was sent through it.
/// A runtime that connects to a port must be disconnected like this: if it only finds the pipe
/// closed before it waits for its first command, it never connects again (P-57). Once something was
/// sent, the end is only closed, as a disconnection takes what the client has not read yet.
#[derive(Debug)]
pub(in crate::io) struct Pipe {
    handle: OwnedHandle,
    is_disconnected_at_end: AtomicBool,
}

impl Pipe {
    /// Records that something will be sent, so that a drop does not disconnect the client.
    pub(super) fn will_send(&self) {
        self.is_disconnected_at_end.store(false, Ordering::SeqCst);
    }

    /// Wraps the result of [`CreateFileW`] or [`CreateNamedPipeW`]. Call it right after them, while
    /// their error number is available.
    fn of(pipe: HANDLE, is_ours: bool) -> io::Result<Self> {
        if pipe == INVALID_HANDLE_VALUE {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: It is new and valid, and has no other owner.
        let handle = unsafe { OwnedHandle::from_raw_handle(pipe) };
        Ok(Self { handle, is_disconnected_at_end: AtomicBool::new(is_ours) })
    }
}

impl AsHandle for Pipe {
    fn as_handle(&self) -> BorrowedHandle<'_> {
        self.handle.as_handle()
    }
}

impl Drop for Pipe {
    fn drop(&mut self) {
        if *self.is_disconnected_at_end.get_mut() {
            // SAFETY: The handle is open: we own it.
            let _ = unsafe { DisconnectNamedPipe(self.handle.as_raw_handle()) };
        }
    }
}

/// Opens a pipe as a client, in byte mode. Its server may identify the client, but not impersonate
/// it.
pub(super) fn open(path: &PipePath) -> io::Result<Pipe> {
    let (access, shared) = (GENERIC_READ | GENERIC_WRITE, 0);
    let flags = FILE_FLAG_OVERLAPPED | SECURITY_SQOS_PRESENT | SECURITY_IDENTIFICATION;
    // SAFETY: The path ends with a NUL. Null attributes and template are allowed.
    let pipe = unsafe {
        CreateFileW(path.units().as_ptr(), access, shared, null(), OPEN_EXISTING, flags, null_mut())
    };
    Pipe::of(pipe, false)
}

/// Waits until a pipe is free to be opened, for at most this many milliseconds.
pub(super) fn wait_until_free(path: &PipePath, milliseconds: u32) -> io::Result<()> {
    // SAFETY: The path ends with a NUL.
    match unsafe { WaitNamedPipeW(path.units().as_ptr(), milliseconds) } {
        0 => Err(io::Error::last_os_error()),
        _ => Ok(()),
    }
}

/// Creates a pipe that one client with the rights can open. If `first` is set, fails if a pipe of
/// this name exists.
pub(super) fn create(path: &PipePath, rights: &Rights, first: bool) -> io::Result<Pipe> {
    let mode = PIPE_ACCESS_DUPLEX
        | FILE_FLAG_OVERLAPPED
        | if first { FILE_FLAG_FIRST_PIPE_INSTANCE } else { 0 };
    let kind = PIPE_TYPE_BYTE | PIPE_READMODE_BYTE | PIPE_WAIT | PIPE_REJECT_REMOTE_CLIENTS;
    let (default_wait, attributes) = (0, rights.attributes());
    // SAFETY: The path ends with a NUL. The descriptor in the attributes is borrowed.
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
    Pipe::of(pipe, true)
}

/// Returns the process that created the pipe opened by a client.
pub(in crate::io) fn server_process_id(pipe: BorrowedHandle<'_>) -> io::Result<u32> {
    let mut pid = 0;
    // SAFETY: The handle is open, being borrowed; `pid` is written within the call.
    match unsafe { GetNamedPipeServerProcessId(pipe.as_raw_handle(), &raw mut pid) } {
        0 => Err(io::Error::last_os_error()),
        _ => Ok(pid),
    }
}

/// An operation on a pipe.
#[derive(Clone, Copy)]
pub(super) enum Operation<'b> {
    /// Waits for a client.
    Connect,
    /// Reads up to this many bytes.
    Read(usize),
    /// Writes from these bytes.
    Write(&'b [u8]),
}

/// The memory that the system uses while an operation runs.
struct Memory<const N: usize> {
    overlapped: OVERLAPPED,
    bytes: [u8; N],
}

/// A pipe with at most one operation that runs in the background: the wait for a client, or a read or
/// write of up to `N` bytes.
///
/// The system cancels a thread's operations when that thread ends.
#[derive(Debug)]
pub(super) struct InFlight<const N: usize> {
    pipe: Arc<Pipe>,
    /// Set at the end of the operation, and of others with the same event.
    done: Arc<Event>,
    /// The memory of the operation. A `Box` would claim to have the only pointer to it.
    memory: NonNull<Memory<N>>,
    is_running: bool,
}

// SAFETY: Its pointer is to memory that it owns, and any thread may cancel an operation.
unsafe impl<const N: usize> Send for InFlight<N> {}
// SAFETY: A shared reference does not start or end anything; concurrent writes by the system are
// read as such.
unsafe impl<const N: usize> Sync for InFlight<N> {}

impl<const N: usize> InFlight<N> {
    /// Creates it without a running operation.
    pub(super) fn new(pipe: Arc<Pipe>, done: &Arc<Event>) -> Self {
        let memory = Box::new(Memory { overlapped: OVERLAPPED::default(), bytes: [0; N] });
        let (done, memory) = (Arc::clone(done), NonNull::from(Box::leak(memory)));
        Self { pipe, done, memory, is_running: false }
    }

    pub(super) fn pipe(&self) -> &Arc<Pipe> {
        &self.pipe
    }

    pub(super) fn done(&self) -> &Event {
        &self.done
    }

    pub(super) fn is_running(&self) -> bool {
        self.is_running
    }

    /// Begins an operation in the background, unless one runs already. If that fails, the system does
    /// not use the memory.
    pub(super) fn begin(&mut self, operation: Operation<'_>) -> io::Result<()> {
        if self.is_running {
            return Ok(());
        }
        let (pipe, overlapped) = (self.pipe.as_handle().as_raw_handle(), self.overlapped());
        let event = self.done.0.as_raw_handle();
        // SAFETY: The memory lives as long as `self`, and nothing runs that uses it.
        unsafe { overlapped.write(OVERLAPPED { hEvent: event, ..OVERLAPPED::default() }) };
        // SAFETY: As above. The reference is gone before the bytes are read: `end` does that after
        // the operation.
        let bytes = unsafe { &mut (*self.memory.as_ptr()).bytes };
        let len = |count: usize| u32::try_from(count.min(N)).unwrap_or_default();
        let begun = match operation {
            // SAFETY: The pipe and the event are open: we own them. The memory stays in place until
            // `self` is dropped, which waits for the end; nothing uses it before.
            Operation::Connect => unsafe { ConnectNamedPipe(pipe, overlapped) },
            Operation::Read(most) => {
                // SAFETY: As above. There are at least `len(most)` bytes.
                unsafe { ReadFile(pipe, bytes.as_mut_ptr(), len(most), null_mut(), overlapped) }
            }
            Operation::Write(from) => {
                bytes.iter_mut().zip(from).for_each(|(place, byte)| *place = *byte);
                let len = len(from.len());
                // SAFETY: As above. The system only reads `bytes`.
                unsafe { WriteFile(pipe, bytes.as_ptr(), len, null_mut(), overlapped) }
            }
        };
        if begun == 0 {
            let error = io::Error::last_os_error();
            if !is(&error, ERROR_IO_PENDING) {
                return Err(error);
            }
        }
        self.is_running = true;
        Ok(())
    }

    /// Returns whether the operation has ended, so that [`end`](Self::end) does not wait.
    pub(super) fn is_over(&self) -> bool {
        self.is_running && self.is_released()
    }

    /// Returns whether the system has released the memory; it writes the status last.
    fn is_released(&self) -> bool {
        // SAFETY: The memory lives as long as `self`, and this makes no reference to it.
        let status = unsafe { &raw const (*self.overlapped()).Internal };
        // SAFETY: As above; the system writes it whole.
        let status = unsafe { status.read_volatile() };
        usize::try_from(STATUS_PENDING).is_ok_and(|pending| status != pending)
    }

    /// Requests cancellation of the running operation, which may have ended already.
    pub(super) fn cancel(&self) {
        if self.is_running {
            // SAFETY: The pipe is open: we own it. `overlapped` identifies one operation, and lives as
            // long as `self`.
            unsafe { CancelIoEx(self.pipe.as_handle().as_raw_handle(), self.overlapped()) };
        }
    }

    /// Waits for the end of the running operation; returns the bytes read or written. Bytes that
    /// arrived before a cancellation count.
    pub(super) fn end(&mut self) -> io::Result<&[u8]> {
        while self.is_running {
            let (mut count, wait) = (0, 1);
            let (pipe, overlapped) = (self.pipe.as_handle().as_raw_handle(), self.overlapped());
            // SAFETY: The pipe is open: we own it. `overlapped` lives as long as `self`, with an open
            // event.
            let result = unsafe { GetOverlappedResult(pipe, overlapped, &raw mut count, wait) };
            let error = io::Error::last_os_error();
            if self.is_released() {
                self.is_running = false;
                if result == 0 {
                    return Err(error);
                }
                // SAFETY: The memory lives as long as `self`, and no operation writes to it.
                let bytes: &[u8] = unsafe { &(*self.memory.as_ptr()).bytes };
                return Ok(usize::try_from(count)
                    .ok()
                    .and_then(|n| bytes.get(..n))
                    .unwrap_or(bytes));
            }
        }
        Ok(&[])
    }

    fn overlapped(&self) -> *mut OVERLAPPED {
        // SAFETY: The memory lives as long as `self`, and this makes no reference to it.
        unsafe { &raw mut (*self.memory.as_ptr()).overlapped }
    }
}

impl<const N: usize> Drop for InFlight<N> {
    fn drop(&mut self) {
        self.cancel();
        let _ = self.end();
        // SAFETY: It comes from a `Box`, has no other owner, and the system has released it.
        drop(unsafe { Box::from_raw(self.memory.as_ptr()) });
    }
}

/// Returns whether an error has this code.
pub(super) fn is(error: &io::Error, code: u32) -> bool {
    error.raw_os_error().is_some_and(|raw| u32::try_from(raw) == Ok(code))
}

/// Returns whether the other end is closed, or was disconnected by its server, as runtimes do once
/// all is read (F-116).
pub(super) fn is_end(error: &io::Error) -> bool {
    [ERROR_BROKEN_PIPE, ERROR_PIPE_NOT_CONNECTED, ERROR_NO_DATA, ERROR_HANDLE_EOF]
        .iter()
        .any(|code| is(error, *code))
}

/// The longest path in units, by the documentation of `CreateNamedPipeW`.
const MOST_UNITS: usize = 256;

/// The path of a pipe on this machine: UTF-16 with one NUL, which is its last unit.
///
/// `units` is private to this file, since its calls rely on the NUL.
#[derive(Clone, Debug)]
pub(in crate::io) struct PipePath {
    units: Vec<u16>,
    text: String,
}

impl PipePath {
    /// Creates the path of a name, with or without `\\.\pipe\`.
    ///
    /// # Errors
    /// `InvalidInput` for text that cannot be the name of a pipe on this machine.
    pub(in crate::io) fn new(name: &str) -> io::Result<Self> {
        let rest = strip_pipe_prefix(name).unwrap_or(name);
        let fault = if rest.is_empty() {
            "the pipe name is empty"
        } else if rest.contains('\0') {
            "the pipe name contains a NUL"
        } else if rest.starts_with('\\') {
            // `\\server\pipe\name` is a pipe on another machine.
            "not the name of a pipe on this machine"
        } else {
            let text = std::format!("{PIPE_PREFIX}{rest}");
            let mut units: Vec<u16> = text.encode_utf16().collect();
            if units.len() <= MOST_UNITS {
                units.push(0);
                return Ok(Self { units, text });
            }
            "the pipe name is longer than 256 units"
        };
        Err(io::Error::new(io::ErrorKind::InvalidInput, fault))
    }

    /// Returns the path, with its NUL.
    pub(in crate::io) fn units(&self) -> &[u16] {
        &self.units
    }

    /// Returns the path, for display.
    pub(in crate::io) fn text(&self) -> &str {
        &self.text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pipe_path_with_and_without_prefix_is_equal() {
        for name in [
            "dotnet-diagnostic-12",
            r"\\.\pipe\dotnet-diagnostic-12",
            r"\\.\PIPE\dotnet-diagnostic-12",
        ] {
            let path = PipePath::new(name).unwrap();
            assert_eq!(path.text(), r"\\.\pipe\dotnet-diagnostic-12");
            assert_eq!(path.units().iter().position(|unit| *unit == 0), Some(29));
            assert_eq!(path.units().len(), 30);
        }
    }

    #[test]
    fn pipe_path_invalid_name_is_refused() {
        let longest = "é".repeat(247);
        assert_eq!(PipePath::new(&longest).unwrap().units().len(), 257);
        for name in
            ["", r"\\.\pipe\", "a\0b", r"\\server\pipe\name", r"\\?\pipe\name", &(longest + "a")]
        {
            assert_eq!(
                PipePath::new(name).unwrap_err().kind(),
                io::ErrorKind::InvalidInput,
                "{name}"
            );
        }
    }
}
