//! Files that tests generate, whole or in part. A test compares them with what the code makes now;
//! with `DIAG_UPDATE=1` it writes them.

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

/// The lines that only one of the texts has, in order.
fn difference(old: &str, new: &str) -> String {
    let (mut old, mut new): (Vec<&str>, Vec<&str>) = (old.lines().collect(), new.lines().collect());
    let same = |pair: &(&&str, &&str)| pair.0 == pair.1;
    let at_start = old.iter().zip(&new).take_while(same).count();
    (old, new) = (old.split_off(at_start), new.split_off(at_start));
    let at_end = old.iter().rev().zip(new.iter().rev()).take_while(same).count();
    old.truncate(old.len() - at_end);
    new.truncate(new.len() - at_end);
    // `common[i][j]`: how many lines the rest of both can keep, from these on.
    let mut common = vec![vec![0; new.len() + 1]; old.len() + 1];
    for (i, line) in old.iter().enumerate().rev() {
        for (j, other) in new.iter().enumerate().rev() {
            common[i][j] = if line == other {
                common[i + 1][j + 1] + 1
            } else {
                common[i + 1][j].max(common[i][j + 1])
            };
        }
    }
    let (mut i, mut j, mut lines) = (0, 0, Vec::new());
    while i < old.len() || j < new.len() {
        if i < old.len() && j < new.len() && old[i] == new[j] {
            (i, j) = (i + 1, j + 1);
        } else if j == new.len() || i < old.len() && common[i + 1][j] >= common[i][j + 1] {
            lines.push(format!("- {}", old[i]));
            i += 1;
        } else {
            lines.push(format!("+ {}", new[j]));
            j += 1;
        }
    }
    lines.join("\n")
}
