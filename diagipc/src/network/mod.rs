//! Plays exchange scripts over real connections: the
//! [`Network`](dotnet_diagnostics_ipc_vectors::player::Network)s of a
//! [`Player`](dotnet_diagnostics_ipc_vectors::player::Player).
//!
//! This example plays a conversation to a server:
//!
//! ```no_run
//! # #[cfg(unix)] {
//! use std::time::Duration;
//! use diagipc::network::LiveNetwork;
//! use dotnet_diagnostics_ipc_vectors::player::Player;
//! use dotnet_diagnostics_ipc_vectors::script::Step;
//!
//! let steps: Vec<Step> = serde_json::from_str(r#"[
//!     { "open": "a" },
//!     { "on": "a", "send": ["444f544e45545f4950435f563100", "1400", "0463", "0000"] },
//!     { "on": "a", "expect": ["444f544e45545f4950435f563100", "1800", "ffff", "0000", "85131380"] },
//!     { "on": "a", "expect_end": "closed" }]"#)?;
//! let mut network = LiveNetwork::to("/tmp/dotnet-diagnostic-12-345-socket");
//! Player::new(&mut network, Duration::from_secs(5)).play(&steps)?;
//! # }
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

pub(crate) mod address;
mod live;
mod trust;
#[cfg(unix)]
mod unix;
#[cfg(windows)]
mod windows;

use std::io;
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use dotnet_diagnostics_ipc::exchange::End;
use dotnet_diagnostics_ipc_vectors::player::{Flow, PlayerError};

pub use address::{place, tcp_address};
pub use live::LiveNetwork;
pub(crate) use live::Peer;
pub use trust::{advice, advised, allow_any_address, trust_policy, trust_shared_directories};
#[cfg(unix)]
pub use unix::{SocketListener as Listener, endpoint_at};
#[cfg(unix)]
pub(crate) use unix::{
    connect_to, exited_process, has_hung_up, is_served, kind_of, lives, named_process,
    sends_no_more,
};
#[cfg(windows)]
pub use windows::PortPipe as Listener;
#[cfg(windows)]
pub(crate) use windows::{is_served, lacks};

fn failed<E: std::fmt::Display>(what: &str) -> impl FnOnce(E) -> PlayerError + '_ {
    move |error| PlayerError::differs(format!("{what}: {error}"))
}

fn cancelled() -> PlayerError {
    PlayerError::differs("the player was interrupted")
}

/// The maximum number of bytes read at once.
const READ_LEN: usize = 65_536;
/// The number of first bytes that are kept.
const KEPT_LEN: usize = 64;

type State = (Mutex<Flow>, Condvar);

/// A thread that reads. It ends with the connection, or when this is dropped.
pub(super) struct Background {
    stop: Box<dyn Fn() + Send>,
    state: Arc<State>,
    thread: Option<JoinHandle<()>>,
}

impl Background {
    /// Adds what `read` returns to `flow`. `read` waits, and returns 0 at the end; `stop` ends its
    /// wait.
    pub(super) fn start(
        flow: Flow,
        read: impl FnMut(&mut [u8]) -> io::Result<usize> + Send + 'static,
        stop: impl Fn() + Send + 'static,
    ) -> io::Result<Self> {
        let state = Arc::new((Mutex::new(flow), Condvar::new()));
        let shared = state.clone();
        let thread = thread::Builder::new()
            .name("drain".to_owned())
            .spawn(move || read_to_the_end(read, &shared))?;
        Ok(Self { stop: Box::new(stop), state, thread: Some(thread) })
    }

    /// Returns what was read once the end is reached, or `patience` is over.
    pub(super) fn drained(&self, patience: Duration) -> Flow {
        let (drained, ended) = &*self.state;
        let guard = drained.lock().unwrap_or_else(PoisonError::into_inner);
        let waited = ended.wait_timeout_while(guard, patience, |drained| drained.end.is_none());
        waited.unwrap_or_else(PoisonError::into_inner).0.clone()
    }
}

impl Drop for Background {
    fn drop(&mut self) {
        (self.stop)();
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

fn read_to_the_end(mut read: impl FnMut(&mut [u8]) -> io::Result<usize>, (state, ended): &State) {
    let mut buffer = vec![0; READ_LEN];
    loop {
        let read = read(&mut buffer);
        let mut drained = state.lock().unwrap_or_else(PoisonError::into_inner);
        match read {
            Ok(0) => drained.end = Some(End::Closed),
            Ok(n) => drained.push(buffer.get(..n).unwrap_or_default(), KEPT_LEN),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(_) => drained.end = Some(End::Reset),
        }
        if drained.end.is_some() {
            ended.notify_all();
            return;
        }
    }
}
