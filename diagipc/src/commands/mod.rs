//! The commands, a file or directory each, and what they share.

pub(crate) mod dump;
pub(crate) mod env;
pub(crate) mod info;
pub(crate) mod interrupt;
pub(crate) mod kit;
pub(crate) mod named;
pub(crate) mod output_file;
#[cfg(unix)]
pub(crate) mod owner;
pub(crate) mod printable;
pub(crate) mod ps;
pub(crate) mod target;
pub(crate) mod trace;
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
