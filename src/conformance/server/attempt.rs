//! One case, played against one target, and what is said of it.

use alloc::{
    borrow::ToOwned as _,
    boxed::Box,
    format,
    string::{String, ToString as _},
    vec::Vec,
};
use core::time::Duration;

use super::ask::Came;
use super::case_evidence::CaseEvidence;
use super::expectation::Expectation;
use super::faults::{FaultSeen, ServerFault};
use super::judge::{self, Judgement};
use super::target::{Subject, with_user_events};
use super::{Death, Options, ServerCase, ServerCaseKind, ask, conduct, reply_faults, request};
use crate::command::Command;
use crate::conformance::known::{Answer, Family, Layer, Profile, Request, Row, Seen, explain};
use crate::conformance::player::{Network, Player, PlayerError, Transcript, TurnDirection};
use crate::conformance::{Case, CaseFault, Detail, Grade, Turn};
use crate::hresult::HResult;
use crate::message::{Message, Reply, process::ProcessInfo};
use crate::vectors::Hazard;
use crate::vectors::script::{Captures, Part, Script, Step, Target};

/// How long a request of the vectors may take, and whatever no script says.
pub(super) const WITHIN: Duration = Duration::from_secs(10);

/// What became of a case.
#[derive(Clone, Debug)]
pub(super) enum Played {
    /// Its entry in the report, and what else there is to say.
    Case(Box<Case>, Option<String>),
    /// It could not be played here: why.
    Unavailable(String),
}

/// What became of one try.
struct Attempt {
    /// What went wrong in a script; the judgement of a request.
    result: Result<Judgement, Failed>,
    transcript: Transcript,
    unavailable: Option<String>,
}

/// Why a try failed, where no table explains it.
struct Failed {
    text: String,
    faults: Vec<FaultSeen>,
}

impl Failed {
    const fn unnamed(text: String) -> Self {
        Self { text, faults: Vec::new() }
    }
}

/// What ended a try.
enum Stopped {
    /// The target did something else.
    Failed(Failed),
    /// This machine lacks what the case needs.
    Unavailable(String),
}

/// Plays cases against a target.
pub(super) struct CasePlayer<'o> {
    pub(super) subject: Subject,
    pub(super) profile: Profile,
    pub(super) options: &'o Options,
}

impl CasePlayer<'_> {
    /// Plays a case; `Err` where the target is lost.
    pub(super) fn play(&mut self, case: &ServerCase<'_>) -> Result<Played, String> {
        let own = case.wants_own_target() && self.subject.can_spawn();
        let (mut attempt, mut note) = (self.attempt(case, own)?, None);
        if attempt.unavailable.is_none() && attempt.fails() && case.hazard() != Some(Hazard::Harmful) {
            // A machine that is busy makes a slow server of a good one.
            let second = self.attempt(case, own)?;
            if !second.fails() {
                let first = attempt.text();
                note = Some(format!("{}: went as it must at the second try only; at the first: {first}", case.name()));
            }
            attempt = second;
        }
        if let Some(why) = attempt.unavailable {
            return Ok(Played::Unavailable(why));
        }
        let judgement = match attempt.result {
            Ok(judgement) => judgement,
            Err(_) if self.lacks_it(case, &attempt.transcript) => {
                Judgement::new(Grade::Unimplemented, ["DS_IPC_E_UNKNOWN_COMMAND".to_owned()].into())
            }
            Err(Failed { text, faults }) => match self.refusal(case, &attempt.transcript) {
                Some(row) => Judgement::of_row(row, [text].into()),
                None => Judgement::new(Grade::Fail, [text].into()).with_faults(faults),
            },
        };
        Ok(Played::Case(Box::new(entry(self.options, case, judgement, &attempt.transcript)), note))
    }

    /// One try, and another one as the script itself says where a deviation is not gone.
    fn attempt(&mut self, case: &ServerCase<'_>, own: bool) -> Result<Attempt, String> {
        match case.kind {
            ServerCaseKind::Request { group, test } => {
                let within = self.options.within.unwrap_or(WITHIN);
                let profile = self.profile;
                self.with_target(own, &Target::default(), within, |player, death| {
                    match request::play(player, group, test, within) {
                        Ok(answered) => {
                            let lives = matches!(answered.came, Came::Message(_)) && test.hazard != Some(Hazard::Harmful);
                            let death = if lives { None } else { death(player) };
                            let expectation = Expectation::of_vector(group, test);
                            let judgement = judge::judge(profile, &expectation, &answered, death);
                            let faults = conduct::of_answer(&CaseEvidence::of(player), request::ON, &expectation, &answered, death);
                            Ok(judgement.with_faults(faults))
                        }
                        Err(PlayerError::Unavailable(why)) => Err(Stopped::Unavailable(why)),
                        Err(trouble) => Ok(Judgement::new(Grade::Fail, [trouble.to_string()].into())),
                    }
                })
            }
            ServerCaseKind::Script { within_ms, script, target } => {
                let within = self.options.within.unwrap_or(Duration::from_millis(within_ms.into()));
                let plain: Vec<_> = script.steps.iter().collect();
                let Some(name) = self.profile.name_in(script) else {
                    return self.script(&plain, own, target, within, true);
                };
                let (steps, deviation) = script.steps_on(name);
                // What is known of a target may be malformed.
                let mut attempt = self.script(&steps, own, target, within, deviation.is_none())?;
                if let (Ok(_), Some(deviation)) = (&attempt.result, deviation) {
                    attempt.result = Ok(Judgement::known(&deviation.fact, &deviation.text, Vec::new()));
                    return Ok(attempt);
                }
                // Neither is a newer build that has mended it at fault.
                let plain = self.script(&plain, own, target, within, true)?;
                Ok(if plain.fails() { attempt } else { plain })
            }
        }
    }

    /// `is_checked`: the bytes of what came are looked at where the script is content with them.
    fn script(
        &mut self,
        steps: &[&Step],
        own: bool,
        target: &Target,
        within: Duration,
        is_checked: bool,
    ) -> Result<Attempt, String> {
        self.with_target(own, target, within, |player, death| {
            let Err(failure) = player.play(steps.iter().copied()) else {
                let faults = if is_checked { reply_faults::of_case(&CaseEvidence::of(player)) } else { Vec::new() };
                if faults.is_empty() {
                    return Ok(Judgement::new(Grade::Pass, Vec::new()));
                }
                let texts: Vec<String> = faults.iter().map(|seen| seen.text.clone()).collect();
                return Err(Stopped::Failed(Failed { text: texts.join("; "), faults }));
            };
            if let PlayerError::Unavailable(why) = failure.trouble {
                return Err(Stopped::Unavailable(why));
            }
            let death = death(player);
            let step = steps.get(failure.step).copied();
            let faults = step.map(|step| conduct::of_failure(&CaseEvidence::of(player), step, &failure, death)).unwrap_or_default();
            let death = death.map_or_else(String::new, |death| format!(" (the target {death})"));
            Err(Stopped::Failed(Failed { text: format!("{failure}{death}"), faults }))
        })
    }

    /// Plays something against a target, and looks after it.
    fn with_target(
        &mut self,
        own: bool,
        target: &Target,
        within: Duration,
        play: impl FnOnce(&mut Player<'_>, &dyn Fn(&mut Player<'_>) -> Option<Death>) -> Result<Judgement, Stopped>,
    ) -> Result<Attempt, String> {
        if own {
            let (spawned, network) = match self.subject.own(target) {
                Ok(started) => started,
                Err(reason) => return Ok(Attempt::not_started(reason)),
            };
            let mut network = with_user_events(network, self.options.stand_in_for_user_events);
            return Ok(attempt(&mut network, within, |player| play(player, &|player| dying(player, || spawned.death()))));
        }
        let mut network = with_user_events(self.subject.shared()?, self.options.stand_in_for_user_events);
        let subject = &self.subject;
        let mut attempt = attempt(&mut network, within, |player| play(player, &|player| dying(player, || subject.death())));
        drop(network);
        if let Some(death) = self.subject.death() {
            if let Ok(judgement) = &attempt.result {
                if judgement.grade != Grade::Fail && judgement.deviation.is_none() {
                    let text = format!("the target {death}");
                    let faults = [FaultSeen::new(ServerFault::TargetEnds, text.clone())].into();
                    attempt.result = Err(Failed { text, faults });
                }
            }
        } else if attempt.unavailable.is_none() && attempt.fails() {
            self.look_after(&mut attempt)?;
        }
        Ok(attempt)
    }

    /// Whether the shared target still answers. One that does not is started anew for the next case.
    fn look_after(&mut self, attempt: &mut Attempt) -> Result<(), String> {
        let within = self.options.within.unwrap_or(WITHIN);
        let Err(reason) =
            self.subject.shared().and_then(|mut network| ask::reacts(&mut network, within).map_err(|trouble| trouble.to_string()))
        else {
            return Ok(());
        };
        if !self.subject.end_shared() {
            return Err(format!("{reason}; after: {}", attempt.text()));
        }
        let reason = format!("afterwards the target does not answer any more: {reason}");
        match &mut attempt.result {
            Ok(judgement) => {
                judgement.grade = Grade::Fail;
                judgement.found.push(reason);
            }
            Err(failure) => failure.text = format!("{}; {reason}", failure.text),
        }
        Ok(())
    }

    /// Whether the target says that it does not know the command.
    fn lacks_it(&self, case: &ServerCase<'_>, transcript: &Transcript) -> bool {
        let must_have = self.profile.family() == Family::CoreClr && case.since().is_some();
        !must_have
            && !is_about_unknown_commands(case)
            && replies(transcript).any(|(_, error)| error == Some(HResult::UNKNOWN_COMMAND))
    }

    /// The row by which the target answers what was asked in another way.
    fn refusal(&self, case: &ServerCase<'_>, transcript: &Transcript) -> Option<&'static Row> {
        let in_pieces = case.sends_in_pieces();
        replies(transcript).find_map(|(command, error)| {
            let request = Request { in_pieces, ..Request::right(command.unwrap_or(Command::OK)) };
            let answer = error.map_or(Answer::Ok, Answer::Error);
            let seen = Seen { answer, died: false, left_open: false, wrong: false };
            // What a program on its machine does, the script itself says.
            explain(self.profile, &request, &seen).filter(|row| row.layer != Layer::Host)
        })
    }
}

/// The entry of a case in the report.
pub(super) fn entry(options: &Options, case: &ServerCase<'_>, judgement: Judgement, transcript: &Transcript) -> Case {
    let Judgement { mut grade, deviation, mut found, faults } = judgement;
    if grade == Grade::Unimplemented && options.require.iter().any(|glob| case.is_chosen(glob)) {
        grade = Grade::Fail;
        found.insert(0, "it is required".to_owned());
    }
    let detail = (grade != Grade::Pass).then(|| {
        let expected = match case.kind {
            ServerCaseKind::Request { group, test } => judge::expected(&Expectation::of_vector(group, test)),
            ServerCaseKind::Script { script, .. } => expected(script),
        };
        Detail::conversation(transcript.0.iter().map(Turn::from), &expected, found)
    });
    Case {
        name: case.name(),
        section: case.section(),
        group: case.group(),
        title: case.title(),
        grade,
        spec: case.spec(),
        detail,
        deviation,
        faults: if grade == Grade::Fail { faults.iter().map(CaseFault::from).collect() } else { Vec::new() },
        hazard: case.hazard(),
    }
}

/// Whether a script is to see `DS_IPC_E_UNKNOWN_COMMAND`.
fn is_about_unknown_commands(case: &ServerCase<'_>) -> bool {
    let ServerCaseKind::Script { script, .. } = case.kind else { return false };
    let code = HResult::UNKNOWN_COMMAND.0.to_le_bytes();
    let says_so = |part: &Part| {
        let Part::Literal(literal) = part else { return false };
        literal.bytes(&Captures::new()).is_ok_and(|bytes| bytes.ends_with(&code))
    };
    script.steps.iter().any(|step| matches!(step, Step::Expect(expect) if expect.expect.0.iter().any(says_so)))
}

fn expected(script: &Script) -> String {
    format!("as script {} says: diagipc scripts show {}", script.sc_id, script.name)
}

impl Attempt {
    fn not_started(reason: String) -> Self {
        Self { result: Err(Failed::unnamed(reason)), transcript: Transcript::default(), unavailable: None }
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
    play: impl FnOnce(&mut Player<'_>) -> Result<Judgement, Stopped>,
) -> Attempt {
    let mut player = Player::new(network, within);
    let result = play(&mut player);
    // The connections end with the network in any case.
    let _ = player.close_all();
    let transcript = player.transcript().clone();
    match result {
        Ok(judgement) => Attempt { result: Ok(judgement), transcript, unavailable: None },
        Err(Stopped::Unavailable(why)) => Attempt { result: Err(Failed::unnamed(why.clone())), transcript, unavailable: Some(why) },
        Err(Stopped::Failed(failed)) => Attempt { result: Err(failed), transcript, unavailable: None },
    }
}

/// How the target ended, if it is about to: it may take a moment from its last word to its end.
fn dying(player: &mut Player<'_>, death: impl Fn() -> Option<Death>) -> Option<Death> {
    const MOMENT: Duration = Duration::from_millis(300);
    let until = player.network().now().saturating_add(MOMENT);
    let _ = player.network().life(crate::vectors::script::Life::Dead, until);
    death()
}

/// The replies that came, each with the command that was sent on its connection, and its error.
fn replies(transcript: &Transcript) -> impl Iterator<Item = (Option<Command>, Option<HResult>)> {
    transcript.0.iter().enumerate().filter_map(|(nth, passage)| {
        if passage.direction != TurnDirection::Received {
            return None;
        }
        let (message, _) = Message::decode_prefix(&passage.bytes).ok()?;
        let error = match message.reply_as::<ProcessInfo>() {
            Ok(Reply::Error(error)) => Some(error.hresult),
            _ => None,
        };
        let mut before = transcript.0.iter().take(nth);
        let asked = before.find(|one| one.connection == passage.connection && one.direction == TurnDirection::Sent);
        let command = asked.and_then(|asked| Message::decode_prefix(&asked.bytes).ok()).map(|(message, _)| message.command);
        Some((command, error))
    })
}
