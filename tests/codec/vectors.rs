//! The codec against every golden vector.

use dotnet_diagnostics_ipc_vectors as vectors;

#[test]
fn vectors_decode_and_encode_as_declared() {
    let mut failures = Vec::new();
    for file in vectors::files().unwrap() {
        for group in &file.groups {
            for test in &group.tests {
                for line in vectors::check(group, test) {
                    let line: String = line.chars().take(400).collect();
                    failures.push(format!(
                        "{} tcId {}: {} -- {line}",
                        group.name, test.tc_id, test.comment
                    ));
                }
            }
        }
    }
    assert!(failures.is_empty(), "{} failures\n{}", failures.len(), failures.join("\n"));
}
