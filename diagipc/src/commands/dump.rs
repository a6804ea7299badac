//! `diagipc dump`: makes a process write a dump of itself.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf, absolute};

use anyhow::{Context as _, bail};
use dotnet_diagnostics_ipc::command::Command;
use dotnet_diagnostics_ipc::hresult::HResult;
use dotnet_diagnostics_ipc::io::Client;
use dotnet_diagnostics_ipc::message::dump::{
    DumpFlags, DumpType, GenerateCoreDump, GenerateCoreDump2, GenerateCoreDump3,
};
use dotnet_diagnostics_ipc::wire::IpcString;

use crate::commands::target::{Refused, TargetArguments, if_known, outcome};
use crate::commands::{Outcome, interrupt};

/// Makes a process write a dump of itself.
///
/// The process writes it as its own user, in its own view of the file system; that may take
/// minutes, during which it is stopped.
#[derive(clap::Args)]
#[command(
    after_help = "Exit status: 0 written, 1 the runtime refused, or wrote no file, 2 usage error, 3 it cannot be reached, 129, 130 or 143 interrupted: a dump that was started is still written."
)]
pub(crate) struct Arguments {
    #[command(flatten)]
    target: TargetArguments,

    /// Path where the process writes it; by default TARGET.dmp in the current directory
    file: Option<PathBuf>,

    /// The contents: mini has stacks and modules, heap adds the heaps, triage is mini without
    /// personal data, full is everything
    #[arg(long = "type", value_name = "TYPE", value_enum, default_value_t = Type::Full)]
    dump_type: Type,

    /// Write a crash report in JSON next to it
    #[arg(long)]
    crash_report: bool,

    /// Write createdump's messages to the console of the process
    #[arg(long)]
    log: bool,

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
    let file = arguments
        .file
        .clone()
        .unwrap_or_else(|| PathBuf::from(format!("{}.dmp", arguments.target.file_stem())));
    let file = absolute(&file).with_context(|| file.display().to_string())?;
    if file.exists() && !arguments.force {
        bail!("{} already exists: --force overwrites it", file.display());
    }
    let client = arguments.target.client(interrupt::canceller()?);
    outcome("dump", write(arguments, &client, &file, out))
}

fn write(
    arguments: &Arguments,
    client: &Client,
    file: &Path,
    out: &mut dyn Write,
) -> anyhow::Result<()> {
    let dump_type = match arguments.dump_type {
        Type::Mini => DumpType::NORMAL,
        Type::Heap => DumpType::WITH_HEAP,
        Type::Triage => DumpType::TRIAGE,
        Type::Full => DumpType::FULL,
    };
    let chosen =
        [(arguments.log, DumpFlags::LOGGING), (arguments.crash_report, DumpFlags::CRASH_REPORT)];
    let flags = chosen
        .iter()
        .filter(|(is_chosen, _)| *is_chosen)
        .fold(DumpFlags::NONE, |all, (_, flag)| all.with(*flag));
    let path = file
        .to_str()
        .with_context(|| format!("{}: a path that is not UTF-8 cannot be sent", file.display()))?;
    let before = fs::metadata(file).and_then(|file| file.modified()).ok();
    generate(client, path, dump_type, flags, Command::GENERATE_CORE_DUMP3)?;
    // Some runtimes answer OK without writing one.
    match fs::metadata(file) {
        Ok(written) if written.modified().ok() != before => Ok(writeln!(out, "{path}: {} bytes", written.len())?),
        Ok(_) => Err(Refused(format!("the runtime answered OK, but {path} is unchanged")).into()),
        Err(_) => Err(Refused(format!(
            "the runtime answered OK, but {path} does not exist here: it may exist where the process sees that path"
        ))
        .into()),
    }
}

/// Uses the newest command that the runtime knows, at most `newest`.
pub(crate) fn generate(
    client: &Client,
    path: &str,
    dump_type: DumpType,
    flags: DumpFlags,
    newest: Command,
) -> anyhow::Result<()> {
    let dump_name = IpcString::new(path);
    if newest == Command::GENERATE_CORE_DUMP3
        && if_known(client.generate_core_dump3(&GenerateCoreDump3 { dump_name, dump_type, flags }))?
            .is_some()
    {
        return Ok(());
    }
    if newest != Command::GENERATE_CORE_DUMP {
        match client.generate_core_dump2(&GenerateCoreDump2 { dump_name, dump_type, flags }) {
            // The oldest has one flag.
            Err(error)
                if error.hresult() == Some(HResult::UNKNOWN_COMMAND)
                    && DumpFlags::LOGGING.contains(flags) => {}
            answer => return Ok(answer?),
        }
    }
    Ok(client.generate_core_dump(&GenerateCoreDump {
        dump_name,
        dump_type,
        diagnostics: flags.0 & 1,
    })?)
}
