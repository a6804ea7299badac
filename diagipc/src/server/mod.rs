//! Check a live diagnostic server with the exchange scripts and every request of the vectors.
//!
//! [`cases`] are the cases, [`Address`](crate::Address) locates the target, [`Profile`](super::known::Profile) has
//! its known deviations, and [`run`] plays the cases one after another (F-75) into a
//! [`Report`](super::Report). Nothing that changes or harms a target is sent unless the [`Options`]
//! allow it, as decided only by the `hazard` of vectors and scripts.

//! # Example
//!
//! Check a running server, without changing it:
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
pub(super) mod ask;
mod case;
mod claims;
mod consistency;
mod dump_path;
pub(super) mod expectation;
pub(super) mod judge;
mod left_out;
mod options;
mod play;
mod probe;
mod process_id;
mod recognise;
mod recorded_report;
pub(super) mod request;
mod respawn;
mod run;
mod spawn;
pub(super) mod survey;
mod system;
pub(super) mod target;
mod timeouts;
mod unanswered;
mod unspecified;

pub use case::{ServerCase, ServerCaseKind, cases};
pub use claims::Claims;
pub use options::Options;
pub use recorded_report::report_of_recording;
pub use run::run;

pub use crate::process::Death;
