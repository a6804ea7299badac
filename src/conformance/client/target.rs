//! The process that the client is told to look at, and the directory in which it finds its socket.

use alloc::{
    borrow::ToOwned,
    format,
    string::{String, ToString as _},
    vec::Vec,
};
use core::time::Duration;
use std::ffi::OsString;
use std::fs;
use std::io::{self, Read as _};
use std::os::fd::{AsFd as _, OwnedFd};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use rustix::event::PollFlags;

use super::decoys::Decoys;
use super::finding::Findings;
use super::scenario::Decoy;
use crate::conformance::player::SocketNetwork;
use crate::conformance::started::{OwnDirectory, Started};
use crate::endpoint::{ProcessStat, SocketName, UNKNOWN_KEY};
use crate::io::{Until, unix, unix_fd};

/// How long the process may take to start.
const STARTS: Duration = Duration::from_secs(10);
/// As many connections may wait.
const BACKLOG: i32 = 16;

/// How a process is started that calls [`stand_in`] and nothing else.
#[derive(Clone, Debug)]
pub struct StandIn {
    /// The program.
    pub program: OsString,
    /// What it is given.
    pub arguments: Vec<OsString>,
}

/// Stands for the process whose socket a scripted runtime has, until standard input ends: a socket, from which the listener comes.
///
/// The system tells a client which process listens at a socket (`SO_PEERCRED`): the one that called `listen` last. So that this is the
/// process of the name, it is done here once more.
///
/// # Errors
/// Where standard input is no such socket.
pub fn stand_in() -> io::Result<()> {
    let stdin = io::stdin();
    unix::wait(stdin.as_fd(), PollFlags::IN, &Until::FOREVER).map_err(|_| io::ErrorKind::BrokenPipe)?;
    if let Some((_, Some(listener))) = unix_fd::receive_fd(stdin.as_fd())? {
        rustix::net::listen(&listener, BACKLOG)?;
        drop(listener);
        rustix::io::write(stdin.as_fd(), b"!")?;
        // Until the end of the other side, of which nothing more comes.
        stdin.lock().read_to_end(&mut Vec::new())?;
    }
    Ok(())
}

/// A live process and a private directory, which is its `TMPDIR` and the client's: there is the socket that it has by its name.
pub(super) struct Target {
    // First, as what runs may write to its directory.
    process: Started,
    ours: UnixStream,
    directory: OwnDirectory,
    pub(super) socket: PathBuf,
    pub(super) output: PathBuf,
    pub(super) port: PathBuf,
    pub(super) user_events_data: PathBuf,
    pub(super) client_data: PathBuf,
    key: u64,
    wanted: Vec<Decoy>,
    decoys: Decoys,
}

impl Target {
    pub(super) fn start(stand_in: &StandIn, decoys: &[Decoy]) -> io::Result<Self> {
        // A short name: the path of a socket has little room.
        let directory = OwnDirectory::new("dc-")?;
        let (ours, theirs) = UnixStream::pair()?;
        ours.set_read_timeout(Some(STARTS))?;
        let mut command = Command::new(&stand_in.program);
        command.args(&stand_in.arguments).env("TMPDIR", directory.path());
        let process = Started::start_that_ends(command.stdin(Stdio::from(OwnedFd::from(theirs))).stdout(Stdio::null()))?;
        // With it the other half of the socket goes, whose end is that of a process that does not start.
        drop(command);
        let stat = fs::read(format!("/proc/{}/stat", process.id())).ok().and_then(|text| ProcessStat::parse(&text).ok());
        let key = stat.map_or(UNKNOWN_KEY, |stat| stat.start_time);
        let name = SocketName::new(process.id(), key);
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
            key,
            wanted: decoys.to_vec(),
            decoys: Decoys::default(),
        };
        let names = (target.process.id(), key);
        target.decoys.make(decoys, false, target.directory.path(), names)?;
        fs::write(&target.user_events_data, b"")?;
        Ok(target)
    }

    /// Listens at the socket in the name of the process.
    pub(super) fn network(&mut self) -> Result<SocketNetwork, String> {
        let network = SocketNetwork::in_place_of_a_runtime(&self.socket).map_err(|error| format!("{error:#}"))?;
        let hand_over = || -> io::Result<()> {
            let listener = network.listener_of_ours().ok_or(io::ErrorKind::Unsupported)?;
            unix_fd::send_fd(self.ours.as_fd(), listener.as_fd())?;
            (&self.ours).read_exact(&mut [0])
        };
        hand_over().map_err(|error| format!("the process that stands in does not listen: {error}"))?;
        let names = (self.process.id(), self.key);
        self.decoys.make(&self.wanted, true, self.directory.path(), names).map_err(|error| format!("no decoy: {error}"))?;
        Ok(network.with_port("p", &self.port))
    }

    /// Whether the client has sent something to another process than this.
    pub(super) fn judge_decoys(&self, findings: &mut Findings) -> bool {
        self.decoys.judge(findings)
    }

    pub(super) fn directory(&self) -> &Path {
        self.directory.path()
    }

    /// The `TMPDIR` of the client: the directory, unless a decoy wants another one.
    pub(super) fn tmpdir_of_client(&self) -> PathBuf {
        let others = self.wanted.iter().map(|decoy| decoy.subdirectory());
        others.fold(self.directory.path().to_owned(), |directory, sub| if sub.is_empty() { directory } else { directory.join(sub) })
    }

    pub(super) fn process_id(&self) -> u32 {
        self.process.id()
    }
}

/// A path as text for a command line.
pub(super) fn text(path: &Path) -> String {
    path.to_str().map_or_else(|| format!("{}", path.display()), ToOwned::to_owned)
}
