//! How a target is reached on Unix: at a socket, at a diagnostic port, or by starting it.

use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use dotnet_diagnostics_ipc::io::trust::TrustPolicy;
use dotnet_diagnostics_ipc::io::{
    Canceller, Connect as _, Endpoint, ErrorKind, UnlinkOnDrop, Until, bind_private, discovery,
};
use dotnet_diagnostics_ipc::vectors::script::Target;

pub(crate) use super::address::TargetNetwork;
use super::address::named_process;
use super::process_id::TargetProcess;
use super::respawn::Respawned;
use super::spawn::RunsIn;
pub(super) use super::spawn::Spawned;
use super::spawn::with_canceller;
use super::{Address, Death};
use crate::networks::LiveNetwork;

/// The time limit for a connection.
const PAUSE: Duration = Duration::from_millis(50);

/// How the target shared by many cases is reached.
pub(super) enum Reach {
    /// It listens at this socket.
    Socket(PathBuf),
    /// It connects to this port.
    Port(
        UnixListener,
        #[allow(dead_code, reason = "it removes the socket in the end")] UnlinkOnDrop,
    ),
    /// It is started.
    Spawn(Respawned),
}

impl Reach {
    pub(super) fn find(
        address: &Address,
        within: Duration,
        trust: TrustPolicy,
        canceller: Option<&Canceller>,
    ) -> Result<Self, String> {
        let forever = Until { deadline: None, canceller };
        let reach = match address {
            Address::Process(id) => Self::Socket(
                discovery::endpoint_of(*id, &forever).map_err(|error| format!("{error:#}"))?,
            ),
            Address::Socket(path) => Self::Socket(path.clone()),
            Address::Pipe(_) => return Err(format!("{address}: named pipes are only on Windows")),
            Address::Port(path) => {
                let (listener, guard) = bind_private(path).map_err(|error| format!("{error:#}"))?;
                Self::Port(listener, guard)
            }
            Address::Spawn(command) => Self::Spawn(Respawned::new(command)),
        };
        if let Self::Socket(path) = &reach {
            let until = Until { deadline: Instant::now().checked_add(within), canceller };
            Endpoint::socket(path.clone())
                .trusting(trust)
                .connect(&until)
                .map_err(|error| format!("{error:#}"))?;
        }
        Ok(reach)
    }

    pub(super) const fn can_spawn(&self) -> bool {
        matches!(self, Self::Spawn(_))
    }

    pub(super) const fn is_at_port(&self) -> bool {
        matches!(self, Self::Port(..))
    }

    pub(super) const fn takes_two_at_once(&self) -> bool {
        !matches!(self, Self::Port(..))
    }

    pub(super) fn shared(
        &mut self,
        within: Duration,
        often: bool,
        canceller: Option<&Canceller>,
    ) -> Result<LiveNetwork, String> {
        match self {
            Self::Socket(path) => {
                let network = with_canceller(LiveNetwork::to(path.clone()), canceller);
                Ok(if let Some(id) = named_process(path) {
                    network.with_process_id(id)
                } else {
                    let path = path.clone();
                    network.with_process(move || is_listened_at(&path))
                })
            }
            Self::Port(listener, _) => {
                let listener = listener.try_clone().map_err(|error| error.to_string())?;
                Ok(with_canceller(LiveNetwork::at_port(listener), canceller))
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
            Self::Socket(_) | Self::Port(..) => None,
        }
    }

    pub(super) fn process_id(&self) -> Option<u32> {
        match self {
            Self::Socket(path) => named_process(path),
            Self::Port(..) => None,
            Self::Spawn(respawned) => respawned.process_id(),
        }
    }

    /// Unknown for a target that connects to a port.
    pub(super) fn is_endpoint_gone(&self, within: Duration) -> bool {
        let path = match self {
            Self::Socket(path) => Some(path),
            Self::Spawn(respawned) => respawned.address(),
            Self::Port(..) => None,
        };
        let Some(path) = path else { return false };
        let until = Until { deadline: Instant::now().checked_add(within), canceller: None };
        let connected = Endpoint::socket(path.clone()).connect(&until);
        connected.is_err_and(|error| {
            matches!(error.kind(), ErrorKind::NotFound(_) | ErrorKind::NotAnEndpoint(_))
        })
    }

    pub(super) fn end_shared(&mut self) -> bool {
        match self {
            Self::Spawn(respawned) => {
                respawned.end();
                true
            }
            Self::Socket(_) | Self::Port(..) => false,
        }
    }
}

/// The network with its `user_events_data`: a socket as a replacement, or the file of this system.
pub(super) fn with_user_events(network: LiveNetwork, stand_in: bool) -> LiveNetwork {
    if stand_in {
        network.with_stand_in_for_user_events()
    } else {
        network.with_kernels_user_events()
    }
}

/// Whether a process listens there. A full backlog counts too.
fn is_listened_at(path: &Path) -> bool {
    let until = Until { deadline: Instant::now().checked_add(PAUSE), canceller: None };
    match Endpoint::socket(path).trusting(TrustPolicy::UNCHECKED).connect(&until) {
        Ok(_) => true,
        Err(error) => matches!(error.kind(), ErrorKind::TimedOut),
    }
}

/// The process at the other end, as far as known.
pub(super) fn process_of(network: &LiveNetwork) -> TargetProcess {
    TargetProcess { named: network.target_socket().and_then(named_process), peer: network.peer() }
}
