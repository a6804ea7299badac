//! Fuzz a live diagnostic server: valid requests with mutated fields, until it crashes, hangs,
//! leaks memory or loses descriptors.
//!
//! A case depends only on a seed and its number: [`Seeds::case`]. [`run`] sends one after another
//! to the target at a [`Address`](crate::Address), sends a complete `ProcessInfo` after each,
//! and keeps new results as a [`Finding`]: always as an exchange script, and, if it may restart the
//! target, with the shortest message that still causes it. It checks each reply, and the memory of
//! the process, if known. Each cause is one finding, whatever the commands and mutations that lead
//! to it.
//!
//! ```
//! use diagipc::embedded;
//! use diagipc::fuzz::Seeds;
//!
//! let seeds = Seeds::of(embedded::vectors()?);
//! let case = seeds.case(1, 500).expect("there are seeds");
//! assert_eq!(seeds.case(1, 500), Some(case));
//! assert_eq!(Seeds::of(&[]).case(1, 1), None);
//! # Ok::<(), dotnet_diagnostics_ipc_vectors::LoadError>(())
//! ```

mod campaign;
mod case;
mod finding;
mod minimise;
mod mutation;
mod play;

pub use campaign::{CampaignOptions, CampaignProgress, run};
pub use case::{Delivery, FuzzCase, Seeds};
pub use finding::{CampaignSummary, CommandVerdicts, Finding, Growth};
pub use mutation::Mutation;
pub use play::CaseVerdict;
