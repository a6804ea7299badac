//! The reference runtime as a separate program.
#![cfg(unix)]

use std::io::{BufRead as _, BufReader};
use std::process::{Child, Stdio};

use crate::cli::diagipc;

/// A reference runtime at its default port.
pub(crate) struct Runtime {
    pub(crate) process: Child,
    /// The path of its socket.
    pub(crate) socket: String,
    home: tempfile::TempDir,
}

impl Runtime {
    pub(crate) fn start(options: &[&str]) -> Self {
        let home = crate::tool::directory();
        let mut command = diagipc(&["runtime", "--until-eof"]);
        command
            .args(options)
            .env("TMPDIR", home.path())
            .current_dir(home.path())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped());
        let mut process = command.spawn().unwrap();
        let mut socket = String::new();
        BufReader::new(process.stdout.take().unwrap()).read_line(&mut socket).unwrap();
        Self { process, socket: socket.trim_end().to_owned(), home }
    }

    pub(crate) fn pid(&self) -> String {
        self.process.id().to_string()
    }

    /// A path in a directory of this test.
    pub(crate) fn path(&self, name: &str) -> String {
        self.home.path().join(name).to_str().unwrap().to_owned()
    }
}

impl Drop for Runtime {
    fn drop(&mut self) {
        drop(self.process.stdin.take());
        let _ = self.process.wait();
    }
}
