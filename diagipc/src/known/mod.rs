//! Look up the known behaviour of each runtime, as data.
//!
//! The table has a row for each deviation from the document: its fact, its condition, and the
//! runtime's behaviour. `evidence/` has what each recorded build did, and so the builds of a row. A
//! [`Profile`] determines the rows for a target, from the recordings that are nearest to it. The
//! server suite and the campaigns look up the row that explains a target's behaviour; the reference
//! runtime looks up what the imitated runtime would do.

mod nearest;
mod outcome;
#[cfg(all(test, unix))]
mod prediction_tests;
mod profile;
mod row;
#[cfg(all(test, unix))]
#[path = "../../../tests/snapshot/mod.rs"]
mod snapshot;
mod table;
#[cfg(all(test, unix))]
mod tests;

use dotnet_diagnostics_ipc::command::Command;
use dotnet_diagnostics_ipc::exchange::RefusalReason;
use dotnet_diagnostics_ipc::header::{Header, RawHeader};
use dotnet_diagnostics_ipc::hresult::HResult;
use dotnet_diagnostics_ipc_vectors::Hazard;
use dotnet_diagnostics_ipc_vectors::script::{Captures, Deviation, Plays, Script, Step};
pub use nearest::harm_of;
pub(crate) use outcome::{BuildRecording, CaseOutcome};
pub use profile::{Family, Profile, UnknownProfile};
pub(crate) use row::{Does, Effect, Layer, Quirk, Request, Row};

use self::table::TABLE;
use crate::conversation::wants_descriptor;

/// Returns the rows that a request to a target fits, of those that `is_of` selects, in the order of
/// the table: a platform's row replaces the server's.
fn chosen(profile: Profile, request: &Request, is_of: impl Fn(&Row) -> bool) -> Vec<&'static Row> {
    // The payload of an unknown command is not read.
    let is_read = |row: &Row| row.does != Does::Anything || profile.knows(request.command);
    let fitting = TABLE.iter().filter(|row| row.fits(request) && is_read(row) && is_of(row));
    let mut rows: Vec<_> = fitting.collect();
    if rows.iter().any(|row| row.is_of_a_platform() && !row.harmful) {
        rows.retain(|row| row.is_of_a_platform());
    }
    rows
}

fn rows_for(profile: Profile, request: &Request) -> Vec<&'static Row> {
    chosen(profile, request, |row| row.is_of(profile))
}

/// Returns the row that explains a target's reaction to a request.
pub(crate) fn explain(profile: Profile, request: &Request, seen: &Effect) -> Option<&'static Row> {
    rows_for(profile, request).into_iter().find(|row| row.explains(request, seen))
}

/// Returns the row that explains a target's reaction to one of a script's requests.
pub(crate) fn explain_script(
    profile: Profile,
    script: &Script,
    seen: &Effect,
) -> Option<&'static Row> {
    requests(script).find_map(|request| explain(profile, &request, seen))
}

/// A runtime's known reactions to a request, in the order of the table: for the reference runtime.
pub(crate) fn rows(profile: Profile, request: Request) -> impl Iterator<Item = &'static Row> {
    let model = profile.model();
    rows_for(model, &request).into_iter().filter(move |row| row.is_done_by(model))
}

/// Whether a runtime goes its own way in the scripts of a fact: for the reference runtime.
pub(crate) fn is_told(profile: Profile, fact: &str) -> bool {
    nearest::nearest(profile.model()).iter().any(|build| nearest::deviating(fact).contains(build))
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
            row.is_of_a_platform() && row.does == Does::Refuses(HResult::NOT_SUPPORTED)
        };
        rows_for(self, &Request::right(command)).iter().any(is_refusal)
    }
}

/// Returns the variants of `script` for this target, the likeliest first: a deviation, or `None` for
/// its own steps.
///
/// What the nearest recordings did precedes the script's steps; deviations of programs follow them.
pub(crate) fn ways_of(profile: Profile, script: &Script) -> Vec<Option<&Deviation>> {
    let Plays::Client(part) = &script.plays else { return [None].into() };
    let (nearest, request) = (nearest::nearest(profile), requests(script).next());
    let rows = || request.iter().flat_map(|request| rows_for(profile, request));
    let is_undefined = rows().any(|row| row.does == Does::Anything);
    let is_of_program = |deviation: &Deviation| {
        rows().any(|row| row.layer == Layer::Host && row.fact == deviation.fact)
    };
    let is_shown = |deviation: &Deviation| {
        let mut on = deviation.on.iter().filter_map(|name| Profile::of_recording(name));
        on.any(|build| nearest.contains(&build))
    };
    let (shown, others): (Vec<_>, Vec<_>) =
        part.deviations.iter().partition(|deviation| is_undefined || is_shown(deviation));
    let possible = others.into_iter().filter(|deviation| is_of_program(deviation));
    shown.into_iter().map(Some).chain([None]).chain(possible.map(Some)).collect()
}

/// Returns the first request on each of a script's connections.
fn requests(script: &Script) -> impl Iterator<Item = Request> {
    let mut connections: Vec<&str> = Vec::new();
    for step in &script.steps {
        if let Step::Send(step) = step {
            if !connections.contains(&step.on.as_str()) {
                connections.push(&step.on);
            }
        }
    }
    connections.into_iter().filter_map(|on| request(on, script))
}

/// Returns the request that a script sends first on a connection.
fn request(on: &str, script: &Script) -> Option<Request> {
    let mut wire = Vec::new();
    let (mut in_pieces, mut has_fd) = (false, false);
    for step in &script.steps {
        let Step::Send(step) = step else { continue };
        let is_whole =
            Header::decode(&wire).is_ok_and(|header| wire.len() == usize::from(header.size));
        if step.on != on || is_whole {
            continue;
        }
        in_pieces |= !wire.is_empty() || step.chunks.len() > 1;
        has_fd |= step.with_fd.is_some();
        for literal in &step.send {
            wire.extend(literal.bytes(&Captures::new()).ok()?);
        }
    }
    let command = RawHeader::read(&wire).command?;
    let mut request = Request::of(command, &wire);
    if request.reason.is_none() && wants_descriptor(&wire) && !has_fd {
        request.reason = Some(RefusalReason::NoDescriptor);
    }
    let is_suspended = matches!(&script.plays, Plays::Client(part) if part.target.suspended);
    Some(Request {
        in_pieces,
        is_suspended,
        is_harmful: script.hazard == Some(Hazard::Harmful),
        ..request
    })
}
