//! Compares this crate's codec with the server of .NET 11 itself.

use ::arbitrary::{Arbitrary, Unstructured};

use crate::dotnet::{Answer, Dotnet, Provider, Session, Text, kept};
use dotnet_diagnostics_ipc::command::Command;
use dotnet_diagnostics_ipc::header::HEADER_LEN;
use dotnet_diagnostics_ipc::hresult::HResult;
use dotnet_diagnostics_ipc::message::eventpipe::{
    CollectTracing5, CollectTracing6, EventFilter, Format, ProviderConfig, SessionBufferMode,
    StreamingProviderConfig, TracepointConfig, UserEventsProviderConfig, rundown_keyword,
};
use dotnet_diagnostics_ipc::message::{AnyReply, AnyRequest, Message};
use dotnet_diagnostics_ipc::testing::{Hostile, MadeRequest};
use dotnet_diagnostics_ipc::wire::{Array, IpcString, WireError, WireErrorKind};
use dotnet_diagnostics_ipc_vectors as vectors;
use dotnet_diagnostics_ipc_vectors::Direction;

/// Checks that both accept a request, or refuse it with the same error, and read the same session.
/// A message is taken as it is; otherwise the first byte chooses: 0 any bytes, 1 a changed message,
/// 2 a generated request, another the command of a header.
pub fn against_dotnet(input: &[u8], dotnet: &mut Dotnet) {
    let Some((which, rest)) = input.split_first() else { return };
    let request = match which {
        _ if input.starts_with(b"DOTNET_IPC_V1") => input.to_vec(),
        0 => rest.to_vec(),
        1 | 2 => generated(*which == 1, rest),
        _ => {
            let payload = &rest[..rest.len().min(65_535 - HEADER_LEN)];
            let commands: Vec<_> = Command::known().collect();
            whole(commands[usize::from(which - 3) % commands.len()], payload)
        }
    };
    let difference = same_answer(&request, dotnet).err();
    assert_eq!(difference, None, "{}", hex::encode(&request));
}

/// Returns the request that these bytes choose, or a message with changes.
pub fn generated(is_changed: bool, chosen: &[u8]) -> Vec<u8> {
    let chosen = &mut Unstructured::new(chosen);
    if is_changed {
        Hostile::arbitrary(chosen).unwrap().0
    } else {
        MadeRequest::arbitrary(chosen).unwrap().bytes().to_vec()
    }
}

/// Returns the requests of the vectors.
pub fn messages() -> Vec<Vec<u8>> {
    let files = vectors::files().unwrap();
    let groups = files.into_iter().flat_map(|file| file.groups);
    let requests = groups.filter(|group| group.direction == Some(Direction::Client));
    requests
        .flat_map(|group| group.tests)
        .filter_map(|test| test.wire)
        .filter(|wire| !wire.is_empty())
        .collect()
}

/// Sends the request, and says how the server's answer differs from what this crate expects.
///
/// # Errors
/// Returns the difference.
pub fn same_answer(request: &[u8], dotnet: &mut Dotnet) -> Result<(), String> {
    // There is nothing to answer.
    if request.is_empty() {
        return Ok(());
    }
    let answer = dotnet.ask(request);
    let expected = Expected::of(request);
    let theirs = outcome(&answer, &expected)?;
    let by = expected.fact.unwrap_or("the codec");
    if theirs != expected.outcome {
        return Err(format!("{theirs:?} instead of {:?} ({by})", expected.outcome));
    }
    if answer.session != expected.session {
        let (read, expects) = (&answer.session, &expected.session);
        return Err(format!("{read:?} was read instead of {expects:?} ({by})"));
    }
    Ok(())
}

/// How a request ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Outcome {
    /// The reply of its command.
    Ok,
    Error(HResult),
    /// The payload and bytes of memory, which are not a message.
    Raw,
    /// The process dies.
    Death,
}

/// What this crate reads, and how the server of .NET 11 is expected to answer.
struct Expected {
    command: Option<Command>,
    payload: Vec<u8>,
    /// Whether a count claims more than the message has.
    claims: bool,
    /// Whether so many tracepoint sets have more than 4 GiB.
    wraps: bool,
    outcome: Outcome,
    session: Option<Session>,
    /// The fact that explains why this is not what the codec itself says.
    fact: Option<&'static str>,
}

/// A request as this crate reads it.
struct Seen<'a> {
    bytes: &'a [u8],
    message: Option<Message<'a>>,
    request: Option<AnyRequest<'a>>,
    /// The session, if the values describe one.
    session: Option<Session>,
}

impl Seen<'_> {
    fn is_one_of(&self, commands: &[Command]) -> bool {
        self.message.is_some_and(|message| commands.contains(&message.command))
    }
}

/// A fact, and the outcome where it holds: .NET 11 (Mono, in a browser) answers a request otherwise
/// than the codec. The first fact that holds counts.
type Exception = (&'static str, fn(&Seen<'_>) -> Option<Outcome>);

const EXCEPTIONS: [Exception; 8] = [
    // The server checks the magic last.
    ("F-3", |seen| {
        let size = seen
            .bytes
            .get(14..16)
            .map_or(0, |size| usize::from(size[0]) | usize::from(size[1]) << 8);
        let is_whole = (HEADER_LEN..=seen.bytes.len()).contains(&size);
        (seen.message.is_none() && !is_whole).then_some(Outcome::Error(HResult::BAD_ENCODING))
    }),
    // Mono 11 has no profiler and no perf map to stop, and does not read such a request.
    ("F-152", |seen| {
        let unread =
            seen.message.is_some_and(|message| message.command.set == Command::ATTACH_PROFILER.set)
                || seen.is_one_of(&[Command::DISABLE_PERF_MAP]);
        unread.then_some(Outcome::Error(HResult::NOT_SUPPORTED))
    }),
    // Dumps, perf maps and startup hooks are read, but not supported.
    ("F-152", |seen| {
        let without = [
            Command::GENERATE_CORE_DUMP,
            Command::GENERATE_CORE_DUMP2,
            Command::GENERATE_CORE_DUMP3,
            Command::ENABLE_PERF_MAP,
            Command::APPLY_STARTUP_HOOK,
        ];
        (seen.request.is_some() && seen.is_one_of(&without))
            .then_some(Outcome::Error(HResult::NOT_SUPPORTED))
    }),
    // A variable cannot have such a name.
    ("F-152", |seen| match seen.request {
        Some(AnyRequest::SetEnvironmentVariable(set)) => {
            // Half a surrogate pair is a character too.
            let mut units = set.name.units().take_while(|unit| *unit != 0).peekable();
            let is_refused = units.peek().is_none() || units.any(|unit| unit == u16::from(b'='));
            is_refused.then_some(Outcome::Error(HResult::FAIL))
        }
        _ => None,
    }),
    // The server sends the buffer into which it read the payload.
    ("F-71", |seen| {
        let infos = [
            Command::PROCESS_INFO,
            Command::PROCESS_INFO2,
            Command::PROCESS_INFO3,
            Command::PROCESS_ENVIRONMENT,
        ];
        (seen.message.is_some_and(|message| !message.payload.is_empty()) && seen.is_one_of(&infos))
            .then_some(Outcome::Raw)
    }),
    // The id of a session is cut to a pointer of 32 bits; if that is 0, the server follows it.
    ("F-151", |seen| match seen.request {
        Some(AnyRequest::StopTracing(stop)) => {
            (stop.session_id != 0 && stop.session_id as u32 == 0).then_some(Outcome::Death)
        }
        _ => None,
    }),
    // user_events is not compiled in, so the session is read, but has no descriptor.
    ("F-21", |seen| {
        let is_user_events = seen.session.as_ref()?.5 == USER_EVENTS;
        is_user_events.then_some(Outcome::Error(HResult::BAD_ENCODING))
    }),
    // Blocking needs a separate thread.
    ("F-146", |seen| {
        let blocks = seen.session.as_ref()?.6 == SessionBufferMode::BLOCK.0;
        blocks.then_some(Outcome::Error(HResult::FAIL))
    }),
];

/// `EventPipeSessionType`.
const IPC_STREAM: u32 = 2;
const USER_EVENTS: u32 = 5;

impl Expected {
    fn of(request: &[u8]) -> Self {
        let mut request = request.to_vec();
        // F-8: a string's size in bytes is twice its count, in 32 bits, so the highest bit is lost.
        let mut fact = None;
        while let Some(high) = high_bit_of_string(&request) {
            request[high] &= 0x7f;
            fact = Some("F-8");
        }
        let message = Message::decode_prefix(&request).map(|(message, _)| message);
        let read = message.and_then(|message| message.request());
        let limit = read.and_then(|read| Ok(read.check_limits())).unwrap_or(Ok(())).err();
        let refusal = match &read {
            Err(error) => Some(error.hresult()),
            Ok(AnyRequest::Unknown { .. }) => Some(HResult::UNKNOWN_COMMAND),
            Ok(_) => limit.map(|limit| limit.hresult()),
        };
        // The registration of tracepoints refuses these later.
        let later = |limit: WireErrorKind| {
            matches!(
                limit,
                WireErrorKind::TracepointNameTooLong { .. }
                    | WireErrorKind::DuplicateEventId { .. }
            )
        };
        let is_read = limit.is_none_or(|limit| later(limit.kind()));
        let seen = Seen {
            bytes: &request,
            message: message.ok(),
            request: read.ok(),
            session: read.ok().as_ref().and_then(session).filter(|_| is_read),
        };
        let claims = read.err().is_some_and(|error| has_large_count(&error));
        let exception = EXCEPTIONS.iter().find_map(|(fact, holds)| Some((*fact, holds(&seen)?)));
        Self {
            claims,
            wraps: claims && has_too_many_sets(&request),
            command: seen.message.map(|message| message.command),
            payload: seen.message.map(|message| message.payload.to_vec()).unwrap_or_default(),
            outcome: exception
                .map_or(refusal.map_or(Outcome::Ok, Outcome::Error), |(_, outcome)| outcome),
            session: seen.session,
            fact: exception.map(|(fact, _)| fact).or(fact),
        }
    }
}

/// Returns where the first string that cannot be read has a count with the highest bit, if it has.
fn high_bit_of_string(request: &[u8]) -> Option<usize> {
    let (message, _) = Message::decode_prefix(request).ok()?;
    let error = message.request().err()?;
    let last = error.offset() + 3;
    let is_array = ["providers", "event_ids", "tracepoints"]
        .iter()
        .any(|array| error.path().to_string().ends_with(array));
    (has_large_count(&error) && !is_array && request.get(last)? & 0x80 != 0).then_some(last)
}

/// Returns whether the server computes the size of so many tracepoint sets, of 12 bytes each, in 32
/// bits. Unlike this crate, it reads the first providers of a request that has too few.
fn has_too_many_sets(request: &[u8]) -> bool {
    let large = |request: &[u8]| {
        let error =
            Message::decode_prefix(request).and_then(|(message, _)| message.request()).err()?;
        let WireErrorKind::CountTooLarge { count, .. } = error.kind() else { return None };
        Some((error.path().to_string(), error.offset(), count))
    };
    let wraps =
        |path: &str, count: u32| path.ends_with("tracepoints") && count.checked_mul(12).is_none();
    match large(request) {
        Some((path, at, claimed @ 2..=1000)) if path.ends_with("providers") => {
            let mut request = request.to_vec();
            (1..claimed).any(|fewer| {
                request[at..at + 4].copy_from_slice(&fewer.to_le_bytes());
                large(&request).is_some_and(|(path, _, count)| wraps(&path, count))
            })
        }
        Some((path, _, count)) => wraps(&path, count),
        None => false,
    }
}

/// Returns whether a count of a string or an array exceeds the bytes of the message.
fn has_large_count(error: &WireError) -> bool {
    matches!(error.kind(), WireErrorKind::CountTooLarge { .. })
}

/// Returns the server's outcome. Everything that the server writes must be readable.
fn outcome(answer: &Answer, expected: &Expected) -> Result<Outcome, String> {
    // F-9: the server allocates what a count claims before it reads it, and Mono dies without
    // memory. The size of tracepoint sets is computed in 32 bits, and may wrap.
    if expected.claims && (answer.out_of_memory || expected.wraps) {
        return Ok(expected.outcome);
    }
    if let Some(died) = &answer.died {
        return if expected.outcome == Outcome::Death {
            Ok(Outcome::Death)
        } else {
            Err(format!("died: {died}"))
        };
    }
    if expected.outcome == Outcome::Raw && answer.reply.starts_with(&expected.payload) {
        return Ok(Outcome::Raw);
    }
    let Ok((message, rest)) = Message::decode_prefix(&answer.reply) else {
        return Err(format!("no reply: {}", hex::encode(&answer.reply)));
    };
    let reply =
        message.reply_to(expected.command).map_err(|error| format!("its reply: {error}"))?;
    match reply {
        AnyReply::Error(error) if rest.is_empty() => Ok(Outcome::Error(error.hresult)),
        AnyReply::Error(_) => Err("more than an error".into()),
        _ => Ok(Outcome::Ok),
    }
}

/// Returns text as the server keeps it: the first NUL ends it, and half a surrogate pair is U+FFFD.
fn text(string: IpcString<'_>) -> Text {
    let chars = string.chars().map(|c| c.unwrap_or(char::REPLACEMENT_CHARACTER));
    (!string.is_absent()).then(|| kept(chars.take_while(|c| *c != '\0')))
}

/// Returns a session as the server keeps it.
fn session(request: &AnyRequest<'_>) -> Option<Session> {
    let stream = |mb, format: Format, stacks, keyword, mode, providers| {
        (mb, format.0, keyword != 0, stacks, keyword, IPC_STREAM, mode, providers)
    };
    let plain = |providers: Array<'_, ProviderConfig<'_>>| {
        providers.iter().map(|it| streamed(it.into(), false)).collect()
    };
    let with_filters = |providers: Array<'_, StreamingProviderConfig<'_>>| {
        providers.iter().map(|it| streamed(it, true)).collect()
    };
    Some(match request {
        AnyRequest::CollectTracing(it) => {
            let keyword = rundown_keyword(true);
            stream(it.circular_buffer_mb, it.format, true, keyword, 0, plain(it.providers))
        }
        AnyRequest::CollectTracing2(it) => {
            let keyword = rundown_keyword(it.request_rundown);
            stream(it.circular_buffer_mb, it.format, true, keyword, 0, plain(it.providers))
        }
        AnyRequest::CollectTracing3(it) => {
            let (stacks, keyword) = (it.request_stackwalk, rundown_keyword(it.request_rundown));
            stream(it.circular_buffer_mb, it.format, stacks, keyword, 0, plain(it.providers))
        }
        AnyRequest::CollectTracing4(it) => {
            let (stacks, keyword) = (it.request_stackwalk, it.rundown_keyword);
            stream(it.circular_buffer_mb, it.format, stacks, keyword, 0, plain(it.providers))
        }
        AnyRequest::CollectTracing5(CollectTracing5::Streaming(it)) => {
            let (stacks, keyword) = (it.request_stackwalk, it.rundown_keyword);
            stream(it.circular_buffer_mb, it.format, stacks, keyword, 0, with_filters(it.providers))
        }
        AnyRequest::CollectTracing6(CollectTracing6::Streaming(it)) => {
            let (stacks, keyword) = (it.request_stackwalk, it.rundown_keyword);
            let (mode, providers) = (it.session_buffer_mode.0, with_filters(it.providers));
            stream(it.circular_buffer_mb, it.format, stacks, keyword, mode, providers)
        }
        AnyRequest::CollectTracing5(CollectTracing5::UserEvents(it))
        | AnyRequest::CollectTracing6(CollectTracing6::UserEvents(it)) => {
            let (providers, keyword) =
                (it.providers.iter().map(registered).collect(), it.rundown_keyword);
            (0, 1, keyword != 0, false, keyword, USER_EVENTS, 0, providers)
        }
        _ => return None,
    })
}

fn streamed(provider: StreamingProviderConfig<'_>, has_filter: bool) -> Provider {
    let EventFilter { enable, event_ids } = provider.filter;
    let filter = has_filter.then(|| (enable, event_ids.iter().collect()));
    let (name, arguments) = (text(provider.provider_name), text(provider.arguments));
    (name, arguments, provider.keywords, provider.log_level.0, filter, None)
}

fn registered(provider: UserEventsProviderConfig<'_>) -> Provider {
    let UserEventsProviderConfig { keywords, log_level, provider_name, arguments, filter, config } =
        provider;
    let TracepointConfig { default_tracepoint_name, tracepoints } = config;
    let sets = tracepoints.iter();
    let sets =
        sets.map(|set| (text(set.tracepoint_name), set.event_ids.iter().collect())).collect();
    let common = StreamingProviderConfig { keywords, log_level, provider_name, arguments, filter };
    let (name, arguments, keywords, level, filter, _) = streamed(common, true);
    (name, arguments, keywords, level, filter, Some((text(default_tracepoint_name), sets)))
}

/// Returns a message.
fn whole(command: Command, payload: &[u8]) -> Vec<u8> {
    let size = u16::try_from(HEADER_LEN + payload.len()).unwrap().to_le_bytes();
    [b"DOTNET_IPC_V1\0", &size[..], &[command.set, command.id, 0, 0], payload].concat()
}
