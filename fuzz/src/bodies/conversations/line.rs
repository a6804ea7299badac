//! One direction of a modelled connection.

use std::collections::VecDeque;
use std::ops::Range;

use dotnet_diagnostics_ipc::exchange::End;

/// A byte with a descriptor. Others are below.
const WITH_FD: u16 = 0x100;

/// What is under way, and how the connection ends for its reader after that.
#[derive(Debug, Default)]
pub(super) struct Line {
    items: VecDeque<u16>,
    end: Option<End>,
    /// The reader has closed: writing fails.
    is_broken: bool,
}

/// The result of a read.
pub(super) enum Read {
    /// So many bytes.
    Bytes(usize),
    Ended(End),
    /// Nothing yet.
    Nothing,
}

impl Line {
    /// Writes the front of `bytes`, at most `n` of them, as far as there is room for `capacity`.
    /// `None` if the reader has closed.
    pub(super) fn write(&mut self, bytes: &[u8], n: usize, capacity: usize) -> Option<usize> {
        if self.is_broken || self.end.is_some() {
            return None;
        }
        let n = bytes.len().min(n).min(capacity.saturating_sub(self.items.len()));
        self.items.extend(bytes[..n].iter().map(|byte| u16::from(*byte)));
        Some(n)
    }

    /// Writes a byte, with or without a descriptor.
    pub(super) fn write_fd(&mut self, has_fd: bool) -> bool {
        if self.is_broken || self.end.is_some() {
            return false;
        }
        self.items.push_back(if has_fd { WITH_FD } else { 0 });
        true
    }

    /// Reads into this range of `buffer`, at most `n` bytes. Plain reading of a byte with a
    /// descriptor would lose it.
    pub(super) fn read(&mut self, range: Range<usize>, n: usize, buffer: &mut [u8]) -> Read {
        let n = range.len().min(n).min(self.items.len());
        if n == 0 {
            return self.end.filter(|_| self.items.is_empty()).map_or(Read::Nothing, Read::Ended);
        }
        for (place, item) in buffer[range].iter_mut().zip(self.items.drain(..n)) {
            *place = u8::try_from(item).expect("the byte of the descriptor was read as data");
        }
        Read::Bytes(n)
    }

    /// Reads one byte, and whether it has a descriptor.
    pub(super) fn read_fd(&mut self) -> Result<bool, Read> {
        match self.items.pop_front() {
            Some(item) => Ok(item == WITH_FD),
            None => Err(self.end.map_or(Read::Nothing, Read::Ended)),
        }
    }

    /// How the reader sees the end, once there is nothing more to read.
    pub(super) fn ended(&self) -> Option<End> {
        self.end.filter(|_| self.items.is_empty())
    }

    pub(super) fn is_empty(&self) -> bool {
        self.items.is_empty()
    }

    pub(super) fn is_closed_by_writer(&self) -> bool {
        self.end.is_some()
    }

    /// The writer sends no more.
    pub(super) fn end(&mut self, end: End) {
        self.end.get_or_insert(end);
    }

    /// The connection is cut, whatever was to come.
    pub(super) fn cut(&mut self) {
        self.end = Some(End::Reset);
        self.is_broken = true;
    }
}

/// Closes one side, which reads `incoming` and writes `outgoing`: the other one sees a reset if
/// bytes were left unread (F-70).
pub(super) fn close(incoming: &mut Line, outgoing: &mut Line) {
    outgoing.end(if incoming.is_empty() { End::Closed } else { End::Reset });
    incoming.items.clear();
    incoming.is_broken = true;
}
