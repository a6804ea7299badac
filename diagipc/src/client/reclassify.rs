//! What the other cases of a run add to the facts of a case, before it is decided: which fault a
//! finding shows, and which findings are one fault.

use std::collections::BTreeMap;

use super::Operation;
use super::facts::{Facts, REPORTS_FAILURE, REPORTS_SUCCESS, UNSENT};
use super::finding::Weight;
use super::scenario::{Exit, Flag, Scenario};
use crate::Grade;
use crate::faults::Fault;

/// The section whose scenarios cover each value of a request.
const OF_REQUESTS: &str = "request";

/// Names findings from what other cases show, and keeps findings about requests in the cases that
/// are about them.
pub(super) fn reclassify(played: &mut [(&Scenario, Facts)]) {
    // Those with one cause first: others then have them as suspects.
    by_sizes(played, |scenario| scenario.suspects.is_empty());
    by_another_case(played);
    by_sizes(played, |scenario| !scenario.suspects.is_empty());
    by_plain(played);
    by_any_error(played);
    by_any_reply(played);
    noted_once(played);
}

/// A client that reports success after every reply, and after none, does not read it.
fn by_any_reply(played: &mut [(&Scenario, Facts)]) {
    let mut seen: BTreeMap<Operation, (bool, Vec<Fault>)> = BTreeMap::new();
    for (scenario, facts) in played.iter().filter(|(one, _)| is_refusal_of_a_reply(one)) {
        if facts.lacks.is_some() {
            continue;
        }
        let (is_any, faults) = seen.entry(scenario.operation).or_insert((true, Vec::new()));
        *is_any &= facts.is_success;
        faults.extend(scenario.reveals);
    }
    let never_reads = |operation| {
        seen.get(&operation).is_some_and(|(is_any, faults)| {
            let all = [Fault::ErrorTakenForOk, Fault::NoReplyTakenForOk, Fault::MagicUnchecked];
            *is_any && all.iter().all(|fault| faults.contains(fault))
        })
    };
    for (scenario, facts) in played.iter_mut().filter(|(one, _)| never_reads(one.operation)) {
        for finding in facts.findings.iter_mut().filter(|one| one.text == REPORTS_SUCCESS) {
            if is_refusal_of_a_reply(scenario) {
                finding.fault = Some(Fault::NeverReadsTheReply);
            }
        }
    }
}

/// Whether the client must fail because of what it reads, or does not read.
fn is_refusal_of_a_reply(scenario: &Scenario) -> bool {
    const SHOWN: &[Fault] = &[
        Fault::ErrorTakenForOk,
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

/// A client that treats every error as success treats one of code 0 as success too.
fn by_any_error(played: &mut [(&Scenario, Facts)]) {
    let takes_any = |played: &[(&Scenario, Facts)], operation| {
        let shows = |(scenario, facts): &(&Scenario, Facts)| {
            scenario.operation == operation && facts.findings.has(Fault::ErrorTakenForOk)
        };
        played.iter().any(shows)
    };
    for nth in 0..played.len() {
        let Some((scenario, _)) = played.get(nth) else { continue };
        if !takes_any(played, scenario.operation) {
            continue;
        }
        let Some((_, facts)) = played.get_mut(nth) else { continue };
        for finding in facts
            .findings
            .iter_mut()
            .filter(|finding| finding.fault == Some(Fault::ErrorCode0TakenForOk))
        {
            finding.fault = Some(Fault::ErrorTakenForOk);
        }
    }
}

/// The sizes of an OK that a client accepts show its fault, if it accepts that of its plain request.
fn by_sizes(played: &mut [(&Scenario, Facts)], is_meant: impl Fn(&Scenario) -> bool) {
    let is_taken =
        |played: &[(&Scenario, Facts)], operation, is_of_size: &dyn Fn(&Scenario) -> bool| {
            let mut all = played.iter().filter(|(one, facts)| {
                one.operation == operation && is_of_size(one) && facts.lacks.is_none()
            });
            all.next().map(|(_, facts)| facts.grade() == Grade::Pass)
        };
    let is = |size| move |one: &Scenario| one.ok_size == Some(size);
    for nth in 0..played.len() {
        let Some((scenario, _)) = played.get(nth) else { continue };
        let operation = scenario.operation;
        let size = scenario.ok_size.filter(|size| *size != 24 && is_meant(scenario));
        let Some(size) = size else { continue };
        let takes =
            |is_of_size: &dyn Fn(&Scenario) -> bool| is_taken(played, operation, is_of_size);
        let is_plain = |one: &Scenario| one.is(Flag::Plain) || one.ok_size == Some(24);
        if takes(&is_plain) != Some(true) {
            continue;
        }
        let insists_on_24 = takes(&is(20)) == Some(false) && takes(&is(28)) == Some(false);
        let (fault, before) = match size {
            20 | 28 if insists_on_24 => (Fault::ReplyOf24InsistedOn, Some(Fault::ReplySizeIgnored)),
            20 => (Fault::ReplyOf20Refused, None),
            _ => (Fault::ReplySurplusRefused, None),
        };
        if let Some((_, facts)) = played.get_mut(nth) {
            for finding in facts.findings.iter_mut() {
                let has_none = finding.fault.is_none() || finding.fault == before;
                if finding.weight == Weight::Must && has_none {
                    finding.fault = Some(fault);
                }
            }
        }
    }
}

/// A case that may show a fault, and does if another case of the operation shows it for certain.
fn by_another_case(played: &mut [(&Scenario, Facts)]) {
    for nth in 0..played.len() {
        let Some((scenario, _)) = played.get(nth) else { continue };
        let (operation, suspects) = (scenario.operation, scenario.suspects.clone());
        // Most clients read replies with one piece of code, but write requests with one for each
        // operation.
        let is_certain = |fault: &Fault| played.iter().any(|(_, facts)| facts.findings.has(*fault));
        let takes_no_ok = played.iter().any(|(scenario, facts)| {
            scenario.operation == operation && facts.findings.has(Fault::OkTakenForError)
        });
        let fault = suspects
            .iter()
            .copied()
            .find(is_certain)
            .or(takes_no_ok.then_some(Fault::OkTakenForError));
        if let (Some(fault), Some((_, facts))) = (fault, played.get_mut(nth)) {
            name(facts, fault);
        }
    }
}

/// What the plain request of an operation shows: a client that fails there fails for that reason
/// everywhere, and where it must fail, that shows nothing. So does one that sends nothing.
fn by_plain(played: &mut [(&Scenario, Facts)]) {
    let mut failing = BTreeMap::new();
    for (scenario, facts) in played.iter().filter(|(one, _)| one.is(Flag::Plain)) {
        let fault = facts.findings.faults().first().copied();
        let is_unsent = fault.is_some_and(|fault| UNSENT.contains(&fault));
        if facts.grade() == Grade::Fail && (is_unsent || !facts.is_success) {
            failing.insert(scenario.operation, (scenario.name.as_str(), fault, is_unsent));
        }
    }
    for (scenario, facts) in played.iter_mut().filter(|(one, _)| !one.is(Flag::Plain)) {
        let Some((name, fault, is_unsent)) = failing.get(&scenario.operation) else { continue };
        if scenario.exit == Exit::Failure && facts.grade() == Grade::Pass {
            facts.findings.may(None, format!("it also fails {name}, so this shows nothing"));
        }
        for finding in facts.findings.iter_mut() {
            let is_alike = finding.fault.is_some_and(|fault| UNSENT.contains(&fault));
            if finding.text == REPORTS_FAILURE || *is_unsent && is_alike {
                finding.fault = fault.or(finding.fault);
            }
        }
    }
}

/// Gives findings without a name this one.
fn name(facts: &mut Facts, fault: Fault) {
    for finding in facts
        .findings
        .iter_mut()
        .filter(|finding| finding.weight == Weight::Must && finding.fault.is_none())
    {
        finding.fault = Some(fault);
    }
}

/// If the cases about requests of the same operation show an error in a request, the others only
/// note it: they are about something else.
fn noted_once(played: &mut [(&Scenario, Facts)]) {
    let is_about_requests = |scenario: &Scenario| scenario.section() == OF_REQUESTS;
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
