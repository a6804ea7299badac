//! Scenarios: what the client is told, what a scripted runtime does then, and what must come of it.

use alloc::{
    borrow::ToOwned as _,
    collections::BTreeMap,
    string::{String, ToString},
    vec::Vec,
};
use core::time::Duration;

use super::{Argument, ClientFault, Operation};
use crate::command::Command;
use crate::hresult::HResult;
use crate::vectors::script::Step;

/// Arguments of an operation.
pub type Arguments = BTreeMap<Argument, String>;

/// One conversation with a client under test.
#[derive(Clone, Debug)]
pub struct Scenario {
    /// Unique, and the same in every run: `reply/ok-20/resume`.
    pub name: String,
    /// The file of the script, or the theme.
    pub section: String,
    /// What is special.
    pub title: String,
    /// Facts and requirements.
    pub spec: Vec<String>,
    /// What the client is told to do.
    pub operation: Operation,
    /// With what.
    pub arguments: Arguments,
    /// Of each of these lists the command line must say one argument; otherwise the client cannot be told.
    pub needs: Vec<Vec<Argument>>,
    pub(super) moves: Vec<Move>,
    pub(super) exit: Exit,
    pub(super) output: Option<Output>,
    /// The fault of a client that says that all is well where it must not, or that it is not where it must.
    pub(super) reveals: Option<ClientFault>,
    /// What else may be the cause if it fails, where another scenario shows that for certain.
    pub(super) suspects: Vec<ClientFault>,
    /// The size of the OK that answers it: which sizes a client takes says which fault it has.
    pub(super) ok_size: Option<usize>,
    /// Whether the runtime says nothing at some point, so that the client has to give up by itself.
    pub(super) is_silent: bool,
    /// Whether the document leaves open that it ends in another way.
    pub(super) is_open: bool,
    /// With what the runtime refuses in the end.
    pub(super) refused_with: Option<HResult>,
    /// What is to be in what the client prints of an error.
    pub(super) said: Vec<Said>,
    /// What else is in the directory of the socket.
    pub(super) decoys: Vec<Decoy>,
}

/// What the runtime says of an error.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Said {
    /// The code, as a number of any base.
    Code(HResult),
    /// A text.
    Text(String),
}

/// Something that is not the socket of the process, and could be taken for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Decoy {
    /// The socket of a process whose id begins with the same digits.
    LongerPid,
    /// A socket of the same id with another start time, made later.
    LaterKey,
    /// The same, made earlier.
    EarlierKey,
    /// A plain file with a later start time.
    PlainFile,
    /// A socket as drafts of the protocol named it.
    OldPrefix,
    /// A socket of the same id with another start time, made later, that belongs to another user.
    OtherOwner,
    /// The same in a directory that is the client's `TMPDIR`, where the process has another one.
    InAnotherTmpdir,
}

impl Scenario {
    /// The same for a runtime that knows these commands and no others; `None` where it knows none that the scenario is about.
    ///
    /// Where any command of the operation will do, it is the newest of those, as [`Argument::Command`] says it.
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
        let asked = self.arguments.get(&Argument::Command).and_then(|name| name.parse::<Command>().ok());
        let newest = newest_first.find(|command| knows(*command) && asked.is_none_or(|asked| command.code() <= asked.code()))?;
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

    /// Whether the replies to this command are those to all of the operation, so that the scenario is not about its version.
    fn is_of_any(&self, command: Command) -> bool {
        command == Command::COLLECT_TRACING2 && !matches!(self.section.as_str(), "fallback" | "tool_ports")
    }
}

/// What the scripted runtime does.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Move {
    /// A step of a script.
    Step(Step),
    /// Reads a request, and judges it.
    Request(Request),
    /// `StopTracing` of a session.
    Stop { on: String, session: u64 },
    /// The client ends the connection by itself, once its patience is over at the latest. `is_whole`: it has all that it needs.
    GivesUp { on: String, is_whole: bool },
    /// What came is no reply: the client ends the connection, and does not stop the session that it was not given.
    Refuses { on: String },
    /// Whatever comes: no whole message that could be taken for a request.
    NothingWhole { on: String },
    /// The client goes on, or waits for more than there is.
    Settles { on: String },
    /// The client's next request, which must not come on this connection.
    NotOn { on: String },
}

/// What kind of request comes.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Request {
    pub(super) on: String,
    /// The newest command that the runtime knows; `None`: whatever the operation has.
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

/// How the client ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Exit {
    /// All was well.
    Zero,
    /// It was not.
    NonZero,
    /// As it likes, but not by a signal.
    Any,
}

/// What the client gives out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Output {
    /// These bytes.
    Stream(Vec<u8>),
    /// The first of these bytes, as many as it likes: the session does not end as it should.
    BeginOfStream(Vec<u8>),
    /// These bytes and not one of those of the reply before them.
    StreamBehind { surplus: Vec<u8>, stream: Vec<u8> },
    /// These entries; one whose units are no Unicode begins so.
    Environment(Vec<Entry>),
    /// These texts are in it.
    ProcessInfo(Vec<String>),
    /// The same; what it is where they are not.
    Texts(Vec<String>, ClientFault),
}

/// A line of the environment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Entry {
    /// This.
    Text(String),
    /// Begins so, and goes on with what has no text.
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
            ok_size: None,
            is_silent: false,
            is_open: false,
            refused_with: None,
            said: Vec::new(),
            decoys: Vec::new(),
        }
    }

    /// The same with another value, which the command line must say.
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

    /// How long its own waits take.
    pub(super) fn waits(&self) -> Duration {
        let wait = |step: &Move| match step {
            Move::Step(Step::Wait(step)) => u64::from(step.wait),
            Move::Step(Step::ExpectNothing(step)) => step.expect_nothing.into(),
            Move::Step(Step::ExpectNoConnection(step)) => step.expect_no_connection.into(),
            Move::Step(Step::Send(step)) => 20u64.saturating_mul(u64::try_from(step.chunks.len()).unwrap_or(0)),
            _ => 0,
        };
        Duration::from_millis(self.moves.iter().map(wait).fold(0, u64::saturating_add))
    }

    /// The longest of them: for so long nothing comes.
    pub(super) fn longest_wait(&self) -> Duration {
        let waits = self.moves.iter().filter_map(|step| match step {
            Move::Step(Step::Wait(step)) => Some(step.wait),
            _ => None,
        });
        Duration::from_millis(waits.max().unwrap_or(0).into())
    }
}

/// What an operation is told where nothing else matters.
pub(super) fn usual(operation: Operation) -> Arguments {
    let pairs: &[(Argument, &str)] = match operation {
        Operation::ProcessInfo | Operation::Environment | Operation::Resume | Operation::PerfMapOff | Operation::ListenPort => &[],
        Operation::SetEnv => &[(Argument::Name, "NAME"), (Argument::Value, "value")],
        Operation::UnsetEnv => &[(Argument::Name, "NAME")],
        Operation::StartupHook => &[(Argument::Path, "/tmp/hook.dll")],
        Operation::PerfMap => &[(Argument::Type, "1")],
        Operation::Dump => &[(Argument::Path, "/tmp/core.dmp"), (Argument::Type, "1"), (Argument::Flags, "0")],
        Operation::Attach => &[
            (Argument::Clsid, "cf0d821e-299b-5307-a3d8-b283c03916dd"),
            (Argument::Path, "/opt/profiler.so"),
            (Argument::ClientData, "0102"),
            (Argument::TimeoutMs, "5000"),
        ],
        Operation::StartupProfiler => {
            &[(Argument::Clsid, "cf0d821e-299b-5307-a3d8-b283c03916dd"), (Argument::Path, "/opt/profiler.so")]
        }
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
    let mut arguments: Arguments = pairs.iter().map(|(argument, value)| (*argument, (*value).to_owned())).collect();
    // The command that the scripted runtime of most scenarios knows, where there are several that do it.
    let command = match operation {
        Operation::ProcessInfo => Some(Command::PROCESS_INFO2),
        Operation::Dump => Some(Command::GENERATE_CORE_DUMP3),
        Operation::Trace | Operation::TracePort => Some(Command::COLLECT_TRACING2),
        Operation::UserEvents => Some(Command::COLLECT_TRACING5),
        _ => None,
    };
    arguments.extend(command.and_then(Command::name).map(|name| (Argument::Command, name.to_owned())));
    arguments
}
