//! `diagipc trace`: traces a process into a .nettrace file.

mod events;
mod output;
mod traced;

use std::ffi::OsString;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Sender, channel};
use std::time::{Duration, Instant};
use std::{io, thread};

use anyhow::{anyhow, bail};
use clap::ArgGroup;
use diagipc::process::Suspended;
use dotnet_diagnostics_ipc::exchange::fallback::Fallback;
use dotnet_diagnostics_ipc::exchange::{End, SessionEnd, StopOutcome};
use dotnet_diagnostics_ipc::hresult::HResult;
use dotnet_diagnostics_ipc::io::{
    Canceller, Client, Connect, Deadlines, Error, ErrorKind, StopHandle, Trace, WaitLimit,
};
use dotnet_diagnostics_ipc::message::AnyRequest;
use dotnet_diagnostics_ipc::message::eventpipe::{
    CollectTracing6, DEFAULT_RUNDOWN_KEYWORD, Format, SessionBufferMode, StreamingSession,
    StreamingSession6,
};
use dotnet_diagnostics_ipc::wire::Array;
use dotnet_diagnostics_ipc_vectors::nettrace::StreamState;

use crate::commands::duration::duration;
use crate::commands::output_file::{Written, dated};
use crate::commands::printable::{printable, say};
use crate::commands::ps::NamedTarget;
use crate::commands::runtime_info::{Info, subject};
use crate::commands::target::{Reach, Refused, outcome};
use crate::commands::trace::events::{EventArguments, Provider};
use crate::commands::trace::output::{Planned, TraceOutput, TraceProgress};
use crate::commands::trace::traced::{Runtime, Source};
use crate::commands::{Outcome, interrupt, refusal};

/// Traces a process into a .nettrace file.
///
/// The trace ends by Ctrl-C, after a duration, or with the process.
#[derive(Clone, clap::Args)]
#[command(
    group = ArgGroup::new("what").args(["target", "process_id", "name", "command"]).multiple(true).required(true),
    after_long_help = exit_statuses!(
        "0      the trace is complete",
        "1      the runtime refused, or the stream was cut short",
        "2      usage error, or a file that cannot be written",
        "3      the process cannot be reached",
        "128+n  signal n ended it before the session started, or cut the stream after its stop",
        "other  the status of COMMAND, if it ended by itself and failed",
        "",
        "Ctrl-C, SIGTERM, SIGHUP and the end of --duration stop the session. The rest of the trace then",
        "arrives within 120 seconds, or within --timeout. A signal in that time cuts it; the file keeps",
        "what has arrived. COMMAND gets a SIGTERM when its trace is complete; a second signal kills it.",
    )
)]
#[allow(clippy::struct_excessive_bools, reason = "these are the switches of a command")]
pub(crate) struct Arguments {
    #[command(flatten)]
    target: NamedTarget,

    #[command(flatten)]
    reach: Reach,

    /// The file to write, or `-` for standard output [default: `NAME_PID_TIME.nettrace`]
    ///
    /// If it is a FIFO, tracing starts once it has a reader.
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,

    /// Stop after this time: 10, 10s, 5m, hh:mm:ss or dd:hh:mm:ss
    #[arg(short, long, value_name = "TIME", value_parser = duration)]
    duration: Option<Duration>,

    #[command(flatten)]
    events: EventArguments,

    /// The size of the runtime's buffer
    #[arg(long, visible_alias = "buffersize", value_name = "MIB", default_value_t = 256, value_parser = clap::value_parser!(u32).range(1..))]
    buffer: u32,

    /// What the runtime does when its buffer is full
    ///
    /// `block` stops the threads that write events, and requires .NET 11.
    #[arg(long, value_name = "MODE", value_enum, ignore_case = true, default_value_t = Buffering::Drop)]
    buffering_mode: Buffering,

    /// Leave out the rundown, which has the names of methods
    #[arg(long)]
    no_rundown: bool,

    /// Leave out the stacks of events; requires .NET 9
    #[arg(long)]
    no_stacks: bool,

    /// Do not resume a process that waits at its start
    #[arg(long, conflicts_with = "command", overrides_with = "resume")]
    no_resume: bool,

    /// Resume a process that waits at its start, once the session runs (default)
    #[arg(long, overrides_with = "no_resume")]
    resume: bool,

    /// Replace an existing file, once the trace is complete
    #[arg(long)]
    force: bool,

    /// Print the result as one JSON object
    ///
    /// It has the file, its bytes, the seconds, the process, whether the trace is complete or why
    /// not, and the exit status.
    #[arg(long)]
    json: bool,

    /// Start this command, and trace its first .NET process from its start
    ///
    /// Other .NET processes that it starts run untraced.
    #[arg(last = true, value_name = "COMMAND", conflicts_with_all = ["target", "process_id"])]
    command: Vec<OsString>,
}

impl Arguments {
    fn is_standard_output(&self) -> bool {
        self.output.as_deref() == Some(Path::new("-"))
    }

    /// Returns the keywords of the rundown, 0 for none.
    fn rundown(&self) -> u64 {
        if self.events.need_rundown() && !self.no_rundown { DEFAULT_RUNDOWN_KEYWORD } else { 0 }
    }

    const fn session_buffer_mode(&self) -> SessionBufferMode {
        match self.buffering_mode {
            Buffering::Drop => SessionBufferMode::DROP,
            Buffering::Block => SessionBufferMode::BLOCK,
        }
    }

    /// Names the option that requires the newest runtime.
    const fn newest(&self) -> Option<&'static str> {
        match self.buffering_mode {
            Buffering::Block => Some("--buffering-mode block requires .NET 11"),
            Buffering::Drop if self.no_stacks => Some("--no-stacks requires .NET 9"),
            Buffering::Drop => None,
        }
    }
}

#[derive(Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum Buffering {
    Drop,
    Block,
}

pub(crate) fn run(arguments: &Arguments, out: &mut dyn Write) -> anyhow::Result<Outcome> {
    let providers = arguments.events.providers()?;
    let ends = Ends { stop: Canceller::new()?, cut: Canceller::new()? };
    // Only a signal cancels this one, unlike `cut`.
    let kill = Canceller::new()?;
    interrupt::cancels(vec![vec![ends.stop.clone()], vec![ends.cut.clone(), kill.clone()]])?;
    if arguments.is_standard_output() && !arguments.command.is_empty() {
        bail!("-o -: standard output belongs to the command, expected a file");
    }
    if arguments.is_standard_output() && arguments.json {
        bail!("-o -: standard output is for the JSON, expected a file");
    }
    arguments.events.say_doubts();
    let mut traced = Written::default();
    let ended = match Source::new(&arguments.target, &arguments.command, &arguments.reach) {
        Ok(source) => {
            let source = Arc::new(source);
            let ended = trace(arguments, &providers, &source, &ends, &mut traced, out);
            out.flush()?;
            source.finish(judged(ended, &mut traced), &ends.stop, &kill)
        }
        Err(error) => judged(Err(error), &mut traced),
    };
    if arguments.json {
        traced.print(&ended, out)?;
    }
    ended
}

/// Returns the outcome after a refusal, a failed connection or a signal; other errors remain.
fn judged(ended: anyhow::Result<Outcome>, traced: &mut Written) -> anyhow::Result<Outcome> {
    ended.or_else(|error| {
        let error = refusal::explained(error, refusal::request_of("trace"));
        traced.why = Some(format!("{error:#}"));
        outcome("trace", Err(error))
    })
}

/// Traces to the end of the stream, and reports the result.
fn trace(
    arguments: &Arguments,
    providers: &[Provider],
    source: &Arc<Source>,
    ends: &Ends,
    traced: &mut Written,
    out: &mut dyn Write,
) -> anyhow::Result<Outcome> {
    let (streamed, cut) = follow(arguments, providers.to_vec(), source, ends)?;
    let Streamed { output, trace, process, process_id, took } = streamed?;
    let waits = || {
        let id = process_id?;
        let mut waiting = Suspended::of(id)?;
        waiting.at_default_port &= arguments.no_resume;
        Some(format!("process {id} {waiting}{}", hint(&waiting, arguments.no_resume)))
    };
    traced.bytes = output.bytes();
    traced.seconds = took.as_secs_f64();
    traced.process = process;
    // The session was stopped, or its process has exited.
    let state = output.state();
    let is_whole = trace.as_ref().is_ok_and(|trace| {
        let end = trace.outcome().map(|outcome| outcome.end);
        match state {
            StreamState::Cut | StreamState::Broken { .. } => false,
            StreamState::Whole { .. } => {
                trace.check_complete().is_ok() || end == Some(SessionEnd::Ended(End::Closed))
            }
            StreamState::Unknown => trace.check_complete().is_ok(),
        }
    });
    if is_whole && output.bytes() > 0 {
        let lost = match state {
            StreamState::Whole { lost } => Some(lost),
            _ => None,
        };
        traced.file = Some(output.to_string());
        traced.lost = lost;
        let is_empty = lost == Some(0) && output.events() == 0;
        traced.complete = lost == Some(0) && !is_empty;
        let why = match lost {
            _ if is_empty => Some(match waits() {
                Some(waits) => format!("it has no event: {waits}"),
                None => "it has no event: its providers sent none in this time".to_owned(),
            }),
            Some(0) => None,
            Some(lost) => Some(format!(
                "the runtime dropped {lost} events: a larger --buffer or fewer events keep them all"
            )),
            None => {
                Some("whether events were dropped is unknown: it is not nettrace 4 or 5".into())
            }
        };
        let said = why.as_ref().map_or("complete".to_owned(), |why| format!("whole, but {why}"));
        let said = format!("{output}: {} bytes, {said}", output.bytes());
        traced.why = why;
        if lost.is_some() && !is_empty {
            say_idle(providers, &output);
        }
        output.finish()?;
        if source.has_command() || arguments.is_standard_output() || arguments.json {
            say(&said);
        } else {
            writeln!(out, "{said}")?;
        }
        let is_well = traced.complete || lost.is_none();
        return Ok(if is_well { Outcome::Well } else { Outcome::Faulty });
    }
    let why = match (trace, &cut) {
        (Err(error), _) if !error.is::<Refused>() => {
            let (kept, file) = output.abandon();
            traced.file = file;
            return Err(anyhow!("{error}; {kept}"));
        }
        (_, Some(Cut::Signal)) => "a signal cut the stream before its end".to_owned(),
        (_, Some(Cut::Because(why))) => why.clone(),
        (Err(error), _) => error.to_string(),
        (Ok(_), _) if output.bytes() == 0 => {
            let waits = waits().map(|waits| format!(": {waits}")).unwrap_or_default();
            format!("the stream ended before its first byte{waits}")
        }
        (Ok(_), _) => match state {
            StreamState::Broken { at, .. } => {
                format!("what begins at byte {at} is not nettrace, so no reader gets further")
            }
            _ => "the stream was cut short".to_owned(),
        },
    };
    let (kept, file) = output.abandon();
    say(&format!("diagipc trace: {why}; {kept}"));
    (traced.file, traced.why) = (file, Some(why));
    match (cut, interrupt::signal()) {
        (Some(Cut::Signal), Some(signal)) => Ok(Outcome::Interrupted(signal)),
        _ => Ok(Outcome::Faulty),
    }
}

/// Says how to go on with a process that waits.
fn hint(waiting: &Suspended, is_left_waiting: bool) -> String {
    match (waiting.ports.first(), is_left_waiting) {
        (Some(port), _) => {
            format!("; a tool there resumes it, such as `diagipc trace port:{port}`")
        }
        (None, true) => "; without --no-resume it is resumed".to_owned(),
        (None, false) => String::new(),
    }
}

/// Names the providers without an event.
fn say_idle(providers: &[Provider], output: &TraceOutput) {
    let names = providers.iter().map(Provider::name).filter(|name| !output.has_events_of(name));
    let names: Vec<_> = names.map(printable).collect();
    if !names.is_empty() {
        say(&format!("no events were received from {}", names.join(", ")));
    }
}

/// How often signals and deadlines are checked.
const POLL_INTERVAL: Duration = Duration::from_millis(50);
/// How long the stop and the rest of the stream may take: its rundown may be long.
const STOP_TIMEOUT: Duration = Duration::from_secs(120);
/// How long a stop waits for the first byte of the stream.
const FIRST_BYTE_TIMEOUT: Duration = Duration::from_secs(1);
/// How long a session that a signal finds not started may take to start, and then be complete.
const START_PATIENCE: Duration = Duration::from_secs(3);
/// How long a write may take once the stream was cut.
const LAST_WRITE_TIMEOUT: Duration = Duration::from_secs(5);

/// What ends a session: a signal, or this program in its place.
#[derive(Clone)]
struct Ends {
    /// The first signal: the session is stopped, and its stream read to the end.
    stop: Canceller,
    /// The second: the stream is cut.
    cut: Canceller,
}

enum Cut {
    Signal,
    Because(String),
    /// The session failed, or its stream could not be written.
    Failed,
}

enum News {
    /// The session was started; this many bytes of its stream are written.
    Started(StopHandle<Client<Runtime>>, Arc<AtomicU64>),
    Stopped(Result<StopOutcome, Error>),
    Ended(Box<anyhow::Result<Streamed>>),
}

struct Streamed {
    output: TraceOutput,
    /// If it failed, its connection is closed already, which ends a pending stop.
    trace: anyhow::Result<Trace<<Runtime as Connect>::Transport>>,
    /// What the process reports about itself, if it was asked.
    process: Option<Info>,
    /// The process on this machine, if it is known.
    process_id: Option<u32>,
    /// The time from the start of the session to the end of the stream.
    took: Duration,
}

fn late(limit: Duration) -> String {
    format!("the runtime did not end the stream within {} s of the stop", limit.as_secs())
}

/// Stops the session when it is time, and cuts the stream if that takes too long.
fn follow(
    arguments: &Arguments,
    providers: Vec<Provider>,
    source: &Arc<Source>,
    ends: &Ends,
) -> anyhow::Result<(anyhow::Result<Streamed>, Option<Cut>)> {
    let limit = arguments.reach.timeout().unwrap_or(STOP_TIMEOUT);
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
    // When the stream must have ended, and whether a signal set this time.
    let mut stop_by: Option<(Option<Instant>, bool)> = None;
    let mut awaits_stop = false;
    let mut signalled: Option<Instant> = None;
    let mut cut: Option<(Instant, Cut)> = None;
    loop {
        // Check this first: once the thread has ended, everything that it sent has arrived.
        let is_over = reading.is_finished();
        let mut why = None;
        match told.recv_timeout(POLL_INTERVAL) {
            Ok(News::Started(started, bytes)) => {
                stop_handle = Some(started);
                stream = Some((Arc::clone(&bytes), Instant::now()));
                progress = Some(TraceProgress::new(bytes, !source.has_command()));
                deadline =
                    arguments.duration.and_then(|duration| Instant::now().checked_add(duration));
            }
            Ok(News::Stopped(answer)) => {
                awaits_stop = false;
                why = answer.err().and_then(|error| match error.kind() {
                    // The stop was cancelled with the stream, as said below.
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
        progress.iter_mut().for_each(TraceProgress::tick);
        let now = Instant::now();
        let has_passed = |deadline: Option<Instant>| deadline.is_some_and(|at| at <= now);
        let is_signalled = ends.stop.is_cancelled();
        signalled = signalled.or_else(|| is_signalled.then_some(now));
        // A stop before the first byte would end the session without a stream.
        let has_begun = stream.as_ref().is_some_and(|(bytes, began)| {
            bytes.load(Ordering::Relaxed) > 0 || began.elapsed() >= FIRST_BYTE_TIMEOUT
        });
        let is_due = streamed.is_none() && has_begun && (is_signalled || has_passed(deadline));
        if let Some(stop_handle) = stop_handle.take_if(|_| is_due) {
            stop_by = Some((now.checked_add(limit), is_signalled));
            progress.iter_mut().for_each(TraceProgress::stopping);
            awaits_stop = true;
            let news = news.clone();
            thread::spawn(move || drop(news.send(News::Stopped(stop_handle.stop()))));
        }
        if cut.is_none() {
            let is_early = stream.is_none()
                && streamed.is_none()
                && signalled.is_some_and(|at| at.elapsed() >= START_PATIENCE);
            // After the duration, the first signal is the second reason to end.
            let is_cut = is_early
                || ends.cut.is_cancelled()
                || stop_by.is_some_and(|(_, was_signalled)| is_signalled && !was_signalled);
            let is_late = stop_by.is_some_and(|(by, _)| has_passed(by));
            // The signal comes first, because other reasons may follow from it.
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
        // The thread still writes, and ends with this program.
        if streamed.is_none()
            && cut.as_ref().is_some_and(|(at, _)| at.elapsed() >= LAST_WRITE_TIMEOUT)
        {
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
    let mut chosen = arguments.output.clone();
    // Plan this before a command is started. A FIFO waits for its reader, so it is opened below.
    let planned_before = match chosen.take_if(|path| !is_fifo(path)) {
        Some(path) => Some(planned(path)?),
        None => None,
    };
    let runtime = source.runtime(&ends.stop)?;
    if let (Some(_), Runtime::Listens(endpoint)) = (&chosen, &runtime) {
        // Check that the endpoint exists.
        endpoint.connect(&WaitLimit { deadline: None, canceller: Some(&ends.stop) })?;
    }
    let process_id = source.process_id(&runtime);
    let waiting = process_id.and_then(Suspended::of);
    let client = arguments.reach.client(runtime, ends.cut.clone());
    // This is a request that a short trace can do without.
    let is_asked = arguments.output.is_none() || arguments.json;
    let process = if is_asked { Info::if_known(&client)? } else { None };
    let planned = match (planned_before, chosen) {
        (Some(planned), _) => planned,
        (None, Some(fifo)) => planned(fifo)?,
        (None, None) => planned(dated(&subject(process.as_ref()), "nettrace"))?,
    };
    if let (Some(id), Some(waiting)) = (process_id, &waiting) {
        if !waiting.ports.is_empty() && source.has_own_port() {
            say(&format!("process {id} {waiting}{}", hint(waiting, arguments.no_resume)));
        }
        if waiting.tools() > 1 {
            say(
                "if another tool stops a session before the process runs, this trace is damaged, and up to .NET 10 the process dies (F-160)",
            );
        }
    }
    let configs: Vec<_> = providers.iter().map(Provider::config).collect();
    // This is the newest command; the fallback steps down to one that the runtime knows, if it
    // means the same.
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
    // Open the file before the runtime is resumed: if it cannot be created, nothing has changed.
    let mut output = planned.open()?;
    if !arguments.no_resume {
        match client.resume() {
            // .NET Core 3.1 does not know this command, and never waits.
            Err(error) if error.hresult() == Some(HResult::UNKNOWN_COMMAND) => {}
            // The process may have exited, but its stream is there.
            Err(error) if source.has_own_port() && !ends.stop.is_cancelled() => {
                say(&format!("not resumed, in case it waits at its start: {error}"));
            }
            Err(error) => {
                output.abandon();
                return Err(error.into());
            }
            Ok(()) => source.resumed(),
        }
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
    let (trace, took) = (copied.map(|()| trace), began.elapsed());
    Ok(Streamed { output, trace, process, process_id, took })
}

fn is_fifo(path: &Path) -> bool {
    #[cfg(unix)]
    {
        use std::os::unix::fs::FileTypeExt as _;

        std::fs::metadata(path).is_ok_and(|metadata| metadata.file_type().is_fifo())
    }
    #[cfg(not(unix))]
    {
        let _ = path;
        false
    }
}

/// Copies the stream to its end, and counts its bytes.
fn copy(
    trace: &mut impl io::Read,
    output: &mut TraceOutput,
    bytes: &AtomicU64,
) -> anyhow::Result<()> {
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
