//! `diagipc server`: which cases it plays, which target it asks, and what its reports contain
//! besides the failures.

use std::io::{BufRead as _, BufReader};
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::{Output, Stdio};

use diagipc::Report;

use crate::tool;

fn fixture(name: &str) -> String {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/fixtures/servers")
        .join(name)
        .display()
        .to_string()
}

fn server(arguments: &[&str]) -> Output {
    tool::diagipc().arg("server").args(arguments).output().expect("it starts")
}

fn text(output: &[u8]) -> String {
    String::from_utf8_lossy(output).into_owned()
}

#[test]
fn except_removes_cases_chosen_by_only() {
    let listed = |options: &[&str]| {
        text(&server(&[&["--list", "--only", "scripts/process"], options].concat()).stdout)
    };
    let (all, some) = (listed(&[]), listed(&["--except", "*process-info*", "--except", "resume*"]));
    assert!(
        all.contains("scripts/process/process-info2\n")
            && all.contains("scripts/process/process-environment\n"),
        "{all}"
    );
    assert!(some.contains("scripts/process/process-environment\n"), "{some}");
    assert!(!some.contains("process-info") && !some.contains("/resume"), "{some}");
    // A pattern that leaves out nothing, or everything, is a mistake.
    for (pattern, said) in
        [("no-such-case", "no case matches no-such-case"), ("*", "--except leaves no case")]
    {
        let output = server(&["--list", "--only", "scripts/process", "--except", pattern]);
        assert_eq!(
            (output.status.code(), text(&output.stderr).contains(said)),
            (Some(2), true),
            "{}",
            text(&output.stderr)
        );
    }
}

/// Each missing feature is a line, with the number of cases that need it.
#[test]
fn text_report_lists_what_target_lacks() {
    let only = [
        "--only",
        "scripts/eventpipe/collect-tracing3",
        "--only",
        "requests/eventpipe/530*",
        "--min-judged",
        "0",
    ];
    let output =
        server(&[&only[..], &["--spawn", "--", "python3", &fixture("engine.py")]].concat());
    let said = text(&output.stdout);
    let (_, lacks) =
        said.split_once("What the target does not support, ").unwrap_or_else(|| panic!("{said}"));
    let lines: Vec<&str> = lacks.lines().take_while(|line| !line.is_empty()).collect();
    let [counted, line] = lines[..] else { panic!("one command: {lacks}") };
    let cases = counted.strip_suffix(" cases:").unwrap();
    assert_eq!(
        line.trim_start(),
        format!(
            "{cases}  CollectTracing3: DS_IPC_E_UNKNOWN_COMMAND to a complete and valid message"
        )
    );
    assert!(cases.parse::<usize>().unwrap() > 1, "{lacks}");
}

/// The dump of a cause is the same in both forms of a report.
#[test]
fn json_report_has_the_dump_of_a_cause() {
    let run = |options: &[&str]| {
        let only = ["--profile", "strict", "--only", "scripts/framing/unknown-set-0500"];
        server(
            &[
                options,
                &only[..],
                &["--spawn", "--", "python3", &fixture("engine.py"), "--wrong-size"],
            ]
            .concat(),
        )
    };
    let report = Report::parse(&text(&run(&["--json"]).stdout)).unwrap();
    let [cause] = &report.causes[..] else { panic!("{:?}", report.causes) };
    assert_eq!(cause.name, "size-wrong");
    assert!(cause.dump[0].starts_with("sent by the server: error after"), "{:?}", cause.dump);
    assert!(
        cause.dump.iter().any(|line| line.contains("1a 00") && line.contains("size")),
        "{:?}",
        cause.dump
    );
    let said = text(&run(&[]).stdout);
    assert!(said.contains(&cause.dump.join("\n  ")), "{said}");
}

/// A socket of another user is used only if that is allowed.
#[test]
fn socket_of_other_owner_needs_any_owner_option() {
    const NOBODY: u32 = 65_534;
    if !rustix::process::geteuid().is_root() {
        eprintln!("SKIPPED {}:{}: only root starts a process of another user", file!(), line!());
        return;
    }
    let directory = crate::tool::directory();
    std::os::unix::fs::chown(directory.path(), Some(NOBODY), Some(NOBODY)).unwrap();
    // That user may not read where the fixture is.
    for name in ["engine.py", "serving.py"] {
        std::fs::copy(fixture(name), directory.path().join(name)).unwrap();
    }
    let mut command = tool::python();
    command
        .arg(directory.path().join("engine.py"))
        .env("TMPDIR", directory.path())
        .current_dir(directory.path());
    let mut engine = command.uid(NOBODY).gid(NOBODY).stdout(Stdio::piped()).spawn().unwrap();
    let mut socket = String::new();
    BufReader::new(engine.stdout.take().unwrap()).read_line(&mut socket).unwrap();
    let only = ["--only", "scripts/process/process-info", socket.trim()];
    let (refused, asked) = (server(&only), server(&[&["--any-owner"], &only[..]].concat()));
    let _ = engine.kill();
    let _ = engine.wait();
    let said = text(&refused.stdout);
    assert_eq!(refused.status.code(), Some(3), "{said}");
    assert!(said.contains("LOST") && said.contains("65534"), "{said}");
    let said = text(&asked.stdout);
    assert_eq!(asked.status.code(), Some(0), "{said}");
    assert!(said.contains("1 case, 1 passed"), "{said}");
}
