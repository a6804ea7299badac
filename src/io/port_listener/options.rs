//! Limits and counters of a port.

use std::time::Duration;

use crate::io::trust::TrustPolicy;

/// Time limits and maximum numbers of a port.
///
/// On Unix, whatever the numbers are, the connections of a port take at most three quarters of the
/// process's descriptors (`RLIMIT_NOFILE`), and waiting runtimes at most half: the rest is left to
/// the process. With the usual limit of 1,024 that is 768 and 512. Windows has no such limit: there
/// a port has a handle for each connection allowed here, and a few more.
///
/// ```
/// use dotnet_diagnostics_ipc::io::port_listener::PortOptions;
///
/// let options = PortOptions { most_silent: 100, ..PortOptions::DEFAULT };
/// # let _ = options;
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct PortOptions {
    /// The time from the start of a connection to the last byte of its advertise, which a runtime
    /// sends immediately.
    pub advertise: Duration,
    /// The maximum number of connections without their advertise. If one more arrives, the oldest
    /// is closed, so a new runtime always gets in.
    pub most_silent: usize,
    /// The maximum number of waiting runtimes; one more is disconnected, and retries (F-57).
    pub most_held: u32,
    /// The time from the start of a connection until it is taken; `None` means no limit. A
    /// disconnected runtime connects again by itself (F-57); an impostor is gone.
    pub held: Option<Duration>,
    /// How long a runtime whose waiting connection ended may take to connect again, before it is
    /// [`Gone`](super::PortEvent::Gone). A runtime takes at most 571 ms between two attempts (F-77).
    pub reconnect: Duration,
    /// The directories that [`bind`](super::PortListener::bind) trusts; used only on Unix.
    pub trust: TrustPolicy,
    #[doc(hidden)]
    pub more: (),
}

impl PortOptions {
    /// The default limits: 5 s for an advertise, 1,024 silent connections, 4,096 runtimes, 10
    /// minutes until a connection is taken, 5 s to connect again.
    pub const DEFAULT: Self = Self {
        advertise: Duration::from_secs(5),
        most_silent: 1024,
        most_held: 4096,
        held: Some(Duration::from_secs(600)),
        reconnect: Duration::from_secs(5),
        trust: TrustPolicy::CHECKED,
        more: (),
    };
}

impl Default for PortOptions {
    fn default() -> Self {
        Self::DEFAULT
    }
}

/// Counters of a port since its creation; the first two are current values.
///
/// ```
/// use dotnet_diagnostics_ipc::io::port_listener::PortCounts;
///
/// assert_eq!(PortCounts::default().accepted, 0);
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct PortCounts {
    /// The current number of connections without their advertise.
    pub silent: usize,
    /// The current number of waiting runtimes.
    pub held: usize,
    /// Connections accepted.
    pub accepted: u64,
    /// Connections with a valid advertise.
    pub advertised: u64,
    /// Closed because [`PortOptions::most_silent`] others followed, or no descriptor was left.
    pub silent_dropped: u64,
    /// Closed because their advertise timed out.
    pub silent_timed_out: u64,
    /// Ended before their advertise was complete.
    pub ended_early: u64,
    /// Closed because their bytes are not an advertise.
    pub not_a_runtime: u64,
    /// Ended while waiting.
    pub ended_waiting: u64,
    /// Disconnected because they were not taken in time ([`PortOptions::held`]).
    pub held_timed_out: u64,
    /// Replaced by a newer connection of the same runtime.
    pub replaced: u64,
    /// Disconnected because [`PortOptions::most_held`] runtimes wait, or they hold half of the
    /// process's descriptors, or the port remembers as many as [`PortEvent`](super::PortEvent) says.
    pub refused: u64,
    /// Connections handed out to callers.
    pub handed_out: u64,
}
