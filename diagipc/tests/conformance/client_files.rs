//! Files of operations: those that the project ships, the limits that they name, and the report of
//! a client.

use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use diagipc::client::{Operation, Operations};
use diagipc::report::KnownFaults;

use crate::tool;

const ROOT: &str = env!("CARGO_MANIFEST_DIR");

/// `diagipc/clients/*.toml`. Files of known faults have `.known.` in their names.
fn files() -> (Vec<PathBuf>, Vec<PathBuf>) {
    let entries =
        fs::read_dir(Path::new(ROOT).join("clients")).unwrap().map(|entry| entry.unwrap().path());
    let all = entries.filter(|path| path.extension() == Some(OsStr::new("toml")));
    all.partition(|path| path.to_str().unwrap().ends_with(".known.toml"))
}

#[test]
fn client_operation_files_of_project_parse() {
    let (known, operations) = files();
    assert!(operations.len() >= 6 && !known.is_empty(), "{operations:?} {known:?}");
    for path in operations {
        let name = path.display().to_string();
        let read = Operations::parse(&name, &fs::read_to_string(&path).unwrap()).unwrap();
        assert!(Operation::ALL.iter().any(|operation| read.get(*operation).is_some()), "{name}");
    }
    for path in known {
        let name = path.display().to_string();
        let read = KnownFaults::parse(&name, &fs::read_to_string(&path).unwrap()).unwrap();
        assert!(!read.is_empty(), "{name}");
    }
}

#[test]
fn client_files_of_project_are_in_readme() {
    let readme = fs::read_to_string(Path::new(ROOT).join("clients/README.md")).unwrap();
    let (known, operations) = files();
    for path in operations.iter().chain(&known) {
        let row = format!("| `{}` |", path.file_name().unwrap().to_str().unwrap());
        assert!(readme.lines().any(|line| line.starts_with(&row)), "{row}");
    }
}

/// The limits of a line, of the file if the line has none, and of both kinds if one is absent.
#[test]
fn operation_deadline_overrides_file_deadline() {
    let text = "timeout_ms = 5000\ndeadline_ms = 8000\n[operations.resume]\ncommand = 'x'\n\
        [operations.dump]\ncommand = 'x'\ntimeout_ms = 100\ndeadline_ms = 200\n";
    let operations = Operations::parse("x.toml", text).unwrap();
    let limits = |operations: &Operations, operation| {
        let line = operations.get(operation).unwrap();
        (line.patience.as_millis(), line.deadline.map(|deadline| deadline.as_millis()))
    };
    assert_eq!(limits(&operations, Operation::Resume), (5000, Some(8000)));
    assert_eq!(limits(&operations, Operation::Dump), (100, Some(200)));
    let alone =
        Operations::parse("x.toml", "deadline_ms = 8000\n[operations.resume]\ncommand = 'x'\n")
            .unwrap();
    assert_eq!(
        limits(&alone, Operation::Resume),
        (8000, Some(8000)),
        "it is the limit for each byte too"
    );
    let neither = Operations::parse("x.toml", "[operations.resume]\ncommand = 'x'\n").unwrap();
    assert_eq!(limits(&neither, Operation::Resume), (Duration::from_secs(10).as_millis(), None));
}

/// The failure is separate from its explanation, and a cause shows what the client sent and the
/// answer.
#[test]
fn client_text_report_separates_failure_from_explanation() {
    let directory = crate::tool::directory();
    let client = Path::new(ROOT).join("tests/fixtures/clients/client.py");
    let file = directory.path().join("client.toml");
    let text = format!(
        "name = 'a client'\n[operations.resume]\ncommand = ['python3', '-IS', '{}', '--fault', 'error-taken-for-ok', '--patience', '9000', \
        '--pid', '{{pid}}', 'resume']\n",
        client.display()
    );
    fs::write(&file, text).unwrap();
    let ran = tool::diagipc()
        .args(["client", "--verbose", "--only", "reply/error/resume", "--operations"])
        .arg(&file)
        .output()
        .unwrap();
    let text = String::from_utf8(ran.stdout).unwrap();
    let lines: Vec<&str> = text.lines().map(str::trim_end).collect();
    let at = |begin: &str| {
        lines
            .iter()
            .position(|line| line.starts_with(begin))
            .unwrap_or_else(|| panic!("{begin}: {text}"))
    };
    let in_order = [
        at("  FAILED    it reports success, expected failure"),
        at("  about     command line: python3 … /"),
        at("  about     exit status: 0"),
        at("a client (strict): 1 case, 0 passed, "),
        at("FAILED: 1 of 1 judged, 1 cause"),
        at("CAUSE  error-taken-for-ok, 1 failure: "),
        at("  seen in reply/error/resume: it reports success, expected failure"),
        at("  sent by the client: request Process/ResumeRuntime, 0x0401, 20 bytes"),
        at("  sent by diagipc: error after Process/ResumeRuntime, 0xFFFF, 24 bytes"),
        at("  how to fix it: Check the reply's command id"),
    ];
    assert!(in_order.is_sorted(), "{in_order:?} {text}");
    assert!(!text.contains("\n\n\n"), "{text}");
}
