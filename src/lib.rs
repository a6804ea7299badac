#![doc = include_str!("../README.md")]
//!
//! # Where to find what
//!
//! | module | what it holds |
//! |---|---|
//! | [`message`] | the request and reply of every command, and [`Message`](message::Message): header and payload |
//! | [`header`], [`command`], [`hresult`] | the 20 bytes, the codes, the results |
//! | [`advertise`] | the 34 bytes of a runtime that connects to a diagnostic port |
//! | [`continuation`] | what follows a reply: the environment block, the start of a stream |
//! | [`port`], [`endpoint`] | the variables that configure diagnostic ports; names of sockets and pipes |
//! | [`user_events`] | what goes to the Linux kernel in a `user_events` session |
//! | [`exchange`] | both sides of every flow, as state machines without I/O |
//! | [`wire`] | the grammar: [`Reader`](wire::Reader), [`Sink`](wire::Sink), strings, arrays, GUIDs, errors |
//! | [`legacy`] | what the 2019 draft had and later editions dropped |
#![cfg_attr(
    feature = "io-adapters",
    doc = "| [`io`] | the exchanges over real sockets and pipes; finding a runtime, and trusting it |"
)]
#![cfg_attr(feature = "vectors", doc = "| [`vectors`] | the golden vectors, and the codec by name that they are checked against |")]
#![cfg_attr(feature = "conformance", doc = "| [`conformance`] | implementations in any language, held to the vectors |")]
#![cfg_attr(feature = "arbitrary", doc = "| [`testing::arbitrary`] | values of any kind, made from the bytes of a fuzzer |")]
#![cfg_attr(feature = "proptest", doc = "| [`testing::strategies`] | the same for proptest: valid, on the edges, and hostile |")]
#![no_std]
#![deny(unsafe_code)]
// Input never panics.
#![cfg_attr(
    not(test),
    deny(clippy::indexing_slicing, clippy::arithmetic_side_effects, clippy::unwrap_used, clippy::expect_used, clippy::panic)
)]

#[cfg(feature = "alloc")]
extern crate alloc;
// For `io`, and for `conformance`, which runs other programs: nothing else names it.
#[cfg(any(feature = "conformance", feature = "io-adapters"))]
extern crate std;

pub mod advertise;
pub mod command;
#[cfg(feature = "conformance")]
pub mod conformance;
pub mod continuation;
pub mod endpoint;
pub mod exchange;
pub mod header;
pub mod hresult;
#[cfg(feature = "io-adapters")]
pub mod io;
pub mod legacy;
pub mod message;
pub mod port;
#[cfg(feature = "arbitrary")]
pub mod testing;
pub mod user_events;
#[cfg(feature = "vectors")]
pub mod vectors;
pub mod wire;
