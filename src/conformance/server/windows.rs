//! How a target is reached on Windows: at a pipe, or at a diagnostic port.
//!
//! Nothing is started here.

use alloc::{
    borrow::ToOwned as _,
    format,
    string::{String, ToString as _},
    sync::Arc,
};
use core::time::Duration;
use std::sync::Mutex;

use super::place::RunsIn;
use super::process_id::TargetProcess;
use super::{Death, Place};
use crate::conformance::player::{Network as _, Peer, PipeNetwork, SharedPort};
use crate::endpoint::{PIPE_PREFIX, PipeName};
use crate::io::Canceller;
use crate::io::trust::TrustPolicy;
use crate::io::windows::PipeListener;
use crate::vectors::script::{Life, Target};

/// Connections to a target.
pub(in crate::conformance) type TargetNetwork = PipeNetwork;

/// How the target that many cases share is reached.
pub(super) enum Reach {
    /// It listens at this pipe; and its process, where that is known.
    Pipe(String, Option<u32>),
    /// It connects to this port.
    Port(SharedPort),
}

/// A target that was started: there is none.
pub(super) enum Spawned {}

impl Reach {
    pub(super) fn find(place: &Place, _: Duration, _: TrustPolicy, _: Option<&Canceller>) -> Result<Self, String> {
        let (pipe, process) = match place {
            Place::Process(id) => (PipeName::new(*id).to_string(), Some(*id)),
            Place::Pipe(name) => (name.clone(), PipeName::parse(name).ok().map(|name| name.pid)),
            Place::Socket(path) => {
                let path = path.display();
                return Err(format!(r"{path}: on Windows a runtime has a pipe, no socket: \\.\pipe\NAME, or its process id"));
            }
            Place::Port(path) => {
                let listener = PipeListener::bind(&path.to_string_lossy()).map_err(|error| format!("{error:#}"))?;
                return Ok(Self::Port(Arc::new(Mutex::new(listener))));
            }
            Place::Spawn(_) => {
                return Err("--spawn is not there on Windows yet: start the target, and give its process id or pipe".to_owned());
            }
        };
        // What is there answers, or not, as the first thing that it is asked.
        match PipeNetwork::to_pipe(pipe.clone()).life(Life::Alive, Duration::ZERO).map_err(|trouble| trouble.to_string())? {
            Life::Alive => Ok(Self::Pipe(pipe, process)),
            Life::Dead => Err(format!(r"{PIPE_PREFIX}{pipe} is not there")),
        }
    }

    #[allow(clippy::unused_self, reason = "on Unix it depends on it")]
    pub(super) const fn can_spawn(&self) -> bool {
        false
    }

    pub(super) const fn is_at_port(&self) -> bool {
        matches!(self, Self::Port(_))
    }

    #[allow(clippy::unused_self, reason = "on Unix it depends on it")]
    pub(super) const fn takes_two_at_once(&self) -> bool {
        false
    }

    #[allow(clippy::unnecessary_wraps, reason = "on Unix it may have to be started")]
    pub(super) fn shared(&mut self, _: Duration, _: bool, _: Option<&Canceller>) -> Result<PipeNetwork, String> {
        Ok(match self {
            Self::Pipe(name, _) => PipeNetwork::to_pipe(name.clone()),
            Self::Port(port) => PipeNetwork::at_shared_port(Arc::clone(port)),
        })
    }

    #[allow(clippy::unused_self, reason = "on Unix it depends on it")]
    pub(super) fn own(&self, _: &Target, _: RunsIn, _: Duration, _: Option<&Canceller>) -> Result<(Spawned, PipeNetwork), String> {
        Err("this target cannot be started".to_owned())
    }

    #[allow(clippy::unused_self, reason = "on Unix it depends on it")]
    pub(super) const fn death(&self) -> Option<Death> {
        None
    }

    pub(super) const fn process_id(&self) -> Option<u32> {
        match self {
            Self::Pipe(_, process) => *process,
            Self::Port(_) => None,
        }
    }

    /// Of a target that connects to a port nobody can tell.
    pub(super) fn is_endpoint_gone(&self, _: Duration) -> bool {
        let Self::Pipe(name, _) = self else { return false };
        matches!(PipeNetwork::to_pipe(name.clone()).life(Life::Dead, Duration::ZERO), Ok(Life::Dead))
    }

    #[allow(clippy::unused_self, reason = "on Unix it depends on it")]
    pub(super) const fn end_shared(&mut self) -> bool {
        false
    }
}

/// The process at the other end, as far as the name of its pipe says it.
pub(super) fn process_of(network: &PipeNetwork) -> TargetProcess {
    TargetProcess { named: network.pipe().and_then(|name| PipeName::parse(name).ok()).map(|name| name.pid), peer: Peer::default() }
}

/// The network as it is: Windows has no `user_events`.
pub(super) const fn with_user_events(network: PipeNetwork, _: bool) -> PipeNetwork {
    network
}

impl Spawned {
    pub(super) const fn death(&self) -> Option<Death> {
        match *self {}
    }
}
