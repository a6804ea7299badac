//! The commands, one file each, and what they share.

#[cfg(feature = "kit")]
pub(crate) mod adapter;
#[cfg(feature = "kit")]
pub(crate) mod address;
#[cfg(feature = "kit")]
pub(crate) mod call;
#[cfg(all(feature = "kit", unix))]
pub(crate) mod capture;
#[cfg(feature = "kit")]
pub(crate) mod check;
#[cfg(feature = "kit")]
pub(crate) mod client;
#[cfg(feature = "kit")]
pub(crate) mod codec;
#[cfg(feature = "kit")]
pub(crate) mod colours;
#[cfg(feature = "kit")]
pub(crate) mod completions;
#[cfg(feature = "kit")]
pub(crate) mod decode;
pub(crate) mod dump;
pub(crate) mod duration;
#[cfg(feature = "kit")]
pub(crate) mod encode;
pub(crate) mod env;
#[cfg(feature = "kit")]
pub(crate) mod explain;
#[cfg(feature = "kit")]
pub(crate) mod fuzz_server;
#[cfg(feature = "kit")]
pub(crate) mod grammar;
#[cfg(all(feature = "kit", unix))]
pub(crate) mod hurry;
pub(crate) mod info;
#[cfg(feature = "kit")]
pub(crate) mod input;
pub(crate) mod interrupt;
#[cfg(feature = "kit")]
pub(crate) mod kit;
#[cfg(feature = "kit")]
pub(crate) mod man;
pub(crate) mod named;
#[cfg(feature = "kit")]
pub(crate) mod output;
pub(crate) mod output_file;
#[cfg(unix)]
pub(crate) mod owner;
pub(crate) mod printable;
#[cfg(feature = "kit")]
pub(crate) mod proxy;
pub(crate) mod ps;
#[cfg(all(feature = "kit", unix))]
pub(crate) mod recording;
#[cfg(feature = "kit")]
pub(crate) mod replay;
#[cfg(feature = "kit")]
pub(crate) mod report;
#[cfg(feature = "kit")]
pub(crate) mod runtime;
#[cfg(feature = "kit")]
pub(crate) mod scripts;
#[cfg(feature = "kit")]
pub(crate) mod server;
pub(crate) mod target;
#[cfg(feature = "kit")]
pub(crate) mod text;
pub(crate) mod trace;
pub(crate) mod trace_arguments;
pub(crate) mod trace_events;
pub(crate) mod trace_output;
pub(crate) mod trace_progress;
pub(crate) mod trace_provider;
pub(crate) mod trace_session;
pub(crate) mod traced;
#[cfg(feature = "kit")]
pub(crate) mod vectors;
pub(crate) mod written;

/// The result of a command.
#[derive(Debug)]
pub(crate) enum Outcome {
    Well,
    /// Malformed input, or a failed check.
    Faulty,
    /// A target that does not exist, or no longer answers.
    Lost,
    /// This signal ended it early.
    Interrupted(i32),
    /// It ends with the status of a command that it ran.
    Status(i32),
}

impl Outcome {
    /// The exit status of an error.
    pub(crate) const FAILURE: i32 = 2;

    /// The exit status.
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
