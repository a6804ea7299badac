//! The variables that configure diagnostic ports, and what follows from them for a suspended start.
//!
//! Section "Diagnostic Ports". A runtime has its default port, and one for each configuration in `DOTNET_DiagnosticPorts`; all of
//! them can hold its start.
//!
//! | question | answer |
//! |---|---|
//! | which ports does a runtime make of this text? | [`Ports`] |
//! | which parts of it does it pass over, and why? | [`Ignored`] |
//! | is the text what the document allows? | [`strict`] |
//! | how is it written? | [`WritePorts`] |
//! | does the default port suspend? | [`DefaultPortSuspend`] |
//! | who must still resume? | [`Suspension`] |
//!
//! Text is `&str`: a runtime reads the variable as Unicode, and bytes that are none do not survive (F-79).
#![forbid(unsafe_code)]

mod config;
mod default_suspend;
mod ignored;
mod ports;
mod strict;
mod suspension;
mod write;

pub use config::{PortConfig, PortType, SuspendMode};
pub use default_suspend::{DefaultPortSuspend, default_port_suspend_text};
pub use ignored::{Ignored, IgnoredPart, IgnoredReason};
pub use ports::Ports;
pub use strict::{PortsError, PortsErrorKind, strict};
pub use suspension::{PortId, ResumeEffect, Suspension, SuspensionError};
pub use write::{PortAddressError, WritePorts};

/// The variable with the configurations of ports. Where it is unset, net10.0.9 was seen to read `COMPlus_DiagnosticPorts`, though F-78
/// has it otherwise: whoever clears the one clears the other.
pub const PORTS_VARIABLE: &str = "DOTNET_DiagnosticPorts";

/// The variable with the suspend mode of the default port (F-86). Edition 5 prints it once as `DOTNET_DefaultDotnetPortSuspend`.
pub const DEFAULT_PORT_SUSPEND_VARIABLE: &str = "DOTNET_DefaultDiagnosticPortSuspend";

/// Where `part`, a part of `whole`, begins in it.
fn offset_in(whole: &str, part: &str) -> usize {
    (part.as_ptr() as usize).saturating_sub(whole.as_ptr() as usize)
}
