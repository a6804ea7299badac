//! Plays scenarios with a client, several at the same time, and grades the results.

use std::collections::BTreeMap;
use std::fs;
use std::num::NonZeroUsize;
use std::path::Path;
use std::process::Command;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

use dotnet_diagnostics_ipc::io::Canceller;
use dotnet_diagnostics_ipc_vectors::player::Player;

use super::facts::{Findings, Manner, ScenarioFacts, Weight, end_of};
use super::operations::{CommandLine, Running, UNSUPPORTED_STATUS};
use super::reclassify::reclassify;
use super::scenario::{Arguments, Flag, Scenario};
use super::scenario_player::{ScenarioPlayer, Stop};
use super::target::{ClientTarget, lacking};
use super::{Argument, Operations};
use crate::process::program::{Program, shown};
use crate::process::timeouts::{Limit, here};
use crate::suite::{self, CaseResult, Failure, RunLimits, Suite};
use crate::{Glob, Grade, Report};

/// The time limit of a script's step.
const STEP_TIMEOUT: Duration = Duration::from_secs(10);
/// The client's extra time for its start and end, in addition to its time limit.
const MARGIN: Duration = Duration::from_secs(3);
/// The factor by which a client's time limit is extended in scenarios where it should not give up.
const PATIENCE_FACTOR: u32 = 5;
/// The longest time that a client is told to wait where nothing will arrive.
const SHORT_PATIENCE: Duration = Duration::from_millis(1200);
/// How long a client may continue after its connections have ended.
const END_TIMEOUT: Duration = Duration::from_millis(200);
/// The minimum of the suite's own limits.
const MIN_OWN_LIMIT: Duration = Duration::from_secs(1);
/// The names of the levels, in the order of their numbers.
const LEVELS: [&str; 6] = ["LogAlways", "Critical", "Error", "Warning", "Informational", "Verbose"];

/// How scenarios are played.
#[derive(Clone, Debug)]
pub struct ClientOptions {
    /// How many clients run at the same time.
    pub jobs: NonZeroUsize,
    /// The operations that the client must support.
    pub require: Vec<Glob>,
    /// A program that only calls `stand_in`: the process behind `{pid}`. Windows does not use it,
    /// because a pipe belongs to the process that created it, which is this one.
    pub stand_in: Program,
    /// Ends the run early. The report then says that it was interrupted, and how many scenarios
    /// were not played.
    pub canceller: Option<Canceller>,
}

/// Plays `scenarios` with the client described by `operations`. Calls `done` with the name and the
/// grade of each case, in any order. Other cases may change that grade in the report.
///
/// On cancellation the current scenario is abandoned, and everything that was started is ended. The
/// report has the finished scenarios.
pub fn run(
    scenarios: &[Scenario],
    operations: &Operations,
    options: &ClientOptions,
    done: &(dyn Fn(&str, Grade) + Sync),
) -> Report {
    // A limitation of this system is neither a fault of the client nor a missing feature.
    let (mut turns, mut left_out) = (Vec::new(), BTreeMap::<String, usize>::new());
    for (nth, scenario) in scenarios.iter().enumerate() {
        match lacking(scenario) {
            None => turns.push(vec![nth]),
            Some(why) => *left_out.entry(why).or_default() += 1,
        }
    }
    let suite =
        ClientSuite { scenarios, operations, options, has_connected: AtomicBool::new(false) };
    let limits = RunLimits {
        jobs: options.jobs,
        fail_fast: false,
        max_time: None,
        canceller: options.canceller.as_ref(),
    };
    let waits = |nth: usize| match scenarios.get(nth) {
        Some(scenario) if scenario.waits_for_client_to_give_up() => SHORT_PATIENCE,
        Some(scenario) => scenario.waits(),
        None => Duration::ZERO,
    };
    let played = suite::run(&suite, turns, waits, &limits, None, &mut |nth, facts| {
        done(&suite.name(nth), facts.grade());
    });
    let mut report = Report::new("client", &operations.name);
    played.end_into(&mut report);
    report.notes.clone_from(&played.notes);
    let results = played.results.into_iter();
    let mut played: Vec<(&Scenario, ScenarioFacts)> =
        results.filter_map(|(nth, facts)| Some((scenarios.get(nth)?, facts))).collect();
    reclassify(&mut played);
    let note = |(why, count)| format!("{count} scenarios were not played: {why}");
    report.notes.extend(left_out.into_iter().map(note));
    for (scenario, facts) in played {
        report.add(facts.decide(scenario, &options.require));
    }
    report
}

/// The scenarios of a run, in the form that the suite runner plays.
struct ClientSuite<'r> {
    scenarios: &'r [Scenario],
    operations: &'r Operations,
    options: &'r ClientOptions,
    has_connected: AtomicBool,
}

impl Suite for ClientSuite<'_> {
    /// Starting a process takes longer than most scenarios, so a reusable one is kept.
    type Player = Option<ClientTarget>;
    type Result = ScenarioFacts;

    fn name(&self, nth: usize) -> String {
        self.scenarios.get(nth).map_or_else(String::new, |scenario| scenario.name.clone())
    }

    fn player(&self) -> Result<Option<ClientTarget>, String> {
        Ok(None)
    }

    fn play(
        &self,
        kept: &mut Option<ClientTarget>,
        nth: usize,
    ) -> Result<CaseResult<ScenarioFacts>, String> {
        let Some(scenario) = self.scenarios.get(nth) else {
            return Err(format!("there is no scenario {nth}"));
        };
        let facts = match command_line(scenario, self.operations) {
            Ok(line) => converse(scenario, &line, self.options, &self.has_connected, kept)
                .unwrap_or_else(ScenarioFacts::trouble),
            Err(lacks) => ScenarioFacts::lacking(lacks),
        };
        Ok(if facts.is_to_repeat() { CaseResult::Late(facts) } else { CaseResult::Done(facts) })
    }

    fn failure(&self, facts: &ScenarioFacts) -> Option<Failure> {
        let fails = facts.grade() == Grade::Fail;
        fails.then(|| Failure { kind: facts.kind(), found: facts.why() })
    }

    fn begin_again(&self, kept: &mut Option<ClientTarget>, _: usize) {
        *kept = None;
    }
}

/// Returns the command line for the scenario, or what the client does not support.
fn command_line(scenario: &Scenario, operations: &Operations) -> Result<CommandLine, String> {
    let operation = scenario.operation;
    let line =
        operations.get(operation).ok_or_else(|| format!("no operation {operation} is defined"))?;
    if let Some(program) = line.missing_program() {
        return Err(format!("the program {program} was not found"));
    }
    for needed in &scenario.needs {
        if !needed.iter().any(|argument| line.says(*argument)) {
            let names: Vec<_> = needed.iter().map(|argument| format!("{{{argument}}}")).collect();
            return Err(format!("the command line of {operation} has no {}", names.join(" or ")));
        }
    }
    if !scenario.is(Flag::Silent) {
        let (all, longest) = (scenario.waits(), scenario.longest_wait());
        if let Some(deadline) = line.deadline.filter(|deadline| all >= *deadline) {
            let (takes, waits) = (all.as_millis(), deadline.as_millis());
            return Err(format!(
                "the runtime takes {takes} ms in total, but the client waits {waits} ms for the whole reply"
            ));
        }
        if longest >= line.patience {
            let (takes, waits) = (longest.as_millis(), line.patience.as_millis());
            return Err(format!("the runtime takes {takes} ms, but the client waits {waits} ms"));
        }
    }
    Ok(line.with_patience(if scenario.waits_for_client_to_give_up() {
        line.patience.min(here(SHORT_PATIENCE))
    } else {
        // A busy machine must not make the client give up.
        line.patience.saturating_mul(PATIENCE_FACTOR)
    }))
}

/// Plays a scenario. The error says why it could not be tried.
fn converse(
    scenario: &Scenario,
    line: &CommandLine,
    options: &ClientOptions,
    has_connected: &AtomicBool,
    kept: &mut Option<ClientTarget>,
) -> Result<ScenarioFacts, String> {
    let mut target = match kept.take().filter(|_| scenario.decoys.is_empty()) {
        Some(target) => target,
        None => ClientTarget::start(&options.stand_in, &scenario.decoys)
            .map_err(|error| format!("the stand-in process cannot be started: {error}"))?,
    };
    let mut values = values(&scenario.arguments, &target)
        .map_err(|error| format!("a file for it cannot be written: {error}"))?;
    values.insert(Argument::PatienceMs, line.patience.as_millis().to_string());
    let words = line.words(&values);
    let mut command = Command::new(words.first().map_or("", String::as_str));
    command.args(words.iter().skip(1)).envs(&line.env).env("TMPDIR", target.tmpdir_of_client());
    if let Some(directory) = &line.cwd {
        command.current_dir(directory);
    }
    let mut network = target.network()?;
    if let Some(canceller) = &options.canceller {
        network = network.with_canceller(canceller.clone());
    }
    let mut client = Running::start(&mut command)
        .map_err(|error| format!("{} cannot be started: {error}", shown(&words)))?;

    let began = Instant::now();
    let gives_up = line.gives_up() + MARGIN;
    let whole = Limit::new(gives_up.saturating_add(scenario.waits()));
    let peer = network.peer();
    let mut player = ScenarioPlayer {
        player: Player::new(&mut network, STEP_TIMEOUT),
        client: &mut client,
        scenario,
        line,
        target: &target,
        gives_up,
        has_connected,
        peer,
        findings: Findings::default(),
        manner: Manner::default(),
        moves: scenario.moves.iter().cloned().collect(),
        advertised: BTreeMap::new(),
        requests: 0,
        leaves_unread: false,
        has_stopped: false,
    };
    let mut outcome = player.play();
    let mut limits = Vec::new();
    if outcome.is_ok() {
        limits.extend([whole, Limit::new(MARGIN)]);
        outcome = player.attend(&limits);
    }
    let conversation = player.so_far().clone();
    let (manner, mut findings) = (player.manner, std::mem::take(&mut player.findings));
    drop(player);
    // This comes while the process exists, even if it has ended.
    target.judge_decoys(&mut findings);
    // This closes everything still open, which a client may wait for.
    drop(network);
    limits.push(Limit::new(END_TIMEOUT));
    let ended = client.finish(&limits, options.canceller.as_ref());

    let took = began.elapsed();
    let mut facts = ScenarioFacts {
        findings,
        about: [format!("command line: {}", shown(&words)), end_of(&ended)].to_vec(),
        conversation,
        is_of_machine: took >= MIN_OWN_LIMIT.min(line.gives_up()),
        is_success: ended.is_success(),
        took,
        ..ScenarioFacts::default()
    };
    target.judge_decoys(&mut facts.findings);
    match outcome {
        _ if ended.cannot()
            && !manner.has_sent_request
            && facts.findings.iter().all(|one| one.weight == Weight::Note || one.is_unsent()) =>
        {
            facts.findings = Findings::default();
            facts.lacks = Some(format!("it cannot do this: exit status {UNSUPPORTED_STATUS}"));
        }
        Ok(()) => facts.judge_end(scenario, line, &ended, &target.output, manner),
        Err(Stop::Lacks(what)) => facts.lacks = Some(what),
        Err(Stop::Differs(fault, text)) => facts.findings.must(fault, text),
        Err(Stop::LeftOpen(fault, text)) => facts.findings.may(fault, text),
        Err(Stop::Over) => {}
    }
    // A client that failed may have left something running.
    *kept = Some(target).filter(|_| facts.grade() == Grade::Pass).and_then(ClientTarget::kept);
    Ok(facts)
}

/// Returns the arguments, completed with those of this target.
fn values(arguments: &Arguments, target: &ClientTarget) -> std::io::Result<Arguments> {
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
    if let Some(data) =
        arguments.get(&Argument::ClientData).and_then(|digits| hex::decode(digits).ok())
    {
        fs::write(&target.client_data, data)?;
        values.insert(Argument::ClientDataFile, text(&target.client_data));
    }
    values.extend(other_spellings(arguments));
    Ok(values)
}

fn other_spellings(arguments: &Arguments) -> Vec<(Argument, String)> {
    let number = |argument| arguments.get(&argument).and_then(|text| text.parse::<u64>().ok());
    let level = |level| LEVELS.get(usize::try_from(level).ok()?);
    let arguments_text = arguments.get(&Argument::Arguments);
    let quoted = |text: &String| {
        let (key, value) = text.split_once('=')?;
        let value = value.replace('\\', r"\\").replace('"', r#"\""#);
        Some(format!("{key}=\"{value}\""))
    };
    let seconds = number(Argument::DurationS);
    let all = [
        (Argument::TimeoutS, number(Argument::TimeoutMs).map(|ms| (ms / 1000).to_string())),
        (Argument::KeywordsHex, number(Argument::Keywords).map(|bits| format!("0x{bits:x}"))),
        (Argument::LevelName, number(Argument::Level).and_then(level).map(ToString::to_string)),
        (Argument::RundownBool, number(Argument::Rundown).map(|bits| (bits != 0).to_string())),
        (Argument::DurationHms, seconds.map(|seconds| format!("00:00:{seconds:02}"))),
        (Argument::DurationDhms, seconds.map(|seconds| format!("00:00:00:{seconds:02}"))),
        (Argument::ArgumentsKv, arguments_text.cloned()),
        (Argument::ArgumentsQuoted, arguments_text.map(|text| quoted(text).unwrap_or_default())),
    ];
    all.into_iter().filter_map(|(argument, value)| Some((argument, value?))).collect()
}

fn text(path: &Path) -> String {
    path.to_str().map_or_else(|| format!("{}", path.display()), ToOwned::to_owned)
}
