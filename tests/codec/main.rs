//! The codec: what it decodes, encodes and refuses, and what the files of `vectors/` and `spec/`
//! say about it.

mod any_bytes;
mod check_limits;
mod documents;
mod environment;
mod error_messages;
#[path = "../error_texts/mod.rs"]
mod error_texts;
#[cfg(feature = "proptest")]
mod generated;
mod message_semantics;
mod mutation;
mod requirements;
#[cfg(feature = "proptest")]
mod roundtrip;
#[path = "../schema/mod.rs"]
mod schema;
mod scripts_format;
#[path = "../snapshot/mod.rs"]
mod snapshot;
mod truncation;
mod user_events;
mod vector_parse_errors;
mod vectors_format;
