//! The reference runtime for testing clients: a runtime's side of the protocol over real
//! connections.
//!
//! It combines this crate's [`server`](dotnet_diagnostics_ipc::io::server) and
//! [`ConnectPort`](dotnet_diagnostics_ipc::exchange::ConnectPort), one connection after another
//! (F-75), with an application that runs nothing. A [`Profile`](super::known::Profile) selects the
//! runtime to imitate. Its behaviour then follows the exchange scripts, in harmless cases byte for
//! byte. A [`Misbehaviour`] adds a fault.
//!
//! | real runtimes | this one |
//! |---|---|
//! | stream events | streams a complete nettrace file with the event about the process; if requested, also one about the start (for sessions from before it), one `System.Runtime` counter, and half a megabyte of rundown |
//! | write dumps | answers OK, and writes the beginning of a core file to [`Config::dumps`] |
//! | write perf maps | writes those files, with one method, and removes them at its end |
//! | write to `user_events_data` | answers OK, and writes nothing |
//! | set and delete variables | sets and deletes them only in its own list |
//! | load profilers and startup hooks | loads neither |
//! | die of some requests (P-2, F-95, F-97) | dies only with [`Config::dies`] |
//! | read memory after a payload, and die or leak it (F-7, F-71, F-72) | answers with an error |
//! | on Windows, block on an unread reply (F-118) | continues |
//!
//! ```
//! use diagipc::known::Profile;
//! use diagipc::runtime::{Config, ReferenceRuntime};
//! use dotnet_diagnostics_ipc::io::{Client, Endpoint};
//!
//! let directory = tempfile::tempdir()?;
//! let runtime = ReferenceRuntime::start(Config {
//!     profile: Profile::CORECLR_9,
//!     ..Config::new(directory.path().join("socket"))
//! })?;
//! let client = Client::new(Endpoint::socket(runtime.socket()));
//! let info = client.process_info()?.payload().unwrap().command_line.to_string();
//! assert!(info.ends_with("/azmcp.dll server start"), "{info}");
//! runtime.stop();
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod answers;
mod application;
mod config;
mod misbehaviour;
mod peer;
mod profile;
mod recorded;
mod server;
mod session;
mod system;
#[cfg(unix)]
mod unix;
#[cfg(windows)]
mod windows;

use std::fmt;
use std::hash::{BuildHasher as _, RandomState};
use std::path::Path;
use std::sync::{Arc, Condvar, Mutex};
use std::thread::{self, JoinHandle};

pub use config::{Config, StartError};
use dotnet_diagnostics_ipc::io::Canceller;
use dotnet_diagnostics_ipc::port::{Ports, Suspension};
use dotnet_diagnostics_ipc::wire::Guid;
use dotnet_diagnostics_ipc_vectors::script::SignalKind;
pub use misbehaviour::{Misbehaviour, MisbehaviourError, MisbehaviourKind};

use self::application::{Application, State};
use self::misbehaviour::Misbehaviours;
use self::recorded::Recorded;
use self::server::Port;
use self::server::Server;
use self::system::{Guard, LACKING, Listening};
use crate::known::is_told;

/// The reaction of a runtime to a signal.
///
/// ```
/// use diagipc::known::Profile;
/// use diagipc::runtime::{Config, ReferenceRuntime, SignalReaction};
/// use dotnet_diagnostics_ipc_vectors::script::SignalKind;
///
/// let directory = tempfile::tempdir()?;
/// let config = Config { profile: Profile::NATIVE_AOT_9, dies: true, ..Config::new(directory.path().join("socket")) };
/// let runtime = ReferenceRuntime::start(config)?;
/// assert_eq!(runtime.reacts_to(SignalKind::Term), SignalReaction::LeavesSocket);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum SignalReaction {
    /// The runtime ends, and removes its socket.
    Ends,
    /// The runtime dies, and leaves its socket file (F-109, P-49).
    LeavesSocket,
    /// The runtime keeps running (P-50).
    RunsOn,
}

/// A running reference runtime, which ends when it is stopped or dropped.
#[derive(Debug)]
pub struct ReferenceRuntime {
    application: Shared,
    /// The guard of the socket; `None` if the environment disables the server.
    guard: Option<Guard>,
    server: Option<JoinHandle<()>>,
}

struct Shared(Arc<Application>);

impl fmt::Debug for Shared {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Application").field("profile", &self.0.profile).finish_non_exhaustive()
    }
}

impl ReferenceRuntime {
    /// Starts a runtime. It listens when this returns, unless its environment forbids that (F-107).
    ///
    /// # Errors
    /// Returns [`StartError`] if the socket's path or the pipe's name is taken or cannot be
    /// trusted, there are too many ports, the system has no threads or descriptors left, or it
    /// cannot show a misbehaviour.
    pub fn start(config: Config) -> Result<Self, StartError> {
        let mut recorded = Recorded::of(config.profile).ok_or(StartError::Vectors)?;
        recorded.describe(config.command_line.as_deref(), config.entry_assembly.as_deref());
        let ports = config.ports_text();
        let counting: Vec<_> =
            Ports::new(&ports).filter(|port| config.counts(port.address)).collect();
        let suspension = Suspension::new(config.suspends(), counting.iter().copied())
            .ok_or(StartError::TooManyPorts { limit: application::MAX_PORTS })?;
        let is_switched_off = config.is_switched_off();
        let recorded_entries =
            recorded.environment.iter().filter(|_| !config.is_environment_whole).cloned();
        let mut environment: Vec<_> =
            recorded_entries.chain(config.environment.iter().cloned()).collect();
        let mut kills_by_its_environment = false;
        for entry in &config.environment_bytes {
            match config.profile.reads_entry(entry) {
                Some(text) => environment.push(text),
                None => kills_by_its_environment = true,
            }
        }
        if let Some(lacking) = config.misbehaviours.iter().find(|one| LACKING.contains(&one.kind()))
        {
            return Err(StartError::Unavailable(*lacking));
        }
        let bound = if is_switched_off {
            None
        } else {
            Some(Listening::bind(&config.socket).map_err(StartError::Socket)?)
        };
        let application = Arc::new(Application {
            profile: config.profile,
            recorded,
            process_id: std::process::id(),
            socket: bound.as_ref().map_or(config.socket, |(_, guard)| guard.path().to_path_buf()),
            cookie: cookie(),
            wrong: Misbehaviours(config.misbehaviours),
            dies: config.dies,
            has_short_rundown: config.has_short_rundown,
            dumps: config.dumps,
            kills_by_its_environment,
            stop: Canceller::new().map_err(StartError::System)?,
            state: Mutex::new(State::new(environment, suspension)),
            changed: Condvar::new(),
        });
        let Some((listening, guard)) = bound else {
            return Ok(Self { application: Shared(application), guard: None, server: None });
        };
        let ports =
            counting.into_iter().map(|port| Port::new(port.address, &application)).collect();
        let server = Server { application: Arc::clone(&application), listening, ports };
        let server =
            thread::Builder::new().name("diagnostic server".into()).spawn(move || server.run());
        Ok(Self {
            application: Shared(application),
            guard: Some(guard),
            server: Some(server.map_err(StartError::System)?),
        })
    }

    /// Returns the socket of the default port, or on Windows the path of its pipe.
    pub fn socket(&self) -> &Path {
        &self.application.0.socket
    }

    /// Whether the runtime listens. It does not if its environment disables the server.
    pub const fn listens(&self) -> bool {
        self.guard.is_some()
    }

    /// Returns the imitated runtime's reaction to a signal that its program does not handle.
    /// Without [`Config::dies`] it ends cleanly on each signal.
    pub fn reacts_to(&self, signal: SignalKind) -> SignalReaction {
        let application = &self.application.0;
        let (is_term, is_told) =
            (signal == SignalKind::Term, |fact| is_told(application.profile, fact));
        if !application.dies {
            SignalReaction::Ends
        } else if is_term && is_told("P-50") && !self.is_started() {
            SignalReaction::RunsOn
        } else if is_told("F-109") || is_term && is_told("P-49") {
            SignalReaction::LeavesSocket
        } else {
            SignalReaction::Ends
        }
    }

    /// Ends the runtime like a crash, which leaves the socket file.
    pub fn abandon(mut self) {
        std::mem::forget(self.guard.take());
    }

    /// Returns the cookie that identifies the runtime.
    pub fn cookie(&self) -> Guid {
        self.application.0.cookie
    }

    /// Whether no port suspends the runtime any longer.
    pub fn is_started(&self) -> bool {
        self.application.0.state().is_started()
    }

    /// Ends the runtime, which closes its connections and removes the socket file.
    pub fn stop(self) {
        drop(self);
    }
}

impl Drop for ReferenceRuntime {
    fn drop(&mut self) {
        self.application.0.stop.cancel();
        self.application.0.changed.notify_all();
        if let Some(server) = self.server.take() {
            // A panic was reported when it happened.
            let _ = server.join();
        }
        self.application.0.remove_perf_maps();
    }
}

/// Returns a cookie that differs for each runtime.
fn cookie() -> Guid {
    let halves = [0u8, 1].map(|half| RandomState::new().hash_one(half).to_le_bytes());
    let mut bytes = [0; 16];
    bytes.iter_mut().zip(halves.into_iter().flatten()).for_each(|(place, byte)| *place = byte);
    Guid::from_bytes(bytes)
}
