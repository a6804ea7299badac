//! All scenarios.

use std::sync::OnceLock;

use serde::Deserialize;

use super::scenario::Scenario;
use crate::embedded::{self, SCENARIOS};

/// A file of scenarios.
#[derive(Deserialize)]
struct ScenarioFile {
    scenarios: Vec<Scenario>,
}

/// All scenarios: those of the exchange scripts that play the runtime, and families of others. They
/// are parsed once.
///
/// # Errors
/// None, as the crate's tests check; the type leaves that to the caller.
///
/// ```
/// let scenarios = diagipc::client::scenarios()?;
/// assert!(scenarios.len() > 300);
/// assert!(scenarios.iter().all(|scenario| !scenario.spec.is_empty()));
/// # Ok::<(), &serde_json::Error>(())
/// ```
pub fn scenarios() -> Result<&'static [Scenario], &'static serde_json::Error> {
    static ALL: OnceLock<Result<Vec<Scenario>, serde_json::Error>> = OnceLock::new();
    let parsed = || {
        let file = |_: &str, text: &str| serde_json::from_str::<ScenarioFile>(text);
        let files = embedded::read(SCENARIOS, file)?;
        Ok(files.into_iter().flat_map(|file| file.scenarios).collect())
    };
    ALL.get_or_init(parsed).as_deref()
}

/// The arguments of the plain request of an operation.
#[cfg(test)]
pub(super) fn plain(operation: super::Operation) -> super::Arguments {
    use super::scenario::Flag;

    let is_it = |one: &&Scenario| one.is(Flag::Plain) && one.operation == operation;
    scenarios().unwrap().iter().find(is_it).unwrap().arguments.clone()
}
