//! The output of a started program: read to its end, so that the program never waits for a reader.

use std::io::Read;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use super::pace::Limit;

/// How long it may stay open after the end of its program: a child may hold it.
const ENDS: Duration = Duration::from_millis(500);
/// The interval of polling.
const PAUSE: Duration = Duration::from_millis(2);

/// Which part of the output is kept: this many bytes.
#[derive(Clone, Copy, Debug)]
pub(super) enum Keep {
    First(usize),
    Last(usize),
}

/// The kept part of an output, which a thread reads.
#[derive(Debug)]
pub(super) struct Captured {
    kept: Arc<Mutex<Vec<u8>>>,
    thread: JoinHandle<()>,
}

impl Captured {
    /// Nothing, if there is no such stream.
    pub(super) fn start(stream: Option<impl Read + Send + 'static>, keep: Keep) -> Self {
        let kept = Arc::new(Mutex::new(Vec::new()));
        let all = Arc::clone(&kept);
        let thread = thread::spawn(move || {
            let Some(mut stream) = stream else { return };
            let mut piece = [0; 8192];
            while let Ok(count @ 1..) = stream.read(&mut piece) {
                let mut kept = all.lock().unwrap_or_else(PoisonError::into_inner);
                let piece = piece.iter().take(count);
                match keep {
                    Keep::First(most) => {
                        let room = most.saturating_sub(kept.len());
                        kept.extend(piece.take(room));
                    }
                    Keep::Last(most) => {
                        kept.extend(piece);
                        let surplus = kept.len().saturating_sub(most);
                        kept.drain(..surplus);
                    }
                }
            }
        });
        Self { kept, thread }
    }

    /// What was kept by now.
    pub(super) fn so_far(&self) -> Vec<u8> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// What is kept of the whole, of a program that has ended.
    pub(super) fn whole(&self) -> Vec<u8> {
        let limit = Limit::new(ENDS);
        while !self.thread.is_finished() && !limit.is_over() {
            thread::sleep(PAUSE);
        }
        self.so_far()
    }
}

/// The words after how a program ended: its standard error, if it wrote anything.
pub(super) fn on_standard_error(text: &[u8]) -> String {
    let text = String::from_utf8_lossy(text);
    if text.trim().is_empty() {
        String::new()
    } else {
        format!("; on standard error: {}", text.trim())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn captured_keeps_no_more_than_its_limit() {
        let output = || Some(std::io::repeat(b'a').take(100_000).chain(&b"the end"[..]));
        assert!(Captured::start(output(), Keep::Last(10)).whole().ends_with(b"aaathe end"));
        assert_eq!(Captured::start(output(), Keep::First(10)).whole(), [b'a'; 10]);
        let kept = Captured::start(output(), Keep::Last(10));
        kept.whole();
        assert_eq!(kept.so_far().len(), 10);
    }
}
