//! `diagipc dump`: makes a process write a dump of itself.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf, absolute};
use std::time::Instant;

use anyhow::{Context as _, bail};
use clap::ArgGroup;
use diagipc::Address;
use dotnet_diagnostics_ipc::io::Client;
use dotnet_diagnostics_ipc::message::dump::{DumpFlags, DumpType, GenerateCoreDump3};

use crate::commands::info::{Info, subject};
use crate::commands::output_file::{Written, dated};
use crate::commands::ps::NamedTarget;
use crate::commands::target::{Reach, Refused, outcome};
use crate::commands::{Outcome, interrupt};

/// Makes a process write a dump of itself.
///
/// The process writes it as its own user, in its own view of the file system; that may take
/// minutes, during which it is stopped.
#[derive(clap::Args)]
#[command(
    group = ArgGroup::new("what").args(["target", "process_id", "name"]).required(true),
    after_help = "Exit status: 0 written, 1 the runtime refused, or wrote no file, 2 usage error, 3 it cannot be reached, 129, 130 or 143 interrupted: a dump that was started is still written."
)]
#[allow(clippy::struct_excessive_bools, reason = "these are the switches of a command")]
pub(crate) struct Arguments {
    #[command(flatten)]
    target: NamedTarget,

    #[command(flatten)]
    reach: Reach,

    /// Path where the process writes it; by default `NAME_PID_TIME.dmp` in the current directory
    file: Option<PathBuf>,

    /// Path of the dump; alternative to FILE
    #[arg(short, long, value_name = "FILE", conflicts_with = "file")]
    output: Option<PathBuf>,

    /// The contents: mini has stacks and modules, heap adds the heaps, triage is mini without
    /// personal data, full is everything
    #[arg(long = "type", value_name = "TYPE", value_enum, ignore_case = true, default_value_t = Type::Full)]
    dump_type: Type,

    /// Write a crash report in JSON next to it
    #[arg(long)]
    crash_report: bool,

    /// Write createdump's messages to the console of the process
    #[arg(long)]
    log: bool,

    /// Print one JSON object: the file, its bytes, the seconds, the process, whether it is complete
    /// or why not, and the exit status
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
    let here = seen_from(&address, &file);
    if here.exists() && !arguments.force {
        bail!("{} already exists: --force overwrites it", here.display());
    }
    let began = Instant::now();
    let generated = write(arguments, &client, &file, &here);
    written.seconds = began.elapsed().as_secs_f64();
    written.bytes = generated?;
    written.file = Some(here.display().to_string());
    written.complete = true;
    Ok(Outcome::Well)
}

/// The file of a process, as this program sees it: in a container a process has another root.
#[cfg(target_os = "linux")]
fn seen_from(process: &Address, file: &Path) -> PathBuf {
    use std::os::unix::fs::MetadataExt as _;

    let Address::Process(id) = process else { return file.to_owned() };
    let root = PathBuf::from(format!("/proc/{id}/root"));
    let of = |root: &Path| fs::metadata(root).map(|root| (root.dev(), root.ino()));
    match (of(&root), of(Path::new("/")), file.strip_prefix("/")) {
        (Ok(theirs), Ok(ours), Ok(inside)) if theirs != ours => root.join(inside),
        _ => file.to_owned(),
    }
}

#[cfg(not(target_os = "linux"))]
fn seen_from(_: &Address, file: &Path) -> PathBuf {
    file.to_owned()
}

/// How many bytes the process wrote to `file`, which is `here` for this program.
fn write(arguments: &Arguments, client: &Client, file: &Path, here: &Path) -> anyhow::Result<u64> {
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
    let before = fs::metadata(here).and_then(|file| file.modified()).ok();
    client.dump(&GenerateCoreDump3 { dump_name: path.into(), dump_type, flags })?;
    let refused =
        |why| Err(Refused(format!("the runtime answered OK, but {} {why}", here.display())).into());
    // Some runtimes answer OK without writing one.
    match fs::metadata(here) {
        Ok(written) if written.modified().ok() != before => Ok(written.len()),
        Ok(_) => refused("is unchanged"),
        Err(_) => refused("does not exist here: it may exist where the process sees that path"),
    }
}
