//! The application of the reference runtime: environment, sessions, and start, suspended or not.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use dotnet_diagnostics_ipc::hresult::HResult;
use dotnet_diagnostics_ipc::io::Canceller;
use dotnet_diagnostics_ipc::message::process::{PerfMapType, SetEnvironmentVariable};
use dotnet_diagnostics_ipc::port::{PortId, Suspension};
use dotnet_diagnostics_ipc::wire::{Guid, IpcString};

use super::misbehaviour::Misbehaviours;
use super::recorded::{Recorded, RecordedInfo};
use super::system::Kept;
use crate::known::Profile;

/// The maximum number of configured ports.
pub(super) const MAX_PORTS: usize = 16;
/// The maximum number of sessions (F-32).
const MAX_SESSIONS: usize = 64;
/// The maximum number of connections left open (F-74). The oldest is closed for a newer one.
const MAX_OPEN: usize = 256;
/// The maximum number of variables set by clients.
const MAX_VARIABLES: usize = 4096;
/// The interval at which a wait checks for changes without a notification.
const POLL_INTERVAL: Duration = Duration::from_millis(20);
/// The directory of perf maps, whatever `TMPDIR` is (P-38, F-155).
const PERF_MAPS: &str = "/tmp";
/// The content of perf maps: a method, an assembly, and a jitdump header of version 1 for x64.
const METHOD: &[u8] = b"0x7f0cbc001610 10 void [app] Program::Main()[QuickJitted]\n";
const IMAGE: &[u8] = b"ImageLoad;/app/app.dll;{aa172451-3e6e-40cf-adee-2c308761ce8b};(nil);\n";
const JIT_DUMP: &[u8; 40] = b"DTiJ\x01\0\0\0\x28\0\0\0\x3e\0\0\0\0\0\0\0\x92\x10\0\0\
    \0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0";
/// The error `HRESULT_FROM_WIN32(ERROR_ENVVAR_NOT_FOUND)` (F-80).
const NO_SUCH_VARIABLE: HResult = HResult(0x8007_00CB);

pub(super) struct Application {
    pub(super) profile: Profile,
    pub(super) recorded: Recorded,
    pub(super) process_id: u32,
    /// The socket or pipe of the default port.
    pub(super) socket: PathBuf,
    pub(super) cookie: Guid,
    pub(super) wrong: Misbehaviours,
    /// Whether it dies of requests that kill the imitated runtime.
    pub(super) dies: bool,
    /// Whether its rundown is so short that a client may leave it unread.
    pub(super) has_short_rundown: bool,
    pub(super) dumps: Option<PathBuf>,
    /// Whether it dies when its environment is requested (F-97).
    pub(super) kills_by_its_environment: bool,
    pub(super) stop: Canceller,
    pub(super) state: Mutex<State>,
    pub(super) changed: Condvar,
}

pub(super) struct State {
    /// The entries in the order in which they were set. A name may occur twice (F-79).
    pub(super) environment: Vec<String>,
    pub(super) suspension: Suspension<MAX_PORTS>,
    /// Whether it dies once it starts.
    pub(super) is_doomed: bool,
    /// The connections left open without further data.
    pub(super) open: Vec<Kept>,
    perf_maps: Vec<PathBuf>,
    sessions: BTreeMap<u64, Session>,
    last_session: u64,
    /// The id of a session that was stopped before the start and begins with the next one (F-160).
    stopped_early: Option<u64>,
}

/// A running session.
#[derive(Default)]
struct Session {
    stop: bool,
    /// Whether its id is that of a session stopped before the start, which then begins it twice.
    begins_twice: bool,
}

impl State {
    pub(super) fn new(environment: Vec<String>, suspension: Suspension<MAX_PORTS>) -> Self {
        // Runtimes use a memory address, which is unique.
        Self {
            environment,
            suspension,
            is_doomed: false,
            open: Vec::new(),
            perf_maps: Vec::new(),
            sessions: BTreeMap::new(),
            last_session: 0x7f0c_bc00_1610,
            stopped_early: None,
        }
    }

    pub(super) fn is_stopped(&self, id: u64) -> bool {
        self.sessions.get(&id).is_none_or(|session| session.stop)
    }

    pub(super) fn begins_twice(&self, id: u64) -> bool {
        self.sessions.get(&id).is_some_and(|session| session.begins_twice)
    }

    pub(super) fn is_over(&self, id: u64) -> bool {
        !self.sessions.contains_key(&id)
    }

    pub(super) fn is_started(&self) -> bool {
        self.suspension.is_started()
    }
}

impl Application {
    pub(super) fn die(&self) {
        if self.dies {
            std::process::abort();
        }
    }

    pub(super) fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits until `found` returns a value. Returns `None` at the runtime's end or on a time-out.
    pub(super) fn wait<T>(
        &self,
        most: Option<Duration>,
        mut found: impl FnMut(&State) -> Option<T>,
    ) -> Option<T> {
        let deadline = most.and_then(|most| Instant::now().checked_add(most));
        let mut state = self.state();
        loop {
            if let Some(found) = found(&state) {
                return Some(found);
            }
            if self.stop.is_cancelled()
                || deadline.is_some_and(|deadline| deadline <= Instant::now())
            {
                return None;
            }
            state = self
                .changed
                .wait_timeout(state, POLL_INTERVAL)
                .unwrap_or_else(PoisonError::into_inner)
                .0;
        }
    }

    /// Returns what the runtime reports about itself now.
    pub(super) fn info(&self) -> &RecordedInfo {
        if self.state().is_started() { &self.recorded.running } else { &self.recorded.suspended }
    }

    /// Resumes the start. Returns whether the runtime starts now, only to die.
    pub(super) fn resume(&self, port: PortId) -> bool {
        let mut state = self.state();
        // The request cannot have come from a port that does not exist.
        let _ = state.suspension.resume(port);
        let dies = state.is_doomed && state.is_started();
        drop(state);
        self.changed.notify_all();
        dies
    }

    /// Returns the id of a new session, unless there are too many.
    pub(super) fn begin_session(&self) -> Option<u64> {
        let mut state = self.state();
        if state.sessions.len() >= MAX_SESSIONS {
            return None;
        }
        let early = if state.is_started() { None } else { state.stopped_early.take() };
        let id = early.unwrap_or_else(|| state.last_session.wrapping_add(0x110));
        state.last_session = id;
        let begins_twice = early.is_some();
        state.is_doomed |= begins_twice;
        state.sessions.insert(id, Session { stop: false, begins_twice });
        Some(id)
    }

    pub(super) fn stop_session(&self, id: u64) {
        let mut state = self.state();
        let is_early = !state.is_started() && self.profile.starts_stopped_sessions();
        if let Some(session) = state.sessions.get_mut(&id) {
            session.stop = true;
            state.stopped_early = is_early.then_some(id);
        }
        drop(state);
        self.changed.notify_all();
    }

    pub(super) fn session_is_over(&self, id: u64) {
        self.state().sessions.remove(&id);
        self.changed.notify_all();
    }

    pub(super) fn leave_open(&self, connection: Kept) {
        let open = &mut self.state().open;
        if open.len() >= MAX_OPEN {
            open.remove(0);
        }
        open.push(connection);
    }

    /// Writes the files of perf maps (F-155), unless they exist already.
    pub(super) fn write_perf_maps(&self, kind: PerfMapType) {
        let id = self.process_id;
        let is_map = [PerfMapType::ALL, PerfMapType::PERF_MAP].contains(&kind);
        let is_jit_dump = [PerfMapType::ALL, PerfMapType::JIT_DUMP].contains(&kind);
        for (is_written, name, bytes) in [
            (is_map, format!("perf-{id}.map"), METHOD),
            (is_map && !self.profile.has("9.0"), format!("perfinfo-{id}.map"), IMAGE),
            (is_jit_dump, format!("jit-{id}.dump"), JIT_DUMP),
        ] {
            let path = Path::new(PERF_MAPS).join(name);
            // The caller is not told whether it could be written.
            if let Some(mut file) = is_written.then(|| File::create_new(&path).ok()).flatten() {
                let _ = file.write_all(bytes);
                self.state().perf_maps.push(path);
            }
        }
    }

    /// Removes the files that a runtime would leave behind, so tests need not.
    pub(super) fn remove_perf_maps(&self) {
        for path in self.state().perf_maps.drain(..) {
            let _ = fs::remove_file(path);
        }
    }

    /// Sets or deletes a variable (F-80).
    pub(super) fn set_variable(&self, request: &SetEnvironmentVariable<'_>) -> Result<(), HResult> {
        let text = |string: IpcString<'_>| {
            string.to_string().split('\0').next().unwrap_or_default().to_owned()
        };
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
            if state.environment.len() >= MAX_VARIABLES {
                return Err(HResult::FAIL);
            }
            state.environment.push(format!("{prefix}{}", text(request.value)));
        }
        Ok(())
    }
}
