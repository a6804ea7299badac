//! The table, the recordings, the vectors and the scripts agree for each build.

use std::collections::{BTreeMap, BTreeSet};

use dotnet_diagnostics_ipc::command::{Command, ReplyType};
use dotnet_diagnostics_ipc::exchange::RefusalReason;
use dotnet_diagnostics_ipc::header::{HEADER_LEN, Header, MAGIC};
use dotnet_diagnostics_ipc::hresult::HResult;
use dotnet_diagnostics_ipc::wire::{WireError, WireErrorKind};
use dotnet_diagnostics_ipc_vectors::script::{Life, Plays, Step};
use dotnet_diagnostics_ipc_vectors::{ExpectedResult, Hazard};

use super::nearest::Shown;
use super::profile::Platform;
use super::snapshot::assert_file;
use super::table::TABLE;
use super::*;
use crate::conversation::Answer;
use crate::server::expectation::Expectation;
use crate::server::judge::grade;
use crate::server::{ServerCase, ServerCaseKind, cases};
use crate::{Grade, Playable as _, embedded};

fn profile(name: &str) -> Profile {
    Profile::of_recording(name).unwrap_or_else(|| panic!("{name} names no build"))
}

fn rows_of(build: &str) -> impl Iterator<Item = &'static Row> {
    let profile = profile(build);
    TABLE.iter().filter(move |row| row.is_of(profile))
}

/// A build that was not recorded goes the way of those around it.
#[test]
fn script_deviation_follows_the_nearest_recordings() {
    let files = embedded::scripts().unwrap();
    let script = |name: &str| {
        files
            .iter()
            .flat_map(|(_, file)| &file.scripts)
            .find(|script| script.name == name)
            .unwrap_or_else(|| panic!("no {name}"))
    };
    let fact = |name: &str, script_name: &str| {
        let profile: Profile = name.parse().unwrap();
        ways_of(profile, script(script_name))
            .first()
            .copied()
            .flatten()
            .map(|deviation| deviation.fact.as_str())
    };
    for (name, path_too_long, suspends) in [
        // As 8.0.4, 8.0.30 and 9.0.5.
        ("coreclr-8.0.0", Some("P-13"), None),
        ("coreclr-8.0.31", None, None),
        ("coreclr-9.0.18", Some("P-13"), None),
        ("coreclr-10.0.9", Some("P-13"), None),
        ("coreclr-10.0.12", None, None),
        // Some build of it.
        ("coreclr-10", Some("P-13"), None),
        ("nativeaot-9.0.20", None, Some("F-106")),
        ("nativeaot-8", None, Some("F-106")),
        ("nativeaot-10", None, Some("F-106")),
        // Never recorded: between two others, or after all of its family.
        ("coreclr-7", Some("P-13"), None),
        ("nativeaot-11", None, Some("F-106")),
        ("coreclr-11", None, None),
        ("mono", None, None),
        ("strict", None, None),
    ] {
        let found =
            (fact(name, "port-with-a-path-too-long"), fact(name, "default-port-suspend-false"));
        assert_eq!(found, (path_too_long, suspends), "{name}");
    }
}

const DIED: Seen = Seen { died: true, ..seen(Answer::Other) };

const fn seen(answer: Answer) -> Seen {
    Seen { answer, died: false, left_open: false, wrong: false }
}

const fn refused(hresult: HResult) -> Seen {
    seen(Answer::Error(hresult))
}

/// The fact that explains what was seen, and whether it is a fault.
fn known(profile: Profile, request: &Request, seen: Seen) -> Option<(&'static str, bool)> {
    explain(profile, request, &seen).map(|row| (row.fact, row.fault))
}

fn fact(profile: Profile, command: Command, answer: Answer) -> Option<&'static str> {
    known(profile, &Request::right(command), seen(answer)).map(|(fact, _)| fact)
}

#[test]
fn native_aot_missing_commands_are_known_by_fact() {
    let lacks = Answer::Error(HResult::NOT_SUPPORTED);
    for (command, known) in [
        (Command::STARTUP_PROFILER, Some("F-91")),
        (Command::DISABLE_PERF_MAP, Some("F-92")),
        (Command::APPLY_STARTUP_HOOK, Some("F-93")),
        (Command::COLLECT_TRACING2, None),
        (Command::GENERATE_CORE_DUMP2, None),
    ] {
        // So does a version that was never recorded.
        for profile in [Profile::NATIVE_AOT_9, Profile::NATIVE_AOT, Profile::native_aot(7)] {
            assert_eq!(fact(profile, command, lacks), known, "{profile}: {command}");
            // It refuses with no other error.
            let unknown = Answer::Error(HResult::UNKNOWN_COMMAND);
            assert_eq!(fact(profile, command, unknown), None, "{profile}: {command}");
        }
        for profile in [Profile::STRICT, Profile::CORECLR_10] {
            assert_eq!(fact(profile, command, lacks), None, "{profile}: {command}");
        }
    }
    let dump = |answer| fact(Profile::NATIVE_AOT_9, Command::GENERATE_CORE_DUMP3, answer);
    assert_eq!((dump(Answer::Error(HResult::FAIL)), dump(Answer::Ok)), (Some("F-98"), None));
}

/// F-95, F-96: faults shown by valid requests; they stay failures.
#[test]
fn native_aot_faults_are_known_and_still_fail() {
    let set = |name: &[u16], value: Option<&[u16]>| {
        let string = |units: Option<&[u16]>| match units {
            None => [0; 4].to_vec(),
            Some(units) => {
                let count = u32::try_from(units.len() + 1).unwrap();
                let text = units.iter().chain(&[0]).flat_map(|unit| unit.to_le_bytes());
                count.to_le_bytes().into_iter().chain(text).collect::<Vec<u8>>()
            }
        };
        let payload = [string(Some(name)), string(value)].concat();
        let size = u8::try_from(20 + payload.len()).unwrap();
        let head = [&MAGIC[..], &[size, 0, 4, 3, 0, 0]].concat();
        Request::of(Command::SET_ENVIRONMENT_VARIABLE, &[head, payload].concat())
    };
    let (delete, set_a, empty, equals) = (
        set(&[0x41], None),
        set(&[0x41], Some(&[0x42])),
        set(&[], Some(&[0x42])),
        set(&[0x41, 0x3d], Some(&[0x42])),
    );
    for profile in [Profile::NATIVE_AOT_8, Profile::NATIVE_AOT_9] {
        assert_eq!(known(profile, &delete, DIED), Some(("F-95", true)));
        assert_eq!(known(profile, &set_a, DIED), None);
        for odd in [&empty, &equals] {
            assert_eq!(known(profile, odd, refused(HResult(0xffff_ffff))), Some(("F-96", true)));
            assert_eq!(known(profile, odd, refused(HResult(0xffff))), None);
        }
        assert_eq!(known(profile, &set_a, refused(HResult(0xffff_ffff))), None);
    }
    for request in [&delete, &empty, &equals] {
        assert_eq!(known(Profile::CORECLR_9, request, DIED), None);
        assert_eq!(known(Profile::CORECLR_9, request, refused(HResult(0xffff_ffff))), None);
    }
}

#[test]
fn row_applies_only_to_the_platforms_that_show_it() {
    let unknown = RefusalReason::UnknownCommand { command: Command::ATTACH_PROFILER };
    let request = Request::refused(Command::ATTACH_PROFILER, unknown);
    let left_open = Seen { left_open: true, ..refused(HResult::UNKNOWN_COMMAND) };
    assert_eq!(known(Profile::CORECLR_9, &request, left_open), Some(("F-74", false)));
    assert_eq!(known(Profile::NATIVE_AOT_9, &request, left_open), None);

    let (windows, linux) = (profile("win-net10.0.12"), profile("net10.0.12"));
    let over = RefusalReason::OverLimit(WireError::new(WireErrorKind::AbsentName, 20));
    let absent = Request::refused(Command::SET_ENVIRONMENT_VARIABLE, over);
    let pieces = Request { in_pieces: true, ..Request::right(Command::RESUME_RUNTIME) };
    for (profile, absent_name, in_pieces) in [
        (windows, Some(("P-41", false)), Some(("P-39", false))),
        (linux, None, None),
        (Profile::STRICT, None, None),
        // 3.1 does this on every system.
        (Profile::CORECLR_3_1, None, Some(("P-39", false))),
    ] {
        assert_eq!(known(profile, &absent, refused(HResult::ENVVAR_NOT_FOUND)), absent_name);
        assert_eq!(known(profile, &pieces, refused(HResult::BAD_ENCODING)), in_pieces);
    }
    let lacks = |command| fact(windows, command, Answer::Error(HResult::NOT_SUPPORTED));
    assert_eq!(lacks(Command::ENABLE_PERF_MAP), Some("F-126"));
    assert_eq!(lacks(Command::RESUME_RUNTIME), None);
}

/// An ASCII name is in every code page.
#[test]
fn foreign_dump_name_is_a_fault_of_windows_6() {
    let dump = |build: &str, unit: &[u8; 2]| {
        let head = b"DOTNET_IPC_V1\0\x24\0\x01\x01\0\0\x02\0\0\0";
        let wire = [head, &unit[..], &[0, 0, 4, 0, 0, 0, 0, 0, 0, 0]].concat();
        let request = Request::of(Command::GENERATE_CORE_DUMP, &wire);
        known(profile(build), &request, refused(HResult::OK))
    };
    assert_eq!(dump("win-net6.0.13", &[0x34, 0x04]), Some(("F-127", true)));
    assert_eq!(dump("win-net6.0.13", b"d\0"), None);
    assert_eq!(dump("win-net8.0.31", &[0x34, 0x04]), None);
}

/// P-45 ends between 10.0.0 and 10.0.9.
#[test]
fn perf_map_kills_a_suspended_8_9_and_10_0_0() {
    let request = Request { is_suspended: true, ..Request::right(Command::ENABLE_PERF_MAP) };
    let dies = |profile: &str| {
        let profile = profile.parse::<Profile>().unwrap();
        rows(profile, request).any(|row| row.does == Does::Dies)
    };
    let builds =
        ["coreclr-8.0.30", "coreclr-9.0.20", "coreclr-10.0.0", "coreclr-10.0.9", "10.0.14"];
    assert_eq!(builds.map(dies), [true, true, true, false, false]);
}

#[test]
fn deaths_depend_on_version() {
    let dies = |profile, command, reason| {
        rows(profile, Request::refused(command, reason)).any(|row| row.does == Does::Dies)
    };
    let over = |kind| RefusalReason::OverLimit(WireError::new(kind, 20));
    let profiles = [
        Profile::CORECLR_3_1,
        Profile::CORECLR_8,
        Profile::CORECLR_9,
        Profile::CORECLR_10,
        Profile::CORECLR_11,
        Profile::MONO,
        Profile::STRICT,
    ];
    for (reason, command, of) in [
        (
            over(WireErrorKind::ZeroBuffer),
            Command::COLLECT_TRACING2,
            [false, true, true, false, false, false, false],
        ),
        (
            over(WireErrorKind::TooManyProviders { count: 1001 }),
            Command::COLLECT_TRACING2,
            [false, true, true, false, false, false, false],
        ),
        (
            over(WireErrorKind::DuplicateEventId { id: 7 }),
            Command::COLLECT_TRACING5,
            [false, false, false, true, true, false, false],
        ),
        (
            over(WireErrorKind::AbsentName),
            Command::GENERATE_CORE_DUMP,
            [true, true, true, true, true, false, false],
        ),
        (over(WireErrorKind::AbsentName), Command::SET_ENVIRONMENT_VARIABLE, [false; 7]),
    ] {
        assert_eq!(
            profiles.map(|profile| dies(profile, command, reason)),
            of,
            "{command} {reason}"
        );
    }
}

/// P-2 and P-30 depend on the program: any may behave like this, and the reference runtime imitates
/// its model.
#[test]
fn program_facts_are_imitated_only_by_their_builds() {
    let builds = ["net8.0.30", "net9.0.5", "net10.0.9", "net10.0.12"];
    let done = |fact: &'static str| {
        builds.map(|build| {
            TABLE.iter().any(|row| {
                row.fact == fact && row.is_of(profile(build)) && row.is_done_by(profile(build))
            })
        })
    };
    assert_eq!(done("P-30"), [true, false, false, false]);
    assert_eq!(done("P-2"), [true, true, false, true]);
    assert!(builds.iter().all(|build| rows_of(build).any(|row| row.fact == "P-2")));
}

#[test]
fn profile_text_names_known_builds() {
    for (text, held_to) in [
        ("coreclr-10.0.12", "compared with its recording"),
        ("coreclr-10.0.20", "compared with the recordings of coreclr-10.0.12"),
        ("coreclr-9", "compared with the recordings of coreclr-9.0.5"),
        ("nativeaot-9.0.20", "compared with its recording"),
        ("nativeaot-7", "never recorded: compared with the recordings of nativeaot-8.0.31"),
        ("coreclr-11", "never recorded: compared with the recordings of coreclr-10.0.12"),
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
    // Its commands are its own, whether it was observed or not.
    let seven: Profile = "coreclr-7".parse().unwrap();
    assert!(seven.knows(Command::GENERATE_CORE_DUMP3) && !seven.knows(Command::PROCESS_INFO3));
    for profile in Profile::ALL {
        assert_eq!(format!("{profile}").parse(), Ok(profile));
    }
    for text in ["", "coreclr-", "coreclr", "net8", "auto", "nativeaot-"] {
        assert!(text.parse::<Profile>().is_err(), "{text}");
    }
    // A preview belongs to its version, but is not a build of it.
    assert_eq!(Profile::of_version("10.0.0-rc.1.25451.107"), Some(Profile::CORECLR_10));
}

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
        Layer::Platform(of) => profile.platform().is_some_and(|one| of.contains(&one)),
        Layer::Host => profile.family() == Family::CoreClr,
    }
}

/// The row that explains a case; `None` if the case follows the document.
fn row_of(
    profile: Profile,
    case: &ServerCase<'_>,
    outcome: &Outcome,
) -> Result<Option<&'static Row>, String> {
    let may_be = |row: &Row| may_be_of(row, profile);
    let row_of_request = |request: &Request, seen: &Seen| {
        let rows = chosen(profile, request, may_be);
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
            let mut rows = request.iter().flat_map(|request| chosen(profile, request, may_be));
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
    let cases: BTreeMap<_, _> = all_cases().map(|case| (case.name(), case)).collect();
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

fn all_cases() -> impl Iterator<Item = ServerCase<'static>> {
    cases(embedded::scripts().unwrap(), embedded::vectors().unwrap()).into_iter()
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
    let (recordings, mut deadly, mut words) = (all_recordings(), 0, BTreeSet::new());
    for case in all_cases() {
        let (name, word) = (case.name(), last_word(&case));
        let ends = |one: &&Recording| {
            one.outcomes.get(&name).is_some_and(|outcome| ends_the_target(&case, outcome))
        };
        let ended: Vec<_> = recordings.iter().filter(ends).map(|one| one.build.as_str()).collect();
        let expected = match ended.is_empty() {
            true => "harmful".into(),
            false => format!("harmful: ended {}", ended.join(", ")),
        };
        assert_eq!(harm_of(&word), expected, "{name}");
        assert!(ended.is_empty() || case.hazard() == Some(Hazard::Harmful), "{name}: {ended:?}");
        deadly += usize::from(!ended.is_empty());
        assert!(words.insert(word), "{name}: harm_of tells it from no other");
    }
    assert!(deadly > 100, "{deadly}");
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
    for case in all_cases() {
        let requests: Vec<_> = match case.kind {
            ServerCaseKind::Script { script, .. } => requests(script).collect(),
            ServerCaseKind::Request { group, test } => {
                Expectation::of_vector(group, test).request.into_iter().collect()
            }
        };
        let fact = requests.iter().find_map(ends);
        let is_harmful = case.hazard() == Some(Hazard::Harmful);
        assert!(fact.is_none() || is_harmful, "{}: {fact:?}", case.name());
    }
}

/// A case whose request sets, writes or resumes has a hazard. The reply to such a command says
/// whether it succeeded; all others answer with what was asked.
#[test]
fn case_that_changes_the_target_has_a_hazard() {
    let mut changing = 0;
    for case in all_cases() {
        // The command of the bytes may be another one than that of the vector's group.
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
