//! What a port waits for, for how long, and what it has seen.

use std::time::Duration;
use std::vec::Vec;

use crate::advertise::Advertise;
use crate::wire::Guid;

/// How long a port waits, and for how many at most.
///
/// Whatever these say, on Unix the connections of a port never take more than three quarters of the descriptors that the process may
/// have (`RLIMIT_NOFILE`), and runtimes that wait no more than half: the rest stays the process's own. With the usual limit of 1,024
/// that is 768 and 512. Windows has no such limit: there a port has a handle for each connection that these allow, and a few more.
///
/// ```
/// use dotnet_diagnostics_ipc::io::port_listener::PortOptions;
///
/// let options = PortOptions { most_silent: 100, ..PortOptions::DEFAULT };
/// # let _ = options;
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PortOptions {
    /// From the start of a connection to the last byte of its advertise. A runtime sends it at once.
    pub advertise: Duration,
    /// How many connections may be without their advertise. For one more the oldest of them is closed: a runtime that comes
    /// always gets in.
    pub most_silent: usize,
    /// How many runtimes may wait. One more is hung up on, and tries again by itself (F-57).
    pub most_held: u32,
    /// How long a runtime may wait until somebody takes its connection; `None` is for ever. One that is hung up on then comes again by
    /// itself (F-57), and what only pretended to be a runtime is gone.
    pub held: Option<Duration>,
}

impl PortOptions {
    /// 5 s for an advertise, 1,024 silent connections, 4,096 runtimes, 10 minutes until one is taken.
    pub const DEFAULT: Self =
        Self { advertise: Duration::from_secs(5), most_silent: 1024, most_held: 4096, held: Some(Duration::from_secs(600)) };
}

impl Default for PortOptions {
    fn default() -> Self {
        Self::DEFAULT
    }
}

/// Which runtime is waited for.
///
/// ```
/// use dotnet_diagnostics_ipc::io::port_listener::RuntimeFilter;
///
/// // One that is not known yet.
/// let mut known = vec![];
/// let which = RuntimeFilter::NotAmong(known.clone());
/// # known.push(dotnet_diagnostics_ipc::wire::Guid::NIL);
/// # let _ = which;
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum RuntimeFilter {
    /// Any: the one that waits longest.
    Any,
    /// The process with this id, as the runtime says it: the id of its own namespace.
    Process(u64),
    /// The runtime with this cookie.
    Cookie(Guid),
    /// Any other than these.
    NotAmong(Vec<Guid>),
}

impl RuntimeFilter {
    pub(super) fn is(&self, advertise: &Advertise) -> bool {
        match self {
            Self::Any => true,
            Self::Process(id) => advertise.process_id == *id,
            Self::Cookie(cookie) => advertise.runtime_cookie == *cookie,
            Self::NotAmong(cookies) => !cookies.contains(&advertise.runtime_cookie),
        }
    }
}

/// What a port has seen since it was made; the first two say how it is now.
///
/// ```
/// use dotnet_diagnostics_ipc::io::port_listener::PortCounts;
///
/// assert_eq!(PortCounts::default().accepted, 0);
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct PortCounts {
    /// How many connections are without their advertise now.
    pub silent: usize,
    /// How many runtimes wait now.
    pub held: usize,
    /// How many connections came.
    pub accepted: u64,
    /// How many of them advertised a runtime.
    pub advertised: u64,
    /// How many were closed because [`PortOptions::most_silent`] others came after them, or no descriptor was left.
    pub silent_dropped: u64,
    /// How many were closed because their time for the advertise was over.
    pub silent_timed_out: u64,
    /// How many ended before their advertise was whole.
    pub ended_early: u64,
    /// How many said something else.
    pub not_a_runtime: u64,
    /// How many ended while they were waiting.
    pub ended_waiting: u64,
    /// How many were hung up on because nobody had taken them in time ([`PortOptions::held`]).
    pub held_timed_out: u64,
    /// How many were replaced by a newer connection of the same runtime.
    pub replaced: u64,
    /// How many were hung up on because [`PortOptions::most_held`] wait, or half of the process's descriptors are theirs.
    pub refused: u64,
    /// How many were handed out.
    pub handed_out: u64,
}
