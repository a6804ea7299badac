//! Parse the environment variables that configure diagnostic ports and suspension at startup.
//!
//! Section "Diagnostic Ports". A runtime has its default port, and one for each configuration in
//! `DOTNET_DiagnosticPorts`; each of them can suspend it at startup.
//!
//! | question | type |
//! |---|---|
//! | which ports does a runtime make of this text? | [`Ports`] |
//! | what does the address of a port name? | [`PortAddress`] |
//! | which parts does it ignore, and why? | [`Ignored`] |
//! | does the document allow the text? | [`strict`] |
//! | how to write it? | [`WritePorts`] |
//! | does the default port suspend? | [`DefaultPortSuspend`] |
//! | which ports must still be resumed? | [`Suspension`] |
//!
#![cfg_attr(doc, doc = include_str!("../pictures/ports.svg"))]
//!
//! Text is `&str`: a runtime reads the variable as Unicode, and invalid bytes do not survive
//! (F-79).
#![forbid(unsafe_code)]

//! # Example
//!
//! Read `DOTNET_DiagnosticPorts` as a runtime does:
//!
//! ```
//! use dotnet_diagnostics_ipc::port::{Ports, SuspendMode};
//!
//! let port = Ports::new("/tmp/my.sock,nosuspend").next().expect("a port");
//! assert_eq!((port.address, port.suspend_mode), ("/tmp/my.sock", SuspendMode::NoSuspend));
//! ```

mod address;
mod ports;
mod suspension;

pub use address::PortAddress;
pub use ports::{
    Ignored, IgnoredPart, IgnoredReason, PortConfig, PortType, Ports, SuspendMode, WritePorts,
    strict,
};
pub use suspension::{
    DefaultPortSuspend, PortId, ResumeEffect, Suspension, default_port_suspend_text,
};

/// The variable with the configurations of ports. If it is unset, net10.0.9 also reads
/// `COMPlus_DiagnosticPorts`, contrary to F-78: clear both.
pub const PORTS_VARIABLE: &str = "DOTNET_DiagnosticPorts";

/// The variable with the suspend mode of the default port (F-86). Edition 5 once prints it as
/// `DOTNET_DefaultDotnetPortSuspend`.
pub const DEFAULT_PORT_SUSPEND_VARIABLE: &str = "DOTNET_DefaultDiagnosticPortSuspend";

/// The offset of `part` in `whole`, which contains it.
fn offset_in(whole: &str, part: &str) -> usize {
    (part.as_ptr() as usize).saturating_sub(whole.as_ptr() as usize)
}
