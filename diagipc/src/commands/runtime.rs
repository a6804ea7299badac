//! `diagipc runtime`.

use std::ffi::OsString;
use std::io::Write;
use std::path::PathBuf;
use std::sync::mpsc;
use std::thread;

use diagipc::runtime::{Config, Misbehaviour, ReferenceRuntime, SignalReaction};
use dotnet_diagnostics_ipc_vectors::script::SignalKind;
#[cfg(unix)]
use signal_hook::consts::{SIGINT, SIGTERM};

use crate::commands::Outcome;

/// Plays a runtime, for testing clients: a correct one, or one with a fault.
///
/// The first line of output is the socket, on Windows the pipe. It serves until it is ended, and
/// runs no code: it streams few events, and writes only the head of a dump. A test suite can start it
/// in place of a .NET process.
#[derive(clap::Args)]
#[allow(
    clippy::struct_excessive_bools,
    clippy::doc_markdown,
    reason = "these are the switches and the help of a command"
)]
#[command(
    after_long_help = exit_statuses!(
        "0  it was ended",
        "2  usage error, or it cannot start",
    )
)]
pub(crate) struct Arguments {
    /// The runtime to imitate: coreclr-VERSION (or only the version), nativeaot, mono or strict. A
    /// version that was not recorded uses the nearest recorded one
    #[arg(long, value_name = "PROFILE", default_value = "coreclr-10")]
    profile: String,

    /// Listen here instead of where a runtime of this process would: a path, on Windows the name
    /// of a pipe, or HOST:PORT, on Unix
    #[arg(long, value_name = "PATH", value_parser = diagipc::network::place)]
    socket: Option<PathBuf>,

    /// Connect to these ports instead of those in DOTNET_DiagnosticPorts
    #[arg(long, value_name = "TEXT")]
    ports: Option<String>,

    /// Suspend: wait for a resume on the default port
    #[arg(long)]
    suspended: bool,

    /// The command line, instead of the recorded one; while it is suspended only the program, as of
    /// the imitated runtime
    #[arg(long, value_name = "TEXT")]
    command_line: Option<String>,

    /// The name of its entry assembly, instead of the recorded one
    #[arg(long, value_name = "NAME")]
    entry_assembly: Option<String>,

    /// Add this to the environment; any text, even without `=`. Of this process's environment it
    /// keeps the variables read by the imitated runtime (DOTNET_DiagnosticPorts and others),
    /// and those that begin with DIAG_
    #[arg(long = "env", value_name = "NAME=VALUE")]
    environment: Vec<String>,

    /// Have all of this process's environment, instead of the recorded one
    #[arg(long)]
    env_inherit: bool,

    /// Stream a short rundown, so that a stop is answered even if the client does not read it
    #[arg(long)]
    short_rundown: bool,

    /// Write dumps requested by a name without a directory here: files that begin like a core,
    /// never overwriting one
    #[arg(long, value_name = "DIRECTORY", default_value = ".")]
    dumps: PathBuf,

    /// Misbehave in this way; `diagipc list faults` lists the ways
    #[arg(long, value_name = "NAME[=N]")]
    misbehave: Vec<String>,

    /// Die, as in a crash, on the well-formed requests that kill the imitated runtime, and end on
    /// signals as it does
    #[arg(long)]
    dies: bool,

    /// End with standard input
    #[arg(long)]
    until_eof: bool,
}

pub(crate) fn run(arguments: &Arguments, out: &mut dyn Write) -> anyhow::Result<Outcome> {
    let misbehaviours = arguments
        .misbehave
        .iter()
        .map(|text| Misbehaviour::parse(text))
        .collect::<Result<_, _>>()?;
    let mut config = Config {
        profile: arguments.profile.parse()?,
        socket: arguments.socket.clone().unwrap_or_else(default_socket),
        ports: arguments.ports.clone(),
        suspended: arguments.suspended,
        command_line: arguments.command_line.clone(),
        entry_assembly: arguments.entry_assembly.clone(),
        environment: arguments.environment.clone(),
        environment_bytes: Vec::new(),
        is_environment_whole: arguments.env_inherit,
        dumps: Some(arguments.dumps.clone()),
        has_short_rundown: arguments.short_rundown,
        misbehaviours,
        dies: arguments.dies,
    };
    // Added variables replace inherited ones.
    let is_added = |name: &str| {
        arguments.environment.iter().any(|entry| entry.split('=').next() == Some(name))
    };
    for (name, value) in own_environment(arguments.env_inherit) {
        if !(arguments.env_inherit && is_added(&name)) {
            config.set(&name, value.as_encoded_bytes());
        }
    }
    // This comes before the process is visible, so that a signal then ends it cleanly.
    let (_sender, ended) = end(arguments.until_eof)?;
    let runtime = ReferenceRuntime::start(config)?;
    if runtime.listens() {
        writeln!(out, "{}", runtime.socket().display())?;
        out.flush()?;
    }
    // After an error nothing ends it any more, and it keeps running.
    while let Ok(Some(signal)) = ended.recv() {
        match runtime.reacts_to(signal) {
            SignalReaction::RunsOn => {}
            SignalReaction::LeavesSocket => {
                runtime.abandon();
                // End as the unhandled signal does.
                #[cfg(unix)]
                signal_hook::low_level::emulate_default_handler(match signal {
                    SignalKind::Int => SIGINT,
                    _ => SIGTERM,
                })?;
                break;
            }
            _ => break,
        }
    }
    Ok(Outcome::Well)
}

/// Returns the runtime's part of this environment: all, or its configuration and what testers set.
fn own_environment(all: bool) -> impl Iterator<Item = (String, OsString)> {
    let is_meant = |name: &str| {
        let configured = name.strip_prefix("DOTNET_").or_else(|| name.strip_prefix("COMPlus_"));
        let variables = [
            "DiagnosticPorts",
            "DefaultDiagnosticPortSuspend",
            "EnableDiagnostics",
            "EnableDiagnostics_IPC",
        ];
        name.starts_with("DIAG_") || configured.is_some_and(|name| variables.contains(&name))
    };
    let named =
        std::env::vars_os().filter_map(|(name, value)| Some((name.into_string().ok()?, value)));
    named.filter(move |(name, _)| all || is_meant(name))
}

/// Returns the socket where the runtime of this process would listen.
#[cfg(unix)]
fn default_socket() -> PathBuf {
    let directory = std::env::var("TMPDIR").ok();
    let directory = dotnet_diagnostics_ipc::endpoint::directory(directory.as_deref());
    PathBuf::from(directory).join(diagipc::socket_name(std::process::id()).to_string())
}

/// Returns the pipe where the runtime of this process would listen.
#[cfg(windows)]
fn default_socket() -> PathBuf {
    PathBuf::from(dotnet_diagnostics_ipc::endpoint::PipeName::new(std::process::id()).to_string())
}

/// The signal that ends it; `None` if the input has ended.
type Told = Option<SignalKind>;

/// Returns a receiver for the signal or the end of input. Keep the sender: it may be the only one.
#[cfg_attr(windows, allow(clippy::unnecessary_wraps, reason = "on Unix it may fail"))]
fn end(until_eof: bool) -> anyhow::Result<(mpsc::Sender<Told>, mpsc::Receiver<Told>)> {
    let (sender, receiver) = mpsc::channel();
    // On Windows the system ends it, and removes its pipe.
    #[cfg(unix)]
    {
        let mut signals = signal_hook::iterator::Signals::new([SIGINT, SIGTERM])?;
        let sender = sender.clone();
        thread::spawn(move || {
            for signal in signals.forever() {
                let kind = if signal == SIGINT { SignalKind::Int } else { SignalKind::Term };
                // It is ending already if there is no receiver.
                let _ = sender.send(Some(kind));
            }
        });
    }
    if until_eof {
        let sender = sender.clone();
        thread::spawn(move || {
            // An unreadable input counts as ended.
            let _ = std::io::copy(&mut std::io::stdin().lock(), &mut std::io::sink());
            let _ = sender.send(None);
        });
    }
    Ok((sender, receiver))
}
