//! How long to wait for a target, from its measured speed.

use core::time::Duration;

/// The time limit of a request of the vectors, and the default for scripts.
pub(super) const WITHIN: Duration = Duration::from_secs(10);
/// The minimum wait for an answer.
const LEAST: Duration = Duration::from_millis(500);
/// How many times its slowest answer a target may take.
const TIMES: u32 = 20;

/// A target's speed, and whether it ignores requests.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Pace {
    /// The longest time of a whole request, its reply and the end.
    slowest: Duration,
    /// Whether a request got no answer within its full time.
    is_silent: bool,
}

impl Pace {
    /// A request was answered after this time.
    pub(super) fn answered(&mut self, after: Duration) {
        self.slowest = self.slowest.max(after);
    }

    /// A request got no answer within its full time. That is waited for once.
    pub(super) const fn was_silent(&mut self) {
        self.is_silent = true;
    }

    /// How long an answer may take if a target of this speed answers at all.
    pub(super) fn learned(&self) -> Duration {
        self.slowest.saturating_mul(TIMES).max(LEAST)
    }

    /// The time for an answer, given `whole`: all of it, until the target has exceeded it once.
    pub(super) fn within(&self, whole: Duration) -> Duration {
        if self.is_silent { whole.min(self.learned()) } else { whole }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wait_is_full_once_then_follows_target_speed() {
        const WHOLE: Duration = Duration::from_secs(10);
        let mut pace = Pace::default();
        pace.answered(Duration::from_millis(2));
        assert_eq!((pace.within(WHOLE), pace.learned()), (WHOLE, LEAST));
        pace.was_silent();
        assert_eq!(pace.within(WHOLE), LEAST);
        pace.answered(Duration::from_millis(100));
        assert_eq!(pace.within(WHOLE), Duration::from_secs(2));
        // Never longer than the given time.
        assert_eq!(pace.within(Duration::from_secs(1)), Duration::from_secs(1));
    }
}
