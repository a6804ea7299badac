//! Read the golden vectors as Rust types, to check a codec with them.
//!
//! The vectors are embedded; [`files`] returns them, and the package's `README.md` defines their
//! files and the value form. [`script_files`] returns the exchange scripts, which are whole
//! conversations and are defined in `exchanges/README.md`. [`documents`] has these texts.
//!
//! ```
//! use dotnet_diagnostics_ipc_vectors as vectors;
//!
//! for file in vectors::files()? {
//!     for (group, test) in file.groups.iter().flat_map(|group| group.tests.iter().map(move |test| (group, test))) {
//!         let (Some(codec), Some(wire)) = (group.subject(), &test.wire) else { continue };
//!         match codec.decode(wire) {
//!             Ok(decoded) => assert_eq!(decoded.value, test.value, "tcId {}", test.tc_id),
//!             Err(refusal) => assert_eq!(Some(refusal.fault), test.error, "tcId {}", test.tc_id),
//!         }
//!     }
//! }
//! # Ok::<(), vectors::LoadError>(())
//! ```
#![no_std]
#![forbid(unsafe_code)]
// No input causes a panic.
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
mod codec;
pub mod documents;
#[cfg(feature = "typed")]
pub mod explain;
#[cfg(feature = "typed")]
mod fault;
#[cfg(feature = "typed")]
mod file;
#[cfg(feature = "typed")]
mod from_wire;
#[cfg(feature = "typed")]
pub mod grammar;
#[cfg(feature = "typed")]
mod hexadecimal;
#[cfg(feature = "typed")]
pub mod nettrace;
#[cfg(feature = "typed")]
pub mod pasted;
#[cfg(feature = "typed")]
pub mod player;
#[cfg(feature = "typed")]
pub mod script;
#[cfg(feature = "typed")]
mod texts;
#[cfg(feature = "typed")]
mod value;
#[cfg(feature = "typed")]
mod value_forms;

#[cfg(feature = "typed")]
pub use {
    codec::{Decoded, ParseTypeError, Type, TypedCodec},
    fault::{DecodeRefusal, EncodeFailure, VectorFault},
    file::{
        Direction, ExpectedResult, File, Group, Hazard, LoadError, ScriptFile, Source, SourceKind,
        Test, files, parse, parse_scripts, script_files,
    },
    from_wire::{Annotation, FieldKind},
    value::{Arena, Value, ValueError, ValueForm},
};
