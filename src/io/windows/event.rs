//! Something that happens, and that waits can wait for. What is safe about it: its handle is open for as long as it is there.
#![allow(unsafe_code, reason = "the calls of Windows; every other module of src/io but handle forbids it")]
#![deny(clippy::undocumented_unsafe_blocks, clippy::multiple_unsafe_ops_per_block)]

use std::io;
use std::os::windows::io::{AsHandle, AsRawHandle as _, BorrowedHandle, FromRawHandle as _, OwnedHandle};
use std::ptr::null;

use windows_sys::Win32::System::Threading::{CreateEventW, SetEvent};

/// Something that happens, for one wait or for all.
#[derive(Debug)]
pub(in crate::io) struct Event(OwnedHandle);

impl Event {
    /// One that was not set yet. Once set, it stays set for all that wait.
    ///
    /// # Errors
    /// Where the system gives no handle for it.
    pub(in crate::io) fn new() -> io::Result<Self> {
        Self::create(true)
    }

    /// One that was not set yet. It ends one wait each time that it is set, and is not set any more then.
    ///
    /// # Errors
    /// Where the system gives no handle for it.
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
        // SAFETY: It is new and valid, and nobody else has it.
        Ok(Self(unsafe { OwnedHandle::from_raw_handle(event) }))
    }

    /// Ends every wait for it, now and later; or the next one.
    pub(in crate::io) fn set(&self) {
        // SAFETY: The handle is open, being borrowed. The call cannot fail for an event that was made with all rights.
        unsafe { SetEvent(self.0.as_raw_handle()) };
    }
}

impl AsHandle for Event {
    fn as_handle(&self) -> BorrowedHandle<'_> {
        self.0.as_handle()
    }
}
