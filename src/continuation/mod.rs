//! Read and write what follows a reply on the same connection.
//!
//! | after | follows | type |
//! |---|---|---|
//! | `ProcessEnvironment` | `nIncomingBytes` of environment block | [`Environment`], [`EnvironmentDecoder`] |
//! | `CollectTracing…`, streaming | nettrace or netperf, until the session ends | [`StreamStart`] |
//! | `CollectTracing5`, `user_events` | nothing, but the byte with the file descriptor is sent *before* the reply | [`FdByte`] |
//!
//! # An error message inside the environment block
//!
//! A runtime that fails while it writes the block stops and sends an error message (`0xFFFF`) on
//! the same connection, after the OK that announced the block (F-43). Nothing marks the start of
//! the message. This crate recognises it as follows:
//!
//! - If a count (the block's or an entry's) has the four bytes `DOTN`, its value is 1,314,148,164.
//!   If that many items fit in the rest of the block (2.4 GiB and more), it is a count.
//! - If they do not fit, and the first 24 bytes are those of an error message (magic, a `size` of
//!   at least 24, `0xFFFF`, any `reserved`, HRESULT), the result is
//!   [`ErrorMessage`](crate::wire::WireErrorKind::ErrorMessage) with its HRESULT.
//! - Any other or fewer bytes are a count that is too large.
//! - If a runtime stops in the middle of an entry, the message's bytes cannot be told from text and
//!   are read as text. The block then ends too early, or a later count is impossible.
//!
//! `nIncomingBytes` does not include the message, which may therefore extend beyond the end of the
//! block. [`EnvironmentDecoder`] reads those bytes; [`Environment::decode`] has only its input.
#![forbid(unsafe_code)]

//! # Example
//!
//! Read the environment block that follows a reply, in the pieces in which it arrives:
//!
//! ```
//! use dotnet_diagnostics_ipc::continuation::{EnvironmentDecoder, EnvironmentEvent};
//!
//! let mut piece = &b"\x01\0\0\0\x04\0\0\0A\0=\0B\0\0\0"[..];
//! let mut buffer = [0; 64]; // for one entry
//! let mut decoder = EnvironmentDecoder::new(16, &mut buffer); // nIncomingBytes of the reply
//! while let Some(event) = decoder.decode(&mut piece)? {
//!     if let EnvironmentEvent::Entry(entry) = event {
//!         assert_eq!(entry.text().to_string(), "A=B");
//!     }
//! }
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod environment;
mod environment_decoder;
mod environment_encoder;
mod stream;

pub use environment::{Entry, Environment};
pub use environment_decoder::{EnvironmentDecoder, EnvironmentEvent, EnvironmentLimits};
pub use environment_encoder::EnvironmentEncoder;
pub(crate) use stream::OpaqueStream;
pub use stream::{FdByte, StreamStart};
