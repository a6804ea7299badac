//! Files that tests generate, whole or in part. A test compares them with what the code makes now;
//! with `DIAG_UPDATE=1` it writes them.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

/// Panics if a file does not have this text, with the difference and the command that renews the
/// file: `cargo test` with these arguments.
#[track_caller]
pub(crate) fn assert_file(path: impl AsRef<Path>, text: &str, arguments: &str) {
    let path = path.as_ref();
    let old =
        fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    if old == text {
        return;
    }
    if std::env::var_os("DIAG_UPDATE").is_some() {
        return fs::write(path, text).unwrap();
    }
    panic!(
        "{} differs; `DIAG_UPDATE=1 cargo test {arguments}` renews it:\n{}",
        path.display(),
        difference(&old, text)
    );
}

/// Does the same for the part of a file between two marks.
#[track_caller]
#[allow(dead_code, reason = "some packages have only whole files")]
pub(crate) fn assert_part(path: impl AsRef<Path>, marks: [&str; 2], part: &str, arguments: &str) {
    let [begin, end] = marks;
    let old = fs::read_to_string(&path).unwrap();
    let (before, rest) = old.split_once(begin).expect(begin);
    let (_, after) = rest.split_once(end).expect(end);
    assert_file(path, &format!("{before}{begin}{part}{end}{after}"), arguments);
}

/// The lines that only one of the texts has.
fn difference(old: &str, new: &str) -> String {
    let only = |text: &str, other: &str, mark: &str| -> Vec<String> {
        let known: BTreeSet<_> = other.lines().collect();
        let lines = text.lines().filter(|line| !known.contains(line));
        lines.map(|line| format!("{mark} {line}")).collect()
    };
    [only(old, new, "-"), only(new, old, "+")].concat().join("\n")
}
