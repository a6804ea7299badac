//! Asks an adapter one question after another.

use std::num::NonZeroUsize;
use std::time::{Duration, Instant};

use dotnet_diagnostics_ipc_vectors::Value;

use super::{Answer, CodecCase, CodecFault, Judgement};
use crate::suite::{self, Failure, Played, RunLimits, Suite};
use crate::{
    Adapter, AdapterError, Case, CaseFault, Detail, Glob, Grade, Playable as _, Report, Said,
};

/// After this many questions in a row without an answer the last answered one is asked again.
const MOST_UNANSWERED: usize = 8;

/// The result of one question.
enum Reply {
    Answer(Answer),
    /// No line, or no valid one: the case fails, and the program is restarted.
    None {
        fault: CodecFault,
        seen: Value,
    },
    /// The program is lost, or cancelled, or every question would have the same result.
    Gone(String),
}

/// Asks every one of `cases`. If `require` matches a case, not supporting it is a failure.
///
/// A program that dies, is silent, or violates the line protocol fails that case, is restarted, and
/// continues with the next. After eight of these in a row the last answered question is asked
/// again; if there is none, or it is not answered either, the program is lost, and the report says
/// how many cases were not run. It is lost immediately if no question can be answered: it cannot be
/// started, writes a byte order mark, or holds back its answers until its input ends.
///
/// On cancellation, the report has the cases so far, and says how many were not run.
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

/// The questions of a run, as the runner of suites asks them.
struct CodecSuite<'r> {
    cases: &'r [CodecCase<'r>],
    require: &'r [Glob],
}

/// The adapter, and what is known of it.
struct Asker<'r> {
    adapter: &'r mut Adapter,
    /// The number of the last question.
    id: u64,
    /// How many questions in a row were not answered.
    unanswered: usize,
    /// The last question that was answered.
    answered: Option<CodecCase<'r>>,
    /// What was found in the last answer.
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

    fn play(&self, asker: &mut Asker<'r>, nth: usize) -> Result<Played<Case>, String> {
        let Some(case) = self.cases.get(nth) else { return Err(format!("there is no case {nth}")) };
        let began = Instant::now();
        let (judgement, seen) = match ask(case, asker.adapter, &mut asker.id) {
            Reply::Answer(answer) => {
                asker.unanswered = 0;
                asker.answered = Some(*case);
                let is_required = self.require.iter().any(|glob| case.is_chosen(glob));
                (case.judge(&answer, is_required), answer.whole)
            }
            Reply::None { fault, seen } => {
                asker.unanswered += 1;
                (fault.into(), seen)
            }
            Reply::Gone(reason) => return Err(reason),
        };
        asker.last = judgement.found.clone().unwrap_or_default();
        let case = Case { took: began.elapsed(), ..result(case, judgement, seen) };
        Ok(Played::Done(case))
    }

    fn failure(&self, case: &Case) -> Option<Failure> {
        let fails = case.grade == Grade::Fail;
        fails.then(|| Failure { kind: case.group.clone(), found: String::new() })
    }

    fn check(&self, asker: &mut Asker<'r>) -> Result<(), String> {
        let unanswered = asker.unanswered;
        if unanswered < MOST_UNANSWERED {
            return Ok(());
        }
        asker.unanswered = 0;
        let answers = asker.answered.is_some_and(|case| {
            matches!(ask(&case, asker.adapter, &mut asker.id), Reply::Answer(_))
        });
        if answers {
            return Ok(());
        }
        Err(format!(
            "no answer to {unanswered} questions in a row, nor to one that it had answered before; the last: {}",
            asker.last
        ))
    }
}

fn ask(case: &CodecCase<'_>, adapter: &mut Adapter, id: &mut u64) -> Reply {
    *id += 1;
    let mut request = case.request();
    if let Some(request) = request.as_object_mut() {
        request.insert("id".to_owned(), (*id).into());
    }
    let line = match adapter.ask(&format!("{request}")) {
        Ok(line) => line,
        Err(AdapterError::NotStarted(error)) => {
            return Reply::Gone(format!("it cannot be started again: {error}"));
        }
        Err(trouble) if trouble.is_of_every_answer() => return Reply::Gone(trouble.to_string()),
        Err(trouble) => {
            return Reply::None { fault: CodecFault::NoAnswer(trouble), seen: Value::Null };
        }
    };
    let found = match Answer::parse(&line) {
        Ok(answer) if answer.id == Some(*id) => return Reply::Answer(answer),
        Ok(answer) => {
            let other = answer
                .id
                .map_or_else(|| "no question".to_owned(), |other| format!("question {other}"));
            format!("an answer to {other}, not to question {id}")
        }
        Err(error) => format!("not an answer of the line protocol: {error}"),
    };
    // It is unknown which question the next line would answer.
    adapter.drop_it();
    Reply::None { fault: CodecFault::NotTheProtocol(found), seen: line.into() }
}

fn result(case: &CodecCase<'_>, judgement: Judgement, seen: Value) -> Case {
    let Judgement { grade, found, fault } = judgement;
    let found = found.into_iter().collect::<Vec<_>>();
    let detail = Detail {
        sent: Said::Json(case.request()),
        expected: case.expected(),
        seen: Said::Json(seen),
        found,
        about: Vec::new(),
    };
    Case {
        name: case.name(),
        section: case.section.to_owned(),
        group: case.group.name.clone(),
        title: case.test.comment.clone(),
        grade,
        spec: case.spec(),
        level: case.level(),
        detail: (grade != Grade::Pass).then_some(detail),
        deviation: None,
        outcome: None,
        took: Duration::ZERO,
        faults: fault
            .iter()
            .map(|fault| CaseFault::new(&fault.name(), &fault.to_string()))
            .collect(),
        hazard: None,
    }
}
