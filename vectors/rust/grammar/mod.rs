//! The grammar of every message as data, taken from the crate's own field visitor, so that the two
//! cannot differ: for a codec in another language, or one that is chosen at run time.
//!
//! | what | where |
//! |---|---|
//! | fields, their order and types, and which belong to which `session_type` | `describe`: a visitor that records what is requested |
//! | codes, versions, replies, continuations, faults | the tables of the crate |
//! | limits, the meaning of absent and empty strings | `constraints`: a table; tests compare each row, and each field without one, with the crate |
//!
//! `spec/GRAMMAR.md` explains it, `spec/grammar.json` has it as JSON, `spec/grammar.schema.json` says
//! what each key means, and `diagipc dev grammar` prints it for other languages and tools. The parts
//! that no generator needs are plain JSON.

mod build;
mod constraints;
mod describe;
#[cfg(test)]
mod tests;

use alloc::{
    collections::BTreeMap,
    string::{String, ToString as _},
    vec::Vec,
};

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::LoadError;

impl Grammar {
    /// The grammar of this crate.
    pub fn of_this_crate() -> Self {
        build::grammar()
    }

    /// Reads a grammar from JSON, such as `spec/grammar.json`, possibly changed since.
    ///
    /// # Errors
    /// If it is not a grammar.
    ///
    /// ```
    /// use dotnet_diagnostics_ipc_vectors::grammar::Grammar;
    ///
    /// let error = Grammar::from_json("{}").unwrap_err();
    /// assert!(error.to_string().starts_with("not a grammar: missing field"));
    /// ```
    pub fn from_json(text: &str) -> Result<Self, LoadError> {
        serde_json::from_str(text)
            .map_err(|error| LoadError::new("not a grammar", error.to_string()))
    }

    /// The payload of an OK that answers this command.
    pub fn reply_to(&self, command: dotnet_diagnostics_ipc::command::Command) -> Option<&Reply> {
        let name = command.to_string();
        self.replies.iter().find(|reply| reply.answers.contains(&name))
    }

    /// The struct of this name.
    pub fn structure(&self, name: &str) -> Option<&Struct> {
        self.structs.iter().find(|structure| structure.name == name)
    }

    /// The kind of this name.
    pub fn kind(&self, name: &str) -> Option<&Kind> {
        self.kinds.iter().find(|kind| kind.name == name)
    }
}

macro_rules! model {
    ($($(#[$meta:meta])* $Name:ident { $($(#[$attribute:meta])* $field:ident: $T:ty,)* })*) => {$(
        #[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
        #[serde(deny_unknown_fields)]
        $(#[$meta])*
        #[non_exhaustive]
        pub struct $Name {
            $($(#[$attribute])* pub $field: $T,)*
        }
    )*};
}

model! {
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
    #[serde(rename_all = "camelCase")]
    Grammar {
        /// The JSON schema of this, beside it.
        schema: String,
        /// The version of that schema.
        format: u32,
        /// `DOTNET_IPC_V1`.
        protocol: String,
        /// The byte order of all integers and UTF-16 units.
        byte_order: String,
        /// The largest size in a header: header and payload, in bytes.
        largest_message: usize,
        /// The header of every message.
        header: Frame,
        /// The checks of a message, in order: the first that fails gives the fault.
        checks: Value,
        /// The types that are not structs.
        kinds: Vec<Kind>,
        /// The types with fields.
        structs: Vec<Struct>,
        /// The requests.
        commands: Vec<Command>,
        /// The OK replies. Any command may be answered by an OK without payload too, or by the error.
        replies: Vec<Reply>,
        /// The error reply.
        error: ErrorReply,
        /// What follows an OK reply on its connection.
        continuations: Continuations,
        /// What a runtime sends first to a diagnostic port.
        advertise: Frame,
        /// The 2019 draft, and the protocol before this one.
        legacy: Legacy,
        /// What is read although nobody writes it: a closed list.
        leniencies: Value,
        /// Every fault of a message, with its layer and answer.
        faults: Vec<Fault>,
        /// The HRESULTs with a name.
        hresults: Vec<NamedHResult>,
    }

    /// Fields at fixed offsets after a magic.
    Frame {
        /// Who sends it.
        direction: String,
        /// Its size in bytes, with the magic.
        bytes: usize,
        /// The first bytes, in hexadecimal.
        magic: String,
        /// In the order of the wire, without padding.
        fields: Vec<Field>,
    }

    /// The encoding of a type that is not a struct. Without `bytes` and `count`: the rest of the payload.
    #[derive(Default)]
    Kind {
        /// Its name in [`Field::type_name`].
        name: String,
        /// The size of a type with a fixed one, in bytes.
        #[serde(skip_serializing_if = "Option::is_none")]
        bytes: Option<usize>,
        /// For a type that begins with a count: the type of the count.
        #[serde(skip_serializing_if = "Option::is_none")]
        count: Option<String>,
        /// The size of a counted unit, in bytes.
        #[serde(skip_serializing_if = "Option::is_none")]
        unit: Option<usize>,
        /// The last unit, which must be this.
        #[serde(skip_serializing_if = "Option::is_none")]
        last: Option<u32>,
        /// The value form, as in `vectors/README.md`.
        value: String,
    }

    /// A type with fields.
    Struct {
        /// Its name in [`Field::type_name`].
        name: String,
        /// Its minimum size in bytes: a count of them is refused if the payload is too short for that.
        least: usize,
        /// In the order of the wire, without padding.
        fields: Vec<Field>,
        /// What a server refuses of it as a whole.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        limits: Vec<Limit>,
    }

    /// A field of a message or a struct.
    #[derive(Default)]
    Field {
        /// As in the newest edition.
        name: String,
        /// A kind or a struct.
        #[serde(rename = "type")]
        type_name: String,
        /// For an array: the type of its items.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        items: Option<String>,
        /// When it is present; `None`: always.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        when: Option<When>,
        /// The grammar refuses all other numbers.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        only: Option<Vec<u32>>,
        /// Whether the number is a set of bits.
        #[serde(default, skip_serializing_if = "core::ops::Not::not")]
        bits: bool,
        /// The numbers that have a name.
        #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
        names: BTreeMap<u32, String>,
        /// The unit of the number.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        unit: Option<String>,
        /// What a server refuses although it decodes.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        limits: Vec<Limit>,
        /// What a string of length 0 means.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        absent: Option<String>,
        /// What a string of length 1, the NUL alone, means.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        empty: Option<String>,
    }

    /// The condition of a field or a continuation. Two fields of one name have conditions that exclude each other.
    #[derive(Default)]
    #[serde(rename_all = "camelCase")]
    When {
        /// An earlier field of the same payload.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        field: Option<String>,
        /// The value of that field.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        is: Option<u32>,
        /// The answered commands.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        answers: Option<Vec<String>>,
        /// Only if bytes of the payload are left.
        #[serde(default, skip_serializing_if = "core::ops::Not::not")]
        bytes_left: bool,
    }

    /// A value that decodes but is refused by a server: a measure in none of the ranges.
    Limit {
        /// One of [`Grammar::faults`].
        fault: String,
        /// What is measured.
        of: Measure,
        /// For a limit of a struct: paths of fields in it.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        fields: Vec<String>,
        /// The first and last allowed measure of each range; none for [`Measure::Distinct`].
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        ranges: Vec<[u32; 2]>,
    }

    /// A request.
    Command {
        /// `Set/Name`.
        name: String,
        /// Set and id, a byte each in this order: `0x0204`.
        code: String,
        /// The first .NET that has it.
        since: String,
        /// Who sends it.
        direction: String,
        /// In the order of the wire, without padding.
        fields: Vec<Field>,
        /// The name of its OK reply.
        reply: String,
        /// What follows the OK reply.
        continuation: Vec<Continuation>,
    }

    /// What follows an OK reply.
    Continuation {
        /// One of the names of [`Continuations`].
        name: String,
        /// When it follows; `None`: always.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        when: Option<When>,
    }

    /// The payload of an OK reply.
    Reply {
        /// Its name in [`Command::reply`].
        name: String,
        /// Set and id, a byte each in this order.
        code: String,
        /// Who sends it.
        direction: String,
        /// In the order of the wire, without padding.
        fields: Vec<Field>,
        /// The commands that it answers.
        answers: Vec<String>,
    }

    /// The error reply.
    ErrorReply {
        /// Set and id, a byte each in this order.
        code: String,
        /// Who sends it.
        direction: String,
        /// In the order of the wire, without padding.
        fields: Vec<Field>,
    }

    /// The kinds of continuations.
    Continuations {
        /// Nothing: the server closes.
        close: Value,
        /// The stream of a session.
        nettrace: Nettrace,
        /// The environment block.
        environment: Environment,
        /// A descriptor, from the client.
        user_events: Value,
    }

    /// The stream of a session.
    Nettrace {
        /// What it is.
        text: String,
        /// How streams begin.
        starts: Vec<Start>,
    }

    /// The first bytes that identify a stream.
    Start {
        /// The format of the stream.
        name: String,
        /// The first bytes, in hexadecimal.
        bytes: String,
        /// The fields after them.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        fields: Vec<Field>,
    }

    /// The environment block.
    Environment {
        /// What it is.
        text: String,
        /// The field of the reply with its size in bytes.
        size: String,
        /// The type of the number of entries.
        count: String,
        /// An entry, `NAME=value`.
        entry: Entry,
        /// What may replace a count.
        instead: String,
    }

    /// An entry of the environment block.
    Entry {
        /// The type of its count of units.
        count: String,
        /// The size of a unit, in bytes.
        unit: usize,
        /// Its minimum size, in bytes.
        least: usize,
        /// The last unit.
        last: u32,
        /// The unit between name and value.
        split: u32,
    }

    /// The 2019 draft, and the protocol before this one.
    #[serde(rename_all = "camelCase")]
    Legacy {
        /// The requests whose fields a later edition changed.
        commands: Vec<LegacyCommand>,
        /// A request of the protocol before this one.
        old_request: Value,
        /// Its reply.
        old_reply: Value,
        /// The error codes of the 2019 draft.
        error_codes: Value,
    }

    /// A request of the 2019 draft.
    LegacyCommand {
        /// `Set/Name`.
        name: String,
        /// Set and id, a byte each in this order.
        code: String,
        /// The label of the edition, as in `spec/README.md`.
        edition: String,
        /// Who sends it.
        direction: String,
        /// In the order of the wire, without padding.
        fields: Vec<Field>,
    }

    /// A fault of a message.
    Fault {
        /// The name in vectors and reports.
        name: String,
        /// `transport`, `header`, `payload`, `limits` or `reply`.
        layer: String,
        /// The HRESULT of a server's answer to a request with this fault.
        answer: String,
    }

    /// An HRESULT with a name.
    NamedHResult {
        /// The number: `0x80131384`.
        code: String,
        /// Its name.
        name: String,
    }
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
