//! Fuzzes a live diagnostic server until it crashes, hangs, or leaks memory or descriptors.
//!
//! A case depends only on a seed and its number: [`Seeds::case`]. [`run`] sends one case after
//! another to the target at an [`Address`](crate::Address), followed by a complete `ProcessInfo`.
//! It also checks each reply, and the memory of the process if that is known.
//!
//! A new failure becomes a [`Finding`] with an exchange script. If the target may be restarted, the
//! script has the shortest message that still causes it. Each cause is one finding, whatever
//! commands and mutations lead to it.
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
