//! The client suite: holds a diagnostic client in any language to the protocol.
//!
//! [`Operations`] says how the client is told to do things: a table of command lines. Each [`Scenario`] tells it one thing, stands in for
//! the runtime that it talks to, and judges what it sends, what it makes of the replies, how it ends and when. [`run`] plays them.
//! `vectors/clients/README.md` has the form of the file and what is judged how.
//!
//! A client that has one of the faults that clients are known for is told so by name: see [`ClientFault`].

mod conversation;
mod faults;
mod given_out;
mod moves;
mod operation;
mod operations;
mod payloads;
mod process;
mod replies;
mod request;
mod requests;
mod run;
mod scenario;
mod scripted;
mod suite;
mod target;

pub use faults::ClientFault;
pub use operation::{Argument, Operation, OutputKind};
pub use operations::{CommandLine, Operations, OperationsError};
pub use run::{Options, run};
pub use scenario::{Arguments, Scenario};
pub use suite::scenarios;
pub use target::{StandIn, stand_in};
