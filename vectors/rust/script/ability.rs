//! Optional abilities of a server.

use core::fmt;

use serde::{Deserialize, Serialize};

/// An optional ability of a server: the document leaves it open, and a script needs it.
///
/// ```
/// use dotnet_diagnostics_ipc_vectors::script::Ability;
///
/// assert_eq!(serde_json::from_str::<Ability>("\"one-client-at-a-time\"")?, Ability::OneClientAtATime);
/// assert_eq!(Ability::Ports.to_string(), "diagnostic ports");
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Ability {
    /// It connects to the ports of `DOTNET_DiagnosticPorts`.
    Ports,
    /// It waits for `ResumeRuntime` if `DOTNET_DefaultDiagnosticPortSuspend` or a port says so.
    Suspension,
    /// It has sessions that write to `user_events_data`.
    UserEvents,
    /// It serves one client after another: a silent one blocks all others (F-75).
    OneClientAtATime,
    /// It has sessions in the format 0, netperf.
    Netperf,
}

impl Ability {
    /// All of them.
    pub const ALL: [Self; 5] =
        [Self::Ports, Self::Suspension, Self::UserEvents, Self::OneClientAtATime, Self::Netperf];
}

impl fmt::Display for Ability {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Ports => "diagnostic ports",
            Self::Suspension => "suspension at startup",
            Self::UserEvents => "sessions with user_events",
            Self::OneClientAtATime => "one client at a time",
            Self::Netperf => "streams in the netperf format",
        })
    }
}
