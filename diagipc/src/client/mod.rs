//! Tests diagnostic clients in any language.
//!
//! [`Operations`] describes the client by a table of command lines. Each [`Scenario`] gives it one
//! task, plays the runtime that it talks to, and judges its requests, how it reads the replies, and
//! how and when it ends. [`run`] plays the scenarios. `diagipc/clients/README.md` defines the file
//! and the grading.
//!
//! Known faults of clients are reported by name: see [`Fault`](crate::faults::Fault).

//! # Example
//!
//! Declare what a client can do, and play the scenarios of one operation:
//!
//! ```no_run
//! use std::num::NonZeroUsize;
//! use diagipc::client::{ClientOptions, Operations, run, scenarios};
//!
//! let operations = Operations::parse("my.toml", r#"
//!     name = "my client"
//!     timeout_ms = 2000
//!     [operations.resume]
//!     command = ["my-client", "resume", "--pid", "{pid}"]
//! "#)?;
//! let scenarios: Vec<_> = scenarios()?.iter().filter(|scenario| scenario.name.ends_with("/resume")).cloned().collect();
//! # let stand_in = todo!();
//! let options = ClientOptions { jobs: NonZeroUsize::MIN, require: Vec::new(), stand_in, canceller: None };
//! let report = run(&scenarios, &operations, &options, &|name, grade| println!("{name}: {grade:?}"));
//! println!("{} failed", report.counts.fail);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod connections;
mod expected_fields;
mod facts;
mod operation;
mod operations;
mod output_check;
mod reclassify;
mod request;
mod run;
mod scenario;
mod scenario_player;
#[cfg(unix)]
mod unix;
#[cfg(windows)]
mod windows;

pub use operation::{Argument, Operation, OutputKind};
pub use operations::{CommandLine, Operations, OperationsError};
pub use run::{ClientOptions, run};
pub use scenario::{Arguments, Scenario, scenarios};
#[cfg(unix)]
use unix as target;
#[cfg(unix)]
pub use unix::stand_in;
#[cfg(windows)]
use windows as target;
