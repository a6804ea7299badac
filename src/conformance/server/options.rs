//! What a run may do, and how it judges.

use alloc::vec::Vec;
use core::num::NonZeroUsize;
use core::time::Duration;

use crate::conformance::Glob;
use crate::conformance::known::Profile;
use crate::io::Canceller;

/// What a run may do, and how it judges.
#[derive(Clone, Debug)]
pub struct Options {
    /// What the target is held to; `None`: what it says of itself.
    pub profile: Option<Profile>,
    /// Also what changes a target: dumps, profilers, variables, perf maps, hooks, resumes.
    pub allow_side_effects: bool,
    /// Also what may kill, wedge or exhaust it.
    pub allow_harmful: bool,
    /// How long a step may take that does not say it itself; `None`: what the script's file says.
    pub within: Option<Duration>,
    /// The cases whose lack is a failure.
    pub require: Vec<Glob>,
    /// Where a script hands over `user_events_data`: a socket in place of this system's file. The target must be told to take it.
    pub stand_in_for_user_events: bool,
    /// How many targets are started beside each other. A target that is not started here is one, and has one case after another (F-75).
    pub jobs: NonZeroUsize,
    /// What ends the run early: the report then says that it was interrupted, and how many cases were not run.
    pub canceller: Option<Canceller>,
}

impl Options {
    pub(super) fn is_cancelled(&self) -> bool {
        self.canceller.as_ref().is_some_and(Canceller::is_cancelled)
    }
}
