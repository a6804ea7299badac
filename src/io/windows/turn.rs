//! When a process may open a pipe again.
#![forbid(unsafe_code)]

use std::collections::BTreeMap;
use std::hash::{BuildHasher as _, RandomState};
use std::string::String;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use super::path::PipePath;

/// From one try to open a pipe to the next one of this process. Two clients within some 0.1 ms can leave a runtime that serves nobody
/// any more; 1 ms apart none did (F-120).
const APART: Duration = Duration::from_millis(5);

/// How long a server may take from making a pipe to waiting for its client.
const MOMENT: Duration = Duration::from_millis(10);

/// When each pipe may be opened next, by its path.
static NEXT: Mutex<BTreeMap<String, Instant>> = Mutex::new(BTreeMap::new());

/// How long to wait before this pipe is opened: the callers of a process have their turns one after another.
pub(in crate::io) fn until_turn(path: &PipePath) -> Duration {
    let mut next = NEXT.lock().unwrap_or_else(PoisonError::into_inner);
    let now = Instant::now();
    next.retain(|_, turn| *turn > now);
    // Names of pipes have no case.
    let turn = next.entry(path.text().to_lowercase()).or_insert(now);
    let wait = turn.saturating_duration_since(now);
    *turn = turn.checked_add(APART).unwrap_or(now);
    wait
}

/// How long to wait once a pipe that was busy is free: its server makes a pipe first and waits for a client then, and other processes
/// have waited for the same (F-120). So 10 to 20 ms, each a time of its own.
pub(in crate::io) fn after_busy() -> Duration {
    let extra = RandomState::new().hash_one(()).checked_rem(10_000).unwrap_or_default();
    MOMENT.saturating_add(Duration::from_micros(extra))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn opens_of_one_pipe_have_turns_5_ms_apart() {
        let path = |name| PipePath::new(name).unwrap();
        assert_eq!(until_turn(&path("turn-a")), Duration::ZERO);
        let (second, third) = (until_turn(&path("turn-A")), until_turn(&path(r"\\.\pipe\turn-a")));
        assert!(second > Duration::ZERO && second <= APART && third > second, "{second:?} {third:?}");
        // Another pipe is another server.
        assert_eq!(until_turn(&path("turn-b")), Duration::ZERO);
        // What is over holds nobody.
        std::thread::sleep(4 * APART);
        assert_eq!(until_turn(&path("turn-a")), Duration::ZERO);
    }

    #[test]
    fn pauses_after_busy_are_10_to_20_ms_and_differ() {
        let pauses: Vec<_> = (0..20).map(|_| after_busy()).collect();
        assert!(pauses.iter().all(|pause| (10..20).contains(&pause.as_millis())), "{pauses:?}");
        assert!(pauses.iter().any(|pause| *pause != pauses[0]), "{pauses:?}");
    }
}
