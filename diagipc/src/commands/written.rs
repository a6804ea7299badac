//! What became of a file that a command was to write, as JSON.

use std::io::{self, Write};

use serde::Serialize;

use crate::commands::Outcome;
use crate::commands::info::Info;
use crate::commands::printable::json;

/// A trace or a dump.
#[derive(Debug, Default, Serialize)]
pub(crate) struct Written {
    /// Where its bytes are, if there are any.
    pub(crate) file: Option<String>,
    pub(crate) bytes: u64,
    /// Of a trace from the start of the session to the end of the stream, of a dump the whole request.
    pub(crate) seconds: f64,
    /// What the process says of itself; .NET Core 3.1 says nothing.
    pub(crate) process: Option<Info>,
    pub(crate) complete: bool,
    /// How many events the runtime dropped, of a trace that is whole, if that is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) lost: Option<u64>,
    /// Why it is not complete.
    pub(crate) why: Option<String>,
    exit: i32,
}

impl Written {
    /// One object, with the exit status of this outcome.
    pub(crate) fn print(
        &mut self,
        ended: &anyhow::Result<Outcome>,
        out: &mut dyn Write,
    ) -> io::Result<()> {
        self.exit = ended.as_ref().map_or(Outcome::FAILURE, Outcome::status);
        json(self, out)
    }
}
