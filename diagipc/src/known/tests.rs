//! Checks that the table, the recordings, the vectors and the scripts agree for each build.

use std::collections::{BTreeMap, BTreeSet};

use dotnet_diagnostics_ipc::command::{Command, ReplyType};
use dotnet_diagnostics_ipc::exchange::RefusalReason;
use dotnet_diagnostics_ipc::header::{HEADER_LEN, Header};
use dotnet_diagnostics_ipc::hresult::HResult;
use dotnet_diagnostics_ipc::wire::{WireError, WireErrorKind};
use dotnet_diagnostics_ipc_vectors::script::{Life, Plays, Step};
use dotnet_diagnostics_ipc_vectors::{ExpectedResult, Hazard};

use super::nearest::Shown;
use super::profile::Platform;
use super::snapshot::assert_file;
use super::table::TABLE;
use super::*;
use crate::conversation::ReplyKind;
use crate::server::expectation::Expectation;
use crate::server::{ServerCase, ServerCaseKind, cases};
use crate::{Grade, Playable as _, embedded};

/// A build that was not recorded behaves like the builds around it.
#[test]
fn script_deviation_follows_the_nearest_recordings() {
    let mut scripts = embedded::scripts().unwrap().iter().flat_map(|(_, file)| &file.scripts);
    let script = scripts.find(|script| script.name == "port-with-a-path-too-long").unwrap();
    for (name, fact) in [
        // These are like 8.0.4, 8.0.30 and 9.0.5.
        ("coreclr-8.0.0", Some("P-13")),
        ("coreclr-8.0.31", None),
        ("coreclr-9.0.18", Some("P-13")),
        ("coreclr-10.0.9", Some("P-13")),
        ("coreclr-10.0.12", None),
        // Some build of this version deviates.
        ("coreclr-10", Some("P-13")),
        // These were never recorded, and lie between two others, or after all of their family.
        ("coreclr-7", Some("P-13")),
        ("coreclr-11", None),
        ("nativeaot-9.0.20", None),
        ("mono", None),
        ("strict", None),
    ] {
        let first = ways_of(name.parse().unwrap(), script).first().copied().flatten();
        assert_eq!(first.map(|deviation| deviation.fact.as_str()), fact, "{name}");
    }
}

/// Covers the platforms and versions that a row explains, and whether it is a fault.
#[test]
fn row_explains_only_its_builds_requests_and_answers() {
    let error = |code| Effect { answer: ReplyKind::Error(code), ..DIED_NOT };
    let died = Effect { answer: ReplyKind::Other, died: true, ..DIED_NOT };
    let (lacks, minus_1) = (error(HResult::NOT_SUPPORTED), error(HResult(0xffff_ffff)));
    let left_open = Effect { left_open: true, ..error(HResult::UNKNOWN_COMMAND) };
    let set = |detail| Request { detail, ..Request::right(Command::SET_ENVIRONMENT_VARIABLE) };
    let over = RefusalReason::OverLimit(WireError::new(WireErrorKind::AbsentName, 20));
    let absent = Request::refused(Command::SET_ENVIRONMENT_VARIABLE, over);
    let unknown = RefusalReason::UnknownCommand { command: Command::ATTACH_PROFILER };
    let unknown = Request::refused(Command::ATTACH_PROFILER, unknown);
    let pieces = Request { in_pieces: true, ..Request::right(Command::RESUME_RUNTIME) };
    let hook = Request::right(Command::APPLY_STARTUP_HOOK);
    let windows = Profile::of_recording("win-net10.0.12").unwrap();
    let (aot, ten) = (Profile::NATIVE_AOT_9, Profile::CORECLR_10);
    for (profile, request, seen, known) in [
        (aot, hook, lacks, Some(("F-93", false))),
        (Profile::native_aot(7), hook, lacks, Some(("F-93", false))),
        (aot, hook, error(HResult::UNKNOWN_COMMAND), None),
        (ten, hook, lacks, None),
        (Profile::STRICT, hook, lacks, None),
        // Valid requests show these, so they remain failures.
        (aot, set(Quirk::Deletion), died, Some(("F-95", true))),
        (aot, set(Quirk::Plain), died, None),
        (ten, set(Quirk::Deletion), died, None),
        (aot, set(Quirk::EqualsWithin), minus_1, Some(("F-96", true))),
        (aot, set(Quirk::EqualsWithin), error(HResult(0xffff)), None),
        (ten, unknown, left_open, Some(("F-74", false))),
        (aot, unknown, left_open, None),
        (windows, absent, error(HResult::ENVVAR_NOT_FOUND), Some(("P-41", false))),
        (ten, absent, error(HResult::ENVVAR_NOT_FOUND), None),
        (windows, pieces, error(HResult::BAD_ENCODING), Some(("P-39", false))),
        (Profile::CORECLR_3_1, pieces, error(HResult::BAD_ENCODING), Some(("P-39", false))),
        (ten, pieces, error(HResult::BAD_ENCODING), None),
    ] {
        let row = explain(profile, &request, &seen).map(|row| (row.fact, row.fault));
        assert_eq!(row, known, "{profile} {request:?}");
    }
}

const DIED_NOT: Effect =
    Effect { answer: ReplyKind::Ok, died: false, left_open: false, wrong: false };

#[test]
fn deaths_depend_on_version() {
    let over = |kind| RefusalReason::OverLimit(WireError::new(kind, 20));
    let refused = |command, kind| Request::refused(command, over(kind));
    let suspended = Request { is_suspended: true, ..Request::right(Command::ENABLE_PERF_MAP) };
    let profiles = ["3.1", "8", "9", "10.0.0", "10.0.9", "10", "11", "mono", "strict"];
    for (request, of) in [
        (refused(Command::COLLECT_TRACING2, WireErrorKind::ZeroBuffer), "-xx------"),
        (
            refused(Command::COLLECT_TRACING5, WireErrorKind::DuplicateEventId { id: 7 }),
            "---xxxx--",
        ),
        (refused(Command::GENERATE_CORE_DUMP, WireErrorKind::AbsentName), "xxxxxxx--"),
        (refused(Command::SET_ENVIRONMENT_VARIABLE, WireErrorKind::AbsentName), "---------"),
        // P-45 ends between 10.0.0 and 10.0.9.
        (suspended, "-xxx-x---"),
    ] {
        let dies = |name: &str| {
            let profile = name.parse().unwrap();
            rows_for(profile, &request).iter().any(|row| row.does == Does::Dies)
        };
        let deaths: String =
            profiles.map(|name| if dies(name) { 'x' } else { '-' }).iter().collect();
        assert_eq!(deaths, of, "{}", request.command);
    }
}

#[test]
fn profile_text_names_known_builds() {
    for (text, held_to) in [
        ("coreclr-10.0.12", "compared with its recording"),
        ("coreclr-10.0.20", "compared with the recordings of coreclr-10.0.12"),
        ("coreclr-9", "compared with the recordings of coreclr-9.0.5 and coreclr-9.0.23"),
        ("nativeaot-9.0.20", "compared with its recording"),
        ("nativeaot-7", "never recorded: compared with the recordings of nativeaot-8.0.31"),
        ("coreclr-11", "compared with the recordings of coreclr-11.0.0"),
        ("coreclr-12", "never recorded: compared with the recordings of coreclr-11.0.0"),
        (
            "coreclr-7",
            "never recorded: compared with the recordings of coreclr-3.1.32 and coreclr-8.0.4",
        ),
        ("strict", "compared only with the document"),
    ] {
        let profile: Profile = text.parse().unwrap();
        assert_eq!(profile.held_to(), held_to, "{text}");
        assert_eq!(format!("{profile}"), text);
    }
    // A version has its own commands, whether it was observed or not.
    let seven: Profile = "coreclr-7".parse().unwrap();
    assert!(seven.knows(Command::GENERATE_CORE_DUMP3) && !seven.knows(Command::PROCESS_INFO3));
    for text in ["", "coreclr-", "coreclr", "net8", "auto", "nativeaot-"] {
        assert!(text.parse::<Profile>().is_err(), "{text}");
    }
    // A preview belongs to its version, but is not one of its builds.
    assert_eq!(Profile::of_version("10.0.0-rc.1.25451.107"), Some(Profile::CORECLR_10));
}

pub(super) fn all_recordings() -> Vec<BuildRecording> {
    let directory = format!("{}/evidence", env!("CARGO_MANIFEST_DIR"));
    let paths = std::fs::read_dir(&directory).unwrap().map(|entry| entry.unwrap().path());
    let files = paths.filter(|path| path.extension().is_some_and(|extension| extension == "json"));
    let read = |path: std::path::PathBuf| {
        let recording = BuildRecording::parse(&std::fs::read_to_string(&path).unwrap())
            .unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        assert_eq!(path.file_stem().unwrap().to_str(), Some(recording.build.as_str()));
        recording
    };
    let mut recordings: Vec<BuildRecording> = files.map(read).collect();
    // The order of files in a directory is not defined.
    recordings.sort_by_key(|recording| (recording.profile.build(), recording.build.clone()));
    recordings
}

/// Whether cases can show a row on the platform of a build.
fn may_be_of(row: &Row, profile: Profile) -> bool {
    match row.layer {
        Layer::Server => true,
        Layer::Platform(of) => profile.platform().is_some_and(|one| of.contains(&one)),
        Layer::Host => profile.family() == Family::CoreClr,
    }
}

/// Returns the row that explains a case; `None` if the case follows the document.
fn row_of(
    profile: Profile,
    case: &ServerCase<'_>,
    outcome: &CaseOutcome,
) -> Result<Option<&'static Row>, String> {
    let may_be = |row: &Row| may_be_of(row, profile);
    let row_of_request = |request: &Request, seen: &Effect| {
        let rows = chosen(profile, request, may_be);
        rows.into_iter().find(|row| row.explains(request, seen))
    };
    match (case.kind, outcome) {
        (ServerCaseKind::Request { group, test }, CaseOutcome::Answered(seen)) => {
            let expectation = Expectation::of_vector(group, test);
            let row =
                expectation.request.as_ref().and_then(|request| row_of_request(request, seen));
            // The expectation is for the message only, so take the whole bytes.
            let whole = expectation
                .request
                .map(|request| Request::of(request.command, test.wire.as_deref().unwrap()));
            let is_refused = matches!(seen.answer, ReplyKind::Error(_));
            match expectation.grade(Profile::STRICT, seen).0 {
                Grade::Fail => row.map(Some).ok_or_else(|| {
                    format!("{} ({})", test.comment, group.command.as_deref().unwrap_or_default())
                }),
                _ if test.result == ExpectedResult::Acceptable && is_refused => Ok(row),
                // Bytes after the message and errors of a program are allowed without a row.
                _ => Ok(TABLE.iter().filter(|row| may_be(row)).find(|row| {
                    let is_so = match (seen.answer, row.does) {
                        (ReplyKind::Error(_), Does::Refuses(_)) => row.layer == Layer::Host,
                        (ReplyKind::Ok, Does::Accepts) => true,
                        _ => false,
                    };
                    is_so && whole.as_ref().is_some_and(|request| row.explains(request, seen))
                })),
            }
        }
        (ServerCaseKind::Script { .. }, CaseOutcome::AsWritten) => Ok(None),
        (ServerCaseKind::Script { script, .. }, CaseOutcome::Deviated(fact)) => {
            let request = requests(script).next();
            let mut rows = request.iter().flat_map(|request| chosen(profile, request, may_be));
            Ok(rows.find(|row| row.fact == *fact))
        }
        (ServerCaseKind::Script { script, .. }, CaseOutcome::Otherwise(Some(seen))) => {
            requests(script)
                .find_map(|request| row_of_request(&request, seen))
                .map(Some)
                .ok_or_else(|| script.comment.clone())
        }
        _ => Err("that is no outcome of it".into()),
    }
}

/// The script that deletes a missing variable. Wine, with which Windows was recorded, allows that.
const OF_WINE: &str = "scripts/process/set-variable-then-delete-twice";

/// Returns what the recordings show, and the outcomes that no row explains.
fn shown_by(recordings: &[BuildRecording]) -> (Shown<String>, Vec<String>) {
    let cases: BTreeMap<_, _> = all_cases().map(|case| (case.name(), case)).collect();
    let [mut rows, mut deviations, mut ended]: [BTreeMap<String, BTreeSet<usize>>; 3] =
        Default::default();
    let mut unknown = Vec::new();
    for (nth, BuildRecording { build, profile, outcomes }) in recordings.iter().enumerate() {
        assert!(outcomes.len() > 200, "{build}: {} outcomes", outcomes.len());
        for (name, outcome) in outcomes {
            let Some(case) = cases.get(name) else { panic!("{build}: there is no case {name}") };
            if ends_the_target(case, outcome) {
                ended.entry(last_word(case)).or_default().insert(nth);
            }
            if let CaseOutcome::Deviated(fact) = outcome {
                deviations.entry(fact.clone()).or_default().insert(nth);
            }
            match row_of(*profile, case, outcome) {
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

pub(super) fn all_cases() -> impl Iterator<Item = ServerCase<'static>> {
    cases(embedded::scripts().unwrap(), embedded::vectors().unwrap()).into_iter()
}

/// Returns the unique word that [`harm_of`] takes.
fn last_word(case: &ServerCase<'_>) -> String {
    case.words().pop().unwrap()
}

/// Every deviation of a recorded build has a row, every row has evidence, and the file that the
/// library reads has the builds of each row.
#[test]
fn shown_json_is_that_of_the_recordings() {
    let (shown, unknown) = shown_by(&all_recordings());
    assert!(
        unknown.is_empty(),
        "{} outcomes, without a row:\n{}",
        unknown.len(),
        unknown.join("\n")
    );
    let mut keys = BTreeSet::new();
    for row in TABLE {
        let key = row.key();
        assert!(shown.rows.contains_key(&key), "{key}: no recording shows it");
        assert!(keys.insert(key), "{}: {}: there are two", row.fact, row.text);
    }
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/src/known/shown.json");
    let text = serde_json::to_string_pretty(&shown).unwrap() + "\n";
    assert_file(path, &text, "-p diagipc --all-features --lib shown_json");
}

/// Whether a target did not survive this outcome, because it died or no longer answers.
fn ends_the_target(case: &ServerCase<'_>, outcome: &CaseOutcome) -> bool {
    match (case.kind, outcome) {
        (_, CaseOutcome::Answered(seen) | CaseOutcome::Otherwise(Some(seen))) => {
            seen.died || seen.answer == ReplyKind::Nothing
        }
        (ServerCaseKind::Script { script, .. }, CaseOutcome::Deviated(fact)) => {
            let Plays::Client(part) = &script.plays else { return false };
            let dies = |step: &Step| matches!(step, Step::ExpectTarget(step) if step.expect_target == Life::Dead);
            let mut own = part.deviations.iter().filter(|deviation| deviation.fact == *fact);
            LOST_FOR_GOOD.contains(&fact.as_str()) || own.any(|one| one.steps.iter().any(dies))
        }
        _ => false,
    }
}

/// The facts after which a live target cannot be used any more: its socket is gone ([`P_6`]), or it
/// remains suspended, which no request ends (P-13).
const LOST_FOR_GOOD: &[&str] = &[P_6, "P-13"];

/// A dump removes the socket of a runtime whose createdump cannot be executed. This depends on its
/// package, and only a script shows it.
const P_6: &str = "P-6";

/// A case that any recorded build did not survive is harmful in runs against any family.
#[test]
fn case_that_a_recorded_build_did_not_survive_is_harmful() {
    let (recordings, mut deadly, mut words) = (all_recordings(), 0, BTreeSet::new());
    for case in all_cases() {
        let (name, word) = (case.name(), last_word(&case));
        let ends = |one: &&BuildRecording| {
            one.outcomes.get(&name).is_some_and(|outcome| ends_the_target(&case, outcome))
        };
        let ended: Vec<_> = recordings.iter().filter(ends).map(|one| one.build.as_str()).collect();
        let builds = format!(": ended {}", ended.join(", "));
        let expected = format!("harmful{}", if ended.is_empty() { "" } else { &builds });
        assert_eq!(harm_of(&word), expected, "{name}");
        assert!(ended.is_empty() || case.hazard() == Some(Hazard::Harmful), "{name}: {ended:?}");
        deadly += usize::from(!ended.is_empty());
        assert!(words.insert(word), "{name}: harm_of tells it from no other");
    }
    assert!(deadly > 100, "{deadly}");
}

/// A case whose request sets, writes or resumes something has a hazard. The reply to such a command
/// only says whether it succeeded; other replies have the requested data.
#[test]
fn case_that_changes_the_target_has_a_hazard() {
    let mut changing = 0;
    for case in all_cases() {
        // The command of the bytes may differ from that of the vector's group.
        let wire = match case.kind {
            ServerCaseKind::Request { test, .. } => test.wire.as_deref(),
            ServerCaseKind::Script { .. } => None,
        };
        let header = wire.and_then(|wire| Header::decode(wire.get(..HEADER_LEN)?).ok());
        let mut sent = case.commands().into_iter().chain(header.map(|header| header.command));
        if sent.any(|command| command.reply_type() == Some(ReplyType::Result)) {
            changing += 1;
            assert!(case.hazard().is_some(), "{}", case.name());
        }
    }
    assert!(changing > 100, "{changing}");
}
