//! The requirements of `spec/requirements.toml`.

use alloc::{string::String, vec::Vec};

use serde::Deserialize;

const FILE: &str = include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/spec/requirements.toml"));

/// One sentence of the document, in our words.
///
/// ```
/// use dotnet_diagnostics_ipc::conformance::report::Requirement;
///
/// let all = Requirement::embedded();
/// let one = all.iter().find(|one| one.id == "R-EVP-060").expect("it is one of them");
/// assert!(!one.statement.is_empty() && !one.shown_by.is_empty());
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[non_exhaustive]
pub struct Requirement {
    /// Its number, which keeps its meaning for good: `R-EVP-060`.
    pub id: String,
    /// Whether it is demanded, or only said.
    pub level: String,
    /// The editions of the document that have it.
    pub edition: Vec<String>,
    /// The section that has it.
    pub section: String,
    /// What it says.
    pub statement: String,
    /// The facts by which runtimes do otherwise.
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
    /// Those of the file as it was when the crate was built, in its order.
    pub fn embedded() -> Vec<Self> {
        // A file that could not be read would leave them out; `tests/conformance/report.rs` sees that none is.
        toml::from_str::<File>(FILE).map_or_else(|_| Vec::new(), |file| file.requirement)
    }
}
