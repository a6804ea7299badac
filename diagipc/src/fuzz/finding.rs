//! Findings: what no server may do, and the messages that cause it; and the summary of a campaign.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use dotnet_diagnostics_ipc::command::Command;
use dotnet_diagnostics_ipc_vectors::{Type, VectorFault};
use serde::Serialize;
use serde::ser::Serializer;
use serde_json::json;

use super::case::{Delivery, FuzzCase};
use super::memory::Growth;
use super::mutation::NO_COMMANDS;
use super::play::{CaseVerdict, Observed};
use crate::conversation::request_as;
use crate::faults::Fault;
use crate::server::Death;
use crate::{Case, CaseFault, Grade, Interrupted, KnownDeviation, Report};

/// Whether the defect of the request distinguishes two findings of this fault.
pub(super) const fn depends_on_the_request(fault: Fault) -> bool {
    matches!(fault, Fault::Crash | Fault::Hang | Fault::EndpointGone | Fault::Leaked)
}

/// Whether the rules of the server suite can explain a fault for a runtime. They do not cover hangs
/// or headers.
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

/// What two cases of one finding have in common, whatever their commands and mutations.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Cause {
    pub(super) fault: Fault,
    /// How the process ended, if known.
    pub(super) death: Option<Death>,
    /// The defect of the request; `None` if it does not matter.
    defect: Option<String>,
}

impl Cause {
    pub(super) fn new(fault: Fault, death: Option<Death>, case: &FuzzCase) -> Self {
        let defect = depends_on_the_request(fault).then(|| defect_of(&case.message));
        Self { fault, death, defect }
    }

    /// Returns its name: `crash:unexpected-end`, `magic-unchecked`, `string-without-nul`.
    fn name(&self) -> String {
        match &self.defect {
            Some(defect) => format!("{}:{defect}", self.fault),
            None => self.fault.to_string(),
        }
    }

    /// Whether the target did this.
    pub(super) fn is_shown_by(&self, observed: &Observed) -> bool {
        observed.text_of(self.fault).is_some() && observed.death == self.death
    }
}

/// Returns the defect of a request: the kind of error with which a decoder, or its limits, refuses
/// it, or what else is wrong with it.
fn defect_of(message: &[u8]) -> String {
    let refused = |kind: String| kind.replace('_', "-");
    match request_as(None).decode(message) {
        Err(refusal) => refused(refusal.fault.kind),
        Ok(decoded) => match (decoded.limit, decoded.kind, decoded.canonical) {
            (Some(limit), ..) => refused(VectorFault::from(limit).kind),
            (None, Type::Unknown, _) => "unknown-command".to_owned(),
            // Bytes after the last field, or a bool that is neither 0 nor 1.
            (None, _, false) => "not-canonical".to_owned(),
            (None, _, true) => "right-request".to_owned(),
        },
    }
}

/// A finding: one for each cause, which is the server's reaction and, if it matters, the fault in
/// the request.
#[derive(Clone, Debug)]
pub struct Finding {
    /// From 1.
    pub number: u32,
    pub(super) cause: Cause,
    /// The cases that lead to it, before shortening.
    pub(super) found: Vec<Cause>,
    /// The observation, with its numbers.
    pub(super) text: Option<String>,
    /// The first case that led to it.
    pub case: FuzzCase,
    /// The shortest that still does.
    pub minimised: FuzzCase,
    /// Whether it was repeated with a target started for it. `None`: none could be started.
    pub reproduced: Option<bool>,
    /// How many messages were tried to shorten it.
    pub tries: u32,
    /// How many cases led to it.
    pub times: u64,
    /// The fact that explains it for this runtime.
    pub known: Option<KnownDeviation>,
    /// How the memory of the target grew, if that is the finding.
    pub memory: Option<Growth>,
    /// Requests of other commands with the same cause, each with its shortest message.
    pub further: Vec<Self>,
    /// How many bytes were received in the case of its script.
    pub(super) received: usize,
}

impl Finding {
    /// A finding by one case, after `others`.
    pub(super) fn new(others: &[Self], found: Cause, case: &FuzzCase) -> Self {
        let before = others.iter().flat_map(Self::members).count();
        Self {
            number: u32::try_from(before).unwrap_or(u32::MAX).saturating_add(1),
            cause: found.clone(),
            found: Vec::from([found]),
            text: None,
            minimised: case.clone(),
            case: case.clone(),
            reproduced: None,
            tries: 0,
            times: 1,
            known: None,
            memory: None,
            further: Vec::new(),
            received: 0,
        }
    }

    /// Returns the command of its messages.
    pub fn command(&self) -> Command {
        self.case.command()
    }

    /// Returns the server's reaction.
    pub const fn verdict(&self) -> CaseVerdict {
        CaseVerdict::of(self.cause.fault)
    }

    /// Returns its identity: `crash:unexpected-end`, `magic-unchecked`, `size-wrong`.
    pub fn cause(&self) -> String {
        self.cause.name()
    }

    /// Returns the kinds of mutation.
    pub fn mutation(&self) -> String {
        self.case.mutation()
    }

    /// Returns how the server's process ended.
    pub const fn death(&self) -> Option<Death> {
        self.cause.death
    }

    /// Returns its name in file names: `crash-process-setenvironmentvariable-3`.
    pub fn name(&self) -> String {
        let words =
            format!("{} {} {}", self.verdict(), self.command(), self.number).to_ascii_lowercase();
        words.replace([' ', '/', '_'], "-")
    }

    /// Returns itself, and its further requests.
    pub(super) fn members(&self) -> impl Iterator<Item = &Self> {
        std::iter::once(self).chain(&self.further)
    }

    /// Whether a case of this command and cause is already counted.
    pub(super) fn has(&self, found: &Cause, command: Command) -> bool {
        self.members().any(|member| member.command() == command && member.found.contains(found))
    }

    /// Whether the other has the same cause: the same fact, if known, or else the same kind. A
    /// known finding hides only known ones.
    pub(super) fn is_alike(&self, other: &Self) -> bool {
        match (&self.known, &other.known) {
            (Some(own), Some(others)) => {
                own.fact == others.fact && self.verdict() == other.verdict()
            }
            (None, None) => self.cause == other.cause,
            _ => false,
        }
    }
}

/// Formats it as one line.
impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}: {}", self.number, self.command(), self.cause())?;
        if let Some(death) = self.death() {
            write!(f, " (the target {death})")?;
        }
        if let Some(growth) = &self.memory {
            write!(f, " ({growth})")?;
        }
        if let Some(text) = &self.text {
            write!(f, " ({text})")?;
        }
        write!(f, " by {} in case {}", self.mutation(), self.case.number)?;
        let len = self.case.message.len();
        match self.reproduced {
            Some(false) => write!(f, "; not reproduced with a new target, {len} bytes")?,
            None => write!(f, "; {len} bytes")?,
            Some(true) => write!(f, "; {} bytes, of {len}", self.minimised.message.len())?,
        }
        match &self.known {
            Some(known) => write!(f, "; {}: {}", known.fact, known.text),
            None => Ok(()),
        }
    }
}

impl Serialize for Finding {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let sent = |case: &FuzzCase| {
            let chunks =
                if let Delivery::Pieces(sizes) = &case.delivery { sizes.as_slice() } else { &[] };
            let message = hex::encode(&case.message);
            json!({ "message": message, "delivery": case.delivery.name(), "chunks": chunks })
        };
        let object = json!({
            "number": self.number,
            "name": self.name(),
            "cause": self.cause(),
            "text": self.text,
            "command": self.command().to_string(),
            "verdict": self.verdict(),
            "mutation": self.mutation(),
            "death": self.death(),
            "case": self.case.number,
            "tcId": self.case.tc_id,
            "times": self.times,
            "found": sent(&self.case),
            "minimised": sent(&self.minimised),
            "reproduced": self.reproduced,
            "known": self.known,
            "memory": self.memory,
            "further": self.further,
        });
        object.serialize(serializer)
    }
}

/// The cases of one command.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Row {
    /// The command, from its message.
    pub command: String,
    /// How many cases had which verdict.
    pub verdicts: BTreeMap<CaseVerdict, u64>,
}

/// The results of a campaign.
#[derive(Clone, Debug, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct CampaignSummary {
    /// The version of the format: 1.
    pub format: u32,
    /// The address of the target.
    pub target: String,
    /// What the target says about itself.
    pub runtime: Option<String>,
    /// The profile that explains findings.
    pub profile: Option<String>,
    /// The seed.
    pub seed: u64,
    /// The number of the first case.
    pub first: u64,
    /// How many cases were played.
    pub cases: u64,
    /// How often the target was started.
    pub starts: u64,
    /// By command, in the order of appearance.
    pub commands: Vec<Row>,
    /// The findings.
    pub findings: Vec<Finding>,
    /// The numbers of the findings that are accepted ([`accept`](Self::accept)).
    pub accepted: Vec<u32>,
    /// Accepted faults and commands that do not exist.
    pub stale: Vec<String>,
    /// Why it ended before the last case.
    pub lost: Option<String>,
    /// The canceller of its options ended it early. Then `lost` is `None`.
    pub interrupted: Option<Interrupted>,
}

impl CampaignSummary {
    pub(super) fn count(&mut self, command: Command, verdict: CaseVerdict) {
        self.cases += 1;
        let command = format!("{command}");
        match self.commands.iter_mut().find(|row| row.command == command) {
            Some(row) => *row.verdicts.entry(verdict).or_default() += 1,
            None => self.commands.push(Row { command, verdicts: BTreeMap::from([(verdict, 1)]) }),
        }
    }

    /// Returns the findings as failed cases: one for each cause and command, with the command as its name.
    ///
    /// ```
    /// use diagipc::fuzz::CampaignSummary;
    ///
    /// assert!(CampaignSummary::case_names().contains("Process/ProcessInfo"));
    /// ```
    pub fn report(&self) -> Report {
        let mut report = Report::new("fuzz-server", &self.target);
        for member in self.findings.iter().flat_map(Finding::members) {
            let command = member.command().to_string();
            let text = member.to_string();
            let mut case = Case::new(&command, &command, &command, &text, Grade::Fail);
            case.faults.push(CaseFault::new(&member.cause(), &text));
            report.add(case);
        }
        report
    }

    /// Returns the names that its cases may have.
    pub fn case_names() -> BTreeSet<String> {
        let unknown = NO_COMMANDS.into_iter().map(Command::from_code);
        Command::known().chain(unknown).map(|command| command.to_string()).collect()
    }

    /// Takes over what is accepted in the same [`report`](Self::report).
    pub fn accept(&mut self, report: &Report) {
        let is_accepted = |member: &Finding| {
            let (command, cause) = (member.command().to_string(), member.cause());
            let shows_it = |case: &&Case| {
                case.name == command && case.faults.iter().any(|fault| fault.name == cause)
            };
            report.cases.iter().filter(shows_it).all(|case| case.grade != Grade::Fail)
        };
        let all_accepted = |finding: &&Finding| finding.members().all(is_accepted);
        self.accepted =
            self.findings.iter().filter(all_accepted).map(|finding| finding.number).collect();
        self.stale.clone_from(&report.stale);
    }

    /// Returns the findings that are not accepted.
    pub fn failures(&self) -> impl Iterator<Item = &Finding> {
        self.findings.iter().filter(|finding| !self.accepted.contains(&finding.number))
    }

    /// Returns how many cases had this verdict.
    pub fn of(&self, verdict: CaseVerdict) -> u64 {
        self.commands.iter().filter_map(|row| row.verdicts.get(&verdict)).sum()
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
