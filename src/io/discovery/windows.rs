//! Finds processes by the names of their pipes.

use std::io;
use std::path::{Path, PathBuf};
use std::string::{String, ToString as _};
use std::vec::Vec;

use super::{DiscoveredEndpoint, Discovery, EndpointState};
use crate::endpoint::{NamePrefix, PIPE_PREFIX, PipeName};
use crate::io::windows::PipeTransport;
use crate::io::{Error, ErrorKind, Phase, WaitLimit};

/// Lists the pipes of default ports with their processes.
///
/// # Errors
/// Fails in [`Phase::Find`] if the system does not list pipes.
pub fn processes() -> Result<Discovery, Error> {
    let found = pipes(Path::new(PIPE_PREFIX)).map_err(|error| Error::new(Phase::Find, error))?;
    Ok(Discovery::new(found, Vec::new()))
}

/// Returns the path of a process's pipe. For dotnet-dsrouter this is the pipe of its device.
///
/// # Errors
/// Fails in [`Phase::Find`], with [`ErrorKind::NotFound`] if there is none.
pub fn endpoint_of(process_id: u32, until: &WaitLimit<'_>) -> Result<PathBuf, Error> {
    until.check().map_err(|stopped| Error::new(Phase::Find, stopped))?;
    let name = pipe_of(process_id)?;
    let path = PathBuf::from(std::format!("{PIPE_PREFIX}{name}"));
    // Wine does not list pipes; the pipe may exist all the same, and connecting will tell.
    let Ok(seen) = processes() else { return Ok(path) };
    let is_its = |found: &DiscoveredEndpoint| found.process_id == Some(process_id);
    let has_name = |found: &&DiscoveredEndpoint| is_its(found) && found.endpoint == path;
    let found =
        seen.found.iter().find(has_name).or_else(|| seen.found.iter().find(|it| is_its(it)));
    found.map(|found| found.endpoint.clone()).ok_or_else(|| {
        let text = std::format!(
            "{PIPE_PREFIX}{name} (no such process, not a .NET process, diagnostics are turned off by \
             DOTNET_EnableDiagnostics, or it is not ready yet)"
        );
        Error::new(Phase::Find, ErrorKind::NotFound(text))
    })
}

/// Returns the name of a process's pipe, whether it exists or not, as the official client chooses it
/// (F-162).
pub(in crate::io) fn pipe_of(process_id: u32) -> Result<String, Error> {
    let own = PipeName::new(process_id);
    let device = PipeName { prefix: NamePrefix::Router, ..own }.to_string();
    Ok(if PipeTransport::is_there(&device)? { device } else { own.to_string() })
}

/// Returns the pipes in `namespace` that are named like default ports.
fn pipes(namespace: &Path) -> io::Result<Vec<DiscoveredEndpoint>> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(namespace)? {
        let entry = entry?.file_name();
        let Some(name) = entry.to_str().and_then(|name| PipeName::parse(name).ok()) else {
            continue;
        };
        found.push(DiscoveredEndpoint {
            process_id: Some(name.pid),
            id_in_name: name.pid,
            key: None,
            prefix: name.prefix,
            endpoint: namespace.join(&entry),
            owner: None,
            state: EndpointState::Listening,
        });
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn discovery_recognises_pipe_names() {
        // A directory replaces the namespace of pipes, because not every system that runs the tests
        // lists pipes.
        let home = tempfile::tempdir().unwrap();
        for name in [
            "dotnet-diagnostic-12",
            "dotnetcore-diagnostic-123",
            "dotnet-diagnostic-dsrouter-12",
            "dotnet-diagnostic-12-345-socket",
            "dotnet-diagnostic-x",
            "other",
        ] {
            std::fs::write(home.path().join(name), "").unwrap();
        }
        let mut found = pipes(home.path()).unwrap();
        found.sort_by_key(|found| found.process_id);
        let ids: Vec<_> = found.iter().map(|found| (found.process_id, found.prefix)).collect();
        let of_12 = [NamePrefix::Current, NamePrefix::Router].map(|prefix| (Some(12), prefix));
        assert!(of_12.iter().all(|one| ids.contains(one)) && ids.len() == 3, "{ids:?}");
        assert!(ids.contains(&(Some(123), NamePrefix::Draft)));
    }

    #[test]
    fn missing_pipe_is_not_found() {
        let found = endpoint_of(u32::MAX, &WaitLimit::FOREVER);
        // Wine 8 does not list the namespace.
        if processes().is_err() {
            assert_eq!(found.unwrap(), Path::new(r"\\.\pipe\dotnet-diagnostic-4294967295"));
        } else {
            assert!(matches!(found.unwrap_err().kind(), ErrorKind::NotFound(_)));
        }
    }
}
