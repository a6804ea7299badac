//! Tests servers, clients and codecs in any language with the golden vectors and exchange scripts.
//!
//! | | |
//! |---|---|
//! | [`codec`] | asks a codec, which is a program that answers JSON lines ([`Adapter`]), all questions of the vectors |
//! | [`server`] | plays exchange scripts and requests to a live diagnostic server |
//! | [`client`] | plays the runtime for a client, and judges its requests and its output |
//! | [`fuzz`] | sends mutated requests to a live server, and minimises its findings |
//! | [`runtime`] | the reference runtime: imitates a recorded build, or shows a chosen fault |
//! | [`known`] | the known behaviour of each released runtime |
//! | [`record`], [`network`] | records conversations as exchange scripts, and plays them over real connections |
//! | [`print`](mod@print) | the grammar of every message for other languages and tools; bytes with the meaning of each |
//! | [`report`] | the results of a run: [`Report`], as JSON, for build servers, or as a page |
//! | [`embedded`] | the vectors and other texts, embedded at build time; seeds for fuzzers |
//! | [`process`] | programs started here, which end with this one; system information about a process |
//!
//! This crate supports Unix and Windows. The program `diagipc` is its command line. The command
//! line, the formats and the names of cases are stable; the types here are not.
//!
//! ```
//! use diagipc::{Grade, codec, embedded};
//!
//! let files = embedded::vectors()?;
//! let cases = codec::cases(&files);
//! let case = cases.iter().find(|case| case.operation == codec::Operation::Decode).expect("there is one");
//! // This crate's own codec as an adapter.
//! let answer = codec::answer(&case.request().to_string());
//! let answer = codec::Answer::parse(&answer).expect("it keeps to the protocol");
//! assert_eq!(case.judge(&answer, false).grade, Grade::Pass);
//! # Ok::<(), dotnet_diagnostics_ipc_vectors::LoadError>(())
//! ```
#![deny(unsafe_code)]
// Input never causes a panic. Modules that read untrusted bytes also check arithmetic.
#![cfg_attr(
    not(test),
    deny(clippy::indexing_slicing, clippy::unwrap_used, clippy::expect_used, clippy::panic)
)]

#[macro_use]
mod names;

pub mod client;
pub mod codec;
mod conversation;
pub mod embedded;
pub mod faults;
pub mod fuzz;
pub mod known;
pub mod network;
pub mod print;
pub mod process;
pub mod record;
pub mod report;
pub mod runtime;
pub mod server;
mod suite;

pub use codec::adapter::{Adapter, AdapterCommand, AdapterError};
pub use network::address::{Address, SpawnCommand};
pub use process::program::Program;
pub use process::{OwnDirectory, Started, end_all_started, leftovers};
#[cfg(windows)]
pub use process::{hold_ctrl_c, take_ctrl_c};
#[cfg(unix)]
pub use process::{own_all_started, socket_name, watch_started};
pub use report::Glob;
pub use report::{
    Case, CaseFault, Cause, Citations, Counts, Detail, Grade, Interrupted, KnownDeviation, Level,
    Lost, NotJudged, NotPlayed, Playable, Report, Said, Section, TooFewJudged, Turn,
};
