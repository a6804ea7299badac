//! `diagipc codec`: this codec and the one in Python against all vectors and against each other,
//! and adapters with every fault that the line protocol allows.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::time::Duration;

use diagipc::{Adapter, AdapterCommand, Case, Counts, Grade, Program, Report, codec, embedded};
use serde_json::Value;

use crate::tool;

fn here(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(name)
}

fn python_adapter() -> String {
    here("adapters/python/adapter.py").display().to_string()
}

#[track_caller]
fn diagipc(arguments: &[&str], status: i32) -> Output {
    let output = tool::diagipc().arg("codec").args(arguments).output().expect("it starts");
    let (text, errors) =
        (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(!errors.contains("panicked"), "{errors}");
    assert_eq!(
        output.status.code(),
        Some(status),
        "{arguments:?}: {errors}{}",
        text.chars().take(4000).collect::<String>()
    );
    output
}

/// The report of a run in which no deadline matters, unless `arguments` have one.
#[track_caller]
fn report(arguments: &[&str], status: i32) -> Report {
    let timeout: &[&str] =
        if arguments.contains(&"--timeout") { &[] } else { &["--timeout", "120000"] };
    let output = diagipc(&[&["--json"], timeout, arguments].concat(), status);
    serde_json::from_slice(&output.stdout).expect("a report")
}

fn listed(arguments: &[&str]) -> Vec<String> {
    let output = diagipc(&[&["--list"], arguments].concat(), 0);
    String::from_utf8(output.stdout).expect("text").lines().map(str::to_owned).collect()
}

/// Every case is present, once and in order, and passes; a codec that knows everything leaves
/// nothing out.
#[track_caller]
fn passes_everything(report: &Report) {
    let Counts { pass, pass_lenient, unimplemented, informational, fail } = report.counts;
    assert_eq!((unimplemented, informational, fail), (0, 0, 0), "{:?}", report.failures().next());
    assert!(pass > 2000 && pass_lenient > 100, "{:?}", report.counts);
    // Only the `acceptable` ones: the limits are checked.
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

/// Deterministic, so that a difference can be reproduced.
struct Random(u64);

impl Random {
    fn below(&mut self, end: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 % u64::try_from(end.max(1)).unwrap()).unwrap()
    }

    fn pick<T: Copy>(&mut self, items: &[T]) -> T {
        items[self.below(items.len())]
    }

    /// Bytes with one to three faults.
    fn damage(&mut self, bytes: &mut Vec<u8>) {
        const BYTES: &[u8] =
            &[0, 1, 2, 0x20, 0x29, 0x2C, 0x2D, 0x30, 0x3B, 0x3D, 0x7F, 0x80, 0xD8, 0xDC, 0xFF];
        const NUMBERS: &[u32] =
            &[0, 1, 2, 3, 0x3FFF_FFFF, 0x4000_0000, 0x8000_0000, 0x8000_0001, u32::MAX];
        for _ in 0..=self.below(3) {
            let at = self.below(bytes.len());
            let length = self.pick(&[1, 2, 4]);
            match self.below(5) {
                0 => bytes.truncate(at),
                1 if !bytes.is_empty() => bytes[at] ^= 1 << self.below(8),
                2 => drop(bytes.splice(at..at, vec![self.pick(BYTES); length])),
                3 if at + length <= bytes.len() => drop(bytes.drain(at..at + length)),
                4 if at + 4 <= bytes.len() => {
                    bytes[at..at + 4].copy_from_slice(&self.pick(NUMBERS).to_le_bytes());
                }
                _ => {}
            }
        }
    }
}

/// Asserts that an adapter and this crate read the same value from damaged bytes, or refuse them
/// in the same layer. Each vector of these types is damaged `times` times; `ignored` is a member
/// of the answers that the adapter does not report.
#[track_caller]
pub(crate) fn agrees_on_damaged_bytes(
    program: Program,
    types: Option<&[&str]>,
    times: usize,
    ignored: Option<&str>,
) {
    let command = AdapterCommand { program, deadline: Duration::from_secs(120) };
    let mut adapter = Adapter::start(command).expect("it starts");
    let files = embedded::vectors().unwrap();
    let mut random = Random(0x9E37_79B9_7F4A_7C15);
    let (mut results, mut differences) = (BTreeMap::<String, usize>::new(), Vec::new());
    for case in codec::cases(files).iter().filter(|case| case.operation == codec::Operation::Decode)
    {
        let mut question = case.request();
        let wire = case.test.wire.as_ref().expect("it has bytes");
        if wire.len() > 4096
            || types.is_some_and(|types| !types.iter().any(|kind| question["type"] == *kind))
        {
            continue;
        }
        for _ in 0..times {
            let mut bytes = wire.clone();
            random.damage(&mut bytes);
            // A message without a valid front is refused early: most keep a good front.
            if case.group.direction.is_some()
                && bytes.len() >= 20
                && wire.len() >= 20
                && random.below(4) > 0
            {
                bytes[..14].copy_from_slice(&wire[..14]);
                if wire.starts_with(b"DOTNET_IPC_V1\0") {
                    let size = u16::try_from(bytes.len()).unwrap();
                    bytes[14..16].copy_from_slice(&size.to_le_bytes());
                }
            }
            question["id"] = 1.into();
            question["wire"] = hex::encode(&bytes).into();
            let question = question.to_string();
            let mut ours: Value = serde_json::from_str(&codec::answer(&question)).unwrap();
            if let Some(member) = ignored {
                ours.as_object_mut().unwrap().remove(member);
            }
            *results.entry(format!("{}/{}", ours["result"], ours["layer"])).or_default() += 1;
            let answer =
                adapter.ask(&question).unwrap_or_else(|trouble| panic!("{trouble}: {question}"));
            let theirs: Value = serde_json::from_str(&answer).unwrap();
            if theirs != ours {
                differences.push(format!("{question}\n  ours   {ours}\n  theirs {theirs}"));
            }
        }
    }
    assert!(
        differences.is_empty(),
        "{} differences\n{}",
        differences.len(),
        differences[..differences.len().min(10)].join("\n")
    );
    // The damage reaches every result.
    assert_eq!(results.len(), 6, "{results:?}");
    assert!(
        results.values().all(|count| *count >= 20) && results["\"ok\"/null"] > 500,
        "{results:?}"
    );
    assert_eq!(adapter.finish(), None);
}

#[test]
#[ignore = "long: .ci/nightly long"]
fn python_adapter_agrees_with_the_crate_on_damaged_bytes() {
    let program = Program::new(tool::interpreter(), [python_adapter()]);
    agrees_on_damaged_bytes(program, None, 3, None);
}

/// The codec in Python as an adapter with one fault, in questions of one type or in all.
const FAULTY: &str = r#"
import json, os, sys, time
directory, fault, kind, mark = sys.argv[1:]
sys.path.insert(0, directory)
import adapter

DIGITS = "clientData profilerGuid runtimeCookie hresult code payload".split()

def upper(value, key=None):
    if isinstance(value, dict):
        return {name: upper(inner, name) for name, inner in value.items()}
    if isinstance(value, list):
        return [upper(inner) for inner in value]
    return value.upper() if key in DIGITS and isinstance(value, str) else value

def without(value, key):
    return {name: inner for name, inner in value.items() if name != key} if isinstance(value, dict) else value

def not_absent(value):
    """Absent arguments as empty ones."""
    if isinstance(value, dict):
        return {name: "" if name == "arguments" and inner is None else not_absent(inner) for name, inner in value.items()}
    return [not_absent(inner) for inner in value] if isinstance(value, list) else value

with open(mark, "a") as file:
    file.write("%d\n" % os.getpid())
kept = ""
for line in sys.stdin:
    question = json.loads(line)
    if fault == "empty arguments" and question["op"] == "encode":
        question["value"] = not_absent(question["value"])
    try:
        answer = {"id": question["id"], **adapter.answer_to(question)}
    except adapter.Refused as refused:
        answer = {"id": question["id"], "result": "error", "layer": refused.layer}
    text = json.dumps(answer)
    if kind in ("all", question["type"]):
        if fault == "dies":
            sys.exit("out of luck")
        elif fault == "dies well":
            sys.exit(0)
        elif fault == "hangs":
            time.sleep(3600)
        elif fault == "closes its output":
            os.close(1)
            time.sleep(3600)
        elif fault == "garbage":
            text = "Hello, world"
        elif fault == "a list":
            text = "[1, 2, 3]"
        elif fault == "no result":
            text = json.dumps({"id": question["id"]})
        elif fault == "half a line":
            sys.stdout.write(text[:-3])
            sys.stdout.flush()
            time.sleep(3600)
        elif fault == "a last word":
            sys.stdout.write("out of words")
            sys.stdout.flush()
            os._exit(0)
        elif fault == "another id":
            text = json.dumps({**answer, "id": question["id"] + 1})
        elif fault == "no id":
            del answer["id"]
            text = json.dumps(answer)
        elif fault == "answers twice":
            text += "\n" + text
        elif fault == "a long line":
            text = json.dumps({**answer, "more": "x" * (9 << 20)})
        elif fault == "ok where error" and answer["result"] == "error":
            text = json.dumps({"id": question["id"], "result": "ok", "value": None, "wire": ""})
        elif fault == "error where ok" and answer["result"] == "ok":
            text = json.dumps({"id": question["id"], "result": "error", "layer": "payload"})
        elif fault == "another layer" and answer["result"] == "error":
            text = json.dumps({**answer, "layer": "transport"})
        elif fault == "a made-up layer" and answer["result"] == "error":
            text = json.dumps({**answer, "layer": "network"})
        elif fault == "no layer":
            answer.pop("layer", None)
            text = json.dumps(answer)
        elif fault == "no value":
            answer.pop("value", None)
            text = json.dumps(answer)
        elif fault == "another value" and "value" in answer:
            text = json.dumps({**answer, "value": {"utf16": [1]}})
        elif fault == "not canonical" and "canonical" in answer:
            text = json.dumps({**answer, "canonical": False})
        elif fault == "no wire" and "wire" in answer:
            del answer["wire"]
            text = json.dumps(answer)
        elif fault == "other bytes" and "wire" in answer:
            text = json.dumps({**answer, "wire": answer["wire"] + "00"})
        elif fault == "writes what it cannot" and question["op"] == "encode" and answer["result"] == "error":
            text = json.dumps({"id": question["id"], "result": "ok", "wire": "00"})
        elif fault == "unsupported":
            text = json.dumps({"id": question["id"], "result": "unsupported"})
        elif fault == "no limits" and answer.get("layer") == "limits":
            value = adapter.REQUESTS[question["command"]].read(adapter.Reader(bytes.fromhex(question["wire"])[20:]))
            text = json.dumps({"id": question["id"], "result": "ok", "value": value})
        elif fault == "writes leniently" and question["op"] == "encode" and question["value"] is True:
            text = json.dumps({**answer, "wire": "02"})
        elif fault == "taken" and question["op"] == "decode":
            text = json.dumps({"id": question["id"], "result": "taken"})
        elif fault == "taken" and question["op"] == "encode":
            text = json.dumps({"id": question["id"], "result": "unsupported", "reason": "there is no way to ask " + question["case"]})
        elif fault == "drops what it does not know" and "value" in answer:
            value = without(without(answer["value"], "tail"), "future")
            text = json.dumps({**answer, "value": value, "canonical": answer["canonical"] and value == answer["value"]})
        elif fault == "another cookie" and "runtimeCookie" in (answer.get("value") or {}):
            text = json.dumps({**answer, "value": {**answer["value"], "runtimeCookie": "7"}})
        elif fault == "upper case":
            text = json.dumps({**upper(answer), **({"wire": answer["wire"].upper()} if "wire" in answer else {})})
        elif fault == "byte order mark":
            sys.stdout.buffer.write(b"\xef\xbb\xbf")
        elif fault == "does not flush":
            kept += text + "\n"
            continue
        elif fault == "no line feed":
            sys.stdout.write(text)
            sys.stdout.flush()
            continue
        elif fault == "ends badly":
            pass
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
        let directory = crate::tool::directory();
        let adapters = here("adapters/python").display().to_string();
        let mut faulty = Self { directory, arguments: Vec::new() };
        let arguments = ["python3", "-B", "-c", FAULTY, &adapters, fault, kind, &faulty.mark()];
        faulty.arguments = arguments.map(str::to_owned).to_vec();
        faulty
    }

    /// Its last argument: the file of the processes that were started.
    fn mark(&self) -> String {
        self.directory.path().join("started").display().to_string()
    }

    #[track_caller]
    fn report(&self, options: &[&str], status: i32) -> Report {
        let arguments: Vec<&str> = self.arguments.iter().map(String::as_str).collect();
        report(&[options, &["--"], &arguments].concat(), status)
    }

    /// The processes that were started.
    fn started(&self) -> Vec<String> {
        std::fs::read_to_string(self.mark()).unwrap().lines().map(str::to_owned).collect()
    }
}

fn found(case: &Case) -> String {
    case.detail.as_ref().map_or_else(String::new, |detail| detail.found.join("\n"))
}

/// Runs three types, of which `wchar` has the fault, and returns the cases of `wchar`: all others
/// pass.
#[track_caller]
fn cases_with_fault(
    fault: &str,
    operation: &str,
    options: &[&str],
    status: i32,
) -> (Vec<Case>, Faulty) {
    let faulty = Faulty::new(fault, "wchar");
    let only = ["uint", "wchar", "guid"]
        .map(|kind| format!("--only=grammar/grammar-{kind}/*/{operation}"));
    let report = faulty.report(&[&only.each_ref().map(String::as_str), options].concat(), status);
    assert_eq!((&report.lost, report.notes.len()), (&None, 0), "{fault}: {:?}", report.notes);
    let (cases, rest): (Vec<Case>, Vec<Case>) =
        report.cases.into_iter().partition(|case| case.name.contains("wchar"));
    assert_eq!(
        (cases.len(), rest.len()),
        if operation == "encode" { (3, 9) } else { (7, 20) },
        "{fault}"
    );
    let wrong = rest.iter().find(|case| !matches!(case.grade, Grade::Pass | Grade::PassLenient));
    assert_eq!(wrong, None, "{fault}");
    (cases, faulty)
}

#[test]
#[ignore = "long: .ci/nightly long"]
fn adapter_lost_answer_fails_its_case_alone() {
    for (fault, words) in [
        ("dies", "ended instead of answering: exit status: 1; on standard error: out of luck"),
        ("dies well", "ended instead of answering: exit status: 0"),
        ("garbage", "not an answer of the line protocol: not JSON"),
        ("a list", "not an answer of the line protocol: not a JSON object"),
        ("no result", "not an answer of the line protocol: `result` is not"),
        ("another id", "an answer to question"),
        ("no id", "an answer to no question"),
        ("a long line", "a line of more than"),
        ("a last word", "not an answer of the line protocol: not JSON"),
    ] {
        let (cases, faulty) = cases_with_fault(fault, "encode", &[], 1);
        for case in &cases {
            assert_eq!(case.grade, Grade::Fail, "{fault}: {case:?}");
            assert!(found(case).contains(words), "{fault}: {case:?}");
        }
        // Once at first, and again after each of the three.
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
        // Another process may have its number by now.
        let listed = Command::new("ps").args(["-o", "args=", "-p", &process]).output().unwrap();
        let running = String::from_utf8_lossy(&listed.stdout).contains(&faulty.mark());
        assert!(!running, "process {process} is still there");
    }
}

#[test]
#[ignore = "long: .ci/nightly long"]
fn adapter_silent_is_timed_out_and_ended() {
    given_up("hangs", "no answer within TIMEOUT ms", ENOUGH);
}

#[test]
#[ignore = "long: .ci/nightly long"]
fn adapter_half_a_line_is_timed_out_and_ended() {
    given_up("half a line", "no answer within TIMEOUT ms", ENOUGH);
}

#[test]
#[ignore = "long: .ci/nightly long"]
fn adapter_closed_output_is_ended() {
    // This one needs no timeout.
    given_up(
        "closes its output",
        "ended instead of answering: it closed its output, but still runs",
        "60000",
    );
}

#[test]
fn adapter_extra_answer_fails_next_case() {
    let faulty = Faulty::new("answers twice", "wchar");
    let report = faulty.report(&["--only", "wchar"], 1);
    let grades: Vec<Grade> = report.cases.iter().map(|case| case.grade).collect();
    assert_eq!(grades.iter().filter(|grade| **grade == Grade::Fail).count(), 3, "{grades:?}");
    assert!(
        report.failures().all(|case| found(case).contains("an answer to question")),
        "{report:?}"
    );
}

#[test]
#[ignore = "long: .ci/nightly long"]
fn adapter_wrong_answer_is_described() {
    for (fault, failures, cause, words) in [
        ("ok where error", 1, "taken-though-invalid", "accepted, expected a refusal"),
        ("error where ok", 6, "refused-though-valid", "refused, expected ok"),
        (
            "a made-up layer",
            1,
            "unknown-layer",
            "unknown layer \"network\", expected one of transport, header, payload, limits, reply",
        ),
        ("no value", 3, "value-missing", "ok without `value`"),
        ("another value", 3, "wrong-value", "the value is {\"utf16\":[1]}, expected "),
        ("not canonical", 3, "wrong-canonical", "`canonical` is false, expected true"),
        ("no wire", 3, "wire-missing", "ok without `wire`"),
        ("other bytes", 3, "wrong-bytes", "byte 2 is 00, expected the end; "),
    ] {
        let (cases, faulty) = cases_with_fault(fault, "*", &[], 1);
        let failed: Vec<&Case> = cases.iter().filter(|case| case.grade == Grade::Fail).collect();
        assert_eq!(failed.len(), failures, "{fault}: {cases:?}");
        assert!(failed.iter().all(|case| found(case).starts_with(words)), "{fault}: {failed:?}");
        for case in failed {
            let [named] = &case.faults[..] else { panic!("{fault}: {case:?}") };
            assert_eq!((named.name.as_str(), &named.text), (cause, &found(case)), "{fault}");
        }
        assert!(
            cases.iter().all(|case| matches!(case.grade, Grade::Pass | Grade::Fail)),
            "{fault}: {cases:?}"
        );
        assert_eq!(faulty.started().len(), 1, "{fault}");
    }
}

/// The name and the number of failures of each cause.
fn causes(report: &Report) -> Vec<(&str, usize)> {
    report.causes.iter().map(|cause| (cause.name.as_str(), cause.cases)).collect()
}

#[test]
fn adapter_failures_are_counted_by_cause() {
    let report = Faulty::new("another cookie", "all")
        .report(&["--only", "process/process-process-info*", "--only", "advertise"], 1);
    let [(name, failures)] = causes(&report)[..] else { panic!("{:?}", report.causes) };
    assert_eq!((name, failures), ("wrong-value:runtimeCookie", report.counts.fail));
    assert!(failures > 10, "{failures}");
    assert!(
        report.causes[0].text.starts_with("runtimeCookie is \"7\", expected \""),
        "{}",
        report.causes[0].text
    );
}

/// Common mistakes, the fault of each, and whether all failures have it.
const MISTAKES: [(&str, &str, bool); 12] = [
    ("size-without-header", "size-wrong", true),
    ("size-of-two-more", "size-wrong", true),
    ("guid-as-text", "guid-big-endian", true),
    ("guid-as-text-read", "guid-big-endian", true),
    ("nul-uncounted", "string-length-without-nul", true),
    ("count-in-bytes", "string-length-in-bytes", true),
    ("empty-without-length", "empty-string-as-two-bytes", true),
    // Some values cannot be written like this, some bytes cannot be read.
    ("big-endian-read", "numbers-big-endian", false),
    ("without-nul", "string-without-nul", false),
    ("utf-8", "string-in-utf-8", false),
    ("wide", "wchar-of-4-bytes", false),
    ("counts-of-2-bytes", "field-too-narrow", false),
];

/// What is written or read by a common mistake has its name and fix, not that of the field.
#[track_caller]
fn are_told_their_faults(mistakes: &[(&str, &str, bool)]) {
    let codec = here("tests/fixtures/codecs/codec.py").display().to_string();
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

#[test]
fn adapter_wrong_layer_fails_only_for_wrong_magic() {
    let (cases, _) = cases_with_fault("another layer", "*", &[], 0);
    let grades = |wanted| cases.iter().filter(|case| case.grade == wanted).count();
    assert_eq!((grades(Grade::Pass), grades(Grade::Informational)), (6, 1), "{cases:?}");
    // A server answers a wrong magic with a specific error.
    let report = Faulty::new("another layer", "request").report(&["--only", "header/*/decode"], 1);
    assert_eq!(causes(&report), [("wrong-layer", report.counts.fail)]);
    assert!(report.counts.fail >= 10, "{:?}", report.counts);
    assert!(
        report.failures().all(|case| found(case) == "refused in layer transport, expected header"),
        "{report:?}"
    );
}

#[test]
fn adapter_taking_without_value_fails_only_for_invalid_bytes() {
    let only = ["--only", "reply/decode", "--only", "*/StopTracing/encode"];
    let report = Faulty::new("taken", "reply").report(&only, 1);
    let [(name, failures)] = causes(&report)[..] else { panic!("{:?}", report.causes) };
    assert_eq!((name, failures), ("taken-though-invalid", report.counts.fail));
    assert!(
        failures > 30 && report.counts.informational > 100 && report.counts.pass_lenient > 10,
        "{:?}",
        report.counts
    );
    let asked = report
        .cases
        .iter()
        .find(|case| case.grade == Grade::Unimplemented)
        .expect("one is not asked");
    assert_eq!(found(asked), format!("unsupported: there is no way to ask {}", asked.name));
}

#[test]
fn adapter_dropping_unknown_keys_passes() {
    let only = [
        "--only",
        "*/ProcessInfo3/decode",
        "--only",
        "advertise/decode",
        "--only",
        "*/ProcessEnvironment/decode",
    ];
    let report = Faulty::new("drops what it does not know", "all").report(&only, 0);
    assert!(report.counts.pass > 20 && report.counts.informational == 0, "{:?}", report.counts);
}

#[test]
fn adapter_digits_may_be_upper_case() {
    let only =
        ["--only", "profiler/*", "--only", "error", "--only", "unknown", "--only", "advertise"];
    let report = Faulty::new("upper case", "all").report(&only, 0);
    assert!(report.counts.pass > 80 && report.counts.fail == 0, "{:?}", report.counts);
}

#[test]
fn adapter_writing_empty_for_absent_arguments_passes_leniently() {
    let only = ["--only", "eventpipe/*/encode", "--only", "eventpipe5/*/encode"];
    let report = Faulty::new("empty arguments", "all").report(&only, 0);
    assert!(report.counts.pass_lenient > 40, "{:?}", report.counts);
    let text = "written as many libraries do: providers[0].arguments is \"\", expected null";
    assert!(
        report.cases.iter().any(|case| case.grade == Grade::PassLenient && found(case) == text),
        "{report:?}"
    );
}

/// Every question would end the same: one is enough.
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

#[test]
fn adapter_encoding_unencodable_value_fails() {
    let report = Faulty::new("writes what it cannot", "all")
        .report(&["--only", "tracepoint-command", "--only", "extension"], 1);
    let failed: Vec<String> = report.failures().map(found).collect();
    assert_eq!(failed, ["written, but the value cannot be encoded"; 9]);
}

#[test]
fn adapter_writing_lenient_form_fails() {
    let report = Faulty::new("writes leniently", "bool").report(&["--only", "bool"], 1);
    let failed: Vec<String> = report.failures().map(found).collect();
    for text in [
        "byte 0 is 02, expected 01; these bytes mean the same, in a form that writers must not use",
        "written in a form that writers must not use",
        "these bytes mean the same, in a form that writers must not use",
    ] {
        assert!(failed.contains(&text.to_owned()), "{failed:?}");
    }
}

#[test]
fn adapter_unsupported_is_unimplemented_or_required() {
    let (cases, faulty) = cases_with_fault("unsupported", "*", &[], 0);
    assert!(cases.iter().all(|case| case.grade == Grade::Unimplemented), "{cases:?}");
    let failed = faulty.report(&["--only", "wchar", "--require", "*/encode"], 1);
    assert_eq!(failed.counts, Counts { unimplemented: 4, fail: 3, ..Counts::default() });
    // Nothing is judged: that is not success, unless it was asked for.
    let few = faulty.report(&["--only", "wchar"], 1).too_few_judged.expect("none was judged");
    assert_eq!((few.judged, few.of, few.least_percent), (0, 7, 10));
    faulty.report(&["--only", "wchar", "--min-judged", "0"], 0);
    let (cases, _) = cases_with_fault("unsupported", "*", &["--require", "wchar"], 1);
    assert!(cases.iter().all(|case| case.grade == Grade::Fail), "{cases:?}");
}

#[test]
fn adapter_refusal_without_layer_is_informational() {
    let (cases, _) = cases_with_fault("no layer", "*", &[], 0);
    let grades = |wanted| cases.iter().filter(|case| case.grade == wanted).count();
    assert_eq!((grades(Grade::Pass), grades(Grade::Informational)), (6, 1), "{cases:?}");
}

#[test]
fn adapter_without_limits_passes_leniently() {
    let only = ["--only", "eventpipe/*-limits/*/decode"];
    let strict = report(&[&only[..], &["--self"]].concat(), 0);
    let lenient = Faulty::new("no limits", "request").report(&only, 0);
    assert!(
        strict.counts.pass == strict.counts.all() && strict.counts.pass > 5,
        "{:?}",
        strict.counts
    );
    assert_eq!(lenient.counts, Counts { pass_lenient: strict.counts.all(), ..Counts::default() });
}

#[test]
#[ignore = "long: .ci/nightly long"]
fn adapter_without_answers_is_lost() {
    let all = listed(&[]).len();
    for fault in ["hangs", "dies", "garbage", "another id"] {
        // Only the first is waited for. Answers of the others are read, however late.
        let timeout = if fault == "hangs" { "300" } else { "60000" };
        let report = Faulty::new(fault, "all").report(&["--timeout", timeout], 3);
        assert_eq!(report.counts, Counts { fail: 8, ..Counts::default() }, "{fault}");
        let lost = report.lost.expect("it is lost");
        assert_eq!(lost.not_run, all - 8, "{fault}: {lost:?}");
    }
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
#[ignore = "long: .ci/nightly long"]
fn adapter_not_reading_is_lost() {
    let report = report(&["--timeout", "100", "--", "sleep", "100000"], 3);
    assert_eq!(report.counts.fail, 8);
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
fn text_report_names_failure_and_detail() {
    let faulty = Faulty::new("ok where error", "wchar");
    let arguments: Vec<&str> = faulty.arguments.iter().map(String::as_str).collect();
    let output = diagipc(&[&["--verbose", "--only", "wchar", "--"], &arguments[..]].concat(), 1);
    let text = String::from_utf8(output.stdout).unwrap();
    let begins =
        |start: &str| text.lines().filter(|line| line.trim_start().starts_with(start)).count();
    for start in [
        "grammar ",
        "FAILED: 1 of 7 judged, 1 cause",
        "CAUSE  taken-though-invalid, 1 failure: ",
        "asked by diagipc: {",
        "answered by the codec: {",
        "how to fix it: Refuse them: ",
        "grammar/grammar-wchar/",
        "sent      {",
        "expected  error of layer payload",
        "seen      {",
        "FAULT     taken-though-invalid: accepted, expected a refusal",
    ] {
        assert_eq!(begins(start), 1, "{start}: {text}");
    }
    let summary = "7 cases, 6 passed, 0 passed leniently, 0 unimplemented, 0 informational, 1 failed\nFAILED: ";
    assert!(text.contains(summary), "{text}");
}

#[test]
fn codec_usage_error_exits_with_2() {
    for arguments in [
        &[][..],
        &["--self", "--", "true"],
        &["--self", "--only", "no-such-case"],
        &["--self", "--require", "no-such-case"],
        &["--self", "--timeout", "0"],
        &["--list", "--json"],
        &["true"],
    ] {
        diagipc(arguments, 2);
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
