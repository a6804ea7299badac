//! `diagipc dump`: makes a process write a dump of itself.

use std::fs::Metadata;
use std::io::Write;
use std::path::{Path, PathBuf, absolute};
use std::time::Instant;

use anyhow::{Context as _, bail};
use clap::ArgGroup;
use diagipc::Address;
use dotnet_diagnostics_ipc::command::Command;
use dotnet_diagnostics_ipc::io::{Client, Error, Phase};
use dotnet_diagnostics_ipc::message::dump::{DumpFlags, DumpType, GenerateCoreDump3};

use crate::commands::output_file::{Written, dated};
use crate::commands::printable::say;
use crate::commands::process_root::{Found, ProcessRoot};
use crate::commands::ps::NamedTarget;
use crate::commands::runtime_info::{Info, subject};
use crate::commands::target::{Reach, Refused, outcome};
use crate::commands::{Outcome, interrupt, refusal};

/// Makes a process write a dump of itself.
///
/// The process writes it as its own user, in its own view of the file system; that may take
/// minutes, during which it is stopped.
#[derive(clap::Args)]
#[command(
    group = ArgGroup::new("what").args(["target", "process_id", "name"]).required(true),
    after_long_help = exit_statuses!(
        "0      the dump is written",
        "1      the runtime refused, or wrote no file",
        "2      usage error",
        "3      the process cannot be reached",
        "128+n  interrupted by signal n; a dump that was started is still written",
    )
)]
#[allow(clippy::struct_excessive_bools, reason = "these are the switches of a command")]
pub(crate) struct Arguments {
    #[command(flatten)]
    target: NamedTarget,

    #[command(flatten)]
    reach: Reach,

    /// The file that the process writes [default: `NAME_PID_TIME.dmp`]
    file: Option<PathBuf>,

    /// The file that the process writes, in place of FILE
    #[arg(short, long, value_name = "FILE", conflicts_with = "file")]
    output: Option<PathBuf>,

    /// What the dump contains
    ///
    /// mini has stacks and modules, heap adds the heaps, triage is mini without personal data, and
    /// full is all memory.
    #[arg(long = "type", value_name = "TYPE", value_enum, ignore_case = true, default_value_t = Type::Full)]
    dump_type: Type,

    /// Write a crash report in JSON next to the dump
    #[arg(long)]
    crash_report: bool,

    /// Write createdump's messages to the console of the process
    #[arg(long)]
    log: bool,

    /// Print the result as one JSON object
    ///
    /// It has the file, its bytes, the seconds, the process, whether the dump is complete or why not,
    /// and the exit status.
    #[arg(long)]
    json: bool,

    /// Overwrite an existing file
    #[arg(long)]
    force: bool,
}

#[derive(Clone, Copy, clap::ValueEnum)]
enum Type {
    Mini,
    Heap,
    Triage,
    Full,
}

pub(crate) fn run(arguments: &Arguments, out: &mut dyn Write) -> anyhow::Result<Outcome> {
    let mut written = Written::default();
    let ended = dump(arguments, &mut written).or_else(|error| {
        written.why = Some(format!("{error:#}"));
        outcome("dump", Err(error))
    });
    if arguments.json {
        written.print(&ended, out)?;
    } else if let (Ok(Outcome::Well), Some(file)) = (&ended, &written.file) {
        writeln!(out, "{file}: {} bytes", written.bytes)?;
    }
    ended
}

fn dump(arguments: &Arguments, written: &mut Written) -> anyhow::Result<Outcome> {
    let address = arguments.target.address()?.context("expected a target")?;
    let client =
        arguments.reach.client(arguments.reach.endpoint(&address)?, interrupt::canceller()?);
    let chosen = arguments.file.as_ref().or(arguments.output.as_ref());
    if chosen.is_none() || arguments.json {
        written.process = Info::if_known(&client)?;
    }
    let file = match chosen {
        Some(file) => file.clone(),
        None => dated(&subject(written.process.as_ref()), "dmp"),
    };
    let file = absolute(&file).with_context(|| file.display().to_string())?;
    let root = ProcessRoot::of(&address);
    let before = match root.find(&file) {
        Err(_) if arguments.force => None,
        found => found.with_context(|| root.name(&file).display().to_string())?,
    };
    if let Some(Found { path, metadata }) = &before {
        let path = path.display();
        if !arguments.force {
            bail!("{path} already exists: --force overwrites it");
        }
        if !metadata.is_file() {
            bail!("{path} is {}: expected a file, or a new name", kind(metadata));
        }
    }
    let began = Instant::now();
    let generated = request(arguments, &client, &file)
        .map_err(|error| pending(error, &address, &root.name(&file)));
    written.seconds = began.elapsed().as_secs_f64();
    generated?;
    let found = dump_at(&root, &file, before.as_ref())?;
    written.bytes = found.metadata.len();
    written.file = Some(found.path.display().to_string());
    written.complete = true;
    Ok(Outcome::Well)
}

/// Names what is at a path that is not a file.
fn kind(metadata: &Metadata) -> &'static str {
    match metadata.file_type() {
        kind if kind.is_symlink() => "a symbolic link",
        kind if kind.is_dir() => "a directory",
        _ => "a pipe or a device",
    }
}

fn request(arguments: &Arguments, client: &Client, file: &Path) -> anyhow::Result<()> {
    let dump_type = match arguments.dump_type {
        Type::Mini => DumpType::NORMAL,
        Type::Heap => DumpType::WITH_HEAP,
        Type::Triage => DumpType::TRIAGE,
        Type::Full => DumpType::FULL,
    };
    let flag = |is_chosen, flag| if is_chosen { flag } else { DumpFlags::NONE };
    let flags = flag(arguments.log, DumpFlags::LOGGING)
        | flag(arguments.crash_report, DumpFlags::CRASH_REPORT);
    let path = file
        .to_str()
        .with_context(|| format!("{}: a path that is not UTF-8 cannot be sent", file.display()))?;
    let asked = client.dump(&GenerateCoreDump3 { dump_name: path.into(), dump_type, flags });
    // The oldest command that supports everything requested.
    let oldest = if arguments.crash_report {
        Command::GENERATE_CORE_DUMP2
    } else {
        Command::GENERATE_CORE_DUMP
    };
    asked.map_err(|error| refusal::explained(error.into(), Some(oldest)))
}

/// Adds that the process may still write the dump, as it does even if nobody waits for the reply.
fn pending(error: anyhow::Error, target: &Address, file: &Path) -> anyhow::Error {
    let is_sent = error.downcast_ref::<Error>().is_some_and(|error| {
        matches!(error.phase(), Phase::Reply | Phase::Continuation) && error.hresult().is_none()
    });
    if !is_sent {
        return error;
    }
    let what = format!("{target} may still write {}", file.display());
    if interrupt::signal().is_some() {
        // After a signal the error itself needs no words.
        say(&format!("diagipc dump: {what}"));
    }
    error.context(what)
}

/// Returns the dump that the process has written.
///
/// # Errors
/// Fails if there is no dump at the path: some runtimes answer OK without writing one.
fn dump_at(root: &ProcessRoot, file: &Path, before: Option<&Found>) -> anyhow::Result<Found> {
    let refused = |path: &Path, why: &str| {
        let path = path.display();
        Err(Refused(format!("the runtime answered OK, but {path} {why}")).into())
    };
    let named = root.name(file);
    let found = match root.find(file) {
        Ok(Some(found)) => found,
        Ok(None) if root.is_of_process() => return refused(&named, "does not exist"),
        Ok(None) => {
            return refused(
                &named,
                "does not exist here: it may exist where the process sees that path",
            );
        }
        Err(error) => return refused(&named, &format!("cannot be looked up: {error}")),
    };
    let (path, metadata) = (&found.path, &found.metadata);
    if !metadata.is_file() {
        return refused(path, &format!("is {}, not a dump", kind(metadata)));
    }
    if metadata.len() == 0 {
        return refused(path, "is empty");
    }
    let modified = |found: &Found| found.metadata.modified().ok();
    if before.is_some_and(|before| modified(before) == modified(&found)) {
        return refused(path, "is unchanged");
    }
    #[cfg(unix)]
    if let Some(user) = root.user() {
        let owner = std::os::unix::fs::MetadataExt::uid(metadata);
        if owner != user {
            return refused(
                path,
                &format!("belongs to user {owner}, and the process runs as user {user}"),
            );
        }
    }
    Ok(found)
}
