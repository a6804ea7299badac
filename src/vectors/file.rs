//! The files of `vectors/`, typed.

use alloc::{string::String, vec::Vec};

use serde::{Deserialize, Serialize};

use super::{Subject, Type, Value, VectorFault};
use crate::command::Command;

/// A file.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct File {
    /// The file of `vectors/schema/` that describes it: `vectors.schema.json`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub schema: Option<String>,
    /// 1.
    pub format: u32,
    /// What the file is about.
    pub title: String,
    /// Over all groups.
    pub number_of_tests: usize,
    /// The groups.
    pub groups: Vec<Group>,
}

/// Tests of one type, of one origin.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Group {
    /// Unique over all files.
    pub name: String,
    /// What the bytes are.
    #[serde(rename = "type")]
    pub kind: Type,
    /// Where they come from.
    pub source: Source,
    /// How they were made.
    pub made: String,
    /// Who sends them; `None` for a piece.
    pub direction: Option<Direction>,
    /// `Set/Name` of the request, or of what the reply answers.
    pub command: Option<String>,
    /// The first .NET with that command, as `8.0`.
    pub since: Option<String>,
    /// Facts that the group rests on.
    pub spec: Vec<String>,
    /// The tests.
    pub tests: Vec<Test>,
}

/// Who sends a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Direction {
    /// The tool.
    Client,
    /// The runtime.
    Server,
}

/// Where the bytes of a group come from.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Source {
    /// What kind of source it is.
    pub kind: SourceKind,
    /// The edition of the document.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub edition: Option<String>,
    /// The heading in it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub section: Option<String>,
    /// The fact by which a table was corrected.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fact: Option<String>,
    /// The runtime that was recorded.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub runtime: Option<String>,
}

/// The kind of a [`Source`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum SourceKind {
    /// As printed.
    Table,
    /// As printed, mended.
    Corrected,
    /// Recorded.
    Runtime,
    /// From the grammar.
    Derived,
}

/// Bytes, and what they mean.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct Test {
    /// Unique over all files.
    pub tc_id: u32,
    /// What is special.
    pub comment: String,
    /// Words by which to choose.
    pub flags: Vec<String>,
    /// The bytes; `None` only for a value that is too large.
    #[serde(with = "hexadecimal")]
    pub wire: Option<Vec<u8>>,
    /// The meaning.
    pub value: Value,
    /// What a decoder must say.
    pub result: Verdict,
    /// Whether encoding the value gives the bytes.
    pub canonical: bool,
    /// What the bytes may do to a live runtime.
    pub hazard: Option<Hazard>,
    /// Runtimes that take the bytes although they are invalid.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub acceptable_on: Vec<String>,
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
    /// Must be taken.
    Valid,
    /// May be taken.
    Acceptable,
    /// Must be refused.
    Invalid,
}

/// What bytes may do to a live runtime.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Hazard {
    /// Change it.
    SideEffect,
    /// Kill, wedge, exhaust it, or leak its memory.
    Harmful,
}

impl Group {
    /// What the bytes of this group are to be read as; `None` if `command` names none.
    pub fn subject(&self) -> Option<Subject> {
        let command = match &self.command {
            Some(name) => Some(name.parse::<Command>().ok()?),
            None => None,
        };
        Some(Subject { kind: self.kind, command, from_server: self.direction == Some(Direction::Server) })
    }
}

mod hexadecimal {
    use alloc::{string::String, vec::Vec};

    use serde::{Deserialize as _, Deserializer, Serialize as _, Serializer, de::Error as _};

    #[allow(clippy::ref_option, reason = "serde asks for this form")]
    pub(super) fn serialize<S: Serializer>(bytes: &Option<Vec<u8>>, serializer: S) -> Result<S::Ok, S::Error> {
        bytes.as_ref().map(hex::encode).serialize(serializer)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Vec<u8>>, D::Error> {
        let digits = Option::<String>::deserialize(deserializer)?;
        digits.map(|digits| hex::decode(digits).map_err(D::Error::custom)).transpose()
    }
}
