//! What a server refuses although it decodes: which value, at which offset, and with which answer.
//! Every offset is written out. The vectors have one case of each kind; here are the order of
//! checks, values after others, and both sides of each limit.

use dotnet_diagnostics_ipc::message::dump::{
    DumpFlags, DumpType, GenerateCoreDump, GenerateCoreDump2, GenerateCoreDump3,
};
use dotnet_diagnostics_ipc::message::eventpipe::{
    CollectTracing, CollectTracing2, CollectTracing3, CollectTracing4, CollectTracing5,
    CollectTracing6, EventFilter, EventLevel, Format, MAX_PROVIDERS, ProviderConfig,
    SessionBufferMode, StreamingProviderConfig, StreamingSession, StreamingSession6,
    TracepointConfig, TracepointSet, UserEventsProviderConfig, UserEventsSession,
};
use dotnet_diagnostics_ipc::message::process::{EnablePerfMap, PerfMapType};
use dotnet_diagnostics_ipc::message::{AnyRequest, Message, encode};
use dotnet_diagnostics_ipc::user_events::{MAX_TRACEPOINT_NAME_LEN, TracepointCommand};
use dotnet_diagnostics_ipc::wire::{Array, IpcString, Layer};

const ABSENT: IpcString<'_> = IpcString::ABSENT;

/// A provider whose name takes 8 bytes: 24 in all, or 29 with an empty filter.
fn plain(level: u32, name: &str) -> ProviderConfig<'_> {
    ProviderConfig::new(name, u64::MAX, EventLevel(level))
}

fn filtered(level: u32, name: &str) -> StreamingProviderConfig<'_> {
    plain(level, name).into()
}

fn traced<'a>(
    level: u32,
    name: &'a str,
    default: impl Into<IpcString<'a>>,
    sets: &'a [TracepointSet<'a>],
) -> UserEventsProviderConfig<'a> {
    let StreamingProviderConfig { keywords, log_level, provider_name, arguments, filter } =
        filtered(level, name);
    let config =
        TracepointConfig { default_tracepoint_name: default.into(), tracepoints: Array::new(sets) };
    UserEventsProviderConfig { keywords, log_level, provider_name, arguments, filter, config }
}

fn set<'a>(name: impl Into<IpcString<'a>>, ids: &'a [u32]) -> TracepointSet<'a> {
    TracepointSet { tracepoint_name: name.into(), event_ids: Array::new(ids) }
}

/// The kind of fault, its offset, its field after the command's name, and the answer's code; empty if nothing is wrong. It must be equal for the caller's slices and for bytes from the
/// wire.
#[track_caller]
fn limits(request: AnyRequest<'_>) -> String {
    let mut buffer = vec![0; 65_535];
    let len = encode(request.command(), &request, &mut buffer).unwrap();
    let decoded = Message::decode(&buffer[..len]).unwrap().request().unwrap();
    assert_eq!(decoded.check_limits(), request.check_limits());
    let Err(error) = request.check_limits() else { return String::new() };
    assert_eq!(error.layer(), Layer::Limits);
    let (path, answer) = (error.path().to_string(), error.hresult().0);
    let (command, field) = path.split_once('.').unwrap();
    assert!(request.command().to_string().ends_with(&format!("/{command}")), "{path}");
    format!("{} {} {field} {answer:08x}", error.kind().name(), error.offset())
}

#[track_caller]
fn taken(request: AnyRequest<'_>) {
    assert_eq!(limits(request), "");
}

/// A limit of `CollectTracing` to `CollectTracing4` is reported with its offset (F-16).
#[test]
fn collect_tracing_1_to_4_limit_reports_offset() {
    fn one(mb: u32, format: u32, providers: &[ProviderConfig<'_>], nth: usize) -> String {
        let (circular_buffer_mb, format, providers) = (mb, Format(format), Array::new(providers));
        let (request_rundown, request_stackwalk, rundown_keyword) = (true, false, 0);
        limits(match nth {
            0 => {
                AnyRequest::CollectTracing(CollectTracing { circular_buffer_mb, format, providers })
            }
            1 => AnyRequest::CollectTracing2(CollectTracing2 {
                circular_buffer_mb,
                format,
                request_rundown,
                providers,
            }),
            2 => AnyRequest::CollectTracing3(CollectTracing3 {
                circular_buffer_mb,
                format,
                request_rundown,
                request_stackwalk,
                providers,
            }),
            _ => AnyRequest::CollectTracing4(CollectTracing4 {
                circular_buffer_mb,
                format,
                rundown_keyword,
                request_stackwalk,
                providers,
            }),
        })
    }
    let good = [plain(5, "P"), plain(0, "Q")];
    let many = vec![plain(4, "P"); 1001];
    // The first takes 8 + 4 + 4 + 2 × 5 + 4 + 2 × 4 = 38 bytes: a character beyond U+FFFF is two
    // units.
    let name = |provider_name| ProviderConfig { provider_name, ..good[0] };
    let first = ProviderConfig { arguments: "k=v".into(), ..name("a\u{1f600}b".into()) };
    // The offsets of the counts of providers. A provider begins with 8 bytes of keywords and 4 of
    // logLevel.
    for (nth, count) in [28, 29, 30, 37].into_iter().enumerate() {
        assert_eq!(one(1, 1, &good, nth), "");
        assert_eq!(one(u32::MAX, 0, &good[..1], nth), "");
        assert_eq!(one(1, 1, &many[..1000], nth), "");
        // If several values are wrong, the first one in the message is named.
        assert_eq!(one(0, 2, &[], nth), "zero_buffer 20 circularBufferMB 80131384");
        assert_eq!(one(1, 2, &[], nth), "unknown_format 24 format 80131384");
        assert_eq!(one(1, u32::MAX, &good, nth), "unknown_format 24 format 80131384");
        assert_eq!(one(1, 1, &[], nth), format!("no_providers {count} providers 80131384"));
        assert_eq!(one(1, 1, &many, nth), format!("too_many_providers {count} providers 80131384"));
        let level = format!("log_level_out_of_range {} providers[0].logLevel 80131384", count + 12);
        assert_eq!(one(1, 1, &[plain(6, "P")], nth), level);
        let unnamed =
            format!("empty_provider_name {} providers[0].provider_name 80131384", count + 16);
        // P-43: a name that begins with NUL ends at once. A NUL inside is part of the name.
        let empty = [&[][..], &[0], &[0, 0, 0], &[0, 0x41]].map(IpcString::from_units);
        for empty in empty.into_iter().chain([ABSENT]) {
            assert_eq!(one(1, 1, &[name(empty)], nth), unnamed);
        }
        assert_eq!(one(1, 1, &[name(IpcString::from_units(&[0x41, 0, 0x42]))], nth), "");
        let second = |provider| one(1, 1, &[first, provider, plain(9, "")], nth);
        let at = count + 4 + 38 + 8;
        let level = format!("log_level_out_of_range {at} providers[1].logLevel 80131384");
        assert_eq!(second(plain(u32::MAX, "Q")), level);
        let unnamed = format!("empty_provider_name {} providers[1].provider_name 80131384", at + 4);
        assert_eq!(second(plain(0, "")), unnamed);
    }
    assert_eq!(MAX_PROVIDERS, 1000);
}

/// A limit of a streaming session is reported with its offset (F-30).
#[test]
fn streaming_session_limit_reports_offset() {
    fn six(session: StreamingSession<'_>, mode: u32) -> AnyRequest<'_> {
        AnyRequest::CollectTracing6(CollectTracing6::Streaming(StreamingSession6 {
            session_buffer_mode: SessionBufferMode(mode),
            ..session.into()
        }))
    }
    let filter = EventFilter { enable: true, event_ids: Array::new(&[1, 2, 3]) };
    let many = vec![filtered(5, "P"); 1001];
    // The first takes 29 + 3 × 4 bytes.
    let first = StreamingProviderConfig { filter, ..filtered(5, "P") };
    let (level, unnamed) = ([first, filtered(6, "Q")], [first, filtered(5, "")]);
    let good = [filtered(5, "P"), filtered(5, "Q")];
    let session = |providers| StreamingSession {
        circular_buffer_mb: 1,
        format: Format(1),
        rundown_keyword: 0,
        request_stackwalk: false,
        providers: Array::new(providers),
    };
    let (good, none) = (session(&good), session(&[]));
    for (session, expected) in [
        (good, ""),
        (
            StreamingSession { circular_buffer_mb: 0, ..none },
            "zero_buffer 24 streaming_circularBufferMB 80131384",
        ),
        (
            StreamingSession { format: Format(2), ..none },
            "unknown_format 28 streaming_format 80131384",
        ),
        (none, "no_providers 41 providers 80131384"),
        (session(&many), "too_many_providers 41 providers 80131384"),
        (session(&level), "log_level_out_of_range 94 providers[1].logLevel 80131384"),
        (session(&unnamed), "empty_provider_name 98 providers[1].provider_name 80131384"),
    ] {
        let five = AnyRequest::CollectTracing5(CollectTracing5::Streaming(session));
        // The mode is refused last.
        let mode = if expected.is_empty() { 1 } else { 2 };
        assert_eq!([limits(five), limits(six(session, mode))], [expected; 2]);
    }
    for unknown in [2, 0x100, u32::MAX] {
        assert_eq!(
            limits(six(good, unknown)),
            "unknown_buffer_mode 103 sessionBufferMode 80131384"
        );
    }
}

fn user_events<'a>(providers: &'a [UserEventsProviderConfig<'a>]) -> [AnyRequest<'a>; 2] {
    let session = UserEventsSession { rundown_keyword: 1, providers: Array::new(providers) };
    [
        AnyRequest::CollectTracing5(CollectTracing5::UserEvents(session)),
        AnyRequest::CollectTracing6(CollectTracing6::UserEvents(session)),
    ]
}

/// A session that is refused at a field of its providers; or taken, if `expected` is empty.
#[track_caller]
fn registered(providers: &[UserEventsProviderConfig<'_>], expected: &str) {
    for request in user_events(providers) {
        assert_eq!(limits(request), expected);
    }
}

/// F-21, P-7. The first provider begins at 36; its config at 65, the first set at 73. A set of two
/// ids takes 20 bytes.
#[test]
fn tracepoint_limit_reports_offset() {
    let one = [set("T", &[1])];
    let two = [set("T", &[1, 2]), set("U", &[3])];
    registered(&[traced(5, "P", "T", &[])], "");
    registered(&[traced(5, "P", ABSENT, &two)], "");
    registered(&[traced(5, "P", "", &[])], "");
    // Each provider has its own sets.
    registered(&[traced(5, "P", ABSENT, &one), traced(5, "Q", ABSENT, &one)], "");
    registered(&[], "no_providers 32 providers 80131384");
    registered(&vec![traced(5, "P", "T", &[]); 1001], "too_many_providers 32 providers 80131384");
    let level = "log_level_out_of_range 44 providers[0].logLevel 80131384";
    registered(&[traced(6, "P", ABSENT, &[])], level);
    let unnamed = "empty_provider_name 48 providers[0].provider_name 80131384";
    registered(&[traced(5, "", ABSENT, &[])], unnamed);
    registered(&[traced(5, "P", ABSENT, &[])], "no_tracepoint 65 providers[0].config 80131384");
    // P-43. A default that begins with NUL is accepted, like an empty one (P-7).
    for unnamed in ["", "\0T"].map(|name| [set(name, &[1])]) {
        let at =
            "empty_tracepoint_name 73 providers[0].config.tracepoints[0].tracepoint_name 80131384";
        registered(&[traced(5, "P", ABSENT, &unnamed)], at);
    }
    registered(&[traced(5, "P", "\0T", &[])], "");
    let unnamed = [set("T", &[1, 2]), set(ABSENT, &[3])];
    let at = "empty_tracepoint_name 93 providers[0].config.tracepoints[1].tracepoint_name 80131384";
    registered(&[traced(5, "P", ABSENT, &unnamed)], at);
    let twice = [set("T", &[7, 7])];
    let at = "duplicate_event_id 89 providers[0].config.tracepoints[0].event_ids[1] 80004005";
    registered(&[traced(5, "P", ABSENT, &twice)], at);
    let twice = [set("T", &[1, 2]), set("U", &[2])];
    let at = "duplicate_event_id 105 providers[0].config.tracepoints[1].event_ids[0] 80004005";
    registered(&[traced(5, "P", ABSENT, &twice)], at);
    // A default of 3 units moves the sets by 6 bytes, a filter of two ids by 8, arguments of 2
    // units by 4.
    let moved = UserEventsProviderConfig {
        filter: EventFilter { enable: true, event_ids: Array::new(&[7, 7]) },
        arguments: "a".into(),
        ..traced(5, "P", "DE", &twice)
    };
    registered(&[moved], &at.replace("105", "123"));
    // A provider whose config is one default of 2 units and no sets takes 29 + 8 + 4 bytes.
    let second = [traced(5, "P", "T", &[]), traced(5, "Q", ABSENT, &twice)];
    registered(&second, &at.replace("105", "146").replace("[0].config", "[1].config"));
}

/// F-16, F-21: a runtime reads the whole request before it registers a tracepoint. What it refuses
/// then (with another code) counts only if it refuses nothing else, wherever that is.
#[test]
fn what_registration_refuses_comes_last() {
    let long = "n".repeat(MAX_TRACEPOINT_NAME_LEN + 1);
    let long = IpcString::new(&long);
    let twice = [set("T", &[7, 7])];
    let unnamed = [set("T", &[7, 7]), set("", &[8])];
    // The first provider begins at 36, and takes 29 + 8 + 20 bytes: the second begins at 93.
    for (second, expected) in [
        (traced(6, "Q", "T", &[]), "log_level_out_of_range 101 providers[1].logLevel 80131384"),
        (traced(5, "", "T", &[]), "empty_provider_name 105 providers[1].provider_name 80131384"),
        (traced(5, "Q", ABSENT, &[]), "no_tracepoint 122 providers[1].config 80131384"),
        // The first of several values that registration refuses is named.
        (
            traced(5, "Q", long, &[]),
            "duplicate_event_id 89 providers[0].config.tracepoints[0].event_ids[1] 80004005",
        ),
    ] {
        registered(&[traced(5, "P", ABSENT, &twice), second], expected);
    }
    let at = "empty_tracepoint_name 93 providers[0].config.tracepoints[1].tracepoint_name 80131384";
    registered(&[traced(5, "P", ABSENT, &unnamed)], at);
    // A default of 437 characters takes 4 + 2 × 438 bytes, and the count 4.
    let at =
        "empty_tracepoint_name 949 providers[0].config.tracepoints[0].tracepoint_name 80131384";
    registered(&[traced(5, "P", long, &unnamed[1..])], at);
    // The name of a set and the default of a config are checked first.
    let both = [TracepointSet { tracepoint_name: long, ..twice[0] }];
    let at =
        "tracepoint_name_too_long 73 providers[0].config.tracepoints[0].tracepoint_name 80004005";
    registered(&[traced(5, "P", ABSENT, &both)], at);
    let at = "tracepoint_name_too_long 65 providers[0].config.default_tracepoint_name 80004005";
    registered(&[traced(5, "P", long, &both)], at);
}

/// P-19. The limit is in bytes of UTF-8, of the name as a runtime reads it: to the first NUL.
#[test]
fn tracepoint_name_without_command_string_is_refused() {
    let fits = [
        "n".repeat(MAX_TRACEPOINT_NAME_LEN),
        "é".repeat(218),
        "診".repeat(145) + "n",
        "😀".repeat(109),
        "n".repeat(400) + "\0" + &"n".repeat(400),
    ];
    let too_long = [
        "n".repeat(MAX_TRACEPOINT_NAME_LEN + 1),
        "é".repeat(219),
        "診".repeat(146),
        "😀".repeat(109) + "n",
        "n".repeat(437) + "\0",
    ];
    for text in fits.iter().map(|text| IpcString::new(text)) {
        registered(&[traced(5, "P", text, &[set("S", &[1])])], "");
        registered(&[traced(5, "P", "T", &[set(text, &[1])])], "");
        // A NUL is not a limit of the request, but of the command.
        assert_eq!(TracepointCommand::new(text).is_ok(), !text.has_inner_nul());
    }
    for text in too_long.iter().map(|text| IpcString::new(text)) {
        let at = "tracepoint_name_too_long 65 providers[0].config.default_tracepoint_name 80004005";
        registered(&[traced(5, "P", text, &[])], at);
        // The second set follows the default of 2 units, the count, and a set of 2 units and an id:
        // 65 + 8 + 4 + 16.
        let sets = [set("S", &[1]), set(text, &[1])];
        let at = "tracepoint_name_too_long 93 providers[0].config.tracepoints[1].tracepoint_name 80004005";
        registered(&[traced(5, "P", "T", &sets)], at);
        assert!(TracepointCommand::new(text).is_err());
    }
    // Half a surrogate pair is 3 bytes, as U+FFFD.
    for (count, fits) in [(145, true), (146, false)] {
        let mut units = [0x61; 147];
        units[..count].fill(0xdc00);
        let sets = [set(IpcString::from_units(&units[..=count]), &[1])];
        for request in user_events(&[traced(5, "P", ABSENT, &sets)]) {
            assert_eq!(limits(request).is_empty(), fits, "{count}");
        }
    }
}

#[test]
fn dump_limit_reports_offset() {
    fn each(dump_name: IpcString<'_>, dump_type: u32) -> [AnyRequest<'_>; 3] {
        let (dump_type, diagnostics, flags) = (DumpType(dump_type), u32::MAX, DumpFlags(u32::MAX));
        [
            AnyRequest::GenerateCoreDump(GenerateCoreDump { dump_name, dump_type, diagnostics }),
            AnyRequest::GenerateCoreDump2(GenerateCoreDump2 { dump_name, dump_type, flags }),
            AnyRequest::GenerateCoreDump3(GenerateCoreDump3 { dump_name, dump_type, flags }),
        ]
    }
    for request in (1..=4).flat_map(|dump_type| each("d".into(), dump_type)) {
        taken(request);
    }
    // P-3: a bad type is answered by E_FAIL. The answer to an absent name is unknown: the process
    // dies (F-72).
    for dump_type in [0, 5, 0x0100_0001, u32::MAX] {
        for (text, at) in [("", 26), ("d", 28), ("/tmp/d", 38)] {
            for request in each(text.into(), dump_type) {
                assert_eq!(limits(request), format!("unknown_dump_type {at} dumpType 80004005"));
            }
        }
        for request in each(ABSENT, dump_type) {
            assert!(limits(request).starts_with("absent_name 20 dumpName "));
        }
    }
}

/// F-46, F-80, P-1, P-44. The vectors have absent names and paths.
#[test]
fn perf_map_type_limit_has_known_values() {
    let perf_map = |n| AnyRequest::EnablePerfMap(EnablePerfMap { perf_map_type: PerfMapType(n) });
    for n in [1, 2, 3, 0x8000_0000, u32::MAX] {
        taken(perf_map(n));
    }
    for n in [0, 4, 0x0100_0001, 0x7fff_ffff] {
        assert_eq!(limits(perf_map(n)), "unknown_perf_map_type 20 perfMapType 80070057");
    }
}
