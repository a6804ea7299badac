//! The conformance kit decides by typed values, and formats text at the end: it does not parse its
//! own messages.

use std::fs;
use std::path::{Path, PathBuf};

/// The code before a literal that text is compared with.
const BEFORE: [&str; 15] = [
    ".starts_with(",
    ".ends_with(",
    ".contains(",
    ".strip_prefix(",
    ".strip_suffix(",
    ".trim_start_matches(",
    ".trim_end_matches(",
    ".split_once(",
    ".matches(",
    ".find(",
    "==",
    "!=",
    "== &",
    "== Some(",
    "!= Some(",
];
/// The code after one.
const BEHIND: [&str; 3] = ["=>", "|", "].contains("];
/// Literals with a space that are not messages: the syntax of Markdown tables, which a report
/// quotes.
const SYNTAX: [&str; 3] = ["| ", " |", " | "];

/// The literals in comparisons in `source`. Comments and unit tests are left out.
fn compared(source: &str) -> Vec<String> {
    let source = ["#[cfg(test)]\nmod tests", "#[cfg(all(test, unix))]\nmod tests"]
        .iter()
        .fold(source, |source, tests| source.split(tests).next().unwrap_or_default());
    let code: Vec<&str> =
        source.lines().map(str::trim).filter(|line| !line.starts_with("//")).collect();
    let code = code.join("\n");
    let (mut found, mut rest, mut before) = (Vec::new(), code.as_str(), String::new());
    while let Some((outside, literal_and_more)) = rest.split_once('"') {
        before.push_str(outside);
        if before.ends_with('\'') {
            // The character `"`.
            (rest, before) = (literal_and_more, String::new());
            continue;
        }
        let (literal, more) = ended(literal_and_more);
        let (left, right) = (before.trim_end(), more.trim_start());
        let in_matches = left.ends_with(',')
            && left.rsplit(';').next().is_some_and(|last| last.contains("matches!("));
        if BEFORE.iter().any(|one| left.ends_with(one))
            || BEHIND.iter().any(|one| right.starts_with(one))
            || in_matches
        {
            found.push(literal.to_owned());
        }
        (rest, before) = (more, String::new());
    }
    found
}

/// A literal up to its end, and what follows.
fn ended(text: &str) -> (&str, &str) {
    let mut escaped = false;
    for (at, c) in text.char_indices() {
        match c {
            '"' if !escaped => return (&text[..at], &text[at + 1..]),
            '\\' => escaped = !escaped,
            _ => escaped = false,
        }
    }
    (text, "")
}

/// Whether a literal is part of a message, not a name, a path or a keyword.
fn is_display_text(literal: &str) -> bool {
    literal.contains(' ') && !SYNTAX.contains(&literal)
}

fn sources(directory: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(sources(&path));
        } else if path.extension().is_some_and(|extension| extension == "rs")
            && !path.ends_with("tests.rs")
        {
            found.push(path);
        }
    }
    found
}

#[test]
fn conformance_decisions_read_no_display_text() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let files = sources(&root);
    let mut literals = 0;
    for file in &files {
        for literal in compared(&fs::read_to_string(file).unwrap()) {
            assert!(!is_display_text(&literal), "{}: a decision reads {literal:?}", file.display());
            literals += 1;
        }
    }
    assert!(files.len() > 80 && literals > 50, "{} files, {literals} literals", files.len());
}

#[test]
fn conformance_decisions_on_display_text_are_found() {
    for line in [
        r#"let waits = text.ends_with("after 0 bytes ") && begun.elapsed() > LOOK;"#,
        r#"_ if note.len == 4 && note.text.starts_with("length ") => What::StringLength,"#,
        r#"_ if note.len == 4 && note.text.ends_with(" items") => What::Count,"#,
        "if error.to_string()\n    .contains(\n    \"timed out after\") {}",
        r#"match trouble.to_string().as_str() { "no connection" => 1, _ => 2 }"#,
        r#"if '"' == quote || said == "the connection did not end" {}"#,
        r#"matches!(found.as_str(), "it is required")"#,
        r#"if ["it is", "it is not"].contains(&said) {}"#,
    ] {
        assert!(compared(line).iter().any(|literal| is_display_text(literal)), "{line}");
    }
    for line in [
        r#"// text.ends_with("after 0 bytes ")"#,
        r#"Self::NotConnected => f.write_str("no connection"),"#,
        r#"entry.strip_prefix("DOTNET_")"#,
        r#"other.map_or_else(|| "no question".to_owned(), shown)"#,
        "#[cfg(test)]\nmod tests { fn f() { assert!(text.contains(\"the connection did not end\")); } }",
    ] {
        assert!(!compared(line).iter().any(|literal| is_display_text(literal)), "{line}");
    }
}
