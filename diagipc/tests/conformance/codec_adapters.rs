//! `diagipc codec`: this codec and the one in Python against all vectors and against each other,
//! and adapters with every fault that the line protocol allows.

use std::collections::BTreeMap;
use std::process::Command;

use diagipc::codec::{self, Answer};
use diagipc::{Case, Counts, Glob, Grade, Playable as _, Report, embedded};
use serde_json::Value;

use crate::tool::{self, causes, directory, fixture, found, run, text};

const ADAPTERS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/adapters/python");

fn python_adapter() -> String {
    format!("{ADAPTERS}/adapter.py")
}

/// The report of a run in which no deadline matters, unless `arguments` have one.
#[track_caller]
fn report(arguments: &[&str], status: i32) -> Report {
    let timeout = ["codec", "--timeout", "120000"];
    let has_timeout = arguments.contains(&"--timeout");
    tool::report(&[&timeout[..if has_timeout { 1 } else { 3 }], arguments].concat(), status)
}

fn listed(arguments: &[&str]) -> Vec<String> {
    let output = run(&[&["codec", "--list"], arguments].concat(), b"", 0);
    text(&output).lines().map(str::to_owned).collect()
}

/// Every case is present, once and in order, and passes; a codec that knows everything leaves
/// nothing out.
#[track_caller]
fn passes_everything(report: &Report) {
    let Counts { pass, pass_lenient, unimplemented, informational, fail } = report.counts;
    assert_eq!((unimplemented, informational, fail), (0, 0, 0), "{:?}", report.failures().next());
    assert!(pass > 2000 && pass_lenient > 100, "{:?}", report.counts);
    // Only the `acceptable` cases are lenient, because limits are checked.
    assert!(
        report
            .cases
            .iter()
            .filter(|case| case.grade == Grade::PassLenient)
            .all(|case| found(case) == "a leniency is accepted")
    );
    let names: Vec<&str> = report.cases.iter().map(|case| case.name.as_str()).collect();
    assert_eq!(names, listed(&[]));
    assert_eq!((&report.lost, report.notes.len()), (&None, 0), "{:?}", report.notes);
    let mut sections = BTreeMap::<&str, usize>::new();
    for case in &report.cases {
        *sections.entry(&case.section).or_default() += 1;
    }
    assert_eq!(report.sections.len(), sections.len());
    assert!(
        report
            .sections
            .iter()
            .all(|section| section.counts.all() == sections[section.name.as_str()])
    );
}

#[test]
fn codec_built_in_passes() {
    passes_everything(&report(&["--self"], 0));
}

#[test]
fn codec_python_passes() {
    passes_everything(&report(&["--", "python3", &python_adapter()], 0));
}

/// The codec in Python as an adapter with one fault, in questions of one type or in all.
const FAULTY: &str = r#"
import json, os, sys, time
directory, fault, kind, mark = sys.argv[1:]
sys.path.insert(0, directory)
import adapter

def say(text):
    sys.stdout.write(text)
    sys.stdout.flush()

with open(mark, "a") as file:
    file.write("%d\n" % os.getpid())
kept = ""
for line in sys.stdin:
    question = json.loads(line)
    try:
        answer = {"id": question["id"], **adapter.answer_to(question)}
    except adapter.Refused as refused:
        answer = {"id": question["id"], "result": "error", "layer": refused.layer}
    text = json.dumps(answer)
    if kind in ("all", question["type"]):
        if fault == "dies":
            sys.exit("out of luck")
        elif fault == "hangs":
            time.sleep(3600)
        elif fault == "closes its output":
            os.close(1)
            time.sleep(3600)
        elif fault == "half a line":
            say(text[:-3])
            time.sleep(3600)
        elif fault == "a last word":
            say("out of words")
            os._exit(0)
        elif fault == "garbage":
            text = "Hello, world"
        elif fault == "another id":
            text = json.dumps({**answer, "id": question["id"] + 1})
        elif fault == "answers twice":
            text += "\n" + text
        elif fault == "a long line":
            text = json.dumps({**answer, "more": "x" * (9 << 20)})
        elif fault == "byte order mark":
            sys.stdout.buffer.write(b"\xef\xbb\xbf")
        elif fault == "does not flush":
            kept += text + "\n"
            continue
        elif fault == "no line feed":
            say(text)
            continue
    print(text, flush=True)
print(kept, end="")
if fault == "ends badly":
    sys.exit(3)
if fault == "does not end":
    time.sleep(3600)
"#;

struct Faulty {
    directory: tempfile::TempDir,
    arguments: Vec<String>,
}

impl Faulty {
    fn new(fault: &str, kind: &str) -> Self {
        let directory = directory();
        let mark = directory.path().join("started").display().to_string();
        let arguments = ["python3", "-B", "-c", FAULTY, ADAPTERS, fault, kind, &mark];
        Self { directory, arguments: arguments.map(str::to_owned).to_vec() }
    }

    #[track_caller]
    fn report(&self, options: &[&str], status: i32) -> Report {
        let words: Vec<&str> = self.arguments.iter().map(String::as_str).collect();
        report(&[options, &["--"], &words].concat(), status)
    }

    /// The processes that were started.
    fn started(&self) -> Vec<String> {
        let mark = self.directory.path().join("started");
        std::fs::read_to_string(mark).unwrap().lines().map(str::to_owned).collect()
    }
}

/// How the answers of a codec are judged, by case.
#[test]
fn answer_is_judged_by_its_vector() {
    let cases = codec::cases(embedded::vectors().unwrap());
    for (name, answer, grade, fault) in [
        (
            "*/1121/decode",
            r#"{ "result": "ok", "value": 1046, "canonical": true }"#,
            Grade::Pass,
            "",
        ),
        ("*/1121/decode", r#"{ "result": "unsupported" }"#, Grade::Unimplemented, ""),
        ("*/1121/decode", r#"{ "result": "error" }"#, Grade::Fail, "refused-though-valid"),
        ("*/1121/decode", r#"{ "result": "ok" }"#, Grade::Fail, "value-missing"),
        ("*/1121/decode", r#"{ "result": "ok", "value": 1 }"#, Grade::Fail, "wrong-value"),
        (
            "*/1121/decode",
            r#"{ "result": "ok", "value": 1046, "canonical": false }"#,
            Grade::Fail,
            "wrong-canonical",
        ),
        ("*/1121/encode", r#"{ "result": "ok", "wire": "1604" }"#, Grade::Pass, ""),
        ("*/1122/encode", r#"{ "result": "ok", "wire": "3DD8" }"#, Grade::Pass, ""),
        ("*/1121/encode", r#"{ "result": "ok" }"#, Grade::Fail, "wire-missing"),
        ("*/1121/encode", r#"{ "result": "ok", "wire": "160400" }"#, Grade::Fail, "wrong-bytes"),
        ("*/1124/decode", r#"{ "result": "ok" }"#, Grade::Fail, "taken-though-invalid"),
        ("*/1124/decode", r#"{ "result": "error", "layer": "payload" }"#, Grade::Pass, ""),
        ("*/1124/decode", r#"{ "result": "error", "layer": "header" }"#, Grade::Informational, ""),
        ("*/1124/decode", r#"{ "result": "error" }"#, Grade::Informational, ""),
        (
            "*/1124/decode",
            r#"{ "result": "error", "layer": "network" }"#,
            Grade::Fail,
            "unknown-layer",
        ),
        ("*/1102/decode", r#"{ "result": "ok", "value": true }"#, Grade::PassLenient, ""),
        ("*/1102/encode", r#"{ "result": "ok", "wire": "01" }"#, Grade::Pass, ""),
        ("*/1102/encode", r#"{ "result": "ok", "wire": "02" }"#, Grade::Fail, "not-canonical"),
        (
            "*/17240/encode",
            r#"{ "result": "ok", "wire": "00" }"#,
            Grade::Fail,
            "written-though-invalid",
        ),
    ] {
        let case = cases.iter().find(|case| case.is_chosen(&Glob::new(name))).expect(name);
        let judged = case.judge(&Answer::parse(answer).unwrap(), false);
        let named = judged.faults.first().map(|fault| fault.name.as_str()).unwrap_or_default();
        assert_eq!((judged.grade, named), (grade, fault), "{name} {answer}");
    }
    // Many libraries write absent arguments as empty ones.
    let is_absent = |question: &String| question.contains(r#""arguments":null"#);
    let encodes = cases.iter().filter(|case| case.operation == codec::Operation::Encode);
    let mut questions = encodes.map(|case| (case, case.request().to_string()));
    let (case, question) = questions.find(|(_, question)| is_absent(question)).unwrap();
    let empty = codec::answer(&question.replacen(r#""arguments":null"#, r#""arguments":"""#, 1));
    let judged = case.judge(&Answer::parse(&empty).unwrap(), false);
    let found = "written as many libraries do: arguments is \"\", expected null";
    let texts = judged.detail.map(|detail| detail.found).unwrap_or_default();
    assert_eq!((judged.grade, texts), (Grade::PassLenient, vec![found.to_owned()]));
}

/// Runs three types, of which `wchar` has the fault, and returns the cases of `wchar`: all others
/// pass.
#[track_caller]
fn cases_with_fault(fault: &str) -> (Vec<Case>, Faulty) {
    let faulty = Faulty::new(fault, "wchar");
    let only =
        ["uint", "wchar", "guid"].map(|kind| format!("--only=grammar/grammar-{kind}/*/encode"));
    let report = faulty.report(&only.each_ref().map(String::as_str), 1);
    assert_eq!((&report.lost, report.notes.len()), (&None, 0), "{fault}: {:?}", report.notes);
    let (cases, rest): (Vec<Case>, Vec<Case>) =
        report.cases.into_iter().partition(|case| case.name.contains("wchar"));
    assert_eq!((cases.len(), rest.len()), (3, 9), "{fault}");
    let wrong = rest.iter().find(|case| !matches!(case.grade, Grade::Pass | Grade::PassLenient));
    assert_eq!(wrong, None, "{fault}");
    (cases, faulty)
}

#[test]
#[ignore = "long: .ci/nightly long"]
fn adapter_lost_answer_fails_its_case_alone() {
    for (fault, words) in [
        ("dies", "ended instead of answering: exit status: 1; on standard error: out of luck"),
        ("garbage", "not an answer of the line protocol: not JSON"),
        ("another id", "an answer to question"),
        ("a long line", "a line of more than"),
        ("a last word", "not an answer of the line protocol: not JSON"),
    ] {
        let (cases, faulty) = cases_with_fault(fault);
        for case in &cases {
            assert_eq!(case.grade, Grade::Fail, "{fault}: {case:?}");
            assert!(found(case).contains(words), "{fault}: {case:?}");
        }
        // The adapter is started once at first, and again after each of the three.
        assert_eq!(faulty.started().len(), 4, "{fault}");
    }
}

/// Time for a Python to start during other tests, in milliseconds: the cases of other types must be
/// answered.
const ENOUGH: &str = "2000";

/// A hanging adapter is ended after the timeout, and none of its processes stays.
#[track_caller]
fn given_up(fault: &str, words: &str, timeout: &str) {
    let faulty = Faulty::new(fault, "wchar");
    let words = words.replace("TIMEOUT", timeout);
    let options = [
        "--timeout",
        timeout,
        "--only",
        "grammar/grammar-wchar/*/encode",
        "--only",
        "grammar/grammar-guid/*/encode",
    ];
    let report = faulty.report(&options, 1);
    assert_eq!((report.counts.pass, report.counts.fail), (4, 3), "{report:?}");
    assert!(
        report.failures().all(|case| case.name.contains("wchar") && found(case).contains(&words)),
        "{report:?}"
    );
    let started = faulty.started();
    // On a busy machine one may be ended before it reports its start.
    assert!((1..=4).contains(&started.len()), "{started:?}");
    for process in started {
        // Another process may have got its number since.
        let listed = Command::new("ps").args(["-o", "args=", "-p", &process]).output().unwrap();
        let running =
            String::from_utf8_lossy(&listed.stdout).contains(faulty.arguments.last().unwrap());
        assert!(!running, "process {process} is still there");
    }
}

#[test]
#[ignore = "long: .ci/nightly long"]
fn adapter_without_a_line_is_timed_out_and_ended() {
    given_up("hangs", "no answer within TIMEOUT ms", ENOUGH);
    given_up("half a line", "no answer within TIMEOUT ms", ENOUGH);
    // This one needs no timeout.
    let closed = "ended instead of answering: it closed its output, but still runs";
    given_up("closes its output", closed, "60000");
}

#[test]
fn adapter_extra_answer_fails_next_case() {
    let report = Faulty::new("answers twice", "wchar").report(&["--only", "wchar"], 1);
    assert_eq!(report.counts.fail, 3, "{report:?}");
    assert!(report.failures().all(|case| found(case).contains("an answer to question")));
}

/// Common mistakes, the fault of each, and whether all failures have it.
const MISTAKES: [(&str, &str, bool); 18] = [
    ("size-without-header", "size-wrong", true),
    ("size-of-two-more", "size-wrong", true),
    ("guid-as-text", "guid-big-endian", true),
    ("guid-as-text-read", "guid-big-endian", true),
    ("nul-uncounted", "string-length-without-nul", true),
    ("count-in-bytes", "string-length-in-bytes", true),
    ("empty-without-length", "empty-string-as-two-bytes", true),
    ("absent-as-empty", "absent-string-as-empty", true),
    ("cut-at-nul-read", "string-cut-at-nul", true),
    ("surrogates-replaced-read", "surrogate-replaced", true),
    ("double-read", "number-as-double", true),
    ("bool-inverted-read", "bool-inverted", true),
    ("commands-swapped", "another-command-sent", true),
    // Some values cannot be written in this way, and some bytes cannot be read.
    ("big-endian-read", "numbers-big-endian", false),
    ("without-nul", "string-without-nul", false),
    ("utf-8", "string-in-utf-8", false),
    ("wide", "wchar-of-4-bytes", false),
    ("counts-of-2-bytes", "field-too-narrow", false),
];

/// What is written or read by a common mistake has its name and fix, not that of the field.
#[track_caller]
fn are_told_their_faults(mistakes: &[(&str, &str, bool)]) {
    let codec = fixture("codecs/codec.py");
    let mut only = vec!["--only", "process", "--only", "profiler", "--only", "eventpipe", "--"];
    only.extend(["python3", &codec]);
    for &(mistake, fault, is_all) in mistakes {
        let report = report(&[&only[..], &[mistake]].concat(), 1);
        let causes = causes(&report);
        let (first, failures) = causes[0];
        assert_eq!((first, causes.len() == 1), (fault, is_all), "{mistake}: {causes:?}");
        assert!(failures * 4 >= report.counts.fail * 3, "{mistake}: {causes:?}");
    }
}

#[test]
fn codec_with_common_mistake_is_told_its_fault() {
    are_told_their_faults(&MISTAKES[..1]);
}

#[test]
#[ignore = "long: .ci/nightly long"]
fn codec_with_each_common_mistake_is_told_its_fault() {
    are_told_their_faults(&MISTAKES);
}

/// Every question would end in the same way, so one is enough.
#[test]
#[ignore = "long: .ci/nightly long"]
fn adapter_unreachable_is_lost_with_reason() {
    let all = listed(&["--only", "wchar"]).len();
    for (fault, reason) in [
        (
            "byte order mark",
            "the answer begins with the byte order mark of UTF-8: expected UTF-8 without a byte order mark",
        ),
        (
            "does not flush",
            "after the input ended: read one line at a time, and flush the output after each answer",
        ),
        ("no line feed", "only an answer without a line feed: end each answer with one"),
    ] {
        let faulty = Faulty::new(fault, "all");
        let report = faulty.report(&["--only", "wchar", "--timeout", ENOUGH], 3);
        let lost = report.lost.expect("it is lost");
        assert!(lost.reason.contains(reason), "{fault}: {lost:?}");
        assert_eq!(
            (lost.not_run, report.cases.len(), faulty.started().len()),
            (all, 0, 1),
            "{fault}"
        );
    }
}

/// Only the first answer is waited for. Others are read, however late.
#[test]
#[ignore = "long: .ci/nightly long"]
fn adapter_without_answers_is_lost() {
    let all = listed(&[]).len();
    for (fault, timeout) in [("hangs", "300"), ("dies", "60000"), ("another id", "60000")] {
        let report = Faulty::new(fault, "all").report(&["--timeout", timeout], 3);
        assert_eq!(report.counts, Counts { fail: 8, ..Counts::default() }, "{fault}");
        assert_eq!(report.lost.expect("it is lost").not_run, all - 8, "{fault}");
    }
    let unread = report(&["--timeout", "100", "--", "sleep", "100000"], 3);
    assert_eq!(unread.counts.fail, 8);
}

/// More than eight in a row are no loss while it answers another question.
#[test]
#[ignore = "long: .ci/nightly long"]
fn adapter_dying_on_one_type_is_restarted() {
    let only = ["--only", "uint", "--only", "grammar/grammar-string/*/encode", "--only", "guid"];
    let report = Faulty::new("dies", "string").report(&only, 1);
    let strings = report.cases.iter().filter(|case| case.name.contains("string")).count();
    assert!(
        strings > 8 + 1 && report.counts.fail == strings && report.lost.is_none(),
        "{:?} {:?}",
        report.counts,
        report.lost
    );
}

#[test]
fn adapter_missing_program_is_lost() {
    let report = report(&["--", "/nonexistent/adapter", "--option"], 3);
    assert_eq!((report.counts, report.cases.len()), (Counts::default(), 0));
    assert_eq!(report.target, "/nonexistent/adapter …");
    assert!(report.lost.expect("it is lost").reason.starts_with("cannot be started: "));
}

#[test]
#[ignore = "long: .ci/nightly long"]
fn adapter_bad_exit_is_noted() {
    for (fault, timeout, words) in [
        ("ends badly", "120000", "at the end of its input: exit status: 3"),
        ("does not end", "6000", "it did not end within 6 s"),
    ] {
        let report =
            Faulty::new(fault, "none").report(&["--only", "guid", "--timeout", timeout], 0);
        assert_eq!(report.notes.len(), 1, "{fault}");
        assert!(report.notes[0].contains(words), "{fault}: {:?}", report.notes);
    }
}

#[test]
fn adapter_unknown_question_is_unsupported() {
    for line in [
        "",
        "{}",
        "[]",
        r#"{"id":1,"op":"decode","type":"no-such-type","command":null,"direction":null,"wire":""}"#,
    ] {
        let answer: Value = serde_json::from_str(&codec::answer(line)).unwrap();
        assert_eq!(answer["result"], "unsupported", "{line}");
    }
}
