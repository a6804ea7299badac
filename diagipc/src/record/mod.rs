//! Records live conversations.
//!
//! A `Proxy` forwards between a client and a runtime, and records everything in a [`Log`].
//! [`script_file`] converts a [`Recording`] to a script for `replay`. `run_client` runs a client
//! for a recording.

#[cfg(unix)]
mod client;
#[cfg(unix)]
mod proxy;
mod recording;

#[cfg(unix)]
pub use client::{ClientRun, run_client};
pub use dotnet_diagnostics_ipc_vectors::Direction;
#[cfg(unix)]
pub use proxy::{ConnectionSummary, Proxy};
pub use recording::{Log, Recording, Witness, script_file};
