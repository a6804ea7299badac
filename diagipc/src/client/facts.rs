//! The observations of playing a scenario: findings about requests, the end of the client, its
//! output and its messages. [`ScenarioFacts::decide`] turns them into the case of the report.

use std::path::{Path, PathBuf};
use std::time::Duration;
use std::{fs, io};

use dotnet_diagnostics_ipc_vectors::player::Conversation;

use super::Argument;
use super::operations::{CommandLine, Ended};
use super::scenario::{Exit, ExpectedOutput, Flag, Scenario};
use crate::faults::Fault;
use crate::{Case, CaseFault, Detail, Glob, Grade, Playable as _, Turn};

/// The severity of a finding.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Weight {
    /// The client does more than its task, which is reported but is not a failure.
    Note,
    /// The document leaves open whether this is wrong.
    May,
    /// The behaviour is wrong.
    Must,
}

/// An observation about a client.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct ClientFinding {
    pub(super) weight: Weight,
    pub(super) text: String,
    pub(super) fault: Option<Fault>,
    /// Whether this concerns the bytes of a request that a runtime accepts. Such a finding recurs
    /// in every scenario with that request.
    pub(super) is_of_request: bool,
}

impl ClientFinding {
    /// Whether the finding is only that nothing was sent.
    pub(super) fn is_unsent(&self) -> bool {
        self.fault.is_some_and(|fault| UNSENT.contains(&fault))
    }
}

/// All observations in order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Findings(Vec<ClientFinding>);

impl Findings {
    fn add(&mut self, weight: Weight, fault: Option<Fault>, text: impl Into<String>) {
        let finding = ClientFinding { weight, text: text.into(), fault, is_of_request: false };
        if !self.0.contains(&finding) {
            self.0.push(finding);
        }
    }

    pub(super) fn must(&mut self, fault: impl Into<Option<Fault>>, text: impl Into<String>) {
        self.add(Weight::Must, fault.into(), text);
    }

    /// Adds a finding about something that the document leaves open.
    pub(super) fn may(&mut self, fault: impl Into<Option<Fault>>, text: impl Into<String>) {
        self.add(Weight::May, fault.into(), text);
    }

    /// Adds an error, unless the document leaves it open (`is_open`).
    pub(super) fn must_unless(
        &mut self,
        is_open: bool,
        fault: impl Into<Option<Fault>>,
        text: impl Into<String>,
    ) {
        self.add(if is_open { Weight::May } else { Weight::Must }, fault.into(), text);
    }

    /// Adds a note on something beyond the task.
    pub(super) fn note(&mut self, text: impl Into<String>) {
        self.add(Weight::Note, None, text);
    }

    /// Adds findings about the bytes of a request. If `goes_on`, a runtime accepts the request.
    pub(super) fn take_of_request(&mut self, findings: Self, goes_on: bool) {
        self.0.extend(
            findings
                .0
                .into_iter()
                .map(|finding| ClientFinding { is_of_request: goes_on, ..finding }),
        );
    }

    pub(super) fn extend(&mut self, findings: Self) {
        self.0.extend(findings.0);
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &ClientFinding> {
        self.0.iter()
    }

    pub(super) fn iter_mut(&mut self) -> impl Iterator<Item = &mut ClientFinding> {
        self.0.iter_mut()
    }

    /// Sets the fault of all findings for which `is_it` returns true.
    pub(super) fn rename(&mut self, fault: Fault, is_it: impl Fn(&ClientFinding) -> bool) {
        for finding in self.0.iter_mut().filter(|finding| is_it(finding)) {
            finding.fault = Some(fault);
        }
    }

    pub(super) fn is_bad(&self) -> bool {
        self.0.iter().any(|finding| finding.weight == Weight::Must)
    }

    pub(super) fn has(&self, fault: Fault) -> bool {
        self.0.iter().any(|finding| finding.fault == Some(fault))
    }

    /// Returns the named faults, each once.
    pub(super) fn faults(&self) -> Vec<Fault> {
        let mut faults = Vec::new();
        let named = self.0.iter().filter(|finding| finding.weight != Weight::Note);
        for fault in named.filter_map(|finding| finding.fault) {
            if !faults.contains(&fault) {
                faults.push(fault);
            }
        }
        faults
    }

    /// Returns the grade of a scenario that has only these findings.
    pub(super) fn grade(&self) -> Grade {
        match self.0.iter().map(|finding| finding.weight).max() {
            None | Some(Weight::Note) => Grade::Pass,
            Some(Weight::May) => Grade::Informational,
            Some(Weight::Must) => Grade::Fail,
        }
    }

    #[cfg(test)]
    pub(super) fn texts(&self) -> Vec<&str> {
        self.0.iter().map(|finding| finding.text.as_str()).collect()
    }
}

/// Behaviour of the client that is not an error, but affects how it ends.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Manner {
    /// The client did not continue after a complete reply.
    pub(super) waits_for_more: bool,
    /// The client has everything it needs, but closes the connection only at its time limit.
    pub(super) waits_for_the_end: bool,
    pub(super) has_sent_request: bool,
}

/// The finding about a client that fails where it must not.
pub(super) const REPORTS_FAILURE: &str = "it reports failure, expected success";
/// The finding about a client that does not fail where it must.
pub(super) const REPORTS_SUCCESS: &str = "it reports success, expected failure";

/// The faults of a client that sends nothing.
pub(super) const UNSENT: [Fault; 4] = [
    Fault::NeverConnects,
    Fault::ProcessNotFound,
    Fault::NothingSent,
    Fault::LargestMessageRefused,
];

/// The observations of playing a scenario.
#[derive(Default)]
pub(super) struct ScenarioFacts {
    /// Why the client does not support the scenario; `None` if it does.
    pub(super) lacks: Option<String>,
    pub(super) findings: Findings,
    /// How the client was started and how it ended, one line each.
    pub(super) about: Vec<String>,
    pub(super) conversation: Conversation,
    /// Whether this machine may be the cause: a limit of the client or the suite was reached, or a
    /// program could not be started.
    pub(super) is_of_machine: bool,
    pub(super) is_success: bool,
    pub(super) took: Duration,
}

impl ScenarioFacts {
    /// Returns the facts about a client that cannot be given this task.
    pub(super) fn lacking(what: String) -> Self {
        Self { lacks: Some(what), ..Self::default() }
    }

    /// Returns the facts about a scenario that could not be tried.
    pub(super) fn trouble(what: String) -> Self {
        let mut findings = Findings::default();
        findings.must(None, what);
        Self { findings, is_of_machine: true, ..Self::default() }
    }

    /// Whether the scenario failed, but may pass if nothing else runs at the same time.
    pub(super) fn is_to_repeat(&self) -> bool {
        self.is_of_machine && self.grade() == Grade::Fail
    }

    /// Returns what failed, by the names of the faults if there are any.
    pub(super) fn kind(&self) -> String {
        let names: Vec<&str> = self.findings.faults().iter().map(|fault| fault.name()).collect();
        names.join(" ")
    }

    pub(super) fn why(&self) -> String {
        let texts: Vec<&str> = self.findings.iter().map(|finding| finding.text.as_str()).collect();
        texts.join("; ")
    }

    pub(super) fn grade(&self) -> Grade {
        if self.lacks.is_some() && !self.findings.is_bad() {
            Grade::Unimplemented
        } else {
            self.findings.grade()
        }
    }

    /// Decides the grade, the faults and the text of the scenario.
    pub(super) fn decide(self, scenario: &Scenario, require: &[Glob]) -> Case {
        let mut grade = self.grade();
        let mut found: Vec<String> =
            self.lacks.filter(|_| grade == Grade::Unimplemented).into_iter().collect();
        if grade == Grade::Unimplemented && require.iter().any(|glob| scenario.is_chosen(glob)) {
            grade = Grade::Fail;
            found.insert(0, "it is required".to_owned());
        }
        // What is reported in addition to the reasons for a failure.
        let mut about = Vec::new();
        for finding in self.findings.iter() {
            let text = match finding.weight {
                Weight::Note => format!("note: {}", finding.text),
                Weight::May => format!("left open: {}", finding.text),
                Weight::Must => finding.text.clone(),
            };
            let is_beside =
                grade == Grade::Fail && self.findings.is_bad() && finding.weight != Weight::Must;
            if is_beside { &mut about } else { &mut found }.push(text);
        }
        if grade == Grade::Fail {
            about.extend(self.about);
        }
        let faults = if grade == Grade::Pass { Vec::new() } else { self.findings.faults() };
        let (name, title) = (&scenario.name, &scenario.title);
        let (section, operation) = (scenario.section(), scenario.operation.name());
        let mut case = Case::new(name, section, operation, title, grade);
        let of_faults = faults.iter().flat_map(|fault| fault.spec()).map(ToString::to_string);
        for one in scenario.spec.iter().cloned().chain(of_faults) {
            if !case.spec.contains(&one) {
                case.spec.push(one);
            }
        }
        case.level = scenario.level();
        let seen = |fault: &Fault| {
            let of_it =
                |one: &&ClientFinding| one.fault == Some(*fault) && one.weight != Weight::Note;
            let seen = self.findings.iter().find(of_it);
            CaseFault::new(fault.name(), seen.map_or_else(|| fault.sentence(), |one| &one.text))
        };
        case.faults = faults.iter().map(seen).collect();
        let detail = Detail::conversation(Turn::all(&self.conversation), expected(scenario), found);
        case.detail = Some(Detail { about, ..detail });
        case.took = self.took;
        case
    }

    /// Judges how the client ended, its output and its messages.
    pub(super) fn judge_end(
        &mut self,
        scenario: &Scenario,
        line: &CommandLine,
        ended: &Ended,
        output_path: &Path,
        manner: Manner,
    ) {
        let before = self.findings.is_bad();
        let findings = &mut self.findings;
        let has_failed = match (ended.status, scenario.exit) {
            (None, _) => {
                let fault = match () {
                    () if scenario.is(Flag::Silent) => Fault::NoReadTimeout,
                    () if manner.waits_for_more && scenario.ok_size == Some(20) => {
                        Fault::ReplySizeIgnored
                    }
                    () => Fault::RunsOn,
                };
                // A client that kept its connection forever is already reported.
                let is_known =
                    findings.has(Fault::NoReadTimeout) || findings.has(Fault::ReadsUntilClose);
                let text =
                    format!("it still ran after {} ms, and was killed", ended.after.as_millis());
                match () {
                    () if is_known => findings.note(text),
                    () if scenario.is_of_no_runtime() => findings
                        .may(fault, format!("{text}: it may wait at its port for another runtime")),
                    () => findings.must(fault, text),
                }
                true
            }
            (Some(_), _) if ended.signal().is_some() => {
                findings.must(Fault::Crash, "a signal ends it");
                true
            }
            (Some(_), Exit::Success) if !ended.is_success() => {
                let by_manner = match () {
                    () if before && findings.has(Fault::RequestRepeated) => {
                        Some(Fault::RequestRepeated)
                    }
                    () if manner.waits_for_more => Some(Fault::ReplySizeIgnored),
                    () if manner.waits_for_the_end => Some(Fault::ReadsUntilClose),
                    () => None,
                };
                let is_plain = scenario.is(Flag::Plain) && !before;
                let fault =
                    by_manner.or(scenario.reveals).or(is_plain.then_some(Fault::OkTakenForError));
                findings.must(fault, REPORTS_FAILURE);
                true
            }
            (Some(_), Exit::Failure) if ended.is_success() => {
                findings.must_unless(scenario.is(Flag::Open), scenario.reveals, REPORTS_SUCCESS);
                true
            }
            _ => false,
        };
        if has_failed || before {
            return;
        }
        if scenario.exit == Exit::Failure {
            check_messages(scenario, ended, findings);
        }
        // A client that refuses the request writes nothing.
        if let (Some(output), Some(kind), true) =
            (&scenario.output, line.output, ended.is_success())
        {
            let bytes = if line.says(Argument::Output) {
                output_file(output_path)
            } else {
                Ok(ended.stdout.clone())
            };
            match bytes {
                Ok(bytes) => findings.extend(output.judge(kind, &bytes)),
                Err(_) if matches!(output, ExpectedOutput::Stream { may_be_cut: true, .. }) => {}
                Err(error) => {
                    findings.must(output.lost(kind), format!("it writes no output file: {error}"));
                }
            }
        }
    }
}

/// Reads the client's output file. The client may have added an extension to its name.
fn output_file(output: &Path) -> io::Result<Vec<u8>> {
    let missing = match fs::read(output) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => error,
        other => return other,
    };
    let all = output.parent().map(fs::read_dir).transpose()?.into_iter().flatten().flatten();
    let mut paths = all.map(|entry| entry.path());
    let is_it = |path: &PathBuf| path.file_stem() == output.file_name();
    paths.find(is_it).map_or(Err(missing), fs::read)
}

/// Checks what the client should print about an error. The document leaves open whether it must.
fn check_messages(scenario: &Scenario, ended: &Ended, findings: &mut Findings) {
    let said = [&ended.stdout[..], &ended.stderr[..]].concat();
    let said = String::from_utf8_lossy(&said).to_lowercase();
    if let Some(code) = scenario.refused_with.filter(|_| scenario.is(Flag::SaysCode)) {
        let spellings = [format!("{:x}", code.0), code.0.to_string(), code.to_i32().to_string()];
        if !spellings.iter().any(|one| said.contains(one.as_str())) {
            findings.may(
                Fault::HresultNotReported,
                format!("its output does not contain the code 0x{:08X}", code.0),
            );
        }
    }
    let is_missing = |text: &&String| !said.contains(&text.to_lowercase());
    if let Some(text) = scenario.says_text.as_ref().filter(is_missing) {
        findings
            .may(Fault::ErrorTextNotTold, format!("its output does not contain the text {text:?}"));
    }
}

const fn expected(scenario: &Scenario) -> &'static str {
    match scenario.exit {
        Exit::Success => "the correct request, and exit status 0",
        Exit::Failure => "an exit status other than 0, in time",
        Exit::Any => "the correct request, and an end in time",
    }
}

pub(super) fn end_of(ended: &Ended) -> String {
    let status =
        ended.status.map_or_else(|| "it did not end".to_owned(), |status| status.to_string());
    let stderr = String::from_utf8_lossy(&ended.stderr);
    let lines: Vec<&str> = stderr.trim().lines().map(str::trim).collect();
    if lines.concat().is_empty() {
        status
    } else {
        format!("{status}; on standard error: {}", lines.join(" | "))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn grade_equals_worst_finding() {
        let mut findings = Findings::default();
        assert_eq!(findings.grade(), Grade::Pass);
        findings.note("ResumeRuntime is also sent");
        assert_eq!((findings.grade(), findings.faults().len()), (Grade::Pass, 0));
        findings.may(Fault::NoReadTimeout, "it waits");
        assert_eq!((findings.grade(), findings.is_bad()), (Grade::Informational, false));
        findings.must(Fault::NoReadTimeout, "it waits again");
        assert_eq!(
            (findings.grade(), findings.faults()),
            (Grade::Fail, [Fault::NoReadTimeout].to_vec())
        );
    }
}
