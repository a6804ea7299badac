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
    /// The part of a runtime with this behaviour.
    pub(crate) layer: Layer,
    pub(crate) commands: Commands,
    /// The special property of its requests.
    pub(crate) shape: Shape,
    /// Only with requests that a vector marks as harmful, and with mutations of a campaign.
    pub(crate) harmful: bool,
    pub(crate) does: Does,
    /// The behaviour in words.
    pub(crate) text: &'static str,
    /// Whether it is a fault that a valid request shows: it fails, by its name.
    pub(crate) fault: bool,
}

/// The part of a runtime that a behaviour belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Layer {
    /// The diagnostic server of a version, common to all families.
    Server,
    /// The platforms' replacement for what the server does on others.
    Platform(&'static [Platform]),
    /// The program, its publishing, and its neighbouring files: any program of the row's versions
    /// may behave like this.
    Host,
}

#[derive(Clone, Copy, Debug)]
pub(crate) enum Commands {
    /// All, including unknown ones.
    All,
    /// All of a command set, including unknown ones.
    Set(u8),
    Of(&'static [Command]),
}

#[derive(Clone, Copy, Debug)]
pub(crate) enum Shape {
    Any,
    Right,
    /// It is valid, or wrong only in its values.
    Parsed,
    /// It has one of these details, and is valid but for an absent name of a variable.
    With(&'static [Quirk]),
    /// It is valid, and the runtime is suspended.
    Suspended,
    /// It arrives in more than one piece.
    Pieces,
    UnknownCommand,
    /// It is valid, and bytes follow it.
    BytesAfter,
    /// It is valid, and its payload continues after the last field.
    Surplus,
    /// The payload ends early: a field, or what a count announces, continues after the end, or a
    /// string has no end.
    EndsEarly,
    /// It exceeds one of these limits, whatever the number.
    Beyond(&'static [WireErrorKind]),
    /// No descriptor follows it.
    NoDescriptor,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Does {
    Dies,
    /// It answers with this error, and closes.
    Refuses(HResult),
    /// It answers with this, and leaves the connection open.
    LeavesOpen(HResult),
    /// It accepts malformed bytes, whatever the result.
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
    /// Why a server refuses it, if it does.
    pub(crate) reason: Option<RefusalReason>,
    /// Bytes follow that are not part of it.
    pub(crate) is_followed: bool,
    /// Bytes of its payload follow the last field.
    pub(crate) has_surplus: bool,
    pub(crate) in_pieces: bool,
    pub(crate) is_harmful: bool,
    pub(crate) detail: Quirk,
    pub(crate) is_suspended: bool,
}

/// A value of a request that a runtime's reaction may depend on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Quirk {
    /// Any other value.
    #[default]
    Plain,
    /// It sets or deletes a variable whose name is absent.
    AbsentName,
    Deletion,
    /// It sets a variable with an empty name.
    NoName,
    /// It sets a variable whose name begins with an equals sign.
    EqualsFirst,
    /// It sets a variable whose name contains a later equals sign.
    EqualsWithin,
    /// It deletes a variable with a name that no libc accepts: empty, or with an equals sign.
    OddDeletion,
    /// It attaches a profiler without a path: absent or empty.
    NoProfilerPath,
    /// It names a dump with a non-ASCII character.
    ForeignDumpName,
    /// It names a startup hook that cannot be loaded, and the runtime has started.
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
            // A file named by a message of vectors or of a campaign does not exist. An empty path
            // names none (P-1).
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

    /// The decoded `wire`, sent as `command`. A server never reads the bytes after the size (F-70).
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
    /// The connection stayed open after the answer.
    pub(crate) left_open: bool,
    /// The answer, or its continuation, is malformed.
    pub(crate) wrong: bool,
}

impl Row {
    /// Returns the name in `shown.json`.
    pub(super) fn key(&self) -> String {
        format!("{}: {}", self.fact, self.text)
    }

    fn shown_on(&self) -> &'static [Profile] {
        showing(&self.key())
    }

    /// Whether a target is known for it: the recorded builds nearest to it behave like this, or for a
    /// program any builds around it.
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

    /// Whether it belongs to a platform, and replaces the server's behaviour there.
    pub(super) const fn is_of_a_platform(&self) -> bool {
        matches!(self.layer, Layer::Platform(_))
    }

    /// Whether the observation matches it.
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
            // .NET 6 gives 0 as the code of an error (F-127).
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
            // A runtime that refuses it has checked it.
            Does::Anything => died || answer != ReplyKind::Error(HResult::BAD_ENCODING),
        };
        does_it && self.fits(request)
    }

    /// Whether a request matches one of these.
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
