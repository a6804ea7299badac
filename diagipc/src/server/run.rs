//! Plays the cases against a target, or against several equal ones.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc;
use std::sync::mpsc::Sender;
use std::thread;
use std::time::Instant;

use dotnet_diagnostics_ipc_vectors::Hazard;
use dotnet_diagnostics_ipc_vectors::player::Conversation;
use dotnet_diagnostics_ipc_vectors::script::Ability;

use super::ServerCase;
use super::abilities::Lack;
use super::attempt::{CasePlayer, Played, entry};
use super::judge::Judgement;
use super::left_out::LeftOut;
use super::options::Options;
use super::pace::WITHIN;
use super::recognise::Conclusion;
use super::survey::{Survey, survey};
use super::target::Target;
use crate::conversation::FaultSeen;
use crate::faults::Fault;
use crate::known::Profile;
use crate::network::address::Address;
use crate::order::Order;
use crate::process::timeouts::Again;
use crate::{Case, Grade, Interrupted, Lost, Report, TooFewJudged};

/// The decision about a case before anything is played.
enum Plan {
    /// It is played.
    Play,
    /// It may not be played, or not here.
    LeftOut(&'static str),
    /// It is for another system.
    Elsewhere(String),
    /// The target lacks a requirement.
    Lacks(Lack),
}

const SIDE_EFFECTS: &str = "they change the target: --allow-side-effects allows them";
const HARMFUL: &str = "they may kill, hang or exhaust the target: --allow-harmful allows them";
const OWN_TARGET: &str = "they need a target started for them: use --spawn";

/// A message of a worker.
enum News {
    Played(usize, Played),
    Note(String),
    Lost(String),
}

/// Plays `cases` against the target at `place`. `done` is called for each.
///
/// On cancellation, the current case is abandoned, and everything started is ended. The report has
/// the finished cases.
pub fn run(
    cases: &[ServerCase<'_>],
    address: &Address,
    options: &Options,
    done: &mut dyn FnMut(&Case),
) -> Report {
    let mut report = Report::new("server", &address.to_string());
    let within = options.within.unwrap_or(WITHIN);
    let allowed: Vec<_> =
        cases.iter().filter(|case| not_allowed(case, options).is_none()).collect();
    let found = Target::find(address, within, options.trust, options.canceller.as_ref()).and_then(
        |mut subject| {
            let identity = subject.identity()?;
            let survey = survey(&mut subject, &allowed, options)?;
            Ok((subject, identity, survey))
        },
    );
    let (subject, identity, survey) = match found {
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
    report.profile = Some(survey.profile.to_string());
    // A server that is not .NET may report anything.
    let system = if survey.conclusion.is_some() && survey.profile == Profile::STRICT {
        "version"
    } else {
        ".NET"
    };
    report.runtime = identity.as_ref().map(|identity| format!("{system} {}", identity.version));

    let mut entries: Vec<Option<Case>> = cases.iter().map(|_| None).collect();
    let (mut to_play, mut left_out) = (Vec::new(), Vec::new());
    let mut notes: Vec<String> = survey.conclusion.iter().map(Conclusion::note).collect();
    if survey.conclusion.is_none() && survey.profile.is_foretold() {
        notes.push(format!("profile {}: {}", survey.profile, survey.profile.held_to()));
    }
    notes.extend(subject.unknown_process().map(String::from));
    notes.extend(survey.weaknesses.iter().map(note_of_weakness));
    let (mut elsewhere, mut unclaimed) = (LeftOut::default(), 0_usize);
    for (nth, (case, slot)) in cases.iter().zip(&mut entries).enumerate() {
        let planned = plan(case, &subject, &survey, options);
        match planned {
            Plan::Play => to_play.push(nth),
            Plan::LeftOut(why) => left_out.push(why),
            Plan::Elsewhere(why) => elsewhere.push(case, why),
            Plan::Lacks(lack) => {
                unclaimed += usize::from(matches!(lack, Lack::Unclaimed(_)));
                let judgement = match lack {
                    Lack::Silent(found) => {
                        let fault = FaultSeen::new(Fault::NoAnswer, found.clone());
                        Judgement::new(Grade::Fail, [found].into()).with_faults([fault].into())
                    }
                    Lack::Missing(found) | Lack::Unclaimed(found) => {
                        Judgement::new(Grade::Unimplemented, [found].into())
                    }
                };
                let case = entry(options, case, judgement, &Conversation::default());
                done(&case);
                *slot = Some(case);
            }
        }
    }
    let (mut unavailable, mut lost) = (LeftOut::default(), None);
    let mut take = |news: News| match news {
        News::Played(nth, Played::Case(case) | Played::Late(case)) => {
            done(&case);
            if let Some(slot) = entries.get_mut(nth) {
                *slot = Some(*case);
            }
        }
        News::Played(nth, Played::Unavailable(why)) => {
            if let Some(case) = cases.get(nth) {
                unavailable.push(case, why);
            }
        }
        News::Note(note) => notes.push(note),
        News::Lost(reason) => lost = lost.take().or(Some(reason)),
    };
    dumps_last(cases, &mut to_play);
    let first = CasePlayer::new(subject, &survey, options);
    let turns = turns(cases, &to_play);
    work(cases, turns, (first, &survey), address, &mut take);

    let not_run =
        to_play.iter().filter(|nth| entries.get(**nth).is_some_and(Option::is_none)).count();
    let not_run = not_run.saturating_sub(unavailable.len());
    report.interrupted = (lost.is_none() && not_run > 0).then_some(Interrupted { not_run });
    report.lost = lost.map(|reason| Lost { reason, not_run });
    for case in entries.into_iter().flatten() {
        report.add(case);
    }
    let judged = report.counts.all().saturating_sub(report.counts.unimplemented);
    let claimed = report.counts.all().saturating_sub(unclaimed);
    if report.interrupted.is_none() && report.lost.is_none() {
        report.too_few_judged = TooFewJudged::of(judged, claimed, options.min_judged);
    }
    notes.extend(not_played(&left_out));
    notes.extend(elsewhere.notes());
    notes.extend(unavailable.notes());
    report.notes = notes;
    report
}

/// The note on what a server should not do, though no rule forbids it.
fn note_of_weakness(seen: &FaultSeen) -> String {
    let FaultSeen { fault, text, .. } = seen;
    format!("{fault}: {text}. {} {}", fault.sentence(), fault.fix())
}

/// How many cases were not played, for each reason.
fn not_played(left_out: &[&str]) -> Vec<String> {
    let count = |why| (left_out.iter().filter(|one| **one == why).count(), why);
    [SIDE_EFFECTS, HARMFUL, OWN_TARGET]
        .map(count)
        .into_iter()
        .filter(|(n, _)| *n > 0)
        .map(|(n, why)| format!("{n} cases were not played: {why}"))
        .collect()
}

/// The note on a case that failed at the first try only.
fn at_the_second_try(first: Case) -> String {
    let found = first.detail.map(|detail| detail.found.join("; ")).unwrap_or_default();
    format!("{}: passed only at the second try; the first: {found}", first.name)
}

/// Dumps are last: one may remove the target's socket (P-6).
fn dumps_last(cases: &[ServerCase<'_>], to_play: &mut [usize]) {
    to_play.sort_by_key(|nth| cases.get(*nth).is_some_and(ServerCase::asks_for_a_dump));
}

/// Why a case may not be played.
fn not_allowed(case: &ServerCase<'_>, options: &Options) -> Option<&'static str> {
    match case.hazard() {
        Some(Hazard::SideEffect) if !options.allow_side_effects => Some(SIDE_EFFECTS),
        Some(Hazard::Harmful) if !options.allow_harmful => Some(HARMFUL),
        _ => None,
    }
}

fn plan(case: &ServerCase<'_>, subject: &Target, survey: &Survey, options: &Options) -> Plan {
    if let Some(why) = not_allowed(case, options) {
        return Plan::LeftOut(why);
    }
    if let Some(platform) = case
        .platform()
        .filter(|platform| ![std::env::consts::OS, std::env::consts::FAMILY].contains(platform))
    {
        return Plan::Elsewhere(format!("they are meant for {platform}"));
    }
    if case.wants().contains(&Ability::OneClientAtATime) && subject.is_at_port() {
        return Plan::Elsewhere(
            "they need two concurrent connections, which a target does not open to a port".into(),
        );
    }
    if let Some(lack) = survey.abilities.lack(case, survey.profile, &options.claims) {
        return Plan::Lacks(lack);
    }
    // The version of a known runtime determines its start options; commands are tried.
    let is_of_the_start =
        |ability: &Ability| [Ability::Ports, Ability::Suspension].contains(ability);
    let is_about_the_start = !case.wants_default_port() || case.wants().iter().any(is_of_the_start);
    if let Some(since) =
        case.since().filter(|since| is_about_the_start && !survey.profile.has(since))
    {
        let text = format!("added in .NET {since}; this is {}", survey.profile);
        return Plan::Lacks(Lack::Missing(text));
    }
    if case.wants_a_configuration() && !subject.can_spawn() {
        Plan::LeftOut(OWN_TARGET)
    } else {
        Plan::Play
    }
}

/// What one worker plays in one go: a case, or all those of a group that change what others of it
/// check. Each of these sees the effects of the previous ones, however many targets there are.
fn turns(cases: &[ServerCase<'_>], to_play: &[usize]) -> Vec<Vec<usize>> {
    let mut turns: Vec<Vec<usize>> = Vec::new();
    let mut changing: BTreeMap<(&str, String), usize> = BTreeMap::new();
    for &nth in to_play {
        let changes = |case: &&ServerCase<'_>| {
            case.hazard() == Some(Hazard::SideEffect) && !case.wants_own_target()
        };
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

/// Plays the cases of `turns`: `first` has a target, and more are started if allowed.
fn work(
    cases: &[ServerCase<'_>],
    turns: Vec<Vec<usize>>,
    (first, survey): (CasePlayer<'_>, &Survey),
    address: &Address,
    take: &mut dyn FnMut(News),
) {
    let options = first.options;
    let jobs = if first.subject.can_spawn() { options.jobs.get().min(turns.len()) } else { 1 };
    // One worker takes them as they are.
    let waits = |nth: &usize| cases.get(*nth).map(ServerCase::waits).filter(|_| jobs > 1);
    let turns = Order::new(turns, |turn| turn.iter().filter_map(waits).sum());
    let queue = Queue { cases, turns, over: AtomicBool::new(false), began: Instant::now() };
    let (sender, news) = mpsc::channel();
    let mut late = BTreeMap::new();
    let player = thread::scope(|scope| {
        let queue = &queue;
        let mut first = Some(first);
        let mut players = Vec::new();
        for worker in 0..jobs.max(1) {
            let (sender, first) = (sender.clone(), first.take());
            players.push(scope.spawn(move || {
                let player = match first {
                    Some(player) => Ok(player),
                    None => Target::find(
                        address,
                        options.within.unwrap_or(WITHIN),
                        options.trust,
                        options.canceller.as_ref(),
                    )
                    .map(|subject| CasePlayer::new(subject, survey, options)),
                };
                let still_there = player.and_then(|mut player| {
                    queue.play_all(worker, &mut player, &sender).map(|()| player)
                });
                still_there.map_err(|reason| queue.is_lost(options, reason, &sender)).ok()
            }));
        }
        drop(sender);
        for one in news {
            match one {
                News::Played(nth, Played::Late(case)) => _ = late.insert(nth, case),
                other => take(other),
            }
        }
        players.into_iter().find_map(|player| player.join().ok().flatten())
    });
    let (sender, news) = mpsc::channel();
    if let Some(mut player) = player {
        if let Err(reason) = queue.play_again(&mut player, &mut late, &sender) {
            queue.is_lost(options, reason, &sender);
        }
    }
    drop(sender);
    news.into_iter().for_each(&mut *take);
    // Those that were not played again keep their verdict.
    for (nth, case) in late {
        take(News::Played(nth, Played::Case(case)));
    }
}

/// Plays a case, and says how long it took.
fn timed(player: &mut CasePlayer<'_>, case: &ServerCase<'_>) -> Result<Played, String> {
    let began = Instant::now();
    let mut result = player.play(case).map_err(|reason| format!("by {}: {reason}", case.name()))?;
    if let Played::Case(one) | Played::Late(one) = &mut result {
        one.took = began.elapsed();
    }
    Ok(result)
}

/// What cases have in common that fail for one reason.
fn kind_of(case: &Case) -> String {
    let faults: Vec<&str> = case.faults.iter().map(|fault| fault.name.as_str()).collect();
    format!("{} {}", case.group, faults.join(" "))
}

/// The cases to play, by several workers.
struct Queue<'q> {
    cases: &'q [ServerCase<'q>],
    turns: Order<Vec<usize>>,
    /// No more cases are started.
    over: AtomicBool,
    began: Instant,
}

impl Queue<'_> {
    /// Plays the remaining cases, and checks at the end whether the target still answers.
    fn play_all(
        &self,
        worker: usize,
        player: &mut CasePlayer<'_>,
        sender: &Sender<News>,
    ) -> Result<(), String> {
        let mut last = None;
        while !self.is_over(player.options) {
            let Some(turn) = self.turns.take(worker) else {
                break;
            };
            for nth in turn {
                let Some(case) = self.cases.get(*nth).filter(|_| !self.is_over(player.options))
                else {
                    break;
                };
                let result = timed(player, case)?;
                if player.options.is_cancelled() {
                    // That may have changed its behaviour.
                    return Ok(());
                }
                let fails = matches!(&result, Played::Case(case) if case.grade == Grade::Fail);
                let _ = sender.send(News::Played(*nth, result));
                if let Some(reason) = player.lost() {
                    return Err(format!("by {}: {reason}", case.name()));
                }
                if fails && player.options.fail_fast {
                    self.over.store(true, Ordering::Relaxed);
                }
                last = Some(case);
            }
        }
        player.subject.reacts().map_err(|reason| match last {
            Some(case) => format!("after {}, the last case: {reason}", case.name()),
            None => format!("before the first case: {reason}"),
        })
    }

    /// Plays those that are `late` again, one after another, with nothing beside them: each with
    /// those before it in its turn, whose effects it may check.
    fn play_again(
        &self,
        player: &mut CasePlayer<'_>,
        late: &mut BTreeMap<usize, Box<Case>>,
        sender: &Sender<News>,
    ) -> Result<(), String> {
        let mut again = Again::default();
        player.begins_again();
        for turn in self.turns.iter() {
            let is_due =
                |nth: &usize| late.get(nth).is_some_and(|case| again.is_worth(&kind_of(case)));
            let Some(last) = turn.iter().rposition(is_due) else { continue };
            if turn.len() > 1 {
                player.subject.end_shared();
            }
            for nth in turn.iter().take(last + 1) {
                let Some(case) = self.cases.get(*nth).filter(|_| !self.is_over(player.options))
                else {
                    return Ok(());
                };
                let result = timed(player, case)?;
                if player.options.is_cancelled() {
                    return Ok(());
                }
                let Some(first) = late.remove(nth) else { continue };
                let passes = !matches!(&result, Played::Case(case) | Played::Late(case) if case.grade == Grade::Fail);
                again.was_played(&kind_of(&first), passes);
                let note = passes.then(|| at_the_second_try(*first)).map(News::Note);
                let _ = sender.send(News::Played(*nth, result));
                let _ = note.map(|note| sender.send(note));
                if let Some(reason) = player.lost() {
                    return Err(format!("by {}: {reason}", case.name()));
                }
                if !passes && player.options.fail_fast {
                    return Ok(());
                }
            }
        }
        Ok(())
    }

    /// No target is left, or it no longer answers.
    fn is_lost(&self, options: &Options, reason: String, sender: &Sender<News>) {
        self.over.store(true, Ordering::Relaxed);
        if !options.is_cancelled() {
            let _ = sender.send(News::Lost(reason));
        }
    }

    /// Whether no more cases may be started.
    fn is_over(&self, options: &Options) -> bool {
        let is_late = options.max_time.is_some_and(|most| self.began.elapsed() >= most);
        self.over.load(Ordering::Relaxed) || options.is_cancelled() || is_late
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::embedded;
    use crate::server::cases;

    #[test]
    fn dumps_are_played_last() {
        let (scripts, vectors) = (embedded::scripts().unwrap(), embedded::vectors().unwrap());
        let cases = cases(scripts, vectors);
        let mut order: Vec<usize> = (0..cases.len()).collect();
        dumps_last(&cases, &mut order);
        let names: Vec<String> = order.iter().map(|nth| cases[*nth].name()).collect();
        let first = order.iter().position(|nth| cases[*nth].asks_for_a_dump()).unwrap();
        let is_dump = |name: &String| name.contains("/dump-") || name.starts_with("requests/dump/");
        assert!(!names[..first].iter().any(is_dump), "{:?}", &names[..first]);
        assert!(
            names[first..].contains(&"scripts/dump_profiler/dump-full".to_owned()),
            "{names:?}"
        );
        assert!(names[first..].contains(&"requests/dump/4021".to_owned()), "{names:?}");
    }

    #[test]
    fn script_with_sessions_left_has_a_target_of_its_own() {
        let scripts = embedded::scripts().unwrap();
        let cases = cases(scripts, &[]);
        let cannot_share =
            |name: &str| cases.iter().find(|case| case.name() == name).unwrap().cannot_share();
        assert!(cannot_share("scripts/eventpipe/sessions-are-64"));
        assert!(!cannot_share("scripts/eventpipe/sessions-one-after-another"));
    }

    #[test]
    fn cases_changing_target_are_played_by_group() {
        let (scripts, vectors) = (embedded::scripts().unwrap(), embedded::vectors().unwrap());
        let cases = cases(scripts, vectors);
        let all: Vec<usize> = (0..cases.len()).collect();
        let turns = turns(&cases, &all);
        let mut played: Vec<usize> = turns.iter().flatten().copied().collect();
        played.sort_unstable();
        assert_eq!(played, all, "each once");
        // tcId 8103 sets what others of its group set too.
        let is_it = |nth: &usize| cases[*nth].name() == "requests/process/8103";
        let turn = turns.iter().find(|turn| turn.iter().any(is_it)).unwrap();
        assert!(turn.len() > 5, "{turn:?}");
        assert!(turn.iter().all(|nth| cases[*nth].group() == cases[turn[0]].group()));
    }
}
