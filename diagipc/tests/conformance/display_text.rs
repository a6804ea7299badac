//! The suites decide by typed values, and format text at the end: they do not parse their own
//! messages.

use std::fs;
use std::path::Path;

/// The code before a literal that text is compared with.
const BEFORE: &str = ".starts_with( .ends_with( .contains( .strip_prefix( .strip_suffix( .split_once( \
    .trim_start_matches( .trim_end_matches( .matches( .find( == !=";
/// Literals with a space that are not messages: the syntax of Markdown tables, which a report
/// quotes.
const SYNTAX: [&str; 3] = ["| ", " |", " | "];

/// The messages that a line compares text with, or matches.
fn compared(line: &str) -> Vec<&str> {
    let line = line.trim();
    let parts: Vec<&str> = line.split('"').collect();
    let is_compared = |nth: usize| {
        let before = parts[nth - 1].trim_end();
        BEFORE.split_whitespace().any(|code| before.ends_with(code))
            || parts.get(nth + 1).is_some_and(|after| after.trim_start().starts_with("=>"))
    };
    let literals = (1..parts.len()).step_by(2).filter(|nth| is_compared(*nth));
    let literals = literals.map(|nth| parts[nth]);
    let is_message = |text: &&str| text.contains(' ') && !SYNTAX.contains(text);
    literals.filter(|_| !line.starts_with("//")).filter(is_message).collect()
}

fn check(directory: &Path) -> usize {
    let mut files = 0;
    for entry in fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            files += check(&path);
        } else if path.extension().is_some_and(|kind| kind == "rs") && !path.ends_with("tests.rs") {
            let source = fs::read_to_string(&path).unwrap();
            let code = source.split("\nmod tests {").next().unwrap_or_default();
            for line in code.lines() {
                assert_eq!(compared(line), [""; 0], "{}: {line}", path.display());
            }
            files += 1;
        }
    }
    files
}

#[test]
fn conformance_decisions_read_no_display_text() {
    assert!(check(&Path::new(env!("CARGO_MANIFEST_DIR")).join("src")) > 80);
    for line in [
        r#"let waits = text.ends_with("after 0 bytes ") && begun.elapsed() > LOOK;"#,
        r#"match trouble.to_string().as_str() { "no connection" => 1, _ => 2 }"#,
        r#"if said == "the connection did not end" {}"#,
    ] {
        assert_eq!(compared(line).len(), 1, "{line}");
    }
}
