//! Limits on a busy machine, with a clock that is set.

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
