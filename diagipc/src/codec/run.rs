//! Asks an adapter one question after another.

use std::time::{Duration, Instant};

use dotnet_diagnostics_ipc_vectors::Value;

use super::{Answer, CodecCase, CodecFault, Judgement};
use crate::{
    Adapter, AdapterError, Case, CaseFault, Detail, Glob, Grade, Interrupted, Lost, Playable as _,
    Report, Said,
};

/// After this many questions in a row without an answer the last answered one is asked again.
const PATIENCE: usize = 8;

/// The result of one question.
enum Reply {
    Answer(Answer),
    /// No line, or no valid one: the case fails, and the program is restarted.
    None {
        fault: CodecFault,
        seen: Value,
    },
    /// The program is lost, or every question would have the same result.
    Gone(String),
    /// The adapter's canceller was used.
    Cancelled,
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
    let mut report = Report::new("codec", &adapter.program().to_string());
    let mut id = 0;
    let mut silent = 0usize;
    let mut answered: Option<&CodecCase<'_>> = None;
    for (index, case) in cases.iter().enumerate() {
        let began = Instant::now();
        let (judgement, seen) = match ask(case, adapter, &mut id) {
            Reply::Answer(answer) => {
                silent = 0;
                answered = Some(case);
                let judgement = case.judge(&answer);
                let is_required = require.iter().any(|glob| case.is_chosen(glob));
                (if is_required { judgement.required(&answer) } else { judgement }, answer.whole)
            }
            Reply::None { fault, seen } => {
                silent += 1;
                (fault.into(), seen)
            }
            Reply::Gone(reason) => {
                report.lost = Some(Lost { reason, not_run: cases.len() - index });
                return report;
            }
            Reply::Cancelled => {
                report.interrupted = Some(Interrupted { not_run: cases.len() - index });
                return report;
            }
        };
        let last = judgement.found.clone().unwrap_or_default();
        let result = Case { took: began.elapsed(), ..result(case, judgement, seen) };
        done(&result);
        report.add(result);
        if silent >= PATIENCE {
            // A cancellation here is noticed at the next case.
            let answers = answered.is_some_and(|case| {
                matches!(ask(case, adapter, &mut id), Reply::Answer(_) | Reply::Cancelled)
            });
            if !answers {
                let reason = format!(
                    "no answer to {silent} questions in a row, nor to one that it had answered before; the last: {last}"
                );
                let not_run = cases.len() - index - 1;
                report.lost = Some(Lost { reason, not_run });
                return report;
            }
            silent = 0;
        }
    }
    report
}

fn ask(case: &CodecCase<'_>, adapter: &mut Adapter, id: &mut u64) -> Reply {
    *id += 1;
    let mut request = case.request();
    if let Some(request) = request.as_object_mut() {
        request.insert("id".to_owned(), (*id).into());
    }
    let line = match adapter.ask(&format!("{request}")) {
        Ok(line) => line,
        Err(AdapterError::Cancelled) => return Reply::Cancelled,
        Err(AdapterError::NotStarted(error)) => {
            return Reply::Gone(format!("it cannot be started again: {error}"));
        }
        Err(trouble) if trouble.is_of_every_answer() => return Reply::Gone(format!("{trouble}")),
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
