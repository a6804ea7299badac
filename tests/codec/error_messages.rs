//! The texts of all errors: `error_messages.txt` has a line for every kind, `kind | text`, for
//! review.
//!
//! After a change: `DIAG_UPDATE=1 cargo test --all-features --test codec error_messages`, then read
//! the difference.

use std::any::type_name;
use std::fmt::{Debug, Display};
use std::fs;
use std::path::Path;

use dotnet_diagnostics_ipc::command::Command;
#[cfg(all(feature = "io-adapters", unix))]
use dotnet_diagnostics_ipc::continuation::Environment;
use dotnet_diagnostics_ipc::continuation::EnvironmentErrorKind;
use dotnet_diagnostics_ipc::endpoint::check_path_len;
use dotnet_diagnostics_ipc::exchange::diagnostic_port::{
    DiagnosticPort, HoldErrorKind, SameCookie, Slot, SlotsError,
};
use dotnet_diagnostics_ipc::exchange::fallback::DroppedFields;
use dotnet_diagnostics_ipc::exchange::{End, MisuseError, RefusalReason, RespondError};
use dotnet_diagnostics_ipc::header::Header;
use dotnet_diagnostics_ipc::hresult::HResult;
use dotnet_diagnostics_ipc::legacy::draft_set_name;
use dotnet_diagnostics_ipc::message::eventpipe::TracepointConfig;
use dotnet_diagnostics_ipc::port::{PortConfig, SuspensionError, WritePorts};
use dotnet_diagnostics_ipc::user_events::UserEventsErrorKind;
use dotnet_diagnostics_ipc::wire::{
    Array, Decode as _, DecodeErrorKind, EncodeError, Guid, IpcString, Layer, LimitKind, Reader,
};

/// Sources that print no errors of the crate: the program prints those of the others.
const LEFT_OUT: &[&str] = &["bin", "testing"];

/// The lines of the file, as the code has them now.
#[derive(Default)]
struct Texts(Vec<String>);

impl Texts {
    fn add<T: Debug + Display>(&mut self, error: T) {
        let path = type_name::<T>();
        let path = path.split('<').next().unwrap();
        let name = path.rsplit("::").next().unwrap();
        let kind = format!("{error:?}");
        let kind = if kind.starts_with(name) { kind } else { format!("{name}::{kind}") };
        self.0.push(format!("{kind} | {error}"));
    }

    fn all<T: Debug + Display>(&mut self, errors: impl IntoIterator<Item = T>) {
        errors.into_iter().for_each(|error| self.add(error));
    }
}

fn codec(texts: &mut Texts) {
    let hresult = HResult::UNKNOWN_COMMAND;
    texts.all([
        DecodeErrorKind::EndOfInput { needed: 28 },
        DecodeErrorKind::BytesAfterMessage { extra: 1 },
        DecodeErrorKind::SizeTooSmall { size: 19 },
        DecodeErrorKind::BadMagic,
        DecodeErrorKind::UnexpectedCommand { code: 0x0203, expected: 0x0202 },
        DecodeErrorKind::NotAReply { code: 0x0203 },
        DecodeErrorKind::UnexpectedEnd { needed: 4, remaining: 3 },
        DecodeErrorKind::CountTooLarge { count: 1000, remaining: 8 },
        DecodeErrorKind::MissingTerminator { unit: 0x61 },
        DecodeErrorKind::UnknownSessionType { session_type: 2 },
    ]);
    let grammar = DecodeErrorKind::UnexpectedEnd { needed: 4, remaining: 3 };
    texts.all([
        EnvironmentErrorKind::Grammar(grammar),
        EnvironmentErrorKind::ErrorMessage { hresult },
        EnvironmentErrorKind::LimitExceeded { limit: 1000, found: 1001 },
    ]);
    texts.all([
        UserEventsErrorKind::Grammar(grammar),
        UserEventsErrorKind::WrongStructSize { size: 30, expected: 28 },
        UserEventsErrorKind::NonZeroPadding { byte: 1 },
        UserEventsErrorKind::RelLocOutOfRange { offset: 8, len: 100 },
        UserEventsErrorKind::UnknownTracepointFormat,
        UserEventsErrorKind::EmptyTracepointName,
        UserEventsErrorKind::TracepointNameTooLong { len: 437 },
        UserEventsErrorKind::BadTracepointName { byte: 0x20 },
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
        LimitKind::ZeroBuffer,
        LimitKind::UnknownFormat(2),
        LimitKind::LogLevelOutOfRange(6),
        LimitKind::NoProviders,
        LimitKind::TooManyProviders(1001),
        LimitKind::EmptyProviderName,
        LimitKind::NoTracepoint,
        LimitKind::EmptyTracepointName,
        LimitKind::TracepointNameTooLong(437),
        LimitKind::DuplicateEventId(7),
        LimitKind::UnknownBufferMode(2),
        LimitKind::UnknownPerfMapType(4),
        LimitKind::UnknownDumpType(5),
        LimitKind::AbsentName,
    ]);
    texts.all([Layer::Transport, Layer::Header, Layer::Payload, Layer::Limits, Layer::Reply]);
    texts.add("Collect".parse::<Command>().unwrap_err());
    texts.add("01234567-89ab-cdef-0123-456789abcdeg".parse::<Guid>().unwrap_err());
}

fn ports_and_names(texts: &mut Texts) {
    use dotnet_diagnostics_ipc::endpoint::NameErrorKind;
    use dotnet_diagnostics_ipc::port::{IgnoredReason, PortsErrorKind, strict};
    texts.all([
        NameErrorKind::UnknownPrefix,
        NameErrorKind::BadNumber,
        NameErrorKind::MissingKey,
        NameErrorKind::UnknownSuffix,
        NameErrorKind::MissingName,
        NameErrorKind::MissingField,
    ]);
    texts.add(
        dotnet_diagnostics_ipc::endpoint::SocketName::parse("dotnet-diagnostic-x").unwrap_err(),
    );
    texts.add(check_path_len(108, 107).unwrap_err());
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
        PortsErrorKind::EmptyAddress,
        PortsErrorKind::PrefixedPipeName,
        PortsErrorKind::EmptyTag,
        PortsErrorKind::UnknownTag,
        PortsErrorKind::Nul,
    ]);
    texts.add(strict("/a,x").map(drop).unwrap_err());
    texts.add(
        WritePorts::new(&[PortConfig::new("/a"), PortConfig::new("/b;c")]).map(drop).unwrap_err(),
    );
    texts.all([SuspensionError::TooManyPorts { capacity: 2 }, SuspensionError::NoSuchPort]);
}

fn exchanges(texts: &mut Texts) {
    texts.all([End::Closed, End::Reset, End::TimedOut]);
    texts.all([
        MisuseError::NotAsked,
        MisuseError::TooMany { asked: 20, said: 21 },
        MisuseError::NoBytes,
        MisuseError::BufferTooShort { needed: 32 },
    ]);
    texts.all([
        RespondError::from(MisuseError::NotAsked),
        RespondError::from(EncodeError::BufferTooSmall { needed: 24 }),
    ]);
    texts.all([
        RefusalReason::EndOfInput { received: 19 },
        RefusalReason::Malformed { kind: DecodeErrorKind::SizeTooSmall { size: 19 }, offset: 14 },
        RefusalReason::UnknownCommand { command: Command { set: 2, id: 0x63 } },
        RefusalReason::OverLimit { kind: LimitKind::NoProviders, offset: 29 },
        RefusalReason::TooManyProviders { limit: 3, found: 4 },
        RefusalReason::NoDescriptor,
    ]);
    texts.all([HoldErrorKind::Full { most: 8 }, HoldErrorKind::CookieFull { most: 2 }]);
    texts.all([SlotsError::InUse { index: 7 }, SlotsError::TooMany]);
}

/// A separate part, present only with the feature.
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
        Phase::Advertise,
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
        ErrorKind::MalformedEnvironment(Environment::decode(&[]).unwrap_err()),
        ErrorKind::Ended { end: End::Closed, received: 0 },
        ErrorKind::Ended { end: End::Reset, received: 4 },
        ErrorKind::LimitExceeded { limit: 100 },
        ErrorKind::Unsupported("this transport cannot pass descriptors"),
        ErrorKind::Incomplete { end: End::Closed, received: 100 },
        ErrorKind::SessionOver,
        ErrorKind::AlreadyStopped,
        ErrorKind::Miscounted { asked: 20, said: 21 },
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
        Distrust::PeerProcess { process_id: 5, expected: 7 },
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

/// Vectors and conformance.
/// What is wrong with answers of codecs.
#[cfg(all(feature = "conformance", unix))]
fn codec_faults(texts: &mut Texts) {
    use dotnet_diagnostics_ipc::conformance::codec::{self, Answer, CodecFault};
    use dotnet_diagnostics_ipc::conformance::{AdapterError, Glob};

    texts.all([
        CodecFault::TakenThoughInvalid,
        CodecFault::RefusedThoughValid,
        CodecFault::ValueMissing,
        CodecFault::WrongCanonical { seen: true },
        CodecFault::WrongLayer { seen: "payload".to_owned(), expected: "header".to_owned() },
        CodecFault::UnknownLayer("network".to_owned()),
        CodecFault::WireMissing,
        CodecFault::WrittenThoughInvalid,
        CodecFault::LeniencyWritten,
        CodecFault::NoAnswer(AdapterError::LineTooLong),
        CodecFault::NotTheProtocol("an answer to question 8, not to question 7".to_owned()),
        CodecFault::Required(Some("there are no replies".to_owned())),
    ]);
    let files = codec::embedded().unwrap();
    let cases = codec::cases(&files);
    let judge = |name: &str, answer: &str| {
        let case = cases.iter().find(|case| case.is_chosen(&Glob::new(name))).unwrap();
        case.judge(&Answer::parse(answer).unwrap()).fault.unwrap()
    };
    texts.all([
        judge("eventpipe/*/5050/decode", r#"{ "result": "ok", "value": { "sessionId": 1 } }"#),
        judge(
            "eventpipe/*/5050/encode",
            r#"{ "result": "ok", "wire": "444f544e45545f4950435f563100" }"#,
        ),
    ]);
}

#[cfg(all(feature = "conformance", unix))]
fn conformance(texts: &mut Texts) {
    use dotnet_diagnostics_ipc::conformance::client::{ClientFault, Operations};
    use dotnet_diagnostics_ipc::conformance::fuzz_server::CaseVerdict;
    use dotnet_diagnostics_ipc::conformance::known::Profile;
    use dotnet_diagnostics_ipc::conformance::runtime::{Misbehaviour, StartError};
    use dotnet_diagnostics_ipc::conformance::server::{Death, Place, SpawnCommand};
    use dotnet_diagnostics_ipc::conformance::{AdapterError, Glob};
    use dotnet_diagnostics_ipc::vectors::script::{Captures, Literal};
    use dotnet_diagnostics_ipc::vectors::{
        Arena, DecodeRefusal, EncodeFailure, Value, ValueForm as _, VectorFault, parse,
    };

    let value = u32::from_value(&Value::from("7"), &Arena::new()).unwrap_err();
    texts.add(value.clone());
    texts.all([EncodeFailure::Value(value), EncodeFailure::Encode(EncodeError::EmptyName)]);
    let header = Header::decode(b"DOTNET_IPC_V2\0\x14\0\x04\0\0\0").unwrap_err();
    let hook =
        Array::<IpcString<'_>>::decode(&mut Reader::new(b"\x01\0\0\0\x01\0\0\0a\0")).unwrap_err();
    texts.all([VectorFault::from(header), VectorFault::from(hook)]);
    texts.all([DecodeRefusal::from(header), DecodeRefusal::from(hook)]);
    texts.add(parse("mine.json", "{").map(drop).unwrap_err());
    texts.add(Literal::Same("session".to_owned()).bytes(&Captures::default()).unwrap_err());

    texts.all([
        AdapterError::NotStarted("No such file or directory (os error 2)".to_owned()),
        AdapterError::Died("exit status: 1: no module named codec".to_owned()),
        AdapterError::TimedOut(std::time::Duration::from_secs(5)),
        AdapterError::LineTooLong,
        AdapterError::ByteOrderMark("UTF-8"),
        AdapterError::NotFlushed(std::time::Duration::from_secs(5)),
        AdapterError::NoLineFeed(std::time::Duration::from_secs(5)),
        AdapterError::Cancelled,
    ]);
    codec_faults(texts);
    texts.add("coreclr-x".parse::<Profile>().unwrap_err());
    for text in ["sleeps", "size=x", "echo-payload=1"] {
        texts.all(Misbehaviour::parse(text).err());
    }
    texts.all([
        StartError::Socket(dotnet_diagnostics_ipc::io::Error::connecting(
            std::io::ErrorKind::AddrInUse.into(),
        )),
        StartError::Ports(SuspensionError::TooManyPorts { capacity: 2 }),
        StartError::System(std::io::ErrorKind::OutOfMemory.into()),
        StartError::Vectors,
        StartError::Unavailable(Misbehaviour::parse("reset").unwrap()),
    ]);
    for text in [
        "",
        "operations = {}",
        "[operations]\ninfo = []",
        "[operations]\nprocess-info = [\"a\", \"{nothing}\"]",
    ] {
        texts.all(Operations::parse("mine.toml", text).err());
    }
    texts.all([Death::Status(1), Death::Signal(11), Death::Unknown]);
    texts.all(ClientFault::ALL.iter().copied());
    texts.all(CaseVerdict::ALL);
    texts.all(dotnet_diagnostics_ipc::vectors::script::Ability::ALL);
    let spawn = SpawnCommand {
        program: "./app".into(),
        arguments: vec!["--serve".into()],
        patience: std::time::Duration::ZERO,
    };
    texts.all([
        Place::Process(4242),
        Place::Socket("/tmp/my.socket".into()),
        Place::Pipe("my-server".to_owned()),
        Place::Port("/tmp/my.port".into()),
        Place::Spawn(spawn),
    ]);
    texts.add(Glob::new("tc-15*"));
    of_a_player(texts);
}

#[cfg(all(feature = "conformance", unix))]
fn of_a_player(texts: &mut Texts) {
    use dotnet_diagnostics_ipc::vectors::player::{
        Difference, Failure, FieldDifference, Mismatch, PlayerError,
    };

    let mismatch = |offset, expected: &str, found: &str| Mismatch {
        offset,
        expected: expected.to_owned(),
        found: found.to_owned(),
    };
    let field = |field: &str, found: &str, expected: &str| {
        let [field, found, expected] = [field, found, expected].map(str::to_owned);
        FieldDifference { field, found, expected }
    };
    let came = b"DOTNET_IPC_V1\0\x18\0\xff\xff\0\0".to_vec();
    let differs = Difference::Bytes {
        mismatches: vec![mismatch(16, "ff00", "ffff")],
        came: came.clone(),
        fields: vec![],
    };
    texts.add(Failure { step: 2, text: "expect on a".to_owned(), trouble: differs.clone().into() });
    texts.all([
        PlayerError::Differs(Difference::NoEnd),
        PlayerError::Unavailable("no wine".to_owned()),
    ]);
    texts.all([
        Difference::NotConnected,
        Difference::Connected,
        differs,
        Difference::Bytes {
            mismatches: vec![mismatch(0, "44", "45"), mismatch(4, "00", "01")],
            came: vec![0x45; 70],
            fields: vec![],
        },
        Difference::Bytes {
            mismatches: vec![],
            came: vec![],
            fields: vec![field("clrProductVersion", "\"10.0.11\"", "\"9.0.5\"")],
        },
        Difference::Unexpected(vec![1, 2]),
        Difference::Ended { end: End::Closed, after: came.clone() },
        Difference::Ended { end: End::Reset, after: Vec::new() },
        Difference::Nothing { after: came.clone() },
        Difference::Descriptors(1),
        Difference::PeerGone { why: "Broken pipe (os error 32)".to_owned(), before: None },
        Difference::PeerGone {
            why: "Broken pipe (os error 32)".to_owned(),
            before: Some(came.clone()),
        },
        Difference::NoEnd,
        Difference::End(End::Reset),
        Difference::UnexpectedEnd(End::Closed),
        Difference::LastBytes { of: 1000, came: vec![0; 4] },
        Difference::Dead,
        Difference::Alive,
        Difference::NoSocket,
        Difference::SocketLeft,
        Difference::NoFile("core.dmp".to_owned()),
        Difference::FileCut(4),
        Difference::Other("a connection b that was not opened".to_owned()),
    ]);
}

#[cfg(not(all(feature = "conformance", unix)))]
fn conformance(_: &mut Texts) {}

/// The lines of a part of the file.
fn part<'f>(file: &'f str, name: &str) -> Vec<&'f str> {
    let lines = file.lines().skip_while(|line| *line != format!("# {name}")).skip(1);
    lines.take_while(|line| !line.starts_with("# ")).filter(|line| !line.is_empty()).collect()
}

#[test]
fn error_texts_equal_snapshot() {
    let [mut core, mut adapters, mut tool] = [const { Texts(Vec::new()) }; 3];
    codec(&mut core);
    ports_and_names(&mut core);
    exchanges(&mut core);
    io(&mut adapters);
    conformance(&mut tool);
    let parts = [("core", core.0), ("io", adapters.0), ("conformance", tool.0)];
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/codec/error_messages.txt");
    if std::env::var_os("DIAG_UPDATE").is_some() {
        assert!(parts.iter().all(|(_, lines)| !lines.is_empty()), "with --all-features");
        let text: Vec<_> = parts
            .iter()
            .map(|(name, lines)| format!("# {name}\n\n{}\n", lines.join("\n")))
            .collect();
        fs::write(&path, text.join("\n")).unwrap();
    }
    let file = fs::read_to_string(&path).unwrap();
    for (name, lines) in parts {
        // Without its feature a part is absent.
        assert!(
            lines.is_empty() && name != "core" || lines == part(&file, name),
            "{name}: {lines:#?}"
        );
    }
}

/// The variants of every public enum that is printed, from the source: the file must have all of
/// them.
#[test]
fn snapshot_has_every_kind() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let file = fs::read_to_string(root.join("tests/codec/error_messages.txt")).unwrap();
    let mut directories = vec![root.join("src")];
    let (mut kinds, mut missing) = (0, Vec::new());
    while let Some(directory) = directories.pop() {
        for entry in fs::read_dir(directory).unwrap() {
            let path = entry.unwrap().path();
            let name = path.file_name().unwrap().to_str().unwrap();
            if path.is_dir() && !LEFT_OUT.contains(&name) {
                directories.push(path);
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                for kind in printed_kinds(&fs::read_to_string(&path).unwrap()) {
                    kinds += 1;
                    if !file.lines().any(|line| {
                        line.strip_prefix(&kind).is_some_and(|rest| rest.starts_with([' ', '(']))
                    }) {
                        missing.push(kind);
                    }
                }
            }
        }
    }
    assert!(missing.is_empty(), "{missing:#?}");
    assert!(kinds > 80, "{kinds}");
}

/// `Enum::Variant` for each enum of a file that has a `Display` there.
fn printed_kinds(source: &str) -> Vec<String> {
    let syn::File { items, .. } = syn::parse_file(source).unwrap();
    let mut printed = Vec::new();
    for item in &items {
        let syn::Item::Impl(syn::ItemImpl { trait_: Some((_, path, _)), self_ty, .. }) = item
        else {
            continue;
        };
        if let (true, syn::Type::Path(of)) =
            (path.segments.last().unwrap().ident == "Display", &**self_ty)
        {
            printed.push(&of.path.segments.last().unwrap().ident);
        }
    }
    let mut kinds = Vec::new();
    for item in &items {
        let syn::Item::Enum(item) = item else { continue };
        if matches!(item.vis, syn::Visibility::Public(_)) && printed.contains(&&item.ident) {
            kinds.extend(
                item.variants.iter().map(|variant| format!("{}::{}", item.ident, variant.ident)),
            );
        }
    }
    kinds
}

#[track_caller]
#[allow(clippy::needless_pass_by_value, reason = "most are made where they are asked")]
fn says(what: impl ToString, words: &str) {
    assert_eq!(what.to_string(), words);
}

/// The text is that of the cause, so a source would repeat it.
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
    assert_eq!(
        [End::Closed, End::Reset, End::TimedOut].map(End::name),
        ["closed", "reset", "timed_out"]
    );
}

#[test]
fn refusal_reason_hresult_by_kind() {
    let unknown = RefusalReason::UnknownCommand { command: Command { set: 2, id: 0x63 } };
    assert_eq!(unknown.hresult(), HResult::UNKNOWN_COMMAND);
    for reason in [
        RefusalReason::EndOfInput { received: 19 },
        RefusalReason::Malformed { kind: DecodeErrorKind::SizeTooSmall { size: 19 }, offset: 14 },
        RefusalReason::OverLimit { kind: LimitKind::NoProviders, offset: 29 },
        RefusalReason::TooManyProviders { limit: 3, found: 4 },
        RefusalReason::NoDescriptor,
    ] {
        assert_eq!(reason.hresult(), HResult::BAD_ENCODING, "{reason}");
    }
}

#[test]
fn fault_positions_are_reported() {
    assert_eq!(
        WritePorts::new(&[PortConfig::new("/a"), PortConfig::new("/b;c")]).unwrap_err().index(),
        1
    );
    assert_eq!("01234567-89ab-cdef-0123-456789abcdeg".parse::<Guid>().unwrap_err().offset(), 35);
    assert!(DiagnosticPort::<[Slot<()>; 0]>::new([], SameCookie::Replace).is_ok());
    assert!(check_path_len(107, 107).is_ok());
}

/// The path is for people and for tools: it is printed, and may be empty.
#[test]
fn error_path_prints_fields_and_indices() {
    let bare = u32::decode(&mut Reader::new(b"\x01")).unwrap_err();
    assert!(bare.path().is_empty());
    says(bare.path(), "");
    let indexed =
        Array::<IpcString<'_>>::decode(&mut Reader::new(b"\x01\0\0\0\x01\0\0\0a\0")).unwrap_err();
    assert!(!indexed.path().is_empty());
    assert_eq!(format!("{:?}", indexed.path()), "Path([0])");
    let rooted = Header::decode(b"D").unwrap_err();
    assert!(!rooted.path().is_empty());
    assert_eq!(format!("{:?}", rooted.path()), "Path(header)");
    let in_field = TracepointConfig::decode(&mut Reader::new(b"\x01\0\0\0a\0")).unwrap_err();
    assert!(!in_field.path().is_empty());
    says(in_field.path(), "default_tracepoint_name");
}

#[test]
fn protocol_name_prints_name_or_number() {
    let names = [0x00, 0x01, 0x02, 0x03, 0x04, 0xff].map(draft_set_name);
    assert_eq!(names, [None, Some("Miscellaneous"), Some("EventPipe"), None, None, Some("Server")]);
    says(DroppedFields::NONE, "nothing");
    for (command, shown, debugged) in [
        (
            Command::COLLECT_TRACING2,
            "EventPipe/CollectTracing2",
            "Command(0x0203 EventPipe/CollectTracing2)",
        ),
        (Command { set: 2, id: 0x63 }, "EventPipe/0x63", "Command(0x0263 EventPipe/0x63)"),
        (Command { set: 0x63, id: 1 }, "0x63/0x01", "Command(0x6301 0x63/0x01)"),
    ] {
        says(command, shown);
        assert_eq!(format!("{command:?}"), debugged);
    }
    for (code, shown, debugged) in [
        (
            HResult::BAD_ENCODING,
            "0x80131384 DS_IPC_E_BAD_ENCODING",
            "HResult(0x80131384 DS_IPC_E_BAD_ENCODING)",
        ),
        (HResult(0x8007_0002), "0x80070002", "HResult(0x80070002)"),
    ] {
        says(code, shown);
        assert_eq!(format!("{code:?}"), debugged);
    }
}
