//! Record live conversations as exchange scripts.
//!
//! A `Proxy` forwards between a client and a runtime, and keeps everything in a [`Log`].
//! [`script_file`] makes two scripts of a [`Recording`]: one that plays the client, for a runtime, and one that plays the runtime, for a client. A `RecordedClient` is a
//! client that is run for a recording.

//! # Example
//!
//! Make scripts of a conversation:
//!
//! ```
//! use diagipc::record::{Log, Side, script_file};
//!
//! let log = Log::new(false);
//! let connection = log.opened();
//! log.piece(connection, Side::Client, b"DOTNET_IPC_V1\0\x14\0\x04\x01\0\0", Vec::new());
//! log.piece(connection, Side::Runtime, b"DOTNET_IPC_V1\0\x18\0\xff\0\0\0\0\0\0\0", Vec::new());
//! let file = script_file(&log.recording(), "Resume").expect("a conversation");
//! assert_eq!(file.scripts.len(), 2); // one plays the client, one the runtime
//! ```

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
pub use log::{Event, EventKind, Log, Recording, Side, Totals, Witness};
#[cfg(unix)]
pub use proxy::{ConnectionSummary, Proxy};
pub use script::script_file;

#[cfg(test)]
mod tests;
