//! The allowed variants of a script for a target: its own steps, and the deviations of the nearest
//! recordings.

use dotnet_diagnostics_ipc::exchange::RefusalReason;
use dotnet_diagnostics_ipc::header::{Header, RawHeader};
use dotnet_diagnostics_ipc_vectors::Hazard;
use dotnet_diagnostics_ipc_vectors::script::{Captures, Deviation, Plays, Script, Step};

use super::nearest::Nearest;
use super::{Does, Layer, Profile, Request, explaining};
use crate::conversation::wants_descriptor;

/// The variants of `script` for this target, the likeliest first: a deviation, or `None` for its
/// own steps.
///
/// What the nearest recordings did precedes the script's steps; deviations of programs follow them.
pub(crate) fn ways_of(profile: Profile, script: &Script) -> Vec<Option<&Deviation>> {
    let Plays::Client(part) = &script.plays else { return [None].into() };
    let (nearest, request) = (Nearest::to(profile), requests(script).next());
    let rows = || request.iter().flat_map(|request| explaining(profile, request));
    let older = nearest.on_the_server_of_its_platform();
    let is_undefined = rows().any(|row| row.does == Does::Anything);
    let is_of_program = |deviation: &Deviation| {
        rows().any(|row| row.layer == Layer::Host && row.fact == deviation.fact)
    };
    let is_shown = |deviation: &Deviation| {
        let on: Vec<_> =
            deviation.on.iter().filter_map(|name| Profile::of_recording(name)).collect();
        nearest.does(&on) || older.does(&on)
    };
    let (shown, others): (Vec<_>, Vec<_>) =
        part.deviations.iter().partition(|deviation| is_undefined || is_shown(deviation));
    let possible = others.into_iter().filter(|deviation| is_of_program(deviation));
    shown.into_iter().map(Some).chain([None]).chain(possible.map(Some)).collect()
}

/// The first request on each of a script's connections.
pub(super) fn requests(script: &Script) -> impl Iterator<Item = Request> {
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
