//! All scenarios.

use serde::Deserialize;

use super::scenario::Scenario;

/// A file of scenarios.
#[derive(Deserialize)]
struct ScenarioFile {
    scenarios: Vec<Scenario>,
}

macro_rules! embedded {
    ($($name:literal),* $(,)?) => {
        /// Name and text of each file of scenarios. `diagipc/clients/README.md` defines them.
        ///
        /// ```
        /// assert!(diagipc::client::SCENARIOS.iter().any(|(name, _)| *name == "requests.json"));
        /// ```
        pub static SCENARIOS: &[(&str, &str)] =
            &[$(($name, include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/clients/scenarios/", $name)))),*];
    };
}

embedded! {
    "environment.json",
    "fallback.json",
    "replies.json",
    "streams.json",
    "tool_ports.json",
    "requests.json",
    "each_operation.json",
    "discovery.json",
}

/// All scenarios: those of the exchange scripts that play the runtime, and families of others.
///
/// # Errors
/// None, as the crate's tests check; the type leaves that to the caller.
///
/// ```
/// let scenarios = diagipc::client::scenarios()?;
/// assert!(scenarios.len() > 300);
/// assert!(scenarios.iter().all(|scenario| !scenario.spec.is_empty()));
/// # Ok::<(), serde_json::Error>(())
/// ```
pub fn scenarios() -> Result<Vec<Scenario>, serde_json::Error> {
    let files = SCENARIOS.iter().map(|(_, text)| serde_json::from_str::<ScenarioFile>(text));
    let files = files.collect::<Result<Vec<_>, _>>()?;
    Ok(files.into_iter().flat_map(|file| file.scenarios).collect())
}

/// The arguments of the plain request of an operation.
#[cfg(test)]
pub(super) fn plain(operation: super::Operation) -> super::Arguments {
    use super::scenario::Flag;

    let is_it = |one: &Scenario| one.is(Flag::Plain) && one.operation == operation;
    scenarios().unwrap().into_iter().find(is_it).unwrap().arguments
}
