//! Leave-one-out: each recorded build is compared with the recordings nearest to it, without its own.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use dotnet_diagnostics_ipc::exchange::RefusalReason;

use super::nearest::nearest_among;
use super::snapshot::assert_part;
use super::tests::{all_cases, all_recordings};
use super::*;
use crate::server::expectation::Expectation;
use crate::server::{ServerCase, ServerCaseKind};

const PAGE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../spec/RUNTIMES.md");
const MARKS: [&str; 2] = ["<!-- predicted -->\n", "<!-- end of predicted -->\n"];

/// Whether no request of a case ends too early, or is malformed in another way.
fn is_well_formed(case: &ServerCase<'_>) -> bool {
    let requests: Vec<Request> = match case.kind {
        ServerCaseKind::Script { script, .. } => requests(script).collect(),
        ServerCaseKind::Request { group, test } => {
            Expectation::of_vector(group, test).request.into_iter().collect()
        }
    };
    !requests.iter().any(|one| matches!(one.reason, Some(RefusalReason::Malformed(_))))
}

/// How many outcomes were predicted.
#[derive(Clone, Copy, Default)]
struct Share {
    predicted: u32,
    all: u32,
}

impl Share {
    fn cell(self) -> String {
        let percent = 100.0 * f64::from(self.predicted) / f64::from(self.all.max(1));
        format!("{} of {}, {percent:.1} %", self.predicted, self.all)
    }
}

#[test]
fn recorded_builds_are_predicted_by_the_others() {
    let recordings = all_recordings();
    // Whether a dump is written depends on the program beside the runtime (P-6, P-31).
    let kept = all_cases().filter(|case| !case.asks_for_a_dump());
    let cases: Vec<(String, bool)> =
        kept.map(|case| (case.name(), is_well_formed(&case))).collect();
    let mut table = String::from(
        "| build | compared with | well-formed requests | malformed requests |\n|---|---|--:|--:|\n",
    );
    let mut sums = [Share::default(); 2];
    for recording in &recordings {
        let others: Vec<_> =
            recordings.iter().filter(|other| other.build != recording.build).collect();
        let builds: Vec<Profile> = others.iter().map(|other| other.profile).collect();
        let nearest = nearest_among(&builds, recording.profile);
        let nearest: Vec<_> =
            others.into_iter().filter(|other| nearest.contains(&other.profile)).collect();
        let mut shares = [Share::default(); 2];
        for (name, is_well_formed) in &cases {
            let Some(outcome) = recording.outcomes.get(name) else { continue };
            let of_others = nearest.iter().filter_map(|other| other.outcomes.get(name));
            let of_others: BTreeSet<String> = of_others.map(ToString::to_string).collect();
            if of_others.is_empty() {
                continue;
            }
            let is_predicted = of_others.contains(&outcome.to_string());
            for share in [&mut shares, &mut sums] {
                let share = &mut share[usize::from(!is_well_formed)];
                share.all += 1;
                share.predicted += u32::from(is_predicted);
            }
        }
        if nearest.is_empty() {
            continue;
        }
        let names: Vec<_> = nearest.iter().map(|other| other.build.as_str()).collect();
        let [well_formed, malformed] = shares.map(Share::cell);
        writeln!(
            table,
            "| {} | {} | {well_formed} | {malformed} |",
            recording.build,
            names.join(", ")
        )
        .unwrap();
    }
    let [well_formed, malformed] = sums.map(Share::cell);
    writeln!(table, "| all | | {well_formed} | {malformed} |").unwrap();
    assert_part(PAGE, MARKS, &table, "-p diagipc --all-features --lib predicted_by_the_others");
    let [Share { predicted, all }, _] = sums;
    assert!(all > 6000 && predicted * 100 >= all * 99, "{predicted} of {all}");
}
