//! The conformance kit: holds implementations in any language to the golden vectors.
//!
//! So far it asks codecs. [`codec::cases`] makes the questions out of the vectors, an [`Adapter`] is the program that answers them, one
//! JSON object a line, and [`codec::run`] grades the answers into a [`Report`]. `vectors/adapters/README.md` has the line protocol,
//! and what is judged how.
//!
//! ```
//! use dotnet_diagnostics_ipc::conformance::{Grade, codec};
//!
//! let files = codec::embedded()?;
//! let cases = codec::cases(&files);
//! let case = cases.iter().find(|case| case.operation == codec::Operation::Decode).expect("there is one");
//! // This crate's own codec as one that can be asked.
//! let answer = codec::answer(&case.request().to_string());
//! let answer = codec::Answer::parse(&answer).expect("it keeps to the protocol");
//! assert_eq!(case.judge(&answer).grade, Grade::Pass);
//! # Ok::<(), dotnet_diagnostics_ipc::vectors::LoadError>(())
//! ```
#![deny(unsafe_code)]

mod adapter;
mod adapter_program;
#[cfg(unix)]
pub mod client;
pub mod codec;
pub mod corpus;
#[cfg(any(unix, windows))]
mod fault;
#[cfg(any(unix, windows))]
pub mod fuzz_server;
mod glob;
pub mod known;
mod named_fault;
#[cfg(any(target_os = "linux", target_os = "android"))]
mod parent_death;
pub mod player;
pub mod record;
pub mod report;
#[cfg(unix)]
pub mod runtime;
#[cfg(any(unix, windows))]
pub mod server;
#[cfg(unix)]
mod started;
pub mod vectors;

pub use adapter::{Adapter, AdapterCommand, AdapterError};
pub use glob::Glob;
pub use named_fault::NamedFault;
pub use report::{
    Case, CaseFault, Cause, Citations, Counts, Detail, Grade, Interrupted, KnownDeviation, Lost, Report, Section, TooFewJudged,
    Turn,
};
#[cfg(unix)]
pub use started::end_all_started;
