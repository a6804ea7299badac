//! Why cases failed: the causes of a report, each with the bytes of an example.

use std::io::Write;

use anstyle::AnsiColor;
use diagipc::annotated;
use diagipc::annotated::items::Splitter;
use diagipc::report::TurnDirection;
use diagipc::{Case, Cause, Detail, Report, Turn};
use dotnet_diagnostics_ipc::command::Command;
use dotnet_diagnostics_ipc::header::Header;

use crate::commands::colours::Colours;
use crate::commands::printable::plain;

/// The causes, sorted by number of failures.
pub(crate) fn write(report: &Report, colours: &Colours, out: &mut dyn Write) -> anyhow::Result<()> {
    if !report.causes.is_empty() {
        writeln!(out, "\n{}", headline(report))?;
    }
    for cause @ Cause { name, text, cases, example, dump } in &report.causes {
        let cases = counted(*cases, "failure");
        writeln!(
            out,
            "\n{}  {}, {cases}: {}",
            colours.paint("CAUSE", AnsiColor::Red),
            plain(name),
            plain(text)
        )?;
        if let Some(fault) = cause.fault(&report.suite) {
            writeln!(out, "  how to fix it: {}", fault.fix())?;
        }
        writeln!(out, "  example: {}", plain(example))?;
        if let Some(case) = report.cases.iter().find(|case| case.name == *example) {
            seen_in(case, text, out)?;
        }
        for line in dump {
            writeln!(out, "{}", plain(line))?;
        }
    }
    Ok(())
}

/// The number of causes and failures.
fn headline(report: &Report) -> String {
    let causes = counted(report.causes.len(), "cause");
    let unnamed = report.failures().filter(|case| case.faults.is_empty()).count();
    let named = counted(report.counts.fail.saturating_sub(unnamed), "failure");
    match unnamed {
        0 => format!("{causes} of {named}"),
        1 => format!("{causes} of {named}; 1 more has no named cause"),
        more => format!("{causes} of {named}; {more} more have no named cause"),
    }
}

pub(crate) fn counted(n: usize, what: &str) -> String {
    if n == 1 { format!("1 {what}") } else { format!("{n} {what}s") }
}

/// The example's first message, if it adds to the cause.
fn seen_in(case: &Case, said: &str, out: &mut dyn Write) -> anyhow::Result<()> {
    let found =
        case.detail.as_ref().and_then(|detail| detail.found.first()).filter(|found| *found != said);
    if let Some(found) = found {
        writeln!(out, "  seen: {}", plain(found))?;
    }
    Ok(())
}

/// Gives each cause the annotated dump of its example.
pub(crate) fn annotate(report: &mut Report) -> anyhow::Result<()> {
    for cause in &mut report.causes {
        let mut text = Vec::new();
        if let Some(case) = report.cases.iter().find(|case| case.name == cause.example) {
            last_message(case, TurnDirection::Received, &mut text)?;
            // The fault of a client may be in reading the reply.
            if report.suite == "client" || case.name.starts_with("client/") {
                last_message(case, TurnDirection::Sent, &mut text)?;
            }
        }
        cause.dump = String::from_utf8_lossy(&text).trim_end().lines().map(str::to_owned).collect();
    }
    Ok(())
}

/// The last message from the target, or sent to it, if the case is a conversation with one.
fn last_message(of: &Case, direction: TurnDirection, out: &mut dyn Write) -> anyhow::Result<()> {
    let turns = of.detail.as_ref().and_then(Detail::turns).unwrap_or_default();
    let is_it = |turn: &&&Turn| turn.direction == direction && !turn.bytes.is_empty();
    let Some(last) = turns.iter().rev().find(is_it) else { return Ok(()) };
    // The meaning of a reply depends on its request.
    let asked = turns
        .iter()
        .filter(|turn| turn.connection == last.connection && turn.direction != direction);
    let command: Option<Command> = asked
        .filter_map(|turn| Header::decode(&turn.bytes).ok())
        .map(|header| header.command)
        .next();
    let bytes = last.bytes.as_slice();
    if let Some(item) = Splitter::new(bytes, None, command).next() {
        let end = item.offset.saturating_add(item.size).min(bytes.len());
        let mut shown = Vec::new();
        annotated::item(&mut shown, &item, bytes.get(item.offset..end).unwrap_or_default())?;
        out.write_all(shown.trim_ascii_end())?;
        writeln!(out)?;
        let rest = bytes.len().saturating_sub(end);
        if rest > 0 {
            writeln!(out, "  and {rest} more bytes")?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use diagipc::{CaseFault, Grade};

    use super::*;

    /// A report of failures, each with one of these faults or none.
    fn report(faults: &[Option<&str>]) -> Report {
        let mut report = Report::new("client", "a client");
        for (nth, fault) in faults.iter().enumerate() {
            let mut case = Case::new(&nth.to_string(), "all", "all", "a case", Grade::Fail);
            case.faults =
                fault.map(|name| CaseFault::new(name, "as it was seen")).into_iter().collect();
            report.add(case);
        }
        report
    }

    #[test]
    fn headline_counts_causes_failures_and_unnamed() {
        assert_eq!(headline(&report(&[Some("runs-on")])), "1 cause of 1 failure");
        assert_eq!(
            headline(&report(&[Some("runs-on"), None])),
            "1 cause of 1 failure; 1 more has no named cause"
        );
        let faults = [Some("runs-on"), Some("runs-on"), Some("nothing-sent"), None, None];
        assert_eq!(
            headline(&report(&faults)),
            "2 causes of 3 failures; 2 more have no named cause"
        );
    }

    #[test]
    fn cause_prints_its_fix() {
        let mut said = Vec::new();
        write(&report(&[Some("runs-on"), Some("no-such-fault")]), &Colours::of_output(), &mut said)
            .unwrap();
        let said = String::from_utf8(said).unwrap();
        let fix = "runs-on, 1 failure: as it was seen\n  how to fix it: End the process when the work is done, including its threads and timers.";
        assert!(said.contains(fix), "{said}");
        assert_eq!(said.matches("how to fix it").count(), 1, "{said}");
    }
}
