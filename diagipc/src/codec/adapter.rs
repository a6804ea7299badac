//! An adapter: a program that answers each line of JSON with another.

use std::fmt;
use std::io::{BufRead as _, BufReader, Read, Write as _};
use std::process::{ChildStdin, ChildStdout, ExitStatus, Stdio};
use std::sync::mpsc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, SyncSender};
use std::thread;
use std::time::Duration;

use dotnet_diagnostics_ipc::io::Canceller;

use super::answer;
use crate::process::Started;
use crate::process::program::{Captured, Keep, Program, on_standard_error};
use crate::process::timeouts::Limit;

/// The maximum length of an answer. The largest message and its value are much shorter.
const MAX_LINE_BYTES: u64 = 8 << 20;
/// The number of unrequested lines that are buffered. A program that answers further ahead blocks.
const LINES_AHEAD: usize = 1;
/// The number of bytes of its last output on standard error that are kept.
const KEPT_ERRORS: usize = 4096;
/// Bounds for the time limit of answers that were held back until the input ended. Within them the
/// limit of any answer applies.
const FLUSH_TIMEOUT: [Duration; 2] = [Duration::from_secs(2), Duration::from_secs(10)];
/// The byte order marks of UTF-8 and UTF-16.
const MARKS: [(&[u8], &str); 3] =
    [(b"\xef\xbb\xbf", "UTF-8"), (b"\xff\xfe", "UTF-16"), (b"\xfe\xff", "UTF-16")];
/// How often the canceller is checked.
const POLL_INTERVAL: Duration = Duration::from_millis(20);
/// The minimum time for a program to end after its input. The limit of an answer applies if longer.
const END_TIMEOUT: Duration = Duration::from_secs(5);

/// The program to start, and its time limit.
#[derive(Clone, Debug)]
pub struct AdapterCommand {
    /// The program.
    pub program: Program,
    /// The time limit for an answer, including the start of the program.
    pub deadline: Duration,
}

/// The reason for a missing answer.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum AdapterError {
    /// The program cannot be started.
    NotStarted(String),
    /// The program ended, or closed its output, instead of answering. The text is how it ended,
    /// followed by its last output on standard error.
    Died(String),
    /// The program did not answer in time.
    TimedOut(Duration),
    /// The line is too long.
    LineTooLong,
    /// The line begins with the byte order mark of this encoding.
    ByteOrderMark(&'static str),
    /// The program did not answer in time, but wrote a line once its input had ended.
    NotFlushed(Duration),
    /// The program did not answer in time: its output does not end with a line feed.
    NoLineFeed(Duration),
    /// The canceller was used.
    Cancelled,
}

impl fmt::Display for AdapterError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotStarted(error) => write!(f, "cannot be started: {error}"),
            Self::Died(how) => write!(f, "ended instead of answering: {how}"),
            Self::TimedOut(deadline) => write!(f, "no answer within {} ms", deadline.as_millis()),
            Self::LineTooLong => {
                write!(f, "the answer is a line of more than {MAX_LINE_BYTES} bytes")
            }
            Self::ByteOrderMark(encoding) => {
                write!(
                    f,
                    "the answer begins with the byte order mark of {encoding}: expected UTF-8 without a byte order mark"
                )
            }
            Self::NotFlushed(deadline) => write!(
                f,
                "no answer within {} ms, but one after the input ended: read one line at a time, and flush the output after each answer",
                deadline.as_millis()
            ),
            Self::NoLineFeed(deadline) => {
                write!(
                    f,
                    "no line within {} ms, only an answer without a line feed: end each answer with one",
                    deadline.as_millis()
                )
            }
            Self::Cancelled => f.write_str("cancelled"),
        }
    }
}

impl std::error::Error for AdapterError {}

impl AdapterError {
    /// Whether every question would get the same result.
    pub(super) const fn is_of_every_answer(&self) -> bool {
        matches!(
            self,
            Self::NotStarted(_)
                | Self::ByteOrderMark(_)
                | Self::NotFlushed(_)
                | Self::NoLineFeed(_)
                | Self::Cancelled
        )
    }
}

/// A program that answers lines, and is restarted whenever it is lost.
///
/// Every wait has a deadline: separate threads write, read, and collect standard error. What the
/// program has started ends with it: its process group on Unix, its job on Windows.
#[derive(Debug)]
pub struct Adapter {
    /// `None` is this crate's own codec.
    command: Option<AdapterCommand>,
    running: Option<Running>,
    /// Whether it has ever answered, or the reason for its silence is known.
    is_understood: bool,
    canceller: Option<Canceller>,
}

#[derive(Debug)]
struct Running {
    program: Started,
    /// The sender to the writing thread. Dropping it closes the program's input.
    lines: Option<Sender<String>>,
    answers: Receiver<Line>,
    errors: Captured,
}

/// A line, and whether a line feed follows it.
type Line = Result<(String, bool), AdapterError>;

impl Adapter {
    /// Starts the program.
    ///
    /// # Errors
    /// Returns [`AdapterError::NotStarted`] if the program cannot be started.
    pub fn start(command: AdapterCommand) -> Result<Self, AdapterError> {
        let running = Some(Running::start(&command)?);
        Ok(Self { command: Some(command), running, is_understood: false, canceller: None })
    }

    /// Sets the canceller, which ends the wait for an answer and then the program.
    #[must_use]
    pub fn with_canceller(mut self, canceller: Canceller) -> Self {
        self.canceller = Some(canceller);
        self
    }

    /// Returns an adapter for this crate's own codec, which starts no program.
    pub fn own() -> Self {
        Self { command: None, running: None, is_understood: true, canceller: None }
    }

    /// Returns the command line of the program.
    pub fn name(&self) -> String {
        match &self.command {
            Some(command) => command.program.to_string(),
            None => concat!(env!("CARGO_PKG_NAME"), " ", env!("CARGO_PKG_VERSION")).to_owned(),
        }
    }

    pub(super) const fn canceller(&self) -> Option<&Canceller> {
        self.canceller.as_ref()
    }

    /// Sends the program a line, and waits for the answer. Restarts a lost program first.
    ///
    /// # Errors
    /// Returns why there is no answer. The program is no longer running then.
    pub fn ask(&mut self, line: &str) -> Result<String, AdapterError> {
        if self.canceller.as_ref().is_some_and(Canceller::is_cancelled) {
            self.drop_it();
            return Err(AdapterError::Cancelled);
        }
        let Some(command) = &self.command else { return Ok(answer(line)) };
        let mut running = match self.running.take() {
            Some(running) => running,
            None => Running::start(command)?,
        };
        // If writing fails, the answers end.
        let _ = running.lines.as_ref().map(|lines| lines.send(format!("{line}\n")));
        let canceller = self.canceller.as_ref();
        let mut answer = running.next(command.deadline, canceller).map(|(text, _)| text);
        if let (Err(AdapterError::TimedOut(deadline)), false) = (&answer, self.is_understood) {
            answer = Err(running.reason_for_silence(*deadline, canceller));
        }
        self.is_understood = true;
        match &answer {
            Ok(_) => self.running = Some(running),
            Err(_) => _ = running.program.end(),
        }
        answer
    }

    /// Ends a program that is no longer reliable. The next question restarts it.
    pub fn drop_it(&mut self) {
        if let Some(mut running) = self.running.take() {
            running.program.end();
        }
    }

    /// Closes the program's input, and waits for the program to end. Returns `None` if it ends with
    /// status 0, or else what it did. The canceller ends the wait and the program.
    pub fn finish(mut self) -> Option<String> {
        let deadline = self.command.as_ref()?.deadline;
        self.running.take()?.finish(END_TIMEOUT.max(deadline), self.canceller.as_ref())
    }
}

impl Drop for Adapter {
    fn drop(&mut self) {
        self.drop_it();
    }
}

impl Running {
    fn start(command: &AdapterCommand) -> Result<Self, AdapterError> {
        let mut process = command.program.command();
        process.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut program = Started::start(&mut process)
            .map_err(|error| AdapterError::NotStarted(error.to_string()))?;
        let (Some(stdin), (Some(stdout), stderr)) = (program.take_input(), program.take_output())
        else {
            return Err(AdapterError::NotStarted("no pipes".to_owned()));
        };
        let (lines, to_write) = mpsc::channel();
        let (read, answers) = mpsc::sync_channel(LINES_AHEAD);
        // The threads end once the pipes close. They are not waited for, because a child of the
        // program may hold the pipes open.
        thread::spawn(move || write_lines(stdin, &to_write));
        thread::spawn(move || read_lines(stdout, &read));
        let errors = Captured::start(stderr, Keep::Last(KEPT_ERRORS));
        Ok(Self { program, lines: Some(lines), answers, errors })
    }

    fn next(&mut self, deadline: Duration, canceller: Option<&Canceller>) -> Line {
        let limit = Limit::new(deadline);
        loop {
            match self.answers.recv_timeout(deadline.min(POLL_INTERVAL)) {
                Ok(line) => return line,
                Err(RecvTimeoutError::Disconnected) => {
                    return Err(AdapterError::Died(self.death()));
                }
                Err(RecvTimeoutError::Timeout) => {}
            }
            if canceller.is_some_and(Canceller::is_cancelled) {
                return Err(AdapterError::Cancelled);
            }
            if limit.is_over() {
                return Err(AdapterError::TimedOut(deadline));
            }
        }
    }

    /// Returns why a program is silent. Closing its input makes it write answers that it held back.
    fn reason_for_silence(
        &mut self,
        deadline: Duration,
        canceller: Option<&Canceller>,
    ) -> AdapterError {
        self.lines = None;
        let [least, most] = FLUSH_TIMEOUT;
        match self.next(deadline.clamp(least, most), canceller) {
            Ok((_, true)) => AdapterError::NotFlushed(deadline),
            Ok((_, false)) => AdapterError::NoLineFeed(deadline),
            Err(error @ (AdapterError::ByteOrderMark(_) | AdapterError::Cancelled)) => error,
            Err(_) => AdapterError::TimedOut(deadline),
        }
    }

    /// Returns how a program ended after its output had ended.
    fn death(&mut self) -> String {
        if self.ends_within(END_TIMEOUT, None) {
            let how = status(self.program.end());
            self.with_errors(&how)
        } else {
            self.with_errors("it closed its output, but still runs")
        }
    }

    fn ends_within(&mut self, most: Duration, canceller: Option<&Canceller>) -> bool {
        let limit = Limit::new(most);
        self.program.ends_before(|| {
            // Further output is discarded, because the program may end only after writing it.
            while self.answers.try_recv().is_ok() {}
            limit.is_over() || canceller.is_some_and(Canceller::is_cancelled)
        })
    }

    fn with_errors(&self, how: &str) -> String {
        format!("{how}{}", on_standard_error(&self.errors.whole()))
    }

    fn finish(mut self, most: Duration, canceller: Option<&Canceller>) -> Option<String> {
        self.lines = None;
        if !self.ends_within(most, canceller) {
            self.program.end();
            let is_cancelled = canceller.is_some_and(Canceller::is_cancelled);
            return (!is_cancelled)
                .then(|| format!("it did not end within {} s after its input", most.as_secs()));
        }
        let ended = self.program.end();
        if ended.is_some_and(|ended| ended.success()) {
            return None;
        }
        Some(self.with_errors(&format!("at the end of its input: {}", status(ended))))
    }
}

fn status(ended: Option<ExitStatus>) -> String {
    ended.map_or_else(|| "how it ended is unknown".to_owned(), |status| status.to_string())
}

fn write_lines(mut stdin: ChildStdin, lines: &Receiver<String>) {
    while let Ok(line) = lines.recv() {
        if stdin.write_all(line.as_bytes()).and_then(|()| stdin.flush()).is_err() {
            return;
        }
    }
}

fn read_lines(stdout: ChildStdout, answers: &SyncSender<Line>) {
    let mut stdout = BufReader::new(stdout);
    loop {
        let mut line = Vec::new();
        let read = stdout.by_ref().take(MAX_LINE_BYTES).read_until(b'\n', &mut line);
        let is_ended = line.last() == Some(&b'\n');
        let mark = MARKS.iter().find(|(mark, _)| line.starts_with(mark));
        let answer = match (read, mark) {
            (Ok(0), _) => return,
            (Ok(_), Some((_, encoding))) => Err(AdapterError::ByteOrderMark(encoding)),
            // An incomplete last line may be the last message of a program that crashes.
            (Ok(_), None) if is_ended || (line.len() as u64) < MAX_LINE_BYTES => {
                Ok((String::from_utf8_lossy(&line).trim_end().to_owned(), is_ended))
            }
            (Ok(_), None) => Err(AdapterError::LineTooLong),
            (Err(error), _) => {
                Err(AdapterError::Died(format!("its output cannot be read: {error}")))
            }
        };
        let is_last = answer.is_err();
        if answers.send(answer).is_err() || is_last {
            return;
        }
    }
}

#[cfg(all(test, unix))]
mod tests {
    use std::fs;
    use std::time::Instant;

    use super::*;

    /// 400 lines of 10,000 bytes are far more than two lines and the capacity of a pipe.
    #[test]
    fn adapter_answering_ahead_waits_for_reader() {
        let directory = tempfile::tempdir().unwrap();
        let count = directory.path().join("count");
        let script = "line=$(head -c 10000 /dev/zero | tr '\\0' x); n=0
            while [ $n -lt 400 ]; do echo \"$line\"; n=$((n + 1)); echo $n >\"$0\"; done; exec cat >/dev/null";
        let mut program = Program::new("sh", ["-c", script]);
        program.arguments.push(count.clone().into());
        let deadline = Duration::from_secs(30);
        let mut adapter = Adapter::start(AdapterCommand { program, deadline }).unwrap();
        let written =
            || fs::read_to_string(&count).ok().and_then(|text| text.trim().parse::<u32>().ok());
        // Wait until the program has written nothing more for a while.
        let (mut before, mut still) = (None, 0);
        let began = Instant::now();
        while still < 20 && began.elapsed() < Duration::from_secs(30) {
            thread::sleep(Duration::from_millis(25));
            let now = written();
            still = if now.is_some() && now == before { still + 1 } else { 0 };
            before = now;
        }
        assert!(before.is_some_and(|lines| lines < 100), "{before:?} lines are written ahead");
        assert_eq!(adapter.ask("{}").unwrap().len(), 10_000);
        // Unrequested output does not keep the program from ending.
        assert_eq!(adapter.finish(), None);
        assert_eq!(written(), Some(400));
    }
}
