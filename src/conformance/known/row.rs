//! The shape of the table: under which condition which builds do what.

use core::mem::discriminant;

use super::builds::{Build, Builds};
use super::{Family, Profile};
use crate::command::Command;
use crate::exchange::RefusalReason;
use crate::header::{HEADER_LEN, Header};
use crate::hresult::HResult;
use crate::message::process::SetEnvironmentVariable;
use crate::message::{AnyRequest, Message};
use crate::wire::{DecodeErrorKind, Encode as _, Field, LimitKind, Path};

/// One thing that runtimes are known to do, where the document says something else.
#[derive(Debug)]
pub(in crate::conformance) struct Row {
    /// Its number in `spec/ERRATA.md`.
    pub(in crate::conformance) fact: &'static str,
    /// Which part of a runtime does it.
    pub(in crate::conformance) layer: Layer,
    /// Of which builds it is known.
    pub(in crate::conformance) builds: Builds,
    /// With which requests.
    pub(in crate::conformance) when: When,
    /// What it does.
    pub(in crate::conformance) does: Does,
    /// The same in words.
    pub(in crate::conformance) text: &'static str,
    /// Whether it is a fault of the runtime that a right request shows: it fails, by its name.
    pub(in crate::conformance) fault: bool,
}

/// Which part of a runtime something belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::conformance) enum Layer {
    /// The diagnostic server of a version, which all families share.
    Server,
    /// What a platform has in place of `CoreCLR`'s on Unix.
    Platform(Platform),
    /// The program, how it was published, and what lies beside it: any program of the row's builds may do so, and these did.
    Host(Builds),
}

/// A platform on which the server stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::conformance) enum Platform {
    /// Programs compiled ahead of time.
    NativeAot,
    /// `CoreCLR` on Windows.
    Windows,
}

/// With which requests something happens.
#[derive(Clone, Copy, Debug)]
pub(in crate::conformance) struct When {
    /// The commands.
    pub(in crate::conformance) commands: &'static [Commands],
    /// What is special about the request.
    pub(in crate::conformance) shape: Shape,
    /// Only with what a vector marks as harmful, and with mutations of a campaign.
    pub(in crate::conformance) harmful: bool,
}

/// Commands.
#[derive(Clone, Copy, Debug)]
pub(in crate::conformance) enum Commands {
    /// All but these.
    AllBut(&'static [Command]),
    /// All of a command set, also those that nobody knows.
    Set(u8),
    /// One.
    One(Command),
}

/// What is special about a request.
#[derive(Clone, Copy, Debug)]
pub(in crate::conformance) enum Shape {
    /// Nothing.
    Any,
    /// It is right.
    Right,
    /// It is right, or wrong in its values alone.
    Parsed,
    /// It is right, and deletes a variable.
    Deletion,
    /// It is right, and sets a variable of a name that no libc takes: an empty one, or with an equals sign.
    OddName,
    /// It is right, and names a dump that is not a full one.
    PartialDump,
    /// It is right, and names a dump that cannot be written there.
    UnwritableDump,
    /// It is right, names a startup hook that cannot be loaded, and the runtime runs.
    MissingHook,
    /// The same, and the runtime is suspended.
    MissingHookSuspended,
    /// It is right, and the runtime is suspended.
    Suspended,
    /// It arrives in more than one piece.
    Pieces,
    /// Its command is unknown.
    UnknownCommand,
    /// It is malformed, and has no payload.
    NoPayload,
    /// It is right, and bytes follow it.
    BytesAfter,
    /// It is right, and its payload goes on behind the last field.
    Surplus,
    /// A field goes on behind the end of the payload, or has no end.
    OverRead,
    /// A string or an array counts more than the rest of the payload holds, and at least this.
    Count(u32),
    /// The same of a count in this field.
    CountIn(Field, u32),
    /// The payload ends in or before this field, or a count in it is too large.
    CutIn(Field),
    /// The payload ends in a provider's event filter, or before it.
    FilterCut,
    /// The payload ends before this field.
    Without(Field),
    /// It is beyond one of these limits, whatever the number.
    Beyond(&'static [LimitKind]),
    /// No descriptor follows it.
    NoDescriptor,
    /// No request shows it: the text of a configuration, a stream that nobody reads. Vectors and scripts of it name the row's fact.
    Told,
}

/// What a runtime does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::conformance) enum Does {
    /// Its process ends.
    Dies,
    /// It answers this error, and closes.
    Refuses(HResult),
    /// It answers this, and leaves the connection open.
    LeavesOpen(HResult),
    /// It takes what is malformed, whatever the result is.
    Takes,
    /// It sends bytes without a header.
    NoHeader,
    /// It sends nothing, and waits.
    Waits,
    /// It says OK, and does nothing.
    Pretends,
}

/// A request, as far as what a runtime does with it may depend on it.
#[derive(Clone, Copy, Debug)]
#[allow(clippy::struct_excessive_bools, reason = "each is a shape of its own")]
pub(in crate::conformance) struct Request {
    pub(in crate::conformance) command: Command,
    /// Why a server refuses it, if it does.
    pub(in crate::conformance) reason: Option<RefusalReason>,
    /// The field at fault, where it does not decode.
    pub(in crate::conformance) path: Option<Path>,
    pub(in crate::conformance) has_payload: bool,
    /// Bytes follow that do not belong to it.
    pub(in crate::conformance) is_followed: bool,
    /// Bytes of its payload follow the last field.
    pub(in crate::conformance) has_surplus: bool,
    pub(in crate::conformance) in_pieces: bool,
    pub(in crate::conformance) is_harmful: bool,
    /// What it does to a variable, if it does.
    pub(in crate::conformance) variable: Variable,
    pub(in crate::conformance) is_partial_dump: bool,
    pub(in crate::conformance) is_unwritable_dump: bool,
    pub(in crate::conformance) has_missing_hook: bool,
    /// The runtime is suspended.
    pub(in crate::conformance) is_suspended: bool,
}

/// What a request does to a variable of the environment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(in crate::conformance) enum Variable {
    /// It sets one, or does something else.
    #[default]
    Plain,
    /// It deletes one.
    Deletion,
    /// It sets one of a name that is empty, or has an equals sign.
    OddName,
}

impl Variable {
    /// What this one does.
    pub(in crate::conformance) fn of(request: &SetEnvironmentVariable<'_>) -> Self {
        let SetEnvironmentVariable { name, value } = request;
        let name = || name.units().take_while(|unit| *unit != 0);
        if value.is_absent() {
            Self::Deletion
        } else if name().next().is_none() || name().any(|unit| unit == u16::from(b'=')) {
            Self::OddName
        } else {
            Self::Plain
        }
    }
}

impl Request {
    /// One that is right.
    pub(in crate::conformance) const fn right(command: Command) -> Self {
        Self {
            command,
            reason: None,
            path: None,
            has_payload: true,
            is_followed: false,
            has_surplus: false,
            in_pieces: false,
            is_harmful: false,
            variable: Variable::Plain,
            is_partial_dump: false,
            is_unwritable_dump: false,
            has_missing_hook: false,
            is_suspended: false,
        }
    }

    /// One that a server refuses for this reason.
    #[cfg(unix)]
    pub(in crate::conformance) const fn refused(command: Command, reason: RefusalReason) -> Self {
        Self { reason: Some(reason), ..Self::right(command) }
    }

    /// What `wire` is, which was sent as `command`. A server never reads the bytes behind the size (F-70).
    pub(in crate::conformance) fn of(command: Command, wire: &[u8]) -> Self {
        let size = Header::decode(wire).map_or(wire.len(), |header| header.size.into());
        let is_followed = size < wire.len();
        let wire = wire.get(..size).unwrap_or(wire);
        let offset = |offset: usize| u32::try_from(offset).unwrap_or(u32::MAX);
        let has_payload = wire.len() > HEADER_LEN;
        let request = Message::decode(wire).and_then(|message| message.request());
        let (reason, path) = match &request {
            Err(error) => {
                let reason = RefusalReason::Malformed { kind: error.kind(), offset: offset(error.offset()) };
                (Some(reason), Some(error.path()))
            }
            Ok(request) if request.command().since().is_none() => (Some(RefusalReason::UnknownCommand { command }), None),
            Ok(request) => {
                let limit = request.check_limits().err();
                (limit.map(|limit| RefusalReason::OverLimit { kind: limit.kind(), offset: offset(limit.offset()) }), None)
            }
        };
        let needed = request.as_ref().ok().and_then(|request| request.encoded_len().ok());
        let has_surplus = needed.is_some_and(|needed| wire.len().saturating_sub(HEADER_LEN) > needed);
        let variable = match &request {
            Ok(AnyRequest::SetEnvironmentVariable(request)) => Variable::of(request),
            _ => Variable::Plain,
        };
        // A file that a message of vectors or of a campaign names is nowhere.
        let has_missing_hook = matches!(&request, Ok(AnyRequest::ApplyStartupHook(_)));
        Self { reason, path, has_payload, is_followed, has_surplus, variable, has_missing_hook, ..Self::right(command) }
    }
}

/// What was seen of a request.
#[derive(Clone, Copy, Debug)]
pub(in crate::conformance) struct Seen {
    pub(in crate::conformance) answer: Answer,
    /// The process ended.
    pub(in crate::conformance) died: bool,
    /// The connection stayed open behind the answer.
    pub(in crate::conformance) left_open: bool,
    /// The answer, or what follows it, is malformed.
    pub(in crate::conformance) wrong: bool,
}

/// The answer to a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::conformance) enum Answer {
    Ok,
    Error(HResult),
    NoHeader,
    Nothing,
    /// Part of a message, or the end.
    Other,
}

impl Row {
    /// Whether it is known of a target. Nothing is known of what was never seen.
    pub(super) fn is_of(&self, profile: Profile) -> bool {
        let is_there = match self.layer {
            Layer::Server => true,
            Layer::Host(_) => profile.family() == Family::CoreClr,
            Layer::Platform(Platform::NativeAot) => profile.family() == Family::NativeAot,
            Layer::Platform(Platform::Windows) => cfg!(windows) && profile.family() == Family::CoreClr,
        };
        is_there && profile.is_seen() && covers(self.builds, profile)
    }

    /// Whether the program that was recorded of a build does so.
    pub(super) fn is_done_by(&self, profile: Profile) -> bool {
        match self.layer {
            Layer::Host(programs) => self.is_of(profile) && covers(programs, profile),
            Layer::Server | Layer::Platform(_) => self.is_of(profile),
        }
    }

    /// Whether it belongs to a platform, and stands in place of what the server does elsewhere.
    pub(super) const fn is_of_a_platform(&self) -> bool {
        matches!(self.layer, Layer::Platform(_))
    }

    /// Whether what was seen is what it says.
    pub(super) fn explains(&self, request: &Request, seen: &Seen) -> bool {
        let Seen { answer, died, left_open, wrong } = *seen;
        let is_taken = match answer {
            Answer::Ok => true,
            Answer::Error(hresult) => ![HResult::BAD_ENCODING, HResult::UNKNOWN_MAGIC].contains(&hresult),
            _ => false,
        };
        let is_over_limit = matches!(request.reason, Some(RefusalReason::OverLimit { .. }));
        let is_answer = |hresult| if hresult == HResult::OK { answer == Answer::Ok } else { answer == Answer::Error(hresult) };
        self.when.fits(request)
            && match self.does {
                Does::Dies => died,
                Does::Refuses(hresult) => is_answer(hresult) && !left_open && !died && !wrong,
                Does::LeavesOpen(hresult) => is_answer(hresult) && left_open && !wrong,
                Does::Takes => {
                    is_taken && (request.reason.is_some() || request.is_followed) && !wrong && !(is_over_limit && left_open)
                }
                Does::NoHeader => answer == Answer::NoHeader,
                Does::Waits => answer == Answer::Nothing,
                Does::Pretends => answer == Answer::Ok,
            }
    }
}

impl When {
    /// Whether a request is one of these.
    pub(super) fn fits(&self, request: &Request) -> bool {
        let is_command = |one: &Commands| match one {
            Commands::AllBut(others) => !others.contains(&request.command),
            Commands::Set(set) => request.command.set == *set,
            Commands::One(command) => request.command == *command,
        };
        (request.is_harmful || !self.harmful) && self.commands.iter().any(is_command) && self.shape.fits(request)
    }
}

impl Shape {
    fn fits(self, request: &Request) -> bool {
        use RefusalReason as Reason;
        let malformed = match request.reason {
            Some(Reason::Malformed { kind, .. }) => Some(kind),
            _ => None,
        };
        let in_field = |field| request.path.is_some_and(|path| path.contains(field));
        let is_cut = matches!(malformed, Some(DecodeErrorKind::UnexpectedEnd { .. } | DecodeErrorKind::CountTooLarge { .. }));
        match self {
            Self::Any => true,
            Self::Right => request.reason.is_none(),
            Self::Parsed => matches!(request.reason, None | Some(Reason::OverLimit { .. } | Reason::TooManyProviders { .. })),
            Self::Deletion => request.reason.is_none() && request.variable == Variable::Deletion,
            Self::OddName => request.reason.is_none() && request.variable == Variable::OddName,
            Self::PartialDump => request.reason.is_none() && request.is_partial_dump,
            Self::UnwritableDump => request.reason.is_none() && request.is_unwritable_dump,
            Self::MissingHook => request.reason.is_none() && request.has_missing_hook && !request.is_suspended,
            Self::MissingHookSuspended => request.reason.is_none() && request.has_missing_hook && request.is_suspended,
            Self::Suspended => request.reason.is_none() && request.is_suspended,
            Self::Pieces => request.in_pieces,
            Self::UnknownCommand => matches!(request.reason, Some(Reason::UnknownCommand { .. })),
            Self::NoPayload => malformed.is_some() && !request.has_payload,
            Self::BytesAfter => request.reason.is_none() && request.is_followed,
            Self::OverRead => is_cut || matches!(malformed, Some(DecodeErrorKind::MissingTerminator { .. })),
            Self::Count(least) => matches!(malformed, Some(DecodeErrorKind::CountTooLarge { count, .. }) if count >= least),
            Self::Surplus => request.reason.is_none() && request.has_surplus,
            Self::CountIn(field, least) => Self::Count(least).fits(request) && in_field(field),
            Self::CutIn(field) => is_cut && in_field(field),
            Self::FilterCut => malformed.is_some_and(|kind| match kind {
                DecodeErrorKind::UnexpectedEnd { .. } => in_field(Field::Filter),
                // What a message can hold, and this one does not.
                DecodeErrorKind::CountTooLarge { count, .. } if in_field(Field::Filter) => count <= MOST_IDS,
                _ => fits_without_filters(kind),
            }),
            Self::Without(field) => {
                matches!(malformed, Some(DecodeErrorKind::UnexpectedEnd { remaining: 0, .. })) && in_field(field)
            }
            Self::Beyond(limits) => {
                let kind = match request.reason {
                    Some(Reason::OverLimit { kind, .. }) => Some(kind),
                    Some(Reason::TooManyProviders { found, .. }) => Some(LimitKind::TooManyProviders(found)),
                    _ => None,
                };
                kind.is_some_and(|kind| limits.iter().any(|limit| discriminant(limit) == discriminant(&kind)))
            }
            Self::NoDescriptor => matches!(request.reason, Some(Reason::NoDescriptor)),
            Self::Told => false,
        }
    }
}

/// Whether some of the builds is the profile's, or one of its version.
fn covers(builds: Builds, profile: Profile) -> bool {
    let Some(version) = profile.version() else { return true };
    let of = |patch| Build::new(version.major, version.minor, patch);
    let (first, last) = profile.build().map_or((of(0), of(u16::MAX)), |build| (build, build));
    builds.iter().any(|range| *range.start() <= last && first <= *range.end())
}

/// More event ids than that no message holds.
const MOST_IDS: u32 = 16_384;

/// Whether the rest of the payload holds so many providers only if they have no filter: they have 20 bytes at least, and 25 with one.
fn fits_without_filters(kind: DecodeErrorKind) -> bool {
    let DecodeErrorKind::CountTooLarge { count, remaining } = kind else { return false };
    let bytes = |each: u32| count.saturating_mul(each);
    count > 0 && (bytes(20)..bytes(25)).contains(&remaining)
}
