//! The bodies of the fuzz targets.
//!
//! A body takes any bytes, and panics if the crate contradicts itself. The first bytes of most
//! inputs select; [`corpus::seeds`](diagipc::embedded::corpus::seeds) knows how.
#![forbid(unsafe_code)]
#![allow(
    missing_docs,
    clippy::missing_panics_doc,
    clippy::indexing_slicing,
    clippy::arithmetic_side_effects,
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a body is a test: it must panic on failure"
)]

#[cfg(feature = "against-dotnet")]
mod against_dotnet;
mod c_header;
mod canonical;
mod cli_decode;
mod decode_any;
mod diagnostic_port;
#[path = "../../../tests/exchanges/drive.rs"]
mod drive;
mod environment;
mod exchanges;
#[allow(dead_code, reason = "here the input decides about each piece")]
#[path = "../../../tests/exchanges/scripts/in_memory/mod.rs"]
mod in_memory;
#[path = "../../../tests/exchanges/legal.rs"]
mod legal;
mod names;
mod roundtrip;
mod user_events;

use std::ops::Range;

#[cfg(feature = "against-dotnet")]
pub use against_dotnet::{against_dotnet, generated, messages, same_answer};
pub use c_header::c_header;
pub use canonical::kind;
pub use cli_decode::cli_decode;
pub use diagnostic_port::diagnostic_port;
pub use environment::environment;
pub use roundtrip::roundtrip;
pub use user_events::user_events;

/// A target: its name and its body.
pub type Body = (&'static str, fn(&[u8]));

/// Every target whose body needs only its input.
pub const BODIES: [Body; 8] = [
    ("decode_any", decode_any),
    ("roundtrip", roundtrip),
    ("exchanges", exchanges),
    ("diagnostic_port", diagnostic_port),
    ("environment", environment),
    ("names", names),
    ("user_events", user_events),
    ("cli_decode", cli_decode),
];

/// Reads the bytes as messages and pieces of payload, and as any type of the vectors.
pub fn decode_any(input: &[u8]) {
    decode_any::decode_any(input);
    canonical::canonical(input);
}

/// Plays a client alone, a server alone, both against each other, or a script, by the first byte.
pub fn exchanges(input: &[u8]) {
    let Some((which, input)) = input.split_first() else { return };
    match which {
        0 => exchanges::client_exchange(input),
        1 => exchanges::server_exchange(input),
        2 => exchanges::pair_exchange(input),
        _ => exchanges::script_exchange(input),
    }
}

/// Reads the bytes as the variables of diagnostic ports, and as names of endpoints.
pub fn names(input: &[u8]) {
    names::ports(input);
    names::endpoint_names(input);
}

/// The target whose body also asks the header for C.
pub const C_HEADER: &str = "c_header";

/// Sizes of pieces, repeated; if empty, all at once. A size of 0 is 1.
struct Pieces<'p>(std::iter::Cycle<std::slice::Iter<'p, u8>>);

impl<'p> Pieces<'p> {
    fn new(sizes: &'p [u8]) -> Self {
        Self(sizes.iter().cycle())
    }

    fn next(&mut self) -> usize {
        self.0.next().map_or(usize::MAX, |size| usize::from(*size).max(1))
    }

    /// Copies the next piece of `peer` from `taken` on into this range of the buffer. Returns how
    /// many bytes; 0 is the end.
    fn receive(
        &mut self,
        range: Range<usize>,
        buffer: &mut [u8],
        peer: &[u8],
        taken: &mut usize,
    ) -> usize {
        let n = range.len().min(self.next()).min(peer.len() - *taken);
        buffer[range.start..range.start + n].copy_from_slice(&peer[*taken..*taken + n]);
        *taken += n;
        n
    }
}

/// Discarded text: only writing it matters.
struct Nowhere;

impl std::fmt::Write for Nowhere {
    fn write_str(&mut self, _: &str) -> std::fmt::Result {
        Ok(())
    }
}

fn show(value: impl std::fmt::Debug) {
    std::fmt::Write::write_fmt(&mut Nowhere, format_args!("{value:?}")).unwrap();
}

/// The encoding of a value.
fn written(value: &(impl dotnet_diagnostics_ipc::wire::Encode + ?Sized)) -> std::vec::Vec<u8> {
    let mut bytes = std::vec::Vec::new();
    value.encode(&mut bytes).unwrap();
    bytes
}
