//! Options of a run.

use std::num::NonZeroUsize;
use std::time::Duration;

use dotnet_diagnostics_ipc::io::Canceller;
use dotnet_diagnostics_ipc::io::trust::TrustPolicy;

use super::Claims;
use crate::known::Profile;
use crate::{Glob, TooFewJudged};

/// What a run may do, and how it judges. By default nothing is sent that changes or harms a target.
#[derive(Clone, Debug)]
#[allow(clippy::struct_excessive_bools, reason = "each is a switch of its own")]
pub struct Options {
    /// The target's profile; `None` to find it out.
    pub profile: Option<Profile>,
    /// Allow side effects: dumps, profilers, variables, perf maps, hooks, resumes.
    pub allow_side_effects: bool,
    /// Allow requests that may kill, block or exhaust the target.
    pub allow_harmful: bool,
    /// If the suite starts the target: let harmful requests share it, and restart it after its
    /// death.
    pub keep_target: bool,
    /// Also look for weaknesses that no rule forbids, which takes seconds.
    pub finds_weaknesses: bool,
    /// The default time limit of a step; `None` for the limit in the script's file.
    pub within: Option<Duration>,
    /// What the target's author declares. The rest is found out by asking.
    pub claims: Claims,
    /// The percentage of the claimed cases that must be judged for the run to pass.
    pub min_judged: u8,
    /// Which owners of a socket are trusted, and the other checks made before anything is sent.
    pub trust: TrustPolicy,
    /// End the run at the first failure.
    pub fail_fast: bool,
    /// The time after which no case is started, so that a run ends whatever its target does.
    pub max_time: Option<Duration>,
    /// Cases that fail if they are unsupported.
    pub require: Vec<Glob>,
    /// For scripts that pass `user_events_data`: pass a socket instead of the file of this system.
    /// The target must be configured to accept it.
    pub stand_in_for_user_events: bool,
    /// How many targets run at the same time. A target that the suite did not start plays one case
    /// after another (F-75).
    pub jobs: NonZeroUsize,
    /// Ends the run early. The report then says that it was interrupted, and how many cases were
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
    /// The default time after which no case is started: one hour. Steps limit the time of a case
    /// and of the survey before the first one.
    pub const MOST_TIME: Duration = Duration::from_secs(3600);

    pub(super) fn is_cancelled(&self) -> bool {
        self.canceller.as_ref().is_some_and(Canceller::is_cancelled)
    }
}
