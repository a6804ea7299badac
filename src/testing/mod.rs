//! Test with values of any kind, for fuzzers and proptest.
#![forbid(unsafe_code)]

//! # Example
//!
//! Test a codec with messages from proptest (features `arbitrary` and `proptest`):
//!
//! ```
//! # #[cfg(feature = "proptest")] {
//! use dotnet_diagnostics_ipc::message::Message;
//! use dotnet_diagnostics_ipc::testing::strategies;
//! use proptest::prelude::*;
//!
//! proptest!(|(peer in strategies::hostile_messages())| {
//!     let _ = Message::decode_prefix(&peer); // your codec in place of this one: it must not panic
//! });
//! # }
//! ```

pub mod arbitrary;
#[cfg(feature = "proptest")]
pub mod strategies;
