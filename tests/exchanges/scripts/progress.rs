//! The player keeps waiting while the memory of a target grows, if a step allows it.

use std::collections::VecDeque;
use std::time::Duration;

use dotnet_diagnostics_ipc::exchange::End;
use dotnet_diagnostics_ipc_vectors::player::{
    Flow, Link, Network, Player, PlayerError, Received, Sent,
};
use dotnet_diagnostics_ipc_vectors::script::{Ending, FdKind, Life, Step};

/// A target that is silent while sizes are left, and then ends. Each wait takes its full time.
struct Filling {
    now: Duration,
    /// Its memory at the beginning, and after each wait.
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

    fn end(&mut self, _: Link, _: Ending) -> Result<(), PlayerError> {
        Ok(())
    }

    fn accept(&mut self, _: Option<&str>, _: Duration) -> Result<Option<Link>, PlayerError> {
        unreachable!("the target listens")
    }

    fn is_called(&mut self, _: Option<&str>, _: Duration) -> Result<bool, PlayerError> {
        unreachable!("the target listens")
    }

    fn listen(&mut self, _: &str, _: bool) -> Result<(), PlayerError> {
        unreachable!("the target listens")
    }

    fn send(
        &mut self,
        _: Link,
        _: &[u8],
        _: Option<FdKind>,
        _: Duration,
    ) -> Result<Sent, PlayerError> {
        unreachable!("nothing is sent")
    }

    fn drain(&mut self, _: Link) -> Result<(), PlayerError> {
        unreachable!("nothing is drained")
    }

    fn drained(&mut self, _: Link, _: Duration) -> Result<Flow, PlayerError> {
        unreachable!("nothing is drained")
    }

    fn wait(&mut self, _: Duration) -> Result<(), PlayerError> {
        unreachable!("nothing is waited for")
    }

    fn life(&mut self, _: Life, _: Duration) -> Result<Life, PlayerError> {
        unreachable!("nobody asks")
    }
}

/// How long it took, in milliseconds, and whether the end was seen.
fn plays(sizes: &[u64], more: &str) -> (u128, bool) {
    let mut target = Filling { now: Duration::ZERO, sizes: sizes.iter().copied().collect() };
    let text = format!(
        r#"[{{ "open": "a" }}, {{ "on": "a", "expect_end": "any", "within_ms": 100{more} }}]"#
    );
    let steps: Vec<Step> = serde_json::from_str(&text).unwrap();
    let came = Player::new(&mut target, Duration::ZERO).play(&steps).is_ok();
    (target.now.as_millis(), came)
}

#[test]
fn step_keeps_waiting_while_memory_grows() {
    const GROWS: &str = r#", "while_memory_grows": true"#;
    // Five waits, and the end in the sixth.
    assert_eq!(plays(&[10, 20, 30, 40, 50, 60], GROWS), (600, true));
    assert_eq!(plays(&[10, 20, 30, 40, 50, 60], ""), (100, false));
    // Its memory is constant, or shrinks: that is not progress.
    assert_eq!(plays(&[10, 20, 20, 40, 50], GROWS), (200, false));
    assert_eq!(plays(&[10, 20, 15, 25, 50], GROWS), (200, false));
}
