//! The texts of all errors: `error_messages.txt` has a line for every kind, `kind | text`, for
//! review.

use dotnet_diagnostics_ipc::command::Command;
#[cfg(all(feature = "io-adapters", unix))]
use dotnet_diagnostics_ipc::continuation::Environment;
use dotnet_diagnostics_ipc::exchange::fallback::{DroppedFields, FallbackError};
use dotnet_diagnostics_ipc::exchange::{
    End, MisuseError, RefusalReason, RequestError, RespondError,
};
use dotnet_diagnostics_ipc::header::Header;
use dotnet_diagnostics_ipc::hresult::HResult;
use dotnet_diagnostics_ipc::message::Request as _;
use dotnet_diagnostics_ipc::message::eventpipe::TracepointConfig;
use dotnet_diagnostics_ipc::message::process::{EnablePerfMap, PerfMapType};
use dotnet_diagnostics_ipc::wire::{
    Array, Decode as _, EncodeError, Guid, IpcString, Layer, Reader, WireError, WireErrorKind,
};

use crate::error_texts::{Snapshot, Texts};

fn codec(texts: &mut Texts) {
    let hresult = HResult::UNKNOWN_COMMAND;
    texts.all([
        WireErrorKind::EndOfInput { needed: 28 },
        WireErrorKind::BytesAfterMessage { extra: 1 },
        WireErrorKind::SizeTooSmall { size: 19 },
        WireErrorKind::BadMagic,
        WireErrorKind::UnexpectedCommand { code: 0x0203, expected: 0x0202 },
        WireErrorKind::NotAReply { code: 0x0203 },
        WireErrorKind::UnexpectedEnd { needed: 4, remaining: 3 },
        WireErrorKind::CountTooLarge { count: 1000, remaining: 8 },
        WireErrorKind::MissingTerminator { unit: 0x61 },
        WireErrorKind::UnknownSessionType { session_type: 2 },
        WireErrorKind::ErrorMessage { hresult },
        WireErrorKind::LimitExceeded { limit: 1000, found: 1001 },
        WireErrorKind::WrongStructSize { size: 30, expected: 28 },
        WireErrorKind::NonZeroPadding { byte: 1 },
        WireErrorKind::RelLocOutOfRange { offset: 8, len: 100 },
        WireErrorKind::UnknownTracepointFormat,
        WireErrorKind::EmptyCommandName,
        WireErrorKind::CommandNameTooLong { len: 437 },
        WireErrorKind::BadTracepointName { byte: 0x20 },
        WireErrorKind::ZeroBuffer,
        WireErrorKind::UnknownFormat { format: 2 },
        WireErrorKind::LogLevelOutOfRange { level: 6 },
        WireErrorKind::NoProviders,
        WireErrorKind::TooManyProviders { count: 1001 },
        WireErrorKind::EmptyProviderName,
        WireErrorKind::NoTracepoint,
        WireErrorKind::EmptyTracepointName,
        WireErrorKind::TracepointNameTooLong { len: 437 },
        WireErrorKind::DuplicateEventId { id: 7 },
        WireErrorKind::UnknownBufferMode { mode: 2 },
        WireErrorKind::UnknownPerfMapType { map_type: 4 },
        WireErrorKind::UnknownDumpType { dump_type: 5 },
        WireErrorKind::AbsentName,
    ]);
    texts.add(u32::decode(&mut Reader::new(b"\x01")).unwrap_err());
    texts.add(TracepointConfig::decode(&mut Reader::new(b"\x01\0\0\0a\0")).unwrap_err());
    texts.all([
        EncodeError::BufferTooSmall { needed: 28 },
        EncodeError::MessageTooLarge { len: 65_536 },
        EncodeError::CountTooLarge { count: 70_000 },
        EncodeError::PartTooLong { len: 437, max: 436 },
        EncodeError::EventIdTooLarge { id: 65_536 },
        EncodeError::EmptyName,
        EncodeError::ForbiddenUnit { unit: 0x20 },
        EncodeError::NotUnknown { code: 3 },
        EncodeError::UnknownLabelNotLast { label: 9 },
    ]);
    texts.all([
        RequestError::Encode(EncodeError::BufferTooSmall { needed: 28 }),
        RequestError::Limit(
            EnablePerfMap { perf_map_type: PerfMapType(0) }.check_limits().unwrap_err(),
        ),
    ]);
    texts.all([Layer::Transport, Layer::Header, Layer::Payload, Layer::Limits, Layer::Reply]);
    texts.add("Collect".parse::<Command>().unwrap_err());
    texts.add("01234567-89ab-cdef-0123-456789abcdeg".parse::<Guid>().unwrap_err());
}

fn ports_and_names(texts: &mut Texts) {
    use dotnet_diagnostics_ipc::port::{IgnoredReason, strict};
    use dotnet_diagnostics_ipc::text::TextErrorKind;
    texts.all([
        TextErrorKind::UnknownPrefix,
        TextErrorKind::BadNumber,
        TextErrorKind::MissingKey,
        TextErrorKind::UnknownSuffix,
        TextErrorKind::MissingName,
        TextErrorKind::MissingField,
        TextErrorKind::PathTooLong { needed: 108, most: 107 },
    ]);
    texts.add(
        dotnet_diagnostics_ipc::endpoint::SocketName::parse("dotnet-diagnostic-x").unwrap_err(),
    );
    texts.all([
        IgnoredReason::EmptyPort,
        IgnoredReason::NoAddress,
        IgnoredReason::EmptyField,
        IgnoredReason::UnknownTag,
        IgnoredReason::LaterTag,
        IgnoredReason::ListenPort,
        IgnoredReason::BehindNul,
    ]);
    texts.all([
        TextErrorKind::EmptyAddress,
        TextErrorKind::PrefixedPipeName,
        TextErrorKind::EmptyTag,
        TextErrorKind::UnknownTag,
        TextErrorKind::Nul,
        TextErrorKind::NotAGuid,
        TextErrorKind::NotACommand,
    ]);
    texts.add(strict("/a,x").map(drop).unwrap_err());
}

fn exchanges(texts: &mut Texts) {
    let command = Command::COLLECT_TRACING5;
    let field = DroppedFields::EVENT_FILTERS;
    texts.all([
        FallbackError::OtherError(HResult::BAD_ENCODING),
        FallbackError::Oldest(Command::COLLECT_TRACING2),
        FallbackError::UserEvents,
        FallbackError::FieldLost { command, field, provider: Some(3) },
    ]);
    texts.all([End::Closed, End::Reset, End::TimedOut]);
    texts.all([
        MisuseError::NotAsked,
        MisuseError::TooMany { asked: 20, reported: 21 },
        MisuseError::NoBytes,
        MisuseError::BufferTooShort { needed: 32 },
    ]);
    texts.all([
        RespondError::from(MisuseError::NotAsked),
        RespondError::from(EncodeError::BufferTooSmall { needed: 24 }),
    ]);
    texts.all([
        RefusalReason::EndOfInput { received: 19 },
        RefusalReason::Malformed(WireError::new(WireErrorKind::SizeTooSmall { size: 19 }, 14)),
        RefusalReason::UnknownCommand { command: Command { set: 2, id: 0x63 } },
        RefusalReason::OverLimit(WireError::new(WireErrorKind::NoProviders, 29)),
        RefusalReason::NoDescriptor,
    ]);
}

/// A part of the file that exists only with the feature.
#[cfg(all(feature = "io-adapters", unix))]
fn io(texts: &mut Texts) {
    use dotnet_diagnostics_ipc::io::discovery::EndpointState;
    use dotnet_diagnostics_ipc::io::trust::Distrust;
    use dotnet_diagnostics_ipc::io::{ErrorKind, Phase};
    use dotnet_diagnostics_ipc::message::Request as _;
    use dotnet_diagnostics_ipc::message::eventpipe::{CollectTracing, Format};

    texts.all([
        Phase::Find,
        Phase::Trust,
        Phase::Connect,
        Phase::Send,
        Phase::SendFd,
        Phase::Reply,
        Phase::Continuation,
        Phase::Stop,
        Phase::Listen,
    ]);
    let no_provider = CollectTracing {
        circular_buffer_mb: 64,
        format: Format::NET_TRACE,
        providers: Array::EMPTY,
    };
    let path = || std::path::PathBuf::from("/tmp/socket");
    texts.all([
        ErrorKind::TimedOut,
        ErrorKind::Cancelled,
        ErrorKind::Io(std::io::ErrorKind::ConnectionRefused.into()),
        ErrorKind::NotFound("/tmp/socket".to_owned()),
        ErrorKind::NoSocket("process 12 has no diagnostic socket in /tmp: why".to_owned()),
        ErrorKind::NotAnEndpoint("port 1 is not an endpoint".to_owned()),
        ErrorKind::Untrusted(Distrust::PeerOwner { owner: 1000, ours: 1001 }),
        ErrorKind::Encode(EncodeError::EmptyName),
        ErrorKind::Limit(no_provider.check_limits().unwrap_err()),
        ErrorKind::Refused { hresult: HResult::UNKNOWN_COMMAND, message: None },
        ErrorKind::Refused {
            hresult: HResult::INVALID_ARG,
            message: Some("no such file".to_owned()),
        },
        ErrorKind::Refused { hresult: HResult::OK, message: None },
        ErrorKind::Malformed(u32::decode(&mut Reader::new(b"\x01")).unwrap_err()),
        ErrorKind::Malformed(Environment::decode(&[]).unwrap_err()),
        ErrorKind::Ended { end: End::Closed, received: 0 },
        ErrorKind::Ended { end: End::Reset, received: 4 },
        ErrorKind::LimitExceeded { limit: 100 },
        ErrorKind::Unsupported("this transport cannot pass descriptors"),
        ErrorKind::Incomplete { end: End::Closed, received: 100 },
        ErrorKind::SessionOver,
        ErrorKind::AlreadyStopped,
        ErrorKind::Miscounted { asked: 20, reported: 21 },
        ErrorKind::Bug(MisuseError::NotAsked),
    ]);
    texts.all([
        Distrust::NotASocket { path: path(), is: "a directory" },
        Distrust::OtherOwner { path: path(), owner: 1000, ours: 1001 },
        Distrust::SharedDirectory { path: path(), mode: 0o777 },
        Distrust::PeerOwner { owner: 1000, ours: 1001 },
        Distrust::UnmappedOwner { path: path(), owner: 65534 },
        Distrust::UnmappedPeer { owner: 65534 },
        Distrust::PeerUser {
            owner: "S-1-5-21-1-2-3-1001".to_owned(),
            ours: "S-1-5-21-1-2-3-1000".to_owned(),
        },
        Distrust::UnknownProcess { expected: None },
        Distrust::UnknownProcess { expected: Some(7) },
        Distrust::PeerProcess { process_id: 5, expected: 7 },
        Distrust::NotLoopback { address: ([192, 0, 2, 1], 9000).into() },
    ]);
    texts.all([
        EndpointState::Listening,
        EndpointState::Stale,
        EndpointState::Superseded,
        EndpointState::Unknown(std::io::ErrorKind::PermissionDenied),
    ]);
}

#[cfg(not(all(feature = "io-adapters", unix)))]
fn io(_: &mut Texts) {}

#[test]
fn error_texts_equal_snapshot() {
    let [mut core, mut adapters] = [const { Texts::new() }; 2];
    codec(&mut core);
    ports_and_names(&mut core);
    exchanges(&mut core);
    io(&mut adapters);
    snapshot().equals([("core", core), ("io", adapters)]);
}

#[test]
fn snapshot_has_every_kind() {
    // `testing` prints no errors.
    let kinds = snapshot().has_every_kind_of("src", &["testing"]);
    assert!(kinds > 80, "{kinds}");
}

fn snapshot() -> Snapshot {
    Snapshot {
        root: env!("CARGO_MANIFEST_DIR"),
        file: "tests/codec/error_messages.txt",
        renewed_by: "--all-features --test codec error_texts",
    }
}

/// The text is that of the cause, which a source would repeat.
#[test]
fn respond_error_prints_cause_without_source() {
    let (misuse, encode) = (MisuseError::NotAsked, EncodeError::BufferTooSmall { needed: 24 });
    for (error, cause) in [
        (RespondError::from(misuse), misuse.to_string()),
        (RespondError::from(encode), encode.to_string()),
    ] {
        assert_eq!(error.to_string(), cause);
        assert!(std::error::Error::source(&error).is_none());
    }
}

#[test]
fn end_name_equals_vectors() {
    let names = [End::Closed, End::Reset, End::TimedOut].map(End::name);
    assert_eq!(names, ["closed", "reset", "timed_out"]);
}

/// The path is for people and for tools: it is printed, and may be empty.
#[test]
fn error_path_prints_fields_and_indices() {
    let one = b"\x01\0\0\0\x01\0\0\0a\0";
    let indexed = Array::<IpcString<'_>>::decode(&mut Reader::new(one)).unwrap_err();
    for (error, path) in [
        (u32::decode(&mut Reader::new(b"\x01")).unwrap_err(), ""),
        (indexed, "[0]"),
        (Header::decode(b"D").unwrap_err(), "header"),
        (
            TracepointConfig::decode(&mut Reader::new(b"\x01\0\0\0a\0")).unwrap_err(),
            "default_tracepoint_name",
        ),
    ] {
        assert_eq!(error.path().is_empty(), path.is_empty());
        assert_eq!(error.path().to_string(), path);
        assert_eq!(format!("{:?}", error.path()), format!("Path({path})"));
    }
}

#[test]
fn protocol_name_prints_name_or_number() {
    for (command, shown, debugged) in [
        (
            Command::COLLECT_TRACING2,
            "EventPipe/CollectTracing2",
            "Command(0x0203 EventPipe/CollectTracing2)",
        ),
        (Command { set: 2, id: 0x63 }, "EventPipe/0x63", "Command(0x0263 EventPipe/0x63)"),
        (Command { set: 0x63, id: 1 }, "0x63/0x01", "Command(0x6301 0x63/0x01)"),
    ] {
        assert_eq!(command.to_string(), shown);
        assert_eq!(format!("{command:?}"), debugged);
    }
}
