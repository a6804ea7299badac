//! The grammar of this crate.

use alloc::{
    borrow::ToOwned,
    format,
    string::{String, ToString as _},
    vec,
    vec::Vec,
};

use super::constraints;
use super::describe::{
    Part, by_session_type, described, fields_by_hand, fields_of, parts_of, when,
};
use super::model::{self, Field, Frame, Grammar, Kind, Struct};
use crate::value_forms;
use dotnet_diagnostics_ipc::advertise::{ADVERTISE_LEN, ADVERTISE_MAGIC};
use dotnet_diagnostics_ipc::command::{Command, Continuation, ReplyType};
use dotnet_diagnostics_ipc::continuation::{Entry, FdByte, StreamStart};
use dotnet_diagnostics_ipc::header::{HEADER_LEN, MAGIC, MAX_MESSAGE_LEN};
use dotnet_diagnostics_ipc::hresult::HResult;
use dotnet_diagnostics_ipc::legacy::{
    DraftCollectTracing, DraftErrorCode, DraftProviderConfig, OldRequest,
};
use dotnet_diagnostics_ipc::message::eventpipe::{
    EventFilter, ProviderConfig, SessionType, StreamingProviderConfig, TracepointConfig,
    TracepointSet, UserEventsProviderConfig,
};
use dotnet_diagnostics_ipc::message::server::ErrorReply;
use dotnet_diagnostics_ipc::message::{AnyReply, AnyRequest};
use dotnet_diagnostics_ipc::wire::visit::Visitor as _;
use dotnet_diagnostics_ipc::wire::{Decode, Encode as _, Field as Name, Guid, WireErrorKind};

pub(super) fn grammar() -> Grammar {
    let named = structs();
    let shapes: Vec<(&'static str, Part)> =
        named.iter().map(|(name, part, _)| (*name, part.clone())).collect();
    Grammar {
        schema: "grammar.schema.json".into(),
        format: 1,
        protocol: "DOTNET_IPC_V1".into(),
        byte_order: "little".into(),
        largest_message: MAX_MESSAGE_LEN,
        header: frame("both", &MAGIC, HEADER_LEN, header_fields()),
        checks: checks(),
        kinds: kinds(),
        structs: named
            .iter()
            .map(|(name, part, least)| describe_struct(name, part, *least, &shapes))
            .collect(),
        commands: Command::known().map(|command| describe_command(command, &shapes)).collect(),
        replies: replies(&shapes),
        error: model::ErrorReply {
            code: code(Command::ERROR),
            direction: "server".into(),
            fields: error_fields(),
        },
        continuations: continuations(),
        advertise: frame(
            "server",
            &ADVERTISE_MAGIC,
            ADVERTISE_LEN,
            described(false, value_forms::advertise).0.fields(&[]),
        ),
        legacy: legacy(&shapes),
        leniencies: leniencies(),
        faults: faults(),
        hresults: HResult::NAMED
            .iter()
            .filter_map(|hresult| {
                Some(model::HResult {
                    code: eight_digits(*hresult),
                    name: hresult.name()?.to_owned(),
                })
            })
            .collect(),
    }
}

fn code(command: Command) -> String {
    format!("0x{:04X}", command.code())
}

fn eight_digits(hresult: HResult) -> String {
    format!("0x{:08X}", hresult.0)
}

/// The structs in fields, by their names in the document, inner ones first.
fn structs() -> Vec<(&'static str, Part, usize)> {
    macro_rules! named {
        ($($name:literal = $Struct:ty,)*) => { vec![$(($name, parts_of::<$Struct>(), <$Struct>::MIN_LEN),)*] };
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
}

fn describe_struct(
    name: &str,
    part: &Part,
    least: usize,
    shapes: &[(&'static str, Part)],
) -> Struct {
    let mut fields = part.fields(shapes);
    constraints::add(name, &mut fields);
    Struct { name: name.to_owned(), least, fields, limits: constraints::limits_of_struct(name) }
}

fn frame(direction: &str, magic: &[u8], bytes: usize, fields: Vec<Field>) -> Frame {
    Frame { direction: direction.to_owned(), bytes, magic: hex::encode(magic), fields }
}

/// Not described by a visitor: the header is read in place.
fn header_fields() -> Vec<Field> {
    fields_by_hand(|asked| {
        asked.field::<u16>(Name::Size)?;
        asked.field::<u8>(Name::CommandSet)?;
        asked.field::<u8>(Name::CommandId)?;
        asked.field::<u16>(Name::Reserved).map(drop)
    })
}

/// Its text depends on the answered command, which no visitor knows.
fn error_fields() -> Vec<Field> {
    let mut fields = described(false, |asked| value_forms::error(asked, true)).0.fields(&[]);
    constraints::add("Error", &mut fields);
    let texted = Command::known().filter(|command| ErrorReply::has_message(Some(*command)));
    if let Some(message) = fields.last_mut() {
        message.when = Some(model::When {
            field: None,
            is: None,
            answers: Some(texted.map(|command| command.to_string()).collect()),
            bytes_left: true,
        });
    }
    fields
}

fn describe_command(command: Command, shapes: &[(&'static str, Part)]) -> model::Command {
    let [(streaming, one), (user_events, other)] = [false, true]
        .map(|user_events| described(user_events, |asked| AnyRequest::build(command, asked)));
    let name = command.to_string();
    let mut fields = by_session_type(streaming.fields(shapes), user_events.fields(shapes));
    constraints::add(&name, &mut fields);
    let continuations = [one, other]
        .map(|request| request.and_then(|request| request.continuation()).map(continuation));
    let [continuation, user_events] = continuations.map(|name| name.unwrap_or("close").to_owned());
    let continuation = if continuation == user_events {
        vec![model::Continuation { name: continuation, when: None }]
    } else {
        let of = |name, kind| model::Continuation { name, when: Some(when(kind)) };
        vec![of(continuation, SessionType::STREAMING), of(user_events, SessionType::USER_EVENTS)]
    };
    model::Command {
        code: code(command),
        since: command.since().map(|since| since.to_string()).unwrap_or_default(),
        direction: "client".into(),
        fields,
        reply: command.reply_type().map(ReplyType::name).unwrap_or_default().to_owned(),
        continuation,
        name,
    }
}

const fn continuation(continuation: Continuation) -> &'static str {
    match continuation {
        Continuation::Close => "close",
        Continuation::Nettrace | Continuation::BySessionType => "nettrace",
        Continuation::EnvironmentBlock => "environment",
        Continuation::UserEvents => "user_events",
        _ => "unknown",
    }
}

/// Those that answer a known command, in the order of the first command each answers.
fn replies(shapes: &[(&'static str, Part)]) -> Vec<model::Reply> {
    let mut replies = Vec::<model::Reply>::new();
    for (command, reply_type) in
        Command::known().filter_map(|command| Some((command, command.reply_type()?)))
    {
        let name = reply_type.name();
        if let Some(known) = replies.iter_mut().find(|reply| reply.name == name) {
            known.answers.push(command.to_string());
            continue;
        }
        let mut fields =
            described(false, |asked| AnyReply::build(reply_type, asked)).0.fields(shapes);
        constraints::add(name, &mut fields);
        replies.push(model::Reply {
            name: name.to_owned(),
            code: code(Command::OK),
            direction: "server".into(),
            fields,
            answers: vec![command.to_string()],
        });
    }
    replies
}

/// The encoding of the parts that a visitor knows.
fn kinds() -> Vec<Kind> {
    let fixed = |name: &str, bytes, value: &str| Kind {
        name: name.to_owned(),
        bytes: Some(bytes),
        count: None,
        unit: None,
        last: None,
        value: value.to_owned(),
    };
    let counted = |name: &str, unit, last, value: &str| Kind {
        name: name.to_owned(),
        bytes: None,
        count: Some("uint".into()),
        unit,
        last,
        value: value.to_owned(),
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
        Kind {
            name: "rest".into(),
            bytes: None,
            count: None,
            unit: None,
            last: None,
            value: "hexadecimal".into(),
        },
    ]
}

/// In this order (F-69 has that of runtimes).
fn checks() -> Vec<model::Check> {
    let check = |name: &str, of: Option<&str>, fault: Option<WireErrorKind>| model::Check {
        name: name.to_owned(),
        of: of.map(ToOwned::to_owned),
        fault: fault.map(|fault| fault.name().to_owned()),
    };
    vec![
        check("magic", None, Some(WireErrorKind::BadMagic)),
        check("header", None, Some(WireErrorKind::EndOfInput { needed: 0 })),
        check("size", None, Some(WireErrorKind::SizeTooSmall { size: 0 })),
        check("all", None, Some(WireErrorKind::EndOfInput { needed: 0 })),
        check("end", None, Some(WireErrorKind::BytesAfterMessage { extra: 0 })),
        check(
            "command",
            Some("request"),
            Some(WireErrorKind::UnexpectedCommand { code: 0, expected: 0 }),
        ),
        check("command", Some("reply"), Some(WireErrorKind::NotAReply { code: 0 })),
        check("payload", None, None),
        check("limits", Some("request"), None),
    ]
}

/// Every fault of a message, and of an advertise.
fn faults() -> Vec<model::Fault> {
    fn fault(kind: WireErrorKind) -> model::Fault {
        model::Fault {
            name: kind.name().to_owned(),
            layer: kind.layer().name().to_owned(),
            answer: eight_digits(kind.hresult()),
        }
    }
    let grammar = [
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
    ];
    let limits = [
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
    grammar.into_iter().map(fault).chain(limits.into_iter().map(fault)).collect()
}

fn continuations() -> model::Continuations {
    model::Continuations {
        close: model::Text { text: "nothing: the server closes the connection".into() },
        nettrace: model::Nettrace {
            text: "the event stream, until the session ends; recognised by its first bytes, otherwise of its own format".into(),
            starts: starts(),
        },
        environment: model::Environment {
            text: "a block of `size` bytes: a count, then that many entries; an entry is a count of units, then the units; the last \
                   unit is NUL and not part of the text; the first unit `split` after the first unit of the text separates name and \
                   value; without it there is no value"
                .into(),
            size: Name::NIncomingBytes.name().into(),
            count: "uint".into(),
            entry: model::Entry { count: "uint".into(), unit: u16::MIN_LEN, least: Entry::MIN_LEN, last: 0, split: b'='.into() },
            instead: "an error message in place of a count (F-43)".into(),
        },
        user_events: model::UserEvents {
            text: "nothing, and the connection is held open: the session ends with it (F-23)".into(),
            descriptor: model::Descriptor {
                after: "request".into(),
                before: "reply".into(),
                bytes: hex::encode(FdByte::BYTES),
                descriptors: 1,
                passed_as: "SCM_RIGHTS of a sendmsg that sends these bytes and nothing else (F-19, F-20)".into(),
            },
        },
    }
}

fn starts() -> Vec<model::Start> {
    // The fields of a start are written after its constant bytes.
    let versioned = fields_by_hand(|asked| {
        asked.field::<u32>(Name::Version)?;
        asked.field::<u32>(Name::Version).map(drop)
    });
    let versioned: Vec<Field> = versioned
        .into_iter()
        .zip(["major", "minor"])
        .map(|(field, name)| Field { name: name.to_owned(), ..field })
        .collect();
    let start = |name: &str, start: StreamStart, fields: Vec<Field>| {
        let mut bytes = Vec::new();
        // A vector accepts everything.
        let _ = start.encode(&mut bytes);
        bytes.truncate(bytes.len().saturating_sub(fields.len().saturating_mul(u32::MIN_LEN)));
        model::Start { name: name.to_owned(), bytes: hex::encode(bytes), fields }
    };
    vec![
        start("nettrace", StreamStart::Nettrace, Vec::new()),
        start("nettrace-blocks", StreamStart::NettraceBlocks { major: 0, minor: 0 }, versioned),
        start("netperf", StreamStart::Netperf, Vec::new()),
    ]
}

/// The 2019 draft, and the previous protocol.
fn legacy(shapes: &[(&'static str, Part)]) -> model::Legacy {
    let mut fields = fields_of::<DraftCollectTracing<'_>>(shapes);
    constraints::add("draft/CollectTracing", &mut fields);
    let reply = fields_by_hand(|asked| asked.field::<u64>(Name::SessionId).map(drop));
    model::Legacy {
        commands: vec![model::LegacyCommand {
            name: Command::COLLECT_TRACING.to_string(),
            code: code(Command::COLLECT_TRACING),
            edition: "2019-05".into(),
            direction: "client".into(),
            fields,
        }],
        old_request: model::Old {
            text: "of the previous protocol: without magic and size".into(),
            direction: "client".into(),
            fields: fields_of::<OldRequest>(&[]),
        },
        old_reply: model::Old {
            text: "the whole answer to it: 8 bytes, or their low 4; 0 is the error".into(),
            direction: "server".into(),
            fields: reply,
        },
        error_codes: DraftErrorCode::NAMED
            .iter()
            .map(|code| model::LegacyCode {
                code: code.0,
                name: code.name().unwrap_or_default().to_owned(),
                hresult: code.hresult().map(eight_digits),
            })
            .collect(),
    }
}

/// The closed list of what is accepted although no writer may write it.
fn leniencies() -> Vec<model::Leniency> {
    let leniency =
        |name: &str, text: &str| model::Leniency { name: name.to_owned(), text: text.to_owned() };
    vec![
        leniency("bool", "any byte but 0 is true; 1 is written"),
        leniency("trailing_bytes", "bytes after the last field of a payload are ignored"),
        leniency("reserved", "`reserved` of the header may be any number; 0 is written"),
        leniency("generic_ok", "an OK without payload answers any command (F-2)"),
        leniency(
            "negative_perf_map_type",
            "a `perfMapType` of 0x80000000 or more is accepted (P-44)",
        ),
    ]
}
