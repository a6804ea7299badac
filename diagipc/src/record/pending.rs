//! Names in the script of a recording, and bytes that are sent at once.

use std::time::Duration;

use dotnet_diagnostics_ipc_vectors::script::{Literal, Send, Step};

use super::masks::{self, Sessions};

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
    pub(super) on: String,
    bytes: Vec<u8>,
    /// How many of them are a request.
    request_len: usize,
    sizes: Vec<usize>,
    last: Duration,
}

impl Pending {
    pub(super) fn new(on: String, request_len: usize, bytes: &[u8], at: Duration) -> Self {
        let sizes = Vec::from([bytes.len()]);
        Self { on, bytes: bytes.to_vec(), request_len, sizes, last: at }
    }

    pub(super) fn push(&mut self, bytes: &[u8], at: Duration) {
        self.bytes.extend_from_slice(bytes);
        match self.sizes.last_mut().filter(|_| at.saturating_sub(self.last) < APART) {
            Some(size) => *size = size.saturating_add(bytes.len()),
            None => self.sizes.push(bytes.len()),
        }
        self.last = at;
    }

    /// The step.
    pub(super) fn step(self, sessions: &Sessions) -> Step {
        let chunks = if (2..=PIECES).contains(&self.sizes.len()) { self.sizes } else { Vec::new() };
        let (request, surplus) =
            self.bytes.split_at_checked(self.request_len).unwrap_or((&[], &self.bytes));
        let mut send =
            if request.is_empty() { Vec::new() } else { masks::request(request, sessions) };
        if !surplus.is_empty() {
            send.push(Literal::Bytes(surplus.to_owned()));
        }
        Step::Send(Send {
            on: self.on,
            send,
            chunks,
            with_fd: None,
            may_fail: false,
            within_ms: None,
        })
    }
}
