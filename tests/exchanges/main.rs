//! The exchanges without sockets: client, server, both together, and recorded replies.

mod client;
mod conversations;
mod drive;
mod exhaustive;
mod flows;
mod legal;
mod pair;
mod server;
