//! Scenarios: the client's task, the scripted runtime's actions, and the expected result.

use std::collections::BTreeMap;
use std::time::Duration;

use dotnet_diagnostics_ipc::command::Command;
use dotnet_diagnostics_ipc::hresult::HResult;
use dotnet_diagnostics_ipc::vectors::script::Step;

use super::{Argument, Operation};
use crate::faults::Fault;
use crate::pace::silence_ms;

/// Arguments of an operation.
pub type Arguments = BTreeMap<Argument, String>;

/// One conversation with a client under test.
#[derive(Clone, Debug)]
pub struct Scenario {
    /// Unique and stable: `reply/ok-20/resume`.
    pub name: String,
    /// The file of the script, or the theme.
    pub section: String,
    /// What it is about.
    pub title: String,
    /// Facts and requirements.
    pub spec: Vec<String>,
    /// The client's task.
    pub operation: Operation,
    /// Its arguments.
    pub arguments: Arguments,
    /// The command line must use at least one argument from each list; otherwise the client cannot
    /// do it.
    pub needs: Vec<Vec<Argument>>,
    pub(super) moves: Vec<Move>,
    pub(super) exit: Exit,
    pub(super) output: Option<Output>,
    /// The fault of a client that reports success where it must not, or failure where it must not.
    pub(super) reveals: Option<Fault>,
    /// Another possible cause of a failure, if another scenario shows it for certain.
    pub(super) suspects: Vec<Fault>,
    /// The fault of a client that sends nothing, if that shows more than this alone.
    pub(super) if_unsent: Option<Fault>,
    /// Whether it is a plain request and its plain answer: no other cause of a failure is possible.
    pub(super) is_plain: bool,
    /// The size of the OK that answers it: the sizes that a client accepts show its fault.
    pub(super) ok_size: Option<usize>,
    /// Whether the runtime is silent at some point, so that the client must give up by itself.
    pub(super) is_silent: bool,
    /// Whether the document allows another end.
    pub(super) is_open: bool,
    /// The runtime's final error.
    pub(super) refused_with: Option<HResult>,
    /// What the client must print of an error.
    pub(super) said: Vec<Said>,
    /// Decoys in the directory of the socket.
    pub(super) decoys: Vec<Decoy>,
}

/// The runtime's information about an error.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Said {
    /// The code, as a number in any base.
    Code(HResult),
    /// A text.
    Text(String),
}

/// A decoy: not the socket of the process, but similar.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Decoy {
    /// The socket of a process whose id begins with the same digits.
    LongerPid,
    /// A socket of the same id with another start time, created later.
    LaterKey,
    /// The same, created earlier.
    EarlierKey,
    /// A plain file with a later start time.
    PlainFile,
    /// A socket named as in drafts of the protocol.
    OldPrefix,
    /// A socket of the same id with another start time, created later, that belongs to another
    /// user.
    OtherOwner,
    /// The same in a directory that is the client's `TMPDIR`, but not the process's.
    InAnotherTmpdir,
}

impl Scenario {
    /// The same for a runtime that knows only these commands; `None` if it knows none of the
    /// scenario's.
    ///
    /// If any command of the operation will do, it is the newest of those, given by
    /// [`Argument::Command`].
    #[must_use]
    pub fn for_runtime(mut self, knows: impl Fn(Command) -> bool) -> Option<Self> {
        let mut fixed = self.moves.iter().filter_map(|one| match one {
            Move::Request(request) => request.command,
            _ => None,
        });
        // A script that falls back ends with one that the runtime knows.
        let fixed = fixed.next_back().filter(|command| !self.is_of_any(*command));
        if let Some(command) = fixed {
            return knows(command).then_some(self);
        }
        let mut newest_first = self.operation.commands().iter().copied();
        let asked =
            self.arguments.get(&Argument::Command).and_then(|name| name.parse::<Command>().ok());
        let newest = newest_first.find(|command| {
            knows(*command) && asked.is_none_or(|asked| command.code() <= asked.code())
        })?;
        if let (Some(_), Some(name)) = (asked, newest.name()) {
            self.arguments.insert(Argument::Command, name.to_owned());
            for one in &mut self.moves {
                if let Move::Request(request) = one {
                    request.command = request.command.and(Some(newest));
                }
            }
        }
        Some(self)
    }

    /// Whether all commands of the operation have the same replies as this one, so that the
    /// scenario does not depend on its version.
    fn is_of_any(&self, command: Command) -> bool {
        command == Command::COLLECT_TRACING2
            && !matches!(self.section.as_str(), "fallback" | "tool_ports")
    }
}

/// The scripted runtime's actions.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Move {
    /// A step of a script.
    Step(Step),
    /// Reads a request, and judges it.
    Request(Request),
    /// `StopTracing` of a session.
    Stop { on: String, session: u64 },
    /// The client ends the connection by itself, after its patience at the latest. `is_whole`: it
    /// has everything it needs.
    GivesUp { on: String, is_whole: bool },
    /// The reply is invalid: the client ends the connection, and does not stop the session that it
    /// was not given.
    Refuses { on: String },
    /// Anything except a whole message that could be a request.
    NothingWhole { on: String },
    /// The client continues, or waits for more.
    Settles { on: String },
    /// The client's next request, which must not use this connection.
    NotOn { on: String },
}

/// The expected request.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Request {
    pub(super) on: String,
    /// The newest command that the runtime knows; `None`: any of the operation.
    pub(super) command: Option<Command>,
    /// How much of it stays unread.
    pub(super) unread: Unread,
}

/// How much of a request the runtime leaves unread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Unread {
    None,
    LastByte,
    Payload,
}

/// How the client must end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Exit {
    /// Success.
    Zero,
    /// Failure.
    NonZero,
    /// Either, but not by a signal.
    Any,
}

/// The client's expected output.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Output {
    /// These bytes.
    Stream(Vec<u8>),
    /// A prefix of these bytes: the session does not end correctly.
    BeginOfStream(Vec<u8>),
    /// These bytes and none of the preceding reply.
    StreamBehind { surplus: Vec<u8>, stream: Vec<u8> },
    /// These entries; one whose units are not Unicode begins like this.
    Environment(Vec<Entry>),
    /// It contains these texts.
    ProcessInfo(Vec<String>),
    /// The same; the fault if they are missing.
    Texts(Vec<String>, Fault),
}

/// A line of the environment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Entry {
    /// Exactly this.
    Text(String),
    /// Begins like this, and continues with units that are not text.
    Begins(String),
}

impl Scenario {
    pub(super) fn new(name: &str, title: &str, spec: &[&str], operation: Operation) -> Self {
        Self {
            name: name.to_owned(),
            section: name.split('/').next().unwrap_or_default().to_owned(),
            title: title.to_owned(),
            spec: spec.iter().map(ToString::to_string).collect(),
            operation,
            arguments: usual(operation),
            needs: Vec::new(),
            moves: Vec::new(),
            exit: Exit::Any,
            output: None,
            reveals: None,
            suspects: Vec::new(),
            if_unsent: None,
            is_plain: false,
            ok_size: None,
            is_silent: false,
            is_open: false,
            refused_with: None,
            said: Vec::new(),
            decoys: Vec::new(),
        }
    }

    /// The same with another value, which the command line must use.
    pub(super) fn with(mut self, argument: Argument, value: impl Into<String>) -> Self {
        self.arguments.insert(argument, value.into());
        self.needs.push([argument].to_vec());
        self
    }

    pub(super) fn plays(mut self, moves: Vec<Move>, exit: Exit) -> Self {
        self.moves = moves;
        // The replies to the others differ.
        let known = (self.operation == Operation::ProcessInfo).then_some(Command::PROCESS_INFO2);
        for one in &mut self.moves {
            if let (Move::Request(request), Some(known)) = (one, known) {
                request.command.get_or_insert(known);
            }
        }
        self.exit = exit;
        self
    }

    /// The duration of its waits.
    pub(super) fn waits(&self) -> Duration {
        let wait = |step: &Move| match step {
            Move::Step(Step::Send(step)) => 20 * step.chunks.len() as u64,
            Move::Step(step) => silence_ms(step).into(),
            _ => 0,
        };
        Duration::from_millis(self.moves.iter().map(wait).fold(0, u64::saturating_add))
    }

    /// The steps that are those of a script.
    pub fn steps_mut(&mut self) -> impl Iterator<Item = &mut Step> {
        self.moves.iter_mut().filter_map(|one| match one {
            Move::Step(step) => Some(step),
            _ => None,
        })
    }

    /// Whether the client must finally give up, because nothing more arrives: on its connection, or
    /// at its port, where no runtime takes a request.
    pub(super) fn waits_for_client_to_give_up(&self) -> bool {
        self.is_silent
            || self.moves.iter().any(|one| matches!(one, Move::GivesUp { is_whole: false, .. }))
            || !self.moves.iter().any(|one| matches!(one, Move::Request(_)))
    }

    /// The longest silence.
    pub(super) fn longest_wait(&self) -> Duration {
        let waits = self.moves.iter().filter_map(|step| match step {
            Move::Step(Step::Wait(step)) => Some(step.wait),
            _ => None,
        });
        Duration::from_millis(waits.max().unwrap_or(0).into())
    }
}

/// The default task of an operation.
pub(super) fn usual(operation: Operation) -> Arguments {
    let pairs: &[(Argument, &str)] = match operation {
        Operation::ProcessInfo
        | Operation::Environment
        | Operation::Resume
        | Operation::PerfMapOff
        | Operation::ListenPort => &[],
        Operation::SetEnv => &[(Argument::Name, "NAME"), (Argument::Value, "value")],
        Operation::UnsetEnv => &[(Argument::Name, "NAME")],
        Operation::StartupHook => &[(Argument::Path, "/tmp/hook.dll")],
        Operation::PerfMap => &[(Argument::Type, "1")],
        Operation::Dump => {
            &[(Argument::Path, "/tmp/core.dmp"), (Argument::Type, "1"), (Argument::Flags, "0")]
        }
        Operation::Attach => &[
            (Argument::Clsid, "cf0d821e-299b-5307-a3d8-b283c03916dd"),
            (Argument::Path, "/opt/profiler.so"),
            (Argument::ClientData, "0102"),
            (Argument::TimeoutMs, "5000"),
        ],
        Operation::StartupProfiler => &[
            (Argument::Clsid, "cf0d821e-299b-5307-a3d8-b283c03916dd"),
            (Argument::Path, "/opt/profiler.so"),
        ],
        Operation::Trace | Operation::TracePort => &[
            (Argument::Provider, "Provider"),
            (Argument::Keywords, "1"),
            (Argument::Level, "4"),
            (Argument::Arguments, ""),
            (Argument::BufferMb, "250"),
            (Argument::Rundown, "2147615033"),
            (Argument::Stacks, "true"),
            (Argument::Events, ""),
            (Argument::BufferMode, "0"),
            (Argument::DurationMs, "200"),
            (Argument::DurationS, "1"),
        ],
        Operation::Stop => &[(Argument::Session, "42")],
        Operation::UserEvents => &[
            (Argument::Provider, "Provider"),
            (Argument::Keywords, "1"),
            (Argument::Level, "4"),
            (Argument::Arguments, ""),
            (Argument::Tracepoint, "Point"),
            (Argument::DurationMs, "200"),
            (Argument::DurationS, "1"),
        ],
    };
    let mut arguments: Arguments =
        pairs.iter().map(|(argument, value)| (*argument, (*value).to_owned())).collect();
    // The command known to the scripted runtime of most scenarios, if several perform it.
    let command = match operation {
        Operation::ProcessInfo => Some(Command::PROCESS_INFO2),
        Operation::Dump => Some(Command::GENERATE_CORE_DUMP3),
        Operation::Trace | Operation::TracePort => Some(Command::COLLECT_TRACING2),
        Operation::UserEvents => Some(Command::COLLECT_TRACING5),
        _ => None,
    };
    arguments
        .extend(command.and_then(Command::name).map(|name| (Argument::Command, name.to_owned())));
    arguments
}
