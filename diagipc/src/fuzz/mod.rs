//! Fuzz a live diagnostic server: valid requests with mutated fields, until it crashes, hangs,
//! leaks memory or loses descriptors.
//!
//! A case depends only on a seed and its number: [`Bases::case`]. [`run`] sends one after another
//! to the target at a [`Address`](crate::Address), sends a complete `ProcessInfo` after each,
//! and keeps new results as a [`Finding`]: always as an exchange script, and, if it may restart the
//! target, with the shortest message that still does it. It checks each reply, and the memory of
//! the process, if known. Each cause is one finding, whatever the commands and mutations that lead
//! to it.
//!
//! ```
//! use diagipc::embedded;
//! use diagipc::fuzz::Bases;
//!
//! let bases = Bases::of(embedded::vectors()?);
//! let case = bases.case(1, 500).expect("there are bases");
//! assert_eq!(bases.case(1, 500), Some(case));
//! # Ok::<(), dotnet_diagnostics_ipc_vectors::LoadError>(())
//! ```

mod bases;
mod campaign;
mod case;
mod cause;
mod finding;
mod findings;
mod known;
mod layout;
mod memory;
mod minimise;
mod mutation;
mod numbers;
mod options;
mod play;
mod reply;
mod script;
mod stage;
mod summary;
mod verdict;

pub use bases::Bases;
pub use campaign::{CampaignProgress, run};
pub use case::{Delivery, FuzzCase};
pub use finding::Finding;
pub use memory::Growth;
pub use mutation::Mutation;
pub use options::Options;
pub use summary::{CampaignSummary, Row};
pub use verdict::CaseVerdict;
