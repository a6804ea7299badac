//! Reads the advertise, the first 34 bytes of a connection to a diagnostic port.

use core::ops::Range;

use crate::advertise::{ADVERTISE_LEN, Advertise};
use crate::exchange::{End, MisuseError};
use crate::wire::WireErrorKind;

/// The next action of an [`AdvertiseReceiver`].
///
/// ```
/// use dotnet_diagnostics_ipc::exchange::{AdvertiseAction, AdvertiseReceiver};
///
/// assert_eq!(AdvertiseReceiver::new().action(), AdvertiseAction::Receive(0..34));
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[must_use = "the exchange advances only when the action is done"]
pub enum AdvertiseAction {
    /// Read into this range of the buffer and no further. Then call
    /// [`received`](AdvertiseReceiver::received) or [`ended`](AdvertiseReceiver::ended).
    Receive(Range<usize>),
    /// The exchange is over. An advertise gets no answer.
    Finished(AdvertiseOutcome),
}

/// The outcome of an [`AdvertiseReceiver`].
///
/// ```
/// use dotnet_diagnostics_ipc::exchange::{AdvertiseAction, AdvertiseOutcome, AdvertiseReceiver, End};
///
/// let mut receiver = AdvertiseReceiver::new();
/// receiver.ended(End::TimedOut)?;
/// let outcome = AdvertiseOutcome::Ended { received: 0, end: End::TimedOut };
/// assert_eq!(receiver.action(), AdvertiseAction::Finished(outcome));
/// # Ok::<(), dotnet_diagnostics_ipc::exchange::MisuseError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum AdvertiseOutcome {
    /// The advertise is complete, and the connection can be held until a command uses it.
    Advertised(Advertise),
    /// A byte differs from the magic, so the peer is not a runtime. Close the connection.
    BadMagic {
        /// The offset of the first wrong byte, 0 to 7.
        offset: u8,
    },
    /// The connection ended or timed out before all 34 bytes arrived. Close it.
    Ended {
        /// The number of bytes received, 0 to 33.
        received: u8,
        /// How the connection ended.
        end: End,
    },
}

/// Reads the advertise of an accepted connection (section "Advertise Protocol"): exactly 34 bytes,
/// in pieces of any size.
///
/// A runtime sends the advertise immediately. Set a timeout, because a silent peer keeps the
/// connection open, and report it with [`End::TimedOut`]. Keep the buffer's first 34 bytes from the
/// first `received` to the last.
///
/// ```
/// use dotnet_diagnostics_ipc::advertise::Advertise;
/// use dotnet_diagnostics_ipc::exchange::{AdvertiseAction, AdvertiseOutcome, AdvertiseReceiver};
///
/// let cookie = "123e4567-e89b-12d3-a456-426614174000".parse()?;
/// let advertise = Advertise { runtime_cookie: cookie, process_id: 12345, future: 0 };
/// let wire = advertise.to_bytes();
/// let mut pieces = wire.chunks(5); // what the socket will give
///
/// let (mut receiver, mut buffer) = (AdvertiseReceiver::new(), [0; 34]);
/// let outcome = loop {
///     match receiver.action() {
///         AdvertiseAction::Receive(range) => {
///             let piece = pieces.next().unwrap();
///             buffer[range][..piece.len()].copy_from_slice(piece);
///             receiver.received(&buffer, piece.len())?;
///         }
///         AdvertiseAction::Finished(outcome) => break outcome,
///     }
/// };
/// assert_eq!(outcome, AdvertiseOutcome::Advertised(advertise));
/// # Ok::<(), Box<dyn core::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AdvertiseReceiver(State);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// The number of bytes received.
    Receive(u8),
    Done(AdvertiseOutcome),
}

impl AdvertiseReceiver {
    /// Returns a receiver that has received nothing.
    pub const fn new() -> Self {
        Self(State::Receive(0))
    }

    /// Returns the current action, and changes nothing.
    pub fn action(&self) -> AdvertiseAction {
        match self.0 {
            State::Receive(have) => AdvertiseAction::Receive(usize::from(have)..ADVERTISE_LEN),
            State::Done(outcome) => AdvertiseAction::Finished(outcome),
        }
    }

    /// Reports that `n` bytes of [`Receive`](AdvertiseAction::Receive) are in the buffer, at the
    /// front of the range.
    ///
    /// # Errors
    /// [`MisuseError`] if the receiver did not ask for bytes, or `n` is 0.
    pub fn received(&mut self, buffer: &[u8], n: usize) -> Result<(), MisuseError> {
        let State::Receive(before) = self.0 else { return Err(MisuseError::NotAsked) };
        if n == 0 {
            return Err(MisuseError::NoBytes);
        }
        let buffer = buffer
            .first_chunk::<ADVERTISE_LEN>()
            .ok_or(MisuseError::BufferTooShort { needed: ADVERTISE_LEN })?;
        let too_many = MisuseError::TooMany {
            asked: ADVERTISE_LEN.saturating_sub(before.into()),
            reported: n,
        };
        let have = u8::try_from(n).ok().and_then(|n| before.checked_add(n)).ok_or(too_many)?;
        let bytes = buffer.get(..have.into()).ok_or(too_many)?;
        self.0 = match Advertise::decode(bytes) {
            Ok(advertise) => State::Done(AdvertiseOutcome::Advertised(advertise)),
            Err(error) if error.kind() == WireErrorKind::BadMagic => {
                State::Done(AdvertiseOutcome::BadMagic {
                    offset: u8::try_from(error.offset()).unwrap_or(u8::MAX),
                })
            }
            // The advertise is incomplete.
            Err(_) => State::Receive(have),
        };
        Ok(())
    }

    /// Reports that the connection ended, or that the caller's time limit expired.
    ///
    /// # Errors
    /// [`MisuseError::NotAsked`] if the receiver is finished.
    pub fn ended(&mut self, end: End) -> Result<(), MisuseError> {
        let State::Receive(received) = self.0 else { return Err(MisuseError::NotAsked) };
        self.0 = State::Done(AdvertiseOutcome::Ended { received, end });
        Ok(())
    }
}

impl Default for AdvertiseReceiver {
    fn default() -> Self {
        Self::new()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::Guid;

    const ADVERTISE: Advertise =
        Advertise { runtime_cookie: Guid::from_bytes([7; 16]), process_id: 12345, future: 0x1234 };

    /// Feeds `wire` in pieces of `piece` bytes while the receiver asks for bytes. Returns the
    /// number of bytes read.
    fn feed(receiver: &mut AdvertiseReceiver, wire: &[u8], piece: usize) -> usize {
        let (mut buffer, mut read) = ([0; ADVERTISE_LEN], 0);
        while let AdvertiseAction::Receive(range) = receiver.action() {
            let count = piece.min(range.len()).min(wire.len() - read);
            if count == 0 {
                break;
            }
            buffer[range][..count].copy_from_slice(&wire[read..][..count]);
            read += count;
            receiver.received(&buffer, count).unwrap();
        }
        read
    }

    #[test]
    fn receiver_is_at_most_64_bytes() {
        assert!(size_of::<AdvertiseReceiver>() <= 64, "{}", size_of::<AdvertiseReceiver>());
    }

    #[test]
    fn receiver_accepts_any_pieces_and_reads_no_further() {
        let mut wire = [0xEE; 40];
        wire[..ADVERTISE_LEN].copy_from_slice(&ADVERTISE.to_bytes());
        for piece in 1..=wire.len() {
            let mut receiver = AdvertiseReceiver::new();
            assert_eq!(feed(&mut receiver, &wire, piece), ADVERTISE_LEN);
            assert_eq!(
                receiver.action(),
                AdvertiseAction::Finished(AdvertiseOutcome::Advertised(ADVERTISE))
            );
        }
    }

    #[test]
    fn wrong_magic_is_refused_at_its_first_wrong_byte() {
        for wrong in 0..8u8 {
            for bit in 0..8 {
                let mut wire = ADVERTISE.to_bytes();
                wire[usize::from(wrong)] ^= 1 << bit;
                for piece in [1, 2, 3, 34] {
                    let mut receiver = AdvertiseReceiver::new();
                    let read = feed(&mut receiver, &wire, piece);
                    assert_eq!(read, (usize::from(wrong) / piece + 1) * piece);
                    assert_eq!(
                        receiver.action(),
                        AdvertiseAction::Finished(AdvertiseOutcome::BadMagic { offset: wrong })
                    );
                }
            }
        }
    }

    #[test]
    fn end_at_any_position_is_reported() {
        for end in [End::Closed, End::Reset, End::TimedOut] {
            for received in 0..34u8 {
                let mut receiver = AdvertiseReceiver::new();
                feed(&mut receiver, &ADVERTISE.to_bytes()[..received.into()], 3);
                receiver.ended(end).unwrap();
                assert_eq!(
                    receiver.action(),
                    AdvertiseAction::Finished(AdvertiseOutcome::Ended { received, end })
                );
            }
        }
    }

    #[test]
    fn misuse_changes_nothing() {
        let mut receiver = AdvertiseReceiver::new();
        let buffer = ADVERTISE.to_bytes();
        assert_eq!(receiver.received(&buffer, 0), Err(MisuseError::NoBytes));
        assert_eq!(
            receiver.received(&buffer, 35),
            Err(MisuseError::TooMany { asked: 34, reported: 35 })
        );
        assert_eq!(
            receiver.received(&buffer, usize::MAX),
            Err(MisuseError::TooMany { asked: 34, reported: usize::MAX })
        );
        assert_eq!(
            receiver.received(&buffer[..33], 1),
            Err(MisuseError::BufferTooShort { needed: 34 })
        );
        assert_eq!(receiver, AdvertiseReceiver::new());
        receiver.received(&buffer, 33).unwrap();
        assert_eq!(
            receiver.received(&buffer, 2),
            Err(MisuseError::TooMany { asked: 1, reported: 2 })
        );
        assert_eq!(receiver.action(), AdvertiseAction::Receive(33..34));
        receiver.received(&buffer, 1).unwrap();
        let done = receiver;
        assert_eq!(receiver.received(&buffer, 1), Err(MisuseError::NotAsked));
        assert_eq!(receiver.ended(End::Closed), Err(MisuseError::NotAsked));
        assert_eq!(receiver, done);
    }
}
