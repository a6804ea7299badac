//! All messages, and bytes that are nearly messages, for tests by proptest.

use std::sync::Mutex;

use dotnet_diagnostics_ipc::command::{Command, ReplyType};
use dotnet_diagnostics_ipc::hresult::HResult;
use dotnet_diagnostics_ipc::message::dump::{
    DumpFlags, DumpType, GenerateCoreDump, GenerateCoreDump2, GenerateCoreDump3,
};
use dotnet_diagnostics_ipc::message::eventpipe::{
    CollectTracing, CollectTracing2, CollectTracing3, CollectTracing4, CollectTracing5,
    CollectTracing6, EventFilter, EventLevel, Format, ProviderConfig, SessionBufferMode,
    SessionReply, StopTracing, StreamingProviderConfig, StreamingSession, StreamingSession6,
    TracepointConfig, TracepointSet, UserEventsProviderConfig, UserEventsSession,
};
use dotnet_diagnostics_ipc::message::process::{
    ApplyStartupHook, DisablePerfMap, EnablePerfMap, PerfMapType, ProcessEnvironment,
    ProcessEnvironmentReply, ProcessInfo, ProcessInfo2, ProcessInfo2Reply, ProcessInfo3,
    ProcessInfo3Reply, ProcessInfoReply, ResumeRuntime, SetEnvironmentVariable, Tail,
};
use dotnet_diagnostics_ipc::message::profiler::{AttachProfiler, StartupProfiler};
use dotnet_diagnostics_ipc::message::server::{ErrorReply, ResultReply};
use dotnet_diagnostics_ipc::message::{AnyReply, AnyRequest};
use dotnet_diagnostics_ipc::wire::{Array, Decode, Guid, IpcString};
use proptest::collection::vec;
use proptest::prelude::*;

/// Lets messages borrow for as long as the tests run. The addresses are kept so that a leak checker
/// can find the slices.
fn keep<T: 'static>(items: Vec<T>) -> &'static [T] {
    static KEPT: Mutex<Vec<usize>> = Mutex::new(Vec::new());
    let items = Vec::leak(items);
    KEPT.lock().unwrap().push(items.as_ptr() as usize);
    items
}

pub(crate) fn units() -> impl Strategy<Value = Vec<u16>> {
    vec(prop_oneof![Just(0), 0x20..0x7f_u16, 0xd800..=0xdfff_u16, any::<u16>()], 0..10)
}

/// Absent, empty, text, and units that are not text.
pub(crate) fn string() -> impl Strategy<Value = IpcString<'static>> {
    prop_oneof![
        Just(IpcString::ABSENT),
        Just(IpcString::new("")),
        Just(IpcString::from_units(&[])),
        "\\PC{1,12}"
            .prop_map(|text| IpcString::new(std::str::from_utf8(keep(text.into_bytes())).unwrap())),
        units().prop_map(|units| IpcString::from_units(keep(units))),
    ]
}

fn array<S: Strategy<Value: Decode<'static> + Copy + 'static>>(
    item: S,
) -> impl Strategy<Value = Array<'static, S::Value>> {
    vec(item, 0..4).prop_map(|items| Array::new(keep(items)))
}

fn bytes() -> impl Strategy<Value = &'static [u8]> {
    vec(any::<u8>(), 0..40).prop_map(keep)
}

fn number() -> impl Strategy<Value = u32> {
    prop_oneof![0..7_u32, any::<u32>()]
}

pub(crate) fn guid() -> impl Strategy<Value = Guid> {
    any::<[u8; 16]>().prop_map(Guid::from_bytes)
}

fn filter() -> impl Strategy<Value = EventFilter<'static>> {
    (any::<bool>(), array(number()))
        .prop_map(|(enable, event_ids)| EventFilter { enable, event_ids })
}

fn provider() -> impl Strategy<Value = ProviderConfig<'static>> {
    (any::<u64>(), number().prop_map(EventLevel), string(), string()).prop_map(
        |(keywords, log_level, provider_name, arguments)| ProviderConfig {
            keywords,
            log_level,
            provider_name,
            arguments,
        },
    )
}

fn streaming_provider() -> impl Strategy<Value = StreamingProviderConfig<'static>> {
    (provider(), filter()).prop_map(
        |(ProviderConfig { keywords, log_level, provider_name, arguments }, filter)| {
            StreamingProviderConfig { keywords, log_level, provider_name, arguments, filter }
        },
    )
}

fn tracepoint_config() -> impl Strategy<Value = TracepointConfig<'static>> {
    let set = (string(), array(number()))
        .prop_map(|(tracepoint_name, event_ids)| TracepointSet { tracepoint_name, event_ids });
    (string(), array(set)).prop_map(|(default_tracepoint_name, tracepoints)| TracepointConfig {
        default_tracepoint_name,
        tracepoints,
    })
}

fn user_events_provider() -> impl Strategy<Value = UserEventsProviderConfig<'static>> {
    (streaming_provider(), tracepoint_config()).prop_map(
        |(
            StreamingProviderConfig { keywords, log_level, provider_name, arguments, filter },
            config,
        )| UserEventsProviderConfig {
            keywords,
            log_level,
            provider_name,
            arguments,
            filter,
            config,
        },
    )
}

fn session5() -> impl Strategy<Value = StreamingSession<'static>> {
    (number(), number().prop_map(Format), any::<u64>(), any::<bool>(), array(streaming_provider()))
        .prop_map(|(circular_buffer_mb, format, rundown_keyword, request_stackwalk, providers)| {
            StreamingSession {
                circular_buffer_mb,
                format,
                rundown_keyword,
                request_stackwalk,
                providers,
            }
        })
}

fn user_events() -> impl Strategy<Value = UserEventsSession<'static>> {
    (any::<u64>(), array(user_events_provider()))
        .prop_map(|(rundown_keyword, providers)| UserEventsSession { rundown_keyword, providers })
}

fn session_request() -> impl Strategy<Value = AnyRequest<'static>> {
    let fields = (
        number(),
        number().prop_map(Format),
        any::<bool>(),
        any::<bool>(),
        any::<u64>(),
        array(provider()),
    );
    let plain = (0..4, fields).prop_map(
        |(
            which,
            (
                circular_buffer_mb,
                format,
                request_rundown,
                request_stackwalk,
                rundown_keyword,
                providers,
            ),
        )| match which {
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
        },
    );
    let streaming6 = (session5(), number().prop_map(SessionBufferMode)).prop_map(
        |(session, session_buffer_mode)| {
            let StreamingSession {
                circular_buffer_mb,
                format,
                rundown_keyword,
                request_stackwalk,
                providers,
            } = session;
            StreamingSession6 {
                circular_buffer_mb,
                format,
                rundown_keyword,
                request_stackwalk,
                providers,
                session_buffer_mode,
            }
        },
    );
    prop_oneof![
        4 => plain,
        1 => session5().prop_map(|session| AnyRequest::CollectTracing5(CollectTracing5::Streaming(session))),
        1 => user_events().prop_map(|session| AnyRequest::CollectTracing5(CollectTracing5::UserEvents(session))),
        1 => streaming6.prop_map(|session| AnyRequest::CollectTracing6(CollectTracing6::Streaming(session))),
        1 => user_events().prop_map(|session| AnyRequest::CollectTracing6(CollectTracing6::UserEvents(session))),
    ]
}

fn other_request() -> impl Strategy<Value = AnyRequest<'static>> {
    let dump = (0..3, string(), number().prop_map(DumpType), number()).prop_map(
        |(which, dump_name, dump_type, last)| match which {
            0 => AnyRequest::GenerateCoreDump(GenerateCoreDump {
                dump_name,
                dump_type,
                diagnostics: last,
            }),
            1 => AnyRequest::GenerateCoreDump2(GenerateCoreDump2 {
                dump_name,
                dump_type,
                flags: DumpFlags(last),
            }),
            _ => AnyRequest::GenerateCoreDump3(GenerateCoreDump3 {
                dump_name,
                dump_type,
                flags: DumpFlags(last),
            }),
        },
    );
    let profiler = (any::<bool>(), number(), guid(), string(), bytes()).prop_map(
        |(attach, attach_timeout, profiler_guid, profiler_path, client_data)| {
            if attach {
                AnyRequest::AttachProfiler(AttachProfiler {
                    attach_timeout,
                    profiler_guid,
                    profiler_path,
                    client_data,
                })
            } else {
                AnyRequest::StartupProfiler(StartupProfiler { profiler_guid, profiler_path })
            }
        },
    );
    let without_payload = proptest::sample::select(vec![
        AnyRequest::ProcessInfo(ProcessInfo {}),
        AnyRequest::ResumeRuntime(ResumeRuntime {}),
        AnyRequest::ProcessEnvironment(ProcessEnvironment {}),
        AnyRequest::ProcessInfo2(ProcessInfo2 {}),
        AnyRequest::DisablePerfMap(DisablePerfMap {}),
        AnyRequest::ProcessInfo3(ProcessInfo3 {}),
    ]);
    let unknown = any::<u16>()
        .prop_map(Command::from_code)
        .prop_filter("known", |command| command.reply_type().is_none());
    prop_oneof![
        3 => dump,
        1 => any::<u64>().prop_map(|session_id| AnyRequest::StopTracing(StopTracing { session_id })),
        2 => profiler,
        3 => without_payload,
        1 => (string(), string())
            .prop_map(|(name, value)| AnyRequest::SetEnvironmentVariable(SetEnvironmentVariable { name, value })),
        1 => number().prop_map(|n| AnyRequest::EnablePerfMap(EnablePerfMap { perf_map_type: PerfMapType(n) })),
        1 => string().prop_map(|startup_hook_path| AnyRequest::ApplyStartupHook(ApplyStartupHook { startup_hook_path })),
        1 => (unknown, bytes()).prop_map(|(command, payload)| AnyRequest::Unknown { command, payload }),
    ]
}

pub(crate) fn requests() -> impl Strategy<Value = AnyRequest<'static>> {
    prop_oneof![session_request(), other_request()]
}

fn process_info() -> impl Strategy<Value = (ReplyType, AnyReply<'static>)> {
    let texts = (string(), string(), string(), string(), string(), string());
    (0..3, number(), any::<u64>(), guid(), texts, bytes()).prop_map(
        |(which, version, process_id, runtime_cookie, texts, tail)| {
            let (
                command_line,
                os,
                arch,
                managed_entrypoint_assembly_name,
                clr_product_version,
                runtime_identifier,
            ) = texts;
            match which {
                0 => {
                    let reply =
                        ProcessInfoReply { process_id, runtime_cookie, command_line, os, arch };
                    (ReplyType::ProcessInfo, AnyReply::ProcessInfo(reply))
                }
                1 => {
                    let reply = ProcessInfo2Reply {
                        process_id,
                        runtime_cookie,
                        command_line,
                        os,
                        arch,
                        managed_entrypoint_assembly_name,
                        clr_product_version,
                    };
                    (ReplyType::ProcessInfo2, AnyReply::ProcessInfo2(reply))
                }
                _ => {
                    let reply = ProcessInfo3Reply {
                        version,
                        process_id,
                        runtime_cookie,
                        command_line,
                        os,
                        arch,
                        managed_entrypoint_assembly_name,
                        clr_product_version,
                        runtime_identifier,
                        tail: Tail(tail),
                    };
                    (ReplyType::ProcessInfo3, AnyReply::ProcessInfo3(reply))
                }
            }
        },
    )
}

/// Any command that a server knows, and an unknown one.
fn asked() -> impl Strategy<Value = Option<Command>> {
    let mut commands: Vec<_> = Command::known().map(Some).collect();
    commands.extend([None, Some(Command::from_code(0x6301))]);
    proptest::sample::select(commands)
}

/// A reply, and what it answers.
pub(crate) fn replies() -> impl Strategy<Value = (Option<Command>, AnyReply<'static>)> {
    let result = number().prop_map(|code| {
        (ReplyType::Result, AnyReply::Result(ResultReply { hresult: HResult(code) }))
    });
    let session = any::<u64>().prop_map(|session_id| {
        (ReplyType::Session, AnyReply::Session(SessionReply { session_id }))
    });
    let environment = (number(), any::<u16>()).prop_map(|(n_incoming_bytes, future)| {
        (
            ReplyType::ProcessEnvironment,
            AnyReply::ProcessEnvironment(ProcessEnvironmentReply { n_incoming_bytes, future }),
        )
    });
    let ok =
        (prop_oneof![result, session, environment, process_info()], any::<prop::sample::Index>())
            .prop_map(|((reply_type, reply), which)| {
                let commands: Vec<_> = Command::known()
                    .filter(|command| command.reply_type() == Some(reply_type))
                    .collect();
                (Some(*which.get(&commands)), reply)
            });
    let error =
        (asked(), any::<u32>().prop_map(HResult), string()).prop_map(|(command, hresult, text)| {
            let message = Some(text).filter(|_| ErrorReply::has_message(command));
            (command, AnyReply::Error(ErrorReply { hresult, message }))
        });
    // The only command whose errors carry text. It is too rare among all.
    let dump3 = (any::<u32>().prop_map(HResult), proptest::option::of(string())).prop_map(
        |(hresult, message)| {
            (Some(Command::GENERATE_CORE_DUMP3), AnyReply::Error(ErrorReply { hresult, message }))
        },
    );
    let unknown = bytes().prop_filter("the generic OK", |payload| !payload.is_empty());
    prop_oneof![
        8 => ok,
        1 => error,
        1 => dump3,
        1 => asked().prop_map(|command| (command, AnyReply::OkWithoutPayload)),
        1 => unknown.prop_map(|payload| (Some(Command::from_code(0x6301)), AnyReply::Unknown { payload })),
    ]
}

/// Bytes that look enough like a payload to be read to some depth: small numbers, text, and
/// anything.
pub(crate) fn payload() -> impl Strategy<Value = Vec<u8>> {
    let part = prop_oneof![
        4 => (0..4_u32).prop_map(|n| n.to_le_bytes().to_vec()),
        2 => Just(b"\x02\0\0\0a\0\0\0".to_vec()),
        1 => Just(b"\0\0\0\0".to_vec()),
        1 => Just(vec![1]),
        1 => number().prop_map(|n| n.to_le_bytes().to_vec()),
        1 => vec(any::<u8>(), 0..24),
    ];
    prop_oneof![vec(part, 0..24).prop_map(|parts| parts.concat()), vec(any::<u8>(), 0..64)]
}

pub(crate) fn any_command() -> impl Strategy<Value = Command> {
    let known = proptest::sample::select(Command::known().collect::<Vec<_>>());
    prop_oneof![6 => known, 2 => Just(Command::OK), 2 => Just(Command::ERROR), 1 => any::<u16>().prop_map(Command::from_code)]
}
