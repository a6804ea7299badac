//! Start a fuzzing campaign: seeds for each target of `fuzz/`, made from the golden vectors, and a
//! dictionary.
//!
//! ```
//! use diagipc::corpus;
//!
//! for target in corpus::TARGETS {
//!     assert!(!corpus::seeds(target)?.is_empty(), "{target}");
//! }
//! assert!(corpus::dictionary().contains("CollectTracing2="));
//! # Ok::<(), dotnet_diagnostics_ipc_vectors::LoadError>(())
//! ```

mod dictionary;
mod seeds;
mod subjects;

pub use dictionary::dictionary;
pub use seeds::{COMMANDS, Seed, seeds};
pub use subjects::{Asked, SUBJECTS, asked_of_c_header};

/// The targets of `fuzz/`.
pub const TARGETS: [&str; 8] = [
    "decode_any",
    "roundtrip",
    "exchanges",
    "environment",
    "names",
    "user_events",
    "c_header",
    "cli_decode",
];
