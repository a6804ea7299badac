//! What runtimes do and the document leaves open: other servers may differ.

use dotnet_diagnostics_ipc::command::Command;
use dotnet_diagnostics_ipc::hresult::HResult;
use dotnet_diagnostics_ipc_vectors::{ExpectedResult, Test, Value};

use super::ServerCase;
use super::expectation::Expectation;
use super::judge::Verdict;
use super::request::Reaction;
use crate::conversation::{Answer, Exchanges, is_cut};
use crate::known::{Family, Profile};

/// The text for anything that the document leaves open.
const LEFT_OPEN: &str = "runtimes do this; the document leaves it open";

/// The fact that runtimes answer `StopTracing` of any id with OK.
const STOPS_ANY_ID: &str = "F-31";

/// The verdict about a server that differs from runtimes, by this fact.
pub(super) fn known(fact: &str, found: Vec<String>) -> Verdict {
    Verdict::known(fact, LEFT_OPEN, found)
}

/// The fact by which a failed script requires a habit. Only a runtime must have it.
pub(super) fn of_script<'v>(
    profile: Profile,
    case: &ServerCase<'v>,
    exchanges: &Exchanges,
) -> Option<&'v str> {
    let habit = case.habit().filter(|_| profile.family() == Family::Strict)?;
    (habit != STOPS_ANY_ID || has_a_refused_stop(exchanges)).then_some(habit)
}

/// A requirement of a request that only runtimes meet, if a server differs.
pub(super) fn fault_in_request(
    profile: Profile,
    expectation: &Expectation<'_>,
    test: &Test,
    answered: &Reaction,
) -> Option<Verdict> {
    if profile.family() != Family::Strict {
        return None;
    }
    let is_cut = test.wire.as_deref().is_some_and(is_cut);
    let command = expectation.request.map(|request| request.command);
    let (answer, error) = (answered.exchange().answer(), answered.exchange().reply.error());
    let (fact, found) = match (answer, answered.exchange().end()) {
        (Answer::Other, Some(end)) if is_cut && answered.exchange().came.is_empty() => {
            ("F-69", format!("the input ends too early, and {end} without a reply"))
        }
        (Answer::Error(_), _)
            if refuses_a_stop(command, error) && expectation.verdict != ExpectedResult::Invalid =>
        {
            (STOPS_ANY_ID, "a nonexistent session is refused".to_owned())
        }
        (Answer::Ok, _) if has_a_name_of_nuls(test) => {
            ("P-43", "a name of NULs is not treated as empty".to_owned())
        }
        _ => return None,
    };
    let is_well_formed = !answered.is_wrong() && !answered.left_open;
    is_well_formed.then(|| known(fact, [found].into()))
}

/// Whether `StopTracing` is refused for its session, not for its bytes.
fn refuses_a_stop(command: Option<Command>, error: Option<HResult>) -> bool {
    let of_bytes = [HResult::BAD_ENCODING, HResult::UNKNOWN_MAGIC, HResult::UNKNOWN_COMMAND];
    command == Some(Command::STOP_TRACING)
        && error.is_some_and(|hresult| !of_bytes.contains(&hresult))
}

/// Whether an error to `StopTracing`, as far as it was read, says no more than that.
fn has_a_refused_stop(exchanges: &Exchanges) -> bool {
    exchanges.all.iter().any(|exchange| {
        let hresult = exchange.reply.hresult.unwrap_or(HResult::FAIL);
        exchange.reply.code == Some(Command::ERROR)
            && refuses_a_stop(exchange.command(), Some(hresult))
    })
}

/// Whether a request is refused for an empty provider name only by servers that end a string at its
/// first NUL.
fn has_a_name_of_nuls(test: &Test) -> bool {
    let name = test.value.pointer("/providers/0/provider_name").and_then(Value::as_str);
    test.error.as_ref().is_some_and(|error| error.kind == "empty_provider_name")
        && name.is_some_and(|name| !name.is_empty())
}
