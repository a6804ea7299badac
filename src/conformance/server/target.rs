//! Where the target is, and that it is there.

use alloc::{
    borrow::ToOwned as _,
    boxed::Box,
    format,
    string::{String, ToString as _},
};
use core::{fmt, str::FromStr, time::Duration};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::thread;

use super::ask::{self, Identity};
use super::spawn::{SpawnCommand, Spawned};
use crate::conformance::player::{Player, SocketNetwork};
use crate::endpoint::SocketName;
use crate::io::{Connect as _, Endpoint, UnlinkOnDrop, Until, bind_private, discovery};
use crate::port::{DEFAULT_PORT_SUSPEND_VARIABLE, PORTS_VARIABLE};
use crate::vectors::Target;

/// How long managed code may take to begin.
const BEGINS: Duration = Duration::from_secs(20);
/// From managed code's first sign to where it does nothing more of interest; and how long a target is left alone that does not say.
const SETTLED: Duration = Duration::from_millis(500);
/// How long to wait before something is looked at again.
const PAUSE: Duration = Duration::from_millis(50);

/// Where the target is.
///
/// ```
/// use dotnet_diagnostics_ipc::conformance::server::Place;
///
/// assert!(matches!("4242".parse()?, Place::Process(4242)));
/// assert!(matches!("/tmp/my.socket".parse()?, Place::Socket(_)));
/// assert!(matches!("port:/tmp/my.port".parse()?, Place::Port(_)));
/// # Ok::<(), String>(())
/// ```
#[derive(Clone, Debug)]
pub enum Place {
    /// The default port of a process of this machine.
    Process(u32),
    /// It listens at this socket.
    Socket(PathBuf),
    /// It is a runtime that connects to this diagnostic port, at which the suite listens.
    Port(PathBuf),
    /// It is started, and started again after its death.
    Spawn(SpawnCommand),
}

impl FromStr for Place {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if let Ok(id) = text.parse() {
            return Ok(Self::Process(id));
        }
        match text.strip_prefix("port:") {
            Some("") => Err("port: wants a path".to_owned()),
            Some(path) => Ok(Self::Port(path.into())),
            None if text.is_empty() => Err("an endpoint is wanted: a process id, a socket's path, or port:PATH".to_owned()),
            None => Ok(Self::Socket(text.into())),
        }
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Process(id) => write!(f, "process {id}"),
            Self::Socket(path) => path.display().fmt(f),
            Self::Port(path) => write!(f, "port:{}", path.display()),
            Self::Spawn(command) => command.fmt(f),
        }
    }
}

/// How the target that many cases share is reached.
enum Reach {
    Socket(PathBuf),
    Port(UnixListener, #[allow(dead_code, reason = "it removes the socket in the end")] UnlinkOnDrop),
    Spawn(SpawnCommand, Option<Box<Spawned>>),
}

/// The target of a run.
pub(super) struct Subject {
    reach: Reach,
    within: Duration,
}

impl Subject {
    /// Finds the target, and looks whether it is trusted; `within` is how long it may take, of an answer as well.
    pub(super) fn find(place: &Place, within: Duration) -> Result<Self, String> {
        let reach = match place {
            Place::Process(id) => Reach::Socket(discovery::endpoint_of(*id, &Until::FOREVER).map_err(|error| error.to_string())?),
            Place::Socket(path) => Reach::Socket(path.clone()),
            Place::Port(path) => {
                let (listener, guard) = bind_private(path).map_err(|error| error.to_string())?;
                Reach::Port(listener, guard)
            }
            Place::Spawn(command) => Reach::Spawn(command.clone(), None),
        };
        if let Reach::Socket(path) = &reach {
            let until = Until { deadline: std::time::Instant::now().checked_add(within), canceller: None };
            Endpoint::socket(path.clone()).connect(&until).map_err(|error| error.to_string())?;
        }
        Ok(Self { reach, within })
    }

    /// Whether a target can be had that is as a script wants it, and that may die.
    pub(super) const fn can_spawn(&self) -> bool {
        matches!(self.reach, Reach::Spawn(..))
    }

    /// The target that cases share. It is started if it is not there.
    pub(super) fn shared(&mut self) -> Result<SocketNetwork, String> {
        let within = self.within;
        match &mut self.reach {
            Reach::Socket(path) => {
                let network = SocketNetwork::to_socket(path.clone());
                Ok(if let Some(id) = process_of(path) {
                    network.with_process(move || is_there(id))
                } else {
                    let path = path.clone();
                    network.with_process(move || UnixStream::connect(&path).is_ok())
                })
            }
            Reach::Port(listener, _) => Ok(SocketNetwork::at_port(listener.try_clone().map_err(|error| error.to_string())?)),
            Reach::Spawn(command, spawned) => {
                if let Some(running) = spawned.as_ref().filter(|spawned| spawned.death().is_none()) {
                    return Ok(running.network());
                }
                *spawned = None;
                let (started, mut network) = Spawned::start(command, &Target::default())?;
                until_it_runs(&mut network, within)?;
                *spawned = Some(Box::new(started));
                Ok(network)
            }
        }
    }

    /// A target for one case alone.
    pub(super) fn own(&self, target: &Target) -> Result<(Spawned, SocketNetwork), String> {
        let Reach::Spawn(command, _) = &self.reach else { return Err("this target cannot be started".to_owned()) };
        let (spawned, mut network) = Spawned::start(command, target)?;
        let suspends = [PORTS_VARIABLE, DEFAULT_PORT_SUSPEND_VARIABLE].iter().any(|name| target.environment.contains_key(*name));
        if !target.suspended && !suspends && !target.ports.iter().any(|port| port.suspend) {
            until_it_runs(&mut network, self.within)?;
        }
        Ok((spawned, network))
    }

    /// How the shared target ended, if it is known to have.
    pub(super) fn death(&self) -> Option<String> {
        match &self.reach {
            Reach::Spawn(_, Some(spawned)) => spawned.death(),
            _ => None,
        }
    }

    /// Ends the shared target, if it was started here; whether it was.
    pub(super) fn end_shared(&mut self) -> bool {
        match &mut self.reach {
            Reach::Spawn(_, spawned) => {
                *spawned = None;
                true
            }
            _ => false,
        }
    }

    /// Whether the shared target still answers a complete `ProcessInfo`.
    pub(super) fn answers(&mut self) -> Result<(), String> {
        let mut network = self.shared()?;
        let mut player = Player::new(&mut network, self.within);
        let until = player.network().now().saturating_add(self.within);
        ask::answers(&mut player, "the last one", until).map_err(|trouble| trouble.to_string())
    }

    /// What the shared target says it is.
    pub(super) fn identity(&mut self) -> Result<Option<Identity>, String> {
        let mut network = self.shared()?;
        identity(&mut network, self.within)
    }
}

fn identity(network: &mut SocketNetwork, within: Duration) -> Result<Option<Identity>, String> {
    let mut player = Player::new(network, within);
    let until = player.network().now().saturating_add(within);
    ask::identity(&mut player, "who are you", until).map_err(|trouble| trouble.to_string())
}

/// Waits until managed code runs, which is what scripts expect of a target that is not suspended. One that cannot be asked is given time.
fn until_it_runs(network: &mut SocketNetwork, within: Duration) -> Result<(), String> {
    let began = std::time::Instant::now();
    while identity(network, within)?.is_some_and(|identity| !identity.runs) {
        if began.elapsed() >= BEGINS {
            return Err(format!("the target's managed code does not begin within {} s", BEGINS.as_secs()));
        }
        thread::sleep(PAUSE);
    }
    thread::sleep(SETTLED);
    Ok(())
}

/// The process that the name of a socket tells.
fn process_of(path: &Path) -> Option<u32> {
    SocketName::of_path(path.to_str()?).ok().map(|name| name.pid)
}

fn is_there(id: u32) -> bool {
    let Some(pid) = i32::try_from(id).ok().and_then(rustix::process::Pid::from_raw) else { return false };
    // A process of somebody else is there, too.
    !matches!(rustix::process::test_kill_process(pid), Err(rustix::io::Errno::SRCH))
}
