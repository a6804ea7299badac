//! Faulty servers: each has one planted fault, and the kit must name its cause and no other.
//! Correct servers of other tastes pass.
//!
//! `tests/fixtures/servers/server.py --list` prints the planted faults, the causes to be named, and
//! the cases asked. `spec/DETECTION.md` has the same as a table, which `DIAG_THOROUGH=1
//! DIAG_UPDATE=1 cargo test --workspace --all-features --test conformance server_planted` writes.

use std::collections::BTreeMap;
use std::fs;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{LazyLock, Mutex, OnceLock};
use std::thread;
use std::time::Duration;

use diagipc::codec::{self, NamedFile};
use diagipc::faults::{Fault, Suite};
use diagipc::known::Profile;
use diagipc::server::{self, Address, Options, ServerCase, SpawnCommand};
use diagipc::{Case, Glob, Grade, Program, Report};
use dotnet_diagnostics_ipc::vectors::{ScriptFile, named_script_files};

use crate::{thorough, tool};

/// How many servers are asked at a time: they mostly wait.
const JOBS: usize = 6;

/// A line of `server.py --list`.
struct Planted {
    /// `fault` or `taste`.
    kind: String,
    name: String,
    causes: Vec<String>,
    cases: Vec<String>,
    text: String,
}

fn script() -> String {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/fixtures/servers/server.py")
        .display()
        .to_string()
}

fn listed() -> &'static [Planted] {
    static LISTED: OnceLock<Vec<Planted>> = OnceLock::new();
    LISTED.get_or_init(|| {
        let output = tool::python().args([&script(), "--list"]).output().unwrap();
        let words = |text: &str| text.split_whitespace().map(str::to_owned).collect();
        let planted = |line: &str| {
            let [kind, name, causes, asked, text] = line.split('\t').collect::<Vec<_>>()[..] else {
                panic!("{line}")
            };
            Planted {
                kind: kind.into(),
                name: name.into(),
                causes: words(causes),
                cases: words(asked),
                text: text.into(),
            }
        };
        String::from_utf8(output.stdout).unwrap().lines().map(planted).collect()
    })
}

/// The cases of the suite, parsed once.
fn cases() -> Vec<ServerCase<'static>> {
    static SCRIPTS: LazyLock<Vec<(&str, ScriptFile)>> =
        LazyLock::new(|| named_script_files().unwrap());
    static VECTORS: LazyLock<Vec<NamedFile>> = LazyLock::new(|| codec::embedded().unwrap());
    server::cases(&SCRIPTS, &VECTORS)
}

/// The command that starts that server.
fn command(planted: &Planted) -> [String; 3] {
    [script(), format!("--{}", planted.kind), planted.name.clone()]
}

/// The report of the server with that fault or taste.
fn report(planted: &Planted) -> Report {
    let chosen: Vec<Glob> = planted.cases.iter().map(Glob::new).collect();
    let mut cases = cases();
    cases.retain(|case| chosen.iter().any(|glob| case.is_chosen(glob)));
    let address = Address::Spawn(SpawnCommand {
        program: Program::new("python3", command(planted)),
        patience: Duration::from_secs(10),
        settles: Duration::ZERO,
    });
    let options = Options {
        profile: Some(Profile::STRICT),
        allow_side_effects: true,
        allow_harmful: true,
        within: Some(Duration::from_millis(1500)),
        jobs: NonZeroUsize::new(2).unwrap(),
        ..Options::default()
    };
    server::run(&cases, &address, &options, &mut |_| ())
}

#[track_caller]
fn find(kind: &str, name: &str) -> &'static Planted {
    listed()
        .iter()
        .find(|planted| (planted.kind.as_str(), planted.name.as_str()) == (kind, name))
        .expect("it is planted")
}

/// A row of the table: what was planted, and what the kit names.
fn row(planted: &Planted, named: &[&str]) -> String {
    let named: Vec<String> = named.iter().map(|cause| format!("`{cause}`")).collect();
    let named = if named.is_empty() { "none".to_owned() } else { named.join(", ") };
    format!("| `{}` | {} | {named} |", planted.name, planted.text)
}

/// What differs from what was planted: a cause, a failure without a name. And its row.
fn judged(planted: &Planted) -> (Vec<String>, String) {
    let report = report(planted);
    let mut named: Vec<&str> = report.causes.iter().map(|cause| cause.name.as_str()).collect();
    named.sort_unstable();
    let mut wrong = Vec::new();
    if named != planted.causes {
        wrong.push(format!("it names {:?}, not {:?}", report.causes, planted.causes));
    }
    let unnamed: Vec<&Case> = report.failures().filter(|case| case.faults.is_empty()).collect();
    if !unnamed.is_empty() {
        wrong.push(format!("failures without a name: {unnamed:?}"));
    }
    if (report.counts.fail == 0) != planted.causes.is_empty() || report.lost.is_some() {
        wrong.push(format!("{:?}, lost: {:?}", report.counts, report.lost));
    }
    (wrong, row(planted, &named))
}

fn page() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../spec/DETECTION.md")
}

const BEGIN: &str = "<!-- servers -->\n";
const END: &str = "\n<!-- end of servers -->";

/// The section of the table, with these rows of faults and tastes.
fn section(rows: [&[String]; 2]) -> String {
    let [faults, tastes] = rows;
    format!(
        "{} faulty servers, one planted fault each; {} right servers of other tastes.\nFalse \
         positives 0, false negatives 0.\n\n| planted | what the server does | causes named |\n\
         |---|---|---|\n{}\n\n| right | what the server does | causes named |\n|---|---|---|\n{}",
        faults.len(),
        tastes.len(),
        faults.join("\n"),
        tastes.join("\n")
    )
}

/// The causes are those planted, every failure has a name, and the table says the same. A tenth of
/// the servers, unless thorough.
#[test]
fn server_planted_faults_are_named_without_others() {
    let played: Vec<&Planted> = listed()
        .iter()
        .enumerate()
        .filter_map(|(nth, planted)| thorough::is_chosen(nth).then_some(planted))
        .collect();
    assert!(played.len() >= 8 && (played.len() == listed().len()) == thorough::is_whole());
    let (next, results) = (AtomicUsize::new(0), Mutex::new(BTreeMap::new()));
    thread::scope(|scope| {
        for _ in 0..JOBS {
            scope.spawn(|| {
                while let Some(planted) = played.get(next.fetch_add(1, Ordering::Relaxed)) {
                    let result = judged(planted);
                    results.lock().unwrap().insert(planted.name.as_str(), result);
                }
            });
        }
    });
    let results = results.into_inner().unwrap();
    let wrong: Vec<_> = results.iter().filter(|(_, (wrong, _))| !wrong.is_empty()).collect();
    assert!(wrong.is_empty(), "{wrong:#?}");
    let text = fs::read_to_string(page()).unwrap();
    let (before, rest) = text.split_once(BEGIN).unwrap();
    let (found, behind) = rest.split_once(END).unwrap();
    if thorough::is_whole() {
        let of = |kind: &str| -> Vec<String> {
            let of_kind = listed().iter().filter(|planted| planted.kind == kind);
            of_kind.map(|planted| results[planted.name.as_str()].1.clone()).collect()
        };
        let now = section([&of("fault"), &of("taste")]);
        if std::env::var_os("DIAG_UPDATE").is_some() {
            fs::write(page(), format!("{before}{BEGIN}{now}{END}{behind}")).unwrap();
        } else {
            assert_eq!(found, now, "spec/DETECTION.md is old: see the top of this file");
        }
    }
    for (name, (_, row)) in &results {
        assert!(found.lines().any(|line| line == row), "{name}: spec/DETECTION.md lacks: {row}");
    }
}

/// Each is in the table, in this order, though not all are played here.
#[test]
fn every_planted_fault_has_a_row() {
    let row_of = |planted: &Planted| {
        let causes: Vec<&str> = planted.causes.iter().map(String::as_str).collect();
        row(planted, &causes)
    };
    let of = |kind: &str| -> Vec<String> {
        listed().iter().filter(|planted| planted.kind == kind).map(row_of).collect()
    };
    let text = fs::read_to_string(page()).unwrap();
    let section = section([&of("fault"), &of("taste")]);
    assert!(
        text.contains(&format!("{BEGIN}{section}{END}")),
        "not in spec/DETECTION.md: {section}"
    );
}

/// Each fault that the kit can name was planted, except those that a single server cannot show.
#[test]
fn every_named_fault_is_planted() {
    let planted: Vec<&str> =
        listed().iter().flat_map(|planted| &planted.causes).map(String::as_str).collect();
    let others =
        ["payload-malformed", "environment-malformed", "connection-reset", "value-differs"];
    for fault in Fault::of(Suite::Server) {
        assert_ne!(planted.contains(&fault.name()), others.contains(&fault.name()), "{fault}");
    }
}

/// The report leads with the cause, shows the reply byte by byte, and gives the fix.
#[test]
fn report_leads_with_the_cause_and_its_bytes() {
    let planted = find("fault", "size-with-the-block");
    let mut command_line = tool::diagipc();
    command_line.args(["server", "--profile", "strict", "--allow-side-effects", "--allow-harmful"]);
    command_line.args(planted.cases.iter().flat_map(|case| ["--only", case]));
    command_line.args(["--timeout", "1500", "--spawn", "--", "python3"]).args(command(planted));
    let text = String::from_utf8(command_line.output().expect("it starts").stdout).unwrap();
    let (before, cause) = text.split_once("1 cause of 2 failures").unwrap();
    assert!(!before.contains("FAILED"), "{text}");
    let wanted = [
        "size-wrong, 2 failures: size is 28, but the message has 26 bytes",
        "Write the header last",
        "00000e  1c 00                                            size            28 = 20 + 8",
        "FAILED",
    ];
    let mut rest = cause;
    for text in wanted {
        rest = rest
            .split_once(text)
            .unwrap_or_else(|| panic!("{text} comes later or not at all: {cause}"))
            .1;
    }
    assert!(!text.contains("\"expect\""), "steps are told in words: {text}");
}

/// If all of many cases fail for one reason, one cause is named.
#[test]
fn one_wrong_size_is_one_cause_of_all_failures() {
    let report = report(find("fault", "size-too-small"));
    let [cause] = &report.causes[..] else { panic!("{:?}", report.causes) };
    assert_eq!((cause.name.as_str(), cause.cases), ("size-wrong", report.counts.fail));
    assert!(
        report.counts.fail >= 20 && report.cases.iter().all(|case| case.grade == Grade::Fail),
        "{:?}",
        report.counts
    );
}
