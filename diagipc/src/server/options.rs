//! What a run may do, and how it judges.

use std::num::NonZeroUsize;
use std::time::Duration;

use dotnet_diagnostics_ipc::io::Canceller;
use dotnet_diagnostics_ipc::io::trust::TrustPolicy;

use super::Claims;
use crate::known::Profile;
use crate::{Glob, TooFewJudged};

/// What a run may do, and how it judges. The default allows nothing that changes or harms a target.
#[derive(Clone, Debug)]
#[allow(clippy::struct_excessive_bools, reason = "each is a switch of its own")]
pub struct Options {
    /// The target's profile; `None`: find it out.
    pub profile: Option<Profile>,
    /// Allow side effects: dumps, profilers, variables, perf maps, hooks, resumes.
    pub allow_side_effects: bool,
    /// Allow requests that may kill, block or exhaust it.
    pub allow_harmful: bool,
    /// If the suite starts the target: harmful requests share it, as all others do, and a new one is
    /// started once it has died.
    pub keep_target: bool,
    /// Look for what a server should not do though no rule forbids it, which takes seconds.
    pub finds_weaknesses: bool,
    /// The default time limit of a step; `None`: that of the script's file.
    pub within: Option<Duration>,
    /// What the target's author declares; the rest is found out by asking.
    pub claims: Claims,
    /// The percentage of the claimed cases that must be judged, or the run does not pass.
    pub min_judged: u8,
    /// Which owners of a socket are trusted, and the other checks before a byte is sent.
    pub trust: TrustPolicy,
    /// The first failure ends the run.
    pub fail_fast: bool,
    /// No case is started after this time: a run ends, whatever its target does.
    pub max_time: Option<Duration>,
    /// The cases that fail if unsupported.
    pub require: Vec<Glob>,
    /// If a script passes `user_events_data`: a socket instead of this system's file. The target
    /// must be instructed to accept it.
    pub stand_in_for_user_events: bool,
    /// How many targets run at a time. A target that is not started by the suite is one, and has
    /// one case after another (F-75).
    pub jobs: NonZeroUsize,
    /// Ends the run early: the report then says that it was interrupted, and how many cases were
    /// not run.
    pub canceller: Option<Canceller>,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            profile: None,
            allow_side_effects: false,
            allow_harmful: false,
            keep_target: false,
            finds_weaknesses: true,
            within: None,
            claims: Claims::default(),
            min_judged: TooFewJudged::LEAST_PERCENT,
            trust: TrustPolicy::CHECKED,
            fail_fast: false,
            max_time: Some(Self::MOST_TIME),
            require: Vec::new(),
            stand_in_for_user_events: false,
            jobs: NonZeroUsize::MIN,
            canceller: None,
        }
    }
}

impl Options {
    /// The time after which no case is started, unless another is given: an hour. A case and the
    /// survey before the first one are limited by their steps.
    pub const MOST_TIME: Duration = Duration::from_secs(3600);

    pub(super) fn is_cancelled(&self) -> bool {
        self.canceller.as_ref().is_some_and(Canceller::is_cancelled)
    }
}
