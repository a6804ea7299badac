//! The structure of the table: conditions, builds, behaviour.

use std::mem::discriminant;

use dotnet_diagnostics_ipc::command::Command;
use dotnet_diagnostics_ipc::exchange::RefusalReason;
use dotnet_diagnostics_ipc::header::{HEADER_LEN, Header};
use dotnet_diagnostics_ipc::hresult::HResult;
use dotnet_diagnostics_ipc::message::process::SetEnvironmentVariable;
use dotnet_diagnostics_ipc::message::{AnyRequest, Message};
use dotnet_diagnostics_ipc::wire::{Encode as _, IpcString, WireErrorKind};

use super::nearest::{nearest, showing};
use super::profile::{Platform, Profile};
use crate::conversation::ReplyKind;

/// A known behaviour of runtimes that differs from the document.
#[derive(Debug)]
pub(crate) struct Row {
    /// The number in `spec/ERRATA.md`.
    pub(crate) fact: &'static str,
    /// The part of a runtime that behaves like this.
    pub(crate) layer: Layer,
    pub(crate) commands: Commands,
    /// The property of the requests that it applies to.
    pub(crate) shape: Shape,
    /// Whether it applies only to requests marked as harmful, and to mutations of a campaign.
    pub(crate) harmful: bool,
    pub(crate) does: Does,
    /// A description of the behaviour.
    pub(crate) text: &'static str,
    /// Whether this is a fault that a valid request shows. It is a failure, with this name.
    pub(crate) fault: bool,
}

/// The part of a runtime that a behaviour belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Layer {
    /// The diagnostic server of a version, which all families share.
    Server,
    /// These platforms' replacement for what the server does on others.
    Platform(&'static [Platform]),
    /// The program, how it was published, and its neighbouring files. Any program of the row's
    /// versions may behave like this.
    Host,
}

#[derive(Clone, Copy, Debug)]
pub(crate) enum Commands {
    /// All commands, including unknown ones.
    All,
    /// All commands of a command set, including unknown ones.
    Set(u8),
    Of(&'static [Command]),
}

#[derive(Clone, Copy, Debug)]
pub(crate) enum Shape {
    Any,
    Right,
    /// The request is valid, or wrong only in its values.
    Parsed,
    /// The request has one of these quirks, and is valid except for an absent name of a variable.
    With(&'static [Quirk]),
    /// The request is valid, and the runtime is suspended.
    Suspended,
    /// The request arrives in more than one piece.
    Pieces,
    UnknownCommand,
    /// The request is valid, and bytes follow it.
    BytesAfter,
    /// The request is valid, and its payload continues after the last field.
    Surplus,
    /// The payload ends early: a field, or what a count announces, extends beyond the end, or a
    /// string has no end.
    EndsEarly,
    /// The request exceeds one of these limits, whatever the number.
    Beyond(&'static [WireErrorKind]),
    /// No descriptor follows the request.
    NoDescriptor,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Does {
    Dies,
    /// The runtime answers with this error, and closes the connection.
    Refuses(HResult),
    /// The runtime answers with this, and leaves the connection open.
    LeavesOpen(HResult),
    /// The runtime accepts malformed bytes, whatever the result.
    Accepts,
    NoHeader,
    /// The behaviour is undefined, so anything matches.
    Anything,
}

/// The properties of a request that a runtime's reaction may depend on.
#[derive(Clone, Copy, Debug)]
#[allow(clippy::struct_excessive_bools, reason = "each is a shape of its own")]
pub(crate) struct Request {
    pub(crate) command: Command,
    /// Why a server refuses the request, if it does.
    pub(crate) reason: Option<RefusalReason>,
    /// Whether bytes follow that are not part of the request.
    pub(crate) is_followed: bool,
    /// Whether bytes of the payload follow the last field.
    pub(crate) has_surplus: bool,
    pub(crate) in_pieces: bool,
    pub(crate) is_harmful: bool,
    pub(crate) detail: Quirk,
    pub(crate) is_suspended: bool,
}

/// A value in a request that a runtime's reaction may depend on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Quirk {
    /// Any other value.
    #[default]
    Plain,
    /// The request sets or deletes a variable whose name is absent.
    AbsentName,
    Deletion,
    /// The request sets a variable with an empty name.
    NoName,
    /// The request sets a variable whose name begins with an equals sign.
    EqualsFirst,
    /// The request sets a variable whose name contains a later equals sign.
    EqualsWithin,
    /// The request deletes a variable whose name no libc accepts: empty, or with an equals sign.
    OddDeletion,
    /// The request attaches a profiler whose path is absent or empty.
    NoProfilerPath,
    /// The request names a dump with a non-ASCII character.
    ForeignDumpName,
    /// The request names a startup hook that cannot be loaded, and the runtime has started.
    MissingHook,
}

impl Quirk {
    fn of(request: &AnyRequest<'_>) -> Self {
        let of_dump = |name: &IpcString<'_>| {
            if name.units().any(|unit| unit > 0x7f) { Self::ForeignDumpName } else { Self::Plain }
        };
        match request {
            AnyRequest::SetEnvironmentVariable(request) => Self::of_variable(request),
            AnyRequest::GenerateCoreDump(request) => of_dump(&request.dump_name),
            AnyRequest::GenerateCoreDump2(request) => of_dump(&request.dump_name),
            AnyRequest::GenerateCoreDump3(request) => of_dump(&request.dump_name),
            AnyRequest::AttachProfiler(request) if request.profiler_path.is_empty_to_runtimes() => {
                Self::NoProfilerPath
            }
            // A file named by a vector or a campaign does not exist. An empty path names no file
            // (P-1).
            AnyRequest::ApplyStartupHook(request)
                if !request.startup_hook_path.is_empty_to_runtimes() =>
            {
                Self::MissingHook
            }
            _ => Self::Plain,
        }
    }

    pub(crate) fn of_variable(request: &SetEnvironmentVariable<'_>) -> Self {
        let mut name = request.name.units().take_while(|unit| *unit != 0);
        let first = name.next();
        let equals = |unit| unit == u16::from(b'=');
        match (first, request.value.is_absent()) {
            (None, false) => Self::NoName,
            (Some(first), false) if equals(first) => Self::EqualsFirst,
            (Some(_), false) if name.any(equals) => Self::EqualsWithin,
            (Some(_), false) => Self::Plain,
            (first, true) if first.is_none_or(equals) || name.any(equals) => Self::OddDeletion,
            (_, true) => Self::Deletion,
        }
    }
}

impl Request {
    pub(crate) const fn right(command: Command) -> Self {
        Self {
            command,
            reason: None,
            is_followed: false,
            has_surplus: false,
            in_pieces: false,
            is_harmful: false,
            detail: Quirk::Plain,
            is_suspended: false,
        }
    }

    /// Returns a request that a server refuses for this reason.
    pub(crate) const fn refused(command: Command, reason: RefusalReason) -> Self {
        Self { reason: Some(reason), ..Self::right(command) }
    }

    /// Returns the decoded request `wire`, sent as `command`. Bytes after the size are never read
    /// (F-70).
    pub(crate) fn of(command: Command, wire: &[u8]) -> Self {
        let size = Header::decode(wire).map_or(wire.len(), |header| header.size.into());
        let is_followed = size < wire.len();
        let wire = wire.get(..size).unwrap_or(wire);
        let request = Message::decode(wire).and_then(|message| message.request());
        let reason = match &request {
            Err(error) => Some(RefusalReason::Malformed(*error)),
            Ok(request) if request.command().since().is_none() => {
                Some(RefusalReason::UnknownCommand { command })
            }
            Ok(request) => request.check_limits().err().map(RefusalReason::OverLimit),
        };
        let needed = request.as_ref().ok().and_then(|request| request.encoded_len().ok());
        let has_surplus =
            needed.is_some_and(|needed| wire.len().saturating_sub(HEADER_LEN) > needed);
        let detail = request.as_ref().map_or(Quirk::Plain, Quirk::of);
        Self { reason, is_followed, has_surplus, detail, ..Self::right(command) }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Effect {
    pub(crate) answer: ReplyKind,
    pub(crate) died: bool,
    /// Whether the connection stayed open after the answer.
    pub(crate) left_open: bool,
    /// Whether the answer, or its continuation, is malformed.
    pub(crate) wrong: bool,
}

impl Row {
    /// Returns the key of the row in `shown.json`.
    pub(super) fn key(&self) -> String {
        format!("{}: {}", self.fact, self.text)
    }

    fn shown_on(&self) -> &'static [Profile] {
        showing(&self.key())
    }

    /// Whether a target is known for this behaviour, because the nearest recorded builds show it.
    /// For a program's behaviour, it is enough that builds on both sides do.
    pub(super) fn is_of(&self, profile: Profile) -> bool {
        let shown = self.shown_on();
        match self.layer {
            Layer::Host => profile.is_within(shown),
            _ => nearest(profile).iter().any(|build| shown.contains(build)),
        }
    }

    /// Whether the recorded program of a build behaves like this.
    pub(super) fn is_done_by(&self, build: Profile) -> bool {
        self.layer != Layer::Host || self.shown_on().contains(&build)
    }

    /// Whether the row belongs to a platform, and replaces the server's behaviour there.
    pub(super) const fn is_of_a_platform(&self) -> bool {
        matches!(self.layer, Layer::Platform(_))
    }

    /// Whether the observation matches this row.
    pub(super) fn explains(&self, request: &Request, seen: &Effect) -> bool {
        let Effect { answer, died, left_open, wrong } = *seen;
        let is_taken = match answer {
            ReplyKind::Ok => true,
            ReplyKind::Error(hresult) => {
                ![HResult::BAD_ENCODING, HResult::UNKNOWN_MAGIC].contains(&hresult)
            }
            _ => false,
        };
        let is_over_limit = matches!(request.reason, Some(RefusalReason::OverLimit(_)));
        let does_it = match self.does {
            Does::Dies => died,
            // .NET 6 sends 0 as the code of an error (F-127).
            Does::Refuses(hresult) => {
                answer == ReplyKind::Error(hresult) && !left_open && !died && !wrong
            }
            Does::LeavesOpen(HResult::OK) => answer == ReplyKind::Ok && left_open && !wrong,
            Does::LeavesOpen(hresult) => answer == ReplyKind::Error(hresult) && left_open && !wrong,
            Does::Accepts => {
                is_taken
                    && (request.reason.is_some() || request.is_followed)
                    && !wrong
                    && !(is_over_limit && left_open)
            }
            Does::NoHeader => answer == ReplyKind::NoHeader,
            // A runtime that refuses the request has checked it.
            Does::Anything => died || answer != ReplyKind::Error(HResult::BAD_ENCODING),
        };
        does_it && self.fits(request)
    }

    /// Whether the row applies to a request.
    pub(super) fn fits(&self, request: &Request) -> bool {
        let is_command = match self.commands {
            Commands::All => true,
            Commands::Set(set) => request.command.set == set,
            Commands::Of(commands) => commands.contains(&request.command),
        };
        (request.is_harmful || !self.harmful) && is_command && self.shape.fits(request)
    }
}

impl Shape {
    fn fits(self, request: &Request) -> bool {
        use RefusalReason as Reason;
        let malformed = match request.reason {
            Some(Reason::Malformed(error)) => Some(error.kind()),
            _ => None,
        };
        match self {
            Self::Any => true,
            Self::Right => request.reason.is_none(),
            Self::Parsed => matches!(request.reason, None | Some(Reason::OverLimit(_))),
            Self::With(details) => match request.reason {
                None if request.is_suspended && request.detail == Quirk::MissingHook => false,
                None => details.contains(&request.detail),
                Some(Reason::OverLimit(error)) => {
                    error.kind() == WireErrorKind::AbsentName
                        && details.contains(&Quirk::AbsentName)
                }
                Some(_) => false,
            },
            Self::Suspended => request.reason.is_none() && request.is_suspended,
            Self::Pieces => request.in_pieces,
            Self::UnknownCommand => matches!(request.reason, Some(Reason::UnknownCommand { .. })),
            Self::BytesAfter => request.reason.is_none() && request.is_followed,
            Self::EndsEarly => matches!(
                malformed,
                Some(
                    WireErrorKind::UnexpectedEnd { .. }
                        | WireErrorKind::CountTooLarge { .. }
                        | WireErrorKind::MissingTerminator { .. }
                )
            ),
            Self::Surplus => request.reason.is_none() && request.has_surplus,
            Self::Beyond(limits) => matches!(request.reason, Some(Reason::OverLimit(error))
                if limits.iter().any(|limit| discriminant(limit) == discriminant(&error.kind()))),
            Self::NoDescriptor => matches!(request.reason, Some(Reason::NoDescriptor)),
        }
    }
}
