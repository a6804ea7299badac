//! The fact that explains a finding for a runtime.

use super::case::FuzzCase;
use super::play::Observed;
use super::verdict::CaseVerdict;
use crate::KnownDeviation;
use crate::conversation::Answer;
use crate::known::{Profile, Seen, explain};
use crate::server::Death;
use crate::server::expectation::Expectation;
use crate::server::judge::judge;
use crate::server::request::Reaction;

/// The fact found by the rules of the server suite. They cover this fault.
pub(super) fn known(
    profile: Profile,
    case: &FuzzCase,
    observed: &Observed,
) -> Option<KnownDeviation> {
    let death =
        (observed.verdict == CaseVerdict::Crash).then(|| observed.death.unwrap_or(Death::Unknown));
    let expectation = Expectation::of_message(case.command(), &case.message);
    let judged = judge(profile, &expectation, &observed.answered, death).deviation;
    judged.or_else(|| left_open(profile, &expectation, &observed.answered))
}

/// Why a connection stays open after a correct error: the suite does not report only that.
fn left_open(
    profile: Profile,
    expectation: &Expectation<'_>,
    answered: &Reaction,
) -> Option<KnownDeviation> {
    let hresult = answered.exchange().reply.error().filter(|_| answered.left_open)?;
    let seen = Seen { answer: Answer::Error(hresult), died: false, left_open: true, wrong: false };
    let row = explain(profile, expectation.request.as_ref()?, &seen)?;
    Some(KnownDeviation { fact: row.fact.into(), text: row.text.into() })
}

#[cfg(test)]
mod tests {
    use dotnet_diagnostics_ipc::exchange::End;

    use super::*;
    use crate::conversation::Exchange;
    use crate::fuzz::Delivery;
    use crate::server::request::ON;

    fn fact(profile: Profile, message: &[u8], verdict: CaseVerdict) -> Option<std::string::String> {
        let case = FuzzCase {
            number: 1,
            tc_id: 1,
            base: dotnet_diagnostics_ipc::command::Command::RESUME_RUNTIME,
            mutations: Vec::new(),
            message: message.to_vec(),
            delivery: Delivery::Whole,
        };
        let reset = End::Reset;
        let answered = Exchange::new(ON, message, &[], reset).into();
        known(profile, &case, &Observed { verdict, faults: Vec::new(), death: None, answered })
            .map(|deviation| deviation.fact)
    }

    #[test]
    fn known_open_connection_after_error_by_profile() {
        let case = FuzzCase {
            number: 1,
            tc_id: 1,
            base: dotnet_diagnostics_ipc::command::Command::ATTACH_PROFILER,
            mutations: Vec::new(),
            message: b"DOTNET_IPC_V1\0\x14\0\x03\x7f\0\0".to_vec(),
            delivery: Delivery::Whole,
        };
        let unknown = b"DOTNET_IPC_V1\0\x18\0\xff\xff\0\0\x85\x13\x13\x80";
        let answered = Exchange::new(ON, &case.message, unknown, End::TimedOut).into();
        let answered = Reaction { left_open: true, ..answered };
        let observed =
            Observed { verdict: CaseVerdict::LeftOpen, faults: Vec::new(), death: None, answered };
        let fact = |profile| known(profile, &case, &observed).map(|deviation| deviation.fact);
        assert_eq!((fact(Profile::CORECLR_8), fact(Profile::STRICT)), (Some("F-74".into()), None));
    }

    #[test]
    fn known_death_needs_recorded_fault() {
        let net10 = Profile::CORECLR_10;
        let crash = |message: &[u8]| fact(net10, message, CaseVerdict::Crash);
        let fact_of = |fact: &str| Some(fact.to_owned());
        let resume = b"DOTNET_IPC_V1\0\x14\0\x04\x01\0\0";
        let without_payload = b"DOTNET_IPC_V1\0\x14\0\x01\x01\0\0";
        // Canonical, and beyond a limit: a buffer of 0 MB, and one provider "P".
        let zero = b"DOTNET_IPC_V1\0\x39\0\x02\x03\0\0\0\0\0\0\x01\0\0\0\0\x01\0\0\0\
            \0\0\0\0\0\0\0\0\x04\0\0\0\x02\0\0\0P\0\0\0\0\0\0\0";
        assert_eq!(
            (crash(without_payload), crash(zero), crash(resume)),
            (fact_of("F-7"), None, None)
        );
        assert_eq!(fact(Profile::CORECLR_9, zero, CaseVerdict::Crash), fact_of("F-72"));
        // A byte after the payload kills no observed runtime.
        let surplus = b"DOTNET_IPC_V1\0\x15\0\x04\x01\0\0\x07";
        assert_eq!(crash(surplus), None);
        // Nothing is known of the strict profile.
        assert_eq!(fact(Profile::STRICT, without_payload, CaseVerdict::Crash), None);
    }
}
