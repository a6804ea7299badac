//! Exchanges: both sides of every flow (`spec/FLOWS.md`) as state machines that do no I/O.
//!
//! An exchange says what it needs next, the caller does it with whatever socket it has, and says what came of it:
//! one question, `action()`, which changes nothing however often it is asked, and one acknowledgement for each answer. There is no
//! clock, no callback, no allocation; the caller lends one buffer, and actions name ranges of it.
//!
//! | | |
//! |---|---|
//! | [`Client`] | the tool's side of one connection: request, descriptor, reply, and what the connection is then ([`AfterReply`]) |
//! | [`Server`] | the runtime's side of one connection: request, descriptor, reply, and what follows, in pieces |
//! | [`Session`] | a tracing session: its stream, and its stop on a second connection |
//! | [`ReplyDeadline`] | how long the reply to a command may take |
//! | [`fallback`] | the older command where the newer one is unknown, and what is lost |
//! | [`ConnectPort`], [`RetryPolicy`] | the runtime's side of a diagnostic port: connect, advertise, wait, connect again |
//! | [`DiagnosticPort`], [`AdvertiseReceiver`] | the tool's side of one: reads advertises, holds the connections until they are used |
//!
//! # Limits
//!
//! Nothing here sizes memory by what the peer announces. What a peer may make a caller take is the caller's to set:
//!
//! | limit | where | default |
//! |---|---|---|
//! | size of a message | the buffer that is lent: [`Outcome::BufferTooSmall`], [`ServerOutcome::BufferTooSmall`] | 65,535 is always enough |
//! | bytes of a stream | [`Session::streaming`] | none, the caller says: a session streams for as long as it lasts |
//! | bytes and entries of an environment block | [`EnvironmentLimits`](crate::continuation::EnvironmentLimits) | 32 MiB, 65,536 |
//! | providers of a session | [`ServerOptions::max_providers`] | 1,000 (F-16) |
//! | connections that wait at a port | the slots of a [`DiagnosticPort`] | as many as are lent |
#![forbid(unsafe_code)]

pub mod diagnostic_port;
pub mod fallback;

mod client;
mod connect_port;
mod end;
mod incoming;
mod misuse_error;
mod outcome;
mod outgoing;
mod reply_deadline;
mod retry;
mod server;
mod session;

pub use client::{Client, ClientAction};
pub use connect_port::{ConnectPort, ConnectPortAction};
pub use diagnostic_port::{AdvertiseAction, AdvertiseOutcome, AdvertiseReceiver, DiagnosticPort};
pub use end::End;
pub use misuse_error::MisuseError;
pub use outcome::{AfterReply, Outcome};
pub use reply_deadline::ReplyDeadline;
pub use retry::{Delays, RetryPolicy};
pub use server::{
    CheckOrder, KnownCommands, ParsedRequest, RefusalReason, RespondError, Server, ServerAction, ServerOptions, ServerOutcome,
};
pub use session::{Session, SessionAction, SessionEnd, SessionOutcome, StopOutcome, StreamEnd};
