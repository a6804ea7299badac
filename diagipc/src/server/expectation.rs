//! The allowed results of a request, and the grade of one.

use dotnet_diagnostics_ipc::command::Command;
use dotnet_diagnostics_ipc::header::MAGIC;
use dotnet_diagnostics_ipc::hresult::HResult;
use dotnet_diagnostics_ipc_vectors::{ExpectedResult, Group, Hazard, Test};

use crate::Grade;
use crate::conversation::{Answer, is_cut, is_too_small, message_of, request_as};
use crate::known::{Profile, Request, Row, Seen, explain};

/// The allowed results of a request.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Expectation<'v> {
    /// The decoded request; `None` if its command is unknown.
    pub(crate) request: Option<Request>,
    /// Whether it is valid.
    pub(crate) verdict: ExpectedResult,
    /// The due error if it is invalid.
    pub(crate) refusal: Option<HResult>,
    /// The alternative error if two things are wrong: the document does not say which is checked
    /// first.
    pub(crate) other_refusal: Option<HResult>,
    /// The errors with which it may be refused if it is valid.
    pub(crate) refusable: Refusable<'v>,
    /// The first version of .NET that has the command.
    pub(crate) since: Option<&'v str>,
    /// The target has answered the command with an OK before.
    pub(crate) is_served: bool,
}

/// The errors with which a valid request may be refused.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Refusable<'v> {
    /// None.
    Never,
    /// Any that is not about its bytes. More than the bytes decides: requests that change a target,
    /// and those that need a missing descriptor.
    ByTheMachine,
    /// These.
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
            // An Error whose code is 0 gives no reason (F-127).
            Self::ByTheMachine => {
                !hresult.is_success()
                    && ![HResult::BAD_ENCODING, HResult::UNKNOWN_MAGIC].contains(&hresult)
            }
            Self::By(refusals) => refusals.contains(&hresult),
        }
    }
}

impl<'v> Expectation<'v> {
    /// The command of a group of vectors.
    pub(super) fn command_of(group: &Group) -> Option<Command> {
        group.command.as_deref()?.parse().ok()
    }

    /// From a vector.
    pub(crate) fn of_vector(group: &'v Group, test: &'v Test) -> Self {
        let command = Self::command_of(group);
        let wire = test.wire.as_deref().unwrap_or_default();
        let is_harmful = test.hazard == Some(Hazard::Harmful);
        // A server never reads the bytes after the size (F-70), so it sees only the message before
        // them.
        let message = message_of(wire);
        let decoded = request_as(command).decode(message);
        let is_right =
            message.len() < wire.len() && decoded.is_ok_and(|decoded| decoded.limit.is_none());
        Self {
            request: command.map(|command| Request { is_harmful, ..Request::of(command, message) }),
            verdict: if is_right { ExpectedResult::Valid } else { test.result },
            refusal: refusal_of(command, wire),
            other_refusal: other_refusal_of(wire),
            refusable: Refusable::of(test),
            since: group.since.as_deref(),
            is_served: false,
        }
    }

    /// From a message without a vector. A valid one is harmless, whatever vectors say of others.
    pub(crate) fn of_message(command: Command, wire: &[u8]) -> Self {
        let message = message_of(wire);
        let is_right = |wire: &[u8]| {
            request_as(Some(command))
                .decode(wire)
                .is_ok_and(|one| one.limit.is_none() && one.canonical)
        };
        let is_harmful = !is_right(wire);
        let is_valid = !is_harmful
            || message.len() < wire.len()
                && request_as(Some(command)).decode(message).is_ok_and(|one| one.limit.is_none());
        Self {
            request: Some(Request { is_harmful, ..Request::of(command, message) }),
            verdict: if is_valid { ExpectedResult::Valid } else { ExpectedResult::Invalid },
            refusal: refusal_of(Some(command), wire),
            other_refusal: other_refusal_of(wire),
            refusable: if is_harmful { Refusable::ByTheMachine } else { Refusable::Never },
            since: None,
            is_served: false,
        }
    }

    /// Whether a target may answer that it does not know the command.
    pub(super) fn may_be_unknown(&self, profile: Profile) -> bool {
        let must_have = profile.is_known() && self.since.is_some_and(|since| profile.has(since));
        !must_have && !self.is_served && self.refusal != Some(HResult::UNKNOWN_COMMAND)
    }
}

/// The due error if the bytes are invalid.
fn refusal_of(command: Option<Command>, wire: &[u8]) -> Option<HResult> {
    // If the magic is wrong too: a server checks the size first, and waits for the whole payload
    // (F-69); our decoder checks the magic.
    if is_too_small(wire) || is_cut(wire) {
        return Some(HResult::BAD_ENCODING);
    }
    match request_as(command).decode(wire) {
        Ok(decoded) => decoded.limit.map(|limit| limit.hresult()),
        Err(refusal) => refusal.answer,
    }
}

/// A wrong magic, if a runtime refuses the size first.
pub(super) fn other_refusal_of(wire: &[u8]) -> Option<HResult> {
    let has_wrong_magic = wire.iter().zip(&MAGIC).any(|(byte, magic)| byte != magic);
    (has_wrong_magic && (is_too_small(wire) || is_cut(wire))).then_some(HResult::UNKNOWN_MAGIC)
}

/// The expected answer, in words.
pub(super) fn expected(expectation: &Expectation<'_>) -> String {
    match expectation.verdict {
        ExpectedResult::Valid => match expectation.refusable {
            Refusable::Never => "an OK, and any continuation".into(),
            Refusable::ByTheMachine => {
                "an OK, or an error that says why it cannot be done here".into()
            }
            Refusable::By(refusals) => {
                let refusals: Vec<String> =
                    refusals.iter().map(|hresult| format!(", or the error {hresult}")).collect();
                format!("an OK{}", refusals.concat())
            }
        },
        ExpectedResult::Acceptable => "an OK, or DS_IPC_E_BAD_ENCODING".into(),
        ExpectedResult::Invalid => {
            expectation.refusal.map_or_else(String::new, |hresult| format!("the error {hresult}"))
        }
    }
}

/// The grade of the result, and the row by which the runtime is known for it.
pub(crate) fn grade(
    profile: Profile,
    expectation: &Expectation<'_>,
    seen: &Seen,
) -> (Grade, Option<&'static Row>) {
    let known = || expectation.request.as_ref().and_then(|request| explain(profile, request, seen));
    let is_clean = !seen.died && !seen.left_open && !seen.wrong;
    // A server may refuse it, and this runtime is known to (F-54).
    let may_be_refused = expectation.verdict == ExpectedResult::Acceptable
        && matches!(seen.answer, Answer::Error(_));
    match by_the_document(profile, expectation, seen) {
        Some(Grade::Unimplemented) => (Grade::Unimplemented, None),
        Some(grade) if is_clean => (grade, if may_be_refused { known() } else { None }),
        _ => (Grade::Fail, known()),
    }
}

/// The grade of an answer; `None` if it is wrong, whatever happened to the connection.
pub(super) fn by_the_document(
    profile: Profile,
    expectation: &Expectation<'_>,
    seen: &Seen,
) -> Option<Grade> {
    match seen.answer {
        Answer::Error(HResult::UNKNOWN_COMMAND) if expectation.may_be_unknown(profile) => {
            Some(Grade::Unimplemented)
        }
        Answer::Error(hresult) => refused(expectation, hresult),
        Answer::Ok => taken(expectation),
        Answer::NoHeader | Answer::Nothing | Answer::Other => None,
    }
}

/// The grade of an OK; `None` if it is wrong.
const fn taken(expectation: &Expectation<'_>) -> Option<Grade> {
    match expectation.verdict {
        ExpectedResult::Valid => Some(Grade::Pass),
        ExpectedResult::Acceptable => Some(Grade::PassLenient),
        ExpectedResult::Invalid => None,
    }
}

/// The grade of an error; `None` if it is wrong.
fn refused(expectation: &Expectation<'_>, hresult: HResult) -> Option<Grade> {
    if expectation.other_refusal == Some(hresult) {
        return Some(Grade::PassLenient);
    }
    let is_right = match expectation.verdict {
        ExpectedResult::Valid => expectation.refusable.takes(hresult),
        ExpectedResult::Acceptable => {
            hresult == HResult::BAD_ENCODING || expectation.refusable.takes(hresult)
        }
        ExpectedResult::Invalid => expectation.refusal == Some(hresult),
    };
    is_right.then_some(Grade::Pass)
}

#[cfg(test)]
mod tests {
    use dotnet_diagnostics_ipc::exchange::End;
    use dotnet_diagnostics_ipc::message::{encode_to_vec, server::ErrorReply};
    use dotnet_diagnostics_ipc_vectors::{ExpectedResult, File, Group, Test, Type, files};

    use super::*;
    use crate::conversation::Exchange;
    use crate::conversation::{is_cut, message_of};
    use crate::server::judge::judge;
    use crate::server::request::{ON, Reaction};

    const CORECLR: Profile = Profile::CORECLR_10;

    /// The received bytes, and why no more arrived.
    type Came = (Vec<u8>, End);

    const SILENCE: Came = (Vec::new(), End::TimedOut);

    fn error(hresult: HResult) -> Came {
        let error = ErrorReply { hresult, message: None };
        (encode_to_vec(Command::ERROR, &error).unwrap(), End::TimedOut)
    }

    /// The generic OK, which fits every command.
    fn ok() -> Came {
        (b"DOTNET_IPC_V1\0\x14\0\xff\0\0\0".to_vec(), End::TimedOut)
    }

    fn find(files: &[File], tc_id: u32) -> (&Group, &Test) {
        let all = files
            .iter()
            .flat_map(|file| &file.groups)
            .flat_map(|group| group.tests.iter().map(move |test| (group, test)));
        all.into_iter().find(|(_, test)| test.tc_id == tc_id).unwrap()
    }

    /// The grade, the fact of a deviation, and the findings.
    fn judged(
        files: &[File],
        profile: Profile,
        tc_id: u32,
        (came, quiet): Came,
        left_open: bool,
    ) -> (Grade, Option<String>, Vec<String>) {
        let (group, test) = find(files, tc_id);
        let exchange = Exchange::new(ON, test.wire.as_deref().unwrap(), &came, quiet);
        let answered = Reaction { left_open, ..exchange.into() };
        let verdict = judge(profile, &Expectation::of_vector(group, test), &answered, None);
        (verdict.grade, verdict.deviation.map(|one| one.fact), verdict.found)
    }

    #[test]
    fn wrong_answer_is_described() {
        let files = files().unwrap();
        let found = |tc_id, came| {
            let (grade, fact, found) = judged(&files, Profile::STRICT, tc_id, came, false);
            assert_eq!((grade, fact), (Grade::Fail, None));
            found
        };
        let invalid = tc_id_of(&files, |_, test| {
            test.result == ExpectedResult::Invalid && test.error.is_some()
        });
        assert_eq!(found(invalid, ok()), ["the reply is OK"]);
        assert_eq!(found(invalid, SILENCE), ["no reply was received"]);
        let valid = tc_id_of(&files, |_, test| {
            test.result == ExpectedResult::Valid && test.hazard.is_none()
        });
        assert_eq!(
            found(valid, error(HResult::BAD_ENCODING)),
            ["the reply is the error 0x80131384 DS_IPC_E_BAD_ENCODING"]
        );
        assert_eq!(found(valid, (vec![1], End::Reset)), ["the connection was reset after 1 byte"]);
        assert_eq!(
            found(valid, (vec![0xab; 20], End::TimedOut)),
            [format!("bytes that are not a header: {}", "ab".repeat(20))]
        );
    }

    #[test]
    fn valid_request_is_refused_only_with_error_of_its_vector() {
        let files = files().unwrap();
        let (other, argument) = (HResult::FAIL, HResult::INVALID_ARG);
        // An empty name, a name that begins with an equals sign, a plain one, and a deletion.
        for (tc_id, hresult, grade) in [
            (8104, argument, Grade::Pass),
            (8104, other, Grade::Fail),
            (8109, argument, Grade::Pass),
            (8109, other, Grade::Fail),
            (8101, HResult::NOT_SUPPORTED, Grade::Pass),
            (8101, argument, Grade::Fail),
            (8102, HResult::ENVVAR_NOT_FOUND, Grade::Pass),
            (8102, argument, Grade::Fail),
            // Its machine may lack the means for a dump.
            (4002, other, Grade::Pass),
        ] {
            let judged = judged(&files, Profile::STRICT, tc_id, error(hresult), false);
            assert_eq!(judged.0, grade, "{tc_id} {hresult}");
        }
        // Known behaviour of runtimes there.
        let native_aot =
            judged(&files, Profile::NATIVE_AOT_9, 8104, error(HResult::SETENV_FAILED), false);
        assert_eq!((native_aot.0, native_aot.1.as_deref()), (Grade::Fail, Some("F-96")));
        let core_clr = judged(&files, CORECLR, 8109, error(HResult::NOT_ENOUGH_MEMORY), false);
        assert_eq!((core_clr.0, core_clr.1.as_deref()), (Grade::Informational, Some("P-48")));
        let (group, test) = find(&files, 8104);
        assert_eq!(
            expected(&Expectation::of_vector(group, test)),
            "an OK, or the error 0x80131515 DS_IPC_E_NOTSUPPORTED, or the error 0x80070057 DS_IPC_E_INVALIDARG"
        );
    }

    #[test]
    fn expected_answer_is_described() {
        let files = files().unwrap();
        let says = |tc_id| {
            let (group, test) = find(&files, tc_id);
            expected(&Expectation::of_vector(group, test))
        };
        let of = |result: ExpectedResult, is_hazard: bool| {
            tc_id_of(&files, |_, test| test.result == result && test.hazard.is_some() == is_hazard)
        };
        assert_eq!(says(of(ExpectedResult::Valid, false)), "an OK, and any continuation");
        assert_eq!(
            says(of(ExpectedResult::Valid, true)),
            "an OK, or an error that says why it cannot be done here"
        );
        let of_kind = |kind: &str| {
            tc_id_of(&files, |_, test| test.error.as_ref().is_some_and(|fault| fault.kind == kind))
        };
        assert_eq!(says(of_kind("bad_magic")), "the error 0x80131386 DS_IPC_E_UNKNOWN_MAGIC");
        assert_eq!(says(of_kind("unexpected_end")), "the error 0x80131384 DS_IPC_E_BAD_ENCODING");
        let acceptable = tc_id_of(&files, |_, test| test.result == ExpectedResult::Acceptable);
        assert_eq!(says(acceptable), "an OK, or DS_IPC_E_BAD_ENCODING");
    }

    /// The number of a request to a server selected by `is_meant`.
    #[track_caller]
    fn tc_id_of(files: &[File], is_meant: impl Fn(&Group, &Test) -> bool) -> u32 {
        let groups =
            files.iter().flat_map(|file| &file.groups).filter(|group| group.kind == Type::Request);
        let mut all = groups.flat_map(|group| group.tests.iter().map(move |test| (group, test)));
        let is_whole = |test: &Test| {
            test.wire.as_deref().is_some_and(|wire| !is_cut(wire) && message_of(wire) == wire)
        };
        let found = all.find(|(group, test)| {
            group.command.is_some() && is_whole(test) && is_meant(group, test)
        });
        found.expect("there is one").1.tc_id
    }

    #[test]
    fn short_payload_taken_is_known_by_fact() {
        let files = files().unwrap();
        let is_harmful =
            |test: &Test| test.hazard == Some(Hazard::Harmful) && test.acceptable_on.is_empty();
        let with = |kind: &str, field: &str| {
            tc_id_of(&files, |_, test| {
                let fault = test.error.as_ref();
                is_harmful(test)
                    && fault.is_some_and(|one| {
                        one.kind == kind && one.field.as_deref().unwrap_or("").starts_with(field)
                    })
            })
        };
        let known = |tc_id, came| {
            let (grade, fact, found) = judged(&files, CORECLR, tc_id, came, false);
            (grade, fact.unwrap_or_default(), found.len())
        };
        let informational = |fact: &str| (Grade::Informational, String::from(fact), 1);
        assert_eq!(known(with("unexpected_end", ""), ok()), informational("F-7"));
        assert_eq!(known(with("count_too_large", "CollectTracing"), ok()), informational("F-7"));
        // Whichever field, and whether an observed build did that: it is undefined.
        assert_eq!(
            known(with("unexpected_end", "AttachProfiler.client"), ok()),
            informational("F-7")
        );
        // Refused with the wrong reason.
        assert_eq!(known(with("unexpected_end", ""), error(HResult::FAIL)), informational("F-7"));
        // A wait for a descriptor that is never sent.
        let waits = known(with("count_too_large", "CollectTracing"), SILENCE);
        assert_eq!(waits, informational("F-7"));
        // Memory of the runtime instead of an answer.
        let process = tc_id_of(&files, |group, test| {
            group.command.as_deref() == Some("Process/ProcessInfo")
                && test.result == ExpectedResult::Invalid
        });
        assert_eq!(known(process, (vec![0; 20], End::TimedOut)), informational("F-71"));
        // None of this is known of any other server.
        let (grade, fact, _) =
            judged(&files, Profile::STRICT, with("unexpected_end", ""), ok(), false);
        assert_eq!((grade, fact), (Grade::Fail, None));
    }

    #[test]
    fn known_acceptance_or_open_connection_is_not_a_failure() {
        let files = files().unwrap();
        // 3.1 without a createdump (P-40).
        let dump = tc_id_of(&files, |group, test| {
            group.command.as_deref() == Some("Dump/GenerateCoreDump")
                && test.result == ExpectedResult::Valid
        });
        let old = Profile::CORECLR_3_1;
        assert_eq!(
            judged(&files, old, dump, error(HResult::FAIL), true).1.as_deref(),
            Some("P-40")
        );
        assert_eq!(judged(&files, CORECLR, dump, error(HResult::FAIL), true).0, Grade::Fail);
        let newer = tc_id_of(&files, |group, test| {
            group.command.as_deref() == Some("Dump/GenerateCoreDump2")
                && test.result == ExpectedResult::Valid
        });
        for (tc_id, hresult, left_open, grade) in [
            (dump, HResult::FAIL, false, Grade::Pass),
            (dump, HResult::BAD_ENCODING, true, Grade::Fail),
            (newer, HResult::FAIL, true, Grade::Fail),
        ] {
            assert_eq!(
                judged(&files, old, tc_id, error(hresult), left_open).0,
                grade,
                "{tc_id} {hresult}"
            );
        }
        // A refused session, from .NET 9 on (F-74).
        let bad = tc_id_of(&files, |group, test| {
            let refused = test.error.is_some() && test.acceptable_on.is_empty();
            refused && group.command.as_deref() == Some("EventPipe/CollectTracing2")
        });
        let left = |profile| judged(&files, profile, bad, error(HResult::BAD_ENCODING), true);
        assert_eq!(left(CORECLR).1.as_deref(), Some("F-74"));
        assert_eq!(left(CORECLR).2, ["the connection stays open"]);
        assert_eq!(left(Profile::CORECLR_8).0, Grade::Fail);
        // Only sessions: neither their stop, nor other commands.
        for command in ["EventPipe/StopTracing", "Process/EnablePerfMap"] {
            let other = tc_id_of(&files, |group, test| {
                test.error.is_some() && group.command.as_deref() == Some(command)
            });
            assert_eq!(
                judged(&files, CORECLR, other, error(HResult::BAD_ENCODING), true).0,
                Grade::Fail,
                "{command}"
            );
        }
        // A runtime of this name accepts it, according to a vector (F-73), and older ones do not know
        // the command.
        let taken = tc_id_of(&files, |group, test| {
            test.acceptable_on.iter().any(|name| name.starts_with("net10."))
                && group.command.as_deref() == Some("EventPipe/CollectTracing5")
        });
        assert_eq!(judged(&files, CORECLR, taken, ok(), false).1.as_deref(), Some("F-7"));
        assert_eq!(judged(&files, old, taken, (vec![1], End::TimedOut), false).0, Grade::Fail);
    }
}
