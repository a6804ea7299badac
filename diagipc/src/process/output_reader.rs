//! The output of a started program: read to its end, so that the program never waits for a reader.

use std::io::Read;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use super::timeouts::Limit;

/// How long it may stay open after the end of its program: a child may hold it.
const ENDS: Duration = Duration::from_millis(500);
/// The interval of polling.
const PAUSE: Duration = Duration::from_millis(2);

/// Which part of the output is kept: this many bytes.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Keep {
    First(usize),
    Last(usize),
}

/// A line is longer than what is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct TooLong;

/// The kept part of an output, which a thread reads.
#[derive(Debug)]
pub(crate) struct Captured {
    keep: Keep,
    kept: Arc<Mutex<Vec<u8>>>,
    thread: JoinHandle<()>,
}

impl Captured {
    /// Nothing, if there is no such stream.
    pub(crate) fn start(stream: Option<impl Read + Send + 'static>, keep: Keep) -> Self {
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
        Self { keep, kept, thread }
    }

    /// What was kept by now.
    pub(crate) fn so_far(&self) -> Vec<u8> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Whether it has ended.
    pub(crate) fn is_over(&self) -> bool {
        self.thread.is_finished()
    }

    /// The first line, once it has ended, of an output whose beginning is kept. The end of the output
    /// ends it too, unless it is empty.
    pub(crate) fn first_line(&self) -> Option<Result<String, TooLong>> {
        let (is_over, Keep::First(most) | Keep::Last(most)) = (self.is_over(), self.keep);
        let kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        let line = kept.split(|byte| *byte == b'\n').next().unwrap_or_default();
        match line.len() {
            len if len < kept.len() || is_over && (1..most).contains(&len) => {
                Some(Ok(String::from_utf8_lossy(line).trim().to_owned()))
            }
            len => (len >= most).then_some(Err(TooLong)),
        }
    }

    /// What is kept of the whole, of a program that has ended.
    pub(crate) fn whole(&self) -> Vec<u8> {
        let limit = Limit::new(ENDS);
        while !self.is_over() && !limit.is_over() {
            thread::sleep(PAUSE);
        }
        self.so_far()
    }
}

/// The words after how a program ended: its standard error, if it wrote anything.
pub(crate) fn on_standard_error(text: &[u8]) -> String {
    let text = String::from_utf8_lossy(text);
    if text.trim().is_empty() {
        String::new()
    } else {
        format!("; on standard error: {}", text.trim())
    }
}

#[cfg(test)]
mod tests {
    use std::io;

    use super::*;

    #[test]
    fn captured_keeps_no_more_than_its_limit() {
        let output = || Some(io::repeat(b'a').take(100_000).chain(&b"the end"[..]));
        assert!(Captured::start(output(), Keep::Last(10)).whole().ends_with(b"aaathe end"));
        assert_eq!(Captured::start(output(), Keep::First(10)).whole(), [b'a'; 10]);
        let kept = Captured::start(output(), Keep::Last(10));
        kept.whole();
        assert_eq!(kept.so_far().len(), 10);
    }

    #[test]
    fn first_line_is_read_from_any_pieces() {
        let line = |text: &[u8], most| {
            let output = Captured::start(Some(io::Cursor::new(text.to_vec())), Keep::First(most));
            output.whole();
            output.first_line()
        };
        for (text, expected) in
            [("/a b\nc\n", Some("/a b")), ("/a", Some("/a")), ("\n/a\n", Some("")), ("", None)]
        {
            assert_eq!(line(text.as_bytes(), 10), expected.map(|line| Ok(line.into())), "{text:?}");
        }
        assert_eq!(line(b"123456789\nmore\n", 10), Some(Ok("123456789".into())));
        assert_eq!(line(b"1234567890\n", 10), Some(Err(TooLong)));
    }
}
