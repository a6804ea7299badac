//! A program to start, how reports show it, and its output, which is read to its end.

use std::ffi::{OsStr, OsString};
use std::fmt;
use std::io::Read;
use std::path::Path;
use std::process::{Command, ExitStatus};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use serde::{Serialize, Serializer};

use super::timeouts::Limit;

/// How long an output may stay open after the end of its program, because a child may hold it.
const OUTPUT_TIMEOUT: Duration = Duration::from_millis(500);
/// The interval of polling.
const POLL_INTERVAL: Duration = Duration::from_millis(2);

/// The part of the output that is kept: this many bytes.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Keep {
    First(usize),
    Last(usize),
}

/// The error for a line that is longer than the kept part.
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
    /// Starts the thread; without a stream nothing is kept.
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

    pub(crate) fn so_far(&self) -> Vec<u8> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    pub(crate) fn is_over(&self) -> bool {
        self.thread.is_finished()
    }

    /// Returns the first line of an output whose beginning is kept, once the line has ended. The
    /// end of the output ends it too, unless it is empty.
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

    /// Returns the kept part of the whole output of a program that has ended.
    pub(crate) fn whole(&self) -> Vec<u8> {
        let limit = Limit::new(OUTPUT_TIMEOUT);
        while !self.is_over() && !limit.is_over() {
            thread::sleep(POLL_INTERVAL);
        }
        self.so_far()
    }
}

/// Returns a suffix with the standard error of a program that has ended, if it wrote anything.
pub(crate) fn on_standard_error(text: &[u8]) -> String {
    let text = String::from_utf8_lossy(text);
    if text.trim().is_empty() {
        String::new()
    } else {
        format!("; on standard error: {}", text.trim())
    }
}

/// A program to start, and its arguments.
///
/// ```
/// use diagipc::Program;
///
/// assert_eq!(Program::new("./server", ["--key", "secret"]).to_string(), "./server …");
/// ```
#[derive(Clone, Debug)]
pub struct Program {
    /// The path, or the name in `PATH`.
    pub path: OsString,
    /// The arguments.
    pub arguments: Vec<OsString>,
}

impl Program {
    /// Creates a program with its arguments.
    pub fn new<W: Into<OsString>>(
        path: impl Into<OsString>,
        arguments: impl IntoIterator<Item = W>,
    ) -> Self {
        Self { path: path.into(), arguments: arguments.into_iter().map(Into::into).collect() }
    }

    /// Returns a command that starts the program.
    pub fn command(&self) -> Command {
        let mut command = Command::new(&self.path);
        command.args(&self.arguments);
        command
    }
}

/// Writes the program, and the first argument that is a file; others may be secrets.
impl fmt::Display for Program {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&shown(std::iter::once(&self.path).chain(&self.arguments)))
    }
}

/// Shows the program, and the first argument that is a file, such as a script. `…` stands for the
/// others, which may be secrets in a report that many people see.
pub(crate) fn shown<W: AsRef<OsStr>>(command: impl IntoIterator<Item = W>) -> String {
    let mut shown: Vec<String> = Vec::new();
    let mut is_file_shown = false;
    for word in command {
        let path = Path::new(word.as_ref());
        let is_script = !shown.is_empty() && !is_file_shown && path.is_file();
        is_file_shown |= is_script;
        if shown.is_empty() || is_script {
            shown.push(path.display().to_string());
        } else if shown.last().is_none_or(|last| last != OMITTED) {
            shown.push(OMITTED.into());
        }
    }
    shown.join(" ")
}

const OMITTED: &str = "…";

/// How the process of a target ended. In reports it is text.
///
/// ```
/// use diagipc::server::Death;
///
/// assert_eq!(Death::Signal(11).to_string(), "was killed by signal 11");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Death {
    /// The process ended by itself, with this status.
    Status(i32),
    /// This signal ended the process.
    Signal(i32),
    /// The process ended in an unknown way.
    Unknown,
}

impl fmt::Display for Death {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            // On Windows these are crashes, such as 0xC0000005.
            Self::Status(code) if *code < 0 => write!(f, "ended with status {code:#010X}"),
            Self::Status(code) => write!(f, "ended with status {code}"),
            Self::Signal(signal) => write!(f, "was killed by signal {signal}"),
            Self::Unknown => f.write_str("ended"),
        }
    }
}

impl From<ExitStatus> for Death {
    fn from(status: ExitStatus) -> Self {
        #[cfg(unix)]
        if let Some(signal) = std::os::unix::process::ExitStatusExt::signal(&status) {
            return Self::Signal(signal);
        }
        status.code().map_or(Self::Unknown, Self::Status)
    }
}

impl Serialize for Death {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io;

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

    #[test]
    fn only_program_and_first_file_are_shown() {
        let (one, other) = ("Cargo.toml", "README.md");
        for (command, text) in [
            (&["./server"][..], "./server"),
            (&["env", "API_KEY=sk-12345", "KEY=2", "./server"], "env …"),
            (&["python3", one], "python3 Cargo.toml"),
            (&["python3", "-IS", one, "--key", other], "python3 … Cargo.toml …"),
            (&["Cargo.toml", one, "src"], "Cargo.toml Cargo.toml …"),
            (&[], ""),
        ] {
            assert_eq!(shown(command), text);
        }
    }
}
