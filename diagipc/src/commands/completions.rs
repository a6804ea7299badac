//! `diagipc completions`.

use std::io::Write;

use clap_complete::{Shell, generate};

/// Prints completions for a shell: `source <(diagipc completions bash)`.
#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// The shell
    shell: Shell,
}

pub(crate) fn run(arguments: &Arguments, program: &mut clap::Command, out: &mut dyn Write) {
    generate(arguments.shell, program, "diagipc", &mut &mut *out);
}
