//! The texts of the facts and requirements cited by cases.

use std::collections::BTreeMap;

use super::Requirement;
use crate::embedded::ERRATA;

/// A line for each fact of `spec/ERRATA.md`, and each requirement of `spec/requirements.toml`.
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
    /// From the files as of the build.
    pub fn embedded() -> Self {
        let errata = ERRATA.unpacked();
        let facts = errata.lines().filter_map(fact);
        let requirements = Requirement::embedded().iter();
        Self(facts.chain(requirements.map(|one| (one.id.clone(), one.statement.clone()))).collect())
    }

    /// The text of `id` (`F-19`, `R-EVP-010`).
    pub fn line(&self, id: &str) -> Option<&str> {
        self.0.get(id).map(String::as_str)
    }
}

/// A row of a table of facts: its number, severity, printed and shipped behaviour, and more.
fn fact(row: &str) -> Option<(String, String)> {
    let mut cells = row
        .strip_prefix("| ")?
        .split(" | ")
        .map(|cell| cell.trim().replace('`', "").replace("**", ""));
    let id = cells.next().filter(|id| id.starts_with("F-") || id.starts_with("P-"))?;
    let (printed, shipped) = (cells.nth(1)?, cells.next()?);
    Some((id, format!("As printed: {}. As shipped: {shipped}", printed.trim_end_matches('.'))))
}
