//! The target on Windows. It is this process, because the system reports the creator of a pipe to
//! clients (`GetNamedPipeServerProcessId`).
//!
//! There is only one name for the default port, so scenarios are played one after another.

use std::path::{Path, PathBuf};
use std::sync::{Condvar, Mutex, PoisonError};
use std::{fs, io};

use dotnet_diagnostics_ipc::endpoint::{PIPE_PREFIX, PipeName};
use dotnet_diagnostics_ipc::io::windows::PipeTransport;

use crate::client::Operation;
use crate::client::facts::Findings;
use crate::client::scenario::{Decoy, Move, Scenario};
use crate::network::{self, Listener, LiveNetwork};
use crate::process::OwnDirectory;
use crate::process::program::Program;

/// The longest command-line arguments of a client; a command line has at most 32,767 units.
const MAX_UNITS: usize = 32_000;

/// This process, its pipe and a private directory.
pub(super) struct PipeTarget {
    directory: OwnDirectory,
    pub(super) socket: PathBuf,
    pub(super) output: PathBuf,
    pub(super) port: PathBuf,
    pub(super) user_events_data: PathBuf,
    pub(super) client_data: PathBuf,
    // This field is dropped last: the next target begins after everything of this one is gone.
    _turn: Turn,
}

/// The turn to own the pipe.
static TURN: (Mutex<bool>, Condvar) = (Mutex::new(false), Condvar::new());

/// The only permission to own the pipe. A guard of the mutex could not move to another thread.
struct Turn;

impl Turn {
    fn wait() -> Self {
        let (is_taken, ended) = &TURN;
        let mut taken = is_taken.lock().unwrap_or_else(PoisonError::into_inner);
        while *taken {
            taken = ended.wait(taken).unwrap_or_else(PoisonError::into_inner);
        }
        *taken = true;
        Self
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        let (is_taken, ended) = &TURN;
        *is_taken.lock().unwrap_or_else(PoisonError::into_inner) = false;
        ended.notify_one();
    }
}

/// The target of a client on this system.
pub(super) type ClientTarget = PipeTarget;

impl PipeTarget {
    pub(super) fn start(_: &Program, _: &[Decoy]) -> io::Result<Self> {
        let turn = Turn::wait();
        let directory = OwnDirectory::new("dc-")?;
        let at = |name: &str| directory.path().join(name);
        let target = Self {
            socket: format!("{PIPE_PREFIX}{}", PipeName::new(std::process::id())).into(),
            output: at("output"),
            // The bare, unique name of a pipe (F-124).
            port: format!(
                "{}-port",
                directory.path().file_name().unwrap_or_default().to_string_lossy()
            )
            .into(),
            user_events_data: at("user_events_data"),
            client_data: at("client_data"),
            directory,
            _turn: turn,
        };
        fs::write(&target.user_events_data, b"")?;
        Ok(target)
    }

    /// Keeps nothing, because a new target costs nothing.
    #[allow(clippy::unused_self, reason = "as on Unix")]
    pub(super) fn kept(self) -> Option<Self> {
        None
    }

    pub(super) fn network(&mut self) -> Result<LiveNetwork, String> {
        let listener = Listener::bind(&self.socket).map_err(|error| format!("{error:#}"))?;
        Ok(LiveNetwork::in_place_of_a_runtime(listener).with_port("p", &self.port))
    }

    /// Does nothing, because there are no decoys.
    #[allow(clippy::unused_self, reason = "on Unix there are some")]
    pub(super) const fn judge_decoys(&self, _: &mut Findings) -> bool {
        false
    }

    pub(super) fn directory(&self) -> &Path {
        self.directory.path()
    }

    pub(super) fn tmpdir_of_client(&self) -> PathBuf {
        self.directory.path().to_owned()
    }

    #[allow(clippy::unused_self, reason = "on Unix it is another one")]
    pub(super) fn process_id(&self) -> u32 {
        std::process::id()
    }
}

/// Returns why this system does not support a scenario, if it does not.
pub(super) fn lacking(scenario: &Scenario) -> Option<String> {
    if !scenario.decoys.is_empty() {
        return Some("a pipe's name has only the process id".to_string());
    }
    if scenario.operation == Operation::UserEvents {
        return Some("Windows has no user_events".to_string());
    }
    let units: usize = scenario.arguments.values().map(|value| value.encode_utf16().count()).sum();
    if units > MAX_UNITS {
        return Some("the arguments are too long for a Windows command line".to_string());
    }
    scenario.moves.iter().find_map(|one| match one {
        Move::Step(step) => network::lacks(step).map(str::to_owned),
        _ => None,
    })
}

pub(super) fn is_there(port: &Path) -> bool {
    PipeTransport::is_there(&port.to_string_lossy()).is_ok_and(|is_there| is_there)
}
