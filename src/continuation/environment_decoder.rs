//! Reads the environment block as it arrives.

use super::Entry;
use super::environment::{ERROR_LEN, error_message, may_be_error};
use crate::header::MAGIC;
use crate::wire::{Root, WireError, WireErrorKind, clamp};

/// Limits on the blocks that an [`EnvironmentDecoder`](super::EnvironmentDecoder) accepts. The
/// caller's buffer limits the size of an entry.
///
/// ```
/// use dotnet_diagnostics_ipc::continuation::{EnvironmentDecoder, EnvironmentLimits};
/// use dotnet_diagnostics_ipc::wire::{WireErrorKind};
///
/// let limits = EnvironmentLimits { max_bytes: 4096, ..EnvironmentLimits::DEFAULT };
/// let error = EnvironmentDecoder::with_limits(5000, &mut [], limits).decode(&mut &[0][..]).unwrap_err();
/// assert_eq!(error.kind(), WireErrorKind::LimitExceeded { limit: 4096, found: 5000 });
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct EnvironmentLimits {
    /// The maximum of `nIncomingBytes`, in bytes.
    pub max_bytes: u32,
    /// The maximum number of entries.
    pub max_entries: u32,
    #[doc(hidden)]
    pub more: (),
}

impl EnvironmentLimits {
    /// The limits of 32 MiB and 65,536 entries. Linux starts no process with more than 6 MiB of
    /// arguments and environment, which is less than 12 MiB in UTF-16.
    pub const DEFAULT: Self = Self { max_bytes: 32 << 20, max_entries: 1 << 16, more: () };

    /// No limits except the wire's 32 bits.
    pub const NONE: Self = Self { max_bytes: u32::MAX, max_entries: u32::MAX, more: () };
}

impl Default for EnvironmentLimits {
    fn default() -> Self {
        Self::DEFAULT
    }
}

/// The next item found by an [`EnvironmentDecoder`].
///
/// ```
/// use dotnet_diagnostics_ipc::continuation::{EnvironmentDecoder, EnvironmentEvent};
///
/// // An entry of three units (`AB` and NUL), and a buffer for two.
/// let mut block = &b"\x01\0\0\0\x03\0\0\0A\0B\0\0\0"[..];
/// let mut buffer = [0; 4];
/// let mut decoder = EnvironmentDecoder::new(14, &mut buffer);
/// assert_eq!(decoder.decode(&mut block), Ok(Some(EnvironmentEvent::Count(1))));
/// assert_eq!(decoder.decode(&mut block), Ok(Some(EnvironmentEvent::EntryTooLarge { units: 3 })));
/// assert_eq!(decoder.decode(&mut block), Ok(Some(EnvironmentEvent::Done)));
/// assert_eq!(decoder.decode(&mut block), Ok(None));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum EnvironmentEvent<'d> {
    /// The number of entries in the block. This is the first event, and occurs once.
    Count(u32),
    /// The next entry, borrowed from the input if it is whole there, otherwise from the buffer.
    Entry(Entry<'d>),
    /// The next entry is larger than the buffer. The next event is the entry after it.
    EntryTooLarge {
        /// The number of units, including the NUL. The entry needs a buffer of twice as many bytes.
        units: u32,
    },
    /// The block has ended after the last entry. This is the last event, and occurs once.
    Done,
}

/// Reads an environment block from bytes that arrive in pieces of any size, without allocating.
///
/// The caller provides a buffer for one entry. The decoder takes no byte beyond `nIncomingBytes`,
/// except to complete the first 24 bytes of an error message that began inside the block (see the
/// [module](super)). [`wanted`](Self::wanted) returns how many bytes may be read.
///
/// ```
/// use dotnet_diagnostics_ipc::continuation::{EnvironmentDecoder, EnvironmentEvent};
///
/// // One entry, `A=1`, in pieces that end anywhere; nIncomingBytes is 16.
/// let pieces = [&b"\x01\0\0\0\x04\0"[..], b"\0\0A\0=", b"\x001\0\0\0"];
/// let mut buffer = [0; 64];
/// let mut decoder = EnvironmentDecoder::new(16, &mut buffer);
/// let mut values = Vec::new();
/// for mut piece in pieces {
///     while let Some(event) = decoder.decode(&mut piece)? {
///         if let EnvironmentEvent::Entry(entry) = event {
///             values.push((entry.name().to_string(), entry.value().map(|value| value.to_string())));
///         }
///     }
/// }
/// decoder.finish()?;
/// assert_eq!(values, [("A".into(), Some("1".into()))]);
/// # Ok::<(), dotnet_diagnostics_ipc::wire::WireError>(())
/// ```
#[derive(Debug)]
pub struct EnvironmentDecoder<'b> {
    buffer: &'b mut [u8],
    limits: EnvironmentLimits,
    /// The announced `nIncomingBytes`.
    size: u32,
    /// The number of bytes taken.
    taken: u32,
    /// The index of the next entry.
    index: u32,
    /// The number of entries left, including the next one. `None` before the count.
    entries: Option<u32>,
    /// A count, or the error message that began in place of a count.
    held: heapless::Vec<u8, ERROR_LEN>,
    state: State,
    /// The error in the state `Failed`.
    failed: Option<WireError>,
}

#[derive(Clone, Copy, Debug)]
enum State {
    /// A count is next.
    Count,
    /// The buffer has `have` bytes of an entry of `len`.
    Units {
        have: u32,
        len: u32,
    },
    /// The next bytes belong to an entry that is too large.
    Skip {
        left: u32,
    },
    /// The next bytes complete an error message.
    Message,
    /// The block is complete, but not yet reported.
    Complete,
    /// The block is complete and was reported.
    Done,
    Failed,
}

impl<'b> EnvironmentDecoder<'b> {
    /// Returns a decoder of a block of `n_incoming_bytes`, from the reply, with the default limits.
    /// An entry fits if `buffer` has two bytes for each of its units, including the NUL.
    pub const fn new(n_incoming_bytes: u32, buffer: &'b mut [u8]) -> Self {
        Self::with_limits(n_incoming_bytes, buffer, EnvironmentLimits::DEFAULT)
    }

    /// Returns a decoder with the caller's limits.
    pub const fn with_limits(
        n_incoming_bytes: u32,
        buffer: &'b mut [u8],
        limits: EnvironmentLimits,
    ) -> Self {
        Self {
            buffer,
            limits,
            size: n_incoming_bytes,
            taken: 0,
            index: 0,
            entries: None,
            held: heapless::Vec::new(),
            state: State::Count,
            failed: None,
        }
    }

    /// Takes bytes from the front of `input` until there is an event, or until `input` is empty.
    ///
    /// Call this until it returns `None`, then again with the next bytes. After
    /// [`Done`](EnvironmentEvent::Done) it always returns `None` and takes nothing.
    ///
    /// # Errors
    /// Returns the errors of [`Environment::decode`](super::Environment::decode), with the same
    /// kind, offset and path, as soon as they are certain. Also returns
    /// [`LimitExceeded`](WireErrorKind::LimitExceeded) before the first byte or after the count.
    /// After an error, every call returns the same error.
    #[inline]
    pub fn decode<'d, 'i: 'd>(
        &'d mut self,
        input: &mut &'i [u8],
    ) -> Result<Option<EnvironmentEvent<'d>>, WireError> {
        if let Some(units) = self.whole_entry(input) {
            return Ok(Some(EnvironmentEvent::Entry(Entry::from_wire(units))));
        }
        self.next_event(input)
    }

    fn next_event(&mut self, input: &mut &[u8]) -> Result<Option<EnvironmentEvent<'_>>, WireError> {
        // Two functions, because an entry borrows the buffer and the state loop must not.
        Ok(Some(match self.advance(input) {
            None => return self.failed.map_or(Ok(None), Err),
            Some(Found::Count(count)) => EnvironmentEvent::Count(count),
            Some(Found::Entry(len)) => {
                let units = self.buffer.get(..len as usize).unwrap_or_default();
                EnvironmentEvent::Entry(Entry::from_wire(units))
            }
            Some(Found::TooLarge(units)) => EnvironmentEvent::EntryTooLarge { units },
            Some(Found::Done) => EnvironmentEvent::Done,
        }))
    }

    /// Reports that the connection has ended.
    ///
    /// # Errors
    /// [`EndOfInput`](WireErrorKind::EndOfInput) if bytes of the block are missing,
    /// [`CountTooLarge`](WireErrorKind::CountTooLarge) if an error message began but is incomplete,
    /// and any error that [`decode`](Self::decode) returned.
    pub fn finish(&self) -> Result<(), WireError> {
        match self.state {
            State::Complete | State::Done => Ok(()),
            State::Failed => self.failed.map_or(Ok(()), Err),
            State::Message => Err(self.impossible_count()),
            _ => Err(self.error(WireErrorKind::EndOfInput { needed: self.size }, self.taken)),
        }
    }

    /// Returns the maximum number of bytes to read from the connection now: the rest of the block,
    /// or of an error message in it.
    pub fn wanted(&self) -> usize {
        match self.state {
            State::Complete | State::Done | State::Failed => 0,
            State::Message => ERROR_LEN.saturating_sub(self.held.len()),
            _ => self.remaining() as usize,
        }
    }

    /// Returns the number of bytes taken.
    pub const fn taken(&self) -> u32 {
        self.taken
    }

    /// Returns whether the block is complete.
    pub const fn is_complete(&self) -> bool {
        matches!(self.state, State::Complete | State::Done)
    }

    const fn remaining(&self) -> u32 {
        self.size.saturating_sub(self.taken)
    }

    /// Takes the units of an entry if the input has all of it, and nothing otherwise.
    #[inline]
    fn whole_entry<'i>(&mut self, input: &mut &'i [u8]) -> Option<&'i [u8]> {
        let (State::Count, Some(_), true) = (self.state, self.entries, self.held.is_empty()) else {
            return None;
        };
        let (count, rest) = input.split_first_chunk()?;
        let len = u32::from_le_bytes(*count).checked_mul(2)?;
        let (units, rest) = rest.split_at_checked(len as usize)?;
        let taken = self.taken.checked_add(4)?.checked_add(len)?;
        if taken > self.size || units.len() > self.buffer.len() {
            return None;
        }
        (*input, self.taken) = (rest, taken);
        self.end_entry();
        Some(units)
    }

    /// Returns the next item. `None` if more input is needed, at the end, or after an error.
    fn advance(&mut self, input: &mut &[u8]) -> Option<Found> {
        loop {
            let step = match self.state {
                State::Failed | State::Done => return None,
                State::Complete => {
                    self.state = State::Done;
                    return Some(Found::Done);
                }
                State::Count => self.count(input),
                State::Units { have, len } => self.units(input, have, len),
                State::Skip { left } => self.skip(input, left),
                State::Message => self.message(input),
            };
            match step {
                Step::Wait => return None,
                Step::Next => {}
                Step::Found(found) => return Some(found),
            }
        }
    }

    fn count(&mut self, input: &mut &[u8]) -> Step {
        if self.held.is_empty() && (self.size > self.limits.max_bytes || self.remaining() < 4) {
            return self.no_room();
        }
        let missing = 4u32.saturating_sub(clamp(self.held.len()));
        let bytes = self.take(input, missing);
        // This cannot fail, because there is room for an error message.
        let _ = self.held.extend_from_slice(bytes);
        if self.held.len() < 4 {
            return Step::Wait;
        }
        let count = self.held_count();
        let item = if self.entries.is_none() { 4 } else { 2 };
        if u64::from(count).saturating_mul(item) > self.remaining().into() {
            return self.too_large();
        }
        self.held.clear();
        if self.entries.is_some() {
            return self.begin_entry(count);
        }
        let limit = self.limits.max_entries;
        if count > limit {
            return self.fail(WireErrorKind::LimitExceeded { limit, found: count }, 0);
        }
        self.entries = Some(count);
        self.end_if_last();
        Step::Found(Found::Count(count))
    }

    /// Fails because a count does not fit in the block, or the block exceeds the limits.
    #[cold]
    #[inline(never)]
    fn no_room(&mut self) -> Step {
        let (limit, remaining) = (self.limits.max_bytes, self.remaining());
        if self.size > limit {
            return self.fail(WireErrorKind::LimitExceeded { limit, found: self.size }, 0);
        }
        self.fail(WireErrorKind::UnexpectedEnd { needed: 4, remaining }, self.taken)
    }

    /// Handles a count that is larger than the rest of the block, where an error message may begin.
    #[cold]
    #[inline(never)]
    fn too_large(&mut self) -> Step {
        if !MAGIC.starts_with(&self.held) {
            return self.fail_with(self.impossible_count());
        }
        self.state = State::Message;
        Step::Next
    }

    fn begin_entry(&mut self, units: u32) -> Step {
        // This cannot overflow, because it is at most the rest of the block.
        let len = units.saturating_mul(2);
        if len as usize > self.buffer.len() {
            self.state = State::Skip { left: len };
            return Step::Found(Found::TooLarge(units));
        }
        self.state = State::Units { have: 0, len };
        Step::Next
    }

    fn units(&mut self, input: &mut &[u8], have: u32, len: u32) -> Step {
        let bytes = self.take(input, len.saturating_sub(have));
        let at = have as usize;
        if let Some(place) = self.buffer.get_mut(at..at.saturating_add(bytes.len())) {
            place.copy_from_slice(bytes);
        }
        let have = have.saturating_add(clamp(bytes.len()));
        if have < len {
            self.state = State::Units { have, len };
            return Step::Wait;
        }
        self.end_entry();
        Step::Found(Found::Entry(len))
    }

    fn skip(&mut self, input: &mut &[u8], left: u32) -> Step {
        let left = left.saturating_sub(clamp(self.take(input, left).len()));
        self.state = State::Skip { left };
        if left > 0 {
            return Step::Wait;
        }
        self.end_entry();
        Step::Next
    }

    fn end_entry(&mut self) {
        self.index = self.index.saturating_add(1);
        self.end_if_last();
    }

    /// Chooses the state after the count or an entry. Bytes after the last entry are an error,
    /// which is reported after that entry.
    fn end_if_last(&mut self) {
        self.state = match self.remaining() {
            _ if self.entries.is_some_and(|entries| self.index < entries) => State::Count,
            0 => State::Complete,
            extra => {
                // The path names the block, not an entry.
                let kind = WireErrorKind::BytesAfterMessage { extra };
                let error = WireError::new(kind, self.taken as usize);
                self.fail_with(error.in_root(Root::ENVIRONMENT));
                State::Failed
            }
        };
    }

    #[cold]
    #[inline(never)]
    fn fail(&mut self, kind: WireErrorKind, offset: u32) -> Step {
        self.fail_with(self.error(kind, offset))
    }

    /// Fails with this error, now and on every later call.
    #[cold]
    #[inline(never)]
    fn fail_with(&mut self, error: WireError) -> Step {
        (self.state, self.failed) = (State::Failed, Some(error));
        Step::Next
    }

    /// Takes the bytes after `DOTN` while they match an error message.
    fn message(&mut self, input: &mut &[u8]) -> Step {
        while let Some((byte, rest)) = input.split_first() {
            *input = rest;
            self.taken = self.taken.saturating_add(1);
            let _ = self.held.push(*byte);
            if !may_be_error(&self.held) {
                return self.fail_with(self.impossible_count());
            }
            if let Some(hresult) = error_message(&self.held) {
                let offset = self.held_offset();
                return self.fail(WireErrorKind::ErrorMessage { hresult }, offset);
            }
        }
        Step::Wait
    }

    /// Takes up to `most` bytes of the input.
    #[inline]
    fn take<'i>(&mut self, input: &mut &'i [u8], most: u32) -> &'i [u8] {
        let (taken, rest) = input.split_at_checked(most as usize).unwrap_or((*input, &[]));
        *input = rest;
        self.taken = self.taken.saturating_add(clamp(taken.len()));
        taken
    }

    fn held_count(&self) -> u32 {
        self.held.first_chunk().map_or(0, |count| u32::from_le_bytes(*count))
    }

    /// Returns the offset of the held bytes.
    fn held_offset(&self) -> u32 {
        self.taken.saturating_sub(clamp(self.held.len()))
    }

    /// Returns the error of a held count that is larger than the rest of the block.
    #[cold]
    #[inline(never)]
    fn impossible_count(&self) -> WireError {
        let offset = self.held_offset();
        let remaining = self.size.saturating_sub(offset.saturating_add(4));
        self.error(WireErrorKind::CountTooLarge { count: self.held_count(), remaining }, offset)
    }

    #[cold]
    #[inline(never)]
    fn error(&self, kind: WireErrorKind, offset: u32) -> WireError {
        let error = WireError::new(kind, offset as usize);
        let error =
            if self.entries.is_some() { error.at_index(self.index as usize) } else { error };
        error.in_root(Root::ENVIRONMENT)
    }
}

enum Step {
    /// More input is needed.
    Wait,
    Next,
    Found(Found),
}

enum Found {
    Count(u32),
    /// The length of the next entry in bytes.
    Entry(u32),
    /// The length of the next entry in units.
    TooLarge(u32),
    Done,
}
