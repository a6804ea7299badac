//! `diagipc`: shows messages of the .NET Diagnostic IPC Protocol, and checks the codec against the
//! golden vectors.

mod commands;

use std::io::{self, BufWriter, Write};
use std::process::ExitCode;

use clap::{CommandFactory as _, FromArgMatches as _, Parser, Subcommand};
use commands::{
    Outcome, adapter, call, check, client, codec, completions, decode, dump, encode, env, explain,
    fuzz_server, grammar, info, interrupt, man, printable, proxy, ps, replay, report, runtime,
    scripts, server, trace, vectors,
};

/// Shows messages of the .NET Diagnostic IPC Protocol, and checks the codec against golden vectors.
#[derive(Parser)]
#[command(
    name = "diagipc",
    version,
    after_help = "Exit status: 0 success, 1 malformed input or failed checks, 2 usage error, or a file that cannot be read or written, 3 a target that cannot be reached, or is lost, 129, 130 or 143 interrupted by SIGHUP, SIGINT or SIGTERM."
)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Lists the processes on this machine that can be diagnosed
    Ps(ps::Arguments),
    /// Shows what a process reports about itself
    Info(info::Arguments),
    /// Shows the environment of a process
    Env(env::Arguments),
    /// Traces a process into a .nettrace file
    Trace(trace::Arguments),
    /// Makes a process write a dump of itself
    Dump(dump::Arguments),
    /// Checks this codec against every golden vector
    Check(check::Arguments),
    /// Checks a codec in any language against all golden vectors
    Codec(codec::Arguments),
    /// Checks a live diagnostic server against the protocol
    Server(server::Arguments),
    /// Checks a diagnostic client against the protocol
    Client(client::Arguments),
    /// Sends mutated requests to a live diagnostic server
    FuzzServer(fuzz_server::Arguments),
    /// Plays a process that is diagnosed
    #[cfg(unix)]
    #[command(hide = true)]
    StandIn,
    /// Ends what another `diagipc` has started, when that is gone
    #[cfg(unix)]
    #[command(hide = true)]
    Watcher,
    /// A client of all commands
    #[command(hide = true)]
    Call(call::Arguments),
    /// Answers the questions of `codec` with this codec
    #[command(hide = true)]
    Adapter(adapter::Arguments),
    /// Compares the reports of several runs
    Report(report::Arguments),
    /// Explains a case, vector, script, fact, fault, flag or word in a report
    Explain(explain::Arguments),
    /// Shows the meaning of bytes: an annotated dump, or JSON
    Decode(decode::Arguments),
    /// Creates bytes from the JSON that `decode --json` prints
    Encode(encode::Arguments),
    /// Plays a runtime, for testing clients: a correct one, or one with a fault
    Runtime(runtime::Arguments),
    /// Prints the grammar of every message for other languages and tools
    Grammar(grammar::Arguments),
    /// Lists or exports the golden vectors
    Vectors(vectors::Arguments),
    /// Lists the exchange scripts: whole conversations
    Scripts(scripts::Arguments),
    /// Forwards between clients and a runtime, and records their messages
    #[command(alias = "record")]
    Proxy(proxy::Arguments),
    /// Plays a recorded conversation, or any exchange script, to a runtime or a client
    Replay(replay::Arguments),
    /// Prints completions for a shell
    Completions(completions::Arguments),
    /// Writes the manual pages
    Man(man::Arguments),
}

/// The commands by what they are for, as `--help` lists them.
const GROUPS: [(&str, &[&str]); 5] = [
    ("Ask a process", &["ps", "info", "env", "trace", "dump"]),
    (
        "Test an implementation",
        &["server", "client", "codec", "fuzz-server", "check", "report", "explain"],
    ),
    ("Stand between or in place of others", &["runtime", "proxy", "replay"]),
    ("Look at bytes and test data", &["decode", "encode", "vectors", "scripts", "grammar"]),
    ("Set up", &["completions", "man"]),
];

/// The command line.
fn command() -> clap::Command {
    let command = Arguments::command();
    let line = |name: &&str| {
        let about = command.find_subcommand(name).and_then(clap::Command::get_about);
        format!("  {name:<11}  {}\n", about.map(ToString::to_string).unwrap_or_default())
    };
    let group = |(title, names): (&str, &[&str])| {
        format!("{title}:\n{}\n", names.iter().map(line).collect::<String>())
    };
    let groups: String = GROUPS.into_iter().map(group).collect();
    command.help_template(format!(
        "{{about-with-newline}}\n{{usage-heading}} {{usage}}\n\n{groups}Options:\n{{options}}{{after-help}}"
    ))
}

fn main() -> ExitCode {
    let arguments =
        Arguments::from_arg_matches(&command().get_matches()).unwrap_or_else(|error| error.exit());
    let mut out = BufWriter::new(io::stdout().lock());
    let outcome = match &arguments.command {
        Command::Ps(arguments) => ps::run(arguments, &mut out),
        Command::Info(arguments) => info::run(arguments, &mut out),
        Command::Env(arguments) => env::run(arguments, &mut out),
        Command::Trace(arguments) => trace::run(arguments, &mut out),
        Command::Dump(arguments) => dump::run(arguments, &mut out),
        Command::Check(arguments) => check::run(arguments, &mut out),
        Command::Codec(arguments) => codec::run(arguments, &mut out),
        Command::Server(arguments) => server::run(arguments, &mut out),
        Command::Client(arguments) => client::run(arguments, &mut out),
        Command::FuzzServer(arguments) => fuzz_server::run(arguments, &mut out),
        #[cfg(unix)]
        Command::StandIn => client::stand_in(),
        #[cfg(unix)]
        Command::Watcher => commands::owner::watch(),
        Command::Call(arguments) => call::run(arguments, &mut out),
        Command::Adapter(arguments) => adapter::run(arguments, &mut out),
        Command::Report(arguments) => report::run(arguments, &mut out),
        Command::Explain(arguments) => explain::run(arguments, &mut out),
        Command::Decode(arguments) => decode::run(arguments, &mut out),
        Command::Encode(arguments) => encode::run(arguments, &mut out),
        Command::Runtime(arguments) => runtime::run(arguments, &mut out),
        Command::Grammar(arguments) => grammar::run(arguments, &mut out),
        Command::Vectors(arguments) => vectors::run(arguments, &mut out),
        Command::Scripts(arguments) => scripts::run(arguments, &mut out),
        Command::Proxy(arguments) => proxy::run(arguments, &mut out),
        Command::Replay(arguments) => replay::run(arguments, &mut out),
        Command::Completions(arguments) => {
            completions::run(arguments, &mut Arguments::command(), &mut out);
            Ok(Outcome::Well)
        }
        Command::Man(arguments) => man::run(arguments, Arguments::command(), &mut out),
    };
    // A report has them already.
    #[cfg(unix)]
    if let Some(ended) = diagipc::ended_orphans() {
        let _ = writeln!(io::stderr(), "diagipc: {}", printable::plain(&ended));
    }
    match outcome.and_then(|outcome| out.flush().map(|()| outcome).map_err(Into::into)) {
        Ok(Outcome::Well) => ExitCode::SUCCESS,
        Ok(Outcome::Faulty) => ExitCode::from(1),
        Ok(Outcome::Lost) => ExitCode::from(3),
        Ok(Outcome::Interrupted(signal)) => ExitCode::from(interrupt::status(signal)),
        // The reader of our output closed it, as `head` does.
        Err(error) if has_kind(&error, io::ErrorKind::BrokenPipe) => ExitCode::SUCCESS,
        Err(error) => {
            // Standard error may be closed too.
            let _ = writeln!(
                io::stderr(),
                "diagipc: {}",
                printable::printable_lines(&format!("{error:#}"))
            );
            // By a signal, while an output's reader was awaited.
            let signal =
                interrupt::signal().filter(|_| has_kind(&error, io::ErrorKind::Interrupted));
            ExitCode::from(signal.map_or(2, interrupt::status))
        }
    }
}

/// Whether it is or wraps an error of this kind.
fn has_kind(error: &anyhow::Error, wanted: io::ErrorKind) -> bool {
    let kind = |cause: &(dyn std::error::Error + 'static)| {
        let of_json =
            cause.downcast_ref::<serde_json::Error>().and_then(serde_json::Error::io_error_kind);
        of_json.or_else(|| cause.downcast_ref::<io::Error>().map(io::Error::kind))
    };
    error.chain().any(|cause| kind(cause) == Some(wanted))
}
