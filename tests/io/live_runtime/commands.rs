//! Each command once, and a thousand of them.

use std::fs::{self, File};
use std::path::PathBuf;
use std::thread;
use std::time::{Duration, Instant};

use dotnet_diagnostics_ipc::hresult::HResult;
use dotnet_diagnostics_ipc::io::{Client, Endpoint, Error, ErrorKind};
use dotnet_diagnostics_ipc::message::dump::{
    DumpFlags, DumpType, GenerateCoreDump, GenerateCoreDump2, GenerateCoreDump3,
};
use dotnet_diagnostics_ipc::message::eventpipe::{
    CollectTracing5, CollectTracing6, EventFilter, EventLevel, Format, SessionBufferMode,
    StreamingProviderConfig, StreamingSession6, TracepointConfig, TracepointSet,
    UserEventsProviderConfig, UserEventsSession,
};
use dotnet_diagnostics_ipc::message::process::{
    ApplyStartupHook, EnablePerfMap, PerfMapType, SetEnvironmentVariable,
};
use dotnet_diagnostics_ipc::message::profiler::{AttachProfiler, StartupProfiler};
use dotnet_diagnostics_ipc::wire::{Array, Clsid, IpcString};

use super::{RUNTIME_PROVIDER, assert_refused, descriptors, target};

#[test]
#[ignore = "needs a runtime: diagipc/tests/live/runtime_tests.py"]
fn process_info_names_runtime() {
    let target = target();
    let Some(one) = target.knows(5, target.client.process_info()) else { return };
    let (one, two, three) = (
        one.unwrap(),
        target.client.process_info2().unwrap(),
        target.client.process_info3().unwrap(),
    );
    let (one, two, three) =
        (one.payload().unwrap(), two.payload().unwrap(), three.payload().unwrap());
    for (process_id, cookie, command_line, os, arch) in [
        (one.process_id, one.runtime_cookie, one.command_line, one.os, one.arch),
        (two.process_id, two.runtime_cookie, two.command_line, two.os, two.arch),
        (three.process_id, three.runtime_cookie, three.command_line, three.os, three.arch),
    ] {
        assert_eq!(process_id, u64::from(target.process_id));
        assert_eq!((cookie, command_line), (one.runtime_cookie, one.command_line));
        assert_eq!((os, arch), ("Linux".into(), "x64".into()));
    }
    assert!(two.clr_product_version.to_string().starts_with(&target.version), "{two:?}");
    assert_eq!((three.version, three.runtime_identifier), (1, "linux-x64".into()));
    let by_process = Client::new(Endpoint::process(target.process_id)).process_info().unwrap();
    assert_eq!(by_process.payload().unwrap(), one);
}

#[test]
#[ignore = "needs a runtime: diagipc/tests/live/runtime_tests.py"]
fn resume_of_running_runtime_is_ok() {
    let target = target();
    let Some(resumed) = target.knows(5, target.client.resume()) else { return };
    resumed.unwrap();
    assert!(target.runs_managed_code());
}

#[test]
#[ignore = "needs a runtime: diagipc/tests/live/runtime_tests.py"]
fn environment_equals_that_at_start() {
    let target = target();
    let Some(block) = target.knows(5, target.client.environment()) else { return };
    let announced = block.unwrap().n_incoming_bytes();
    let entries = target.environment();
    // Each with its count and its NUL, after the count of entries.
    assert_eq!(
        4 + entries.iter().map(|entry| 4 + 2 * (entry.encode_utf16().count() + 1)).sum::<usize>(),
        announced as usize
    );
    let started_with = fs::read(format!("/proc/{}/environ", target.process_id)).unwrap();
    let started_with = String::from_utf8(started_with).unwrap();
    let mut compared = 0;
    for entry in started_with.split_terminator('\0') {
        assert!(entries.iter().any(|other| other == entry), "{entry} is not among {entries:?}");
        compared += 1;
    }
    assert!(compared >= 5, "{started_with:?}");
}

#[test]
#[ignore = "needs a runtime: diagipc/tests/live/runtime_tests.py"]
fn variable_is_set_and_deleted() {
    let target = target();
    let name = "DIAGIPC_RUNTIME_TEST";
    let of_it = || {
        target
            .environment()
            .into_iter()
            .find_map(|entry| Some(entry.strip_prefix(name)?.strip_prefix('=')?.to_owned()))
    };
    let Some(set) =
        target.knows(6, target.client.set_environment_variable(name, Some("h\u{e4}\u{1f600}")))
    else {
        return;
    };
    set.unwrap();
    assert_eq!(of_it().as_deref(), Some("h\u{e4}\u{1f600}"));
    target.client.set_environment_variable(name, None).unwrap();
    assert_eq!(of_it(), None);
    assert_refused(target.client.set_environment_variable(name, None), HResult::ENVVAR_NOT_FOUND);

    let nameless = SetEnvironmentVariable { name: IpcString::ABSENT, value: "v".into() };
    let error = target.client.call(&nameless).unwrap_err();
    assert_error!(error, Send, ErrorKind::Limit(_));
    assert_refused(target.client.clone().unchecked().call(&nameless), HResult::INVALID_ARG);
}

#[test]
#[ignore = "needs a runtime: diagipc/tests/live/runtime_tests.py"]
fn perf_map_is_switched_on_and_off() {
    let target = target();
    let Some(enabled) = target.knows(8, target.client.enable_perf_map(PerfMapType::PERF_MAP))
    else {
        return assert_refused(target.client.disable_perf_map(), HResult::UNKNOWN_COMMAND);
    };
    enabled.unwrap();
    // Its TMPDIR is not needed.
    let files = ["perf", "perfinfo"]
        .map(|name| PathBuf::from(format!("/tmp/{name}-{}.map", target.process_id)));
    let written = files.iter().any(|file| file.exists());
    let _ = files.each_ref().map(fs::remove_file);
    assert!(written, "{files:?}");
    target.client.disable_perf_map().unwrap();
    for none_such in [PerfMapType::DISABLED, PerfMapType(4)] {
        let error = target.client.enable_perf_map(none_such).unwrap_err();
        assert_error!(error, Send, ErrorKind::Limit(_));
        let unlimited = target.client.clone().unchecked();
        assert_refused(
            unlimited.call(&EnablePerfMap { perf_map_type: none_such }),
            HResult::INVALID_ARG,
        );
    }
}

#[test]
#[ignore = "needs a runtime: diagipc/tests/live/runtime_tests.py"]
fn startup_hook_without_path_is_refused() {
    let target = target();
    let Some(applied) = target.knows(8, target.client.apply_startup_hook("")) else { return };
    applied.unwrap();
    let error =
        target.client.call(&ApplyStartupHook { startup_hook_path: IpcString::ABSENT }).unwrap_err();
    assert_error!(error, Send, ErrorKind::Limit(_));
    let unlimited = target.client.clone().unchecked();
    assert_refused(
        unlimited.call(&ApplyStartupHook { startup_hook_path: IpcString::ABSENT }),
        HResult::INVALID_ARG,
    );
    target.still_answers();
}

#[test]
#[ignore = "needs a runtime: diagipc/tests/live/runtime_tests.py"]
fn dump_of_unknown_type_is_refused() {
    let target = target();
    let (client, unlimited) = (&target.client, target.client.clone().unchecked());
    let path = target.directory.join("dump");
    let (dump_name, dump_type) = (path.to_str().unwrap().into(), DumpType(9));
    let one = GenerateCoreDump { dump_name, dump_type, diagnostics: 0 };
    let two = GenerateCoreDump2 { dump_name, dump_type, flags: DumpFlags::NONE };
    let three = GenerateCoreDump3 { dump_name, dump_type, flags: DumpFlags::NONE };
    for result in [
        client.generate_core_dump(&one),
        client.generate_core_dump2(&two),
        client.generate_core_dump3(&three),
    ] {
        let error = result.unwrap_err();
        assert_error!(error, Send, ErrorKind::Limit(_));
    }
    let refused = |since, result: Result<(), Error>| {
        let Some(result) = target.knows(since, result) else { return };
        assert_refused(result, HResult::FAIL);
    };
    refused(3, unlimited.generate_core_dump(&one));
    refused(6, unlimited.generate_core_dump2(&two));
    refused(7, unlimited.generate_core_dump3(&three));
    assert!(!path.exists());
    target.still_answers();
}

#[test]
#[ignore = "needs a runtime: diagipc/tests/live/runtime_tests.py"]
fn profiler_missing_is_refused() {
    let target = target();
    let path = target.directory.join("none.so");
    let (profiler_guid, profiler_path) = (Clsid::NIL, path.to_str().unwrap().into());
    let attach =
        AttachProfiler { attach_timeout: 1000, profiler_guid, profiler_path, client_data: &[] };
    let error = target.client.attach_profiler(&attach).unwrap_err();
    assert_eq!(error.hresult(), Some(HResult::MODULE_NOT_FOUND), "{error}");
    // A running runtime answers it with S_OK (P-4); 3.1 does not know it, and has another answer
    // (F-68).
    let set = target.client.startup_profiler(&StartupProfiler { profiler_guid, profiler_path });
    if target.major < 6 {
        assert_refused(set, HResult::BAD_ENCODING);
    } else {
        set.unwrap();
    }
    target.still_answers();
}

#[test]
#[ignore = "needs a runtime: diagipc/tests/live/runtime_tests.py"]
fn user_events_without_their_file_are_refused() {
    let target = target();
    let sets = [TracepointSet { tracepoint_name: "gc".into(), event_ids: Array::new(&[1]) }];
    let providers = [UserEventsProviderConfig {
        keywords: 1,
        log_level: EventLevel::INFORMATIONAL,
        provider_name: RUNTIME_PROVIDER.into(),
        arguments: IpcString::ABSENT,
        filter: EventFilter::ALL,
        config: TracepointConfig {
            default_tracepoint_name: "rest".into(),
            tracepoints: Array::new(&sets),
        },
    }];
    let request = CollectTracing5::UserEvents(UserEventsSession {
        rundown_keyword: 0,
        providers: Array::new(&providers),
    });
    let (before, null) = (
        descriptors(target.process_id),
        File::options().read(true).write(true).open("/dev/null").unwrap(),
    );
    let Some(session) = target.knows(10, target.client.user_events(&request, &null)) else {
        return;
    };
    assert_refused(session, HResult::FAIL);
    target.still_answers();
    eprintln!(
        "descriptors of the runtime before and after: {}, {}",
        before.len(),
        descriptors(target.process_id).len()
    );
}

#[test]
#[ignore = "needs a runtime: diagipc/tests/live/runtime_tests.py"]
fn requests_1000_leak_no_descriptor() {
    let target = target();
    let providers = [StreamingProviderConfig {
        keywords: 1,
        log_level: EventLevel::INFORMATIONAL,
        provider_name: RUNTIME_PROVIDER.into(),
        arguments: IpcString::ABSENT,
        filter: EventFilter::ALL,
    }];
    let unknown = CollectTracing6::Streaming(StreamingSession6 {
        circular_buffer_mb: 1,
        format: Format::NET_TRACE,
        rundown_keyword: 0,
        request_stackwalk: false,
        providers: Array::new(&providers),
        session_buffer_mode: SessionBufferMode::DROP,
    });
    let ask = |nth: usize| match (nth % 4, target.major) {
        (0, 5..) => drop(target.client.process_info3().unwrap()),
        (1, 5..) => assert!(target.environment().len() >= 5),
        (2, _) => assert_refused(target.client.trace(&unknown), HResult::UNKNOWN_COMMAND),
        _ => target.still_answers(),
    };
    // What the first of a kind opens permanently is not a leak.
    (0..4).for_each(ask);
    let before = (descriptors(std::process::id()), descriptors(target.process_id));
    let began = Instant::now();
    (0..1000).for_each(ask);
    eprintln!("1,000 requests in {:?}", began.elapsed());
    // The runtime closes its side later. Files are not counted: its application may still be
    // loading assemblies.
    let sockets = |before: &[String]| -> Vec<String> {
        let now = descriptors(target.process_id).into_iter();
        now.filter(|one| one.contains("-> socket:") && !before.contains(one)).collect()
    };
    let until = Instant::now() + Duration::from_secs(5);
    while !sockets(&before.1).is_empty() && Instant::now() < until {
        thread::sleep(Duration::from_millis(50));
    }
    assert_eq!(sockets(&before.1), [""; 0], "the runtime has them");
    let after = descriptors(std::process::id());
    assert!(after.len() <= before.0.len(), "of this process: {:?}, then {after:?}", before.0);
}
