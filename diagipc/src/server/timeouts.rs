//! Time limits for a target, derived from its own answers. On a busy machine each limit is longer:
//! [`here`](crate::process::timeouts::here).

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use dotnet_diagnostics_ipc::command::Command;

use crate::process::timeouts::idle;

/// The time limit of a request of the vectors, and the default for scripts.
pub(super) const WITHIN: Duration = Duration::from_secs(10);
/// The minimum wait for an answer.
const MIN_WAIT: Duration = Duration::from_millis(500);
/// How many times the duration of its slowest answer to a `ProcessInfo` a target may take.
const ANSWER_FACTOR: u32 = 20;
/// How many times the longest duration of a passed case with the same command a case may take.
const PASSED_FACTOR: u32 = 4;

/// The subject of a case: its first command, if that is known.
pub(super) type About = Option<Command>;

/// How fast a target answers, and what it does not answer.
#[derive(Clone, Debug, Default)]
pub(super) struct Pace {
    /// The longest time that a `ProcessInfo` took, up to the end of its connection.
    slowest: Duration,
    /// The longest time that a passed case took.
    passed: BTreeMap<About, Duration>,
    /// The subjects that got no answer within the full time.
    silent: BTreeSet<About>,
}

impl Pace {
    /// Records that a `ProcessInfo` was answered after this time.
    pub(super) fn answered(&mut self, after: Duration) {
        self.slowest = self.slowest.max(of(ANSWER_FACTOR, after));
    }

    /// Records that a case passed after this time.
    pub(super) fn passed(&mut self, about: About, after: Duration) {
        let slowest = self.passed.entry(about).or_default();
        *slowest = (*slowest).max(of(PASSED_FACTOR, after));
    }

    /// Records that a case got no answer within the full time, which is waited only once.
    pub(super) fn was_silent(&mut self, about: About) {
        self.silent.insert(about);
    }

    /// Lets the full time be waited once more.
    pub(super) fn forget_silence(&mut self) {
        self.silent.clear();
    }

    /// Returns the time limit for a `ProcessInfo`, if a target of this speed answers at all.
    pub(super) fn learned(&self) -> Duration {
        self.slowest.max(MIN_WAIT)
    }

    /// Returns the time limit for an answer: `whole`, or less if the target has exceeded it once.
    pub(super) fn within(&self, about: About, whole: Duration) -> Duration {
        if !self.silent.contains(&about) {
            return whole;
        }
        let passed = self.passed.get(&about).copied().unwrap_or_default();
        whole.min(self.learned().max(passed))
    }
}

/// Returns `after`, scaled to an idle machine, multiplied by `times`; 0 if the product is shorter
/// than any limit.
fn of(times: u32, after: Duration) -> Duration {
    if after.saturating_mul(times) <= MIN_WAIT {
        return Duration::ZERO;
    }
    idle(after).saturating_mul(times)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wait_is_full_once_for_each_command_then_follows_target_speed() {
        const WHOLE: Duration = Duration::from_secs(10);
        let (dump, info) = (Some(Command::GENERATE_CORE_DUMP), Some(Command::PROCESS_INFO));
        let mut pace = Pace::default();
        pace.answered(Duration::from_millis(2));
        assert_eq!((pace.within(info, WHOLE), pace.learned()), (WHOLE, MIN_WAIT));
        pace.was_silent(info);
        assert_eq!((pace.within(info, WHOLE), pace.within(dump, WHOLE)), (MIN_WAIT, WHOLE));
        // Both times are scaled to an idle machine.
        pace.answered(Duration::from_secs(60));
        assert!(pace.within(info, WHOLE) > MIN_WAIT);
        let mut pace = Pace::default();
        pace.passed(dump, Duration::from_secs(60));
        pace.was_silent(dump);
        pace.was_silent(info);
        assert!(pace.within(dump, WHOLE) > MIN_WAIT && pace.within(info, WHOLE) == MIN_WAIT);
        // The limit is never longer than the given time.
        assert_eq!(pace.within(dump, Duration::from_secs(1)), Duration::from_secs(1));
        pace.forget_silence();
        assert_eq!(pace.within(info, WHOLE), WHOLE);
    }
}
