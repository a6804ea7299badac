//! Record live conversations, and make exchange scripts of them that play the client.
//!
//! A `Proxy` forwards between a client and a runtime, and keeps everything in a [`Log`].
//! [`script_file`] makes a script of a [`Recording`] that plays the client, for another runtime. A
//! `RecordedClient` is a client that is run for a recording.

//! # Example
//!
//! Make a script of a conversation:
//!
//! ```
//! use diagipc::record::{Log, Direction, script_file};
//!
//! let log = Log::new(false);
//! let connection = log.opened();
//! log.piece(connection, Direction::Client, b"DOTNET_IPC_V1\0\x14\0\x04\x01\0\0", Vec::new());
//! log.piece(connection, Direction::Server, b"DOTNET_IPC_V1\0\x18\0\xff\0\0\0\0\0\0\0", Vec::new());
//! let file = script_file(&log.recording(), "Resume").expect("a conversation");
//! assert_eq!(file.scripts[0].name, "resume-client");
//! ```

#[cfg(unix)]
mod client;
mod hazard;
mod log;
mod masks;
mod parts;
mod pending;
#[cfg(unix)]
mod pieces;
#[cfg(unix)]
mod proxy;
#[cfg(unix)]
mod relay;
mod script;
mod script_of_client;

#[cfg(unix)]
pub use client::{ClientRun, RecordedClient};
pub use dotnet_diagnostics_ipc_vectors::Direction;
pub use log::{Log, Recording, Witness};
#[cfg(unix)]
pub use proxy::Proxy;
#[cfg(unix)]
pub use relay::ConnectionSummary;
pub use script::script_file;

#[cfg(test)]
mod tests;
