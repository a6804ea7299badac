//! Conclusions from several cases: which fault it is, and which findings are one fault.

use std::collections::BTreeMap;

use super::Operation;
use super::finding::Weight;
use super::scenario::{Exit, Flag, Scenario};
use super::verdict::{REPORTS_FAILURE, Verdict};
use crate::Grade;
use crate::faults::Fault;

/// The section whose scenarios cover each value of a request.
const OF_REQUESTS: &str = "request";

/// Names findings from what other cases show, and keeps findings about requests in the cases that
/// are about them.
pub(super) fn settle(played: &mut [(&Scenario, Verdict)]) {
    by_sizes(played);
    by_another_case(played);
    by_plain(played);
    by_any_error(played);
    noted_once(played);
}

/// A client that treats every error as success treats one of code 0 as success too.
fn by_any_error(played: &mut [(&Scenario, Verdict)]) {
    let takes_any = |played: &[(&Scenario, Verdict)], operation| {
        let shows = |(scenario, verdict): &(&Scenario, Verdict)| {
            scenario.operation == operation && verdict.findings.has(Fault::ErrorTakenForOk)
        };
        played.iter().any(shows)
    };
    for nth in 0..played.len() {
        let Some((scenario, _)) = played.get(nth) else { continue };
        if !takes_any(played, scenario.operation) {
            continue;
        }
        let Some((_, verdict)) = played.get_mut(nth) else { continue };
        for finding in verdict
            .findings
            .iter_mut()
            .filter(|finding| finding.fault == Some(Fault::ErrorCode0TakenForOk))
        {
            finding.fault = Some(Fault::ErrorTakenForOk);
        }
    }
}

/// The sizes of an OK that a client accepts show its fault.
fn by_sizes(played: &mut [(&Scenario, Verdict)]) {
    let grade_of = |played: &[(&Scenario, Verdict)], size, operation| {
        let of =
            |scenario: &Scenario| scenario.ok_size == Some(size) && scenario.operation == operation;
        played.iter().find(|(scenario, _)| of(scenario)).map(|(_, verdict)| verdict.grade())
    };
    for nth in 0..played.len() {
        let Some((scenario, _)) = played.get(nth) else { continue };
        let operation = scenario.operation;
        let Some(size @ (20 | 28)) = scenario.ok_size else { continue };
        let [of_20, of_24, of_28] = [20, 24, 28].map(|size| grade_of(played, size, operation));
        if of_24 != Some(Grade::Pass) {
            continue;
        }
        let fault = match (of_20, of_28) {
            (Some(Grade::Fail), Some(Grade::Fail)) => Fault::ReplyOf24InsistedOn,
            _ if size == 20 => Fault::ReplyOf20Refused,
            _ => Fault::ReplySurplusRefused,
        };
        if let Some((_, verdict)) = played.get_mut(nth) {
            name(verdict, fault);
        }
    }
}

/// A case that may show a fault, and does if another case of the operation shows it for certain.
fn by_another_case(played: &mut [(&Scenario, Verdict)]) {
    for nth in 0..played.len() {
        let Some((scenario, _)) = played.get(nth) else { continue };
        let (operation, suspects) = (scenario.operation, scenario.suspects.clone());
        // Most clients read replies with one piece of code, but write requests with one for each
        // operation.
        let is_certain =
            |fault: &Fault| played.iter().any(|(_, verdict)| verdict.findings.has(*fault));
        let takes_no_ok = played.iter().any(|(scenario, verdict)| {
            scenario.operation == operation && verdict.findings.has(Fault::OkTakenForError)
        });
        let fault = suspects
            .iter()
            .copied()
            .find(is_certain)
            .or(takes_no_ok.then_some(Fault::OkTakenForError));
        if let (Some(fault), Some((_, verdict))) = (fault, played.get_mut(nth)) {
            name(verdict, fault);
        }
    }
}

/// What the plain request of an operation shows: a client that fails there fails for that reason
/// everywhere, and where it must fail, that shows nothing.
fn by_plain(played: &mut [(&Scenario, Verdict)]) {
    let mut failing = BTreeMap::new();
    for (scenario, verdict) in played.iter().filter(|(one, _)| one.is(Flag::Plain)) {
        if verdict.grade() == Grade::Fail && !verdict.is_success {
            let fault = verdict.findings.faults().first().copied();
            failing.insert(scenario.operation, (scenario.name.as_str(), fault));
        }
    }
    for (scenario, verdict) in played.iter_mut().filter(|(one, _)| !one.is(Flag::Plain)) {
        let Some((name, fault)) = failing.get(&scenario.operation) else { continue };
        if scenario.exit == Exit::Failure && verdict.grade() == Grade::Pass {
            verdict.findings.may(None, format!("it also fails {name}, so this shows nothing"));
        }
        for finding in verdict.findings.iter_mut().filter(|one| one.text == REPORTS_FAILURE) {
            finding.fault = fault.or(finding.fault);
        }
    }
}

/// Gives findings without a name this one.
fn name(verdict: &mut Verdict, fault: Fault) {
    for finding in verdict
        .findings
        .iter_mut()
        .filter(|finding| finding.weight == Weight::Must && finding.fault.is_none())
    {
        finding.fault = Some(fault);
    }
}

/// If the cases about requests of the same operation show an error in a request, the others only
/// note it: they are about something else.
fn noted_once(played: &mut [(&Scenario, Verdict)]) {
    let is_about_requests = |scenario: &Scenario| scenario.section() == OF_REQUESTS;
    let known: Vec<(Operation, Fault)> = played
        .iter()
        .filter(|(scenario, _)| is_about_requests(scenario))
        .flat_map(|(scenario, verdict)| {
            verdict.findings.faults().into_iter().map(|fault| (scenario.operation, fault))
        })
        .collect();
    for (scenario, verdict) in
        played.iter_mut().filter(|(scenario, _)| !is_about_requests(scenario))
    {
        for finding in verdict.findings.iter_mut().filter(|finding| finding.is_of_request) {
            if finding.fault.is_some_and(|fault| known.contains(&(scenario.operation, fault))) {
                finding.weight = Weight::Note;
            }
        }
    }
}
