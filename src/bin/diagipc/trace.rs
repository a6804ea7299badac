//! `diagipc trace`: traces a process into a .nettrace file.

use std::io::{self, IsTerminal as _, Write};
use std::path::PathBuf;
use std::str::FromStr;
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context as _, anyhow, bail};
use dotnet_diagnostics_ipc::exchange::StreamEnd;
use dotnet_diagnostics_ipc::exchange::fallback::{DroppedFields, TracingFallback};
use dotnet_diagnostics_ipc::io::{Canceller, Client, ErrorKind, Trace, Transport};
use dotnet_diagnostics_ipc::message::eventpipe::{
    CollectTracing6, DEFAULT_RUNDOWN_KEYWORD, EventFilter, EventLevel, Format, SessionBufferMode,
    StreamingProviderConfig, StreamingSession6,
};
use dotnet_diagnostics_ipc::wire::{Array, IpcString};
use indicatif::{ProgressBar, ProgressStyle};

use crate::target::{Refused, TargetArguments, outcome};
use crate::trace_output::{Output, Planned};
use crate::{Outcome, interrupt};

/// How often signals are checked.
const LOOK: Duration = Duration::from_millis(50);

/// Traces a process into a .nettrace file, until Ctrl-C, a duration, or its end.
#[derive(clap::Args)]
#[command(
    after_help = "Exit status: 0 the file is complete, 1 the runtime refused, or the stream was cut short, 2 usage error, or a file that cannot be written, 3 it cannot be reached. Ctrl-C stops the session, and the file is complete; a second one ends this program at once."
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

    /// NAME[:KEYWORDS[:LEVEL[:KEY=VALUE;…]]]: keywords in hexadecimal, by default all; a level
    /// from 0 to 5 or by name, by default 4 (Informational). By default the runtime's GC,
    /// loader, JIT, contention, exceptions and threading, and samples of stacks
    #[arg(short, long = "provider", value_name = "PROVIDER")]
    providers: Vec<Provider>,

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

/// A provider, in the syntax of dotnet-trace.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Provider {
    name: String,
    keywords: u64,
    level: EventLevel,
    arguments: Option<String>,
}

const LEVELS: [&str; 6] = ["LogAlways", "Critical", "Error", "Warning", "Informational", "Verbose"];

impl Provider {
    /// Useful in most cases.
    fn usual() -> Vec<Self> {
        [("Microsoft-Windows-DotNETRuntime", 0x1_c019), ("Microsoft-DotNETCore-SampleProfiler", 0)]
            .map(|(name, keywords)| Self {
                name: name.to_owned(),
                keywords,
                level: EventLevel::INFORMATIONAL,
                arguments: None,
            })
            .to_vec()
    }

    fn config(&self) -> StreamingProviderConfig<'_> {
        StreamingProviderConfig {
            keywords: self.keywords,
            log_level: self.level,
            provider_name: IpcString::new(&self.name),
            arguments: self.arguments.as_deref().map_or(IpcString::ABSENT, IpcString::new),
            filter: EventFilter::ALL,
        }
    }
}

impl FromStr for Provider {
    type Err = anyhow::Error;

    fn from_str(text: &str) -> anyhow::Result<Self> {
        let mut parts = text.splitn(4, ':');
        let name = parts
            .next()
            .filter(|name| !name.is_empty())
            .context("a provider needs a name")?
            .to_owned();
        let mut next = || parts.next().filter(|part| !part.is_empty());
        let keywords = match next() {
            Some(text) => {
                let digits =
                    text.strip_prefix("0x").or_else(|| text.strip_prefix("0X")).unwrap_or(text);
                u64::from_str_radix(digits, 16)
                    .with_context(|| format!("{text:?} is not a hexadecimal number"))?
            }
            None => u64::MAX,
        };
        let level = match next() {
            Some(text) => level(text).with_context(|| {
                format!("{text:?} is not a level: expected 0 to 5, or {}", LEVELS.join(", "))
            })?,
            None => EventLevel::INFORMATIONAL,
        };
        Ok(Self { name, keywords, level, arguments: next().map(str::to_owned) })
    }
}

fn level(text: &str) -> Option<EventLevel> {
    let named = LEVELS
        .iter()
        .zip(0..)
        .find(|(name, _)| name.eq_ignore_ascii_case(text))
        .map(|(_, level)| level);
    named.or_else(|| text.parse().ok().filter(|level| *level <= 5)).map(EventLevel)
}

pub(crate) fn run(arguments: &Arguments, out: &mut dyn Write) -> anyhow::Result<Outcome> {
    let canceller = interrupt::canceller()?;
    let client = arguments.target.client_of_a_session();
    let path = arguments
        .output
        .clone()
        .unwrap_or_else(|| PathBuf::from(format!("{}.nettrace", arguments.target.file_stem())));
    let is_standard_output = path.as_os_str() == "-";
    let planned = match Planned::at(path, arguments.force, &canceller) {
        Err(_) if canceller.is_cancelled() => return outcome("trace", Ok(())),
        planned => planned?,
    };
    match record(arguments, &client, planned) {
        Ok(said) if is_standard_output => {
            // Standard error may be closed too.
            let _ = writeln!(io::stderr(), "{said}");
            Ok(Outcome::Well)
        }
        // A signal stops the session, and the file is complete.
        Ok(said) => writeln!(out, "{said}").map(|()| Outcome::Well).map_err(Into::into),
        Err(error) => outcome("trace", Err(error)),
    }
}

/// The whole session; returns what there is to say about the file.
fn record(arguments: &Arguments, client: &Client, planned: Planned) -> anyhow::Result<String> {
    let providers = if arguments.providers.is_empty() {
        Provider::usual()
    } else {
        arguments.providers.clone()
    };
    let providers: Vec<_> = providers.iter().map(Provider::config).collect();
    // The newest command; the fallback steps down to one that the runtime knows, if it means the
    // same.
    let request = CollectTracing6::Streaming(StreamingSession6 {
        circular_buffer_mb: arguments.buffer,
        format: Format::NET_TRACE,
        rundown_keyword: if arguments.no_rundown { 0 } else { DEFAULT_RUNDOWN_KEYWORD },
        request_stackwalk: !arguments.no_stacks,
        providers: Array::new(&providers),
        session_buffer_mode: SessionBufferMode::DROP,
    });
    // Cuts the stream if it cannot be stopped.
    let cut = Canceller::new()?;
    let session = client.clone().with_canceller(cut.clone());
    let (mut trace, _) =
        session.trace_by(TracingFallback::new(&request).allowing(DroppedFields::NONE))?;
    // Before the runtime is resumed: if the file cannot be created, nothing has changed.
    let mut output = planned.open()?;
    let streamed = stream_into(&mut output, arguments, client, &mut trace, cut);
    match streamed {
        Ok(()) => {
            let said = format!("{output}: {} bytes, complete", output.bytes());
            output.finish().map(|()| said)
        }
        Err(error) => {
            let kept = output.abandon();
            Err(match error.downcast::<Refused>() {
                Ok(Refused(why)) => Refused(format!("{why}; {kept}")).into(),
                Err(error) => error.context(kept),
            })
        }
    }
}

/// Copies the stream to its end, while another thread stops the session.
fn stream_into<T: Transport>(
    output: &mut Output,
    arguments: &Arguments,
    client: &Client,
    trace: &mut Trace<T>,
    cut: Canceller,
) -> anyhow::Result<()> {
    if arguments.resume {
        client.resume()?;
    }
    // The stop is answered when the stream has been read to its end, so one thread stops and the
    // other continues reading.
    let stopper = trace.stopper(client);
    let (ended, is_over) = channel::<()>();
    let deadline = arguments
        .duration
        .map(Duration::from_secs)
        .and_then(|duration| Instant::now().checked_add(duration));
    let stopping = thread::spawn(move || {
        loop {
            match is_over.recv_timeout(LOOK) {
                Err(RecvTimeoutError::Timeout) => {}
                _ => return Ok(()),
            }
            if interrupt::signal().is_some()
                || deadline.is_some_and(|deadline| deadline <= Instant::now())
            {
                return match stopper.stop() {
                    Err(error) if !matches!(error.kind(), ErrorKind::SessionOver) => {
                        cut.cancel();
                        Err(error)
                    }
                    _ => Ok(()),
                };
            }
        }
    });
    let copied = copy(trace, output, ended);
    let stop_result =
        stopping.join().map_err(|_| anyhow!("the thread that stops the session died"))?;
    stop_result?;
    copied?;
    match trace.outcome().and_then(|outcome| outcome.stream_end()) {
        Some(StreamEnd::Complete) => Ok(()),
        _ => Err(Refused("the stream was cut short".to_owned()).into()),
    }
}

/// Copies the stream to its end, with progress on a terminal. `_ended` is held until then.
fn copy(trace: &mut impl io::Read, output: &mut Output, _ended: Sender<()>) -> anyhow::Result<()> {
    let progress =
        if io::stderr().is_terminal() { ProgressBar::new_spinner() } else { ProgressBar::hidden() };
    progress.set_style(ProgressStyle::with_template(
        "{elapsed_precise}  {bytes}  {bytes_per_sec}  (Ctrl-C stops)",
    )?);
    progress.enable_steady_tick(Duration::from_millis(200));
    let mut piece = vec![0; 64 * 1024];
    loop {
        let n = trace.read(&mut piece)?;
        if n == 0 {
            break;
        }
        output.write_all(piece.get(..n).unwrap_or_default())?;
        progress.set_position(output.bytes());
    }
    progress.finish_and_clear();
    if output.bytes() == 0 {
        bail!(Refused("the stream ended before its first byte".to_owned()));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn provider_parses_like_dotnet_trace() {
        let provider = |text: &str| {
            let Provider { name, keywords, level, arguments } = text.parse().unwrap();
            (name, keywords, level.0, arguments)
        };
        assert_eq!(provider("P"), ("P".to_owned(), u64::MAX, 4, None));
        assert_eq!(provider("P:1c019"), ("P".to_owned(), 0x1_c019, 4, None));
        assert_eq!(provider("P::verbose"), ("P".to_owned(), u64::MAX, 5, None));
        assert_eq!(
            provider("P:0x10:0:A=1;B=2:3"),
            ("P".to_owned(), 16, 0, Some("A=1;B=2:3".to_owned()))
        );
        for (text, why) in [
            (":1", "a provider needs a name"),
            ("P:x1", "\"x1\" is not a hexadecimal"),
            ("P:1:6", "\"6\" is not a level: expected 0 to 5"),
        ] {
            let error = format!("{:#}", text.parse::<Provider>().unwrap_err());
            assert!(error.starts_with(why), "{error}");
        }
    }
}
