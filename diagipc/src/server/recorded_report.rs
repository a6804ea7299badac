//! The report of a recording in `evidence/`, judged again from the recorded outcomes.

use dotnet_diagnostics_ipc_vectors::player::Conversation;
use dotnet_diagnostics_ipc_vectors::script::Plays;

use super::expectation::Expectation;
use super::judge::Verdict;
use super::{ServerCase, ServerCaseKind, cases};
use crate::known::{self, BuildRecording, CaseOutcome, Profile};
use crate::{Case, Grade, Report, embedded};

/// Returns the report of a file of `evidence/`. The report has no conversations, because they were
/// not kept. The error is a text.
///
/// ```
/// use diagipc::server::report_of_recording;
///
/// let report = report_of_recording(
///     r#"{ "build": "net10.0.9", "system": "Linux x64", "outcomes": { "requests/dump/4003": "OK" } }"#,
/// )?;
/// assert_eq!((report.target.as_str(), report.counts.pass), ("net10.0.9", 1));
/// # Ok::<(), String>(())
/// ```
pub fn report_of_recording(text: &str) -> Result<Report, String> {
    let recording = BuildRecording::parse(text)?;
    let scripts = embedded::scripts().map_err(|error| error.to_string())?;
    let vectors = embedded::vectors().map_err(|error| error.to_string())?;
    let mut report = Report::new("server", &recording.build);
    report.profile = Some(recording.profile.to_string());
    let mut left = recording.outcomes;
    for case in cases(scripts, vectors) {
        if let Some(outcome) = left.remove(&case.name()) {
            report.add(judged(recording.profile, &case, &outcome)?);
        }
    }
    match left.keys().next() {
        None => Ok(report),
        Some(name) => Err(format!("there is no case {name}")),
    }
}

fn judged(profile: Profile, case: &ServerCase<'_>, outcome: &CaseOutcome) -> Result<Case, String> {
    let text = outcome.to_string();
    let graded = |(grade, row)| match row {
        Some(row) => Verdict::of_row(row, vec![text.clone()]),
        None => Verdict::new(grade, vec![text.clone()]),
    };
    let verdict = match (case.kind, outcome) {
        (ServerCaseKind::Request { group, test }, CaseOutcome::Answered(seen)) => {
            graded(Expectation::of_vector(group, test).grade(profile, seen))
        }
        (ServerCaseKind::Script { .. }, CaseOutcome::AsWritten) => {
            Verdict::new(Grade::Pass, Vec::new())
        }
        (ServerCaseKind::Script { script, .. }, CaseOutcome::Deviated(fact)) => {
            let Plays::Client(part) = &script.plays else {
                return Err(format!("{} is not played to servers", case.name()));
            };
            let known = part.deviations.iter().find(|deviation| deviation.fact == *fact);
            let known = known.ok_or_else(|| format!("{} has no deviation {fact}", case.name()))?;
            Verdict::known(fact, &known.text, vec![text.clone()])
        }
        (ServerCaseKind::Script { script, .. }, CaseOutcome::Otherwise(seen)) => {
            let row = seen.and_then(|seen| known::explain_script(profile, script, &seen));
            graded((Grade::Fail, row))
        }
        _ => return Err(format!("{}: {text} is no outcome of it", case.name())),
    };
    Ok(Case { outcome: Some(text), ..verdict.case(case, &Conversation::default()) })
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    /// A build that was never recorded may still behave like the newest recorded one of its
    /// platform, so it fails nothing that this one passes.
    #[test]
    fn server_that_says_12_and_answers_as_11_fails_nothing_more() {
        for (recorded, unseen) in [("net11.0.0", "net12.0.0"), ("aot11.0.0", "aot12.0.0")] {
            let path = format!("{}/evidence/{recorded}.json", env!("CARGO_MANIFEST_DIR"));
            let text = std::fs::read_to_string(path).unwrap();
            let failing = |text: &str| -> BTreeSet<String> {
                let report = report_of_recording(text).unwrap();
                report.failures().map(|case| case.name.clone()).collect()
            };
            let eleven = failing(&text);
            let twelve =
                failing(&text.replace(&format!("\"{recorded}\""), &format!("\"{unseen}\"")));
            let more: Vec<_> = twelve.difference(&eleven).collect();
            assert!(more.is_empty(), "{unseen}: {} more: {more:?}", more.len());
        }
    }
}
