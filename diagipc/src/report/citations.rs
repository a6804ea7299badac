//! The facts, requirements, flags and words that cases cite.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use dotnet_diagnostics_ipc_vectors::{Group, Test};
use serde::Deserialize;

use crate::embedded::{self, PACKAGE};

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
pub struct Citations(BTreeMap<&'static str, &'static str>);

/// `vectors/citations.json`.
#[derive(Default, Deserialize)]
struct CitationsFile {
    facts: BTreeMap<String, String>,
    requirements: Vec<Requirement>,
    flags: BTreeMap<String, String>,
    words: BTreeMap<String, String>,
}

impl CitationsFile {
    /// Returns the embedded file, which is parsed once.
    fn embedded() -> &'static Self {
        // An unreadable file would be empty; `tests/conformance/report.rs` checks that it is not.
        static FILE: LazyLock<CitationsFile> = LazyLock::new(|| {
            let text = embedded::text(PACKAGE, "citations.json").unwrap_or_default();
            serde_json::from_str(&text).unwrap_or_default()
        });
        &FILE
    }
}

impl Citations {
    /// Returns the citations embedded at build time.
    pub fn embedded() -> Self {
        let CitationsFile { facts, requirements, .. } = CitationsFile::embedded();
        let facts = facts.iter().map(|(id, line)| (id.as_str(), line.as_str()));
        let requirements = requirements.iter().map(|one| (one.id.as_str(), one.statement.as_str()));
        Self(facts.chain(requirements).collect())
    }

    /// Returns the text of a fact or requirement, such as `F-19` or `R-EVP-010`.
    pub fn line(&self, id: &str) -> Option<&str> {
        self.0.get(id).copied()
    }
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
    /// Returns all requirements, in the order of `spec/requirements.toml`.
    pub fn embedded() -> &'static [Self] {
        &CitationsFile::embedded().requirements
    }
}

/// The flags of vectors and the words of reports, with their meaning.
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
    flags: &'static BTreeMap<String, String>,
    words: &'static BTreeMap<String, String>,
}

impl Glossary {
    /// Returns the glossary embedded at build time.
    pub fn embedded() -> Self {
        let CitationsFile { flags, words, .. } = CitationsFile::embedded();
        Self { flags, words }
    }

    /// Returns the flags of vectors with their meanings, by name.
    pub fn flags(&self) -> &'static BTreeMap<String, String> {
        self.flags
    }

    /// Returns the words of reports and vectors with their meanings, by name.
    pub fn words(&self) -> &'static BTreeMap<String, String> {
        self.words
    }

    /// Returns the meaning of a flag or a word.
    pub fn meaning(&self, name: &str) -> Option<&'static str> {
        let mut all = self.flags.iter().chain(self.words);
        all.find(|(known, _)| known.eq_ignore_ascii_case(name)).map(|(_, meaning)| meaning.as_str())
    }
}
