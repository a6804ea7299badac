//! The exchanges without sockets: client, server, both together, the scripts and the recorded
//! replies.

mod exhaustive;
mod flows;
#[cfg(feature = "vectors")]
mod pairs;
mod properties;
#[cfg(feature = "vectors")]
mod recorded;
#[cfg(feature = "vectors")]
#[path = "../schema/mod.rs"]
mod schema;
#[cfg(feature = "vectors")]
mod scripts;
mod server;
