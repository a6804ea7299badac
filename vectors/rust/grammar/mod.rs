//! The grammar of every message as data, for a codec in another language or one that is built at
//! run time. It is taken from the crate's own field visitor, so it cannot differ from the crate.
//!
//! | part | source |
//! |---|---|
//! | fields, their order and types, and their `session_type` | `describe`, a visitor that records what is requested |
//! | codes, versions, replies, continuations, faults | the tables of the crate |
//! | limits, the meaning of absent and empty strings | `constraints`, a table; tests compare each row, and each field without a row, with the crate |
//!
//! `spec/GRAMMAR.md` explains the grammar, `spec/grammar.json` has it as JSON, and
//! `spec/grammar.schema.json` describes each key. `diagipc dev grammar` prints it for other languages
//! and tools. Parts that no generator needs are plain JSON.

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
    /// Returns the grammar of this crate.
    pub fn of_this_crate() -> Self {
        build::grammar()
    }

    /// Parses a grammar from JSON, such as `spec/grammar.json` with changes.
    ///
    /// # Errors
    /// If the text is not a grammar.
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

    /// Returns the payload of an OK that answers this command.
    pub fn reply_to(&self, command: dotnet_diagnostics_ipc::command::Command) -> Option<&Reply> {
        let name = command.to_string();
        self.replies.iter().find(|reply| reply.answers.contains(&name))
    }

    /// Returns the struct with this name.
    pub fn structure(&self, name: &str) -> Option<&Struct> {
        self.structs.iter().find(|structure| structure.name == name)
    }

    /// Returns the kind with this name.
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
    /// The grammar of every message of every edition: its fields, limits, reply and continuation.
    ///
    /// ```
    /// use dotnet_diagnostics_ipc::command::Command;
    /// use dotnet_diagnostics_ipc_vectors::grammar::Grammar;
    ///
    /// let grammar = Grammar::of_this_crate();
    /// let reply = grammar.reply_to(Command::PROCESS_INFO).expect("it has fields");
    /// let types: Vec<_> = reply.fields.iter().map(|field| field.type_name.as_str()).collect();
    /// assert_eq!(types, ["ulong", "guid", "string", "string", "string"]);
    /// // A string is a count of units, and as many units. The last unit is 0.
    /// let string = grammar.kind("string").expect("it is a kind");
    /// assert_eq!((string.count.as_deref(), string.unit, string.last), (Some("uint"), Some(2), Some(0)));
    /// ```
    #[serde(rename_all = "camelCase")]
    Grammar {
        /// The JSON schema of this file, in the same directory.
        schema: String,
        /// The version of that schema.
        format: u32,
        /// The name of the protocol, `DOTNET_IPC_V1`.
        protocol: String,
        /// The byte order of all integers and UTF-16 units.
        byte_order: String,
        /// The maximum size of a message with its header, in bytes.
        largest_message: usize,
        /// The header of every message.
        header: Frame,
        /// The checks of a message in order. The first check that fails determines the fault.
        checks: Value,
        /// The types that are not structs.
        kinds: Vec<Kind>,
        /// The types with fields.
        structs: Vec<Struct>,
        /// The requests.
        commands: Vec<Command>,
        /// The OK replies. An OK without payload or the error may also answer any command.
        replies: Vec<Reply>,
        /// The error reply.
        error: ErrorReply,
        /// What follows an OK reply on its connection.
        continuations: Continuations,
        /// The first bytes that a runtime sends to a diagnostic port.
        advertise: Frame,
        /// The 2019 draft, and the previous protocol.
        legacy: Legacy,
        /// Forms that are accepted although nobody writes them. The list is complete.
        leniencies: Value,
        /// Every fault of a message, with its layer and the answer of a server.
        faults: Vec<Fault>,
        /// The HRESULTs with a name.
        hresults: Vec<NamedHResult>,
    }

    /// Fields at fixed offsets after a magic.
    Frame {
        /// The sender.
        direction: String,
        /// The size in bytes, including the magic.
        bytes: usize,
        /// The first bytes, in hexadecimal.
        magic: String,
        /// The fields in the order of the wire, without padding.
        fields: Vec<Field>,
    }

    /// The encoding of a type that is not a struct. Without `bytes` and `count`: the payload's rest.
    #[derive(Default)]
    Kind {
        /// The name of the type in [`Field::type_name`].
        name: String,
        /// The size in bytes, if it is fixed.
        #[serde(skip_serializing_if = "Option::is_none")]
        bytes: Option<usize>,
        /// The type of the count with which the value begins.
        #[serde(skip_serializing_if = "Option::is_none")]
        count: Option<String>,
        /// The size of a counted unit, in bytes.
        #[serde(skip_serializing_if = "Option::is_none")]
        unit: Option<usize>,
        /// The required value of the last unit.
        #[serde(skip_serializing_if = "Option::is_none")]
        last: Option<u32>,
        /// The value form, as in `vectors/README.md`.
        value: String,
    }

    /// A type with fields.
    Struct {
        /// The name of the type in [`Field::type_name`].
        name: String,
        /// The minimum size in bytes. A count is refused if the payload is too short for as many
        /// structs of this size.
        least: usize,
        /// The fields in the order of the wire, without padding.
        fields: Vec<Field>,
        /// The limits of a server for the struct as a whole.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        limits: Vec<Limit>,
    }

    /// A field of a message or a struct.
    #[derive(Default)]
    Field {
        /// The name in the newest edition.
        name: String,
        /// The name of a kind or a struct.
        #[serde(rename = "type")]
        type_name: String,
        /// The type of the items of an array.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        items: Option<String>,
        /// The condition under which the field is present. `None` means always.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        when: Option<When>,
        /// The only numbers that decode.
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
        /// The limits of a server for a value that decodes.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        limits: Vec<Limit>,
        /// The meaning of a string of length 0.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        absent: Option<String>,
        /// The meaning of a string of length 1, which is only the NUL.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        empty: Option<String>,
    }

    /// The condition of a field or continuation. Conditions of equally named fields are exclusive.
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
        /// Whether the payload must have bytes left.
        #[serde(default, skip_serializing_if = "core::ops::Not::not")]
        bytes_left: bool,
    }

    /// A limit of a server for a value that decodes. A measure in none of the ranges is refused.
    Limit {
        /// The name of a fault in [`Grammar::faults`].
        fault: String,
        /// The measure of the value.
        of: Measure,
        /// The paths of fields in a struct, for a limit of that struct.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        fields: Vec<String>,
        /// The first and last allowed measure of each range. Empty for [`Measure::Distinct`].
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        ranges: Vec<[u32; 2]>,
    }

    /// A request.
    Command {
        /// The name as `Set/Name`.
        name: String,
        /// The code: set and id, one byte each in this order, such as `0x0204`.
        code: String,
        /// The first .NET version that has the command.
        since: String,
        /// The sender.
        direction: String,
        /// The fields in the order of the wire, without padding.
        fields: Vec<Field>,
        /// The name of the OK reply.
        reply: String,
        /// What follows the OK reply.
        continuation: Vec<Continuation>,
    }

    /// What follows an OK reply.
    Continuation {
        /// The name of a field of [`Continuations`].
        name: String,
        /// The condition under which it follows. `None` means always.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        when: Option<When>,
    }

    /// The payload of an OK reply.
    Reply {
        /// The name of the reply in [`Command::reply`].
        name: String,
        /// The code: set and id, one byte each in this order.
        code: String,
        /// The sender.
        direction: String,
        /// The fields in the order of the wire, without padding.
        fields: Vec<Field>,
        /// The commands that it answers.
        answers: Vec<String>,
    }

    /// The error reply.
    ErrorReply {
        /// The code: set and id, one byte each in this order.
        code: String,
        /// The sender.
        direction: String,
        /// The fields in the order of the wire, without padding.
        fields: Vec<Field>,
    }

    /// The kinds of continuations.
    Continuations {
        /// Nothing follows, and the server closes the connection.
        close: Value,
        /// The stream of a session.
        nettrace: Nettrace,
        /// The environment block.
        environment: Environment,
        /// A file descriptor that the client sends.
        user_events: Value,
    }

    /// The stream of a session.
    Nettrace {
        /// A description of the stream.
        text: String,
        /// The first bytes of each format.
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
        /// A description of the block.
        text: String,
        /// The field of the reply that has the size of the block in bytes.
        size: String,
        /// The type of the count of entries.
        count: String,
        /// An entry, `NAME=value`.
        entry: Entry,
        /// A description of what may replace a count.
        instead: String,
    }

    /// An entry of the environment block.
    Entry {
        /// The type of the count of units.
        count: String,
        /// The size of a unit, in bytes.
        unit: usize,
        /// The minimum size of an entry in bytes.
        least: usize,
        /// The required value of the last unit.
        last: u32,
        /// The unit between name and value.
        split: u32,
    }

    /// The 2019 draft, and the previous protocol.
    #[serde(rename_all = "camelCase")]
    Legacy {
        /// The requests whose fields a later edition changed.
        commands: Vec<LegacyCommand>,
        /// A request of the previous protocol.
        old_request: Value,
        /// The reply of the previous protocol.
        old_reply: Value,
        /// The error codes of the 2019 draft.
        error_codes: Value,
    }

    /// A request of the 2019 draft.
    LegacyCommand {
        /// The name as `Set/Name`.
        name: String,
        /// The code: set and id, one byte each in this order.
        code: String,
        /// The label of the edition, as in `spec/README.md`.
        edition: String,
        /// The sender.
        direction: String,
        /// The fields in the order of the wire, without padding.
        fields: Vec<Field>,
    }

    /// A fault of a message.
    Fault {
        /// The name in vectors and reports.
        name: String,
        /// The layer: `transport`, `header`, `payload`, `limits` or `reply`.
        layer: String,
        /// The HRESULT that a server answers to a request with this fault.
        answer: String,
    }

    /// An HRESULT with a name.
    NamedHResult {
        /// The number, such as `0x80131384`.
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
    /// The count on the wire: of items, or of units with the NUL (0 if absent).
    Count,
    /// The number of units before a string's first NUL that are not white space in C (9 to 13 and
    /// 32). 0 if the string is absent.
    VisibleBeforeNul,
    /// The number of UTF-8 bytes of a string's units before its first NUL. Half a surrogate pair
    /// takes 3, as U+FFFD.
    Utf8BeforeNul,
    /// The sum of the counts of `fields`.
    CountOfAll,
    /// Whether all numbers at the path in `fields` are different.
    Distinct,
}
