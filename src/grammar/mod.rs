//! Generate a codec for another language: the grammar of every message as data, taken from the
//! crate's own field visitor, so that the two cannot differ.
//!
//! | what | where |
//! |---|---|
//! | fields, their order and types, and which belong to which `session_type` | `describe`: a [`Source`](crate::wire) that records what is requested |
//! | codes, versions, replies, continuations, faults | the tables of the crate |
//! | limits, the meaning of absent and empty strings | `facts`: a table; tests compare each row, and each field without one, with the crate |
//!
//! `spec/GRAMMAR.md` explains the output; `diagipc grammar` prints it.
#![forbid(unsafe_code)]

//! # Example
//!
//! Print the grammar for a codec in another language:
//!
//! ```
//! use dotnet_diagnostics_ipc::grammar::{Format, Grammar};
//!
//! let json = Grammar::of_this_crate().print(Format::Json)?;
//! assert!(json.contains(r#""fields": [{ "name": "sessionId", "type": "ulong" }]"#));
//! # Ok::<(), dotnet_diagnostics_ipc::grammar::GrammarError>(())
//! ```

mod c_header;
mod describe;
mod facts;
mod kaitai;
mod layout;
mod lua;
mod model;
mod names;
mod of_crate;
mod template;
#[cfg(test)]
mod tests;

use alloc::{
    format,
    string::{String, ToString as _},
    vec::Vec,
};
use core::fmt;

use model::Model;

/// The grammar: every message of every edition, with its fields, limits, reply and continuation.
///
/// ```
/// use dotnet_diagnostics_ipc::grammar::{Format, Grammar};
///
/// let json = Grammar::of_this_crate().print(Format::Json)?;
/// assert!(json.contains(r#""fields": [{ "name": "sessionId", "type": "ulong" }]"#));
/// assert_eq!(Grammar::from_json(&json)?, Grammar::of_this_crate());
/// # Ok::<(), dotnet_diagnostics_ipc::grammar::GrammarError>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Grammar(Model);

/// The formats of a [`Grammar`].
///
/// ```
/// use dotnet_diagnostics_ipc::grammar::{Format, Grammar};
///
/// let header = Grammar::of_this_crate().print(Format::C)?;
/// assert!(header.starts_with("/*\n * dotnet_ipc.h: "));
/// # Ok::<(), dotnet_diagnostics_ipc::grammar::GrammarError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Format {
    /// `spec/grammar.json`: all of it.
    Json,
    /// `c/dotnet_ipc.h`: a reader, a writer and a client in C99 and C++17, without the 2019 draft.
    C,
    /// `spec/dotnet_ipc.ksy`: a reader for the languages of Kaitai Struct.
    Ksy,
    /// `spec/dotnet_ipc.lua`: a dissector for Wireshark.
    Lua,
}

impl Grammar {
    /// The grammar of this crate.
    pub fn of_this_crate() -> Self {
        Self(of_crate::model())
    }

    /// A grammar printed as [`Format::Json`], possibly changed since.
    ///
    /// # Errors
    /// If it is not a grammar.
    pub fn from_json(text: &str) -> Result<Self, GrammarError> {
        serde_json::from_str(text).map(Self).map_err(|error| GrammarError(error.to_string()))
    }

    /// The text of a file in this format.
    ///
    /// # Errors
    /// If the format does not support something in the grammar. It supports all of this crate's
    /// grammar.
    pub fn print(&self, format: Format) -> Result<String, GrammarError> {
        match format {
            Format::Json => Ok(layout::json(&self.0)),
            Format::C => c_header::header(&self.0),
            Format::Ksy => kaitai::struct_of(&self.0),
            Format::Lua => lua::dissector(&self.0),
        }
    }
}

/// Text that is not a [`Grammar`], or a grammar that a format does not support.
///
/// ```
/// use dotnet_diagnostics_ipc::grammar::Grammar;
///
/// let error = Grammar::from_json("{}").unwrap_err();
/// assert!(error.to_string().starts_with("not a grammar: missing field"));
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GrammarError(String);

fn error(text: impl Into<String>) -> GrammarError {
    GrammarError(text.into())
}

fn bytes_of(digits: &str) -> Result<Vec<u8>, GrammarError> {
    hex::decode(digits).map_err(|_| error(format!("{digits} is not hexadecimal")))
}

impl fmt::Display for GrammarError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "not a grammar: {}", self.0)
    }
}

impl core::error::Error for GrammarError {}
