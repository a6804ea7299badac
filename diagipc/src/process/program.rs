//! A program to start, and how reports and messages show it.

use std::ffi::{OsStr, OsString};
use std::fmt;
use std::path::Path;
use std::process::Command;

/// A program to start, and its arguments.
///
/// ```
/// use diagipc::Program;
///
/// assert_eq!(Program::new("./server", ["--key", "secret"]).to_string(), "./server …");
/// ```
#[derive(Clone, Debug)]
pub struct Program {
    /// Its path, or its name in `PATH`.
    pub path: OsString,
    /// Its arguments.
    pub arguments: Vec<OsString>,
}

impl Program {
    /// A program and its arguments.
    pub fn new<W: Into<OsString>>(
        path: impl Into<OsString>,
        arguments: impl IntoIterator<Item = W>,
    ) -> Self {
        Self { path: path.into(), arguments: arguments.into_iter().map(Into::into).collect() }
    }

    /// What starts it.
    pub fn command(&self) -> Command {
        let mut command = Command::new(&self.path);
        command.args(&self.arguments);
        command
    }
}

/// The program, and the first argument that is a file: others may be secrets.
impl fmt::Display for Program {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&shown(std::iter::once(&self.path).chain(&self.arguments)))
    }
}

/// The program, and the first argument that is a file, such as a script; `…` stands for others:
/// they may be secrets, and a report is shown to many.
pub(crate) fn shown<W: AsRef<OsStr>>(command: impl IntoIterator<Item = W>) -> String {
    let mut shown: Vec<String> = Vec::new();
    let mut is_file_shown = false;
    for word in command {
        let path = Path::new(word.as_ref());
        let is_script = !shown.is_empty() && !is_file_shown && path.is_file();
        is_file_shown |= is_script;
        if shown.is_empty() || is_script {
            shown.push(path.display().to_string());
        } else if shown.last().is_none_or(|last| last != OMITTED) {
            shown.push(OMITTED.into());
        }
    }
    shown.join(" ")
}

const OMITTED: &str = "…";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_program_and_first_file_are_shown() {
        let (one, other) = ("Cargo.toml", "README.md");
        for (command, text) in [
            (&["./server"][..], "./server"),
            (&["env", "API_KEY=sk-12345", "KEY=2", "./server"], "env …"),
            (&["python3", one], "python3 Cargo.toml"),
            (&["python3", "-IS", one, "--key", other], "python3 … Cargo.toml …"),
            (&["Cargo.toml", one, "src"], "Cargo.toml Cargo.toml …"),
            (&[], ""),
        ] {
            assert_eq!(shown(command), text);
        }
    }
}
