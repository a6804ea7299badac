//! Limits on a busy machine, with a clock that is set.

use alloc::collections::VecDeque;

use super::*;

/// A peer that sends a byte after some time. Nothing waits: the clock is set.
struct Slow {
    now: Duration,
    sends: Duration,
    /// How many times longer than on an idle machine everything takes.
    times: u32,
}

impl Network for Slow {
    fn now(&self) -> Duration {
        self.now
    }

    fn here(&self, idle: Duration) -> Duration {
        idle.saturating_mul(self.times)
    }

    fn open(&mut self, _: Option<&str>, _: Duration) -> Result<Link, PlayerError> {
        Ok(Link::new(0))
    }

    fn receive(&mut self, _: Link, _: usize, until: Duration) -> Result<Received, PlayerError> {
        self.now = until.min(self.sends).max(self.now);
        let came = if self.now < self.sends {
            Received::Nothing
        } else {
            Received::Bytes([0x61].into(), Vec::new())
        };
        Ok(came)
    }

    fn send(
        &mut self,
        _: Link,
        _: &[u8],
        _: Option<FdKind>,
        _: Duration,
    ) -> Result<Sent, PlayerError> {
        unreachable!()
    }

    fn end(&mut self, _: Link, _: Ending) -> Result<(), PlayerError> {
        Ok(())
    }
}

/// What a step that takes 2 s on an idle machine does with a byte that comes after so many
/// seconds, on one that is `times` slower; and when it is over.
fn plays(step: &str, sends: u64, times: u32) -> (Result<(), PlayerError>, u64) {
    let (now, sends) = (Duration::from_secs(7), Duration::from_secs(sends));
    let mut network = Slow { now, sends, times };
    let mut player = Player::new(&mut network, Duration::from_secs(2));
    player.open("a", Duration::from_secs(8)).unwrap();
    let result = player.step(&serde_json::from_str(step).unwrap());
    (result, network.now.as_secs())
}

#[test]
fn limit_is_longer_on_busy_machine_and_has_an_end() {
    let expect = r#"{ "on": "a", "expect": ["61"] }"#;
    assert_eq!(plays(expect, 8, 1), (Ok(()), 8));
    assert_eq!(plays(expect, 16, 5), (Ok(()), 16));
    let nothing = || Err(Difference::Nothing { after: Vec::new() }.into());
    assert_eq!(plays(expect, 16, 1), (nothing(), 9));
    assert_eq!(plays(expect, 99, 5), (nothing(), 17));
    // The time in which nothing may come is that of the script.
    let silence = r#"{ "on": "a", "expect_nothing": 2000 }"#;
    assert_eq!(plays(silence, 16, 5), (Ok(()), 9));
}

/// A target that is silent while sizes of its memory are left, and then ends. Each wait takes its
/// full time.
struct Filling {
    now: Duration,
    sizes: VecDeque<u64>,
}

impl Network for Filling {
    fn now(&self) -> Duration {
        self.now
    }

    fn memory(&self) -> Option<u64> {
        self.sizes.front().copied()
    }

    fn receive(&mut self, _: Link, _: usize, until: Duration) -> Result<Received, PlayerError> {
        self.now = until;
        self.sizes.pop_front();
        Ok(if self.sizes.is_empty() { Received::End(End::Reset) } else { Received::Nothing })
    }

    fn open(&mut self, _: Option<&str>, _: Duration) -> Result<Link, PlayerError> {
        Ok(Link::new(0))
    }

    fn send(
        &mut self,
        _: Link,
        _: &[u8],
        _: Option<FdKind>,
        _: Duration,
    ) -> Result<Sent, PlayerError> {
        unreachable!()
    }

    fn end(&mut self, _: Link, _: Ending) -> Result<(), PlayerError> {
        Ok(())
    }
}

#[test]
fn step_keeps_waiting_while_memory_grows() {
    const GROWS: &str = r#", "while_memory_grows": true"#;
    // How long it takes, in milliseconds, and whether the end is seen.
    let plays = |sizes: &[u64], more: &str| {
        let mut target = Filling { now: Duration::ZERO, sizes: sizes.iter().copied().collect() };
        let text = format!(
            r#"[{{ "open": "a" }}, {{ "on": "a", "expect_end": "any", "within_ms": 100{more} }}]"#
        );
        let steps: Vec<Step> = serde_json::from_str(&text).unwrap();
        let came = Player::new(&mut target, Duration::ZERO).play(&steps).is_ok();
        (target.now.as_millis(), came)
    };
    // Five waits, and the end in the sixth.
    assert_eq!(plays(&[10, 20, 30, 40, 50, 60], GROWS), (600, true));
    assert_eq!(plays(&[10, 20, 30, 40, 50, 60], ""), (100, false));
    // Its memory is constant, or shrinks: that is not progress.
    assert_eq!(plays(&[10, 20, 20, 40, 50], GROWS), (200, false));
    assert_eq!(plays(&[10, 20, 15, 25, 50], GROWS), (200, false));
}
