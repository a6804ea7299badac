//! The effect of a recorded request on a live runtime.
//!
//! It comes from the vectors; this file has no list. Bytes that are a vector have its hazard;
//! others have the worst hazard of their command's valid vectors with the same fields absent.

use dotnet_diagnostics_ipc::header::RawHeader;
use dotnet_diagnostics_ipc_vectors::{ExpectedResult, Hazard, Type, Value};

use super::parts::{command, continuation, request};
use crate::conversation::{Exchange, request_as};
use crate::embedded::NamedFile;

/// The effect of the client's bytes on a live runtime. Bytes that do not decode, exceed the limits,
/// are not canonical, or are truncated, are [`Hazard::Harmful`], unless a vector with the same
/// bytes says otherwise.
pub(super) fn hazard_of(exchange: &Exchange, vectors: &[NamedFile]) -> Option<Hazard> {
    let surplus = exchange.sent.len().saturating_sub(request(exchange).len());
    // One byte there carries a descriptor; whether a server reads more is unknown here.
    if exchange.sent.is_empty() {
        None
    } else {
        request_hazard(exchange, vectors).max((surplus > 1).then_some(Hazard::Harmful))
    }
}

fn request_hazard(exchange: &Exchange, vectors: &[NamedFile]) -> Option<Hazard> {
    let wire = request(exchange);
    let Some(command) = command(exchange) else { return Some(Hazard::Harmful) };
    let name = command.to_string();
    let groups = vectors.iter().flat_map(|one| &one.file.groups);
    let requests =
        groups.filter(|group| !group.subject().is_some_and(|subject| subject.from_server));
    let of_messages = requests
        .filter(|group| matches!(group.kind, Type::Request | Type::Unknown | Type::LegacyRequest));
    let decoded = request_as(Some(command)).decode(wire);
    let absent = decoded.as_ref().map_or(Vec::new(), |decoded| absent_fields(&decoded.value));
    let (mut worst, mut is_there) = (None, false);
    for (group, test) in
        of_messages.flat_map(|group| group.tests.iter().map(move |test| (group, test)))
    {
        let Some(bytes) = &test.wire else { continue };
        if bytes == wire {
            return test.hazard;
        }
        let is_like = match group.kind {
            Type::Request => {
                group.command.as_ref() == Some(&name)
                    && continuation(bytes) == continuation(wire)
                    && absent_fields(&test.value) == absent
            }
            Type::Unknown => {
                let set = RawHeader::read(bytes).command.map(|command| command.set);
                command.name().is_none() && set == Some(command.set)
            }
            _ => false,
        };
        if is_like && test.canonical && test.result == ExpectedResult::Valid {
            (worst, is_there) = (worst.max(test.hazard), true);
        }
    }
    let is_strict = decoded.is_ok_and(|decoded| decoded.canonical && decoded.limit.is_none());
    // An unknown command of a set without vectors counts as one of an unknown set.
    let is_known = is_there || command.name().is_none();
    if is_strict && is_known { worst } else { Some(Hazard::Harmful) }
}

/// The fields without a value, by name: setting a variable is one thing, deleting it another (F-95).
fn absent_fields(value: &Value) -> Vec<&str> {
    let fields = value.as_object().into_iter().flatten();
    fields.filter(|(_, value)| value.is_null()).map(|(name, _)| name.as_str()).collect()
}
