//! How far a trace is, on standard error.

use std::io::{self, IsTerminal as _};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use indicatif::{HumanBytes, ProgressBar, ProgressStyle};

use crate::commands::printable::say;

/// How often there is a line.
const EVERY: Duration = Duration::from_secs(10);

/// The time and size of a trace: at a terminal in place, and otherwise a line now and then.
pub(crate) struct Progress {
    bytes: Arc<AtomicU64>,
    began: Instant,
    /// When the last line was.
    said: Instant,
    bar: Option<ProgressBar>,
}

impl Progress {
    /// Of a session that begins now. `is_alone`: nothing else is printed at the terminal.
    pub(crate) fn new(bytes: Arc<AtomicU64>, is_alone: bool) -> Self {
        let now = Instant::now();
        let bar = (is_alone && io::stderr().is_terminal()).then(ProgressBar::new_spinner);
        let progress = Self { bytes, began: now, said: now, bar };
        progress.show("{elapsed_precise}  {bytes}  {bytes_per_sec}  (Ctrl-C stops)");
        progress
    }

    pub(crate) fn tick(&mut self) {
        if let Some(bar) = &self.bar {
            bar.set_position(self.bytes.load(Ordering::Relaxed));
        } else if self.said.elapsed() >= EVERY {
            self.said = Instant::now();
            say(&self.line());
        }
    }

    /// The session is told to stop; its rundown is still to come.
    pub(crate) fn stopping(&mut self) {
        self.show("{elapsed_precise}  {bytes}  stopping");
        if self.bar.is_none() {
            self.said = Instant::now();
            say(&format!("{}: stopping", self.line()));
        }
    }

    fn show(&self, template: &str) {
        if let (Some(bar), Ok(style)) = (&self.bar, ProgressStyle::with_template(template)) {
            bar.set_style(style);
        }
    }

    fn line(&self) -> String {
        let bytes = HumanBytes(self.bytes.load(Ordering::Relaxed));
        format!("{} s, {bytes}", self.began.elapsed().as_secs())
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }
}
