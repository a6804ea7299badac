//! The target process of a subcommand.

use std::fmt;
use std::io::{self, Write as _};
use std::str::FromStr;
use std::time::Duration;

use diagipc::server::Address;
use dotnet_diagnostics_ipc::hresult::HResult;
use dotnet_diagnostics_ipc::io::trust::TrustPolicy;
use dotnet_diagnostics_ipc::io::{Canceller, Client, Deadlines, Endpoint, Error, ErrorKind, Phase};

use crate::commands::printable::printable_lines;
use crate::commands::{Outcome, interrupt};

/// The target process.
#[derive(Clone, clap::Args)]
#[allow(clippy::doc_markdown, reason = "this is the help of a command")]
pub(crate) struct TargetArguments {
    /// A process id, the path of a socket, or a pipe (`\\.\pipe\NAME`)
    target: Target,

    /// Also use a socket of another user, in directories of other users
    #[arg(long)]
    any_owner: bool,

    /// Time limit of each exchange, from connecting to its last byte; by default each of its
    /// phases has one
    #[arg(long, value_name = "SECONDS", value_parser = clap::value_parser!(u64).range(1..=86_400))]
    timeout: Option<u64>,
}

/// A process, or its endpoint.
#[derive(Clone, Debug)]
struct Target {
    endpoint: Endpoint,
    /// Its name in file names.
    name: String,
}

impl FromStr for Target {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let address: Address = text.parse()?;
        let name = text.rsplit(['/', '\\']).next().unwrap_or_default().to_owned();
        Ok(Self { endpoint: address.endpoint()?, name })
    }
}

/// Whose sockets are trusted, by `--any-owner`.
pub(crate) const fn trust(any_owner: bool) -> TrustPolicy {
    let trust = TrustPolicy::CHECKED;
    if any_owner { trust.allowing_other_owner().allowing_shared_directory() } else { trust }
}

impl TargetArguments {
    /// The target's name in file names.
    pub(crate) fn file_stem(&self) -> &str {
        &self.target.name
    }

    /// The limit that the command line gives.
    pub(crate) fn timeout(&self) -> Option<Duration> {
        self.timeout.map(Duration::from_secs)
    }

    /// A client of the target, ended early by `canceller`.
    pub(crate) fn client(&self, canceller: Canceller) -> Client {
        let deadlines = match self.timeout() {
            None => Deadlines::DEFAULT,
            whole => Deadlines { whole, ..Deadlines::NONE },
        };
        Client::new(self.target.endpoint.clone().trusting(trust(self.any_owner)))
            .with_deadlines(deadlines)
            .with_canceller(canceller)
    }
}

/// The exit status: 1 if the target refused, 3 if it could not be reached or sent no valid answer.
pub(crate) fn outcome(command: &str, asked: anyhow::Result<()>) -> anyhow::Result<Outcome> {
    let Err(error) = asked else { return Ok(Outcome::Well) };
    // What else went wrong is reported, also after a signal.
    if let Some(signal) = interrupt::signal().filter(|_| is_interruption(&error)) {
        return Ok(Outcome::Interrupted(signal));
    }
    let outcome = match error.downcast_ref::<Error>() {
        Some(error) if error.hresult().is_some() || error.phase() == Phase::Send => Outcome::Faulty,
        Some(_) => Outcome::Lost,
        None if error.is::<Refused>() => Outcome::Faulty,
        None => return Err(error),
    };
    // Standard error may be closed too.
    let _ = writeln!(io::stderr(), "diagipc {command}: {}", printable_lines(&format!("{error:#}")));
    Ok(outcome)
}

/// Whether a wait was ended by its canceller.
fn is_interruption(error: &anyhow::Error) -> bool {
    error.downcast_ref::<Error>().is_some_and(|error| matches!(error.kind(), ErrorKind::Cancelled))
        || error
            .downcast_ref::<io::Error>()
            .is_some_and(|error| error.kind() == io::ErrorKind::Interrupted)
}

/// Why a target's answer has nothing to show.
#[derive(Debug)]
pub(crate) struct Refused(pub(crate) String);

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Refused {}

/// `None` if the runtime is older than the command.
pub(crate) fn if_known<T>(answer: Result<T, Error>) -> Result<Option<T>, Error> {
    match answer {
        Err(error) if error.hresult() == Some(HResult::UNKNOWN_COMMAND) => Ok(None),
        answer => answer.map(Some),
    }
}
