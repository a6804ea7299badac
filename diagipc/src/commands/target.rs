//! The target of a command: a process, or the server under test.

use std::ffi::{OsStr, OsString};
#[cfg(unix)]
use std::path::PathBuf;
use std::time::Duration;
use std::{fmt, io};

use anyhow::bail;
#[cfg(unix)]
use diagipc::network::tcp_address;
use diagipc::network::trust_policy;
use diagipc::{Address, Program, SpawnCommand};
use dotnet_diagnostics_ipc::endpoint::NamePrefix;
#[cfg(target_os = "linux")]
use dotnet_diagnostics_ipc::io::trust::Distrust;
use dotnet_diagnostics_ipc::io::trust::TrustPolicy;
use dotnet_diagnostics_ipc::io::{
    Canceller, Client, Connect, Deadlines, Endpoint, Error, ErrorKind, Phase, WaitLimit, discovery,
};

use crate::commands::printable::say;
use crate::commands::ps::resolved;
use crate::commands::{Outcome, interrupt, refusal};

/// The target process.
#[derive(Clone, clap::Args)]
#[allow(clippy::doc_markdown, reason = "this is the help of a command")]
pub(crate) struct TargetArguments {
    /// A process id or name, the path of a socket, a pipe (`\\.\pipe\NAME`), or HOST:PORT
    #[arg(value_parser = listening)]
    target: Address,

    #[command(flatten)]
    reach: Reach,
}

/// Parses the address of a runtime that listens.
fn listening(text: &str) -> Result<Address, String> {
    let address: Address = text.parse()?;
    address.endpoint().map(|_| address)
}

/// Whose sockets are used, and for how long.
#[derive(Clone, clap::Args)]
pub(crate) struct Reach {
    /// Also use sockets of other users, in directories of other users
    #[arg(long)]
    any_owner: bool,

    /// The time limit of one exchange, from connecting to its last byte
    ///
    /// Without this option, connecting, sending and each wait for bytes have limits of their own.
    #[arg(long, value_name = "SECONDS", value_parser = clap::value_parser!(u64).range(1..=86_400))]
    timeout: Option<u64>,
}

/// Returns whose sockets are trusted with or without `--any-owner`.
pub(crate) fn trust(any_owner: bool) -> TrustPolicy {
    let trust = trust_policy();
    if any_owner { trust.allowing_other_owner().allowing_shared_directory() } else { trust }
}

impl TargetArguments {
    /// Returns a client of the target, which `canceller` ends early.
    pub(crate) fn client(&self, canceller: Canceller) -> anyhow::Result<Client> {
        Ok(self.reach.client(self.reach.endpoint(&resolved(&self.target)?)?, canceller))
    }
}

impl Reach {
    pub(crate) fn timeout(&self) -> Option<Duration> {
        self.timeout.map(Duration::from_secs)
    }

    /// Returns the endpoint of a target that listens, unless it belongs to another user.
    pub(crate) fn endpoint(&self, target: &Address) -> anyhow::Result<Endpoint> {
        #[cfg(target_os = "linux")]
        if !self.any_owner {
            is_ours(target)?;
        }
        says_device(target);
        Ok(target.endpoint().map_err(anyhow::Error::msg)?.trusting(trust(self.any_owner)))
    }

    /// Returns a client of the runtime at `connect`, which `canceller` ends early.
    pub(crate) fn client<C: Connect>(&self, connect: C, canceller: Canceller) -> Client<C> {
        let deadlines = match self.timeout() {
            None => Deadlines::DEFAULT,
            whole => Deadlines { whole, ..Deadlines::NONE },
        };
        Client::new(connect).with_deadlines(deadlines).with_canceller(canceller)
    }
}

/// Says if a process is a router, because its device is asked in its place.
fn says_device(target: &Address) {
    let Address::Process(id) = target else { return };
    // If there is no endpoint, whoever connects says so.
    let Ok(path) = discovery::endpoint_of(*id, &WaitLimit::FOREVER) else { return };
    let name = path.file_name().map(OsStr::to_string_lossy).unwrap_or_default();
    if name.starts_with(NamePrefix::Router.text()) {
        let path = path.display();
        say(&format!("process {id} is dotnet-dsrouter: this is its device, at {path}"));
    }
}

/// Checks the owner first, because other errors about another user's process are misleading.
#[cfg(target_os = "linux")]
fn is_ours(target: &Address) -> anyhow::Result<()> {
    let Address::Process(id) = target else { return Ok(()) };
    let (owner, ours) = (diagipc::process::procfs::user(*id), rustix::process::geteuid().as_raw());
    let Some(owner) = owner.filter(|owner| *owner != ours) else { return Ok(()) };
    let error = Error::new(Phase::Trust, Distrust::PeerOwner { owner, ours });
    Err(anyhow::Error::new(error).context(format!(
        "process {id} belongs to another user, {owner}: run as that user, or as root with --any-owner"
    )))
}

/// Returns the exit status: 1 if the target refused, 3 if it was not reached or answered badly.
pub(crate) fn outcome(command: &str, asked: anyhow::Result<()>) -> anyhow::Result<Outcome> {
    let Err(error) = asked else { return Ok(Outcome::Well) };
    let error = refusal::explained(error, refusal::request_of(command));
    // Other errors are reported even after a signal.
    if let Some(signal) = interrupt::signal().filter(|_| is_interruption(&error)) {
        return Ok(Outcome::Interrupted(signal));
    }
    let outcome = match error.downcast_ref::<Error>() {
        Some(error) if error.hresult().is_some() || error.phase() == Phase::Send => Outcome::Faulty,
        Some(_) => Outcome::Lost,
        None if error.is::<Refused>() => Outcome::Faulty,
        None => return Err(error),
    };
    say(&format!("diagipc {command}: {}", advised(&error)));
    Ok(outcome)
}

/// Returns the text of an error, with the option that helps.
pub(crate) fn advised(error: &anyhow::Error) -> String {
    let advice = error.downcast_ref().and_then(diagipc::network::advice);
    advice.map_or_else(|| format!("{error:#}"), |advice| format!("{error:#}: {advice}"))
}

fn is_interruption(error: &anyhow::Error) -> bool {
    error.downcast_ref::<Error>().is_some_and(|error| matches!(error.kind(), ErrorKind::Cancelled))
        || error
            .downcast_ref::<io::Error>()
            .is_some_and(|error| error.kind() == io::ErrorKind::Interrupted)
}

/// The reason why a target's answer has nothing to show.
#[derive(Debug)]
pub(crate) struct Refused(pub(crate) String);

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Refused {}

/// How long a started target may take until it can be reached.
pub(crate) const START_TIMEOUT: Duration = Duration::from_secs(30);

/// An endpoint, or the command that starts the target.
#[derive(clap::Args)]
#[allow(clippy::doc_markdown, reason = "this is the help of a command")]
pub(crate) struct AddressArguments {
    /// A process id, a socket's path, a pipe, HOST:PORT, or port:PATH to wait for a runtime
    ///
    /// HOST:PORT,listen waits for a runtime over TCP. A pipe is spelled `\\.\pipe\NAME`. On Windows
    /// port:NAME is a pipe to which the runtime connects.
    #[arg(required_unless_present_any = ["spawn", "list"])]
    endpoint: Option<Address>,

    /// Start the target with COMMAND, and start it again when it dies
    ///
    /// It gets a new TMPDIR. It is reached at its default port, or at the socket, pipe or process id
    /// that is the first line of its output.
    #[arg(long, requires = "command", conflicts_with = "endpoint")]
    spawn: bool,

    /// The command that starts the target, and its arguments
    #[arg(last = true, value_name = "COMMAND")]
    command: Vec<OsString>,
}

/// Returns the socket of a runtime, even if nobody listens there.
///
/// # Errors
/// Fails if the socket does not exist.
#[cfg(unix)]
pub(crate) fn existing(runtime: &Address) -> Result<PathBuf, String> {
    says_device(runtime);
    let path = runtime.find(&WaitLimit::FOREVER)?;
    let is_there = tcp_address(&path).is_some() || path.exists();
    if is_there { Ok(path) } else { Err(format!("{} does not exist", path.display())) }
}

impl AddressArguments {
    pub(crate) fn address(&self) -> anyhow::Result<Address> {
        let mut command = self.command.iter().cloned();
        Ok(match (&self.endpoint, command.next()) {
            (Some(Address::Socket(path)), None) if path.is_file() => {
                let given = path.display();
                // A name alone is searched in PATH.
                let name = if path.components().count() == 1 { "./" } else { "" };
                bail!("{given} is a file, not a socket; to start it: --spawn -- {name}{given}");
            }
            (Some(address), None) => {
                says_device(address);
                address.clone()
            }
            (None, Some(program)) => {
                #[cfg(unix)]
                crate::commands::interrupt::own()?;
                Address::Spawn(SpawnCommand {
                    program: Program::new(program, command),
                    patience: START_TIMEOUT,
                    settles: SpawnCommand::SETTLES,
                })
            }
            _ => bail!("a command needs --spawn"),
        })
    }
}
