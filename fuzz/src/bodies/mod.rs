//! The bodies of the fuzz targets.
//!
//! A body takes any bytes, and panics if the crate contradicts itself. The first bytes of most
//! inputs select a case; [`corpus::seeds`](diagipc::embedded::corpus::seeds) sets them.
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
mod common;
mod decode_any;
#[path = "../../../tests/exchanges/drive.rs"]
mod drive;
mod environment;
mod exchanges;
#[path = "../../../tests/exchanges/legal.rs"]
mod legal;
mod names;
mod roundtrip;
mod user_events;

#[cfg(feature = "against-dotnet")]
pub use against_dotnet::{against_dotnet, generated, messages, same_answer};
pub use c_header::c_header;
pub use canonical::kind;
pub use cli_decode::cli_decode;
use common::{Nowhere, Pieces, show, written};
pub use environment::environment;
pub use roundtrip::roundtrip;
pub use user_events::user_events;

/// A target: its name and its body.
pub type Body = (&'static str, fn(&[u8]));

/// Every target whose body needs only its input.
pub const BODIES: [Body; 7] = [
    ("decode_any", decode_any),
    ("roundtrip", roundtrip),
    ("exchanges", exchanges),
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

/// Plays a client or a server, by the first byte.
pub fn exchanges(input: &[u8]) {
    let Some((which, input)) = input.split_first() else { return };
    match which {
        0 => exchanges::client_exchange(input),
        _ => exchanges::server_exchange(input),
    }
}

/// Reads the bytes as the variables of diagnostic ports, and as names of endpoints.
pub fn names(input: &[u8]) {
    names::ports(input);
    names::endpoint_names(input);
}

/// The target whose body also asks the header for C.
pub const C_HEADER: &str = "c_header";
