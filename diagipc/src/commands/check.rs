//! `diagipc check`.

use std::collections::BTreeSet;
use std::io::Write;
use std::panic::resume_unwind;
use std::path::{Path, PathBuf};
use std::{fs, thread};

use anyhow::{Context as _, bail};
use comfy_table::presets::NOTHING;
use comfy_table::{CellAlignment, Table};
use diagipc::embedded::{self, NamedFile, PACKAGE, SCENARIOS, SCRIPTS, Texts, VECTORS};
use diagipc::report::Requirement;
use diagipc::{Adapter, Report, codec};
use dotnet_diagnostics_ipc_vectors::parse;

use crate::commands::output::{OfSuite, Output};
use crate::commands::{Outcome, interrupt};

/// Checks the codec, server and client of this program against all vectors and scripts.
///
/// The suites of servers and clients use real sockets in temporary directories, and do not touch
/// other processes.
#[derive(clap::Args)]
#[command(
    after_long_help = exit_statuses!(
        "0      nothing failed",
        "1      a case failed, or an accepted fault is gone (--known)",
        "2      usage error, or a file that cannot be read or written",
        "128+n  interrupted by signal n: SIGHUP, SIGINT or SIGTERM",
    )
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
    let (cases, suite) = arguments.output.choose(all, files_of)?;
    if arguments.output.is_list() {
        return Output::list(&cases, out);
    }
    let chosen: BTreeSet<String> = cases.into_iter().map(|case| case.name).collect();
    let chosen = |suite: &'static str, name: &str| chosen.contains(&format!("{suite}/{name}"));
    // They run in parallel, because the suites mostly wait.
    let (own, suites) = thread::scope(|scope| {
        let own = scope.spawn(|| {
            let mut cases = codec::cases(files);
            cases.retain(|case| chosen("codec", &case.name()));
            let mut adapter = Adapter::own().with_canceller(canceller.clone());
            let report = codec::run(&cases, &mut adapter, &[], &mut |_| ());
            (report, coverage(Requirement::embedded()))
        });
        let suites = match given {
            None => sockets::reports(&chosen, &arguments.output, &canceller),
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

pub(crate) fn cases(files: &[NamedFile]) -> anyhow::Result<Vec<OfSuite>> {
    let mut all = questions(files);
    all.extend(sockets::cases()?);
    Ok(all)
}

fn questions(files: &[NamedFile]) -> Vec<OfSuite> {
    codec::cases(files).iter().map(|case| OfSuite::new("codec", case)).collect()
}

/// Says how many requirements there are, and how many a vector or test covers.
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

/// The suites that need sockets.
#[cfg(unix)]
mod sockets {
    use std::num::NonZeroUsize;
    use std::panic::resume_unwind;
    use std::path::Path;
    use std::thread;
    use std::time::Duration;

    use anyhow::Context as _;
    use diagipc::client::{self, Operations, Scenario};
    use diagipc::embedded::{self, COMPANIONS};
    use diagipc::known::Profile;
    use diagipc::server::{self, Claims};
    use diagipc::{Address, Glob, Program, Report, SpawnCommand};
    use dotnet_diagnostics_ipc::io::Canceller;
    use dotnet_diagnostics_ipc_vectors::script::Step;

    use crate::commands::client::as_process;
    use crate::commands::interrupt;
    use crate::commands::output::{OfSuite, Output, Progress};
    use crate::commands::target::START_TIMEOUT;

    /// The number of reference runtimes that run at a time; they mostly wait.
    const SERVER_JOBS: NonZeroUsize = NonZeroUsize::new(96).unwrap();
    /// The number of built-in clients that run at a time.
    const CLIENT_JOBS: NonZeroUsize = NonZeroUsize::new(64).unwrap();
    /// How long this program's own runtime and client must be silent where scripts wait 3 s, for
    /// runtimes that begin slowly.
    const SILENCE_MS: u32 = 1000;
    /// The abilities of the reference runtime, so that none must be found out by waiting.
    const REFERENCE: &str = "
        [abilities]
        ports = true
        suspension = true
        user-events = true
        one-client-at-a-time = true
        netperf = true
    ";

    pub(super) fn cases() -> anyhow::Result<Vec<OfSuite>> {
        let server = server::cases(embedded::scripts()?, embedded::vectors()?);
        let server = server.iter().map(|case| OfSuite::new("server", case));
        let client = client::scenarios()?.iter().map(|one| OfSuite::new("client", one));
        Ok(server.chain(client).collect())
    }

    pub(super) fn reports(
        chosen: super::IsChosen<'_>,
        output: &Output,
        canceller: &Canceller,
    ) -> anyhow::Result<Vec<Report>> {
        interrupt::own()?;
        let this = std::env::current_exe().context("the path of this program")?;
        let progress = Progress::new(0, output);
        let (server, client) = thread::scope(|scope| {
            let server = scope.spawn(|| server_report(&this, chosen, &progress, canceller));
            let client = client_report(&this, chosen, &progress, canceller);
            (server.join(), client)
        });
        Ok(vec![server.unwrap_or_else(|panic| resume_unwind(panic))?, client?])
    }

    /// Shortens the silence of a step.
    fn hurry(step: &mut Step) {
        let silence = match step {
            Step::Wait(step) => &mut step.wait,
            Step::ExpectNothing(step) => &mut step.expect_nothing,
            Step::ExpectNoEvent(step) => &mut step.expect_no_event,
            Step::ExpectNoConnection(step) => &mut step.expect_no_connection,
            _ => return,
        };
        *silence = SILENCE_MS.min(*silence);
    }

    /// Plays the server suite to the reference runtime, which is this program.
    fn server_report(
        this: &Path,
        chosen: super::IsChosen<'_>,
        progress: &Progress,
        canceller: &Canceller,
    ) -> anyhow::Result<Report> {
        let mut scripts = embedded::scripts()?.to_vec();
        let all = scripts.iter_mut().flat_map(|(_, file)| &mut file.scripts);
        all.flat_map(|script| &mut script.steps).for_each(hurry);
        let mut cases = server::cases(&scripts, embedded::vectors()?);
        cases.retain(|case| chosen("server", &case.name()));
        if cases.is_empty() {
            return Ok(Report::new("server", "diagipc runtime"));
        }
        let address = Address::Spawn(SpawnCommand {
            program: Program::new(this, ["runtime", "--profile", "strict", "--until-eof"]),
            patience: START_TIMEOUT,
            // It runs no code of its own.
            settles: Duration::ZERO,
        });
        let options = server::Options {
            profile: Some(Profile::STRICT),
            claims: Claims::parse("reference", REFERENCE).map_err(anyhow::Error::msg)?,
            // The target is ours, so nothing is harmful to it.
            allow_side_effects: true,
            allow_harmful: true,
            keep_target: true,
            finds_weaknesses: false,
            stand_in_for_user_events: true,
            jobs: SERVER_JOBS,
            canceller: Some(canceller.clone()),
            ..server::Options::default()
        };
        progress.expect(cases.len());
        Ok(server::run(&cases, &address, &options, &mut |case| progress.done(case)))
    }

    /// Plays the client suite to the built-in client, which is this program.
    fn client_report(
        this: &Path,
        chosen: super::IsChosen<'_>,
        progress: &Progress,
        canceller: &Canceller,
    ) -> anyhow::Result<Report> {
        let all = client::scenarios()?.iter().filter(|one| chosen("client", &one.name));
        let mut scenarios: Vec<Scenario> = all.cloned().collect();
        scenarios.iter_mut().flat_map(Scenario::steps_mut).for_each(hurry);
        let own = embedded::text(COMPANIONS, "clients/diagipc.toml").unwrap_or_default();
        let mut operations = Operations::parse("diagipc.toml", &own)?;
        operations.set_program("diagipc", &this.display().to_string());
        let options = client::ClientOptions {
            jobs: CLIENT_JOBS,
            require: vec![Glob::new("*")],
            stand_in: as_process(this),
            canceller: Some(canceller.clone()),
        };
        progress.expect(scenarios.len());
        let done = |name: &str, grade| progress.named(name, grade);
        Ok(client::run(&scenarios, &operations, &options, &done))
    }
}

/// The suites that need sockets are not checked here.
#[cfg(not(unix))]
#[allow(clippy::unnecessary_wraps, reason = "on Unix they may fail")]
mod sockets {
    use diagipc::Report;
    use dotnet_diagnostics_ipc::io::Canceller;

    use crate::commands::output::{OfSuite, Output};

    pub(super) fn cases() -> anyhow::Result<Vec<OfSuite>> {
        Ok(Vec::new())
    }

    pub(super) fn reports(
        _: super::IsChosen<'_>,
        _: &Output,
        _: &Canceller,
    ) -> anyhow::Result<Vec<Report>> {
        Ok(Vec::new())
    }
}

type IsChosen<'c> = &'c (dyn Fn(&'static str, &str) -> bool + Sync);

/// Returns the `*.json` files of a directory, by name.
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
