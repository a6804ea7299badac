//! The grammar of every message as data, taken from the crate's own field visitor, so that the two
//! cannot differ: for a codec in another language, or one that is chosen at run time.
//!
//! | what | where |
//! |---|---|
//! | fields, their order and types, and which belong to which `session_type` | `describe`: a source that records what is requested |
//! | codes, versions, replies, continuations, faults | the tables of the crate |
//! | limits, the meaning of absent and empty strings | `constraints`: a table; tests compare each row, and each field without one, with the crate |
//!
//! `spec/GRAMMAR.md` explains it, `spec/grammar.json` has it as JSON, and `diagipc grammar` prints
//! it for other languages and tools.

mod build;
mod constraints;
mod describe;
mod model;
#[cfg(test)]
mod tests;

use alloc::string::{String, ToString as _};
use core::fmt;

pub use model::{
    Check, Command, Continuation, Continuations, Descriptor, Entry, Environment, ErrorReply, Fault,
    Field, Frame, Grammar, HResult, Kind, Legacy, LegacyCode, LegacyCommand, Leniency, Limit,
    Measure, Nettrace, Old, Reply, Start, Struct, Text, UserEvents, When,
};

impl Grammar {
    /// The grammar of this crate.
    pub fn of_this_crate() -> Self {
        build::grammar()
    }

    /// A grammar as JSON, such as `spec/grammar.json`, possibly changed since.
    ///
    /// # Errors
    /// If it is not a grammar.
    pub fn from_json(text: &str) -> Result<Self, GrammarError> {
        serde_json::from_str(text).map_err(|error| GrammarError(error.to_string()))
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

/// Text that is not a [`Grammar`].
///
/// ```
/// use dotnet_diagnostics_ipc_vectors::grammar::Grammar;
///
/// let error = Grammar::from_json("{}").unwrap_err();
/// assert!(error.to_string().starts_with("not a grammar: missing field"));
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GrammarError(String);

impl fmt::Display for GrammarError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "not a grammar: {}", self.0)
    }
}

impl core::error::Error for GrammarError {}
