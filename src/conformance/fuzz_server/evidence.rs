//! Whether a target is the runtime that it says it is: its version text alone excuses nothing.

use alloc::vec::Vec;

use super::case::{Delivery, FuzzCase};
use super::play::Observed;
use crate::command::Command;
use crate::conformance::known::{Answer, Profile, Seen, explain};
use crate::conformance::server::expectation::Expectation;
use crate::hresult::HResult;

/// A request with an id of the profiler set that no edition has. Runtimes of which facts are known leave the connection open behind the
/// right error (F-74), and nobody does so who is not one of them. It costs the target one descriptor.
pub(super) fn question() -> FuzzCase {
    let message = Vec::from(*b"DOTNET_IPC_V1\0\x14\0\x03\xfe\0\0");
    FuzzCase { number: 0, tc_id: 0, base: Command::ATTACH_PROFILER, mutations: Vec::new(), message, delivery: Delivery::Whole }
}

/// Whether the answer to [`question`] is what this runtime is known for.
pub(super) fn is_of(profile: Profile, observed: &Observed) -> bool {
    let case = question();
    let seen = Seen { answer: Answer::Error(HResult::UNKNOWN_COMMAND), died: false, left_open: true, wrong: false };
    let request = Expectation::of_message(case.command(), &case.message).request;
    let is_known_for_it = request.is_some_and(|request| explain(profile, &request, &seen).is_some());
    is_known_for_it && observed.answered.left_open && observed.answered.came.error() == Some(HResult::UNKNOWN_COMMAND)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::conformance::fuzz_server::CaseVerdict;
    use crate::conformance::server::ask::Came;
    use crate::conformance::server::request::Answered;

    #[test]
    fn target_is_what_it_says_if_it_does_what_that_runtime_is_known_for() {
        let observed = |hresult: u8, left_open| {
            let came = Came::Message([&b"DOTNET_IPC_V1\0\x18\0\xff\xff\0\0"[..], &[hresult, 0x13, 0x13, 0x80]].concat());
            let answered = Answered { came, wrong: Vec::new(), left_open, has_surplus: false };
            Observed { verdict: CaseVerdict::Error, symptoms: Vec::new(), answered }
        };
        assert!(is_of(Profile::CORECLR_10, &observed(0x85, true)));
        assert!(!is_of(Profile::CORECLR_10, &observed(0x85, false)));
        assert!(!is_of(Profile::CORECLR_10, &observed(0x84, true)));
        // Nothing of it is known of others.
        assert!(!is_of(Profile::STRICT, &observed(0x85, true)));
    }
}
