//! Plays the cases against a target, or against several that are alike.

use alloc::{
    collections::BTreeMap,
    format,
    string::{String, ToString as _},
    vec::Vec,
};
use core::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::{self, Sender};
use std::thread;

use super::attempt::{CasePlayer, Played, WITHIN, entry};
use super::judge::Judgement;
use super::left_out::LeftOut;
use super::options::Options;
use super::target::Subject;
use super::{Place, ServerCase, ServerCaseKind};
use crate::conformance::known::Profile;
use crate::conformance::player::Transcript;
use crate::conformance::{Case, Grade, Interrupted, Lost, Report};
use crate::vectors::Hazard;
use crate::vectors::script::Target;

/// What becomes of a case before anything is played.
enum Plan {
    /// It is played.
    Play,
    /// It may not be played, or not here.
    LeftOut(&'static str),
    /// It is meant for another system.
    Elsewhere(String),
    /// It came with a later version.
    Later(String),
}

const SIDE_EFFECTS: &str = "they change a target, which --allow-side-effects allows";
const HARMFUL: &str = "they may kill, wedge or exhaust a target, which --allow-harmful allows";
const OWN_TARGET: &str = "they want a target that is started for them, by --spawn";

/// What a worker has to say.
enum News {
    Played(usize, Played),
    Lost(String),
}

/// Plays `cases` against what is at `place`. `done` hears of each.
///
/// Where the canceller of `options` is used, what is being played is given up, and what was started is ended. The report has the cases
/// that were over.
pub fn run(cases: &[ServerCase<'_>], place: &Place, options: &Options, done: &mut dyn FnMut(&Case)) -> Report {
    let mut report = Report::new("server", &place.to_string());
    let within = options.within.unwrap_or(WITHIN);
    let found = Subject::find(place, within, options.canceller.as_ref()).and_then(|mut subject| {
        let identity = subject.identity()?;
        Ok((subject, identity))
    });
    let (subject, identity) = match found {
        Ok(found) => found,
        Err(_) if options.is_cancelled() => {
            report.interrupted = Some(Interrupted { not_run: cases.len() });
            return report;
        }
        Err(reason) => {
            report.lost = Some(Lost { reason, not_run: cases.len() });
            return report;
        }
    };
    report.runtime = identity.as_ref().map(|identity| format!(".NET {}", identity.version));
    let said = identity.and_then(|identity| Profile::of_version(&identity.version));
    let profile = options.profile.or(said).unwrap_or(Profile::STRICT);
    report.profile = Some(profile.to_string());

    let mut entries: Vec<Option<Case>> = cases.iter().map(|_| None).collect();
    let (mut to_play, mut left_out, mut notes) = (Vec::new(), Vec::new(), Vec::new());
    let mut elsewhere = LeftOut::default();
    for (nth, (case, slot)) in cases.iter().zip(&mut entries).enumerate() {
        match plan(case, &subject, profile, options) {
            Plan::Play => to_play.push(nth),
            Plan::LeftOut(why) => left_out.push(why),
            Plan::Elsewhere(why) => elsewhere.push(case, why),
            Plan::Later(found) => {
                let judgement = Judgement::new(Grade::Unimplemented, [found].into());
                let case = entry(options, case, judgement, &Transcript::default());
                done(&case);
                *slot = Some(case);
            }
        }
    }
    let (mut unavailable, mut lost) = (LeftOut::default(), None);
    let mut take = |news: News| match news {
        News::Played(nth, Played::Case(case, note)) => {
            done(&case);
            notes.extend(note);
            if let Some(slot) = entries.get_mut(nth) {
                *slot = Some(*case);
            }
        }
        News::Played(nth, Played::Unavailable(why)) => {
            if let Some(case) = cases.get(nth) {
                unavailable.push(case, why);
            }
        }
        News::Lost(reason) => lost = lost.take().or(Some(reason)),
    };
    let first = CasePlayer { subject, profile, options };
    work(cases, &turns(cases, &to_play), first, place, &mut take);

    let not_run = to_play.iter().filter(|nth| entries.get(**nth).is_some_and(Option::is_none)).count();
    let not_run = not_run.saturating_sub(unavailable.len());
    report.interrupted = (options.is_cancelled() && not_run > 0).then_some(Interrupted { not_run });
    report.lost = lost.map(|reason| Lost { reason, not_run });
    for case in entries.into_iter().flatten() {
        report.add(case);
    }
    for why in [SIDE_EFFECTS, HARMFUL, OWN_TARGET] {
        let n = left_out.iter().filter(|one| **one == why).count();
        if n > 0 {
            notes.push(format!("{n} cases were not played: {why}"));
        }
    }
    notes.extend(elsewhere.notes());
    notes.extend(unavailable.notes());
    report.notes = notes;
    report
}

fn plan(case: &ServerCase<'_>, subject: &Subject, profile: Profile, options: &Options) -> Plan {
    match case.hazard() {
        Some(Hazard::SideEffect) if !options.allow_side_effects => return Plan::LeftOut(SIDE_EFFECTS),
        Some(Hazard::Harmful) if !options.allow_harmful => return Plan::LeftOut(HARMFUL),
        _ => {}
    }
    if let Some(platform) = case.platform().filter(|platform| *platform != std::env::consts::OS) {
        return Plan::Elsewhere(format!("they are meant for {platform}"));
    }
    if let Some(since) = case.since().filter(|since| !profile.has(since)) {
        return Plan::Later(format!("came with .NET {since}; this is {profile}"));
    }
    if wants_a_configuration(case) && !subject.can_spawn() { Plan::LeftOut(OWN_TARGET) } else { Plan::Play }
}

/// Whether a target must be started in some way for it, and not only because it may be harmed.
fn wants_a_configuration(case: &ServerCase<'_>) -> bool {
    matches!(case.kind, ServerCaseKind::Script { target, .. } if *target != Target::default())
}

/// What one worker plays in one go: a case, or all those of a group that change the target which others are asked of as well. Each of
/// these finds what those before it left, however many targets there are.
fn turns(cases: &[ServerCase<'_>], to_play: &[usize]) -> Vec<Vec<usize>> {
    let mut turns: Vec<Vec<usize>> = Vec::new();
    let mut changing: BTreeMap<(&str, String), usize> = BTreeMap::new();
    for &nth in to_play {
        let changes = |case: &&ServerCase<'_>| case.hazard() == Some(Hazard::SideEffect) && !case.wants_own_target();
        if let Some(case) = cases.get(nth).filter(changes) {
            let turn = *changing.entry((case.file, case.group())).or_insert(turns.len());
            if let Some(turn) = turns.get_mut(turn) {
                turn.push(nth);
                continue;
            }
        }
        turns.push([nth].into());
    }
    turns
}

/// Plays the cases of `turns`: `first` has a target, and more are started if they may.
fn work(cases: &[ServerCase<'_>], turns: &[Vec<usize>], first: CasePlayer<'_>, place: &Place, take: &mut dyn FnMut(News)) {
    let (next, over) = (AtomicUsize::new(0), AtomicBool::new(false));
    let CasePlayer { profile, options, .. } = first;
    let jobs = if first.subject.can_spawn() { options.jobs.get().min(turns.len()) } else { 1 };
    let (sender, news) = mpsc::channel();
    thread::scope(|scope| {
        let (next, over) = (&next, &over);
        let mut first = Some(first);
        for _ in 0..jobs.max(1) {
            let (sender, first) = (sender.clone(), first.take());
            scope.spawn(move || {
                let player = match first {
                    Some(player) => Ok(player),
                    None => Subject::find(place, options.within.unwrap_or(WITHIN), options.canceller.as_ref())
                        .map(|subject| CasePlayer { subject, profile, options }),
                };
                let result = player.and_then(|mut player| play_all(&mut player, cases, turns, next, over, &sender));
                if let Err(reason) = result.or_else(|reason| if options.is_cancelled() { Ok(()) } else { Err(reason) }) {
                    over.store(true, Ordering::Relaxed);
                    let _ = sender.send(News::Lost(reason));
                }
            });
        }
        drop(sender);
        for one in news {
            take(one);
        }
    });
}

/// Plays what nobody else plays, and looks in the end whether the target still answers.
fn play_all(
    player: &mut CasePlayer<'_>,
    cases: &[ServerCase<'_>],
    turns: &[Vec<usize>],
    next: &AtomicUsize,
    over: &AtomicBool,
    sender: &Sender<News>,
) -> Result<(), String> {
    while !over.load(Ordering::Relaxed) && !player.options.is_cancelled() {
        let Some(turn) = turns.get(next.fetch_add(1, Ordering::Relaxed)) else { break };
        for nth in turn {
            let Some(case) = cases.get(*nth).filter(|_| !over.load(Ordering::Relaxed)) else { break };
            let result = player.play(case)?;
            if player.options.is_cancelled() {
                // It may have gone another way for that.
                return Ok(());
            }
            let _ = sender.send(News::Played(*nth, result));
        }
    }
    player.subject.answers().map_err(|reason| format!("after the run: {reason}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::conformance::codec;
    use crate::conformance::server::cases;
    use crate::vectors::named_script_files;

    #[test]
    fn cases_that_change_a_target_are_played_by_group_on_one() {
        let (scripts, vectors) = (named_script_files().unwrap(), codec::embedded().unwrap());
        let cases = cases(&scripts, &vectors);
        let all: Vec<usize> = (0..cases.len()).collect();
        let turns = turns(&cases, &all);
        let mut played: Vec<usize> = turns.iter().flatten().copied().collect();
        played.sort_unstable();
        assert_eq!(played, all, "each once");
        // What tcId 8110 deletes others of its group have set.
        let is_it = |nth: &usize| cases[*nth].name() == "requests/process/8110";
        let turn = turns.iter().find(|turn| turn.iter().any(is_it)).unwrap();
        assert!(turn.len() > 5, "{turn:?}");
        assert!(turn.iter().all(|nth| cases[*nth].group() == cases[turn[0]].group()));
    }
}
