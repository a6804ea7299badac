//! `diagipc check`.

use std::collections::BTreeSet;
use std::fs;
use std::io::Write;
#[cfg(unix)]
use std::panic::resume_unwind;
use std::path::{Path, PathBuf};
#[cfg(unix)]
use std::thread;

use anyhow::{Context as _, bail};
use comfy_table::{CellAlignment, Table, presets::NOTHING};
#[cfg(unix)]
use diagipc::client;
use diagipc::codec::{self, NamedFile};
use diagipc::report::Requirement;
use diagipc::{Glob, Report, vectors};
use dotnet_diagnostics_ipc::io::Canceller;
use dotnet_diagnostics_ipc::vectors as golden;

use crate::commands::output::Output;
#[cfg(unix)]
use crate::commands::output::Progress;
use crate::commands::{Outcome, interrupt};

/// Checks everything in this program: its codec against every golden vector, the reference runtime
/// with the server suite, and the built-in client with the client suite.
///
/// The suites use real sockets in temporary directories, and do not touch other processes.
#[derive(clap::Args)]
#[command(
    after_help = "Exit status: 0 nothing failed, 1 a case failed, 2 usage error, or a file that cannot be read or written, 129, 130 or 143 interrupted by SIGHUP, SIGINT or SIGTERM."
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
    let files = match &arguments.vectors {
        Some(directory) => read(directory)?,
        None => codec::embedded()?,
    };
    // Without patterns it is everything.
    let mut names = None;
    if arguments.output.has_patterns() {
        let mut all = tests(&files);
        if arguments.vectors.is_none() {
            all.extend(played()?);
        }
        let chosen = arguments.output.choose(all, Name::is_chosen)?;
        names = Some(chosen.into_iter().collect::<BTreeSet<Name>>());
    }
    let chosen = |suite, name: &str| {
        names.as_ref().is_none_or(|all| all.contains(&Name { suite, name: name.to_owned() }))
    };
    report.absorb(vectors::run_chosen(&files, &|name| chosen("vectors", name)));
    // Starting a process costs more with more memory in use.
    drop(files);
    report.notes.push(coverage(&Requirement::embedded()));
    if arguments.vectors.is_none() {
        suites(&mut report, &chosen, &arguments.output, &canceller)?;
    }
    arguments.output.write(report, out)
}

/// The name of a case, after its suite.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct Name {
    suite: &'static str,
    name: String,
}

impl Name {
    /// Whether a pattern matches it, with its suite: `vectors/grammar/*`.
    fn is_chosen(&self, glob: &Glob) -> bool {
        glob.matches(&format!("{}/{}", self.suite, self.name))
    }
}

/// The tests of the vectors.
fn tests(files: &[NamedFile]) -> Vec<Name> {
    let mut names = Vec::new();
    for NamedFile { name, file } in files {
        for group in &file.groups {
            let tests = group.tests.iter().map(|test| vectors::name_of(name, group, test));
            names.extend(tests.map(|name| Name { suite: "vectors", name }));
        }
    }
    names
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
fn played() -> anyhow::Result<Vec<Name>> {
    let server = crate::commands::server::checked()?;
    let client = client::scenarios()?;
    let of = |suite| move |name| Name { suite, name };
    let client = client.into_iter().map(|scenario| scenario.name).map(of("client"));
    Ok(server.into_iter().map(of("server")).chain(client).collect())
}

/// The cases of the suites that need sockets.
#[cfg(not(unix))]
#[allow(clippy::unnecessary_wraps, reason = "on Unix it may fail")]
fn played() -> anyhow::Result<Vec<Name>> {
    Ok(Vec::new())
}

/// Whether a case of a suite is played.
type Chosen<'c> = &'c (dyn Fn(&'static str, &str) -> bool + Sync);

/// The suites that need sockets.
#[cfg(not(unix))]
#[allow(clippy::unnecessary_wraps, reason = "on Unix they may fail")]
fn suites(report: &mut Report, _: Chosen<'_>, _: &Output, _: &Canceller) -> anyhow::Result<()> {
    report
        .notes
        .push("the server and client suites were not run: use `diagipc server` and `diagipc client` on this system".to_owned());
    Ok(())
}

/// The suites that need sockets.
#[cfg(unix)]
fn suites(
    report: &mut Report,
    chosen: Chosen<'_>,
    output: &Output,
    canceller: &Canceller,
) -> anyhow::Result<()> {
    crate::commands::owner::own()?;
    let this = std::env::current_exe().context("the path of this program")?;
    let progress = Progress::new(0, output);
    // In parallel: both mostly wait.
    let (server, client) = thread::scope(|scope| {
        let server = scope.spawn(|| {
            let is_chosen = |name: &str| chosen("server", name);
            crate::commands::server::check(&this, &is_chosen, &progress, canceller)
        });
        let is_chosen = |name: &str| chosen("client", name);
        let client = crate::commands::client::check(&this, &is_chosen, &progress, canceller);
        (server.join(), client)
    });
    report.absorb(server.unwrap_or_else(|panic| resume_unwind(panic))?);
    report.absorb(client?);
    Ok(())
}

/// The `*.json` files of a directory, by name.
fn read(directory: &Path) -> anyhow::Result<Vec<NamedFile>> {
    let entries = fs::read_dir(directory).with_context(|| directory.display().to_string())?;
    let mut paths: Vec<_> =
        entries.map(|entry| entry.map(|entry| entry.path())).collect::<Result<_, _>>()?;
    paths.retain(|path| path.extension().is_some_and(|extension| extension == "json"));
    paths.sort();
    if paths.is_empty() {
        bail!("{}: no .json file", directory.display());
    }
    let read = paths.iter().map(|path| {
        let text = fs::read_to_string(path).with_context(|| path.display().to_string())?;
        let name =
            path.file_stem().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        Ok(NamedFile { name, file: golden::parse(&path.display().to_string(), &text)? })
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
