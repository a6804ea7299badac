//! Reports: their format, their output forms, and that text from a target stays text.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::process::Output;

use diagipc::report::{Glossary, Made, TurnDirection, html, junit};
use diagipc::{
    Case, CaseFault, Cause, Citations, Counts, Detail, Grade, Interrupted, KnownDeviation, Lost,
    Report, Said, Turn,
};
use dotnet_diagnostics_ipc_vectors::Hazard;
use roxmltree::Document;
use serde_json::{Value, json};

use crate::schema::Schema;
use crate::tool;

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
    Detail::conversation(
        turns,
        "the end of the connection",
        vec![format!("step 3: still open {NASTY}")],
    )
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

#[track_caller]
fn diagipc(arguments: &[&str], status: i32) -> Output {
    let output = tool::diagipc().args(arguments).output().expect("it starts");
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(!errors.contains("panicked"), "{errors}");
    assert_eq!(output.status.code(), Some(status), "{arguments:?}: {errors}");
    output
}

fn stdout(output: Output) -> String {
    String::from_utf8(output.stdout).unwrap()
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

#[test]
fn reports_match_schema_and_parse_back() {
    let schema = Schema::at("schema/report.schema.json");
    let codec = |arguments: &[&str], status| -> Report {
        let output = diagipc(&[&["codec", "--json"], arguments].concat(), status);
        serde_json::from_slice(&output.stdout).unwrap()
    };
    let reports = [
        codec(&["--self"], 0),
        codec(&["--only", "grammar", "--", "python3", "-c", NOTHING], 1),
        codec(&["--only", "grammar", "--min-judged", "0", "--", "python3", "-c", NOTHING], 0),
        codec(&["--only", "grammar", "--require", "uint", "--", "python3", "-c", NOTHING], 1),
        codec(&["--only", "grammar", "--", "cat"], 3),
        codec(&["--", "/nonexistent/adapter"], 3),
        server(),
        client(),
        interrupted(),
    ];
    for report in reports {
        assert_eq!(schema.objection(&value(&report)), None, "{}", report.target);
        assert_eq!(Report::parse(&value(&report).to_string()).as_ref(), Ok(&report));
    }
}

/// A key more in any object, a key less, or an unknown word.
#[test]
fn report_other_format_is_refused() {
    let schema = Schema::at("schema/report.schema.json");
    for report in [server(), client(), interrupted()].map(|report| value(&report)) {
        for place in [
            "",
            "/counts",
            "/sections/0",
            "/sections/0/counts",
            "/cases/0",
            "/cases/1/detail",
            "/cases/2/deviation",
            "/cases/0/faults/0",
            "/causes/0",
            "/made",
            "/lost",
            "/interrupted",
        ] {
            let mut more = report.clone();
            let Some(Value::Object(object)) = more.pointer_mut(place) else { continue };
            object.insert("more".to_owned(), json!(1));
            assert!(schema.objection(&more).is_some(), "{place}");
            assert!(Report::parse(&more.to_string()).is_err(), "{place}");
            for key in report.pointer(place).unwrap().as_object().unwrap().keys() {
                let optional = [
                    "runtime",
                    "profile",
                    "lost",
                    "interrupted",
                    "notes",
                    "deviation",
                    "faults",
                    "hazard",
                    "causes",
                    "made",
                    "suite",
                ];
                let is_pass = place == "/cases/0" && report["suite"] != "client";
                let is_optional =
                    optional.contains(&key.as_str()) && (place, &key[..]) != ("", "suite");
                if is_optional || (is_pass && key == "detail") {
                    continue;
                }
                let mut less = report.clone();
                less.pointer_mut(place).unwrap().as_object_mut().unwrap().shift_remove(key);
                assert!(schema.objection(&less).is_some(), "{place} without {key}");
            }
        }
    }
    for (place, other) in [
        ("/format", json!(2)),
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
}

#[test]
fn report_counts_cases_by_grade() {
    let mut counts = Counts::default();
    for (nth, grade) in Grade::ALL.into_iter().enumerate() {
        for _ in 0..=nth {
            counts.add(grade);
        }
    }
    assert_eq!(
        counts,
        Counts { pass: 1, pass_lenient: 2, unimplemented: 3, informational: 4, fail: 5 }
    );
    assert_eq!(Grade::ALL.map(|grade| counts.of(grade)), [1, 2, 3, 4, 5]);
    assert_eq!(counts.all(), 15);
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
fn report_contradiction_is_refused() {
    let with = |place: &str, other: Value| {
        let mut report = value(&server());
        *report.pointer_mut(place).unwrap() = other;
        Report::parse(&report.to_string()).unwrap_err()
    };
    assert_eq!(with("/format", json!(2)), "format is 2, expected 1");
    assert_eq!(with("/counts/pass", json!(2)), "the counts do not match the cases");
    assert_eq!(with("/sections/1/name", json!("other")), "the counts do not match the cases");
    assert_eq!(with("/cases/1/name", json!("framing/whole")), "duplicate case framing/whole");
}

#[test]
fn conversation_keeps_order_and_shortens_turns() {
    let detail = conversation();
    assert_eq!(
        (json!(detail.sent), json!(detail.seen)),
        (
            json!([{ "turn": 1, "connection": "a", "direction": "sent", "hex": "444f" }, { "turn": 3, "connection": "b", "direction": "sent", "hex": "54" }]),
            json!([{ "turn": 2, "connection": "a", "direction": "received", "hex": "ffff" }, { "turn": 4, "connection": "b", "direction": "received", "hex": "" }]),
        )
    );
    let lines: Vec<String> = detail.turns().unwrap().iter().map(ToString::to_string).collect();
    assert_eq!(
        lines,
        ["sent      a: 444f", "received  a: ffff", "sent      b: 54", "received  b: nothing"]
    );
    let long = Turn::new("a", TurnDirection::Received, &[7; 5000]);
    assert_eq!((long.bytes.len(), long.length), (4096, Some(5000)));
    let answer = Detail {
        sent: Said::Json(json!({ "op": "decode" })),
        expected: String::new(),
        seen: Said::Json(Value::Null),
        found: Vec::new(),
        about: Vec::new(),
    };
    assert_eq!(answer.turns(), None);
}

#[test]
fn citations_have_a_line_each() {
    let citations = Citations::embedded();
    for (text, is_id) in [
        (
            include_str!("../../../spec/ERRATA.md"),
            &(|line: &str| {
                line.strip_prefix("| ").map(|rest| rest.split(' ').next().unwrap().to_owned())
            }) as &dyn Fn(&str) -> Option<String>,
        ),
        (include_str!("../../../spec/requirements.toml"), &|line| {
            line.strip_prefix("id = \"").map(|rest| rest.trim_end_matches('"').to_owned())
        }),
    ] {
        let ids: Vec<String> = text
            .lines()
            .filter_map(is_id)
            .filter(|id| ["F-", "P-", "R-"].iter().any(|kind| id.starts_with(kind)))
            .collect();
        assert!(ids.len() > 100, "{}", ids.len());
        for id in ids {
            assert!(citations.line(&id).is_some_and(|line| !line.is_empty()), "{id}");
        }
    }
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
        "F-14  As printed: 10, 10+, CollectTracing3",
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

#[test]
fn html_escapes_target_text() {
    let page = html(&[server(), client()], &Citations::embedded()).unwrap();
    assert_eq!(page.matches("<script").count(), 1, "only the page's own");
    // The target twice (summary, head of its column), why it was lost, the findings of three cases,
    // two of which are the reasons of failures, one is listed as a failure without a name, and a
    // command line.
    assert_eq!(page.matches(NASTY_AS_HTML).count(), 2 + 1 + 3 + 2 + 1 + 1);
    for part in ["http:", "https:", " src=", "url(", "@import", "<link"] {
        assert!(!page.contains(part), "{part}");
    }
}

#[test]
fn html_aligns_reports_by_case_name() {
    let mut other = Report::new("server", "another");
    other.add(Case::new("eventpipe/refused", "eventpipe", "scripts", "A refusal", Grade::Pass));
    other.add(Case::new(
        "eventpipe/only-here",
        "eventpipe",
        "scripts",
        "One more",
        Grade::PassLenient,
    ));
    let directory = crate::tool::directory();
    let reports = [server(), other, client()].map(|report| value(&report).to_string());
    let files: Vec<String> = reports
        .iter()
        .enumerate()
        .map(|(index, text)| file(directory.path(), &format!("{index}.json"), text))
        .collect();
    let files: Vec<&str> = files.iter().map(String::as_str).collect();
    let page = directory.path().join("page.html");
    let text =
        stdout(diagipc(&[&["report", "--html", page.to_str().unwrap()], &files[..]].concat(), 0));
    assert_eq!(
        text.lines()
            .filter(|line| line.contains("server .NET 10.0.9") || line.contains("server another"))
            .count(),
        2,
        "{text}"
    );
    // Two cases: one passes and one passes leniently. Cells with zero stay empty.
    let row = text.lines().find(|line| line.contains("server another")).unwrap();
    assert_eq!(row.split_whitespace().collect::<Vec<_>>(), ["server", "another", "2", "1", "1"]);
    let page = fs::read_to_string(page).unwrap();
    // The kinds of each row's cells, in the order of the rows.
    let kinds: Vec<&str> = page
        .lines()
        .filter_map(|line| line.split(" data-kinds=\"").nth(1)?.split('"').next())
        .collect();
    assert_eq!(
        kinds,
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
    let heads: Vec<usize> = page
        .split("<thead>")
        .skip(1)
        .map(|table| table.split("</thead>").next().unwrap().matches("<th>").count())
        .collect();
    assert_eq!(heads, [1 + 2, 1 + 1]);
    assert_eq!(
        page.matches("<tr class=\"section\">").count(),
        3,
        "framing and eventpipe of servers, trace of clients"
    );
    for part in [
        "≠</span> deviation F-5",
        "string-length-in-bytes",
        "<dd><pre>444f</pre></dd>",
        "the end of the connection",
        "<dt id=\"F-14\">",
        "[harmful]",
    ] {
        assert!(page.contains(part), "{part}");
    }
}

/// If the profile is not known to do it, a behaviour of runtimes is a habit, not a deviation.
#[test]
fn html_counts_habits_apart_from_deviations() {
    let row = |profile: &str| {
        let mut report = server();
        report.profile = Some(profile.to_owned());
        let page = html(&[report], &Citations::embedded()).unwrap();
        let counts = page.lines().find(|line| line.starts_with("<li class=\"fail\">")).unwrap();
        let cells: Vec<String> = counts
            .split("</span> ")
            .skip(1)
            .map(|cell| cell.split('<').next().unwrap().to_owned())
            .collect();
        (
            cells.join(", "),
            page.contains("≠</span> deviation F-5"),
            page.contains("~</span> habit F-5"),
        )
    };
    let counts = |word: &str| format!("1 fail, 1 pass, 1 {word}, 1 unimplemented");
    assert_eq!(row("coreclr-10"), (counts("deviation"), true, false));
    assert_eq!(row("strict"), (counts("habit"), false, true));
}

/// Without failures the passes are first, and what the target does not have is last.
#[test]
fn html_without_failures_begins_with_passes() {
    let mut report = Report::new("server", "an engine");
    report.add(Case::new(
        "ports/first",
        "ports",
        "scripts",
        "It has no ports",
        Grade::Unimplemented,
    ));
    report.add(Case::new(
        "framing/newest",
        "framing",
        "scripts",
        "A command that it lacks",
        Grade::Unimplemented,
    ));
    report.add(Case::new("framing/whole", "framing", "scripts", "A whole request", Grade::Pass));
    report.add(Case::new("process/lenient", "process", "scripts", "A request", Grade::PassLenient));
    let page = html(&[report], &Citations::embedded()).unwrap();
    let places = [
        "<h2>No failures</h2>",
        "framing 1, process 1.",
        "framing&#x2f;whole",
        "framing&#x2f;newest",
        "process&#x2f;lenient",
        "ports&#x2f;first",
    ]
    .map(|text| page.find(text).unwrap_or_else(|| panic!("{text}: {page}")));
    assert!(places.is_sorted(), "{places:?}");
}

/// Above the table of all cases: causes with their failures, then failures without one, each with a
/// link to its row.
#[test]
fn html_leads_with_failures_by_cause() {
    let page = html(&[server(), client()], &Citations::embedded()).unwrap().replace("&#x2f;", "/");
    let top = &page[..page.find("<h2>Cases</h2>").unwrap()];
    for part in [
        "<b>string-length-in-bytes</b>, 1 failure: The length of a string counts bytes, not UTF-16 units.",
        "<p>To mend it: Count UTF-16 units and the NUL: <code>café</code> has length 5, not 6 or 10.</p>",
        "<p>Seen in <code>trace/strings</code>: The length is 26, expected 13</p>",
        "<b class=\"fail\">Lost</b>: it cannot be started again",
        "Without a named cause, 1 failure",
        "<a href=\"#case-2\"><code>framing/cut</code></a> step 3: still open",
        "<a href=\"#case-5\"><code>trace/strings</code></a>",
        "diagipc 0.1.0, suite 00c0ffee00c0ffee, 2026-11-22T21:04:05Z: <code>diagipc client ",
    ] {
        assert!(top.contains(part), "{part}\n{top}");
    }
    for row in [
        "<tr id=\"case-2\" data-kinds=\"fail",
        "<tr id=\"case-5\" data-kinds=\"fail",
        "<dt>advertise</dt>",
    ] {
        assert!(page[top.len()..].contains(row), "{row}");
    }
    let mut good = Report::new("server", "a server");
    good.add(Case::new("one", "all", "all", "a case", Grade::Pass));
    let page = html(&[good], &Citations::embedded()).unwrap();
    assert!(!page.contains("<h2>Failures</h2>"));
    assert!(page.contains("<title>PASSED: 1 judged: a server</title>"));
}

/// A fault that a runtime is known to have is the reason, in place of what was seen.
#[test]
fn html_has_the_known_reason_of_a_failure() {
    let mut report = Report::new("server", "aot8.0.31");
    report.add(Case {
        deviation: Some(KnownDeviation {
            fact: "F-95".to_owned(),
            text: "the runtime dies of a variable".to_owned(),
        }),
        detail: Some(Detail::conversation([], "OK", vec!["closed died".to_owned()])),
        ..Case::new("process/set", "process", "scripts", "A variable", Grade::Fail)
    });
    let page = html(&[report], &Citations::embedded()).unwrap();
    for part in [
        "<code>process&#x2f;set</code></a> the runtime dies of a variable</li>",
        "fail F-95</span><small class=\"reason\">the runtime dies of a variable</small>",
        "<dt>Found</dt><dd>closed died</dd>",
    ] {
        assert!(page.contains(part), "{part}\n{page}");
    }
}

/// Texts of the document have code between backticks, texts of targets a backtick or two.
#[test]
fn html_has_no_backticks_but_those_without_a_pair() {
    let mut report = Report::new("server", "a server");
    report.add(Case {
        detail: Some(Detail::conversation([], "the end", vec!["`a<b` and ` alone".to_owned()])),
        ..Case::new("one", "all", "all", "the field `size`", Grade::Fail)
    });
    let page = html(&[report], &Citations::embedded()).unwrap();
    let (page, _script) = page.split_once("<script>").unwrap();
    assert!(page.contains("the field <code>size</code>"), "{page}");
    assert!(page.contains("<code>a&lt;b</code> and ` alone"), "{page}");
    let lines: Vec<&str> = page.lines().filter(|line| line.contains('`')).collect();
    assert!(lines.iter().all(|line| line.contains("` alone")), "{lines:?}");
}

/// A failure is new if the case did not fail, or not by this fault.
#[test]
fn report_against_an_older_one_fails_for_new_failures() {
    let directory = crate::tool::directory();
    let report = |cases: &[(&str, Grade, &[&str])]| {
        let mut report = Report::new("server", "a server");
        for (name, grade, faults) in cases {
            let faults = faults.iter().map(|name| CaseFault::new(name, "seen")).collect();
            let detail = Some(conversation());
            report.add(Case { faults, detail, ..Case::new(name, "all", "all", "a case", *grade) });
        }
        value(&report).to_string()
    };
    let old = report(&[
        ("mended", Grade::Fail, &["size-wrong"]),
        ("as-before", Grade::Fail, &["size-wrong"]),
        ("otherwise", Grade::Fail, &["size-wrong"]),
        ("broken", Grade::Pass, &[]),
        ("lost-ability", Grade::PassLenient, &[]),
        ("gone", Grade::Fail, &[]),
    ]);
    let new = report(&[
        ("mended", Grade::Pass, &[]),
        ("as-before", Grade::Fail, &["size-wrong"]),
        ("otherwise", Grade::Fail, &["size-wrong", "magic-wrong"]),
        ("broken", Grade::Fail, &["reply-cut"]),
        ("lost-ability", Grade::Unimplemented, &[]),
        ("more", Grade::Fail, &["no-answer"]),
    ]);
    let client = value(&client()).to_string();
    let [old, new, client] = [("old", old), ("new", new), ("client", client)]
        .map(|(name, text)| file(directory.path(), name, &text));
    assert_eq!(
        stdout(diagipc(&["report", "--against", &old, &new], 1)).lines().collect::<Vec<_>>(),
        [
            "FAILED: 3 new failures, 1 mended, 1 as before",
            "NEW  otherwise (must): failed before, now also by magic-wrong: seen",
            "NEW  broken (must): was pass; reply-cut: seen",
            "NEW  more (must): was not in the older report; no-answer: seen",
            "MENDED  mended",
            "NOT JUDGED  gone, which failed before",
            "UNIMPLEMENTED  lost-ability, which passed before",
        ]
    );
    assert_eq!(
        stdout(diagipc(&["report", "--against", &new, &new], 0)),
        "PASSED: 0 new failures, 0 mended, 4 as before\n"
    );
    let other = diagipc(&["report", "--against", &old, &client], 2);
    assert!(
        String::from_utf8_lossy(&other.stderr).contains("the reports are of server and client")
    );
}

/// The file has what the output would have, and the text is printed. The versions are in each.
#[test]
fn json_file_is_written_beside_the_text() {
    let directory = crate::tool::directory();
    let path = directory.path().join("report.json");
    let only = ["codec", "--self", "--only", "rule:R-GRM-009", "--except", "command:*"];
    let text = stdout(diagipc(&[&only[..], &[&format!("--json={}", path.display())]].concat(), 0));
    assert!(text.trim_end().ends_with(" judged") && text.contains("\nPASSED: "), "{text}");
    let written = fs::read_to_string(&path).unwrap();
    let report = Report::parse(&written).unwrap();
    assert_eq!(Schema::at("schema/report.schema.json").objection(&value(&report)), None);
    assert!(report.counts.pass > 3 && report.counts.pass == report.counts.all(), "{text}");
    assert!(report.cases.iter().all(|case| case.spec.iter().any(|id| id == "R-GRM-009")));
    let printed: Report =
        serde_json::from_str(&stdout(diagipc(&[&only[..], &["--json"]].concat(), 0))).unwrap();
    assert_eq!(printed.cases, report.cases);
    let version = |report: &Report| report.made.as_ref().unwrap().suite.clone().unwrap();
    assert_eq!(version(&printed), version(&report));
    let again = stdout(diagipc(&["report", path.to_str().unwrap()], 0));
    assert_eq!(again, text, "report prints what the run did");
}

/// Accepted faults are the same for every suite, here with fields in their names.
#[test]
fn known_faults_of_a_codec_are_accepted_until_they_are_gone() {
    let directory = crate::tool::directory();
    let known = directory.path().join("known.toml").display().to_string();
    let run = |options: &[&str], status| {
        let only = ["codec", "--json", "--only", "uint", "--require", "uint"];
        let adapter = ["--", "python3", "-c", NOTHING];
        let output = diagipc(&[&only[..], options, &adapter[..]].concat(), status);
        serde_json::from_slice::<Report>(&output.stdout).unwrap()
    };
    let failed = run(&["--write-known", &known], 1);
    let accepted = run(&["--known", &known], 0);
    assert_eq!(accepted.counts.informational, failed.counts.fail);
    fs::write(&known, fs::read_to_string(&known).unwrap() + "runs-on = ['*/uint/*']\n").unwrap();
    let stale = run(&["--known", &known], 1).stale;
    assert_eq!(stale[0], "runs-on is not a fault of this suite");
    assert_eq!(run(&["--known", &known, "--write-known", &known], 1).counts.fail, 0);
}

/// A flag without a line in the glossary is unexplained, and a line without a flag is unused.
#[test]
fn glossary_has_every_flag_of_vectors_and_no_other() {
    let glossary = Glossary::embedded();
    let files = dotnet_diagnostics_ipc_vectors::files().unwrap();
    let tests = files.iter().flat_map(|file| &file.groups).flat_map(|group| &group.tests);
    let flags: BTreeSet<&str> =
        tests.flat_map(|test| test.flags.iter().map(String::as_str)).collect();
    let explained: BTreeSet<&str> =
        glossary.flags().iter().map(|(flag, _)| flag.as_str()).collect();
    assert_eq!(flags, explained);
    for word in Grade::ALL.map(Grade::name).iter().filter(|word| !["pass", "fail"].contains(word)) {
        assert!(glossary.meaning(word).is_some(), "{word}");
    }
}

#[test]
fn suite_writes_junit_and_html() {
    let directory = crate::tool::directory();
    let [xml, page] =
        ["report.xml", "report.html"].map(|name| directory.path().join(name).display().to_string());
    let options = [
        "codec",
        "--only",
        "uint",
        "--require",
        "uint",
        "--junit",
        &xml,
        "--html",
        &page,
        "--",
        "python3",
        "-c",
        NOTHING,
    ];
    let output = diagipc(&options, 1);
    // Without a terminal neither a bar nor colours.
    assert_eq!((output.stderr.len(), output.stdout.contains(&0x1b)), (0, false));
    let printed = stdout(output);
    assert!(printed.contains("CAUSE  required-and-unsupported, "));
    let (xml, page) = (fs::read_to_string(xml).unwrap(), fs::read_to_string(page).unwrap());
    let failures = Document::parse(&xml)
        .unwrap()
        .descendants()
        .filter(|node| node.has_tag_name("failure"))
        .count();
    assert_eq!(failures, page.matches("<td class=\"fail\"><details>").count());
    assert!(failures > 3, "{failures}");
    let verdict = format!("\nFAILED: {failures} of {failures} judged, 1 cause\n");
    assert!(printed.contains(&verdict), "{printed}");
}

#[test]
fn verdict_of_a_partial_run_is_lost_or_interrupted() {
    let mut passed = Report::new("client", NASTY);
    passed.add(Case::new("text/latin/resume", "text", "resume", "A text", Grade::Pass));
    let mut lost = passed.clone();
    lost.lost = Some(Lost { reason: NASTY.to_owned(), not_run: 2 });
    let mut ended = passed.clone();
    ended.interrupted = Some(Interrupted { not_run: 7 });
    assert_eq!(
        [passed, lost, ended].map(|report| report.verdict()),
        ["PASSED: 1 judged", "LOST: 0 of 1 judged", "INTERRUPTED: 0 of 1 judged"]
    );
}

#[test]
fn exit_status_by_outcome() {
    let directory = crate::tool::directory();
    let good = file(directory.path(), "good.json", &value(&client()).to_string());
    // Whatever their results.
    diagipc(&["report", &good], 0);
    for bad in [
        "",
        "{}",
        "[1]",
        "\u{1b}[2J",
        &value(&server()).to_string().replace("\"format\":1", "\"format\":2"),
    ] {
        let output = diagipc(&["report", &good, &file(directory.path(), "bad.json", bad)], 1);
        assert!(output.stdout.is_empty() && !output.stderr.contains(&0x1b), "{bad}");
        assert!(
            String::from_utf8(output.stderr).unwrap().contains("bad.json is not a report: "),
            "{bad}"
        );
    }
    let nowhere = directory.path().join("nowhere/page.html").display().to_string();
    for arguments in [
        &["report"][..],
        &["report", "/nonexistent/report.json"],
        &["report", "--html", &nowhere, &good],
        &["report", "--limit", "10", &good],
        &["codec", "--self", "--only", "uint", "--html", &nowhere],
        &["codec", "--self", "--only", "uint", "--junit", &nowhere],
        &["codec", "--list", "--junit", &nowhere],
    ] {
        diagipc(arguments, 2);
    }
    // The results are not lost if the file cannot be written.
    let output = tool::diagipc()
        .args(["codec", "--self", "--only", "uint", "--html", &nowhere])
        .output()
        .unwrap();
    assert!(stdout(output).contains(" 0 failed"));
}

/// The recordings, judged again: as when they were recorded, only NativeAOT fails (F-95 to F-97).
#[cfg(unix)]
#[test]
fn report_reads_recordings() {
    let recordings = ["net3.0.3", "net8.0.30", "net10.0.9", "aot8.0.31"]
        .map(|name| format!("{}/evidence/{name}.json", env!("CARGO_MANIFEST_DIR")));
    let output = crate::tool::diagipc().arg("report").args(&recordings).output().unwrap();
    let shown = String::from_utf8(output.stdout).unwrap();
    assert_eq!(output.status.code(), Some(0), "{shown}");
    let rows: Vec<Vec<&str>> =
        shown.lines().skip(1).map(|row| row.split_whitespace().collect()).collect();
    let failures = |build: &str| {
        let row = rows.iter().find(|row| row.get(1) == Some(&build)).unwrap();
        // Build, cases, passed, leniently, informational, failed; no column is printed for 0.
        (row[2].parse::<u32>().unwrap() > 200, row.len() > 6)
    };
    assert_eq!(failures("net3.0.3"), (true, false));
    assert_eq!(failures("net8.0.30"), (true, false));
    assert_eq!(failures("net10.0.9"), (true, false));
    assert_eq!(failures("aot8.0.31"), (true, true));
}

/// What is kept of the clients of others is about scenarios that there are, and has why each failed.
#[cfg(unix)]
#[test]
fn report_reads_kept_reports_of_clients() {
    let listed = stdout(diagipc(&["client", "--list"], 0));
    let scenarios: BTreeSet<&str> =
        listed.lines().filter_map(|line| line.split("  ").next()).collect();
    let Ok(files) = fs::read_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/evidence/reports")) else {
        return;
    };
    let mut names = BTreeSet::new();
    for file in files {
        let path = file.unwrap().path();
        let kept = Report::parse(&fs::read_to_string(&path).unwrap()).unwrap();
        assert_eq!(kept.suite, "client", "{}", path.display());
        let gone = kept.cases.iter().find(|case| !scenarios.contains(case.name.as_str()));
        assert_eq!(gone.map(|case| &case.name), None, "{}", path.display());
        let is_bare = |case: &&Case| {
            case.faults.is_empty() && case.detail.as_ref().is_none_or(|at| at.found.is_empty())
        };
        let bare = kept.failures().find(is_bare);
        assert_eq!(bare.map(|case| &case.name), None, "{}", path.display());
        names.insert(kept.target);
    }
    assert!(names.iter().all(|name| name.ends_with(char::is_numeric)), "a version: {names:?}");
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
