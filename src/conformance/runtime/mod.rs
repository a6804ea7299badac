//! The reference runtime: a runtime's side of the protocol over real sockets, for those who test clients.
//!
//! It is this crate's own [`server`](crate::io::server) and [`ConnectPort`](crate::exchange::ConnectPort), one connection after
//! another (F-75), and an application that runs nothing. A [`Profile`](super::known::Profile) says which runtime it is
//! like: it then goes as the exchange scripts say that one goes, what is not harmful byte for byte. A [`Misbehaviour`] makes it do
//! something wrong.
//!
//! | what runtimes do | what this one does |
//! |---|---|
//! | stream events | streams a whole nettrace file without events; with rundown, one of half a megabyte |
//! | write dumps, perf maps, to `user_events_data` | says so, and writes nothing |
//! | set and delete variables | in its own list alone |
//! | load profilers and startup hooks | loads none |
//! | die of some requests (F-72) | dies only where [`Config::dies`] is set |
//! | give away memory (F-7, F-71) | answers an error |
//!
//! ```
//! use dotnet_diagnostics_ipc::conformance::known::Profile;
//! use dotnet_diagnostics_ipc::conformance::runtime::{Config, ReferenceRuntime};
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
mod ports;
mod profile;
mod recorded;
mod server;
mod session;
mod stream;

pub use config::{Config, StartError};
pub use misbehaviour::{Misbehaviour, MisbehaviourError, MisbehaviourKind};

use std::fmt;
use std::hash::{BuildHasher as _, RandomState};
use std::path::Path;
use std::sync::{Arc, Condvar, Mutex};
use std::thread::{self, JoinHandle};

use self::application::{Application, State};
use self::misbehaviour::Misbehaviours;
use self::ports::Port;
use self::recorded::Recorded;
use self::server::Server;
use crate::io::{Canceller, UnlinkOnDrop, bind_private};
use crate::port::{Ports, Suspension};
use crate::wire::Guid;

/// A runtime that runs. It ends when it is stopped or dropped.
#[derive(Debug)]
pub struct ReferenceRuntime {
    application: Shared,
    guard: UnlinkOnDrop,
    server: Option<JoinHandle<()>>,
}

struct Shared(Arc<Application>);

impl fmt::Debug for Shared {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Application").field("profile", &self.0.profile).finish_non_exhaustive()
    }
}

impl ReferenceRuntime {
    /// Starts it: it listens when this returns.
    ///
    /// # Errors
    /// [`StartError`]: the socket's path is taken or cannot be trusted, there are too many ports, or the system has no thread or
    /// descriptor left.
    pub fn start(config: Config) -> Result<Self, StartError> {
        let recorded = Recorded::of(config.profile)?;
        let ports = config.ports_text();
        let counting: alloc::vec::Vec<_> = Ports::new(&ports).filter(|port| config.counts(port.address)).collect();
        let suspension = Suspension::new(config.suspends(), counting.iter().copied()).map_err(StartError::Ports)?;
        let environment = recorded.environment.iter().cloned().chain(config.environment.iter().cloned()).collect();
        let (listener, guard) = bind_private(&config.socket).map_err(StartError::Socket)?;
        listener.set_nonblocking(true).map_err(StartError::System)?;
        let application = Arc::new(Application {
            profile: config.profile,
            recorded,
            process_id: std::process::id(),
            socket: guard.path().to_path_buf(),
            cookie: cookie(),
            wrong: Misbehaviours(config.misbehaviours),
            dies: config.dies,
            stop: Canceller::new().map_err(StartError::System)?,
            state: Mutex::new(State::new(environment, suspension)),
            changed: Condvar::new(),
        });
        let ports = counting.into_iter().map(|port| Port::new(port.address, &application)).collect();
        let server = Server { application: Arc::clone(&application), listener, ports };
        let server = thread::Builder::new().name("diagnostic server".into()).spawn(move || server.run());
        Ok(Self { application: Shared(application), guard, server: Some(server.map_err(StartError::System)?) })
    }

    /// The socket of its default port.
    pub fn socket(&self) -> &Path {
        self.guard.path()
    }

    /// The cookie by which it can be told from others.
    pub fn cookie(&self) -> Guid {
        self.application.0.cookie
    }

    /// Whether no port holds its start any longer.
    pub fn is_started(&self) -> bool {
        self.application.0.state().is_started()
    }

    /// Ends it: connections are closed, the socket's file is removed.
    pub fn stop(self) {
        drop(self);
    }
}

impl Drop for ReferenceRuntime {
    fn drop(&mut self) {
        self.application.0.stop.cancel();
        self.application.0.changed.notify_all();
        if let Some(server) = self.server.take() {
            // One that panicked has said so.
            let _ = server.join();
        }
    }
}

/// Another one for each runtime.
fn cookie() -> Guid {
    let halves = [0u8, 1].map(|half| RandomState::new().hash_one(half).to_le_bytes());
    let mut bytes = [0; 16];
    bytes.iter_mut().zip(halves.into_iter().flatten()).for_each(|(place, byte)| *place = byte);
    Guid::from_bytes(bytes)
}
