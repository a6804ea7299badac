//! An event object that can be waited for. Why it is safe: its handle is open while it exists.
#![allow(
    unsafe_code,
    reason = "calls into Windows; all other modules of src/io except handle and user forbid it"
)]
#![deny(clippy::undocumented_unsafe_blocks, clippy::multiple_unsafe_ops_per_block)]

use std::io;
use std::os::windows::io::{
    AsHandle, AsRawHandle as _, BorrowedHandle, FromRawHandle as _, OwnedHandle,
};
use std::ptr::null;
use std::time::Duration;

use windows_sys::Win32::Foundation::{WAIT_FAILED, WAIT_OBJECT_0, WAIT_TIMEOUT};
use windows_sys::Win32::System::Threading::{
    CreateEventW, INFINITE, SetEvent, WaitForMultipleObjects,
};

/// An event, for one wait or for all.
#[derive(Debug)]
pub(in crate::io) struct Event(OwnedHandle);

impl Event {
    /// A new event. Once set, it stays set for all waits.
    ///
    /// # Errors
    /// If the system provides no handle.
    pub(in crate::io) fn new() -> io::Result<Self> {
        Self::create(true)
    }

    /// A new event. Setting it ends one wait, and resets it.
    ///
    /// # Errors
    /// If the system provides no handle.
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

    /// Ends every wait for it, now and later; or only the next one.
    pub(in crate::io) fn set(&self) {
        // SAFETY: The handle is open, being borrowed. The call cannot fail for an event created
        // with all rights.
        unsafe { SetEvent(self.0.as_raw_handle()) };
    }

    /// Waits for one of these, which differ, and returns its index; `None` if the time is over.
    ///
    /// # Errors
    /// If the system cannot wait for them.
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

/// The time to wait, rounded up: a wait that ends early would be repeated.
fn milliseconds(left: Option<Duration>) -> u32 {
    left.map_or(INFINITE, |left| {
        u32::try_from(left.as_nanos().div_ceil(1_000_000))
            .unwrap_or(INFINITE)
            .min(INFINITE.saturating_sub(1))
    })
}

impl AsHandle for Event {
    fn as_handle(&self) -> BorrowedHandle<'_> {
        self.0.as_handle()
    }
}
