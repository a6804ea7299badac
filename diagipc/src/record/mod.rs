//! Record live conversations.
//!
//! A `Proxy` forwards between a client and a runtime, and keeps everything in a [`Log`].
//! [`script_file`] writes a [`Recording`] as a script for `replay`. A `RecordedClient` is a client
//! that is run for a recording.

#[cfg(unix)]
mod client;
mod log;
#[cfg(unix)]
mod proxy;
#[cfg(unix)]
mod relay;
mod script;

#[cfg(unix)]
pub use client::{ClientRun, RecordedClient};
pub use dotnet_diagnostics_ipc_vectors::Direction;
pub use log::{Log, Recording, Witness};
#[cfg(unix)]
pub use proxy::Proxy;
#[cfg(unix)]
pub use relay::ConnectionSummary;
pub use script::script_file;
