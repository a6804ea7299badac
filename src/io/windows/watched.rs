//! A server's end of a pipe, watched together with many others.
#![forbid(unsafe_code)]

use std::io;
use std::sync::Arc;

use windows_sys::Win32::Foundation::{
    ERROR_NO_DATA, ERROR_OPERATION_ABORTED, ERROR_PIPE_CONNECTED,
};

use super::event::Event;
use super::handle::{InFlight, Pipe, is, is_end};

/// A server's end of a pipe that waits for its client, for up to `N` bytes, or for its end, without
/// blocking.
///
/// Pipes with the same event are waited for together: it is set when an operation of any of them
/// ends. Starting an operation resets the event, so ended ones are looked for after the last start,
/// and before the wait.
#[derive(Debug)]
pub(in crate::io) struct Watched<const N: usize> {
    flight: InFlight<N>,
    /// A client had connected before the wait began.
    has_client: bool,
}

impl<const N: usize> Watched<N> {
    pub(in crate::io) fn new(pipe: Arc<Pipe>, ended: &Arc<Event>) -> Self {
        Self { flight: InFlight::new(pipe, ended), has_client: false }
    }

    /// Waits for a client, unless it already does.
    pub(in crate::io) fn begin_connect(&mut self) -> io::Result<()> {
        if self.has_client {
            return Ok(());
        }
        match self.flight.begin_connect() {
            Err(error) if has_come(&error) => self.has_client = true,
            begun => begun?,
        }
        Ok(())
    }

    /// Once that has ended: a client has connected. A client that has already disconnected counts:
    /// its bytes can be read, then the end.
    pub(in crate::io) fn connected(&mut self) -> io::Result<()> {
        match self.flight.end() {
            Err(error) if !has_come(&error) => return Err(error),
            _ => self.has_client = false,
        }
        Ok(())
    }

    /// Waits for up to this many bytes, or the end.
    pub(in crate::io) fn begin_read(&mut self, most: usize) -> io::Result<()> {
        self.flight.begin_read(most)
    }

    /// Whether the operation has ended.
    pub(in crate::io) fn is_over(&self) -> bool {
        self.has_client || self.flight.is_over()
    }

    /// Reads the available bytes; `WouldBlock` if there are none, and starts to wait for some. 0 at
    /// the end.
    pub(in crate::io) fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        if into.is_empty() {
            return Ok(0);
        }
        loop {
            let ended = match self.flight.begin_read(into.len()) {
                Ok(()) if !self.flight.is_over() => return Err(io::ErrorKind::WouldBlock.into()),
                Ok(()) => self.flight.end(),
                Err(error) => Err(error),
            };
            match ended {
                // The other side wrote 0 bytes, which is not the end.
                Ok([]) => {}
                Ok(bytes) => {
                    let count = bytes.len().min(into.len());
                    into.iter_mut().zip(bytes).for_each(|(place, byte)| *place = *byte);
                    return Ok(count);
                }
                Err(error) if is_end(&error) => return Ok(0),
                Err(error) => return Err(error),
            }
        }
    }

    /// Stops waiting. Fails if something has arrived or ended meanwhile.
    pub(in crate::io) fn give_up(&mut self) -> io::Result<()> {
        if !self.flight.is_running() {
            return Ok(());
        }
        self.flight.cancel();
        match self.flight.end() {
            Err(error) if is(&error, ERROR_OPERATION_ABORTED) => Ok(()),
            Err(error) => Err(error),
            Ok(_) => Err(io::ErrorKind::InvalidData.into()),
        }
    }

    /// The pipe itself. A running operation ends with this.
    pub(super) fn into_pipe(self) -> Arc<Pipe> {
        Arc::clone(self.flight.pipe())
    }
}

/// Whether the wait for a client failed because one is or was connected.
fn has_come(error: &io::Error) -> bool {
    is(error, ERROR_PIPE_CONNECTED) || is(error, ERROR_NO_DATA)
}
