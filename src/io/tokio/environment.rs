//! Reads the environment of a process entry by entry.

use tokio::io::{AsyncRead, AsyncReadExt as _};
use tokio::time::Instant;

use super::until;
use crate::continuation::{Entry, EnvironmentDecoder, EnvironmentLimits};
use crate::io::Error;
use crate::io::environment::{ENTRY, PIECE, at_the_end, ended, take_entries};

/// An environment block that has not been read from its connection yet, like
/// [`EnvironmentBlock`](crate::io::EnvironmentBlock).
///
/// ```no_run
/// use dotnet_diagnostics_ipc::io::{AsyncClient, Endpoint};
///
/// # tokio::runtime::Builder::new_current_thread().enable_all().build()?.block_on(async {
/// let block = AsyncClient::new(Endpoint::process(12345)).environment().await?;
/// block.for_each(|entry| println!("{}", entry.text())).await?;
/// # Ok::<(), dotnet_diagnostics_ipc::io::Error>(())
/// # })?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
#[must_use = "the environment is read by for_each"]
pub struct AsyncEnvironmentBlock<S> {
    stream: S,
    n_incoming_bytes: u32,
    /// For all of it.
    deadline: Option<Instant>,
    limits: EnvironmentLimits,
}

impl<S: AsyncRead + Unpin> AsyncEnvironmentBlock<S> {
    pub(super) const fn new(stream: S, n_incoming_bytes: u32, deadline: Option<Instant>) -> Self {
        Self { stream, n_incoming_bytes, deadline, limits: EnvironmentLimits::DEFAULT }
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
    /// As [`EnvironmentBlock::for_each`](crate::io::EnvironmentBlock::for_each).
    pub async fn for_each(mut self, mut take: impl FnMut(Entry<'_>)) -> Result<(), Error> {
        let mut room = std::vec![0; ENTRY.min(self.n_incoming_bytes as usize)];
        let mut decoder =
            EnvironmentDecoder::with_limits(self.n_incoming_bytes, &mut room, self.limits);
        let mut piece = std::vec![0; PIECE];
        let mut have: &[u8] = &[];
        loop {
            if take_entries(&mut decoder, &mut have, &mut take)? {
                return Ok(());
            }
            let wanted = decoder.wanted().min(piece.len());
            let into = piece.get_mut(..wanted).unwrap_or_default();
            let read = until(self.deadline, self.stream.read(into)).await;
            match read.map_err(|stopped| ended(&decoder, stopped))? {
                0 => return at_the_end(&decoder),
                n => have = piece.get(..n).unwrap_or_default(),
            }
        }
    }
}
