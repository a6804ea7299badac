//! Searches the directories of all processes, or of one.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::string::{String, ToString as _};
use std::vec::Vec;

use super::assign::{Paths, Table, ask, named_process, process_of};
use super::directory::{self, Candidate};
use super::found::{DiscoveredEndpoint, Discovery, EndpointState, UnreadablePath};
#[cfg(any(target_os = "linux", target_os = "android"))]
use super::linux::{self as platform, Listeners};
#[cfg(not(any(target_os = "linux", target_os = "android")))]
use super::macos::{self as platform, Listeners};
use super::process::{Process, Tmpdir};
use crate::endpoint::{NamePrefix, UNKNOWN_KEY};
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

// On Windows it can fail.
#[allow(clippy::unnecessary_wraps)]
pub(super) fn processes() -> Result<Discovery, Error> {
    let mut unseen = Vec::new();
    let table = platform::processes(&mut unseen);
    let by_id = Table::of(&table);
    // By the directory's identity: two paths may lead to it.
    let mut directories: BTreeMap<(u64, u64), Paths> = BTreeMap::new();
    let mut missing: BTreeSet<PathBuf> = BTreeSet::new();
    let ours = our_directories().into_iter().map(|path| (None, path));
    let theirs = table.iter().flat_map(|process| {
        process.directories().into_iter().map(|path| (Some(process.process_id), path))
    });
    for (process_id, path) in ours.chain(theirs) {
        match directory::identity(&path) {
            Ok(identity) => {
                directories.entry(identity).or_default().entry(process_id).or_insert(path);
            }
            // A missing one contains no sockets.
            Err(error)
                if error.kind() == std::io::ErrorKind::NotFound || missing.contains(&path) => {}
            Err(error) => {
                missing.insert(path.clone());
                unseen.push(UnreadablePath { process_id, path, why: error.kind() });
            }
        }
    }
    let mut found = Vec::new();
    let mut listeners = Listeners::default();
    for paths in directories.into_values() {
        let mut failed = None;
        // The first may lead through the root of a process that has exited.
        let listed = paths.iter().find_map(|(process_id, path)| {
            let unreadable =
                |why| UnreadablePath { process_id: *process_id, path: path.clone(), why };
            directory::sockets(path)
                .inspect_err(|error| failed = failed.take().or(Some(unreadable(error.kind()))))
                .ok()
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
    found.sort_by(|one, other| {
        (one.process_id, &one.endpoint).cmp(&(other.process_id, &other.endpoint))
    });
    Ok(Discovery { found, unseen })
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
        // By the process's own path, like `endpoint_of`.
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
        let why = unseen.iter().map(|unseen| std::format!(" (could not read {unseen})"));
        return not_found(std::format!("process {process_id}{}", why.collect::<String>()));
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
            let is_named = process.is_named(&candidate)
                || candidate.name.key == UNKNOWN_KEY
                || process.start_time.is_none();
            let named = is_named.then_some(&process);
            // Connecting tells who listens: once is enough.
            if is_named
                && process.runs_as(candidate.owner)
                && listeners.is_listed(&candidate.name.to_string())
            {
                return Ok(candidate.path);
            }
            let Some(asked) = ask(&candidate, &mut listeners) else { continue };
            let itself = |id| (id == process_id).then_some(Cow::Borrowed(&process));
            let is_its = process_of(&asked, &candidate, named, itself).is_some();
            if is_its && asked.state != EndpointState::Stale {
                return Ok(candidate.path);
            }
            dead = dead.or(Some(candidate.path));
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
}
