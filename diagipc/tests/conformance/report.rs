//! Reports: their format, their output forms, and that text from a target stays text.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use diagipc::report::{Glossary, Made, TurnDirection, html, junit};
use diagipc::{
    Case, CaseFault, Cause, Citations, Detail, Grade, Interrupted, KnownDeviation, Lost, Report,
    Turn,
};
use dotnet_diagnostics_ipc_vectors::Hazard;
use roxmltree::Document;
use serde_json::{Value, json};

use crate::schema::Schema;
use crate::tool::{self, errors, run, text};

const NASTY: &str = "<script>alert('1')</script>&\"\u{1b}[31m\u{fffe}\u{ffff}\u{202e}";
const NASTY_AS_HTML: &str = "&lt;script&gt;";

/// Two connections: a request, its error, a second request, and nothing.
fn conversation() -> Detail {
    let turns = [
        Turn::new("a", TurnDirection::Sent, &[0x44, 0x4f]),
        Turn::new("a", TurnDirection::Received, &[0xff, 0xff]),
        Turn::new("b", TurnDirection::Sent, &[0x54]),
        Turn::new("b", TurnDirection::Received, &[]),
    ];
    let found = vec![format!("step 3: still open {NASTY}")];
    Detail::conversation(turns, "the end of the connection", found)
}

/// A case of every kind that the server suite knows.
fn server() -> Report {
    let mut report = Report::new("server", &format!("pid 4711 {NASTY}"));
    report.runtime = Some(".NET 10.0.9".to_owned());
    report.profile = Some("coreclr-10".to_owned());
    report.add(Case {
        spec: vec!["F-69".to_owned()],
        ..Case::new("framing/whole", "framing", "scripts", "A whole request", Grade::Pass)
    });
    report.add(Case {
        spec: vec!["F-14".to_owned(), "R-TRN-003".to_owned()],
        hazard: Some(Hazard::Harmful),
        detail: Some(conversation()),
        ..Case::new("framing/cut", "framing", "scripts", "A request that is cut", Grade::Fail)
    });
    report.add(Case {
        deviation: Some(KnownDeviation {
            fact: "F-5".to_owned(),
            text: "the connection stays open".to_owned(),
        }),
        detail: Some(conversation()),
        ..Case::new("eventpipe/refused", "eventpipe", "scripts", "A refusal", Grade::Informational)
    });
    report.add(Case::new(
        "eventpipe/newest",
        "eventpipe",
        "scripts",
        "A command of .NET 11",
        Grade::Unimplemented,
    ));
    report
}

/// A client with a fault, which is lost.
fn client() -> Report {
    let mut report = Report::new("client", "python3 client.py");
    report.add(Case {
        faults: vec![CaseFault::new("string-length-in-bytes", "The length is 26, expected 13")],
        hazard: Some(Hazard::SideEffect),
        detail: Some(conversation()),
        ..Case::new("trace/strings", "trace", "requests", "Its strings", Grade::Fail)
    });
    report.lost = Some(Lost { reason: format!("it cannot be started again {NASTY}"), not_run: 7 });
    report.notes.push("a note".to_owned());
    let command = ["diagipc", "client", NASTY].map(str::to_owned).to_vec();
    report.made = Some(Made {
        by: "diagipc 0.1.0".to_owned(),
        suite: Some("00c0ffee00c0ffee".to_owned()),
        at: "2026-11-22T21:04:05Z".to_owned(),
        command,
    });
    report
}

/// A run of two suites, both of which were ended early.
fn interrupted() -> Report {
    let mut report = Report::new("check", "diagipc");
    for (mut suite, not_run) in [(server(), 5), (client(), 6)] {
        suite.interrupted = Some(Interrupted { not_run });
        report.absorb(suite);
    }
    assert_eq!(report.interrupted, Some(Interrupted { not_run: 11 }));
    report
}

fn value(report: &Report) -> Value {
    serde_json::to_value(report).unwrap()
}

/// Writes `text` as a file, whose path is given.
fn file(directory: &Path, name: &str, text: &str) -> String {
    let path = directory.join(name);
    fs::write(&path, text).unwrap();
    path.display().to_string()
}

/// An adapter without abilities.
const NOTHING: &str = r#"import json, sys
for line in sys.stdin:
    print(json.dumps({"id": json.loads(line)["id"], "result": "unsupported"}), flush=True)"#;
const ADAPTER: [&str; 4] = ["--", "python3", "-c", NOTHING];

#[test]
fn reports_match_schema_and_parse_back() {
    let schema = Schema::at("schema/report.schema.json");
    let codec = |options: &[&str], adapter: &[&str], status| {
        let only = ["codec", "--only", "grammar"];
        tool::report(&[&only[..], options, adapter].concat(), status)
    };
    let reports = [
        codec(&[], &["--self"], 0),
        codec(&[], &ADAPTER, 1),
        codec(&["--min-judged", "0"], &ADAPTER, 0),
        codec(&["--require", "uint"], &ADAPTER, 1),
        codec(&[], &["--", "cat"], 3),
        codec(&[], &["--", "/nonexistent/adapter"], 3),
        server(),
        client(),
        interrupted(),
    ];
    for report in reports {
        assert_eq!(schema.objection(&value(&report)), None, "{}", report.target);
        assert_eq!(Report::parse(&value(&report).to_string()).as_ref(), Ok(&report));
    }
    assert_eq!(
        [server(), client(), interrupted()].map(|report| report.verdict()),
        ["FAILED: 1 of 3 judged", "LOST: 1 of 1 judged, 1 cause", "LOST: 2 of 4 judged, 1 cause"]
    );
}

/// A key more in any object, a key less, or an unknown word.
#[test]
fn report_other_format_is_refused() {
    let schema = Schema::at("schema/report.schema.json");
    let optional = "runtime profile lost interrupted notes deviation faults hazard causes made";
    let optional: Vec<&str> = optional.split(' ').collect();
    let places = "/counts /sections/0 /sections/0/counts /cases/0 /cases/1/detail \
                  /cases/2/deviation /cases/0/faults/0 /causes/0 /made /lost /interrupted";
    for report in [server(), client(), interrupted()].map(|report| value(&report)) {
        for place in std::iter::once("").chain(places.split_whitespace()) {
            let mut more = report.clone();
            let Some(Value::Object(object)) = more.pointer_mut(place) else { continue };
            object.insert("more".to_owned(), json!(1));
            assert!(schema.objection(&more).is_some(), "{place}");
            assert!(Report::parse(&more.to_string()).is_err(), "{place}");
            for key in report.pointer(place).unwrap().as_object().unwrap().keys() {
                let is_pass = place == "/cases/0" && report["suite"] != "client";
                let of_made = place == "/made" && key == "suite";
                if of_made || optional.contains(&key.as_str()) || (is_pass && key == "detail") {
                    continue;
                }
                let mut less = report.clone();
                less.pointer_mut(place).unwrap().as_object_mut().unwrap().shift_remove(key);
                assert!(schema.objection(&less).is_some(), "{place} without {key}");
            }
        }
    }
    for (place, other) in [
        ("/suite", json!("other")),
        ("/cases/1/grade", json!("good")),
        ("/cases/1/hazard", json!("none")),
        ("/cases/1/spec/0", json!("Fact 5")),
        ("/cases/2/grade", json!("pass")),
        ("/cases/1/detail/sent/0/direction", json!("received")),
        ("/cases/1/detail/seen/0/hex", json!("4")),
        ("/cases/1/detail/seen/0/turn", json!(0)),
    ] {
        let mut report = value(&server());
        *report.pointer_mut(place).unwrap() = other;
        assert!(schema.objection(&report).is_some(), "{place}");
    }
    for (place, other, why) in [
        ("/format", json!(2), "format is 2, expected 1"),
        ("/counts/pass", json!(2), "the counts do not match the cases"),
        ("/sections/1/name", json!("other"), "the counts do not match the cases"),
        ("/cases/1/name", json!("framing/whole"), "duplicate case framing/whole"),
    ] {
        let mut report = value(&server());
        *report.pointer_mut(place).unwrap() = other;
        assert_eq!(Report::parse(&report.to_string()).unwrap_err(), why);
    }
}

#[test]
fn conversation_keeps_order_and_shortens_turns() {
    let detail = conversation();
    assert_eq!(
        json!([detail.sent, detail.seen]),
        json!([
            [
                { "turn": 1, "connection": "a", "direction": "sent", "hex": "444f" },
                { "turn": 3, "connection": "b", "direction": "sent", "hex": "54" },
            ],
            [
                { "turn": 2, "connection": "a", "direction": "received", "hex": "ffff" },
                { "turn": 4, "connection": "b", "direction": "received", "hex": "" },
            ],
        ])
    );
    let lines: Vec<String> = detail.turns().unwrap().iter().map(ToString::to_string).collect();
    let expected =
        ["sent      a: 444f", "received  a: ffff", "sent      b: 54", "received  b: nothing"];
    assert_eq!(lines, expected);
    let long = Turn::new("a", TurnDirection::Received, &[7; 5000]);
    assert_eq!((long.bytes.len(), long.length), (4096, Some(5000)));
}

/// In the order of the page: causes with their failures, then failures without one, each with a link
/// to its row in the table of all cases. Text of a target stays text.
#[test]
fn html_leads_with_failures_by_cause_and_escapes_text_of_a_target() {
    let page = html(&[server(), client()], &Citations::embedded()).unwrap();
    assert_eq!(page.matches("<script").count(), 1, "only the page's own");
    // The target twice (summary, head of its column), why it was lost, the findings of three cases,
    // two of which are the reasons of failures, one is listed as a failure without a name, and a
    // command line.
    assert_eq!(page.matches(NASTY_AS_HTML).count(), 2 + 1 + 3 + 2 + 1 + 1);
    for part in ["http:", "https:", " src=", "url(", "@import", "<link"] {
        assert!(!page.contains(part), "{part}");
    }
    let page = page.replace("&#x2f;", "/");
    let (top, table) = page.split_once("<h2>Cases</h2>").unwrap();
    for part in [
        "<b>string-length-in-bytes</b>, 1 failure: The length of a string counts bytes, not UTF-16 units.",
        "<p>To fix it: Count UTF-16 units and the NUL: <code>café</code> has length 5, not 6 or 10.</p>",
        "<p>Seen in <code>trace/strings</code>: The length is 26, expected 13</p>",
        "<b class=\"fail\">Lost</b>: it cannot be started again",
        "Without a named cause, 1 failure",
        "<a href=\"#case-2\"><code>framing/cut</code></a> step 3: still open",
        "<a href=\"#case-5\"><code>trace/strings</code></a>",
        "diagipc 0.1.0, suite 00c0ffee00c0ffee, 2026-11-22T21:04:05Z: <code>diagipc client ",
    ] {
        assert!(top.contains(part), "{part}\n{top}");
    }
    for row in ["<tr id=\"case-2\" data-kinds=\"fail", "<tr id=\"case-5\" data-kinds=\"fail"] {
        assert!(table.contains(row), "{row}");
    }
}

#[test]
fn html_aligns_reports_by_case_name() {
    let mut other = Report::new("server", "another");
    let case = |name, title, grade| Case::new(name, "eventpipe", "scripts", title, grade);
    other.add(case("eventpipe/refused", "A refusal", Grade::Pass));
    other.add(case("eventpipe/only-here", "One more", Grade::PassLenient));
    let directory = tool::directory();
    let [first, second, third, page] = ["0", "1", "2", "page"]
        .map(|name| directory.path().join(format!("{name}.json")).display().to_string());
    for (path, report) in [(&first, server()), (&second, other), (&third, client())] {
        fs::write(path, value(&report).to_string()).unwrap();
    }
    let shown = text(&run(&["report", "--html", &page, &first, &second, &third], b"", 0));
    assert!(shown.contains("0.json: server .NET 10.0.9"), "{shown}");
    // Two cases: one passes and one passes leniently. Cells with zero stay empty.
    let row = shown.lines().find(|line| line.contains("server another")).unwrap();
    assert_eq!(
        row.split_whitespace().collect::<Vec<_>>(),
        ["1.json:", "server", "another", "2", "1", "1"]
    );
    let page = fs::read_to_string(page).unwrap();
    // The kinds of each row's cells, in the order of the rows.
    let kinds = page.split(" data-kinds=\"").skip(1).map(|rest| rest.split('"').next().unwrap());
    assert_eq!(
        kinds.filter(|kinds| !kinds.contains('{')).collect::<Vec<_>>(),
        [
            "not-run pass",
            "fail not-run",
            "deviation pass",
            "not-run pass-lenient",
            "not-run unimplemented",
            // The table of clients has no columns of servers.
            "fail"
        ]
    );
    let sections = page.matches("<tr class=\"section\">").count();
    assert_eq!(sections, 3, "framing and eventpipe of servers, trace of clients");
    for part in [
        "≠</span> deviation F-5",
        "<dd><pre>444f</pre></dd>",
        "the end of the connection",
        "<dt id=\"F-14\">",
        "[harmful]",
    ] {
        assert!(page.contains(part), "{part}");
    }
}

/// A behaviour that the profile is not known to have is a habit, not a deviation. The known reason of
/// a failure stands in place of what was seen. Code is between backticks, and a text of a target may
/// have one alone.
#[test]
fn html_words_are_those_of_the_profile_and_its_known_faults() {
    let page =
        |report: Report| html(&[report], &Citations::embedded()).unwrap().replace("&#x2f;", "/");
    for (profile, word) in [("coreclr-10", "deviation"), ("strict", "habit")] {
        let page = page(Report { profile: Some(profile.to_owned()), ..server() });
        let counts = page.lines().find(|line| line.starts_with("<li class=\"fail\">")).unwrap();
        assert!(counts.contains(&format!("</span> 1 {word}")), "{counts}");
        assert!(page.contains(&format!("</span> {word} F-5")), "{word}");
    }
    let mut known = Report::new("server", "aot8.0.31");
    known.add(Case {
        deviation: Some(KnownDeviation {
            fact: "F-95".to_owned(),
            text: "the runtime dies of a variable".to_owned(),
        }),
        detail: Some(Detail::conversation([], "OK", vec!["`a<b` and ` alone".to_owned()])),
        ..Case::new("process/set", "process", "scripts", "the field `size`", Grade::Fail)
    });
    let page = page(known);
    for part in [
        "<code>process/set</code></a> the runtime dies of a variable</li>",
        "fail F-95</span><small class=\"reason\">the runtime dies of a variable</small>",
        "<dt>Found</dt><dd><code>a&lt;b</code> and ` alone</dd>",
        "the field <code>size</code>",
    ] {
        assert!(page.contains(part), "{part}\n{page}");
    }
}

/// Without failures the passes are first, and what the target does not have is last.
#[test]
fn html_without_failures_begins_with_passes() {
    let mut report = Report::new("server", "an engine");
    for (name, grade) in [
        ("ports/first", Grade::Unimplemented),
        ("framing/newest", Grade::Unimplemented),
        ("framing/whole", Grade::Pass),
        ("process/lenient", Grade::PassLenient),
    ] {
        let section = name.split('/').next().unwrap();
        report.add(Case::new(name, section, "scripts", "A case", grade));
    }
    let page = html(&[report], &Citations::embedded()).unwrap().replace("&#x2f;", "/");
    assert!(page.contains("<title>PASSED: 2 judged: an engine</title>"), "{page}");
    let places = [
        "<h2>No failures</h2>",
        "framing 1, process 1.",
        "framing/whole",
        "framing/newest",
        "process/lenient",
        "ports/first",
    ]
    .map(|text| page.find(text).unwrap_or_else(|| panic!("{text}: {page}")));
    assert!(places.is_sorted(), "{places:?}");
}

/// A failure is new if the case did not fail, or not by this fault.
#[test]
fn report_against_an_older_one_fails_for_new_failures() {
    let directory = tool::directory();
    let written = |file: &str, cases: &[(&str, Grade, &[&str])]| {
        let mut report = Report::new("server", "a server");
        for (name, grade, faults) in cases {
            let faults = faults.iter().map(|name| CaseFault::new(name, "seen")).collect();
            let detail = Some(conversation());
            report.add(Case { faults, detail, ..Case::new(name, "all", "all", "a case", *grade) });
        }
        self::file(directory.path(), file, &value(&report).to_string())
    };
    let old = written(
        "old",
        &[
            ("mended", Grade::Fail, &["size-wrong"]),
            ("as-before", Grade::Fail, &["size-wrong"]),
            ("otherwise", Grade::Fail, &["size-wrong"]),
            ("broken", Grade::Pass, &[]),
            ("lost-ability", Grade::PassLenient, &[]),
            ("gone", Grade::Fail, &[]),
        ],
    );
    let new = written(
        "new",
        &[
            ("mended", Grade::Pass, &[]),
            ("as-before", Grade::Fail, &["size-wrong"]),
            ("otherwise", Grade::Fail, &["size-wrong", "magic-wrong"]),
            ("broken", Grade::Fail, &["reply-cut"]),
            ("lost-ability", Grade::Unimplemented, &[]),
            ("more", Grade::Fail, &["no-answer"]),
            ("again", Grade::Fail, &["no-answer"]),
        ],
    );
    let client = file(directory.path(), "client", &value(&client()).to_string());
    assert_eq!(
        text(&run(&["report", "--against", &old, &new], b"", 1)).lines().collect::<Vec<_>>(),
        [
            "FAILED: 4 new failures, 1 fixed, 1 as before",
            "NEW  magic-wrong, 1 failure: The magic is not the 13 characters DOTNET_IPC_V1 and a NUL.",
            "  seen in otherwise (must): failed before, now also: seen",
            "NEW  reply-cut, 1 failure: A reply is truncated.",
            "  seen in broken (must): was pass; seen",
            "NEW  no-answer, 2 failures: A valid request gets no answer in time.",
            "  seen in more (must): was not in the older report; seen",
            "FIXED  mended",
            "NOT JUDGED  gone, which failed before",
            "UNIMPLEMENTED  lost-ability, which passed before",
        ]
    );
    let same = text(&run(&["report", "--against", &new, &new], b"", 0));
    assert_eq!(same, "PASSED: 0 new failures, 0 fixed, 5 as before\n");
    let other = errors(&["report", "--against", &old, &client], 2);
    assert!(other.contains("the reports are of server and client"), "{other}");
}

/// The text is printed, without a bar or colours as there is no terminal, and each file has the same
/// results.
#[test]
fn suite_writes_json_junit_and_html_beside_its_text() {
    let directory = tool::directory();
    let [json, xml, page] =
        ["json", "xml", "html"].map(|name| directory.path().join(name).display().to_string());
    let json_option = format!("--json={json}");
    let files = [&*json_option, "--junit", &xml, "--html", &page];
    let only = ["codec", "--only", "uint", "--except", "command:*", "--require", "uint"];
    let output = run(&[&only[..], &files, &ADAPTER].concat(), b"", 1);
    assert_eq!((output.stderr.len(), output.stdout.contains(&0x1b)), (0, false));
    let shown = text(&output);
    assert!(shown.contains("CAUSE  required-and-unsupported, "), "{shown}");
    let report = Report::parse(&fs::read_to_string(&json).unwrap()).unwrap();
    let failures = report.counts.fail;
    assert!(failures > 3 && failures == report.counts.all(), "{shown}");
    assert!(shown.contains(&format!("\nFAILED: {failures} of {failures} judged, 1 cause\n")));
    assert_eq!(text(&run(&["report", &json], b"", 0)), shown, "report prints what the run did");
    let (xml, page) = (fs::read_to_string(xml).unwrap(), fs::read_to_string(page).unwrap());
    let document = Document::parse(&xml).unwrap();
    let failed = document.descendants().filter(|node| node.has_tag_name("failure"));
    assert_eq!(failed.count(), failures);
    assert_eq!(page.matches("<td class=\"fail\"><details>").count(), failures);
}

/// Accepted faults are the same for every suite, here with fields in their names.
#[test]
fn known_faults_of_a_codec_are_accepted_until_they_are_gone() {
    let directory = tool::directory();
    let known = directory.path().join("known.toml").display().to_string();
    let run = |options: &[&str], status| {
        let only = ["codec", "--only", "uint", "--require", "uint"];
        tool::report(&[&only[..], options, &ADAPTER].concat(), status)
    };
    // The file is read before the run, and a report is shown even if it cannot be written.
    let missing = tool::errors(&["codec", "--only", "uint", "--known", &known, "--self"], 2);
    assert!(missing.contains("known.toml: No such file"), "{missing}");
    assert!(run(&["--write-known", "/nowhere/known.toml"], 2).counts.fail > 0);
    let failed = run(&["--write-known", &known], 1);
    let accepted = run(&["--known", &known], 0);
    assert_eq!(accepted.counts.informational, failed.counts.fail);
    let text = fs::read_to_string(&known).unwrap() + "runs-on = ['*/uint/*']\n";
    // A part of the suite does not show whether a fault of other cases is gone.
    let text = text.replace("[cases]", "faults = ['wrong-layer']\n[cases]");
    fs::write(&known, text).unwrap();
    let stale = run(&["--known", &known], 1).stale;
    let unknown =
        ["runs-on is not a fault of this suite", "runs-on in */uint/*, which is not a case"];
    assert_eq!(stale, unknown);
    assert_eq!(run(&["--known", &known, "--write-known", &known], 1).counts.fail, 0);
    // It is renewed with what its user wrote, also without --known.
    let text = fs::read_to_string(&known).unwrap().replace("\nfaults = ['wrong-layer']", "");
    let text = format!("# Ours.\n{}", text.replacen(" = [\n", " = [ # T-1\n", 1));
    fs::write(&known, &text).unwrap();
    for (options, status) in [(&["--known", &known][..], 1), (&[], 1)] {
        run(&[options, &["--write-known", &known]].concat(), status);
        let text = fs::read_to_string(&known).unwrap();
        assert!(text.starts_with("# Ours.\n") && text.contains(" = [ # T-1\n"), "{text}");
    }
}

/// A report is shown whatever its results.
#[test]
fn exit_status_by_outcome() {
    let directory = tool::directory();
    let good = file(directory.path(), "good.json", &value(&client()).to_string());
    run(&["report", &good], b"", 0);
    let format_2 = value(&server()).to_string().replace("\"format\":1", "\"format\":2");
    for bad in ["", "{}", "[1]", "\u{1b}[2J", &format_2] {
        let output = run(&["report", &good, &file(directory.path(), "bad.json", bad)], b"", 1);
        assert!(output.stdout.is_empty() && !output.stderr.contains(&0x1b), "{bad}");
        let said = String::from_utf8(output.stderr).unwrap();
        assert!(said.contains("bad.json is not a report: "), "{said}");
    }
    let nowhere = directory.path().join("nowhere/page.html").display().to_string();
    for arguments in [
        &["report"][..],
        &["report", "/nonexistent/report.json"],
        &["report", "--html", &nowhere, &good],
        &["report", "--limit", "10", &good],
        &["codec", "--list", "--junit", &nowhere],
    ] {
        run(arguments, b"", 2);
    }
    // The results are not lost if the file cannot be written.
    let unwritten = run(&["codec", "--self", "--only", "uint", "--html", &nowhere], b"", 2);
    assert!(text(&unwritten).contains(" 0 failed"));
}

/// The recordings, judged again: as when they were recorded, only NativeAOT fails (F-95 to F-97).
#[cfg(unix)]
#[test]
fn report_reads_recordings() {
    let builds = [("net3.0.3", false), ("net10.0.9", false), ("aot8.0.31", true)];
    let recordings =
        builds.map(|(name, _)| format!("{}/evidence/{name}.json", env!("CARGO_MANIFEST_DIR")));
    let mut arguments = vec!["report"];
    arguments.extend(recordings.iter().map(String::as_str));
    let shown = text(&run(&arguments, b"", 0));
    for (build, fails) in builds {
        let rows = shown.lines().map(|row| row.split_whitespace().collect::<Vec<_>>());
        let row = rows.into_iter().find(|row| row.get(2) == Some(&build)).unwrap();
        // File, suite, build, cases, passed, leniently, informational, failed; no column is printed for 0.
        assert_eq!((row[3].parse::<u32>().unwrap() > 200, row.len() > 7), (true, fails), "{shown}");
    }
}

/// What is kept of the clients of others is about scenarios that there are, and has why each failed.
#[cfg(unix)]
#[test]
fn report_reads_kept_reports_of_clients() {
    let listed = text(&run(&["client", "--list"], b"", 0));
    let scenarios: BTreeSet<&str> =
        listed.lines().filter_map(|line| line.split("  ").next()).collect();
    let Ok(files) = fs::read_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/evidence/reports")) else {
        return;
    };
    for file in files {
        let path = file.unwrap().path();
        let kept = Report::parse(&fs::read_to_string(&path).unwrap()).unwrap();
        assert_eq!(kept.suite, "client", "{}", path.display());
        let gone = kept.cases.iter().find(|case| !scenarios.contains(case.name.as_str()));
        assert_eq!(gone.map(|case| &case.name), None, "{}", path.display());
        let mut bare = kept.failures().filter(|case| case.faults.is_empty());
        assert!(bare.all(|case| !tool::found(case).is_empty()), "{}", path.display());
        assert!(kept.target.ends_with(char::is_numeric), "a version: {}", kept.target);
    }
}

#[test]
fn report_leads_with_causes_of_most_failures() {
    let mut report = Report::new("server", "a server");
    let mut add = |name: &str, grade, faults: &[(&str, &str)]| {
        let faults = faults.iter().map(|(name, text)| CaseFault::new(name, text)).collect();
        report.add(Case {
            faults,
            detail: Some(conversation()),
            ..Case::new(name, "all", "all", "a case", grade)
        });
    };
    add("one", Grade::Fail, &[("magic-unchecked", "an OK to magic 00")]);
    add(
        "two",
        Grade::Fail,
        &[("size-wrong", "28, expected 26"), ("magic-unchecked", "an OK to magic 01")],
    );
    add("three", Grade::Fail, &[("size-wrong", "20, expected 18"), ("size-wrong", "again")]);
    add("four", Grade::Fail, &[("size-wrong", "24, expected 22")]);
    add("five", Grade::Fail, &[]);
    add("six", Grade::Informational, &[("size-wrong", "accepted")]);
    let cause = |name: &str, text: &str, cases, example: &str| Cause {
        name: name.to_owned(),
        text: text.to_owned(),
        cases,
        example: example.to_owned(),
        dump: Vec::new(),
    };
    let causes = [
        cause("size-wrong", "28, expected 26", 3, "two"),
        cause("magic-unchecked", "an OK to magic 00", 2, "one"),
    ];
    assert_eq!(report.causes, causes);

    // The same in a report of several suites.
    let mut check = Report::new("check", "all");
    check.absorb(report);
    assert_eq!(check.causes[0], cause("size-wrong", "28, expected 26", 3, "server/two"));
    assert_eq!(Report::parse(&value(&check).to_string()).as_ref(), Ok(&check));
    check.causes.reverse();
    assert_eq!(
        Report::parse(&value(&check).to_string()).unwrap_err(),
        "the causes do not match the cases"
    );
}

#[test]
fn junit_has_suite_per_section_and_reason() {
    let citations = Citations::embedded();
    let xml = junit(&server(), &citations).unwrap();
    let document = Document::parse(&xml).unwrap();
    let suites: Vec<_> =
        document.descendants().filter(|node| node.has_tag_name("testsuite")).collect();
    let named =
        |name: &str| suites.iter().map(|suite| suite.attribute(name).unwrap()).collect::<Vec<_>>();
    assert_eq!(named("name"), ["server.framing", "server.eventpipe"]);
    assert_eq!(
        (named("tests"), named("failures"), named("skipped")),
        (vec!["2", "2"], vec!["1", "0"], vec!["0", "2"])
    );
    let failure = document.descendants().find(|node| node.has_tag_name("failure")).unwrap();
    let text = failure.text().unwrap();
    for line in [
        "sent      a: 444f",
        "received  a: ffff",
        "expected  the end of the connection",
        "F-14  As printed: 10–10+, CollectTracing3",
        "R-TRN-003  Off",
    ] {
        assert!(text.lines().any(|one| one.starts_with(line)), "{line}: {text}");
    }
    assert!(failure.attribute("message").unwrap().contains("step 3: still open <script>"));
    let skipped: Vec<_> = document
        .descendants()
        .filter(|node| node.has_tag_name("skipped"))
        .map(|node| node.attribute("message").unwrap())
        .collect();
    assert_eq!(
        skipped,
        ["known deviation F-5: the connection stays open", "unimplemented: A command of .NET 11"]
    );

    let xml = junit(&client(), &citations).unwrap();
    let document = Document::parse(&xml).unwrap();
    let failure = document.descendants().find(|node| node.has_tag_name("failure")).unwrap();
    assert_eq!(failure.attribute("type"), Some("string-length-in-bytes"));
    let error = document.descendants().find(|node| node.has_tag_name("error")).unwrap();
    assert!(error.attribute("message").unwrap().ends_with("; 7 cases were not run"));
}

/// A flag without a line in the glossary is unexplained, and a line without a flag is unused.
#[test]
fn glossary_has_every_flag_of_vectors_and_no_other() {
    let glossary = Glossary::embedded();
    let files = dotnet_diagnostics_ipc_vectors::files().unwrap();
    let tests = files.iter().flat_map(|file| &file.groups).flat_map(|group| &group.tests);
    let flags: BTreeSet<&str> =
        tests.flat_map(|test| test.flags.iter().map(String::as_str)).collect();
    let explained: BTreeSet<&str> = glossary.flags().keys().map(String::as_str).collect();
    assert_eq!(flags, explained);
    for word in
        Grade::ALL.iter().map(|grade| grade.name()).filter(|word| !["pass", "fail"].contains(word))
    {
        assert!(glossary.meaning(word).is_some(), "{word}");
    }
}

#[cfg(unix)]
#[test]
fn report_refuses_other_recordings() {
    for (text, said) in [
        (
            r#"{ "build": "net10.0.9", "system": "", "outcomes": { "requests/a/1": "OK" } }"#,
            "there is no case requests/a/1",
        ),
        (r#"{ "build": "mine", "system": "", "outcomes": {} }"#, "unknown build mine"),
        (
            r#"{ "build": "net10.0.9", "system": "", "outcomes": { "requests/dump/4003": "as-written" } }"#,
            "is no outcome of it",
        ),
    ] {
        let error = diagipc::server::report_of_recording(text).unwrap_err();
        assert!(error.contains(said), "{error}");
    }
}
