//! The files of vectors/exchanges/: they match schema/ and README.md.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use crate::schema::Schema;
use dotnet_diagnostics_ipc_vectors as vectors;
use dotnet_diagnostics_ipc_vectors::documents;
use dotnet_diagnostics_ipc_vectors::script::{Captures, Literal, Part, Plays, Script, Step};
use dotnet_diagnostics_ipc_vectors::{Hazard, Type, Value};

fn path(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(name)
}

fn read(path: &Path) -> String {
    fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// Name and text of each file of scripts on the disk.
fn files_on_disk() -> BTreeMap<String, String> {
    let entries =
        fs::read_dir(path("vectors/exchanges")).unwrap().map(|entry| entry.unwrap().path());
    let files =
        entries.filter(|path| path.extension().is_some_and(|extension| extension == "json"));
    files
        .map(|path| (path.file_name().unwrap().to_str().unwrap().to_owned(), read(&path)))
        .collect()
}

fn scripts() -> Vec<Script> {
    vectors::script_files().unwrap().into_iter().flat_map(|file| file.scripts).collect()
}

/// Reports every line that `check` returns for a script in one panic.
fn for_each(mut check: impl FnMut(&Script) -> Vec<String>) {
    let of = |script: &Script, lines: Vec<String>| -> Vec<String> {
        lines
            .into_iter()
            .map(|line| format!("scId {} ({}): {line}", script.sc_id, script.name))
            .collect()
    };
    let lines: Vec<_> = scripts().iter().flat_map(|script| of(script, check(script))).collect();
    assert!(lines.is_empty(), "{} failures\n{}", lines.len(), lines.join("\n"));
}

#[test]
fn every_file_matches_the_schema() {
    let schema = Schema::at("vectors/schema/exchanges.schema.json");
    for (name, text) in files_on_disk() {
        let document = text.parse().unwrap_or_else(|error| panic!("{name}: {error}"));
        assert_eq!(schema.objection(&document), None, "{name}");
    }
}

/// One script of each side. Each test below changes one thing in it.
fn good() -> Value {
    r#"{ "schema": "exchanges.schema.json", "format": 1, "title": "t", "within_ms": 5000, "numberOfScripts": 2, "scripts": [
        { "scId": 1, "name": "a", "comment": "c", "plays": "client", "spec": ["F-1"], "since": "5.0", "hazard": null,
          "target": { "suspended": false, "ports": [{ "id": "p", "suspend": true, "listening": true }],
                      "environment": { "A": "b", "C": { "bytes": "ff" } }, "platform": null, "default_port": false },
          "steps": [
            { "open": "a" },
            { "accept": "b", "port": "p", "within_ms": 100 },
            { "on": "a", "send": ["00ff", { "repeat": "00", "times": 5 }], "chunks": [2, 5], "with_fd": "null", "may_fail": true },
            { "on": "a", "expect": ["00", { "any": 2, "as": "n", "not": ["0000"] }, { "any": { "of": "n", "times": 2, "less": 1 } },
                                    { "until": "n", "most": 0 }, { "same": "n" }] },
            { "on": "a", "expect_any_of": [{ "label": "x", "expect": ["00"] }, { "label": "y", "expect": ["01"] }] },
            { "on": "a", "expect_nothing": 300 }, { "on": "a", "drain": true }, { "on": "a", "expect_end": "closed", "last": "01" },
            { "on": "b", "end": "reset" }, { "wait": 5 }, { "listen": false, "port": "p" },
            { "expect_no_connection": 5, "port": "p" }, { "expect_target": "alive" }, { "signal": "term" },
            { "expect_socket": "gone", "within_ms": 5 }, { "expect_file": "f", "begins": ["00"] },
            { "on": "a", "expect": [{ "any": 2, "has": ["00"], "lacks": ["01"] }] }],
          "seenOn": ["net10.0.9"],
          "deviations": [{ "on": ["net8.0.30"], "fact": "F-1", "text": "t", "from": 1, "steps": [{ "wait": 1 }] }] },
        { "scId": 2, "name": "b", "comment": "c", "plays": "runtime", "spec": ["R-HDR-001"], "since": null, "hazard": null,
          "ask": { "command": "Process/ProcessInfo", "value": {}, "port": "p", "buffer": 64, "patience_ms": 5, "fallback": true,
                   "stop_after": 0, "limits": { "stream_bytes": 3 } },
          "steps": [{ "open": "a", "port": "p" }, { "on": "a", "expect": ["00"], "with_fd": true }],
          "outcome": { "outcome": "ok", "reply": {}, "then": "stream", "asked": ["Process/ProcessInfo"], "advertise": {},
                       "stream": { "bytes": 3, "end": "too_long" }, "stop": { "hresult": "0x80131385" },
                       "second": { "outcome": "error", "hresult": "0x80131385", "message": null } } }] }"#
        .parse()
        .unwrap()
}

/// What the schema refuses, the types refuse as well, and vice versa.
#[test]
fn script_unknown_or_contradictory_keys_are_refused() {
    let schema = Schema::at("vectors/schema/exchanges.schema.json");
    let takes = |document: &Value| {
        vectors::parse_scripts("t", &document.to_string())
            .map(drop)
            .map_err(|error| error.to_string())
    };
    assert_eq!((schema.objection(&good()), takes(&good())), (None, Ok(())));

    // Where, which key, and a value that must not be there.
    let wrong = [
        ("", "extra", "1"),
        ("", "format", "2"),
        ("/scripts/0", "extra", "1"),
        ("/scripts/0", "plays", "\"both\""),
        ("/scripts/0", "plays", "\"runtime\""),
        ("/scripts/0", "hazard", "\"none\""),
        ("/scripts/0", "ask", r#"{ "command": "Process/ProcessInfo", "value": {} }"#),
        (
            "/scripts/1",
            "target",
            r#"{ "suspended": false, "ports": [], "environment": {}, "platform": null }"#,
        ),
        ("/scripts/1", "seenOn", "[\"net10.0.9\"]"),
        ("/scripts/0/target", "extra", "1"),
        ("/scripts/0/target/ports/0", "extra", "1"),
        ("/scripts/0/steps/0", "extra", "1"),
        ("/scripts/0/steps/0", "wait", "1"),
        ("/scripts/0/steps/0", "open", "1"),
        ("/scripts/0/steps/2", "send", "[\"0\"]"),
        ("/scripts/0/steps/2", "send", "[{ \"any\": 1 }]"),
        ("/scripts/0/steps/2", "with_fd", "\"socket\""),
        ("/scripts/0/steps/3", "expect", "[{ \"any\": 1, \"until\": \"n\" }]"),
        ("/scripts/0/steps/3", "expect", "[{ \"any\": { \"of\": \"n\", \"plus\": 1 } }]"),
        ("/scripts/0/steps/3", "with_fd", "\"null\""),
        ("/scripts/0/steps/4/expect_any_of/0", "extra", "1"),
        ("/scripts/0/steps/7", "expect_end", "\"half_close\""),
        ("/scripts/0/steps/8", "end", "\"closed\""),
        ("/scripts/0/steps/12", "expect_target", "\"well\""),
        ("/scripts/0/steps/13", "signal", "\"SIGTERM\""),
        ("/scripts/0/steps/14", "expect_socket", "\"here\""),
        ("/scripts/0/steps/15", "begins", "\"00\""),
        ("/scripts/0/steps/16", "expect", "[{ \"any\": 2, \"holds\": [\"00\"] }]"),
        ("/scripts/0/target/environment", "A", "1"),
        ("/scripts/0/target/environment", "C", "{ \"bytes\": \"f\" }"),
        ("/scripts/0/deviations/0", "extra", "1"),
        ("/scripts/0/deviations/0/steps/0", "extra", "1"),
        ("/scripts/1/ask", "extra", "1"),
        ("/scripts/1/ask/limits", "extra", "1"),
        ("/scripts/1/outcome", "extra", "1"),
        ("/scripts/1/outcome", "outcome", "\"fine\""),
        ("/scripts/1/outcome", "then", "\"later\""),
        ("/scripts/1/outcome", "stop", "\"perhaps\""),
        ("/scripts/1/outcome/stop", "extra", "1"),
        ("/scripts/1/outcome/stream", "end", "\"over\""),
        ("/scripts/1/outcome/second", "outcome", "\"cut\""),
    ];
    for (place, key, value) in wrong {
        let mut document = good();
        document.pointer_mut(place).unwrap()[key] = value.parse().unwrap();
        assert!(schema.objection(&document).is_some(), "the schema takes {place}/{key} = {value}");
        assert!(takes(&document).is_err(), "the types take {place}/{key} = {value}");
    }
    let required = [
        ("", "within_ms"),
        ("/scripts/0", "scId"),
        ("/scripts/0", "target"),
        ("/scripts/1", "ask"),
        ("/scripts/1", "outcome"),
        ("/scripts/0/target", "suspended"),
        ("/scripts/0/steps/0", "open"),
        ("/scripts/0/steps/10", "port"),
        ("/scripts/0/deviations/0", "fact"),
        ("/scripts/1/ask", "value"),
        ("/scripts/1/outcome", "then"),
        ("/scripts/1/outcome/second", "hresult"),
    ];
    for (place, key) in required {
        let mut document = good();
        document.pointer_mut(place).unwrap().as_object_mut().unwrap().remove(key).unwrap();
        assert!(schema.objection(&document).is_some(), "the schema takes {place} without {key}");
        assert!(takes(&document).is_err(), "the types take {place} without {key}");
    }
}

#[test]
fn script_error_names_file_script_step() {
    let mut document = good();
    document["scripts"][0]["steps"][5]["extra"] = 1.into();
    let error = vectors::parse_scripts("my.json", &document.to_string()).unwrap_err().to_string();
    assert!(error.starts_with("my.json: scId 1 (a): step 5: unknown field `extra`"), "{error}");
}

/// A script's type loses nothing: written again, it is the same JSON.
#[test]
fn script_types_keep_all_keys() {
    let document = good();
    let file = vectors::parse_scripts("t", &document.to_string()).unwrap();
    assert_eq!(serde_json::to_value(&file).unwrap(), document);
    for (name, text) in files_on_disk() {
        let document: Value = text.parse().unwrap();
        let file = vectors::parse_scripts(&name, &text).unwrap();
        let again = serde_json::to_value(&file).unwrap();
        for (one, other) in
            document["scripts"].as_array().unwrap().iter().zip(again["scripts"].as_array().unwrap())
        {
            assert_eq!(one, other, "{name}");
        }
        assert_eq!(document, again, "{name}");
    }
}

#[test]
fn embedded_scripts_equal_disk() {
    let embedded: BTreeMap<_, _> = documents::SCRIPTS
        .iter()
        .map(|(name, text)| ((*name).to_owned(), (*text).to_owned()))
        .collect();
    let on_disk = files_on_disk();
    assert_eq!(embedded.keys().collect::<Vec<_>>(), on_disk.keys().collect::<Vec<_>>());
    for (name, text) in on_disk {
        assert!(embedded[&name] == text, "{name} differs");
    }
    assert_eq!(documents::SCRIPTS.len(), embedded.len(), "a file stands twice in the list");
}

#[test]
fn script_numbers_and_names_are_unique() {
    let (mut numbers, mut names) = (BTreeSet::new(), BTreeSet::new());
    for_each(|script| {
        let wrong = [
            (!numbers.insert(script.sc_id), "number"),
            (!names.insert(script.name.clone()), "name"),
        ];
        wrong
            .iter()
            .filter(|(wrong, _)| *wrong)
            .map(|(_, what)| format!("has the {what} of another"))
            .collect()
    });
    let played = |is_client| {
        scripts()
            .iter()
            .filter(|script| matches!(script.plays, Plays::Client(_)) == is_client)
            .count()
    };
    assert!(
        played(true) >= 70 && played(false) >= 60,
        "{} play the client, {} the runtime",
        played(true),
        played(false)
    );
    assert!(scripts().len() >= 120, "{}", scripts().len());
}

#[test]
fn script_citations_exist() {
    let errata = read(&path("spec/ERRATA.md"));
    let requirements = read(&path("spec/requirements.toml"));
    let rows = errata.lines().filter_map(|line| line.strip_prefix("| ")?.split(" |").next());
    let ids =
        requirements.lines().filter_map(|line| line.strip_prefix("id = \"")?.strip_suffix('"'));
    let known: BTreeSet<_> = rows.chain(ids).collect();
    for_each(|script| {
        let deviations = match &script.plays {
            Plays::Client(part) => part.deviations.as_slice(),
            Plays::Runtime(_) => &[],
        };
        let cited = script.spec.iter().chain(deviations.iter().map(|one| &one.fact));
        cited
            .filter(|cited| !known.contains(cited.as_str()))
            .map(|cited| format!("cites {cited}, which is not there"))
            .collect()
    });
}

/// The bytes that a step sends, if all of them are written out.
fn sent(step: &Step) -> Option<Vec<u8>> {
    let Step::Send(step) = step else { return None };
    let nothing = Captures::new();
    step.send
        .iter()
        .map(|literal| literal.bytes(&nothing).ok())
        .collect::<Option<Vec<_>>>()
        .map(|parts| parts.concat())
}

#[test]
fn script_hazard_covers_its_vectors() {
    let mut hazards: BTreeMap<Vec<u8>, (u32, Hazard)> = BTreeMap::new();
    for group in vectors::files().unwrap().into_iter().flat_map(|file| file.groups) {
        if !matches!(group.kind, Type::Request | Type::LegacyRequest | Type::Unknown) {
            continue;
        }
        for test in group.tests {
            // The effect of half a message depends on what follows it.
            if test.error.as_ref().is_some_and(|error| error.layer == "transport") {
                continue;
            }
            if let (Some(wire), Some(hazard)) = (test.wire, test.hazard) {
                hazards.insert(wire, (test.tc_id, hazard));
            }
        }
    }
    let mut compared = 0;
    for_each(|script| {
        let Plays::Client(_) = script.plays else { return Vec::new() };
        let vectors =
            script.steps.iter().filter_map(sent).filter_map(|bytes| hazards.get(&bytes).copied());
        let worse =
            vectors.inspect(|_| compared += 1).filter(|(_, hazard)| script.hazard < Some(*hazard));
        worse.map(|(tc_id, hazard)| format!("sends tcId {tc_id}, which is {hazard:?}")).collect()
    });
    assert!(compared > 20, "{compared}");
}

/// What the schema cannot express.
#[test]
fn script_steps_are_consistent() {
    for_each(|script| {
        let mut lines = check_steps(&script.steps, script);
        if let Plays::Client(part) = &script.plays {
            for deviation in &part.deviations {
                if deviation.from >= script.steps.len() {
                    lines.push("a deviation begins behind the end".to_owned());
                }
                for on in &deviation.on {
                    let (steps, used) = script.steps_on(on);
                    if used != Some(deviation) {
                        lines.push(format!("two deviations are meant for {on}"));
                    }
                    lines.extend(check_steps(
                        &steps.into_iter().cloned().collect::<Vec<_>>(),
                        script,
                    ));
                }
            }
            if part
                .seen_on
                .iter()
                .any(|on| part.deviations.iter().any(|deviation| deviation.on.contains(on)))
            {
                lines.push("a runtime is seen to do both".to_owned());
            }
        }
        lines
    });
}

fn check_steps(steps: &[Step], script: &Script) -> Vec<String> {
    let ports: BTreeSet<&str> = match &script.plays {
        Plays::Client(part) => part.target.ports.iter().map(|port| port.id.as_str()).collect(),
        Plays::Runtime(part) => part.ask.port.as_deref().into_iter().collect(),
    };
    let mut lines = Vec::new();
    let (mut connections, mut drained, mut names) =
        (BTreeSet::new(), BTreeSet::new(), BTreeSet::<String>::new());
    for (nth, step) in steps.iter().enumerate() {
        let mut must = |good: bool, what: &str| {
            if !good {
                lines.push(format!("step {nth} ({}): {what}", step.verb()));
            }
        };
        let (opens, port, on) = match step {
            Step::Open(step) => (Some(&step.open), step.port.as_ref(), None),
            Step::Accept(step) => (Some(&step.accept), step.port.as_ref(), None),
            Step::Listen(step) => (None, Some(&step.port), None),
            Step::ExpectNoConnection(step) => (None, step.port.as_ref(), None),
            Step::Send(step) => (None, None, Some(&step.on)),
            Step::Expect(step) => (None, None, Some(&step.on)),
            Step::ExpectAnyOf(step) => (None, None, Some(&step.on)),
            Step::ExpectNothing(step) => (None, None, Some(&step.on)),
            Step::Drain(step) => (None, None, Some(&step.on)),
            Step::ExpectEnd(step) => (None, None, Some(&step.on)),
            Step::EndStep(step) => (None, None, Some(&step.on)),
            Step::Wait(_)
            | Step::ExpectTarget(_)
            | Step::Signal(_)
            | Step::ExpectSocket(_)
            | Step::ExpectFile(_) => (None, None, None),
        };
        must(port.is_none_or(|port| ports.contains(port.as_str())), "no such port");
        if let Some(name) = opens {
            must(connections.insert(name.as_str()), "the name stands for another connection");
        }
        if let Some(on) = on {
            must(connections.contains(on.as_str()), "no such connection");
            let may_follow_a_drain =
                matches!(step, Step::Send(_) | Step::ExpectEnd(_) | Step::EndStep(_));
            must(!drained.contains(on.as_str()) || may_follow_a_drain, "the connection is drained");
        }
        match step {
            Step::Drain(step) => {
                drained.insert(step.on.as_str());
            }
            Step::Send(step) => {
                for literal in &step.send {
                    must(is_known(literal, &names), "a name is not captured");
                }
                if let (false, Some(bytes)) =
                    (step.chunks.is_empty(), sent(&Step::Send(step.clone())))
                {
                    must(
                        step.chunks.iter().sum::<usize>() == bytes.len(),
                        "the chunks do not add up",
                    );
                }
            }
            Step::Expect(step) => {
                must(capture(&step.expect.0, &mut names), "a name is not captured");
            }
            Step::ExpectAnyOf(step) => {
                for (one, alternative) in step.expect_any_of.iter().enumerate() {
                    must(capture(&alternative.expect.0, &mut names), "a name is not captured");
                    let begin = front(&alternative.expect.0);
                    for other in step.expect_any_of.iter().skip(one + 1) {
                        let mut pairs = begin.iter().zip(front(&other.expect.0));
                        let told = pairs.any(|pair| matches!(pair, (Some(x), Some(y)) if *x != y));
                        must(told, "alternatives cannot be told apart");
                    }
                }
            }
            Step::ExpectEnd(step) => must(
                (step.last.is_empty() && step.last_any_of.is_empty())
                    || drained.contains(step.on.as_str()),
                "last without a drain",
            ),
            Step::ExpectTarget(_)
            | Step::Signal(_)
            | Step::ExpectSocket(_)
            | Step::ExpectFile(_) => {
                must(matches!(script.plays, Plays::Client(_)), "there is no target");
            }
            _ => {}
        }
    }
    lines
}

fn is_known(literal: &Literal, names: &BTreeSet<String>) -> bool {
    if let Literal::Same(name) = literal { names.contains(name) } else { true }
}

/// Whether each name in a pattern is captured before; also captures the pattern's own names.
fn capture(parts: &[Part], names: &mut BTreeSet<String>) -> bool {
    use dotnet_diagnostics_ipc_vectors::script::{Length, LengthOf};
    parts.iter().all(|part| match part {
        Part::Literal(literal) => is_known(literal, names),
        Part::Until(until) => names.contains(&until.until),
        Part::Any(any) => {
            let length = match &any.any {
                Length::Of(LengthOf { of, .. }) => names.contains(of),
                Length::Fixed(_) => true,
            };
            let not = any.not.iter().all(|literal| is_known(literal, names));
            names.extend(any.name.clone());
            length && not
        }
    })
}

/// The bytes with which a pattern begins, as far as their places are known; `None` for any byte.
fn front(parts: &[Part]) -> Vec<Option<u8>> {
    use dotnet_diagnostics_ipc_vectors::script::{Any, Length};
    let known = parts.iter().map_while(|part| match part {
        Part::Literal(literal) => {
            Some(literal.bytes(&Captures::new()).ok()?.into_iter().map(Some).collect())
        }
        Part::Any(Any { any: Length::Fixed(len), .. }) => Some(vec![None; *len]),
        _ => None,
    });
    known.collect::<Vec<Vec<_>>>().concat()
}
