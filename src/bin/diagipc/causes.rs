//! Why cases failed: the causes of a report, each with the bytes of its example.

use std::io::Write;

use anstyle::AnsiColor;
use dotnet_diagnostics_ipc::command::Command;
use dotnet_diagnostics_ipc::conformance::report::TurnDirection;
use dotnet_diagnostics_ipc::conformance::server::ServerFault;
use dotnet_diagnostics_ipc::conformance::{Case, Cause, Detail, Report, Turn};
use dotnet_diagnostics_ipc::header::Header;

use crate::colours::Colours;
use crate::dump;
use crate::items::Splitter;
use crate::printable::plain;

/// The causes, those of most failures first.
pub(crate) fn write(report: &Report, colours: &Colours, out: &mut dyn Write) -> anyhow::Result<()> {
    if !report.causes.is_empty() {
        let named = report.failures().filter(|case| !case.faults.is_empty()).count();
        let of = if named == report.counts.fail { String::new() } else { format!("{named} of ") };
        writeln!(out, "\n{}, {of}{}", counted(report.causes.len(), "cause"), counted(report.counts.fail, "failure"))?;
    }
    for Cause { name, text, cases, example, dump } in &report.causes {
        let cases = counted(*cases, "failure");
        writeln!(out, "\n{}  {}, {cases}: {}", colours.paint("CAUSE", AnsiColor::Red), plain(name), plain(text))?;
        if let Some(fault) = ServerFault::ALL.iter().find(|fault| fault.name() == name) {
            writeln!(out, "  to mend it: {}", fault.mend())?;
        }
        writeln!(out, "  for example {}", plain(example))?;
        for line in dump {
            writeln!(out, "{}", plain(line))?;
        }
    }
    let unnamed = report.failures().filter(|case| case.faults.is_empty()).count();
    if unnamed > 0 && !report.causes.is_empty() {
        writeln!(out, "\n{unnamed} of {} failures have no named cause", report.counts.fail)?;
    }
    Ok(())
}

pub(crate) fn counted(n: usize, what: &str) -> String {
    if n == 1 { format!("1 {what}") } else { format!("{n} {what}s") }
}

/// Gives each cause the annotated dump of its example.
pub(crate) fn annotate(report: &mut Report) -> anyhow::Result<()> {
    for cause in &mut report.causes {
        let mut text = Vec::new();
        if let Some(case) = report.cases.iter().find(|case| case.name == cause.example) {
            last_message(case, &mut text)?;
        }
        cause.dump = String::from_utf8_lossy(&text).trim_end().lines().map(str::to_owned).collect();
    }
    Ok(())
}

/// The last message that came from the target, if the case is a conversation in which one came.
fn last_message(of: &Case, out: &mut dyn Write) -> anyhow::Result<()> {
    let turns = of.detail.as_ref().and_then(Detail::turns).unwrap_or_default();
    let came = |turn: &&Turn| is_of_target(turn) && !bytes(turn).is_empty();
    let Some(last) = turns.iter().rev().find(came) else { return Ok(()) };
    // What a reply means depends on what it answers.
    let asked = turns.iter().filter(|turn| turn.connection == last.connection && !is_of_target(turn));
    let command: Option<Command> = asked.filter_map(|turn| Header::decode(&bytes(turn)).ok()).map(|header| header.command).next();
    let bytes = bytes(last);
    if let Some(item) = Splitter::new(&bytes, None, command).next() {
        let end = item.offset.saturating_add(item.size).min(bytes.len());
        dump::item(out, &item, bytes.get(item.offset..end).unwrap_or_default())?;
        let rest = bytes.len().saturating_sub(end);
        if rest > 0 {
            writeln!(out, "  and {rest} bytes more")?;
        }
    }
    Ok(())
}

fn is_of_target(turn: &Turn) -> bool {
    turn.direction == TurnDirection::Received
}

/// Those that the report has.
fn bytes(turn: &Turn) -> Vec<u8> {
    hex::decode(&turn.hex).unwrap_or_default()
}
