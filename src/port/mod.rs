//! Parse the environment variables that configure diagnostic ports and suspension at startup.
//!
//! A runtime has its default port, and one port for each configuration in `DOTNET_DiagnosticPorts`.
//! Each port can suspend the runtime at startup. See section "Diagnostic Ports" of the document.
//!
//! | question | item |
//! |---|---|
//! | which ports does a runtime open for this text? | [`Ports`] |
//! | which parts does a runtime ignore, and why? | [`ignored`] |
//! | does the document allow the text? | [`strict`] |
//! | how is the text written? | [`WritePorts`] |
//! | does the default port suspend the runtime? | [`default_port_suspend`] |
//! | which ports must still be resumed? | [`Suspension`] |
//!
#![cfg_attr(doc, doc = include_str!("../pictures/ports.svg"))]
//!
//! Text is `&str`, because a runtime reads the variable as Unicode and replaces invalid bytes
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

/// The variable that configures additional ports. If it is unset, net10.0.9 also reads
/// `COMPlus_DiagnosticPorts`, contrary to F-78, so clear both.
pub const PORTS_VARIABLE: &str = "DOTNET_DiagnosticPorts";

/// The variable with the suspend mode of the default port (F-86). Edition 5 once prints it as
/// `DOTNET_DefaultDotnetPortSuspend`.
pub const DEFAULT_PORT_SUSPEND_VARIABLE: &str = "DOTNET_DefaultDiagnosticPortSuspend";
