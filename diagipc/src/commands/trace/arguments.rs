//! The command line of `diagipc trace`.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::ArgGroup;
use dotnet_diagnostics_ipc::message::eventpipe::{DEFAULT_RUNDOWN_KEYWORD, SessionBufferMode};

use crate::commands::ps::Named;
use crate::commands::target::Reach;
use crate::commands::trace::events::Events;

/// Traces a process into a .nettrace file, until Ctrl-C, a duration, or its end.
#[derive(Clone, clap::Args)]
#[command(
    group = ArgGroup::new("what").args(["target", "process_id", "name", "command"]).multiple(true).required(true),
    after_help = "Exit status: 0 the trace is complete, 1 the runtime refused, or the stream was cut short, 2 usage error, or a file that cannot be written, 3 it cannot be reached, 129, 130 or 143 cut by a second signal, or interrupted before the session. Ctrl-C, SIGTERM and SIGHUP stop the session, and the trace is complete. Once told to stop, by a signal or the duration, it ends within 120 seconds, or within --timeout; a signal in that time cuts the stream. A trace that was cut is kept, and reported. With a COMMAND the status is its own, if it ended by itself and that is not 0. Ctrl-C, SIGTERM and SIGHUP first stop the session; once the trace is complete the COMMAND gets a SIGTERM, and a second signal kills it."
)]
#[allow(clippy::struct_excessive_bools, reason = "these are the switches of a command")]
pub(crate) struct Arguments {
    #[command(flatten)]
    pub(crate) target: Named,

    #[command(flatten)]
    pub(crate) reach: Reach,

    /// The file to write, by default `NAME_PID_TIME.nettrace` in the current directory; `-` is
    /// standard output. A FIFO or a device is written as it is; a FIFO waits for its reader
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,

    /// Stop after this time: seconds, 10s, 5m, or dd:hh:mm:ss without or with days
    #[arg(short, long, value_name = "TIME", value_parser = duration)]
    pub(crate) duration: Option<Duration>,

    #[command(flatten)]
    pub(crate) events: Events,

    /// The size of the runtime's buffer
    #[arg(long, visible_alias = "buffersize", value_name = "MIB", default_value_t = 256, value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) buffer: u32,

    /// What the runtime does when its buffer is full: it drops events, or blocks the threads that
    /// write them, which takes .NET 11
    #[arg(long, value_name = "MODE", value_enum, ignore_case = true, default_value_t = Buffering::Drop)]
    buffering_mode: Buffering,

    /// No rundown: no method names at the end
    #[arg(long)]
    no_rundown: bool,

    /// No stacks with the events. .NET 8 and older have no session without stacks
    #[arg(long)]
    pub(crate) no_stacks: bool,

    /// Once the session has started, resume a runtime that waits for it
    #[arg(long)]
    pub(crate) resume: bool,

    /// Replace an existing file, once the trace is complete
    #[arg(long)]
    pub(crate) force: bool,

    /// Print one JSON object at the end, in place of the last line: the file, its bytes, the seconds,
    /// the process, whether it is complete or why not, and the exit status
    #[arg(long)]
    pub(crate) json: bool,

    /// Start this command, and trace its first .NET process from the first instruction. Other ones
    /// that it starts run untraced
    #[arg(last = true, value_name = "COMMAND", conflicts_with_all = ["target", "process_id"])]
    pub(crate) command: Vec<OsString>,
}

impl Arguments {
    pub(crate) fn is_standard_output(&self) -> bool {
        self.output.as_deref() == Some(Path::new("-"))
    }

    /// The keywords of the rundown, 0 for none.
    pub(crate) fn rundown(&self) -> u64 {
        if self.events.need_rundown() && !self.no_rundown { DEFAULT_RUNDOWN_KEYWORD } else { 0 }
    }

    pub(crate) const fn session_buffer_mode(&self) -> SessionBufferMode {
        match self.buffering_mode {
            Buffering::Drop => SessionBufferMode::DROP,
            Buffering::Block => SessionBufferMode::BLOCK,
        }
    }

    /// Of what was asked for, what takes the newest runtime.
    pub(crate) const fn newest(&self) -> Option<&'static str> {
        match self.buffering_mode {
            Buffering::Block => Some("--buffering-mode block takes .NET 11"),
            Buffering::Drop if self.no_stacks => Some("--no-stacks takes .NET 9"),
            Buffering::Drop => None,
        }
    }
}

#[derive(Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum Buffering {
    Drop,
    Block,
}

const EXPECTED: &str = "expected seconds, a number with ms, s, m or h, or hh:mm:ss or dd:hh:mm:ss, for example 10s or 00:00:10";

/// Seconds; a number with a unit; or hours, minutes and seconds, with or without days, as dotnet-trace
/// takes them.
pub(crate) fn duration(text: &str) -> Result<Duration, String> {
    parse(text).ok_or_else(|| EXPECTED.to_owned())
}

fn parse(text: &str) -> Option<Duration> {
    if text.contains(':') {
        let parts: Vec<u64> = text.split(':').map(number).collect::<Option<_>>()?;
        let (days, [hours, minutes, seconds]) = match *parts {
            [hours, minutes, seconds] => (0, [hours, minutes, seconds]),
            [days, hours, minutes, seconds] => (days, [hours, minutes, seconds]),
            _ => return None,
        };
        if hours > 23 || minutes > 59 || seconds > 59 {
            return None;
        }
        let all = days.checked_mul(86_400)?.checked_add(hours * 3600 + minutes * 60 + seconds)?;
        return Some(Duration::from_secs(all));
    }
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    let (count, unit) = text.split_at_checked(digits)?;
    let count = number(count)?;
    Some(match unit {
        "ms" => Duration::from_millis(count),
        "" | "s" => Duration::from_secs(count),
        "m" => Duration::from_secs(count.checked_mul(60)?),
        "h" => Duration::from_secs(count.checked_mul(3600)?),
        _ => return None,
    })
}

/// Digits only: no sign.
fn number(text: &str) -> Option<u64> {
    text.bytes().all(|byte| byte.is_ascii_digit()).then(|| text.parse().ok())?
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn duration_has_units_or_colons() {
        for (text, milliseconds) in [
            ("0", 0),
            ("10", 10_000),
            ("10s", 10_000),
            ("1500ms", 1500),
            ("2m", 120_000),
            ("1h", 3_600_000),
            ("00:00:10", 10_000),
            ("1:02:03", 3_723_000),
            ("00:00:00:10", 10_000),
            ("2:00:00:00", 172_800_000),
        ] {
            assert_eq!(duration(text), Ok(Duration::from_millis(milliseconds)), "{text}");
        }
    }

    /// Minutes and seconds here, hours and minutes in .NET: neither is guessed.
    #[test]
    fn duration_that_is_not_clear_is_refused() {
        for text in [
            "",
            "s",
            "+1",
            "-1",
            "1.5",
            "10 s",
            "10d",
            "00:10",
            "24:00:00",
            "00:60:00",
            "00:00:60",
            "1:2:3:4:5",
            "00::10",
            "99999999999999999999",
            "18446744073709551615h",
        ] {
            assert!(duration(text).unwrap_err().starts_with("expected seconds"), "{text}");
        }
    }
}
