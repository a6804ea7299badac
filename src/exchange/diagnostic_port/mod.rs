//! The tool's side of a diagnostic port: runtimes connect, introduce themselves, and wait for a command.
//!
//! | question | answer |
//! |---|---|
//! | who is this connection from? | [`AdvertiseReceiver`]: the 34 bytes, in any pieces |
//! | which connections wait? | [`DiagnosticPort`]: by cookie, by process id, in the order of their arrival |
//!
//! Each connection serves one command; the runtime connects again for the next one, with the same cookie (section "Dataflow"). So a
//! connection is taken out of the table to be used, and the next one takes its place there.

mod advertise_receiver;
mod hash;
mod iter;
mod outcome;
mod slot;
mod table;
#[cfg(test)]
mod tests;

pub use advertise_receiver::{AdvertiseAction, AdvertiseOutcome, AdvertiseReceiver};
pub use iter::Iter;
pub use outcome::{HoldError, HoldErrorKind, HoldOutcome, SameCookie, SlotsError, WaitingConnection};
pub use slot::{ConnectionKey, Slot, Slots};
pub use table::DiagnosticPort;
