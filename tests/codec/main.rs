//! The codec: what it decodes, encodes and refuses, and what the files of `vectors/` and `spec/`
//! say about it.

mod check_limits;
#[cfg(feature = "vectors")]
mod environment;
mod error_messages;
#[path = "../error_texts/mod.rs"]
mod error_texts;
#[cfg(feature = "vectors")]
mod guide;
mod message_semantics;
#[cfg(feature = "vectors")]
mod mutation;
mod readme;
#[cfg(feature = "vectors")]
mod requirements;
mod roundtrip;
#[cfg(feature = "vectors")]
#[path = "../schema/mod.rs"]
mod schema;
#[path = "../snapshot/mod.rs"]
mod snapshot;
mod strategies;
#[cfg(feature = "vectors")]
mod truncation;
mod user_events;
#[cfg(feature = "vectors")]
mod vector_parse_errors;
#[cfg(feature = "vectors")]
mod vectors;
#[cfg(feature = "vectors")]
mod vectors_format;
