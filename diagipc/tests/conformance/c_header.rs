//! `c/dotnet_ipc.h`, tested with `diagipc codec`. The compilers' checks:
//! `tests/c_header/check.py`.

use std::path::Path;
use std::process::Command;

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
    let directory = crate::tool::directory();
    let program = adapter(directory.path(), compiler);
    let mut arguments = vec!["codec", "--timeout", "120000"];
    arguments.extend(TYPES.iter().flat_map(|kind| ["--only", *kind]));
    let report = tool::report(&[&arguments[..], &["--", &program]].concat(), 0);
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
#[ignore = "long: .ci/nightly long"]
fn c_header_passes_every_message_as_c99_under_sanitizers() {
    passes(&["cc", "-std=c99"]);
}
