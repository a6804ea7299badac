//! Tests a live diagnostic server with the exchange scripts and every request of the vectors.
//!
//! [`cases`] returns the cases, [`Address`](crate::Address) locates the target, and
//! [`Profile`](super::known::Profile) has its known deviations. [`run`] plays the cases one after
//! another (F-75) and returns a [`Report`](super::Report). What changes or harms a target,
//! according to the `hazard` of a vector or script, is sent only if the [`Options`] allow it.

//! # Example
//!
//! Test a running server without changing it:
//!
//! ```no_run
//! use diagipc::{Address, embedded};
//! use diagipc::server::{Options, cases, run};
//!
//! let (scripts, vectors) = (embedded::scripts()?, embedded::vectors()?);
//! let report = run(&cases(&scripts, &vectors), &"4242".parse::<Address>()?, &Options::default(), &mut |case| println!("{}", case.name));
//! println!("{} failed", report.counts.fail);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod abilities;
mod answer_faults;
mod case;
mod consistency;
mod described;
pub(super) mod expectation;
mod facts;
pub(super) mod judge;
mod options;
mod play;
mod probe;
mod recognise;
mod recorded_report;
pub(super) mod request;
mod run;
mod spawn;
pub(super) mod survey;
mod system;
pub(super) mod target;
mod timeouts;
mod unanswered;

pub use abilities::Claims;
pub use case::{ServerCase, ServerCaseKind, cases};
pub use options::Options;
pub use recorded_report::report_of_recording;
pub use run::run;

pub use crate::process::Death;
