//! What a server did with a case.

use core::fmt;

use serde::Serialize;

/// What a server did with a case.
///
/// ```
/// use dotnet_diagnostics_ipc::conformance::fuzz_server::CaseVerdict;
///
/// assert!(CaseVerdict::Crash.is_finding() && !CaseVerdict::Error.is_finding());
/// assert_eq!(CaseVerdict::LeftOpen.to_string(), "left-open");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum CaseVerdict {
    /// It said OK.
    Ok,
    /// It said Error.
    Error,
    /// The connection ended without a reply. The server lives.
    Closed,
    /// Nothing came in time. The server lives, and answers others once the connection is closed.
    Silent,
    /// The case did not wait for an answer. The server lives.
    Left,
    /// The process ended.
    Crash,
    /// It does not answer a complete `ProcessInfo` any more, though its process is there.
    Hang,
    /// Nobody listens at its endpoint any more. Its process is there, or it is unknown whether it is.
    EndpointGone,
    /// Bytes without a header came: memory of the server (F-71).
    Leaked,
    /// The reply, or what belongs to it, is malformed.
    Malformed,
    /// The connection stayed open behind a reply that ends it, and a descriptor is lost (F-74).
    LeftOpen,
    /// It took a request whose header is none.
    Unchecked,
    /// Its memory grows with the requests. No case alone comes to this.
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

    /// Whether no server may do so.
    pub const fn is_finding(self) -> bool {
        !matches!(self, Self::Ok | Self::Error | Self::Closed | Self::Silent | Self::Left)
    }

    /// Whether the server serves nobody any more.
    pub const fn is_fatal(self) -> bool {
        matches!(self, Self::Crash | Self::Hang | Self::EndpointGone)
    }
}

impl fmt::Display for CaseVerdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
