//! `diagipc explain`: it explains every name that a report uses.

use diagipc::client;
use diagipc::faults::Fault;
use diagipc::report::Glossary;
use diagipc::server;
use diagipc::{codec, embedded};

use crate::cli::{run, text};

#[track_caller]
fn explained(name: &str) -> String {
    text(&run(&["explain", name], b"", 0))
}

#[test]
fn explain_fact_prints_printed_shipped_and_evidence() {
    let said = explained("F-14");
    for part in
        ["F-14  As printed: ", "As shipped: 0x0204", "\n  vectors   ", "corrected-collect-tracing3"]
    {
        assert!(said.contains(part), "{part}: {said}");
    }
    assert_eq!(explained("f-14"), said, "as it is typed");
}

#[test]
fn explain_requirement_prints_its_level_section_and_evidence() {
    let said = explained("R-EVP-010");
    for part in [
        "R-EVP-010  provider_name has at least one character.",
        "level     must",
        "section   CollectTracing",
        "tc:5236",
    ] {
        assert!(said.contains(part), "{part}: {said}");
    }
}

#[test]
fn explain_vector_by_any_name_prints_bytes_flags_and_facts() {
    let said = explained("8110");
    for part in [
        "tcId 8110: ",
        "000014  02 00 00 00                                      name         length 2, with the NUL",
        "ClientFault  what a client with a known fault writes",
        "F-11 ",
    ] {
        assert!(said.contains(part), "{part}: {said}");
    }
    for name in ["requests/process/8110", "server/requests/process/8110"] {
        assert_eq!(explained(name), said, "{name}");
    }
    let said = explained("grammar/grammar-string/1200/decode");
    assert!(said.starts_with("tcId 1200: "), "{said}");
}

#[test]
fn explain_scenario_prints_client_arguments() {
    let said = explained("text/latin/set-env/value");
    for part in [
        "operation         set-env",
        "value             café",
        "R-GRM-008",
        "\n   1  {\"on\":\"a\",\"request\":null}\n",
        "reply to Process/SetEnvironmentVariable",
    ] {
        assert!(said.contains(part), "{part}: {said}");
    }
}

#[test]
fn explain_unknown_name_suggests_names_containing_it() {
    let output = run(&["explain", "length-in"], b"", 2);
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(
        said.contains("unknown name length-in; names that contain it: string-length-in-bytes, "),
        "{said}"
    );
    let output = run(&["explain", "no-such-name"], b"", 2);
    assert_eq!(String::from_utf8(output.stderr).unwrap(), "diagipc: unknown name no-such-name\n");
}

/// One name of each kind would hide that a suite's names are built differently: this asks for a
/// name of each section.
#[test]
fn explain_knows_every_section_fault_flag_and_word() {
    let (scripts, vectors) = (embedded::scripts().unwrap(), embedded::vectors().unwrap());
    let mut names: Vec<(String, String)> = Vec::new();
    names.extend(server::cases(scripts, vectors).iter().map(|case| (case.section(), case.name())));
    names.extend(
        codec::cases(vectors).iter().map(|case| (format!("codec {}", case.section), case.name())),
    );
    names.extend(
        client::scenarios()
            .unwrap()
            .iter()
            .map(|scenario| (format!("client {}", scenario.section()), scenario.name.clone())),
    );
    names.dedup_by(|(next, _), (before, _)| next == before);
    let glossary = Glossary::embedded();
    names.extend(Fault::ALL.iter().map(|fault| (String::new(), fault.name().to_owned())));
    let entries = glossary.flags().iter().chain(glossary.words());
    names.extend(entries.map(|(name, _)| (String::new(), name.clone())));
    assert!(names.len() > 150, "{}", names.len());
    let names: Vec<&str> = names.iter().map(|(_, name)| name.as_str()).collect();
    let said = text(&run(&[&["explain"], &names[..]].concat(), b"", 0));
    assert!(said.split("\n\n").count() >= names.len(), "a text for each");
}

#[test]
fn explain_codec_fault_prints_fix() {
    let said = text(&run(&["explain", "wrong-value:providers[].keywords"], b"", 0));
    assert!(
        said.starts_with("wrong-value:providers[].keywords, found by codec: The codec reads the bytes as another value"),
        "{said}"
    );
    assert!(said.contains("\n  how to fix it: Check how that field is read"), "{said}");
}

/// With the suites that find it.
#[test]
fn explain_fault_prints_fix() {
    let said = text(&run(&["explain", "attach-timeout-in-seconds"], b"", 0));
    assert_eq!(
        said.lines().take(2).collect::<Vec<_>>(),
        [
            "attach-timeout-in-seconds, found by client: The timeout of an attach is written in seconds; the field is in milliseconds.",
            "  how to fix it: Write `attachTimeout` in milliseconds: 5 seconds are 5000.",
        ]
    );
    assert!(said.contains("\n  F-55  "), "{said}");
    let both = text(&run(&["explain", "wchar-of-4-bytes"], b"", 0));
    assert!(
        both.starts_with("wchar-of-4-bytes, found by server, client, codec, fuzz-server: "),
        "{both}"
    );
}
