//! `c/dotnet_ipc.h`, tested with `diagipc codec` and damaged bytes. The compilers' checks:
//! `tests/c_header/check.py`.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use diagipc::{Adapter, AdapterCommand, Program, Report, codec, embedded};
use serde_json::Value;

use crate::codec_adapters::Random;
use crate::tool;

/// The types of the vectors that the header has; of the last two only the readers.
const TYPES: [&str; 6] =
    ["request", "reply", "error", "advertise", "environment/decode", "stream-start/decode"];

/// The adapter around the header, compiled with every warning and under the sanitizers.
#[track_caller]
fn adapter(directory: &Path, compiler: &[&str]) -> String {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let program = directory.join("adapter");
    let [name, options @ ..] = compiler else { panic!("which compiler?") };
    let output = Command::new(name)
        .args(options)
        .args(["-O1", "-g", "-Wall", "-Wextra", "-Werror", "-pedantic", "-Wconversion", "-Wshadow"])
        .args(["-fsanitize=address,undefined", "-fno-sanitize-recover=all", "-I"])
        .arg(root.join("../c"))
        .arg("-o")
        .arg(&program)
        .arg(root.join("adapters/c_header/adapter.c"))
        .output()
        .expect("a C compiler");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    program.display().to_string()
}

#[track_caller]
fn passes(compiler: &[&str]) {
    let directory = tempfile::tempdir().unwrap();
    let program = adapter(directory.path(), compiler);
    let only = TYPES.iter().flat_map(|kind| ["--only", *kind]);
    let output = tool::diagipc()
        .args(["codec", "--json", "--timeout", "120000"])
        .args(only)
        .args(["--", &program])
        .output();
    let report: Report =
        serde_json::from_slice(&output.expect("it starts").stdout).expect("a report");
    let counts = report.counts;
    assert_eq!(
        (counts.fail, counts.informational, counts.unimplemented),
        (0, 0, 0),
        "{:?} {:?}",
        report.causes,
        report.lost
    );
    assert!(
        counts.pass > 1400 && report.lost.is_none() && report.notes.is_empty(),
        "{counts:?} {:?}",
        report.notes
    );
    // The limits are among what is refused.
    let lenient = report
        .cases
        .iter()
        .filter_map(|case| case.detail.as_ref())
        .filter(|detail| !detail.found.is_empty());
    assert!(lenient.into_iter().all(|detail| detail.found == ["a leniency is accepted"]));
}

#[test]
#[ignore = "long: in the gate"]
fn c_header_passes_every_message_as_c99_under_sanitizers() {
    passes(&["cc", "-std=c99"]);
}

#[test]
#[ignore = "long: in the gate"]
fn c_header_passes_every_message_as_cpp17_under_sanitizers() {
    passes(&["c++", "-std=c++17", "-x", "c++"]);
}

/// From bytes with one to three faults the header reads the same value as the crate, or refuses
/// them in the same layer.
#[test]
#[ignore = "long: in the gate"]
fn c_header_agrees_with_the_crate_on_damaged_bytes() {
    let directory = tempfile::tempdir().unwrap();
    let program = adapter(directory.path(), &["cc", "-std=c99"]);
    let command = AdapterCommand {
        program: Program { path: program.into(), arguments: Vec::new() },
        deadline: Duration::from_secs(120),
    };
    let mut header = Adapter::start(command).expect("it starts");
    let files = embedded::vectors().unwrap();
    let mut random = Random(0x2545_F491_4F6C_DD1D);
    let (mut results, mut differences) = (BTreeMap::<String, usize>::new(), Vec::new());
    for case in codec::cases(files).iter().filter(|case| case.operation == codec::Operation::Decode)
    {
        let mut question = case.request();
        let wire = case.test.wire.as_ref().expect("it has bytes");
        if wire.len() > 4096
            || !TYPES.iter().any(|kind| question["type"] == *kind.trim_end_matches("/decode"))
        {
            continue;
        }
        for _ in 0..6 {
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
            // The header does not report it.
            ours.as_object_mut().unwrap().remove("canonical");
            *results.entry(format!("{}/{}", ours["result"], ours["layer"])).or_default() += 1;
            let answer =
                header.ask(&question).unwrap_or_else(|trouble| panic!("{trouble}: {question}"));
            let theirs: Value = serde_json::from_str(&answer).unwrap();
            if theirs != ours {
                differences.push(format!("{question}\n  crate  {ours}\n  header {theirs}"));
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
    assert_eq!(header.finish(), None);
}
