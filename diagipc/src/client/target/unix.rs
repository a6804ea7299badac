//! A process for scenarios, one after another, and the directory with its socket.

use std::fs;
use std::io::{self, Read as _};
use std::os::fd::{AsFd as _, OwnedFd};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use dotnet_diagnostics_ipc::endpoint::SocketName;
use dotnet_diagnostics_ipc::io::{WaitLimit, fd};

use super::decoys::Decoys;
use crate::client::finding::Findings;
use crate::client::scenario::{Decoy, Scenario};
use crate::network::{Listener, LiveNetwork};
use crate::process::program::Program;
use crate::process::{OwnDirectory, Started, socket_name};

/// How long the process may take to start.
const STARTS: Duration = Duration::from_secs(10);
/// The number of pending connections.
const BACKLOG: i32 = 16;

/// Plays the process of a scripted runtime's socket, until standard input ends: a socket that
/// transfers the listener of each scenario.
///
/// The system reports to a client which process listens at a socket (`SO_PEERCRED`): the last
/// caller of `listen`. So this process calls it once more.
///
/// # Errors
/// If standard input is not such a socket.
pub fn stand_in() -> io::Result<()> {
    let stdin = io::stdin();
    loop {
        WaitLimit::FOREVER.readable(&stdin).map_err(|_| io::ErrorKind::BrokenPipe)?;
        let (_, fds) = fd::receive(&stdin, &mut [0])?;
        // Until the other side ends.
        let Some(listener) = fds.first() else { return Ok(()) };
        rustix::net::listen(listener, BACKLOG)?;
        drop(fds);
        rustix::io::write(stdin.as_fd(), b"!")?;
    }
}

/// A live process and a private directory, which is its `TMPDIR` and the client's, with its socket.
pub(in crate::client) struct Target {
    // First, because running processes may write to its directory.
    process: Started,
    ours: UnixStream,
    directory: OwnDirectory,
    pub(in crate::client) socket: PathBuf,
    pub(in crate::client) output: PathBuf,
    pub(in crate::client) port: PathBuf,
    pub(in crate::client) user_events_data: PathBuf,
    pub(in crate::client) client_data: PathBuf,
    name: SocketName,
    wanted: Vec<Decoy>,
    decoys: Decoys,
}

impl Target {
    pub(in crate::client) fn start(stand_in: &Program, decoys: &[Decoy]) -> io::Result<Self> {
        // A short name: the path of a socket has little room.
        let directory = OwnDirectory::new("dc-")?;
        let (ours, theirs) = UnixStream::pair()?;
        ours.set_read_timeout(Some(STARTS))?;
        let mut command = stand_in.command();
        command.env("TMPDIR", directory.path()).stdout(Stdio::null());
        let process = Started::start(command.stdin(Stdio::from(OwnedFd::from(theirs))))?;
        // Dropping it closes the other half of the socket, which ends the process even if it does
        // not start.
        drop(command);
        let name = socket_name(process.id());
        let at = |name: &str| directory.path().join(name);
        let mut target = Self {
            socket: at(&name.to_string()),
            output: at("output"),
            port: at("port"),
            user_events_data: at("user_events_data"),
            client_data: at("client_data"),
            process,
            ours,
            directory,
            name,
            wanted: decoys.to_vec(),
            decoys: Decoys::default(),
        };
        target.decoys.make(decoys, false, target.directory.path(), name)?;
        fs::write(&target.user_events_data, b"")?;
        Ok(target)
    }

    /// The same process for another scenario, and its directory without the files of this one: if
    /// that is possible.
    pub(in crate::client) fn kept(mut self) -> Option<Self> {
        if !self.wanted.is_empty() || self.process.death().is_some() {
            return None;
        }
        for entry in fs::read_dir(self.directory.path()).ok()? {
            let entry = entry.ok()?;
            if entry.file_type().ok()?.is_dir() {
                fs::remove_dir_all(entry.path()).ok()?;
            } else {
                fs::remove_file(entry.path()).ok()?;
            }
        }
        fs::write(&self.user_events_data, b"").ok()?;
        Some(self)
    }

    /// Listens at the socket on behalf of the process.
    pub(in crate::client) fn network(&mut self) -> Result<LiveNetwork, String> {
        let listener = Listener::bind(&self.socket).map_err(|error| format!("{error:#}"))?;
        let hand_over = || -> io::Result<()> {
            fd::send(&self.ours, &[0], &[listener.as_fd()])?;
            (&self.ours).read_exact(&mut [0])
        };
        hand_over().map_err(|error| format!("the stand-in process does not listen: {error}"))?;
        self.decoys
            .make(&self.wanted, true, self.directory.path(), self.name)
            .map_err(|error| format!("no decoy: {error}"))?;
        Ok(LiveNetwork::in_place_of_a_runtime(listener).with_port("p", &self.port))
    }

    /// Whether the client has sent something to another process.
    pub(in crate::client) fn judge_decoys(&self, findings: &mut Findings) -> bool {
        self.decoys.judge(findings)
    }

    pub(in crate::client) fn directory(&self) -> &Path {
        self.directory.path()
    }

    /// The client's `TMPDIR`: the directory, unless a decoy needs another one.
    pub(in crate::client) fn tmpdir_of_client(&self) -> PathBuf {
        let others = self.wanted.iter().map(|decoy| decoy.subdirectory());
        others.fold(self.directory.path().to_owned(), |directory, sub| {
            if sub.is_empty() { directory } else { directory.join(sub) }
        })
    }

    pub(in crate::client) fn process_id(&self) -> u32 {
        self.process.id()
    }
}

/// Why this system does not support a scenario, if so.
pub(in crate::client) fn lacking(scenario: &Scenario) -> Option<String> {
    scenario.decoys.iter().find_map(|decoy| decoy.lacks())
}

/// Whether the client listens at its port.
pub(in crate::client) fn is_there(port: &Path) -> bool {
    port.exists()
}
