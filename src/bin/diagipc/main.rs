//! `diagipc`: looks into messages of the .NET Diagnostic IPC Protocol, and checks the codec against the golden vectors.

mod adapter;
#[cfg(unix)]
mod call;
mod causes;
mod check;
#[cfg(unix)]
mod client;
mod codec;
mod colours;
mod decode;
mod dump;
mod encode;
mod explain;
#[cfg(any(unix, windows))]
mod fuzz_server;
mod input;
mod interrupt;
mod items;
mod output;
#[cfg(any(unix, windows))]
mod place;
mod printable;
mod proxy;
mod record;
mod replay;
mod report;
mod runtime;
mod scripts;
#[cfg(any(unix, windows))]
mod server;
mod vectors;

use std::io::{self, BufWriter, Write};
use std::process::ExitCode;

use clap::{Parser, Subcommand};

/// Looks into messages of the .NET Diagnostic IPC Protocol, and checks the codec against golden vectors.
#[derive(Parser)]
#[command(
    version,
    after_help = "Exit status: 0 all is well, 1 malformed input or failed checks, 2 usage, or a file that cannot be read or written, 3 a target that cannot be reached, or is lost, 130 or 143 interrupted by SIGINT or SIGTERM."
)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Checks this codec against every golden vector
    Check(check::Arguments),
    /// Asks a codec in any language everything that the golden vectors know
    Codec(codec::Arguments),
    /// Holds a live diagnostic server to the protocol
    #[cfg(any(unix, windows))]
    Server(server::Arguments),
    /// Holds a diagnostic client to the protocol
    #[cfg(unix)]
    Client(client::Arguments),
    /// Sends mutated requests to a live diagnostic server
    #[cfg(any(unix, windows))]
    FuzzServer(fuzz_server::Arguments),
    /// Stands for a process that is diagnosed
    #[cfg(unix)]
    #[command(hide = true)]
    StandIn,
    /// A client of all commands
    #[cfg(unix)]
    #[command(hide = true)]
    Call(call::Arguments),
    /// Answers the questions of `codec` with this codec
    #[command(hide = true)]
    Adapter(adapter::Arguments),
    /// Puts the reports of several runs side by side
    Report(report::Arguments),
    /// Explains a case, fact, fault, flag or word that a report names
    Explain(explain::Arguments),
    /// Shows what bytes say: an annotated dump, or JSON
    Decode(decode::Arguments),
    /// Makes bytes from the JSON that `decode --json` prints
    Encode(encode::Arguments),
    /// Is a runtime, for those who test clients: one that behaves, or does something wrong
    Runtime(runtime::Arguments),
    /// Lists, shows or exports the golden vectors
    Vectors(vectors::Arguments),
    /// Lists or shows the exchange scripts: whole conversations
    Scripts(scripts::Arguments),
    /// Records what a client and a runtime say to each other, as exchange scripts
    Record(record::Arguments),
    /// Stands between clients and a runtime, and says what goes over
    Proxy(proxy::Arguments),
    /// Plays a recorded conversation, or any exchange script, to a runtime or a client
    Replay(replay::Arguments),
}

/// What a command found.
enum Outcome {
    Well,
    /// Malformed input, or a failed check.
    Faulty,
    /// A target that is not there, or does not answer any more.
    Lost,
    /// This signal ended it before it was done.
    Interrupted(i32),
}

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    let mut out = BufWriter::new(io::stdout().lock());
    let outcome = match &arguments.command {
        Command::Check(arguments) => check::run(arguments, &mut out),
        Command::Codec(arguments) => codec::run(arguments, &mut out),
        #[cfg(any(unix, windows))]
        Command::Server(arguments) => server::run(arguments, &mut out),
        #[cfg(unix)]
        Command::Client(arguments) => client::run(arguments, &mut out),
        #[cfg(any(unix, windows))]
        Command::FuzzServer(arguments) => fuzz_server::run(arguments, &mut out),
        #[cfg(unix)]
        Command::StandIn => client::stand_in(),
        #[cfg(unix)]
        Command::Call(arguments) => call::run(arguments, &mut out),
        Command::Adapter(arguments) => adapter::run(arguments, &mut out),
        Command::Report(arguments) => report::run(arguments, &mut out),
        Command::Explain(arguments) => explain::run(arguments, &mut out),
        Command::Decode(arguments) => decode::run(arguments, &mut out),
        Command::Encode(arguments) => encode::run(arguments, &mut out),
        Command::Runtime(arguments) => runtime::run(arguments, &mut out),
        Command::Vectors(arguments) => vectors::run(arguments, &mut out),
        Command::Scripts(arguments) => scripts::run(arguments, &mut out),
        Command::Record(arguments) => record::run(arguments, &mut out),
        Command::Proxy(arguments) => proxy::run(arguments, &mut out),
        Command::Replay(arguments) => replay::run(arguments, &mut out),
    };
    match outcome.and_then(|outcome| out.flush().map(|()| outcome).map_err(Into::into)) {
        Ok(Outcome::Well) => ExitCode::SUCCESS,
        Ok(Outcome::Faulty) => ExitCode::from(1),
        Ok(Outcome::Lost) => ExitCode::from(3),
        Ok(Outcome::Interrupted(signal)) => ExitCode::from(interrupt::status(signal)),
        Err(error) if is_closed_pipe(&error) => ExitCode::SUCCESS,
        Err(error) => {
            // Standard error may be closed as well.
            let _ = writeln!(io::stderr(), "diagipc: {}", printable::printable_lines(&format!("{error:#}")));
            ExitCode::from(2)
        }
    }
}

/// Whether the reader of our output went away, as `head` does.
fn is_closed_pipe(error: &anyhow::Error) -> bool {
    let kind = |cause: &(dyn std::error::Error + 'static)| {
        let of_json = cause.downcast_ref::<serde_json::Error>().and_then(serde_json::Error::io_error_kind);
        of_json.or_else(|| cause.downcast_ref::<io::Error>().map(io::Error::kind))
    };
    error.chain().any(|cause| kind(cause) == Some(io::ErrorKind::BrokenPipe))
}
