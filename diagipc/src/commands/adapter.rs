//! `diagipc adapter`: this codec as an adapter of the line protocol; `diagipc codec --self` uses
//! it.

use std::io::{self, BufRead as _, Write};

use diagipc::codec;

use crate::commands::Outcome;

/// Answers the questions on standard input, one JSON object a line: an example of an adapter.
#[derive(clap::Args)]
pub(crate) struct Arguments {}

pub(crate) fn run(_: &Arguments, out: &mut dyn Write) -> anyhow::Result<Outcome> {
    for line in io::stdin().lock().lines() {
        writeln!(out, "{}", codec::answer(&line?))?;
        out.flush()?;
    }
    Ok(Outcome::Well)
}
