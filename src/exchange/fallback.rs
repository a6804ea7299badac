//! Finds the older command for a request if the runtime does not have the newer one.
//!
//! | from | to | dropped fields |
//! |---|---|---|
//! | `CollectTracing6` | 5 | `sessionBufferMode`, unless the session drops events or writes `user_events` |
//! | `CollectTracing5` | 4 | `filter` of the providers, unless each is `enable = 0` without ids (F-17) |
//! | `CollectTracing4` | 3 | `rundownKeyword`, unless it is 0 or 0x80020139 |
//! | `CollectTracing3` | 2 | `requestStackwalk`, unless it is true, because 2 always takes stacks |
//! | `GenerateCoreDump3` | 2 | none, but an error has no text |
//! | `GenerateCoreDump2` | 1 | `flags`, unless they are 0 or 1 (log), which become `diagnostics` |
//! | `ProcessInfo3` | 2, then 1 | none, but the reply has fewer fields |
//!
//! A `user_events` session has no command below `CollectTracing5`. A filter with `enable = 0` and
//! ids excludes those ids, so dropping it changes the session.

use core::fmt;

use crate::command::{Command, Continuation};
use crate::hresult::HResult;
use crate::message::AnyRequest;
use crate::message::dump::{DumpFlags, GenerateCoreDump, GenerateCoreDump2};
use crate::message::eventpipe::{
    CollectTracing2, CollectTracing3, CollectTracing4, CollectTracing5, CollectTracing6,
    EventFilter, ProviderConfig, SessionBufferMode, StreamingProviderConfig, StreamingSession,
    request_rundown,
};
use crate::message::process::{ProcessInfo, ProcessInfo2};
use crate::wire::{Array, Encode, EncodeError, Field, Sink, WireError, clamp, count_of};

/// A request that steps down to older commands with the same purpose.
///
/// It steps down only after `UNKNOWN_COMMAND`, and only if the older command means the same or the
/// caller [allows](Self::allowing) the lost fields to be dropped. A refused command has had no
/// effect, because a runtime checks the command first (F-69). Each command needs a new connection.
///
/// Encoding it writes the payload of the current [`command`](Self::command), for
/// [`ClientExchange::with_payload`](super::ClientExchange::with_payload). Call [`check_limits`](Self::check_limits)
/// first, because older runtimes crash on more values than newer ones (F-72).
///
/// ```
/// use dotnet_diagnostics_ipc::command::Command;
/// use dotnet_diagnostics_ipc::exchange::fallback::{DroppedFields, Fallback};
/// use dotnet_diagnostics_ipc::hresult::HResult;
/// use dotnet_diagnostics_ipc::message::AnyRequest;
/// use dotnet_diagnostics_ipc::message::dump::{DumpFlags, DumpType, GenerateCoreDump3};
///
/// let flags = DumpFlags::LOGGING | DumpFlags::CRASH_REPORT;
/// let request = GenerateCoreDump3 { dump_name: "/tmp/d".into(), dump_type: DumpType::FULL, flags };
/// let mut fallback = Fallback::new(AnyRequest::GenerateCoreDump3(request));
/// assert_eq!(fallback.refused(HResult::UNKNOWN_COMMAND), Ok(DroppedFields::NONE));
/// assert_eq!(fallback.command(), Command::GENERATE_CORE_DUMP2);
/// let error = fallback.refused(HResult::UNKNOWN_COMMAND).unwrap_err();
/// assert_eq!(error.to_string(), "GenerateCoreDump2.flags: no older command has this field");
///
/// // The caller can do without the crash report.
/// let mut fallback = fallback.allowing(DroppedFields::DUMP_FLAGS);
/// assert_eq!(fallback.refused(HResult::UNKNOWN_COMMAND), Ok(DroppedFields::DUMP_FLAGS));
/// assert_eq!(fallback.command(), Command::GENERATE_CORE_DUMP);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fallback<'a> {
    newest: AnyRequest<'a>,
    /// The current request. Its providers are left out if those of `newest` have filters and the
    /// current command has none.
    request: AnyRequest<'a>,
    allowed: DroppedFields,
    dropped: DroppedFields,
}

impl<'a> Fallback<'a> {
    /// Returns a fallback that begins with `request` and drops no field.
    pub const fn new(request: AnyRequest<'a>) -> Self {
        let none = DroppedFields::NONE;
        Self { newest: request, request, allowed: none, dropped: none }
    }

    /// Allows these fields to be dropped as well.
    #[must_use]
    pub const fn allowing(mut self, fields: DroppedFields) -> Self {
        self.allowed = self.allowed.with(fields);
        self
    }

    /// Checks the values of the first request.
    ///
    /// # Errors
    /// Returns the errors of [`AnyRequest::check_limits`].
    pub fn check_limits(&self) -> Result<(), WireError> {
        self.newest.check_limits()
    }

    /// Returns the command to send now.
    pub fn command(&self) -> Command {
        self.request.command()
    }

    /// Returns what follows the OK reply, or `None` for an unknown command.
    pub fn continuation(&self) -> Option<Continuation> {
        self.request.continuation()
    }

    /// Returns the fields dropped so far.
    pub const fn dropped(&self) -> DroppedFields {
        self.dropped
    }

    /// Steps down after the error `hresult`, and returns the fields that this step drops.
    ///
    /// # Errors
    /// [`FallbackError`]; the fallback is then unchanged.
    pub fn refused(&mut self, hresult: HResult) -> Result<DroppedFields, FallbackError> {
        if hresult != HResult::UNKNOWN_COMMAND {
            return Err(FallbackError::OtherError(hresult));
        }
        let (request, field, provider) = older(&self.request)?;
        if !self.allowed.contains(field) {
            return Err(FallbackError::FieldLost { command: self.command(), field, provider });
        }
        self.request = request;
        self.dropped = self.dropped.with(field);
        Ok(field)
    }
}

/// An older request, the field that it lacks, and the index of the first provider with that field.
type Older<'a> = (AnyRequest<'a>, DroppedFields, Option<u32>);

/// Returns the next older request. `CollectTracing4` gets no providers, because an array of them
/// without filters would need memory.
fn older<'a>(request: &AnyRequest<'a>) -> Result<Older<'a>, FallbackError> {
    let lost = |is_lost, field| if is_lost { field } else { DroppedFields::NONE };
    Ok(match *request {
        AnyRequest::CollectTracing6(CollectTracing6::UserEvents(session)) => {
            let request = CollectTracing5::UserEvents(session);
            (AnyRequest::CollectTracing5(request), DroppedFields::NONE, None)
        }
        AnyRequest::CollectTracing6(CollectTracing6::Streaming(session)) => {
            let blocks = session.session_buffer_mode != SessionBufferMode::DROP;
            let request = CollectTracing5::Streaming(StreamingSession {
                circular_buffer_mb: session.circular_buffer_mb,
                format: session.format,
                rundown_keyword: session.rundown_keyword,
                request_stackwalk: session.request_stackwalk,
                providers: session.providers,
            });
            (AnyRequest::CollectTracing5(request), lost(blocks, DroppedFields::BUFFER_MODE), None)
        }
        AnyRequest::CollectTracing5(CollectTracing5::UserEvents(_)) => {
            return Err(FallbackError::UserEvents);
        }
        AnyRequest::CollectTracing5(CollectTracing5::Streaming(session)) => {
            let mut providers = session.providers.iter();
            let filtered = providers.position(|provider| provider.filter != EventFilter::ALL);
            let request = CollectTracing4 {
                circular_buffer_mb: session.circular_buffer_mb,
                format: session.format,
                rundown_keyword: session.rundown_keyword,
                request_stackwalk: session.request_stackwalk,
                providers: Array::EMPTY,
            };
            let field = lost(filtered.is_some(), DroppedFields::EVENT_FILTERS);
            (AnyRequest::CollectTracing4(request), field, filtered.map(clamp))
        }
        AnyRequest::CollectTracing4(session) => {
            let rundown = request_rundown(session.rundown_keyword);
            let request = CollectTracing3 {
                circular_buffer_mb: session.circular_buffer_mb,
                format: session.format,
                // A keyword with no equivalent asks for some rundown.
                request_rundown: rundown.unwrap_or(true),
                request_stackwalk: session.request_stackwalk,
                providers: session.providers,
            };
            let field = lost(rundown.is_none(), DroppedFields::RUNDOWN_KEYWORD);
            (AnyRequest::CollectTracing3(request), field, None)
        }
        AnyRequest::CollectTracing3(session) => {
            let request = CollectTracing2 {
                circular_buffer_mb: session.circular_buffer_mb,
                format: session.format,
                request_rundown: session.request_rundown,
                providers: session.providers,
            };
            let field = lost(!session.request_stackwalk, DroppedFields::STACKS);
            (AnyRequest::CollectTracing2(request), field, None)
        }
        AnyRequest::GenerateCoreDump3(dump) => {
            let request = GenerateCoreDump2 {
                dump_name: dump.dump_name,
                dump_type: dump.dump_type,
                flags: dump.flags,
            };
            (AnyRequest::GenerateCoreDump2(request), DroppedFields::NONE, None)
        }
        AnyRequest::GenerateCoreDump2(dump) => {
            let request = GenerateCoreDump {
                dump_name: dump.dump_name,
                dump_type: dump.dump_type,
                diagnostics: dump.flags.contains(DumpFlags::LOGGING).into(),
            };
            let field = lost(!DumpFlags::LOGGING.contains(dump.flags), DroppedFields::DUMP_FLAGS);
            (AnyRequest::GenerateCoreDump(request), field, None)
        }
        AnyRequest::ProcessInfo3(_) => {
            (AnyRequest::ProcessInfo2(ProcessInfo2 {}), DroppedFields::NONE, None)
        }
        AnyRequest::ProcessInfo2(_) => {
            (AnyRequest::ProcessInfo(ProcessInfo {}), DroppedFields::NONE, None)
        }
        _ => return Err(FallbackError::Oldest(request.command())),
    })
}

/// Encodes the payload of the current command.
impl Encode for Fallback<'_> {
    fn encode<S: Sink + ?Sized>(&self, sink: &mut S) -> Result<(), EncodeError> {
        let providers = match self.newest {
            AnyRequest::CollectTracing6(CollectTracing6::Streaming(session)) => session.providers,
            AnyRequest::CollectTracing5(CollectTracing5::Streaming(session)) => session.providers,
            _ => return self.request.encode(sink),
        };
        if matches!(self.request, AnyRequest::CollectTracing6(_) | AnyRequest::CollectTracing5(_)) {
            return self.request.encode(sink);
        }
        // The array of providers is the last field, so everything before its count of 0 is written.
        let left = self.request.encoded_len()?.saturating_sub(size_of::<u32>());
        self.request.encode(&mut Front { sink, left })?;
        count_of(providers.len())?.encode(sink)?;
        providers.iter().try_for_each(|provider| {
            let StreamingProviderConfig {
                keywords,
                log_level,
                provider_name,
                arguments,
                filter: _,
            } = provider;
            ProviderConfig { keywords, log_level, provider_name, arguments }.encode(sink)
        })
    }
}

/// A sink that passes on the first `left` bytes.
struct Front<'s, S: ?Sized> {
    sink: &'s mut S,
    left: usize,
}

impl<S: Sink + ?Sized> Sink for Front<'_, S> {
    fn put(&mut self, bytes: &[u8]) {
        let bytes = bytes.get(..self.left).unwrap_or(bytes);
        self.left = self.left.saturating_sub(bytes.len());
        self.sink.put(bytes);
    }
}

/// A set of fields that an older command lacks.
///
/// ```
/// use dotnet_diagnostics_ipc::exchange::fallback::DroppedFields;
///
/// let fields = DroppedFields::STACKS.with(DroppedFields::EVENT_FILTERS);
/// assert!(fields.contains(DroppedFields::STACKS) && !fields.contains(DroppedFields::BUFFER_MODE));
/// assert_eq!(fields.to_string(), "filter, requestStackwalk");
/// assert_eq!(DroppedFields::NONE.to_string(), "nothing");
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct DroppedFields(u8);

impl DroppedFields {
    /// No field.
    pub const NONE: Self = Self(0);
    /// `sessionBufferMode`: the session drops events instead of blocking the threads that write them.
    pub const BUFFER_MODE: Self = Self(1);
    /// `filter` of the providers: more events arrive, including those that a filter excludes.
    pub const EVENT_FILTERS: Self = Self(2);
    /// `rundownKeyword`: the rundown is the default one instead of the requested one.
    pub const RUNDOWN_KEYWORD: Self = Self(4);
    /// `requestStackwalk`: events carry stacks although none were requested.
    pub const STACKS: Self = Self(8);
    /// `flags` of a dump except logging: no verbose log and no crash report is written.
    pub const DUMP_FLAGS: Self = Self(16);
    /// All of these fields.
    pub const ALL: Self = Self(31);

    /// Returns the union of these fields and `other`.
    #[must_use]
    pub const fn with(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// Returns whether all fields of `other` are among these.
    pub const fn contains(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }
}

/// Prints the document's names of the fields, separated by commas, or `nothing`.
impl fmt::Display for DroppedFields {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names = [
            (Self::BUFFER_MODE, Field::SessionBufferMode),
            (Self::EVENT_FILTERS, Field::Filter),
            (Self::RUNDOWN_KEYWORD, Field::RundownKeyword),
            (Self::STACKS, Field::RequestStackwalk),
            (Self::DUMP_FLAGS, Field::Flags),
        ];
        let dropped = names.iter().filter(|(bit, _)| self.contains(*bit));
        for (nth, (_, field)) in dropped.enumerate() {
            f.write_str(if nth == 0 { "" } else { ", " })?;
            f.write_str(field.name())?;
        }
        if *self == Self::NONE { f.write_str("nothing") } else { Ok(()) }
    }
}

/// The reason why a [`Fallback`] does not step down.
///
/// ```
/// use dotnet_diagnostics_ipc::exchange::fallback::{Fallback, FallbackError};
/// use dotnet_diagnostics_ipc::{hresult::HResult, message::{AnyRequest, process::ProcessInfo3}};
///
/// // The runtime knows the command, and would refuse an older one for the same reason.
/// let mut fallback = Fallback::new(AnyRequest::ProcessInfo3(ProcessInfo3 {}));
/// assert_eq!(fallback.refused(HResult::FAIL), Err(FallbackError::OtherError(HResult::FAIL)));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum FallbackError {
    /// The error is not [`HResult::UNKNOWN_COMMAND`], so the runtime knows the command.
    OtherError(HResult),
    /// There is no older command than this one.
    Oldest(Command),
    /// The session writes `user_events`, but commands older than `CollectTracing5` only stream.
    UserEvents,
    /// The next older command lacks a field that the caller did not allow to be dropped.
    FieldLost {
        /// The command with the field.
        command: Command,
        /// The field that would be lost.
        field: DroppedFields,
        /// The index of the first provider that has the field, if it is a field of providers.
        provider: Option<u32>,
    },
}

impl fmt::Display for FallbackError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = |command: &Command| command.name().unwrap_or("the command");
        match self {
            Self::OtherError(hresult) => write!(f, "{hresult} does not mean an unknown command"),
            Self::Oldest(command) => write!(f, "{}: there is no older command", name(command)),
            Self::UserEvents => {
                f.write_str("CollectTracing5.session_type: older commands only stream")
            }
            Self::FieldLost { command, field, provider } => {
                f.write_str(name(command))?;
                if let Some(index) = provider {
                    write!(f, ".{}[{index}]", Field::Providers.name())?;
                }
                write!(f, ".{field}: no older command has this field")
            }
        }
    }
}

impl core::error::Error for FallbackError {}

#[cfg(test)]
mod tests {
    extern crate std;
    use super::*;
    use crate::message::{Message, encode};
    use std::{format, string::ToString, vec::Vec};

    /// The provider `Ab` of vectors 5201, 5301, 5401 and 6001, with keywords 0x0102030405060708,
    /// level 4 and arguments `k=v`.
    const AB: &[u8] =
        b"\x08\x07\x06\x05\x04\x03\x02\x01\x04\0\0\0\x03\0\0\0A\0b\0\0\0\x04\0\0\0k\0=\0v\0\0\0";
    /// 256 MB and the format nettrace.
    const STREAM: &[u8] = b"\0\x01\0\0\x01\0\0\0";

    fn message(set: u8, id: u8, payload: &[&[u8]]) -> Vec<u8> {
        let payload = payload.concat();
        let size = u16::try_from(payload.len() + 20).unwrap().to_le_bytes();
        [b"DOTNET_IPC_V1\0", &size[..], &[set, id, 0, 0], &payload].concat()
    }

    /// Returns `CollectTracing6` with one provider for each filter.
    fn six(keyword: u64, stacks: bool, filters: &[&[u8]], mode: u32) -> Vec<u8> {
        let providers: Vec<_> = filters.iter().flat_map(|filter| [AB, filter]).collect();
        let count = u32::try_from(filters.len()).unwrap().to_le_bytes();
        let head = [b"\0\0\0\0", STREAM, &keyword.to_le_bytes(), &[u8::from(stacks)], &count];
        message(2, 7, &[&head.concat(), &providers.concat(), &mode.to_le_bytes()])
    }

    fn fallback(newest: &[u8]) -> Fallback<'_> {
        Fallback::new(Message::decode(newest).unwrap().request().unwrap())
    }

    /// Returns the message of the current command.
    fn wire(fallback: &Fallback<'_>) -> Vec<u8> {
        let mut buffer = [0; 512];
        let len = encode(fallback.command(), fallback, &mut buffer).unwrap();
        buffer[..len].to_vec()
    }

    #[test]
    fn only_unknown_command_steps_down() {
        let newest = message(4, 8, &[]);
        let mut fallback = fallback(&newest);
        let before = fallback;
        for hresult in HResult::NAMED.iter().copied().chain([HResult(0x1385), HResult(u32::MAX)]) {
            if hresult != HResult::UNKNOWN_COMMAND {
                assert_eq!(fallback.refused(hresult), Err(FallbackError::OtherError(hresult)));
                assert_eq!(fallback, before);
            }
        }
        let text = "0x80131384 DS_IPC_E_BAD_ENCODING does not mean an unknown command";
        assert_eq!(fallback.refused(HResult::BAD_ENCODING).unwrap_err().to_string(), text);
        assert!(fallback.refused(HResult(0x8013_1385)).is_ok());
    }

    #[test]
    fn inexpressible_field_is_named_and_dropped_only_if_allowed() {
        const ONLY_4: &[u8] = b"\x01\x01\0\0\0\x04\0\0\0";
        const ALL_BUT_4: &[u8] = b"\0\x01\0\0\0\x04\0\0\0";
        const NO_EVENT: &[u8] = b"\x01\0\0\0\0";
        const ALL: &[u8] = b"\0\0\0\0\0";
        let one = b"\x01\0\0\0";
        let five = message(2, 6, &[b"\0\0\0\0", STREAM, &[0; 8], b"\x01", one, AB, ALL]);
        let four = |count: u8| {
            message(2, 5, &[STREAM, &[0; 8], &[1, count, 0, 0, 0], &AB.repeat(count.into())])
        };
        let three = message(2, 4, &[STREAM, b"\x01\x01", one, AB]);
        let two = message(2, 3, &[STREAM, b"\0", one, AB]);
        let dump = |id, flags| message(1, id, &[b"\x02\0\0\0d\0\0\0\x04\0\0\0", &[flags, 0, 0, 0]]);
        let filters = |filters| six(0, true, filters, 0);
        let keyword = |keyword| six(keyword, true, &[ALL], 0);
        let (mode, filter) = (DroppedFields::BUFFER_MODE, DroppedFields::EVENT_FILTERS);
        assert_eq!(mode.with(filter).with(mode), filter.with(mode));
        let (rundown, flags) = (DroppedFields::RUNDOWN_KEYWORD, DroppedFields::DUMP_FLAGS);
        // Each case has the number of steps before, the path, the field, and the message after the
        // step that loses the field.
        let cases = [
            (six(0, true, &[ALL], 1), 0, "CollectTracing6", mode, five),
            (filters(&[ALL, ALL, ONLY_4]), 1, "CollectTracing5.providers[2]", filter, four(3)),
            (filters(&[ALL_BUT_4]), 1, "CollectTracing5.providers[0]", filter, four(1)),
            (filters(&[ALL, NO_EVENT]), 1, "CollectTracing5.providers[1]", filter, four(2)),
            (keyword(0x100), 2, "CollectTracing4", rundown, three.clone()),
            (keyword(0x1_8002_0139), 2, "CollectTracing4", rundown, three),
            (six(0, false, &[ALL], 0), 3, "CollectTracing3", DroppedFields::STACKS, two),
            (dump(3, 4), 1, "GenerateCoreDump2", flags, dump(1, 0)),
            (dump(3, 7), 1, "GenerateCoreDump2", flags, dump(1, 1)),
        ];
        for (newest, before, path, field, expected) in cases {
            // Allowing the other fields is not enough.
            let others = DroppedFields(DroppedFields::ALL.0 & !field.0);
            let mut fallback = fallback(&newest).allowing(others);
            assert_eq!(wire(&fallback), newest);
            for _ in 0..before {
                assert_eq!(fallback.refused(HResult::UNKNOWN_COMMAND), Ok(DroppedFields::NONE));
            }
            let unchanged = fallback;
            let error = fallback.refused(HResult::UNKNOWN_COMMAND).unwrap_err();
            let text = format!("{path}.{field}: no older command has this field");
            assert_eq!((error.to_string(), fallback), (text, unchanged));

            let mut fallback = fallback.allowing(field);
            assert_eq!(fallback.refused(HResult::UNKNOWN_COMMAND), Ok(field));
            assert_eq!((wire(&fallback), fallback.dropped()), (expected, field), "{path}");
        }
    }

    #[test]
    fn user_events_session_has_no_command_below_5() {
        let session = [&b"\x01\0\0\0"[..], &[0; 8], b"\0\0\0\0"];
        let newest = message(2, 7, &session);
        let mut fallback = fallback(&newest).allowing(DroppedFields::ALL);
        assert_eq!(fallback.refused(HResult::UNKNOWN_COMMAND), Ok(DroppedFields::NONE));
        assert_eq!(wire(&fallback), message(2, 6, &session));
        assert_eq!(fallback.continuation(), Some(Continuation::UserEvents));
        let error = fallback.refused(HResult::UNKNOWN_COMMAND);
        assert_eq!(error, Err(FallbackError::UserEvents));
    }

    #[test]
    fn all_fields_are_dropped_on_the_way_to_the_oldest_command() {
        let newest = six(0x100, false, &[b"\x01\0\0\0\0"], 1);
        let mut fallback = fallback(&newest).allowing(DroppedFields::ALL);
        for _ in 0..4 {
            assert!(fallback.refused(HResult::UNKNOWN_COMMAND).is_ok());
        }
        assert_eq!(wire(&fallback), message(2, 3, &[STREAM, b"\x01\x01\0\0\0", AB]));
        let fields = "sessionBufferMode, filter, rundownKeyword, requestStackwalk";
        assert_eq!(fallback.dropped().to_string(), fields);
        let error = fallback.refused(HResult::UNKNOWN_COMMAND).unwrap_err();
        assert_eq!(error.to_string(), "CollectTracing2: there is no older command");
    }
}
