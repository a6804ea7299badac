//! `diagipc explain`: it explains every name that a report uses.

use diagipc::client;
use diagipc::faults::Fault;
use diagipc::report::Glossary;
use diagipc::server;
use diagipc::{codec, embedded};

use crate::cli::{errors, run, text};

fn explained(name: &str) -> String {
    text(&run(&["explain", name], b"", 0))
}

/// A name of every kind, as people type it.
#[test]
fn explain_prints_what_is_known_of_a_name() {
    for (name, parts) in [
        (
            "f-14",
            &[
                "F-14  As printed: ",
                "As shipped: 0x0204",
                "\n  vectors   ",
                "corrected-collect-tracing3",
            ][..],
        ),
        (
            "R-EVP-010",
            &[
                "R-EVP-010  provider_name has at least one character.",
                "level     must",
                "section   CollectTracing",
                "tc:5236",
            ],
        ),
        (
            "8110",
            &[
                "tcId 8110: ",
                "000014  02 00 00 00                                      name         length 2, with the NUL",
                "ClientFault  what a client with a known fault writes",
                "F-11 ",
            ],
        ),
        ("grammar/grammar-string/1200/decode", &["tcId 1200: "]),
        ("3201", &["tcId 3201", "hazard  harmful\n", "limits no_providers at byte 37"]),
        // Which builds died of a case is of the recordings.
        ("3200", &["hazard  harmful: ended net9.0.5, aot9.0.20"]),
        ("dump-without-payload", &["hazard  harmful: ended win-net6.0.13, "]),
        (
            "second-request-with-the-first",
            &[
                "scId 20134: Of two requests in one write only the first is served\n",
                "\n  plays   client\n",
                "\n   0  {\"open\":\"a\"}\n",
                "\nrequest Process/ProcessInfo2, 0x0404, 20 bytes at offset 0\n",
            ],
        ),
        (
            "text/latin/set-env/value",
            &[
                "operation         set-env",
                "value             café",
                "R-GRM-008",
                "\n   1  {\"on\":\"a\",\"request\":null}\n",
                "reply to Process/SetEnvironmentVariable",
            ],
        ),
        (
            "wrong-value:providers[].keywords",
            &[
                "wrong-value:providers[].keywords, found by codec: The codec reads the bytes as another value",
                "\n  how to fix it: Check how that field is read",
            ],
        ),
        (
            "attach-timeout-in-seconds",
            &[
                "attach-timeout-in-seconds, found by client: The timeout of an attach is written in seconds; the field is in milliseconds.\n  how to fix it: Write `attachTimeout` in milliseconds: 5 seconds are 5000.\n",
                "\n  F-55  ",
            ],
        ),
        ("wchar-of-4-bytes", &["wchar-of-4-bytes, found by server, client, codec, fuzz-server: "]),
    ] {
        let said = explained(name);
        for part in parts {
            assert!(said.contains(part), "{name}: {part}: {said}");
        }
    }
    for name in ["requests/process/8110", "server/requests/process/8110"] {
        assert_eq!(explained(name), explained("8110"), "{name}");
    }
    assert_eq!(explained("20134"), explained("second-request-with-the-first"));
    let said = errors(&["explain", "length-in"], 2);
    let why = "unknown name length-in; names that contain it: string-length-in-bytes, ";
    assert!(said.contains(why), "{said}");
    assert_eq!(errors(&["explain", "no-such-name"], 2), "diagipc: unknown name no-such-name\n");
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
