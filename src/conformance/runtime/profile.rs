//! What the reference runtime does as the runtime of its profile would: the table, asked for each request.

use crate::command::Command;
use crate::conformance::known::{Does, Layer, Profile, Request, Row, Variable, rows};
use crate::exchange::{RefusalReason, ServerOptions};
use crate::hresult::HResult;
use crate::message::{Message, dump::DumpType, process::SetEnvironmentVariable};

/// What becomes of a request that is right.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fate {
    /// As it should be.
    Done,
    /// This error.
    Refused(HResult),
    /// It is done, and the connection stays open.
    NotClosed,
    /// This error, and the connection stays open.
    RefusedNotClosed(HResult),
    /// The process dies.
    Dies,
}

impl Profile {
    /// As the exchange takes it.
    pub(super) fn options(self) -> ServerOptions {
        ServerOptions { commands: self.commands(), ..ServerOptions::DEFAULT }
    }

    /// What it answers to a request that the exchange refuses.
    pub(super) fn refusal(self, command: Option<Command>, reason: RefusalReason) -> HResult {
        let known = match (reason, command) {
            // Looked at before the payload.
            (RefusalReason::UnknownCommand { command }, _) => refusal_of(rows(self, Request::refused(command, reason))),
            (RefusalReason::OverLimit { .. }, Some(command)) => {
                let of_platform =
                    rows(self, Request::refused(command, reason)).filter(|row| matches!(row.layer, Layer::Platform(_)));
                refusal_of(of_platform)
            }
            _ => None,
        };
        known.unwrap_or_else(|| reason.hresult())
    }

    /// Whether the connection stays open behind that refusal.
    pub(super) fn stays_open(self, command: Option<Command>, reason: RefusalReason) -> bool {
        let command = match reason {
            RefusalReason::UnknownCommand { command } => Some(command),
            _ => command,
        };
        let leaves_open = Does::LeavesOpen(reason.hresult());
        command.is_some_and(|command| {
            rows(self, Request::refused(command, reason)).any(|row| row.layer == Layer::Server && row.does == leaves_open)
        })
    }

    /// Whether it dies of a request that the exchange refuses for `reason`.
    pub(super) fn dies_of(self, message: &Message<'_>, reason: RefusalReason) -> bool {
        let path = message.request().err().map(|error| error.path());
        let request = Request { path, has_payload: !message.payload.is_empty(), ..Request::refused(message.command, reason) };
        rows(self, request).any(|row| row.does == Does::Dies)
    }

    /// Whether it dies of a request that is right, while it is suspended.
    pub(super) fn dies_suspended(self, command: Command) -> bool {
        rows(self, Request { is_suspended: true, ..Request::right(command) }).any(|row| row.does == Does::Dies)
    }

    /// Whether it dies of a right request about a variable (F-95).
    pub(super) fn dies_of_variable(self, request: &SetEnvironmentVariable<'_>) -> bool {
        rows(self, of_variable(request)).any(|row| row.does == Does::Dies)
    }

    /// The error to a right request about a variable (F-96).
    pub(super) fn refuses_variable(self, request: &SetEnvironmentVariable<'_>) -> Option<HResult> {
        refusal_of(rows(self, of_variable(request)))
    }

    /// Whether it refuses a header or a payload that arrives in pieces.
    pub(super) fn refuses_pieces(self) -> bool {
        refusal_of(rows(self, Request { in_pieces: true, ..Request::right(Command::OK) })).is_some()
    }

    /// Whether it takes a request that the exchange refuses for `reason`.
    pub(super) fn takes(self, message: &Message<'_>, reason: RefusalReason) -> bool {
        let path = message.request().err().map(|error| error.path());
        rows(self, Request { path, ..Request::refused(message.command, reason) }).any(|row| row.does == Does::Takes)
    }

    /// The error for a request whose payload goes on behind its last field, where that is not passed over.
    pub(super) fn refuses_surplus(self, command: Command) -> Option<HResult> {
        let mut of_server =
            rows(self, Request { has_surplus: true, ..Request::right(command) }).filter(|row| row.layer == Layer::Server);
        refusal_of(&mut of_server)
    }

    /// Whether it says OK to the command, and does nothing.
    pub(super) fn pretends(self, command: Command) -> bool {
        rows(self, Request::right(command)).any(|row| row.does == Does::Pretends)
    }

    /// The error that its platform has for the command, however right the request is.
    pub(super) fn lacks(self, command: Command) -> Option<HResult> {
        refusal_of(rows(self, Request::right(command)).filter(|row| matches!(row.layer, Layer::Platform(_))))
    }

    /// What becomes of a dump.
    pub(super) fn dumps(self, dump_type: DumpType, is_unwritable_dump: bool) -> Fate {
        let is_partial_dump = dump_type != DumpType::FULL;
        self.fate(Request { is_partial_dump, is_unwritable_dump, ..Request::right(Command::GENERATE_CORE_DUMP) })
    }

    /// What becomes of a startup hook that cannot be loaded: at once, or after the resume.
    pub(super) fn misses_hook(self, is_suspended: bool) -> Fate {
        self.fate(Request { has_missing_hook: true, is_suspended, ..Request::right(Command::APPLY_STARTUP_HOOK) })
    }

    fn fate(self, request: Request) -> Fate {
        let mut of_host = rows(self, request).filter(|row| matches!(row.layer, Layer::Host(_)));
        let fate = |row: &Row| match row.does {
            Does::Dies => Some(Fate::Dies),
            Does::Refuses(hresult) => Some(Fate::Refused(hresult)),
            Does::LeavesOpen(HResult::OK) => Some(Fate::NotClosed),
            Does::LeavesOpen(hresult) => Some(Fate::RefusedNotClosed(hresult)),
            _ => None,
        };
        of_host.find_map(fate).unwrap_or(Fate::Done)
    }
}

fn of_variable(request: &SetEnvironmentVariable<'_>) -> Request {
    Request { variable: Variable::of(request), ..Request::right(Command::SET_ENVIRONMENT_VARIABLE) }
}

fn refusal_of(mut rows: impl Iterator<Item = &'static Row>) -> Option<HResult> {
    rows.find_map(|row| match row.does {
        Does::Refuses(hresult) => Some(hresult),
        _ => None,
    })
}
