//! Something that happens once, and that waits can wait for.
#![forbid(unsafe_code)]

use std::io;
use std::os::windows::io::{AsHandle, BorrowedHandle, OwnedHandle};

use super::handle;

/// Something that happens once: once set, it stays set for all that wait.
#[derive(Debug)]
pub(in crate::io) struct Event(OwnedHandle);

impl Event {
    /// One that was not set yet.
    ///
    /// # Errors
    /// Where the system gives no handle for it.
    pub(in crate::io) fn new() -> io::Result<Self> {
        handle::new_event().map(Self)
    }

    /// Ends every wait for it, now and later.
    pub(in crate::io) fn set(&self) {
        handle::set_event(self);
    }
}

impl AsHandle for Event {
    fn as_handle(&self) -> BorrowedHandle<'_> {
        self.0.as_handle()
    }
}
