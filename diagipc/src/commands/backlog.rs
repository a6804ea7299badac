//! Writes packets on a separate thread, so that their producer never waits for a reader.

use std::collections::VecDeque;
use std::fs::File;
use std::io::{self, Write as _};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use crate::commands::printable::say;

/// The maximum number of bytes that wait to be written.
const MAX_BYTES: usize = 32 * 1024 * 1024;
/// How long a stream's reader may take for the rest, once there are no more packets.
const READER_TIMEOUT: Duration = Duration::from_secs(2);
/// How long a file may take for one packet.
const FILE_TIMEOUT: Duration = Duration::from_secs(10);

/// A queue of packets for a file, which gets all of them, or for a stream, which loses those that
/// its reader is too slow for.
#[derive(Debug)]
pub(crate) struct Backlog {
    shared: Arc<Shared>,
    is_file: bool,
}

#[derive(Debug, Default)]
struct Shared {
    queue: Mutex<Queue>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct Queue {
    /// The first packet is empty while it is written.
    packets: VecDeque<Vec<u8>>,
    /// The number of bytes in the packets, including the packet that is written.
    bytes: usize,
    /// The number of packets dropped since the last accepted one.
    missing: usize,
    /// The error after which nothing more is written.
    trouble: Option<io::Error>,
}

impl Queue {
    /// Returns whether a packet of this length is accepted. After a gap, half of the queue must be
    /// free, so that gaps are few.
    fn has_room(&self, len: usize) -> bool {
        let most = if self.missing > 0 { MAX_BYTES / 2 } else { MAX_BYTES };
        self.packets.is_empty() || self.bytes + len <= most
    }
}

impl Backlog {
    /// Starts the thread that writes to `file`.
    pub(crate) fn start(mut file: File) -> io::Result<Self> {
        let is_file = file.metadata()?.is_file();
        let shared = Arc::new(Shared::default());
        let of_thread = Arc::clone(&shared);
        // A write to a stream may last until its reader ends, so nothing joins the thread.
        thread::Builder::new()
            .name("capture".to_owned())
            .spawn(move || while of_thread.write_next(&mut file) {})?;
        Ok(Self { shared, is_file })
    }

    /// Puts the packet that `make` returns into the queue, or drops it if the reader is too slow.
    /// Packets are in the order in which they are made.
    pub(crate) fn push(&self, make: impl FnOnce() -> io::Result<Vec<u8>>) {
        let mut queue = self.shared.locked();
        if queue.trouble.is_some() {
            return;
        }
        let packet = match make() {
            Ok(packet) => packet,
            Err(error) => {
                queue.trouble = Some(error);
                return;
            }
        };
        if self.is_file && queue.missing == 0 {
            let is_full =
                |queue: &mut Queue| !queue.has_room(packet.len()) && queue.trouble.is_none();
            let waited = self.shared.changed.wait_timeout_while(queue, FILE_TIMEOUT, is_full);
            queue = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
        if !queue.has_room(packet.len()) {
            queue.missing += 1;
            return;
        }
        let missing = std::mem::take(&mut queue.missing);
        queue.bytes += packet.len();
        queue.packets.push_back(packet);
        drop(queue);
        self.shared.changed.notify_all();
        say_missing(missing);
    }

    /// Waits until the packets are written, for a stream at most [`READER_TIMEOUT`].
    ///
    /// # Errors
    /// Returns why a packet could not be written. Missing packets are only reported.
    pub(crate) fn finish(&self) -> io::Result<()> {
        let mut queue = self.shared.locked();
        let ends = Instant::now() + READER_TIMEOUT;
        loop {
            let left = queue.packets.len();
            let limit = if self.is_file {
                FILE_TIMEOUT
            } else {
                ends.saturating_duration_since(Instant::now())
            };
            if left == 0 || queue.trouble.is_some() || limit.is_zero() {
                break;
            }
            let is_same =
                |queue: &mut Queue| queue.packets.len() == left && queue.trouble.is_none();
            let waited = self.shared.changed.wait_timeout_while(queue, limit, is_same);
            let (now, timeout) = waited.unwrap_or_else(PoisonError::into_inner);
            queue = now;
            if timeout.timed_out() {
                break;
            }
        }
        if let Some(trouble) = queue.trouble.take() {
            return Err(trouble);
        }
        let missing = queue.missing + queue.packets.len();
        drop(queue);
        say_missing(missing);
        Ok(())
    }
}

impl Shared {
    fn locked(&self) -> MutexGuard<'_, Queue> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits for a packet and writes it; false if no more can be written.
    fn write_next(&self, file: &mut File) -> bool {
        let waited = self.changed.wait_while(self.locked(), |queue| queue.packets.is_empty());
        let mut queue = waited.unwrap_or_else(PoisonError::into_inner);
        let packet = queue.packets.front_mut().map(std::mem::take).unwrap_or_default();
        drop(queue);
        let written = file.write_all(&packet);
        let mut queue = self.locked();
        queue.bytes -= packet.len();
        queue.packets.pop_front();
        if let Err(error) = written {
            queue.trouble.get_or_insert(error);
        }
        let is_well = queue.trouble.is_none();
        drop(queue);
        self.changed.notify_all();
        is_well
    }
}

fn say_missing(packets: usize) {
    if packets > 0 {
        say(&format!("the capture fell behind: {packets} packets are missing"));
    }
}
