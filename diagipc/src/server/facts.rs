//! What playing a case showed, without a verdict.

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
    /// The faults of its replies, in what they say too: looked for while the process lives.
    pub(super) faults: Vec<FaultSeen>,
    /// How the target ended, if it did while the case was played.
    pub(super) death: Option<Death>,
    /// How a target that other cases share ended, if it did until the case was over.
    pub(super) death_after: Option<Death>,
    /// The end of its standard error, if it ended.
    pub(super) last_words: String,
    /// Why the target no longer answers after the case, if it does not.
    pub(super) hangs: Option<String>,
    pub(super) took: Duration,
    /// Whether the target did not do what the case expects, whatever is known of it.
    pub(super) fails: bool,
}

pub(super) enum PlayEnd<'c> {
    /// It was not played: the target lacks a requirement.
    Lacks(Lack),
    /// It was not played: no target was started.
    NotStarted(String),
    /// It cannot be played on this machine.
    Unavailable(String),
    NotSent(Difference),
    Reacted(Reaction),
    /// A script went as written, or as in a known deviation.
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

    /// Whether the case ended because something did not come in time.
    pub(super) fn has_timed_out(&self) -> bool {
        let by_time = match &self.end {
            PlayEnd::NotStarted(_) => true,
            PlayEnd::NotSent(difference) => difference.is_time_out(),
            PlayEnd::Differs(Failure { trouble: PlayerError::Differs(difference), .. }, step) => {
                // What these wait for is told in words.
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
