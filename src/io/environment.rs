//! Reads the environment of a process entry by entry.

use std::time::Instant;
use std::vec::Vec;

#[cfg(feature = "tokio")]
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite};

use super::connection::ClientDriver;
#[cfg(feature = "tokio")]
use super::tokio::{now, until};
use super::{Canceller, Connection, Error, ErrorKind, Phase, Transport, WaitLimit};
use crate::continuation::{Entry, EnvironmentDecoder, EnvironmentEvent, EnvironmentLimits};
use crate::exchange::End;
use crate::message::process::ProcessEnvironment;

/// The maximum number of bytes read at once.
const PIECE: usize = 16 * 1024;

/// The buffer for one entry; Linux allows 128 KiB per entry, which is less than 256 KiB of units.
const ENTRY: usize = 256 * 1024;

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
    /// The deadline for the whole block.
    deadline: Option<Instant>,
    canceller: Option<Canceller>,
    limits: EnvironmentLimits,
}

impl<T: Transport> Connection<T> {
    /// Requests the environment, which is then read entry by entry.
    ///
    /// # Errors
    /// Fails as [`call`](Self::call) does.
    pub fn environment(mut self) -> Result<EnvironmentBlock<T>, Error> {
        let driver = ClientDriver::new(&ProcessEnvironment {}, self.options.checks_limits)?;
        let n_incoming_bytes = self.run(driver)?.environment()?;
        Ok(EnvironmentBlock::new(self, n_incoming_bytes, Instant::now))
    }
}

impl<T> EnvironmentBlock<T> {
    pub(super) fn new(
        mut connection: Connection<T>,
        n_incoming_bytes: u32,
        now: fn() -> Instant,
    ) -> Self {
        let within = connection.options.deadlines.continuation;
        let deadline = connection.clock(now).within(within);
        let Connection { transport, options, .. } = connection;
        let (canceller, limits) = (options.canceller, EnvironmentLimits::DEFAULT);
        Self { transport, n_incoming_bytes, deadline, canceller, limits }
    }

    /// Sets the limits, which are 32 MiB and 65,536 entries by default.
    pub const fn with_limits(mut self, limits: EnvironmentLimits) -> Self {
        self.limits = limits;
        self
    }

    /// Returns the size in bytes reported by the runtime.
    pub const fn n_incoming_bytes(&self) -> u32 {
        self.n_incoming_bytes
    }

    /// Returns the buffers for an entry, and for the bytes read at once.
    fn buffers(&self) -> (Vec<u8>, Vec<u8>) {
        (std::vec![0; ENTRY.min(self.n_incoming_bytes as usize)], std::vec![0; PIECE])
    }
}

impl<T: Transport> EnvironmentBlock<T> {
    /// Reads the whole block, and passes each entry to `take` as it arrives. An entry of more than
    /// 256 KiB is an error.
    ///
    /// # Errors
    /// [`ErrorKind::Malformed`] if the block does not decode, or was interrupted by an
    /// error (F-43); [`ErrorKind::LimitExceeded`] if it exceeds the limits;
    /// [`ErrorKind::Ended`] and [`ErrorKind::TimedOut`] if it does not arrive. Entries already
    /// passed to `take` are valid.
    pub fn for_each(mut self, mut take: impl FnMut(Entry<'_>)) -> Result<(), Error> {
        let (mut room, mut piece) = self.buffers();
        let mut block = Block::new(self.n_incoming_bytes, &mut room, self.limits, &mut take);
        // A size over the limits is refused before anything is read.
        let mut is_over = block.take(&[])?;
        while !is_over {
            let until = WaitLimit { deadline: self.deadline, canceller: self.canceller.as_ref() };
            let read = self.transport.receive(block.wanted(&mut piece), &until);
            is_over = block.received(&piece, read)?;
        }
        Ok(())
    }
}

#[cfg(feature = "tokio")]
impl<S: AsyncRead + AsyncWrite + Unpin> Connection<S> {
    /// Requests the environment as [`environment`](Self::environment) does, with `async`.
    ///
    /// # Errors
    /// Fails as [`environment`](Self::environment) does.
    pub async fn environment_async(mut self) -> Result<EnvironmentBlock<S>, Error> {
        let driver = ClientDriver::new(&ProcessEnvironment {}, self.options.checks_limits)?;
        let n_incoming_bytes = self.run_async(driver).await?.environment()?;
        Ok(EnvironmentBlock::new(self, n_incoming_bytes, now))
    }
}

#[cfg(feature = "tokio")]
impl<S: AsyncRead + Unpin> EnvironmentBlock<S> {
    /// Reads the block as [`for_each`](Self::for_each) does, with `async`.
    ///
    /// # Errors
    /// Fails as [`for_each`](Self::for_each) does.
    pub async fn for_each_async(mut self, mut take: impl FnMut(Entry<'_>)) -> Result<(), Error> {
        let (mut room, mut piece) = self.buffers();
        let mut block = Block::new(self.n_incoming_bytes, &mut room, self.limits, &mut take);
        let mut is_over = block.take(&[])?;
        while !is_over {
            let read = self.transport.read(block.wanted(&mut piece));
            let read = until(self.deadline, read).await;
            is_over = block.received(&piece, read)?;
        }
        Ok(())
    }
}

/// An environment block that is being read.
struct Block<'b, F> {
    decoder: EnvironmentDecoder<'b>,
    take: F,
}

impl<'b, F: FnMut(Entry<'_>)> Block<'b, F> {
    fn new(n_incoming_bytes: u32, room: &'b mut [u8], limits: EnvironmentLimits, take: F) -> Self {
        Self { decoder: EnvironmentDecoder::with_limits(n_incoming_bytes, room, limits), take }
    }

    /// Returns the part of `piece` for the next read.
    fn wanted<'p>(&self, piece: &'p mut [u8]) -> &'p mut [u8] {
        let most = self.decoder.wanted().min(piece.len());
        piece.get_mut(..most).unwrap_or_default()
    }

    /// Takes the result of a read into `piece`; returns whether the block is over.
    fn received(&mut self, piece: &[u8], read: Result<usize, ErrorKind>) -> Result<bool, Error> {
        let ended = |end| {
            let received = self.decoder.taken().into();
            Error::new(Phase::Continuation, ErrorKind::Ended { end, received })
        };
        match read {
            Ok(0) => self.decoder.finish().map(|()| true).map_err(|_| ended(End::Closed)),
            Ok(n) => self.take(piece.get(..n).unwrap_or_default()),
            Err(ErrorKind::Io(_)) => Err(ended(End::Reset)),
            Err(stopped) => Err(Error::new(Phase::Continuation, stopped)),
        }
    }

    /// Passes on the entries in `have`; returns whether the last entry was among them.
    fn take(&mut self, mut have: &[u8]) -> Result<bool, Error> {
        let fail = |kind| Error::new(Phase::Continuation, kind);
        while let Some(event) =
            self.decoder.decode(&mut have).map_err(|error| fail(error.into()))?
        {
            match event {
                EnvironmentEvent::Entry(entry) => (self.take)(entry),
                EnvironmentEvent::EntryTooLarge { .. } => {
                    return Err(fail(ErrorKind::LimitExceeded { limit: ENTRY as u64 }));
                }
                EnvironmentEvent::Count(_) => {}
                EnvironmentEvent::Done => return Ok(true),
            }
        }
        Ok(false)
    }
}
