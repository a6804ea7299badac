//! A runtime that is stopped (SIGSTOP): every phase of a call ends in time, and everything works
//! again afterwards.

use std::fs;
use std::io::Read as _;
use std::thread;
use std::time::{Duration, Instant};

use dotnet_diagnostics_ipc::io::{
    Canceller, Client, Connect, Deadlines, Endpoint, Error, ErrorKind, Phase, ReplyWithin,
    UnixTransport, WaitLimit,
};
use dotnet_diagnostics_ipc::message::eventpipe::{
    CollectTracing2, EventLevel, Format, ProviderConfig,
};
use dotnet_diagnostics_ipc::message::process::SetEnvironmentVariable;
use dotnet_diagnostics_ipc::wire::Array;
use rustix::process::{Pid, Signal, kill_process};

use super::{RUNTIME_PROVIDER, target, variable};

const DEADLINE: Duration = Duration::from_millis(300);

/// The process is stopped until this is dropped.
struct Stopped(u32);

impl Stopped {
    fn new(process_id: u32) -> Self {
        let stopped = Self(process_id);
        kill_process(stopped.pid(), Signal::STOP).unwrap();
        let until = Instant::now() + Duration::from_secs(5);
        while !stopped.is_stopped() {
            assert!(Instant::now() < until, "process {process_id} does not stop");
            thread::sleep(Duration::from_millis(5));
        }
        stopped
    }

    fn pid(&self) -> Pid {
        Pid::from_raw(self.0.try_into().unwrap()).unwrap()
    }

    /// The state follows the last parenthesis.
    fn is_stopped(&self) -> bool {
        let stat = fs::read_to_string(format!("/proc/{}/stat", self.0)).unwrap();
        stat.rsplit_once(") ").is_some_and(|(_, rest)| rest.starts_with('T'))
    }
}

impl Drop for Stopped {
    fn drop(&mut self) {
        kill_process(self.pid(), Signal::CONT).unwrap();
    }
}

#[track_caller]
fn assert_in_time<T: std::fmt::Debug>(phase: Phase, call: impl FnOnce() -> Result<T, Error>) {
    let began = Instant::now();
    let error = call().unwrap_err();
    let took = began.elapsed();
    assert!(error.phase() == phase && matches!(error.kind(), ErrorKind::TimedOut), "{error}");
    assert!(took >= DEADLINE, "{error} after {took:?}");
}

#[track_caller]
fn assert_cancelled<T: std::fmt::Debug>(
    phase: Phase,
    canceller: &Canceller,
    call: impl FnOnce() -> Result<T, Error>,
) {
    let (canceller, began) = (canceller.clone(), Instant::now());
    let cancelling = thread::spawn(move || {
        thread::sleep(DEADLINE);
        canceller.cancel();
    });
    let error = call().unwrap_err();
    let took = began.elapsed();
    cancelling.join().unwrap();
    assert!(error.phase() == phase && matches!(error.kind(), ErrorKind::Cancelled), "{error}");
    assert!(took >= DEADLINE, "{error} after {took:?}");
}

/// The runtime's socket, with a buffer too small for a long request.
struct Narrow(Endpoint);

impl Connect for Narrow {
    type Transport = UnixTransport;

    fn connect(&self, until: &WaitLimit<'_>) -> Result<UnixTransport, Error> {
        let transport = self.0.connect(until)?;
        rustix::net::sockopt::set_socket_send_buffer_size(&transport, 4096)
            .map_err(|errno| Error::connecting(errno.into()))?;
        Ok(transport)
    }
}

#[test]
#[ignore = "needs a runtime: diagipc/tests/live/runtime_tests.py"]
fn stopped_runtime_phase_ends_at_deadline() {
    let target = target();
    let endpoint = || Endpoint::socket(variable("DIAG_SOCKET"));
    // The others are far beyond the test's limit.
    let patient = Deadlines::NONE;
    let within = |deadlines: Deadlines| target.client.clone().with_deadlines(deadlines);
    let reply = within(Deadlines { reply: ReplyWithin::Fixed(Some(DEADLINE)), ..patient });
    let whole = within(Deadlines { whole: Some(DEADLINE), ..patient });

    let providers = [ProviderConfig::new(RUNTIME_PROVIDER, 1, EventLevel::INFORMATIONAL)];
    let (circular_buffer_mb, format, providers) = (1, Format::NET_TRACE, Array::new(&providers));
    let request = CollectTracing2 { circular_buffer_mb, format, request_rundown: false, providers };
    // It still runs: this one may take as long as a busy machine needs.
    let mut trace = within(Deadlines { whole: Some(Duration::from_secs(120)), ..patient })
        .trace(&request)
        .unwrap();
    trace.read_exact(&mut [0]).unwrap();
    let stop_handle = trace.stop_handle(&reply);

    let standing_still = Stopped::new(target.process_id);
    assert_in_time(Phase::Reply, || reply.process_info3());
    assert_in_time(Phase::Reply, || whole.process_info3());
    assert_in_time(Phase::Reply, || reply.environment());
    // 3.1 dies of a session whose client was gone before the reply.
    if target.major > 3 {
        assert_in_time(Phase::Reply, || reply.trace(&request).map(drop));
    }
    assert_in_time(Phase::Stop, || stop_handle.stop());

    let long = "v".repeat(30_000);
    let set = SetEnvironmentVariable { name: "DIAGIPC_LONG".into(), value: long.as_str().into() };
    let narrow = |deadlines| Client::new(Narrow(endpoint())).with_deadlines(deadlines);
    assert_in_time(Phase::Send, || {
        narrow(Deadlines { send: Some(DEADLINE), ..patient }).call(&set)
    });
    assert_in_time(Phase::Send, || {
        narrow(Deadlines { whole: Some(DEADLINE), ..patient }).call(&set)
    });
    let canceller = Canceller::new().unwrap();
    assert_cancelled(Phase::Send, &canceller, || {
        narrow(patient).with_canceller(canceller.clone()).call(&set)
    });

    // Connections are accepted until the backlog is full.
    let connect = within(Deadlines { connect: Some(DEADLINE), ..patient });
    let mut waiting = Vec::new();
    let full = loop {
        let began = Instant::now();
        match connect.connect() {
            Ok(connection) => waiting.push(connection),
            Err(error) => break (error, began.elapsed()),
        }
        assert!(waiting.len() < 5000, "there is no end to its backlog");
    };
    eprintln!(
        "the backlog took {} connections, then: {} after {:?}",
        waiting.len(),
        full.0,
        full.1
    );
    assert!(
        full.0.phase() == Phase::Connect && matches!(full.0.kind(), ErrorKind::TimedOut),
        "{}",
        full.0
    );
    assert!(full.1 >= DEADLINE, "{:?}", full.1);
    assert_in_time(Phase::Connect, || whole.process_info3());
    let canceller = Canceller::new().unwrap();
    let client = within(patient).with_canceller(canceller.clone());
    assert_cancelled(Phase::Connect, &canceller, || client.process_info3());
    drop(waiting);

    drop(standing_still);
    target.still_answers();
    drop(trace);
    target.still_answers();
}

#[test]
#[ignore = "needs a runtime: diagipc/tests/live/runtime_tests.py"]
fn stopped_runtime_call_and_stream_are_cancelled() {
    let target = target();
    let client = |canceller: &Canceller| {
        target.client.clone().with_deadlines(Deadlines::NONE).with_canceller(canceller.clone())
    };
    let stopped = Stopped::new(target.process_id);
    let canceller = Canceller::new().unwrap();
    assert_cancelled(Phase::Reply, &canceller, || client(&canceller).process_info3());
    // It stays cancelled: no further connection is made.
    let error = client(&canceller).process_info3().unwrap_err();
    assert!(
        matches!(
            (error.phase(), error.kind()),
            (Phase::Find | Phase::Connect, ErrorKind::Cancelled)
        ),
        "{error}"
    );
    drop(stopped);

    let providers = [ProviderConfig::new("DIAGIPC-Nobody", 1, EventLevel::CRITICAL)];
    let (circular_buffer_mb, format, providers) = (1, Format::NET_TRACE, Array::new(&providers));
    let request = CollectTracing2 { circular_buffer_mb, format, request_rundown: false, providers };
    let canceller = Canceller::new().unwrap();
    let mut trace = client(&canceller).trace(&request).unwrap();
    let stopped = Stopped::new(target.process_id);
    let (began, canceller) = (Instant::now(), canceller.clone());
    let cancelling = thread::spawn(move || {
        thread::sleep(DEADLINE);
        canceller.cancel();
    });
    let mut piece = [0; 4096];
    let error = loop {
        // What arrived before it was stopped.
        match trace.read(&mut piece) {
            Ok(n) => assert_ne!(n, 0),
            Err(error) => break error,
        }
    };
    let took = began.elapsed();
    cancelling.join().unwrap();
    assert_eq!(error.to_string(), "cancelled (reading what follows the reply)");
    assert!(took >= DEADLINE, "{took:?}");
    drop(stopped);
    // Little of the stream is left, so that it ends without a reader. 3.1 may die of a session
    // whose client just closes.
    assert_eq!(
        target.client.stop_tracing(trace.session_id().unwrap()).unwrap(),
        trace.session_id()
    );
    drop(trace);
    target.still_answers();
}

#[test]
#[ignore = "needs a runtime: diagipc/tests/live/runtime_tests.py"]
fn stopped_runtime_call_continues_after_sigcont() {
    let target = target();
    let patient = target.client.clone().with_deadlines(Deadlines::NONE);
    let stopped = Stopped::new(target.process_id);
    let going_on = thread::spawn(move || {
        thread::sleep(DEADLINE);
        drop(stopped);
    });
    let (began, answer) = (Instant::now(), patient.stop_tracing(0));
    going_on.join().unwrap();
    assert_eq!(answer.unwrap(), Some(0));
    assert!(began.elapsed() >= DEADLINE);
    target.still_answers();
}
