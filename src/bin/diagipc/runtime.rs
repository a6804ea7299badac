//! `diagipc runtime`.

use std::io::Write;
use std::path::PathBuf;
#[cfg(unix)]
use std::sync::mpsc;
#[cfg(unix)]
use std::thread;

#[cfg(unix)]
use dotnet_diagnostics_ipc::conformance::known::Profile;
#[cfg(unix)]
use dotnet_diagnostics_ipc::conformance::runtime::{Config, Misbehaviour, MisbehaviourKind, ReferenceRuntime};

use crate::Outcome;

/// Is a runtime, for those who test clients: answers as a recorded one does, or does something wrong.
///
/// The first line that it prints is its socket. It serves until it is told to end, and runs no code: it streams no events, and
/// writes no dumps.
#[derive(clap::Args)]
#[allow(clippy::struct_excessive_bools, clippy::doc_markdown, reason = "each is a switch of its own")]
#[command(after_help = "Exit status: 0 it was told to end, 2 usage, or it cannot start.")]
pub(crate) struct Arguments {
    /// Which runtime it is like: coreclr-VERSION (or the version alone), nativeaot, mono or strict. A version
    /// that was not recorded is like the nearest that was
    #[arg(long, value_name = "PROFILE", default_value = "coreclr-10")]
    profile: String,

    /// Listen here, and not where a runtime of this process would
    #[arg(long, value_name = "PATH")]
    socket: Option<PathBuf>,

    /// Connect to these ports, whatever DOTNET_DiagnosticPorts says
    #[arg(long, value_name = "TEXT")]
    ports: Option<String>,

    /// Wait for a resume on the default port
    #[arg(long)]
    suspended: bool,

    /// Have this in the environment; any text, also without `=`. Of this process's own it has DOTNET_DiagnosticPorts and
    /// DOTNET_DefaultDiagnosticPortSuspend
    #[arg(long = "env", value_name = "NAME=VALUE")]
    environment: Vec<String>,

    /// Do this wrong; --list says what there is
    #[arg(long, value_name = "NAME[=N]")]
    misbehave: Vec<String>,

    /// Die, as by a crash, of the requests that kill the runtime it is like
    #[arg(long)]
    dies: bool,

    /// End with the standard input
    #[arg(long)]
    until_eof: bool,

    /// List what it can do wrong, and the fact that each is an example of
    #[arg(long)]
    list: bool,
}

#[cfg(not(unix))]
pub(crate) fn run(arguments: &Arguments, _: &mut dyn Write) -> anyhow::Result<Outcome> {
    let Arguments { profile, socket, ports, suspended, environment, misbehave, dies, until_eof, list } = arguments;
    let _ = (profile, socket, ports, suspended, environment, misbehave, dies, until_eof, list);
    anyhow::bail!("the reference runtime listens on a Unix socket, which this system does not have")
}

#[cfg(unix)]
pub(crate) fn run(arguments: &Arguments, out: &mut dyn Write) -> anyhow::Result<Outcome> {
    if arguments.list {
        list(out)?;
        return Ok(Outcome::Well);
    }
    let misbehaviours = arguments.misbehave.iter().map(|text| Misbehaviour::parse(text)).collect::<Result<_, _>>()?;
    let config = Config {
        profile: arguments.profile.parse()?,
        socket: arguments.socket.clone().unwrap_or_else(default_socket),
        ports: arguments.ports.clone(),
        suspended: arguments.suspended,
        environment: environment(arguments),
        misbehaviours,
        dies: arguments.dies,
    };
    // Before anybody can know of the process: what tells it to end then ends it well.
    let ended = end(arguments.until_eof)?;
    let runtime = ReferenceRuntime::start(config)?;
    writeln!(out, "{}", runtime.socket().display())?;
    out.flush()?;
    // Nobody ends it any more: it runs on.
    let _ = ended.recv();
    runtime.stop();
    Ok(Outcome::Well)
}

/// The environment: what was said, and of this process's own the two variables that every runtime looks at.
#[cfg(unix)]
fn environment(arguments: &Arguments) -> Vec<String> {
    use dotnet_diagnostics_ipc::port::{DEFAULT_PORT_SUSPEND_VARIABLE, PORTS_VARIABLE};

    let own = [PORTS_VARIABLE, DEFAULT_PORT_SUSPEND_VARIABLE].into_iter();
    let own = own.filter_map(|name| std::env::var(name).ok().map(|value| format!("{name}={value}")));
    arguments.environment.iter().cloned().chain(own).collect()
}

/// What it can do wrong.
#[cfg(unix)]
fn list(out: &mut dyn Write) -> anyhow::Result<()> {
    let mut table = crate::check::table(["misbehaviour", "fact", "what it does"]);
    for kind in MisbehaviourKind::ALL {
        table.add_row([Misbehaviour::new(*kind).to_string().as_str(), kind.spec(), kind.text()]);
    }
    writeln!(out, "{table}")?;
    let profiles: Vec<_> = Profile::ALL.iter().map(Profile::to_string).collect();
    writeln!(out, "\nprofiles: {}", profiles.join(", "))?;
    Ok(())
}

/// Where the runtime of this process would listen.
#[cfg(unix)]
fn default_socket() -> PathBuf {
    use dotnet_diagnostics_ipc::endpoint::{self, ProcessStat, SocketName};

    let directory = std::env::var("TMPDIR").ok();
    // Where the start time is not known, the key is 0 (F-61).
    let stat = std::fs::read("/proc/self/stat").ok();
    let key = stat.and_then(|text| ProcessStat::parse(&text).ok().map(|stat| stat.start_time));
    let name = SocketName::new(std::process::id(), key.unwrap_or(endpoint::UNKNOWN_KEY));
    PathBuf::from(endpoint::directory(directory.as_deref())).join(name.to_string())
}

/// Hears when it is to end.
#[cfg(unix)]
fn end(until_eof: bool) -> anyhow::Result<mpsc::Receiver<()>> {
    use signal_hook::consts::{SIGINT, SIGTERM};

    let (sender, receiver) = mpsc::channel();
    let mut signals = signal_hook::iterator::Signals::new([SIGINT, SIGTERM])?;
    let told = sender.clone();
    thread::spawn(move || {
        if signals.forever().next().is_some() {
            // It ends already where nobody listens any more.
            let _ = told.send(());
        }
    });
    if until_eof {
        thread::spawn(move || {
            // What cannot be read has ended.
            let _ = std::io::copy(&mut std::io::stdin().lock(), &mut std::io::sink());
            let _ = sender.send(());
        });
    }
    Ok(receiver)
}
