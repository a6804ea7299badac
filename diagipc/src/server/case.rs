//! Cases for a server: the exchange scripts in which we are the client, and every request of the
//! vectors.

use std::collections::BTreeMap;
use std::time::Duration;

use dotnet_diagnostics_ipc::command::Command;
use dotnet_diagnostics_ipc::header::{HEADER_LEN, Header, MAGIC};
use dotnet_diagnostics_ipc::hresult::HResult;
use dotnet_diagnostics_ipc_vectors::script::{
    Captures, Part, Pattern, Plays, Script, Step, Target,
};
use dotnet_diagnostics_ipc_vectors::{Direction, Group, Hazard, ScriptFile, Test, Type};

use crate::conversation::{is_cut, is_too_small, wants_descriptor};
use crate::process::timeouts::silence_ms;
use crate::report::cited;
use crate::{Playable, embedded::NamedFile};

/// A case for a server.
#[derive(Clone, Copy, Debug)]
pub struct ServerCase<'v> {
    /// The name of its file, without `.json`.
    pub file: &'v str,
    /// What is played.
    pub kind: ServerCaseKind<'v>,
}

/// The content of a case.
#[derive(Clone, Copy, Debug)]
pub enum ServerCaseKind<'v> {
    /// A whole conversation.
    Script {
        /// The default time limit of a step, in milliseconds.
        within_ms: u32,
        /// The script.
        script: &'v Script,
        /// The target that the script requires.
        target: &'v Target,
    },
    /// One request of the vectors, with its required answer.
    Request {
        /// The vector's group.
        group: &'v Group,
        /// The vector.
        test: &'v Test,
    },
}

/// Returns all cases in playing order.
pub fn cases<'v>(
    scripts: &'v [(&'v str, ScriptFile)],
    vectors: &'v [NamedFile],
) -> Vec<ServerCase<'v>> {
    let scripts = scripts.iter().flat_map(|(file, scripts)| {
        scripts.scripts.iter().filter_map(move |script| {
            let Plays::Client(part) = &script.plays else { return None };
            let kind = ServerCaseKind::Script {
                within_ms: scripts.within_ms,
                script,
                target: &part.target,
            };
            Some(ServerCase { file, kind })
        })
    });
    let requests = vectors.iter().flat_map(|NamedFile { name, file }| {
        let groups = file.groups.iter().filter(|group| {
            group.kind == Type::Request && group.direction == Some(Direction::Client)
        });
        groups.flat_map(move |group| {
            let tests = group.tests.iter().filter(|test| test.wire.is_some());
            tests.map(move |test| ServerCase {
                file: name,
                kind: ServerCaseKind::Request { group, test },
            })
        })
    });
    scripts.chain(requests).collect()
}

impl Playable for ServerCase<'_> {
    fn name(&self) -> String {
        ServerCase::name(self)
    }

    fn words(&self) -> Vec<String> {
        let number = match self.kind {
            ServerCaseKind::Script { script, .. } => script.sc_id,
            ServerCaseKind::Request { test, .. } => test.tc_id,
        };
        let (number, last) = (number.to_string(), self.last_word());
        vec![self.file.to_owned(), self.section(), self.group(), number, last]
    }

    fn spec(&self) -> Vec<String> {
        match self.kind {
            ServerCaseKind::Script { script, .. } => script.spec.clone(),
            ServerCaseKind::Request { group, test } => cited(group, test),
        }
    }

    fn commands(&self) -> Vec<Command> {
        match self.kind {
            ServerCaseKind::Script { script, .. } => commands_of(&script.steps, |_| true),
            ServerCaseKind::Request { group, .. } => command_of(group),
        }
    }

    fn hazard(&self) -> Option<Hazard> {
        ServerCase::hazard(self)
    }
}

impl<'v> ServerCase<'v> {
    /// Returns `scripts/FILE/NAME`, or `requests/FILE/TCID`.
    pub fn name(&self) -> String {
        format!("{}/{}", self.section(), self.last_word())
    }

    fn last_word(&self) -> String {
        match self.kind {
            ServerCaseKind::Script { script, .. } => script.name.clone(),
            ServerCaseKind::Request { test, .. } => test.tc_id.to_string(),
        }
    }

    const fn script(&self) -> Option<&'v Script> {
        let ServerCaseKind::Script { script, .. } = self.kind else { return None };
        Some(script)
    }

    const fn target(&self) -> Option<&'v Target> {
        let ServerCaseKind::Script { target, .. } = self.kind else { return None };
        Some(target)
    }

    /// Returns how long the script waits for things that must not happen.
    pub(super) fn waits(&self) -> Duration {
        let steps = self.script().into_iter().flat_map(|script| &script.steps);
        Duration::from_millis(steps.map(silence_ms).map(u64::from).sum())
    }

    /// Returns the section by which cases are counted.
    pub fn section(&self) -> String {
        match self.kind {
            ServerCaseKind::Script { .. } => format!("scripts/{}", self.file),
            ServerCaseKind::Request { .. } => format!("requests/{}", self.file),
        }
    }

    /// Returns the group of a vector, or the number of a script.
    pub fn group(&self) -> String {
        match self.kind {
            ServerCaseKind::Script { script, .. } => script.sc_id.to_string(),
            ServerCaseKind::Request { group, .. } => group.name.clone(),
        }
    }

    /// Returns a description of the case.
    pub fn title(&self) -> String {
        match self.kind {
            ServerCaseKind::Script { script, .. } => script.comment.clone(),
            ServerCaseKind::Request { group, test } => match &group.command {
                Some(command) => format!("{command}: {}", test.comment),
                None => test.comment.clone(),
            },
        }
    }

    /// Returns the effect on a live target; only this decides whether the case may be sent.
    pub const fn hazard(&self) -> Option<Hazard> {
        match self.kind {
            ServerCaseKind::Script { script, .. } => script.hazard,
            ServerCaseKind::Request { test, .. } => test.hazard,
        }
    }

    /// Returns the first version of .NET that supports what the case tests.
    pub fn since(&self) -> Option<&str> {
        match self.kind {
            ServerCaseKind::Script { script, .. } => script.since.as_deref(),
            ServerCaseKind::Request { group, .. } => group.since.as_deref(),
        }
    }

    /// Returns the operating system that the case requires; `None` if any will do.
    pub fn platform(&self) -> Option<&str> {
        self.target()?.platform.as_deref()
    }

    /// Returns the commands that the target must support. A command for which a script accepts
    /// `DS_IPC_E_UNKNOWN_COMMAND` is optional.
    pub(super) fn wanted_commands(&self) -> Vec<Command> {
        match self.kind {
            ServerCaseKind::Script { script, .. } => commands_of(&script.steps, |on| {
                !script.steps.iter().any(|step| may_be_unknown(step, on))
            }),
            // A server checks these errors before it looks at the command.
            ServerCaseKind::Request { test, .. }
                if test.wire.as_deref().is_some_and(|wire| {
                    is_cut(wire) || is_too_small(wire) || !wire.starts_with(&MAGIC)
                }) =>
            {
                Vec::new()
            }
            ServerCaseKind::Request { group, .. } => command_of(group),
        }
    }

    /// Whether a command is sent that starts a session.
    pub(super) fn is_of_sessions(&self) -> bool {
        self.commands().into_iter().any(starts_a_session)
    }

    /// Whether a dump is requested, which may remove the target's socket (P-6) and writes a file.
    pub(crate) fn asks_for_a_dump(&self) -> bool {
        self.commands().iter().any(|command| command.set == Command::GENERATE_CORE_DUMP.set)
    }

    /// Whether the case has its own value of the port variable.
    pub(super) fn spells_ports(&self) -> bool {
        self.target().is_some_and(|target| target.spelled.is_some())
    }

    /// Whether the target gets a signal that may end it.
    pub(super) fn sends_a_signal(&self) -> bool {
        self.script()
            .is_some_and(|script| script.steps.iter().any(|step| matches!(step, Step::Signal(_))))
    }

    /// Whether `DS_IPC_E_UNKNOWN_COMMAND` is expected.
    pub(super) fn is_about_unknown_commands(&self) -> bool {
        let is_one =
            |step: &Step| matches!(step, Step::Expect(one) if says_unknown_command(&one.expect));
        self.script().is_some_and(|script| script.steps.iter().any(is_one))
    }

    /// Whether a descriptor is passed.
    pub(super) fn wants_descriptor(&self) -> bool {
        let ServerCaseKind::Request { test, .. } = self.kind else { return false };
        test.wire.as_deref().is_some_and(wants_descriptor)
    }

    /// Returns the fact that records what runtimes do where the document leaves it open.
    pub(super) fn habit(&self) -> Option<&'v str> {
        let Plays::Client(part) = &self.script()?.plays else { return None };
        part.habit.as_deref()
    }

    /// Whether the target must be started in a special way, for other reasons than possible harm.
    pub(super) fn wants_a_configuration(&self) -> bool {
        self.target().is_some_and(|target| {
            let has_settings = !target.ports.is_empty() || !target.environment.is_empty();
            target.suspended || has_settings || !target.default_port
        })
    }

    /// Whether the target needs a default port.
    pub(super) fn wants_default_port(&self) -> bool {
        self.target().is_none_or(|target| target.default_port)
    }

    /// Whether a target must be started for this case alone, as others could not use it afterwards.
    pub fn wants_own_target(&self) -> bool {
        self.cannot_share() || self.hazard() == Some(Hazard::Harmful)
    }

    /// Whether a target must be started for this case alone even if it survives: it is started in a
    /// special way, gets a signal, has a directory for its files, or is left with connections whose
    /// end it may notice at any time.
    pub(super) fn cannot_share(&self) -> bool {
        let has_signal = |step: &Step| matches!(step, Step::Signal(_));
        self.wants_a_configuration()
            || match self.kind {
                ServerCaseKind::Script { script: Script { steps, .. }, .. } => {
                    self.hazard() == Some(Hazard::Harmful)
                        && (steps.iter().any(has_signal) || leaves_open(steps))
                }
                ServerCaseKind::Request { test, .. } => {
                    test.hazard.is_some() && self.asks_for_a_dump()
                }
            }
    }

    /// Whether a message is sent in pieces: chunks, or several steps without a reply between them.
    pub(super) fn sends_in_pieces(&self) -> bool {
        let Some(script) = self.script() else { return false };
        let mut sent: Vec<&str> = Vec::new();
        script.steps.iter().any(|step| match step {
            Step::Send(step) => {
                let again = sent.contains(&step.on.as_str());
                sent.push(&step.on);
                again || step.chunks.len() > 1
            }
            Step::Expect(step) => {
                sent.retain(|on| *on != step.on);
                false
            }
            _ => false,
        })
    }
}

pub(super) fn starts_a_session(command: Command) -> bool {
    command.set == Command::STOP_TRACING.set && command != Command::STOP_TRACING
}

fn command_of(group: &Group) -> Vec<Command> {
    group.command.iter().filter_map(|name| name.parse().ok()).collect()
}

/// Whether a step accepts `DS_IPC_E_UNKNOWN_COMMAND` on this connection.
fn may_be_unknown(step: &Step, on: &str) -> bool {
    match step {
        Step::Expect(step) => step.on == on && says_unknown_command(&step.expect),
        Step::ExpectAnyOf(step) => {
            step.on == on && step.expect_any_of.iter().any(|one| says_unknown_command(&one.expect))
        }
        _ => false,
    }
}

fn says_unknown_command(pattern: &Pattern) -> bool {
    let code = HResult::UNKNOWN_COMMAND.0.to_le_bytes();
    let says_so = |part: &Part| {
        let Part::Literal(literal) = part else { return false };
        literal.bytes(&Captures::new()).is_ok_and(|bytes| bytes.ends_with(&code))
    };
    pattern.0.iter().any(says_so)
}

/// Returns the commands in the headers sent by these steps on connections for which `meant` holds.
fn commands_of(steps: &[Step], meant: impl Fn(&str) -> bool) -> Vec<Command> {
    let mut sent: BTreeMap<&str, Vec<u8>> = BTreeMap::new();
    let mut commands = Vec::new();
    for step in steps {
        let Step::Send(step) = step else { continue };
        if !meant(&step.on) {
            continue;
        }
        let bytes = sent.entry(&step.on).or_default();
        let is_begun = bytes.len() >= HEADER_LEN;
        bytes.extend(
            step.send
                .iter()
                .flat_map(|literal| literal.bytes(&Captures::new()).unwrap_or_default()),
        );
        let header = bytes
            .get(..HEADER_LEN)
            .filter(|_| !is_begun)
            .and_then(|header| Header::decode(header).ok());
        commands.extend(
            header.map(|header| header.command).filter(|command| !commands.contains(command)),
        );
    }
    commands
}

/// Whether any connection is left open at the end.
fn leaves_open(steps: &[Step]) -> bool {
    let ends = |name: &str| {
        steps.iter().any(|step| match step {
            Step::ExpectEnd(step) => step.on == name,
            Step::EndStep(step) => step.on == name,
            _ => false,
        })
    };
    steps.iter().any(|step| matches!(step, Step::Open(step) if !ends(&step.open)))
}
