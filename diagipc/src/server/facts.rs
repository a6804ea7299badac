//! The observations of playing a case, without a verdict.

use std::time::Duration;

use dotnet_diagnostics_ipc_vectors::player::{Conversation, Difference, Failure, PlayerError};
use dotnet_diagnostics_ipc_vectors::script::{Deviation, Step};

use super::Death;
use super::abilities::Lack;
use super::request::Reaction;
use crate::conversation::{Exchanges, FaultSeen};

pub(super) struct CaseFacts<'c> {
    pub(super) end: PlayEnd<'c>,
    pub(super) conversation: Conversation,
    pub(super) exchanges: Exchanges,
    /// The faults of its replies and of their content, collected while the process is alive.
    pub(super) faults: Vec<FaultSeen>,
    /// How the target ended, if it ended while the case was played.
    pub(super) death: Option<Death>,
    /// How a shared target ended, if it ended before the case was over.
    pub(super) death_after: Option<Death>,
    /// The end of the target's standard error, if the target ended.
    pub(super) last_words: String,
    /// Why the target does not answer after the case; `None` if it does.
    pub(super) hangs: Option<String>,
    pub(super) took: Duration,
    /// Whether the target did something other than the case expects, even if it is known to.
    pub(super) fails: bool,
}

pub(super) enum PlayEnd<'c> {
    /// The case was not played because the target lacks a requirement.
    Lacks(Lack),
    /// The case was not played because no target was started.
    NotStarted(String),
    /// The case cannot be played on this machine.
    Unavailable(String),
    NotSent(Difference),
    Reacted(Reaction),
    /// A script was played as written, or as in a known deviation.
    AsWritten(Option<&'c Deviation>),
    Differs(Failure, Option<&'c Step>),
}

impl CaseFacts<'_> {
    /// Returns the facts about a case that was not played.
    pub(super) fn unplayed(end: PlayEnd<'_>) -> CaseFacts<'_> {
        CaseFacts {
            end,
            conversation: Conversation::default(),
            exchanges: Exchanges::default(),
            faults: Vec::new(),
            death: None,
            death_after: None,
            last_words: String::new(),
            hangs: None,
            took: Duration::ZERO,
            fails: true,
        }
    }

    /// Whether the case ended with a time-out.
    pub(super) fn has_timed_out(&self) -> bool {
        let by_time = match &self.end {
            PlayEnd::NotStarted(_) => true,
            PlayEnd::NotSent(difference) => difference.is_time_out(),
            PlayEnd::Differs(Failure { trouble: PlayerError::Differs(difference), .. }, step) => {
                // These steps report a time-out as text.
                let waits = matches!(
                    step,
                    Some(
                        Step::Open(_)
                            | Step::Send(_)
                            | Step::ExpectEvent(_)
                            | Step::ExpectTarget(_)
                            | Step::ExpectSocket(_)
                            | Step::ExpectFile(_)
                    )
                );
                difference.is_time_out() || waits && matches!(difference, Difference::Other(_))
            }
            _ => false,
        };
        by_time || self.hangs.is_some()
    }
}
