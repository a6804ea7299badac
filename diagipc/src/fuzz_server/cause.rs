//! Why something is a finding: the server's reaction, and the fault in the request that caused it.

use dotnet_diagnostics_ipc::vectors::{ReadAs, Type, VectorFault};

use super::case::FuzzCase;
use super::verdict::CaseVerdict;
use crate::faults::Fault;
use crate::server::Death;

/// Something that no server may do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Symptom {
    /// Its process ended.
    Crash(Option<Death>),
    /// It no longer answers anybody.
    Hang,
    /// Its endpoint has no listener any more, and its process is alive, as far as known.
    EndpointGone,
    /// It sent bytes without a header.
    Leaked,
    /// The connection stays open after a final reply.
    LeftOpen,
    /// A request without the magic was accepted.
    MagicUnchecked,
    /// A request whose size is below that of a header was accepted.
    SizeUnchecked,
    /// A fault in the bytes of a reply, or of its continuation, as in the server suite.
    Reply(Fault),
    /// Its memory grows with each request.
    MemoryGrowth,
}

impl Symptom {
    pub(super) const fn verdict(&self) -> CaseVerdict {
        match self {
            Self::Crash(_) => CaseVerdict::Crash,
            Self::Hang => CaseVerdict::Hang,
            Self::EndpointGone => CaseVerdict::EndpointGone,
            Self::Leaked => CaseVerdict::Leaked,
            Self::LeftOpen => CaseVerdict::LeftOpen,
            Self::MagicUnchecked | Self::SizeUnchecked => CaseVerdict::Unchecked,
            Self::Reply(_) => CaseVerdict::Malformed,
            Self::MemoryGrowth => CaseVerdict::MemoryGrowth,
        }
    }

    /// Whether the fault in the request distinguishes two of them.
    pub(super) const fn depends_on_the_request(&self) -> bool {
        matches!(self, Self::Crash(_) | Self::Hang | Self::EndpointGone | Self::Leaked)
    }

    /// Whether the rules of the server suite can explain it for a runtime. They do not cover hangs
    /// or headers.
    pub(super) fn may_be_known(&self) -> bool {
        match self {
            Self::Crash(_) | Self::Leaked | Self::LeftOpen | Self::SizeUnchecked => true,
            Self::Reply(fault) => {
                let of_headers = [
                    Fault::MagicWrong,
                    Fault::SizeWrong,
                    Fault::ReplyCut,
                    Fault::ReplyCommandWrong,
                    Fault::ReservedNotZero,
                ];
                !of_headers.contains(fault)
            }
            Self::Hang | Self::EndpointGone | Self::MagicUnchecked | Self::MemoryGrowth => false,
        }
    }

    /// Its row in the table.
    const fn fault(&self) -> Fault {
        match self {
            Self::Crash(_) => Fault::Crash,
            Self::Hang => Fault::Hang,
            Self::EndpointGone => Fault::EndpointGone,
            Self::Leaked => Fault::Leaked,
            Self::LeftOpen => Fault::ConnectionLeftOpen,
            Self::MagicUnchecked => Fault::MagicUnchecked,
            Self::SizeUnchecked => Fault::SizeUnchecked,
            Self::Reply(fault) => *fault,
            Self::MemoryGrowth => Fault::MemoryGrowth,
        }
    }
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
        match (ReadAs { kind: Type::Request, command: None, from_server: false }).decode(message) {
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
    pub(super) symptom: Symptom,
    /// `None` if it does not matter.
    defect: Option<Defect>,
}

impl Cause {
    pub(super) fn new(symptom: Symptom, case: &FuzzCase) -> Self {
        let defect = symptom.depends_on_the_request().then(|| Defect::of(&case.message));
        Self { symptom, defect }
    }

    /// `crash:unexpected-end`, `magic-unchecked`, `string-without-nul`.
    pub(super) fn name(&self) -> String {
        match (&self.symptom, &self.defect) {
            (symptom, Some(defect)) => format!("{}:{}", symptom.fault(), defect.name()),
            (symptom, None) => symptom.fault().to_string(),
        }
    }
}

#[cfg(test)]
mod tests {
    use dotnet_diagnostics_ipc::command::Command;

    use super::*;
    use crate::fuzz_server::Delivery;

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
        let name = |symptom, message: &[u8]| Cause::new(symptom, &case(message)).name();
        let crash = || Symptom::Crash(Some(Death::Signal(11)));
        assert_eq!(name(crash(), b"DOTNET_IPC_V1\0\x14\0\x04\x00\0\0"), "crash:right-request");
        assert_eq!(name(crash(), b"DOTNET_IPC_V1\0\x15\0\x04\x00\0\0\x07"), "crash:not-canonical");
        assert_eq!(name(crash(), b"DOTNET_IPC_V1\0\x14\0\x01\x01\0\0"), "crash:unexpected-end");
        assert_eq!(
            name(Symptom::Hang, b"DOTNET_IPC_V1\0\x14\0\x63\x01\0\0"),
            "hang:unknown-command"
        );
        assert_eq!(
            name(Symptom::EndpointGone, b"DOTNET_IPC_V2\0\x14\0\x04\x00\0\0"),
            "endpoint-gone:bad-magic"
        );
        // The reply is sufficient.
        assert_eq!(
            name(Symptom::Reply(Fault::ReservedNotZero), b"DOTNET_IPC_V1\0\x14\0\x04\x00\0\0"),
            "reserved-not-zero"
        );
    }
}
