//! The commands, a file or directory each, and what they share.

/// Writes the table of a command's exit statuses for `--help`, from its rows.
macro_rules! exit_statuses {
    ($($row:literal),* $(,)?) => { concat!("Exit status:", $("\n  ", $row),*) };
}
pub(crate) use exit_statuses;

#[cfg(unix)]
mod backlog;
mod call;
mod check;
mod client;
mod codec;
mod decode;
mod dev;
mod dump;
mod duration;
mod encode;
mod env;
mod event_names;
mod explain;
mod explained_names;
mod fuzz_server;
mod info;
pub(crate) mod interrupt;
mod list;
mod output;
mod output_file;
pub(crate) mod printable;
mod process_root;
#[cfg(unix)]
mod proxy;
mod ps;
#[cfg(unix)]
mod recording;
mod refusal;
#[cfg(unix)]
mod replay;
mod report;
mod runtime;
mod runtime_info;
mod server;
pub(crate) mod target;
mod text;
mod trace;
mod trace_file;

use std::io::Write;

use clap::Subcommand;

#[derive(Subcommand)]
#[allow(clippy::large_enum_variant, reason = "only one value exists")]
// The text of a command is the comment of its `Arguments`, which a comment here would replace.
pub(crate) enum Command {
    Ps(ps::Arguments),
    Info(info::Arguments),
    Env(env::Arguments),
    Trace(trace::Arguments),
    Dump(dump::Arguments),
    /// Ends what another `diagipc` has started, once that is gone
    #[cfg(unix)]
    #[command(hide = true)]
    Watcher,
    Check(check::Arguments),
    Codec(codec::Arguments),
    Server(server::Arguments),
    Client(client::Arguments),
    FuzzServer(fuzz_server::Arguments),
    /// Plays a process that is diagnosed
    #[cfg(unix)]
    #[command(hide = true)]
    StandIn,
    #[command(hide = true)]
    Call(call::Arguments),
    /// Answers the questions of `codec` with this codec
    #[command(hide = true)]
    Adapter,
    Report(report::Arguments),
    Explain(explain::Arguments),
    Decode(decode::Arguments),
    Encode(encode::Arguments),
    Runtime(runtime::Arguments),
    /// Lists the test cases, vectors, exchange scripts or faults, and exports the vectors
    List(list::Arguments),
    #[cfg(unix)]
    Proxy(proxy::Arguments),
    #[cfg(unix)]
    Replay(replay::Arguments),
    /// Prints the grammar, completions, manual pages and seeds for fuzzers
    #[command(hide = true)]
    Dev(dev::Arguments),
}

pub(crate) fn run(
    command: &Command,
    program: fn() -> clap::Command,
    out: &mut dyn Write,
) -> anyhow::Result<Outcome> {
    match command {
        Command::Ps(arguments) => ps::run(arguments, out),
        Command::Info(arguments) => info::run(arguments, out),
        Command::Env(arguments) => env::run(arguments, out),
        Command::Trace(arguments) => trace::run(arguments, out),
        Command::Dump(arguments) => dump::run(arguments, out),
        #[cfg(unix)]
        Command::Watcher => interrupt::watch(),
        Command::Check(arguments) => check::run(arguments, out),
        Command::Codec(arguments) => codec::run(arguments, out),
        Command::Server(arguments) => server::run(arguments, out),
        Command::Client(arguments) => client::run(arguments, out),
        Command::FuzzServer(arguments) => fuzz_server::run(arguments, out),
        #[cfg(unix)]
        Command::StandIn => client::stand_in(),
        Command::Call(arguments) => call::run(arguments, out),
        Command::Adapter => dev::adapter(out),
        Command::Report(arguments) => report::run(arguments, out),
        Command::Explain(arguments) => explain::run(arguments, out),
        Command::Decode(arguments) => decode::run(arguments, out),
        Command::Encode(arguments) => encode::run(arguments, out),
        Command::Runtime(arguments) => runtime::run(arguments, out),
        Command::List(arguments) => list::run(arguments, out),
        #[cfg(unix)]
        Command::Proxy(arguments) => proxy::run(arguments, out),
        #[cfg(unix)]
        Command::Replay(arguments) => replay::run(arguments, out),
        Command::Dev(arguments) => dev::run(arguments, program(), out),
    }
}

/// The result of a command.
#[derive(Debug)]
pub(crate) enum Outcome {
    Well,
    /// Malformed input, or a failed check.
    Faulty,
    /// A target that does not exist, or no longer answers.
    Lost,
    /// A signal ended the command early.
    Interrupted(i32),
    /// This program ends with the status of a command that it ran.
    Status(i32),
}

impl Outcome {
    /// The exit status of an error.
    pub(crate) const FAILURE: i32 = 2;

    pub(crate) fn status(&self) -> i32 {
        match self {
            Self::Well => 0,
            Self::Faulty => 1,
            Self::Lost => 3,
            Self::Interrupted(signal) => interrupt::status(*signal),
            Self::Status(status) => *status,
        }
    }
}
