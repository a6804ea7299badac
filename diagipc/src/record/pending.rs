//! Names in the script of a recording, and bytes that are sent at once.

use std::time::Duration;

use dotnet_diagnostics_ipc::vectors::script::{Literal, Send, Step};

/// Pieces closer together than this may arrive as one.
const APART: Duration = Duration::from_millis(5);
/// With more pieces than this a script does not give their boundaries.
const PIECES: usize = 64;
/// The name of the diagnostic port in a script.
pub(super) const PORT: &str = "p";

/// The name of a connection.
pub(super) fn name_of(connection: usize) -> String {
    match u8::try_from(connection)
        .ok()
        .and_then(|nth| b'a'.checked_add(nth))
        .filter(u8::is_ascii_lowercase)
    {
        Some(letter) => char::from(letter).to_string(),
        None => format!("c{connection}"),
    }
}

/// Bytes sent without anything between them.
pub(super) struct Pending {
    pub(super) connection: usize,
    pub(super) bytes: Vec<u8>,
    /// Their range in the bytes of their side.
    pub(super) begin: usize,
    sizes: Vec<usize>,
    last: Duration,
}

impl Pending {
    pub(super) fn new(connection: usize, begin: usize, bytes: &[u8], at: Duration) -> Self {
        Self { connection, bytes: bytes.to_vec(), begin, sizes: Vec::from([bytes.len()]), last: at }
    }

    pub(super) fn push(&mut self, bytes: &[u8], at: Duration) {
        self.bytes.extend_from_slice(bytes);
        match self.sizes.last_mut().filter(|_| at.saturating_sub(self.last) < APART) {
            Some(size) => *size = size.saturating_add(bytes.len()),
            None => self.sizes.push(bytes.len()),
        }
        self.last = at;
    }

    /// The step. `parts` are its bytes.
    pub(super) fn step(self, parts: Vec<Literal>) -> Step {
        let chunks = if (2..=PIECES).contains(&self.sizes.len()) { self.sizes } else { Vec::new() };
        Step::Send(Send {
            on: name_of(self.connection),
            send: parts,
            chunks,
            with_fd: None,
            may_fail: false,
            within_ms: None,
        })
    }
}
