//! Flows: who speaks when, what may follow, who closes, and what a second connection is for.
//!
//! A flow is data: documentation, exchanges and conformance cases read the same rows. [`Flow::of`] finds the row of a command.
//!
//! ```
//! use dotnet_diagnostics_ipc::{command::Command, flow::Flow, message::eventpipe::SessionType};
//!
//! let flow = Flow::of(Command::COLLECT_TRACING5, Some(SessionType::USER_EVENTS)).unwrap();
//! assert_eq!(
//!     flow.to_string(),
//!     "\
//! client -> runtime: request
//! client -> runtime: file descriptor
//! runtime -> client: reply
//! client -> runtime: close"
//! );
//! ```
#![forbid(unsafe_code)]

mod reply_deadline;
mod step;
mod stream_end;

pub use reply_deadline::Deadline;
pub use step::{Connection, Speaker, Step, What};
pub use stream_end::StreamEnd;

use core::fmt;
use core::time::Duration;

use crate::command::Command;
use crate::message::eventpipe::SessionType;

/// A row of the table.
///
/// ```
/// use dotnet_diagnostics_ipc::{command::Command, flow::{Connection, Flow, Speaker, What}};
///
/// let flow = Flow::of(Command::COLLECT_TRACING2, None).unwrap();
/// let stop = flow.steps.iter().find(|step| step.what == What::StopRequest).unwrap();
/// assert_eq!((stop.speaker, stop.connection), (Speaker::Client, Connection::Second));
/// assert_eq!(flow.closes(), Some(Speaker::Runtime));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Flow {
    /// A word for it.
    pub name: &'static str,
    /// What happens, in order. Errors cut it short after the reply.
    pub steps: &'static [Step],
    /// How long the reply may take.
    pub reply: Deadline,
    /// Where the document prints it, or does not.
    pub section: &'static str,
}

const fn on(connection: Connection, speaker: Speaker, what: What) -> Step {
    Step { speaker, what, connection, optional: false }
}

const fn client(what: What) -> Step {
    on(Connection::First, Speaker::Client, what)
}

const fn runtime(what: What) -> Step {
    on(Connection::First, Speaker::Runtime, what)
}

const fn maybe(step: Step) -> Step {
    Step { optional: true, ..step }
}

const SHORT: Deadline = Deadline::Within(Duration::from_secs(5));

impl Flow {
    /// The document's diagram: a request, a reply, and perhaps something more.
    pub const GENERAL: Self = Self {
        name: "general",
        steps: &[
            client(What::Request),
            runtime(What::Reply),
            maybe(on(Connection::First, Speaker::Either, What::Continuation)),
            on(Connection::First, Speaker::Either, What::Close),
        ],
        reply: SHORT,
        section: "General Flow",
    };

    /// Commands that are asked and answered.
    pub const ASK: Self = Self {
        name: "ask",
        steps: &[client(What::Request), runtime(What::Reply), runtime(What::Close)],
        reply: SHORT,
        section: "General Flow",
    };

    /// Dumps: as [`ASK`](Self::ASK), but the reply comes once the dump is written. A second reply can follow (F-81).
    pub const DUMP: Self =
        Self { name: "dump", reply: Deadline::Within(Duration::from_secs(600)), section: "CreateCoreDump", ..Self::ASK };

    /// Attaching a profiler: as [`ASK`](Self::ASK), but the reply comes once it is attached, or its own time-out is over.
    pub const ATTACH: Self =
        Self { name: "attach", reply: Deadline::AttachTimeoutAnd(Duration::from_secs(5)), section: "AttachProfiler", ..Self::ASK };

    /// `StopTracing`, by itself: always on another connection than the stream's.
    pub const STOP: Self =
        Self { name: "stop", reply: Deadline::OnceDrained(Duration::from_secs(30)), section: "StopTracing", ..Self::ASK };

    /// A session that streams. The stop's reply and the stream's end come in either order (F-76).
    pub const STREAM: Self = Self {
        name: "stream",
        steps: &[
            client(What::Request),
            runtime(What::Reply),
            runtime(What::Stream),
            on(Connection::Second, Speaker::Client, What::StopRequest),
            on(Connection::Second, Speaker::Runtime, What::StopReply),
            runtime(What::Close),
        ],
        reply: SHORT,
        section: "General Flow, the example for EventPipe",
    };

    /// A session that writes `user_events`: the descriptor goes before the reply (F-19), the connection holds the session
    /// (F-23).
    pub const USER_EVENTS: Self = Self {
        name: "user_events",
        steps: &[client(What::Request), client(What::FileDescriptor), runtime(What::Reply), client(What::Close)],
        reply: SHORT,
        section: "CollectTracing5, passing_file_descriptor (printed with the reply first)",
    };

    /// The environment.
    pub const ENVIRONMENT: Self = Self {
        name: "environment",
        steps: &[client(What::Request), runtime(What::Reply), runtime(What::EnvironmentBlock), runtime(What::Close)],
        reply: SHORT,
        section: "ProcessEnvironment",
    };

    /// A diagnostic port: the runtime connects, and once the connection is used, connects again.
    pub const PORT: Self = Self {
        name: "port",
        steps: &[
            runtime(What::Connect),
            runtime(What::Advertise),
            client(What::Request),
            runtime(What::Reply),
            maybe(on(Connection::First, Speaker::Either, What::Continuation)),
            on(Connection::Next, Speaker::Runtime, What::Connect),
            on(Connection::Next, Speaker::Runtime, What::Advertise),
        ],
        reply: SHORT,
        section: "Dataflow",
    };

    /// The protocol before this one: bare numbers in place of messages.
    pub const OLD: Self = Self {
        name: "old",
        steps: &[
            client(What::OldRequest),
            runtime(What::OldReply),
            runtime(What::Stream),
            on(Connection::Second, Speaker::Client, What::OldRequest),
            on(Connection::Second, Speaker::Runtime, What::OldReply),
            runtime(What::Close),
        ],
        reply: SHORT,
        section: "Current Implementation (OLD)",
    };

    /// Every row.
    pub const ALL: &'static [Self] = &[
        Self::GENERAL,
        Self::ASK,
        Self::DUMP,
        Self::ATTACH,
        Self::STOP,
        Self::STREAM,
        Self::USER_EVENTS,
        Self::ENVIRONMENT,
        Self::PORT,
        Self::OLD,
    ];

    /// The row of a command; of `CollectTracing5` and `6` for the session type of the request, which must then be given.
    ///
    /// `None` for commands that are not known, and for session types that there are not.
    pub fn of(command: Command, session_type: Option<SessionType>) -> Option<Self> {
        Some(match (command, session_type) {
            (Command::GENERATE_CORE_DUMP | Command::GENERATE_CORE_DUMP2 | Command::GENERATE_CORE_DUMP3, _) => Self::DUMP,
            (Command::ATTACH_PROFILER, _) => Self::ATTACH,
            (Command::STOP_TRACING, _) => Self::STOP,
            (Command::COLLECT_TRACING | Command::COLLECT_TRACING2 | Command::COLLECT_TRACING3 | Command::COLLECT_TRACING4, _)
            | (Command::COLLECT_TRACING5 | Command::COLLECT_TRACING6, Some(SessionType::STREAMING)) => Self::STREAM,
            (Command::COLLECT_TRACING5 | Command::COLLECT_TRACING6, Some(SessionType::USER_EVENTS)) => Self::USER_EVENTS,
            (Command::COLLECT_TRACING5 | Command::COLLECT_TRACING6, _) => return None,
            (Command::PROCESS_ENVIRONMENT, _) => Self::ENVIRONMENT,
            (command, _) => return command.reply_type().map(|_| Self::ASK),
        })
    }

    /// Who closes the connection on which the request goes, where nothing goes wrong.
    pub fn closes(&self) -> Option<Speaker> {
        let close = self.steps.iter().find(|step| step.what == What::Close && step.connection == Connection::First);
        close.map(|step| step.speaker)
    }
}

/// A line a step.
impl fmt::Display for Flow {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (nth, step) in self.steps.iter().enumerate() {
            let newline = if nth == 0 { "" } else { "\n" };
            write!(f, "{newline}{}: {}", step.speaker, step.what)?;
            f.write_str(match step.connection {
                Connection::First => "",
                Connection::Second => ", on a second connection",
                Connection::Next => ", on the next connection",
            })?;
            if step.optional {
                f.write_str(" (if any)")?;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    extern crate std;
    use super::*;
    use crate::command::Continuation;
    use std::string::ToString;

    #[test]
    fn every_command_has_a_row_that_fits_what_follows_its_reply() {
        for command in Command::known() {
            let types: &[_] = match command.continuation() {
                Some(Continuation::BySessionType) => &[Some(SessionType::STREAMING), Some(SessionType::USER_EVENTS)],
                _ => &[None],
            };
            for session_type in types {
                let flow = Flow::of(command, *session_type).unwrap();
                let has = |what| flow.steps.iter().any(|step| step.what == what);
                let continuation = match (command.continuation().unwrap(), session_type) {
                    (Continuation::BySessionType, Some(SessionType::STREAMING)) => Continuation::Nettrace,
                    (Continuation::BySessionType, _) => Continuation::UserEvents,
                    (continuation, _) => continuation,
                };
                assert_eq!(has(What::Stream), continuation == Continuation::Nettrace, "{command}");
                assert_eq!(has(What::EnvironmentBlock), continuation == Continuation::EnvironmentBlock, "{command}");
                assert_eq!(has(What::FileDescriptor), continuation == Continuation::UserEvents, "{command}");
                let closes = if continuation == Continuation::UserEvents { Speaker::Client } else { Speaker::Runtime };
                assert_eq!(flow.closes(), Some(closes), "{command}");
            }
        }
    }

    #[test]
    fn what_is_not_known_has_no_row() {
        assert_eq!(Flow::of(Command::from_code(0x6301), None), None);
        assert_eq!(Flow::of(Command::COLLECT_TRACING5, None), None);
        assert_eq!(Flow::of(Command::COLLECT_TRACING5, Some(SessionType(2))), None);
    }

    #[test]
    fn the_general_flow_is_the_three_arrows_of_the_document() {
        let arrows = "client -> runtime: request\nruntime -> client: reply\nclient <-> runtime: continuation (if any)\n";
        assert!(Flow::GENERAL.to_string().starts_with(arrows), "{}", Flow::GENERAL);
    }

    #[test]
    fn a_session_is_stopped_on_a_second_connection() {
        let second: std::vec::Vec<_> = Flow::STREAM.steps.iter().filter(|step| step.connection == Connection::Second).collect();
        assert_eq!(second.iter().map(|step| step.what).collect::<std::vec::Vec<_>>(), [What::StopRequest, What::StopReply]);
    }

    #[test]
    fn slow_commands_have_time() {
        let deadline = |command| Flow::of(command, None).unwrap().reply;
        assert_eq!(deadline(Command::GENERATE_CORE_DUMP3), Deadline::Within(Duration::from_secs(600)));
        assert_eq!(deadline(Command::ATTACH_PROFILER), Deadline::AttachTimeoutAnd(Duration::from_secs(5)));
        assert_eq!(deadline(Command::PROCESS_INFO3), Deadline::Within(Duration::from_secs(5)));
    }
}
