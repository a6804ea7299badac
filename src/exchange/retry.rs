//! How long a runtime waits before it connects to a diagnostic port again.

use core::time::Duration;

/// The delays of runtimes in ms, as observed; later ones are [`MOST`] (F-77).
const SHIPPED: [u16; 20] =
    [10, 12, 15, 18, 22, 27, 33, 41, 51, 63, 78, 97, 121, 151, 188, 235, 293, 366, 457, 571];

/// The longest delay that the document allows.
const MOST: Duration = Duration::from_millis(500);

/// How the delay between attempts to connect grows (section "Diagnostic Ports"; F-57, F-77).
///
/// | attempt that failed | as shipped | as printed |
/// |---|---|---|
/// | 0 | 10 ms | 10 ms |
/// | 1 | 12 ms | 12.5 ms |
/// | 2 | 15 ms | 15.625 ms |
/// | 17 | 366 ms | 444.089209 ms |
/// | 18 | 457 ms | 500 ms |
/// | 19 | 571 ms | 500 ms |
/// | 20 and later | 500 ms | 500 ms |
///
/// ```
/// use core::time::Duration;
/// use dotnet_diagnostics_ipc::exchange::RetryPolicy;
///
/// let ms = |policy: RetryPolicy| policy.delays().take(22).map(|delay| delay.as_millis()).collect::<Vec<_>>();
/// assert_eq!(
///     ms(RetryPolicy::AsShipped),
///     [10, 12, 15, 18, 22, 27, 33, 41, 51, 63, 78, 97, 121, 151, 188, 235, 293, 366, 457, 571, 500, 500]
/// );
/// assert_eq!(
///     ms(RetryPolicy::AsPrinted),
///     [10, 12, 15, 19, 24, 30, 38, 47, 59, 74, 93, 116, 145, 181, 227, 284, 355, 444, 500, 500, 500, 500]
/// );
/// assert_eq!(RetryPolicy::AsPrinted.delay(2), Duration::from_nanos(15_625_000));
/// assert_eq!(RetryPolicy::AsShipped.delay(u32::MAX), Duration::from_millis(500));
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum RetryPolicy {
    /// As in runtimes: each delay is 1.25 times the one before, rounded down to ms. A delay of 500
    /// ms or more is followed by 500 ms; so one of them is 571 ms (F-77).
    #[default]
    AsShipped,
    /// As in the document: min(10 × 1.25ⁿ, 500) ms, rounded down to ns.
    AsPrinted,
}

impl RetryPolicy {
    /// The delay after `attempt` has failed; the first attempt is 0.
    pub fn delay(self, attempt: u32) -> Duration {
        match self {
            Self::AsShipped => {
                let ms = usize::try_from(attempt).ok().and_then(|attempt| SHIPPED.get(attempt));
                ms.map_or(MOST, |ms| Duration::from_millis(u64::from(*ms)))
            }
            // 1.25ⁿ is 5ⁿ / 4ⁿ. Anything beyond 64 bits is far above the longest delay.
            Self::AsPrinted => {
                let scaled =
                    5u64.checked_pow(attempt).and_then(|power| power.checked_mul(10_000_000));
                let nanos = scaled.and_then(|scaled| scaled.checked_shr(attempt.saturating_mul(2)));
                nanos.map_or(MOST, |nanos| Duration::from_nanos(nanos).min(MOST))
            }
        }
    }

    /// The endless sequence of delays.
    pub const fn delays(self) -> Delays {
        Delays { policy: self, attempt: 0 }
    }
}

/// The endless sequence of delays of a [`RetryPolicy`].
///
/// ```
/// use core::time::Duration;
/// use dotnet_diagnostics_ipc::exchange::RetryPolicy;
///
/// // How long a port is tried in vain before the delay no longer grows.
/// let growing: Duration = RetryPolicy::AsShipped.delays().take(20).sum();
/// assert_eq!(growing, Duration::from_millis(2849));
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Delays {
    policy: RetryPolicy,
    attempt: u32,
}

impl Iterator for Delays {
    type Item = Duration;

    fn next(&mut self) -> Option<Duration> {
        let delay = self.policy.delay(self.attempt);
        self.attempt = self.attempt.saturating_add(1);
        Some(delay)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, clippy::cast_precision_loss)]
    fn as_shipped_equals_runtime_arithmetic() {
        let mut ms = 10u32;
        for attempt in 0..1000 {
            assert_eq!(
                RetryPolicy::AsShipped.delay(attempt),
                Duration::from_millis(ms.into()),
                "{attempt}"
            );
            ms = if ms >= 500 { 500 } else { (ms as f32 * 1.25) as u32 };
        }
    }

    #[test]
    fn as_printed_is_exact_to_the_nanosecond() {
        let (mut above, mut below) = (10_000_000u128, 1u128);
        for attempt in 0..40 {
            let exact = u64::try_from(above / below).unwrap().min(500_000_000);
            assert_eq!(
                RetryPolicy::AsPrinted.delay(attempt),
                Duration::from_nanos(exact),
                "{attempt}"
            );
            (above, below) = (above * 5, below * 4);
        }
    }

    #[test]
    fn every_attempt_has_a_delay() {
        for policy in [RetryPolicy::AsShipped, RetryPolicy::AsPrinted] {
            for attempt in (0..32)
                .map(|bit| 1u32 << bit)
                .chain([u32::MAX - 1, u32::MAX])
                .filter(|attempt| *attempt >= 20)
            {
                assert_eq!(policy.delay(attempt), MOST, "{attempt}");
            }
            let mut last = Delays { policy, attempt: u32::MAX };
            assert_eq!((last.next(), last.next()), (Some(MOST), Some(MOST)));
        }
    }

    #[test]
    fn as_printed_never_falls_and_as_shipped_falls_once() {
        let falls = |policy: RetryPolicy| {
            policy.delays().zip(policy.delays().skip(1)).take(100).filter(|(a, b)| a > b).count()
        };
        assert_eq!((falls(RetryPolicy::AsPrinted), falls(RetryPolicy::AsShipped)), (0, 1));
    }
}
