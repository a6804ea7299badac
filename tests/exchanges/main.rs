//! The exchanges without sockets: client, server, both together, the scripts and the recorded
//! replies.

mod client;
mod conversations;
mod drive;
mod exhaustive;
mod flows;
mod legal;
#[path = "../schema/mod.rs"]
mod schema;
mod scripts;
mod server;
