//! Writing the variable.

use core::fmt;

use super::config::{PortConfig, PortType, SuspendMode, is_blank};
use crate::endpoint::put_text;
use crate::wire::{Encode, EncodeError, Sink};

/// Writes `DOTNET_DiagnosticPorts` for the given ports, by [`Display`](fmt::Display) or [`Encode`].
/// Defaults are not written.
///
/// The ports are in the order in which a runtime builds them, as in [`Ports`](super::Ports): the
/// last is written first.
///
/// ```
/// use dotnet_diagnostics_ipc::port::{PortConfig, Ports, SuspendMode, WritePorts};
///
/// let ports = [PortConfig { suspend_mode: SuspendMode::NoSuspend, ..PortConfig::new("/b") }, PortConfig::new("/a")];
/// let text = WritePorts::new(&ports).expect("both can be written").to_string();
/// assert_eq!(text, "/a;/b,nosuspend");
/// assert!(Ports::new(&text).eq(ports));
/// assert_eq!(WritePorts::new(&[PortConfig::new("/b;c")]), None);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WritePorts<'p, 'a> {
    ports: &'p [PortConfig<'a>],
}

impl<'p, 'a> WritePorts<'p, 'a> {
    /// The text of `ports`. `None` if one of them cannot be written: its address is empty or
    /// blank, or contains a `;`, a `,` or a NUL, or its type is [`Listen`](PortType::Listen).
    pub fn new(ports: &'p [PortConfig<'a>]) -> Option<Self> {
        ports.iter().all(can_stand).then_some(Self { ports })
    }
}

fn can_stand(port: &PortConfig<'_>) -> bool {
    !is_blank(port.address)
        && !port.address.contains([';', ',', '\0'])
        && port.port_type == PortType::Connect
}

impl fmt::Display for WritePorts<'_, '_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (nth, port) in self.ports.iter().rev().enumerate() {
            let before = if nth > 0 { ";" } else { "" };
            write!(f, "{before}{}", port.address)?;
            if port.suspend_mode == SuspendMode::NoSuspend {
                write!(f, ",{}", port.suspend_mode.text())?;
            }
        }
        Ok(())
    }
}

impl Encode for WritePorts<'_, '_> {
    fn encode<S: Sink + ?Sized>(&self, sink: &mut S) -> Result<(), EncodeError> {
        put_text(self, sink);
        Ok(())
    }
}
