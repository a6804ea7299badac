//! Exchanges: both sides of every flow as state machines that do no I/O.
//!
//! An exchange says what it needs next, the caller does it with whatever socket it has, and says what came of it:
//! one question, `action()`, which changes nothing however often it is asked, and one acknowledgement for each answer. There is no
//! clock, no callback, no allocation; the caller lends one buffer, and actions name ranges of it.
//!
//! | | |
//! |---|---|
//! | [`Client`] | the tool's side of one connection: request, descriptor, reply, and what the connection is then ([`Then`]) |
//! | [`Server`] | the runtime's side of one connection |
#![forbid(unsafe_code)]

mod client;
mod end;
mod illegal;
mod incoming;
mod outcome;
mod outgoing;
mod server;

pub use client::{Client, ClientAction};
pub use end::End;
pub use illegal::Illegal;
pub use outcome::{Outcome, Then};
pub use server::{Asked, CheckOrder, Reason, RespondError, Server, ServerAction, ServerOptions, ServerOutcome};
