//! What a request is, and what may come of it.

use super::request::{is_cut, is_too_small, message_of};
use crate::command::Command;
use crate::conformance::known::{Profile, Request};
use crate::header::MAGIC;
use crate::hresult::HResult;
use crate::vectors::{Group, Hazard, Subject, Test, Type, Verdict};

/// What a request is, and what may come of it.
#[derive(Clone, Copy, Debug)]
pub(in crate::conformance) struct Expectation<'v> {
    /// What the server makes of it; `None` where its command is not known.
    pub(in crate::conformance) request: Option<Request>,
    /// Whether it is right.
    pub(in crate::conformance) verdict: Verdict,
    /// The error that is due where it is not.
    pub(in crate::conformance) refusal: Option<HResult>,
    /// The error that is as good where two things are wrong: the document does not say which is looked at first.
    pub(in crate::conformance) other_refusal: Option<HResult>,
    /// Whether more than the bytes decides if it can be done: what changes a target, and what needs a descriptor that it has not got.
    pub(in crate::conformance) depends_on_the_machine: bool,
    /// The first version of .NET that has the command.
    pub(in crate::conformance) since: Option<&'v str>,
}

impl<'v> Expectation<'v> {
    /// What a vector says of it.
    pub(super) fn of_vector(group: &'v Group, test: &Test) -> Self {
        let command = group.command.as_deref().and_then(|name| name.parse::<Command>().ok());
        let wire = test.wire.as_deref().unwrap_or_default();
        let is_harmful = test.hazard == Some(Hazard::Harmful);
        // A server never reads the bytes behind the size (F-70), so that to it they are a message and no more.
        let message = message_of(wire).unwrap_or(wire);
        let decoded = subject(command).decode(message);
        let is_right = message.len() < wire.len() && decoded.is_ok_and(|decoded| decoded.limit.is_none());
        Self {
            request: command.map(|command| Request { is_harmful, ..Request::of(command, message) }),
            verdict: if is_right { Verdict::Valid } else { test.result },
            refusal: refusal_of(command, wire),
            other_refusal: other_refusal_of(wire),
            depends_on_the_machine: test.hazard.is_some(),
            since: group.since.as_deref(),
        }
    }

    /// What is known of a message that no vector has. One that is right may harm nobody, whatever vectors say of others.
    pub(in crate::conformance) fn of_message(command: Command, wire: &[u8]) -> Self {
        let message = message_of(wire).unwrap_or(wire);
        let is_right = |wire: &[u8]| subject(Some(command)).decode(wire).is_ok_and(|one| one.limit.is_none() && one.canonical);
        let is_harmful = !is_right(wire);
        let is_valid = !is_harmful
            || message.len() < wire.len() && subject(Some(command)).decode(message).is_ok_and(|one| one.limit.is_none());
        Self {
            request: Some(Request { is_harmful, ..Request::of(command, message) }),
            verdict: if is_valid { Verdict::Valid } else { Verdict::Invalid },
            refusal: refusal_of(Some(command), wire),
            other_refusal: other_refusal_of(wire),
            depends_on_the_machine: is_harmful,
            since: None,
        }
    }

    /// Whether a target may say that it does not know the command.
    pub(super) fn may_be_unknown(&self, profile: Profile) -> bool {
        let must_have = profile.is_seen() && self.since.is_some_and(|since| profile.has(since));
        !must_have && self.refusal != Some(HResult::UNKNOWN_COMMAND)
    }
}

/// The error that is due where the bytes are not right.
fn refusal_of(command: Option<Command>, wire: &[u8]) -> Option<HResult> {
    // Where the magic is wrong as well: a server looks at the size first, and waits for all of the payload (F-69); our decoder looks at
    // the magic.
    if is_too_small(wire) || is_cut(wire) {
        return Some(HResult::BAD_ENCODING);
    }
    match subject(command).decode(wire) {
        Ok(decoded) => decoded.limit.map(|limit| limit.hresult()),
        Err(refusal) => refusal.answer,
    }
}

/// A wrong magic, where a runtime refuses the size first.
fn other_refusal_of(wire: &[u8]) -> Option<HResult> {
    let has_wrong_magic = wire.iter().zip(&MAGIC).any(|(byte, magic)| byte != magic);
    (has_wrong_magic && (is_too_small(wire) || is_cut(wire))).then_some(HResult::UNKNOWN_MAGIC)
}

const fn subject(command: Option<Command>) -> Subject {
    Subject { kind: Type::Request, command, from_server: false }
}
