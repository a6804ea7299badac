//! One case, played against one target, and its result.

use std::borrow::Cow;
use std::cell::Cell;
use std::collections::BTreeSet;
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use dotnet_diagnostics_ipc::command::Command;
use dotnet_diagnostics_ipc::hresult::HResult;
use dotnet_diagnostics_ipc_vectors::Hazard;
use dotnet_diagnostics_ipc_vectors::player::{
    Conversation, Difference, Failure, Network, Player, PlayerError,
};
use dotnet_diagnostics_ipc_vectors::script::{self, Life, Script, Step};

use super::abilities::Abilities;
use super::expectation::Expectation;
use super::judge::{self, Judgement};
use super::left_open;
use super::pace::{About, Pace, WITHIN};
use super::process_id::TargetProcess;
use super::request::{CLOSES, Patience};
use super::respawn::{BEGINS, is_suspended};
use super::spawn::RunsIn;
use super::survey::Survey;
use super::target::{Target, process_of};
use super::{
    Death, Options, ServerCase, ServerCaseKind, answer_faults, consistency, dump_path, request,
};
use crate::conversation::{Answer, Exchange, Exchanges, FaultSeen};
use crate::faults::Fault;
use crate::known::{Layer, Outcome, Profile, Request, Row, Seen, explain, harm_of, ways_of};
use crate::process::timeouts::Limit;
use crate::{Case, CaseFault, Detail, Grade, Playable as _, Turn};

/// How long a target whose start-up has not ended is left alone.
const STARTS: Duration = Duration::from_millis(100);

/// The result of a case.
#[derive(Clone, Debug)]
pub(super) enum Played {
    /// Its entry in the report.
    Case(Box<Case>),
    /// The same, but the time may be the cause of its failure: it is played again by itself.
    Late(Box<Case>),
    /// It could not be played here: the reason.
    Unavailable(String),
}

/// The result of one attempt.
struct Attempt {
    /// A script's failure; a request's judgement.
    result: Result<Judgement, Failed>,
    conversation: Conversation,
    /// The same, by connection.
    exchanges: Exchanges,
    /// How long it was played.
    took: Duration,
}

/// Why an attempt failed without a row of the table.
#[derive(Default)]
struct Failed {
    text: String,
    faults: Vec<FaultSeen>,
    /// The target ended.
    died: bool,
    /// This machine does not support the case.
    is_unavailable: bool,
}

impl Failed {
    fn unavailable(text: String) -> Self {
        Self { text, is_unavailable: true, ..Self::default() }
    }
}

/// Plays cases against a target.
pub(super) struct CasePlayer<'o> {
    pub(super) subject: Target,
    pub(super) options: &'o Options,
    profile: Profile,
    abilities: &'o Abilities,
    pace: Pace,
    /// The commands that were answered with an OK: they are known from then on.
    served: BTreeSet<Command>,
    /// Whether targets still answered that their start-up has not ended after all the time for it.
    never_starts: Cell<bool>,
    /// Why there is no target any more.
    lost: Option<String>,
}

impl<'o> CasePlayer<'o> {
    /// Plays to `subject`, about which `survey` is known.
    pub(super) fn new(subject: Target, survey: &'o Survey, options: &'o Options) -> Self {
        Self {
            subject,
            options,
            profile: survey.profile,
            abilities: &survey.abilities,
            pace: survey.pace.clone(),
            served: survey.abilities.served().collect(),
            never_starts: Cell::new(false),
            lost: None,
        }
    }

    /// Why the target was lost by the last case, which shows it.
    pub(super) fn lost(&mut self) -> Option<String> {
        self.lost.take()
    }

    /// Before a case is played again: silence is waited for as if it were the first.
    pub(super) fn begins_again(&mut self) {
        self.pace.forget_silence();
    }

    /// Plays a case; `Err` if the target is lost.
    pub(super) fn play(&mut self, case: &ServerCase<'_>) -> Result<Played, String> {
        let wants_own = case.cannot_share() || case.wants_own_target() && !self.options.keep_target;
        let own = wants_own && self.subject.can_spawn();
        let began = Instant::now();
        let attempt = self.attempt(case, own)?;
        let served = attempt.exchanges.answered().filter(|exchange| exchange.reply.is_ok());
        self.served.extend(served.filter_map(Exchange::command));
        if !attempt.fails() {
            self.pace.passed(about(case), attempt.took);
        } else if attempt.is_silent() && began.elapsed() >= self.whole(case) {
            self.pace.was_silent(about(case));
        }
        // A target that others use is harmed once.
        let may_be_late =
            !attempt.shows_wrong_bytes() && (own || case.hazard() != Some(Hazard::Harmful));
        if let Err(Failed { is_unavailable: true, text, .. }) = attempt.result {
            return Ok(Played::Unavailable(text));
        }
        let outcome = self.outcome(case, &attempt);
        let judgement = match attempt.result {
            Ok(judgement) => judgement,
            Err(_) if self.lacks_it(case, &attempt.exchanges) => Judgement::new(
                Grade::Unimplemented,
                [judge::lacks(case.wanted_commands().first().copied())].into(),
            ),
            Err(Failed { text, faults, died, .. }) => {
                match self.known(case, &attempt.exchanges, died) {
                    Some((row, _)) => Judgement::of_row(row, [text].into()).with_faults(faults),
                    None => Judgement::new(Grade::Fail, [text].into()).with_faults(faults),
                }
            }
        };
        let judgement = self.with_unknown_commands(judgement, &attempt.exchanges);
        let judgement = match left_open::of_script(self.profile, case, &attempt.exchanges) {
            Some(fact)
                if judgement.grade == Grade::Fail
                    && self.subject.death().is_none()
                    && judgement.may_be_habit() =>
            {
                left_open::known(fact, judgement.found)
            }
            _ => judgement,
        };
        let mut entry = entry(self.options, case, judgement, &attempt.conversation);
        entry.outcome = outcome.map(|outcome| outcome.to_string());
        let is_late = may_be_late && entry.grade == Grade::Fail && entry.deviation.is_none();
        Ok(if is_late { Played::Late(Box::new(entry)) } else { Played::Case(Box::new(entry)) })
    }

    /// A command that is refused like one that does not exist is not known: its request is not
    /// misread.
    fn with_unknown_commands(&self, mut judgement: Judgement, exchanges: &Exchanges) -> Judgement {
        let is_unknown = |exchange: &Exchange| {
            let is_served = exchange.command().is_some_and(|one| self.served.contains(&one));
            let error = exchange.reply.error();
            !is_served && error.is_some() && error == self.abilities.wrong_unknown
        };
        let has_unknown = exchanges.all.iter().any(is_unknown);
        for seen in judgement.faults.iter_mut().filter(|_| has_unknown) {
            if seen.fault == Fault::ValidRequestRefused {
                let text = format!("{}; or {}", seen.text, HResult::UNKNOWN_COMMAND);
                *seen = FaultSeen::new(Fault::WrongErrorCode, text);
            }
        }
        judgement
    }

    /// One attempt, and another with the script's own steps if a deviation does not match.
    fn attempt(&mut self, case: &ServerCase<'_>, own: bool) -> Result<Attempt, String> {
        match case.kind {
            ServerCaseKind::Request { group, test } => {
                let within = self.within(case);
                let (profile, keeps_open) = (self.profile, self.abilities.keeps_open);
                let patience = Patience {
                    reply: within,
                    rest: within,
                    close: if keeps_open { Duration::ZERO } else { CLOSES },
                    may_be_held: self.subject.may_be_held(profile),
                };
                let target = script::Target::default();
                let served = self.served.clone();
                self.with_target(case, own, &target, within, |player, process, directory, death| {
                    let sent =
                        directory.map_or(Cow::Borrowed(test), |path| dump_path::below(path, test));
                    let mut answered = match request::play(player, &sent, patience) {
                        Ok(answered) => answered,
                        Err(trouble) => {
                            let exchanges = Exchanges::of(player.conversation());
                            let stopped = match trouble {
                                PlayerError::Unavailable(why) => Err(Failed::unavailable(why)),
                                PlayerError::Differs(difference) => {
                                    let fault = (difference == Difference::NotConnected)
                                        .then(|| answer_faults::not_connected(&exchanges));
                                    let found = [difference.to_string()].into();
                                    Ok(Judgement::new(Grade::Fail, found)
                                        .with_faults(fault.into_iter().collect()))
                                }
                            };
                            return (stopped, exchanges);
                        }
                    };
                    answered.left_open &= !keeps_open;
                    let lives = answered.exchange().reply.is_whole()
                        && test.hazard != Some(Hazard::Harmful);
                    let death = if lives { None } else { death(player) };
                    let expectation = Expectation {
                        is_served: Expectation::command_of(group)
                            .is_some_and(|command| served.contains(&command)),
                        ..Expectation::of_vector(group, test)
                    };
                    let habit = left_open::fault_in_request(profile, &expectation, test, &answered)
                        .filter(|_| death.is_none());
                    let judgement = habit.unwrap_or_else(|| {
                        let mut faults = answer_faults::faults_in_answer(
                            process,
                            &expectation,
                            &answered,
                            death,
                        );
                        // A server with several requests per connection does not close it, and
                        // answers them all.
                        let of_open = [Fault::ConnectionLeftOpen, Fault::SecondReply];
                        faults.retain(|seen| !(keeps_open && of_open.contains(&seen.fault)));
                        judge::judge(profile, &expectation, &answered, death).with_faults(faults)
                    });
                    (Ok(judgement), answered.exchanges)
                })
            }
            ServerCaseKind::Script { script, target, .. } => {
                let within = self.within(case);
                let plain = self.steps(script);
                let mut first = None;
                for way in ways_of(self.profile, script) {
                    let steps = way.map(|deviation| script.steps_of(deviation));
                    // A target's known reply may be malformed.
                    let mut attempt = self.script(
                        case,
                        steps.as_ref().unwrap_or(&plain),
                        own,
                        target,
                        within,
                        way.is_none(),
                    )?;
                    if let (Some(deviation), Ok(_)) = (way, &attempt.result) {
                        attempt.result =
                            Ok(Judgement::known(&deviation.fact, &deviation.text, Vec::new()));
                    }
                    if !attempt.fails() || attempt.is_unavailable() {
                        return Ok(attempt);
                    }
                    first.get_or_insert(attempt);
                }
                first.ok_or_else(|| format!("{}: nothing to play", case.name()))
            }
        }
    }

    /// The case's default time limit.
    fn whole(&self, case: &ServerCase<'_>) -> Duration {
        let own = match case.kind {
            ServerCaseKind::Request { .. } => WITHIN,
            ServerCaseKind::Script { within_ms, .. } => Duration::from_millis(within_ms.into()),
        };
        self.options.within.unwrap_or(own)
    }

    /// The same, or less if the target has once exceeded it. A dump gets the full time.
    fn within(&self, case: &ServerCase<'_>) -> Duration {
        let whole = self.whole(case);
        if self.options.within.is_some() && case.asks_for_a_dump() {
            whole
        } else {
            self.pace.within(about(case), whole)
        }
    }

    /// The steps of a script. If a target keeps connections open, only the end of a stream is
    /// expected.
    fn steps<'s>(&self, script: &'s Script) -> Vec<&'s Step> {
        let streams = |on: &str| {
            script.steps.iter().any(|step| matches!(step, Step::Drain(drain) if drain.on == on))
        };
        let is_due = |step: &&Step| match step {
            Step::ExpectEnd(end) => !self.abilities.keeps_open || streams(&end.on),
            _ => true,
        };
        script.steps.iter().filter(is_due).collect()
    }

    /// `is_checked`: the received bytes are checked where the script accepts them.
    fn script(
        &mut self,
        case: &ServerCase<'_>,
        steps: &[&Step],
        own: bool,
        target: &script::Target,
        within: Duration,
        is_checked: bool,
    ) -> Result<Attempt, String> {
        let wanted = case.wanted_commands();
        let arrives_in_pieces =
            case.sends_in_pieces() && wanted.iter().all(|command| self.served.contains(command));
        self.with_target(case, own, target, within, |player, process, _, death| {
            let played = player.play(steps.iter().copied());
            let exchanges = Exchanges::of(player.conversation());
            let judged = match played {
                Ok(()) if is_checked => {
                    let faults = consistency::faults_in_case(&exchanges, process);
                    let texts: Vec<String> = faults.iter().map(|seen| seen.text.clone()).collect();
                    let failed = Failed { text: texts.join("; "), faults, ..Failed::default() };
                    if texts.is_empty() { Ok(()) } else { Err(failed) }
                }
                Ok(()) => Ok(()),
                Err(Failure { trouble: PlayerError::Unavailable(why), .. }) => {
                    Err(Failed::unavailable(why))
                }
                Err(failure) => {
                    let death = death(player);
                    let captures = &player.conversation().captures;
                    let faults = steps.get(failure.step).map_or_else(Vec::new, |step| {
                        answer_faults::faults_in_failure(
                            captures,
                            &exchanges,
                            process,
                            step,
                            &failure,
                            death,
                            arrives_in_pieces,
                        )
                    });
                    let died = death.is_some();
                    let death =
                        death.map_or_else(String::new, |death| format!(" (the target {death})"));
                    let text = format!("{failure}{death}");
                    Err(Failed { text, faults, died, ..Failed::default() })
                }
            };
            (judged.map(|()| Judgement::new(Grade::Pass, Vec::new())), exchanges)
        })
    }

    /// Plays something against a target, and checks the target afterwards. A target for one case has
    /// its own directory.
    fn with_target(
        &mut self,
        case: &ServerCase<'_>,
        own: bool,
        target: &script::Target,
        within: Duration,
        play: impl Fn(
            &mut Player<'_>,
            &TargetProcess,
            Option<&Path>,
            &dyn Fn(&mut Player<'_>) -> Option<Death>,
        ) -> (Result<Judgement, Failed>, Exchanges),
    ) -> Result<Attempt, String> {
        if own {
            let runs_in = if case.asks_for_a_dump() {
                RunsIn::OwnDirectory
            } else {
                RunsIn::CurrentDirectory
            };
            let (spawned, network) = match self.subject.own(target, runs_in) {
                Ok(started) => started,
                Err(reason) => return Ok(Attempt::not_started(reason)),
            };
            let mut network = network.with_user_events_data(self.options.stand_in_for_user_events);
            let process = process_of(&network);
            return Ok(self.once_started(!is_suspended(target), || {
                attempt(&mut network, within, |player| {
                    let directory = Some(spawned.directory());
                    play(player, &process, directory, &|player| dying(player, || spawned.death()))
                })
            }));
        }
        let mut network =
            self.subject.shared()?.with_user_events_data(self.options.stand_in_for_user_events);
        let process = process_of(&network);
        let mut attempt = self.once_started(true, || {
            attempt(&mut network, within, |player| {
                play(player, &process, None, &|player| dying(player, || self.subject.death()))
            })
        });
        drop(network);
        if let Some(death) = self.subject.death() {
            if let Ok(judgement) = &attempt.result {
                if judgement.grade != Grade::Fail && judgement.deviation.is_none() {
                    let text = format!("the target {death}");
                    let faults = [FaultSeen::new(Fault::Crash, text.clone())].into();
                    attempt.result = Err(Failed { text, faults, died: true, ..Failed::default() });
                }
            }
        } else if !attempt.is_unavailable() && attempt.fails() {
            self.look_after(&mut attempt);
        }
        Ok(attempt)
    }

    /// Plays until the target's start-up has ended: a runtime answers profiler commands with an
    /// error before (F-56), unless its start was asked to wait (F-153).
    fn once_started(&self, starts: bool, mut play: impl FnMut() -> Attempt) -> Attempt {
        let limit = Limit::new(BEGINS);
        loop {
            let attempt = play();
            let is_early =
                starts && !self.never_starts.get() && is_before_start(&attempt.exchanges);
            if !is_early || self.options.is_cancelled() {
                return attempt;
            }
            if limit.is_over() {
                self.never_starts.set(true);
                return attempt;
            }
            thread::sleep(STARTS);
        }
    }

    /// Whether the shared target still answers. Otherwise it is restarted for the next case.
    fn look_after(&mut self, attempt: &mut Attempt) {
        let Err(reason) = self.subject.reacts() else { return };
        if !self.subject.end_shared() {
            self.lost = Some(format!("{reason}; after: {}", attempt.text()));
            return;
        }
        let reason = format!("afterwards the target no longer answers: {reason}");
        match &mut attempt.result {
            Ok(judgement) => {
                judgement.grade = Grade::Fail;
                judgement.found.push(reason);
            }
            Err(failure) => failure.text = format!("{}; {reason}", failure.text),
        }
    }

    /// Whether the target answers that it does not know the command.
    fn lacks_it(&self, case: &ServerCase<'_>, exchanges: &Exchanges) -> bool {
        let has_it = |since| self.profile.has(since);
        let must_have = self.profile.is_known() && case.since().is_some_and(has_it);
        !must_have
            && !case.is_about_unknown_commands()
            && exchanges.has_error(HResult::UNKNOWN_COMMAND)
            && !exchanges.answered().any(|exchange| {
                let is_served = exchange.command().is_some_and(|one| self.served.contains(&one));
                exchange.reply.error() == Some(HResult::UNKNOWN_COMMAND) && is_served
            })
    }

    /// The row that explains the target's other answer or death, and its reaction.
    fn known(
        &self,
        case: &ServerCase<'_>,
        exchanges: &Exchanges,
        died: bool,
    ) -> Option<(&'static Row, Seen)> {
        let is_harmful = case.hazard() == Some(Hazard::Harmful);
        seen_in(case, exchanges, died).into_iter().find_map(|(request, seen)| {
            let row = explain(
                self.profile,
                &Request { is_harmful: died && is_harmful, ..request },
                &seen,
            )?;
            // The script itself covers behaviour of a program on its machine.
            (died || !matches!(row.layer, Layer::Host)).then_some((row, seen))
        })
    }

    /// The target's behaviour, whatever is known of it. `None` if the machine was the cause.
    fn outcome(&self, case: &ServerCase<'_>, attempt: &Attempt) -> Option<Outcome> {
        let is_script = matches!(case.kind, ServerCaseKind::Script { .. });
        match &attempt.result {
            Ok(judgement) if is_script && !attempt.fails() => Some(
                judgement
                    .deviation
                    .as_ref()
                    .map_or(Outcome::AsWritten, |one| Outcome::Deviated(one.fact.clone())),
            ),
            Err(failed) if is_script => {
                let last = || seen_in(case, &attempt.exchanges, failed.died).pop();
                let seen = self.known(case, &attempt.exchanges, failed.died).map(|(_, seen)| seen);
                Some(Outcome::Otherwise(seen.or_else(|| last().map(|(_, seen)| seen))))
            }
            Ok(_) if is_script => Some(Outcome::Otherwise(None)),
            Ok(judgement) => judgement.seen.map(Outcome::Answered),
            Err(failed) => {
                let died =
                    Seen { answer: Answer::Other, died: true, left_open: false, wrong: false };
                failed.died.then_some(Outcome::Answered(died))
            }
        }
    }
}

/// What a case is about.
fn about(case: &ServerCase<'_>) -> About {
    case.commands().first().copied().filter(|command| command.name().is_some())
}

/// Whether a target answers that its start-up has not ended.
fn is_before_start(exchanges: &Exchanges) -> bool {
    exchanges.has_error(HResult::NOT_YET_AVAILABLE)
}

/// The target's answer to each request of a script; if it died, for the last one.
fn seen_in(case: &ServerCase<'_>, exchanges: &Exchanges, died: bool) -> Vec<(Request, Seen)> {
    let in_pieces = case.sends_in_pieces();
    let seen = |answer| Seen { answer, died, left_open: false, wrong: false };
    if died {
        let request = exchanges.last_asked().and_then(|exchange| {
            Some(Request { in_pieces, ..Request::of(exchange.command()?, &exchange.sent) })
        });
        return request.into_iter().map(|request| (request, seen(Answer::Other))).collect();
    }
    let answered = exchanges.answered().map(|exchange| {
        let command = exchange.command().unwrap_or(Command::OK);
        let request = if exchange.sent.is_empty() {
            Request::right(command)
        } else {
            Request::of(command, &exchange.sent)
        };
        let answer = exchange.reply.error().map_or(Answer::Ok, Answer::Error);
        (Request { in_pieces, ..request }, seen(answer))
    });
    answered.collect()
}

/// The entry of a case in the report.
pub(super) fn entry(
    options: &Options,
    case: &ServerCase<'_>,
    judgement: Judgement,
    conversation: &Conversation,
) -> Case {
    let Judgement { mut grade, deviation, mut found, faults, .. } = judgement;
    if grade == Grade::Unimplemented && options.require.iter().any(|glob| case.is_chosen(glob)) {
        grade = Grade::Fail;
        found.insert(0, "it is required".to_owned());
    }
    let is_claimed = |command: Command| options.claims.claims(command) == Some(true);
    if grade == Grade::Unimplemented
        && case.wanted_commands().into_iter().any(is_claimed)
        && conversation.has_bytes()
    {
        grade = Grade::Fail;
        found.insert(0, "it is claimed".to_owned());
    }
    let detail = (grade != Grade::Pass).then(|| {
        let expected = match case.kind {
            ServerCaseKind::Request { group, test } => {
                judge::expected(&Expectation::of_vector(group, test))
            }
            ServerCaseKind::Script { script, .. } => expected(script),
        };
        let mut detail = Detail::conversation(Turn::all(conversation), &expected, found);
        // Not where nothing was sent.
        let is_played = conversation.has_bytes();
        if let (Some(Hazard::Harmful), Some(word), true) =
            (case.hazard(), case.words().last(), is_played)
        {
            detail.about.push(harm_of(word));
        }
        detail
    });
    Case {
        name: case.name(),
        section: case.section(),
        group: case.group(),
        title: case.title(),
        grade,
        spec: case.spec(),
        level: case.level(),
        detail,
        deviation,
        faults: if grade == Grade::Fail {
            faults.iter().map(CaseFault::from).collect()
        } else {
            Vec::new()
        },
        hazard: case.hazard(),
        outcome: None,
        took: Duration::ZERO,
    }
}

fn expected(script: &Script) -> String {
    format!("as in script {}: diagipc explain {}", script.sc_id, script.name)
}

impl Attempt {
    fn not_started(reason: String) -> Self {
        Self {
            result: Err(Failed { text: reason, ..Failed::default() }),
            conversation: Conversation::default(),
            exchanges: Exchanges::default(),
            took: Duration::ZERO,
        }
    }

    /// Whether no whole reply was received.
    fn is_silent(&self) -> bool {
        self.fails() && self.exchanges.answered().next().is_none()
    }

    /// Whether a received message is wrong in itself. More time does not help.
    fn shows_wrong_bytes(&self) -> bool {
        let faults = match &self.result {
            Ok(judgement) => &judgement.faults,
            Err(failed) => &failed.faults,
        };
        faults.iter().any(|seen| !seen.may_be_lateness())
    }

    const fn is_unavailable(&self) -> bool {
        matches!(self.result, Err(Failed { is_unavailable: true, .. }))
    }

    fn fails(&self) -> bool {
        self.result.as_ref().map_or(true, |judgement| judgement.grade == Grade::Fail)
    }

    fn text(&self) -> String {
        match &self.result {
            Ok(judgement) => judgement.found.join("; "),
            Err(failure) => failure.text.clone(),
        }
    }
}

fn attempt(
    network: &mut dyn Network,
    within: Duration,
    play: impl FnOnce(&mut Player<'_>) -> (Result<Judgement, Failed>, Exchanges),
) -> Attempt {
    let mut player = Player::new(network, within);
    let began = Instant::now();
    let (result, exchanges) = play(&mut player);
    let took = began.elapsed();
    // Dropping the network ends the connections anyway.
    let _ = player.close_all();
    let conversation = player.conversation().clone();
    Attempt { result, conversation, exchanges, took }
}

/// How the target ended, if it is ending: it may take a moment after its last message.
fn dying(player: &mut Player<'_>, death: impl Fn() -> Option<Death>) -> Option<Death> {
    const MOMENT: Duration = Duration::from_millis(300);
    let until = player.network().now() + MOMENT;
    // One that ends without a word may be slow in it. Others have most often not ended at all.
    let conversation = player.conversation();
    let _ = if conversation.has_end() && !conversation.has_received() {
        player.life(Life::Dead, until)
    } else {
        player.network().life(Life::Dead, until)
    };
    death()
}
