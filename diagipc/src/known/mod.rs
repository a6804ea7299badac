//! Look up the known behaviour of each runtime, as data.
//!
//! The table has a row for each deviation from the document: its fact, its condition, and the
//! runtime's behaviour. `evidence/` has what each recorded build did, and so the builds of a row. A
//! [`Profile`] determines the rows for a target, from the recordings that are nearest to it. The
//! server suite and the campaigns look up the row that explains a target's behaviour; the reference
//! runtime looks up what the imitated runtime would do.

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
#[cfg(all(test, unix))]
mod foretold_tests;
mod nearest;
mod outcome;
mod profile;
mod recording;
mod row;
mod shown;
#[cfg(all(test, unix))]
#[path = "../../../tests/snapshot/mod.rs"]
mod snapshot;
mod table;
#[cfg(all(test, unix))]
mod tests;

pub(crate) use builds::Build;
pub(crate) use deviation::ways_of;
use dotnet_diagnostics_ipc::command::Command;
use dotnet_diagnostics_ipc::hresult::HResult;
use dotnet_diagnostics_ipc_vectors::script::Script;
pub(crate) use outcome::Outcome;
pub use profile::{Family, Profile, UnknownProfile};
pub(crate) use recording::Recording;
pub(crate) use row::{Does, Layer, Request, Row, Seen, Variable};
pub use shown::harm_of;

use self::nearest::Nearest;
use self::table::TABLE;

/// The rows for a target and a request, in the order of the table: a platform's row replaces the
/// server's.
fn rows_for(profile: Profile, request: &Request) -> Vec<&'static Row> {
    let nearest = Nearest::to(profile);
    chosen(profile, request, |row| row.is_of(&nearest))
}

/// The rows that explain a target's reaction to a request. A build that was never recorded may still
/// do what the recordings of its platform did: a server that says 11.0.0 and answers as 10.0.12.
fn explaining(profile: Profile, request: &Request) -> Vec<&'static Row> {
    let nearest = Nearest::to(profile);
    let older = nearest.on_the_server_of_its_platform();
    chosen(profile, request, |row| row.is_of(&nearest) || row.is_of(&older))
}

/// Those of some rows that a request to a target fits.
fn chosen(profile: Profile, request: &Request, is_of: impl Fn(&Row) -> bool) -> Vec<&'static Row> {
    // The payload of an unknown command is not read.
    let is_read = |row: &Row| row.does != Does::Anything || profile.knows(request.command);
    let fitting = TABLE.iter().filter(|row| row.when.fits(request) && is_read(row) && is_of(row));
    let mut rows: Vec<_> = fitting.collect();
    if rows.iter().any(|row| row.is_of_a_platform() && !row.when.harmful) {
        rows.retain(|row| row.is_of_a_platform());
    }
    rows
}

/// The row that explains a target's reaction to a request.
pub(crate) fn explain(profile: Profile, request: &Request, seen: &Seen) -> Option<&'static Row> {
    explaining(profile, request).into_iter().find(|row| row.explains(request, seen))
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
    rows_for(model, &request).into_iter().filter(move |row| row.is_done_by(model))
}

/// Whether a runtime goes its own way in the scripts of a fact: for the reference runtime.
pub(crate) fn is_told(profile: Profile, fact: &str) -> bool {
    Nearest::to(profile.model()).does(shown::deviating(fact))
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
    /// assert!(refuses(Profile::NATIVE_AOT_9) && !refuses(Profile::CORECLR_9));
    /// ```
    pub fn refuses(self, command: Command) -> bool {
        let is_refusal = |row: &&Row| {
            row.is_of_a_platform() && row.does == row::Does::Refuses(HResult::NOT_SUPPORTED)
        };
        rows_for(self, &Request::right(command)).iter().any(is_refusal)
    }
}
