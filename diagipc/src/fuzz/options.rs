//! Options of a campaign.

use std::num::NonZeroU32;
use std::time::Duration;

use dotnet_diagnostics_ipc::io::Canceller;

use crate::known::Profile;

/// Options of a campaign.
///
/// ```
/// use std::num::NonZeroU32;
/// use std::time::Duration;
/// use diagipc::fuzz::Options;
///
/// let rate = NonZeroU32::new(100).expect("it is not 0");
/// let options = Options { seed: 1, first: 1, cases: 1000, rate, within: Duration::from_secs(5), tries: 64, profile: None, canceller: None };
/// // Where it ended, another run goes on.
/// let next = Options { first: options.first + options.cases, ..options.clone() };
/// assert_eq!(next.first, 1001);
/// ```
#[derive(Clone, Debug)]
pub struct Options {
    /// The seed of all cases.
    pub seed: u64,
    /// The number of the first case.
    pub first: u64,
    /// How many cases.
    pub cases: u64,
    /// The most cases per second.
    pub rate: NonZeroU32,
    /// The target's time limit for a complete `ProcessInfo`, before it counts as hanging.
    pub within: Duration,
    /// The most messages tried to shorten a finding, each with a new target.
    pub tries: u32,
    /// The profile that explains findings; `None`: that of the runtime that the target reports to
    /// be, if it behaves like it.
    pub profile: Option<Profile>,
    /// Ends the campaign early: the summary then says that it was interrupted, and how many cases
    /// were not played.
    pub canceller: Option<Canceller>,
}

impl Options {
    pub(super) fn is_cancelled(&self) -> bool {
        self.canceller.as_ref().is_some_and(Canceller::is_cancelled)
    }
}
