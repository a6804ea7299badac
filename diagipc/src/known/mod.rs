//! Look up the known behaviour of each runtime, as data.
//!
//! The table has a row for each deviation from the document: its fact, its builds, its condition,
//! and the runtime's behaviour. A [`Profile`] determines the rows for a target. The server suite
//! and the campaigns look up the row that explains a target's behaviour; the reference runtime
//! looks up what the imitated runtime would do.

//! # Example
//!
//! Ask what a runtime is known to refuse:
//!
//! ```
//! use diagipc::known::Profile;
//! use dotnet_diagnostics_ipc::command::Command;
//!
//! let profile: Profile = "nativeaot-9".parse()?;
//! assert!(profile.refuses(Command::ENABLE_PERF_MAP));
//! # Ok::<(), diagipc::known::UnknownProfile>(())
//! ```

mod builds;
mod deviation;
#[cfg(all(test, unix))]
mod evidence_tests;
mod outcome;
mod profile;
mod recording;
mod row;
mod table;
#[cfg(all(test, unix))]
mod tests;

pub(crate) use builds::Build;
pub(crate) use deviation::ways_of;
use dotnet_diagnostics_ipc::command::Command;
use dotnet_diagnostics_ipc::hresult::HResult;
use dotnet_diagnostics_ipc::vectors::script::Script;
pub(crate) use outcome::Outcome;
pub use profile::{Family, Profile, UnknownProfile};
pub(crate) use recording::Recording;
pub(crate) use row::{Does, Layer, Request, Row, Seen, Variable};

use self::table::TABLE;

/// The rows for a target and a request, in the order of the table: a platform's row replaces the
/// server's.
fn rows_for(profile: Profile, request: &Request) -> impl Iterator<Item = &'static Row> {
    // The payload of an unknown command is not read.
    let is_read = move |row: &Row| row.does != Does::Anything || profile.knows(request.command);
    let fits = move |row: &&Row| row.is_of(profile) && row.when.fits(request) && is_read(row);
    let is_shadowed =
        TABLE.iter().filter(fits).any(|row| row.is_of_a_platform() && !row.when.harmful);
    TABLE.iter().filter(fits).filter(move |row| !is_shadowed || row.is_of_a_platform())
}

/// The row that explains a target's reaction to a request.
pub(crate) fn explain(profile: Profile, request: &Request, seen: &Seen) -> Option<&'static Row> {
    rows_for(profile, request).find(|row| row.explains(request, seen))
}

/// The row that explains a target's reaction to one of a script's requests.
pub(crate) fn explain_script(
    profile: Profile,
    script: &Script,
    seen: &Seen,
) -> Option<&'static Row> {
    deviation::requests(script).find_map(|request| explain(profile, &request, seen))
}

/// A runtime's known reactions to a request, in the order of the table: for the reference runtime.
pub(crate) fn rows(profile: Profile, request: Request) -> impl Iterator<Item = &'static Row> {
    let model = profile.model();
    let rows: Vec<_> = rows_for(model, &request).filter(|row| row.is_done_by(model)).collect();
    rows.into_iter()
}

/// Whether a runtime has a behaviour that no request shows, by its fact: for the reference runtime.
pub(crate) fn is_told(profile: Profile, fact: &str) -> bool {
    let model = profile.model();
    TABLE.iter().any(|row| {
        row.fact == fact
            && matches!(row.when.shape, row::Shape::NotARequest)
            && row.is_done_by(model)
    })
}

impl Profile {
    /// Whether its platform refuses a command as unsupported, whatever the request: perf maps on
    /// `NativeAOT`.
    ///
    /// ```
    /// use diagipc::known::Profile;
    /// use dotnet_diagnostics_ipc::command::Command;
    ///
    /// let refuses = |profile: Profile| profile.refuses(Command::ENABLE_PERF_MAP);
    /// assert!(refuses(Profile::NATIVE_AOT_9) && !refuses(Profile::MONO));
    /// ```
    pub fn refuses(self, command: Command) -> bool {
        let is_refusal = |row: &Row| {
            row.is_of_a_platform() && row.does == row::Does::Refuses(HResult::NOT_SUPPORTED)
        };
        rows_for(self, &Request::right(command)).any(is_refusal)
    }
}
