//! The facts, requirements, flags and words that cases cite.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use dotnet_diagnostics_ipc_vectors::{Group, Test};
use serde::Deserialize;

use crate::embedded::{self, ERRATA, PACKAGE, REQUIREMENTS};

/// One line for each fact of `spec/ERRATA.md` and each requirement of `spec/requirements.toml`.
///
/// ```
/// use diagipc::Citations;
///
/// let citations = Citations::embedded();
/// assert!(citations.line("F-14").is_some_and(|line| line.ends_with("As shipped: 0x0204")));
/// assert!(citations.line("R-TRN-003").is_some_and(|line| line.contains("Unix domain socket")));
/// ```
#[derive(Clone, Debug)]
pub struct Citations(BTreeMap<String, String>);

impl Citations {
    /// Reads the files embedded at build time.
    pub fn embedded() -> Self {
        let errata = ERRATA.unpacked();
        let facts = errata.lines().filter_map(fact);
        let requirements = Requirement::embedded().iter();
        Self(facts.chain(requirements.map(|one| (one.id.clone(), one.statement.clone()))).collect())
    }

    /// Returns the text of a fact or requirement, such as `F-19` or `R-EVP-010`.
    pub fn line(&self, id: &str) -> Option<&str> {
        self.0.get(id).map(String::as_str)
    }
}

/// Parses a row of a table of facts: its number, severity, printed and shipped behaviour, and more.
fn fact(row: &str) -> Option<(String, String)> {
    let mut cells = row
        .strip_prefix("| ")?
        .split(" | ")
        .map(|cell| cell.trim().replace('`', "").replace("**", ""));
    let id = cells.next().filter(|id| id.starts_with("F-") || id.starts_with("P-"))?;
    let (printed, shipped) = (cells.nth(1)?, cells.next()?);
    Some((id, format!("As printed: {}. As shipped: {shipped}", printed.trim_end_matches('.'))))
}

named! {
    /// How strongly the document requires something, strongest first.
    ///
    /// ```
    /// use diagipc::Level;
    ///
    /// assert_eq!(Level::of(&["F-14".to_owned(), "R-ERR-004".to_owned()]), Level::Should);
    /// assert_eq!(Level::of(&["R-ERR-004".to_owned(), "R-TRN-003".to_owned()]), Level::Must);
    /// ```
    #[derive(Default, Deserialize)]
    #[serde(rename_all = "kebab-case")]
    Level {
        /// Required.
        #[default]
        Must = "must",
        /// Recommended.
        Should = "should",
        /// Allowed.
        May = "may",
        /// Only stated; no case has this level.
        Informative = "informative",
    }
}

impl Level {
    /// Returns the level of a case with these facts and requirements: the strongest of its
    /// requirements. Without any it is [`Level::Must`], because bytes must follow the grammar.
    pub fn of(spec: &[String]) -> Self {
        static LEVELS: LazyLock<BTreeMap<&str, Level>> = LazyLock::new(|| {
            Requirement::embedded().iter().map(|one| (one.id.as_str(), one.level)).collect()
        });
        let levels = spec.iter().filter_map(|id| LEVELS.get(id.as_str()).copied());
        levels.filter(|level| *level != Self::Informative).min().unwrap_or_default()
    }
}

/// One sentence of the document, paraphrased.
///
/// ```
/// use diagipc::report::Requirement;
///
/// let all = Requirement::embedded();
/// let one = all.iter().find(|one| one.id == "R-EVP-060").expect("it is one of them");
/// assert!(!one.statement.is_empty() && !one.shown_by.is_empty());
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[non_exhaustive]
pub struct Requirement {
    /// The number, such as `R-EVP-060`, which never changes its meaning.
    pub id: String,
    /// How strongly it is required.
    pub level: Level,
    /// The editions of the document that have it.
    pub edition: Vec<String>,
    /// The section of the document that has it.
    pub section: String,
    /// The text.
    pub statement: String,
    /// The facts about how runtimes differ from it.
    #[serde(default)]
    pub fact: Vec<String>,
    /// The vectors and tests that show it.
    pub shown_by: Vec<String>,
}

#[derive(Deserialize)]
struct File {
    requirement: Vec<Requirement>,
}

/// Returns what a test of the vectors cites: the facts of its group, and the requirements that are
/// shown by the group or the test.
///
/// ```
/// use diagipc::{codec, embedded, report};
///
/// let files = embedded::vectors()?;
/// let groups = files.iter().flat_map(|file| &file.file.groups);
/// let cited = groups.flat_map(|group| group.tests.iter().map(move |test| report::cited(group, test)));
/// assert!(cited.flatten().any(|id| id.starts_with("R-GRM-")));
/// # Ok::<(), dotnet_diagnostics_ipc_vectors::LoadError>(())
/// ```
pub fn cited(group: &Group, test: &Test) -> Vec<String> {
    static SHOWN: LazyLock<BTreeMap<&str, Vec<&String>>> = LazyLock::new(|| {
        let mut shown: BTreeMap<&str, Vec<&String>> = BTreeMap::new();
        for Requirement { id, shown_by, .. } in Requirement::embedded() {
            for by in shown_by {
                shown.entry(by).or_default().push(id);
            }
        }
        shown
    });
    let by = [format!("group:{}", group.name), format!("tc:{}", test.tc_id)];
    let mut cited = group.spec.clone();
    for &id in by.iter().filter_map(|by| SHOWN.get(by.as_str())).flatten() {
        if !cited.contains(id) {
            cited.push(id.clone());
        }
    }
    cited
}

impl Requirement {
    /// Returns the requirements embedded at build time, in file order. They are parsed once.
    pub fn embedded() -> &'static [Self] {
        // An unreadable file would result in none; `tests/conformance/report.rs` checks that none
        // is missing.
        static ALL: LazyLock<Vec<Requirement>> = LazyLock::new(|| {
            toml::from_str::<File>(&REQUIREMENTS.unpacked())
                .map_or_else(|_| Vec::new(), |file| file.requirement)
        });
        &ALL
    }
}

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
    /// Reads the file embedded at build time.
    pub fn embedded() -> Self {
        let text = embedded::text(PACKAGE, "README.md").unwrap_or_default();
        Self { flags: section(&text, "## Flags"), words: section(&text, "## Words") }
    }

    /// Returns the flags of vectors with their meanings, by name.
    pub fn flags(&self) -> &[(String, String)] {
        &self.flags
    }

    /// Returns the words of reports and vectors with their meanings, by name.
    pub fn words(&self) -> &[(String, String)] {
        &self.words
    }

    /// Returns the meaning of a flag or a word.
    pub fn meaning(&self, name: &str) -> Option<&str> {
        let mut all = self.flags.iter().chain(&self.words);
        all.find(|(known, _)| known.eq_ignore_ascii_case(name)).map(|(_, meaning)| meaning.as_str())
    }
}

/// Returns the rows of the table below a heading.
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
