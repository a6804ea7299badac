//! The files of `vectors/` and `vectors/exchanges/` as Rust types.

use alloc::{
    format,
    string::{String, ToString as _},
    vec::Vec,
};
use core::fmt;

use serde::{Deserialize, Serialize};

use super::{Type, TypedCodec, Value, VectorFault};
use crate::documents::{SCRIPTS, VECTORS};
use crate::script::Script;
use dotnet_diagnostics_ipc::command::Command;
use dotnet_diagnostics_ipc::hresult::HResult;

/// A file of vectors.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct File {
    /// The schema of the file in `vectors/schema/`: `vectors.schema.json`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub schema: Option<String>,
    /// The version of the format: 1.
    pub format: u32,
    /// The subject of the file.
    pub title: String,
    /// The number of tests in all groups.
    pub number_of_tests: usize,
    /// The groups.
    pub groups: Vec<Group>,
}

/// Tests of one type and one origin.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Group {
    /// The name, unique across all files.
    pub name: String,
    /// The type of the bytes.
    #[serde(rename = "type")]
    pub kind: Type,
    /// The origin of the bytes.
    pub source: Source,
    /// How the bytes were made.
    pub made: String,
    /// The sender, or `None` for a piece.
    pub direction: Option<Direction>,
    /// The request as `Set/Name`, or the request that the reply answers.
    pub command: Option<String>,
    /// The first .NET version with that command, such as `8.0`.
    pub since: Option<String>,
    /// The facts on which the group is based.
    pub spec: Vec<String>,
    /// The tests.
    pub tests: Vec<Test>,
}

/// The sender of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Direction {
    /// The tool sends it.
    Client,
    /// The runtime sends it.
    Server,
}

/// The origin of the bytes of a group.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Source {
    /// The kind of source.
    pub kind: SourceKind,
    /// The edition of the document.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub edition: Option<String>,
    /// The heading of the section in the document.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub section: Option<String>,
    /// The fact that corrects a table.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fact: Option<String>,
    /// The recorded runtime.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub runtime: Option<String>,
}

/// The kind of a [`Source`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum SourceKind {
    /// The bytes are in a table of the document, as printed.
    Table,
    /// The bytes are in a table of the document, corrected.
    Corrected,
    /// The bytes were recorded from a runtime.
    Runtime,
    /// The bytes are derived from the grammar.
    Derived,
}

/// A test: bytes and their meaning.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct Test {
    /// The number of the test, unique across all files.
    pub tc_id: u32,
    /// What the test is about.
    pub comment: String,
    /// Words for the selection of tests.
    pub flags: Vec<String>,
    /// The bytes; `None` only for a value that is too large.
    #[serde(with = "super::hexadecimal")]
    pub wire: Option<Vec<u8>>,
    /// The meaning of the bytes.
    pub value: Value,
    /// The expected result of a decoder.
    pub result: ExpectedResult,
    /// Whether encoding the value gives these bytes.
    pub canonical: bool,
    /// Other bytes that encoders may write for the value.
    #[serde(default, with = "super::hexadecimal", skip_serializing_if = "Vec::is_empty")]
    pub equivalent: Vec<Vec<u8>>,
    /// The effect of the bytes on a live runtime.
    pub hazard: Option<Hazard>,
    /// Runtimes that accept the bytes although they are invalid.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub acceptable_on: Vec<String>,
    /// The errors with which a server may refuse the bytes although they are valid. `None` if not
    /// given.
    #[serde(default, with = "hresults", skip_serializing_if = "Option::is_none")]
    pub refusals: Option<Vec<HResult>>,
    /// The reason why the bytes are invalid.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<VectorFault>,
    /// The pieces in which the bytes arrive.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub chunks: Vec<usize>,
}

/// The expected result of a decoder for the bytes of a test.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ExpectedResult {
    /// The decoder must accept the bytes.
    Valid,
    /// The decoder may accept the bytes.
    Acceptable,
    /// The decoder must refuse the bytes.
    Invalid,
}

/// The effect of bytes on a live runtime.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Hazard {
    /// The bytes change the runtime.
    SideEffect,
    /// The bytes kill, block or exhaust the runtime, or leak its memory.
    Harmful,
}

impl Group {
    /// Returns the codec for the bytes of this group, or `None` if `command` is unknown.
    pub fn subject(&self) -> Option<TypedCodec> {
        let command = match &self.command {
            Some(name) => Some(name.parse::<Command>().ok()?),
            None => None,
        };
        Some(TypedCodec {
            kind: self.kind,
            command,
            from_server: self.direction == Some(Direction::Server),
        })
    }
}

/// The error of a file that is not vectors or not exchange scripts.
#[derive(Clone, Debug)]
pub struct LoadError {
    name: String,
    message: String,
}

impl LoadError {
    pub(super) fn new(name: &str, message: String) -> Self {
        Self { name: name.into(), message }
    }
}

impl fmt::Display for LoadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.name, self.message)
    }
}

impl core::error::Error for LoadError {}

/// Returns the files of vectors embedded in the crate.
///
/// # Errors
/// Never fails, as the crate's tests check.
pub fn files() -> Result<Vec<File>, LoadError> {
    VECTORS.iter().map(|(name, text)| parse(name, text)).collect()
}

/// Parses the text of a file of vectors called `name`.
///
/// # Errors
/// If the text is not JSON, or has keys that `vectors/README.md` does not define.
pub fn parse(name: &str, text: &str) -> Result<File, LoadError> {
    serde_json::from_str(text).map_err(|error| LoadError::new(name, error.to_string()))
}

/// A file of exchange scripts, as defined by `vectors/exchanges/README.md`.
///
/// ```
/// let files = dotnet_diagnostics_ipc_vectors::script_files()?;
/// assert!(files.iter().all(|file| file.format == 1 && file.number_of_scripts == file.scripts.len()));
/// # Ok::<(), dotnet_diagnostics_ipc_vectors::LoadError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct ScriptFile<S = Script> {
    /// The schema of the file in `vectors/schema/`: `exchanges.schema.json`.
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
    /// Returns a file of this format with these scripts.
    pub fn new(title: String, within_ms: u32, scripts: Vec<Script>) -> Self {
        let schema = Some("exchanges.schema.json".into());
        Self { schema, format: 1, title, within_ms, number_of_scripts: scripts.len(), scripts }
    }
}

/// Returns the files of exchange scripts embedded in the crate.
///
/// # Errors
/// Never fails, as the crate's tests check.
pub fn script_files() -> Result<Vec<ScriptFile>, LoadError> {
    SCRIPTS.iter().map(|(name, text)| parse_scripts(name, text)).collect()
}

/// Parses the text of a file of exchange scripts called `name`.
///
/// # Errors
/// If the text is not JSON, or has keys that `vectors/exchanges/README.md` does not define. The
/// error names the script and the step.
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

/// Describes the error of the first script that cannot be read, with its number and name.
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

mod hresults {
    use alloc::vec::Vec;

    use serde::{Deserialize as _, Deserializer, Serialize as _, Serializer, de::Error as _};

    use super::{HResult, Value};
    use crate::{Arena, ValueForm as _};

    #[allow(clippy::ref_option, reason = "serde requires this form")]
    pub(super) fn serialize<S: Serializer>(
        codes: &Option<Vec<HResult>>,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        let values = |codes: &Vec<_>| codes.iter().map(HResult::to_value).collect::<Value>();
        codes.as_ref().map(values).serialize(serializer)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Option<Vec<HResult>>, D::Error> {
        let (values, arena) = (Vec::<Value>::deserialize(deserializer)?, Arena::new());
        let codes = values.iter().map(|value| HResult::from_value(value, &arena));
        codes.collect::<Result<_, _>>().map(Some).map_err(D::Error::custom)
    }
}
