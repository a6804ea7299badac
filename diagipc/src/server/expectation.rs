//! The allowed results of a request, and how an actual result is graded.

use dotnet_diagnostics_ipc::command::Command;
use dotnet_diagnostics_ipc::header::{MAGIC, RawHeader};
use dotnet_diagnostics_ipc::hresult::HResult;
use dotnet_diagnostics_ipc_vectors::{ExpectedResult, Group, Hazard, Test};

use crate::Grade;
use crate::conversation::{ReplyKind, is_cut, is_too_small, message_of, request_as};
use crate::known::{Effect, Profile, Request, Row, explain};

#[derive(Clone, Copy, Debug)]
pub(crate) struct Expectation<'v> {
    /// The decoded request; `None` if its command is unknown.
    pub(crate) request: Option<Request>,
    pub(crate) verdict: ExpectedResult,
    /// The required error if the request is invalid.
    pub(crate) refusal: Option<HResult>,
    /// The other allowed error if two things are wrong. The document does not say which is checked
    /// first.
    pub(crate) other_refusal: Option<HResult>,
    /// The errors with which a valid request may be refused.
    pub(crate) refusable: Refusable<'v>,
    /// The first version of .NET that has the command.
    pub(crate) since: Option<&'v str>,
    /// Whether the target has answered the command with an OK before.
    pub(crate) is_served: bool,
}

/// The errors with which a valid request may be refused.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Refusable<'v> {
    Never,
    /// Any error that is not about the bytes. It applies to requests that change a target or need a
    /// missing descriptor, where more than the bytes decides.
    ByTheMachine,
    By(&'v [HResult]),
}

impl<'v> Refusable<'v> {
    fn of(test: &'v Test) -> Self {
        match &test.refusals {
            Some(refusals) => Self::By(refusals),
            None if test.hazard.is_some() => Self::ByTheMachine,
            None => Self::Never,
        }
    }

    /// Whether it may be refused with this error.
    pub(super) fn takes(self, hresult: HResult) -> bool {
        match self {
            Self::Never => false,
            // An error with code 0 gives no reason (F-127).
            Self::ByTheMachine => {
                !hresult.is_success()
                    && ![HResult::BAD_ENCODING, HResult::UNKNOWN_MAGIC].contains(&hresult)
            }
            Self::By(refusals) => refusals.contains(&hresult),
        }
    }
}

impl<'v> Expectation<'v> {
    /// Returns the command of a group of vectors.
    pub(super) fn command_of(group: &Group) -> Option<Command> {
        group.command.as_deref()?.parse().ok()
    }

    pub(crate) fn of_vector(group: &'v Group, test: &'v Test) -> Self {
        let is_harmful = test.hazard == Some(Hazard::Harmful);
        let wire = test.wire.as_deref().unwrap_or_default();
        let expectation = Self::new(Self::command_of(group), wire, is_harmful, test.result);
        let (refusable, since) = (Refusable::of(test), group.since.as_deref());
        Self { refusable, since, ..expectation }
    }

    /// Returns the expectation for a message that is not a vector. A valid message counts as
    /// harmless, whatever the hazard of similar vectors.
    pub(crate) fn of_message(command: Command, wire: &[u8]) -> Self {
        let whole = request_as(Some(command)).decode(wire);
        let (is_harmful, verdict, refusable) =
            if whole.is_ok_and(|one| one.limit.is_none() && one.canonical) {
                (false, ExpectedResult::Valid, Refusable::Never)
            } else {
                (true, ExpectedResult::Invalid, Refusable::ByTheMachine)
            };
        Self { refusable, ..Self::new(Some(command), wire, is_harmful, verdict) }
    }

    fn new(
        command: Option<Command>,
        wire: &[u8],
        is_harmful: bool,
        verdict: ExpectedResult,
    ) -> Self {
        // A server never reads bytes after `size` (F-70), so only the message counts.
        let message = message_of(wire);
        let decoded = request_as(command).decode(message);
        let is_right = message.len() < wire.len() && decoded.is_ok_and(|one| one.limit.is_none());
        Self {
            request: command.map(|command| Request { is_harmful, ..Request::of(command, message) }),
            verdict: if is_right { ExpectedResult::Valid } else { verdict },
            refusal: refusal_of(command, wire),
            other_refusal: other_refusal_of(wire),
            refusable: Refusable::Never,
            since: None,
            is_served: false,
        }
    }

    /// Returns a description of the expected answer.
    pub(super) fn in_words(&self) -> String {
        match (self.verdict, self.refusable) {
            (ExpectedResult::Valid, Refusable::Never) => "an OK, and any continuation".into(),
            (ExpectedResult::Valid, Refusable::ByTheMachine) => {
                "an OK, or an error that says why it cannot be done here".into()
            }
            (ExpectedResult::Valid, Refusable::By(refusals)) => {
                let refusals = refusals.iter().map(|hresult| format!(", or the error {hresult}"));
                format!("an OK{}", refusals.collect::<String>())
            }
            (ExpectedResult::Acceptable, _) => "an OK, or DS_IPC_E_BAD_ENCODING".into(),
            (ExpectedResult::Invalid, _) => {
                self.refusal.map_or_else(String::new, |hresult| format!("the error {hresult}"))
            }
        }
    }

    /// Returns the grade of a result, and the row of the table of known behaviour that explains it.
    pub(crate) fn grade(&self, profile: Profile, seen: &Effect) -> (Grade, Option<&'static Row>) {
        let known = || explain(profile, self.request.as_ref()?, seen);
        let is_clean = !seen.died && !seen.left_open && !seen.wrong;
        // A server may refuse the request, and this runtime is known to do so (F-54).
        let may_be_refused = self.verdict == ExpectedResult::Acceptable
            && matches!(seen.answer, ReplyKind::Error(_));
        match self.by_the_document(profile, seen) {
            Some(Grade::Unimplemented) => (Grade::Unimplemented, None),
            Some(grade) if is_clean => (grade, if may_be_refused { known() } else { None }),
            _ => (Grade::Fail, known()),
        }
    }

    /// Returns the grade of an answer if the document allows it, apart from the connection's end.
    pub(super) fn by_the_document(&self, profile: Profile, seen: &Effect) -> Option<Grade> {
        let is_right = match (seen.answer, self.verdict) {
            (ReplyKind::Error(HResult::UNKNOWN_COMMAND), _) if self.may_be_unknown(profile) => {
                return Some(Grade::Unimplemented);
            }
            (ReplyKind::Error(code), _) if self.other_refusal == Some(code) => {
                return Some(Grade::PassLenient);
            }
            (ReplyKind::Error(code), ExpectedResult::Invalid)
                if self.refusal.is_some_and(|due| {
                    due != code && is_free(self.request.map(|one| one.command), due, code)
                }) =>
            {
                return Some(Grade::PassLenient);
            }
            (ReplyKind::Ok, ExpectedResult::Acceptable) => return Some(Grade::PassLenient),
            (ReplyKind::Ok, verdict) => verdict == ExpectedResult::Valid,
            (ReplyKind::Error(code), ExpectedResult::Invalid) => self.refusal == Some(code),
            (ReplyKind::Error(code), verdict) => {
                let is_lenient = verdict == ExpectedResult::Acceptable;
                is_lenient && code == HResult::BAD_ENCODING || self.refusable.takes(code)
            }
            (ReplyKind::NoHeader | ReplyKind::Nothing | ReplyKind::Other, _) => false,
        };
        is_right.then_some(Grade::Pass)
    }

    /// Whether the target may answer that the command is unknown.
    fn may_be_unknown(&self, profile: Profile) -> bool {
        let must_have = profile.is_known() && self.since.is_some_and(|since| profile.has(since));
        !must_have && !self.is_served && self.refusal != Some(HResult::UNKNOWN_COMMAND)
    }
}

/// Returns the required error if the bytes are invalid.
fn refusal_of(command: Option<Command>, wire: &[u8]) -> Option<HResult> {
    // This comes first because a server checks the size and waits for the whole payload before it
    // looks at the magic (F-69), whereas our decoder checks the magic first.
    if is_too_small(wire) || is_cut(wire) {
        return Some(HResult::BAD_ENCODING);
    }
    match request_as(command).decode(wire) {
        Ok(decoded) => decoded.limit.map(|limit| limit.hresult()),
        Err(refusal) => refusal.answer,
    }
}

/// Returns the error with which other servers may refuse these bytes. It is the error for a wrong
/// magic if a runtime refuses the size first, or that for a bad encoding if `reserved` is not 0.
pub(super) fn other_refusal_of(wire: &[u8]) -> Option<HResult> {
    let has_wrong_magic = wire.iter().zip(&MAGIC).any(|(byte, magic)| byte != magic);
    if has_wrong_magic && (is_too_small(wire) || is_cut(wire)) {
        return Some(HResult::UNKNOWN_MAGIC);
    }
    let reserved = RawHeader::read(wire).reserved;
    reserved.filter(|reserved| *reserved != 0).map(|_| HResult::BAD_ENCODING)
}

/// Whether errors other than `due` are allowed, as no code exists for an invalid dump type (P-3).
pub(super) fn is_free(command: Option<Command>, due: HResult, code: HResult) -> bool {
    due == HResult::FAIL
        && command.is_some_and(|command| command.set == Command::GENERATE_CORE_DUMP.set)
        && !code.is_success()
        && ![HResult::UNKNOWN_COMMAND, HResult::UNKNOWN_MAGIC].contains(&code)
}

#[cfg(test)]
mod tests {
    use dotnet_diagnostics_ipc::exchange::End;
    use dotnet_diagnostics_ipc::message::{encode_to_vec, server::ErrorReply};
    use dotnet_diagnostics_ipc_vectors::files;

    use super::*;
    use crate::conversation::Exchange;
    use crate::server::judge::judge;
    use crate::server::request::{ON, Reaction};

    /// Grades an answer to a vector. Returns the grade, the fact of the deviation, the findings,
    /// and the expected answer.
    fn judged(
        profile: Profile,
        tc_id: u32,
        came: &[u8],
        end: End,
        left_open: bool,
    ) -> (Grade, Option<String>, Vec<String>, String) {
        let files = files().unwrap();
        let groups = files.iter().flat_map(|file| &file.groups);
        let mut all = groups.flat_map(|group| group.tests.iter().map(move |test| (group, test)));
        let (group, test) = all.find(|(_, test)| test.tc_id == tc_id).unwrap();
        let exchange = Exchange::new(ON, test.wire.as_deref().unwrap(), came, end);
        let answered = Reaction { left_open, ..exchange.into() };
        let expectation = Expectation::of_vector(group, test);
        let verdict = judge(profile, &expectation, &answered, None);
        let fact = verdict.deviation.map(|one| one.fact);
        (verdict.grade, fact, verdict.found, expectation.in_words())
    }

    fn error(hresult: HResult) -> Vec<u8> {
        encode_to_vec(Command::ERROR, &ErrorReply { hresult, message: None }).unwrap()
    }

    /// The generic OK, which fits every command.
    const OK: &[u8] = b"DOTNET_IPC_V1\0\x14\0\xff\0\0\0";

    #[test]
    fn wrong_answer_is_described_with_the_expected_one() {
        const ACCEPTED: &str = "an OK, and any continuation";
        let bad = error(HResult::BAD_ENCODING);
        for (tc_id, came, end, found, expects) in [
            (
                4030,
                OK,
                End::TimedOut,
                "the reply is OK",
                "the error 0x80131384 DS_IPC_E_BAD_ENCODING",
            ),
            (
                2000,
                &[][..],
                End::TimedOut,
                "no reply was received",
                "the error 0x80131386 DS_IPC_E_UNKNOWN_MAGIC",
            ),
            (
                5100,
                &bad,
                End::TimedOut,
                "the reply is the error 0x80131384 DS_IPC_E_BAD_ENCODING",
                ACCEPTED,
            ),
            (5100, &[1], End::Reset, "the connection was reset after 1 byte", ACCEPTED),
            (
                5100,
                &[0xab; 20],
                End::TimedOut,
                "bytes that are not a header: abababababababababababababababababababab",
                ACCEPTED,
            ),
        ] {
            let judged = judged(Profile::STRICT, tc_id, came, end, false);
            let expected = (Grade::Fail, None, vec![found.to_owned()], expects.to_owned());
            assert_eq!(judged, expected, "{tc_id}");
        }
    }

    #[test]
    fn valid_request_is_refused_only_with_error_of_its_vector() {
        let (other, argument) = (HResult::FAIL, HResult::INVALID_ARG);
        for (tc_id, hresult, grade) in [
            // These have an empty name, one that begins with an equals sign, a plain one, and a
            // deletion.
            (8104, argument, Grade::Pass),
            (8104, other, Grade::Fail),
            (8109, argument, Grade::Pass),
            (8109, other, Grade::Fail),
            (8101, HResult::NOT_SUPPORTED, Grade::Pass),
            (8101, argument, Grade::Fail),
            (8102, HResult::ENVVAR_NOT_FOUND, Grade::Pass),
            (8102, argument, Grade::Fail),
            // A machine may not be able to write a dump.
            (4002, other, Grade::Pass),
        ] {
            let judged = judged(Profile::STRICT, tc_id, &error(hresult), End::TimedOut, false);
            assert_eq!(judged.0, grade, "{tc_id} {hresult}");
        }
    }
}
