//! The exchanges without sockets: client, server, both together, the scripts and the recorded
//! replies.

mod exhaustive;
mod flows;
mod pairs;
mod properties;
mod recorded;
#[path = "../schema/mod.rs"]
mod schema;
mod scripts;
mod server;
