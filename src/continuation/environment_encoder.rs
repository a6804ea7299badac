//! Writes the environment block in pieces.

use super::Entry;
use crate::message::process::ProcessEnvironmentReply;
use crate::wire::{Encode as _, EncodeError, Units};

/// Writes an environment block in pieces of any size, without holding the block or an entry in
/// memory.
///
/// The entries come from an iterator that runs twice: once in [`new`](Self::new) to compute the
/// sizes in the reply, and once for writing. Both runs must yield the same entries.
///
/// ```
/// use dotnet_diagnostics_ipc::continuation::EnvironmentEncoder;
///
/// let mut encoder = EnvironmentEncoder::new(["A=1", "B"])?;
/// assert_eq!(encoder.reply().n_incoming_bytes, 24);
///
/// let (mut buffer, mut block) = ([0; 7], Vec::new());
/// loop {
///     let len = encoder.encode(&mut buffer);
///     if len == 0 {
///         break;
///     }
///     block.extend_from_slice(&buffer[..len]); // or sent
/// }
/// assert_eq!(block, b"\x02\0\0\0\x04\0\0\0A\0=\x001\0\0\0\x02\0\0\0B\0\0\0");
/// # Ok::<(), dotnet_diagnostics_ipc::wire::EncodeError>(())
/// ```
#[derive(Clone, Debug)]
pub struct EnvironmentEncoder<'e, I> {
    entries: I,
    n_incoming_bytes: u32,
    left: u32,
    /// The count or unit that is written next. Some of its bytes may be written already.
    next: Piece,
    /// The entry whose count was written last.
    entry: Option<Open<'e>>,
}

/// The bytes of a count or a unit.
type Piece = heapless::Vec<u8, 4>;

/// An entry that is partly written.
#[derive(Clone, Debug)]
struct Open<'e> {
    units: Units<'e>,
    /// Whether the NUL is still to be written.
    nul: bool,
}

impl<'e, I: Iterator<Item: Into<Entry<'e>>> + Clone> EnvironmentEncoder<'e, I> {
    /// Returns an encoder of these entries, which are [`Entry`]s or text without the final NUL.
    ///
    /// # Errors
    /// [`CountTooLarge`](EncodeError::CountTooLarge) if the number of entries, units or bytes does
    /// not fit in 32 bits.
    pub fn new(
        entries: impl IntoIterator<IntoIter = I, Item = I::Item>,
    ) -> Result<Self, EncodeError> {
        let entries = entries.into_iter();
        let (count, n_incoming_bytes) =
            measure(entries.clone().map(|entry| entry.into().encoded_len()))?;
        Ok(Self {
            entries,
            n_incoming_bytes,
            left: n_incoming_bytes,
            next: count_of(count),
            entry: None,
        })
    }

    /// Writes as many of the next bytes as fit to the front of `buffer`, and returns their number.
    /// Returns 0 if the block is complete or `buffer` is empty.
    pub fn encode(&mut self, buffer: &mut [u8]) -> usize {
        let room = usize::try_from(self.left).unwrap_or(usize::MAX).min(buffer.len());
        let mut written = 0usize;
        while let Some(place) = buffer.get_mut(written..room).filter(|place| !place.is_empty()) {
            if self.next.is_empty() && !self.advance() {
                break;
            }
            let len = self.next.len().min(place.len());
            for (byte, place) in self.next.iter().zip(place) {
                *place = *byte;
            }
            self.next = self.next.iter().skip(len).copied().collect();
            written = written.saturating_add(len);
        }
        self.left = self.left.saturating_sub(crate::wire::clamp(written));
        written
    }

    /// Puts the next count or unit into `next`, and returns whether there is one.
    fn advance(&mut self) -> bool {
        if let Some(open) = &mut self.entry {
            if let Some(unit) =
                open.units.next().or_else(|| core::mem::take(&mut open.nul).then_some(0))
            {
                self.next = unit.to_le_bytes().into_iter().collect();
                return true;
            }
        }
        let Some(entry) = self.entries.next() else { return false };
        let entry = entry.into();
        let (units, nul) = (entry.text().units(), entry.is_terminated());
        // `new` has checked that the count fits.
        self.next = count_of(crate::wire::clamp(units.clone().count().saturating_add(nul.into())));
        self.entry = Some(Open { units, nul });
        true
    }

    /// Returns the size of the block in bytes.
    pub const fn n_incoming_bytes(&self) -> u32 {
        self.n_incoming_bytes
    }

    /// Returns the reply that announces the block.
    pub const fn reply(&self) -> ProcessEnvironmentReply {
        ProcessEnvironmentReply { n_incoming_bytes: self.n_incoming_bytes, future: 0 }
    }

    /// Returns the number of bytes left to write.
    pub const fn left(&self) -> u32 {
        self.left
    }
}

fn count_of(count: u32) -> Piece {
    count.to_le_bytes().into_iter().collect()
}

/// Computes the number of entries and the size of the block from the sizes of the entries.
fn measure(
    mut sizes: impl Iterator<Item = Result<usize, EncodeError>>,
) -> Result<(u32, u32), EncodeError> {
    let too_large = |count| EncodeError::CountTooLarge { count };
    let (count, bytes) = sizes.try_fold((0usize, 4usize), |(count, bytes), size| {
        let count = count.checked_add(1).ok_or(too_large(usize::MAX))?;
        let bytes = bytes.checked_add(size?).ok_or(too_large(usize::MAX))?;
        Ok((count, bytes))
    })?;
    // An entry has at least 4 bytes, so the count fits if the number of bytes fits.
    let bytes = u32::try_from(bytes).map_err(|_| too_large(bytes))?;
    Ok((u32::try_from(count).map_err(|_| too_large(count))?, bytes))
}

#[cfg(test)]
mod tests {
    extern crate std;
    use super::super::{Environment, EnvironmentDecoder, EnvironmentEvent};
    use super::*;
    use std::vec::Vec;

    /// Returns the block, written `size` bytes at a time.
    fn pieces<'e, I: Iterator<Item: Into<Entry<'e>>> + Clone>(
        mut encoder: EnvironmentEncoder<'e, I>,
        size: usize,
    ) -> Vec<Vec<u8>> {
        let mut pieces = Vec::new();
        let mut buffer = std::vec![0xee; size];
        loop {
            let left = encoder.left();
            assert_eq!(encoder.encode(&mut []), 0);
            let len = encoder.encode(&mut buffer);
            assert_eq!(len, size.min(left as usize), "every piece but the last is full");
            assert_eq!(encoder.left() as usize, left as usize - len);
            if len == 0 {
                return pieces;
            }
            pieces.push(buffer[..len].to_vec());
        }
    }

    #[test]
    fn encoded_pieces_of_any_size_are_decoded() {
        let long = "x".repeat(300);
        let entries = [
            "A=1",
            "",
            "=C:=C:\\dir",
            "=",
            "no equals sign",
            &long,
            "\u{e9}\u{1f600}=\u{3d3d}",
            "A=1",
        ];
        let sent: Vec<Entry<'_>> = entries.iter().map(|text| Entry::new(text)).collect();
        let size = EnvironmentEncoder::new(entries).unwrap().n_incoming_bytes();
        for piece in 1..=size as usize {
            let mut buffer = [0; 1024];
            let mut decoder = EnvironmentDecoder::new(size, &mut buffer);
            let (mut nth, mut done) = (0, false);
            for piece in pieces(EnvironmentEncoder::new(entries).unwrap(), piece) {
                let mut input = &piece[..];
                while let Some(event) = decoder.decode(&mut input).unwrap() {
                    match event {
                        EnvironmentEvent::Count(count) => assert_eq!(count, 8),
                        EnvironmentEvent::Entry(entry) => {
                            assert_eq!(entry, sent[nth]);
                            nth += 1;
                        }
                        EnvironmentEvent::EntryTooLarge { units } => panic!("{units}"),
                        EnvironmentEvent::Done => done = true,
                    }
                }
            }
            assert_eq!((nth, done, decoder.finish()), (8, true, Ok(())));
        }
    }

    #[test]
    fn decoded_block_reencodes_identically() {
        let block = b"\x02\0\0\0\x04\0\0\0A\0=\x001\0\0\0\x01\0\0\0B\0";
        let environment = Environment::decode(block).unwrap();
        let encoder = EnvironmentEncoder::new(environment).unwrap();
        assert_eq!(pieces(encoder, 5).concat(), block);
    }

    #[test]
    fn size_over_32_bits_is_refused() {
        let largest = u32::MAX as usize;
        assert_eq!(measure([Ok(4), Ok(largest - 8)].into_iter()), Ok((2, u32::MAX)));
        let over = measure([Ok(4), Ok(largest - 7)].into_iter());
        // A `usize` of 32 bits cannot hold the sum either.
        assert_eq!(over, Err(EncodeError::CountTooLarge { count: largest.saturating_add(1) }));
        assert_eq!(
            measure([Ok(usize::MAX)].into_iter()),
            Err(EncodeError::CountTooLarge { count: usize::MAX })
        );
        let entry = EncodeError::CountTooLarge { count: 7 };
        assert_eq!(measure([Ok(4), Err(entry)].into_iter()), Err(entry));
    }

    #[test]
    fn changing_entries_never_exceed_announced_size() {
        // The entry is longer on the second run, which the contract forbids.
        let grown = core::cell::Cell::new(0usize);
        let entries = (0..2).map(|_| {
            grown.set(grown.get() + 1);
            if grown.get() <= 2 { "A" } else { "A=12345" }
        });
        let encoder = EnvironmentEncoder::new(entries).unwrap();
        assert_eq!(encoder.n_incoming_bytes(), 20);
        assert_eq!(pieces(encoder, 3).concat().len(), 20);
    }
}
