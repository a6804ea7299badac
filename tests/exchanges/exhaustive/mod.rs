//! Every state that machines can be in together: a breadth-first walk over the product of the
//! machines and the connection between them, with every report that is legal in each state, and every
//! one that is not.

mod port;
mod session;

use std::collections::{BTreeSet, HashMap, VecDeque};
use std::fmt::Write as _;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

/// The limit for the number of states, which no product reaches.
const MOST: usize = 200_000;

/// One step from a state to another.
struct Way<S> {
    label: &'static str,
    /// A timeout, a connection that is cut, or a side that ends early. A conversation must be able
    /// to continue without it.
    is_fault: bool,
    to: S,
}

/// Machines and the connection between them.
trait Product: Sized {
    /// Everything that distinguishes two states.
    fn key(&self) -> String;

    /// Checks the state, and returns every step from it.
    fn ways(&self) -> Vec<Way<Self>>;

    /// What the state is an end of; `None` while something can still happen.
    fn end(&self) -> Option<String>;
}

/// The result of a walk.
struct Walked {
    states: usize,
    ways: usize,
    ends: BTreeSet<String>,
}

impl Walked {
    #[track_caller]
    fn reached(&self, end: &str) {
        assert!(self.ends.contains(end), "{end} was not reached: {:#?}", self.ends);
    }
}

/// Walks from `start`, and asserts that from each state an end can be reached without another
/// fault.
fn walk<S: Product>(start: S) -> Walked {
    let mut known = HashMap::from([(start.key(), 0)]);
    let (mut cause, mut before) = (vec![(0, "start")], vec![Vec::new()]);
    let (mut left, mut ends, mut ways) = (VecDeque::from([start]), BTreeSet::new(), 0);
    let (mut ended, mut goes_on) = (Vec::new(), Vec::new());
    for from in 0.. {
        let Some(state) = left.pop_front() else { break };
        let next = catch_unwind(AssertUnwindSafe(|| (state.ways(), state.end())));
        let (next, end) = next.unwrap_or_else(|panic| {
            eprintln!("on the way{}", trail(&cause, from));
            resume_unwind(panic)
        });
        ways += next.len();
        goes_on.push(next.iter().any(|way| !way.is_fault));
        assert!(
            cause.len() < MOST,
            "no end of states: the last of them after{}",
            trail(&cause, cause.len() - 1)
        );
        for way in next {
            let to = *known.entry(way.to.key()).or_insert_with(|| {
                cause.push((from, way.label));
                before.push(Vec::new());
                left.push_back(way.to);
                cause.len() - 1
            });
            if !way.is_fault {
                before[to].push(from);
            }
        }
        if let Some(end) = end {
            ends.insert(end);
            ended.push(from);
        }
    }
    let mut leads_to_an_end = vec![false; cause.len()];
    while let Some(state) = ended.pop() {
        if !std::mem::replace(&mut leads_to_an_end[state], true) {
            ended.append(&mut before[state]);
        }
    }
    let dead: Vec<_> = (0..cause.len()).filter(|state| !leads_to_an_end[*state]).collect();
    // A state without any step is the clearest failure.
    if let Some(state) = dead.iter().find(|state| !goes_on[**state]).or(dead.first()) {
        panic!("no end can be reached any more after{}", trail(&cause, *state));
    }
    Walked { states: cause.len(), ways, ends }
}

/// The steps that led to a state.
fn trail(cause: &[(usize, &str)], mut state: usize) -> String {
    let mut labels = Vec::new();
    while state > 0 && labels.len() < 50 {
        labels.push(cause[state].1);
        state = cause[state].0;
    }
    labels.iter().rev().fold(String::new(), |mut text, label| {
        let _ = write!(text, ", {label}");
        text
    })
}
