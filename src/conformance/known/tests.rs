//! The table, the vectors and the scripts say the same of each build.

use alloc::{format, string::String, vec::Vec};

use super::builds::RECORDED;
use super::row::{Evidence, Shape};
use super::*;
use crate::command::Command;
use crate::exchange::RefusalReason;
use crate::header::{HEADER_LEN, MAGIC};
use crate::hresult::HResult;
use crate::vectors::script::{Captures, Deviation, Life, Part, Pattern, Plays, Script, Step};
use crate::vectors::{Direction as From, Hazard, Type, files, named_script_files};
use crate::wire::LimitKind;

/// What a deviation's steps say that a runtime does.
fn deed(on: &str, deviation: &Deviation) -> Option<Seen> {
    let nothing = Seen { answer: Answer::Other, died: false, left_open: false, wrong: false };
    if deviation.steps.iter().any(|step| matches!(step, Step::ExpectTarget(step) if step.expect_target == Life::Dead)) {
        return Some(Seen { died: true, ..nothing });
    }
    let left_open = deviation.steps.iter().any(|step| matches!(step, Step::ExpectNothing(_)));
    let first = deviation.steps.iter().find_map(|step| match step {
        Step::Expect(step) if step.on == on => Some(&step.expect),
        Step::ExpectAnyOf(step) if step.on == on => step.expect_any_of.first().map(|one| &one.expect),
        _ => None,
    });
    let answer = match first {
        // It is that of the script.
        None => return left_open.then_some(Seen { left_open, ..nothing }),
        Some(pattern) => answer(pattern),
    };
    Some(Seen { answer, left_open, ..nothing })
}

/// What a pattern is for.
fn answer(pattern: &Pattern) -> Answer {
    let mut bytes = Vec::new();
    for part in &pattern.0 {
        match part {
            Part::Literal(literal) => bytes.extend(literal.bytes(&Captures::new()).unwrap()),
            // A size, or the code of an error; at the end what follows.
            Part::Any(_) | Part::Until(_) => bytes.extend(if bytes.len() == 14 { &[24, 0][..] } else { &[5, 0x40, 0, 0x80] }),
        }
    }
    bytes.truncate(HEADER_LEN + 4);
    if !bytes.starts_with(&MAGIC) {
        return Answer::NoHeader;
    }
    let (set, id) = (bytes[16], bytes[17]);
    if (Command { set, id }) == Command::OK {
        Answer::Ok
    } else {
        Answer::Error(HResult(u32::from_le_bytes(bytes[20..].try_into().unwrap())))
    }
}

/// The request that a script sends first on a connection, up to where the deviation begins.
fn request(on: &str, script: &Script, deviation: &Deviation) -> Request {
    let mut wire = Vec::new();
    let (mut in_pieces, mut has_fd) = (false, false);
    let shared = script.steps.iter().take(deviation.from);
    for step in shared.chain(&deviation.steps) {
        let Step::Send(step) = step else { continue };
        if step.on != on || wire.len() >= HEADER_LEN && wire.len() == usize::from(u16::from_le_bytes([wire[14], wire[15]])) {
            continue;
        }
        in_pieces |= !wire.is_empty() || step.chunks.len() > 1;
        has_fd |= step.with_fd.is_some();
        wire.extend(step.send.iter().flat_map(|literal| literal.bytes(&Captures::new()).unwrap()));
    }
    let command = Command { set: wire[16], id: wire[17] };
    let mut request = Request::of(command, &wire);
    if request.reason.is_none() && wants_descriptor(&wire) && !has_fd {
        request.reason = Some(RefusalReason::NoDescriptor);
    }
    let is_suspended = matches!(&script.plays, Plays::Client(part) if part.target.suspended);
    Request { in_pieces, is_suspended, is_harmful: script.hazard == Some(Hazard::Harmful), ..request }
}

/// Whether it is `CollectTracing5` for `user_events`.
fn wants_descriptor(wire: &[u8]) -> bool {
    wire[16..18] == [2, 6] && wire[20..24] == [1, 0, 0, 0]
}

fn rows_of(build: Build) -> impl Iterator<Item = &'static Row> {
    TABLE.iter().filter(move |row| matches!(row.layer, Layer::Server | Layer::Host) && row.covers(Some(build)))
}

#[test]
fn deviations_of_scripts_are_rows_with_the_same_fact() {
    let (mut found, mut missing) = (0, Vec::new());
    for (file, scripts) in named_script_files().unwrap() {
        for script in &scripts.scripts {
            let Plays::Client(part) = &script.plays else { continue };
            for deviation in &part.deviations {
                let opens = |step: &Step| if let Step::Open(step) = step { Some(step.open.clone()) } else { None };
                let on = script.steps.iter().find_map(opens).unwrap();
                let (request, seen) = (request(&on, script, deviation), deed(&on, deviation).unwrap());
                // Where the script itself has the reply it is the one that is due.
                let due = request.reason.map_or(Answer::Ok, |reason| Answer::Error(reason.hresult()));
                let seen = if seen.answer == Answer::Other && !seen.died { Seen { answer: due, ..seen } } else { seen };
                for name in &deviation.on {
                    let build = name.parse().unwrap();
                    let explains = |row: &&Row| row.fact == deviation.fact && row.explains(&request, &seen);
                    if rows_of(build).find(explains).is_none() {
                        missing.push(format!("{file}/{} on {name}: {} {request:?} {seen:?}", script.name, deviation.fact));
                    }
                    found += 1;
                }
            }
        }
    }
    assert!(found > 90 && missing.is_empty(), "{found}, without a row:\n{}", missing.join("\n"));
}

#[test]
fn what_vectors_call_acceptable_is_taken_by_a_row() {
    let mut missing = Vec::new();
    let mut names = 0;
    for file in files().unwrap() {
        for (group, test) in file.groups.iter().flat_map(|group| group.tests.iter().map(move |test| (group, test))) {
            for name in &test.acceptable_on {
                names += 1;
                let build = name.parse().unwrap();
                let is_there = match group.kind {
                    Type::Request => {
                        let wire = test.wire.as_deref().unwrap();
                        let command = group.command.as_deref().unwrap().parse().unwrap();
                        let is_harmful = test.hazard == Some(Hazard::Harmful);
                        let request = Request { is_harmful, ..Request::of(command, wire) };
                        rows_of(build).any(|row| row.does == Does::Takes && row.when.fits(&request))
                    }
                    // A filter, or a provider that has one.
                    Type::EventFilter | Type::StreamingProviderConfig => {
                        rows_of(build).any(|row| row.does == Does::Takes && matches!(row.when.shape, Shape::FilterCut))
                    }
                    _ => rows_of(build).any(|row| row.does == Does::Takes && matches!(row.when.shape, Shape::Ports)),
                };
                if !is_there {
                    missing.push(format!("{} on {name} ({})", test.tc_id, group.name));
                }
            }
        }
    }
    assert!(names > 30 && missing.is_empty(), "{names}, without a row: {missing:?}");
}

/// What is taken whatever memory holds, the vectors call acceptable of that build. What is read from memory is marked as harmful, and
/// may come out in either way.
#[test]
fn what_a_row_says_is_taken_vectors_call_acceptable() {
    let (mut seen, mut contradictions) = (0, Vec::new());
    for file in files().unwrap() {
        for group in file.groups.iter().filter(|group| group.kind == Type::Request && group.direction == Some(From::Client)) {
            let Some(command) = group.command.as_deref().and_then(|name| name.parse::<Command>().ok()) else { continue };
            for test in &group.tests {
                let Some(wire) = &test.wire else { continue };
                let request = Request::of(command, wire);
                for build in RECORDED {
                    let is_known = command.since().is_some_and(|since| (since.major, since.minor) <= (build.major, build.minor));
                    let takes = rows_of(build).any(|row| row.does == Does::Takes && row.when.fits(&request));
                    if is_known && takes {
                        seen += 1;
                        if !test.acceptable_on.contains(&format!("{build}")) {
                            contradictions.push(format!("{} on {build}: {}", test.tc_id, test.comment));
                        }
                    }
                }
            }
        }
    }
    assert!(seen > 5 && contradictions.is_empty(), "{seen}, and not acceptable: {}", contradictions.join("\n"));
}

#[test]
fn rows_say_where_they_come_from() {
    for row in TABLE {
        let number = row.fact.strip_prefix("F-").or_else(|| row.fact.strip_prefix("P-")).unwrap();
        assert!(number.parse::<u8>().is_ok() && !row.text.is_empty(), "{row:?}");
        // What was seen was seen of builds; of Windows it is not known which.
        let of_builds = !row.builds.is_empty() || row.layer == Layer::Platform(row::Platform::Windows);
        assert_eq!(row.evidence == Evidence::Seen, of_builds, "{row:?}");
        assert_eq!(row.fault, row.layer == Layer::Host, "{row:?}");
    }
}

fn fact(profile: Profile, command: Command, answer: Answer) -> Option<&'static str> {
    let seen = Seen { answer, died: false, left_open: false, wrong: false };
    explain(profile, &Request::right(command), &seen).map(|row| row.fact)
}

#[test]
fn what_mono_and_programs_compiled_ahead_of_time_lack_is_known_by_its_fact() {
    let (lacks, unknown) = (Answer::Error(HResult::NOT_SUPPORTED), Answer::Error(HResult::UNKNOWN_COMMAND));
    for (command, mono, nativeaot) in [
        (Command::GENERATE_CORE_DUMP2, Some("F-63"), None),
        (Command::ATTACH_PROFILER, Some("F-63"), Some("F-56")),
        (Command::STARTUP_PROFILER, Some("F-63"), Some("F-56")),
        (Command::ENABLE_PERF_MAP, Some("F-63"), Some("F-46")),
        (Command::DISABLE_PERF_MAP, Some("F-63"), Some("F-46")),
        (Command::APPLY_STARTUP_HOOK, Some("F-63"), Some("F-63")),
        (Command::COLLECT_TRACING2, None, None),
        (Command::RESUME_RUNTIME, None, None),
    ] {
        assert_eq!(fact(Profile::MONO, command, lacks), mono, "{command}");
        assert_eq!(fact(Profile::NATIVE_AOT, command, lacks), nativeaot, "{command}");
        // Neither says so by another error, and no other runtime lacks it.
        for profile in [Profile::MONO, Profile::NATIVE_AOT] {
            assert_eq!(fact(profile, command, unknown), None, "{profile}: {command}");
        }
        for profile in [Profile::STRICT, Profile::CORECLR_10] {
            assert_eq!(fact(profile, command, lacks), None, "{profile}: {command}");
        }
    }
    // F-12: no variable is set, and the error is a number of 16 bits.
    let set = |profile, code| fact(profile, Command::SET_ENVIRONMENT_VARIABLE, Answer::Error(HResult(code)));
    assert_eq!((set(Profile::NATIVE_AOT, 0xffff), set(Profile::NATIVE_AOT, 0x8000_4005)), (Some("F-12"), None));
    assert_eq!(set(Profile::MONO, 0xffff), None);
}

#[test]
fn ok_to_a_dump_is_a_pretence_of_programs_compiled_ahead_of_time_alone() {
    assert_eq!(fact(Profile::NATIVE_AOT, Command::GENERATE_CORE_DUMP3, Answer::Ok), Some("F-63"));
    assert_eq!(fact(Profile::NATIVE_AOT, Command::RESUME_RUNTIME, Answer::Ok), None);
    assert_eq!(fact(Profile::MONO, Command::GENERATE_CORE_DUMP3, Answer::Ok), None);
}

#[test]
fn what_is_known_of_pipes_is_known_on_windows_alone() {
    let there = |known: &'static str| cfg!(windows).then_some(known);
    let absent = |profile, command| fact(profile, command, Answer::Error(HResult::ENVVAR_NOT_FOUND));
    assert_eq!(absent(Profile::CORECLR_10, Command::SET_ENVIRONMENT_VARIABLE), there("P-41"));
    assert_eq!(absent(Profile::CORECLR_10, Command::RESUME_RUNTIME), None);
    assert_eq!(absent(Profile::STRICT, Command::SET_ENVIRONMENT_VARIABLE), None);
    assert_eq!(fact(Profile::CORECLR_10, Command::SET_ENVIRONMENT_VARIABLE, Answer::Error(HResult::FAIL)), None);
    let in_pieces = |profile| {
        let request = Request { in_pieces: true, ..Request::right(Command::RESUME_RUNTIME) };
        let seen = Seen { answer: Answer::Error(HResult::BAD_ENCODING), died: false, left_open: false, wrong: false };
        explain(profile, &request, &seen).map(|row| row.fact)
    };
    assert_eq!((in_pieces(Profile::CORECLR_10), in_pieces(Profile::MONO)), (there("P-39"), None));
    // 3.1 does so on every system.
    assert_eq!(in_pieces(Profile::CORECLR_3_1), Some("P-39"));
}

#[test]
fn deaths_are_those_of_the_version() {
    let dies = |profile, command, reason, has_payload| {
        let request = Request { has_payload, ..Request::refused(command, reason) };
        rows(profile, request).any(|row| row.does == Does::Dies)
    };
    let over = |kind| RefusalReason::OverLimit { kind, offset: 20 };
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
        (over(LimitKind::ZeroBuffer), Command::COLLECT_TRACING2, [false, true, true, false, false, false, false]),
        (over(LimitKind::TooManyProviders(1001)), Command::COLLECT_TRACING2, [false, true, true, false, false, false, false]),
        (over(LimitKind::DuplicateEventId(7)), Command::COLLECT_TRACING5, [false, false, false, true, true, false, false]),
        (over(LimitKind::AbsentName), Command::GENERATE_CORE_DUMP, [true, true, true, true, true, false, false]),
        (over(LimitKind::AbsentName), Command::SET_ENVIRONMENT_VARIABLE, [false; 7]),
    ] {
        assert_eq!(profiles.map(|profile| dies(profile, command, reason, true)), of, "{command} {reason}");
    }
}

/// P-2 and P-30 depend on how a program was published, so that two builds of one version differ.
#[test]
fn facts_of_one_build_are_not_those_of_another() {
    let of = |fact: &'static str, build| TABLE.iter().any(move |row| row.fact == fact && row.covers(Some(build)));
    let builds = [Build::new(8, 0, 30), Build::new(9, 0, 5), Build::new(9, 0, 7), Build::NEWEST];
    assert_eq!(builds.map(|build| of("P-30", build)), [true, false, true, false]);
    assert_eq!(builds.map(|build| of("P-2", build)), [true, true, false, false]);
    assert_eq!(builds.map(|build| of("P-6", build)), [false, true, false, false]);
}

#[test]
fn version_that_was_not_recorded_is_held_to_the_nearest_that_was() {
    for (text, build) in
        [("3.0", "net3.1.23"), ("5", "net8.0.30"), ("coreclr-7", "net8.0.30"), ("9.0.7", "net9.0.5"), ("coreclr-12", "net10.0.9")]
    {
        let profile: Profile = text.parse().unwrap();
        assert_eq!((profile.recorded(), profile.is_called(build)), (String::from(build), true), "{text}");
    }
    // Its commands are its own.
    let seven: Profile = "coreclr-7".parse().unwrap();
    assert!(seven.knows(Command::GENERATE_CORE_DUMP3) && !seven.knows(Command::PROCESS_INFO3));
    for profile in Profile::ALL {
        assert_eq!(format!("{profile}").parse(), Ok(profile));
    }
    for text in ["", "coreclr-", "coreclr", "net8", "auto", "nativeaot-"] {
        assert!(text.parse::<Profile>().is_err(), "{text}");
    }
}
