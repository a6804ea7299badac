//! The allowed variants of a script for a target: its own steps, and the deviations that the target
//! has by a row of the table.

use dotnet_diagnostics_ipc::exchange::RefusalReason;
use dotnet_diagnostics_ipc::header::{Header, RawHeader};
use dotnet_diagnostics_ipc::vectors::Hazard;
use dotnet_diagnostics_ipc::vectors::script::{Captures, Deviation, Plays, Script, Step};

use super::row::Shape;
use super::table::TABLE;
use super::{Does, Profile, Request, Row, rows_for};
use crate::conversation::wants_descriptor;

/// The variants of `script` for this target, the likeliest first: a deviation, or `None` for its
/// own steps.
///
/// A deviation seen on this build precedes the script's steps; deviations of programs follow them.
pub(crate) fn ways_of(profile: Profile, script: &Script) -> Vec<Option<&Deviation>> {
    let Plays::Client(part) = &script.plays else { return [None].into() };
    let row = |deviation| Some((row_of(profile, script, deviation)?, deviation));
    let known: Vec<_> = part.deviations.iter().filter_map(row).collect();
    let (done, possible): (Vec<_>, Vec<_>) =
        known.into_iter().partition(|(row, _)| row.is_done_by(profile));
    let deviations =
        |known: Vec<(&'static Row, _)>| known.into_iter().map(|(_, deviation)| Some(deviation));
    deviations(done).chain([None]).chain(deviations(possible)).collect()
}

/// The row by which a target has a deviation: one with its fact for the script's first request, or
/// for what no request shows.
pub(super) fn row_of(
    profile: Profile,
    script: &Script,
    deviation: &Deviation,
) -> Option<&'static Row> {
    let is_told = |row: &&Row| {
        row.fact == deviation.fact
            && matches!(row.when.shape, Shape::NotARequest)
            && row.is_of(profile)
    };
    if let Some(row) = TABLE.iter().find(is_told) {
        return Some(row);
    }
    // What is undefined has the fact of what was seen.
    let is_it = |row: &&Row| row.fact == deviation.fact || row.does == Does::Anything;
    rows_for(profile, &requests(script).next()?).find(is_it)
}

/// The first request of each connection that a script opens.
pub(super) fn requests(script: &Script) -> impl Iterator<Item = Request> {
    let opened = script.steps.iter().filter_map(|step| {
        if let Step::Open(step) = step { Some(step.open.as_str()) } else { None }
    });
    opened.filter_map(|on| request(on, script))
}

/// The request that a script sends first on a connection.
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
