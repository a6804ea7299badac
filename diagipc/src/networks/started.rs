//! The process of a target started for the player, and its socket.

use std::io;
use std::path::Path;
use std::thread;
use std::time::Duration;

use dotnet_diagnostics_ipc::vectors::player::PlayerError;
use dotnet_diagnostics_ipc::vectors::script::{Life, Presence, SignalKind};

use super::NOT_OURS;

/// The interval of polling.
const PAUSE: Duration = Duration::from_millis(10);

/// Reports a condition.
type Says = Box<dyn FnMut() -> bool + Send>;
/// Sends a signal to a process.
type Signals = Box<dyn FnMut(SignalKind) -> io::Result<()> + Send>;

/// The process of a target, as far as it is known.
#[derive(Default)]
pub(super) struct StartedTarget {
    /// Whether it is alive.
    pub(super) lives: Option<Says>,
    pub(super) signals: Option<Signals>,
    /// Whether it has a socket, if its path is not known yet.
    pub(super) finds_socket: Option<Says>,
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

    pub(super) fn signal(&mut self, signal: SignalKind) -> Result<(), PlayerError> {
        let Some(signals) = &mut self.signals else { return Err(not_ours()) };
        signals(signal).map_err(|error| PlayerError::differs(format!("sending a signal: {error}")))
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
}

fn not_ours() -> PlayerError {
    PlayerError::Unavailable(NOT_OURS.to_owned())
}
