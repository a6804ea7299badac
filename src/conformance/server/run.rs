//! Plays the cases against a target, one after another.

use alloc::{
    borrow::ToOwned as _,
    format,
    string::{String, ToString as _},
    vec::Vec,
};
use core::time::Duration;

use super::judge::{self, Judgement};
use super::target::Subject;
use super::{Place, Profile, ServerCase, ServerCaseKind, request};
use crate::conformance::player::{Direction, Player, SocketNetwork, Transcript, Trouble};
use crate::conformance::{Case, Detail, Glob, Grade, Lost, Report, Turn};
use crate::hresult::HResult;
use crate::message::{Message, Reply, process::ProcessInfo};
use crate::vectors::{Hazard, Script, Step, Target};

/// What a run may do, and how it judges.
#[derive(Clone, Debug)]
pub struct Options {
    /// What the target is held to; `None`: what it says of itself.
    pub profile: Option<Profile>,
    /// Also what changes a target: dumps, profilers, variables, perf maps, hooks, resumes.
    pub allow_side_effects: bool,
    /// Also what may kill, wedge or exhaust it.
    pub allow_harmful: bool,
    /// How long a step may take that does not say it itself; `None`: what the script's file says.
    pub within: Option<Duration>,
    /// The cases whose lack is a failure.
    pub require: Vec<Glob>,
}

/// How long a request of the vectors may take, and whatever no script says.
const WITHIN: Duration = Duration::from_secs(10);

/// Why a case is not played, and how many there are of them.
#[derive(Default)]
struct LeftOut {
    side_effects: usize,
    harmful: usize,
    own_target: usize,
    unavailable: Vec<String>,
}

/// What became of one try.
struct Attempt {
    /// What went wrong in a script; the judgement of a request.
    result: Result<Judgement, String>,
    transcript: Transcript,
    unavailable: Option<String>,
}

struct Run<'o> {
    subject: Subject,
    profile: Profile,
    options: &'o Options,
    left_out: LeftOut,
    notes: Vec<String>,
}

/// Plays `cases` against what is at `place`. `done` hears of each.
pub fn run(cases: &[ServerCase<'_>], place: &Place, options: &Options, done: &mut dyn FnMut(&Case)) -> Report {
    let mut report = Report::new("server", &place.to_string());
    let within = options.within.unwrap_or(WITHIN);
    let lost = |reason: String| Some(Lost { reason, not_run: cases.len() });
    let mut subject = match Subject::find(place, within) {
        Ok(subject) => subject,
        Err(reason) => {
            report.lost = lost(reason);
            return report;
        }
    };
    let identity = match subject.identity() {
        Ok(identity) => identity,
        Err(reason) => {
            report.lost = lost(reason);
            return report;
        }
    };
    report.runtime = identity.as_ref().map(|identity| format!(".NET {}", identity.version));
    let said = identity.and_then(|identity| Profile::of_version(&identity.version));
    let profile = options.profile.or(said).unwrap_or(Profile::Strict);
    report.profile = Some(profile.to_string());
    let mut run = Run { subject, profile, options, left_out: LeftOut::default(), notes: Vec::new() };
    for (nth, case) in cases.iter().enumerate() {
        match run.case(case) {
            Ok(Some(case)) => {
                done(&case);
                report.add(case);
            }
            Ok(None) => {}
            Err(reason) => {
                report.lost = Some(Lost { reason, not_run: cases.len().saturating_sub(nth) });
                break;
            }
        }
    }
    if report.lost.is_none() {
        if let Err(reason) = run.subject.answers() {
            report.lost = Some(Lost { reason: format!("after the run: {reason}"), not_run: 0 });
        }
    }
    report.notes = run.notes();
    report
}

impl Run<'_> {
    /// Plays a case, if it may be; `Err` where the target is lost.
    fn case(&mut self, case: &ServerCase<'_>) -> Result<Option<Case>, String> {
        let own = case.wants_own_target() && (self.subject.can_spawn() || !is_only_harmful(case));
        let counter = match case.hazard() {
            Some(Hazard::SideEffect) if !self.options.allow_side_effects => Some(&mut self.left_out.side_effects),
            Some(Hazard::Harmful) if !self.options.allow_harmful => Some(&mut self.left_out.harmful),
            _ if own && !self.subject.can_spawn() => Some(&mut self.left_out.own_target),
            _ => None,
        };
        if let Some(counter) = counter {
            *counter = counter.saturating_add(1);
            return Ok(None);
        }
        if let Some(since) = case.since().filter(|since| !self.profile.has(since)) {
            let found = [format!("came with .NET {since}; this is {}", self.profile)].into();
            return Ok(Some(self.report(case, Judgement::new(Grade::Unimplemented, found), &Transcript::default())));
        }
        let mut attempt = self.attempt(case, own)?;
        if attempt.unavailable.is_none() && attempt.fails() && case.hazard() != Some(Hazard::Harmful) {
            // A machine that is busy makes a slow server of a good one.
            let second = self.attempt(case, own)?;
            if !second.fails() {
                self.notes.push(format!(
                    "{}: went as it must at the second try only; at the first: {}",
                    case.name(),
                    attempt.text()
                ));
            }
            attempt = second;
        }
        if let Some(why) = attempt.unavailable {
            self.left_out.unavailable.push(format!("{}: {why}", case.name()));
            return Ok(None);
        }
        let judgement = match attempt.result {
            Ok(judgement) => judgement,
            Err(_) if self.lacks_it(case, &attempt.transcript) => {
                Judgement::new(Grade::Unimplemented, ["DS_IPC_E_UNKNOWN_COMMAND".to_owned()].into())
            }
            Err(failure) => match self.refusal(case, &attempt.transcript) {
                Some((fact, text)) => Judgement::known(fact, text, [failure].into()),
                None => Judgement::new(Grade::Fail, [failure].into()),
            },
        };
        Ok(Some(self.report(case, judgement, &attempt.transcript)))
    }

    /// One try, and another one as the script itself says where a deviation is not gone.
    fn attempt(&mut self, case: &ServerCase<'_>, own: bool) -> Result<Attempt, String> {
        match case.kind {
            ServerCaseKind::Request { group, test } => {
                let within = self.options.within.unwrap_or(WITHIN);
                let profile = self.profile;
                self.with_target(own, &Target::default(), within, |player, death| {
                    match request::play(player, group, test, within) {
                        Ok(answered) => Ok(judge::judge(profile, group, test, &answered, death(player).as_deref())),
                        Err(Trouble::Unavailable(why)) => Err(Trouble::Unavailable(why)),
                        Err(trouble) => Ok(Judgement::new(Grade::Fail, [trouble.to_string()].into())),
                    }
                })
            }
            ServerCaseKind::Script { within_ms, script, target } => {
                let within = self.options.within.unwrap_or(Duration::from_millis(within_ms.into()));
                let plain: Vec<_> = script.steps.iter().collect();
                let Some(name) = self.profile.name_in(script) else {
                    return self.script(&plain, own, target, within);
                };
                let (steps, deviation) = script.steps_on(name);
                let mut attempt = self.script(&steps, own, target, within)?;
                if let (Ok(_), Some(deviation)) = (&attempt.result, deviation) {
                    attempt.result = Ok(Judgement::known(&deviation.fact, &deviation.text, Vec::new()));
                    return Ok(attempt);
                }
                // Neither is a newer build that has mended it at fault.
                let plain = self.script(&plain, own, target, within)?;
                Ok(if plain.fails() { attempt } else { plain })
            }
        }
    }

    fn script(&mut self, steps: &[&Step], own: bool, target: &Target, within: Duration) -> Result<Attempt, String> {
        self.with_target(own, target, within, |player, death| {
            let played = player.play(steps.iter().copied());
            match played {
                Ok(()) => Ok(Judgement::new(Grade::Pass, Vec::new())),
                Err(failure) => match failure.trouble {
                    Trouble::Unavailable(why) => Err(Trouble::Unavailable(why)),
                    Trouble::Differs(_) => {
                        let death = death(player).map_or_else(String::new, |death| format!(" (the target {death})"));
                        Err(Trouble::Differs(format!("{failure}{death}")))
                    }
                },
            }
        })
    }

    /// Plays something against a target, and looks after it.
    fn with_target(
        &mut self,
        own: bool,
        target: &Target,
        within: Duration,
        play: impl FnOnce(&mut Player<'_>, &dyn Fn(&mut Player<'_>) -> Option<String>) -> Result<Judgement, Trouble>,
    ) -> Result<Attempt, String> {
        if own {
            let (spawned, mut network) = match self.subject.own(target) {
                Ok(started) => started,
                Err(reason) => return Ok(Attempt::not_started(reason)),
            };
            return Ok(attempt(&mut network, within, |player| play(player, &|player| dying(player, || spawned.death()))));
        }
        let mut network = self.subject.shared()?;
        let subject = &self.subject;
        let mut attempt = attempt(&mut network, within, |player| play(player, &|player| dying(player, || subject.death())));
        drop(network);
        if let Some(death) = self.subject.death() {
            if let Ok(judgement) = &attempt.result {
                if judgement.grade != Grade::Fail && judgement.deviation.is_none() {
                    attempt.result = Err(format!("the target {death}"));
                }
            }
        } else if attempt.fails() {
            self.look_after(&mut attempt)?;
        }
        Ok(attempt)
    }

    /// Whether the shared target still answers. One that does not is started anew for the next case.
    fn look_after(&mut self, attempt: &mut Attempt) -> Result<(), String> {
        let Err(reason) = self.subject.answers() else { return Ok(()) };
        if !self.subject.end_shared() {
            return Err(format!("{reason}; after: {}", attempt.text()));
        }
        let reason = format!("afterwards the target does not answer any more: {reason}");
        match &mut attempt.result {
            Ok(judgement) => {
                judgement.grade = Grade::Fail;
                judgement.found.push(reason);
            }
            Err(failure) => *failure = format!("{failure}; {reason}"),
        }
        Ok(())
    }

    /// Whether the target says that it does not know the command.
    fn lacks_it(&self, case: &ServerCase<'_>, transcript: &Transcript) -> bool {
        let must_have = matches!(self.profile, Profile::CoreClr { .. }) && case.since().is_some();
        !must_have && errors(transcript).any(|(_, hresult)| hresult == HResult::UNKNOWN_COMMAND)
    }

    /// The fact by which the target refuses what was asked.
    fn refusal(&self, _: &ServerCase<'_>, transcript: &Transcript) -> Option<(&'static str, &'static str)> {
        errors(transcript).find_map(|(command, hresult)| self.profile.refuses(command?, hresult))
    }

    fn report(&self, case: &ServerCase<'_>, judgement: Judgement, transcript: &Transcript) -> Case {
        let Judgement { mut grade, deviation, mut found } = judgement;
        if grade == Grade::Unimplemented && self.options.require.iter().any(|glob| case.is_chosen(glob)) {
            grade = Grade::Fail;
            found.insert(0, "it is required".to_owned());
        }
        let detail = (grade != Grade::Pass).then(|| {
            let expected = match case.kind {
                ServerCaseKind::Request { group, test } => judge::expected(group, test),
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
            fault: None,
            hazard: case.hazard(),
        }
    }

    /// What there is to say that belongs to no case.
    fn notes(self) -> Vec<String> {
        let LeftOut { side_effects, harmful, own_target, unavailable } = self.left_out;
        let mut notes = self.notes;
        let mut left_out = |n: usize, text: &str| {
            if n > 0 {
                notes.push(format!("{n} cases were not played: {text}"));
            }
        };
        left_out(side_effects, "they change a target, which --allow-side-effects allows");
        left_out(harmful, "they may kill, wedge or exhaust a target, which --allow-harmful allows");
        left_out(own_target, "they want a target that is started for them, by --spawn");
        notes.extend(unavailable.iter().map(|text| format!("not played, as this machine lacks what it needs: {text}")));
        notes
    }
}

/// Whether a case wants a target of its own only because it may harm one.
fn is_only_harmful(case: &ServerCase<'_>) -> bool {
    match case.kind {
        ServerCaseKind::Script { target, .. } => *target == Target::default(),
        ServerCaseKind::Request { .. } => true,
    }
}

fn expected(script: &Script) -> String {
    format!("as script {} says: diagipc scripts show {}", script.sc_id, script.name)
}

impl Attempt {
    fn not_started(reason: String) -> Self {
        Self { result: Err(reason), transcript: Transcript::default(), unavailable: None }
    }

    fn fails(&self) -> bool {
        self.result.as_ref().map_or(true, |judgement| judgement.grade == Grade::Fail)
    }

    fn text(&self) -> String {
        match &self.result {
            Ok(judgement) => judgement.found.join("; "),
            Err(failure) => failure.clone(),
        }
    }
}

fn attempt(
    network: &mut SocketNetwork,
    within: Duration,
    play: impl FnOnce(&mut Player<'_>) -> Result<Judgement, Trouble>,
) -> Attempt {
    let mut player = Player::new(network, within);
    let result = play(&mut player);
    // The connections end with the network in any case.
    let _ = player.close_all();
    let transcript = player.transcript().clone();
    match result {
        Ok(judgement) => Attempt { result: Ok(judgement), transcript, unavailable: None },
        Err(Trouble::Unavailable(why)) => Attempt { result: Err(why.clone()), transcript, unavailable: Some(why) },
        Err(Trouble::Differs(failure)) => Attempt { result: Err(failure), transcript, unavailable: None },
    }
}

/// How the target ended, if it is about to: it may take a moment from its last word to its end.
fn dying(player: &mut Player<'_>, death: impl Fn() -> Option<String>) -> Option<String> {
    const MOMENT: Duration = Duration::from_millis(300);
    let until = player.network().now().saturating_add(MOMENT);
    let _ = player.network().life(crate::vectors::Life::Dead, until);
    death()
}

/// The errors that came, each with the command that was sent on its connection.
fn errors(transcript: &Transcript) -> impl Iterator<Item = (Option<crate::command::Command>, HResult)> {
    transcript.0.iter().enumerate().filter_map(|(nth, passage)| {
        if passage.direction != Direction::Received {
            return None;
        }
        let (message, _) = Message::decode(&passage.bytes).ok()?;
        let Ok(Reply::Error(error)) = message.reply_as::<ProcessInfo>() else { return None };
        let mut before = transcript.0.iter().take(nth);
        let asked = before.find(|one| one.connection == passage.connection && one.direction == Direction::Sent);
        let command = asked.and_then(|asked| Message::decode(&asked.bytes).ok()).map(|(message, _)| message.command);
        Some((command, error.hresult))
    })
}
