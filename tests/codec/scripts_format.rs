//! The files of vectors/exchanges/: they match schema/ and README.md.

use std::collections::BTreeMap;

use crate::schema::Schema;
use dotnet_diagnostics_ipc_vectors as vectors;
use dotnet_diagnostics_ipc_vectors::documents::SCRIPTS;
use dotnet_diagnostics_ipc_vectors::script::{Captures, Plays, Script, Step};
use dotnet_diagnostics_ipc_vectors::{Hazard, Type, Value};

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
    for (name, text) in SCRIPTS {
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

    // The types take any outcome.
    let is_typed = |place: &str| !place.starts_with("/scripts/1/outcome");
    let long_unit = format!("\"{}\"", "00".repeat(65));
    let long_text = format!("{{ \"repeat\": \"{}\", \"times\": 2 }}", "x".repeat(65));
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
        ("/scripts/0/target/environment", "C", "{ \"repeat\": \"x\", \"times\": 65536 }"),
        ("/scripts/0/target/environment", "C", &long_text),
        ("/scripts/0/steps/2/send/1", "times", "65536"),
        ("/scripts/0/steps/2/send/1", "repeat", &long_unit),
        ("/scripts/0/deviations/0", "extra", "1"),
        ("/scripts/0/deviations/0/steps/0", "extra", "1"),
        ("/scripts/1/ask", "extra", "1"),
        ("/scripts/1/ask", "old_protocol", "true"),
        ("/scripts/1", "habit", "\"F-75\""),
        ("/scripts/1", "deviations", "[]"),
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
        assert_eq!(takes(&document).is_err(), is_typed(place), "{place}/{key} = {value}");
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
        assert_eq!(takes(&document).is_err(), is_typed(place), "{place} without {key}");
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
    for (name, text) in SCRIPTS {
        let document: Value = text.parse().unwrap();
        let file = vectors::parse_scripts(name, text).unwrap();
        assert_eq!(document, serde_json::to_value(&file).unwrap(), "{name}");
    }
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

/// What neither the schema expresses nor `vectors/source/exchanges/script.py` checks.
#[test]
fn script_deviations_are_unambiguous() {
    for_each(|script| {
        let Plays::Client(part) = &script.plays else {
            let needs_target = script.steps.iter().any(|step| {
                use Step::{ExpectFile, ExpectSocket, ExpectTarget, Signal};
                matches!(step, ExpectTarget(_) | Signal(_) | ExpectSocket(_) | ExpectFile(_))
            });
            return needs_target.then(|| "there is no target".to_owned()).into_iter().collect();
        };
        let mut lines = Vec::new();
        for (deviation, on) in
            part.deviations.iter().flat_map(|one| one.on.iter().map(move |on| (one, on)))
        {
            if part.deviations.iter().find(|it| it.on.contains(on)) != Some(deviation) {
                lines.push(format!("two deviations are meant for {on}"));
            }
            if part.seen_on.contains(on) {
                lines.push("a runtime is seen to do both".to_owned());
            }
        }
        lines
    });
}
