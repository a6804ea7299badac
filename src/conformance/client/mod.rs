//! The client suite: holds a diagnostic client in any language to the protocol.
//!
//! [`Operations`] says how the client is told to do things: a table of command lines. Each [`Scenario`] tells it one thing, stands in for
//! the runtime that it talks to, and judges what it sends, what it makes of the replies, how it ends and when. [`run`] plays them.
//! `vectors/clients/README.md` has the form of the file and what is judged how.
//!
//! A client that has one of the faults that clients are known for is told so by name: see [`ClientFault`].

mod conversation;
mod decoys;
mod discovery;
mod endings;
mod faults;
mod finding;
mod given_out;
mod known_faults;
mod moves;
mod naming;
mod operation;
mod operations;
mod passing;
mod payloads;
mod process;
mod reading;
mod replies;
mod request;
mod requests;
mod run;
mod scenario;
mod scripted;
mod scripted_outcome;
mod spelling;
mod suite;
mod target;
mod verdict;
mod wanted;

pub use faults::ClientFault;
pub use known_faults::KnownFaults;
pub use operation::{Argument, Operation, OutputKind};
pub use operations::{CommandLine, Operations, OperationsError};
pub use run::{Options, run};
pub use scenario::{Arguments, Scenario};
pub use suite::scenarios;
pub use target::{StandIn, stand_in};
