//! Tests limits on a busy machine, with a clock that the tests set.

use alloc::collections::VecDeque;

use super::*;

/// Declares the methods of a network whose only connection is never sent anything.
macro_rules! only_receives {
    () => {
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
    };
}

/// A peer that sends a byte after some time. The clock is set, so nothing waits.
struct Slow {
    now: Duration,
    sends: Duration,
    /// The factor by which everything takes longer than on an idle machine.
    times: u32,
}

impl Network for Slow {
    fn now(&self) -> Duration {
        self.now
    }

    fn here(&self, idle: Duration) -> Duration {
        idle.saturating_mul(self.times)
    }

    only_receives!();

    fn receive(&mut self, _: Link, _: usize, until: Duration) -> Result<Received, PlayerError> {
        self.now = until.min(self.sends).max(self.now);
        let came = if self.now < self.sends {
            Received::Nothing
        } else {
            Received::Bytes([0x61].into(), Vec::new())
        };
        Ok(came)
    }
}

/// Plays a step that takes 2 s on an idle machine while a byte arrives after `sends` seconds. The
/// machine is `times` slower. Returns the result and the end time.
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
    // The time in which nothing may arrive is that of the script.
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

    only_receives!();
}

#[test]
fn step_keeps_waiting_while_memory_grows() {
    const GROWS: &str = r#", "while_memory_grows": true"#;
    // Returns how long the step takes in milliseconds, and whether it sees the end.
    let plays = |sizes: &[u64], more: &str| {
        let mut target = Filling { now: Duration::ZERO, sizes: sizes.iter().copied().collect() };
        let text = format!(
            r#"[{{ "open": "a" }}, {{ "on": "a", "expect_end": "any", "within_ms": 100{more} }}]"#
        );
        let steps: Vec<Step> = serde_json::from_str(&text).unwrap();
        let came = Player::new(&mut target, Duration::ZERO).play(&steps).is_ok();
        (target.now.as_millis(), came)
    };
    // There are five waits, and the end comes in the sixth.
    assert_eq!(plays(&[10, 20, 30, 40, 50, 60], GROWS), (600, true));
    assert_eq!(plays(&[10, 20, 30, 40, 50, 60], ""), (100, false));
    // Constant or shrinking memory is no progress.
    assert_eq!(plays(&[10, 20, 20, 40, 50], GROWS), (200, false));
    assert_eq!(plays(&[10, 20, 15, 25, 50], GROWS), (200, false));
}

/// A stream of which one piece arrives in each time limit.
struct Stream {
    now: Duration,
    pieces: VecDeque<Vec<u8>>,
    ready: Vec<u8>,
}

impl Network for Stream {
    fn now(&self) -> Duration {
        self.now
    }

    fn receive(&mut self, _: Link, most: usize, until: Duration) -> Result<Received, PlayerError> {
        if self.ready.is_empty() {
            self.now = until;
            self.ready = self.pieces.pop_front().unwrap_or_default();
            return Ok(Received::Nothing);
        }
        let later = self.ready.split_off(most.min(self.ready.len()));
        Ok(Received::Bytes(core::mem::replace(&mut self.ready, later), Vec::new()))
    }

    only_receives!();
}

/// .NET 11 sends the start of a stream before it is resumed, older runtimes do not (F-169).
#[test]
fn event_shows_that_a_runtime_was_resumed() {
    const STEPS: &str = r#"[{ "open": "a" }, { "on": "a", "expect_no_event": 500 }, { "on": "a", "expect_no_event": 500 },
        { "on": "a", "expect": ["4e65747472616365"] }, { "on": "a", "expect_event": true }]"#;
    let plays = |pieces: [&[u8]; 3]| {
        let [ready, pieces @ ..] = pieces.map(<[u8]>::to_vec);
        let mut network = Stream { now: Duration::ZERO, pieces: pieces.into(), ready };
        let steps: Vec<Step> = serde_json::from_str(STEPS).unwrap();
        Player::new(&mut network, Duration::from_secs(2)).play(&steps).map_err(|failure| {
            (failure.step, failure.trouble.to_string().split(':').next().unwrap().to_owned())
        })
    };
    let start = [
        &b"Nettrace\x14\0\0\0!FastSerialization.1"[..],
        b"\x05\x05\x01\x04\0\0\0\x04\0\0\0\x05\0\0\0Trace\x06",
        &[7; 48],
        b"\x06",
    ]
    .concat();
    let event = [&start, &b"\x05\x05\x01"[..]].concat();
    // First an older runtime, then .NET 11.
    assert_eq!(plays([b"", b"", &start]), Ok(()));
    assert_eq!(plays([&start, b"", &event[start.len()..]]), Ok(()));
    let failed = |step, text: &str| Err((step, text.to_owned()));
    assert_eq!(plays([&event, b"", b""]), failed(1, "expected no event yet, received 105 bytes"));
    assert_eq!(
        plays([&start, b"\x05", b""]),
        failed(2, "expected no event yet, received 103 bytes")
    );
    assert_eq!(
        plays([&start, b"", b""]),
        failed(4, "no event came after the start of the stream, 102 bytes")
    );
}
