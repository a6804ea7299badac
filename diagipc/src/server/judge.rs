//! The verdict about a case: [`decide`] gets all observations, and its verdict is final.

use std::collections::BTreeSet;

use dotnet_diagnostics_ipc::command::Command;
use dotnet_diagnostics_ipc::hresult::HResult;
use dotnet_diagnostics_ipc_vectors::player::{Conversation, Difference};
use dotnet_diagnostics_ipc_vectors::script::Deviation;
use dotnet_diagnostics_ipc_vectors::{ExpectedResult, Hazard, Test, Value};

use super::abilities::{Abilities, Lack};
use super::expectation::Expectation;
use super::facts::{CaseFacts, PlayEnd};
use super::request::Reaction;
use super::unanswered::{asked, crash};
use super::{Death, Options, ServerCase, ServerCaseKind, answer_faults, consistency};
use crate::conversation::{Exchange, Exchanges, FaultSeen, ReplyKind, is_cut};
use crate::faults::Fault;
use crate::known::{CaseOutcome, Effect, Family, Layer, Profile, Request, Row, explain, harm_of};
use crate::{Case, CaseFault, Detail, Grade, KnownDeviation, Playable as _, Turn};

/// What is known of a target before a case is played.
pub(super) struct Known<'o> {
    pub(super) options: &'o Options,
    pub(super) profile: Profile,
    pub(super) abilities: &'o Abilities,
    /// The commands that the target has answered with an OK.
    pub(super) served: BTreeSet<Command>,
}

#[derive(Clone, Debug)]
pub(crate) struct Verdict {
    pub(super) grade: Grade,
    pub(crate) deviation: Option<KnownDeviation>,
    pub(super) found: Vec<String>,
    /// The faults; not empty only with [`Grade::Fail`].
    pub(super) faults: Vec<FaultSeen>,
    /// The target's behaviour, independent of the profile.
    pub(super) outcome: Option<CaseOutcome>,
}

impl Verdict {
    pub(super) const fn new(grade: Grade, found: Vec<String>) -> Self {
        Self { grade, deviation: None, found, faults: Vec::new(), outcome: None }
    }

    fn fail(text: String, faults: Vec<FaultSeen>) -> Self {
        Self { faults, ..Self::new(Grade::Fail, [text].into()) }
    }

    fn of_fault(seen: FaultSeen) -> Self {
        Self::fail(seen.text.clone(), [seen].into())
    }

    /// Whether a time-out is the only reason for failure.
    pub(super) fn is_late(&self, facts: &CaseFacts<'_>) -> bool {
        let timed_out = facts.has_timed_out();
        let may_come_later = [Fault::StreamEmpty, Fault::AdvertiseWrong];
        let is_late = |seen: &FaultSeen| {
            seen.is_time_out() || timed_out && may_come_later.contains(&seen.fault)
        };
        self.grade == Grade::Fail
            && self.deviation.is_none()
            && if self.faults.is_empty() { timed_out } else { self.faults.iter().all(is_late) }
    }

    pub(super) fn known(fact: &str, text: &str, found: Vec<String>) -> Self {
        let deviation = Some(KnownDeviation { fact: fact.into(), text: text.into() });
        Self { deviation, ..Self::new(Grade::Informational, found) }
    }

    /// Returns the verdict for a row of the table. A fault of the runtime is a named failure.
    pub(super) fn of_row(row: &Row, found: Vec<String>) -> Self {
        let mut known = Self::known(row.fact, row.text, found);
        if row.fault {
            known.grade = Grade::Fail;
            known.found.push(format!("a known fault of this runtime, {}: {}", row.fact, row.text));
        }
        known
    }

    /// Returns the verdict about a target that does not support a command.
    fn unknown_command(command: Option<Command>) -> Self {
        let name =
            command.and_then(Command::name).map_or_else(String::new, |name| format!("{name}: "));
        Self::new(Grade::Unimplemented, [format!("{name}DS_IPC_E_UNKNOWN_COMMAND")].into())
    }

    /// Adds faults in the bytes, which are a failure unless this behaviour of the target is known.
    fn with_faults(mut self, faults: Vec<FaultSeen>) -> Self {
        match self.grade {
            Grade::Pass | Grade::PassLenient if !faults.is_empty() => {
                self.grade = Grade::Fail;
                self.found.extend(faults.iter().map(|seen| seen.text.clone()));
                self.faults = faults;
            }
            Grade::Fail => self.faults = faults,
            _ => {}
        }
        self
    }

    fn may_be_habit(&self) -> bool {
        self.faults.iter().all(FaultSeen::may_be_habit)
    }

    pub(super) fn case(self, case: &ServerCase<'_>, conversation: &Conversation) -> Case {
        let (section, group, title) = (case.section(), case.group(), case.title());
        let mut entry = Case::new(&case.name(), &section, &group, &title, self.grade);
        (entry.spec, entry.level, entry.hazard) = (case.spec(), case.level(), case.hazard());
        entry.faults = self.faults.iter().map(CaseFault::from).collect();
        entry.deviation = self.deviation;
        entry.outcome = self.outcome.map(|outcome| outcome.to_string());
        if self.grade == Grade::Pass {
            return entry;
        }
        let expected = match case.kind {
            ServerCaseKind::Request { group, test } => {
                Expectation::of_vector(group, test).in_words()
            }
            ServerCaseKind::Script { script, .. } => {
                format!("as in script {}: diagipc explain {}", script.sc_id, script.name)
            }
        };
        let mut detail = Detail::conversation(Turn::all(conversation), &expected, self.found);
        // A message that was not sent cannot have harmed the target.
        if case.hazard() == Some(Hazard::Harmful) && conversation.has_bytes() {
            detail.about.extend(case.words().last().map(|word| harm_of(word)));
        }
        entry.detail = Some(detail);
        entry
    }
}

pub(super) fn decide(known: &Known<'_>, case: &ServerCase<'_>, facts: &CaseFacts<'_>) -> Verdict {
    let mut verdict = match &facts.end {
        PlayEnd::Lacks(Lack::Silent(found)) => {
            Verdict::of_fault(FaultSeen::new(Fault::NoAnswer, found))
        }
        PlayEnd::Lacks(Lack::Missing(found) | Lack::Unclaimed(found) | Lack::TimedOut(found)) => {
            Verdict::new(Grade::Unimplemented, [found.clone()].into())
        }
        PlayEnd::NotStarted(text) | PlayEnd::Unavailable(text) => {
            Verdict::fail(text.clone(), Vec::new())
        }
        PlayEnd::NotSent(difference) => {
            let fault = (*difference == Difference::NotConnected)
                .then(|| answer_faults::not_connected(&facts.exchanges));
            Verdict::fail(difference.to_string(), fault.into_iter().collect())
        }
        PlayEnd::Reacted(reaction) => of_request(known, case, facts, reaction),
        PlayEnd::AsWritten(deviation) => of_played_script(known, case, facts, *deviation),
        PlayEnd::Differs(failure, step) => {
            let is_served = |command| known.serves(Some(command));
            let arrives_in_pieces =
                case.sends_in_pieces() && case.wanted_commands().into_iter().all(is_served);
            let faults = step.map_or_else(Vec::new, |step| {
                let has_spelled_ports = case.spells_ports();
                answer_faults::faults_in_failure(
                    facts,
                    step,
                    failure,
                    arrives_in_pieces,
                    has_spelled_ports,
                )
            });
            let text = match facts.death {
                Some(death) => format!("{failure} (the target {death})"),
                None => failure.to_string(),
            };
            of_failed_script(known, case, facts, text, faults)
        }
    };
    if let (Some(reason), false) = (&facts.hangs, matches!(facts.end, PlayEnd::Lacks(_))) {
        verdict.found.push(reason.clone());
        // The hang after a script that fails may be known. Any other is a fault, and is tried again.
        if !matches!(facts.end, PlayEnd::Differs(..)) || verdict.deviation.is_none() {
            verdict.grade = Grade::Fail;
            verdict.deviation = None;
        }
    }
    name_unknown_command(known, facts, &mut verdict.faults);
    if let Some(crash) = verdict.faults.iter_mut().find(|seen| seen.fault == Fault::Crash) {
        let asked = facts.exchanges.last_asked().map(asked);
        let after = asked.unwrap_or_else(|| "a connection without a byte".to_owned());
        crash.text = format!("{} after {after}{}", crash.text, facts.last_words);
    }
    if let Some(fact) = habit_of_script(known.profile, case, &facts.exchanges) {
        let lives = facts.death.or(facts.death_after).is_none();
        if verdict.grade == Grade::Fail && lives && verdict.may_be_habit() {
            let judged = match &facts.hangs {
                Some(reason) => Verdict::fail(reason.clone(), Vec::new()),
                None => unspecified(fact, verdict.found),
            };
            verdict = Verdict { outcome: verdict.outcome, ..judged };
        }
    }
    if verdict.grade == Grade::Unimplemented {
        let is_required = known.options.require.iter().any(|glob| case.is_chosen(glob));
        let claims = |command| known.options.claims.claims(command) == Some(true);
        let is_claimed =
            facts.conversation.has_bytes() && case.wanted_commands().into_iter().any(claims);
        if is_required || is_claimed {
            let text = if is_required { "it is required" } else { "it is claimed" };
            verdict.grade = Grade::Fail;
            verdict.found.insert(0, text.to_owned());
        }
    }
    verdict
}

impl Known<'_> {
    /// Whether the target has answered the command with an OK.
    fn serves(&self, command: Option<Command>) -> bool {
        command.is_some_and(|command| self.served.contains(&command))
    }
}

/// Judges a reaction to a request.
fn of_request(
    known: &Known<'_>,
    case: &ServerCase<'_>,
    facts: &CaseFacts<'_>,
    reaction: &Reaction,
) -> Verdict {
    let ServerCaseKind::Request { group, test } = case.kind else {
        return Verdict::new(Grade::Fail, Vec::new());
    };
    let is_served = known.serves(Expectation::command_of(group));
    let expectation = Expectation { is_served, ..Expectation::of_vector(group, test) };
    let (profile, death) = (known.profile, facts.death);
    let habit = habit_of_request(profile, &expectation, test, reaction);
    let verdict = habit.filter(|_| death.is_none()).unwrap_or_else(|| {
        let mut faults =
            answer_faults::faults_in_answer(&facts.faults, &expectation, reaction, death);
        // A server that serves several requests per connection keeps it open, and answers them all.
        let of_open = [Fault::ConnectionLeftOpen, Fault::SecondReply];
        faults.retain(|seen| !(known.abilities.keeps_open && of_open.contains(&seen.fault)));
        judge(profile, &expectation, reaction, death).with_faults(faults)
    });
    match facts.death_after {
        Some(death) if verdict.grade != Grade::Fail && verdict.deviation.is_none() => {
            let died =
                Effect { answer: ReplyKind::Other, died: true, left_open: false, wrong: false };
            let outcome = Some(CaseOutcome::Answered(died));
            Verdict { outcome, ..Verdict::of_fault(crash(death)) }
        }
        _ => verdict,
    }
}

/// Judges a script that was played to its end.
fn of_played_script(
    known: &Known<'_>,
    case: &ServerCase<'_>,
    facts: &CaseFacts<'_>,
    deviation: Option<&Deviation>,
) -> Verdict {
    // A deviation may allow malformed replies.
    let mut faults = match deviation {
        None => facts.faults.clone(),
        Some(_) => Vec::new(),
    };
    if faults.is_empty() {
        faults.extend(facts.death_after.map(crash));
    }
    if !faults.is_empty() {
        let texts: Vec<&str> = faults.iter().map(|seen| seen.text.as_str()).collect();
        return of_failed_script(known, case, facts, texts.join("; "), faults);
    }
    match deviation {
        None => Verdict {
            outcome: Some(CaseOutcome::AsWritten),
            ..Verdict::new(Grade::Pass, Vec::new())
        },
        Some(deviation) => Verdict {
            outcome: Some(CaseOutcome::Deviated(deviation.fact.clone())),
            ..Verdict::known(&deviation.fact, &deviation.text, Vec::new())
        },
    }
}

/// Judges a script that failed: the target lacks the command, is known to fail here, or is faulty.
fn of_failed_script(
    known: &Known<'_>,
    case: &ServerCase<'_>,
    facts: &CaseFacts<'_>,
    text: String,
    faults: Vec<FaultSeen>,
) -> Verdict {
    let died = facts.death.or(facts.death_after).is_some();
    let seen = seen_in(case, &facts.exchanges, died);
    let row = seen.iter().find_map(|(request, seen)| {
        let is_harmful = died && case.hazard() == Some(Hazard::Harmful);
        let row = explain(known.profile, &Request { is_harmful, ..*request }, seen)?;
        // Behaviour of a program on its machine is covered by the script itself.
        (died || !matches!(row.layer, Layer::Host)).then_some((row, *seen))
    });
    let answer = row.map(|(_, seen)| seen).or_else(|| seen.last().map(|(_, seen)| *seen));
    let verdict = match row {
        _ if lacks_it(known, case, &facts.exchanges) => {
            Verdict::unknown_command(case.wanted_commands().first().copied())
        }
        Some((row, _)) => Verdict::of_row(row, [text].into()).with_faults(faults),
        None => Verdict::fail(text, faults),
    };
    Verdict { outcome: Some(CaseOutcome::Otherwise(answer)), ..verdict }
}

/// Whether the target answers that it does not support the command.
fn lacks_it(known: &Known<'_>, case: &ServerCase<'_>, exchanges: &Exchanges) -> bool {
    let has_it = |since| known.profile.has(since);
    let must_have = known.profile.is_known() && case.since().is_some_and(has_it);
    !must_have
        && !case.is_about_unknown_commands()
        && exchanges.has_error(HResult::UNKNOWN_COMMAND)
        && !exchanges.answered().any(|exchange| {
            exchange.reply.error() == Some(HResult::UNKNOWN_COMMAND)
                && known.serves(exchange.command())
        })
}

/// Corrects the fault if the refusal is the target's wrong answer to unknown commands, because then
/// the request was not misread.
fn name_unknown_command(known: &Known<'_>, facts: &CaseFacts<'_>, faults: &mut [FaultSeen]) {
    let is_unknown = |exchange: &Exchange| {
        let error = exchange.reply.error();
        !known.serves(exchange.command())
            && error.is_some()
            && error == known.abilities.wrong_unknown
    };
    let has_unknown = facts.exchanges.all.iter().any(is_unknown);
    for seen in faults.iter_mut().filter(|_| has_unknown) {
        if seen.fault == Fault::ValidRequestRefused {
            let text = format!("{}; or {}", seen.text, HResult::UNKNOWN_COMMAND);
            *seen = FaultSeen::new(Fault::WrongErrorCode, text);
        }
    }
}

/// Returns the target's answer to each request of a script, or only to the last one if it died.
fn seen_in(case: &ServerCase<'_>, exchanges: &Exchanges, died: bool) -> Vec<(Request, Effect)> {
    let in_pieces = case.sends_in_pieces();
    let seen = |answer| Effect { answer, died, left_open: false, wrong: false };
    if died {
        let request = exchanges.last_asked().and_then(|exchange| {
            Some(Request { in_pieces, ..Request::of(exchange.command()?, &exchange.sent) })
        });
        return request.into_iter().map(|request| (request, seen(ReplyKind::Other))).collect();
    }
    let answered = exchanges.answered().map(|exchange| {
        let command = exchange.command().unwrap_or(Command::OK);
        let request = if exchange.sent.is_empty() {
            Request::right(command)
        } else {
            Request::of(command, &exchange.sent)
        };
        let answer = exchange.reply.error().map_or(ReplyKind::Ok, ReplyKind::Error);
        (Request { in_pieces, ..request }, seen(answer))
    });
    answered.collect()
}

/// Grades the reaction to a request, apart from faults in its bytes. `death` is how the target
/// ended, if it did.
pub(crate) fn judge(
    profile: Profile,
    expectation: &Expectation<'_>,
    answered: &Reaction,
    death: Option<Death>,
) -> Verdict {
    let exchange = answered.exchange();
    let seen = Effect {
        answer: exchange.answer(),
        died: death.is_some(),
        left_open: answered.left_open,
        wrong: answered.is_wrong(),
    };
    let mut found = Vec::new();
    if expectation.by_the_document(profile, &seen).is_none() {
        found.push(match seen.answer {
            ReplyKind::Error(hresult) => format!("the reply is the error {hresult}"),
            ReplyKind::Ok => "the reply is OK".into(),
            ReplyKind::NoHeader | ReplyKind::Nothing | ReplyKind::Other => exchange.to_string(),
        });
    }
    found.extend(answered.wrong());
    if answered.left_open {
        found.push("the connection stays open".into());
    }
    found.extend(death.map(|death| format!("the target {death}")));
    let verdict = match expectation.grade(profile, &seen) {
        (_, Some(row)) => Verdict::of_row(row, found),
        (Grade::Unimplemented, None) => {
            Verdict::unknown_command(expectation.request.map(|request| request.command))
        }
        (grade, None) => Verdict::new(grade, found),
    };
    Verdict { outcome: Some(CaseOutcome::Answered(seen)), ..verdict }
}

/// The text for behaviour that the document leaves open.
const LEFT_OPEN: &str = "runtimes do this; the document leaves it open";

/// The fact that runtimes answer `StopTracing` with OK for any id.
const STOPS_ANY_ID: &str = "F-31";

/// The fact that runtimes have up to 64 sessions at a time.
const HAS_MANY_SESSIONS: &str = "F-32";

/// Returns the verdict about a server that differs from runtimes in what this fact describes.
fn unspecified(fact: &str, found: Vec<String>) -> Verdict {
    Verdict::known(fact, LEFT_OPEN, found)
}

/// Returns the fact about the habit that a failed script requires. Only runtimes must have it.
fn habit_of_script<'v>(
    profile: Profile,
    case: &ServerCase<'v>,
    exchanges: &Exchanges,
) -> Option<&'v str> {
    if profile.family() != Family::Strict {
        return None;
    }
    if consistency::is_refused_beside_another(exchanges) {
        return Some(HAS_MANY_SESSIONS);
    }
    let habit = case.habit()?;
    (habit != STOPS_ANY_ID || has_a_refused_stop(exchanges)).then_some(habit)
}

/// Returns the requirement of a request that only runtimes must meet, if the server does not.
fn habit_of_request(
    profile: Profile,
    expectation: &Expectation<'_>,
    test: &Test,
    answered: &Reaction,
) -> Option<Verdict> {
    if profile.family() != Family::Strict {
        return None;
    }
    let is_cut = test.wire.as_deref().is_some_and(is_cut);
    let command = expectation.request.map(|request| request.command);
    let (answer, error) = (answered.exchange().answer(), answered.exchange().reply.error());
    let (fact, found) = match (answer, answered.exchange().end()) {
        (ReplyKind::Other, Some(end)) if is_cut && answered.exchange().came.is_empty() => {
            ("F-69", format!("the input ends too early, and {end} without a reply"))
        }
        (ReplyKind::Error(_), _)
            if refuses_a_stop(command, error) && expectation.verdict != ExpectedResult::Invalid =>
        {
            (STOPS_ANY_ID, "a nonexistent session is refused".to_owned())
        }
        (ReplyKind::Ok, _) if has_a_name_of_nuls(test) => {
            ("P-43", "a name of NULs is not treated as empty".to_owned())
        }
        _ => return None,
    };
    let is_well_formed = !answered.is_wrong() && !answered.left_open;
    is_well_formed.then(|| unspecified(fact, [found].into()))
}

/// Whether `StopTracing` is refused because of its session, not because of its bytes.
fn refuses_a_stop(command: Option<Command>, error: Option<HResult>) -> bool {
    let of_bytes = [HResult::BAD_ENCODING, HResult::UNKNOWN_MAGIC, HResult::UNKNOWN_COMMAND];
    command == Some(Command::STOP_TRACING)
        && error.is_some_and(|hresult| !of_bytes.contains(&hresult))
}

/// Whether an error to `StopTracing`, as far as it was read, means only that.
fn has_a_refused_stop(exchanges: &Exchanges) -> bool {
    exchanges.all.iter().any(|exchange| {
        let hresult = exchange.reply.hresult.unwrap_or(HResult::FAIL);
        exchange.reply.code == Some(Command::ERROR)
            && refuses_a_stop(exchange.command(), Some(hresult))
    })
}

/// Whether only servers that end a string at its first NUL would refuse a request for its empty
/// provider name.
fn has_a_name_of_nuls(test: &Test) -> bool {
    let name = test.value.pointer("/providers/0/provider_name").and_then(Value::as_str);
    test.error.as_ref().is_some_and(|error| error.kind == "empty_provider_name")
        && name.is_some_and(|name| !name.is_empty())
}
