//! Records live conversations as exchange scripts.
//!
//! A `Proxy` stands between a client and a runtime, forwards what they say, and keeps it in a [`Log`]. Of a [`Recording`],
//! [`script_file`] makes two scripts: one that plays the client, to be played to a runtime again, and one that plays the runtime, to
//! be played to a client. A `RecordedClient` is a client that is run for that.

#[cfg(unix)]
mod client;
mod connection;
mod hazard;
mod log;
mod masks;
mod outcome;
mod pending;
#[cfg(unix)]
mod pieces;
#[cfg(unix)]
mod proxy;
#[cfg(unix)]
mod relay;
mod script;
mod script_of_client;
mod script_of_runtime;

#[cfg(unix)]
pub use client::{ClientRun, RecordedClient};
pub use connection::RecordedConnection;
pub use hazard::hazard_of;
pub use log::{Event, EventKind, Log, Recording, Side, Totals};
#[cfg(unix)]
pub use proxy::{ConnectionSummary, Proxy};
pub use script::script_file;

#[cfg(test)]
mod tests;
