//! Runs the cases of a suite with several workers. It plays cases again that failed only by time,
//! handles cancellation, and counts the cases that were not run.
//!
//! A suite chooses, plays and judges its cases; this module only runs them.

use std::cmp::Reverse;
use std::collections::{BTreeMap, VecDeque};
use std::num::NonZeroUsize;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, Sender};
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use dotnet_diagnostics_ipc::io::Canceller;

use crate::{Interrupted, Lost, Report};

/// The number of cases of a kind that may fail again in a row. After that the others are not played
/// again, as they would fail too.
const MAX_REPEATED_FAILURES: u8 = 3;
/// One in this many workers prefers cases that compute, and takes waiting ones only after them.
const COMPUTING_WORKER: usize = 8;

pub(crate) enum CaseResult<R> {
    Done(R),
    /// The case failed, perhaps by time alone, so it is played again with nothing else running.
    Late(R),
    /// The case cannot be played on this machine, for this reason.
    Unavailable(String),
}

/// How a case failed, which decides about a second attempt.
pub(crate) struct Failure {
    /// A name shared by cases that fail for the same reason.
    pub(crate) kind: String,
    pub(crate) found: String,
}

/// A suite, which plays and judges its cases.
pub(crate) trait Suite: Sync {
    /// What plays cases one after another, such as a target or an adapter.
    type Player;
    type Result: Send;

    fn name(&self, case: usize) -> String;

    /// Creates another player. An error ends the run.
    fn player(&self) -> Result<Self::Player, String>;

    /// Plays a case. An error ends the run, because no target answers any more.
    fn play(
        &self,
        player: &mut Self::Player,
        case: usize,
    ) -> Result<CaseResult<Self::Result>, String>;

    /// Returns how a case failed; `None` if it passed.
    fn failure(&self, result: &Self::Result) -> Option<Failure>;

    /// Checks the player after a case was reported. An error ends the run.
    fn check(&self, _: &mut Self::Player) -> Result<(), String> {
        Ok(())
    }

    /// Checks the player after its last case. An error ends the run.
    fn finish(&self, _: &mut Self::Player) -> Result<(), String> {
        Ok(())
    }

    /// Prepares the player for the second attempts of cases, of which `_together` belong together.
    fn begin_again(&self, _: &mut Self::Player, _together: usize) {}
}

/// The number of workers, and the conditions that end a run early.
#[derive(Clone, Debug)]
pub(crate) struct RunLimits<'o> {
    pub(crate) jobs: NonZeroUsize,
    pub(crate) fail_fast: bool,
    pub(crate) max_time: Option<Duration>,
    pub(crate) canceller: Option<&'o Canceller>,
}

impl RunLimits<'_> {
    fn is_cancelled(&self) -> bool {
        self.canceller.is_some_and(Canceller::is_cancelled)
    }
}

#[derive(Debug)]
pub(crate) struct Run<R> {
    pub(crate) results: BTreeMap<usize, R>,
    /// The cases that cannot be played here, and why.
    pub(crate) unavailable: Vec<(usize, String)>,
    /// Notes on cases that passed only at the second attempt.
    pub(crate) notes: Vec<String>,
    lost: Option<String>,
    missing: usize,
}

impl<R> Run<R> {
    /// Writes into a report why the run ended early, if it did.
    pub(crate) fn end_into(&self, report: &mut Report) {
        let not_run = self.missing;
        report.lost = self.lost.clone().map(|reason| Lost { reason, not_run });
        report.interrupted =
            (self.lost.is_none() && not_run > 0).then_some(Interrupted { not_run });
    }
}

enum Progress<R> {
    Played(usize, CaseResult<R>),
    Note(String),
    Lost(String),
}

/// Plays `turns`. The cases of a turn are played one after another by one worker. `first` is a
/// player that already exists, if there is one. `waits` returns how long a case waits, so that
/// waiting and computing cases run side by side. `done` is called for each final result.
///
/// On cancellation the current cases are abandoned, because it may have changed their behaviour.
pub(crate) fn run<S: Suite>(
    suite: &S,
    turns: Vec<Vec<usize>>,
    waits: impl Fn(usize) -> Duration,
    limits: &RunLimits<'_>,
    first: Option<S::Player>,
    done: &mut dyn FnMut(usize, &S::Result),
) -> Run<S::Result>
where
    S::Player: Send,
{
    let cases: usize = turns.iter().map(Vec::len).sum();
    let jobs = limits.jobs.get().min(turns.len()).max(1);
    // A single worker keeps the order.
    let wait = |turn: &Vec<usize>| -> Duration {
        turn.iter().filter(|_| jobs > 1).map(|nth| waits(*nth)).sum()
    };
    let (mut waiting, others): (Vec<_>, Vec<_>) =
        turns.into_iter().partition(|turn| !wait(turn).is_zero());
    waiting.sort_by_key(|turn| Reverse(wait(turn)));
    let next = [&waiting, &others].map(|turns| turns.iter().map(Vec::as_slice).collect());
    let queue = Queue {
        suite,
        limits,
        turns: waiting.iter().chain(&others).map(Vec::as_slice).collect(),
        next: Mutex::new(next),
        over: AtomicBool::new(false),
        began: Instant::now(),
    };
    let mut run = Run {
        results: BTreeMap::new(),
        unavailable: Vec::new(),
        notes: Vec::new(),
        lost: None,
        missing: 0,
    };
    let mut late = BTreeMap::new();
    let (sender, progress) = mpsc::channel();
    let player = thread::scope(|scope| {
        let (queue, mut first) = (&queue, first);
        let mut workers = Vec::new();
        for worker in 0..jobs {
            let (sender, first) = (sender.clone(), first.take());
            workers.push(scope.spawn(move || {
                let player = first.map_or_else(|| queue.suite.player(), Ok);
                let ended = player.and_then(|mut player| {
                    queue.play_all(worker, &mut player, &sender).map(|()| player)
                });
                ended.map_err(|reason| queue.lose(reason, &sender)).ok()
            }));
        }
        drop(sender);
        for one in progress {
            match one {
                Progress::Played(nth, CaseResult::Late(result)) => _ = late.insert(nth, result),
                other => run.take(other, done),
            }
        }
        workers.into_iter().find_map(|worker| worker.join().ok().flatten())
    });
    let (sender, progress) = mpsc::channel();
    let mut failed_again = BTreeMap::new();
    let is_whole = player.is_some_and(|mut player| {
        let ended = queue.play_again(&mut player, &mut late, &mut failed_again, &sender);
        ended.unwrap_or_else(|reason| {
            queue.lose(reason, &sender);
            false
        })
    });
    drop(sender);
    for one in progress {
        run.take(one, done);
    }
    // Cases that need not be played again keep their first result. Once the target is lost, all keep
    // theirs, as it cannot give another. If the run ended early, the others have none.
    let is_kept = is_whole || run.lost.is_some();
    late.retain(|_, result| is_kept || !queue.is_due(result, &failed_again));
    for (nth, result) in late {
        run.take(Progress::Played(nth, CaseResult::Done(result)), done);
    }
    run.missing = cases - run.results.len() - run.unavailable.len();
    run
}

impl<R> Run<R> {
    fn take(&mut self, progress: Progress<R>, done: &mut dyn FnMut(usize, &R)) {
        match progress {
            Progress::Played(nth, CaseResult::Done(result) | CaseResult::Late(result)) => {
                done(nth, &result);
                self.results.insert(nth, result);
            }
            Progress::Played(nth, CaseResult::Unavailable(why)) => {
                self.unavailable.push((nth, why));
            }
            Progress::Note(note) => self.notes.push(note),
            Progress::Lost(reason) => self.lost = self.lost.take().or(Some(reason)),
        }
    }
}

/// How many second attempts in a row have failed, by the kind of failure.
type FailedAgain = BTreeMap<String, u8>;

/// The queue of cases that the workers play.
struct Queue<'q, S> {
    suite: &'q S,
    limits: &'q RunLimits<'q>,
    turns: Vec<&'q [usize]>,
    /// The turns that were not started: those that wait, the longest first, and the others.
    next: Mutex<[VecDeque<&'q [usize]>; 2]>,
    over: AtomicBool,
    began: Instant,
}

impl<'q, S: Suite> Queue<'q, S> {
    fn next(&self, worker: usize) -> Option<&'q [usize]> {
        let mut next = self.next.lock().unwrap_or_else(PoisonError::into_inner);
        let [waiting, others] = &mut *next;
        let computes = worker % COMPUTING_WORKER == COMPUTING_WORKER - 1;
        let (first, second) = if computes { (others, waiting) } else { (waiting, others) };
        first.pop_front().or_else(|| second.pop_front())
    }

    fn play_all(
        &self,
        worker: usize,
        player: &mut S::Player,
        sender: &Sender<Progress<S::Result>>,
    ) -> Result<(), String> {
        while !self.is_over() {
            let Some(turn) = self.next(worker) else { break };
            for nth in turn {
                if self.is_over() {
                    break;
                }
                let result = self.suite.play(player, *nth)?;
                if self.limits.is_cancelled() {
                    return Ok(());
                }
                let fails = match &result {
                    CaseResult::Done(result) => self.suite.failure(result).is_some(),
                    _ => false,
                };
                let _ = sender.send(Progress::Played(*nth, result));
                self.suite.check(player)?;
                if fails && self.limits.fail_fast {
                    self.over.store(true, Ordering::Relaxed);
                }
            }
        }
        self.suite.finish(player)
    }

    /// Plays the `late` cases again, one after another. Each is preceded by the cases before it in
    /// its turn, whose effects it may check. Returns whether the run went on to its end.
    fn play_again(
        &self,
        player: &mut S::Player,
        late: &mut BTreeMap<usize, S::Result>,
        failed_again: &mut FailedAgain,
        sender: &Sender<Progress<S::Result>>,
    ) -> Result<bool, String> {
        let failure = |result: &S::Result| self.suite.failure(result);
        for turn in &self.turns {
            let is_due =
                |nth| late.get(nth).is_some_and(|result| self.is_due(result, failed_again));
            let Some(last) = turn.iter().rposition(is_due) else { continue };
            self.suite.begin_again(player, turn.len());
            for nth in turn.iter().take(last + 1) {
                if self.is_over() {
                    return Ok(false);
                }
                let result = self.suite.play(player, *nth)?;
                if self.limits.is_cancelled() {
                    return Ok(false);
                }
                let Some(first) = late.remove(nth).as_ref().and_then(failure) else { continue };
                let passes = match &result {
                    CaseResult::Done(result) | CaseResult::Late(result) => {
                        failure(result).is_none()
                    }
                    CaseResult::Unavailable(_) => true,
                };
                let times = failed_again.entry(first.kind).or_default();
                *times = if passes { 0 } else { times.saturating_add(1) };
                let _ = sender.send(Progress::Played(*nth, result));
                if passes {
                    let (name, found) = (self.suite.name(*nth), first.found);
                    let _ = sender.send(Progress::Note(format!(
                        "{name}: passed only at the second try; the first: {found}"
                    )));
                }
                self.suite.check(player)?;
                if !passes && self.limits.fail_fast {
                    return Ok(false);
                }
            }
        }
        Ok(true)
    }

    /// Whether a late case is to be played again. If others of its kind failed again, it is not.
    fn is_due(&self, result: &S::Result, failed_again: &FailedAgain) -> bool {
        self.suite.failure(result).is_some_and(|failure| {
            failed_again.get(&failure.kind).is_none_or(|times| *times < MAX_REPEATED_FAILURES)
        })
    }

    /// Ends the run because no target answers any more.
    fn lose(&self, reason: String, sender: &Sender<Progress<S::Result>>) {
        self.over.store(true, Ordering::Relaxed);
        if !self.limits.is_cancelled() {
            let _ = sender.send(Progress::Lost(reason));
        }
    }

    /// Whether no more cases may be started.
    fn is_over(&self) -> bool {
        let is_late = self.limits.max_time.is_some_and(|most| self.began.elapsed() >= most);
        self.over.load(Ordering::Relaxed) || self.limits.is_cancelled() || is_late
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicUsize;

    use super::*;

    /// Cases that fail in the first `fails` attempts and then pass.
    struct Failing {
        fails: usize,
        attempts: AtomicUsize,
    }

    impl Suite for Failing {
        type Player = Vec<usize>;
        type Result = bool;

        fn name(&self, case: usize) -> String {
            format!("case {case}")
        }

        fn player(&self) -> Result<Vec<usize>, String> {
            Ok(Vec::new())
        }

        fn play(&self, player: &mut Vec<usize>, case: usize) -> Result<CaseResult<bool>, String> {
            player.push(case);
            let passes = self.attempts.fetch_add(1, Ordering::Relaxed) >= self.fails;
            Ok(if passes { CaseResult::Done(true) } else { CaseResult::Late(false) })
        }

        fn failure(&self, passes: &bool) -> Option<Failure> {
            (!passes).then(|| Failure { kind: "late".into(), found: "no reply".into() })
        }
    }

    const LIMITS: RunLimits<'_> =
        RunLimits { jobs: NonZeroUsize::MIN, fail_fast: false, max_time: None, canceller: None };

    /// Returns how often cases were played and how many were reported.
    fn run_failing(
        fails: usize,
        cases: usize,
        limits: &RunLimits<'_>,
    ) -> (Run<bool>, usize, usize) {
        let suite = Failing { fails, attempts: AtomicUsize::new(0) };
        let turns = (0..cases).map(|case| vec![case]).collect();
        let mut reported = 0;
        let wait = |case| Duration::from_millis((case as u64 % 3) * 5);
        let run = run(&suite, turns, wait, limits, None, &mut |_, _| reported += 1);
        (run, suite.attempts.into_inner(), reported)
    }

    #[test]
    fn late_case_is_played_again_and_noted() {
        let (run, _, reported) = run_failing(1, 3, &LIMITS);
        assert_eq!((run.results.values().filter(|passes| **passes).count(), reported), (3, 3));
        assert_eq!(run.notes, ["case 0: passed only at the second try; the first: no reply"]);
    }

    #[test]
    fn kind_that_never_passes_is_not_played_again_forever() {
        let (run, attempts, _) = run_failing(usize::MAX, 20, &LIMITS);
        assert!(run.results.len() == 20 && run.results.values().all(|passes| !passes));
        assert_eq!(attempts, 20 + usize::from(MAX_REPEATED_FAILURES));
    }

    #[test]
    fn each_case_is_played_once_by_several_workers() {
        let jobs = NonZeroUsize::new(16).unwrap();
        let (run, _, reported) = run_failing(0, 100, &RunLimits { jobs, ..LIMITS });
        assert_eq!((run.results.len(), reported, run.missing), (100, 100, 0));
    }

    #[test]
    fn case_that_is_not_played_again_has_no_verdict() {
        let limits = RunLimits { fail_fast: true, ..LIMITS };
        let (run, ..) = run_failing(usize::MAX, 3, &limits);
        assert_eq!((run.results.len(), run.missing), (1, 2));
    }

    #[test]
    fn cancelled_or_late_run_counts_what_was_not_run() {
        let canceller = Canceller::new().unwrap();
        canceller.cancel();
        let stopped = RunLimits { canceller: Some(&canceller), ..LIMITS };
        let late = RunLimits { max_time: Some(Duration::ZERO), ..LIMITS };
        for limits in [stopped, late] {
            let (run, ..) = run_failing(0, 7, &limits);
            let mut report = Report::new("server", "a target");
            run.end_into(&mut report);
            assert_eq!(report.interrupted, Some(Interrupted { not_run: 7 }));
        }
    }
}
