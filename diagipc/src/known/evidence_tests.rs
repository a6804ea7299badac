//! The table and the recordings of `evidence/` agree: no row without evidence, no recorded
//! deviation without a row.

use std::collections::{BTreeMap, BTreeSet};

use dotnet_diagnostics_ipc::exchange::RefusalReason;
use dotnet_diagnostics_ipc::header::{HEADER_LEN, Header};
use dotnet_diagnostics_ipc::vectors::script::{Life, Plays, Script, Step};
use dotnet_diagnostics_ipc::vectors::{Hazard, named_script_files};

use super::row::{Platform, RowSource};
use super::table::TABLE;
use super::*;
use crate::Grade;
use crate::codec;
use crate::conversation::Answer;
use crate::server::expectation::Expectation;
use crate::server::judge::grade;
use crate::server::{ServerCase, ServerCaseKind, cases};

/// Those of every system.
fn all_recordings() -> Vec<Recording> {
    let directory = format!("{}/evidence", env!("CARGO_MANIFEST_DIR"));
    let paths = std::fs::read_dir(&directory).unwrap().map(|entry| entry.unwrap().path());
    let files = paths.filter(|path| path.extension().is_some_and(|extension| extension == "json"));
    let read = |path: std::path::PathBuf| {
        let recording = Recording::parse(&std::fs::read_to_string(&path).unwrap())
            .unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        assert_eq!(path.file_stem().unwrap().to_str(), Some(recording.build.as_str()));
        recording
    };
    let mut recordings: Vec<Recording> = files.map(read).collect();
    recordings.sort_by_key(|recording| recording.profile.build());
    recordings
}

/// Those of this system.
fn recordings() -> Vec<Recording> {
    let mut recordings = all_recordings();
    recordings.retain(|recording| recording.is_of_windows() == cfg!(windows));
    recordings
}

/// The row that explains a case; `None` if the case follows the document.
fn row_of(
    profile: Profile,
    case: &ServerCase<'_>,
    outcome: &Outcome,
) -> Result<Option<&'static Row>, String> {
    match (case.kind, outcome) {
        (ServerCaseKind::Request { group, test }, Outcome::Answered(seen)) => {
            let expectation = Expectation::of_vector(group, test);
            match grade(profile, &expectation, seen) {
                (_, Some(row)) => Ok(Some(row)),
                (Grade::Fail, None) => Err(format!(
                    "{} ({})",
                    test.comment,
                    group.command.as_deref().unwrap_or_default()
                )),
                // Allowed without a row: bytes after the message, and errors of a program.
                _ => {
                    let request = Request::of(
                        expectation.request.unwrap().command,
                        test.wire.as_deref().unwrap(),
                    );
                    let is_known = |row: &&Row| match (seen.answer, row.does) {
                        (Answer::Error(_), Does::Refuses(_)) => matches!(row.layer, Layer::Host(_)),
                        (Answer::Ok, Does::Accepts) => true,
                        _ => false,
                    };
                    let mut known =
                        TABLE.iter().filter(is_known).filter(|row| row.is_done_by(profile));
                    Ok(known.find(|row| row.explains(&request, seen)))
                }
            }
        }
        (ServerCaseKind::Script { .. }, Outcome::AsWritten) => Ok(None),
        (ServerCaseKind::Script { script, .. }, outcome) => {
            of_script(profile, script, outcome).map(Some).ok_or_else(|| script.comment.clone())
        }
        _ => Err("that is no outcome of a request".into()),
    }
}

fn of_script(profile: Profile, script: &Script, outcome: &Outcome) -> Option<&'static Row> {
    let Plays::Client(part) = &script.plays else { return None };
    match outcome {
        Outcome::Deviated(fact) => {
            let mut own = part.deviations.iter().filter(|deviation| deviation.fact == *fact);
            own.find_map(|deviation| deviation::row_of(profile, script, deviation))
        }
        Outcome::Otherwise(Some(seen)) => explain_script(profile, script, seen),
        _ => None,
    }
}

/// The recorded builds with the behaviour of a row, by its index in the table; and recorded
/// outcomes without a row.
fn recorded(recordings: &[Recording]) -> (BTreeMap<usize, BTreeSet<&str>>, Vec<String>) {
    let (scripts, vectors) = (named_script_files().unwrap(), codec::embedded().unwrap());
    let cases: BTreeMap<_, _> =
        cases(&scripts, &vectors).into_iter().map(|case| (case.name(), case)).collect();
    let (mut rows, mut unknown): (BTreeMap<_, BTreeSet<_>>, Vec<_>) = Default::default();
    for Recording { build, profile, outcomes } in recordings {
        assert!(outcomes.len() > 200, "{build}: {} outcomes", outcomes.len());
        for (name, outcome) in outcomes {
            let Some(case) = cases.get(name) else { panic!("{build}: there is no case {name}") };
            match row_of(*profile, case, outcome) {
                Ok(None) => {}
                Ok(Some(row)) => {
                    let place = TABLE.iter().position(|one| std::ptr::eq(one, row)).unwrap();
                    rows.entry(place).or_default().insert(build.as_str());
                }
                Err(what) => unknown.push(format!("{build}: {name}, {what}: {outcome}")),
            }
        }
    }
    (rows, unknown)
}

#[test]
fn recorded_deviation_has_a_row() {
    let (_, unknown) = recorded(&recordings());
    assert!(
        unknown.is_empty(),
        "{} outcomes, without a row:\n{}",
        unknown.len(),
        unknown.join("\n")
    );
}

/// The first and the last recorded builds of a row have its behaviour. A version's server is
/// covered by `CoreCLR`, whose rows no other platform's precede.
#[test]
fn row_has_evidence() {
    let recordings = recordings();
    let (rows, _) = recorded(&recordings);
    let mut missing = Vec::new();
    // Behaviour common to all systems is shown on Linux.
    let is_shown_here =
        |row: &Row| (row.layer == Layer::Platform(Platform::Windows)) == cfg!(windows);
    for (place, row) in TABLE.iter().enumerate().filter(|(_, row)| is_shown_here(row)) {
        if let RowSource::Elsewhere(file) = row.source {
            assert!(
                std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(file).exists(),
                "{file}"
            );
            assert!(
                !rows.contains_key(&place),
                "{} is recorded: {} {:?}",
                row.fact,
                row.text,
                rows.get(&place)
            );
            continue;
        }
        let shows =
            |profile: Profile| row.layer != Layer::Server || profile.family() == Family::CoreClr;
        let of_row: Vec<_> = recordings
            .iter()
            .filter(|one| row.is_done_by(one.profile) && shows(one.profile))
            .collect();
        let done_by = rows.get(&place);
        let ends = of_row.first().into_iter().chain(of_row.last());
        let builds: BTreeSet<_> = ends.map(|one| one.build.as_str()).collect();
        let lacking: Vec<_> = builds
            .iter()
            .filter(|build| !done_by.is_some_and(|done| done.contains(*build)))
            .collect();
        if builds.is_empty() || !lacking.is_empty() {
            missing.push(format!(
                "{} {:?}, {}: not on {lacking:?}, but on {done_by:?}",
                row.fact, row.when.shape, row.text
            ));
        }
    }
    assert!(missing.is_empty(), "{} rows without evidence:\n{}", missing.len(), missing.join("\n"));
}

/// Whether a target did not survive this outcome: it died, or it answers nobody any more.
fn ends_the_target(case: &ServerCase<'_>, outcome: &Outcome) -> bool {
    match (case.kind, outcome) {
        (_, Outcome::Answered(seen) | Outcome::Otherwise(Some(seen))) => {
            seen.died || seen.answer == Answer::Nothing
        }
        (ServerCaseKind::Script { script, .. }, Outcome::Deviated(fact)) => {
            let Plays::Client(part) = &script.plays else { return false };
            let dies = |step: &Step| matches!(step, Step::ExpectTarget(step) if step.expect_target == Life::Dead);
            let mut own = part.deviations.iter().filter(|deviation| deviation.fact == *fact);
            LOST_FOR_GOOD.contains(&fact.as_str()) || own.any(|one| one.steps.iter().any(dies))
        }
        _ => false,
    }
}

/// The facts by which a target cannot be used any more, though it lives: its socket is gone (P-6), or
/// its start is held, and no request ends that (P-13).
const LOST_FOR_GOOD: &[&str] = &["P-6", "P-13"];

/// A case that any recorded build did not survive is harmful, whichever family a run takes its
/// target for.
#[test]
fn case_that_a_recorded_build_did_not_survive_is_harmful() {
    let (scripts, vectors) = (named_script_files().unwrap(), codec::embedded().unwrap());
    let (cases, recordings) = (cases(&scripts, &vectors), all_recordings());
    let (mut deadly, mut wrong) = (0, Vec::new());
    for case in &cases {
        let name = case.name();
        let outcomes =
            recordings.iter().filter_map(|one| Some((&one.build, one.outcomes.get(&name)?)));
        let ended: Vec<_> =
            outcomes.filter(|(_, outcome)| ends_the_target(case, outcome)).collect();
        deadly += usize::from(!ended.is_empty());
        if !ended.is_empty() && case.hazard() != Some(Hazard::Harmful) {
            wrong.push(format!("{name} is {:?}: {ended:?}", case.hazard()));
        }
    }
    assert!(deadly > 100, "{deadly}");
    assert!(wrong.is_empty(), "{} cases:\n{}", wrong.len(), wrong.join("\n"));
}

/// So is one of which the table says so of a build that was seen elsewhere.
#[test]
fn case_that_ends_a_runtime_by_the_table_is_harmful() {
    // A server refuses it by its header, before anything depends on the payload.
    let is_of_header = |request: &Request| matches!(request.reason, Some(RefusalReason::Malformed { offset, .. }) if offset < 20);
    let ends = |request: &Request| {
        if is_of_header(request) {
            return None;
        }
        let is_last = |row: &&Row| {
            matches!(row.does, Does::Dies | Does::Waits) || LOST_FOR_GOOD.contains(&row.fact)
        };
        let ending = TABLE.iter().filter(is_last);
        ending.filter(|row| row.when.fits(request)).map(|row| row.fact).next()
    };
    let (scripts, vectors) = (named_script_files().unwrap(), codec::embedded().unwrap());
    let mut wrong = Vec::new();
    for case in cases(&scripts, &vectors) {
        let requests = match case.kind {
            ServerCaseKind::Script { script, .. } => deviation::requests(script).collect(),
            ServerCaseKind::Request { group, test } => {
                Expectation::of_vector(group, test).request.into_iter().collect::<Vec<_>>()
            }
        };
        let fact = requests.iter().find_map(ends);
        if let Some(fact) = fact.filter(|_| case.hazard() != Some(Hazard::Harmful)) {
            wrong.push(format!("{} is {:?}: {fact}", case.name(), case.hazard()));
        }
    }
    assert!(wrong.is_empty(), "{} cases:\n{}", wrong.len(), wrong.join("\n"));
}

/// A case whose request sets, writes or resumes has a hazard.
#[test]
fn case_that_changes_the_target_has_a_hazard() {
    const ASKS_ONLY: &[Command] = &[
        Command::STOP_TRACING,
        Command::COLLECT_TRACING,
        Command::COLLECT_TRACING2,
        Command::COLLECT_TRACING3,
        Command::COLLECT_TRACING4,
        Command::COLLECT_TRACING5,
        Command::COLLECT_TRACING6,
        Command::PROCESS_INFO,
        Command::PROCESS_INFO2,
        Command::PROCESS_INFO3,
        Command::PROCESS_ENVIRONMENT,
    ];
    let (scripts, vectors) = (named_script_files().unwrap(), codec::embedded().unwrap());
    let (mut changing, mut wrong) = (0, Vec::new());
    for case in cases(&scripts, &vectors) {
        // The command of the bytes may be another one than that of the vector's group.
        let wire = match case.kind {
            ServerCaseKind::Request { test, .. } => test.wire.as_deref(),
            ServerCaseKind::Script { .. } => None,
        };
        let header = wire.and_then(|wire| Header::decode(wire.get(..HEADER_LEN)?).ok());
        let sent = case.commands().into_iter().chain(header.map(|header| header.command));
        let known = sent.filter(|command| command.since().is_some());
        let changes: Vec<_> = known.filter(|command| !ASKS_ONLY.contains(command)).collect();
        changing += usize::from(!changes.is_empty());
        if !changes.is_empty() && case.hazard().is_none() {
            wrong.push(format!("{}: {changes:?}", case.name()));
        }
    }
    assert!(changing > 100, "{changing}");
    assert!(wrong.is_empty(), "{} cases:\n{}", wrong.len(), wrong.join("\n"));
}
