//! Sessions that stream, read to their end.

use std::io::Read as _;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use dotnet_diagnostics_ipc::exchange::StopOutcome;
use dotnet_diagnostics_ipc::exchange::StreamEnd;
use dotnet_diagnostics_ipc::exchange::fallback::{DroppedFields, Fallback};
use dotnet_diagnostics_ipc::hresult::HResult;
use dotnet_diagnostics_ipc::io::{Canceller, Deadlines, Error, Trace, UnixTransport};
use dotnet_diagnostics_ipc::message::AnyRequest;
use dotnet_diagnostics_ipc::message::Request;
use dotnet_diagnostics_ipc::message::eventpipe::{
    CollectTracing, CollectTracing2, CollectTracing3, CollectTracing4, CollectTracing5,
    CollectTracing6, DEFAULT_RUNDOWN_KEYWORD, EventFilter, EventLevel, Format, ProviderConfig,
    SessionBufferMode, SessionReply, StreamingProviderConfig, StreamingSession, StreamingSession6,
};
use dotnet_diagnostics_ipc::wire::{Array, IpcString};

use super::stream::Stream;
use super::{RUNTIME_PROVIDER, Target, assert_refused, target};

/// What a session requests here, in each of the commands.
fn session_of<'a>(providers: &'a [StreamingProviderConfig<'a>]) -> StreamingSession<'a> {
    StreamingSession {
        circular_buffer_mb: 16,
        format: Format::NET_TRACE,
        rundown_keyword: DEFAULT_RUNDOWN_KEYWORD,
        request_stackwalk: true,
        providers: Array::new(providers),
    }
}

fn provider(keywords: u64, log_level: EventLevel) -> StreamingProviderConfig<'static> {
    let (provider_name, arguments) = (RUNTIME_PROVIDER.into(), IpcString::ABSENT);
    StreamingProviderConfig {
        keywords,
        log_level,
        provider_name,
        arguments,
        filter: EventFilter::ALL,
    }
}

/// Reads the stream to its end while another thread stops it after a while.
#[track_caller]
fn read_whole(target: &Target, mut trace: Trace<UnixTransport>, after: Duration) -> Stream {
    let stopper = trace.stopper(&target.client);
    let stopping = thread::spawn(move || {
        thread::sleep(after);
        stopper.stop()
    });
    let mut stream = Stream::default();
    let mut piece = vec![0; 65536];
    loop {
        match trace.read(&mut piece).unwrap() {
            0 => break,
            n => stream.take(&piece[..n]),
        }
    }
    assert_eq!(stopping.join().unwrap().unwrap(), StopOutcome::Answered);
    let outcome = trace.outcome().unwrap();
    assert_eq!((outcome.stream_end(), outcome.bytes), (Some(StreamEnd::Complete), stream.len()));
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
        let stream = read_whole(target, trace.unwrap(), Duration::from_millis(200));
        eprintln!("{:?}: {} bytes in {} blocks", R::COMMAND, stream.len(), stream.blocks());
        stream.assert_whole();
        // Methods that run: they are in the rundown.
        assert_eq!(stream.len() > 100_000, rundown, "{:?}: {} bytes", R::COMMAND, stream.len());
    }
    let target = target();
    let providers = [ProviderConfig::new(RUNTIME_PROVIDER, 1, EventLevel::INFORMATIONAL)];
    let (circular_buffer_mb, format, providers) = (16, Format::NET_TRACE, Array::new(&providers));
    let (request_stackwalk, filtered) = (false, [provider(1, EventLevel::INFORMATIONAL)]);
    traced(&target, 3, true, &CollectTracing { circular_buffer_mb, format, providers });
    for request_rundown in [false, true] {
        let rundown_keyword = if request_rundown { DEFAULT_RUNDOWN_KEYWORD } else { 0 };
        traced(
            &target,
            3,
            request_rundown,
            &CollectTracing2 { circular_buffer_mb, format, request_rundown, providers },
        );
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
    let filtered = EventFilter { enable: false, event_ids: Array::new(&[9]) };
    let providers =
        [StreamingProviderConfig { filter: filtered, ..provider(1, EventLevel::INFORMATIONAL) }];
    let StreamingSession { circular_buffer_mb, format, .. } = session_of(&providers);
    // Each step down loses one of these, so the losses show where it ended.
    let request = AnyRequest::CollectTracing6(CollectTracing6::Streaming(StreamingSession6 {
        circular_buffer_mb,
        format,
        rundown_keyword: 0x100,
        request_stackwalk: false,
        providers: Array::new(&providers),
        session_buffer_mode: SessionBufferMode::BLOCK,
    }));
    let lost_until = |command: u32| match command {
        5 => DroppedFields::BUFFER_MODE,
        4 => DroppedFields::BUFFER_MODE.with(DroppedFields::EVENT_FILTERS),
        3 => DroppedFields::BUFFER_MODE
            .with(DroppedFields::EVENT_FILTERS)
            .with(DroppedFields::RUNDOWN_KEYWORD),
        2 => DroppedFields::BUFFER_MODE
            .with(DroppedFields::EVENT_FILTERS)
            .with(DroppedFields::RUNDOWN_KEYWORD)
            .with(DroppedFields::STACKS),
        _ => DroppedFields::NONE,
    };
    let (trace, lost) =
        target.client.trace_by(Fallback::new(request).allowing(DroppedFields::ALL)).unwrap();
    let expected = match target.major {
        11.. => 6,
        10 => 5,
        9 => 4,
        _ => 2,
    };
    let command = (2..=6).find(|command| lost == lost_until(*command));
    let stream = read_whole(&target, trace, Duration::from_millis(100));
    eprintln!("CollectTracing{}, lost: {lost}; {} bytes", command.unwrap_or(0), stream.len());
    stream.assert_whole();
    assert_eq!(command, Some(expected));
    // A loss that is not allowed is a refusal, before anything is begun.
    if expected < 6 {
        let refused = target.client.trace_by(Fallback::new(request)).map(|_| ());
        assert_refused(refused, HResult::UNKNOWN_COMMAND);
    }
    target.still_answers();
}

#[test]
#[ignore = "needs a runtime: diagipc/tests/live/runtime_tests.py"]
fn trace_of_64_mib_is_read_whole() {
    const WANTED: u64 = 64 << 20;
    let target = target();
    // GC, GCHeapDump, GCHeapCollect, GCHeapAndTypeNames, GCHeapSurvivalAndMovement: the whole heap
    // at each collection.
    let heap = [provider(0x0198_0001, EventLevel::VERBOSE)];
    let collect = ProviderConfig::new(RUNTIME_PROVIDER, 0x0080_0000, EventLevel::INFORMATIONAL);
    let (circular_buffer_mb, format, request_rundown) = (256, Format::NET_TRACE, false);
    let big = [ProviderConfig::new(RUNTIME_PROVIDER, heap[0].keywords, EventLevel::VERBOSE)];
    let big = CollectTracing2 {
        circular_buffer_mb,
        format,
        request_rundown: true,
        providers: Array::new(&big),
    };
    // After any failure no thread waits forever.
    let whole = Deadlines { whole: Some(Duration::from_secs(30)), ..Deadlines::DEFAULT };
    let canceller = Canceller::new().unwrap();
    let client = target.client.clone().with_deadlines(whole).with_canceller(canceller.clone());
    let mut trace = client.trace(&big).unwrap();
    let (stopper, began) = (trace.stopper(&client), Instant::now());
    let read = Arc::new(AtomicU64::new(0));
    let so_far = Arc::clone(&read);
    // The target is idle: sessions that ask for a collection make it write its heap into the big
    // one.
    let make = move || {
        let mut collections = 0;
        while so_far.load(Ordering::Relaxed) < WANTED && began.elapsed() < Duration::from_secs(60) {
            let one = [collect];
            let request = CollectTracing2 {
                circular_buffer_mb: 1,
                format,
                request_rundown,
                providers: Array::new(&one),
            };
            let small = client.trace(&request)?;
            thread::sleep(Duration::from_millis(10));
            // 3.1 may die of a session whose client just closes.
            small.stopper(&client).stop()?;
            collections += 1;
        }
        stopper.stop().map(|stop| (stop, collections))
    };
    let making = thread::spawn(move || make().inspect_err(|_: &Error| canceller.cancel()));
    let (mut stream, mut piece) = (Stream::default(), vec![0; 65536]);
    let ended = loop {
        match trace.read(&mut piece) {
            Ok(0) => break Ok(()),
            Ok(n) => stream.take(&piece[..n]),
            Err(error) => break Err(error),
        }
        read.store(stream.len(), Ordering::Relaxed);
    };
    let (stop, collections) = making.join().unwrap().unwrap();
    ended.unwrap();
    eprintln!(
        "{} bytes in {} blocks, {:.1} s, {collections} collections, {stop:?}",
        stream.len(),
        stream.blocks(),
        began.elapsed().as_secs_f64()
    );
    let outcome = trace.outcome().unwrap();
    assert_eq!((outcome.stream_end(), outcome.bytes), (Some(StreamEnd::Complete), stream.len()));
    stream.assert_whole();
    assert!(stream.len() >= WANTED, "only {} bytes came in {:?}", stream.len(), began.elapsed());
    target.still_answers();
}
