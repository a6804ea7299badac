//! Time limits that are given for an idle machine, and are longer on a busy machine.

use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use dotnet_diagnostics_ipc_vectors::script::Step;

/// The maximum factor of a limit. After that, even a target that hangs on the busiest machine is
/// given up.
const MAX_FACTOR: u32 = 30;
/// The maximum time between two looks at the clock; more time went to other programs.
const MAX_GAP: Duration = Duration::from_micros(200);
/// How much processor time a measurement uses: several slices of a scheduler.
const OWN_TIME: Duration = Duration::from_millis(20);
/// The maximum duration of a measurement.
const MAX_MEASURE_TIME: Duration = Duration::from_millis(600);
/// How long a measurement stays valid.
const MEASURE_LIFETIME: Duration = Duration::from_millis(250);
/// The time of a measurement on a machine that counts as idle, in percent of [`OWN_TIME`].
const IDLE_PERCENT: u32 = 150;
/// The maximum wait that only checks whether something is there.
const MAX_LOOK_TIME: Duration = Duration::from_millis(50);
/// The last measurement, in percent of an idle machine's time, and when it ended.
static MEASURED: Mutex<Option<(Instant, u32)>> = Mutex::new(None);

/// Returns how long a step of a script waits for silence, in milliseconds.
pub(crate) const fn silence_ms(step: &Step) -> u32 {
    match step {
        Step::Wait(step) => step.wait,
        Step::ExpectNothing(step) => step.expect_nothing,
        Step::ExpectNoEvent(step) => step.expect_no_event,
        Step::ExpectNoConnection(step) => step.expect_no_connection,
        _ => 0,
    }
}

/// Returns how long `whole` of an idle machine takes here and now. The machine is measured only
/// when a limit is about to decide.
pub(crate) fn here(whole: Duration) -> Duration {
    if whole <= MAX_LOOK_TIME {
        return whole;
    }
    whole.saturating_mul(slower()).checked_div(100).unwrap_or(whole)
}

/// Returns how long a wait of `here` would take on an idle machine.
pub(crate) fn idle(here: Duration) -> Duration {
    here.saturating_mul(100).checked_div(slower()).unwrap_or(here)
}

/// Returns how much longer everything takes than on an idle machine, in percent.
fn slower() -> u32 {
    let mut measured = MEASURED.lock().unwrap_or_else(PoisonError::into_inner);
    let (at, percent) = renewed(*measured, measure);
    *measured = Some((at, percent));
    percent
}

/// Returns the last measurement if it is still valid, or a new one.
fn renewed(last: Option<(Instant, u32)>, measure: impl FnOnce() -> u32) -> (Instant, u32) {
    last.filter(|(at, _)| at.elapsed() < MEASURE_LIFETIME).unwrap_or_else(|| {
        let percent = measure();
        (Instant::now(), percent)
    })
}

/// Measures how much longer than on an idle machine a program takes that uses a whole processor.
fn measure() -> u32 {
    let began = Instant::now();
    let (mut last, mut own) = (began, Duration::ZERO);
    while own < OWN_TIME && last.duration_since(began) < MAX_MEASURE_TIME {
        let now = Instant::now();
        let since = now.duration_since(last);
        own += if since < MAX_GAP { since } else { Duration::ZERO };
        last = now;
    }
    percent(last.duration_since(began), own)
}

fn percent(whole: Duration, own: Duration) -> u32 {
    let most = MAX_FACTOR * 100;
    let percent = whole.as_micros().saturating_mul(100).checked_div(own.as_micros());
    match percent.and_then(|percent| u32::try_from(percent).ok()).unwrap_or(most) {
        percent if percent < IDLE_PERCENT => 100,
        percent => percent.min(most),
    }
}

/// A time limit that has begun.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Limit {
    began: Instant,
    whole: Duration,
}

impl Limit {
    pub(crate) fn new(whole: Duration) -> Self {
        Self { began: Instant::now(), whole }
    }

    pub(crate) const fn whole(&self) -> Duration {
        self.whole
    }

    pub(crate) fn is_over(&self) -> bool {
        let elapsed = self.began.elapsed();
        elapsed >= self.whole && elapsed >= here(self.whole)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn time_of_others_makes_limit_longer_up_to_a_bound() {
        let ms = Duration::from_millis;
        for (whole, own, expected) in [
            (ms(20), ms(20), 100),
            (ms(29), ms(20), 100),
            (ms(140), ms(20), 700),
            (ms(600), ms(1), 3000),
            (ms(600), ms(0), 3000),
        ] {
            assert_eq!(percent(whole, own), expected, "{whole:?} {own:?}");
        }
        // The time of a valid measurement stays that of the measurement.
        let last = (Instant::now() + ms(3_600_000), 700);
        assert_eq!(renewed(Some(last), || 100), last);
        let old = Instant::now().checked_sub(MEASURE_LIFETIME).map(|at| (at, 700));
        assert_eq!((renewed(old, || 100).1, renewed(None, || 200).1), (100, 200));
        assert_eq!(here(MAX_LOOK_TIME), MAX_LOOK_TIME);
        let here = here(ms(1000));
        assert!(here >= ms(1000) && here <= ms(30_000), "{here:?}");
    }
}
