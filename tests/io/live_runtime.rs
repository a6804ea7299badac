//! The client with a real runtime. What each version replies to each request is the subject of
//! `diagipc/tests/live/matrix.py`; these tests show that the calls reach it, and end.
//!
//! ```text
//! python3 diagipc/tests/live/runtime_tests.py
//! ```
//!
//! builds this, starts runtimes, and runs it against each. The runtimes belong to the test: they
//! are stopped, traced and written to. So each test needs `DIAG_SOCKET`, `DIAG_PID`,
//! `DIAG_RUNTIME`, `DIAG_SUSPENDED`, `DIAG_PORTS` as diagipc/tests/live/launch.py sets them,
//! and `DIAG_SIDE_EFFECTS=1`; without them it fails.

use std::fs;
use std::io::Read as _;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use dotnet_diagnostics_ipc::exchange::StopOutcome;
use dotnet_diagnostics_ipc::exchange::fallback::{DroppedFields, Fallback};
use dotnet_diagnostics_ipc::hresult::HResult;
use dotnet_diagnostics_ipc::io::*;
use dotnet_diagnostics_ipc::message::eventpipe::*;
use dotnet_diagnostics_ipc::message::profiler::AttachProfiler;
use dotnet_diagnostics_ipc::message::{AnyRequest, Request};
use dotnet_diagnostics_ipc::wire::{Array, Clsid, IpcString};
use rustix::process::{Pid, Signal, kill_process};

const RUNTIME_PROVIDER: &str = "Microsoft-Windows-DotNETRuntime";

/// The runtime, for one test at a time: it answers one client after the other (F-75), and some
/// tests stop it.
struct Target {
    client: Client,
    process_id: u32,
    /// The version of .NET: 3, 8, 9, 10.
    major: u32,
    version: String,
    _alone: MutexGuard<'static, ()>,
}

fn variable(name: &str) -> String {
    std::env::var(name)
        .unwrap_or_else(|_| panic!("{name} is not set: run diagipc/tests/live/runtime_tests.py"))
}

fn target() -> Target {
    static ALONE: Mutex<()> = Mutex::new(());
    assert_eq!(
        variable("DIAG_SIDE_EFFECTS"),
        "1",
        "only for a runtime that was started for these tests"
    );
    let version = variable("DIAG_RUNTIME").strip_prefix("net").unwrap().to_owned();
    Target {
        client: Client::new(Endpoint::socket(variable("DIAG_SOCKET"))),
        process_id: variable("DIAG_PID").parse().unwrap(),
        major: version.split('.').next().unwrap().parse().unwrap(),
        version,
        _alone: ALONE.lock().unwrap_or_else(PoisonError::into_inner),
    }
}

#[track_caller]
fn assert_refused<T: std::fmt::Debug>(result: Result<T, Error>, expected: HResult) {
    let error = result.unwrap_err();
    assert_eq!((error.phase(), error.hresult()), (Phase::Reply, Some(expected)), "{error}");
}

impl Target {
    /// Whether it knows commands since this version of .NET. If not, it must report so.
    #[track_caller]
    fn knows<T: std::fmt::Debug>(
        &self,
        since: u32,
        result: Result<T, Error>,
    ) -> Option<Result<T, Error>> {
        if self.major >= since {
            return Some(result);
        }
        assert_refused(result, HResult::UNKNOWN_COMMAND);
        None
    }

    /// These always still work.
    #[track_caller]
    fn still_answers(&self) {
        match self.knows(5, self.client.process_info()) {
            Some(answer) => assert_eq!(
                answer.unwrap().payload().unwrap().process_id,
                u64::from(self.process_id)
            ),
            None => assert_eq!(self.client.stop_tracing(0).unwrap(), Some(0)),
        }
    }

    /// The command line of a suspended one is only its executable (F-79).
    fn runs_managed_code(&self) -> bool {
        let answer = self.client.process_info().unwrap();
        answer.payload().unwrap().command_line.to_string().contains(".dll")
    }

    #[track_caller]
    fn await_managed_code(&self) {
        let until = Instant::now() + Duration::from_secs(10);
        while !self.runs_managed_code() {
            assert!(Instant::now() < until, "it does not start");
            thread::sleep(Duration::from_millis(20));
        }
    }

    fn environment(&self) -> Vec<String> {
        let mut entries = Vec::new();
        self.client
            .environment()
            .unwrap()
            .for_each(|entry| entries.push(entry.text().to_string()))
            .unwrap();
        entries
    }
}

/// The open descriptors of a process, and their targets.
fn descriptors(process_id: u32) -> Vec<String> {
    let of = |entry: std::io::Result<fs::DirEntry>| {
        let entry = entry.unwrap();
        format!(
            "{} -> {}",
            entry.path().display(),
            fs::read_link(entry.path()).unwrap_or_default().display()
        )
    };
    fs::read_dir(format!("/proc/{process_id}/fd")).unwrap().map(of).collect()
}

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
    let own = (one.process_id, one.runtime_cookie, one.command_line, one.os, one.arch);
    assert_eq!((own.0, own.3, own.4), (target.process_id.into(), "Linux".into(), "x64".into()));
    assert_eq!((two.process_id, two.runtime_cookie, two.command_line, two.os, two.arch), own);
    let third = (three.process_id, three.runtime_cookie, three.command_line, three.os, three.arch);
    assert_eq!(third, own);
    assert!(two.clr_product_version.to_string().starts_with(&target.version), "{two:?}");
    assert_eq!((three.version, three.runtime_identifier), (1, "linux-x64".into()));
    let by_process = Client::new(Endpoint::process(target.process_id)).process_info().unwrap();
    assert_eq!(by_process.payload().unwrap(), one);
}

#[test]
#[ignore = "needs a runtime: diagipc/tests/live/runtime_tests.py"]
fn environment_equals_that_at_start_and_is_changed() {
    let target = target();
    let Some(block) = target.knows(5, target.client.environment()) else { return };
    let announced = block.unwrap().n_incoming_bytes();
    let entries = target.environment();
    // Each with its count and its NUL, after the count of entries.
    let sizes = entries.iter().map(|entry| 4 + 2 * (entry.encode_utf16().count() + 1));
    assert_eq!(4 + sizes.sum::<usize>(), announced as usize);
    let at_start = fs::read_to_string(format!("/proc/{}/environ", target.process_id)).unwrap();
    assert!(at_start.split_terminator('\0').count() >= 5, "{at_start:?}");
    for entry in at_start.split_terminator('\0') {
        assert!(entries.iter().any(|other| other == entry), "{entry} is not among {entries:?}");
    }

    let name = "DIAGIPC_RUNTIME_TEST";
    let set = target.client.set_environment_variable(name, Some("h\u{e4}\u{1f600}"));
    let Some(set) = target.knows(6, set) else { return };
    set.unwrap();
    assert!(target.environment().contains(&format!("{name}=h\u{e4}\u{1f600}")));
    target.client.set_environment_variable(name, None).unwrap();
    assert!(!target.environment().iter().any(|entry| entry.starts_with(name)));
    assert_refused(target.client.set_environment_variable(name, None), HResult::ENVVAR_NOT_FOUND);
}

/// The descriptor is passed: a file of the kernel would be registered with, another one is refused.
#[test]
#[ignore = "needs a runtime: diagipc/tests/live/runtime_tests.py"]
fn user_events_without_their_file_are_refused() {
    let target = target();
    let null = fs::File::options().read(true).write(true).open("/dev/null").unwrap();
    let session = target.client.user_events(&crate::client::USER_EVENTS, &null);
    if let Some(session) = target.knows(10, session) {
        assert_refused(session, HResult::FAIL);
    }
    target.still_answers();
}

#[test]
#[ignore = "needs a runtime: diagipc/tests/live/runtime_tests.py"]
fn requests_1000_leak_no_descriptor() {
    let target = target();
    let unset = || target.client.set_environment_variable("DIAGIPC_UNSET", None);
    let ask = |nth: usize| match (nth % 4, target.major) {
        (0, 5..) => drop(target.client.process_info3().unwrap()),
        (1, 5..) => assert!(target.environment().len() >= 5),
        (2, 6..) => assert_refused(unset(), HResult::ENVVAR_NOT_FOUND),
        _ => target.still_answers(),
    };
    // What the first of a kind opens permanently is not a leak.
    (0..4).for_each(ask);
    let before = (descriptors(std::process::id()), descriptors(target.process_id));
    (0..1000).for_each(ask);
    // The runtime closes its side later. Files are not counted: its application may still be
    // loading assemblies.
    let sockets = || -> Vec<String> {
        let now = descriptors(target.process_id).into_iter();
        now.filter(|one| one.contains("-> socket:") && !before.1.contains(one)).collect()
    };
    let until = Instant::now() + Duration::from_secs(5);
    while !sockets().is_empty() && Instant::now() < until {
        thread::sleep(Duration::from_millis(50));
    }
    assert_eq!(sockets(), [""; 0], "the runtime has them");
    let after = descriptors(std::process::id());
    assert!(after.len() <= before.0.len(), "of this process: {:?}, then {after:?}", before.0);
}

/// A session of these providers: in each command what it has a field for.
fn session_of<'a>(providers: &'a [StreamingProviderConfig<'a>]) -> StreamingSession<'a> {
    StreamingSession {
        circular_buffer_mb: 16,
        format: Format::NET_TRACE,
        rundown_keyword: 0,
        request_stackwalk: false,
        providers: Array::new(providers),
    }
}

fn provider(filter: EventFilter<'_>) -> StreamingProviderConfig<'_> {
    StreamingProviderConfig {
        keywords: 1,
        log_level: EventLevel::INFORMATIONAL,
        provider_name: RUNTIME_PROVIDER.into(),
        arguments: IpcString::ABSENT,
        filter,
    }
}

/// Reads the stream to its end while another thread stops it after a while. `diagipc trace` parses
/// such streams.
#[track_caller]
fn read_whole(target: &Target, mut trace: Trace<UnixTransport>) -> Vec<u8> {
    let stop_handle = trace.stop_handle(&target.client);
    let stopping = thread::spawn(move || {
        thread::sleep(Duration::from_millis(200));
        stop_handle.stop()
    });
    let mut stream = Vec::new();
    trace.read_to_end(&mut stream).unwrap();
    assert_eq!(stopping.join().unwrap().unwrap(), StopOutcome::Answered);
    let outcome = trace.outcome().unwrap();
    assert_eq!((outcome.is_complete(), outcome.bytes), (true, stream.len() as u64));
    // The last byte is the tag that ends the list of objects.
    assert!(stream.starts_with(b"Nettrace") && stream.ends_with(&[1]), "{}", stream.len());
    stream
}

#[test]
#[ignore = "needs a runtime: diagipc/tests/live/runtime_tests.py"]
fn trace_of_each_command_streams_to_end() {
    fn traced<'r, R: Request<'r, Reply = SessionReply>>(
        target: &Target,
        since: u32,
        rundown: bool,
        request: &R,
    ) {
        let Some(trace) = target.knows(since, target.client.trace(request)) else { return };
        let stream = read_whole(target, trace.unwrap());
        // Methods that run: they are in the rundown.
        assert_eq!(stream.len() > 100_000, rundown, "{:?}: {} bytes", R::COMMAND, stream.len());
    }
    let target = target();
    let providers = [ProviderConfig::new(RUNTIME_PROVIDER, 1, EventLevel::INFORMATIONAL)];
    let (circular_buffer_mb, format, providers) = (16, Format::NET_TRACE, Array::new(&providers));
    let (request_stackwalk, filtered) = (false, [provider(EventFilter::ALL)]);
    traced(&target, 3, true, &CollectTracing { circular_buffer_mb, format, providers });
    for request_rundown in [false, true] {
        let rundown_keyword = rundown_keyword(request_rundown);
        let request = CollectTracing2 { circular_buffer_mb, format, request_rundown, providers };
        traced(&target, 3, request_rundown, &request);
        let request = CollectTracing3 {
            circular_buffer_mb,
            format,
            request_rundown,
            request_stackwalk,
            providers,
        };
        traced(&target, 9, request_rundown, &request);
        let request = CollectTracing4 {
            circular_buffer_mb,
            format,
            rundown_keyword,
            request_stackwalk,
            providers,
        };
        traced(&target, 9, request_rundown, &request);
        let session = StreamingSession { rundown_keyword, ..session_of(&filtered) };
        traced(&target, 10, request_rundown, &CollectTracing5::Streaming(session));
    }
    target.still_answers();
}

#[test]
#[ignore = "needs a runtime: diagipc/tests/live/runtime_tests.py"]
fn fallback_ends_at_newest_known_command() {
    let target = target();
    let providers = [provider(EventFilter { enable: false, event_ids: Array::new(&[9]) })];
    // Each step down loses one of these, so the losses show where it ended.
    let request = AnyRequest::CollectTracing6(CollectTracing6::Streaming(StreamingSession6 {
        rundown_keyword: 0x100,
        session_buffer_mode: SessionBufferMode::BLOCK,
        ..session_of(&providers).into()
    }));
    let (trace, lost) =
        target.client.trace_by(Fallback::new(request).allowing(DroppedFields::ALL)).unwrap();
    let steps = match target.major {
        11.. => 0,
        10 => 1,
        9 => 2,
        _ => 4,
    };
    let losses = [
        DroppedFields::BUFFER_MODE,
        DroppedFields::EVENT_FILTERS,
        DroppedFields::RUNDOWN_KEYWORD,
        DroppedFields::STACKS,
    ];
    let expected = losses[..steps].iter().fold(DroppedFields::NONE, |all, one| all.with(*one));
    read_whole(&target, trace);
    assert_eq!(lost, expected);
    // A loss that is not allowed is a refusal, before anything is begun.
    if steps > 0 {
        let refused = target.client.trace_by(Fallback::new(request)).map(|_| ());
        assert_refused(refused, HResult::UNKNOWN_COMMAND);
    }
    target.still_answers();
}

/// The process is stopped until this is dropped.
struct Stopped(Pid);

impl Stopped {
    fn new(process_id: u32) -> Self {
        let stopped = Self(Pid::from_raw(process_id.try_into().unwrap()).unwrap());
        kill_process(stopped.0, Signal::STOP).unwrap();
        let until = Instant::now() + Duration::from_secs(5);
        // The state follows the last parenthesis.
        let stat = || fs::read_to_string(format!("/proc/{process_id}/stat")).unwrap();
        while !stat().rsplit_once(") ").is_some_and(|(_, rest)| rest.starts_with('T')) {
            assert!(Instant::now() < until, "process {process_id} does not stop");
            thread::sleep(Duration::from_millis(5));
        }
        stopped
    }
}

impl Drop for Stopped {
    fn drop(&mut self) {
        kill_process(self.0, Signal::CONT).unwrap();
    }
}

/// Each phase of a call to a runtime that is stopped (SIGSTOP) ends in time or is cancelled, and
/// everything works again afterwards.
#[test]
#[ignore = "needs a runtime: diagipc/tests/live/runtime_tests.py"]
fn stopped_runtime_calls_end_and_it_continues() {
    const DEADLINE: Duration = Duration::from_millis(300);
    let target = target();
    let patient = target.client.clone().with_deadlines(Deadlines::NONE);
    let whole = Deadlines { whole: Some(DEADLINE), ..Deadlines::NONE };
    let late = patient.clone().with_deadlines(whole);
    let canceller = Canceller::new().unwrap();
    let providers = [ProviderConfig::new(RUNTIME_PROVIDER, 1, EventLevel::INFORMATIONAL)];
    let request = CollectTracing2 { providers: Array::new(&providers), ..crate::client::COLLECT };
    let mut trace = patient.clone().with_canceller(canceller.clone()).trace(&request).unwrap();
    trace.read_exact(&mut [0]).unwrap();

    let stopped = Stopped::new(target.process_id);
    let began = Instant::now();
    assert_error!(late.stop_tracing(0).unwrap_err(), Reply, ErrorKind::TimedOut);
    assert!(began.elapsed() >= DEADLINE);
    assert_error!(trace.stop_handle(&late).stop().unwrap_err(), Stop, ErrorKind::TimedOut);
    // Connections are accepted until the backlog is full.
    let mut waiting = Vec::new();
    let full = loop {
        match late.connect() {
            Ok(connection) => waiting.push(connection),
            Err(error) => break error,
        }
        assert!(waiting.len() < 5000, "there is no end to its backlog");
    };
    assert_error!(full, Connect, ErrorKind::TimedOut);
    drop(waiting);
    let cancelling = thread::spawn(move || {
        thread::sleep(DEADLINE);
        canceller.cancel();
    });
    // What arrived before it was stopped.
    let error = trace.read_to_end(&mut Vec::new()).unwrap_err();
    cancelling.join().unwrap();
    assert_error!(Error::in_io(&error).unwrap(), Continuation, ErrorKind::Cancelled);

    let going_on = thread::spawn(move || {
        thread::sleep(DEADLINE);
        drop(stopped);
    });
    assert_eq!(patient.stop_tracing(0).unwrap(), Some(0));
    going_on.join().unwrap();
    drop(trace);
    target.still_answers();
}

mod suspended {
    use super::*;

    #[test]
    #[ignore = "needs a suspended runtime: diagipc/tests/live/runtime_tests.py"]
    fn suspended_runtime_is_asked_set_and_resumed() {
        assert_eq!(variable("DIAG_SUSPENDED"), "1", "the runtime is not suspended");
        let target = target();
        assert!(!target.runs_managed_code());
        let (name, value) = ("DIAGIPC_BEFORE_THE_START", Some("1"));
        target.client.set_environment_variable(name, value).unwrap();
        let (profiler_guid, profiler_path) = (Clsid::NIL, "/none.so".into());
        let attach =
            AttachProfiler { attach_timeout: 1000, profiler_guid, profiler_path, client_data: &[] };
        assert_refused(target.client.attach_profiler(&attach), HResult::NOT_YET_AVAILABLE);
        target.client.resume().unwrap();
        target.await_managed_code();
        assert!(target.environment().contains(&format!("{name}=1")));
    }
}

mod ports {
    use dotnet_diagnostics_ipc::io::port_listener::{PortEvent, PortListener, PortOptions};

    use super::*;

    /// The runtime was configured for the port before it existed.
    #[test]
    #[ignore = "needs a runtime with a port: diagipc/tests/live/runtime_tests.py"]
    fn port_runtime_is_asked_and_resumed() {
        let target = target();
        let ports = variable("DIAG_PORTS");
        let (path, suspends) = ports.rsplit_once(',').expect("the runtime has a port");
        let deadline = Instant::now().checked_add(Duration::from_secs(10));
        let until = WaitLimit { deadline, ..WaitLimit::FOREVER };
        let port = PortListener::bind(path, PortOptions::DEFAULT).unwrap();
        let event = port.next_event(&until).unwrap();
        let PortEvent::New(runtime) = event else { panic!("{event:?}") };
        assert_eq!(runtime.process_id(), u64::from(target.process_id));
        let client = Client::new(runtime.clone());
        let answer = client.process_info().unwrap();
        assert_eq!(answer.payload().unwrap().runtime_cookie, runtime.cookie());

        if suspends == "suspend" {
            assert!(!target.runs_managed_code());
            // It is resumed only if it waits for it (F-42).
            target.client.resume().unwrap();
            thread::sleep(Duration::from_millis(200));
            assert!(!target.runs_managed_code());
        } else {
            // On a busy machine it may not have come so far when it connects.
            target.await_managed_code();
        }
        assert_eq!(runtime.resume(&until).unwrap(), HResult::OK);
        target.await_managed_code();

        // Each call takes the next connection.
        for _ in 0..50 {
            let answer = client.process_info2().unwrap();
            assert_eq!(answer.payload().unwrap().process_id, u64::from(target.process_id));
        }
        let mut entries = 0;
        client.environment().unwrap().for_each(|_| entries += 1).unwrap();
        assert!(entries >= 5);
        target.still_answers();
    }
}
