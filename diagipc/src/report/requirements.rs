//! The requirements of `spec/requirements.toml`.

use dotnet_diagnostics_ipc::vectors::documents;
use serde::Deserialize;

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
    pub level: String,
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

impl Requirement {
    /// From the file as of the build, in its order.
    pub fn embedded() -> Vec<Self> {
        // An unreadable file would leave them out; `tests/conformance/report.rs` checks that none
        // is missing.
        toml::from_str::<File>(documents::REQUIREMENTS)
            .map_or_else(|_| Vec::new(), |file| file.requirement)
    }
}
