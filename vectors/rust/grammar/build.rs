//! Builds the grammar from the tables and visitors of this crate.

use alloc::{
    borrow::ToOwned,
    format,
    string::{String, ToString as _},
    vec,
    vec::Vec,
};

use serde_json::{Value, json};

use super::constraints;
use super::describe::{Shapes, by_session_type, described, fields_of};
use super::{
    Command, Continuation, Continuations, Entry, Environment, ErrorReply, Fault, Field, Frame,
    Grammar, Kind, Legacy, LegacyCommand, NamedHResult, Nettrace, Reply, Start, Struct, When,
};
use crate::value_forms;
use dotnet_diagnostics_ipc::advertise::{ADVERTISE_LEN, ADVERTISE_MAGIC};
use dotnet_diagnostics_ipc::command::{self, ReplyType};
use dotnet_diagnostics_ipc::continuation::{self, FdByte, StreamStart};
use dotnet_diagnostics_ipc::header::{HEADER_LEN, MAGIC, MAX_MESSAGE_LEN};
use dotnet_diagnostics_ipc::hresult::HResult;
use dotnet_diagnostics_ipc::legacy::{
    DraftCollectTracing, DraftErrorCode, DraftProviderConfig, OldRequest,
};
use dotnet_diagnostics_ipc::message::eventpipe::{
    EventFilter, ProviderConfig, SessionType, StreamingProviderConfig, TracepointConfig,
    TracepointSet, UserEventsProviderConfig,
};
use dotnet_diagnostics_ipc::message::{self, AnyReply, AnyRequest};
use dotnet_diagnostics_ipc::wire::{Decode, Encode as _, Field as Name, Guid, WireErrorKind};

pub(super) fn grammar() -> Grammar {
    let (shapes, structs) = structs();
    let header = [
        Field::new("size", "ushort"),
        Field::new("command_set", "byte"),
        Field::new("command_id", "byte"),
        Field::new("reserved", "ushort"),
    ];
    let advertise = described(&shapes, false, value_forms::advertise).0;
    let named = HResult::NAMED.iter().filter_map(|hresult| {
        Some(NamedHResult { code: eight_digits(*hresult), name: hresult.name()?.to_owned() })
    });
    Grammar {
        schema: "grammar.schema.json".into(),
        format: 1,
        protocol: "DOTNET_IPC_V1".into(),
        byte_order: "little".into(),
        largest_message: MAX_MESSAGE_LEN,
        header: frame("both", &MAGIC, HEADER_LEN, header.into()),
        checks: checks(),
        kinds: kinds(),
        structs,
        commands: command::Command::known().map(|command| describe(command, &shapes)).collect(),
        replies: replies(&shapes),
        error: error(&shapes),
        continuations: continuations(),
        advertise: frame("server", &ADVERTISE_MAGIC, ADVERTISE_LEN, advertise),
        legacy: legacy(&shapes),
        leniencies: json!([
            { "name": "bool", "text": "any byte but 0 is true; 1 is written" },
            { "name": "trailing_bytes", "text": "bytes after the last field of a payload are ignored" },
            { "name": "reserved", "text": "`reserved` of the header may be any number; 0 is written" },
            { "name": "generic_ok", "text": "an OK without payload answers any command (F-2)" },
            { "name": "negative_perf_map_type", "text": "a `perfMapType` of 0x80000000 or more is accepted (P-44)" },
        ]),
        faults: faults(),
        hresults: named.collect(),
    }
}

fn code(command: command::Command) -> String {
    format!("0x{:04X}", command.code())
}

fn eight_digits(hresult: HResult) -> String {
    format!("0x{:08X}", hresult.0)
}

fn frame(direction: &str, magic: &[u8], bytes: usize, fields: Vec<Field>) -> Frame {
    Frame { direction: direction.to_owned(), bytes, magic: hex::encode(magic), fields }
}

/// Returns the structs under their names in the document, inner ones first: as recorded, and with
/// the additions of [`constraints`].
fn structs() -> (Vec<(&'static str, Vec<Field>)>, Vec<Struct>) {
    let (mut shapes, mut structs) = (Vec::new(), Vec::new());
    macro_rules! named {
        ($($name:literal = $Struct:ty,)*) => {$(
            let recorded = fields_of::<$Struct>(&shapes);
            structs.push(Struct {
                name: $name.to_owned(),
                least: <$Struct>::MIN_LEN,
                fields: constraints::added($name, recorded.clone()),
                limits: constraints::limits_of_struct($name),
            });
            shapes.push(($name, recorded));
        )*};
    }
    named! {
        "event_filter" = EventFilter<'_>,
        "tracepoint_set" = TracepointSet<'_>,
        "tracepoint_config" = TracepointConfig<'_>,
        "provider_config" = ProviderConfig<'_>,
        "streaming_provider_config" = StreamingProviderConfig<'_>,
        "user_events_provider_config" = UserEventsProviderConfig<'_>,
        "draft_provider_config" = DraftProviderConfig<'_>,
    }
    (shapes, structs)
}

/// The error text depends on the answered command, which a visitor cannot see.
fn error(shapes: &Shapes) -> ErrorReply {
    let recorded = described(shapes, false, |recorder| value_forms::error(recorder, true)).0;
    let mut fields = constraints::added("Error", recorded);
    let texted = command::Command::known()
        .filter(|command| message::server::ErrorReply::has_message(Some(*command)));
    if let Some(message) = fields.last_mut() {
        let answers = Some(texted.map(|command| command.to_string()).collect());
        message.when = Some(When { answers, bytes_left: true, ..When::default() });
    }
    ErrorReply { code: code(command::Command::ERROR), direction: "server".into(), fields }
}

fn describe(command: command::Command, shapes: &Shapes) -> Command {
    let [(streaming, one), (user_events, other)] = [false, true].map(|user_events| {
        described(shapes, user_events, |recorder| AnyRequest::build(command, recorder))
    });
    let name = command.to_string();
    let fields = by_session_type(streaming, user_events);
    let [streaming, user_events] =
        [(one, SessionType::STREAMING), (other, SessionType::USER_EVENTS)].map(
            |(request, kind)| Continuation {
                name: continuation_name(request.and_then(|request| request.continuation())).into(),
                when: Some(When::session_type(kind)),
            },
        );
    Command {
        code: code(command),
        since: command.since().map(|since| since.to_string()).unwrap_or_default(),
        direction: "client".into(),
        fields: constraints::added(&name, fields),
        reply: command.reply_type().map(ReplyType::name).unwrap_or_default().to_owned(),
        continuation: if streaming.name == user_events.name {
            vec![Continuation { when: None, ..streaming }]
        } else {
            vec![streaming, user_events]
        },
        name,
    }
}

const fn continuation_name(continuation: Option<command::Continuation>) -> &'static str {
    match continuation {
        None | Some(command::Continuation::Close) => "close",
        Some(command::Continuation::Nettrace | command::Continuation::BySessionType) => "nettrace",
        Some(command::Continuation::EnvironmentBlock) => "environment",
        Some(command::Continuation::UserEvents) => "user_events",
        Some(_) => "unknown",
    }
}

/// Returns the replies to known commands, in the order of the first command that each answers.
fn replies(shapes: &Shapes) -> Vec<Reply> {
    let mut replies = Vec::<Reply>::new();
    for command in command::Command::known() {
        let Some(reply_type) = command.reply_type() else { continue };
        let name = reply_type.name();
        if let Some(known) = replies.iter_mut().find(|reply| reply.name == name) {
            known.answers.push(command.to_string());
            continue;
        }
        let recorded = described(shapes, false, |recorder| AnyReply::build(reply_type, recorder)).0;
        replies.push(Reply {
            name: name.to_owned(),
            code: code(command::Command::OK),
            direction: "server".into(),
            fields: constraints::added(name, recorded),
            answers: vec![command.to_string()],
        });
    }
    replies
}

/// Returns the encoding of the parts that a visitor distinguishes.
fn kinds() -> Vec<Kind> {
    let kind = |name: &str, value: &str| Kind {
        name: name.to_owned(),
        value: value.to_owned(),
        ..Kind::default()
    };
    let fixed = |name, bytes, value| Kind { bytes: Some(bytes), ..kind(name, value) };
    let counted = |name, unit, last, value| Kind {
        count: Some("uint".into()),
        unit,
        last,
        ..kind(name, value)
    };
    vec![
        fixed("byte", u8::MIN_LEN, "number"),
        fixed("ushort", u16::MIN_LEN, "number"),
        fixed("wchar", u16::MIN_LEN, "number"),
        fixed("uint", u32::MIN_LEN, "number"),
        fixed("ulong", u64::MIN_LEN, "decimal"),
        fixed("hresult", HResult::MIN_LEN, "hresult"),
        fixed("bool", bool::MIN_LEN, "bool"),
        fixed("guid", Guid::MIN_LEN, "guid"),
        counted("string", Some(2), Some(0), "text"),
        counted("bytes", Some(1), None, "hexadecimal"),
        counted("array", None, None, "list"),
        kind("rest", "hexadecimal"),
    ]
}

/// Returns the checks in this crate's order; F-69 has the order of runtimes.
fn checks() -> Value {
    let end = WireErrorKind::EndOfInput { needed: 0 }.name();
    let unexpected = WireErrorKind::UnexpectedCommand { code: 0, expected: 0 }.name();
    json!([
        { "name": "magic", "fault": WireErrorKind::BadMagic.name() },
        { "name": "header", "fault": end },
        { "name": "size", "fault": WireErrorKind::SizeTooSmall { size: 0 }.name() },
        { "name": "all", "fault": end },
        { "name": "end", "fault": WireErrorKind::BytesAfterMessage { extra: 0 }.name() },
        { "name": "command", "of": "request", "fault": unexpected },
        { "name": "command", "of": "reply", "fault": WireErrorKind::NotAReply { code: 0 }.name() },
        { "name": "payload" },
        { "name": "limits", "of": "request" },
    ])
}

/// Returns every error of a message or an advertise.
fn faults() -> Vec<Fault> {
    let kinds = [
        WireErrorKind::BadMagic,
        WireErrorKind::EndOfInput { needed: 0 },
        WireErrorKind::SizeTooSmall { size: 0 },
        WireErrorKind::BytesAfterMessage { extra: 0 },
        WireErrorKind::UnexpectedCommand { code: 0, expected: 0 },
        WireErrorKind::NotAReply { code: 0 },
        WireErrorKind::UnexpectedEnd { needed: 0, remaining: 0 },
        WireErrorKind::CountTooLarge { count: 0, remaining: 0 },
        WireErrorKind::MissingTerminator { unit: 0 },
        WireErrorKind::UnknownSessionType { session_type: 0 },
        WireErrorKind::ZeroBuffer,
        WireErrorKind::UnknownFormat { format: 0 },
        WireErrorKind::NoProviders,
        WireErrorKind::TooManyProviders { count: 0 },
        WireErrorKind::LogLevelOutOfRange { level: 0 },
        WireErrorKind::EmptyProviderName,
        WireErrorKind::NoTracepoint,
        WireErrorKind::TracepointNameTooLong { len: 0 },
        WireErrorKind::EmptyTracepointName,
        WireErrorKind::DuplicateEventId { id: 0 },
        WireErrorKind::UnknownBufferMode { mode: 0 },
        WireErrorKind::UnknownPerfMapType { map_type: 0 },
        WireErrorKind::AbsentName,
        WireErrorKind::UnknownDumpType { dump_type: 0 },
    ];
    let fault = |kind: WireErrorKind| Fault {
        name: kind.name().to_owned(),
        layer: kind.layer().name().to_owned(),
        answer: eight_digits(kind.hresult()),
    };
    kinds.into_iter().map(fault).collect()
}

fn continuations() -> Continuations {
    Continuations {
        close: json!({ "text": "nothing: the server closes the connection" }),
        nettrace: Nettrace {
            text: "the event stream, until the session ends; recognised by its first bytes, otherwise of its own format".into(),
            starts: starts(),
        },
        environment: Environment {
            text: "a block of `size` bytes: a count, then that many entries; an entry is a count of units, then the units; the last \
                   unit is NUL and not part of the text; the first unit `split` after the first unit of the text separates name and \
                   value; without it there is no value"
                .into(),
            size: Name::NIncomingBytes.name().into(),
            count: "uint".into(),
            entry: Entry { count: "uint".into(), unit: u16::MIN_LEN, least: continuation::Entry::MIN_LEN, last: 0, split: b'='.into() },
            instead: "an error message in place of a count (F-43)".into(),
        },
        user_events: json!({
            "text": "nothing, and the connection is held open: the session ends with it (F-23)",
            "descriptor": {
                "after": "request",
                "before": "reply",
                "bytes": hex::encode(FdByte::BYTES),
                "descriptors": 1,
                "as": "SCM_RIGHTS of a sendmsg that sends these bytes and nothing else (F-19, F-20)",
            },
        }),
    }
}

/// Returns the first bytes of each format. The fields of a start follow its constant bytes.
fn starts() -> Vec<Start> {
    let start = |name: &str, start: StreamStart, fields: Vec<Field>| {
        let mut bytes = Vec::new();
        // A vector accepts everything.
        let _ = start.encode(&mut bytes);
        bytes.truncate(bytes.len().saturating_sub(fields.len().saturating_mul(u32::MIN_LEN)));
        Start { name: name.to_owned(), bytes: hex::encode(bytes), fields }
    };
    let versioned = vec![Field::new("major", "uint"), Field::new("minor", "uint")];
    vec![
        start("nettrace", StreamStart::Nettrace, Vec::new()),
        start("nettrace-blocks", StreamStart::NettraceBlocks { major: 0, minor: 0 }, versioned),
        start("netperf", StreamStart::Netperf, Vec::new()),
    ]
}

/// Returns the 2019 draft and the previous protocol.
fn legacy(shapes: &Shapes) -> Legacy {
    let request = command::Command::COLLECT_TRACING;
    let fields = fields_of::<DraftCollectTracing<'_>>(shapes);
    let codes = DraftErrorCode::NAMED.iter().map(|code| match code.hresult() {
        Some(hresult) => {
            json!({ "code": code.0, "name": code.name(), "hresult": eight_digits(hresult) })
        }
        None => json!({ "code": code.0, "name": code.name() }),
    });
    Legacy {
        commands: vec![LegacyCommand {
            name: request.to_string(),
            code: code(request),
            edition: "2019-05".into(),
            direction: "client".into(),
            fields: constraints::added("draft/CollectTracing", fields),
        }],
        old_request: json!({
            "text": "of the previous protocol: without magic and size",
            "direction": "client",
            "fields": fields_of::<OldRequest>(&[]),
        }),
        old_reply: json!({
            "text": "the whole answer to it: 8 bytes, or their low 4; 0 is the error",
            "direction": "server",
            "fields": [Field::new(Name::SessionId.name(), "ulong")],
        }),
        error_codes: codes.collect(),
    }
}
