//! Searches the directories of all processes, or of one.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fs;
use std::io;
use std::os::unix::fs::{FileTypeExt as _, MetadataExt as _};
use std::path::{Path, PathBuf};
use std::string::{String, ToString as _};
use std::time::SystemTime;
use std::vec::Vec;

#[cfg(any(target_os = "linux", target_os = "android"))]
use super::linux::{self as platform, Listeners};
#[cfg(not(any(target_os = "linux", target_os = "android")))]
use super::macos::{self as platform, AnyListeners as Listeners};
use super::{DiscoveredEndpoint, Discovery, EndpointState, Process, Tmpdir, UnreadablePath};
use crate::endpoint::{NamePrefix, SocketForm, SocketName, UNKNOWN_KEY};
use crate::io::trust::{self, Peer};
use crate::io::unix::{Probe, address, probe};
use crate::io::{Error, ErrorKind, Phase, WaitLimit};

/// Returns our `TMPDIR` and the default directory.
fn our_directories() -> Vec<PathBuf> {
    let tmpdir = std::env::var_os("TMPDIR").filter(|value| !value.is_empty()).map(PathBuf::from);
    let mut directories: Vec<PathBuf> =
        tmpdir.and_then(|path| std::path::absolute(path).ok()).into_iter().collect();
    let default = PathBuf::from(crate::endpoint::directory(None));
    if !directories.contains(&default) {
        directories.push(default);
    }
    directories
}

/// Lists the sockets or pipes of default ports with their processes.
///
/// A [`DiscoveredEndpoint`] may be out of date; [`Endpoint`](crate::io::Endpoint) checks again.
///
/// # Errors
/// Fails in [`Phase::Find`] if nothing can be listed.
#[allow(clippy::unnecessary_wraps, reason = "on Windows it can fail")]
pub fn processes() -> Result<Discovery, Error> {
    let mut unseen = Vec::new();
    let table = platform::processes(&mut unseen);
    let by_id = Table::of(&table);
    // The key is the directory's identity, because two paths may lead to it.
    let mut directories: BTreeMap<(u64, u64), Paths> = BTreeMap::new();
    let mut missing: BTreeSet<PathBuf> = BTreeSet::new();
    let ours = our_directories().into_iter().map(|path| (None, path));
    let theirs = table.iter().flat_map(|process| {
        process.directories().into_iter().map(|path| (Some(process.process_id), path))
    });
    for (process_id, path) in ours.chain(theirs) {
        match identity(&path) {
            Ok(identity) => {
                directories.entry(identity).or_default().entry(process_id).or_insert(path);
            }
            // A missing directory contains no sockets.
            Err(error)
                if error.kind() == std::io::ErrorKind::NotFound || missing.contains(&path) => {}
            Err(error) => {
                missing.insert(path.clone());
                unseen.push(UnreadablePath::new(process_id, path, &error));
            }
        }
    }
    let mut found = Vec::new();
    let mut listeners = Listeners::default();
    for paths in directories.into_values() {
        let mut failed = None;
        // The first path may lead through the root of a process that has exited.
        let listed = paths.iter().find_map(|(process_id, path)| {
            let unreadable = |error: &_| UnreadablePath::new(*process_id, path, error);
            let listed = sockets(path);
            listed.inspect_err(|error| failed = failed.take().or(Some(unreadable(error)))).ok()
        });
        match listed {
            Some(candidates) => found.extend(judge(&candidates, &paths, &by_id, &mut listeners)),
            None => unseen.extend(failed),
        }
    }
    let seen: BTreeSet<_> = found
        .iter()
        .filter(|found| !found.is_stale())
        .filter_map(|found| found.process_id)
        .collect();
    unseen.retain(|unseen| unseen.process_id.is_none_or(|process_id| !seen.contains(&process_id)));
    Ok(Discovery::new(found, unseen))
}

/// Assigns the sockets of one directory to processes.
fn judge(
    candidates: &[Candidate],
    paths: &Paths,
    table: &Table<'_>,
    listeners: &mut Listeners,
) -> Vec<DiscoveredEndpoint> {
    let mut found: Vec<DiscoveredEndpoint> = Vec::new();
    for candidate in candidates {
        let Some(asked) = ask(candidate, listeners) else { continue };
        let named = named_process(candidate, paths, table);
        let process = process_of(&asked, candidate, named, |id| table.with_id(id));
        let process_id = process.as_ref().map(|process| process.process_id);
        // Use the process's own path, as `endpoint_of` does.
        let own = process_id.and_then(|process_id| paths.get(&Some(process_id)));
        let file_name = candidate.path.file_name().unwrap_or_default();
        found.push(DiscoveredEndpoint {
            process_id,
            id_in_name: candidate.name.pid,
            key: Some(candidate.name.key),
            prefix: candidate.name.prefix,
            endpoint: own.map_or_else(|| candidate.path.clone(), |path| path.join(file_name)),
            owner: process.and_then(|process| process.user).or(Some(candidate.owner)),
            state: asked.state,
        });
    }
    supersede(&mut found, table);
    found
}

/// Marks all but one of several sockets in one directory with one process id as superseded. The
/// socket with the key of the process belongs to it; without such a socket, the newest does.
fn supersede(found: &mut [DiscoveredEndpoint], table: &Table<'_>) {
    let rank = |found: &DiscoveredEndpoint| {
        let is_its_key = |process: &Process| {
            Some(process.process_id) == found.process_id && process.start_time == found.key
        };
        (
            table.with_inner_id(found.id_in_name).any(is_its_key),
            found.key,
            found.prefix == NamePrefix::Current,
        )
    };
    // A router has one socket of each kind.
    let group = |one: &DiscoveredEndpoint| {
        (one.id_in_name, one.process_id, one.prefix == NamePrefix::Router)
    };
    let mut best = HashMap::new();
    for one in found.iter().filter(|found| !found.is_stale()) {
        let best = best.entry(group(one)).or_insert_with(|| rank(one));
        *best = (*best).max(rank(one));
    }
    for one in found.iter_mut().filter(|found| !found.is_stale()) {
        if best.get(&group(one)).is_some_and(|best| *best > rank(one)) {
            one.state = EndpointState::Superseded;
        }
    }
}

/// Returns the path of a process's socket or pipe. `process_id` is from our pid namespace, not from
/// the process's own.
///
/// For dotnet-dsrouter this is the socket of its device ([`NamePrefix::Router`]), unless that is
/// older than the router's own socket.
///
/// A listed socket with the right name and owner is not connected to. Whoever connects must check
/// who listens there, as [`Endpoint`](crate::io::Endpoint) does.
///
/// # Errors
/// Fails in [`Phase::Find`], with [`ErrorKind::NotFound`] if there is no such process.
/// [`ErrorKind::NoSocket`] says where its socket was searched, and on Linux why it has none.
/// `until` is checked between steps; each step reads the file system.
///
/// ```
/// use dotnet_diagnostics_ipc::io::{WaitLimit, discovery};
///
/// let error = discovery::endpoint_of(u32::MAX, &WaitLimit::FOREVER).unwrap_err();
/// assert_eq!(error.to_string(), "process 4294967295 was not found (looking for the endpoint)");
/// ```
pub fn endpoint_of(process_id: u32, until: &WaitLimit<'_>) -> Result<PathBuf, Error> {
    let not_found = |what: String| Err(Error::new(Phase::Find, ErrorKind::NotFound(what)));
    let check = || until.check().map_err(|stopped| Error::new(Phase::Find, stopped));
    check()?;
    let mut unseen = Vec::new();
    let Some(process) = platform::process(process_id, &mut unseen) else {
        let why = unseen.iter().map(|unseen| std::format!(" (could not read {unseen})"));
        return not_found(std::format!("process {process_id}{}", why.collect::<String>()));
    };
    let mut listeners = Listeners::default();
    let mut dead: Option<PathBuf> = None;
    let directories = process.directories();
    for path in &directories {
        check()?;
        let mut candidates = match sockets(path) {
            Ok(candidates) => candidates,
            Err(error) => {
                unseen.push(UnreadablePath::new(None, path, &error));
                continue;
            }
        };
        candidates.retain(|candidate| candidate.name.pid == process.inner_id);
        candidates.sort_by_key(|candidate| {
            core::cmp::Reverse((
                process.is_named(candidate),
                candidate.name.key,
                candidate.name.prefix == NamePrefix::Current,
            ))
        });
        let mut its = |is_router| -> Result<Option<PathBuf>, Error> {
            for candidate in candidates.iter().filter(|one| one.is_router() == is_router) {
                check()?;
                if process.has(candidate, &mut listeners) {
                    return Ok(Some(candidate.path.clone()));
                }
                dead.get_or_insert_with(|| candidate.path.clone());
            }
            Ok(None)
        };
        // The official client makes the same choice (F-162).
        match (its(false)?, its(true)?) {
            (Some(own), Some(device)) if modified(&device) < modified(&own) => return Ok(own),
            (_, Some(path)) | (Some(path), None) => return Ok(path),
            (None, None) => {}
        }
    }
    if let Some(path) = at_cut_path(&process) {
        return Ok(path);
    }
    let reason = no_socket(&process, &directories, dead.as_deref(), &unseen, &mut listeners);
    Err(Error::new(Phase::Find, ErrorKind::NoSocket(reason)))
}

fn modified(path: &Path) -> Option<SystemTime> {
    fs::symlink_metadata(path).and_then(|metadata| metadata.modified()).ok()
}

/// Returns the shortened path of a socket whose path is too long, if the process listens there.
#[cfg(any(target_os = "linux", target_os = "android"))]
fn at_cut_path(process: &Process) -> Option<PathBuf> {
    let path = super::no_socket::cut_path(process)?;
    let (address, _directory) = address(&path).ok()?;
    let Ok(Probe::Listening(Some(peer))) = probe(&address) else { return None };
    (peer.process_id == Some(process.process_id)).then_some(path)
}

#[cfg(not(any(target_os = "linux", target_os = "android")))]
fn at_cut_path(_: &Process) -> Option<PathBuf> {
    None
}

/// Describes where a socket was searched in vain, and why there is none.
fn no_socket(
    process: &Process,
    directories: &[PathBuf],
    dead: Option<&Path>,
    unseen: &[UnreadablePath],
    listeners: &mut Listeners,
) -> String {
    let places: Vec<String> = directories.iter().map(|path| path.display().to_string()).collect();
    let (id, inner_id, places) = (process.process_id, process.inner_id, places.join(" or "));
    let inside = std::format!(", where its process id is {inner_id}");
    let inside = if inner_id == id { "" } else { &inside };
    let guesses = |unread: String| {
        std::format!(
            "it is not a .NET process, or diagnostics are turned off by DOTNET_EnableDiagnostics, or it is not ready yet{unread}"
        )
    };
    let why = if let Some(dead) = dead {
        std::format!("it does not listen at {}", dead.display())
    } else if unseen.iter().any(|unseen| {
        unseen.process_id.is_some() || unseen.why == std::io::ErrorKind::PermissionDenied
    }) {
        let unread: Vec<_> =
            unseen.iter().map(|unseen| std::format!("; could not read {unseen}")).collect();
        guesses(unread.concat())
    } else {
        seen_reason(process, directories, listeners)
            .unwrap_or_else(|unseen| guesses(std::format!("; could not read {unseen}")))
    };
    std::format!("process {id} has no diagnostic socket in {places}{inside}: {why}")
}

#[cfg(any(target_os = "linux", target_os = "android"))]
fn seen_reason(
    process: &Process,
    directories: &[PathBuf],
    listeners: &mut Listeners,
) -> Result<String, UnreadablePath> {
    let directory = directories.first().map_or(Path::new("/tmp"), PathBuf::as_path);
    super::no_socket::reason(process, directory, listeners)
        .map_err(|(path, error)| UnreadablePath::new(None, path, &error))
}

#[cfg(not(any(target_os = "linux", target_os = "android")))]
fn seen_reason(
    _: &Process,
    directories: &[PathBuf],
    _: &mut Listeners,
) -> Result<String, UnreadablePath> {
    let why = std::io::Error::from(std::io::ErrorKind::Unsupported);
    let place = directories.first().cloned().unwrap_or_default();
    Err(UnreadablePath::new(None, place, &why))
}

/// The result of connecting to a socket.
#[derive(Debug, PartialEq, Eq)]
struct Asked {
    state: EndpointState,
    /// The process that called `listen`; `None` without a connection or a report.
    listener: Option<Peer>,
}

/// Connects to a socket to see whether a process listens; `None` if the socket has disappeared.
fn ask(candidate: &Candidate, listeners: &mut Listeners) -> Option<Asked> {
    let probed = address(&candidate.path).and_then(|(address, _directory)| Ok(probe(&address)?));
    let (state, listener) = match probed {
        Ok(Probe::Listening(peer)) => (EndpointState::Listening, peer),
        Ok(Probe::Refused) => (EndpointState::Stale, None),
        Ok(Probe::Absent) => return None,
        // Another user's socket refuses the connection; the list shows whether it listens.
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

/// Finds the process that owns a socket. Anyone can give a socket a process's name, so the process
/// and the user that called `listen` must match. Where the system does not report them, the socket
/// must belong to the process's user, because only that user and root can create such a file.
fn process_of<'t>(
    asked: &Asked,
    candidate: &Candidate,
    named: Option<&'t Process>,
    find: impl FnOnce(u32) -> Option<Cow<'t, Process>>,
) -> Option<Cow<'t, Process>> {
    match asked.listener {
        // A process in a pid namespace that we cannot see has no id, and is not one of ours.
        Some(peer) => find(peer.process_id?).filter(|process| process.runs_as(peer.user_id)),
        None => named.filter(|process| process.runs_as(candidate.owner)).map(Cow::Borrowed),
    }
}

/// Processes by their id in our namespace, and by their id in their own.
struct Table<'t> {
    by_id: HashMap<u32, &'t Process>,
    by_inner_id: HashMap<u32, Vec<&'t Process>>,
}

impl<'t> Table<'t> {
    fn of(processes: &'t [Process]) -> Self {
        let mut by_inner_id: HashMap<u32, Vec<&Process>> = HashMap::new();
        for process in processes {
            by_inner_id.entry(process.inner_id).or_default().push(process);
        }
        let by_id = processes.iter().map(|process| (process.process_id, process)).collect();
        Self { by_id, by_inner_id }
    }

    /// Returns the process with this id in our namespace, even if it started later.
    fn with_id(&self, process_id: u32) -> Option<Cow<'t, Process>> {
        match self.by_id.get(&process_id) {
            Some(process) => Some(Cow::Borrowed(*process)),
            None => platform::process(process_id, &mut Vec::new())
                .filter(|process| process.runs)
                .map(Cow::Owned),
        }
    }

    fn with_inner_id(&self, inner_id: u32) -> impl Iterator<Item = &'t Process> {
        self.by_inner_id.get(&inner_id).into_iter().flatten().copied()
    }
}

/// The paths of one directory: ours with the key `None`, and those of processes.
type Paths = BTreeMap<Option<u32>, PathBuf>;

/// Returns the process that a socket with these paths is named after.
fn named_process<'t>(
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

/// A socket that has the name of a default port.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Candidate {
    path: PathBuf,
    name: SocketName,
    owner: u32,
}

impl Candidate {
    /// Returns whether it is the second socket of dotnet-dsrouter.
    fn is_router(&self) -> bool {
        self.name.prefix == NamePrefix::Router
    }
}

/// Returns the sockets in `directory` that are named like default ports. Files, directories and
/// symbolic links with such a name are skipped.
fn sockets(directory: &Path) -> io::Result<Vec<Candidate>> {
    let mut found = Vec::new();
    for entry in fs::read_dir(directory)? {
        let file_name = entry?.file_name();
        let Some(name) = file_name.to_str().and_then(|name| SocketName::parse(name).ok()) else {
            continue;
        };
        let path = directory.join(&file_name);
        // A socket that has disappeared is skipped.
        let Ok(metadata) = fs::symlink_metadata(&path) else { continue };
        if name.form == SocketForm::Socket && metadata.file_type().is_socket() {
            found.push(Candidate { path, name, owner: metadata.uid() });
        }
    }
    Ok(found)
}

/// Identifies a directory: two paths are the same if this is equal.
fn identity(directory: &Path) -> io::Result<(u64, u64)> {
    fs::metadata(directory).map(|metadata| (metadata.dev(), metadata.ino()))
}

impl Process {
    /// Returns the directories in which the socket of the process may be.
    fn directories(&self) -> Vec<PathBuf> {
        match &self.tmpdir {
            Tmpdir::Known(tmpdir) => {
                let path = tmpdir
                    .as_deref()
                    .unwrap_or_else(|| Path::new(crate::endpoint::directory(None)));
                std::vec![self.root.as_deref().map_or_else(
                    || path.to_path_buf(),
                    // A missing directory is reported by its expected path.
                    |root| match trust::follow(root, path, |_, _| Ok(())) {
                        Ok((path, _)) => path,
                        Err(_) => root.join(path.strip_prefix("/").unwrap_or(path)),
                    },
                )]
            }
            Tmpdir::Unreadable => our_directories(),
        }
    }

    /// Returns whether the socket has this process's name: the same id and start time.
    fn is_named(&self, candidate: &Candidate) -> bool {
        self.inner_id == candidate.name.pid && self.start_time == Some(candidate.name.key)
    }

    /// Returns whether the process listens at this socket, whose name contains its id.
    fn has(&self, candidate: &Candidate, listeners: &mut Listeners) -> bool {
        // Another key means an earlier process with this id, unless this process listens there. A
        // router's key has another unit; connecting would disturb its device.
        let is_named = self.is_named(candidate)
            || candidate.name.key == UNKNOWN_KEY
            || candidate.is_router()
            || self.start_time.is_none();
        // Whoever connects later checks the listener, so this does not connect too.
        if is_named
            && self.runs_as(candidate.owner)
            && listeners.is_listed(&candidate.name.to_string())
        {
            return true;
        }
        let Some(asked) = ask(candidate, listeners) else { return false };
        let itself = |id| (id == self.process_id).then_some(Cow::Borrowed(self));
        let is_its = process_of(&asked, candidate, is_named.then_some(self), itself).is_some();
        is_its && asked.state != EndpointState::Stale
    }

    /// Returns whether this user may listen for the process: the process's own user, or root, as
    /// which the process may have started.
    fn runs_as(&self, user: u32) -> bool {
        user == 0 || self.user.is_none_or(|own| own == user)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::endpoint::SocketName;

    /// Each step must be a look-up, not a search, for this many sockets.
    #[test]
    fn discovery_200000_sockets_of_one_process_keeps_newest() {
        const N: u64 = 200_000;
        let process = Process { start_time: Some(N / 2), ..Process::unknown(12) };
        let named = |key| DiscoveredEndpoint {
            process_id: Some(12),
            id_in_name: 12,
            key: Some(key),
            prefix: NamePrefix::Current,
            endpoint: PathBuf::new(),
            owner: None,
            state: EndpointState::Listening,
        };
        let left = |table: &[Process]| {
            let mut found: Vec<_> = (0..N).map(named).collect();
            supersede(&mut found, &Table::of(table));
            let left: Vec<_> = found
                .iter()
                .filter(|found| !found.is_stale())
                .map(|found| found.key.unwrap())
                .collect();
            left
        };
        assert_eq!(left(&[process]), [N / 2]);
        assert_eq!(left(&[]), [N - 1]);
    }

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

    /// Under an emulator the key is not the kernel's start time, so the listener decides (F-136).
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

    /// A process can listen, and then run a program as another user with the same id and start
    /// time. An id can also be reused.
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
        // The process listened before it gave up root.
        assert_eq!(whose(peer(Some(12), 0), 0), Some(12));
        assert_eq!(whose(peer(Some(12), 1234), 1234), None);
        assert_eq!(whose(peer(Some(13), 1234), 1234), Some(13));
        assert_eq!(whose(peer(Some(13), 1000), 1000), None);
        // Sockets of a process in a pid namespace that we cannot see, and of one that has exited.
        assert_eq!(whose(peer(None, 1000), 1000), None);
        assert_eq!(whose(peer(Some(14), 1000), 1000), None);
        // The listener is unknown.
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
        // A process started by another test holds a copy of the socket until `exec`.
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
