//! Scenarios: what the client is told, what a scripted runtime does then, and what must come of it.

use alloc::{
    borrow::ToOwned as _,
    collections::BTreeMap,
    string::{String, ToString},
    vec::Vec,
};
use core::time::Duration;

use super::{Argument, ClientFault, Operation};
use crate::command::{Command, DotnetVersion};
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
    /// The size of the OK that answers it: which sizes a client takes says which fault it has.
    pub(super) ok_size: Option<usize>,
    /// Whether the runtime says nothing at some point, so that the client has to give up by itself.
    pub(super) is_silent: bool,
}

impl Scenario {
    /// The first .NET that knows what the client is to ask.
    pub fn since(&self) -> Option<DotnetVersion> {
        let named = self.arguments.get(&Argument::Command).and_then(|name| name.parse::<Command>().ok());
        named.or_else(|| self.operation.commands().last().copied()).and_then(Command::since)
    }
}

/// What the scripted runtime does.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Move {
    /// A step of a script.
    Step(Step),
    /// Reads a request, and judges it.
    Request(Request),
    /// The client ends the connection by itself, once its patience is over at the latest.
    GivesUp { on: String },
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
            ok_size: None,
            is_silent: false,
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
