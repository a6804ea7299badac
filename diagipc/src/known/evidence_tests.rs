//! What the recordings of `evidence/` show: no row without evidence, no recorded deviation without
//! a row.

use std::collections::{BTreeMap, BTreeSet};

use dotnet_diagnostics_ipc::command::{Command, ReplyType};
use dotnet_diagnostics_ipc::exchange::RefusalReason;
use dotnet_diagnostics_ipc::header::{HEADER_LEN, Header};
use dotnet_diagnostics_ipc_vectors::script::{Life, Plays, Step};
use dotnet_diagnostics_ipc_vectors::{ExpectedResult, Hazard};

use super::nearest::Shown;
use super::profile::Platform;
use super::snapshot::assert_file;
use super::table::TABLE;
use super::*;
use crate::conversation::Answer;
use crate::embedded;
use crate::server::expectation::Expectation;
use crate::server::judge::grade;
use crate::server::{ServerCase, ServerCaseKind, cases};
use crate::{Grade, Playable as _};

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
    // Directories have no order of their own.
    recordings.sort_by_key(|recording| (recording.profile.build(), recording.build.clone()));
    recordings
}

/// Whether cases can show a row on the platform of a build.
fn may_be_of(row: &Row, profile: Profile) -> bool {
    match row.layer {
        Layer::Server => true,
        Layer::Platform(platforms) => {
            profile.platform().is_some_and(|platform| platforms.contains(&platform))
        }
        Layer::Host => profile.family() == Family::CoreClr,
    }
}

/// The row that explains a case, of those that may be the build's; `None` if the case follows the
/// document.
fn row_of(
    profile: Profile,
    case: &ServerCase<'_>,
    outcome: &Outcome,
    may_be: impl Fn(&Row) -> bool,
) -> Result<Option<&'static Row>, String> {
    let row_of_request = |request: &Request, seen: &Seen| {
        let rows = chosen(profile, request, &may_be);
        rows.into_iter().find(|row| row.explains(request, seen))
    };
    match (case.kind, outcome) {
        (ServerCaseKind::Request { group, test }, Outcome::Answered(seen)) => {
            let expectation = Expectation::of_vector(group, test);
            let row =
                expectation.request.as_ref().and_then(|request| row_of_request(request, seen));
            // The whole bytes: what follows the message is no part of what is expected.
            let whole = expectation
                .request
                .map(|request| Request::of(request.command, test.wire.as_deref().unwrap()));
            let is_refused = matches!(seen.answer, Answer::Error(_));
            match grade(Profile::STRICT, &expectation, seen).0 {
                Grade::Fail => row.map(Some).ok_or_else(|| {
                    format!("{} ({})", test.comment, group.command.as_deref().unwrap_or_default())
                }),
                _ if test.result == ExpectedResult::Acceptable && is_refused => Ok(row),
                // Allowed without a row: bytes after the message, and errors of a program.
                _ => Ok(TABLE.iter().filter(|row| may_be(row)).find(|row| {
                    let is_so = match (seen.answer, row.does) {
                        (Answer::Error(_), Does::Refuses(_)) => row.layer == Layer::Host,
                        (Answer::Ok, Does::Accepts) => true,
                        _ => false,
                    };
                    is_so && whole.as_ref().is_some_and(|request| row.explains(request, seen))
                })),
            }
        }
        (ServerCaseKind::Script { .. }, Outcome::AsWritten) => Ok(None),
        (ServerCaseKind::Script { script, .. }, Outcome::Deviated(fact)) => {
            let request = requests(script).next();
            let mut rows = request.iter().flat_map(|request| chosen(profile, request, &may_be));
            Ok(rows.find(|row| row.fact == *fact))
        }
        (ServerCaseKind::Script { script, .. }, Outcome::Otherwise(Some(seen))) => requests(script)
            .find_map(|request| row_of_request(&request, seen))
            .map(Some)
            .ok_or_else(|| script.comment.clone()),
        _ => Err("that is no outcome of it".into()),
    }
}

/// Of wine, on which .NET for Windows was recorded: deleting a variable that is not there is OK.
const OF_WINE: &str = "scripts/process/set-variable-then-delete-twice";

/// What the recordings show, and the outcomes that no row explains.
fn shown_by(recordings: &[Recording]) -> (Shown, Vec<String>) {
    let (scripts, vectors) = (embedded::scripts().unwrap(), embedded::vectors().unwrap());
    let cases: BTreeMap<_, _> =
        cases(scripts, vectors).into_iter().map(|case| (case.name(), case)).collect();
    let [mut rows, mut deviations, mut ended]: [BTreeMap<String, BTreeSet<usize>>; 3] =
        Default::default();
    let mut unknown = Vec::new();
    for (nth, Recording { build, profile, outcomes }) in recordings.iter().enumerate() {
        assert!(outcomes.len() > 200, "{build}: {} outcomes", outcomes.len());
        for (name, outcome) in outcomes {
            let Some(case) = cases.get(name) else { panic!("{build}: there is no case {name}") };
            if ends_the_target(case, outcome) {
                ended.entry(last_word(case)).or_default().insert(nth);
            }
            if let Outcome::Deviated(fact) = outcome {
                deviations.entry(fact.clone()).or_default().insert(nth);
            }
            match row_of(*profile, case, outcome, |row| may_be_of(row, *profile)) {
                Ok(None) => {}
                Ok(Some(row)) => {
                    rows.entry(row.key()).or_default().insert(nth);
                }
                Err(_) if profile.platform() == Some(Platform::Windows) && OF_WINE == name => {}
                Err(what) => unknown.push(format!("{build}: {name}, {what}: {outcome}")),
            }
        }
    }
    let named = |all: BTreeMap<String, BTreeSet<usize>>| -> BTreeMap<String, Vec<String>> {
        let names = |builds: BTreeSet<usize>| {
            builds.into_iter().map(|nth| recordings[nth].build.clone()).collect()
        };
        all.into_iter().map(|(key, builds)| (key, names(builds))).collect()
    };
    let recorded = recordings.iter().map(|one| one.build.clone()).collect();
    let (rows, deviations) = (named(rows), named(deviations));
    let ended = named(ended).into_iter().map(|(case, names)| (case, names.join(", "))).collect();
    (Shown { recorded, rows, deviations, ended }, unknown)
}

/// What [`harm_of`] takes: it is that of no other case.
fn last_word(case: &ServerCase<'_>) -> String {
    case.words().pop().unwrap()
}

/// Every deviation of a recorded build from the document has a row, and the file that the library
/// reads has the builds of each row.
#[test]
fn shown_json_is_that_of_the_recordings() {
    let (shown, unknown) = shown_by(&all_recordings());
    assert!(
        unknown.is_empty(),
        "{} outcomes, without a row:\n{}",
        unknown.len(),
        unknown.join("\n")
    );
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/src/known/shown.json");
    let text = serde_json::to_string_pretty(&shown).unwrap() + "\n";
    assert_file(path, &text, "-p diagipc --all-features --lib shown_json");
}

/// No row is without evidence.
#[test]
fn row_has_evidence() {
    let shown = Shown::read().unwrap();
    let mut keys = BTreeSet::new();
    for row in TABLE {
        let key = row.key();
        assert!(shown.rows.contains_key(&key), "{key}: no recording shows it");
        assert!(keys.insert(key), "{}: {}: there are two", row.fact, row.text);
    }
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

/// The facts by which a target cannot be used any more, though it lives: its socket is gone ([`P_6`]),
/// or its start is held, and no request ends that (P-13).
const LOST_FOR_GOOD: &[&str] = &[P_6, "P-13"];

/// A dump takes the socket of a runtime whose createdump cannot be executed. That is its package's, and
/// no case but a script shows it.
const P_6: &str = "P-6";

/// A case that any recorded build did not survive is harmful, whichever family a run takes its
/// target for.
#[test]
fn case_that_a_recorded_build_did_not_survive_is_harmful() {
    let (scripts, vectors) = (embedded::scripts().unwrap(), embedded::vectors().unwrap());
    let (cases, recordings) = (cases(scripts, vectors), all_recordings());
    let (mut deadly, mut wrong, mut words) = (0, Vec::new(), BTreeSet::new());
    for case in &cases {
        let name = case.name();
        assert!(words.insert(last_word(case)), "{name}: harm_of tells it from no other");
        let outcomes =
            recordings.iter().filter_map(|one| Some((&one.build, one.outcomes.get(&name)?)));
        let ended: Vec<_> = outcomes
            .filter(|(_, outcome)| ends_the_target(case, outcome))
            .map(|(build, _)| build.as_str())
            .collect();
        if ended.is_empty() {
            assert_eq!(harm_of(&last_word(case)), "harmful", "{name}");
            continue;
        }
        deadly += 1;
        let expected = format!("harmful: ended {}", ended.join(", "));
        assert_eq!(harm_of(&last_word(case)), expected, "{name}");
        if case.hazard() != Some(Hazard::Harmful) {
            wrong.push(format!("{name} is {:?}: {ended:?}", case.hazard()));
        }
    }
    assert!(deadly > 100, "{deadly}");
    assert!(wrong.is_empty(), "{} cases:\n{}", wrong.len(), wrong.join("\n"));
}

/// So is one whose request ends some build by the table, and every dump (P-6).
#[test]
fn case_that_ends_a_runtime_by_the_table_is_harmful() {
    // A server refuses it by its header, before anything depends on the payload.
    let is_of_header = |request: &Request| matches!(request.reason, Some(RefusalReason::Malformed(error)) if error.offset() < 20);
    let ends = |request: &Request| {
        if is_of_header(request) {
            return None;
        }
        let mut ending = TABLE.iter().filter(|row| row.does == Does::Dies);
        let row = ending.find(|row| row.when.fits(request)).map(|row| row.fact);
        let is_dump = request.command.set == Command::GENERATE_CORE_DUMP.set;
        row.or_else(|| (is_dump && request.reason.is_none()).then_some(P_6))
    };
    let (scripts, vectors) = (embedded::scripts().unwrap(), embedded::vectors().unwrap());
    let mut wrong = Vec::new();
    for case in cases(scripts, vectors) {
        let requests = match case.kind {
            ServerCaseKind::Script { script, .. } => requests(script).collect(),
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

/// A case whose request sets, writes or resumes has a hazard. The reply to such a command says
/// whether it succeeded; all others answer with what was asked.
#[test]
fn case_that_changes_the_target_has_a_hazard() {
    let (scripts, vectors) = (embedded::scripts().unwrap(), embedded::vectors().unwrap());
    let (mut changing, mut wrong) = (0, Vec::new());
    for case in cases(scripts, vectors) {
        // The command of the bytes may be another one than that of the vector's group.
        let wire = match case.kind {
            ServerCaseKind::Request { test, .. } => test.wire.as_deref(),
            ServerCaseKind::Script { .. } => None,
        };
        let header = wire.and_then(|wire| Header::decode(wire.get(..HEADER_LEN)?).ok());
        let sent = case.commands().into_iter().chain(header.map(|header| header.command));
        let is_result = |command: &Command| command.reply_type() == Some(ReplyType::Result);
        let changes: Vec<_> = sent.filter(is_result).collect();
        changing += usize::from(!changes.is_empty());
        if !changes.is_empty() && case.hazard().is_none() {
            wrong.push(format!("{}: {changes:?}", case.name()));
        }
    }
    assert!(changing > 100, "{changing}");
    assert!(wrong.is_empty(), "{} cases:\n{}", wrong.len(), wrong.join("\n"));
}
