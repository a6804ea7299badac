//! Plays the cases against one target or several equal ones.

use std::collections::{BTreeMap, BTreeSet};
use std::num::NonZeroUsize;

use dotnet_diagnostics_ipc_vectors::Hazard;
use dotnet_diagnostics_ipc_vectors::script::Ability;

use super::ServerCase;
use super::abilities::Lack;
use super::facts::{CaseFacts, PlayEnd};
use super::judge::{Known, decide};
use super::options::Options;
use super::play::CasePlayer;
use super::recognise::Conclusion;
use super::survey::{Survey, survey};
use super::target::Target;
use super::timeouts::WITHIN;
use crate::conversation::FaultSeen;
use crate::network::address::Address;
use crate::process::Suspended;
use crate::suite::{CaseResult, Failure, RunLimits, Suite};
use crate::{Case, Grade, Interrupted, Lost, NotJudged, NotPlayed, Report, TooFewJudged, suite};

/// What is decided about a case before anything is played.
enum Plan {
    Play,
    /// The case is not allowed, or cannot be played here.
    LeftOut(&'static str),
    Elsewhere(String),
    Lacks(Lack),
}

const SIDE_EFFECTS: &str = "they change the target: --allow-side-effects allows them";
const HARMFUL: &str = "they may kill, hang or exhaust the target: --allow-harmful allows them";
const NO_PORTS: &str = "If the server has no ports, use --claims with `ports = false`";
const OWN_TARGET: &str = "they need a target started for them: use --spawn";

/// Plays `cases` against the target at `place`. Calls `done` after each case.
///
/// On cancellation the current case is abandoned, and everything that was started is ended. The
/// report has the finished cases.
pub fn run(
    cases: &[ServerCase<'_>],
    address: &Address,
    options: &Options,
    done: &mut dyn FnMut(&Case),
) -> Report {
    let mut report = Report::new("server", &address.to_string());
    let within = options.within.unwrap_or(WITHIN);
    let found = Target::find(address, within, options.trust, options.canceller.as_ref()).and_then(
        |mut subject| {
            let identity = subject.identity()?;
            // A target that is started here is resumed.
            let held = if subject.can_spawn() { None } else { subject.process_id() };
            let held = held.and_then(Suspended::of);
            let is_allowed = |case: &&ServerCase<'_>| {
                not_allowed(case, options).is_none() && !(held.is_some() && case.is_of_sessions())
            };
            let allowed: Vec<_> = cases.iter().filter(is_allowed).collect();
            let survey = survey(&mut subject, held.is_some(), &allowed, options)?;
            Ok((subject, identity, survey, held))
        },
    );
    let (subject, identity, survey, held) = match found {
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
    report.runtime = identity.as_ref().map(|identity| survey.runtime(&identity.version));

    let mut entries: BTreeMap<usize, Case> = BTreeMap::new();
    let (mut to_play, mut left_out) = (Vec::new(), Vec::new());
    let mut notes: Vec<String> = survey.conclusion.iter().map(Conclusion::note).collect();
    if survey.conclusion.is_none() && survey.profile.is_predicted() {
        notes.push(format!("profile {}: {}", survey.profile, survey.profile.held_to()));
    }
    notes.extend(subject.unknown_process().map(String::from));
    notes.extend(survey.weaknesses.iter().map(|FaultSeen { fault, text, .. }| {
        format!("{fault}: {text}. {} {}", fault.sentence(), fault.fix())
    }));
    let (mut elsewhere, mut unclaimed) = (Vec::new(), 0_usize);
    let known = Known {
        options,
        profile: survey.profile,
        abilities: &survey.abilities,
        served: BTreeSet::new(),
    };
    for (nth, case) in cases.iter().enumerate() {
        match plan(case, &subject, held.as_ref(), &survey, options) {
            Plan::Play => to_play.push(nth),
            Plan::LeftOut(why) => left_out.push(why),
            Plan::Elsewhere(why) => elsewhere.push((why, case.name())),
            Plan::Lacks(lack) => {
                unclaimed += usize::from(matches!(lack, Lack::Unclaimed(_)));
                if let Lack::TimedOut(why) = &lack {
                    let none = || NotJudged { count: 0, why: format!("{why}. {NO_PORTS}") };
                    report.not_judged.get_or_insert_with(none).count += 1;
                }
                let facts = CaseFacts::unplayed(PlayEnd::Lacks(lack));
                let case = decide(&known, case, &facts).case(case, &facts.conversation);
                done(&case);
                entries.insert(nth, case);
            }
        }
    }
    dumps_last(cases, &mut to_play);
    let turns = turns(cases, &to_play);
    // A target that the suite did not start plays one case after another (F-75).
    let jobs = if subject.can_spawn() { options.jobs } else { NonZeroUsize::MIN };
    let limits = RunLimits {
        jobs,
        fail_fast: options.fail_fast,
        max_time: options.max_time,
        canceller: options.canceller.as_ref(),
    };
    let suite = ServerSuite { cases, address, options, survey: &survey };
    let waits = |nth: usize| cases.get(nth).map(ServerCase::waits).unwrap_or_default();
    let first = CasePlayer::new(subject, &survey, options);
    let played = suite::run(&suite, turns, waits, &limits, Some(first), &mut |_, case| done(case));
    played.end_into(&mut report);
    elsewhere.extend(played.unavailable.into_iter().map(|(nth, why)| (why, suite.name(nth))));
    entries.extend(played.results);
    notes.extend(played.notes);
    for case in entries.into_values() {
        report.add(case);
    }
    let judged = report.counts.judged();
    let claimed = report.counts.all().saturating_sub(unclaimed);
    if report.interrupted.is_none() && report.lost.is_none() {
        report.too_few_judged = TooFewJudged::of(judged, claimed, options.min_judged);
    }
    let (left_out, counts) = not_played(&left_out, elsewhere.len());
    notes.extend(left_out);
    report.not_played = counts;
    notes.extend(notes_on(&elsewhere));
    report.notes = notes;
    report
}

/// Returns notes on the cases that were left out, and how many of them each option would play.
/// `elsewhere` of them cannot be played here.
fn not_played(left_out: &[&str], elsewhere: usize) -> (Vec<String>, Vec<NotPlayed>) {
    let (mut notes, mut counts) = (Vec::new(), Vec::new());
    let options = ["--allow-side-effects", "--allow-harmful", "--spawn"];
    for (why, with) in [SIDE_EFFECTS, HARMFUL, OWN_TARGET].into_iter().zip(options) {
        let count = left_out.iter().filter(|one| **one == why).count();
        if count > 0 {
            notes.push(format!("{count} cases were not played: {why}"));
            counts.push(NotPlayed { count, with: with.to_owned() });
        }
    }
    if elsewhere > 0 {
        counts.push(NotPlayed { count: elsewhere, with: "elsewhere".to_owned() });
    }
    (notes, counts)
}

/// Moves dumps to the end, because one may remove the target's socket (P-6).
fn dumps_last(cases: &[ServerCase<'_>], to_play: &mut [usize]) {
    to_play.sort_by_key(|nth| cases.get(*nth).is_some_and(ServerCase::asks_for_a_dump));
}

/// Returns why a case may not be played.
fn not_allowed(case: &ServerCase<'_>, options: &Options) -> Option<&'static str> {
    match case.hazard() {
        Some(Hazard::SideEffect) if !options.allow_side_effects => Some(SIDE_EFFECTS),
        Some(Hazard::Harmful) if !options.allow_harmful => Some(HARMFUL),
        _ => None,
    }
}

fn plan(
    case: &ServerCase<'_>,
    subject: &Target,
    held: Option<&Suspended>,
    survey: &Survey,
    options: &Options,
) -> Plan {
    if let Some(why) = not_allowed(case, options) {
        return Plan::LeftOut(why);
    }
    // A session that is stopped while the target waits would harm it later (F-160).
    if let Some(held) = held.filter(|_| case.is_of_sessions()) {
        return Plan::Elsewhere(format!(
            "the target {held}, so no stream is judged (F-112, F-169)"
        ));
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
    // For a known runtime the version decides which start options exist; commands are tried.
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

/// The cases that one worker plays without a break: one case, or all cases of a group that change
/// what others of the group check. These see each other's effects, however many targets there are.
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

/// The cases of a run, in the form that the suite runner plays.
struct ServerSuite<'r> {
    cases: &'r [ServerCase<'r>],
    address: &'r Address,
    options: &'r Options,
    survey: &'r Survey,
}

impl<'r> Suite for ServerSuite<'r> {
    type Player = CasePlayer<'r>;
    type Result = Case;

    fn name(&self, case: usize) -> String {
        self.cases.get(case).map_or_else(String::new, ServerCase::name)
    }

    fn player(&self) -> Result<CasePlayer<'r>, String> {
        let Options { within, trust, canceller, .. } = self.options;
        let within = within.unwrap_or(WITHIN);
        Target::find(self.address, within, *trust, canceller.as_ref())
            .map(|subject| CasePlayer::new(subject, self.survey, self.options))
    }

    fn play(&self, player: &mut CasePlayer<'r>, nth: usize) -> Result<CaseResult<Case>, String> {
        self.cases
            .get(nth)
            .map_or_else(|| Err(format!("there is no case {nth}")), |case| player.play(case))
    }

    fn failure(&self, case: &Case) -> Option<Failure> {
        (case.grade == Grade::Fail).then(|| {
            let faults: Vec<&str> = case.faults.iter().map(|fault| fault.name.as_str()).collect();
            let found = case.detail.as_ref().map(|detail| detail.found.join("; "));
            Failure {
                kind: format!("{} {}", case.group, faults.join(" ")),
                found: found.unwrap_or_default(),
            }
        })
    }

    fn check(&self, player: &mut CasePlayer<'r>) -> Result<(), String> {
        let name = player.last.clone().unwrap_or_default();
        player.lost().map_or(Ok(()), |reason| Err(format!("by {name}: {reason}")))
    }

    fn finish(&self, player: &mut CasePlayer<'r>) -> Result<(), String> {
        if !player.has_answered() {
            return Ok(());
        }
        player.subject.reacts().map_err(|reason| match &player.last {
            Some(name) => format!("after {name}, the last case: {reason}"),
            None => format!("before the first case: {reason}"),
        })
    }

    fn begin_again(&self, player: &mut CasePlayer<'r>, together: usize) {
        player.begins_again();
        if together > 1 {
            player.subject.end_shared();
        }
    }
}

/// Returns one line, with the names of the cases, for each reason why cases cannot be played here.
fn notes_on(cases: &[(String, String)]) -> impl Iterator<Item = String> {
    let mut by_reason: Vec<(&str, Vec<&str>)> = Vec::new();
    for (why, name) in cases {
        match by_reason.iter_mut().find(|(reason, _)| reason == why) {
            Some((_, names)) => names.push(name),
            None => by_reason.push((why, vec![name])),
        }
    }
    by_reason.into_iter().map(|(why, names)| {
        let s = if names.len() == 1 { "" } else { "s" };
        format!("{} case{s} cannot be played here: {why}: {}", names.len(), names.join(", "))
    })
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
        for dump in ["scripts/dump_profiler/dump-full", "requests/dump/4021"] {
            assert!(names[first..].contains(&dump.to_owned()), "{names:?}");
        }
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
        // tcId 8103 sets a variable that others of its group set too.
        let is_it = |nth: &usize| cases[*nth].name() == "requests/process/8103";
        let turn = turns.iter().find(|turn| turn.iter().any(is_it)).unwrap();
        assert!(turn.len() > 5, "{turn:?}");
        assert!(turn.iter().all(|nth| cases[*nth].group() == cases[turn[0]].group()));
    }
}
