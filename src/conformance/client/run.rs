//! Plays scenarios with a client, several at a time, and grades what came of them.

use alloc::{
    borrow::ToOwned as _,
    format,
    string::{String, ToString},
    vec::Vec,
};
use core::num::NonZeroUsize;
use core::sync::atomic::{AtomicUsize, Ordering};
use core::time::Duration;
use std::fs;
use std::process::Command;
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::Instant;

use super::conversation::{Conversation, Stop};
use super::operations::CommandLine;
use super::process::{Ended, Running};
use super::scenario::{Arguments, Exit, Output, Scenario};
use super::target::{StandIn, Target, text};
use super::{Argument, ClientFault, Operations};
use crate::conformance::player::{Player, Transcript};
use crate::conformance::{Case, CaseFault, Detail, Glob, Grade, Interrupted, Report, Turn};
use crate::io::Canceller;

/// How long a step of a script may take.
const WITHIN: Duration = Duration::from_secs(10);
/// What a client may need beside its patience: to start, and to end.
const MARGIN: Duration = Duration::from_secs(3);
/// How long a client may go on where all is lost.
const LOST: Duration = Duration::from_millis(200);
/// How many scenarios at least wait at a time whose runtime is silent.
const SILENT_AT_A_TIME: usize = 16;

/// How scenarios are played.
#[derive(Clone, Debug)]
pub struct Options {
    /// How many clients run at a time.
    pub jobs: NonZeroUsize,
    /// What the client must have.
    pub require: Vec<Glob>,
    /// The process behind `{pid}`.
    pub stand_in: StandIn,
    /// Whether every client ends by itself soon after its runtime is gone. Any other one is told by the system to end with this process,
    /// where that can be said (Linux); it costs a copy of this process's memory tables for each start.
    pub ends_with_runtime: bool,
    /// What ends the run early: the report then says that it was interrupted, and how many scenarios were not played.
    pub canceller: Option<Canceller>,
}

impl Options {
    fn is_cancelled(&self) -> bool {
        self.canceller.as_ref().is_some_and(Canceller::is_cancelled)
    }
}

impl Scenario {
    /// Whether a pattern chooses it: by name, section or operation.
    pub fn is_chosen(&self, glob: &Glob) -> bool {
        [self.name.as_str(), self.section.as_str(), self.operation.name()].iter().any(|text| glob.matches(text))
    }
}

/// What came of one scenario.
struct Verdict {
    grade: Grade,
    found: Vec<String>,
    fault: Option<ClientFault>,
    transcript: Transcript,
}

/// Plays `scenarios` with the client that `operations` describes. `done` is called with each case that is graded, in any order.
///
/// Where the canceller of `options` is used, what is being played is given up, and what was started is ended. The report has the
/// scenarios that were over.
pub fn run(scenarios: &[Scenario], operations: &Operations, options: &Options, done: &(dyn Fn(&Case) + Sync)) -> Report {
    let (silent, others): (Vec<usize>, Vec<usize>) =
        (0..scenarios.len()).partition(|nth| scenarios.get(*nth).is_some_and(|scenario| scenario.is_silent));
    let cases: Mutex<Vec<(usize, Case)>> = Mutex::new(Vec::new());
    let work = |list: &[usize], next: &AtomicUsize| {
        while let Some(nth) = list.get(next.fetch_add(1, Ordering::Relaxed)) {
            let Some(scenario) = scenarios.get(*nth).filter(|_| !options.is_cancelled()) else { return };
            let verdict = play(scenario, operations, options);
            if options.is_cancelled() {
                // It may have gone another way for that.
                return;
            }
            let case = graded(scenario, verdict, &options.require);
            done(&case);
            cases.lock().unwrap_or_else(PoisonError::into_inner).push((*nth, case));
        }
    };
    let (next_silent, next) = (AtomicUsize::new(0), AtomicUsize::new(0));
    thread::scope(|scope| {
        for _ in 0..silent.len().min(options.jobs.get().max(SILENT_AT_A_TIME)) {
            scope.spawn(|| work(&silent, &next_silent));
        }
        for _ in 0..others.len().min(options.jobs.get()) {
            scope.spawn(|| work(&others, &next));
        }
    });
    let mut cases = cases.into_inner().unwrap_or_else(PoisonError::into_inner);
    cases.sort_by_key(|(nth, _)| *nth);
    let played: Vec<&Scenario> = cases.iter().filter_map(|(nth, _)| scenarios.get(*nth)).collect();
    let mut cases: Vec<Case> = cases.into_iter().map(|(_, case)| case).collect();
    name_by_sizes(&played, &mut cases);
    let mut report = Report::new("client", &operations.name);
    let not_run = scenarios.len().saturating_sub(cases.len());
    report.interrupted = (options.is_cancelled() && not_run > 0).then_some(Interrupted { not_run });
    for case in cases {
        report.add(case);
    }
    report
}

/// Which sizes of an OK a client takes says which fault it has. `cases` are those of `scenarios`, in their order.
fn name_by_sizes(scenarios: &[&Scenario], cases: &mut [Case]) {
    let grade_of = |cases: &[Case], size, operation| {
        let of = |scenario: &Scenario| scenario.ok_size == Some(size) && scenario.operation == operation;
        scenarios.iter().zip(cases).find(|(scenario, _)| of(scenario)).map(|(_, case)| case.grade)
    };
    let insists_on_24 = |cases: &[Case], operation| {
        let grades = [20, 24, 28].map(|size| grade_of(cases, size, operation));
        grades == [Some(Grade::Fail), Some(Grade::Pass), Some(Grade::Fail)]
    };
    let fault = ClientFault::ReplyOf24InsistedOn;
    for (nth, scenario) in scenarios.iter().enumerate().filter(|(_, scenario)| matches!(scenario.ok_size, Some(20 | 28))) {
        let named = insists_on_24(cases, scenario.operation);
        let Some(case) = cases.get_mut(nth).filter(|case| named && case.faults.is_empty()) else { continue };
        case.faults.push(CaseFault::new(fault.name(), fault.sentence()));
    }
}

fn graded(scenario: &Scenario, verdict: Verdict, require: &[Glob]) -> Case {
    let Verdict { mut grade, mut found, fault, transcript } = verdict;
    if grade == Grade::Unimplemented && require.iter().any(|glob| scenario.is_chosen(glob)) {
        grade = Grade::Fail;
        found.insert(0, "it is required".to_owned());
    }
    let mut spec = scenario.spec.clone();
    spec.extend(fault.iter().flat_map(|fault| fault.spec()).map(ToString::to_string));
    let mut known = Vec::new();
    spec.retain(|one| {
        !known.contains(one) && {
            known.push(one.clone());
            true
        }
    });
    let mut case = Case::new(&scenario.name, &scenario.section, scenario.operation.name(), &scenario.title, grade);
    case.spec = spec;
    case.faults = fault.iter().map(|fault| CaseFault::new(fault.name(), fault.sentence())).collect();
    case.detail =
        (grade != Grade::Pass).then(|| Detail::conversation(transcript.0.iter().map(Turn::from), expected(scenario), found));
    case
}

fn expected(scenario: &Scenario) -> &'static str {
    match scenario.exit {
        Exit::Zero => "the request as it was asked for, and exit status 0",
        Exit::NonZero => "an exit status other than 0, in time",
        Exit::Any => "the request as it was asked for, and an end in time",
    }
}

fn play(scenario: &Scenario, operations: &Operations, options: &Options) -> Verdict {
    let verdict = |grade, text: String| Verdict { grade, found: Vec::from([text]), fault: None, transcript: Transcript::default() };
    let line = match told(scenario, operations) {
        Ok(line) => line,
        Err(lacks) => return verdict(Grade::Unimplemented, lacks),
    };
    match converse(scenario, line, options) {
        Ok(verdict) => verdict,
        Err(trouble) => verdict(Grade::Fail, trouble),
    }
}

/// The command line that tells the client all that the scenario needs, or what it lacks.
fn told<'o>(scenario: &Scenario, operations: &'o Operations) -> Result<&'o CommandLine, String> {
    let operation = scenario.operation;
    let line = operations.get(operation).ok_or_else(|| format!("there is no operation {operation}"))?;
    for needed in &scenario.needs {
        if !needed.iter().any(|argument| line.says(*argument)) {
            let names: Vec<_> = needed.iter().map(|argument| format!("{{{argument}}}")).collect();
            return Err(format!("the command line of {operation} has no {}", names.join(" or ")));
        }
    }
    if !scenario.is_silent && scenario.longest_wait() >= line.patience {
        let (takes, waits) = (scenario.longest_wait().as_millis(), line.patience.as_millis());
        return Err(format!("the runtime takes {takes} ms, and the client waits {waits} ms"));
    }
    Ok(line)
}

fn converse(scenario: &Scenario, line: &CommandLine, options: &Options) -> Result<Verdict, String> {
    let target = Target::start(&options.stand_in).map_err(|error| format!("no process for it: {error}"))?;
    let values = values(&scenario.arguments, &target).map_err(|error| format!("no file for it: {error}"))?;
    let words = line.words(&values);
    let mut command = Command::new(words.first().map_or("", String::as_str));
    command.args(words.iter().skip(1)).envs(&line.env).env("TMPDIR", target.directory());
    if let Some(directory) = &line.cwd {
        command.current_dir(directory);
    }
    let mut network = target.network()?;
    if let Some(canceller) = &options.canceller {
        network = network.with_canceller(canceller.clone());
    }
    let mut client = Running::start(&mut command, options.ends_with_runtime)
        .map_err(|error| format!("{} cannot be started: {error}", words.join(" ")))?;

    let began = Instant::now();
    let gives_up = line.patience.saturating_add(MARGIN);
    let player = Player::new(&mut network, WITHIN);
    let mut conversation = Conversation::new(player, &mut client, scenario, line, &target.port, gives_up);
    let outcome = conversation.play();
    let (transcript, waits) = (conversation.transcript().clone(), conversation.waits_for_more);
    drop(conversation);
    // What is still open ends here: a client may wait for that.
    drop(network);
    let whole = gives_up.saturating_add(scenario.waits());
    let deadline = match outcome {
        Ok(()) => began.checked_add(whole).map(|deadline| deadline.max(later(MARGIN))),
        Err(_) => None,
    };
    let ended = client.finish(deadline.unwrap_or_else(|| later(LOST)), options.canceller.as_ref());

    let mut verdict = Verdict { grade: Grade::Fail, found: Vec::new(), fault: None, transcript };
    match outcome {
        Ok(()) => verdict.judge_end(scenario, line, &ended, &target, waits),
        Err(Stop::Lacks(what)) => {
            verdict.grade = Grade::Unimplemented;
            verdict.found.push(what);
        }
        Err(Stop::Differs(found, fault)) => {
            verdict.found = found;
            verdict.fault = fault;
        }
    }
    if verdict.grade == Grade::Fail {
        verdict.found.push(format!("it was told: {}", shortened(&words.join(" "), 300)));
        verdict.found.push(how(&ended));
    }
    Ok(verdict)
}

fn later(time: Duration) -> Instant {
    let now = Instant::now();
    now.checked_add(time).unwrap_or(now)
}

/// The arguments, with those that are of this target.
fn values(arguments: &Arguments, target: &Target) -> std::io::Result<Arguments> {
    let mut values = arguments.clone();
    let paths = [
        (Argument::Socket, &target.socket),
        (Argument::Output, &target.output),
        (Argument::Port, &target.port),
        (Argument::UserEventsData, &target.user_events_data),
    ];
    values.extend(paths.map(|(argument, path)| (argument, text(path))));
    values.insert(Argument::Tmpdir, text(target.directory()));
    values.insert(Argument::Pid, target.process_id().to_string());
    if let Some(data) = arguments.get(&Argument::ClientData).and_then(|digits| hex::decode(digits).ok()) {
        fs::write(&target.client_data, data)?;
        values.insert(Argument::ClientDataFile, text(&target.client_data));
    }
    if let Some(ms) = arguments.get(&Argument::TimeoutMs).and_then(|ms| ms.parse::<u32>().ok()) {
        values.insert(Argument::TimeoutS, (ms / 1000).to_string());
    }
    Ok(values)
}

impl Verdict {
    /// Judges how the client ended, and what it gave out. `waits_for_more`: behind a whole reply it did not go on.
    fn judge_end(&mut self, scenario: &Scenario, line: &CommandLine, ended: &Ended, target: &Target, waits_for_more: bool) {
        match (ended.status, scenario.exit) {
            (None, _) => {
                self.found.push(format!("it runs on after {} ms", ended.after.as_millis()));
                self.fault = scenario.is_silent.then_some(ClientFault::NoReadTimeout);
            }
            (Some(_), _) if ended.signal().is_some() => self.found.push("a signal ends it".to_owned()),
            (Some(_), Exit::Zero) if !ended.is_success() => {
                self.found.push("all was well, and it ends as if it were not".to_owned());
                self.fault = scenario.reveals.or(waits_for_more.then_some(ClientFault::ReplySizeIgnored));
            }
            (Some(_), Exit::NonZero) if ended.is_success() => {
                self.found.push("it ends as if all were well, and it was not".to_owned());
                self.fault = scenario.reveals;
            }
            _ => {}
        }
        if let (Some(output), Some(_), true) = (&scenario.output, line.output, self.found.is_empty()) {
            let bytes = if line.says(Argument::Output) { fs::read(&target.output) } else { Ok(ended.stdout.clone()) };
            match bytes {
                Ok(bytes) => {
                    let judgement = output.judge(&bytes);
                    self.found = judgement.found;
                    self.fault = judgement.fault;
                }
                Err(_) if matches!(output, Output::BeginOfStream(_)) => {}
                Err(error) => self.found.push(format!("it gives out no file: {error}")),
            }
        }
        if self.found.is_empty() {
            self.grade = Grade::Pass;
        }
    }
}

/// How it ended, and what it said last.
fn how(ended: &Ended) -> String {
    let status = ended.status.map_or_else(|| "it did not end".to_owned(), |status| status.to_string());
    let stderr = String::from_utf8_lossy(&ended.stderr);
    let last: Vec<&str> = stderr.trim().lines().rev().take(3).collect();
    let last = last.into_iter().rev().collect::<Vec<_>>().join(" | ");
    if last.is_empty() { status } else { format!("{status}; on standard error: {}", shortened(&last, 300)) }
}

fn shortened(text: &str, most: usize) -> String {
    match text.char_indices().nth(most) {
        Some((cut, _)) => format!("{}… ({} bytes)", text.get(..cut).unwrap_or_default(), text.len()),
        None => text.to_owned(),
    }
}
