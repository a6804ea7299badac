//! Requests of every command.

use dotnet_diagnostics_ipc::message::AnyRequest;
use dotnet_diagnostics_ipc::message::dump::{
    DumpFlags, DumpType, GenerateCoreDump, GenerateCoreDump2, GenerateCoreDump3,
};
use dotnet_diagnostics_ipc::message::eventpipe::*;
use dotnet_diagnostics_ipc::message::process::*;
use dotnet_diagnostics_ipc::message::profiler::{AttachProfiler, StartupProfiler};
use dotnet_diagnostics_ipc::wire::{Array, Guid, IpcString};

const PROVIDERS: &[ProviderConfig<'_>] = &[ProviderConfig::new("Provider", 1, EventLevel::VERBOSE)];
pub(crate) const COLLECT2: AnyRequest<'_> = AnyRequest::CollectTracing2(CollectTracing2 {
    circular_buffer_mb: 1,
    format: Format::NET_TRACE,
    request_rundown: false,
    providers: Array::new(PROVIDERS),
});
pub(crate) const COLLECT3: AnyRequest<'_> = AnyRequest::CollectTracing3(CollectTracing3 {
    circular_buffer_mb: 1,
    format: Format::NET_TRACE,
    request_rundown: false,
    request_stackwalk: false,
    providers: Array::new(PROVIDERS),
});
const STREAMED: &[StreamingProviderConfig<'_>] = &[StreamingProviderConfig {
    keywords: 0,
    log_level: EventLevel::VERBOSE,
    provider_name: IpcString::new("Provider"),
    arguments: IpcString::ABSENT,
    filter: EventFilter::ALL,
}];
const SETS: &[TracepointSet<'_>] =
    &[TracepointSet { tracepoint_name: IpcString::new("T"), event_ids: Array::new(&[1]) }];
pub(crate) const USER_EVENTS: AnyRequest<'_> =
    AnyRequest::CollectTracing5(CollectTracing5::UserEvents(UserEventsSession {
        rundown_keyword: 0,
        providers: Array::new(&[UserEventsProviderConfig {
            keywords: 0,
            log_level: EventLevel::VERBOSE,
            provider_name: IpcString::new("Provider"),
            arguments: IpcString::ABSENT,
            filter: EventFilter::ALL,
            config: TracepointConfig {
                default_tracepoint_name: IpcString::ABSENT,
                tracepoints: Array::new(SETS),
            },
        }]),
    }));

/// Each command except those that pass a descriptor, and what the handler writes down for it.
pub(crate) fn commands() -> Vec<(AnyRequest<'static>, &'static str)> {
    let (name, dump_type, flags) = ("/d".into(), DumpType::NORMAL, DumpFlags::NONE);
    let (circular_buffer_mb, format, profiler_guid) = (5, Format::NET_TRACE, Guid::NIL);
    let providers = Array::new(PROVIDERS);
    let (rundown_keyword, request_stackwalk) = (0x10, false);
    let streaming = StreamingSession {
        circular_buffer_mb,
        format,
        rundown_keyword,
        request_stackwalk,
        providers: Array::new(STREAMED),
    };
    let streaming6 = StreamingSession6 {
        circular_buffer_mb,
        format,
        rundown_keyword,
        request_stackwalk,
        providers: Array::new(STREAMED),
        session_buffer_mode: SessionBufferMode::BLOCK,
    };
    vec![
        (
            AnyRequest::GenerateCoreDump(GenerateCoreDump {
                dump_name: name,
                dump_type,
                diagnostics: 0,
            }),
            "dump /d",
        ),
        (
            AnyRequest::GenerateCoreDump2(GenerateCoreDump2 { dump_name: name, dump_type, flags }),
            "dump2 /d",
        ),
        (
            AnyRequest::GenerateCoreDump3(GenerateCoreDump3 { dump_name: name, dump_type, flags }),
            "dump3 /d",
        ),
        (
            AnyRequest::CollectTracing(CollectTracing { circular_buffer_mb, format, providers }),
            "collect 5",
        ),
        (
            AnyRequest::CollectTracing4(CollectTracing4 {
                circular_buffer_mb,
                format,
                rundown_keyword,
                request_stackwalk,
                providers,
            }),
            "collect4 0x10",
        ),
        (AnyRequest::CollectTracing5(CollectTracing5::Streaming(streaming)), "collect5 1"),
        (
            AnyRequest::CollectTracing6(CollectTracing6::Streaming(streaming6)),
            "collect6 Some(\"block\")",
        ),
        (
            AnyRequest::AttachProfiler(AttachProfiler {
                attach_timeout: 10,
                profiler_guid,
                profiler_path: "/p".into(),
                client_data: b"data",
            }),
            "attach 10",
        ),
        (
            AnyRequest::StartupProfiler(StartupProfiler {
                profiler_guid,
                profiler_path: "/p".into(),
            }),
            "startup /p",
        ),
        (AnyRequest::ResumeRuntime(ResumeRuntime {}), "resume"),
        (
            AnyRequest::SetEnvironmentVariable(SetEnvironmentVariable {
                name: "N".into(),
                value: "V".into(),
            }),
            "set N=V",
        ),
        (
            AnyRequest::EnablePerfMap(EnablePerfMap { perf_map_type: PerfMapType::ALL }),
            "perf map 1",
        ),
        (AnyRequest::DisablePerfMap(DisablePerfMap {}), "no perf map"),
        (
            AnyRequest::ApplyStartupHook(ApplyStartupHook { startup_hook_path: "/h".into() }),
            "hook /h",
        ),
        (AnyRequest::StopTracing(StopTracing { session_id: 5 }), ""),
        (COLLECT2, ""),
        (COLLECT3, ""),
        (AnyRequest::ProcessInfo(ProcessInfo {}), ""),
        (AnyRequest::ProcessInfo2(ProcessInfo2 {}), ""),
        (AnyRequest::ProcessInfo3(ProcessInfo3 {}), ""),
        (AnyRequest::ProcessEnvironment(ProcessEnvironment {}), ""),
    ]
}
