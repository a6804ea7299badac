//! `diagipc`: asks .NET processes over the .NET Diagnostic IPC Protocol, and tests its servers,
//! clients and codecs.

mod commands;
mod help;

use std::io::{self, BufWriter, Write};
use std::process;

use clap::error::{ContextKind, ContextValue};
use clap::{CommandFactory as _, FromArgMatches as _, Parser};
use commands::{Command, Outcome, exit_statuses, interrupt, printable, target};

/// Diagnoses .NET processes over the .NET Diagnostic IPC Protocol, and tests servers, clients and
/// codecs of that protocol.
#[derive(Parser)]
#[command(
    name = "diagipc",
    version,
    after_long_help = exit_statuses!(
        "0      success",
        "1      malformed input, or failed checks",
        "2      usage error, or a file that cannot be read or written",
        "3      a target that cannot be reached, or is lost",
        "128+n  interrupted by signal n: SIGHUP, SIGINT or SIGTERM",
    )
)]
struct Arguments {
    #[command(subcommand)]
    command: Command,

    /// Trust directories that other users own or can write to
    ///
    /// Use it for a volume that the containers of a pod share. The owners of sockets and processes are
    /// still checked.
    #[arg(long, global = true)]
    shared_directory: bool,

    /// Allow TCP addresses of other machines
    ///
    /// The protocol has no authentication: whoever reaches such an address controls the process.
    #[arg(long, global = true)]
    any_address: bool,
}

/// Commands of other tools, and what to use instead.
const ELSEWHERE: [(&[&str], &str); 5] = [
    (&["collect"], "`diagipc trace TARGET` collects a trace"),
    (
        &["counters", "monitor"],
        "`dotnet-counters monitor --process-id PID` shows counters; `diagipc trace TARGET -p System.Runtime:0:4:EventCounterIntervalSec=1` has them as events",
    ),
    (
        &["convert", "speedscope"],
        "`dotnet-trace convert FILE --format Speedscope` converts a trace",
    ),
    (&["topn"], "`dotnet-trace report FILE topN` shows where the time goes"),
    (
        &["analyze", "stack", "stacks"],
        "`dotnet-dump analyze FILE` shows the stacks and objects of a dump",
    ),
];

/// Adds to the error of an unknown command what to use instead, if another tool has the command.
fn with_route(mut error: clap::Error) -> clap::Error {
    let route = match error.get(ContextKind::InvalidSubcommand) {
        Some(ContextValue::String(name)) => {
            let name = name.to_lowercase();
            ELSEWHERE.iter().find(|(names, _)| names.contains(&name.as_str()))
        }
        _ => None,
    };
    if let Some((_, route)) = route {
        let tip = ContextValue::StyledStrs(vec![(*route).into()]);
        error.insert(ContextKind::Suggested, tip);
        error.remove(ContextKind::SuggestedSubcommand);
    }
    error
}

/// Standard output. Once its reader has closed it, as `head` does, the rest is discarded, and the
/// status stays that of the command.
struct Discarding<W>(W);

impl<W: Write> Write for Discarding<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.write(bytes).or_else(|error| if_closed(error, bytes.len()))
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush().or_else(|error| if_closed(error, ()))
    }
}

fn if_closed<T>(error: io::Error, value: T) -> io::Result<T> {
    if error.kind() == io::ErrorKind::BrokenPipe { Ok(value) } else { Err(error) }
}

fn main() -> ! {
    let matches = help::with_groups(Arguments::command()).try_get_matches();
    let arguments = matches.and_then(|matches| Arguments::from_arg_matches(&matches));
    let arguments = arguments.unwrap_or_else(|error| with_route(error).exit());
    if arguments.shared_directory {
        diagipc::network::trust_shared_directories();
    }
    if arguments.any_address {
        diagipc::network::allow_any_address();
    }
    let mut out = BufWriter::new(Discarding(io::stdout().lock()));
    let outcome = commands::run(&arguments.command, Arguments::command, &mut out);
    // A report has already taken them.
    printable::say_leftovers();
    // Output that was printed before an error is flushed too.
    let flushed = out.flush();
    match outcome.and_then(|outcome| flushed.map(|()| outcome).map_err(Into::into)) {
        // On Windows a status has 32 bits, and an ExitCode 8.
        Ok(outcome) => process::exit(outcome.status()),
        Err(error) => {
            printable::say(&format!("diagipc: {}", target::advised(&error)));
            // A signal may have come while the command waited for an output's reader.
            let signal =
                interrupt::signal().filter(|_| has_kind(&error, io::ErrorKind::Interrupted));
            process::exit(signal.map_or(Outcome::FAILURE, interrupt::status))
        }
    }
}

/// Returns whether the error is or wraps an error of this kind.
fn has_kind(error: &anyhow::Error, wanted: io::ErrorKind) -> bool {
    let kind = |cause: &(dyn std::error::Error + 'static)| {
        let of_json =
            cause.downcast_ref::<serde_json::Error>().and_then(serde_json::Error::io_error_kind);
        of_json.or_else(|| cause.downcast_ref::<io::Error>().map(io::Error::kind))
    };
    error.chain().any(|cause| kind(cause) == Some(wanted))
}
