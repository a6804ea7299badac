//! How well a build is foretold by the others: each recording against all but itself.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use dotnet_diagnostics_ipc::exchange::RefusalReason;

use super::evidence_tests::{P_6, all_recordings, row_of};
use super::nearest::Nearest;
use super::snapshot::assert_part;
use super::*;
use crate::Grade;
use crate::embedded;
use crate::server::expectation::Expectation;
use crate::server::expectation::grade;
use crate::server::{ServerCase, ServerCaseKind, cases};

const PAGE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../spec/RUNTIMES.md");
const BEGIN: &str = "<!-- foretold -->\n";
const END: &str = "<!-- end of foretold -->\n";

/// Whether none of a case's requests ends early, or is otherwise malformed.
fn is_well_formed(case: &ServerCase<'_>) -> bool {
    let requests: Vec<Request> = match case.kind {
        ServerCaseKind::Script { script, .. } => deviation::requests(script).collect(),
        ServerCaseKind::Request { group, test } => {
            Expectation::of_vector(group, test).request.into_iter().collect()
        }
    };
    !requests.iter().any(|one| matches!(one.reason, Some(RefusalReason::Malformed(_))))
}

/// An outcome as a build's: whether a dump can be written is the program's and its machine's, and no
/// fact of .NET (P-6, P-31).
fn of_build(case: &ServerCase<'_>, outcome: &Outcome) -> String {
    let is_of_program = match (case.kind, outcome) {
        (ServerCaseKind::Request { group, test }, Outcome::Answered(seen)) => {
            let expectation = Expectation::of_vector(group, test);
            case.asks_for_a_dump() && grade(Profile::STRICT, &expectation, seen).0 == Grade::Pass
        }
        (ServerCaseKind::Script { .. }, Outcome::Deviated(fact)) => {
            fact == P_6 || TABLE.iter().any(|row| row.layer == Layer::Host && row.fact == *fact)
        }
        _ => false,
    };
    if is_of_program { Outcome::AsWritten.to_string() } else { outcome.to_string() }
}

/// The cases that could be foretold, and those that were.
#[derive(Default)]
struct Count {
    cases: u32,
    foretold: u32,
}

impl Count {
    fn add(&mut self, is_foretold: bool) {
        self.cases += 1;
        self.foretold += u32::from(is_foretold);
    }

    fn percent(&self) -> f64 {
        100.0 * f64::from(self.foretold) / f64::from(self.cases.max(1))
    }

    fn cell(&self) -> String {
        format!("{} of {}, {:.1} %", self.foretold, self.cases, self.percent())
    }
}

/// The share of well-formed requests that is foretold is at least 97 % where another build of the
/// version and another one of the platform are recorded.
#[test]
fn build_is_foretold_by_the_others() {
    let (scripts, vectors) = (embedded::scripts().unwrap(), embedded::vectors().unwrap());
    let (cases, recordings) = (cases(scripts, vectors), all_recordings());
    let names: Vec<String> = cases.iter().map(ServerCase::name).collect();
    let are_well_formed: Vec<bool> = cases.iter().map(is_well_formed).collect();
    // Of each recording, by case.
    let of_builds = recordings.iter().map(|recording| {
        let of = |(case, name)| Some(of_build(case, recording.outcomes.get(name)?));
        cases.iter().zip(&names).map(of).collect::<Vec<Option<String>>>()
    });
    let of_builds: Vec<_> = of_builds.collect();
    let mut table = String::new();
    let (mut held, mut low) = (0, Vec::new());
    for (recording, of_this) in recordings.iter().zip(&of_builds) {
        let others = recordings.iter().zip(&of_builds);
        let others: Vec<_> = others.filter(|(other, _)| other.build != recording.build).collect();
        let all: Vec<Profile> = others.iter().map(|(other, _)| other.profile).collect();
        let nearest = Nearest::among(&all, recording.profile);
        let outcomes = |builds: &[Profile], nth: usize| -> BTreeSet<&String> {
            let of = others.iter().filter(|(other, _)| builds.contains(&other.profile));
            of.filter_map(|(_, outcomes)| outcomes[nth].as_ref()).collect()
        };
        let builds = |builds: &[Profile]| {
            let of = others.iter().filter(|(other, _)| builds.contains(&other.profile));
            let names: Vec<_> = of.map(|(other, _)| other.build.as_str()).collect();
            if names.is_empty() { "–".into() } else { names.join(", ") }
        };
        let (mut well_formed, mut malformed, mut unknown) = (Count::default(), Count::default(), 0);
        for (nth, case) in cases.iter().enumerate() {
            let Some(outcome) = recording.outcomes.get(&names[nth]) else { continue };
            let is_alike =
                |own: &[Profile], others: &[Profile]| outcomes(own, nth) == outcomes(others, nth);
            let foretold = outcomes(nearest.deciding(is_alike), nth);
            if foretold.is_empty() {
                continue;
            }
            let count = if are_well_formed[nth] { &mut well_formed } else { &mut malformed };
            let is_foretold = of_this[nth].as_ref().is_some_and(|this| foretold.contains(this));
            count.add(is_foretold);
            // What the report says of it.
            let is_known = match row_of(recording.profile, case, outcome, |row| row.is_of(&nearest))
            {
                Ok(_) => true,
                Err(_) => is_foretold,
            };
            unknown += u32::from(!is_known);
        }
        let has_both = !nearest.platforms.is_empty()
            && all.iter().any(|other| other.version() == recording.profile.version());
        writeln!(
            table,
            "| {} | {} | {} | {} | {} | {unknown} |",
            recording.build,
            builds(&nearest.servers),
            builds(&nearest.platforms),
            well_formed.cell(),
            malformed.cell(),
        )
        .unwrap();
        if has_both {
            held += 1;
            // What NativeAOT mended in 9: deletions and absent names that killed 8 (F-95, F-96, F-99).
            let least = if recording.build == "aot8.0.31" { 96.0 } else { 97.0 };
            if well_formed.percent() < least {
                low.push(format!("{}: {}", recording.build, well_formed.cell()));
            }
        }
    }
    let heading = "| build | server of | platform of | well-formed | malformed | failures that no row explains |\n|---|---|---|---|---|---|\n";
    let arguments = "-p diagipc --all-features --lib build_is_foretold_by_the_others";
    assert_part(PAGE, [BEGIN, END], &format!("{heading}{table}"), arguments);
    assert!(held > 8 && low.is_empty(), "{held} builds, too low: {low:?}");
}
