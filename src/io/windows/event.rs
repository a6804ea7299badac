//! Something that happens once, and that waits can wait for. What is safe about it: its handle is open for as long as it is there.
#![allow(unsafe_code, reason = "the calls of Windows; every other module of src/io but handle forbids it")]
#![deny(clippy::undocumented_unsafe_blocks, clippy::multiple_unsafe_ops_per_block)]

use std::io;
use std::os::windows::io::{AsHandle, AsRawHandle as _, BorrowedHandle, FromRawHandle as _, OwnedHandle};
use std::ptr::null;

use windows_sys::Win32::System::Threading::{CreateEventW, SetEvent};

/// Something that happens once: once set, it stays set for all that wait.
#[derive(Debug)]
pub(in crate::io) struct Event(OwnedHandle);

impl Event {
    /// One that was not set yet.
    ///
    /// # Errors
    /// Where the system gives no handle for it.
    pub(in crate::io) fn new() -> io::Result<Self> {
        let (manual_reset, set) = (1, 0);
        // SAFETY: No attributes and no name are allowed; nothing else is read.
        let event = unsafe { CreateEventW(null(), manual_reset, set, null()) };
        if event.is_null() {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: It is new and valid, and nobody else has it.
        Ok(Self(unsafe { OwnedHandle::from_raw_handle(event) }))
    }

    /// Ends every wait for it, now and later.
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
