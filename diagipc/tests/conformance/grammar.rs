//! `diagipc dev grammar`: its output equals the committed files, and is enough to write a codec.

use std::path::{Path, PathBuf};

use diagipc::{Grade, Report};
use dotnet_diagnostics_ipc_vectors::Value;

use crate::schema::Schema;
use crate::snapshot::assert_file;
use crate::tool::{report, run, text};

fn here(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(name)
}

#[track_caller]
fn read(name: &str) -> String {
    std::fs::read_to_string(here("..").join(name)).unwrap_or_else(|error| panic!("{name}: {error}"))
}

/// The report of `diagipc codec` about types of questions.
#[track_caller]
fn asked(types: &[&str], program: &[&str], status: i32) -> Report {
    let mut arguments = vec!["codec", "--timeout", "120000"];
    arguments.extend(types.iter().flat_map(|kind| ["--only", *kind]));
    report(&[&arguments[..], &["--"], program].concat(), status)
}

#[test]
fn grammar_committed_files_equal_command_output() {
    for (format, file) in [
        ("json", "spec/grammar.json"),
        ("c", "c/dotnet_ipc.h"),
        ("go", "vectors/dotnetipc/dotnetipc.go"),
        ("lua", "spec/dotnet_ipc.lua"),
    ] {
        let arguments = "-p diagipc --test conformance grammar_committed";
        let printed = text(&run(&["dev", "grammar", "--format", format], b"", 0));
        assert_file(here("..").join(file), &printed, arguments);
    }
}

#[test]
fn grammar_json_matches_schema_and_unknown_key_is_refused() {
    let schema = Schema::at("../spec/grammar.schema.json");
    let good: Value = read("spec/grammar.json").parse().unwrap();
    assert_eq!(schema.objection(&good), None);
    for (place, key, value) in [
        ("", "extra", "1"),
        ("", "format", "2"),
        ("/header", "magic", "\"DOTNET\""),
        ("/commands/0", "extra", "1"),
        ("/commands/0", "code", "257"),
        ("/commands/0", "since", "\"net8\""),
        ("/commands/0", "direction", "\"server\""),
        ("/commands/0/fields/0", "type", "7"),
        ("/commands/0/fields/0", "extra", "1"),
        ("/commands/0/fields/0/limits/0", "of", "\"size\""),
        ("/commands/0/continuation/0", "name", "\"stream\""),
        ("/structs/0", "least", "-1"),
        ("/faults/0", "layer", "\"network\""),
    ] {
        let mut wrong = good.clone();
        wrong.pointer_mut(place).unwrap()[key] = value.parse().unwrap();
        assert!(schema.objection(&wrong).is_some(), "{place}: {key} may be {value}");
    }
}

/// The file alone is enough to write a codec: this one has 200 lines at most.
#[test]
fn grammar_interpreter_in_python_passes_every_message() {
    let program = here("adapters/grammar/adapter.py").display().to_string();
    assert!(std::fs::read_to_string(&program).unwrap().lines().count() <= 200);
    let types = "request reply error legacy-request advertise provider_config \
        user_events_provider_config string";
    let types: Vec<&str> = types.split_whitespace().collect();
    let report = asked(&types, &["python3", &program], 0);
    assert_eq!(
        (report.counts.fail, report.counts.informational, report.counts.unimplemented),
        (0, 0, 0),
        "{:?}",
        report.causes
    );
    assert!(report.counts.pass > 1200 && report.lost.is_none(), "{:?}", report.counts);
    // Limits are refused, not accepted leniently: what is accepted leniently is acceptable.
    let lenient = report.cases.iter().filter(|case| case.grade == Grade::PassLenient);
    assert!(
        lenient
            .filter_map(|case| case.detail.as_ref())
            .all(|detail| detail.found == ["a leniency is accepted"])
    );
}

/// It knows only the grammar: with a changed grammar it reads and writes by that.
#[test]
fn grammar_interpreter_follows_a_changed_file() {
    let directory = crate::tool::directory();
    let changed = directory.path().join("grammar.json");
    let swapped = read("spec/grammar.json").replace(
        "\"nIncomingBytes\", \"type\": \"uint\"",
        "\"nIncomingBytes\", \"type\": \"ushort\"",
    );
    std::fs::write(&changed, swapped).unwrap();
    let program = here("adapters/grammar/adapter.py").display().to_string();
    let report = asked(&["reply"], &["python3", &program, changed.to_str().unwrap()], 1);
    assert!(
        report.failures().all(|case| case.name.contains("environment")),
        "{:?}",
        report.failures().next()
    );
}
