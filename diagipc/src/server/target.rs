//! The target of a run: its location, and whether it is reachable.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use dotnet_diagnostics_ipc::io::trust::TrustPolicy;
use dotnet_diagnostics_ipc::io::{Canceller, WaitLimit};
use dotnet_diagnostics_ipc_vectors::player::{Difference, Network as _, Player, PlayerError};
use dotnet_diagnostics_ipc_vectors::script;

use super::Death;
use super::ask::{self, Identity};
use super::process_id::TargetProcess;
use super::respawn::Respawned;
use super::spawn::{RunsIn, Spawned};
use super::system::{self, named_process};
use crate::conversation::FaultSeen;
use crate::faults::Fault;
use crate::known::{Family, Profile};
use crate::network::address::Address;
use crate::network::{Listener, LiveNetwork, is_served};

/// The target of a run.
pub(crate) struct Target {
    reach: Reach,
    within: Duration,
    canceller: Option<Canceller>,
    /// Whether it is restarted repeatedly.
    often: bool,
    /// The process of the shared target, as shown by its connections.
    process: TargetProcess,
}

/// How the target shared by many cases is reached.
enum Reach {
    /// It listens at this socket or pipe.
    Endpoint(PathBuf),
    /// It connects to this port.
    Port(Listener),
    /// It is started.
    Spawn(Respawned),
}

impl Target {
    /// Finds the target, and checks whether it is trusted; `within` limits that, and an answer too.
    /// `canceller` ends every wait for it.
    pub(crate) fn find(
        address: &Address,
        within: Duration,
        trust: TrustPolicy,
        canceller: Option<&Canceller>,
    ) -> Result<Self, String> {
        let reach = match address {
            Address::Spawn(command) => Reach::Spawn(Respawned::new(command)),
            Address::Port(path) => {
                Reach::Port(Listener::bind(path).map_err(|error| format!("{error:#}"))?)
            }
            Address::Process(_) | Address::Socket(_) | Address::Pipe(_) => {
                let endpoint = address.find(&WaitLimit { deadline: None, canceller })?;
                let deadline = Instant::now().checked_add(within);
                system::check(&endpoint, &WaitLimit { deadline, canceller }, trust)?;
                Reach::Endpoint(endpoint)
            }
        };
        Ok(Self {
            reach,
            within,
            canceller: canceller.cloned(),
            often: false,
            process: TargetProcess::default(),
        })
    }

    /// Targets that are restarted are ready once they answer, whatever their code does next. They
    /// run in their own directory, and leave their perf maps there.
    pub(crate) fn started_often(mut self) -> Self {
        self.often = true;
        self
    }

    /// Whether a target for a script can be started that may die.
    pub(crate) const fn can_spawn(&self) -> bool {
        matches!(self.reach, Reach::Spawn(_))
    }

    /// Whether it connects to us: one connection at a time.
    pub(super) const fn is_at_port(&self) -> bool {
        matches!(self.reach, Reach::Port(_))
    }

    /// Whether two connections can be open at a time. On Windows two concurrent ones can hang a
    /// runtime (F-120); on a port the next connection is opened when the one before is done.
    pub(super) const fn takes_two_at_once(&self) -> bool {
        cfg!(unix) && !self.is_at_port()
    }

    /// The target shared by cases. It is started if necessary.
    pub(crate) fn shared(&mut self) -> Result<LiveNetwork, String> {
        let network = match &mut self.reach {
            Reach::Endpoint(endpoint) => {
                let endpoint = endpoint.clone();
                LiveNetwork::to(&endpoint).with_process(move || system::is_alive(&endpoint))
            }
            Reach::Port(listener) => LiveNetwork::at_port(listener.clone()),
            Reach::Spawn(respawned) => {
                return respawned.shared(self.within, self.often, self.canceller.as_ref());
            }
        };
        Ok(network.with_canceller(self.canceller.clone()))
    }

    /// A target for one case.
    pub(super) fn own(
        &self,
        target: &script::Target,
        runs_in: RunsIn,
    ) -> Result<(Spawned, LiveNetwork), String> {
        let Reach::Spawn(respawned) = &self.reach else {
            return Err("this target cannot be started".to_owned());
        };
        respawned.own(target, runs_in, self.within, self.canceller.as_ref())
    }

    /// The shared target, if it was started here.
    fn running(&self) -> Option<&Spawned> {
        match &self.reach {
            Reach::Spawn(respawned) => respawned.running(),
            Reach::Endpoint(_) | Reach::Port(_) => None,
        }
    }

    /// Where the shared target listens, if known.
    fn endpoint(&self) -> Option<&Path> {
        match &self.reach {
            Reach::Endpoint(endpoint) => Some(endpoint),
            Reach::Port(_) | Reach::Spawn(_) => self.running().map(Spawned::address),
        }
    }

    /// How the shared target ended, if known.
    pub(crate) fn death(&self) -> Option<Death> {
        self.running()?.death()
    }

    /// The process of the shared target, if known.
    pub(crate) fn process_id(&self) -> Option<u32> {
        match self.running() {
            Some(running) => Some(running.process_id()),
            None => named_process(self.endpoint()?),
        }
    }

    /// Why process ids cannot be compared with the target's, if so. Shown by [`Target::identity`].
    pub(super) fn unknown_process(&self) -> Option<&'static str> {
        self.process.unknown()
    }

    /// Whether it may wait at its start, as it was not started here: a session of .NET has no bytes
    /// until it goes on (F-112), and no reply says that it waits (F-128).
    pub(crate) fn may_be_held(&self, profile: Profile) -> bool {
        profile.family() != Family::Strict && !self.can_spawn()
    }

    /// Whether the shared target's endpoint has no listener any more. Unknown for a target that
    /// connects to a port.
    pub(crate) fn is_endpoint_gone(&self) -> bool {
        self.endpoint().is_some_and(|endpoint| !is_served(endpoint))
    }

    /// Why other users of the machine can use or replace the shared target's endpoint.
    pub(super) fn exposures(&self) -> Vec<FaultSeen> {
        self.endpoint().map(system::exposures).unwrap_or_default()
    }

    /// Ends the shared target, if it was started here; returns whether it was.
    pub(crate) fn end_shared(&mut self) -> bool {
        if let Reach::Spawn(respawned) = &mut self.reach {
            respawned.end();
        }
        self.can_spawn()
    }

    /// Whether the shared target still answers a complete `ProcessInfo`.
    pub(crate) fn answers(&mut self) -> Result<(), String> {
        let mut network = self.shared()?;
        let until = network.now().saturating_add(self.within);
        let mut player = Player::new(&mut network, self.within);
        ask::answers(&mut player, "the last one", until).map_err(|trouble| said(&trouble))
    }

    /// Whether the shared target still reacts to a request: the cases judge its answers.
    pub(super) fn reacts(&mut self) -> Result<(), String> {
        let mut network = self.shared()?;
        ask::reacts(&mut network, self.within).map_err(|trouble| said(&trouble))
    }

    /// The shared target's information about itself.
    pub(crate) fn identity(&mut self) -> Result<Option<Identity>, String> {
        let mut network = self.shared()?;
        self.process = process_of(&network);
        ask::identity_of(&mut network, self.within).map_err(|trouble| said(&trouble))
    }
}

/// Why a target is lost: with the name of the fault if it does not connect to its port.
fn said(trouble: &PlayerError) -> String {
    if *trouble == Difference::NotConnected.into() {
        format!("{}: no connection to the port in time", Fault::PortNotConnected)
    } else {
        trouble.to_string()
    }
}

/// The process at the other end, as far as known.
pub(super) fn process_of(network: &LiveNetwork) -> TargetProcess {
    TargetProcess { named: network.address().and_then(named_process), peer: network.peer() }
}
