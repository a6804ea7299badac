//! `diagipc dev`.

use std::fs;
use std::io::{self, BufRead as _, Write};
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use clap_complete::{Shell, generate};
use diagipc::codec;
use diagipc::embedded::corpus::{TARGETS, dictionary, seeds};
use diagipc::print::Format;
use dotnet_diagnostics_ipc_vectors::grammar::Grammar;

use crate::commands::{Outcome, output_file};

#[derive(clap::Args)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    what: What,
}

#[derive(clap::Subcommand)]
enum What {
    /// Prints the grammar of every message for other languages and tools
    Grammar {
        /// The output format
        #[arg(long, value_enum)]
        format: As,
        /// A grammar that was printed as JSON and then edited, instead of the built-in one
        #[arg(long, value_name = "FILE", hide = true)]
        from: Option<PathBuf>,
    },
    /// Prints completions for a shell: `source <(diagipc dev completions bash)`
    Completions {
        /// The shell
        shell: Shell,
    },
    /// Writes the manual pages into a directory: diagipc.1, and one for each command
    Man {
        /// The directory; must exist
        directory: PathBuf,
    },
    /// Writes the corpus of a fuzzer: for each target of fuzz/ a directory of seeds, and
    /// `dictionary.txt`
    Corpus {
        /// The directory; created if missing. Other files are kept
        directory: PathBuf,
    },
}

#[derive(Clone, Copy, clap::ValueEnum)]
enum As {
    /// `spec/grammar.json`: fields, types, limits, replies and continuations of every message
    Json,
    /// `c/dotnet_ipc.h`: a reader, a writer and a client for C99 and C++98
    C,
    /// `vectors/dotnetipc/dotnetipc.go`: a codec for Go
    Go,
    /// `spec/dotnet_ipc.lua`: a dissector for Wireshark
    Lua,
}

pub(crate) fn run(
    arguments: &Arguments,
    mut program: clap::Command,
    out: &mut dyn Write,
) -> anyhow::Result<Outcome> {
    match &arguments.what {
        What::Grammar { format, from } => {
            let format = match format {
                As::Json => Format::Json,
                As::C => Format::C,
                As::Go => Format::Go,
                As::Lua => Format::Lua,
            };
            let grammar = from.as_deref().map_or(Ok(Grammar::of_this_crate()), read_grammar)?;
            out.write_all(format.print(&grammar)?.as_bytes())?;
        }
        What::Completions { shell } => {
            generate(*shell, &mut program, "diagipc", &mut &mut *out);
        }
        What::Man { directory } => {
            let commands = program.get_subcommands().filter(|one| !one.is_hide_set()).count();
            let shown = directory.display();
            clap_mangen::generate_to(program, directory).with_context(|| shown.to_string())?;
            writeln!(out, "{shown}: diagipc.1, and a page for each of {commands} commands")?;
        }
        What::Corpus { directory } => corpus(directory, out)?,
    }
    Ok(Outcome::Well)
}

fn read_grammar(file: &Path) -> anyhow::Result<Grammar> {
    let text = fs::read_to_string(file).with_context(|| file.display().to_string())?;
    Grammar::from_json(&text).with_context(|| file.display().to_string())
}

fn corpus(directory: &Path, out: &mut dyn Write) -> anyhow::Result<()> {
    for target in TARGETS {
        let place = directory.join(target);
        fs::create_dir_all(&place).with_context(|| place.display().to_string())?;
        let seeds = seeds(target)?;
        for seed in &seeds {
            output_file::export(&place.join(&seed.name), &seed.input)?;
        }
        writeln!(out, "{:>5} seeds in {}", seeds.len(), place.display())?;
    }
    output_file::export(&directory.join("dictionary.txt"), dictionary().as_bytes())
}

/// `diagipc adapter`: answers the questions on standard input with this codec, one JSON object a
/// line.
pub(crate) fn adapter(out: &mut dyn Write) -> anyhow::Result<Outcome> {
    for line in io::stdin().lock().lines() {
        writeln!(out, "{}", codec::answer(&line?))?;
        out.flush()?;
    }
    Ok(Outcome::Well)
}
