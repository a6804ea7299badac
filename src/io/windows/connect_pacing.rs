//! When a process may open a pipe again.
#![forbid(unsafe_code)]

use std::collections::BTreeMap;
use std::hash::{BuildHasher as _, RandomState};
use std::string::String;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use super::PipePath;

/// The time between two attempts of this process to open a pipe. Two clients within some 0.1 ms can
/// make a runtime stop serving; 1 ms apart none did (F-120).
const APART: Duration = Duration::from_millis(5);

/// How long a server may take from creating a pipe to waiting for its client.
const MOMENT: Duration = Duration::from_millis(10);

/// When each pipe may be opened next, by its path.
static NEXT: Mutex<BTreeMap<String, Instant>> = Mutex::new(BTreeMap::new());

/// Opens a pipe if it is the caller's turn: a process opens them one after another, not at once.
/// Otherwise returns how long to wait before calling again.
pub(in crate::io) fn rate_limited<P>(
    path: &PipePath,
    open: impl FnOnce() -> P,
) -> Result<P, Duration> {
    let mut next = NEXT.lock().unwrap_or_else(PoisonError::into_inner);
    let now = Instant::now();
    next.retain(|_, turn| *turn > now);
    // Names of pipes ignore case.
    let name = path.text().to_lowercase();
    if let Some(turn) = next.get(&name) {
        return Err(turn.saturating_duration_since(now));
    }
    let opened = open();
    next.extend(Instant::now().checked_add(APART).map(|turn| (name, turn)));
    Ok(opened)
}

/// How long to wait once a busy pipe is free: its server creates a pipe first and then waits for a
/// client, and other processes have waited for it too (F-120). So 10 to 20 ms, a different time for
/// each.
pub(in crate::io) fn after_busy() -> Duration {
    let extra = RandomState::new().hash_one(()).checked_rem(10_000).unwrap_or_default();
    MOMENT.saturating_add(Duration::from_micros(extra))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::vec::Vec;

    #[test]
    fn opens_of_one_pipe_are_5_ms_apart() {
        let opened = |name| rate_limited(&PipePath::new(name).unwrap(), Instant::now);
        let first = opened("turn-a").unwrap();
        for same in ["turn-a", "turn-A", r"\\.\pipe\turn-a"] {
            let wait = opened(same).unwrap_err();
            assert!(wait <= APART, "{wait:?}");
        }
        // Another pipe is another server.
        opened("turn-b").unwrap();
        let second = loop {
            match opened("turn-a") {
                Ok(second) => break second,
                Err(wait) => std::thread::sleep(wait),
            }
        };
        assert!(second.duration_since(first) >= APART, "{:?}", second.duration_since(first));
    }

    #[test]
    fn pauses_after_busy_are_10_to_20_ms_and_differ() {
        let pauses: Vec<_> = (0..20).map(|_| after_busy()).collect();
        assert!(pauses.iter().all(|pause| (10..20).contains(&pause.as_millis())), "{pauses:?}");
        assert!(pauses.iter().any(|pause| *pause != pauses[0]), "{pauses:?}");
    }
}
