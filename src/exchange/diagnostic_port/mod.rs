//! Accept runtimes at a diagnostic port: they connect, send an advertise, and wait for a command.
//!
//! | question | answer |
//! |---|---|
//! | who opened this connection? | [`AdvertiseReceiver`]: the 34 bytes, in any pieces |
//! | which connections wait? | [`DiagnosticPort`]: by cookie, by process id, in order of arrival |
//!
#![cfg_attr(doc, doc = include_str!("../../pictures/ports.svg"))]
//!
//! Each connection serves one command; the runtime connects again for the next one, with the same
//! cookie (section "Dataflow"). So a connection is taken out of the table for use, and the next one
//! replaces it.

//! # Example
//!
//! Hold the runtimes that have connected, and take one by its process id:
//!
//! ```
//! use dotnet_diagnostics_ipc::advertise::Advertise;
//! use dotnet_diagnostics_ipc::exchange::diagnostic_port::{DiagnosticPort, SameCookie, Slot};
//!
//! let mut port = DiagnosticPort::new([const { Slot::EMPTY }; 16], SameCookie::Replace)?;
//! let cookie = "123e4567-e89b-12d3-a456-426614174000".parse()?;
//! port.hold(Advertise { runtime_cookie: cookie, process_id: 12345, future: 0 }, "its connection")?;
//!
//! assert_eq!(port.find_process(12345).count(), 1);
//! assert_eq!(port.take(cookie).map(|waiting| waiting.token), Some("its connection"));
//! # Ok::<(), Box<dyn core::error::Error>>(())
//! ```

mod advertise_receiver;
mod hash;
mod iter;
mod outcome;
mod slot;
mod table;
#[cfg(test)]
mod tests;

pub use advertise_receiver::{AdvertiseAction, AdvertiseOutcome, AdvertiseReceiver};
pub use iter::{FindProcess, Iter};
pub use outcome::{
    HoldError, HoldErrorKind, HoldOutcome, SameCookie, SlotsError, WaitingConnection,
};
pub use slot::{ConnectionKey, Slot, Slots};
pub use table::DiagnosticPort;
