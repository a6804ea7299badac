//! Black-box campaigns against a live diagnostic server: valid requests, mutated where their fields are, until it dies, hangs, gives
//! away memory or loses descriptors.
//!
//! A case comes of a seed and its number alone: [`Bases::case`]. [`run`] sends one after another to what is at a
//! [`Place`](super::server::Place), asks a complete `ProcessInfo` after each, and keeps what is new as a [`Finding`]: with a target that
//! it may start again, as the shortest message that still does it, and always as an exchange script. Each reply is looked at, and the
//! memory of the process, where it is known. One cause is one finding, whatever the commands and mutations that lead to it.
//!
//! ```
//! use dotnet_diagnostics_ipc::conformance::fuzz_server::Bases;
//! use dotnet_diagnostics_ipc::vectors;
//!
//! let bases = Bases::of(&vectors::files()?);
//! let case = bases.case(1, 500).expect("there are bases");
//! assert_eq!(bases.case(1, 500), Some(case));
//! # Ok::<(), vectors::LoadError>(())
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
