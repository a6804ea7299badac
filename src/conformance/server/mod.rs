//! Holds a live diagnostic server to the exchange scripts and to every request of the vectors.
//!
//! [`cases`] are what can be asked, [`Place`] says where the target is, [`Profile`](super::known::Profile) which deviations are known of it, and [`run`] plays
//! the cases one after another (F-75) into a [`Report`](super::Report). Nothing that changes or harms a target is sent unless the
//! [`Options`] allow it, and what that is, the `hazard` of vectors and scripts alone decides.

mod abilities;
mod agreement;
pub(super) mod ask;
mod attempt;
mod block_faults;
mod case;
mod case_evidence;
mod claims;
mod conduct;
mod death;
mod evidence;
pub(super) mod expectation;
mod faults;
mod habits;
pub(super) mod judge;
mod left_out;
pub(super) mod meet;
mod options;
mod pace;
mod place;
mod probe;
mod process_id;
mod reply_faults;
pub(super) mod request;
mod run;
#[cfg(unix)]
mod spawn;
mod spelling;
mod stream_faults;
pub(super) mod target;
#[cfg(unix)]
mod unix;
#[cfg(windows)]
mod windows;

pub use case::{ServerCase, ServerCaseKind, cases};
pub use claims::Claims;
pub use death::Death;
pub use faults::ServerFault;
pub use options::Options;
pub use place::{Place, SpawnCommand};
pub use run::run;
