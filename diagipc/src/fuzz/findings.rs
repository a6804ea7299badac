//! Makes findings of observations: repeats them, shortens them, and groups them by cause.

use std::time::Duration;

use super::case::FuzzCase;
use super::cause::{Cause, depends_on_the_request, may_be_known, verdict_of};
use super::finding::Finding;
use super::known::known;
use super::memory::Growth;
use super::minimise::minimise;
use super::play::Observed;
use super::stage::Stage;
use crate::KnownDeviation;
use crate::faults::Fault;

/// The age at which a target has finished starting.
const SETTLED: Duration = Duration::from_millis(500);

/// The new numbers: of a finding, or of a finding and its further request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum New {
    Nothing,
    Finding(usize),
    Further(usize),
}

/// Adds an observation of a case.
///
/// # Errors
/// If there is no target any more.
pub(super) fn take(
    findings: &mut Vec<Finding>,
    stage: &mut Stage<'_>,
    case: &FuzzCase,
    observed: &Observed,
    fault: Fault,
) -> Result<New, String> {
    let found = Cause::new(fault, observed.death, case);
    if let Some(there) = findings.iter_mut().find(|finding| finding.has(&found, case.command())) {
        there.times += 1;
        return Ok(New::Nothing);
    }
    let number = findings.iter().flat_map(Finding::members).count();
    let number = u32::try_from(number).unwrap_or(u32::MAX).saturating_add(1);
    let mut finding = Finding {
        number,
        found: Vec::from([found.clone()]),
        cause: found,
        text: observed.text_of(fault),
        minimised: case.clone(),
        case: case.clone(),
        reproduced: None,
        tries: 0,
        times: 1,
        known: known_of(stage, fault, case, observed),
        memory: None,
        further: Vec::new(),
        seen: observed.seen(),
    };
    // A fault of replies to any request is not repeated for each command.
    if depends_on_the_request(fault)
        || !findings.iter().any(|other| other.is_of_one_cause_with(&finding))
    {
        let mut last = observed.clone();
        let repeated = repeat(stage, &mut finding, &mut last);
        // Findings before the interruption are kept unchanged.
        repeated
            .or_else(|reason| if stage.options.is_cancelled() { Ok(()) } else { Err(reason) })?;
        // A busy machine slows down a good server.
        if finding.reproduced == Some(false) && !verdict_of(fault).is_fatal() {
            return Ok(New::Nothing);
        }
        finding.cause = Cause::new(fault, observed.death, &finding.minimised);
        finding.known = known_of(stage, fault, &finding.minimised, &last);
        finding.text = last.text_of(fault).or(finding.text);
        finding.seen = last.seen();
    }
    Ok(put(findings, finding))
}

/// Adds the growth of a target's memory, and the case with most of it.
///
/// # Errors
/// If there is no target any more.
pub(super) fn take_growth(
    findings: &mut Vec<Finding>,
    stage: &mut Stage<'_>,
    growth: Growth,
    case: &FuzzCase,
) -> Result<New, String> {
    let growing = Cause::new(Fault::MemoryGrowth, None, case);
    if let Some(there) = findings.iter_mut().find(|finding| finding.cause == growing) {
        there.times += 1;
        return Ok(New::Nothing);
    }
    let alone = if stage.can_spawn() { Some(stage.grows_alone(case)) } else { None };
    let alone = match alone {
        Some(Err(reason)) if !stage.options.is_cancelled() => return Err(reason),
        Some(Err(_)) | None => None,
        Some(Ok(alone)) => Some(alone),
    };
    let number = u32::try_from(findings.iter().flat_map(Finding::members).count())
        .unwrap_or(u32::MAX)
        .saturating_add(1);
    findings.push(Finding {
        number,
        found: Vec::from([growing.clone()]),
        cause: growing,
        text: None,
        minimised: case.clone(),
        case: case.clone(),
        reproduced: alone.map(|alone| alone.is_some()),
        tries: 0,
        times: 1,
        known: None,
        memory: Some(alone.flatten().unwrap_or(growth)),
        further: Vec::new(),
        seen: 0,
    });
    Ok(New::Finding(findings.len() - 1))
}

/// Adds a finding to the one with its cause, or at the end.
fn put(findings: &mut Vec<Finding>, mut finding: Finding) -> New {
    let Some(index) = findings.iter().position(|other| other.is_of_one_cause_with(&finding)) else {
        findings.push(finding);
        return New::Finding(findings.len() - 1);
    };
    let Some(there) = findings.get_mut(index) else { return New::Nothing };
    there.times += 1;
    // Another way to the same message.
    let command = finding.command();
    if let Some(member) = there.member_mut(|member| member.command() == command) {
        member.found.append(&mut finding.found);
        return New::Nothing;
    }
    there.further.push(finding);
    New::Further(index)
}

/// The fact that explains it for the target's runtime.
fn known_of(
    stage: &Stage<'_>,
    fault: Fault,
    case: &FuzzCase,
    observed: &Observed,
) -> Option<KnownDeviation> {
    if may_be_known(fault) { known(stage.profile, case, observed) } else { None }
}

/// Repeats a finding's case, and shortens its message if it is repeatable. `last`: its result then.
fn repeat(stage: &mut Stage<'_>, finding: &mut Finding, last: &mut Observed) -> Result<(), String> {
    let cause = finding.cause.clone();
    let is_fatal = finding.verdict().is_fatal();
    if stage.can_spawn() {
        // A runtime does some things only after running for a while.
        let times: &[Duration] =
            if is_fatal { &[Duration::ZERO, SETTLED] } else { &[Duration::ZERO] };
        for time in times {
            stage.settles = *time;
            let again = stage.play_alone(&finding.case)?;
            let does = again.shows(&cause);
            finding.reproduced = Some(does);
            if does {
                *last = again;
                let (minimised, tries) =
                    minimise(&finding.case, stage.options.tries, &mut |candidate| {
                        let observed = stage.play_alone(candidate)?;
                        let does = observed.shows(&cause);
                        if does {
                            *last = observed;
                        }
                        Ok(does)
                    })?;
                (finding.minimised, finding.tries) = (minimised, tries);
                break;
            }
        }
    } else if !is_fatal {
        let again = stage.play(&finding.case)?;
        finding.reproduced = (!again.shows(&cause)).then_some(false);
    }
    Ok(())
}
