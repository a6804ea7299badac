//! `diagipc trace`: traces a process into a .nettrace file.

mod arguments;
mod events;
mod output;
mod session;
mod traced;

use std::io::Write;
use std::sync::Arc;

use anyhow::{anyhow, bail};
use diagipc::nettrace::StreamState;
use dotnet_diagnostics_ipc::exchange::{End, SessionEnd};
use dotnet_diagnostics_ipc::io::Canceller;

use crate::commands::output_file::Written;
use crate::commands::printable::say;
use crate::commands::target::{Refused, outcome};
use crate::commands::trace::events::Provider;
use crate::commands::trace::session::{Cut, Ends, Streamed, follow};
use crate::commands::trace::traced::Source;
use crate::commands::{Outcome, interrupt};

pub(crate) use self::arguments::Arguments;

pub(crate) fn run(arguments: &Arguments, out: &mut dyn Write) -> anyhow::Result<Outcome> {
    let providers = arguments.events.providers()?;
    let ends = Ends { stop: Canceller::new()?, cut: Canceller::new()? };
    // Unlike `cut`, by nothing but a signal.
    let kill = Canceller::new()?;
    interrupt::cancels(vec![vec![ends.stop.clone()], vec![ends.cut.clone(), kill.clone()]])?;
    if arguments.is_standard_output() && !arguments.command.is_empty() {
        bail!("-o -: standard output belongs to the command, expected a file");
    }
    if arguments.is_standard_output() && arguments.json {
        bail!("-o -: standard output is for the JSON, expected a file");
    }
    let mut traced = Written::default();
    let ended = match Source::new(&arguments.target, &arguments.command, &arguments.reach) {
        Ok(source) => {
            let source = Arc::new(source);
            let ended = trace(arguments, providers, &source, &ends, &mut traced, out);
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

/// The outcome of a target that refused or cannot be reached, or of a signal; other errors remain.
fn judged(ended: anyhow::Result<Outcome>, traced: &mut Written) -> anyhow::Result<Outcome> {
    ended.or_else(|error| {
        traced.why = Some(format!("{error:#}"));
        outcome("trace", Err(error))
    })
}

/// Traces to the end of the stream, and says what became of it.
fn trace(
    arguments: &Arguments,
    providers: Vec<Provider>,
    source: &Arc<Source>,
    ends: &Ends,
    traced: &mut Written,
    out: &mut dyn Write,
) -> anyhow::Result<Outcome> {
    let (streamed, cut) = follow(arguments, providers, source, ends)?;
    let Streamed { output, trace, process, took } = streamed?;
    traced.bytes = output.bytes();
    traced.seconds = took.as_secs_f64();
    traced.process = process;
    // It was stopped, or its process has exited.
    let state = output.state();
    let is_whole = trace.as_ref().is_ok_and(|trace| {
        let end = trace.outcome().map(|outcome| outcome.end);
        match state {
            StreamState::Cut => false,
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
        traced.complete = lost == Some(0);
        let why = match lost {
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
        output.finish()?;
        if source.has_command() || arguments.is_standard_output() || arguments.json {
            say(&said);
        } else {
            writeln!(out, "{said}")?;
        }
        return Ok(if lost.is_none_or(|lost| lost == 0) { Outcome::Well } else { Outcome::Faulty });
    }
    let is_suspended = !(arguments.resume || source.is_suspended());
    let why = match (trace, &cut) {
        (Err(error), _) if !error.is::<Refused>() => {
            let (kept, file) = output.abandon();
            traced.file = file;
            return Err(anyhow!("{error}; {kept}"));
        }
        (_, Some(Cut::Signal)) => "a signal cut the stream before its end".to_owned(),
        (_, Some(Cut::Because(why))) => why.clone(),
        (Err(error), _) => error.to_string(),
        (Ok(_), _) if output.bytes() == 0 && is_suspended => {
            "the stream ended before its first byte: an app that waits at its start sends nothing until --resume resumes it".to_owned()
        }
        (Ok(_), _) if output.bytes() == 0 => "the stream ended before its first byte".to_owned(),
        (Ok(_), _) => "the stream was cut short".to_owned(),
    };
    let (kept, file) = output.abandon();
    say(&format!("diagipc trace: {why}; {kept}"));
    (traced.file, traced.why) = (file, Some(why));
    match (cut, interrupt::signal()) {
        (Some(Cut::Signal), Some(signal)) => Ok(Outcome::Interrupted(signal)),
        _ => Ok(Outcome::Faulty),
    }
}
