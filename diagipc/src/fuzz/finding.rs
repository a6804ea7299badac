//! Findings of a campaign, with the messages that cause them, and the summary of the campaign.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::time::Duration;

use dotnet_diagnostics_ipc::command::Command;
use dotnet_diagnostics_ipc::header::MAGIC;
use dotnet_diagnostics_ipc::message::encode_to_vec;
use dotnet_diagnostics_ipc::message::process::ProcessInfo;
use dotnet_diagnostics_ipc_vectors::script::{ClientPart, Plays, Script, Step, Target};
use dotnet_diagnostics_ipc_vectors::{Hazard, ScriptFile, Type, VectorFault};
use serde::Serialize;
use serde::ser::Serializer;
use serde_json::json;

use super::case::{Delivery, FuzzCase};
use super::mutation::NO_COMMANDS;
use super::play::{CaseVerdict, Observed};
use crate::conversation::request_as;
use crate::faults::Fault;
use crate::server::Death;
use crate::server::request::ON;
use crate::{Case, CaseFault, Grade, Interrupted, KnownDeviation, Report};

/// Whether findings of this fault differ by the defect of the request.
pub(super) const fn depends_on_the_request(fault: Fault) -> bool {
    matches!(fault, Fault::Crash | Fault::Hang | Fault::EndpointGone | Fault::Leaked)
}

/// Whether the server suite may know this fault of a runtime. It knows nothing of hangs or headers.
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

/// How the memory of a target grew, in KiB, as `VmRSS` of `/proc/PID/status`.
///
/// ```
/// use diagipc::fuzz::Growth;
///
/// let growth = Growth { before: 10_240, after: 42_240, requests: 128 };
/// assert_eq!(growth.to_string(), "its memory grew from 10240 to 42240 KiB in 128 requests, 250 KiB each");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Growth {
    /// The memory after warming up.
    pub before: u64,
    /// The memory afterwards.
    pub after: u64,
    /// The number of requests in between.
    pub requests: u64,
}

impl fmt::Display for Growth {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { before, after, requests } = self;
        let each = after.saturating_sub(*before).checked_div(*requests).unwrap_or_default();
        write!(
            f,
            "its memory grew from {before} to {after} KiB in {requests} requests, {each} KiB each"
        )
    }
}

/// What the cases of a finding have in common, whatever their commands and mutations.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct FindingCause {
    pub(super) fault: Fault,
    pub(super) death: Option<Death>,
    /// The defect of the request; `None` if it does not matter.
    defect: Option<String>,
}

impl FindingCause {
    pub(super) fn new(fault: Fault, death: Option<Death>, case: &FuzzCase) -> Self {
        let defect = depends_on_the_request(fault).then(|| defect_of(&case.message));
        Self { fault, death, defect }
    }

    /// Returns the name, such as `crash:unexpected-end`, `magic-unchecked` or `string-without-nul`.
    fn name(&self) -> String {
        match &self.defect {
            Some(defect) => format!("{}:{defect}", self.fault),
            None => self.fault.to_string(),
        }
    }

    /// Whether the target was observed to do this.
    pub(super) fn is_shown_by(&self, observed: &Observed) -> bool {
        observed.text_of(self.fault).is_some() && observed.death == self.death
    }
}

/// Returns the defect of a request: the kind of error of the decoder or of the limits, or another
/// name if neither refuses it.
fn defect_of(message: &[u8]) -> String {
    let refused = |kind: String| kind.replace('_', "-");
    match request_as(None).decode(message) {
        Err(refusal) => refused(refusal.fault.kind),
        Ok(decoded) => match (decoded.limit, decoded.kind, decoded.canonical) {
            (Some(limit), ..) => refused(VectorFault::from(limit).kind),
            (None, Type::Unknown, _) => "unknown-command".to_owned(),
            // The request has bytes after the last field, or a bool that is neither 0 nor 1.
            (None, _, false) => "not-canonical".to_owned(),
            (None, _, true) => "right-request".to_owned(),
        },
    }
}

/// A finding. There is one for each cause, which is the server's reaction and, if it matters, the
/// defect of the request.
#[derive(Clone, Debug)]
pub struct Finding {
    /// The number of the finding, from 1.
    pub number: u32,
    pub(super) cause: FindingCause,
    /// The causes of the cases that led to it, before minimising.
    pub(super) found: Vec<FindingCause>,
    pub(super) text: Option<String>,
    /// The first case that led to it.
    pub case: FuzzCase,
    /// The case with the shortest message that still leads to it.
    pub minimised: FuzzCase,
    /// Whether it was reproduced with a new target; `None` if none could be started.
    pub reproduced: Option<bool>,
    /// The number of messages tried to minimise it.
    pub tries: u32,
    /// The number of cases that led to it.
    pub times: u64,
    /// The known behaviour of this runtime that explains it.
    pub known: Option<KnownDeviation>,
    /// The growth of the target's memory, if that is the finding.
    pub memory: Option<Growth>,
    /// Requests of other commands with the same cause, each with its shortest message.
    pub further: Vec<Self>,
    /// The number of bytes received in the case of its script.
    pub(super) received: usize,
}

impl Finding {
    /// Returns the finding of a case, numbered after `others`.
    pub(super) fn new(others: &[Self], found: FindingCause, case: &FuzzCase) -> Self {
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

    /// Returns the identity, such as `crash:unexpected-end`, `magic-unchecked` or `size-wrong`.
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

    /// Returns the name for files, such as `crash-process-setenvironmentvariable-3`.
    pub fn name(&self) -> String {
        let words =
            format!("{} {} {}", self.verdict(), self.command(), self.number).to_ascii_lowercase();
        words.replace([' ', '/', '_'], "-")
    }

    pub(super) fn members(&self) -> impl Iterator<Item = &Self> {
        std::iter::once(self).chain(&self.further)
    }

    /// Whether a case of this command and cause is already counted.
    pub(super) fn has(&self, found: &FindingCause, command: Command) -> bool {
        self.members().any(|member| member.command() == command && member.found.contains(found))
    }

    /// Whether the other finding has the same cause, which is the same known behaviour, or else the
    /// same kind. A known finding hides only known ones, and one fact may cover several faults.
    pub(super) fn is_alike(&self, other: &Self) -> bool {
        match (&self.known, &other.known) {
            (Some(own), Some(others)) => own == others && self.verdict() == other.verdict(),
            (None, None) => self.cause == other.cause,
            _ => false,
        }
    }
}

/// Displays the finding in one line.
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
pub struct CommandVerdicts {
    /// The name of the command in the message.
    pub command: String,
    /// The number of cases with each verdict.
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
    /// The profile that explained findings.
    pub profile: Option<String>,
    /// The seed.
    pub seed: u64,
    /// The number of the first case.
    pub first: u64,
    /// The number of cases that were played.
    pub cases: u64,
    /// The number of times the target was started.
    pub starts: u64,
    /// The verdicts of each command, in the order of appearance.
    pub commands: Vec<CommandVerdicts>,
    /// The findings.
    pub findings: Vec<Finding>,
    /// The numbers of the findings that are accepted ([`accept`](Self::accept)).
    pub accepted: Vec<u32>,
    /// Accepted faults and commands that no longer exist.
    pub stale: Vec<String>,
    /// Why the target was lost before the last case.
    pub lost: Option<String>,
    /// Set if the canceller of its options ended the campaign early. Then `lost` is `None`.
    pub interrupted: Option<Interrupted>,
}

impl CampaignSummary {
    pub(super) fn count(&mut self, command: Command, verdict: CaseVerdict) {
        self.cases += 1;
        let command = format!("{command}");
        match self.commands.iter_mut().find(|row| row.command == command) {
            Some(row) => *row.verdicts.entry(verdict).or_default() += 1,
            None => self
                .commands
                .push(CommandVerdicts { command, verdicts: BTreeMap::from([(verdict, 1)]) }),
        }
    }

    /// Returns the findings as failed cases. Each cause and command is one, named after the
    /// command.
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

    /// Returns all names that its cases may have.
    pub fn case_names() -> BTreeSet<String> {
        let unknown = NO_COMMANDS.into_iter().map(Command::from_code);
        Command::known().chain(unknown).map(|command| command.to_string()).collect()
    }

    /// Marks as accepted what is accepted in `report`, which [`report`](Self::report) returned.
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

    /// Returns the number of cases with this verdict.
    pub fn of(&self, verdict: CaseVerdict) -> u64 {
        self.commands.iter().filter_map(|row| row.verdicts.get(&verdict)).sum()
    }
}

/// The name of the connection that tests whether the target still answers.
const PROBE: &str = "z";
/// The time in milliseconds without a byte after which a connection counts as left open.
const SILENCE_MS: u32 = 500;
/// The time in milliseconds that a process may take to end.
const END_TIMEOUT_MS: u32 = 10_000;

impl Finding {
    /// Returns an exchange script that leads to the finding. Its last step shows what no server may
    /// do. `within` is the target's time limit for an answer.
    pub fn script_file(&self, within: Duration) -> ScriptFile {
        let within_ms = u32::try_from(within.as_millis()).unwrap_or(u32::MAX).clamp(1, 60_000);
        let case = &self.minimised;
        let mut steps = case.steps();
        steps.extend(self.last_steps(within_ms));
        // A conversation begins with a message, and the server answers.
        let mut spec = Vec::from(["R-FLW-003".to_owned(), "R-FLW-004".to_owned()]);
        spec.extend(self.known.as_ref().map(|known| known.fact.clone()));
        let script = Script {
            sc_id: self.number,
            name: self.name(),
            comment: self.comment(),
            spec,
            since: self.command().since().map(|version| format!("{version}")),
            hazard: Some(Hazard::Harmful),
            plays: Plays::Client(ClientPart {
                target: Target::default(),
                habit: None,
                seen_on: Vec::new(),
                deviations: Vec::new(),
            }),
            steps,
        };
        let title = format!("A finding of diagipc fuzz-server: {}", self.command());
        ScriptFile::new(title, within_ms, Vec::from([script]))
    }

    fn comment(&self) -> String {
        let (bytes, death) = (
            self.minimised.message.len(),
            self.death().map(|death| format!(", the target {death}")),
        );
        let known = self.known.as_ref().map(|known| format!("; {}: {}", known.fact, known.text));
        format!(
            "{}: {}{} after {bytes} bytes, made from tcId {} by {}{}",
            self.command(),
            self.cause(),
            death.unwrap_or_default(),
            self.case.tc_id,
            self.mutation(),
            known.unwrap_or_default()
        )
    }

    /// Returns the steps that show the server's reaction.
    fn last_steps(&self, within_ms: u32) -> Vec<Step> {
        let steps = match self.verdict() {
            CaseVerdict::Crash => json!([
                { "on": ON, "drain": true },
                { "on": ON, "expect_end": "any", "within_ms": END_TIMEOUT_MS },
                { "expect_target": "dead", "within_ms": END_TIMEOUT_MS },
            ]),
            CaseVerdict::Hang => {
                let question = encode_to_vec(Command::PROCESS_INFO, &ProcessInfo {});
                json!([
                    { "on": ON, "end": "close" },
                    { "open": PROBE },
                    { "on": PROBE, "send": [hex::encode(question.unwrap_or_default())] },
                    { "on": PROBE, "expect_nothing": within_ms },
                ])
            }
            // No step can expect a missing listener, and received bytes do not matter.
            CaseVerdict::EndpointGone | CaseVerdict::MemoryGrowth => {
                json!([{ "on": ON, "drain": true }, { "on": ON, "end": "close" }])
            }
            CaseVerdict::Leaked => {
                let magic = MAGIC.get(..self.received).unwrap_or(&MAGIC);
                let not = hex::encode(magic);
                json!([{ "on": ON, "expect": [{ "any": magic.len(), "not": [not] }] }])
            }
            CaseVerdict::LeftOpen => {
                let size = json!({ "any": 2, "as": "size" });
                let rest = json!({ "until": "size", "most": u16::MAX });
                json!([
                    { "on": ON, "expect": [hex::encode(MAGIC), size, rest] },
                    { "on": ON, "expect_nothing": SILENCE_MS },
                ])
            }
            _ => json!([{ "on": ON, "expect": [{ "any": self.received.max(1) }] }]),
        };
        serde_json::from_value(steps).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::*;
    use crate::fuzz::Mutation;

    #[test]
    fn cause_name_has_symptom_and_request_fault() {
        let name = |fault, message: &[u8]| {
            FindingCause::new(fault, None, &FuzzCase::of(message, Delivery::Whole)).name()
        };
        let crash = |message| name(Fault::Crash, message);
        assert_eq!(crash(b"DOTNET_IPC_V1\0\x14\0\x04\x00\0\0"), "crash:right-request");
        assert_eq!(crash(b"DOTNET_IPC_V1\0\x15\0\x04\x00\0\0\x07"), "crash:not-canonical");
        assert_eq!(crash(b"DOTNET_IPC_V1\0\x14\0\x01\x01\0\0"), "crash:unexpected-end");
        assert_eq!(name(Fault::Hang, b"DOTNET_IPC_V1\0\x14\0\x63\x01\0\0"), "hang:unknown-command");
        assert_eq!(
            name(Fault::EndpointGone, b"DOTNET_IPC_V2\0\x14\0\x04\x00\0\0"),
            "endpoint-gone:bad-magic"
        );
        // The reply is enough.
        assert_eq!(
            name(Fault::ReservedNotZero, b"DOTNET_IPC_V1\0\x14\0\x04\x00\0\0"),
            "reserved-not-zero"
        );
    }

    const MAGIC_TEXT: &str = "444f544e45545f4950435f563100";

    fn finding(fault: Fault, received: usize) -> Finding {
        let case = FuzzCase::of(b"DOTNET_IPC_V1\0\x15\0\x04\x01\0\0\0", Delivery::Whole);
        let case = FuzzCase { number: 7, mutations: vec![Mutation::ExtraBytes], ..case };
        let death = (fault == Fault::Crash).then_some(Death::Signal(11));
        let new = Finding::new(&[], FindingCause::new(fault, death, &case), &case);
        Finding { number: 3, reproduced: Some(true), received, ..new }
    }

    /// Returns the steps after the two that send the message.
    fn steps(fault: Fault, seen: usize) -> Vec<Value> {
        let file = finding(fault, seen).script_file(Duration::from_millis(400));
        assert_eq!(
            (file.within_ms, file.scripts.len(), file.scripts[0].hazard),
            (400, 1, Some(Hazard::Harmful))
        );
        file.scripts[0].steps[2..].iter().map(|step| serde_json::to_value(step).unwrap()).collect()
    }

    #[test]
    fn last_steps_show_the_symptom() {
        let dies = json!({ "expect_target": "dead", "within_ms": 10_000 });
        assert_eq!(steps(Fault::Crash, 0).last(), Some(&dies));
        let asks = json!({ "on": "z", "send": [format!("{MAGIC_TEXT}140004000000")] });
        let hangs = [
            json!({ "on": "a", "end": "close" }),
            json!({ "open": "z" }),
            asks,
            json!({ "on": "z", "expect_nothing": 400 }),
        ];
        assert_eq!(steps(Fault::Hang, 0), hangs);
        // Rejecting as many bytes as the magic has is enough.
        for (seen, not) in [(5, &MAGIC_TEXT[..10]), (100, MAGIC_TEXT)] {
            assert_eq!(
                steps(Fault::Leaked, seen),
                [json!({ "on": "a", "expect": [{ "any": not.len() / 2, "not": [not] }] })]
            );
        }
        let open = steps(Fault::ConnectionLeftOpen, 24);
        assert_eq!(
            (open[0]["expect"][0].clone(), open[1].clone()),
            (json!(MAGIC_TEXT), json!({ "on": "a", "expect_nothing": 500 }))
        );
        let ends = [json!({ "on": "a", "drain": true }), json!({ "on": "a", "end": "close" })];
        assert_eq!(steps(Fault::MemoryGrowth, 0), ends);
        // A malformed reply is expected to be received, whatever it is.
        assert_eq!(
            steps(Fault::ReservedNotZero, 30),
            [json!({ "on": "a", "expect": [{ "any": 30 }] })]
        );
    }

    #[test]
    fn finding_prints_one_line() {
        let crash = finding(Fault::Crash, 0);
        assert_eq!(
            format!("{crash}"),
            "3 Process/ResumeRuntime: crash:not-canonical (the target was killed by signal 11) by extra-bytes in case 7; 21 bytes, of 21"
        );
        let text = |change: fn(&mut Finding)| {
            let mut one = finding(Fault::Hang, 0);
            change(&mut one);
            format!("{one}")
        };
        let begins = "3 Process/ResumeRuntime: hang:not-canonical by extra-bytes in case 7";
        assert_eq!(
            text(|one| one.reproduced = Some(false)),
            format!("{begins}; not reproduced with a new target, 21 bytes")
        );
        assert_eq!(text(|one| one.reproduced = None), format!("{begins}; 21 bytes"));
        let leak = text(|one| one.memory = Some(Growth { before: 100, after: 356, requests: 64 }));
        let figures = "(its memory grew from 100 to 356 KiB in 64 requests, 4 KiB each)";
        assert_eq!(
            leak,
            format!(
                "3 Process/ResumeRuntime: hang:not-canonical {figures} by extra-bytes in case 7; 21 bytes, of 21"
            )
        );
        let known = text(|one| {
            one.known = Some(KnownDeviation { fact: "F-71".to_owned(), text: "memory".to_owned() });
        });
        assert_eq!(known, format!("{begins}; 21 bytes, of 21; F-71: memory"));
    }
}
