//! Scenarios: the client's task, the scripted runtime's actions, and the expected result.
//!
//! Scenarios are data in `diagipc/clients/scenarios/`. `diagipc/clients/README.md` defines the
//! keys.

use std::collections::BTreeMap;
use std::sync::OnceLock;
use std::time::Duration;

use dotnet_diagnostics_ipc::command::Command;
use dotnet_diagnostics_ipc::hresult::HResult;
use dotnet_diagnostics_ipc_vectors::script::{Literal, Step};
use serde::de::Error as _;
use serde::{Deserialize, Deserializer};

use super::{Argument, Operation};
use crate::Playable;
use crate::embedded::{self, SCENARIOS};
use crate::faults::Fault;
use crate::process::timeouts::silence_ms;

/// Arguments of an operation.
pub type Arguments = BTreeMap<Argument, String>;

/// A conversation with a client under test.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Scenario {
    /// A unique and stable name, such as `reply/ok-20/resume`.
    pub name: String,
    /// A description of what is tested.
    #[serde(rename = "comment")]
    pub title: String,
    /// The facts and requirements that it is based on.
    pub spec: Vec<String>,
    /// The client's task.
    pub operation: Operation,
    /// The arguments of the task.
    #[serde(default, deserialize_with = "arguments")]
    pub arguments: Arguments,
    /// The command line must use at least one argument from each list. Otherwise the client cannot
    /// do the task.
    #[serde(default)]
    pub needs: Vec<Vec<Argument>>,
    #[serde(rename = "steps")]
    pub(super) moves: Vec<Move>,
    pub(super) exit: Exit,
    #[serde(default)]
    pub(super) output: Option<ExpectedOutput>,
    /// The fault of a client that reports success or failure where it must not.
    #[serde(default)]
    pub(super) reveals: Option<Fault>,
    /// Other possible causes of a failure, which count if another scenario shows them for certain.
    #[serde(default)]
    pub(super) suspects: Vec<Fault>,
    /// The fault of a client that sends nothing, if there is a more specific one than that.
    #[serde(default)]
    pub(super) if_unsent: Option<Fault>,
    /// The size of the OK that the client gets. The sizes that it accepts show its fault.
    #[serde(default)]
    pub(super) ok_size: Option<usize>,
    #[serde(default)]
    pub(super) flags: Vec<Flag>,
    /// The final error that the runtime answers with.
    #[serde(default, deserialize_with = "hresult")]
    pub(super) refused_with: Option<HResult>,
    /// The text of that error, which the client must print.
    #[serde(default)]
    pub(super) says_text: Option<String>,
    /// The decoys in the directory of the socket.
    #[serde(default)]
    pub(super) decoys: Vec<Decoy>,
}

/// A file of scenarios.
#[derive(Deserialize)]
struct ScenarioFile {
    scenarios: Vec<Scenario>,
}

/// Returns all scenarios: the exchange scripts that play the runtime, and families of others. They
/// are parsed once.
///
/// # Errors
/// No error occurs, because the embedded files are valid, as the crate's tests check.
///
/// ```
/// let scenarios = diagipc::client::scenarios()?;
/// assert!(scenarios.len() > 300);
/// assert!(scenarios.iter().all(|scenario| !scenario.spec.is_empty()));
/// # Ok::<(), &serde_json::Error>(())
/// ```
pub fn scenarios() -> Result<&'static [Scenario], &'static serde_json::Error> {
    static ALL: OnceLock<Result<Vec<Scenario>, serde_json::Error>> = OnceLock::new();
    let parsed = || {
        let file = |_: &str, text: &str| serde_json::from_str::<ScenarioFile>(text);
        let files = embedded::read(SCENARIOS, file)?;
        Ok(files.into_iter().flat_map(|file| file.scenarios).collect())
    };
    ALL.get_or_init(parsed).as_deref()
}

/// A property of a scenario.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Flag {
    /// A plain request and its plain answer, so that a failure has no other cause.
    Plain,
    /// The runtime is silent at some point, so the client must give up by itself.
    Silent,
    /// The document allows the client to end differently.
    Open,
    /// The scenario tests the older command after `UNKNOWN_COMMAND`.
    FallsBack,
    /// The client must print the code of the error, as a number in any base.
    SaysCode,
}

/// A decoy: something similar to the socket of the process.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Decoy {
    /// The socket of a process whose id begins with the same digits.
    LongerPid,
    /// A socket with the same id and another start time, created later.
    LaterKey,
    /// A socket with the same id and another start time, created earlier.
    EarlierKey,
    /// A plain file with a later start time.
    PlainFile,
    /// A socket named as in drafts of the protocol.
    OldPrefix,
    /// A socket with the same id and another start time, created later, that belongs to another
    /// user.
    OtherOwner,
    /// A socket like [`LaterKey`](Self::LaterKey) in a directory that is the client's `TMPDIR`, but
    /// not the process's.
    #[serde(rename = "other-tmpdir")]
    InAnotherTmpdir,
}

impl Playable for Scenario {
    fn name(&self) -> String {
        self.name.clone()
    }

    fn words(&self) -> Vec<String> {
        [self.section(), self.operation.name()].map(str::to_owned).to_vec()
    }

    fn spec(&self) -> Vec<String> {
        self.spec.clone()
    }

    /// Returns the commands that the script names; empty if any command of the operation will do.
    fn commands(&self) -> Vec<Command> {
        let named = self.moves.iter().filter_map(|one| match one {
            Move::Request(request) => request.command,
            _ => None,
        });
        let named: Vec<Command> = named.collect();
        if named.is_empty() { self.operation.commands().to_vec() } else { named }
    }
}

impl Scenario {
    /// Returns the section of the report, which is the first word of the name.
    pub fn section(&self) -> &str {
        self.name.split('/').next().unwrap_or_default()
    }

    pub(super) fn is(&self, flag: Flag) -> bool {
        self.flags.contains(&flag)
    }

    /// Adapts the scenario to a runtime that supports only these commands. Returns `None` if it
    /// supports none of the scenario's commands.
    ///
    /// If any command of the operation will do, the newest one that is supported is used, given by
    /// [`Argument::Command`].
    #[must_use]
    pub fn for_runtime(mut self, knows: impl Fn(Command) -> bool) -> Option<Self> {
        // A script that falls back ends with a command that the runtime supports.
        let last = self.moves.iter().rev().find_map(|one| match one {
            Move::Request(request) if request.others != Others::Any => request.command,
            _ => None,
        });
        if let Some(command) = last {
            return knows(command).then_some(self);
        }
        let mut newest_first = self.operation.commands().iter().copied();
        let newest_named =
            self.arguments.get(&Argument::Command).and_then(|name| name.parse::<Command>().ok());
        let newest = newest_first.find(|command| {
            knows(*command) && newest_named.is_none_or(|newest| command.code() <= newest.code())
        })?;
        if let (Some(_), Some(name)) = (newest_named, newest.name()) {
            self.arguments.insert(Argument::Command, name.to_owned());
            for one in &mut self.moves {
                if let Move::Request(request) = one {
                    request.command = request.command.and(Some(newest));
                }
            }
        }
        Some(self)
    }
}

/// An action of the scripted runtime.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(untagged)]
pub(super) enum Move {
    /// Reads a request, and judges it.
    Request(ExpectedRequest),
    /// Reads `StopTracing` of a session.
    Stop(StopRequest),
    /// Waits for what the client does with a connection.
    Client(ClientStep),
    /// Performs a step of a script.
    Step(Step),
}

/// The expected request.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ExpectedRequest {
    pub(super) on: String,
    /// The newest command that the runtime supports; `None` for any command of the operation.
    #[serde(rename = "request", deserialize_with = "command")]
    pub(super) command: Option<Command>,
    #[serde(default)]
    pub(super) others: Others,
    /// How much of the request stays unread.
    #[serde(default)]
    pub(super) unread: Unread,
}

/// How other commands of the operation are answered.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Others {
    /// A newer command gets the same answer, because the scenario does not depend on the version.
    #[default]
    Newer,
    /// Any command gets the same answer.
    Any,
    /// A newer command is unknown.
    Unknown,
    /// Other commands prove nothing, because the scenario tests this one.
    None,
}

/// The expected `StopTracing` of this session.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct StopRequest {
    pub(super) on: String,
    #[serde(rename = "stop", deserialize_with = "number")]
    pub(super) session: u64,
}

/// What the client should do with a connection.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ClientStep {
    pub(super) on: String,
    pub(super) client: Act,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Act {
    /// The client ends the connection by itself, at its time limit at the latest.
    GivesUp,
    /// The client has everything it needs, and ends the connection by itself.
    HasAll,
    /// The client refuses an invalid reply: it ends the connection, and stops no session.
    Refuses,
    /// The client sends nothing that is a complete request.
    SendsNothingWhole,
    /// The client continues, or waits for more.
    Settles,
    /// The client does not send its next request on this connection.
    Leaves,
}

/// How much of a request the runtime leaves unread.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Unread {
    #[default]
    None,
    LastByte,
    Payload,
}

/// How the client must end.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Exit {
    /// The client must end with exit status 0.
    Success,
    /// The client must end with an exit status other than 0.
    Failure,
    /// The client may end with any status, but not by a signal.
    Any,
}

/// The client's expected output.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(untagged, deny_unknown_fields)]
pub(super) enum ExpectedOutput {
    /// The output must be these bytes.
    Stream {
        stream: Vec<Literal>,
        /// Bytes of the reply that do not belong to the stream.
        #[serde(default)]
        not_before: Vec<Literal>,
        /// The names and values of the counters in the stream.
        #[serde(default)]
        counters: Vec<String>,
        /// Whether a prefix will do, because the session does not end correctly.
        #[serde(default)]
        may_be_cut: bool,
    },
    /// The output must be these entries.
    Environment { environment: Vec<Entry> },
    /// The output must contain these texts; `reveals` is the fault if one is missing.
    Texts { texts: Vec<String>, reveals: Fault },
}

/// A line of the environment.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(untagged, deny_unknown_fields)]
pub(super) enum Entry {
    /// The entry is exactly this.
    Text(String),
    /// The entry begins like this, and continues with units that are not text.
    Begins { begins: String },
}

/// The text of an argument, given as such or as a number of letters (`a` to `z`, repeated).
#[derive(Deserialize)]
#[serde(untagged, deny_unknown_fields)]
enum ArgumentText {
    Text(String),
    Letters {
        letters: usize,
        #[serde(default)]
        begins: String,
    },
}

fn arguments<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Arguments, D::Error> {
    const LETTERS: &str = "abcdefghijklmnopqrstuvwxyz";
    let texts = BTreeMap::<Argument, ArgumentText>::deserialize(deserializer)?;
    let text = |text| match text {
        ArgumentText::Text(text) => text,
        // Building this one letter at a time would take half of a debug build's start-up.
        ArgumentText::Letters { letters, begins } => {
            let (whole, rest) = (letters / LETTERS.len(), letters % LETTERS.len());
            begins + &LETTERS.repeat(whole) + LETTERS.get(..rest).unwrap_or_default()
        }
    };
    Ok(texts.into_iter().map(|(argument, of)| (argument, text(of))).collect())
}

fn command<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Command>, D::Error> {
    let name = Option::<String>::deserialize(deserializer)?;
    name.map(|name| name.parse().map_err(D::Error::custom)).transpose()
}

fn number<'de, D: Deserializer<'de>>(deserializer: D) -> Result<u64, D::Error> {
    String::deserialize(deserializer)?.parse().map_err(D::Error::custom)
}

fn hresult<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<HResult>, D::Error> {
    let text = String::deserialize(deserializer)?;
    let code = u32::from_str_radix(text.trim_start_matches("0x"), 16).map_err(D::Error::custom)?;
    Ok(Some(HResult(code)))
}

impl Scenario {
    /// Whether what connects to the client's port is not a runtime that takes a request.
    pub(super) fn is_of_no_runtime(&self) -> bool {
        !self.moves.iter().any(|one| matches!(one, Move::Request(_)))
    }

    pub(super) fn waits(&self) -> Duration {
        let wait = |step: &Move| match step {
            Move::Step(Step::Send(step)) => 20 * step.chunks.len() as u64,
            Move::Step(step) => silence_ms(step).into(),
            _ => 0,
        };
        Duration::from_millis(self.moves.iter().map(wait).fold(0, u64::saturating_add))
    }

    /// Returns the steps that are steps of a script.
    pub fn steps_mut(&mut self) -> impl Iterator<Item = &mut Step> {
        self.moves.iter_mut().filter_map(|one| match one {
            Move::Step(step) => Some(step),
            _ => None,
        })
    }

    /// Whether the client must finally give up because nothing more arrives on its connection, or
    /// no runtime takes a request at its port.
    pub(super) fn waits_for_client_to_give_up(&self) -> bool {
        self.is(Flag::Silent)
            || self
                .moves
                .iter()
                .any(|one| matches!(one, Move::Client(step) if step.client == Act::GivesUp))
            || self.is_of_no_runtime()
    }

    pub(super) fn longest_wait(&self) -> Duration {
        let waits = self.moves.iter().filter_map(|step| match step {
            Move::Step(Step::Wait(step)) => Some(step.wait),
            _ => None,
        });
        Duration::from_millis(waits.max().unwrap_or(0).into())
    }
}

/// Returns the arguments of the plain request of an operation.
#[cfg(test)]
pub(super) fn plain(operation: Operation) -> Arguments {
    let is_it = |one: &&Scenario| one.is(Flag::Plain) && one.operation == operation;
    scenarios().unwrap().iter().find(is_it).unwrap().arguments.clone()
}
