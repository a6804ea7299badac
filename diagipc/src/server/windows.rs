//! How a target is reached on Windows: at a pipe, at a diagnostic port, or by starting it.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use dotnet_diagnostics_ipc::endpoint::{PIPE_PREFIX, PipeName};
use dotnet_diagnostics_ipc::io::Canceller;
use dotnet_diagnostics_ipc::io::trust::TrustPolicy;
use dotnet_diagnostics_ipc::io::windows::PipeListener;
use dotnet_diagnostics_ipc::vectors::player::Network as _;
use dotnet_diagnostics_ipc::vectors::script::{Life, Target};

pub(crate) use super::address::TargetNetwork;
use super::address::to;
use super::process_id::TargetProcess;
use super::respawn::Respawned;
use super::spawn::RunsIn;
pub(super) use super::spawn::Spawned;
use super::spawn::with_canceller;
use super::{Address, Death};
use crate::networks::{LiveNetwork, Peer, SharedPort};

/// How the target shared by many cases is reached.
pub(super) enum Reach {
    /// It listens at this pipe; and its process, if known.
    Pipe(String, Option<u32>),
    /// It connects to this port.
    Port(SharedPort),
    /// It is started.
    Spawn(Respawned),
}

impl Reach {
    pub(super) fn find(
        address: &Address,
        _: Duration,
        _: TrustPolicy,
        _: Option<&Canceller>,
    ) -> Result<Self, String> {
        let (pipe, process) = match address {
            Address::Process(id) => (PipeName::new(*id).to_string(), Some(*id)),
            Address::Pipe(name) => (name.clone(), PipeName::parse(name).ok().map(|name| name.pid)),
            Address::Socket(path) => {
                let path = path.display();
                return Err(format!(
                    r"{path}: on Windows a runtime has a pipe, not a socket: use \\.\pipe\NAME or a process id"
                ));
            }
            Address::Port(path) => {
                let listener = PipeListener::bind(&path.to_string_lossy())
                    .map_err(|error| format!("{error:#}"))?;
                return Ok(Self::Port(Arc::new(Mutex::new(listener))));
            }
            Address::Spawn(command) => return Ok(Self::Spawn(Respawned::new(command))),
        };
        // The first request shows whether it answers.
        match LiveNetwork::to(pipe.clone())
            .life(Life::Alive, Duration::ZERO)
            .map_err(|trouble| trouble.to_string())?
        {
            Life::Alive => Ok(Self::Pipe(pipe, process)),
            Life::Dead => Err(format!(r"{PIPE_PREFIX}{pipe} does not exist")),
        }
    }

    pub(super) const fn can_spawn(&self) -> bool {
        matches!(self, Self::Spawn(_))
    }

    pub(super) const fn is_at_port(&self) -> bool {
        matches!(self, Self::Port(_))
    }

    #[allow(clippy::unused_self, reason = "on Unix it depends on it")]
    pub(super) const fn takes_two_at_once(&self) -> bool {
        false
    }

    pub(super) fn shared(
        &mut self,
        within: Duration,
        often: bool,
        canceller: Option<&Canceller>,
    ) -> Result<LiveNetwork, String> {
        match self {
            Self::Pipe(name, _) => Ok(with_canceller(to(name.clone()), canceller)),
            Self::Port(port) => {
                Ok(with_canceller(LiveNetwork::at_shared_port(Arc::clone(port)), canceller))
            }
            Self::Spawn(respawned) => respawned.shared(within, often, canceller),
        }
    }

    pub(super) fn own(
        &self,
        target: &Target,
        runs_in: RunsIn,
        within: Duration,
        canceller: Option<&Canceller>,
    ) -> Result<(Spawned, LiveNetwork), String> {
        let Self::Spawn(respawned) = self else {
            return Err("this target cannot be started".to_owned());
        };
        respawned.own(target, runs_in, within, canceller)
    }

    pub(super) fn death(&self) -> Option<Death> {
        match self {
            Self::Spawn(respawned) => respawned.death(),
            Self::Pipe(..) | Self::Port(_) => None,
        }
    }

    pub(super) fn process_id(&self) -> Option<u32> {
        match self {
            Self::Pipe(_, process) => *process,
            Self::Port(_) => None,
            Self::Spawn(respawned) => respawned.process_id(),
        }
    }

    /// Unknown for a target that connects to a port.
    pub(super) fn is_endpoint_gone(&self, _: Duration) -> bool {
        let name = match self {
            Self::Pipe(name, _) => Some(name),
            Self::Spawn(respawned) => respawned.address(),
            Self::Port(_) => None,
        };
        let Some(name) = name else { return false };
        matches!(to(name.clone()).life(Life::Dead, Duration::ZERO), Ok(Life::Dead))
    }

    pub(super) fn end_shared(&mut self) -> bool {
        match self {
            Self::Spawn(respawned) => {
                respawned.end();
                true
            }
            Self::Pipe(..) | Self::Port(_) => false,
        }
    }
}

/// The process at the other end, from the name of its pipe.
pub(super) fn process_of(network: &LiveNetwork) -> TargetProcess {
    TargetProcess {
        named: network.pipe().and_then(|name| PipeName::parse(name).ok()).map(|name| name.pid),
        peer: Peer::default(),
    }
}

/// The network unchanged: Windows has no `user_events`.
pub(super) const fn with_user_events(network: LiveNetwork, _: bool) -> LiveNetwork {
    network
}
