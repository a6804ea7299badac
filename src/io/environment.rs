//! Reads the environment of a process entry by entry.

use std::time::Instant;

use super::{Canceller, Error, ErrorKind, Phase, Transport, WaitError, WaitLimit};
use crate::continuation::{Entry, EnvironmentDecoder, EnvironmentEvent, EnvironmentLimits};
use crate::exchange::End;

/// How much is read at once.
pub(super) const PIECE: usize = 16 * 1024;

/// The buffer for one entry; Linux allows 128 KiB per entry, which is less than 256 KiB of units.
pub(super) const ENTRY: usize = 256 * 1024;

/// An environment block that has not been read from its connection yet.
///
/// ```no_run
/// use dotnet_diagnostics_ipc::io::{Client, Endpoint};
///
/// Client::new(Endpoint::process(12345)).environment()?.for_each(|entry| println!("{}", entry.text()))?;
/// # Ok::<(), dotnet_diagnostics_ipc::io::Error>(())
/// ```
#[derive(Debug)]
#[must_use = "the environment is read by for_each"]
pub struct EnvironmentBlock<T> {
    transport: T,
    n_incoming_bytes: u32,
    /// For the whole block.
    deadline: Option<Instant>,
    canceller: Option<Canceller>,
    limits: EnvironmentLimits,
}

impl<T: Transport> EnvironmentBlock<T> {
    pub(super) fn new(transport: T, n_incoming_bytes: u32, until: &WaitLimit<'_>) -> Self {
        let WaitLimit { deadline, canceller } = *until;
        let (canceller, limits) = (canceller.cloned(), EnvironmentLimits::DEFAULT);
        Self { transport, n_incoming_bytes, deadline, canceller, limits }
    }

    /// Sets the limits. By default 32 MiB and 65,536 entries.
    pub const fn with_limits(mut self, limits: EnvironmentLimits) -> Self {
        self.limits = limits;
        self
    }

    /// The size in bytes reported by the runtime.
    pub const fn n_incoming_bytes(&self) -> u32 {
        self.n_incoming_bytes
    }

    /// Reads all of it, and passes each entry to `take` as it arrives. An entry of more than 256
    /// KiB is an error.
    ///
    /// # Errors
    /// [`ErrorKind::Malformed`] if the block does not decode, or was interrupted by an
    /// error (F-43); [`ErrorKind::LimitExceeded`] if it exceeds the limits;
    /// [`ErrorKind::Ended`] and [`ErrorKind::TimedOut`] if it does not arrive. Entries already
    /// passed to `take` are valid.
    pub fn for_each(mut self, mut take: impl FnMut(Entry<'_>)) -> Result<(), Error> {
        let mut room = std::vec![0; ENTRY.min(self.n_incoming_bytes as usize)];
        let mut decoder =
            EnvironmentDecoder::with_limits(self.n_incoming_bytes, &mut room, self.limits);
        let mut piece = std::vec![0; PIECE];
        let mut have: &[u8] = &[];
        loop {
            // The first time without bytes: a size over the limits is refused before anything is
            // read.
            if take_entries(&mut decoder, &mut have, &mut take)? {
                return Ok(());
            }
            have = self
                .read(&mut piece, decoder.wanted())
                .map_err(|stopped| ended(&decoder, stopped))?;
            if have.is_empty() {
                return at_the_end(&decoder);
            }
        }
    }

    /// At most `wanted` bytes; none at the end.
    fn read<'p>(&mut self, piece: &'p mut [u8], wanted: usize) -> Result<&'p [u8], WaitError> {
        let most = wanted.min(piece.len());
        let into = piece.get_mut(..most).unwrap_or_default();
        let until = WaitLimit { deadline: self.deadline, canceller: self.canceller.as_ref() };
        let n = self.transport.receive(into, &until)?;
        Ok(piece.get(..n).unwrap_or_default())
    }
}

/// Passes the entries in `have` to `take`; returns whether those were the last.
pub(super) fn take_entries(
    decoder: &mut EnvironmentDecoder<'_>,
    have: &mut &[u8],
    take: &mut impl FnMut(Entry<'_>),
) -> Result<bool, Error> {
    let fail = |kind| Error::new(Phase::Continuation, kind);
    while let Some(event) = decoder.decode(have).map_err(|error| fail(error.into()))? {
        match event {
            EnvironmentEvent::Entry(entry) => take(entry),
            EnvironmentEvent::EntryTooLarge { .. } => {
                return Err(fail(ErrorKind::LimitExceeded { limit: ENTRY as u64 }));
            }
            EnvironmentEvent::Count(_) => {}
            EnvironmentEvent::Done => return Ok(true),
        }
    }
    Ok(false)
}

/// Why the rest of the block did not arrive.
pub(super) fn ended(decoder: &EnvironmentDecoder<'_>, stopped: WaitError) -> Error {
    match stopped {
        WaitError::Io(_) => {
            let kind = ErrorKind::Ended { end: End::Reset, received: decoder.taken().into() };
            Error::new(Phase::Continuation, kind)
        }
        stopped => stopped.during(Phase::Continuation),
    }
}

/// The connection closed: was that the end of the block?
pub(super) fn at_the_end(decoder: &EnvironmentDecoder<'_>) -> Result<(), Error> {
    let received = decoder.taken().into();
    decoder.finish().map_err(|_| {
        Error::new(Phase::Continuation, ErrorKind::Ended { end: End::Closed, received })
    })
}
