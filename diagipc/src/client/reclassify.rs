//! Completes the facts of each case with what other cases of the run show, before it is decided:
//! which fault a finding is, and which findings are the same fault.

use std::collections::{BTreeMap, BTreeSet};

use super::Operation;
use super::facts::{
    ClientFinding, REPORTS_FAILURE, REPORTS_SUCCESS, ScenarioFacts, UNSENT, Weight,
};
use super::scenario::{Exit, Flag, Scenario};
use crate::Grade;
use crate::faults::Fault;

/// The scenarios of a run, each with its observations.
type Played<'s> = [(&'s Scenario, ScenarioFacts)];

/// Names the faults of findings by what other cases show. Keeps findings about requests only in the
/// cases that are about requests.
pub(super) fn reclassify(played: &mut Played<'_>) {
    // Scenarios with only one possible cause come first, because others suspect their faults.
    by_sizes(played, |scenario| scenario.suspects.is_empty());
    rename_each(played, by_another_case, |finding, fault| {
        finding.fault.is_none()
            || finding.fault == Some(Fault::LargeReplyMisread)
                && fault == Fault::ReplyInPiecesMisread
    });
    by_sizes(played, |scenario| !scenario.suspects.is_empty());
    by_plain(played);
    by_any_error(played);
    by_any_reply(played);
    by_lost_text(played);
    noted_once(played);
}

/// Renames a missing text that the client does not print for a plain reply either.
fn by_lost_text(played: &mut Played<'_>) {
    let all = played.iter().flat_map(|(_, facts)| facts.findings.iter());
    let lost = all.filter(|finding| finding.fault == Some(Fault::ProcessInfoLost));
    let lost: BTreeSet<String> = lost.map(|finding| finding.text.clone()).collect();
    for (_, facts) in played.iter_mut() {
        facts.findings.rename(Fault::ProcessInfoLost, |finding| lost.contains(&finding.text));
    }
}

/// Renames the errors for which `is_it` returns true to the fault of their case, `fault_of`.
fn rename_each(
    played: &mut Played<'_>,
    fault_of: impl Fn(&Played<'_>, &Scenario) -> Option<Fault>,
    is_it: impl Fn(&ClientFinding, Fault) -> bool,
) {
    let faults: Vec<_> = played.iter().map(|(scenario, _)| fault_of(played, scenario)).collect();
    for ((_, facts), fault) in played.iter_mut().zip(faults) {
        let Some(fault) = fault else { continue };
        let is_it =
            |finding: &ClientFinding| finding.weight == Weight::Must && is_it(finding, fault);
        facts.findings.rename(fault, is_it);
    }
}

/// A client that reports success after every reply, and without one, does not read the reply.
fn by_any_reply(played: &mut Played<'_>) {
    let mut seen: BTreeMap<Operation, (bool, Vec<Fault>)> = BTreeMap::new();
    let is_played = |(scenario, facts): &&(&Scenario, ScenarioFacts)| {
        is_refusal_of_a_reply(scenario) && facts.lacks.is_none()
    };
    for (scenario, facts) in played.iter().filter(is_played) {
        let (is_any, faults) = seen.entry(scenario.operation).or_insert((true, Vec::new()));
        *is_any &= facts.is_success;
        faults.extend(scenario.reveals);
    }
    seen.retain(|_, (is_any, faults)| {
        let all = [Fault::ErrorTreatedAsSuccess, Fault::NoReplyTakenForOk, Fault::MagicUnchecked];
        *is_any && all.iter().all(|fault| faults.contains(fault))
    });
    for (scenario, facts) in played.iter_mut() {
        if seen.contains_key(&scenario.operation) && is_refusal_of_a_reply(scenario) {
            let is_it = |finding: &ClientFinding| finding.text == REPORTS_SUCCESS;
            facts.findings.rename(Fault::NeverReadsTheReply, is_it);
        }
    }
}

/// Whether the client must fail because of what it reads, or because nothing arrives.
fn is_refusal_of_a_reply(scenario: &Scenario) -> bool {
    const SHOWN: &[Fault] = &[
        Fault::ErrorTreatedAsSuccess,
        Fault::ErrorCode0TakenForOk,
        Fault::FailingHresultIgnored,
        Fault::NoReplyTakenForOk,
        Fault::ReplyCutUnnoticed,
        Fault::ReplyTooShortAccepted,
        Fault::MagicUnchecked,
        Fault::ReplyCommandSetUnchecked,
    ];
    scenario.exit == Exit::Failure && scenario.reveals.is_some_and(|fault| SHOWN.contains(&fault))
}

/// A client that treats every error as success also treats an error of code 0 as success.
fn by_any_error(played: &mut Played<'_>) {
    let takes_any =
        played.iter().filter(|(_, facts)| facts.findings.has(Fault::ErrorTreatedAsSuccess));
    let takes_any: BTreeSet<_> = takes_any.map(|(scenario, _)| scenario.operation).collect();
    for (scenario, facts) in played.iter_mut() {
        if takes_any.contains(&scenario.operation) {
            let is_it =
                |finding: &ClientFinding| finding.fault == Some(Fault::ErrorCode0TakenForOk);
            facts.findings.rename(Fault::ErrorTreatedAsSuccess, is_it);
        }
    }
}

/// Names the fault by the sizes of an OK that a client accepts, if it accepts the size that
/// runtimes send.
fn by_sizes(played: &mut Played<'_>, is_meant: impl Fn(&Scenario) -> bool) {
    let fault = |played: &Played<'_>, scenario: &Scenario| {
        let size = scenario.ok_size.filter(|size| *size != 24 && is_meant(scenario))?;
        let takes = |is_of_size: &dyn Fn(&Scenario) -> bool| {
            let mut all = played.iter().filter(|(one, facts)| {
                one.operation == scenario.operation && is_of_size(one) && facts.lacks.is_none()
            });
            all.next().map(|(_, facts)| facts.grade() == Grade::Pass)
        };
        let refuses = |size| takes(&|one| one.ok_size == Some(size)) == Some(false);
        if takes(&|one| one.is(Flag::Plain) || one.ok_size == Some(24)) != Some(true) {
            return None;
        }
        Some(match size {
            20 | 28 if refuses(20) && refuses(28) => Fault::Only24ByteOkAccepted,
            20 => Fault::ReplyOf20Refused,
            _ => Fault::ReplySurplusRefused,
        })
    };
    rename_each(played, fault, |finding, fault| {
        finding.fault.is_none()
            || fault == Fault::Only24ByteOkAccepted
                && finding.fault == Some(Fault::ReplySizeIgnored)
    });
}

/// Returns a fault that is possible in this case and certain in another.
fn by_another_case(played: &Played<'_>, scenario: &Scenario) -> Option<Fault> {
    // Most clients read replies with shared code, but write requests with separate code for each
    // operation.
    let is_certain = |fault: &Fault| played.iter().any(|(_, facts)| facts.findings.has(*fault));
    let takes_no_ok = || {
        played.iter().any(|(other, facts)| {
            other.operation == scenario.operation && facts.findings.has(Fault::OkTakenForError)
        })
    };
    let suspect = scenario.suspects.iter().copied().find(is_certain);
    suspect.or_else(|| takes_no_ok().then_some(Fault::OkTakenForError))
}

/// A client that fails the plain request of an operation, or sends nothing, fails everywhere for
/// that reason. Where it must fail, that failure shows nothing.
fn by_plain(played: &mut Played<'_>) {
    let (mut failing, mut wrong) = (BTreeMap::new(), BTreeMap::new());
    for (scenario, facts) in played.iter().filter(|(one, _)| one.is(Flag::Plain)) {
        let mut of_request =
            facts.findings.iter().filter(|finding| finding.text != REPORTS_FAILURE);
        wrong.insert(scenario.operation, of_request.find_map(|finding| finding.fault));
        let fault = facts.findings.faults().first().copied();
        let is_unsent = fault.is_some_and(|fault| UNSENT.contains(&fault));
        if facts.grade() == Grade::Fail && (is_unsent || !facts.is_success) {
            failing.insert(scenario.operation, (scenario.name.as_str(), fault, is_unsent));
        }
    }
    for (scenario, facts) in played.iter_mut().filter(|(one, _)| !one.is(Flag::Plain)) {
        // A request that is too long as written has no room for the longest text.
        if let Some(Some(fault)) = wrong.get(&scenario.operation) {
            let is_it =
                |finding: &ClientFinding| finding.fault == Some(Fault::LargestMessageRefused);
            facts.findings.rename(*fault, is_it);
        }
        let Some((name, fault, is_unsent)) = failing.get(&scenario.operation) else { continue };
        if scenario.exit == Exit::Failure && facts.grade() == Grade::Pass {
            facts.findings.may(None, format!("it also fails {name}, so this shows nothing"));
        }
        if let Some(fault) = fault {
            facts.findings.rename(*fault, |finding| {
                finding.text == REPORTS_FAILURE || *is_unsent && finding.is_unsent()
            });
        }
    }
}

/// Turns an error in a request into a note in all cases that are about something else, if the cases
/// about requests of the operation show it.
fn noted_once(played: &mut Played<'_>) {
    let is_about_requests = |scenario: &Scenario| scenario.section() == "request";
    let known: Vec<(Operation, Fault)> = played
        .iter()
        .filter(|(scenario, _)| is_about_requests(scenario))
        .flat_map(|(scenario, facts)| {
            facts.findings.faults().into_iter().map(|fault| (scenario.operation, fault))
        })
        .collect();
    for (scenario, facts) in played.iter_mut().filter(|(scenario, _)| !is_about_requests(scenario))
    {
        for finding in facts.findings.iter_mut().filter(|finding| finding.is_of_request) {
            if finding.fault.is_some_and(|fault| known.contains(&(scenario.operation, fault))) {
                finding.weight = Weight::Note;
            }
        }
    }
}
