//! `diagipc explain`: it explains every name that a report uses.

use diagipc::client;
use diagipc::faults::Fault;
use diagipc::report::{Glossary, Level};
use diagipc::server;
use diagipc::{Grade, codec, embedded};
use dotnet_diagnostics_ipc::hresult::HResult;

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
        // The recordings say which builds died of a case.
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
    let why = "diagipc: unknown name no-such-name: expected a case, a number, a fact such as F-19";
    assert!(errors(&["explain", "no-such-name"], 2).starts_with(why));
}

/// Names are accepted in the forms that errors, reports, options and guides use.
#[test]
fn explain_knows_error_codes_grades_levels_and_profiles() {
    for (name, parts) in [
        (
            "0x80131385",
            &[
                "0x80131385 DS_IPC_E_UNKNOWN_COMMAND: the runtime does not have the command",
                "\n  F-48 ",
            ][..],
        ),
        ("-2146233467", &["0x80131385 DS_IPC_E_UNKNOWN_COMMAND: "]),
        ("CORDIAGIPC_E_UNKNOWN_COMMAND", &["0x80131385 DS_IPC_E_UNKNOWN_COMMAND: "]),
        ("E_FAIL", &["0x80004005 DS_IPC_E_FAIL: ", "beyond the 64 that", "\n  F-32 "]),
        ("0x8007007E", &["0x8007007E ERROR_MOD_NOT_FOUND: a library cannot be loaded", "\n  P-5 "]),
        ("0x80070005", &["0x80070005 E_ACCESSDENIED: access denied"]),
        ("0x80070570", &["0x80070570: the Win32 error 1392, as an HRESULT"]),
        ("pass", &["pass: correct"]),
        ("informational", &["informational: seen, neither"]),
        ("Verbose", &["Verbose: level 5 of events"]),
        (
            "gc-verbose",
            &["gc-verbose: a profile of `trace --profile`. Garbage collections, handles"],
        ),
        ("cpu-sampling", &["cpu-sampling: ", "dotnet-sampled-thread-time"]),
        (
            "coreclr-10",
            &[
                "coreclr-10: the rules for a target, from recorded builds: .NET with CoreCLR of version 10.0",
            ],
        ),
        ("strict", &["strict: the rules of the document alone"]),
        ("net10.0.9", &["net10.0.9: the rules for a target"]),
    ] {
        let said = explained(name);
        for part in parts {
            assert!(said.contains(part), "{name}: {part}: {said}");
        }
    }
}

/// A suite's names are built in different ways, so this uses a name of each section.
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
    names.extend(Grade::ALL.iter().map(|grade| (String::new(), grade.name().to_owned())));
    names.extend(Level::ALL.iter().map(|level| (String::new(), level.name().to_owned())));
    for hresult in HResult::NAMED {
        let name = hresult.name().unwrap().to_owned();
        names.extend([name, format!("{hresult:#010x}")].map(|name| (String::new(), name)));
    }
    let names: Vec<&str> = names.iter().map(|(_, name)| name.as_str()).collect();
    let said = text(&run(&[&["explain"], &names[..]].concat(), b"", 0));
    assert!(said.split("\n\n").count() >= names.len(), "a text for each");
}
