//! The shape of the grammar as data. `spec/grammar.schema.json` says what each key means.

use alloc::{collections::BTreeMap, string::String, vec::Vec};

use serde::{Deserialize, Serialize};

/// Every message of every edition, as data: its fields, limits, reply and continuation.
///
/// ```
/// use dotnet_diagnostics_ipc::command::Command;
/// use dotnet_diagnostics_ipc_vectors::grammar::Grammar;
///
/// let grammar = Grammar::of_this_crate();
/// let reply = grammar.reply_to(Command::PROCESS_INFO).expect("it has fields");
/// let types: Vec<_> = reply.fields.iter().map(|field| field.type_name.as_str()).collect();
/// assert_eq!(types, ["ulong", "guid", "string", "string", "string"]);
/// // A string is a count of units, and that many units, the last of which is 0.
/// let string = grammar.kind("string").expect("it is a kind");
/// assert_eq!((string.count.as_deref(), string.unit, string.last), (Some("uint"), Some(2), Some(0)));
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
#[non_exhaustive]
pub struct Grammar {
    /// The JSON schema of this, beside it.
    pub schema: String,
    /// The version of that schema.
    pub format: u32,
    /// `DOTNET_IPC_V1`.
    pub protocol: String,
    /// Of every number, and of the units of strings.
    pub byte_order: String,
    /// The largest size in a header: header and payload, in bytes.
    pub largest_message: usize,
    /// The header of every message.
    pub header: Frame,
    /// The checks of a message, in order: the first that fails gives the fault.
    pub checks: Vec<Check>,
    /// The types that are not structs.
    pub kinds: Vec<Kind>,
    /// The types with fields.
    pub structs: Vec<Struct>,
    /// The requests.
    pub commands: Vec<Command>,
    /// The OK replies. Any command may be answered by an OK without payload too, or by the error.
    pub replies: Vec<Reply>,
    /// The error reply.
    pub error: ErrorReply,
    /// What follows an OK reply on its connection.
    pub continuations: Continuations,
    /// What a runtime sends first to a diagnostic port.
    pub advertise: Frame,
    /// The 2019 draft, and the protocol before this one.
    pub legacy: Legacy,
    /// What is read although nobody writes it: a closed list.
    pub leniencies: Vec<Leniency>,
    /// Every fault of a message, with its layer and answer.
    pub faults: Vec<Fault>,
    /// The HRESULTs with a name.
    pub hresults: Vec<HResult>,
}

/// Visit at fixed offsets after a magic.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct Frame {
    /// Who sends it.
    pub direction: String,
    /// Its size in bytes, with the magic.
    pub bytes: usize,
    /// The first bytes, in hexadecimal.
    pub magic: String,
    /// In the order of the wire, without padding.
    pub fields: Vec<Field>,
}

/// One of the checks of a message.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct Check {
    /// What is checked.
    pub name: String,
    /// `request` or `reply`: the only messages that it is made of.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub of: Option<String>,
    /// The fault if it fails: one of [`Grammar::faults`].
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fault: Option<String>,
}

/// The encoding of a type that is not a struct. Without `bytes` and `count`: the rest of the payload.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct Kind {
    /// Its name in [`Field::type_name`].
    pub name: String,
    /// The size of a type with a fixed one, in bytes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bytes: Option<usize>,
    /// For a type that begins with a count: the type of the count.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub count: Option<String>,
    /// The size of a counted unit, in bytes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub unit: Option<usize>,
    /// The last unit, which must be this.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last: Option<u32>,
    /// The value form, as in `vectors/README.md`.
    pub value: String,
}

/// A type with fields.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct Struct {
    /// Its name in [`Field::type_name`].
    pub name: String,
    /// Its minimum size in bytes: a count of them is refused if the payload is too short for that.
    pub least: usize,
    /// In the order of the wire, without padding.
    pub fields: Vec<Field>,
    /// What a server refuses of it as a whole.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub limits: Vec<Limit>,
}

/// A field of a message or a struct.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct Field {
    /// As in the newest edition.
    pub name: String,
    /// A kind or a struct.
    #[serde(rename = "type")]
    pub type_name: String,
    /// For an array: the type of its items.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub items: Option<String>,
    /// When it is present; `None`: always.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub when: Option<When>,
    /// The grammar refuses all other numbers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub only: Option<Vec<u32>>,
    /// Whether the number is a set of bits.
    #[serde(default, skip_serializing_if = "core::ops::Not::not")]
    pub bits: bool,
    /// The numbers that have a name.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub names: BTreeMap<u32, String>,
    /// The unit of the number.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unit: Option<String>,
    /// What a server refuses although it decodes.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub limits: Vec<Limit>,
    /// What a string of length 0 means.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub absent: Option<String>,
    /// What a string of length 1, the NUL alone, means.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub empty: Option<String>,
}

/// The condition of a field or a continuation. Two fields of one name have conditions that exclude each other.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
#[non_exhaustive]
pub struct When {
    /// An earlier field of the same payload.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub field: Option<String>,
    /// The value of that field.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub is: Option<u32>,
    /// The answered commands.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub answers: Option<Vec<String>>,
    /// Only if bytes of the payload are left.
    #[serde(default, skip_serializing_if = "core::ops::Not::not")]
    pub bytes_left: bool,
}

/// A value that decodes but is refused by a server: a measure in none of the ranges.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct Limit {
    /// One of [`Grammar::faults`].
    pub fault: String,
    /// What is measured.
    pub of: Measure,
    /// For a limit of a struct: paths of fields in it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub fields: Vec<String>,
    /// The first and last allowed measure of each range; none for [`Measure::Distinct`].
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub ranges: Vec<[u32; 2]>,
}

/// The measure of a limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Measure {
    /// The number itself.
    Value,
    /// The count on the wire: of items, or of units with the NUL (0: absent).
    Count,
    /// The number of units of a string before its first NUL that are not white space of C (9 to 13
    /// and 32); 0 if it is absent.
    VisibleBeforeNul,
    /// The number of UTF-8 bytes of these units; half a surrogate pair takes 3, as U+FFFD.
    Utf8BeforeNul,
    /// The sum of the counts of `fields`.
    CountOfAll,
    /// All numbers at the path in `fields` are different.
    Distinct,
}

/// A request.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct Command {
    /// `Set/Name`.
    pub name: String,
    /// Set and id, a byte each in this order: `0x0204`.
    pub code: String,
    /// The first .NET that has it.
    pub since: String,
    /// Who sends it.
    pub direction: String,
    /// In the order of the wire, without padding.
    pub fields: Vec<Field>,
    /// The name of its OK reply.
    pub reply: String,
    /// What follows the OK reply.
    pub continuation: Vec<Continuation>,
}

/// What follows an OK reply.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct Continuation {
    /// One of the names of [`Continuations`].
    pub name: String,
    /// When it follows; `None`: always.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub when: Option<When>,
}

/// The payload of an OK reply.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct Reply {
    /// Its name in [`Command::reply`].
    pub name: String,
    /// Set and id, a byte each in this order.
    pub code: String,
    /// Who sends it.
    pub direction: String,
    /// In the order of the wire, without padding.
    pub fields: Vec<Field>,
    /// The commands that it answers.
    pub answers: Vec<String>,
}

/// The error reply.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct ErrorReply {
    /// Set and id, a byte each in this order.
    pub code: String,
    /// Who sends it.
    pub direction: String,
    /// In the order of the wire, without padding.
    pub fields: Vec<Field>,
}

/// The kinds of continuations.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct Continuations {
    /// Nothing: the server closes.
    pub close: Text,
    /// The stream of a session.
    pub nettrace: Nettrace,
    /// The environment block.
    pub environment: Environment,
    /// A descriptor, from the client.
    pub user_events: UserEvents,
}

/// A continuation without bytes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct Text {
    /// What it is.
    pub text: String,
}

/// The stream of a session.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct Nettrace {
    /// What it is.
    pub text: String,
    /// How streams begin.
    pub starts: Vec<Start>,
}

/// The first bytes that identify a stream.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct Start {
    /// The format of the stream.
    pub name: String,
    /// The first bytes, in hexadecimal.
    pub bytes: String,
    /// The fields after them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub fields: Vec<Field>,
}

/// The environment block.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct Environment {
    /// What it is.
    pub text: String,
    /// The field of the reply with its size in bytes.
    pub size: String,
    /// The type of the number of entries.
    pub count: String,
    /// An entry, `NAME=value`.
    pub entry: Entry,
    /// What may replace a count.
    pub instead: String,
}

/// An entry of the environment block.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct Entry {
    /// The type of its count of units.
    pub count: String,
    /// The size of a unit, in bytes.
    pub unit: usize,
    /// Its minimum size, in bytes.
    pub least: usize,
    /// The last unit.
    pub last: u32,
    /// The unit between name and value.
    pub split: u32,
}

/// What a `user_events` session needs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct UserEvents {
    /// What it is.
    pub text: String,
    /// What the client passes.
    pub descriptor: Descriptor,
}

/// A descriptor and its byte.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct Descriptor {
    /// What precedes it.
    pub after: String,
    /// What follows it.
    pub before: String,
    /// The byte with it, in hexadecimal.
    pub bytes: String,
    /// How many descriptors.
    pub descriptors: u32,
    /// How the system passes it.
    #[serde(rename = "as")]
    pub passed_as: String,
}

/// The 2019 draft, and the protocol before this one.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
#[non_exhaustive]
pub struct Legacy {
    /// The requests whose fields a later edition changed.
    pub commands: Vec<LegacyCommand>,
    /// A request of the protocol before this one.
    pub old_request: Old,
    /// Its reply.
    pub old_reply: Old,
    /// The error codes of the 2019 draft.
    pub error_codes: Vec<LegacyCode>,
}

/// A request of the 2019 draft.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct LegacyCommand {
    /// `Set/Name`.
    pub name: String,
    /// Set and id, a byte each in this order.
    pub code: String,
    /// The label of the edition, as in `spec/README.md`.
    pub edition: String,
    /// Who sends it.
    pub direction: String,
    /// In the order of the wire, without padding.
    pub fields: Vec<Field>,
}

/// A message of the protocol before this one.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct Old {
    /// What it is.
    pub text: String,
    /// Who sends it.
    pub direction: String,
    /// In the order of the wire, without padding.
    pub fields: Vec<Field>,
}

/// An error code of the 2019 draft.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct LegacyCode {
    /// The number.
    pub code: u32,
    /// Its name in the draft.
    pub name: String,
    /// The HRESULT of later editions for it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hresult: Option<String>,
}

/// Something that is read although nobody writes it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct Leniency {
    /// Its name.
    pub name: String,
    /// What is read.
    pub text: String,
}

/// A fault of a message.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct Fault {
    /// The name in vectors and reports.
    pub name: String,
    /// `transport`, `header`, `payload`, `limits` or `reply`.
    pub layer: String,
    /// The HRESULT of a server's answer to a request with this fault.
    pub answer: String,
}

/// An HRESULT with a name.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct HResult {
    /// The number: `0x80131384`.
    pub code: String,
    /// Its name.
    pub name: String,
}
