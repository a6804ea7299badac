//! Parse the environment variables that configure diagnostic ports and suspension at startup.
//!
//! Section "Diagnostic Ports". A runtime has its default port, and one for each configuration in
//! `DOTNET_DiagnosticPorts`; each of them can suspend it at startup.
//!
//! | question | type |
//! |---|---|
//! | which ports does a runtime make of this text? | [`Ports`] |
//! | which parts does it ignore, and why? | [`ignored`] |
//! | does the document allow the text? | [`strict`] |
//! | how to write it? | [`WritePorts`] |
//! | does the default port suspend? | [`default_port_suspend`] |
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

mod ports;
mod suspension;

pub use ports::{
    IgnoredPart, IgnoredReason, PortConfig, Ports, SuspendMode, WritePorts, ignored, strict,
};
pub use suspension::{PortId, ResumeEffect, Suspension, default_port_suspend};

/// The variable with the configurations of ports. If it is unset, net10.0.9 also reads
/// `COMPlus_DiagnosticPorts`, contrary to F-78: clear both.
pub const PORTS_VARIABLE: &str = "DOTNET_DiagnosticPorts";

/// The variable with the suspend mode of the default port (F-86). Edition 5 once prints it as
/// `DOTNET_DefaultDotnetPortSuspend`.
pub const DEFAULT_PORT_SUSPEND_VARIABLE: &str = "DOTNET_DefaultDiagnosticPortSuspend";
