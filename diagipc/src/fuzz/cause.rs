//! Why something is a finding: the server's fault, and that in the request that caused it.

use dotnet_diagnostics_ipc_vectors::{Type, VectorFault};

use super::case::FuzzCase;
use super::verdict::CaseVerdict;
use crate::conversation::request_as;
use crate::faults::Fault;
use crate::server::Death;

/// The verdict of a case with this fault.
pub(super) const fn verdict_of(fault: Fault) -> CaseVerdict {
    match fault {
        Fault::Crash => CaseVerdict::Crash,
        Fault::Hang => CaseVerdict::Hang,
        Fault::EndpointGone => CaseVerdict::EndpointGone,
        Fault::Leaked => CaseVerdict::Leaked,
        Fault::ConnectionLeftOpen => CaseVerdict::LeftOpen,
        Fault::MagicUnchecked | Fault::SizeUnchecked => CaseVerdict::Unchecked,
        Fault::MemoryGrowth => CaseVerdict::MemoryGrowth,
        // In the bytes of a reply, or of its continuation.
        _ => CaseVerdict::Malformed,
    }
}

/// Whether the fault in the request distinguishes two of them.
pub(super) const fn depends_on_the_request(fault: Fault) -> bool {
    matches!(fault, Fault::Crash | Fault::Hang | Fault::EndpointGone | Fault::Leaked)
}

/// Whether the rules of the server suite can explain it for a runtime. They do not cover hangs or
/// headers.
pub(super) const fn may_be_known(fault: Fault) -> bool {
    !matches!(
        fault,
        Fault::Hang
            | Fault::EndpointGone
            | Fault::MemoryGrowth
            | Fault::MagicUnchecked
            | Fault::MagicWrong
            | Fault::SizeWrong
            | Fault::ReplyCut
            | Fault::ReplyCommandWrong
            | Fault::ReservedNotZero
    )
}

/// The fault in a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Defect {
    /// None.
    None,
    /// A command that is not in the document.
    UnknownCommand,
    /// It decodes, but is not canonical: bytes after the last field, a bool that is neither 0
    /// nor 1.
    NotCanonical,
    /// The kind of error with which a decoder, or its limits, refuses it.
    Refused(String),
}

impl Defect {
    fn of(message: &[u8]) -> Self {
        match request_as(None).decode(message) {
            Err(refusal) => Self::Refused(refusal.fault.kind),
            Ok(decoded) => match (decoded.limit, decoded.kind, decoded.canonical) {
                (Some(limit), ..) => Self::Refused(VectorFault::from(limit).kind),
                (None, Type::Unknown, _) => Self::UnknownCommand,
                (None, _, false) => Self::NotCanonical,
                (None, _, true) => Self::None,
            },
        }
    }

    fn name(&self) -> String {
        match self {
            Self::None => "right-request".to_owned(),
            Self::UnknownCommand => "unknown-command".to_owned(),
            Self::NotCanonical => "not-canonical".to_owned(),
            Self::Refused(kind) => kind.replace('_', "-"),
        }
    }
}

/// What two cases of one finding have in common, whatever their commands and mutations.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Cause {
    pub(super) fault: Fault,
    /// How the process ended, if known.
    pub(super) death: Option<Death>,
    /// `None` if it does not matter.
    defect: Option<Defect>,
}

impl Cause {
    pub(super) fn new(fault: Fault, death: Option<Death>, case: &FuzzCase) -> Self {
        let defect = depends_on_the_request(fault).then(|| Defect::of(&case.message));
        Self { fault, death, defect }
    }

    /// `crash:unexpected-end`, `magic-unchecked`, `string-without-nul`.
    pub(super) fn name(&self) -> String {
        match &self.defect {
            Some(defect) => format!("{}:{}", self.fault, defect.name()),
            None => self.fault.to_string(),
        }
    }
}

#[cfg(test)]
mod tests {
    use dotnet_diagnostics_ipc::command::Command;

    use super::*;
    use crate::fuzz::Delivery;

    fn case(message: &[u8]) -> FuzzCase {
        let (base, delivery) = (Command::PROCESS_INFO, Delivery::Whole);
        FuzzCase {
            number: 1,
            tc_id: 1,
            base,
            mutations: Vec::new(),
            message: message.to_vec(),
            delivery,
        }
    }

    #[test]
    fn cause_name_has_symptom_and_request_fault() {
        let name = |fault, message: &[u8]| Cause::new(fault, None, &case(message)).name();
        let crash = |message| name(Fault::Crash, message);
        assert_eq!(crash(b"DOTNET_IPC_V1\0\x14\0\x04\x00\0\0"), "crash:right-request");
        assert_eq!(crash(b"DOTNET_IPC_V1\0\x15\0\x04\x00\0\0\x07"), "crash:not-canonical");
        assert_eq!(crash(b"DOTNET_IPC_V1\0\x14\0\x01\x01\0\0"), "crash:unexpected-end");
        assert_eq!(name(Fault::Hang, b"DOTNET_IPC_V1\0\x14\0\x63\x01\0\0"), "hang:unknown-command");
        assert_eq!(
            name(Fault::EndpointGone, b"DOTNET_IPC_V2\0\x14\0\x04\x00\0\0"),
            "endpoint-gone:bad-magic"
        );
        // The reply is sufficient.
        assert_eq!(
            name(Fault::ReservedNotZero, b"DOTNET_IPC_V1\0\x14\0\x04\x00\0\0"),
            "reserved-not-zero"
        );
    }
}
