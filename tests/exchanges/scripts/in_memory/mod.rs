//! Plays a script against this crate's own state machines, on connections in memory.

mod client;
mod network;
mod player;
mod runtime;

use dotnet_diagnostics_ipc_vectors::script::{Plays, Script, Step};

pub(crate) use network::Chunking;
pub(crate) use player::play;

/// Returns whether a script needs the process of the runtime, which does not exist here.
pub(crate) fn is_about_a_process(script: &Script) -> bool {
    let Plays::Client(part) = &script.plays else { return false };
    !part.target.default_port
        || script.steps.iter().any(|step| matches!(step, Step::Signal(_) | Step::ExpectSocket(_)))
}
