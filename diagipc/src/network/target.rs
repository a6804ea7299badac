//! The process of a target started for the player, its socket and its files.

use std::fs::File;
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use dotnet_diagnostics_ipc::advertise::Advertise;
use dotnet_diagnostics_ipc_vectors::player::PlayerError;
use dotnet_diagnostics_ipc_vectors::script::{Life, Presence};

use super::failed;
use crate::process::procfs;

/// The interval of polling.
const PAUSE: Duration = Duration::from_millis(10);

/// Why a process is left alone.
const NOT_OURS: &str = "the target was not started for this case";

/// Reports a condition.
type Says = Box<dyn FnMut() -> bool + Send>;

/// The process of a target, as far as it is known.
#[derive(Default)]
pub(super) struct StartedTarget {
    /// Whether it is alive.
    pub(super) lives: Option<Says>,
    /// The process to which signals are sent.
    pub(super) signalled: Option<u32>,
    /// Whether it has a socket, if its path is not known yet.
    pub(super) finds_socket: Option<Says>,
    /// Its own current directory.
    pub(super) directory: Option<PathBuf>,
}

impl StartedTarget {
    /// Waits until it is so, or `is_over`.
    pub(super) fn life(
        &mut self,
        expected: Life,
        is_over: impl Fn() -> Result<bool, PlayerError>,
    ) -> Result<Life, PlayerError> {
        loop {
            let over = is_over()?;
            let Some(lives) = &mut self.lives else {
                return Err(PlayerError::Unavailable("the target's process is unknown".to_owned()));
            };
            match (lives(), expected) {
                (false, _) => return Ok(Life::Dead),
                (true, Life::Alive) => return Ok(Life::Alive),
                (true, Life::Dead) if over => return Ok(Life::Alive),
                (true, Life::Dead) => thread::sleep(PAUSE),
            }
        }
    }

    /// Sends its process a signal with `send`.
    pub(super) fn signal(
        &self,
        send: impl FnOnce(u32) -> io::Result<()>,
    ) -> Result<(), PlayerError> {
        let id = self.signalled.ok_or_else(not_ours)?;
        send(id).map_err(failed("sending a signal"))
    }

    /// Waits until its socket exists or not; `path` is its place.
    pub(super) fn socket(
        &mut self,
        path: Option<&Path>,
        expected: Presence,
        is_over: impl Fn() -> Result<bool, PlayerError>,
    ) -> Result<Presence, PlayerError> {
        loop {
            let over = is_over()?;
            let is_there = match (&mut self.finds_socket, path) {
                (Some(finds), _) => finds(),
                (None, Some(path)) => path.exists(),
                (None, None) => {
                    return Err(PlayerError::Unavailable(
                        "the default port has no file here".to_owned(),
                    ));
                }
            };
            let presence = if is_there { Presence::There } else { Presence::Gone };
            if presence == expected || over {
                return Ok(presence);
            }
            thread::sleep(PAUSE);
        }
    }

    /// The first bytes of a file in its directory, at most `most`; `None` if it does not exist.
    pub(super) fn first_bytes(
        &self,
        name: &str,
        most: usize,
    ) -> Result<Option<Vec<u8>>, PlayerError> {
        let Some(directory) = &self.directory else { return Err(not_ours()) };
        let mut bytes = Vec::new();
        let read = File::open(directory.join(name))
            .and_then(|file| file.take(most as u64).read_to_end(&mut bytes));
        match read {
            Ok(_) => Ok(Some(bytes)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(failed(&format!("reading {name}"))(error)),
        }
    }
}

fn not_ours() -> PlayerError {
    PlayerError::Unavailable(NOT_OURS.to_owned())
}

/// The process at the other end of a network's open connections. A copy is updated with the
/// network.
#[derive(Clone, Debug, Default)]
pub(crate) struct Peer(Arc<Mutex<State>>);

#[derive(Clone, Copy, Debug, Default)]
struct State {
    process_id: Option<u32>,
    advertise: Option<Advertise>,
}

impl Peer {
    /// The process id in this system: the process that called `listen`, or that connected to a
    /// port. `None` if the system does not report it, or it has no id here.
    pub(crate) fn process_id(&self) -> Option<u32> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).process_id
    }

    /// The last advertise of the process at a port that replaces its default port.
    pub(crate) fn advertise(&self) -> Option<Advertise> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).advertise
    }

    /// The memory of the process in KiB, if the system reports it.
    pub(super) fn memory(&self) -> Option<u64> {
        procfs::resident(self.process_id()?)
    }

    /// Whether the process is known to run for somebody else ([`procfs::is_stranger`]).
    pub(crate) fn is_stranger(&self) -> bool {
        self.process_id().is_some_and(procfs::is_stranger)
    }

    pub(super) fn is_process(&self, process_id: Option<u32>) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).process_id = process_id;
    }

    pub(super) fn says(&self, advertise: Advertise) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).advertise = Some(advertise);
    }
}
