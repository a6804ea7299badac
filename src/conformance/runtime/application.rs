//! What the reference runtime is behind its protocol: an environment, sessions, a start that ports may hold.

use std::borrow::ToOwned as _;
use std::collections::BTreeMap;
use std::format;
use std::os::fd::OwnedFd;
use std::path::PathBuf;
use std::string::{String, ToString as _};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};
use std::vec::Vec;

use super::misbehaviour::Misbehaviours;
use super::recorded::{Info, Recorded};
use crate::conformance::known::Profile;
use crate::hresult::HResult;
use crate::io::Canceller;
use crate::message::process::SetEnvironmentVariable;
use crate::port::{PortId, Suspension};
use crate::wire::{Guid, IpcString};

/// The most ports that are configured.
pub(super) const MOST_PORTS: usize = 16;
/// F-32.
const MOST_SESSIONS: usize = 64;
/// How many connections stay open at the most (F-74); the oldest is closed for a newer one.
const MOST_OPEN: usize = 256;
/// Clients set no more than these.
const MOST_VARIABLES: usize = 4096;
/// How often a wait looks at what nobody tells it of.
const LOOK: Duration = Duration::from_millis(20);
/// `HRESULT_FROM_WIN32(ERROR_ENVVAR_NOT_FOUND)` (F-80).
const NO_SUCH_VARIABLE: HResult = HResult(0x8007_00CB);

pub(super) struct Application {
    pub(super) profile: Profile,
    pub(super) recorded: Recorded,
    pub(super) process_id: u32,
    /// Of the default port.
    pub(super) socket: PathBuf,
    pub(super) cookie: Guid,
    pub(super) wrong: Misbehaviours,
    pub(super) dies: bool,
    /// Ends every wait.
    pub(super) stop: Canceller,
    pub(super) state: Mutex<State>,
    /// The state has changed.
    pub(super) changed: Condvar,
}

pub(super) struct State {
    /// In the order in which they were set; names may stand twice (F-79).
    pub(super) environment: Vec<String>,
    pub(super) suspension: Suspension<MOST_PORTS>,
    /// It dies once it starts.
    pub(super) is_doomed: bool,
    /// Connections that stay open, though nothing more is said.
    pub(super) open: Vec<OwnedFd>,
    sessions: BTreeMap<u64, Session>,
    last_session: u64,
}

/// A session that is not over.
#[derive(Default)]
struct Session {
    stop: bool,
}

impl State {
    pub(super) fn new(environment: Vec<String>, suspension: Suspension<MOST_PORTS>) -> Self {
        // Runtimes give an address, of which no two are the same.
        Self {
            environment,
            suspension,
            is_doomed: false,
            open: Vec::new(),
            sessions: BTreeMap::new(),
            last_session: 0x7f0c_bc00_1610,
        }
    }

    /// Whether the session is to end.
    pub(super) fn is_stopped(&self, id: u64) -> bool {
        self.sessions.get(&id).is_none_or(|session| session.stop)
    }

    /// Whether the session is over, or never was.
    pub(super) fn is_over(&self, id: u64) -> bool {
        !self.sessions.contains_key(&id)
    }

    pub(super) fn is_started(&self) -> bool {
        self.suspension.is_started()
    }
}

impl Application {
    pub(super) fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits until `found` finds something; `None` at the runtime's own end, or when the time is over.
    pub(super) fn wait<T>(&self, most: Option<Duration>, mut found: impl FnMut(&State) -> Option<T>) -> Option<T> {
        let deadline = most.and_then(|most| Instant::now().checked_add(most));
        let mut state = self.state();
        loop {
            if let Some(found) = found(&state) {
                return Some(found);
            }
            if self.stop.is_cancelled() || deadline.is_some_and(|deadline| deadline <= Instant::now()) {
                return None;
            }
            state = self.changed.wait_timeout(state, LOOK).unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    /// What it says of itself now.
    pub(super) fn info(&self) -> &Info {
        if self.state().is_started() { &self.recorded.running } else { &self.recorded.suspended }
    }

    /// Whether the runtime starts now, only to die.
    pub(super) fn resume(&self, port: PortId) -> bool {
        let mut state = self.state();
        // A port that is not there cannot have asked.
        let _ = state.suspension.resume(port);
        let dies = state.is_doomed && state.is_started();
        drop(state);
        self.changed.notify_all();
        dies
    }

    /// The id of a new session, unless there are too many.
    pub(super) fn begin_session(&self) -> Option<u64> {
        let mut state = self.state();
        if state.sessions.len() >= MOST_SESSIONS {
            return None;
        }
        let id = state.last_session.wrapping_add(0x110);
        state.last_session = id;
        state.sessions.insert(id, Session::default());
        Some(id)
    }

    pub(super) fn stop_session(&self, id: u64) {
        if let Some(session) = self.state().sessions.get_mut(&id) {
            session.stop = true;
        }
        self.changed.notify_all();
    }

    pub(super) fn session_is_over(&self, id: u64) {
        self.state().sessions.remove(&id);
        self.changed.notify_all();
    }

    pub(super) fn leave_open(&self, connection: OwnedFd) {
        let open = &mut self.state().open;
        if open.len() >= MOST_OPEN {
            open.remove(0);
        }
        open.push(connection);
    }

    /// F-80.
    pub(super) fn set_variable(&self, request: &SetEnvironmentVariable<'_>) -> Result<(), HResult> {
        let text = |string: IpcString<'_>| string.to_string().split('\0').next().unwrap_or_default().to_owned();
        let prefix = format!("{}=", text(request.name));
        if prefix == "=" {
            return Ok(());
        }
        let mut state = self.state();
        let there = state.environment.iter().any(|entry| entry.starts_with(&prefix));
        if request.value.is_absent() && !there {
            return Err(NO_SUCH_VARIABLE);
        }
        state.environment.retain(|entry| !entry.starts_with(&prefix));
        if !request.value.is_absent() {
            if state.environment.len() >= MOST_VARIABLES {
                return Err(HResult::FAIL);
            }
            state.environment.push(format!("{prefix}{}", text(request.value)));
        }
        Ok(())
    }
}
