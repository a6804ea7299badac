//! `CollectTracing6` → 5 → 4 → 3 → 2.

use super::{
    DroppedFields, Fallback, FallbackError, FallbackErrorKind, FallbackRequest, FallbackStep,
    dropped_unless, sealed,
};
use crate::command::{Command, Continuation};
use crate::message::Request as _;
use crate::message::eventpipe::{
    CollectTracing5, CollectTracing6, EventFilter, ProviderConfig, SessionBufferMode,
    StreamingProviderConfig, StreamingSession, request_rundown,
};
use crate::wire::{Encode, EncodeError, Sink, WireError, clamp};

/// From [`CollectTracing6`] or [`CollectTracing5`] down.
///
/// | from | to | the same if | else dropped, if allowed |
/// | 6 | 5 | the session drops events, or writes `user_events` | [`BUFFER_MODE`](DroppedFields::BUFFER_MODE) |
/// | 5 | 4 | it streams, and every `filter` is `enable = 0` without ids (F-17) | [`EVENT_FILTERS`](DroppedFields::EVENT_FILTERS) |
/// | 4 | 3 | `rundownKeyword` is 0 or 0x80020139 | [`RUNDOWN_KEYWORD`](DroppedFields::RUNDOWN_KEYWORD) |
/// | 3 | 2 | `requestStackwalk` is true: 2 always takes stacks | [`STACKS`](DroppedFields::STACKS) |
///
/// Buffer, format and providers do not change. A `user_events` session has no command below 5. A
/// filter with `enable = 0` and ids excludes those ids, so it counts.
///
/// ```
/// use dotnet_diagnostics_ipc::command::Command;
/// use dotnet_diagnostics_ipc::exchange::fallback::{DroppedFields, FallbackRequest as _, TracingFallback};
/// use dotnet_diagnostics_ipc::hresult::HResult;
/// use dotnet_diagnostics_ipc::message::eventpipe::{
///     CollectTracing6, EventFilter, EventLevel, Format, SessionBufferMode, StreamingProviderConfig, StreamingSession6,
/// };
/// use dotnet_diagnostics_ipc::wire::{Array, IpcString};
///
/// let providers = [StreamingProviderConfig {
///     keywords: 1,
///     log_level: EventLevel::VERBOSE,
///     provider_name: "P".into(),
///     arguments: IpcString::ABSENT,
///     filter: EventFilter { enable: true, event_ids: Array::new(&[1, 2]) },
/// }];
/// let request = CollectTracing6::Streaming(StreamingSession6 {
///     circular_buffer_mb: 16,
///     format: Format::NET_TRACE,
///     rundown_keyword: 0,
///     request_stackwalk: true,
///     providers: Array::new(&providers),
///     session_buffer_mode: SessionBufferMode::DROP,
/// });
/// let mut fallback = TracingFallback::new(&request);
/// assert_eq!(fallback.refused(HResult::UNKNOWN_COMMAND)?.request.command(), Command::COLLECT_TRACING5);
/// let error = fallback.refused(HResult::UNKNOWN_COMMAND).unwrap_err();
/// assert_eq!(error.path().to_string(), "CollectTracing5.providers[0].filter");
///
/// // The caller filters out the extra events itself.
/// let mut fallback = fallback.allowing(DroppedFields::EVENT_FILTERS);
/// let step = fallback.refused(HResult::UNKNOWN_COMMAND)?;
/// assert_eq!((step.request.command(), step.dropped), (Command::COLLECT_TRACING4, DroppedFields::EVENT_FILTERS));
/// # Ok::<(), dotnet_diagnostics_ipc::exchange::fallback::FallbackError>(())
/// ```
pub type TracingFallback<'a> = Fallback<TracingRequest<'a>>;

/// One of `CollectTracing6` to `CollectTracing2`, for the same session.
///
/// ```
/// use dotnet_diagnostics_ipc::command::Continuation;
/// use dotnet_diagnostics_ipc::exchange::fallback::{FallbackRequest as _, TracingRequest};
/// use dotnet_diagnostics_ipc::message::eventpipe::{CollectTracing5, UserEventsSession};
/// use dotnet_diagnostics_ipc::wire::{Array, Encode as _};
///
/// let request = CollectTracing5::UserEvents(UserEventsSession { rundown_keyword: 0, providers: Array::EMPTY });
/// let request = TracingRequest::from(&request);
/// assert_eq!((request.continuation(), request.encoded_len()), (Continuation::UserEvents, Ok(16)));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TracingRequest<'a> {
    request: Newest<'a>,
    version: Version,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Newest<'a> {
    Six(&'a CollectTracing6<'a>),
    Five(&'a CollectTracing5<'a>),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Version {
    /// Only for a [`Newest::Six`].
    Six,
    Five,
    /// This and those below: only for a session that streams.
    Four,
    Three,
    Two,
}

impl<'a> From<&'a CollectTracing6<'a>> for TracingRequest<'a> {
    fn from(request: &'a CollectTracing6<'a>) -> Self {
        Self { request: Newest::Six(request), version: Version::Six }
    }
}

impl<'a> From<&'a CollectTracing5<'a>> for TracingRequest<'a> {
    fn from(request: &'a CollectTracing5<'a>) -> Self {
        Self { request: Newest::Five(request), version: Version::Five }
    }
}

impl<'a> TracingRequest<'a> {
    /// Whether a server accepts the values of the fallback's first request.
    ///
    /// # Errors
    /// As [`Request::check_limits`](crate::message::Request::check_limits).
    pub fn check_limits(&self) -> Result<(), WireError> {
        match self.request {
            Newest::Five(request) => request.check_limits(),
            Newest::Six(request) => request.check_limits(),
        }
    }

    /// The session as a `CollectTracing5`.
    const fn five(&self) -> CollectTracing5<'a> {
        match self.request {
            Newest::Five(request) => *request,
            Newest::Six(CollectTracing6::UserEvents(session)) => {
                CollectTracing5::UserEvents(*session)
            }
            Newest::Six(CollectTracing6::Streaming(session)) => {
                CollectTracing5::Streaming(StreamingSession {
                    circular_buffer_mb: session.circular_buffer_mb,
                    format: session.format,
                    rundown_keyword: session.rundown_keyword,
                    request_stackwalk: session.request_stackwalk,
                    providers: session.providers,
                })
            }
        }
    }

    /// Whether a full buffer drops events, the only mode below 6.
    fn drops(&self) -> bool {
        match self.request {
            Newest::Six(CollectTracing6::Streaming(session)) => {
                session.session_buffer_mode == SessionBufferMode::DROP
            }
            Newest::Six(CollectTracing6::UserEvents(_)) | Newest::Five(_) => true,
        }
    }

    /// The first provider with a filter.
    fn filtered(session: &StreamingSession<'a>) -> Option<u32> {
        session.providers.iter().position(|provider| provider.filter != EventFilter::ALL).map(clamp)
    }
}

impl sealed::Sealed for TracingRequest<'_> {}

impl FallbackRequest for TracingRequest<'_> {
    fn command(&self) -> Command {
        match self.version {
            Version::Six => Command::COLLECT_TRACING6,
            Version::Five => Command::COLLECT_TRACING5,
            Version::Four => Command::COLLECT_TRACING4,
            Version::Three => Command::COLLECT_TRACING3,
            Version::Two => Command::COLLECT_TRACING2,
        }
    }

    fn continuation(&self) -> Continuation {
        self.five().continuation()
    }

    fn older(&self, allowed: DroppedFields) -> Result<FallbackStep<Self>, FallbackError> {
        let command = self.command();
        let step =
            |version, dropped| Ok(FallbackStep { request: Self { version, ..*self }, dropped });
        if self.version == Version::Six {
            return step(
                Version::Five,
                dropped_unless(self.drops(), DroppedFields::BUFFER_MODE, allowed, command)?,
            );
        }
        let CollectTracing5::Streaming(session) = self.five() else {
            return Err(FallbackError::new(command, FallbackErrorKind::UserEvents));
        };
        match self.version {
            Version::Six | Version::Five => {
                let dropped = match Self::filtered(&session) {
                    None => DroppedFields::NONE,
                    Some(_) if allowed.contains(DroppedFields::EVENT_FILTERS) => {
                        DroppedFields::EVENT_FILTERS
                    }
                    Some(index) => {
                        return Err(FallbackError::in_provider(
                            command,
                            DroppedFields::EVENT_FILTERS,
                            index,
                        ));
                    }
                };
                step(Version::Four, dropped)
            }
            Version::Four => {
                let same = request_rundown(session.rundown_keyword).is_some();
                step(
                    Version::Three,
                    dropped_unless(same, DroppedFields::RUNDOWN_KEYWORD, allowed, command)?,
                )
            }
            Version::Three => step(
                Version::Two,
                dropped_unless(session.request_stackwalk, DroppedFields::STACKS, allowed, command)?,
            ),
            Version::Two => Err(FallbackError::new(command, FallbackErrorKind::Oldest)),
        }
    }
}

impl Encode for TracingRequest<'_> {
    fn encode<S: Sink + ?Sized>(&self, sink: &mut S) -> Result<(), EncodeError> {
        let session = match (self.request, self.version, self.five()) {
            (Newest::Six(request), Version::Six, _) => return request.encode(sink),
            (
                _,
                Version::Four | Version::Three | Version::Two,
                CollectTracing5::Streaming(session),
            ) => session,
            (_, _, request) => return request.encode(sink),
        };
        session.circular_buffer_mb.encode(sink)?;
        session.format.encode(sink)?;
        if self.version == Version::Four {
            session.rundown_keyword.encode(sink)?;
        } else {
            // A special keyword gets here only if the caller allowed losing it: then some rundown,
            // not none.
            request_rundown(session.rundown_keyword).unwrap_or(true).encode(sink)?;
        }
        if self.version != Version::Two {
            session.request_stackwalk.encode(sink)?;
        }
        let count = session.providers.len();
        u32::try_from(count).map_err(|_| EncodeError::CountTooLarge { count })?.encode(sink)?;
        session.providers.iter().try_for_each(|provider| {
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

#[cfg(test)]
mod tests {
    extern crate std;
    use super::*;
    use crate::hresult::HResult;
    use crate::message::{Message, Request, encode};
    use std::{string::String, string::ToString, vec::Vec};

    /// `Ab` with keywords 0x0102030405060708, level 4, arguments `k=v`: the provider of vectors
    /// 5201, 5301, 5401 and 6001.
    const AB: &[u8] =
        b"\x08\x07\x06\x05\x04\x03\x02\x01\x04\0\0\0\x03\0\0\0A\0b\0\0\0\x04\0\0\0k\0=\0v\0\0\0";
    const NO_FILTER: &[u8] = b"\0\0\0\0\0";
    /// 256 MB, nettrace.
    const STREAM: &[u8] = b"\0\x01\0\0\x01\0\0\0";

    fn message(id: u8, payload: &[&[u8]]) -> Vec<u8> {
        let payload = payload.concat();
        let size = u16::try_from(payload.len() + 20).unwrap().to_le_bytes();
        [b"DOTNET_IPC_V1\0", &size[..], &[2, id, 0, 0], &payload].concat()
    }

    /// `CollectTracing6` with the provider once for each filter.
    fn six(keyword: u64, stacks: bool, filters: &[&[u8]], mode: u32) -> Vec<u8> {
        let providers: Vec<_> = filters.iter().flat_map(|filter| [AB, filter]).collect();
        let count = u32::try_from(filters.len()).unwrap().to_le_bytes();
        let head = [b"\0\0\0\0", STREAM, &keyword.to_le_bytes(), &[u8::from(stacks)], &count];
        message(7, &[&head.concat(), &providers.concat(), &mode.to_le_bytes()])
    }

    fn read<'a, R: Request<'a>>(wire: &'a [u8]) -> R {
        Message::decode(wire).unwrap().request_as().unwrap()
    }

    /// The request's message, which must have the request's command, and be canonical.
    fn wire(fallback: &TracingFallback<'_>) -> Vec<u8> {
        let asked = fallback.request();
        let mut buffer = [0; 512];
        let len = encode(asked.command(), &asked, &mut buffer).unwrap();
        let request = Message::decode(&buffer[..len]).unwrap().request().unwrap();
        assert_eq!(
            (request.command(), request.continuation()),
            (asked.command(), Some(asked.continuation()))
        );
        assert!(Message::decode(&buffer[..len]).unwrap().is_canonical(&request));
        buffer[..len].to_vec()
    }

    /// Steps down `steps` times; returns what each dropped, and why it stops.
    #[track_caller]
    fn descend(fallback: &mut TracingFallback<'_>, steps: &[DroppedFields]) -> Option<String> {
        for dropped in steps {
            assert_eq!(
                fallback.refused(HResult::UNKNOWN_COMMAND).map(|step| (step.dropped, step.request)),
                Ok((*dropped, fallback.request()))
            );
        }
        let before = *fallback;
        // A further step is only tried; an error must not change the fallback.
        let error = fallback.refused(HResult::UNKNOWN_COMMAND).err();
        assert!(error.is_none() || *fallback == before);
        *fallback = before;
        error.map(|error| error.to_string())
    }

    #[test]
    fn each_command_requests_the_same_session() {
        for (keyword, rundown) in [(0u64, b"\0"), (0x8002_0139, b"\x01")] {
            let newest = six(keyword, true, &[NO_FILTER, NO_FILTER], 0);
            let request: CollectTracing6<'_> = read(&newest);
            let mut fallback = TracingFallback::new(&request);
            assert_eq!(wire(&fallback), newest);

            let (keyword, two) = (keyword.to_le_bytes(), b"\x02\0\0\0");
            descend(&mut fallback, &[DroppedFields::NONE]);
            let providers = [AB, NO_FILTER, AB, NO_FILTER].concat();
            assert_eq!(
                wire(&fallback),
                message(6, &[b"\0\0\0\0", STREAM, &keyword, b"\x01", two, &providers])
            );
            descend(&mut fallback, &[DroppedFields::NONE]);
            assert_eq!(wire(&fallback), message(5, &[STREAM, &keyword, b"\x01", two, AB, AB]));
            descend(&mut fallback, &[DroppedFields::NONE]);
            assert_eq!(wire(&fallback), message(4, &[STREAM, rundown, b"\x01", two, AB, AB]));
            let end = descend(&mut fallback, &[DroppedFields::NONE]);
            assert_eq!(wire(&fallback), message(3, &[STREAM, rundown, two, AB, AB]));
            assert_eq!(end.unwrap(), "CollectTracing2: there is no older command");
            assert!(fallback.dropped().is_empty());
        }
    }

    #[test]
    fn request_bytes_equal_vectors() {
        const V6401: &[u8] = b"DOTNET_IPC_V1\0\x60\0\x02\x07\0\0\0\0\0\0\0\x01\0\0\x01\0\0\0\x39\x01\x02\x80\0\0\0\0\x01\x01\0\0\0\
            \x08\x07\x06\x05\x04\x03\x02\x01\x04\0\0\0\x03\0\0\0A\0b\0\0\0\x04\0\0\0k\0=\0v\0\0\0\
            \0\x02\0\0\0\x04\0\0\0\x05\0\0\0\x01\0\0\0";
        const V5401: &[u8] = b"DOTNET_IPC_V1\0\x4b\0\x02\x05\0\0\0\x01\0\0\x01\0\0\0\x39\x01\x02\x80\0\0\0\0\x01\x01\0\0\0\
            \x08\x07\x06\x05\x04\x03\x02\x01\x04\0\0\0\x03\0\0\0A\0b\0\0\0\x04\0\0\0k\0=\0v\0\0\0";
        const V5201: &[u8] = b"DOTNET_IPC_V1\0\x43\0\x02\x03\0\0\0\x01\0\0\x01\0\0\0\x01\x01\0\0\0\
            \x08\x07\x06\x05\x04\x03\x02\x01\x04\0\0\0\x03\0\0\0A\0b\0\0\0\x04\0\0\0k\0=\0v\0\0\0";
        let request: CollectTracing6<'_> = read(V6401);
        let mut fallback = TracingFallback::new(&request)
            .allowing(DroppedFields::BUFFER_MODE.with(DroppedFields::EVENT_FILTERS));
        descend(&mut fallback, &[DroppedFields::BUFFER_MODE, DroppedFields::EVENT_FILTERS]);
        assert_eq!(wire(&fallback), V5401);
        descend(&mut fallback, &[DroppedFields::NONE, DroppedFields::NONE]);
        assert_eq!(wire(&fallback), V5201);
        assert_eq!(fallback.dropped().to_string(), "sessionBufferMode, filter");
    }

    #[test]
    fn fallback_can_start_at_5() {
        let newest = message(6, &[b"\0\0\0\0", STREAM, &[0; 8], b"\x01\x01\0\0\0", AB, NO_FILTER]);
        let request: CollectTracing5<'_> = read(&newest);
        let mut fallback = TracingFallback::new(&request);
        assert_eq!(wire(&fallback), newest);
        descend(&mut fallback, &[DroppedFields::NONE; 3]);
        assert_eq!(wire(&fallback), message(3, &[STREAM, b"\0\x01\0\0\0", AB]));
    }

    #[test]
    fn inexpressible_field_is_named_and_dropped_only_if_allowed() {
        const ONLY_4: &[u8] = b"\x01\x01\0\0\0\x04\0\0\0";
        const ALL_BUT_4: &[u8] = b"\0\x01\0\0\0\x04\0\0\0";
        const NOTHING: &[u8] = b"\x01\0\0\0\0";
        let one = b"\x01\0\0\0";
        let five = message(6, &[b"\0\0\0\0", STREAM, &[0; 8], b"\x01", one, AB, NO_FILTER]);
        let four = |count: u8| {
            message(5, &[STREAM, &[0; 8], &[1, count, 0, 0, 0], &AB.repeat(count.into())])
        };
        let three = message(4, &[STREAM, b"\x01\x01", one, AB]);
        let two = message(3, &[STREAM, b"\0", one, AB]);
        // The number of steps before, the field, the loss, and the message after the step that
        // loses it.
        let cases = [
            (
                six(0, true, &[NO_FILTER], 1),
                0,
                "6.sessionBufferMode",
                DroppedFields::BUFFER_MODE,
                five,
            ),
            (
                six(0, true, &[NO_FILTER, NO_FILTER, NO_FILTER, ONLY_4], 0),
                1,
                "5.providers[3].filter",
                DroppedFields::EVENT_FILTERS,
                four(4),
            ),
            (
                six(0, true, &[ALL_BUT_4], 0),
                1,
                "5.providers[0].filter",
                DroppedFields::EVENT_FILTERS,
                four(1),
            ),
            (
                six(0, true, &[NO_FILTER, NOTHING, ONLY_4], 0),
                1,
                "5.providers[1].filter",
                DroppedFields::EVENT_FILTERS,
                four(3),
            ),
            (
                six(0x100, true, &[NO_FILTER], 0),
                2,
                "4.rundownKeyword",
                DroppedFields::RUNDOWN_KEYWORD,
                three.clone(),
            ),
            (
                six(0x1_8002_0139, true, &[NO_FILTER], 0),
                2,
                "4.rundownKeyword",
                DroppedFields::RUNDOWN_KEYWORD,
                three,
            ),
            (six(0, false, &[NO_FILTER], 0), 3, "3.requestStackwalk", DroppedFields::STACKS, two),
        ];
        for (newest, before, path, loss, expected) in cases {
            let request: CollectTracing6<'_> = read(&newest);
            let mut fallback = TracingFallback::new(&request);
            let error = descend(&mut fallback, &std::vec![DroppedFields::NONE; before]).unwrap();
            assert_eq!(
                error,
                std::format!("CollectTracing{path}: no older command has this field")
            );
            let error = fallback.refused(HResult::UNKNOWN_COMMAND).unwrap_err();
            assert_eq!(
                (error.kind(), error.command()),
                (FallbackErrorKind::CannotSay(loss), fallback.request().command())
            );
            let nth = path.split(['[', ']']).nth(1).map(|index| index.parse().unwrap());
            assert_eq!(error.provider(), nth);

            let mut fallback = fallback.allowing(loss);
            descend(&mut fallback, &[loss]);
            assert_eq!(wire(&fallback), expected, "{path}");
            assert_eq!(fallback.dropped(), loss);
        }
    }

    #[test]
    fn allowing_other_fields_is_not_enough() {
        let newest = six(0x100, false, &[b"\x01\0\0\0\0"], 1);
        let request: CollectTracing6<'_> = read(&newest);
        let order = [
            DroppedFields::BUFFER_MODE,
            DroppedFields::EVENT_FILTERS,
            DroppedFields::RUNDOWN_KEYWORD,
            DroppedFields::STACKS,
        ];
        for (nth, missing) in order.iter().enumerate() {
            let allowed = order
                .iter()
                .filter(|loss| *loss != missing)
                .fold(DroppedFields::DUMP_FLAGS, |all, loss| all.with(*loss));
            let mut fallback = TracingFallback::new(&request).allowing(allowed);
            assert!(descend(&mut fallback, &order[..nth]).is_some());
            assert_eq!(
                fallback.refused(HResult::UNKNOWN_COMMAND).unwrap_err().kind(),
                FallbackErrorKind::CannotSay(*missing)
            );
        }
        let mut fallback = TracingFallback::new(&request).allowing(DroppedFields::ALL);
        descend(&mut fallback, &order);
        assert_eq!(wire(&fallback), message(3, &[STREAM, b"\x01\x01\0\0\0", AB]));
    }

    #[test]
    fn user_events_fallback_stops_at_5() {
        // Vector 6500.
        let newest = message(
            7,
            &[
                b"\x01\0\0\0",
                &[0; 8],
                b"\x01\0\0\0\x01\0\0\0\0\0\0\0\x02\0\0\0\x02\0\0\0a\0\0\0\0\0\0\0",
                NO_FILTER,
                b"\x02\0\0\0t\0\0\0\x01\0\0\0\x02\0\0\0s\0\0\0\x01\0\0\0\x07\0\0\0",
            ],
        );
        assert_eq!(newest.len(), 93);
        let request: CollectTracing6<'_> = read(&newest);
        let mut fallback = TracingFallback::new(&request).allowing(DroppedFields::ALL);
        let error = descend(&mut fallback, &[DroppedFields::NONE]);
        assert_eq!(error.unwrap(), "CollectTracing5.session_type: older commands only stream");
        let mut five = newest.clone();
        five[17] = 6;
        assert_eq!(wire(&fallback), five);
        assert_eq!(fallback.request().continuation(), Continuation::UserEvents);
    }
}
