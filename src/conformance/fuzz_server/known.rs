//! The fact by which something that was found is known of a runtime.

use alloc::{string::ToString as _, vec::Vec};

use super::case::FuzzCase;
use super::play::Observed;
use super::verdict::Verdict;
use crate::conformance::Deviation;
use crate::conformance::server::Profile;
use crate::conformance::server::judge::judge;
use crate::vectors::{Direction, Group, Hazard, Source, SourceKind, Subject, Test, Type, Value, Verdict as Binding};

/// The fact by which the rules of the server suite know it. They know of no hang.
pub(super) fn known(profile: Profile, case: &FuzzCase, observed: &Observed) -> Option<Deviation> {
    let command = case.command();
    let decoded = Subject { kind: Type::Request, command: Some(command), from_server: false }.decode(&case.message);
    // A request that is right may harm nobody, whatever the vectors say of others.
    let is_right = decoded.as_ref().is_ok_and(|decoded| decoded.limit.is_none() && decoded.canonical);
    let group = Group {
        name: "fuzz".into(),
        kind: Type::Request,
        source: Source { kind: SourceKind::Derived, edition: None, section: None, fact: None, runtime: None },
        made: "mutated".into(),
        direction: Some(Direction::Client),
        command: Some(command.to_string()),
        since: None,
        spec: Vec::new(),
        tests: Vec::new(),
    };
    let test = Test {
        tc_id: case.tc_id,
        comment: case.mutation(),
        flags: Vec::new(),
        wire: Some(case.message.clone()),
        value: Value::Null,
        result: if is_right { Binding::Valid } else { Binding::Invalid },
        canonical: is_right,
        hazard: (!is_right).then_some(Hazard::Harmful),
        acceptable_on: Vec::new(),
        error: decoded.err().map(Into::into),
        chunks: Vec::new(),
    };
    if observed.verdict == Verdict::Hang {
        return None;
    }
    let death = (observed.verdict == Verdict::Crash).then(|| observed.death.as_deref().unwrap_or("is dead"));
    judge(profile, &group, &test, &observed.answered, death).deviation
}
