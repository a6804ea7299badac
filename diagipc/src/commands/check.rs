//! `diagipc check`.

use std::collections::BTreeSet;
use std::io::Write;
use std::panic::resume_unwind;
use std::path::{Path, PathBuf};
use std::{fs, thread};

use anyhow::{Context as _, bail};
use comfy_table::presets::NOTHING;
use comfy_table::{CellAlignment, Table};
#[cfg(unix)]
use diagipc::client;
use diagipc::codec;
use diagipc::embedded::{self, NamedFile, PACKAGE, SCENARIOS, SCRIPTS, Texts, VECTORS};
use diagipc::report::Requirement;
use diagipc::{Adapter, Report};
use dotnet_diagnostics_ipc::io::Canceller;
use dotnet_diagnostics_ipc_vectors::parse;

#[cfg(unix)]
use crate::commands::output::Progress;
use crate::commands::output::{Chosen, OfSuite, Output};
use crate::commands::{Outcome, interrupt};

/// Checks everything in this program: its codec against every golden vector, the reference runtime
/// with the server suite, and the built-in client with the client suite.
///
/// The suites use real sockets in temporary directories, and do not touch other processes.
#[derive(clap::Args)]
#[command(
    after_help = "Exit status: 0 nothing failed, 1 a case failed, or an accepted fault is gone (--known), 2 usage error, or a file that cannot be read or written, 129, 130 or 143 interrupted by SIGHUP, SIGINT or SIGTERM."
)]
pub(crate) struct Arguments {
    /// Check only the files of this directory instead of those in the program
    #[arg(long, value_name = "DIRECTORY")]
    vectors: Option<PathBuf>,

    #[command(flatten)]
    output: Output,
}

pub(crate) fn run(arguments: &Arguments, out: &mut dyn Write) -> anyhow::Result<Outcome> {
    let canceller = interrupt::canceller()?;
    let mut report = Report::new("check", concat!("diagipc ", env!("CARGO_PKG_VERSION")));
    let given = arguments.vectors.as_deref().map(read).transpose()?;
    let files = match &given {
        Some(files) => files,
        None => embedded::vectors()?,
    };
    let all = if arguments.vectors.is_some() { questions(files) } else { cases(files)? };
    let own: &[Texts] = &[VECTORS, SCRIPTS, SCENARIOS];
    let files_of = if arguments.vectors.is_none() { own } else { &[] };
    let Chosen { cases, suite } = arguments.output.choose(all, files_of)?;
    if arguments.output.is_list() {
        return Output::list(&cases, out);
    }
    let chosen: BTreeSet<String> = cases.into_iter().map(|case| case.name).collect();
    let chosen = |suite: &'static str, name: &str| chosen.contains(&format!("{suite}/{name}"));
    // In parallel, as the suites mostly wait.
    let (own, suites) = thread::scope(|scope| {
        let own = scope.spawn(|| {
            let mut cases = codec::cases(files);
            cases.retain(|case| chosen("codec", &case.name()));
            let mut adapter = Adapter::own().with_canceller(canceller.clone());
            let report = codec::run(&cases, &mut adapter, &[], &mut |_| ());
            (report, coverage(Requirement::embedded()))
        });
        let suites = match given {
            None => suites(&chosen, &arguments.output, &canceller),
            Some(_) => Ok(Vec::new()),
        };
        (own.join(), suites)
    });
    let (own, coverage) = own.unwrap_or_else(|panic| resume_unwind(panic));
    report.absorb(own);
    report.notes.push(coverage);
    if cfg!(not(unix)) && arguments.vectors.is_none() {
        report.notes.push("the server and client suites were not run: use `diagipc server` and `diagipc client` on this system".to_owned());
    }
    for one in suites? {
        report.absorb(one);
    }
    arguments.output.write(report, &suite, out)
}

/// Returns the cases of all suites.
pub(crate) fn cases(files: &[NamedFile]) -> anyhow::Result<Vec<OfSuite>> {
    let mut all = questions(files);
    all.extend(played()?);
    Ok(all)
}

/// Returns the cases of the codec suite.
fn questions(files: &[NamedFile]) -> Vec<OfSuite> {
    codec::cases(files).iter().map(|case| OfSuite::new("codec", case)).collect()
}

/// How many requirements there are, and how many a vector or test covers.
fn coverage(all: &[Requirement]) -> String {
    let unshown: Vec<&str> =
        all.iter().filter(|one| one.shown_by.is_empty()).map(|one| one.id.as_str()).collect();
    let shown = all.len().saturating_sub(unshown.len());
    let unshown = if unshown.is_empty() {
        String::new()
    } else {
        format!("; not shown yet: {}", unshown.join(", "))
    };
    format!("{} requirements, {shown} of them shown by a vector or a test{unshown}", all.len())
}

/// The cases of the suites that need sockets.
#[cfg(unix)]
fn played() -> anyhow::Result<Vec<OfSuite>> {
    let mut all = crate::commands::server::checked()?;
    all.extend(client::scenarios()?.iter().map(|scenario| OfSuite::new("client", scenario)));
    Ok(all)
}

/// The cases of the suites that need sockets.
#[cfg(not(unix))]
#[allow(clippy::unnecessary_wraps, reason = "on Unix it may fail")]
fn played() -> anyhow::Result<Vec<OfSuite>> {
    Ok(Vec::new())
}

/// Whether a case of a suite is played.
type IsChosen<'c> = &'c (dyn Fn(&'static str, &str) -> bool + Sync);

/// The suites that need sockets.
#[cfg(not(unix))]
#[allow(clippy::unnecessary_wraps, reason = "on Unix they may fail")]
fn suites(_: IsChosen<'_>, _: &Output, _: &Canceller) -> anyhow::Result<Vec<Report>> {
    Ok(Vec::new())
}

/// The suites that need sockets.
#[cfg(unix)]
fn suites(
    chosen: IsChosen<'_>,
    output: &Output,
    canceller: &Canceller,
) -> anyhow::Result<Vec<Report>> {
    crate::commands::interrupt::own()?;
    let this = std::env::current_exe().context("the path of this program")?;
    let progress = Progress::new(0, output);
    let (server, client) = thread::scope(|scope| {
        let server = scope.spawn(|| {
            let is_chosen = |name: &str| chosen("server", name);
            crate::commands::server::check(&this, &is_chosen, &progress, canceller)
        });
        let is_chosen = |name: &str| chosen("client", name);
        let client = crate::commands::client::check(&this, &is_chosen, &progress, canceller);
        (server.join(), client)
    });
    Ok(vec![server.unwrap_or_else(|panic| resume_unwind(panic))?, client?])
}

/// The `*.json` files of a directory, by name.
fn read(directory: &Path) -> anyhow::Result<Vec<NamedFile>> {
    let entries = fs::read_dir(directory).with_context(|| directory.display().to_string())?;
    let mut paths: Vec<_> =
        entries.map(|entry| entry.map(|entry| entry.path())).collect::<Result<_, _>>()?;
    // `index.json` and others of an exported directory are not tests of their own.
    let own = |path: &PathBuf| PACKAGE.iter().any(|(name, _)| path.ends_with(name));
    paths
        .retain(|path| path.extension().is_some_and(|extension| extension == "json") && !own(path));
    paths.sort();
    if paths.is_empty() {
        bail!("{}: no .json file", directory.display());
    }
    let read = paths.iter().map(|path| {
        let text = fs::read_to_string(path).with_context(|| path.display().to_string())?;
        let name =
            path.file_stem().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        Ok(NamedFile { name, file: parse(&path.display().to_string(), &text)? })
    });
    read.collect()
}

/// A table without lines, with right-aligned numbers.
pub(crate) fn table<const N: usize>(header: [&str; N]) -> Table {
    let mut table = Table::new();
    table.load_preset(NOTHING).set_header(header);
    for (index, title) in header.iter().enumerate() {
        if let (true, Some(column)) = (
            ["tests", "passed", "failed", "requirements", "shown"].contains(title),
            table.column_mut(index),
        ) {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }
    table
}
