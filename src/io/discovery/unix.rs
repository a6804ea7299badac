//! Assigns sockets to processes.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::string::{String, ToString as _};
use std::vec::Vec;

use super::directory::{self, Candidate};
use super::found::{DiscoveredEndpoint, Discovery, EndpointState, UnreadablePath};
#[cfg(any(target_os = "linux", target_os = "android"))]
use super::linux::{self as platform, Listeners};
#[cfg(not(any(target_os = "linux", target_os = "android")))]
use super::macos::{self as platform, Listeners};
use super::process::{Process, Tmpdir};
use crate::endpoint::{NamePrefix, UNKNOWN_KEY};
use crate::io::listening_path::{Probe, probe};
use crate::io::unix_address::UnixAddress;
use crate::io::{Error, ErrorKind, Phase, Until};

impl Process {
    /// Where its socket may be.
    fn directories(&self) -> Vec<PathBuf> {
        match &self.tmpdir {
            Tmpdir::Known(tmpdir) => {
                let path = tmpdir
                    .as_deref()
                    .unwrap_or_else(|| Path::new(crate::endpoint::directory(None)));
                std::vec![self.root.as_deref().map_or_else(
                    || path.to_path_buf(),
                    // A missing one is reported by its expected path.
                    |root| {
                        directory::within(root, path)
                            .unwrap_or_else(|_| root.join(path.strip_prefix("/").unwrap_or(path)))
                    },
                )]
            }
            Tmpdir::Unreadable => our_directories(),
        }
    }

    /// Whether the name is that of its socket: the same id, the same start.
    fn is_named(&self, candidate: &Candidate) -> bool {
        self.inner_id == candidate.name.pid && self.start_time == Some(candidate.name.key)
    }
}

/// Our `TMPDIR`, and the default if it is unset.
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

/// Whether a process listens, and which, as far as the system reports it.
fn ask(
    candidate: &Candidate,
    process_id: Option<u32>,
    listeners: &mut Listeners,
) -> Option<(EndpointState, Option<u32>)> {
    if process_id
        .is_some_and(|process_id| listeners.is_listed(process_id, &candidate.name.to_string()))
    {
        return Some((EndpointState::Listening, process_id));
    }
    // Not listed, or there is no list, or no process fits and so the right list is unknown. The
    // list is read in pieces, and a socket can be missed while others appear and disappear: a
    // connection decides.
    let probed = UnixAddress::of(&candidate.path).and_then(|address| Ok(probe(address.get())?));
    let state = match probed {
        Ok(Probe::Listening(peer)) => {
            return Some((
                EndpointState::Listening,
                peer.and_then(|peer| peer.process_id).or(process_id),
            ));
        }
        Ok(Probe::Refused) => EndpointState::Stale,
        Ok(Probe::Absent) => return None,
        Ok(Probe::Unknown(why)) => EndpointState::Unknown(why),
        Err(ErrorKind::Io(error)) => EndpointState::Unknown(error.kind()),
        Err(_) => EndpointState::Unknown(std::io::ErrorKind::InvalidInput),
    };
    Some((state, process_id))
}

// On Windows it can fail.
#[allow(clippy::unnecessary_wraps)]
pub(super) fn processes() -> Result<Discovery, Error> {
    let mut unseen = Vec::new();
    let table = platform::processes(&mut unseen);
    let by_id = Table::of(&table);
    // By the directory's identity: two paths may lead to it. Ours first.
    let mut directories: BTreeMap<(u64, u64), Vec<Place>> = BTreeMap::new();
    let mut missing: BTreeSet<PathBuf> = BTreeSet::new();
    let ours = our_directories().into_iter().map(|path| Place { of: None, path });
    let theirs = table.iter().flat_map(|process| {
        process.directories().into_iter().map(|path| Place { of: Some(process.process_id), path })
    });
    for place in ours.chain(theirs) {
        match directory::identity(&place.path) {
            Ok(identity) => directories.entry(identity).or_default().push(place),
            // A missing one contains no sockets.
            Err(error)
                if error.kind() == std::io::ErrorKind::NotFound
                    || missing.contains(&place.path) => {}
            Err(error) => {
                missing.insert(place.path.clone());
                unseen.push(UnreadablePath {
                    process_id: place.of,
                    path: place.path,
                    why: error.kind(),
                });
            }
        }
    }
    let mut found = Vec::new();
    let mut listeners = Listeners::default();
    for places in directories.into_values() {
        let mut failed = None;
        // The first may lead through the root of a process that has exited.
        let listed = places.iter().find_map(|place| {
            directory::sockets(&place.path)
                .inspect_err(|error| failed = failed.take().or(Some((place, error.kind()))))
                .ok()
        });
        match (listed, failed) {
            (Some(candidates), _) => {
                found.extend(judge(&candidates, &places, &by_id, &mut listeners));
            }
            (None, Some((place, why))) => {
                unseen.push(UnreadablePath { process_id: place.of, path: place.path.clone(), why });
            }
            (None, None) => {}
        }
    }
    unseen.retain(|unseen| {
        unseen.process_id.is_none()
            || !found.iter().any(|found| found.process_id == unseen.process_id && !found.is_stale())
    });
    found.sort_by(|one, other| {
        (one.process_id, &one.endpoint).cmp(&(other.process_id, &other.endpoint))
    });
    Ok(Discovery { found, unseen })
}

/// Processes by the id in their own namespace.
struct Table<'t>(BTreeMap<u32, Vec<&'t Process>>);

impl<'t> Table<'t> {
    fn of(processes: &'t [Process]) -> Self {
        let mut by_id: BTreeMap<u32, Vec<&Process>> = BTreeMap::new();
        for process in processes {
            by_id.entry(process.inner_id).or_default().push(process);
        }
        Self(by_id)
    }

    fn with_inner_id(&self, inner_id: u32) -> impl Iterator<Item = &'t Process> {
        self.0.get(&inner_id).into_iter().flatten().copied()
    }
}

/// A directory, by its path for us or for a process.
struct Place {
    of: Option<u32>,
    path: PathBuf,
}

/// The process of a socket in these places, by its name.
fn owner_of<'t>(candidate: &Candidate, places: &[Place], table: &Table<'t>) -> Option<&'t Process> {
    // A runtime that does not know its start time writes no key (F-61).
    let is_keyless = candidate.name.key == UNKNOWN_KEY;
    let same_id = table.with_inner_id(candidate.name.pid);
    let named: Vec<&Process> =
        same_id.filter(|process| is_keyless || process.is_named(candidate)).collect();
    let here = named
        .iter()
        .filter(|process| places.iter().any(|place| place.of == Some(process.process_id)));
    let here: Vec<&Process> = here.copied().collect();
    // The first processes of two pid namespaces may have started in the same jiffy. If both have
    // this directory, the name is ambiguous, and the listener decides.
    match (&here[..], &named[..]) {
        ([one], _) | ([], [one]) => Some(one),
        _ => None,
    }
}

/// Assigns the sockets of one directory to processes.
fn judge(
    candidates: &[Candidate],
    places: &[Place],
    table: &Table<'_>,
    listeners: &mut Listeners,
) -> Vec<DiscoveredEndpoint> {
    let mut found: Vec<DiscoveredEndpoint> = Vec::new();
    for candidate in candidates {
        let owner = owner_of(candidate, places, table).map(|process| process.process_id);
        let Some((state, process_id)) = ask(candidate, owner, listeners) else { continue };
        // By the process's own path, like `endpoint_of`.
        let own = places.iter().find(|place| place.of.is_some() && place.of == process_id);
        let file_name = candidate.path.file_name().unwrap_or_default();
        found.push(DiscoveredEndpoint {
            process_id,
            id_in_name: candidate.name.pid,
            key: Some(candidate.name.key),
            prefix: candidate.name.prefix,
            endpoint: own
                .map_or_else(|| candidate.path.clone(), |place| place.path.join(file_name)),
            owner: Some(candidate.owner),
            state,
        });
    }
    supersede(&mut found, table);
    found
}

/// Of several sockets in one directory with one process id, one belongs to the process: the one
/// with its key, else the newest.
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
    let mut best = BTreeMap::new();
    for one in found.iter().filter(|found| !found.is_stale()) {
        let best = best.entry((one.id_in_name, one.process_id)).or_insert_with(|| rank(one));
        *best = (*best).max(rank(one));
    }
    for one in found.iter_mut().filter(|found| !found.is_stale()) {
        if best.get(&(one.id_in_name, one.process_id)).is_some_and(|best| *best > rank(one)) {
            one.state = EndpointState::Superseded;
        }
    }
}

pub(super) fn endpoint_of(process_id: u32, until: &Until<'_>) -> Result<PathBuf, Error> {
    let not_found = |what: String| Err(Error::new(Phase::Find, ErrorKind::NotFound(what)));
    let check = || until.check().map_err(|stopped| stopped.during(Phase::Find));
    check()?;
    let mut unseen = Vec::new();
    let Some(process) = platform::process(process_id, &mut unseen) else {
        return not_found(std::format!("process {process_id}"));
    };
    let mut listeners = Listeners::default();
    let mut dead: Option<PathBuf> = None;
    let directories = process.directories();
    for path in &directories {
        check()?;
        let mut candidates = match directory::sockets(path) {
            Ok(candidates) => candidates,
            Err(error) => {
                unseen.push(UnreadablePath {
                    process_id: None,
                    path: path.clone(),
                    why: error.kind(),
                });
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
        for candidate in candidates {
            check()?;
            // Another key means an earlier process with this id, unless this process listens there.
            let named = process.is_named(&candidate) || candidate.name.key == UNKNOWN_KEY;
            match ask(&candidate, named.then_some(process_id), &mut listeners) {
                Some((EndpointState::Listening, listener)) if listener == Some(process_id) => {
                    return Ok(candidate.path);
                }
                // The listener is unknown: connecting will tell.
                Some((EndpointState::Listening, None)) if process.start_time.is_none() => {
                    return Ok(candidate.path);
                }
                Some((EndpointState::Unknown(_), _)) if named => return Ok(candidate.path),
                _ => dead = dead.or(Some(candidate.path)),
            }
        }
    }
    not_found(nothing(&process, &directories, dead.as_deref(), &unseen))
}

/// The places searched in vain.
fn nothing(
    process: &Process,
    directories: &[PathBuf],
    dead: Option<&Path>,
    unseen: &[UnreadablePath],
) -> String {
    let places: Vec<String> = directories.iter().map(|path| path.display().to_string()).collect();
    let mut text = std::vec![std::format!(
        "a socket of process {} in {}",
        process.process_id,
        places.join(" or ")
    )];
    if process.inner_id != process.process_id {
        text.push(std::format!(", where its process id is {}", process.inner_id));
    }
    if let Some(dead) = dead {
        text.push(std::format!(" (it does not listen at {})", dead.display()));
    } else {
        text.push(String::from(
            " (not a .NET process, or diagnostics are turned off by DOTNET_EnableDiagnostics, or it is not ready yet",
        ));
        text.extend(unseen.iter().map(|unseen| std::format!("; could not read {unseen}")));
        text.push(String::from(")"));
    }
    text.concat()
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
        let place = |of| Place { of: Some(of), path: PathBuf::from("/x") };
        let owner = |pid, key, places: &[Place], table| {
            let candidate = Candidate {
                path: PathBuf::from("/x/s"),
                name: SocketName::new(pid, key),
                owner: 0,
            };
            owner_of(&candidate, places, &Table::of(table))
                .map(|process: &Process| process.process_id)
        };
        assert_eq!(owner(1, 7, &[place(12)], &table), Some(12));
        assert_eq!(owner(1, 7, &[place(1), place(11)], &table), Some(11));
        assert_eq!(owner(1, 7, &[place(11), place(12)], &table), None);
        assert_eq!(owner(1, 7, &[], &table), None);
        assert_eq!(owner(1, 7, &[], &table[..1]), Some(11));
        assert_eq!(owner(1, 8, &[place(11)], &table), None);
        assert_eq!(owner(1, UNKNOWN_KEY, &[place(1)], &table), Some(1));
        assert_eq!(owner(12, 7, &[place(12)], &table), None);
    }

    /// The most names that a socket may have: every step for each of them is a look-up.
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
    fn discovery_unlisted_socket_is_tried() {
        let home = tempfile::tempdir().unwrap();
        let candidate = |path: &str| Candidate {
            path: home.path().join(path),
            name: SocketName::new(u32::MAX, 7),
            owner: 0,
        };
        let mut listeners = Listeners::default();
        // There is no such process, so no list of its network namespace.
        let mut ask = |path: &str| ask(&candidate(path), Some(u32::MAX), &mut listeners);
        let listener = std::os::unix::net::UnixListener::bind(home.path().join("listens")).unwrap();
        assert_eq!(ask("listens"), Some((EndpointState::Listening, Some(std::process::id()))));
        drop(listener);
        // A process started by another test holds it until `exec`.
        for _ in 0..1000 {
            if std::os::unix::net::UnixStream::connect(home.path().join("listens")).is_err() {
                break;
            }
            std::thread::sleep(core::time::Duration::from_millis(10));
        }
        assert_eq!(ask("listens"), Some((EndpointState::Stale, Some(u32::MAX))));
        assert_eq!(ask("gone"), None);
        std::fs::write(home.path().join("file"), "").unwrap();
        let below_a_file = EndpointState::Unknown(std::io::ErrorKind::NotADirectory);
        assert_eq!(ask("file/below"), Some((below_a_file, Some(u32::MAX))));
        let Some((EndpointState::Unknown(_), Some(u32::MAX))) = ask(&"x".repeat(200)) else {
            panic!("no socket has such a path")
        };
    }
}
