//! What each runtime is known to do, as data.
//!
//! The table has a row for each deviation from the document: its fact, of which builds it is known, under which condition it comes, and
//! what the runtime does. A [`Profile`] says which rows hold for a target. The server suite and the campaigns ask which row explains what
//! a target did; the reference runtime asks what the runtime that it is like would do.

mod builds;
mod deviation;
mod profile;
mod row;
mod table;
// They use what only the reference runtime does, which is for Unix.
#[cfg(all(test, unix))]
mod tests;

#[cfg(unix)]
pub(in crate::conformance) use builds::Build;
pub(in crate::conformance) use deviation::ways_of;
pub use profile::{Family, Profile, UnknownProfile};
pub(in crate::conformance) use row::{Answer, Layer, Request, Row, Seen};
#[cfg(unix)]
pub(in crate::conformance) use row::{Does, Variable};

#[cfg(unix)]
use alloc::vec::Vec;

use self::table::TABLE;
use crate::command::Command;
use crate::hresult::HResult;

/// The rows that a target may follow with a request, in the order of the table: what a platform does stands in place of what the server
/// does elsewhere.
fn rows_for(profile: Profile, request: &Request) -> impl Iterator<Item = &'static Row> {
    let fits = move |row: &&Row| row.is_of(profile) && row.when.fits(request);
    let is_shadowed = TABLE.iter().filter(fits).any(|row| row.is_of_a_platform() && !row.when.harmful);
    TABLE.iter().filter(fits).filter(move |row| !is_shadowed || row.is_of_a_platform())
}

/// Which row explains what a target was seen to do with a request.
pub(in crate::conformance) fn explain(profile: Profile, request: &Request, seen: &Seen) -> Option<&'static Row> {
    rows_for(profile, request).find(|row| row.explains(request, seen))
}

/// What a runtime is known to do with a request, in the order of the table: for the reference runtime.
#[cfg(unix)]
pub(in crate::conformance) fn rows(profile: Profile, request: Request) -> impl Iterator<Item = &'static Row> {
    let model = profile.model();
    let rows: Vec<_> = rows_for(model, &request).filter(|row| row.is_done_by(model)).collect();
    rows.into_iter()
}

/// Whether a runtime does what no request shows, by its fact: for the reference runtime.
#[cfg(unix)]
pub(in crate::conformance) fn is_told(profile: Profile, fact: &str) -> bool {
    let model = profile.model();
    TABLE.iter().any(|row| row.fact == fact && matches!(row.when.shape, row::Shape::Told) && row.is_done_by(model))
}

impl Profile {
    /// Whether its platform refuses a command as one that it does not support, whatever is in the request: perf maps of `NativeAOT`.
    ///
    /// ```
    /// use dotnet_diagnostics_ipc::{command::Command, conformance::known::Profile};
    ///
    /// let refuses = |profile: Profile| profile.refuses(Command::ENABLE_PERF_MAP);
    /// assert!(refuses(Profile::NATIVE_AOT_9) && !refuses(Profile::MONO));
    /// ```
    pub fn refuses(self, command: Command) -> bool {
        let is_refusal = |row: &Row| row.is_of_a_platform() && row.does == row::Does::Refuses(HResult::NOT_SUPPORTED);
        rows_for(self, &Request::right(command)).any(is_refusal)
    }
}
