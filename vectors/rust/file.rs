//! The files of `vectors/`, with types.

use alloc::{string::String, vec::Vec};

use serde::{Deserialize, Serialize};

use super::{Type, TypedCodec, Value, VectorFault};
use dotnet_diagnostics_ipc::command::Command;
use dotnet_diagnostics_ipc::hresult::HResult;

/// A file.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct File {
    /// The file of `vectors/schema/` that describes it: `vectors.schema.json`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub schema: Option<String>,
    /// The version of the format: 1.
    pub format: u32,
    /// The subject of the file.
    pub title: String,
    /// In all groups.
    pub number_of_tests: usize,
    /// The groups.
    pub groups: Vec<Group>,
}

/// Tests of one type, of one origin.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Group {
    /// Unique across all files.
    pub name: String,
    /// The type of the bytes.
    #[serde(rename = "type")]
    pub kind: Type,
    /// Their origin.
    pub source: Source,
    /// How they were made.
    pub made: String,
    /// The sender; `None` for a piece.
    pub direction: Option<Direction>,
    /// `Set/Name` of the request, or of the request that the reply answers.
    pub command: Option<String>,
    /// The first .NET with that command, as `8.0`.
    pub since: Option<String>,
    /// The facts behind the group.
    pub spec: Vec<String>,
    /// The tests.
    pub tests: Vec<Test>,
}

/// The sender of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Direction {
    /// The tool.
    Client,
    /// The runtime.
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
    /// The heading in it.
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
    /// As printed.
    Table,
    /// As printed, corrected.
    Corrected,
    /// Recorded.
    Runtime,
    /// From the grammar.
    Derived,
}

/// Bytes, and their meaning.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct Test {
    /// Unique across all files.
    pub tc_id: u32,
    /// What the test is about.
    pub comment: String,
    /// Words for selection.
    pub flags: Vec<String>,
    /// The bytes; `None` only for a value that is too large.
    #[serde(with = "super::hexadecimal")]
    pub wire: Option<Vec<u8>>,
    /// The meaning.
    pub value: Value,
    /// The expected result of a decoder.
    pub result: Verdict,
    /// Whether encoding the value gives the bytes.
    pub canonical: bool,
    /// The effect of the bytes on a live runtime.
    pub hazard: Option<Hazard>,
    /// Runtimes that accept the bytes although they are invalid.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub acceptable_on: Vec<String>,
    /// The errors with which a server may refuse the bytes although they are valid; `None` if not
    /// given.
    #[serde(default, with = "hresults", skip_serializing_if = "Option::is_none")]
    pub refusals: Option<Vec<HResult>>,
    /// Why they are invalid.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<VectorFault>,
    /// The pieces in which the bytes arrive.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub chunks: Vec<usize>,
}

/// The `result` of a test.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Verdict {
    /// Must be accepted.
    Valid,
    /// May be accepted.
    Acceptable,
    /// Must be refused.
    Invalid,
}

/// The effect of bytes on a live runtime.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Hazard {
    /// Change it.
    SideEffect,
    /// Kill, block, exhaust it, or leak its memory.
    Harmful,
}

impl Group {
    /// What to read the bytes of this group as; `None` if `command` is unknown.
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

mod hresults {
    use alloc::{format, vec::Vec};

    use serde::{Deserialize as _, Deserializer, Serialize as _, Serializer, de::Error as _};

    use super::{HResult, Value};
    use crate::value::hexadecimal;

    #[allow(clippy::ref_option, reason = "serde requires this form")]
    pub(super) fn serialize<S: Serializer>(
        codes: &Option<Vec<HResult>>,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        let text = |code: &HResult| format!("0x{:08X}", code.0);
        codes.as_ref().map(|codes| codes.iter().map(text).collect::<Vec<_>>()).serialize(serializer)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Option<Vec<HResult>>, D::Error> {
        let code = |value: &Value| {
            hexadecimal(value, 8).map(HResult).ok_or_else(|| {
                D::Error::custom(format!("expected 0x and 8 hexadecimal digits, not {value}"))
            })
        };
        let values = Vec::<Value>::deserialize(deserializer)?;
        values.iter().map(code).collect::<Result<_, _>>().map(Some)
    }
}
