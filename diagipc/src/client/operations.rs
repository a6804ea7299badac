//! The client under test: its file of operations and command lines, and its process.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::{Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};
use std::{env, fmt, fs, io};

use dotnet_diagnostics_ipc::io::Canceller;
use serde::{Deserialize, Deserializer, de};

use super::operation::{Argument, Operation, OutputKind};
use crate::process::Started;
use crate::process::program::{Captured, Keep, shown};
use crate::process::timeouts::Limit;
use crate::server::Death;

/// The default time that a client waits for the next byte.
const DEFAULT_PATIENCE: Duration = Duration::from_secs(10);

/// The operations of a client under test, and their command lines.
///
/// ```
/// use diagipc::client::{Operation, Operations};
///
/// let operations = Operations::parse("my.toml", r#"
///     name = "my client"
///     timeout_ms = 2000
///     [operations.resume]
///     command = ["my-client", "resume", "-p", "{pid}"]
/// "#)?;
/// assert!(operations.get(Operation::Resume).is_some_and(|line| !line.patience.is_zero()));
/// assert!(operations.get(Operation::Dump).is_none());
///
/// let error = Operations::parse("my.toml", "[operations.resume]\ncommand = \"my-client {path}\"\n").unwrap_err();
/// assert!(error.to_string().contains("line 2"), "{error}");
/// # Ok::<(), diagipc::client::OperationsError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Operations {
    /// The client's name in reports.
    pub name: String,
    lines: BTreeMap<Operation, CommandLine>,
}

/// The command line of one operation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CommandLine {
    words: Vec<Word>,
    /// Environment variables, besides `TMPDIR`.
    pub env: BTreeMap<String, String>,
    /// The working directory; by default ours.
    pub cwd: Option<String>,
    /// The time that the client waits for the next byte before it gives up.
    pub patience: Duration,
    /// The time that the client waits for a complete reply in any pieces; unlimited by default.
    pub deadline: Option<Duration>,
    /// The form of the output.
    pub output: Option<OutputKind>,
}

/// A word of a command line, with placeholders.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Word(Vec<Piece>);

#[derive(Clone, Debug, PartialEq, Eq)]
enum Piece {
    Text(String),
    Argument(Argument),
}

/// An error in a file of operations, with its line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OperationsError(String);

impl fmt::Display for OperationsError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for OperationsError {}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawFile {
    name: Option<String>,
    timeout_ms: Option<u32>,
    deadline_ms: Option<u32>,
    #[serde(default)]
    env: BTreeMap<String, String>,
    operations: BTreeMap<Operation, RawLine>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawLine {
    command: toml::Spanned<Words>,
    #[serde(default)]
    env: BTreeMap<String, String>,
    cwd: Option<String>,
    timeout_ms: Option<u32>,
    deadline_ms: Option<u32>,
    output: Option<toml::Spanned<OutputKind>>,
}

/// A list of words. A string in the file is split at white space, without a shell or quoting.
struct Words(Vec<Word>);

impl Operations {
    /// Parses `text`, the content of `file`. `diagipc/clients/README.md` defines its form.
    ///
    /// # Errors
    /// Returns an error with the line if the text does not have this form.
    pub fn parse(file: &str, text: &str) -> Result<Self, OperationsError> {
        let raw: RawFile = toml::from_str(text).map_err(|error| {
            let line = error
                .span()
                .map_or_else(String::new, |span| format!(", line {}", line_of(text, span.start)));
            OperationsError(format!("{file}{line}: {}", error.message()))
        })?;
        let mut lines = BTreeMap::new();
        for (operation, line) in raw.operations {
            let fail = |at: usize, what: String| {
                OperationsError(format!("{file}, line {}: {what}", line_of(text, at)))
            };
            let at = line.command.span().start;
            let words = line.command.into_inner().0;
            if words.is_empty() {
                return Err(fail(at, format!("{operation} has no program")));
            }
            check_words(operation, &words).map_err(|what| fail(at, what))?;
            if let Some(kind) =
                line.output.as_ref().filter(|kind| !operation.outputs().contains(kind.get_ref()))
            {
                return Err(fail(
                    kind.span().start,
                    format!("{operation} does not have this output"),
                ));
            }
            let mut env = raw.env.clone();
            env.extend(line.env);
            let ms = |own: Option<u32>, of_all: Option<u32>| {
                own.or(of_all).map(|ms| Duration::from_millis(ms.into()))
            };
            let deadline = ms(line.deadline_ms, raw.deadline_ms);
            // Without a limit for each byte, the limit for the complete reply applies.
            let patience =
                ms(line.timeout_ms, raw.timeout_ms).or(deadline).unwrap_or(DEFAULT_PATIENCE);
            let output = line.output.map(toml::Spanned::into_inner);
            lines.insert(
                operation,
                CommandLine { words, env, cwd: line.cwd, patience, deadline, output },
            );
        }
        Ok(Self { name: raw.name.unwrap_or_else(|| file.to_owned()), lines })
    }

    /// Describes a client that can only trace, with `command` as its operation `trace`.
    ///
    /// # Errors
    /// Returns an error if a placeholder does not belong to that operation.
    pub fn trace_alone(command: &[String]) -> Result<Self, OperationsError> {
        let words: Result<Vec<Word>, _> = command.iter().map(|word| Word::parse(word)).collect();
        let words = words.and_then(|words| check_words(Operation::Trace, &words).map(|()| words));
        let words = words.map_err(|message| OperationsError(format!("the command: {message}")))?;
        let line = CommandLine {
            words,
            env: BTreeMap::new(),
            cwd: None,
            patience: DEFAULT_PATIENCE,
            deadline: None,
            output: None,
        };
        Ok(Self { name: shown(command), lines: BTreeMap::from([(Operation::Trace, line)]) })
    }

    /// Replaces the program `name` by the file `program`.
    pub fn set_program(&mut self, name: &str, program: &str) {
        let word = |text: &str| Word(Vec::from([Piece::Text(text.to_owned())]));
        let programs = self.lines.values_mut().filter_map(|line| line.words.first_mut());
        programs.filter(|first| **first == word(name)).for_each(|first| *first = word(program));
    }

    /// Returns the command line of one of the client's operations.
    pub fn get(&self, operation: Operation) -> Option<&CommandLine> {
        self.lines.get(&operation)
    }

    /// Looks for the programs of these operations. Operations without a program are not played.
    ///
    /// # Errors
    /// Returns an error about the first program if all are missing: such a client cannot be tested.
    pub fn find_programs(
        &self,
        operations: impl IntoIterator<Item = Operation>,
    ) -> Result<(), OperationsError> {
        let mut missing = None;
        for operation in operations {
            let Some(line) = self.get(operation) else { continue };
            let Some(program) = line.missing_program() else { return Ok(()) };
            missing = missing.or(Some((operation, program)));
        }
        missing.map_or(Ok(()), |(operation, program)| {
            Err(OperationsError(format!(
                "{}: {operation} cannot be started: the program {program} was not found",
                self.name
            )))
        })
    }

    /// Overrides the time that the client waits for the next byte.
    pub fn set_patience(&mut self, patience: Duration) {
        self.lines.values_mut().for_each(|line| line.patience = patience);
    }
}

impl CommandLine {
    /// Returns the command line with this time to wait, if it has a placeholder for it.
    pub(super) fn with_patience(&self, patience: Duration) -> Self {
        let patience = if self.says(Argument::PatienceMs) { patience } else { self.patience };
        Self { patience, ..self.clone() }
    }

    /// Returns the time in which the client must give up if nothing more arrives.
    pub(super) fn gives_up(&self) -> Duration {
        self.deadline.map_or(self.patience, |deadline| deadline.min(self.patience))
    }

    /// Returns the program if the line has its name and it does not exist. The search is the same
    /// as the operating system's.
    pub(super) fn missing_program(&self) -> Option<&str> {
        let Some([Piece::Text(program)]) = self.words.first().map(|word| word.0.as_slice()) else {
            return None;
        };
        let is_file = |path: &Path| fs::metadata(path).is_ok_and(|file| file.is_file());
        // Windows adds an extension to the name.
        let is_program =
            |path: &Path| is_file(path) || (cfg!(windows) && is_file(&path.with_extension("exe")));
        let is_there = if program.contains(std::path::is_separator) {
            is_program(&Path::new(self.cwd.as_deref().unwrap_or_default()).join(program))
        } else {
            let path = self.env.get("PATH").map(Into::into).or_else(|| env::var_os("PATH"));
            env::split_paths(&path.unwrap_or_default())
                .any(|directory| is_program(&directory.join(program)))
        };
        (!is_there).then_some(program)
    }

    /// Whether the line has this argument.
    pub fn says(&self, argument: Argument) -> bool {
        self.words.iter().any(|word| word.arguments().any(|one| one == argument))
    }

    /// Whether the line has this argument in any spelling.
    pub(super) fn says_in_any_way(&self, argument: Argument) -> bool {
        self.says(argument) || argument.spellings().iter().any(|one| self.says(*one))
    }

    /// Returns the words with `values` filled in. An argument without a value becomes empty.
    pub(super) fn words(&self, values: &BTreeMap<Argument, String>) -> Vec<String> {
        let filled = |word: &Word| -> String {
            let text = |piece: &Piece| match piece {
                Piece::Text(text) => text.clone(),
                Piece::Argument(argument) => values.get(argument).cloned().unwrap_or_default(),
            };
            word.0.iter().map(text).collect()
        };
        self.words.iter().map(filled).collect()
    }
}

impl Word {
    fn parse(text: &str) -> Result<Self, String> {
        let (mut pieces, mut literal, mut rest) = (Vec::new(), String::new(), text);
        while let Some(c) = rest.chars().next() {
            if let Some(after) = rest.strip_prefix("{{").or_else(|| rest.strip_prefix("}}")) {
                literal.push(c);
                rest = after;
            } else if let Some((name, after)) =
                rest.strip_prefix('{').and_then(|rest| rest.split_once('}'))
            {
                let argument = name.parse()?;
                if !literal.is_empty() {
                    pieces.push(Piece::Text(std::mem::take(&mut literal)));
                }
                pieces.push(Piece::Argument(argument));
                rest = after;
            } else if c == '{' || c == '}' {
                return Err(format!("a single brace in {text:?}: write it twice"));
            } else {
                literal.push(c);
                rest = rest.get(c.len_utf8()..).unwrap_or_default();
            }
        }
        if !literal.is_empty() {
            pieces.push(Piece::Text(literal));
        }
        Ok(Self(pieces))
    }

    fn arguments(&self) -> impl Iterator<Item = Argument> + '_ {
        self.0.iter().filter_map(|piece| match piece {
            Piece::Argument(argument) => Some(*argument),
            Piece::Text(_) => None,
        })
    }
}

impl<'de> Deserialize<'de> for Words {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        #[serde(untagged, expecting = "expected a command line: a string, or a list of strings")]
        enum Written {
            Text(String),
            List(Vec<String>),
        }
        let words = match Written::deserialize(deserializer)? {
            Written::Text(text) => text.split_whitespace().map(ToOwned::to_owned).collect(),
            Written::List(words) => words,
        };
        let words = words.iter().map(|word| Word::parse(word)).collect::<Result<_, _>>();
        words.map(Self).map_err(de::Error::custom)
    }
}

/// Checks that the placeholders belong to the operation.
fn check_words(operation: Operation, words: &[Word]) -> Result<(), String> {
    let mut arguments = words.iter().flat_map(Word::arguments);
    match arguments.find(|argument| !operation.has(*argument)) {
        Some(other) => Err(format!("{operation} has no {{{other}}}")),
        None => Ok(()),
    }
}

/// Returns the line number, from 1, of byte `at` of `text`.
fn line_of(text: &str, at: usize) -> usize {
    text.bytes().take(at).filter(|byte| *byte == b'\n').count() + 1
}

/// The limit for the client's output. No scenario sends as much, so truncated output is wrong.
pub(super) const MAX_OUTPUT_LEN: usize = 4 << 20;
/// The exit status of a program that cannot do what it is asked to.
pub(super) const UNSUPPORTED_STATUS: i32 = 77;

pub(super) struct Running {
    process: Started,
    death: Option<Death>,
    stdout: Captured,
    stderr: Captured,
    began: Instant,
}

/// How a client ended.
#[derive(Clone, Debug)]
pub(super) struct Ended {
    /// The exit status; `None` if the client was still running and was killed.
    pub(super) status: Option<ExitStatus>,
    pub(super) stdout: Vec<u8>,
    pub(super) stderr: Vec<u8>,
    pub(super) after: Duration,
}

impl Ended {
    pub(super) fn is_success(&self) -> bool {
        self.status.is_some_and(|status| status.success())
    }

    /// Whether the client reports that it cannot be given this task.
    pub(super) fn cannot(&self) -> bool {
        self.status.and_then(|status| status.code()) == Some(UNSUPPORTED_STATUS)
    }

    /// Returns the signal that ended the client; on Windows the exception, such as 0xC0000005.
    pub(super) fn signal(&self) -> Option<i32> {
        #[cfg(unix)]
        return self
            .status
            .and_then(|status| std::os::unix::process::ExitStatusExt::signal(&status));
        #[cfg(not(unix))]
        return self.status.and_then(|status| status.code()).filter(|code| {
            let code = u32::from_ne_bytes(code.to_ne_bytes());
            // Exceptions of Windows, and of .NET: an unhandled one, its own fault and its own end.
            matches!(code, 0xc000_0000..=0xcfff_ffff | 0xe043_4352 | 0x8013_1506 | 0x8013_1623)
        });
    }
}

impl Running {
    /// Starts the client as the leader of its own process group.
    pub(super) fn start(command: &mut Command) -> io::Result<Self> {
        let command = command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut process = Started::start(command)?;
        let (stdout, stderr) = process.take_output();
        Ok(Self {
            process,
            death: None,
            stdout: Captured::start(stdout, Keep::First(MAX_OUTPUT_LEN)),
            stderr: Captured::start(stderr, Keep::First(MAX_OUTPUT_LEN)),
            began: Instant::now(),
        })
    }

    /// Whether the client has ended. Its process id is not reused until [`finish`](Self::finish).
    pub(super) fn has_ended(&mut self) -> bool {
        self.death = self.death.or_else(|| self.process.death());
        self.death.is_some()
    }

    pub(super) fn is_success(&self) -> bool {
        self.death == Some(Death::Status(0))
    }

    /// Waits for the end of the client. Kills it when all `limits` are over or on cancellation.
    /// Also ends everything left in its process group.
    pub(super) fn finish(mut self, limits: &[Limit], canceller: Option<&Canceller>) -> Ended {
        let has_ended = self.process.ends_before(|| {
            limits.iter().all(Limit::is_over) || canceller.is_some_and(Canceller::is_cancelled)
        });
        let after = self.began.elapsed();
        let status = self.process.end().filter(|_| has_ended);
        Ended { status, stdout: self.stdout.whole(), stderr: self.stderr.whole(), after }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn refused(text: &str, because: &str) {
        let error = Operations::parse("x.toml", text).unwrap_err().to_string();
        assert!(error.contains(because), "{error}");
    }

    #[test]
    fn file_with_unknown_key_or_placeholder_is_refused_with_line() {
        refused(
            "[operations.resume]\ncommand = [\"x\"]\ncomand = 1",
            "x.toml, line 3: unknown field `comand`",
        );
        refused(
            "[operations.resume]\n\ncommand = \"x {pidd}\"",
            "x.toml, line 3: unknown placeholder pidd, expected one of pid, socket,",
        );
        refused(
            "[operations.resume]\ncommand = \"x {value}\"",
            "x.toml, line 2: resume has no {value}",
        );
        refused(
            "[operations.resum]\ncommand = \"x\"",
            "unknown operation resum, expected one of process-info,",
        );
        refused("[operations.resume]\ncommand = \"x }\"", "a single brace in");
        refused("[operations.resume]\ncommand = []", "line 2: resume has no program");
        refused(
            "[operations.resume]\ncommand = \"x\"\noutput = \"stream\"",
            "line 3: resume does not have this output",
        );
    }

    #[test]
    fn patience_changes_only_with_placeholder() {
        let wait = |command: &str| {
            let text = format!("timeout_ms = 2000\n[operations.resume]\ncommand = '{command}'");
            Operations::parse("x.toml", &text)
                .unwrap()
                .get(Operation::Resume)
                .unwrap()
                .with_patience(Duration::from_secs(10))
                .patience
        };
        assert_eq!(wait("x --timeout {patience_ms}"), Duration::from_secs(10));
        assert_eq!(wait("x --timeout 2000"), Duration::from_secs(2));
    }

    #[test]
    fn words_are_filled_but_not_split() {
        let text = "[operations.set-env]\ncommand = ['set', '--{{name}}={name}', '{value}']";
        let operations = Operations::parse("x.toml", text).unwrap();
        let line = operations.get(Operation::SetEnv).unwrap();
        let values = BTreeMap::from([
            (Argument::Name, "N".to_owned()),
            (Argument::Value, "a b $(c)".to_owned()),
        ]);
        assert_eq!(line.words(&values), ["set", "--{name}=N", "a b $(c)"]);
        assert!(line.says(Argument::Name) && !line.says(Argument::Pid));
    }
}
