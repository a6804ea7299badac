//! The allowed variants of a script for a target: its own steps, and the deviations that the target
//! has by a row of the table.

use dotnet_diagnostics_ipc::command::Command;
use dotnet_diagnostics_ipc::exchange::RefusalReason;
use dotnet_diagnostics_ipc::header::{HEADER_LEN, Header, MAGIC, RawHeader};
use dotnet_diagnostics_ipc::hresult::HResult;
use dotnet_diagnostics_ipc::message::{AnyRequest, Message, eventpipe};
use dotnet_diagnostics_ipc::vectors::Hazard;
use dotnet_diagnostics_ipc::vectors::script::{
    Captures, Deviation, Life, Part, Pattern, Plays, Script, Step,
};

use super::row::Shape;
use super::table::TABLE;
use super::{Answer, Does, Profile, Request, Row, Seen, rows_for};

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

/// The row by which a target has a deviation.
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
    let (request, seen) = exchange(script, deviation)?;
    // What is undefined has the fact of what was seen.
    let is_it = |row: &Row| row.fact == deviation.fact || row.does == Does::Anything;
    rows_for(profile, &request).find(|row| is_it(row) && row.explains(&request, &seen))
}

/// The deviation: the first request of the script, and the target's reaction.
fn exchange(script: &Script, deviation: &Deviation) -> Option<(Request, Seen)> {
    let on = script.steps.iter().find_map(|step| {
        if let Step::Open(step) = step { Some(step.open.as_str()) } else { None }
    })?;
    // The steps before the deviation, and the ones from there on.
    let steps = script.steps.iter().take(deviation.from).chain(&deviation.steps);
    let (request, seen) = (request(on, script, steps)?, deed(on, deviation)?);
    // If the script has the reply itself, it is the expected one.
    let due = request.reason.map_or(Answer::Ok, |reason| Answer::Error(reason.hresult()));
    let seen = if seen.answer == Answer::Other && !seen.died {
        Seen { answer: due, ..seen }
    } else {
        seen
    };
    Some((request, seen))
}

/// The first request of each connection that a script opens.
pub(super) fn requests(script: &Script) -> Vec<Request> {
    let opened = script.steps.iter().filter_map(|step| {
        if let Step::Open(step) = step { Some(step.open.as_str()) } else { None }
    });
    opened.filter_map(|on| request(on, script, &script.steps)).collect()
}

/// The request that these steps of a script send first on a connection.
fn request<'s>(
    on: &str,
    script: &Script,
    steps: impl IntoIterator<Item = &'s Step>,
) -> Option<Request> {
    let mut wire = Vec::new();
    let (mut in_pieces, mut has_fd) = (false, false);
    for step in steps {
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

fn wants_descriptor(wire: &[u8]) -> bool {
    let request = Message::decode(wire).and_then(|message| message.request());
    matches!(request, Ok(AnyRequest::CollectTracing5(eventpipe::CollectTracing5::UserEvents(_))))
}

/// The runtime's behaviour in a deviation's steps.
fn deed(on: &str, deviation: &Deviation) -> Option<Seen> {
    let nothing = Seen { answer: Answer::Other, died: false, left_open: false, wrong: false };
    if deviation
        .steps
        .iter()
        .any(|step| matches!(step, Step::ExpectTarget(step) if step.expect_target == Life::Dead))
    {
        return Some(Seen { died: true, ..nothing });
    }
    let left_open = deviation.steps.iter().any(|step| matches!(step, Step::ExpectNothing(_)));
    let first = deviation.steps.iter().find_map(|step| match step {
        Step::Expect(step) if step.on == on => Some(&step.expect),
        Step::ExpectAnyOf(step) if step.on == on => {
            step.expect_any_of.first().map(|one| &one.expect)
        }
        _ => None,
    });
    match first {
        // The answer is that of the script.
        None => left_open.then_some(Seen { left_open, ..nothing }),
        Some(pattern) => Some(Seen { answer: answer(pattern)?, left_open, ..nothing }),
    }
}

/// What a pattern is for.
fn answer(pattern: &Pattern) -> Option<Answer> {
    let mut bytes = Vec::new();
    for part in &pattern.0 {
        match part {
            Part::Literal(literal) => bytes.extend(literal.bytes(&Captures::new()).ok()?),
            // A size, or the code of an error; at the end the continuation.
            Part::Any(_) | Part::Until(_) => {
                bytes.extend(if bytes.len() == 14 { &[24, 0][..] } else { &[5, 0x40, 0, 0x80] });
            }
        }
    }
    if !bytes.starts_with(&MAGIC) {
        return Some(Answer::NoHeader);
    }
    if RawHeader::read(&bytes).command? == Command::OK {
        return Some(Answer::Ok);
    }
    let code = bytes.get(HEADER_LEN..).and_then(|bytes| bytes.first_chunk::<4>())?;
    Some(Answer::Error(HResult(u32::from_le_bytes(*code))))
}
