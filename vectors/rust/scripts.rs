//! The files of `vectors/exchanges/`, with types, as of the build.

use alloc::{
    format,
    string::{String, ToString as _},
    vec::Vec,
};

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::load::LoadError;
use super::script::Script;
use crate::documents::SCRIPTS;

/// A file of exchange scripts. `vectors/exchanges/README.md` defines it.
///
/// ```
/// let files = dotnet_diagnostics_ipc_vectors::script_files()?;
/// assert!(files.iter().all(|file| file.format == 1 && file.number_of_scripts == file.scripts.len()));
/// # Ok::<(), dotnet_diagnostics_ipc_vectors::LoadError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct ScriptFile<S = Script> {
    /// The file of `vectors/schema/` that describes it: `exchanges.schema.json`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub schema: Option<String>,
    /// The version of the format: 1.
    pub format: u32,
    /// The subject of the file.
    pub title: String,
    /// The default time limit of a step, in milliseconds.
    #[serde(rename = "within_ms")]
    pub within_ms: u32,
    /// The number of scripts.
    pub number_of_scripts: usize,
    /// The scripts.
    pub scripts: Vec<S>,
}

impl ScriptFile {
    /// A file of this form with these scripts.
    pub fn new(title: String, within_ms: u32, scripts: Vec<Script>) -> Self {
        let schema = Some("exchanges.schema.json".into());
        Self { schema, format: 1, title, within_ms, number_of_scripts: scripts.len(), scripts }
    }
}

/// The files of exchange scripts embedded in the crate.
///
/// # Errors
/// None, as the crate's tests check; the type leaves that to the caller.
pub fn script_files() -> Result<Vec<ScriptFile>, LoadError> {
    SCRIPTS.iter().map(|(name, text)| parse_scripts(name, text)).collect()
}

/// Reads the text of a file of exchange scripts called `name`.
///
/// # Errors
/// If it is not JSON, or has keys that `vectors/exchanges/README.md` does not define. The error
/// names the script and step.
///
/// ```
/// use dotnet_diagnostics_ipc_vectors::parse_scripts;
///
/// let text = r#"{ "format": 1, "title": "t", "within_ms": 5000, "numberOfScripts": 1, "scripts": [
///     { "scId": 7, "name": "n", "comment": "c", "plays": "client", "spec": ["F-1"], "since": null, "hazard": null,
///       "target": { "suspended": false, "ports": [], "environment": {}, "platform": null },
///       "steps": [{ "open": "a" }, { "on": "a", "sned": ["00"] }] }] }"#;
/// let error = parse_scripts("my.json", text).unwrap_err().to_string();
/// assert_eq!(error, "my.json: scId 7 (n): step 1: expected exactly one verb, not none: on, sned");
/// ```
pub fn parse_scripts(name: &str, text: &str) -> Result<ScriptFile, LoadError> {
    let fail = |message| LoadError::new(name, message);
    let file: ScriptFile = serde_json::from_str(text)
        .map_err(|error| fail(at_script(text).unwrap_or_else(|| error.to_string())))?;
    let (said, count) = (file.number_of_scripts, file.scripts.len());
    match file.format {
        1 if said == count => Ok(file),
        1 => Err(fail(format!("numberOfScripts is {said}, but the file has {count}"))),
        other => Err(fail(format!("format is {other}, expected 1"))),
    }
}

/// What is wrong with the first script that cannot be read, with its number and name.
fn at_script(text: &str) -> Option<String> {
    let whole: ScriptFile<Value> = serde_json::from_str(text).ok()?;
    whole.scripts.into_iter().enumerate().find_map(|(nth, script)| {
        let place = match (script.get("scId"), script.get("name").and_then(Value::as_str)) {
            (Some(id), Some(name)) => format!("scId {id} ({name})"),
            _ => format!("script {nth}"),
        };
        let error = serde_json::from_value::<Script>(script).err()?;
        Some(format!("{place}: {error}"))
    })
}
