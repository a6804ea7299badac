//! How a target is reached on Unix: at a socket, at a diagnostic port, or by starting it.

use alloc::{
    borrow::ToOwned as _,
    boxed::Box,
    format,
    string::{String, ToString as _},
};
use core::cell::Cell;
use core::time::Duration;
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};
use std::time::Instant;

use super::ask::{Identity, identity_of};
use super::evidence::known_version;
use super::place::RunsIn;
use super::process_id::TargetProcess;
pub(super) use super::spawn::Spawned;
use super::spawn::with_canceller;
use super::{Death, Place, SpawnCommand};
use crate::conformance::player::{Network as _, SocketNetwork};
use crate::endpoint::SocketName;
use crate::io::trust::TrustPolicy;
use crate::io::{Canceller, Connect as _, Endpoint, ErrorKind, UnlinkOnDrop, Until, bind_private, discovery};
use crate::port::{DEFAULT_PORT_SUSPEND_VARIABLE, PORTS_VARIABLE};
use crate::vectors::script::Target;

/// Connections to a target.
pub(in crate::conformance) type TargetNetwork = SocketNetwork;

/// How long managed code may take to begin.
const BEGINS: Duration = Duration::from_secs(20);
/// From managed code's first sign to where it does nothing more of interest; and how long a target is left alone that does not say.
const SETTLED: Duration = Duration::from_millis(500);
/// The variable of .NET for the directory of perf maps, which is `/tmp` without it.
const PERF_MAP_PATH: &str = "DOTNET_PerfMapJitDumpPath";
/// How long to wait before something is looked at again.
const PAUSE: Duration = Duration::from_millis(50);

/// How the target that many cases share is reached.
pub(super) enum Reach {
    /// It listens at this socket.
    Socket(PathBuf),
    /// It connects to this port.
    Port(UnixListener, #[allow(dead_code, reason = "it removes the socket in the end")] UnlinkOnDrop),
    /// It is started.
    Spawn {
        command: SpawnCommand,
        /// The one that runs.
        spawned: Option<Box<Spawned>>,
        /// Whether one was waited for in vain to name its assembly: others of this command are not.
        stays_nameless: Cell<bool>,
    },
}

impl Reach {
    pub(super) fn find(place: &Place, within: Duration, trust: TrustPolicy, canceller: Option<&Canceller>) -> Result<Self, String> {
        let forever = Until { deadline: None, canceller };
        let reach = match place {
            Place::Process(id) => Self::Socket(discovery::endpoint_of(*id, &forever).map_err(|error| format!("{error:#}"))?),
            Place::Socket(path) => Self::Socket(path.clone()),
            Place::Pipe(_) => return Err(format!("{place}: this system has no named pipes, they are Windows's")),
            Place::Port(path) => {
                let (listener, guard) = bind_private(path).map_err(|error| format!("{error:#}"))?;
                Self::Port(listener, guard)
            }
            Place::Spawn(command) => Self::Spawn { command: command.clone(), spawned: None, stays_nameless: Cell::new(false) },
        };
        if let Self::Socket(path) = &reach {
            let until = Until { deadline: Instant::now().checked_add(within), canceller };
            Endpoint::socket(path.clone()).trusting(trust).connect(&until).map_err(|error| format!("{error:#}"))?;
        }
        Ok(reach)
    }

    pub(super) const fn can_spawn(&self) -> bool {
        matches!(self, Self::Spawn { .. })
    }

    pub(super) const fn is_at_port(&self) -> bool {
        matches!(self, Self::Port(..))
    }

    pub(super) const fn takes_two_at_once(&self) -> bool {
        !matches!(self, Self::Port(..))
    }

    pub(super) fn shared(&mut self, within: Duration, often: bool, canceller: Option<&Canceller>) -> Result<SocketNetwork, String> {
        match self {
            Self::Socket(path) => {
                let network = with_canceller(SocketNetwork::to_socket(path.clone()), canceller);
                Ok(if let Some(id) = named_process(path) {
                    network.with_process_id(id)
                } else {
                    let path = path.clone();
                    network.with_process(move || is_listened_at(&path))
                })
            }
            Self::Port(listener, _) => {
                let listener = listener.try_clone().map_err(|error| error.to_string())?;
                Ok(with_canceller(SocketNetwork::at_port(listener), canceller))
            }
            Self::Spawn { command, spawned, stays_nameless } => {
                if let Some(running) = spawned.as_ref().filter(|spawned| spawned.death().is_none()) {
                    return Ok(with_canceller(running.network(), canceller));
                }
                *spawned = None;
                let (mut target, mut runs_in) = (Target::default(), RunsIn::CurrentDirectory);
                if often {
                    target.environment.insert(PERF_MAP_PATH.to_owned(), ".".to_owned());
                    runs_in = RunsIn::OwnDirectory;
                }
                let (started, mut network) = Spawned::start(command, &target, runs_in, canceller)?;
                until_it_runs(&mut network, within, if often { Duration::ZERO } else { SETTLED }, stays_nameless)?;
                *spawned = Some(Box::new(started));
                Ok(network)
            }
        }
    }

    pub(super) fn own(
        &self,
        target: &Target,
        runs_in: RunsIn,
        within: Duration,
        canceller: Option<&Canceller>,
    ) -> Result<(Spawned, SocketNetwork), String> {
        let Self::Spawn { command, stays_nameless, .. } = self else { return Err("this target cannot be started".to_owned()) };
        let (spawned, mut network) = Spawned::start(command, target, runs_in, canceller)?;
        let suspends = [PORTS_VARIABLE, DEFAULT_PORT_SUSPEND_VARIABLE].iter().any(|name| target.environment.contains_key(*name));
        if !target.suspended && !suspends && !target.ports.iter().any(|port| port.suspend) {
            until_it_runs(&mut network, within, SETTLED, stays_nameless)?;
        }
        Ok((spawned, network))
    }

    pub(super) fn death(&self) -> Option<Death> {
        match self {
            Self::Spawn { spawned: Some(spawned), .. } => spawned.death(),
            _ => None,
        }
    }

    pub(super) fn process_id(&self) -> Option<u32> {
        match self {
            Self::Socket(path) => named_process(path),
            Self::Port(..) => None,
            Self::Spawn { spawned, .. } => spawned.as_ref().map(|spawned| spawned.process_id()),
        }
    }

    /// Of a target that connects to a port nobody can tell.
    pub(super) fn is_endpoint_gone(&self, within: Duration) -> bool {
        let path = match self {
            Self::Socket(path) => path.clone(),
            Self::Spawn { spawned: Some(spawned), .. } => spawned.socket().to_owned(),
            Self::Spawn { spawned: None, .. } | Self::Port(..) => return false,
        };
        let until = Until { deadline: Instant::now().checked_add(within), canceller: None };
        let connected = Endpoint::socket(path).connect(&until);
        connected.is_err_and(|error| matches!(error.kind(), ErrorKind::NotFound(_) | ErrorKind::NotAnEndpoint(_)))
    }

    pub(super) fn end_shared(&mut self) -> bool {
        match self {
            Self::Spawn { spawned, .. } => {
                *spawned = None;
                true
            }
            _ => false,
        }
    }
}

/// The network, with what there is for `user_events_data`: a socket in its place, or the file of this system.
pub(super) fn with_user_events(network: SocketNetwork, stand_in: bool) -> SocketNetwork {
    if stand_in { network.with_stand_in_for_user_events() } else { network.with_kernels_user_events() }
}

/// Waits until managed code runs, which is what scripts expect of a target that is not suspended: .NET then names its assembly. One that
/// cannot be asked is given time. One that is not .NET, or that never names an assembly, is ready where its socket is.
fn until_it_runs(network: &mut SocketNetwork, within: Duration, settled: Duration, nameless: &Cell<bool>) -> Result<(), String> {
    let began = Instant::now();
    let will_name_it = |identity: &Identity| !identity.runs && known_version(&identity.version).is_some();
    while !nameless.get() && identity_of(network, within)?.is_some_and(|identity| will_name_it(&identity)) {
        nameless.set(began.elapsed() >= BEGINS);
        pause(network, PAUSE)?;
    }
    pause(network, settled)
}

fn pause(network: &mut SocketNetwork, time: Duration) -> Result<(), String> {
    let until = network.now().saturating_add(time);
    network.wait(until).map_err(|trouble| trouble.to_string())
}

/// Whether somebody listens there. Who has no room for one more client does.
fn is_listened_at(path: &Path) -> bool {
    let until = Until { deadline: Instant::now().checked_add(PAUSE), canceller: None };
    match Endpoint::socket(path).trusting(TrustPolicy::UNCHECKED).connect(&until) {
        Ok(_) => true,
        Err(error) => matches!(error.kind(), ErrorKind::TimedOut),
    }
}

/// The process at the other end, as far as it is known.
pub(super) fn process_of(network: &SocketNetwork) -> TargetProcess {
    TargetProcess { named: network.target_socket().and_then(named_process), peer: network.peer() }
}

/// The process that the name of a socket tells.
fn named_process(path: &Path) -> Option<u32> {
    SocketName::from_path(path.to_str()?).ok().map(|name| name.pid)
}
