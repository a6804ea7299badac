//! Generate a codec for another language: the [`Grammar`] in a format that it or its tools read.
//!
//! ```
//! use diagipc::print::Format;
//! use dotnet_diagnostics_ipc_vectors::grammar::Grammar;
//!
//! let json = Format::Json.print(&Grammar::of_this_crate())?;
//! assert!(json.contains(r#""fields": [{ "name": "sessionId", "type": "ulong" }]"#));
//! # Ok::<(), diagipc::print::PrintError>(())
//! ```

mod c_header;
mod layout;
mod lua;
mod names;
mod template;

use std::fmt;

use dotnet_diagnostics_ipc_vectors::grammar::Grammar;

/// The formats of a [`Grammar`].
///
/// ```
/// use diagipc::print::Format;
/// use dotnet_diagnostics_ipc_vectors::grammar::Grammar;
///
/// let header = Format::C.print(&Grammar::of_this_crate())?;
/// assert!(header.starts_with("/*\n * dotnet_ipc.h: "));
/// # Ok::<(), diagipc::print::PrintError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Format {
    /// `spec/grammar.json`: all of it.
    Json,
    /// `c/dotnet_ipc.h`: a reader, a writer and a client in C99 and C++17, without the 2019 draft.
    C,
    /// `spec/dotnet_ipc.lua`: a dissector for Wireshark.
    Lua,
}

impl Format {
    /// The text of a file in this format.
    ///
    /// # Errors
    /// If the format does not support something in the grammar. It supports all of this crate's.
    pub fn print(self, grammar: &Grammar) -> Result<String, PrintError> {
        match self {
            Self::Json => Ok(layout::json(grammar)),
            Self::C => c_header::header(grammar),
            Self::Lua => lua::dissector(grammar),
        }
    }
}

/// A [`Grammar`] that a format does not support: it was changed by hand.
///
/// ```
/// use diagipc::print::Format;
/// use dotnet_diagnostics_ipc_vectors::grammar::Grammar;
///
/// let mut grammar = Grammar::of_this_crate();
/// grammar.header.magic = "no digits".into();
/// assert!(Format::C.print(&grammar).is_err());
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PrintError(String);

fn error(text: impl Into<String>) -> PrintError {
    PrintError(text.into())
}

fn bytes_of(digits: &str) -> Result<Vec<u8>, PrintError> {
    hex::decode(digits).map_err(|_| error(format!("{digits} is not hexadecimal")))
}

impl fmt::Display for PrintError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "not a grammar: {}", self.0)
    }
}

impl std::error::Error for PrintError {}
