//! The target of a run: its location, and whether it is reachable.

use std::cell::Cell;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use dotnet_diagnostics_ipc::advertise::Advertise;
use dotnet_diagnostics_ipc::io::trust::TrustPolicy;
use dotnet_diagnostics_ipc::io::{Canceller, WaitLimit};
use dotnet_diagnostics_ipc_vectors::player::{Difference, PlayerError};
use dotnet_diagnostics_ipc_vectors::script;

use super::request::Identity;
use super::spawn::{RunsIn, Spawned, is_suspended, until_it_runs};
use super::system::named_process;
use super::{Death, request, system};
use crate::conversation::FaultSeen;
use crate::faults::Fault;
use crate::known::{Family, Profile};
use crate::network::address::{Address, SpawnCommand};
use crate::network::{Listener, LiveNetwork, Peer, is_served, tcp_address};

/// The time limit for asking a target again that did not identify itself.
const ASKED_AGAIN: Duration = Duration::from_secs(1);

pub(crate) struct Target {
    reach: Reach,
    within: Duration,
    canceller: Option<Canceller>,
    /// Whether the target is restarted repeatedly.
    often: bool,
    /// The process of the shared target, learned from its connections.
    process: TargetProcess,
}

/// How a target is reached that many cases share.
enum Reach {
    /// The target listens at this socket or pipe.
    Endpoint(PathBuf),
    /// The target connects to this port.
    Port(Listener),
    /// The target is started here, and restarted after its death.
    Spawn {
        command: SpawnCommand,
        running: Option<Box<Spawned>>,
        /// Whether waiting for an assembly name has failed once, and is not repeated.
        is_nameless: Cell<bool>,
    },
}

impl Target {
    /// Finds the target, and checks whether it is trusted. `within` limits this, and each answer
    /// too. `canceller` ends every wait for the target.
    pub(crate) fn find(
        address: &Address,
        within: Duration,
        trust: TrustPolicy,
        canceller: Option<&Canceller>,
    ) -> Result<Self, String> {
        let reach = match address {
            Address::Spawn(command) => Reach::Spawn {
                command: command.clone(),
                running: None,
                is_nameless: Cell::new(false),
            },
            Address::Port(path) => {
                Reach::Port(Listener::bind(path).map_err(|error| format!("{error:#}"))?)
            }
            Address::Process(_) | Address::Socket(_) | Address::Pipe(_) | Address::Tcp(_) => {
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

    /// Marks a target that is restarted often, which is ready once it answers, whatever its code
    /// does next. Such targets run in their own directory, and leave their perf maps there.
    pub(crate) fn started_often(mut self) -> Self {
        self.often = true;
        self
    }

    /// Whether a target can be started for a script that may end it.
    pub(crate) const fn can_spawn(&self) -> bool {
        matches!(self.reach, Reach::Spawn { .. })
    }

    pub(super) fn is_tcp(&self) -> bool {
        self.endpoint().is_some_and(|place| tcp_address(place).is_some())
    }

    /// Whether the target connects to us, one connection at a time.
    pub(super) const fn is_at_port(&self) -> bool {
        matches!(self.reach, Reach::Port(_))
    }

    /// Whether two connections can be open at once. On Windows two concurrent connections can hang
    /// a runtime (F-120). On a port the next connection is opened when the one before has ended.
    pub(super) const fn takes_two_at_once(&self) -> bool {
        cfg!(unix) && !self.is_at_port()
    }

    /// Returns the target shared by cases, starting it if necessary.
    pub(crate) fn shared(&mut self) -> Result<LiveNetwork, String> {
        let network = match &mut self.reach {
            Reach::Endpoint(endpoint) => {
                let endpoint = endpoint.clone();
                #[cfg(unix)]
                if let Some(id) = crate::network::exited_process(&endpoint) {
                    return Err(format!("process {id} has exited"));
                }
                LiveNetwork::to(&endpoint).with_process(move || system::is_alive(&endpoint))
            }
            Reach::Port(listener) => LiveNetwork::at_port(listener.clone()),
            Reach::Spawn { command, running, is_nameless } => {
                if let Some(alive) = running.as_ref().filter(|one| one.death().is_none()) {
                    return Ok(alive.network().with_canceller(self.canceller.clone()));
                }
                *running = None;
                let (runs_in, settled) = if self.often {
                    (RunsIn::OwnDirectory, Duration::ZERO)
                } else {
                    (RunsIn::CurrentDirectory, command.settles)
                };
                let (canceller, target) = (self.canceller.as_ref(), script::Target::default());
                let (started, mut network) = Spawned::start(command, &target, runs_in, canceller)?;
                until_it_runs(&mut network, self.within, settled, is_nameless)?;
                *running = Some(Box::new(started));
                return Ok(network);
            }
        };
        Ok(network.with_canceller(self.canceller.clone()))
    }

    pub(super) fn own(
        &self,
        target: &script::Target,
        runs_in: RunsIn,
    ) -> Result<(Spawned, LiveNetwork), String> {
        let Reach::Spawn { command, is_nameless, .. } = &self.reach else {
            return Err("this target cannot be started".to_owned());
        };
        let canceller = self.canceller.as_ref();
        let (spawned, mut network) = Spawned::start(command, target, runs_in, canceller)?;
        if target.default_port && !is_suspended(target) {
            until_it_runs(&mut network, self.within, command.settles, is_nameless)?;
        }
        Ok((spawned, network))
    }

    /// Returns the shared target if it was started here.
    fn running(&self) -> Option<&Spawned> {
        match &self.reach {
            Reach::Spawn { running, .. } => running.as_deref(),
            Reach::Endpoint(_) | Reach::Port(_) => None,
        }
    }

    /// Returns where the shared target listens, if that is known.
    fn endpoint(&self) -> Option<&Path> {
        match &self.reach {
            Reach::Endpoint(endpoint) => Some(endpoint),
            Reach::Port(_) | Reach::Spawn { .. } => self.running().map(Spawned::address),
        }
    }

    /// Whether the socket of the shared target no longer exists. A pipe ends with its process.
    pub(super) fn has_lost_its_socket(&self) -> bool {
        let socket = self.endpoint().filter(|place| cfg!(unix) && tcp_address(place).is_none());
        socket.is_some_and(|socket| !socket.exists())
    }

    /// Returns how the shared target ended, if that is known.
    pub(crate) fn death(&self) -> Option<Death> {
        self.running()?.death()
    }

    /// Returns the end of the shared target's standard error if it was started here.
    pub(super) fn last_words(&self) -> String {
        self.running().map(Spawned::last_words).unwrap_or_default()
    }

    /// Returns the process id of the shared target, if that is known.
    pub(crate) fn process_id(&self) -> Option<u32> {
        match self.running() {
            Some(running) => Some(running.process_id()),
            None => named_process(self.endpoint()?),
        }
    }

    /// Returns why process ids cannot be compared with the target's, if they cannot.
    /// [`Target::identity`] finds this out.
    pub(super) fn unknown_process(&self) -> Option<&'static str> {
        self.process.unknown()
    }

    /// Whether the target may be waiting at its start, because it was not started here. Until it
    /// continues, a session of .NET has no bytes (F-112), and no reply says that it waits (F-128).
    pub(crate) fn may_be_held(&self, profile: Profile) -> bool {
        profile.family() != Family::Strict && !self.can_spawn()
    }

    /// Whether nothing listens on the shared target's endpoint any more. This is unknown for a
    /// target that connects to a port.
    pub(crate) fn is_endpoint_gone(&self) -> bool {
        self.endpoint().is_some_and(|endpoint| !is_served(endpoint))
    }

    /// Returns why other users of the machine can use or replace the shared target's endpoint.
    pub(super) fn exposures(&self) -> Vec<FaultSeen> {
        self.endpoint().map(system::exposures).unwrap_or_default()
    }

    /// Ends the shared target if it was started here. Returns whether it was.
    pub(crate) fn end_shared(&mut self) -> bool {
        if let Reach::Spawn { running, .. } = &mut self.reach {
            *running = None;
        }
        self.can_spawn()
    }

    /// Whether the shared target still answers a complete `ProcessInfo`.
    pub(crate) fn answers(&mut self) -> Result<(), String> {
        request::answers(&mut self.shared()?, self.within).map_err(|trouble| said(&trouble))
    }

    /// Checks that the shared target still reacts to a request. The cases judge its answers.
    pub(super) fn reacts(&mut self) -> Result<(), String> {
        request::reacts(&mut self.shared()?, self.within).map_err(|trouble| said(&trouble))
    }

    /// Returns what the shared target says about itself.
    pub(crate) fn identity(&mut self) -> Result<Option<Identity>, String> {
        let mut network = self.shared()?;
        self.process = process_of(&network);
        // The target was asked before, with the full time limit.
        let within = match &self.reach {
            Reach::Spawn { is_nameless, .. } if is_nameless.get() => self.within.min(ASKED_AGAIN),
            _ => self.within,
        };
        request::identity_of(&mut network, within).map_err(|trouble| said(&trouble))
    }
}

/// Returns why a target is lost, with the name of the fault if it does not connect to its port.
fn said(trouble: &PlayerError) -> String {
    if *trouble == Difference::NotConnected.into() {
        format!("{}: no connection to the port in time", Fault::PortNotConnected)
    } else {
        trouble.to_string()
    }
}

/// Returns the process at the other end of the connections, as far as it is known.
pub(super) fn process_of(network: &LiveNetwork) -> TargetProcess {
    let named = network.address().and_then(named_process);
    TargetProcess { named, peer: network.peer(), ..TargetProcess::default() }
}

/// Observations from the cases of a run that other cases need.
#[derive(Clone, Debug, Default)]
pub(super) struct SeenInRun(Arc<Mutex<Seen>>);

#[derive(Debug, Default)]
struct Seen {
    /// The process of each cookie.
    cookies: BTreeMap<[u8; 16], u32>,
    /// The variables that a request has set or deleted.
    variables: BTreeSet<String>,
}

impl SeenInRun {
    /// Stores the cookie of a process. Returns another process that has the same cookie.
    pub(super) fn other_with(&self, cookie: [u8; 16], process: u32) -> Option<u32> {
        let other = *self.state().cookies.entry(cookie).or_insert(process);
        Some(other).filter(|other| *other != process)
    }

    pub(super) fn add_variables(&self, names: impl Iterator<Item = String>) {
        self.state().variables.extend(names);
    }

    pub(super) fn has_variable(&self, name: &str) -> bool {
        self.state().variables.contains(name)
    }

    fn state(&self) -> MutexGuard<'_, Seen> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What is known of a target's process.
#[derive(Clone, Debug, Default)]
pub(super) struct TargetProcess {
    /// The process id in the name of the socket or pipe, which the process itself has chosen.
    pub(super) named: Option<u32>,
    /// What the system reports about the other end of the connections.
    pub(super) peer: Peer,
    pub(super) seen: SeenInRun,
    /// Whether the command line is known to have the arguments (F-79).
    pub(super) tells_arguments: bool,
}

impl TargetProcess {
    /// Returns the advertise received at the port through which the process is reached.
    pub(super) fn advertise(&self) -> Option<Advertise> {
        self.peer.advertise()
    }

    /// Returns the expected process id if `said` is wrong; `None` if it is right or unknown.
    pub(super) fn expected_in_place_of(&self, said: u64) -> Option<String> {
        let is_one = |id: &u32| u64::from(*id) == said;
        match (ids_of(&self.peer), self.named) {
            (_, Some(named)) if is_one(&named) => None,
            (Some(_), _) if self.of_id(said).is_some() => None,
            (Some(ids), _) => {
                let ids: Vec<String> = ids.iter().map(ToString::to_string).collect();
                Some(format!("{}, the id of the listening process", ids.join(" or ")))
            }
            (None, Some(named)) => Some(format!("{named}, as in the name of its endpoint")),
            (None, None) => None,
        }
    }

    /// Returns the process of this system with the id `said`, if it is the peer or works for it.
    pub(super) fn of_id(&self, said: u64) -> Option<u32> {
        let (said, ids) = (u32::try_from(said).ok()?, ids_of(&self.peer)?);
        let own = ids.first().copied()?;
        if ids.contains(&said) { Some(own) } else { kin(own, said) }
    }

    /// Returns why process ids cannot be compared, if they cannot.
    pub(super) fn unknown(&self) -> Option<&'static str> {
        (self.named.is_none() && ids_of(&self.peer).is_none()).then_some(
            "processId was not checked: the process of the target, or its own id, is unknown here",
        )
    }
}

/// Returns the ids of a process: first ours, then those in its pid namespaces, the innermost last.
#[cfg(target_os = "linux")]
fn ids_of(peer: &Peer) -> Option<Vec<u32>> {
    Some(linux::ids(peer.process_id()?)).filter(|ids| !ids.is_empty())
}

#[cfg(not(target_os = "linux"))]
fn ids_of(peer: &Peer) -> Option<Vec<u32>> {
    peer.process_id().map(|id| vec![id])
}

#[cfg(not(target_os = "linux"))]
const fn kin(_: u32, _: u32) -> Option<u32> {
    None
}

#[cfg(target_os = "linux")]
use linux::kin;

#[cfg(target_os = "linux")]
mod linux {
    use std::collections::BTreeMap;

    use crate::process::procfs::{self, Stat};

    /// Returns the ids of a live process, beginning with the one in our pid namespace.
    pub(super) fn ids(process: u32) -> Vec<u32> {
        if !crate::network::lives(process) {
            return Vec::new();
        }
        // Kernels without pid namespaces have no `NSpid`.
        let ids = procfs::status(process, "NSpid");
        if ids.is_empty() { procfs::status(process, "Pid") } else { ids }
    }

    /// Returns a process whose id is `said`, in its own pid namespace or ours, and that descends
    /// from `id` or is in its group: a server may listen in one process and serve in another.
    pub(super) fn kin(id: u32, said: u32) -> Option<u32> {
        let parent = |id: u32| Some((id, procfs::status(id, "PPid").first().copied()?));
        let parents: BTreeMap<u32, u32> = procfs::processes().filter_map(parent).collect();
        let group_of = |id| Stat::of(id).map(|stat| stat.group).filter(|group| *group > 0);
        let group = group_of(id);
        parents.keys().copied().filter(|other| ids(*other).contains(&said)).find(|other| {
            let descends = || {
                std::iter::successors(Some(*other), |id| parents.get(id).copied())
                    .any(|one| one == id)
            };
            (group.is_some() && group_of(*other) == group) || descends()
        })
    }

    #[cfg(test)]
    mod tests {
        use super::*;

        #[test]
        fn kin_includes_child_but_not_parent_of_other_group() {
            let ours = std::process::id();
            let mut child = std::process::Command::new("cat")
                .stdin(std::process::Stdio::piped())
                .spawn()
                .unwrap();
            assert_eq!((kin(ours, child.id()), kin(ours, 1)), (Some(child.id()), None));
            let _ = child.kill();
            let _ = child.wait();
            assert_eq!(kin(ours, child.id()), None, "it has ended");
        }
    }
}

#[cfg(test)]
mod process_id_tests {
    use super::*;

    #[test]
    fn process_id_in_name_is_expected_without_other_source() {
        let named = TargetProcess { named: Some(12), ..TargetProcess::default() };
        assert_eq!(named.expected_in_place_of(12), None);
        assert_eq!(named.expected_in_place_of(13).unwrap(), "12, as in the name of its endpoint");
        let unknown = TargetProcess::default();
        assert_eq!(
            (unknown.expected_in_place_of(13), unknown.unknown().is_some(), named.unknown()),
            (None, true, None)
        );
    }
}
