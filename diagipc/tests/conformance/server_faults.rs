//! Faulty servers: each has one planted fault, and the kit must name its cause and no other.
//! Correct servers of other tastes pass.
//!
//! `tests/fixtures/servers/server.py --list` prints the planted faults, the causes to be named, and
//! the cases asked. `spec/DETECTION.md` has the same as a table.

use std::collections::BTreeMap;
use std::fs;
use std::num::NonZeroUsize;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, OnceLock};
use std::thread;
use std::time::Duration;

use diagipc::embedded;
use diagipc::faults::{Fault, SuiteName};
use diagipc::known::Profile;
use diagipc::server::{self, Options, ServerCase};
use diagipc::{Address, Case, Glob, Playable as _, Program, Report, SpawnCommand};

use crate::snapshot::assert_part;
use crate::tool::{self, causes, fixture, run, text};

/// How many servers are asked at a time: they mostly wait.
const JOBS: usize = 6;
/// The share of the servers that is started in each run of the tests: one in twenty.
const SAMPLE: usize = 20;

/// A line of `server.py --list`.
struct Planted {
    /// `fault` or `taste`.
    kind: String,
    name: String,
    causes: Vec<String>,
    cases: Vec<String>,
    text: String,
}

fn listed() -> &'static [Planted] {
    static LISTED: OnceLock<Vec<Planted>> = OnceLock::new();
    LISTED.get_or_init(|| {
        let output = tool::python()
            .args([fixture("servers/server.py").as_str(), "--list"])
            .output()
            .unwrap();
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

/// The cases of the suite.
fn cases() -> Vec<ServerCase<'static>> {
    server::cases(embedded::scripts().unwrap(), embedded::vectors().unwrap())
}

/// The command that starts a server with all of these.
fn command(planted: &[&Planted]) -> Vec<String> {
    let mut command = vec![fixture("servers/server.py")];
    for one in planted {
        command.extend([format!("--{}", one.kind), one.name.clone()]);
    }
    command
}

/// The report of the server with those faults and tastes.
fn report(planted: &[&Planted]) -> Report {
    let chosen: Vec<Glob> = planted.iter().flat_map(|one| &one.cases).map(Glob::new).collect();
    let mut cases = cases();
    cases.retain(|case| chosen.iter().any(|glob| case.is_chosen(glob)));
    report_of(&cases, planted, Duration::from_millis(1500))
}

fn report_of(cases: &[ServerCase<'_>], planted: &[&Planted], within: Duration) -> Report {
    let address = Address::Spawn(SpawnCommand {
        program: Program::new(tool::interpreter(), command(planted)),
        patience: Duration::from_secs(10),
        settles: Duration::ZERO,
    });
    let options = Options {
        profile: Some(Profile::STRICT),
        allow_side_effects: true,
        allow_harmful: true,
        within: Some(within),
        jobs: NonZeroUsize::new(2).unwrap(),
        // This is far more than any server needs.
        max_time: Some(Duration::from_secs(3600)),
        ..Options::default()
    };
    server::run(cases, &address, &options, &mut |_| ())
}

/// The names of the faults in a report, in alphabetical order. What no rule forbids is a note.
fn named(report: &Report) -> Vec<&str> {
    let weaknesses = report.notes.iter().filter_map(|note| {
        let (name, _) = note.split_once(": ")?;
        Fault::named(SuiteName::Server, name).map(Fault::name)
    });
    let failing = report.causes.iter().map(|cause| cause.name.as_str());
    let mut named: Vec<&str> = failing.chain(weaknesses).collect();
    named.sort_unstable();
    named
}

/// A row of the table: what is planted, and what the kit must name.
fn row(planted: &Planted) -> String {
    let named: Vec<String> = planted.causes.iter().map(|cause| format!("`{cause}`")).collect();
    let named = if named.is_empty() { "none".to_owned() } else { named.join(", ") };
    format!("| `{}` | {} | {named} |", planted.name, planted.text)
}

/// What differs from what was planted: a cause, a failure without a name.
fn judged(planted: &Planted) -> Vec<String> {
    let report = report(&[planted]);
    let named = named(&report);
    let mut wrong = Vec::new();
    if named != planted.causes {
        wrong.push(format!("it names {:?}, not {:?}", report.causes, planted.causes));
    }
    let unnamed: Vec<&Case> = report.failures().filter(|case| case.faults.is_empty()).collect();
    if !unnamed.is_empty() {
        wrong.push(format!("failures without a name: {unnamed:?}"));
    }
    if (report.counts.fail == 0) != report.causes.is_empty() || report.lost.is_some() {
        wrong.push(format!("{:?}, lost: {:?}", report.counts, report.lost));
    }
    wrong
}

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

/// Judges several servers at a time, and panics unless nothing is wrong with any.
#[track_caller]
fn all_are_right(played: &[&Planted], judged: impl Fn(&Planted) -> Vec<String> + Sync) {
    let (next, results) = (AtomicUsize::new(0), Mutex::new(BTreeMap::new()));
    thread::scope(|scope| {
        for _ in 0..JOBS {
            scope.spawn(|| {
                while let Some(planted) = played.get(next.fetch_add(1, Ordering::Relaxed)) {
                    let wrong = judged(planted);
                    if !wrong.is_empty() {
                        results.lock().unwrap().insert(planted.name.as_str(), wrong);
                    }
                }
            });
        }
    });
    let wrong = results.into_inner().unwrap();
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn server_planted_fault_is_named_without_others() {
    all_are_right(&listed().iter().step_by(SAMPLE).collect::<Vec<_>>(), judged);
}

#[test]
#[ignore = "long: .ci/nightly long"]
fn server_planted_faults_are_all_named_without_others() {
    all_are_right(&listed().iter().collect::<Vec<_>>(), judged);
}

/// Each right server has no failure in the whole suite, with cases that change or may end it.
#[test]
#[ignore = "long: .ci/nightly long"]
fn server_of_each_taste_has_no_failure_in_the_whole_suite() {
    let tastes = listed().iter().filter(|planted| planted.kind == "taste");
    all_are_right(&tastes.collect::<Vec<_>>(), |taste| {
        let report = report_of(&cases(), &[taste], Duration::from_secs(5));
        let mut wrong: Vec<_> = report.failures().map(|case| format!("{case:?}")).collect();
        if report.lost.is_some() || report.counts.pass <= 150 {
            wrong.push(format!("{:?}, lost: {:?}", report.counts, report.lost));
        }
        wrong
    });
}

/// The table of `spec/DETECTION.md` has each of them, in this order, with the causes that the test
/// above requires.
#[test]
fn every_planted_fault_has_a_row() {
    let of = |kind: &str| -> Vec<String> {
        listed().iter().filter(|planted| planted.kind == kind).map(row).collect()
    };
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../spec/DETECTION.md");
    let marks = ["<!-- servers -->\n", "\n<!-- end of servers -->"];
    let section = section([&of("fault"), &of("taste")]);
    assert_part(page, marks, &section, "-p diagipc --test conformance every_planted_fault");
}

/// Each fault that the kit can name was planted, except those that a single server cannot show.
#[test]
fn every_named_fault_is_planted() {
    let planted: Vec<&str> =
        listed().iter().flat_map(|planted| &planted.causes).map(String::as_str).collect();
    let others = ["payload-malformed", "environment-malformed", "connection-reset"];
    for fault in Fault::of(SuiteName::Server) {
        assert_ne!(planted.contains(&fault.name()), others.contains(&fault.name()), "{fault}");
    }
}

#[track_caller]
fn find(kind: &str, name: &str) -> &'static Planted {
    let is_it = |planted: &&Planted| (planted.kind.as_str(), planted.name.as_str()) == (kind, name);
    listed().iter().find(is_it).expect("it is planted")
}

/// Many cases fail for one reason: one cause is named, with the bytes of one reply. The text ends
/// with the cause, these bytes and the fix.
#[test]
fn one_wrong_size_is_one_cause_with_its_bytes_and_fix() {
    let planted = find("fault", "size-with-the-block");
    let directory = tool::directory();
    let file = directory.path().join("report.json");
    let json = format!("--json={}", file.display());
    let mut words = vec!["server", &json, "--profile", "strict", "--allow-side-effects"];
    words.extend(planted.cases.iter().flat_map(|case| ["--only", case]));
    words.extend(["--allow-harmful", "--timeout", "1500", "--spawn", "--", "python3"]);
    let command = command(&[planted]);
    words.extend(command.iter().map(String::as_str));
    let text = text(&run(&words, b"", 1));
    let report = Report::parse(&fs::read_to_string(&file).unwrap()).unwrap();
    assert_eq!(causes(&report), [("size-wrong", 2)]);
    let dump = report.causes[0].dump.join("\n  ");
    assert!(dump.starts_with("sent by the server: reply to ") && text.contains(&dump), "{dump}");

    let (before, mut rest) = text.split_once("FAILED: 2 of ").unwrap();
    assert!(!before.contains("FAILED"), "{text}");
    for part in [
        " judged, 1 cause\n\nCAUSE  size-wrong, 2 failures: The size field is not the length of",
        ": size is 28, but the message has 26 bytes\n  sent by the server: reply to ",
        "00000e  1c 00                                            size            28 = 20 + 8",
        "\n  how to fix it: Write the header last",
    ] {
        rest = rest.split_once(part).unwrap_or_else(|| panic!("no {part} after it: {text}")).1;
    }
    assert!(!text.contains("\"expect\""), "steps are told in words: {text}");
}

/// Pairs of a fault or a taste, and another fault.
const PAIRS: [(&str, &str, &str); 9] = [
    ("fault", "string-count-in-bytes", "magic-unchecked"),
    ("fault", "fields-aligned", "size-unchecked"),
    ("fault", "echoes-command", "truncated-request-accepted"),
    ("fault", "reserved", "pid-wrong"),
    ("fault", "stream-empty", "one-error-code"),
    ("fault", "environment-of-names", "version-missing"),
    ("taste", "no-ports", "string-in-utf-8"),
    ("taste", "magic-first", "tail-refused"),
    ("taste", "generic-ok", "error-left-open"),
];

/// A fault does not hide another one, and no habit of a right server becomes a fault beside one.
#[track_caller]
fn are_both_named(pairs: &[(&str, &str, &str)]) {
    for (kind, one, other) in pairs {
        let planted = [find(kind, one), find("fault", other)];
        let report = report(&planted);
        let mut causes: Vec<&str> =
            planted.iter().flat_map(|one| &one.causes).map(String::as_str).collect();
        causes.sort_unstable();
        assert_eq!(named(&report), causes, "{one} and {other}: {:#?}", report.causes);
    }
}

#[test]
fn two_faults_at_once_are_both_named() {
    are_both_named(&PAIRS[..1]);
}

#[test]
#[ignore = "long: .ci/nightly long"]
fn two_faults_at_once_are_both_named_in_all_pairs() {
    are_both_named(&PAIRS);
}

/// The run ends by itself before its time is over: the server is given up. A fifth of the cases.
#[test]
#[ignore = "long: .ci/nightly long"]
fn run_against_a_server_of_a_byte_a_second_ends() {
    // No header comes in that time either.
    let fifth: Vec<_> = cases().into_iter().step_by(5).collect();
    let report = report_of(&fifth, &[find("fault", "slow")], Duration::from_millis(200));
    assert_eq!(report.interrupted, None);
    assert!(report.counts.fail > 0 && report.counts.pass == 0, "{:?}", report.counts);
    assert_eq!(named(&report), ["no-answer"]);
    let lost = report.lost.unwrap();
    assert!(lost.reason.contains("no request was answered: "), "{lost:?}");
}
