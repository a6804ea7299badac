//! A target shared by many cases, restarted after its death; and targets for single cases.

use std::cell::Cell;
use std::time::Duration;

use dotnet_diagnostics_ipc::io::Canceller;
use dotnet_diagnostics_ipc::port::{DEFAULT_PORT_SUSPEND_VARIABLE, PORTS_VARIABLE};
use dotnet_diagnostics_ipc_vectors::player::Network as _;
use dotnet_diagnostics_ipc_vectors::script::Target;

use super::ask::{Identity, identity_of};
use super::recognise::known_version;
use super::spawn::{RunsIn, Spawned};
use crate::network::LiveNetwork;
use crate::network::address::SpawnCommand;
use crate::process::timeouts::Limit;

/// How long managed code may take to start.
pub(super) const BEGINS: Duration = Duration::from_secs(20);
/// The interval of polling.
const PAUSE: Duration = Duration::from_millis(50);

/// What starts a target.
pub(super) struct Respawned {
    command: SpawnCommand,
    /// The one that runs.
    spawned: Option<Box<Spawned>>,
    /// Whether waiting for an assembly name has failed once: others of this command are not waited
    /// for.
    stays_nameless: Cell<bool>,
}

impl Respawned {
    pub(super) fn new(command: &SpawnCommand) -> Self {
        Self { command: command.clone(), spawned: None, stays_nameless: Cell::new(false) }
    }

    /// The target shared by cases. It is started if it is not running.
    pub(super) fn shared(
        &mut self,
        within: Duration,
        often: bool,
        canceller: Option<&Canceller>,
    ) -> Result<LiveNetwork, String> {
        if let Some(running) = self.spawned.as_ref().filter(|spawned| spawned.death().is_none()) {
            return Ok(running.network().with_canceller(canceller.cloned()));
        }
        self.spawned = None;
        let runs_in = if often { RunsIn::OwnDirectory } else { RunsIn::CurrentDirectory };
        let (started, mut network) =
            Spawned::start(&self.command, &Target::default(), runs_in, canceller)?;
        until_it_runs(
            &mut network,
            within,
            if often { Duration::ZERO } else { self.command.settles },
            &self.stays_nameless,
        )?;
        self.spawned = Some(Box::new(started));
        Ok(network)
    }

    /// A target for one case.
    pub(super) fn own(
        &self,
        target: &Target,
        runs_in: RunsIn,
        within: Duration,
        canceller: Option<&Canceller>,
    ) -> Result<(Spawned, LiveNetwork), String> {
        let (spawned, mut network) = Spawned::start(&self.command, target, runs_in, canceller)?;
        if target.default_port && !is_suspended(target) {
            until_it_runs(&mut network, within, self.command.settles, &self.stays_nameless)?;
        }
        Ok((spawned, network))
    }

    /// The shared one, if it was started.
    pub(super) fn running(&self) -> Option<&Spawned> {
        self.spawned.as_deref()
    }

    /// Ends the shared one.
    pub(super) fn end(&mut self) {
        self.spawned = None;
    }
}

/// Whether a target may have been asked to wait at its start.
pub(super) fn is_suspended(target: &Target) -> bool {
    let is_told = |name: &&str| target.environment.contains_key(*name);
    target.suspended
        || [PORTS_VARIABLE, DEFAULT_PORT_SUSPEND_VARIABLE].iter().any(is_told)
        || target.ports.iter().any(|port| port.suspend)
}

/// Waits until managed code runs, as scripts expect of a target that is not suspended: .NET then
/// reports its assembly, and is given time to become idle, as is a target that cannot be asked. One
/// that is not .NET is ready once its endpoint exists.
fn until_it_runs(
    network: &mut LiveNetwork,
    within: Duration,
    settled: Duration,
    nameless: &Cell<bool>,
) -> Result<(), String> {
    let limit = Limit::new(BEGINS);
    while !nameless.get() {
        let identity = identity_of(network, within).map_err(|trouble| trouble.to_string())?;
        match identity {
            Some(Identity { version, .. }) if known_version(&version).is_none() => return Ok(()),
            Some(Identity { runs: false, .. }) => nameless.set(limit.is_over()),
            Some(Identity { runs: true, .. }) | None => break,
        }
        pause(network, PAUSE)?;
    }
    pause(network, settled)
}

fn pause(network: &mut LiveNetwork, time: Duration) -> Result<(), String> {
    let until = network.now().saturating_add(time);
    network.wait(until).map_err(|trouble| trouble.to_string())
}
