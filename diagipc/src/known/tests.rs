//! The table, the vectors and the scripts agree for each build.

use dotnet_diagnostics_ipc::command::Command;
use dotnet_diagnostics_ipc::exchange::RefusalReason;
use dotnet_diagnostics_ipc::header::MAGIC;
use dotnet_diagnostics_ipc::hresult::HResult;
use dotnet_diagnostics_ipc::wire::{WireError, WireErrorKind};

use super::table::TABLE;
use super::*;
use crate::conversation::Answer;
use crate::embedded;

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
    let (lacks, unknown) =
        (Answer::Error(HResult::NOT_SUPPORTED), Answer::Error(HResult::UNKNOWN_COMMAND));
    for (command, known) in [
        (Command::ATTACH_PROFILER, Some("F-91")),
        (Command::STARTUP_PROFILER, Some("F-91")),
        (Command::ENABLE_PERF_MAP, Some("F-92")),
        (Command::DISABLE_PERF_MAP, Some("F-92")),
        (Command::APPLY_STARTUP_HOOK, Some("F-93")),
        (Command::COLLECT_TRACING2, None),
        (Command::RESUME_RUNTIME, None),
        (Command::GENERATE_CORE_DUMP2, None),
    ] {
        // So does a version that was never recorded.
        for profile in [
            Profile::NATIVE_AOT_8,
            Profile::NATIVE_AOT_9,
            Profile::NATIVE_AOT,
            Profile::native_aot(7),
        ] {
            assert_eq!(fact(profile, command, lacks), known, "{profile}: {command}");
            // It says so by no other error.
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
