//! A fault of a server as it was seen.

use std::fmt;

use dotnet_diagnostics_ipc::exchange::End;

use crate::CaseFault;
use crate::faults::Fault;

/// A fault seen in a case.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct FaultSeen {
    pub(crate) fault: Fault,
    /// The observation, with its values.
    pub(crate) text: String,
    /// Whether no server may do this, even where the document leaves details open.
    pub(crate) is_certain: bool,
}

impl FaultSeen {
    pub(crate) fn new(fault: Fault, text: impl Into<String>) -> Self {
        Self { fault, text: text.into(), is_certain: false }
    }

    /// That a reply is incomplete: the connection ended, or nothing more came in time.
    pub(super) fn cut(quiet: Option<End>, text: String) -> Self {
        match quiet {
            Some(End::TimedOut) => Self::new(Fault::NoAnswer, format!("{text} in time")),
            _ => Self::new(Fault::ReplyCut, text),
        }
    }

    /// Whether a correct server on a busy machine may look like this.
    pub(crate) const fn may_be_lateness(&self) -> bool {
        matches!(
            self.fault,
            Fault::NoAnswer
                | Fault::NoAnswerToUnknownCommand
                | Fault::NoAnswerToMalformedRequest
                | Fault::ClosesBeforeReply
                | Fault::ReplyCut
                | Fault::Crash
                | Fault::ConnectionLeftOpen
                | Fault::ConnectionReset
                | Fault::StreamDoesNotEnd
                | Fault::StreamEmpty
                | Fault::RequestInPiecesMisread
                | Fault::PortNotConnected
                | Fault::ValueDiffers
        )
    }
}

impl From<&FaultSeen> for CaseFault {
    fn from(seen: &FaultSeen) -> Self {
        Self { name: seen.fault.name().to_owned(), text: seen.text.clone() }
    }
}

/// `1 byte`, `2 bytes`.
#[derive(Clone, Copy)]
pub(crate) struct ByteCount(pub(crate) usize);

impl fmt::Display for ByteCount {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ending = if self.0 == 1 { "" } else { "s" };
        write!(f, "{} byte{ending}", self.0)
    }
}
