//! `diagipc grammar`.

use std::io::Write;
use std::path::PathBuf;

use anyhow::Context as _;
use diagipc::print::Format;
use dotnet_diagnostics_ipc_vectors::grammar::Grammar;

use crate::commands::Outcome;

/// Prints the grammar of every message for other languages and tools
#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// The output format
    #[arg(long, value_enum)]
    format: As,
    /// A grammar that was printed as JSON and then edited, instead of the built-in one
    #[arg(long, value_name = "FILE", hide = true)]
    from: Option<PathBuf>,
}

#[derive(Clone, Copy, clap::ValueEnum)]
enum As {
    /// `spec/grammar.json`: fields, types, limits, replies and continuations of every message
    Json,
    /// `c/dotnet_ipc.h`: a reader, a writer and a client for C99 and C++17
    C,
    /// `spec/dotnet_ipc.lua`: a dissector for Wireshark
    Lua,
}

pub(crate) fn run(arguments: &Arguments, out: &mut dyn Write) -> anyhow::Result<Outcome> {
    let grammar = match &arguments.from {
        None => Grammar::of_this_crate(),
        Some(file) => {
            let text = std::fs::read_to_string(file).with_context(|| file.display().to_string())?;
            Grammar::from_json(&text).with_context(|| file.display().to_string())?
        }
    };
    let format = match arguments.format {
        As::Json => Format::Json,
        As::C => Format::C,
        As::Lua => Format::Lua,
    };
    out.write_all(format.print(&grammar)?.as_bytes())?;
    Ok(Outcome::Well)
}
