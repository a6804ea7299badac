//! The words and flags of reports and vectors, each with a line that explains it.

use crate::embedded::{self, PACKAGE};

/// The sections "Flags" and "Words" of `vectors/README.md`.
///
/// ```
/// use diagipc::report::Glossary;
///
/// let glossary = Glossary::embedded();
/// assert!(glossary.meaning("SurrogatePair").is_some_and(|line| line == "a character of two UTF-16 units"));
/// assert!(glossary.meaning("advertise").is_some_and(|line| line.contains("34 bytes")));
/// ```
#[derive(Clone, Debug)]
pub struct Glossary {
    flags: Vec<(String, String)>,
    words: Vec<(String, String)>,
}

impl Glossary {
    /// From the file as of the build.
    pub fn embedded() -> Self {
        let text = embedded::text(PACKAGE, "README.md").unwrap_or_default();
        Self { flags: section(&text, "## Flags"), words: section(&text, "## Words") }
    }

    /// The flags of vectors with their meaning, by name.
    pub fn flags(&self) -> &[(String, String)] {
        &self.flags
    }

    /// The words of reports and vectors, by name.
    pub fn words(&self) -> &[(String, String)] {
        &self.words
    }

    /// The meaning of a flag or a word.
    pub fn meaning(&self, name: &str) -> Option<&str> {
        let mut all = self.flags.iter().chain(&self.words);
        all.find(|(known, _)| known.eq_ignore_ascii_case(name)).map(|(_, meaning)| meaning.as_str())
    }
}

/// The rows of the table below a heading.
fn section(text: &str, heading: &str) -> Vec<(String, String)> {
    let rows = text
        .lines()
        .skip_while(|line| *line != heading)
        .skip(1)
        .take_while(|line| !line.starts_with('#'));
    // The table begins after its two header rows.
    rows.filter(|line| line.starts_with('|')).skip(2).filter_map(row).collect()
}

fn row(line: &str) -> Option<(String, String)> {
    let (name, meaning) = line.strip_prefix("| ")?.strip_suffix(" |")?.split_once(" | ")?;
    Some((name.trim_matches('`').to_owned(), meaning.to_owned()))
}
