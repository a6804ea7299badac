//! Check a codec in any language: the vectors as questions, and the grading of answers.

//! # Example
//!
//! Ask a codec in another language, a program that answers JSON lines:
//!
//! ```no_run
//! use std::time::Duration;
//! use diagipc::{Adapter, AdapterCommand, Program, codec, embedded};
//!
//! let files = embedded::vectors()?;
//! let cases = codec::cases(&files);
//! let command = AdapterCommand { program: Program::new("python3", ["my-adapter.py"]), deadline: Duration::from_secs(5) };
//! let mut adapter = Adapter::start(command)?;
//! let report = codec::run(&cases, &mut adapter, &[], &mut |case| println!("{}: {:?}", case.name, case.grade));
//! println!("{} failed", report.counts.fail);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

pub(crate) mod adapter;
mod answer;
mod case;
mod difference;
mod fault;
mod judge;
mod mistake;
mod own;
mod run;

pub use answer::{Answer, AnswerKind};
pub use case::{CodecCase, Operation, cases};
pub use difference::Difference;
pub use fault::{CodecFault, WrongBytes};
pub use judge::Judgement;
pub use own::answer;
pub use run::run;
