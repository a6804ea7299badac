//! All scenarios.

use dotnet_diagnostics_ipc::vectors::LoadError;

use super::scenario::Scenario;
use super::{discovery, replies, requests, scripted};

/// All scenarios: those of the exchange scripts, and this crate's own.
///
/// # Errors
/// None, as the crate's tests check; the type leaves that to the caller.
///
/// ```
/// let scenarios = diagipc::client::scenarios()?;
/// assert!(scenarios.len() > 300);
/// assert!(scenarios.iter().all(|scenario| !scenario.spec.is_empty()));
/// # Ok::<(), dotnet_diagnostics_ipc::vectors::LoadError>(())
/// ```
pub fn scenarios() -> Result<Vec<Scenario>, LoadError> {
    let mut all = scripted::scenarios()?;
    all.extend(requests::scenarios());
    all.extend(replies::scenarios());
    all.extend(discovery::scenarios());
    Ok(all)
}
