//! How long to wait for a target: what was learned of its own speed.

use core::time::Duration;

/// How long a request of the vectors may take, and whatever no script says.
pub(super) const WITHIN: Duration = Duration::from_secs(10);
/// The least that is waited for an answer.
const LEAST: Duration = Duration::from_millis(500);
/// So many times longer than its slowest answer a target may take.
const TIMES: u32 = 20;

/// How fast a target answers, and whether it leaves requests without an answer.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Pace {
    /// The longest that a whole request, its reply and the end took.
    slowest: Duration,
    /// Whether a request was left without an answer for the whole of its time.
    is_silent: bool,
}

impl Pace {
    /// A request was answered after this time.
    pub(super) fn answered(&mut self, after: Duration) {
        self.slowest = self.slowest.max(after);
    }

    /// A request was left without an answer for the whole of its time. That is waited for once.
    pub(super) const fn was_silent(&mut self) {
        self.is_silent = true;
    }

    /// How long an answer may take to what a target of this speed answers at all.
    pub(super) fn learned(&self) -> Duration {
        self.slowest.saturating_mul(TIMES).max(LEAST)
    }

    /// The time for an answer, where `whole` is given for it: all of it, until the target has once let it pass.
    pub(super) fn within(&self, whole: Duration) -> Duration {
        if self.is_silent { whole.min(self.learned()) } else { whole }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wait_is_whole_once_and_then_by_the_speed_of_the_target() {
        const WHOLE: Duration = Duration::from_secs(10);
        let mut pace = Pace::default();
        pace.answered(Duration::from_millis(2));
        assert_eq!((pace.within(WHOLE), pace.learned()), (WHOLE, LEAST));
        pace.was_silent();
        assert_eq!(pace.within(WHOLE), LEAST);
        pace.answered(Duration::from_millis(100));
        assert_eq!(pace.within(WHOLE), Duration::from_secs(2));
        // Never longer than what is given.
        assert_eq!(pace.within(Duration::from_secs(1)), Duration::from_secs(1));
    }
}
