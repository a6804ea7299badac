//! `diagipc trace`: traces a process into a .nettrace file.

use std::io::{self, IsTerminal as _, Write};
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Sender, channel};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{anyhow, bail};
use dotnet_diagnostics_ipc::exchange::fallback::{DroppedFields, TracingFallback};
use dotnet_diagnostics_ipc::exchange::{End, SessionEnd, StopOutcome};
use dotnet_diagnostics_ipc::io::{
    Canceller, Connect, Deadlines, Endpoint, Error, ErrorKind, Stopper, Trace,
};
use dotnet_diagnostics_ipc::message::eventpipe::{
    CollectTracing6, DEFAULT_RUNDOWN_KEYWORD, Format, SessionBufferMode, StreamingSession6,
};
use dotnet_diagnostics_ipc::wire::Array;
use indicatif::{ProgressBar, ProgressStyle};

use crate::commands::printable::printable_lines;
use crate::commands::target::{Refused, TargetArguments, outcome};
use crate::commands::trace_output::{Output, Planned};
use crate::commands::trace_provider::{Provider, Providers};
use crate::commands::{Outcome, interrupt};

/// How often signals and deadlines are checked.
const LOOK: Duration = Duration::from_millis(50);
/// How long the stop and the rest of the stream may take: its rundown may be long.
const STOPS: Duration = Duration::from_secs(120);
/// How long a write may take once the stream was cut.
const LAST_WRITE: Duration = Duration::from_secs(5);

/// Traces a process into a .nettrace file, until Ctrl-C, a duration, or its end.
#[derive(Clone, clap::Args)]
#[command(
    after_help = "Exit status: 0 the trace is complete, 1 the runtime refused, or the stream was cut short, 2 usage error, or a file that cannot be written, 3 it cannot be reached, 129, 130 or 143 cut by a second signal, or interrupted before the session. Ctrl-C, SIGTERM and SIGHUP stop the session, and the trace is complete. Once told to stop, by a signal or the duration, it ends within 120 seconds, or within --timeout; a signal in that time cuts the stream. A trace that was cut is kept, and reported."
)]
#[allow(clippy::struct_excessive_bools, reason = "these are the switches of a command")]
pub(crate) struct Arguments {
    #[command(flatten)]
    target: TargetArguments,

    /// The file to write, by default TARGET.nettrace in the current directory; `-` is standard
    /// output. A FIFO or a device is written as it is; a FIFO waits for its reader
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,

    /// Stop after this many seconds
    #[arg(short, long, value_name = "SECONDS")]
    duration: Option<u64>,

    /// NAME[:KEYWORDS[:LEVEL[:KEY=VALUE;…]]], and more after a comma that is not between quotes:
    /// keywords in hexadecimal, by default all; a level from 0 to 5 or by name, by default 4
    /// (Informational). By default the runtime's GC, loader, JIT, contention, exceptions and
    /// threading, and samples of stacks
    #[arg(short, long = "provider", value_name = "PROVIDER,…")]
    providers: Vec<Providers>,

    /// The size of the runtime's buffer
    #[arg(long, value_name = "MIB", default_value_t = 256, value_parser = clap::value_parser!(u32).range(1..))]
    buffer: u32,

    /// No rundown: no method names at the end
    #[arg(long)]
    no_rundown: bool,

    /// No stacks with the events. .NET 8 and older have no session without stacks
    #[arg(long)]
    no_stacks: bool,

    /// Once the session has started, resume a runtime that waits for it
    #[arg(long)]
    resume: bool,

    /// Replace an existing file, once the trace is complete
    #[arg(long)]
    force: bool,
}

/// What ends a session: a signal, or this program in its place.
#[derive(Clone)]
struct Ends {
    /// The first signal: the session is stopped, and its stream read to the end.
    stop: Canceller,
    /// The second: the stream is cut.
    cut: Canceller,
}

/// Why a stream was cut.
enum Cut {
    Signal,
    Because(String),
    /// It failed, or could not be written.
    Failed,
}

/// What the other threads report.
enum News {
    Started(Stopper<Endpoint>),
    Stopped(Result<StopOutcome, Error>),
    Ended(anyhow::Result<Streamed>),
}

/// A stream that has ended.
struct Streamed {
    output: Output,
    /// If it failed, its connection is closed already: a pending stop waits for that.
    trace: anyhow::Result<Trace<<Endpoint as Connect>::Transport>>,
}

pub(crate) fn run(arguments: &Arguments, out: &mut dyn Write) -> anyhow::Result<Outcome> {
    let providers = if arguments.providers.is_empty() {
        Provider::usual()
    } else {
        Providers::merged(&arguments.providers)?
    };
    let ends = Ends { stop: Canceller::new()?, cut: Canceller::new()? };
    interrupt::cancels(vec![vec![ends.stop.clone()], vec![ends.cut.clone()]])?;
    let (output, trace, cut) = match follow(arguments, providers, &ends)? {
        (Ok(Streamed { output, trace }), cut) => (output, trace, cut),
        (Err(error), _) => return outcome("trace", Err(error)),
    };
    // It was stopped, or its process has exited.
    let is_whole = trace.as_ref().is_ok_and(|trace| {
        let end = trace.outcome().map(|outcome| outcome.end);
        trace.check_complete().is_ok()
            || (end == Some(SessionEnd::Ended(End::Closed)) && output.has_end())
    });
    if is_whole && output.bytes() > 0 {
        let said = format!("{output}: {} bytes, complete", output.bytes());
        output.finish()?;
        if arguments.output.as_deref() == Some(Path::new("-")) {
            say(&said);
        } else {
            writeln!(out, "{said}")?;
        }
        return Ok(Outcome::Well);
    }
    let why = match (trace, &cut) {
        (Err(error), _) if !error.is::<Refused>() => return Err(anyhow!("{error}; {}", output.abandon())),
        (_, Some(Cut::Signal)) => "a signal cut the stream before its end".to_owned(),
        (_, Some(Cut::Because(why))) => why.clone(),
        (Err(error), _) => error.to_string(),
        (Ok(_), _) if output.bytes() == 0 && !arguments.resume => {
            "the stream ended before its first byte: an app that waits at its start sends nothing until --resume resumes it".to_owned()
        }
        (Ok(_), _) if output.bytes() == 0 => "the stream ended before its first byte".to_owned(),
        (Ok(_), _) => "the stream was cut short".to_owned(),
    };
    say(&format!("diagipc trace: {why}; {}", output.abandon()));
    match (cut, interrupt::signal()) {
        (Some(Cut::Signal), Some(signal)) => Ok(Outcome::Interrupted(signal)),
        _ => Ok(Outcome::Faulty),
    }
}

/// Standard error may be closed.
fn say(text: &str) {
    let _ = writeln!(io::stderr(), "{}", printable_lines(text));
}

fn late(limit: Duration) -> String {
    format!("the runtime did not end the stream within {} s of the stop", limit.as_secs())
}

/// Stops the session when it is time, and cuts the stream if that takes too long.
fn follow(
    arguments: &Arguments,
    providers: Vec<Provider>,
    ends: &Ends,
) -> anyhow::Result<(anyhow::Result<Streamed>, Option<Cut>)> {
    let limit = arguments.target.timeout().unwrap_or(STOPS);
    let (news, told) = channel();
    let reading = thread::spawn({
        let (arguments, ends, news) = (arguments.clone(), ends.clone(), news.clone());
        move || {
            let ended = record(&arguments, &providers, &ends, limit, &news);
            // The receiver lasts as long as the program.
            let _ = news.send(News::Ended(ended));
        }
    });
    let (mut stopper, mut deadline, mut streamed) = (None, None, None);
    // By when the stream must have ended, and whether a signal said so.
    let mut stop_by: Option<(Option<Instant>, bool)> = None;
    let mut awaits_stop = false;
    let mut cut: Option<(Instant, Cut)> = None;
    loop {
        // Before the look: what it sent has arrived.
        let is_over = reading.is_finished();
        let mut why = None;
        match told.recv_timeout(LOOK) {
            Ok(News::Started(started)) => {
                stopper = Some(started);
                let duration = arguments.duration.map(Duration::from_secs);
                deadline = duration.and_then(|duration| Instant::now().checked_add(duration));
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
        let now = Instant::now();
        let has_passed = |deadline: Option<Instant>| deadline.is_some_and(|at| at <= now);
        let is_signalled = ends.stop.is_cancelled();
        let is_due = streamed.is_none() && (is_signalled || has_passed(deadline));
        if let Some(stopper) = stopper.take_if(|_| is_due) {
            stop_by = Some((now.checked_add(limit), is_signalled));
            awaits_stop = true;
            let news = news.clone();
            thread::spawn(move || drop(news.send(News::Stopped(stopper.stop()))));
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
    ends: &Ends,
    limit: Duration,
    news: &Sender<News>,
) -> anyhow::Result<Streamed> {
    let path = arguments
        .output
        .clone()
        .unwrap_or_else(|| PathBuf::from(format!("{}.nettrace", arguments.target.file_stem())));
    let planned = Planned::at(path, arguments.force, &ends.stop)?;
    let configs: Vec<_> = providers.iter().map(Provider::config).collect();
    // The newest command; the fallback steps down to one that the runtime knows, if it means the
    // same.
    let request = CollectTracing6::Streaming(StreamingSession6 {
        circular_buffer_mb: arguments.buffer,
        format: Format::NET_TRACE,
        rundown_keyword: if arguments.no_rundown { 0 } else { DEFAULT_RUNDOWN_KEYWORD },
        request_stackwalk: !arguments.no_stacks,
        providers: Array::new(&configs),
        session_buffer_mode: SessionBufferMode::DROP,
    });
    let client = arguments.target.client(ends.cut.clone());
    let (mut trace, _) =
        client.trace_by(TracingFallback::new(&request).allowing(DroppedFields::NONE))?;
    // Before the runtime is resumed: if the file cannot be created, nothing has changed.
    let mut output = planned.open()?;
    if arguments.resume {
        if let Err(error) = client.resume() {
            output.abandon();
            return Err(error.into());
        }
    }
    for provider in providers {
        say(&format!("enabled {provider}"));
    }
    let stops = Deadlines { whole: Some(limit), ..Deadlines::NONE };
    let stopper = trace.stopper(&client.with_deadlines(stops));
    // The receiver lasts as long as the program.
    let _ = news.send(News::Started(stopper));
    Ok(Streamed { trace: copy(&mut trace, &mut output).map(|()| trace), output })
}

/// Copies the stream to its end, with progress on a terminal.
fn copy(trace: &mut impl io::Read, output: &mut Output) -> anyhow::Result<()> {
    let progress =
        if io::stderr().is_terminal() { ProgressBar::new_spinner() } else { ProgressBar::hidden() };
    progress.set_style(ProgressStyle::with_template(
        "{elapsed_precise}  {bytes}  {bytes_per_sec}  (Ctrl-C stops)",
    )?);
    progress.enable_steady_tick(Duration::from_millis(200));
    let mut piece = vec![0; 64 * 1024];
    let copied = loop {
        let n = match trace.read(&mut piece) {
            Ok(0) => break Ok(()),
            Ok(n) => n,
            Err(error) => break Err(Refused(format!("the stream was cut short: {error}")).into()),
        };
        if let Err(error) = output.write_all(piece.get(..n).unwrap_or_default()) {
            break Err(error);
        }
        progress.set_position(output.bytes());
    };
    progress.finish_and_clear();
    copied
}
