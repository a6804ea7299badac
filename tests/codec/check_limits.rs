//! What a server refuses although it decodes: which value, at which offset, and with which answer.
//! Every offset is written out.

use dotnet_diagnostics_ipc::hresult::HResult;
use dotnet_diagnostics_ipc::message::dump::{
    DumpFlags, DumpType, GenerateCoreDump, GenerateCoreDump2, GenerateCoreDump3,
};
use dotnet_diagnostics_ipc::message::eventpipe::{
    CollectTracing, CollectTracing2, CollectTracing3, CollectTracing4, CollectTracing5,
    CollectTracing6, EventFilter, EventLevel, Format, MAX_PROVIDERS, ProviderConfig,
    SessionBufferMode, StreamingProviderConfig, StreamingSession, StreamingSession6,
    TracepointConfig, TracepointSet, UserEventsProviderConfig, UserEventsSession,
};
use dotnet_diagnostics_ipc::message::process::{
    ApplyStartupHook, EnablePerfMap, PerfMapType, SetEnvironmentVariable,
};
use dotnet_diagnostics_ipc::message::{AnyRequest, Message, encode};
use dotnet_diagnostics_ipc::user_events::{MAX_TRACEPOINT_NAME_LEN, TracepointCommand};
use dotnet_diagnostics_ipc::wire::{Array, IpcString, Layer, WireError};

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
    default: IpcString<'a>,
    sets: &'a [TracepointSet<'a>],
) -> UserEventsProviderConfig<'a> {
    let StreamingProviderConfig { keywords, log_level, provider_name, arguments, filter } =
        filtered(level, name);
    let config =
        TracepointConfig { default_tracepoint_name: default, tracepoints: Array::new(sets) };
    UserEventsProviderConfig { keywords, log_level, provider_name, arguments, filter, config }
}

/// What the limits report about `request`, which must be equal for the caller's slices and for
/// bytes from the wire.
#[track_caller]
fn limits(request: AnyRequest<'_>) -> Result<(), WireError> {
    let mut buffer = vec![0; 65_535];
    let len = encode(request.command(), &request, &mut buffer).unwrap();
    let decoded = Message::decode(&buffer[..len]).unwrap().request().unwrap();
    assert_eq!(decoded.check_limits(), request.check_limits());
    request.check_limits()
}

#[track_caller]
fn refused(request: AnyRequest<'_>, kind: &str, offset: usize, field: &str) -> HResult {
    let error = limits(request).expect_err(field);
    assert_eq!(
        (error.kind().name(), error.offset(), error.path().to_string().as_str()),
        (kind, offset, field)
    );
    assert_eq!(error.layer(), Layer::Limits);
    error.hresult()
}

#[track_caller]
fn taken(request: AnyRequest<'_>) {
    assert_eq!(limits(request), Ok(()));
}

/// F-16.
#[test]
fn collect_tracing_1_to_4_limit_reports_offset() {
    fn one(
        mb: u32,
        format: u32,
        providers: &[ProviderConfig<'_>],
        nth: usize,
    ) -> Result<(), (String, usize, String, HResult)> {
        let (circular_buffer_mb, format, providers) = (mb, Format(format), Array::new(providers));
        let request = match nth {
            0 => {
                AnyRequest::CollectTracing(CollectTracing { circular_buffer_mb, format, providers })
            }
            1 => AnyRequest::CollectTracing2(CollectTracing2 {
                circular_buffer_mb,
                format,
                request_rundown: false,
                providers,
            }),
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
        limits(request).map_err(|error| {
            (
                error.kind().name().to_owned(),
                error.offset(),
                error.path().to_string(),
                error.hresult(),
            )
        })
    }
    let good = [plain(5, "P"), plain(0, "Q")];
    let many = vec![plain(4, "P"); 1001];
    // name, offset of the count of providers
    let commands = [
        ("CollectTracing", 28),
        ("CollectTracing2", 29),
        ("CollectTracing3", 30),
        ("CollectTracing4", 37),
    ];
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
        assert_eq!(
            one(1, 1, &[plain(6, "P")], nth),
            no("log_level_out_of_range", count + 12, "providers[0].logLevel")
        );
        assert_eq!(
            one(1, 1, &[plain(5, "")], nth),
            no("empty_provider_name", count + 16, "providers[0].provider_name")
        );
        let absent = ProviderConfig { provider_name: IpcString::ABSENT, ..good[0] };
        assert_eq!(
            one(1, 1, &[absent], nth),
            no("empty_provider_name", count + 16, "providers[0].provider_name")
        );
        // P-43: a name that begins with NUL ends at once. A NUL inside is part of the name.
        let name =
            |units| ProviderConfig { provider_name: IpcString::from_units(units), ..good[0] };
        for units in [&[0][..], &[0, 0, 0], &[0, 0x41]] {
            assert_eq!(
                one(1, 1, &[name(units)], nth),
                no("empty_provider_name", count + 16, "providers[0].provider_name")
            );
        }
        assert_eq!(one(1, 1, &[name(&[0x41, 0, 0x42])], nth), Ok(()));
        // The first takes 8 + 4 + 4 + 2 × 5 + 4 + 2 × 4 = 38 bytes: a character beyond U+FFFF is
        // two units.
        let first = ProviderConfig {
            provider_name: "a\u{1f600}b".into(),
            arguments: "k=v".into(),
            ..good[0]
        };
        let second = |provider| [first, provider, plain(9, "")];
        let level = no("log_level_out_of_range", count + 4 + 38 + 8, "providers[1].logLevel");
        assert_eq!(one(1, 1, &second(plain(u32::MAX, "Q")), nth), level);
        let unnamed = no("empty_provider_name", count + 4 + 38 + 12, "providers[1].provider_name");
        assert_eq!(one(1, 1, &second(plain(0, "")), nth), unnamed);
        // If several are wrong, the first in the message is named.
        assert_eq!(one(0, 2, &[], nth), no("zero_buffer", 20, "circularBufferMB"));
        assert_eq!(one(1, 2, &[], nth), no("unknown_format", 24, "format"));
    }
    assert_eq!(MAX_PROVIDERS, 1000);
}

#[test]
fn streaming_session_limit_reports_offset() {
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
    assert_eq!(
        refused(five(zero), "zero_buffer", 24, "CollectTracing5.streaming_circularBufferMB"),
        bad
    );
    let format = StreamingSession { format: Format(2), ..session };
    assert_eq!(
        refused(five(format), "unknown_format", 28, "CollectTracing5.streaming_format"),
        bad
    );
    let none = StreamingSession { providers: Array::EMPTY, ..session };
    assert_eq!(refused(five(none), "no_providers", 41, "CollectTracing5.providers"), bad);
    let many = vec![filtered(5, "P"); 1001];
    let many = StreamingSession { providers: Array::new(&many), ..session };
    assert_eq!(refused(five(many), "too_many_providers", 41, "CollectTracing5.providers"), bad);
    // The first takes 29 + 3 × 4 bytes.
    let providers = [StreamingProviderConfig { filter: ids, ..good[0] }, filtered(6, "Q")];
    let level = StreamingSession { providers: Array::new(&providers), ..session };
    assert_eq!(
        refused(
            five(level),
            "log_level_out_of_range",
            45 + 41 + 8,
            "CollectTracing5.providers[1].logLevel"
        ),
        bad
    );
    let providers = [StreamingProviderConfig { filter: ids, ..good[0] }, filtered(5, "")];
    let unnamed = StreamingSession { providers: Array::new(&providers), ..session };
    assert_eq!(
        refused(
            five(unnamed),
            "empty_provider_name",
            45 + 41 + 12,
            "CollectTracing5.providers[1].provider_name"
        ),
        bad
    );
}

/// F-30.
#[test]
fn buffer_mode_limit_reports_offset_after_providers() {
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
        let hresult = refused(
            mode(unknown),
            "unknown_buffer_mode",
            45 + 29 + 29,
            "CollectTracing6.sessionBufferMode",
        );
        assert_eq!(hresult, HResult(0x8013_1384));
    }
    let zero = CollectTracing6::Streaming(StreamingSession6 {
        circular_buffer_mb: 0,
        session_buffer_mode: SessionBufferMode(2),
        ..session
    });
    refused(
        AnyRequest::CollectTracing6(zero),
        "zero_buffer",
        24,
        "CollectTracing6.streaming_circularBufferMB",
    );
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
fn tracepoint_limit_reports_offset() {
    let set = |name: &'static str, ids: &'static [u32]| TracepointSet {
        tracepoint_name: name.into(),
        event_ids: Array::new(ids),
    };
    let absent = IpcString::ABSENT;
    let (bad, fail) = (HResult(0x8013_1384), HResult(0x8000_4005));
    for (name, six) in [("CollectTracing5", false), ("CollectTracing6", true)] {
        // The first provider begins at 36; its config at 65, the first set at 73. A set of two ids
        // takes 20 bytes.
        let no = |providers: &[UserEventsProviderConfig<'_>], kind, offset, field: &str| {
            refused(user_events(six, providers), kind, offset, &format!("{name}.{field}"))
        };
        taken(user_events(six, &[traced(5, "P", "T".into(), &[])]));
        taken(user_events(six, &[traced(5, "P", absent, &[set("T", &[1, 2]), set("U", &[3])])]));
        taken(user_events(six, &[traced(5, "P", "".into(), &[])]));
        // Each provider has its own sets.
        taken(user_events(
            six,
            &[traced(5, "P", absent, &[set("T", &[1])]), traced(5, "Q", absent, &[set("T", &[1])])],
        ));

        assert_eq!(no(&[], "no_providers", 32, "providers"), bad);
        assert_eq!(
            no(&vec![traced(5, "P", "T".into(), &[]); 1001], "too_many_providers", 32, "providers"),
            bad
        );
        assert_eq!(
            no(
                &[traced(6, "P", absent, &[])],
                "log_level_out_of_range",
                44,
                "providers[0].logLevel"
            ),
            bad
        );
        assert_eq!(
            no(
                &[traced(5, "", absent, &[])],
                "empty_provider_name",
                48,
                "providers[0].provider_name"
            ),
            bad
        );
        assert_eq!(
            no(&[traced(5, "P", absent, &[])], "no_tracepoint", 65, "providers[0].config"),
            bad
        );
        let sets = [set("", &[1])];
        let unnamed = "providers[0].config.tracepoints[0].tracepoint_name";
        assert_eq!(no(&[traced(5, "P", absent, &sets)], "empty_tracepoint_name", 73, unnamed), bad);
        // P-43. A default that begins with NUL is accepted, like an empty one (P-7).
        let sets = [set("\0T", &[1])];
        let first = "providers[0].config.tracepoints[0].tracepoint_name";
        assert_eq!(no(&[traced(5, "P", absent, &sets)], "empty_tracepoint_name", 73, first), bad);
        taken(user_events(six, &[traced(5, "P", "\0T".into(), &[])]));
        let sets = [set("T", &[1, 2]), TracepointSet { tracepoint_name: absent, ..set("", &[3]) }];
        let unnamed = "providers[0].config.tracepoints[1].tracepoint_name";
        assert_eq!(no(&[traced(5, "P", absent, &sets)], "empty_tracepoint_name", 93, unnamed), bad);
        let sets = [set("T", &[7, 7])];
        let twice = "providers[0].config.tracepoints[0].event_ids[1]";
        assert_eq!(no(&[traced(5, "P", absent, &sets)], "duplicate_event_id", 89, twice), fail);
        let sets = [set("T", &[1, 2]), set("U", &[2])];
        let twice = "providers[0].config.tracepoints[1].event_ids[0]";
        assert_eq!(no(&[traced(5, "P", absent, &sets)], "duplicate_event_id", 105, twice), fail);
        // A default of 3 units moves the sets by 6 bytes, a filter of two ids by 8, arguments of 2
        // units by 4.
        let moved = UserEventsProviderConfig {
            filter: EventFilter { enable: true, event_ids: Array::new(&[7, 7]) },
            arguments: "a".into(),
            ..traced(5, "P", "DE".into(), &sets)
        };
        assert_eq!(no(&[moved], "duplicate_event_id", 105 + 6 + 8 + 4, twice), fail);
        // A provider whose config is one default of 2 units and no sets takes 29 + 8 + 4 bytes.
        let second = [traced(5, "P", "T".into(), &[]), traced(5, "Q", absent, &sets)];
        assert_eq!(
            no(&second, "duplicate_event_id", 41 + 105, &twice.replace("[0].config", "[1].config")),
            fail
        );
    }
}

/// F-16, F-21: a runtime reads the whole request before it registers a tracepoint. What it refuses
/// then (with another code) counts only if it refuses nothing else, wherever that is.
#[test]
fn what_registration_refuses_comes_last() {
    let set = |name: &'static str, ids: &'static [u32]| TracepointSet {
        tracepoint_name: name.into(),
        event_ids: Array::new(ids),
    };
    let absent = IpcString::ABSENT;
    let (bad, fail) = (HResult(0x8013_1384), HResult(0x8000_4005));
    let long = "n".repeat(MAX_TRACEPOINT_NAME_LEN + 1);
    let twice = [set("T", &[7, 7])];
    let unnamed = [set("T", &[7, 7]), set("", &[8])];
    let long_and_unnamed = [set("", &[8])];
    for (name, six) in [("CollectTracing5", false), ("CollectTracing6", true)] {
        let no = |providers: &[UserEventsProviderConfig<'_>], kind, offset, field: &str| {
            refused(user_events(six, providers), kind, offset, &format!("{name}.providers{field}"))
        };
        // The first provider begins at 36, and takes 29 + 8 + 20 bytes: the second begins at 93.
        let then = |second| [traced(5, "P", absent, &twice), second];
        let level = then(traced(6, "Q", "T".into(), &[]));
        assert_eq!(no(&level, "log_level_out_of_range", 93 + 8, "[1].logLevel"), bad);
        let nameless = then(traced(5, "", "T".into(), &[]));
        assert_eq!(no(&nameless, "empty_provider_name", 93 + 12, "[1].provider_name"), bad);
        let bare = then(traced(5, "Q", absent, &[]));
        assert_eq!(no(&bare, "no_tracepoint", 93 + 29, "[1].config"), bad);
        let field = "[0].config.tracepoints[1].tracepoint_name";
        assert_eq!(
            no(&[traced(5, "P", absent, &unnamed)], "empty_tracepoint_name", 93, field),
            bad
        );
        // A default of 437 characters takes 4 + 2 × 438 bytes, and the count 4.
        let field = "[0].config.tracepoints[0].tracepoint_name";
        let sets = [traced(5, "P", IpcString::new(&long), &long_and_unnamed)];
        assert_eq!(no(&sets, "empty_tracepoint_name", 65 + 880 + 4, field), bad);
        // Of several that registration refuses, the first is named.
        let field = "[0].config.tracepoints[0].event_ids[1]";
        let second = then(traced(5, "Q", IpcString::new(&long), &[]));
        assert_eq!(no(&second, "duplicate_event_id", 89, field), fail);
    }
}

/// P-19. The limit is in bytes of UTF-8, of the name as a runtime reads it: to the first NUL.
#[test]
fn tracepoint_name_without_command_string_is_refused() {
    fn set(tracepoint_name: IpcString<'_>) -> TracepointSet<'_> {
        TracepointSet { tracepoint_name, event_ids: Array::new(&[1]) }
    }
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
    let absent = IpcString::ABSENT;
    for (name, six) in [("CollectTracing5", false), ("CollectTracing6", true)] {
        let field = |field: &str| format!("{name}.providers[0].config.{field}");
        for text in &fits {
            let (text, short) = (IpcString::new(text), [set("S".into())]);
            taken(user_events(six, &[traced(5, "P", text, &short)]));
            taken(user_events(six, &[traced(5, "P", "T".into(), &[set(text)])]));
            // A NUL is not a limit of the request, but of the command.
            assert_eq!(TracepointCommand::new(text).is_ok(), !text.has_inner_nul());
        }
        let kind = "tracepoint_name_too_long";
        for text in &too_long {
            let (text, fail) = (IpcString::new(text), HResult(0x8000_4005));
            let default = [traced(5, "P", text, &[])];
            assert_eq!(
                refused(user_events(six, &default), kind, 65, &field("default_tracepoint_name")),
                fail
            );
            // The second set follows the default of 2 units, the count, and a set of 2 units and an
            // id: 65 + 8 + 4 + 16.
            let sets = [set("S".into()), set(text)];
            let second = [traced(5, "P", "T".into(), &sets)];
            assert_eq!(
                refused(
                    user_events(six, &second),
                    kind,
                    93,
                    &field("tracepoints[1].tracepoint_name")
                ),
                fail
            );
            assert!(TracepointCommand::new(text).is_err());
        }
        // Half a surrogate pair is 3 bytes, as U+FFFD.
        for (count, fits) in [(145, true), (146, false)] {
            let mut units = [0x61; 147];
            units[..count].fill(0xdc00);
            let sets = [set(IpcString::from_units(&units[..=count]))];
            assert_eq!(
                limits(user_events(six, &[traced(5, "P", absent, &sets)])).is_ok(),
                fits,
                "{count}"
            );
        }
        // Of those that registration refuses the first is named; of one set, its name.
        let long = IpcString::new(&too_long[0]);
        let twice = [TracepointSet { tracepoint_name: long, event_ids: Array::new(&[7, 7]) }];
        refused(
            user_events(six, &[traced(5, "P", absent, &twice)]),
            kind,
            73,
            &field("tracepoints[0].tracepoint_name"),
        );
        refused(
            user_events(six, &[traced(5, "P", long, &twice)]),
            kind,
            65,
            &field("default_tracepoint_name"),
        );
    }
}

#[test]
fn dump_limit_reports_offset() {
    for dump_type in 1..=4 {
        let (dump_name, dump_type) = ("d".into(), DumpType(dump_type));
        taken(AnyRequest::GenerateCoreDump(GenerateCoreDump {
            dump_name,
            dump_type,
            diagnostics: u32::MAX,
        }));
        taken(AnyRequest::GenerateCoreDump2(GenerateCoreDump2 {
            dump_name,
            dump_type,
            flags: DumpFlags(u32::MAX),
        }));
        taken(AnyRequest::GenerateCoreDump3(GenerateCoreDump3 {
            dump_name,
            dump_type,
            flags: DumpFlags(0),
        }));
    }
    // P-3: a bad type is answered by E_FAIL. The answer to an absent name is unknown: the process
    // dies (F-72).
    let fail = HResult(0x8000_4005);
    for dump_type in [0, 5, 0x0100_0001, u32::MAX] {
        let dump_type = DumpType(dump_type);
        for (text, at) in [("", 26), ("d", 28), ("/tmp/d", 38)] {
            let (dump_name, kind) = (text.into(), "unknown_dump_type");
            let one = AnyRequest::GenerateCoreDump(GenerateCoreDump {
                dump_name,
                dump_type,
                diagnostics: 0,
            });
            assert_eq!(refused(one, kind, at, "GenerateCoreDump.dumpType"), fail);
            let two = AnyRequest::GenerateCoreDump2(GenerateCoreDump2 {
                dump_name,
                dump_type,
                flags: DumpFlags(0),
            });
            assert_eq!(refused(two, kind, at, "GenerateCoreDump2.dumpType"), fail);
            let three = AnyRequest::GenerateCoreDump3(GenerateCoreDump3 {
                dump_name,
                dump_type,
                flags: DumpFlags(0),
            });
            assert_eq!(refused(three, kind, at, "GenerateCoreDump3.dumpType"), fail);
        }
        let (dump_name, kind) = (IpcString::ABSENT, "absent_name");
        let one =
            AnyRequest::GenerateCoreDump(GenerateCoreDump { dump_name, dump_type, diagnostics: 0 });
        refused(one, kind, 20, "GenerateCoreDump.dumpName");
        let two = AnyRequest::GenerateCoreDump2(GenerateCoreDump2 {
            dump_name,
            dump_type,
            flags: DumpFlags(0),
        });
        refused(two, kind, 20, "GenerateCoreDump2.dumpName");
        let three = AnyRequest::GenerateCoreDump3(GenerateCoreDump3 {
            dump_name,
            dump_type,
            flags: DumpFlags(0),
        });
        refused(three, kind, 20, "GenerateCoreDump3.dumpName");
    }
}

/// F-46, F-80, P-1, P-44.
#[test]
fn process_command_limit_reports_offset() {
    let invalid = HResult(0x8007_0057);
    let perf_map = |n| AnyRequest::EnablePerfMap(EnablePerfMap { perf_map_type: PerfMapType(n) });
    for n in [1, 2, 3, 0x8000_0000, u32::MAX] {
        taken(perf_map(n));
    }
    for n in [0, 4, 0x0100_0001, 0x7fff_ffff] {
        assert_eq!(
            refused(perf_map(n), "unknown_perf_map_type", 20, "EnablePerfMap.perfMapType"),
            invalid
        );
    }
    let set =
        |name, value| AnyRequest::SetEnvironmentVariable(SetEnvironmentVariable { name, value });
    taken(set("A".into(), IpcString::ABSENT));
    taken(set("".into(), "".into()));
    assert_eq!(
        refused(
            set(IpcString::ABSENT, "v".into()),
            "absent_name",
            20,
            "SetEnvironmentVariable.name"
        ),
        invalid
    );
    let hook =
        |startup_hook_path| AnyRequest::ApplyStartupHook(ApplyStartupHook { startup_hook_path });
    taken(hook("/h.dll".into()));
    taken(hook("".into()));
    assert_eq!(
        refused(hook(IpcString::ABSENT), "absent_name", 20, "ApplyStartupHook.startupHookPath"),
        invalid
    );
}
