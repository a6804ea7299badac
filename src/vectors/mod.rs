//! Read the golden vectors of `vectors/` as types, and check a codec by name with them.
//!
//! `vectors/README.md` defines the files and the value form. The files are embedded in the crate:
//! see [`files`]. `vectors/exchanges/README.md` defines the exchange scripts, which are whole
//! conversations: see [`script_files`]. These texts are in
//! [`documents`](crate::documents).
//!
//! ```
//! use dotnet_diagnostics_ipc::vectors;
//!
//! for file in vectors::files()? {
//!     for (group, test) in file.groups.iter().flat_map(|group| group.tests.iter().map(move |test| (group, test))) {
//!         assert!(vectors::check(group, test).is_empty(), "tcId {}", test.tc_id);
//!     }
//! }
//! # Ok::<(), vectors::LoadError>(())
//! ```
#![forbid(unsafe_code)]

mod annotate;
pub mod annotated;
mod check;
mod codec;
mod continuation;
#[cfg(test)]
mod cursors;
mod endpoints;
mod fault;
mod file;
mod from_json;
pub mod grammar;
mod hexadecimal;
mod legacy;
mod load;
pub mod pasted;
pub mod player;
mod ports;
pub mod script;
mod scripts;
mod to_json;
mod types;
mod user_events;
mod value;
mod value_forms;

pub use annotate::{Annotation, Annotations, FieldKind};
pub use check::check;
pub use codec::{Decoded, ReadAs};
pub use fault::{DecodeRefusal, EncodeFailure, VectorFault};
pub use file::{Direction, File, Group, Hazard, Source, SourceKind, Test, Verdict};
pub use load::{LoadError, files, parse};
pub use scripts::{ScriptFile, parse_scripts, script_files};
pub use types::{ParseTypeError, Type};
pub use value::{Arena, Value, ValueError, ValueForm};
