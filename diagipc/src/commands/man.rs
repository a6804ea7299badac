//! `diagipc man`.

use std::io::Write;
use std::path::PathBuf;

use anyhow::Context as _;

use crate::commands::Outcome;

/// Writes the manual pages into a directory: diagipc.1, and one for each command.
#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// The directory; must exist
    directory: PathBuf,
}

pub(crate) fn run(
    arguments: &Arguments,
    program: clap::Command,
    out: &mut dyn Write,
) -> anyhow::Result<Outcome> {
    let commands = program.get_subcommands().filter(|command| !command.is_hide_set()).count();
    clap_mangen::generate_to(program, &arguments.directory)
        .with_context(|| arguments.directory.display().to_string())?;
    writeln!(
        out,
        "{}: diagipc.1, and a page for each of {commands} commands",
        arguments.directory.display()
    )?;
    Ok(Outcome::Well)
}
