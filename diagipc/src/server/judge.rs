//! The grade of a request's answer.

use dotnet_diagnostics_ipc::command::Command;
use dotnet_diagnostics_ipc::hresult::HResult;
use dotnet_diagnostics_ipc_vectors::ExpectedResult;

use super::Death;
use super::expectation::{Expectation, Refusable};
use super::request::Reaction;
use crate::conversation::{Answer, Exchange, FaultSeen};
use crate::faults::Fault;
use crate::known::{Profile, Row, Seen, explain};
use crate::{Grade, KnownDeviation};

/// The judgement of an answer.
#[derive(Clone, Debug)]
pub(crate) struct Judgement {
    pub(super) grade: Grade,
    pub(crate) deviation: Option<KnownDeviation>,
    pub(super) found: Vec<String>,
    /// The faults shown by a failure.
    pub(super) faults: Vec<FaultSeen>,
    /// The result of a request.
    pub(crate) seen: Option<Seen>,
}

impl Judgement {
    pub(super) const fn new(grade: Grade, found: Vec<String>) -> Self {
        Self { grade, deviation: None, found, faults: Vec::new(), seen: None }
    }

    pub(super) fn known(fact: &str, text: &str, found: Vec<String>) -> Self {
        let deviation = Some(KnownDeviation { fact: fact.into(), text: text.into() });
        Self { grade: Grade::Informational, deviation, found, faults: Vec::new(), seen: None }
    }

    /// Whether it may be another correct behaviour: no message is wrong in itself.
    pub(super) fn may_be_habit(&self) -> bool {
        self.faults.iter().all(|seen| {
            let is_other_answer = seen.fault == Fault::ValidRequestRefused;
            !seen.is_certain && (seen.may_be_lateness() || is_other_answer)
        })
    }

    /// Faults in the bytes are always reported. Known behaviour of the target stays known.
    pub(super) fn with_faults(mut self, faults: Vec<FaultSeen>) -> Self {
        match self.grade {
            Grade::Pass | Grade::PassLenient if !faults.is_empty() => {
                self.grade = Grade::Fail;
                self.found.extend(faults.iter().map(|seen| seen.text.clone()));
                self.faults = faults;
            }
            Grade::Fail => self.faults = faults,
            _ => {}
        }
        self
    }

    /// By a row of the table. A fault of the runtime stays a failure, and has its name.
    pub(super) fn of_row(row: &Row, found: Vec<String>) -> Self {
        let mut known = Self::known(row.fact, row.text, found);
        if row.fault {
            known.grade = Grade::Fail;
            known.found.push(format!("a known fault of this runtime, {}: {}", row.fact, row.text));
        }
        known
    }
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

/// Grades the result. `death` is how the target ended, if it did.
pub(crate) fn judge(
    profile: Profile,
    expectation: &Expectation<'_>,
    answered: &Reaction,
    death: Option<Death>,
) -> Judgement {
    let seen = seen(answered, death);
    let mut found: Vec<String> = answered.wrong().collect();
    if answered.left_open {
        found.push("the connection stays open".into());
    }
    if let Some(death) = death {
        found.push(format!("the target {death}"));
    }
    if by_the_document(profile, expectation, &seen).is_none() {
        found.insert(0, came(answered.exchange()));
    }
    let judgement = match grade(profile, expectation, &seen) {
        (_, Some(row)) => Judgement::of_row(row, found),
        (Grade::Unimplemented, None) => Judgement::new(
            Grade::Unimplemented,
            [lacks(expectation.request.map(|request| request.command))].into(),
        ),
        (grade, None) => Judgement::new(grade, found),
    };
    Judgement { seen: Some(seen), ..judgement }
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
fn by_the_document(profile: Profile, expectation: &Expectation<'_>, seen: &Seen) -> Option<Grade> {
    match seen.answer {
        Answer::Error(HResult::UNKNOWN_COMMAND) if expectation.may_be_unknown(profile) => {
            Some(Grade::Unimplemented)
        }
        Answer::Error(hresult) => refused(expectation, hresult),
        Answer::Ok => taken(expectation),
        Answer::NoHeader | Answer::Nothing | Answer::Other => None,
    }
}

/// That a target does not know a command.
pub(super) fn lacks(command: Option<Command>) -> String {
    let name = command.and_then(Command::name).map_or_else(String::new, |name| format!("{name}: "));
    format!("{name}DS_IPC_E_UNKNOWN_COMMAND")
}

fn came(exchange: &Exchange) -> String {
    match exchange.answer() {
        Answer::Error(hresult) => format!("the reply is the error {hresult}"),
        Answer::Ok => "the reply is OK".into(),
        Answer::NoHeader | Answer::Nothing | Answer::Other => exchange.to_string(),
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

/// The result of a request.
fn seen(answered: &Reaction, death: Option<Death>) -> Seen {
    Seen {
        answer: answered.exchange().answer(),
        died: death.is_some(),
        left_open: answered.left_open,
        wrong: answered.is_wrong(),
    }
}

#[cfg(test)]
mod tests {
    use dotnet_diagnostics_ipc::exchange::End;
    use dotnet_diagnostics_ipc::message::{encode_to_vec, server::ErrorReply};
    use dotnet_diagnostics_ipc_vectors::{File, Group, Hazard, Test, Type, files};

    use super::*;
    use crate::conversation::Exchange;
    use crate::conversation::{is_cut, message_of};
    use crate::server::request::ON;

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
        let judgement = judge(profile, &Expectation::of_vector(group, test), &answered, None);
        (judgement.grade, judgement.deviation.map(|one| one.fact), judgement.found)
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
