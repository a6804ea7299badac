//! The requirements of `spec/requirements.toml`.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use dotnet_diagnostics_ipc_vectors::{Group, Test};
use serde::{Deserialize, Serialize};

use crate::embedded::REQUIREMENTS;

/// How strongly the document requires something, from the strongest.
///
/// ```
/// use diagipc::Level;
///
/// assert_eq!(Level::of(&["F-14".to_owned(), "R-ERR-004".to_owned()]), Level::Should);
/// assert_eq!(Level::of(&["R-ERR-004".to_owned(), "R-TRN-003".to_owned()]), Level::Must);
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Level {
    /// Required.
    #[default]
    Must,
    /// Recommended.
    Should,
    /// Allowed.
    May,
    /// Only stated: no case has this level.
    Informative,
}

impl Level {
    /// The level of a case with these facts and requirements: the strongest of the requirements that
    /// require anything. Without one it is [`Level::Must`]: bytes have to follow the grammar.
    pub fn of(spec: &[String]) -> Self {
        static LEVELS: LazyLock<BTreeMap<&str, Level>> = LazyLock::new(|| {
            Requirement::embedded().iter().map(|one| (one.id.as_str(), one.level)).collect()
        });
        let levels = spec.iter().filter_map(|id| LEVELS.get(id.as_str()).copied());
        levels.filter(|level| *level != Self::Informative).min().unwrap_or_default()
    }

    /// Its name in reports.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Must => "must",
            Self::Should => "should",
            Self::May => "may",
            Self::Informative => "informative",
        }
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
    /// Its number, which never changes its meaning: `R-EVP-060`.
    pub id: String,
    /// Whether it is required, or only stated.
    pub level: Level,
    /// The editions of the document that have it.
    pub edition: Vec<String>,
    /// The section that has it.
    pub section: String,
    /// Its text.
    pub statement: String,
    /// The facts by which runtimes differ.
    #[serde(default)]
    pub fact: Vec<String>,
    /// The vectors and tests that show it.
    pub shown_by: Vec<String>,
}

#[derive(Deserialize)]
struct File {
    requirement: Vec<Requirement>,
}

/// What a test of the vectors cites: the facts of its group, and the requirements that say that the
/// group or the test shows them.
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
    /// From the file as of the build, in its order. It is parsed once.
    pub fn embedded() -> &'static [Self] {
        // An unreadable file would leave them out; `tests/conformance/report.rs` checks that none
        // is missing.
        static ALL: LazyLock<Vec<Requirement>> = LazyLock::new(|| {
            toml::from_str::<File>(&REQUIREMENTS.unpacked())
                .map_or_else(|_| Vec::new(), |file| file.requirement)
        });
        &ALL
    }
}
