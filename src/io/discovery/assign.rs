//! Which process a socket belongs to.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::string::ToString as _;
use std::vec::Vec;

use super::directory::Candidate;
use super::found::EndpointState;
#[cfg(any(target_os = "linux", target_os = "android"))]
use super::linux::{self as platform, Listeners};
#[cfg(not(any(target_os = "linux", target_os = "android")))]
use super::macos::{self as platform, Listeners};
use super::process::Process;
use crate::endpoint::UNKNOWN_KEY;
use crate::io::ErrorKind;
use crate::io::listening_path::{Probe, probe};
use crate::io::trust::Peer;
use crate::io::unix_address::UnixAddress;

impl Process {
    /// Whether the name is that of its socket: the same id, the same start.
    pub(super) fn is_named(&self, candidate: &Candidate) -> bool {
        self.inner_id == candidate.name.pid && self.start_time == Some(candidate.name.key)
    }
}

/// What connecting to a socket shows.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Asked {
    pub(super) state: EndpointState,
    /// Who called `listen`. `None` without a connection, and if the system does not report it.
    listener: Option<Peer>,
}

/// Connects to a socket to see whether a process listens; `None` if the socket has disappeared.
pub(super) fn ask(candidate: &Candidate, listeners: &mut Listeners) -> Option<Asked> {
    let probed = UnixAddress::of(&candidate.path).and_then(|address| Ok(probe(address.get())?));
    let (state, listener) = match probed {
        Ok(Probe::Listening(peer)) => (EndpointState::Listening, peer),
        Ok(Probe::Refused) => (EndpointState::Stale, None),
        Ok(Probe::Absent) => return None,
        // Another user's: the list has its name.
        Ok(Probe::Unknown(std::io::ErrorKind::PermissionDenied))
            if listeners.is_listed(&candidate.name.to_string()) =>
        {
            (EndpointState::Listening, None)
        }
        Ok(Probe::Unknown(why)) => (EndpointState::Unknown(why), None),
        Err(ErrorKind::Io(error)) => (EndpointState::Unknown(error.kind()), None),
        Err(_) => (EndpointState::Unknown(std::io::ErrorKind::InvalidInput), None),
    };
    Some(Asked { state, listener })
}

/// Whose socket it is. Anyone can give a socket a process's name: the process and the user that
/// called `listen` must fit. Where the system does not report them, the socket must belong to the
/// process's user: only that user and root can create such a file.
pub(super) fn process_of<'t>(
    asked: &Asked,
    candidate: &Candidate,
    named: Option<&'t Process>,
    find: impl FnOnce(u32) -> Option<Cow<'t, Process>>,
) -> Option<Cow<'t, Process>> {
    match asked.listener {
        // A process of a pid namespace that we cannot see has no id, and is none of ours.
        Some(peer) => find(peer.process_id?).filter(|process| process.runs_as(peer.user_id)),
        None => named.filter(|process| process.runs_as(candidate.owner)).map(Cow::Borrowed),
    }
}

/// Processes by the id in our namespace, and by that in their own.
pub(super) struct Table<'t> {
    by_id: BTreeMap<u32, &'t Process>,
    by_inner_id: BTreeMap<u32, Vec<&'t Process>>,
}

impl<'t> Table<'t> {
    pub(super) fn of(processes: &'t [Process]) -> Self {
        let mut by_inner_id: BTreeMap<u32, Vec<&Process>> = BTreeMap::new();
        for process in processes {
            by_inner_id.entry(process.inner_id).or_default().push(process);
        }
        let by_id = processes.iter().map(|process| (process.process_id, process)).collect();
        Self { by_id, by_inner_id }
    }

    /// One of our namespace; also one that has started since, or where no list of processes is readable.
    pub(super) fn with_id(&self, process_id: u32) -> Option<Cow<'t, Process>> {
        match self.by_id.get(&process_id) {
            Some(process) => Some(Cow::Borrowed(*process)),
            None => platform::process(process_id, &mut Vec::new())
                .filter(|process| process.runs)
                .map(Cow::Owned),
        }
    }

    pub(super) fn with_inner_id(&self, inner_id: u32) -> impl Iterator<Item = &'t Process> {
        self.by_inner_id.get(&inner_id).into_iter().flatten().copied()
    }
}

/// The paths of one directory: ours, of `None`, and those of processes.
pub(super) type Paths = BTreeMap<Option<u32>, PathBuf>;

/// The process that a socket with these paths is named after.
pub(super) fn named_process<'t>(
    candidate: &Candidate,
    paths: &Paths,
    table: &Table<'t>,
) -> Option<&'t Process> {
    // A runtime that does not know its start time writes no key (F-61).
    let is_keyless = candidate.name.key == UNKNOWN_KEY;
    let same_id = table.with_inner_id(candidate.name.pid);
    let named: Vec<&Process> =
        same_id.filter(|process| is_keyless || process.is_named(candidate)).collect();
    let here = named.iter().filter(|process| paths.contains_key(&Some(process.process_id)));
    let here: Vec<&Process> = here.copied().collect();
    // The first processes of two pid namespaces may have started in the same jiffy. If both have
    // this directory, the name is ambiguous.
    match (&here[..], &named[..]) {
        ([one], _) | ([], [one]) => Some(one),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::endpoint::SocketName;

    #[test]
    fn discovery_two_candidates_prefers_matching_tmpdir() {
        let process = |process_id| Process {
            inner_id: 1,
            start_time: Some(7),
            ..Process::unknown(process_id)
        };
        let table = [process(11), process(12), Process::unknown(1)];
        let named = |pid, key, of: &[u32], table| {
            let paths = of.iter().map(|of| (Some(*of), PathBuf::from("/x"))).collect();
            named_process(&candidate(pid, key, 0), &paths, &Table::of(table))
                .map(|process: &Process| process.process_id)
        };
        assert_eq!(named(1, 7, &[12], &table), Some(12));
        assert_eq!(named(1, 7, &[1, 11], &table), Some(11));
        assert_eq!(named(1, 7, &[11, 12], &table), None);
        assert_eq!(named(1, 7, &[], &table), None);
        assert_eq!(named(1, 7, &[], &table[..1]), Some(11));
        assert_eq!(named(1, 8, &[11], &table), None);
        assert_eq!(named(1, UNKNOWN_KEY, &[1], &table), Some(1));
        assert_eq!(named(12, 7, &[12], &table), None);
    }

    /// Under an emulator the key is not the start time that the kernel knows: who listens decides (F-136).
    #[test]
    fn discovery_assigns_socket_with_another_key_to_the_process_that_listens() {
        let process =
            Process { inner_id: 12, start_time: Some(7), user: Some(1000), ..Process::unknown(12) };
        let (table, candidate) = ([process.clone()], candidate(12, 8, 1000));
        let paths = [(Some(12), PathBuf::from("/x"))].into();
        let named = named_process(&candidate, &paths, &Table::of(&table));
        assert!(named.is_none());
        let whose = |listener| {
            let asked = Asked { state: EndpointState::Listening, listener };
            let find = |id| table.iter().find(|one| one.process_id == id).map(Cow::Borrowed);
            process_of(&asked, &candidate, named, find).map(|process| process.process_id)
        };
        assert_eq!(whose(Some(Peer { user_id: 1000, process_id: Some(12) })), Some(12));
        assert_eq!(whose(None), None);
    }

    fn candidate(pid: u32, key: u64, owner: u32) -> Candidate {
        Candidate { path: PathBuf::from("/x/s"), name: SocketName::new(pid, key), owner }
    }

    /// A process can listen, and then run a program that makes it another user's: it keeps its id
    /// and its start time. And an id is used again.
    #[test]
    fn discovery_assigns_socket_only_to_process_and_user_that_listen() {
        let victim = Process { user: Some(1000), ..Process::unknown(12) };
        let attacker = Process { user: Some(1234), ..Process::unknown(13) };
        let whose = |listener, owner| {
            let asked = Asked { state: EndpointState::Listening, listener };
            let find = |id| {
                [&victim, &attacker]
                    .into_iter()
                    .find(|process| process.process_id == id)
                    .map(Cow::Borrowed)
            };
            process_of(&asked, &candidate(12, 7, owner), Some(&victim), find)
                .map(|process| process.process_id)
        };
        let peer = |process_id, user_id| Some(Peer { user_id, process_id });
        assert_eq!(whose(peer(Some(12), 1000), 1000), Some(12));
        // It listened before it gave up root.
        assert_eq!(whose(peer(Some(12), 0), 0), Some(12));
        assert_eq!(whose(peer(Some(12), 1234), 1234), None);
        assert_eq!(whose(peer(Some(13), 1234), 1234), Some(13));
        assert_eq!(whose(peer(Some(13), 1000), 1000), None);
        // Of a pid namespace that we cannot see; and of one that has exited.
        assert_eq!(whose(peer(None, 1000), 1000), None);
        assert_eq!(whose(peer(Some(14), 1000), 1000), None);
        // Nothing is known of the listener.
        assert_eq!(whose(None, 1000), Some(12));
        assert_eq!(whose(None, 0), Some(12));
        assert_eq!(whose(None, 1234), None);
    }

    #[test]
    fn discovery_unlisted_socket_is_tried() {
        let home = tempfile::tempdir().unwrap();
        let mut listeners = Listeners::default();
        let mut ask = |path: &str| {
            let candidate = Candidate { path: home.path().join(path), ..candidate(u32::MAX, 7, 0) };
            ask(&candidate, &mut listeners)
        };
        let unheard = |state| Some(Asked { state, listener: None });
        let listener = std::os::unix::net::UnixListener::bind(home.path().join("listens")).unwrap();
        let asked = ask("listens").unwrap();
        assert_eq!(asked.state, EndpointState::Listening);
        assert_eq!(asked.listener.unwrap().process_id, Some(std::process::id()));
        drop(listener);
        // A process started by another test holds it until `exec`.
        for _ in 0..1000 {
            if std::os::unix::net::UnixStream::connect(home.path().join("listens")).is_err() {
                break;
            }
            std::thread::sleep(core::time::Duration::from_millis(10));
        }
        assert_eq!(ask("listens"), unheard(EndpointState::Stale));
        assert_eq!(ask("gone"), None);
        std::fs::write(home.path().join("file"), "").unwrap();
        let below_a_file = EndpointState::Unknown(std::io::ErrorKind::NotADirectory);
        assert_eq!(ask("file/below"), unheard(below_a_file));
        let Some(Asked { state: EndpointState::Unknown(_), listener: None }) =
            ask(&"x".repeat(200))
        else {
            panic!("no socket has such a path")
        };
    }
}
