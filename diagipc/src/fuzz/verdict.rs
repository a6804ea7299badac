//! A server's reaction to a case.

use std::fmt;

use serde::Serialize;

/// A server's reaction to a case.
///
/// ```
/// use diagipc::fuzz::CaseVerdict;
///
/// assert!(CaseVerdict::Crash.is_fatal() && !CaseVerdict::LeftOpen.is_fatal());
/// assert_eq!(CaseVerdict::LeftOpen.to_string(), "left-open");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum CaseVerdict {
    /// It answered OK.
    Ok,
    /// It answered Error.
    Error,
    /// The connection ended without a reply. The server is alive.
    Closed,
    /// No answer in time. The server is alive, and answers others once the connection is closed.
    Silent,
    /// The case did not wait for an answer. The server is alive.
    Left,
    /// The process ended.
    Crash,
    /// It no longer answers a complete `ProcessInfo`, but its process exists.
    Hang,
    /// Its endpoint has no listener any more. Its process exists, or that is unknown.
    EndpointGone,
    /// It sent bytes without a header: the server's memory (F-71).
    Leaked,
    /// The reply, or its continuation, is malformed.
    Malformed,
    /// The connection stayed open after a final reply, and a descriptor is lost (F-74).
    LeftOpen,
    /// It accepted a request with an invalid header.
    Unchecked,
    /// Its memory grows with each request. No single case has this verdict.
    MemoryGrowth,
}

impl CaseVerdict {
    /// All of them, in the order of reports.
    pub const ALL: [Self; 13] = [
        Self::Ok,
        Self::Error,
        Self::Closed,
        Self::Silent,
        Self::Left,
        Self::Crash,
        Self::Hang,
        Self::EndpointGone,
        Self::Leaked,
        Self::Malformed,
        Self::LeftOpen,
        Self::Unchecked,
        Self::MemoryGrowth,
    ];

    /// Its name in reports.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::Error => "error",
            Self::Closed => "closed",
            Self::Silent => "silent",
            Self::Left => "left",
            Self::Crash => "crash",
            Self::Hang => "hang",
            Self::EndpointGone => "endpoint-gone",
            Self::Leaked => "leaked",
            Self::Malformed => "malformed",
            Self::LeftOpen => "left-open",
            Self::Unchecked => "unchecked",
            Self::MemoryGrowth => "memory-growth",
        }
    }

    /// Whether the server no longer serves anybody.
    pub const fn is_fatal(self) -> bool {
        matches!(self, Self::Crash | Self::Hang | Self::EndpointGone)
    }
}

impl fmt::Display for CaseVerdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
