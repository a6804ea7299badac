//! Tests a codec in any language: the vectors are questions, and the answers are graded.
//!
//! # Example
//!
//! Test a codec in another language, which is a program that answers JSON lines:
//!
//! ```no_run
//! use std::time::Duration;
//! use diagipc::{Adapter, AdapterCommand, Program, codec, embedded};
//!
//! let files = embedded::vectors()?;
//! let cases = codec::cases(&files);
//! let command = AdapterCommand { program: Program::new("python3", ["my-adapter.py"]), deadline: Duration::from_secs(5) };
//! let mut adapter = Adapter::start(command)?;
//! let report = codec::run(&cases, &mut adapter, &[], &mut |case| println!("{}: {:?}", case.name, case.grade));
//! println!("{} failed", report.counts.fail);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

pub(crate) mod adapter;
mod case;
mod difference;
mod judge;
mod line_protocol;

use std::num::NonZeroUsize;
use std::time::{Duration, Instant};

use dotnet_diagnostics_ipc_vectors::Value;

pub use self::case::{CodecCase, Operation, cases};
use self::judge::Graded;
pub use self::line_protocol::{Answer, AnswerKind, answer};
use crate::faults::Fault;
use crate::suite::{self, CaseResult, Failure, RunLimits, Suite};
use crate::{Adapter, AdapterError, Case, Glob, Grade, Playable as _, Report};

/// After this many unanswered questions in a row, the last answered question is asked again.
const MAX_UNANSWERED: usize = 8;

/// Asks every question of `cases`. If `require` matches a case, not supporting it is a failure.
///
/// A program that dies, is silent, or violates the line protocol fails that case, and is restarted
/// for the next. After eight such cases in a row, the last answered question is asked again. If
/// there is none, or it is not answered either, the program is lost, and the report has the number
/// of cases not run.
///
/// The program is lost immediately if it cannot answer any question: it cannot be started, writes a
/// byte-order mark, or holds back its answers until its input ends.
///
/// On cancellation the report has the cases so far, and the number of cases not run.
///
/// `done` is called for each graded case.
pub fn run(
    cases: &[CodecCase<'_>],
    adapter: &mut Adapter,
    require: &[Glob],
    done: &mut dyn FnMut(&Case),
) -> Report {
    let mut report = Report::new("codec", &adapter.name());
    let canceller = adapter.canceller().cloned();
    let limits = RunLimits {
        jobs: NonZeroUsize::MIN,
        fail_fast: false,
        max_time: None,
        canceller: canceller.as_ref(),
    };
    let suite = CodecSuite { cases, require };
    let turns = (0..cases.len()).map(|nth| vec![nth]).collect();
    let asker = Asker { adapter, id: 0, unanswered: 0, answered: None, last: String::new() };
    let wait = |_| Duration::ZERO;
    let run = suite::run(&suite, turns, wait, &limits, Some(asker), &mut |_, case| done(case));
    run.end_into(&mut report);
    run.results.into_values().for_each(|case| report.add(case));
    report
}

/// The questions of a run, in the form that the suite runner plays.
struct CodecSuite<'r> {
    cases: &'r [CodecCase<'r>],
    require: &'r [Glob],
}

/// The adapter, and what is known about it.
struct Asker<'r> {
    adapter: &'r mut Adapter,
    id: u64,
    /// The number of questions in a row without an answer.
    unanswered: usize,
    answered: Option<CodecCase<'r>>,
    /// What was wrong with the last answer.
    last: String,
}

impl<'r> Suite for CodecSuite<'r> {
    type Player = Asker<'r>;
    type Result = Case;

    fn name(&self, nth: usize) -> String {
        self.cases.get(nth).map(CodecCase::name).unwrap_or_default()
    }

    fn player(&self) -> Result<Asker<'r>, String> {
        Err("there is one adapter".to_owned())
    }

    fn play(&self, asker: &mut Asker<'r>, nth: usize) -> Result<CaseResult<Case>, String> {
        let Some(case) = self.cases.get(nth) else { return Err(format!("there is no case {nth}")) };
        let began = Instant::now();
        let result = match asker.ask(case)? {
            Ok(answer) => {
                asker.unanswered = 0;
                asker.answered = Some(*case);
                let is_required = self.require.iter().any(|glob| case.is_chosen(glob));
                case.judge(&answer, is_required)
            }
            Err((judgement, seen)) => {
                asker.unanswered += 1;
                case.result(judgement, seen)
            }
        };
        asker.last = result.detail.iter().flat_map(|detail| detail.found.clone()).collect();
        Ok(CaseResult::Done(Case { took: began.elapsed(), ..result }))
    }

    fn failure(&self, case: &Case) -> Option<Failure> {
        let fails = case.grade == Grade::Fail;
        fails.then(|| Failure { kind: case.group.clone(), found: String::new() })
    }

    fn check(&self, asker: &mut Asker<'r>) -> Result<(), String> {
        let unanswered = asker.unanswered;
        if unanswered < MAX_UNANSWERED {
            return Ok(());
        }
        asker.unanswered = 0;
        if asker.answered.is_some_and(|case| matches!(asker.ask(&case), Ok(Ok(_)))) {
            return Ok(());
        }
        Err(format!(
            "no answer to {unanswered} questions in a row, nor to one that it had answered before; the last: {}",
            asker.last
        ))
    }
}

impl Asker<'_> {
    /// Asks a question. If the answer is missing or invalid, the case fails, and the program is
    /// restarted. The outer error means that no question can be answered any more.
    fn ask(&mut self, case: &CodecCase<'_>) -> Result<Result<Answer, (Graded, Value)>, String> {
        self.id += 1;
        let id = self.id;
        let mut request = case.request();
        if let Some(request) = request.as_object_mut() {
            request.insert("id".to_owned(), id.into());
        }
        let line = match self.adapter.ask(&format!("{request}")) {
            Ok(line) => line,
            Err(AdapterError::NotStarted(error)) => {
                return Err(format!("it cannot be started again: {error}"));
            }
            Err(error) if error.is_of_every_answer() => return Err(error.to_string()),
            Err(error) => {
                let judgement = Graded::fail(Fault::AdapterSilent, error.to_string());
                return Ok(Err((judgement, Value::Null)));
            }
        };
        let found = match Answer::parse(&line) {
            Ok(answer) if answer.id == Some(id) => return Ok(Ok(answer)),
            Ok(Answer { id: Some(other), .. }) => {
                format!("an answer to question {other}, not to question {id}")
            }
            Ok(_) => format!("an answer to no question, not to question {id}"),
            Err(error) => format!("not an answer of the line protocol: {error}"),
        };
        // The next line could be the answer to any question.
        self.adapter.drop_it();
        Ok(Err((Graded::fail(Fault::NotTheProtocol, found), line.into())))
    }
}
