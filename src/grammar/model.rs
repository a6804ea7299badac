//! The shape of the grammar as data. `spec/grammar.schema.json` says what each key means.

use alloc::{collections::BTreeMap, string::String, vec::Vec};

use serde::{Deserialize, Serialize};

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(super) struct Model {
    pub(super) schema: String,
    pub(super) format: u32,
    pub(super) protocol: String,
    pub(super) byte_order: String,
    pub(super) largest_message: usize,
    pub(super) header: Frame,
    pub(super) checks: Vec<Check>,
    pub(super) kinds: Vec<Kind>,
    pub(super) structs: Vec<Struct>,
    pub(super) commands: Vec<Command>,
    pub(super) replies: Vec<Reply>,
    pub(super) error: ErrorReply,
    pub(super) continuations: Continuations,
    pub(super) advertise: Frame,
    pub(super) legacy: Legacy,
    pub(super) leniencies: Vec<Leniency>,
    pub(super) faults: Vec<Fault>,
    pub(super) hresults: Vec<HResult>,
}

/// Fields at fixed offsets after a magic.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Frame {
    pub(super) direction: String,
    pub(super) bytes: usize,
    /// Hexadecimal.
    pub(super) magic: String,
    pub(super) fields: Vec<Field>,
}

/// One of the checks of a message, in order.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Check {
    pub(super) name: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) of: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) fault: Option<String>,
}

/// The encoding of a type that is not a struct.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Kind {
    pub(super) name: String,
    /// Of a type with a fixed size.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) bytes: Option<usize>,
    /// For a type that begins with a count: the type of the count.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) count: Option<String>,
    /// The size of a counted unit.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) unit: Option<usize>,
    /// The last unit, which must be this.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) last: Option<u32>,
    /// The value form, as in `vectors/README.md`.
    pub(super) value: String,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Struct {
    pub(super) name: String,
    /// Its minimum number of bytes.
    pub(super) least: usize,
    pub(super) fields: Vec<Field>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) limits: Vec<Limit>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Field {
    pub(super) name: String,
    /// A kind or a struct.
    #[serde(rename = "type")]
    pub(super) type_name: String,
    /// For an array: the type of its items.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) items: Option<String>,
    /// When it is present; `None`: always.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) when: Option<When>,
    /// The grammar refuses all other numbers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) only: Option<Vec<u32>>,
    /// Whether the number is a set of bits.
    #[serde(default, skip_serializing_if = "core::ops::Not::not")]
    pub(super) bits: bool,
    /// The numbers that have a name.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub(super) names: BTreeMap<u32, String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) unit: Option<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) limits: Vec<Limit>,
    /// What a string of length 0 means.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) absent: Option<String>,
    /// What a string of length 1 means.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) empty: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(super) struct When {
    /// An earlier field of the same payload, and its value.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) field: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) is: Option<u32>,
    /// The answered commands.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) answers: Option<Vec<String>>,
    /// If bytes of the payload are left.
    #[serde(default, skip_serializing_if = "core::ops::Not::not")]
    pub(super) bytes_left: bool,
}

/// A value that decodes but is refused by a server: a measure in none of the ranges.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Limit {
    pub(super) fault: String,
    pub(super) of: Measure,
    /// For a limit of a struct: paths of fields in it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) fields: Vec<String>,
    /// Inclusive. Empty for `distinct`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) ranges: Vec<[u32; 2]>,
}

/// The measure of a limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) enum Measure {
    /// The number itself.
    Value,
    /// The count on the wire: of items, or of units with the NUL (0: absent).
    Count,
    /// The number of units of a string before its first NUL; 0 if it is absent.
    UnitsBeforeNul,
    /// The number of UTF-8 bytes of these units; half a surrogate pair takes 3, as U+FFFD.
    Utf8BeforeNul,
    /// The sum of the counts of `fields`.
    CountOfAll,
    /// All numbers at the path in `fields` are different.
    Distinct,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Command {
    pub(super) name: String,
    pub(super) code: String,
    /// The first .NET that has it.
    pub(super) since: String,
    pub(super) direction: String,
    pub(super) fields: Vec<Field>,
    pub(super) reply: String,
    pub(super) continuation: Vec<Continuation>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Continuation {
    pub(super) name: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) when: Option<When>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Reply {
    pub(super) name: String,
    pub(super) code: String,
    pub(super) direction: String,
    pub(super) fields: Vec<Field>,
    pub(super) answers: Vec<String>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ErrorReply {
    pub(super) code: String,
    pub(super) direction: String,
    pub(super) fields: Vec<Field>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Continuations {
    pub(super) close: Text,
    pub(super) nettrace: Nettrace,
    pub(super) environment: Environment,
    pub(super) user_events: UserEvents,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Text {
    pub(super) text: String,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Nettrace {
    pub(super) text: String,
    pub(super) starts: Vec<Start>,
}

/// The first bytes that identify a stream.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Start {
    pub(super) name: String,
    pub(super) bytes: String,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) fields: Vec<Field>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Environment {
    pub(super) text: String,
    /// The field of the reply with its total size in bytes.
    pub(super) size: String,
    pub(super) count: String,
    pub(super) entry: Entry,
    /// What may replace a count.
    pub(super) instead: String,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Entry {
    pub(super) count: String,
    pub(super) unit: usize,
    pub(super) least: usize,
    pub(super) last: u32,
    pub(super) split: u32,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct UserEvents {
    pub(super) text: String,
    pub(super) descriptor: Descriptor,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Descriptor {
    pub(super) after: String,
    pub(super) before: String,
    pub(super) bytes: String,
    pub(super) descriptors: u32,
    #[serde(rename = "as")]
    pub(super) passed_as: String,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(super) struct Legacy {
    pub(super) commands: Vec<LegacyCommand>,
    pub(super) old_request: Old,
    pub(super) old_reply: Old,
    pub(super) error_codes: Vec<LegacyCode>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct LegacyCommand {
    pub(super) name: String,
    pub(super) code: String,
    pub(super) edition: String,
    pub(super) direction: String,
    pub(super) fields: Vec<Field>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Old {
    pub(super) text: String,
    pub(super) direction: String,
    pub(super) fields: Vec<Field>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct LegacyCode {
    pub(super) code: u32,
    pub(super) name: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) hresult: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Leniency {
    pub(super) name: String,
    pub(super) text: String,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Fault {
    pub(super) name: String,
    pub(super) layer: String,
    /// The HRESULT of a server's answer to a request with this fault.
    pub(super) answer: String,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct HResult {
    pub(super) code: String,
    pub(super) name: String,
}
