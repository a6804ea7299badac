//! The commands, one file each, and what they share.

pub(crate) mod adapter;
pub(crate) mod address;
pub(crate) mod call;
#[cfg(unix)]
pub(crate) mod capture;
pub(crate) mod causes;
pub(crate) mod check;
pub(crate) mod client;
pub(crate) mod codec;
pub(crate) mod colours;
pub(crate) mod completions;
pub(crate) mod decode;
pub(crate) mod dump;
pub(crate) mod encode;
pub(crate) mod env;
pub(crate) mod explain;
pub(crate) mod fuzz_server;
pub(crate) mod grammar;
#[cfg(unix)]
pub(crate) mod hurry;
pub(crate) mod info;
pub(crate) mod input;
pub(crate) mod interrupt;
pub(crate) mod man;
pub(crate) mod output;
pub(crate) mod output_file;
#[cfg(unix)]
pub(crate) mod owner;
pub(crate) mod printable;
pub(crate) mod proxy;
pub(crate) mod ps;
#[cfg(unix)]
pub(crate) mod recording;
pub(crate) mod replay;
pub(crate) mod report;
pub(crate) mod runtime;
pub(crate) mod scripts;
pub(crate) mod server;
pub(crate) mod target;
pub(crate) mod trace;
pub(crate) mod trace_output;
pub(crate) mod trace_provider;
pub(crate) mod vectors;

/// The result of a command.
pub(crate) enum Outcome {
    Well,
    /// Malformed input, or a failed check.
    Faulty,
    /// A target that does not exist, or no longer answers.
    Lost,
    /// This signal ended it early.
    Interrupted(i32),
}
