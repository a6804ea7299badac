//! What follows a reply on the same connection.
//!
//! | after | comes | here |
//! |---|---|---|
//! | `ProcessEnvironment` | `nIncomingBytes` of environment block | [`Environment`], [`EnvironmentDecoder`] |
//! | `CollectTracing…`, streaming | nettrace or netperf, until the session ends | [`StreamStart`], [`OpaqueStream`] |
//! | `CollectTracing5`, `user_events` | nothing; but *before* the reply the byte with the file descriptor | [`FdByte`] |
//!
//! # An error message inside the environment block
//!
//! A runtime that fails while it writes the block breaks off and sends an error message (`0xFFFF`), on the same connection, after
//! the OK that announced the block (F-43). Nothing marks it. This is what can be told, and what is told here:
//!
//! - Where a count should stand (the block's, or an entry's) and the four bytes are `DOTN`, they are a count of 1,314,148,164.
//!   Where that many items fit into the rest of the block (2.4 GiB and more), they are taken as the count.
//! - Where they do not fit, and the first 24 bytes of an error message stand there (magic, a `size` of at least 24, `0xFFFF`,
//!   any `reserved`, HRESULT), it is one: [`ErrorMessage`](EnvironmentErrorKind::ErrorMessage) with its HRESULT.
//! - Where anything else stands there, or fewer bytes come, it is a count that is too large.
//! - Where a runtime breaks off in the middle of an entry, the message's bytes are taken as units of text. That cannot be told
//!   from text; the block then ends too early, or a later count is impossible.
//!
//! The message is not counted by `nIncomingBytes`, so it may reach beyond the block's end. [`EnvironmentDecoder`] follows it
//! there; [`Environment::decode`] has only the bytes it is given.
#![forbid(unsafe_code)]

mod entry;
mod environment;
mod environment_decoder;
mod environment_encoder;
mod environment_limits;
mod error;
mod file_descriptor;
mod interruption;
mod opaque;
mod stream;

pub use entry::Entry;
pub use environment::Environment;
pub use environment_decoder::{EnvironmentDecoder, EnvironmentEvent};
pub use environment_encoder::EnvironmentEncoder;
pub use environment_limits::EnvironmentLimits;
pub use error::{EnvironmentError, EnvironmentErrorKind};
pub use file_descriptor::FdByte;
pub use opaque::OpaqueStream;
pub use stream::{MAX_STREAM_START, StreamDetector, StreamStart};
