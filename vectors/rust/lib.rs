//! Read the golden vectors as types, and check a codec by name with them.
//!
//! `README.md` of the package defines the files and the value form. The files are embedded:
//! see [`files`]. `exchanges/README.md` defines the exchange scripts, which are whole
//! conversations: see [`script_files`]. These texts are in [`documents`].
//!
//! ```
//! use dotnet_diagnostics_ipc_vectors as vectors;
//!
//! for file in vectors::files()? {
//!     for (group, test) in file.groups.iter().flat_map(|group| group.tests.iter().map(move |test| (group, test))) {
//!         assert!(vectors::check(group, test).is_empty(), "tcId {}", test.tc_id);
//!     }
//! }
//! # Ok::<(), vectors::LoadError>(())
//! ```
#![no_std]
#![forbid(unsafe_code)]
// Input never panics.
#![cfg_attr(
    not(test),
    deny(
        clippy::indexing_slicing,
        clippy::arithmetic_side_effects,
        clippy::unwrap_used,
        clippy::expect_used,
        clippy::panic
    )
)]

#[cfg(feature = "typed")]
extern crate alloc;

#[cfg(feature = "typed")]
mod check;
#[cfg(feature = "typed")]
mod codec;
#[cfg(feature = "typed")]
mod continuation;
pub mod documents;
#[cfg(feature = "typed")]
mod endpoints;
#[cfg(feature = "typed")]
pub mod explain;
#[cfg(feature = "typed")]
mod fault;
#[cfg(feature = "typed")]
mod file;
#[cfg(feature = "typed")]
mod from_json;
#[cfg(feature = "typed")]
mod from_wire;
#[cfg(feature = "typed")]
pub mod grammar;
#[cfg(feature = "typed")]
mod hexadecimal;
#[cfg(feature = "typed")]
mod legacy;
#[cfg(feature = "typed")]
mod load;
#[cfg(feature = "typed")]
pub mod pasted;
#[cfg(feature = "typed")]
pub mod player;
#[cfg(feature = "typed")]
mod ports;
#[cfg(feature = "typed")]
pub mod script;
#[cfg(feature = "typed")]
mod scripts;
#[cfg(feature = "typed")]
mod types;
#[cfg(feature = "typed")]
mod user_events;
#[cfg(feature = "typed")]
mod value;
#[cfg(feature = "typed")]
mod value_forms;

#[cfg(feature = "typed")]
pub use check::check;
#[cfg(feature = "typed")]
pub use codec::{Decoded, TypedCodec};
#[cfg(feature = "typed")]
pub use fault::{DecodeRefusal, EncodeFailure, VectorFault};
#[cfg(feature = "typed")]
pub use file::{Direction, File, Group, Hazard, Source, SourceKind, Test, Verdict};
#[cfg(feature = "typed")]
pub use from_wire::{Annotation, FieldKind};
#[cfg(feature = "typed")]
pub use load::{LoadError, files, parse};
#[cfg(feature = "typed")]
pub use scripts::{ScriptFile, parse_scripts, script_files};
#[cfg(feature = "typed")]
pub use types::{ParseTypeError, Type};
#[cfg(feature = "typed")]
pub use value::{Arena, Value, ValueError, ValueForm};
