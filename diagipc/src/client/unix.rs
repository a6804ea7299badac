//! The process that scenarios use in turn, and the directory with its socket and decoys.

use std::fs;
use std::io::{self, Read as _};
use std::os::fd::{AsFd as _, OwnedFd};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use dotnet_diagnostics_ipc::endpoint::SocketName;
use dotnet_diagnostics_ipc::io::trust::peer_of;
use dotnet_diagnostics_ipc::io::{WaitLimit, fd};
use rustix::fs::{Uid, chown};

use crate::client::facts::Findings;
use crate::client::scenario::{Decoy, Scenario};
use crate::faults::Fault;
use crate::network::{Listener, LiveNetwork};
use crate::process::program::Program;
use crate::process::{OwnDirectory, Started, procfs, remove, socket_name};

/// How long the process may take to start.
const START_TIMEOUT: Duration = Duration::from_secs(10);
/// The backlog of the listener.
const BACKLOG: i32 = 16;
/// How long a client may take to send something after connecting.
const SEND_TIMEOUT: Duration = Duration::from_millis(300);

/// Another user, who owns a decoy. This is not `nobody`, as that user may run the suite.
const ANOTHER_USER: u32 = 65_533;

/// Runs the process that owns a scripted runtime's socket, until standard input ends. Standard
/// input is a socket over which each scenario passes its listener.
///
/// The system reports the last caller of `listen` to a client as the owner of the socket
/// (`SO_PEERCRED`), so this process calls `listen` again.
///
/// # Errors
/// Returns an error if standard input is not such a socket.
pub fn stand_in() -> io::Result<()> {
    let stdin = io::stdin();
    loop {
        WaitLimit::FOREVER.readable(&stdin).map_err(|_| io::ErrorKind::BrokenPipe)?;
        let (_, fds) = fd::receive(&stdin, &mut [0])?;
        // The loop ends when the other side is closed.
        let Some(listener) = fds.first() else { return Ok(()) };
        rustix::net::listen(listener, BACKLOG)?;
        drop(fds);
        rustix::io::write(stdin.as_fd(), b"!")?;
    }
}

/// A live process with its socket in a private directory, the `TMPDIR` of process and client.
pub(super) struct SocketTarget {
    // This field is dropped first, because running processes may write to the directory.
    process: Started,
    ours: UnixStream,
    directory: OwnDirectory,
    pub(super) socket: PathBuf,
    pub(super) output: PathBuf,
    pub(super) port: PathBuf,
    pub(super) user_events_data: PathBuf,
    pub(super) client_data: PathBuf,
    name: SocketName,
    wanted: Vec<Decoy>,
    decoys: Decoys,
}

/// The target of a client on this system.
pub(super) type ClientTarget = SocketTarget;

impl SocketTarget {
    pub(super) fn start(stand_in: &Program, decoys: &[Decoy]) -> io::Result<Self> {
        // The name is short because the length of a socket's path is limited.
        let directory = OwnDirectory::new("dc-")?;
        let (ours, theirs) = UnixStream::pair()?;
        ours.set_read_timeout(Some(START_TIMEOUT))?;
        let mut command = stand_in.command();
        command.env("TMPDIR", directory.path()).stdout(Stdio::null());
        let process = Started::start(command.stdin(Stdio::from(OwnedFd::from(theirs))))?;
        // Dropping the command closes the other half of the socket, which ends even a failed
        // process.
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

    /// Keeps the process and its directory, without this scenario's files, if that is possible.
    pub(super) fn kept(mut self) -> Option<Self> {
        if !self.wanted.is_empty() || self.process.death().is_some() {
            return None;
        }
        for entry in fs::read_dir(self.directory.path()).ok()? {
            let path = entry.ok()?.path();
            remove(&path);
            if fs::symlink_metadata(path).is_ok() {
                return None;
            }
        }
        fs::write(&self.user_events_data, b"").ok()?;
        Some(self)
    }

    pub(super) fn network(&mut self) -> Result<LiveNetwork, String> {
        let listener = Listener::bind(&self.socket).map_err(|error| format!("{error:#}"))?;
        let hand_over = || -> io::Result<()> {
            fd::send(&self.ours, &[0], &[listener.as_fd()])?;
            (&self.ours).read_exact(&mut [0])
        };
        hand_over().map_err(|error| format!("the stand-in process does not listen: {error}"))?;
        self.decoys
            .make(&self.wanted, true, self.directory.path(), self.name)
            .map_err(|error| format!("a decoy cannot be created: {error}"))?;
        Ok(LiveNetwork::in_place_of_a_runtime(listener).with_port("p", &self.port))
    }

    /// Judges whether the client has sent something to another process. Returns whether it has.
    pub(super) fn judge_decoys(&self, findings: &mut Findings) -> bool {
        self.decoys.judge(findings)
    }

    pub(super) fn directory(&self) -> &Path {
        self.directory.path()
    }

    /// Returns the client's `TMPDIR`: the directory, unless a decoy needs another one.
    pub(super) fn tmpdir_of_client(&self) -> PathBuf {
        let others = self.wanted.iter().map(|decoy| decoy.subdirectory());
        others.fold(self.directory.path().to_owned(), |directory, sub| {
            if sub.is_empty() { directory } else { directory.join(sub) }
        })
    }

    pub(super) fn process_id(&self) -> u32 {
        self.process.id()
    }
}

/// Returns why this system does not support a scenario, if it does not.
pub(super) fn lacking(scenario: &Scenario) -> Option<String> {
    scenario.decoys.iter().find_map(|decoy| decoy.lacks())
}

pub(super) fn is_there(port: &Path) -> bool {
    port.exists()
}

impl Decoy {
    /// Returns why this system does not support the decoy, if it does not.
    fn lacks(self) -> Option<String> {
        let give_away = || -> io::Result<()> {
            let directory = OwnDirectory::new("dc-")?;
            let file = directory.path().join("file");
            fs::write(&file, b"")?;
            Ok(chown(&file, Some(Uid::from_raw(ANOTHER_USER)), None)?)
        };
        let refused = (self == Self::OtherOwner).then(give_away)?.err()?;
        Some(format!("only root can give a socket to another user ({refused})"))
    }

    /// Returns the decoy's directory within the process's.
    const fn subdirectory(self) -> &'static str {
        match self {
            Self::InAnotherTmpdir => "another",
            _ => "",
        }
    }
}

/// The listening decoys of a target.
#[derive(Debug, Default)]
struct Decoys(Vec<(String, UnixListener)>);

impl Decoys {
    /// Creates the decoys of `list` that must exist before the real socket, or those after it.
    fn make(
        &mut self,
        list: &[Decoy],
        after: bool,
        directory: &Path,
        SocketName { pid, key, .. }: SocketName,
    ) -> io::Result<()> {
        for decoy in list.iter().filter(|decoy| matches!(decoy, Decoy::EarlierKey) != after) {
            let name = match decoy {
                Decoy::LongerPid => format!("dotnet-diagnostic-{pid}4-{key}-socket"),
                Decoy::LaterKey | Decoy::PlainFile | Decoy::OtherOwner | Decoy::InAnotherTmpdir => {
                    format!("dotnet-diagnostic-{pid}-{}-socket", key.saturating_add(1_000_000))
                }
                Decoy::EarlierKey => {
                    format!("dotnet-diagnostic-{pid}-{}-socket", key.saturating_sub(1))
                }
                Decoy::OldPrefix => format!("dotnetcore-diagnostic-{pid}-{key}-socket"),
            };
            let directory = directory.join(decoy.subdirectory());
            fs::create_dir_all(&directory)?;
            let path = directory.join(&name);
            match decoy {
                Decoy::PlainFile => fs::write(path, b"")?,
                // This socket's process has ended, so nothing listens.
                Decoy::EarlierKey => drop(UnixListener::bind(path)?),
                _ => {
                    let listener = UnixListener::bind(&path)?;
                    if *decoy == Decoy::OtherOwner {
                        chown(&path, Some(Uid::from_raw(ANOTHER_USER)), None)?;
                    }
                    listener.set_nonblocking(true)?;
                    self.0.push((name, listener));
                }
            }
        }
        Ok(())
    }

    /// Judges whether the client has sent a request to a decoy. Connecting is allowed, because a
    /// program that lists processes does that.
    fn judge(&self, findings: &mut Findings) -> bool {
        let mut is_reached = false;
        for (name, listener) in &self.0 {
            while let Ok((mut stream, _)) = listener.accept() {
                let peer = peer_of(&stream).ok().and_then(|peer| peer.process_id);
                if peer.is_some_and(procfs::is_stranger) {
                    continue;
                }
                let is_ready = stream
                    .set_nonblocking(false)
                    .and_then(|()| stream.set_read_timeout(Some(SEND_TIMEOUT)));
                let sent = is_ready.and_then(|()| stream.read(&mut [0; 64]));
                if matches!(sent, Ok(1..)) {
                    findings.must(
                        Fault::AnotherProcessReached,
                        format!("it sends its request to {name}, the socket of another process"),
                    );
                    is_reached = true;
                }
            }
        }
        is_reached
    }
}
