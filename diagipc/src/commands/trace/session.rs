//! The session of a trace: started, stopped in time, and written.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Sender, channel};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::bail;
use dotnet_diagnostics_ipc::exchange::StopOutcome;
use dotnet_diagnostics_ipc::exchange::fallback::Fallback;
use dotnet_diagnostics_ipc::hresult::HResult;
use dotnet_diagnostics_ipc::io::{
    Canceller, Client, Connect, Deadlines, Error, ErrorKind, StopHandle, Trace,
};
use dotnet_diagnostics_ipc::message::AnyRequest;
use dotnet_diagnostics_ipc::message::eventpipe::{
    CollectTracing6, Format, StreamingSession, StreamingSession6,
};
use dotnet_diagnostics_ipc::wire::Array;

use crate::commands::info::{Info, subject};
use crate::commands::output_file::dated;
use crate::commands::printable::say;
use crate::commands::target::Refused;
use crate::commands::trace::arguments::Arguments;
use crate::commands::trace::events::Provider;
use crate::commands::trace::output::Progress;
use crate::commands::trace::output::{Output, Planned};
use crate::commands::trace::traced::{Runtime, Source};

/// How often signals and deadlines are checked.
const LOOK: Duration = Duration::from_millis(50);
/// How long the stop and the rest of the stream may take: its rundown may be long.
const STOPS: Duration = Duration::from_secs(120);
/// How long a stop waits for the first byte of the stream.
const FIRST_BYTE: Duration = Duration::from_secs(1);
/// How long a write may take once the stream was cut.
const LAST_WRITE: Duration = Duration::from_secs(5);

/// What ends a session: a signal, or this program in its place.
#[derive(Clone)]
pub(crate) struct Ends {
    /// The first signal: the session is stopped, and its stream read to the end.
    pub(crate) stop: Canceller,
    /// The second: the stream is cut.
    pub(crate) cut: Canceller,
}

/// Why a stream was cut.
pub(crate) enum Cut {
    Signal,
    Because(String),
    /// It failed, or could not be written.
    Failed,
}

/// What the other threads report.
enum News {
    /// And how many bytes of its stream are written.
    Started(StopHandle<Client<Runtime>>, Arc<AtomicU64>),
    Stopped(Result<StopOutcome, Error>),
    Ended(Box<anyhow::Result<Streamed>>),
}

/// A stream that has ended.
pub(crate) struct Streamed {
    pub(crate) output: Output,
    /// If it failed, its connection is closed already: a pending stop waits for that.
    pub(crate) trace: anyhow::Result<Trace<<Runtime as Connect>::Transport>>,
    /// What it says of itself, if it was asked.
    pub(crate) process: Option<Info>,
    /// From the start of the session to the end of the stream.
    pub(crate) took: Duration,
}

fn late(limit: Duration) -> String {
    format!("the runtime did not end the stream within {} s of the stop", limit.as_secs())
}

/// Stops the session when it is time, and cuts the stream if that takes too long.
pub(crate) fn follow(
    arguments: &Arguments,
    providers: Vec<Provider>,
    source: &Arc<Source>,
    ends: &Ends,
) -> anyhow::Result<(anyhow::Result<Streamed>, Option<Cut>)> {
    let limit = arguments.reach.timeout().unwrap_or(STOPS);
    let (news, told) = channel();
    let reading = thread::spawn({
        let (arguments, ends, news) = (arguments.clone(), ends.clone(), news.clone());
        let source = Arc::clone(source);
        move || {
            let ended = record(&arguments, &providers, &source, &ends, limit, &news);
            // The receiver lasts as long as the program.
            let _ = news.send(News::Ended(Box::new(ended)));
        }
    });
    let (mut stop_handle, mut deadline, mut streamed) = (None, None, None);
    let mut progress = None;
    let mut stream: Option<(Arc<AtomicU64>, Instant)> = None;
    // By when the stream must have ended, and whether a signal said so.
    let mut stop_by: Option<(Option<Instant>, bool)> = None;
    let mut awaits_stop = false;
    let mut cut: Option<(Instant, Cut)> = None;
    loop {
        // Before the look: what it sent has arrived.
        let is_over = reading.is_finished();
        let mut why = None;
        match told.recv_timeout(LOOK) {
            Ok(News::Started(started, bytes)) => {
                stop_handle = Some(started);
                stream = Some((Arc::clone(&bytes), Instant::now()));
                progress = Some(Progress::new(bytes, !source.has_command()));
                deadline =
                    arguments.duration.and_then(|duration| Instant::now().checked_add(duration));
            }
            Ok(News::Stopped(answer)) => {
                awaits_stop = false;
                why = answer.err().and_then(|error| match error.kind() {
                    // Cancelled with the stream, as said below.
                    ErrorKind::SessionOver | ErrorKind::Cancelled => None,
                    ErrorKind::TimedOut => Some(Cut::Because(late(limit))),
                    _ => Some(Cut::Because(error.to_string())),
                });
            }
            Ok(News::Ended(ended)) => {
                let ended = *ended;
                if ended.as_ref().is_ok_and(|streamed| streamed.trace.is_err()) {
                    why = Some(Cut::Failed);
                }
                streamed = Some(ended);
            }
            Err(_) if is_over && streamed.is_none() => {
                bail!("the thread that reads the stream died");
            }
            Err(_) => {}
        }
        progress.iter_mut().for_each(Progress::tick);
        let now = Instant::now();
        let has_passed = |deadline: Option<Instant>| deadline.is_some_and(|at| at <= now);
        let is_signalled = ends.stop.is_cancelled();
        // A stop before the first byte would end the session without a stream.
        let has_begun = stream.as_ref().is_some_and(|(bytes, began)| {
            bytes.load(Ordering::Relaxed) > 0 || began.elapsed() >= FIRST_BYTE
        });
        let is_due = streamed.is_none() && has_begun && (is_signalled || has_passed(deadline));
        if let Some(stop_handle) = stop_handle.take_if(|_| is_due) {
            stop_by = Some((now.checked_add(limit), is_signalled));
            progress.iter_mut().for_each(Progress::stopping);
            awaits_stop = true;
            let news = news.clone();
            thread::spawn(move || drop(news.send(News::Stopped(stop_handle.stop()))));
        }
        if cut.is_none() {
            // After the duration, the first signal is the second reason to end.
            let is_cut = ends.cut.is_cancelled()
                || stop_by.is_some_and(|(_, was_signalled)| is_signalled && !was_signalled);
            let is_late = stop_by.is_some_and(|(by, _)| has_passed(by));
            // Other reasons may follow from the signal.
            let why = Some(Cut::Signal)
                .filter(|_| is_cut)
                .or(why)
                .or_else(|| is_late.then(|| Cut::Because(late(limit))));
            if let Some(why) = why {
                ends.cut.cancel();
                cut = Some((now, why));
            }
        }
        if let Some(streamed) = streamed.take_if(|_| !awaits_stop) {
            return Ok((streamed, cut.map(|(_, why)| why)));
        }
        // Its thread ends with this program.
        if streamed.is_none() && cut.as_ref().is_some_and(|(at, _)| at.elapsed() >= LAST_WRITE) {
            bail!("the stream was cut short: the output takes no more bytes");
        }
    }
}

/// Starts the session, and copies its stream to the end.
fn record(
    arguments: &Arguments,
    providers: &[Provider],
    source: &Source,
    ends: &Ends,
    limit: Duration,
    news: &Sender<News>,
) -> anyhow::Result<Streamed> {
    let planned = |path| Planned::at(path, arguments.force, &ends.stop);
    let chosen = arguments.output.clone().map(planned).transpose()?;
    let client = arguments.reach.client(source.runtime(&ends.stop)?, ends.cut.clone());
    // A request that a short trace can do without.
    let is_asked = chosen.is_none() || arguments.json;
    let process = if is_asked { Info::if_known(&client)? } else { None };
    let planned = match chosen {
        Some(chosen) => chosen,
        None => planned(dated(&subject(process.as_ref()), "nettrace"))?,
    };
    let configs: Vec<_> = providers.iter().map(Provider::config).collect();
    // The newest command; the fallback steps down to one that the runtime knows, if it means the
    // same.
    let session = StreamingSession {
        circular_buffer_mb: arguments.buffer,
        format: Format::NET_TRACE,
        rundown_keyword: arguments.rundown(),
        request_stackwalk: !arguments.no_stacks,
        providers: Array::new(&configs),
    };
    let request = AnyRequest::CollectTracing6(CollectTracing6::Streaming(StreamingSession6 {
        session_buffer_mode: arguments.session_buffer_mode(),
        ..session.into()
    }));
    let (mut trace, _) = client.trace_by(Fallback::new(request)).map_err(|error| {
        match (error.hresult(), arguments.newest()) {
            (Some(HResult::UNKNOWN_COMMAND), Some(newest)) => {
                anyhow::Error::new(error).context(newest)
            }
            _ => error.into(),
        }
    })?;
    // Before the runtime is resumed: if the file cannot be created, nothing has changed.
    let mut output = planned.open()?;
    if arguments.resume || source.is_suspended() {
        if let Err(error) = client.resume() {
            output.abandon();
            return Err(error.into());
        }
        source.resumed();
    }
    for provider in providers {
        say(&format!("enabled {provider}"));
    }
    let stops = Deadlines { whole: Some(limit), ..Deadlines::NONE };
    let stop_handle = trace.stop_handle(&client.with_deadlines(stops));
    let (began, bytes) = (Instant::now(), Arc::new(AtomicU64::new(0)));
    // The receiver lasts as long as the program.
    let _ = news.send(News::Started(stop_handle, Arc::clone(&bytes)));
    let copied = copy(&mut trace, &mut output, &bytes);
    Ok(Streamed { trace: copied.map(|()| trace), output, process, took: began.elapsed() })
}

/// Copies the stream to its end, and says how much of it there is.
fn copy(trace: &mut impl io::Read, output: &mut Output, bytes: &AtomicU64) -> anyhow::Result<()> {
    let mut piece = vec![0; 64 * 1024];
    loop {
        let n = match trace.read(&mut piece) {
            Ok(0) => return Ok(()),
            Ok(n) => n,
            Err(error) => {
                return Err(Refused(format!("the stream was cut short: {error}")).into());
            }
        };
        output.write_all(piece.get(..n).unwrap_or_default())?;
        bytes.store(output.bytes(), Ordering::Relaxed);
    }
}
