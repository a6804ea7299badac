//! What values mean: filters, tracepoints, rundown, limits, commands, result codes. Every number here is written out by hand.

use std::collections::BTreeSet;

use dotnet_diagnostics_ipc::command::{Command, Continuation, DotnetVersion, ReplyType};
use dotnet_diagnostics_ipc::hresult::HResult;
use dotnet_diagnostics_ipc::message::dump::{DumpFlags, DumpType, GenerateCoreDump, GenerateCoreDump2, GenerateCoreDump3};
use dotnet_diagnostics_ipc::message::eventpipe::{
    CollectTracing, CollectTracing2, CollectTracing3, CollectTracing4, CollectTracing5, CollectTracing6, DEFAULT_RUNDOWN_KEYWORD,
    EventFilter, EventLevel, Format, MAX_PROVIDERS, ProviderConfig, SessionBufferMode, StopTracing, StreamingProviderConfig,
    StreamingSession, StreamingSession6, TracepointConfig, TracepointSet, UserEventsProviderConfig, UserEventsSession,
    request_rundown, rundown_keyword,
};
use dotnet_diagnostics_ipc::message::process::{
    ApplyStartupHook, EnablePerfMap, PerfMapType, ProcessInfo, ResumeRuntime, SetEnvironmentVariable,
};
use dotnet_diagnostics_ipc::message::{AnyRequest, Message, encode};
use dotnet_diagnostics_ipc::wire::{Array, Decode, ErrorKind as _, IpcString, Layer, LimitError, Reader};

fn read<'a, T: Decode<'a>>(wire: &'a [u8]) -> T {
    T::decode(&mut Reader::new(wire)).unwrap()
}

#[test]
fn a_filter_lets_through_what_it_lists_or_all_but_that() {
    type Ids = &'static [u32];
    let cases: [(&[u8], bool, Ids, Ids, Ids); 6] = [
        // wire, enable, ids, ids it lets through, ids it does not
        (b"\0\0\0\0\0", false, &[], &[0, 1, 77, u32::MAX], &[]),
        (b"\x01\0\0\0\0", true, &[], &[], &[0, 1, 77, u32::MAX]),
        (b"\x01\x02\0\0\0\x04\0\0\0\x4d\0\0\0", true, &[4, 77], &[4, 77], &[0, 3, 5, u32::MAX]),
        (b"\0\x02\0\0\0\x04\0\0\0\x4d\0\0\0", false, &[4, 77], &[0, 3, 5, u32::MAX], &[4, 77]),
        (b"\x01\x02\0\0\0\x09\0\0\0\x09\0\0\0", true, &[9, 9], &[9], &[0, 8]),
        // Any non-zero bool is true; the last id counts as the first does.
        (b"\x80\x03\0\0\0\0\0\0\0\x01\0\0\0\xff\xff\xff\xff", true, &[0, 1, u32::MAX], &[0, 1, u32::MAX], &[2]),
    ];
    for (wire, enable, ids, through, not) in cases {
        for filter in [read::<EventFilter<'_>>(wire), EventFilter { enable, event_ids: Array::new(ids) }] {
            for id in through {
                assert!(filter.allows(*id), "{filter:?} {id}");
            }
            for id in not {
                assert!(!filter.allows(*id), "{filter:?} {id}");
            }
        }
    }
    assert_eq!((EventFilter::ALL, EventFilter::NONE), (read(cases[0].0), read(cases[1].0)));
}

#[test]
fn an_event_goes_to_the_set_that_lists_it_and_else_to_the_default() {
    type Where = [(u32, Option<&'static str>)];
    const LOW_AND_HIGH: &[TracepointSet<'_>] = &[
        TracepointSet { tracepoint_name: IpcString::new("Low"), event_ids: Array::new(&[1, 2]) },
        TracepointSet { tracepoint_name: IpcString::new("Hi"), event_ids: Array::new(&[3]) },
    ];
    const NOTHING_AND_TWICE: &[TracepointSet<'_>] = &[
        TracepointSet { tracepoint_name: IpcString::new("N"), event_ids: Array::EMPTY },
        TracepointSet { tracepoint_name: IpcString::new("A"), event_ids: Array::new(&[7]) },
        TracepointSet { tracepoint_name: IpcString::new("B"), event_ids: Array::new(&[7, 0]) },
    ];
    let low_and_high = *b"\x02\0\0\0\
        \x04\0\0\0L\0o\0w\0\0\0\x02\0\0\0\x01\0\0\0\x02\0\0\0\
        \x03\0\0\0H\0i\0\0\0\x01\0\0\0\x03\0\0\0";
    let nothing_and_twice = *b"\x03\0\0\0\
        \x02\0\0\0N\0\0\0\0\0\0\0\
        \x02\0\0\0A\0\0\0\x01\0\0\0\x07\0\0\0\
        \x02\0\0\0B\0\0\0\x02\0\0\0\x07\0\0\0\0\0\0\0";
    let (absent, empty, default) = (*b"\0\0\0\0", *b"\x01\0\0\0\0\0", *b"\x02\0\0\0D\0\0\0");
    let cases: [(Vec<u8>, TracepointConfig<'_>, &Where); 5] = [
        (
            [&default[..], &low_and_high].concat(),
            TracepointConfig { default_tracepoint_name: "D".into(), tracepoints: Array::new(LOW_AND_HIGH) },
            &[(1, Some("Low")), (2, Some("Low")), (3, Some("Hi")), (0, Some("D")), (4, Some("D")), (u32::MAX, Some("D"))],
        ),
        // Without a default, what stands in no set is not written.
        (
            [&absent[..], &low_and_high].concat(),
            TracepointConfig { default_tracepoint_name: IpcString::ABSENT, tracepoints: Array::new(LOW_AND_HIGH) },
            &[(1, Some("Low")), (3, Some("Hi")), (0, None), (4, None)],
        ),
        // A default of length 1 is there, whatever registration makes of it (P-7).
        (
            [&empty[..], &low_and_high].concat(),
            TracepointConfig { default_tracepoint_name: "".into(), tracepoints: Array::new(LOW_AND_HIGH) },
            &[(2, Some("Low")), (4, Some(""))],
        ),
        // A set may list nothing; of two that list an id, which a runtime refuses, the first counts.
        (
            [&default[..], &nothing_and_twice].concat(),
            TracepointConfig { default_tracepoint_name: "D".into(), tracepoints: Array::new(NOTHING_AND_TWICE) },
            &[(7, Some("A")), (0, Some("B")), (1, Some("D"))],
        ),
        (
            [&default[..], b"\0\0\0\0"].concat(),
            TracepointConfig { default_tracepoint_name: "D".into(), tracepoints: Array::EMPTY },
            &[(0, Some("D")), (7, Some("D"))],
        ),
    ];
    for (wire, built, events) in &cases {
        let decoded = read::<TracepointConfig<'_>>(wire);
        assert_eq!(decoded, *built);
        for config in [decoded, *built] {
            for (id, name) in *events {
                assert_eq!(config.tracepoint_for(*id), name.map(IpcString::new), "{config:?} {id}");
            }
            assert!(config.has_tracepoint());
        }
        let twice = (built.tracepoints.len() == 3).then_some((2, 0));
        assert_eq!((decoded.duplicate_event_id(), built.duplicate_event_id()), (twice, twice));
    }
    let nowhere = read::<TracepointConfig<'_>>(b"\0\0\0\0\0\0\0\0");
    assert!(!nowhere.has_tracepoint() && nowhere.tracepoint_for(0).is_none());
}

#[test]
fn request_rundown_is_one_rundown_keyword_or_none() {
    assert_eq!((rundown_keyword(false), rundown_keyword(true), DEFAULT_RUNDOWN_KEYWORD), (0, 0x8002_0139, 0x8002_0139));
    let cases = [
        (0, Some(false)),
        (0x8002_0139, Some(true)),
        (0x8002_0138, None),
        (0x0002_0139, None),
        (0x1_8002_0139, None),
        (1, None),
        (u64::MAX, None),
    ];
    for (keyword, rundown) in cases {
        assert_eq!(request_rundown(keyword), rundown, "{keyword:#x}");
    }
}

/// A provider whose name takes 8 bytes: 24 in all, or 29 with an empty filter.
fn plain(level: u32, name: &str) -> ProviderConfig<'_> {
    ProviderConfig::new(name, u64::MAX, EventLevel(level))
}

fn filtered(level: u32, name: &str) -> StreamingProviderConfig<'_> {
    let ProviderConfig { keywords, log_level, provider_name, arguments } = plain(level, name);
    StreamingProviderConfig { keywords, log_level, provider_name, arguments, filter: EventFilter::ALL }
}

fn traced<'a>(level: u32, name: &'a str, default: IpcString<'a>, sets: &'a [TracepointSet<'a>]) -> UserEventsProviderConfig<'a> {
    let StreamingProviderConfig { keywords, log_level, provider_name, arguments, filter } = filtered(level, name);
    let config = TracepointConfig { default_tracepoint_name: default, tracepoints: Array::new(sets) };
    UserEventsProviderConfig { keywords, log_level, provider_name, arguments, filter, config }
}

/// What the limits say about `request`, which must be the same for the caller's slices and for bytes from the wire.
#[track_caller]
fn limits(request: AnyRequest<'_>) -> Result<(), LimitError> {
    let mut buffer = vec![0; 65_535];
    let len = encode(request.command(), &request, &mut buffer).unwrap();
    let decoded = Message::decode_exact(&buffer[..len]).unwrap().request().unwrap();
    assert_eq!(decoded.check_limits(), request.check_limits());
    request.check_limits()
}

#[track_caller]
fn refused(request: AnyRequest<'_>, kind: &str, offset: usize, field: &str) -> HResult {
    let error = limits(request).expect_err(field);
    assert_eq!((error.kind().name(), error.offset(), error.path().to_string().as_str()), (kind, offset, field));
    assert_eq!(error.layer(), Layer::Limits);
    error.hresult()
}

#[track_caller]
fn taken(request: AnyRequest<'_>) {
    assert_eq!(limits(request), Ok(()));
}

/// F-16.
#[test]
fn limits_of_the_first_four_session_commands_are_found_where_they_stand() {
    fn one(mb: u32, format: u32, providers: &[ProviderConfig<'_>], nth: usize) -> Result<(), (String, usize, String, HResult)> {
        let (circular_buffer_mb, format, providers) = (mb, Format(format), Array::new(providers));
        let request = match nth {
            0 => AnyRequest::CollectTracing(CollectTracing { circular_buffer_mb, format, providers }),
            1 => AnyRequest::CollectTracing2(CollectTracing2 { circular_buffer_mb, format, request_rundown: false, providers }),
            2 => AnyRequest::CollectTracing3(CollectTracing3 {
                circular_buffer_mb,
                format,
                request_rundown: true,
                request_stackwalk: false,
                providers,
            }),
            _ => AnyRequest::CollectTracing4(CollectTracing4 {
                circular_buffer_mb,
                format,
                rundown_keyword: 0,
                request_stackwalk: true,
                providers,
            }),
        };
        limits(request).map_err(|error| (error.kind().name().to_owned(), error.offset(), error.path().to_string(), error.hresult()))
    }
    let good = [plain(5, "P"), plain(0, "Q")];
    let many = vec![plain(4, "P"); 1001];
    // name, offset of the count of providers
    let commands = [("CollectTracing", 28), ("CollectTracing2", 29), ("CollectTracing3", 30), ("CollectTracing4", 37)];
    for (nth, (name, count)) in commands.into_iter().enumerate() {
        let no = |kind: &str, offset: usize, field: &str| {
            Err((kind.to_owned(), offset, format!("{name}.{field}"), HResult(0x8013_1384)))
        };
        assert_eq!(one(1, 1, &good, nth), Ok(()));
        assert_eq!(one(u32::MAX, 0, &good[..1], nth), Ok(()));
        assert_eq!(one(1, 1, &many[..1000], nth), Ok(()));
        assert_eq!(one(0, 1, &good, nth), no("zero_buffer", 20, "circularBufferMB"));
        assert_eq!(one(1, 2, &good, nth), no("unknown_format", 24, "format"));
        assert_eq!(one(1, u32::MAX, &good, nth), no("unknown_format", 24, "format"));
        assert_eq!(one(1, 1, &[], nth), no("no_providers", count, "providers"));
        assert_eq!(one(1, 1, &many, nth), no("too_many_providers", count, "providers"));
        // A provider begins with 8 bytes of keywords and 4 of logLevel.
        assert_eq!(one(1, 1, &[plain(6, "P")], nth), no("log_level_out_of_range", count + 12, "providers[0].logLevel"));
        assert_eq!(one(1, 1, &[plain(5, "")], nth), no("empty_provider_name", count + 16, "providers[0].provider_name"));
        let absent = ProviderConfig { provider_name: IpcString::ABSENT, ..good[0] };
        assert_eq!(one(1, 1, &[absent], nth), no("empty_provider_name", count + 16, "providers[0].provider_name"));
        // The first takes 8 + 4 + 4 + 2 × 5 + 4 + 2 × 4 = 38 bytes: a character beyond U+FFFF is two units.
        let first = ProviderConfig { provider_name: "a\u{1f600}b".into(), arguments: "k=v".into(), ..good[0] };
        let second = |provider| [first, provider, plain(9, "")];
        let level = no("log_level_out_of_range", count + 4 + 38 + 8, "providers[1].logLevel");
        assert_eq!(one(1, 1, &second(plain(u32::MAX, "Q")), nth), level);
        let unnamed = no("empty_provider_name", count + 4 + 38 + 12, "providers[1].provider_name");
        assert_eq!(one(1, 1, &second(plain(0, "")), nth), unnamed);
        // Where several are wrong the first in the message is named.
        assert_eq!(one(0, 2, &[], nth), no("zero_buffer", 20, "circularBufferMB"));
        assert_eq!(one(1, 2, &[], nth), no("unknown_format", 24, "format"));
    }
    assert_eq!(MAX_PROVIDERS, 1000);
}

#[test]
fn limits_of_streaming_sessions_are_found_where_they_stand() {
    let good = [filtered(5, "P"), filtered(5, "Q")];
    let ids = EventFilter { enable: true, event_ids: Array::new(&[1, 2, 3]) };
    let session = StreamingSession {
        circular_buffer_mb: 1,
        format: Format(1),
        rundown_keyword: 0,
        request_stackwalk: false,
        providers: Array::new(&good),
    };
    let five = |session| AnyRequest::CollectTracing5(CollectTracing5::Streaming(session));
    taken(five(session));
    let bad = HResult(0x8013_1384);
    let zero = StreamingSession { circular_buffer_mb: 0, ..session };
    assert_eq!(refused(five(zero), "zero_buffer", 24, "CollectTracing5.streaming_circularBufferMB"), bad);
    let format = StreamingSession { format: Format(2), ..session };
    assert_eq!(refused(five(format), "unknown_format", 28, "CollectTracing5.streaming_format"), bad);
    let none = StreamingSession { providers: Array::EMPTY, ..session };
    assert_eq!(refused(five(none), "no_providers", 41, "CollectTracing5.providers"), bad);
    let many = vec![filtered(5, "P"); 1001];
    let many = StreamingSession { providers: Array::new(&many), ..session };
    assert_eq!(refused(five(many), "too_many_providers", 41, "CollectTracing5.providers"), bad);
    // The first takes 29 + 3 × 4 bytes.
    let providers = [StreamingProviderConfig { filter: ids, ..good[0] }, filtered(6, "Q")];
    let level = StreamingSession { providers: Array::new(&providers), ..session };
    assert_eq!(refused(five(level), "log_level_out_of_range", 45 + 41 + 8, "CollectTracing5.providers[1].logLevel"), bad);
    let providers = [StreamingProviderConfig { filter: ids, ..good[0] }, filtered(5, "")];
    let unnamed = StreamingSession { providers: Array::new(&providers), ..session };
    assert_eq!(refused(five(unnamed), "empty_provider_name", 45 + 41 + 12, "CollectTracing5.providers[1].provider_name"), bad);
}

/// F-30.
#[test]
fn a_buffer_mode_stands_behind_the_providers_of_a_streaming_session() {
    let providers = [filtered(5, "P"), filtered(5, "Q")];
    let session = StreamingSession6 {
        circular_buffer_mb: 1,
        format: Format(1),
        rundown_keyword: 0,
        request_stackwalk: false,
        providers: Array::new(&providers),
        session_buffer_mode: SessionBufferMode(0),
    };
    let mode = |mode| {
        AnyRequest::CollectTracing6(CollectTracing6::Streaming(StreamingSession6 {
            session_buffer_mode: SessionBufferMode(mode),
            ..session
        }))
    };
    taken(mode(0));
    taken(mode(1));
    for unknown in [2, 0x100, u32::MAX] {
        let hresult = refused(mode(unknown), "unknown_buffer_mode", 45 + 29 + 29, "CollectTracing6.sessionBufferMode");
        assert_eq!(hresult, HResult(0x8013_1384));
    }
    let zero = CollectTracing6::Streaming(StreamingSession6 {
        circular_buffer_mb: 0,
        session_buffer_mode: SessionBufferMode(2),
        ..session
    });
    refused(AnyRequest::CollectTracing6(zero), "zero_buffer", 24, "CollectTracing6.streaming_circularBufferMB");
    let none = CollectTracing6::Streaming(StreamingSession6 { providers: Array::EMPTY, ..session });
    refused(AnyRequest::CollectTracing6(none), "no_providers", 41, "CollectTracing6.providers");
}

fn user_events<'a>(six: bool, providers: &'a [UserEventsProviderConfig<'a>]) -> AnyRequest<'a> {
    let session = UserEventsSession { rundown_keyword: 1, providers: Array::new(providers) };
    if six {
        AnyRequest::CollectTracing6(CollectTracing6::UserEvents(session))
    } else {
        AnyRequest::CollectTracing5(CollectTracing5::UserEvents(session))
    }
}

/// F-21, P-7.
#[test]
fn limits_of_tracepoints_are_found_where_they_stand() {
    let set = |name: &'static str, ids: &'static [u32]| TracepointSet { tracepoint_name: name.into(), event_ids: Array::new(ids) };
    let absent = IpcString::ABSENT;
    let (bad, fail) = (HResult(0x8013_1384), HResult(0x8000_4005));
    for (name, six) in [("CollectTracing5", false), ("CollectTracing6", true)] {
        // The first provider begins at 36; its config at 65, the first set at 73. A set of two ids takes 20 bytes.
        let no = |providers: &[UserEventsProviderConfig<'_>], kind, offset, field: &str| {
            refused(user_events(six, providers), kind, offset, &format!("{name}.{field}"))
        };
        taken(user_events(six, &[traced(5, "P", "T".into(), &[])]));
        taken(user_events(six, &[traced(5, "P", absent, &[set("T", &[1, 2]), set("U", &[3])])]));
        taken(user_events(six, &[traced(5, "P", "".into(), &[])]));
        // Each provider has sets of its own.
        taken(user_events(six, &[traced(5, "P", absent, &[set("T", &[1])]), traced(5, "Q", absent, &[set("T", &[1])])]));

        assert_eq!(no(&[], "no_providers", 32, "providers"), bad);
        assert_eq!(no(&vec![traced(5, "P", "T".into(), &[]); 1001], "too_many_providers", 32, "providers"), bad);
        assert_eq!(no(&[traced(6, "P", absent, &[])], "log_level_out_of_range", 44, "providers[0].logLevel"), bad);
        assert_eq!(no(&[traced(5, "", absent, &[])], "empty_provider_name", 48, "providers[0].provider_name"), bad);
        assert_eq!(no(&[traced(5, "P", absent, &[])], "no_tracepoint", 65, "providers[0].config"), bad);
        let sets = [set("", &[1])];
        let unnamed = "providers[0].config.tracepoints[0].tracepoint_name";
        assert_eq!(no(&[traced(5, "P", absent, &sets)], "empty_tracepoint_name", 73, unnamed), bad);
        let sets = [set("T", &[1, 2]), TracepointSet { tracepoint_name: absent, ..set("", &[3]) }];
        let unnamed = "providers[0].config.tracepoints[1].tracepoint_name";
        assert_eq!(no(&[traced(5, "P", absent, &sets)], "empty_tracepoint_name", 93, unnamed), bad);
        let sets = [set("T", &[7, 7])];
        let twice = "providers[0].config.tracepoints[0].event_ids[1]";
        assert_eq!(no(&[traced(5, "P", absent, &sets)], "duplicate_event_id", 89, twice), fail);
        let sets = [set("T", &[1, 2]), set("U", &[2])];
        let twice = "providers[0].config.tracepoints[1].event_ids[0]";
        assert_eq!(no(&[traced(5, "P", absent, &sets)], "duplicate_event_id", 105, twice), fail);
        // A default of 3 units moves the sets by 6 bytes, a filter of two ids by 8, arguments of 2 units by 4.
        let moved = UserEventsProviderConfig {
            filter: EventFilter { enable: true, event_ids: Array::new(&[7, 7]) },
            arguments: "a".into(),
            ..traced(5, "P", "DE".into(), &sets)
        };
        assert_eq!(no(&[moved], "duplicate_event_id", 105 + 6 + 8 + 4, twice), fail);
        // A provider whose config is one default of 2 units and no sets takes 29 + 8 + 4 bytes.
        let second = [traced(5, "P", "T".into(), &[]), traced(5, "Q", absent, &sets)];
        assert_eq!(no(&second, "duplicate_event_id", 41 + 105, &twice.replace("[0].config", "[1].config")), fail);
    }
}

#[test]
fn limits_of_dumps_are_found_where_they_stand() {
    for dump_type in 1..=4 {
        let (dump_name, dump_type) = ("d".into(), DumpType(dump_type));
        taken(AnyRequest::GenerateCoreDump(GenerateCoreDump { dump_name, dump_type, diagnostics: u32::MAX }));
        taken(AnyRequest::GenerateCoreDump2(GenerateCoreDump2 { dump_name, dump_type, flags: DumpFlags(u32::MAX) }));
        taken(AnyRequest::GenerateCoreDump3(GenerateCoreDump3 { dump_name, dump_type, flags: DumpFlags(0) }));
    }
    // P-3: a bad type is answered by E_FAIL. What answers an absent name cannot be told: the process dies (F-72).
    let fail = HResult(0x8000_4005);
    for dump_type in [0, 5, 0x0100_0001, u32::MAX] {
        let dump_type = DumpType(dump_type);
        for (text, at) in [("", 26), ("d", 28), ("/tmp/d", 38)] {
            let (dump_name, kind) = (text.into(), "unknown_dump_type");
            let one = AnyRequest::GenerateCoreDump(GenerateCoreDump { dump_name, dump_type, diagnostics: 0 });
            assert_eq!(refused(one, kind, at, "GenerateCoreDump.dumpType"), fail);
            let two = AnyRequest::GenerateCoreDump2(GenerateCoreDump2 { dump_name, dump_type, flags: DumpFlags(0) });
            assert_eq!(refused(two, kind, at, "GenerateCoreDump2.dumpType"), fail);
            let three = AnyRequest::GenerateCoreDump3(GenerateCoreDump3 { dump_name, dump_type, flags: DumpFlags(0) });
            assert_eq!(refused(three, kind, at, "GenerateCoreDump3.dumpType"), fail);
        }
        let (dump_name, kind) = (IpcString::ABSENT, "absent_name");
        let one = AnyRequest::GenerateCoreDump(GenerateCoreDump { dump_name, dump_type, diagnostics: 0 });
        refused(one, kind, 20, "GenerateCoreDump.dumpName");
        let two = AnyRequest::GenerateCoreDump2(GenerateCoreDump2 { dump_name, dump_type, flags: DumpFlags(0) });
        refused(two, kind, 20, "GenerateCoreDump2.dumpName");
        let three = AnyRequest::GenerateCoreDump3(GenerateCoreDump3 { dump_name, dump_type, flags: DumpFlags(0) });
        refused(three, kind, 20, "GenerateCoreDump3.dumpName");
    }
}

/// F-46, F-80, P-1.
#[test]
fn limits_of_process_commands_are_found_where_they_stand() {
    let invalid = HResult(0x8007_0057);
    let perf_map = |n| AnyRequest::EnablePerfMap(EnablePerfMap { perf_map_type: PerfMapType(n) });
    for n in [1, 2, 3] {
        taken(perf_map(n));
    }
    for n in [0, 4, 0x0100_0001, u32::MAX] {
        assert_eq!(refused(perf_map(n), "unknown_perf_map_type", 20, "EnablePerfMap.perfMapType"), invalid);
    }
    let set = |name, value| AnyRequest::SetEnvironmentVariable(SetEnvironmentVariable { name, value });
    taken(set("A".into(), IpcString::ABSENT));
    taken(set("".into(), "".into()));
    assert_eq!(refused(set(IpcString::ABSENT, "v".into()), "absent_name", 20, "SetEnvironmentVariable.name"), invalid);
    let hook = |startup_hook_path| AnyRequest::ApplyStartupHook(ApplyStartupHook { startup_hook_path });
    taken(hook("/h.dll".into()));
    taken(hook("".into()));
    assert_eq!(refused(hook(IpcString::ABSENT), "absent_name", 20, "ApplyStartupHook.startupHookPath"), invalid);
}

#[test]
fn every_command_has_its_name_its_first_runtime_its_reply_and_what_follows() {
    use {Continuation as C, ReplyType as R};
    let table = [
        (0x0101, "Dump/GenerateCoreDump", (3, 1), R::Result, C::Close),
        (0x0102, "Dump/GenerateCoreDump2", (6, 0), R::Result, C::Close),
        (0x0103, "Dump/GenerateCoreDump3", (7, 0), R::Result, C::Close),
        (0x0201, "EventPipe/StopTracing", (3, 1), R::Session, C::Close),
        (0x0202, "EventPipe/CollectTracing", (3, 1), R::Session, C::Nettrace),
        (0x0203, "EventPipe/CollectTracing2", (3, 1), R::Session, C::Nettrace),
        (0x0204, "EventPipe/CollectTracing3", (9, 0), R::Session, C::Nettrace),
        (0x0205, "EventPipe/CollectTracing4", (9, 0), R::Session, C::Nettrace),
        (0x0206, "EventPipe/CollectTracing5", (10, 0), R::Session, C::BySessionType),
        (0x0207, "EventPipe/CollectTracing6", (11, 0), R::Session, C::BySessionType),
        (0x0301, "Profiler/AttachProfiler", (3, 1), R::Result, C::Close),
        (0x0302, "Profiler/StartupProfiler", (6, 0), R::Result, C::Close),
        (0x0400, "Process/ProcessInfo", (5, 0), R::ProcessInfo, C::Close),
        (0x0401, "Process/ResumeRuntime", (5, 0), R::Result, C::Close),
        (0x0402, "Process/ProcessEnvironment", (5, 0), R::ProcessEnvironment, C::EnvironmentBlock),
        (0x0403, "Process/SetEnvironmentVariable", (6, 0), R::Result, C::Close),
        (0x0404, "Process/ProcessInfo2", (6, 0), R::ProcessInfo2, C::Close),
        (0x0405, "Process/EnablePerfMap", (8, 0), R::Result, C::Close),
        (0x0406, "Process/DisablePerfMap", (8, 0), R::Result, C::Close),
        (0x0407, "Process/ApplyStartupHook", (8, 0), R::Result, C::Close),
        (0x0408, "Process/ProcessInfo3", (8, 0), R::ProcessInfo3, C::Close),
    ];
    for (code, name, (major, minor), reply, continuation) in table {
        let command = Command::from_code(code);
        assert_eq!(command.to_string(), name);
        assert_eq!(name.parse(), Ok(command));
        assert_eq!(command.since(), Some(DotnetVersion { major, minor }), "{name}");
        assert_eq!(command.reply_type(), Some(reply), "{name}");
        assert_eq!(command.continuation(), Some(continuation), "{name}");
    }
    assert_eq!(Command::known().map(Command::code).collect::<Vec<_>>(), table.map(|row| row.0));
    for code in [0x0000, 0x0100, 0x0104, 0x0208, 0x0300, 0x0303, 0x0409, 0x0500, 0xff00, 0xffff] {
        let command = Command::from_code(code);
        assert_eq!((command.since(), command.reply_type(), command.continuation()), (None, None, None), "{command}");
    }
}

/// F-18, F-23: what follows a `CollectTracing5` is not known from its code.
#[test]
fn what_follows_a_session_depends_on_its_type() {
    let streaming = b"DOTNET_IPC_V1\0\x2d\0\x02\x06\0\0\0\0\0\0\x10\0\0\0\x01\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0";
    let user_events = b"DOTNET_IPC_V1\0\x24\0\x02\x07\0\0\x01\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0";
    let collect = b"DOTNET_IPC_V1\0\x20\0\x02\x02\0\0\x10\0\0\0\x01\0\0\0\0\0\0\0";
    let environment = b"DOTNET_IPC_V1\0\x14\0\x04\x02\0\0";
    let unknown = b"DOTNET_IPC_V1\0\x14\0\x04\x63\0\0";
    let follows = |bytes| Message::decode_exact(bytes).unwrap().request().unwrap().continuation();
    assert_eq!(follows(streaming), Some(Continuation::Nettrace));
    assert_eq!(follows(user_events), Some(Continuation::UserEvents));
    assert_eq!(follows(collect), Some(Continuation::Nettrace));
    assert_eq!(follows(environment), Some(Continuation::EnvironmentBlock));
    assert_eq!(follows(unknown), None);
}

/// The vectors name commands by their header, so that they cannot show this fault.
#[test]
fn a_message_is_not_read_as_another_command_than_its_own() {
    let stop = Message::decode_exact(b"DOTNET_IPC_V1\0\x1c\0\x02\x01\0\0\x01\0\0\0\0\0\0\0").unwrap();
    let same_set = stop.request_as::<CollectTracing2<'_>>().unwrap_err();
    assert_eq!((same_set.kind().name(), same_set.layer(), same_set.offset()), ("unexpected_command", Layer::Header, 17));
    assert_eq!(same_set.to_string(), "header.command_id at byte 17: command 0x0201 is not the one expected");
    assert_eq!(same_set.hresult(), HResult(0x8013_1385));
    let other_set = stop.request_as::<ResumeRuntime>().unwrap_err();
    assert_eq!((other_set.offset(), other_set.path().to_string()), (16, "header.command_set".to_owned()));
    // Also where the payload would fit.
    assert!(Message::decode_exact(b"DOTNET_IPC_V1\0\x14\0\x04\x04\0\0").unwrap().request_as::<ProcessInfo>().is_err());
    assert_eq!(stop.request_as(), Ok(StopTracing { session_id: 1 }));
}

#[test]
fn a_result_code_prints_with_the_name_the_document_gives_it() {
    let table = [
        (0x0000_0000, "S_OK", true),
        (0x8013_1384, "DS_IPC_E_BAD_ENCODING", false),
        (0x8013_1385, "DS_IPC_E_UNKNOWN_COMMAND", false),
        (0x8013_1386, "DS_IPC_E_UNKNOWN_MAGIC", false),
        (0x8013_1387, "CORDIAGIPC_E_UNKNOWN_ERROR", false),
        (0x8013_1515, "DS_IPC_E_NOTSUPPORTED", false),
        (0x8000_4005, "DS_IPC_E_FAIL", false),
        (0x8013_135b, "DS_IPC_E_NOT_YET_AVAILABLE", false),
        (0x8013_1371, "DS_IPC_E_RUNTIME_UNINITIALIZED", false),
        (0x8007_0057, "DS_IPC_E_INVALIDARG", false),
        (0x8007_007a, "DS_IPC_E_INSUFFICIENT_BUFFER", false),
        (0x8000_00cb, "DS_IPC_E_ENVVAR_NOT_FOUND", false),
        // Not in the document: F-80, P-5, F-12.
        (0x8007_00cb, "ERROR_ENVVAR_NOT_FOUND", false),
        (0x8007_007e, "ERROR_MOD_NOT_FOUND", false),
        (0x8013_136a, "CORPROF_E_PROFILER_ALREADY_ACTIVE", false),
        (0x0000_ffff, "NativeAOT: SetEnvironmentVariable failed", true),
    ];
    for (code, name, success) in table {
        assert_eq!(HResult(code).name(), Some(name));
        assert_eq!(HResult(code).to_string(), format!("0x{code:08X} {name}"));
        assert_eq!(HResult(code).is_success(), success, "{name}");
    }
    let named: BTreeSet<u32> = HResult::NAMED.iter().map(|hresult| hresult.0).collect();
    assert_eq!(named, table.iter().map(|row| row.0).collect());
    assert_eq!((HResult(0x8007_0005).name(), HResult(0x8007_0005).to_string()), (None, "0x80070005".to_owned()));
    assert_eq!((HResult(0x7fff_ffff).is_success(), HResult(0x8000_0000).is_success()), (true, false));
    assert_eq!((HResult(0x8013_1384).to_i32(), HResult::from(-2_146_233_468)), (-2_146_233_468, HResult(0x8013_1384)));
}

#[test]
fn numbers_have_the_names_of_the_document() {
    let names = |name: fn(u32) -> Option<&'static str>| (0..7).map(name).collect::<Vec<_>>();
    let levels =
        [Some("LogAlways"), Some("Critical"), Some("Error"), Some("Warning"), Some("Informational"), Some("Verbose"), None];
    assert_eq!(names(|n| EventLevel(n).name()), levels);
    assert_eq!(names(|n| Format(n).name()), [Some("NetPerf"), Some("NetTrace"), None, None, None, None, None]);
    assert_eq!(names(|n| SessionBufferMode(n).name()), [Some("drop"), Some("block"), None, None, None, None, None]);
    let dumps = [None, Some("Normal"), Some("WithHeap"), Some("Triage"), Some("Full"), None, None];
    assert_eq!(names(|n| DumpType(n).name()), dumps);
    let perf_maps = [Some("DISABLED"), Some("ALL"), Some("JITDUMP"), Some("PERFMAP"), None, None, None];
    assert_eq!(names(|n| PerfMapType(n).name()), perf_maps);
    assert_eq!((DumpFlags::LOGGING.0, DumpFlags::VERBOSE_LOGGING.0, DumpFlags::CRASH_REPORT.0), (1, 2, 4));
}
