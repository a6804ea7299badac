//! What a run may do, and how it judges.

use alloc::vec::Vec;
use core::num::NonZeroUsize;
use core::time::Duration;

use super::Claims;
use crate::conformance::Glob;
use crate::conformance::known::Profile;
use crate::io::Canceller;
use crate::io::trust::TrustPolicy;

/// What a run may do, and how it judges. The default allows nothing that changes or harms a target.
#[derive(Clone, Debug)]
#[allow(clippy::struct_excessive_bools, reason = "each is a switch of its own")]
pub struct Options {
    /// What the target is held to; `None`: what it is found to be.
    pub profile: Option<Profile>,
    /// Also what changes a target: dumps, profilers, variables, perf maps, hooks, resumes.
    pub allow_side_effects: bool,
    /// Also what may kill, wedge or exhaust it.
    pub allow_harmful: bool,
    /// How long a step may take that does not say it itself; `None`: what the script's file says.
    pub within: Option<Duration>,
    /// What its author says that it has; the rest is found out by asking.
    pub claims: Claims,
    /// Of a hundred cases that the target claims, at least so many must be judged, or the run is no pass.
    pub min_judged: u8,
    /// Which owners of a socket are trusted, and what else is looked at before a byte is sent.
    pub trust: TrustPolicy,
    /// The first failure ends the run.
    pub fail_fast: bool,
    /// No case is begun after this time.
    pub max_time: Option<Duration>,
    /// The cases whose lack is a failure.
    pub require: Vec<Glob>,
    /// Where a script hands over `user_events_data`: a socket in place of this system's file. The target must be told to take it.
    pub stand_in_for_user_events: bool,
    /// How many targets are started beside each other. A target that is not started here is one, and has one case after another (F-75).
    pub jobs: NonZeroUsize,
    /// What ends the run early: the report then says that it was interrupted, and how many cases were not run.
    pub canceller: Option<Canceller>,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            profile: None,
            allow_side_effects: false,
            allow_harmful: false,
            within: None,
            claims: Claims::default(),
            min_judged: Self::MIN_JUDGED,
            trust: TrustPolicy::CHECKED,
            fail_fast: false,
            max_time: None,
            require: Vec::new(),
            stand_in_for_user_events: false,
            jobs: NonZeroUsize::MIN,
            canceller: None,
        }
    }
}

impl Options {
    /// The part of the cases that must be judged where nothing else is said, in per cent.
    pub const MIN_JUDGED: u8 = 10;

    pub(super) fn is_cancelled(&self) -> bool {
        self.canceller.as_ref().is_some_and(Canceller::is_cancelled)
    }
}
