//! Writes a report as text: its counts, its cases, and why they failed.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, Write};

use anstyle::{AnsiColor, Style};
use comfy_table::presets::NOTHING;
use comfy_table::{CellAlignment, Table};
use diagipc::report::TurnDirection;
use diagipc::{Case, Cause, Citations, Counts, Detail, Grade, KnownDeviation, Report, Turn, print};
use dotnet_diagnostics_ipc::command::Command;
use dotnet_diagnostics_ipc::header::Header;
use dotnet_diagnostics_ipc_vectors::explain::Splitter;

use crate::commands::printable::plain;

/// The number of lines of the last screen: the verdict, its causes, and the bytes that fit.
const SCREEN_LINES: usize = 40;
/// How many of the last lines of a program's standard error a cause shows.
const MAX_LINES_SAID: usize = 12;
/// How many causes are explained; the others are listed.
const MAX_EXPLAINED: usize = 6;
/// The minimum number of lines of bytes.
const MIN_DUMP_LINES: usize = 3;
/// How many failures without a named cause are listed, and how many things that the target lacks.
const MAX_LISTED: usize = 5;

/// Writes a report as text. The verdict and its causes are last; with `verbose`, the details of
/// cases come before.
pub(crate) fn write(
    report: &Report,
    citations: &Citations,
    verbose: bool,
    out: &mut dyn Write,
) -> anyhow::Result<()> {
    let colours = Colours::of_output();
    if verbose {
        for case in report.failures() {
            failure(case, &colours, out)?;
        }
        deviations(report, &colours, out)?;
        lenient(report, out)?;
        cited(report, citations, &colours, out)?;
    }
    if !report.sections.is_empty() {
        writeln!(out, "{}", table("section", &rows(report)))?;
    }
    if !verbose {
        deviations_in_short(report, out)?;
    }
    lacking(report, verbose, out)?;
    for note in &report.notes {
        writeln!(out, "\nNOTE  {}", plain(note))?;
    }
    writeln!(out, "\n{}", summary(report))?;
    let mut screen = verdict(report, &colours);
    causes(report, verbose, &colours, &mut screen);
    unnamed(report, &mut screen);
    if report.counts.fail > 0 && !verbose {
        screen.push(
            "\ndiagipc explain CASE says what a case asks; --verbose prints each failure; --json=FILE, --junit and --html write them"
                .to_owned(),
        );
    }
    screen.iter().try_for_each(|line| Ok(writeln!(out, "{line}")?))
}

/// Returns the target, and how many cases have each grade.
fn summary(report: &Report) -> String {
    let Counts { pass, pass_lenient, unimplemented, informational, fail } = report.counts;
    let about: Vec<String> =
        [&report.runtime, &report.profile].into_iter().flatten().map(|text| plain(text)).collect();
    let about = if about.is_empty() { String::new() } else { format!(" ({})", about.join(", ")) };
    format!(
        "{}{about}: {}, {pass} passed, {pass_lenient} passed leniently, {unimplemented} unimplemented, {informational} informational, {fail} failed",
        plain(&report.target),
        counted(report.counts.all(), "case")
    )
}

/// Returns `FAILED: 172 of 179 judged, 4 causes`, and what else keeps the run from passing.
fn verdict(report: &Report, colours: &Colours) -> Vec<String> {
    let paint = |line: &str, is_good| {
        colours.paint(line, if is_good { AnsiColor::Green } else { AnsiColor::Red })
    };
    let mut lines = vec![paint(&report.verdict(), report.is_passed())];
    for (kind, reason) in report.problems() {
        let kind = kind.to_uppercase().replace('-', " ");
        lines.push(format!("{}  {}", paint(&kind, false), plain(&reason)));
    }
    lines
}

fn causes(report: &Report, verbose: bool, colours: &Colours, screen: &mut Vec<String>) {
    let explained = if verbose { report.causes.len() } else { MAX_EXPLAINED };
    let shown: Vec<Vec<String>> = report
        .causes
        .iter()
        .take(explained)
        .map(|cause| explanation(report, cause, colours))
        .collect();
    // Two lines are for an empty line, and the fix after the bytes.
    let taken: usize = shown.iter().map(|lines| lines.len() + 2).sum();
    let left = SCREEN_LINES.saturating_sub(screen.len() + taken + MAX_LISTED);
    let share = left.checked_div(shown.len()).unwrap_or_default().max(MIN_DUMP_LINES);
    for (cause, lines) in report.causes.iter().zip(shown) {
        screen.push(String::new());
        screen.extend(lines);
        let most = if verbose { usize::MAX } else { share };
        screen.extend(shortened(&cause.dump, most).iter().map(|line| format!("  {}", plain(line))));
        if let Some(fault) = cause.fault(&report.suite) {
            screen.push(format!("  how to fix it: {}", fault.fix()));
        }
    }
    let others: Vec<String> = report
        .causes
        .iter()
        .skip(explained)
        .map(|cause| format!("{} ({})", plain(&cause.name), cause.cases))
        .collect();
    if !others.is_empty() {
        screen.push(format!(
            "\nand {}: {}",
            counted(others.len(), "more cause"),
            others.join(", ")
        ));
    }
}

/// Describes a cause: its name, its number of failures, what it is, and where it was seen.
fn explanation(report: &Report, cause: &Cause, colours: &Colours) -> Vec<String> {
    let Cause { name, text, cases, example, .. } = cause;
    let fault = cause.fault(&report.suite);
    let sentence = fault.map_or(text.as_str(), |fault| fault.sentence());
    let mut lines = vec![format!(
        "{}  {}, {}: {}",
        colours.paint("CAUSE", AnsiColor::Red),
        plain(name),
        counted(*cases, "failure"),
        plain(sentence)
    )];
    let shows_it = report.cases.iter().find(|case| case.name == *example);
    let found = shows_it.and_then(|case| case.detail.as_ref()?.found.first());
    let seen = [Some(text), found].into_iter().flatten().find(|seen| *seen != sentence);
    // What a program wrote before it ended has lines of its own.
    let (first, said) = seen.map_or(("", ""), |seen| seen.split_once('\n').unwrap_or((seen, "")));
    let colon = if first.is_empty() { "" } else { ": " };
    lines.push(format!("  seen in {}{colon}{}", plain(example), plain(&beginning(first, 300))));
    let hidden = said.lines().count().saturating_sub(MAX_LINES_SAID);
    lines.extend(
        said.lines().skip(hidden).map(|line| format!("    {}", plain(&beginning(line, 160)))),
    );
    // Two faults may have one name: of two fields, say.
    let all = report.failures().flat_map(|case| case.faults.iter().map(move |seen| (case, seen)));
    let other = all
        .filter(|(_, seen)| seen.name == *name)
        .find(|(_, seen)| without_values(&seen.text) != without_values(text));
    lines.extend(other.map(|(case, seen)| {
        format!("  also in {}: {}", plain(&case.name), plain(&beginning(&seen.text, 300)))
    }));
    lines
}

/// Returns an observation without its numbers and quoted texts.
fn without_values(text: &str) -> String {
    let unquoted = text.split('"').step_by(2);
    unquoted.flat_map(str::chars).filter(|one| !one.is_ascii_digit()).collect()
}

/// Returns at most so many lines of a dump: those around its error, if it ends with one.
fn shortened(dump: &[String], most: usize) -> Vec<String> {
    if dump.len() <= most {
        return dump.to_vec();
    }
    let left_out = |count: usize| format!("  … {count} more lines (--verbose)");
    let shown = most.saturating_sub(2);
    let (first, rest) = dump.split_at(1);
    let ends_with_error = rest.last().is_some_and(|line| line.trim_start().starts_with("error:"));
    let hidden = rest.len().saturating_sub(shown);
    let mut lines = first.to_vec();
    if ends_with_error {
        lines.push(left_out(hidden));
        lines.extend(rest.iter().skip(hidden).cloned());
    } else {
        lines.extend(rest.iter().take(shown).cloned());
        lines.push(left_out(hidden));
    }
    lines
}

fn unnamed(report: &Report, screen: &mut Vec<String>) {
    let unnamed: Vec<&Case> = report.failures().filter(|case| case.faults.is_empty()).collect();
    if unnamed.is_empty() {
        return;
    }
    screen.push(format!("\n{} without a named cause", counted(unnamed.len(), "failure")));
    for case in unnamed.iter().take(MAX_LISTED) {
        let found = case.detail.as_ref().and_then(|detail| detail.found.first());
        let found = found.map_or_else(String::new, |found| format!(": {}", beginning(found, 300)));
        screen.push(format!("  {}{}", plain(&case.name), plain(&found)));
    }
    if unnamed.len() > MAX_LISTED {
        screen.push(format!("  and {} more", unnamed.len() - MAX_LISTED));
    }
}

pub(crate) fn counted(n: usize, what: &str) -> String {
    if n == 1 { format!("1 {what}") } else { format!("{n} {what}s") }
}

/// Gives each cause the bytes of its example, and says who sent them.
pub(crate) fn annotate(report: &mut Report) -> anyhow::Result<()> {
    for cause in &mut report.causes {
        let mut text = Vec::new();
        if let Some(case) = report.cases.iter().find(|case| case.name == cause.example) {
            let suite = case.name.split('/').next().filter(|_| report.suite == "check");
            let suite = suite.unwrap_or(&report.suite);
            match &case.detail {
                Some(detail) if detail.turns().is_some() => {
                    last_message(case, TurnDirection::Received, suite, &mut text)?;
                    // The fault of a client may be in reading the reply.
                    if suite == "client" {
                        last_message(case, TurnDirection::Sent, suite, &mut text)?;
                    }
                }
                Some(detail) => {
                    writeln!(text, "asked by diagipc: {}", detail.sent.json())?;
                    writeln!(text, "answered by the {suite}: {}", detail.seen.json())?;
                    writeln!(text, "expected: {}", detail.expected)?;
                }
                None => {}
            }
        }
        cause.dump = String::from_utf8_lossy(&text).trim_end().lines().map(str::to_owned).collect();
    }
    Ok(())
}

/// Returns the last message from the target, or to it, if the case is a conversation with it.
fn last_message(
    of: &Case,
    direction: TurnDirection,
    suite: &str,
    out: &mut dyn Write,
) -> anyhow::Result<()> {
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
    let mut end = 0;
    // These are a message and its continuation.
    for item in Splitter::new(bytes, None, command).take(2) {
        let begin = item.offset;
        end = begin.saturating_add(item.size).min(bytes.len());
        let mut shown = Vec::new();
        print::explained(&mut shown, &item, bytes)?;
        if begin == 0 {
            match direction {
                TurnDirection::Received => write!(out, "sent by the {suite}: ")?,
                TurnDirection::Sent => write!(out, "sent by diagipc: ")?,
            }
        }
        out.write_all(shown.trim_ascii_end())?;
        writeln!(out)?;
    }
    let rest = bytes.len().saturating_sub(end);
    if rest > 0 {
        writeln!(out, "  and {rest} more bytes")?;
    }
    Ok(())
}

/// Returns the sections, and their total if there are several.
fn rows(report: &Report) -> Vec<(String, Counts)> {
    let mut rows: Vec<_> =
        report.sections.iter().map(|section| (section.name.clone(), section.counts)).collect();
    if rows.len() > 1 {
        rows.push(("all".to_owned(), report.counts));
    }
    rows
}

pub(crate) fn table(first: &str, rows: &[(String, Counts)]) -> Table {
    let grades = ["pass", "lenient", "unimplemented", "informational", "fail"];
    let mut table = number_table([first, "cases"].into_iter().chain(grades));
    for (name, counts) in rows {
        let marks = Grade::ALL.iter().map(|grade| mark(counts.of(*grade)));
        table.add_row([plain(name), counts.all().to_string()].into_iter().chain(marks));
    }
    table
}

/// Returns a table without lines, whose columns after the first have right-aligned numbers.
pub(crate) fn number_table<'t>(header: impl Iterator<Item = &'t str>) -> Table {
    let mut table = Table::new();
    table.load_preset(NOTHING).set_header(header);
    for column in table.column_iter_mut().skip(1) {
        column.set_cell_alignment(CellAlignment::Right);
    }
    table
}

/// Returns the text of a count; empty for 0.
pub(crate) fn mark<N: Copy + Default + PartialEq + ToString>(count: N) -> String {
    if count == N::default() { String::new() } else { count.to_string() }
}

fn failure(case: &Case, colours: &Colours, out: &mut dyn Write) -> anyhow::Result<()> {
    writeln!(out, "{}: {}", plain(&case.name), plain(&case.title))?;
    if let Some(detail) = &case.detail {
        let turns = detail.turns();
        let is_conversation = turns.is_some();
        for turn in turns.into_iter().flatten() {
            writeln!(out, "  {}", plain(&turn.to_string()))?;
        }
        if !is_conversation {
            writeln!(out, "  sent      {}", plain(&detail.sent.json()))?;
        }
        writeln!(out, "  expected  {}", plain(&detail.expected))?;
        if !is_conversation {
            writeln!(out, "  seen      {}", plain(&detail.seen.json()))?;
        }
        // The fault's section has its details.
        for line in
            detail.found.iter().filter(|line| !case.faults.iter().any(|fault| fault.text == **line))
        {
            writeln!(out, "  {}    {}", colours.paint("FAILED", AnsiColor::Red), plain(line))?;
        }
        for line in &detail.about {
            writeln!(out, "  about     {}", plain(line))?;
        }
    }
    for fault in &case.faults {
        writeln!(
            out,
            "  {}     {}: {}",
            colours.paint("FAULT", AnsiColor::Red),
            plain(&fault.name),
            plain(&fault.text)
        )?;
    }
    let cited: Vec<&str> = case.cited().collect();
    let separator = if cited.is_empty() { "" } else { ": " };
    writeln!(out, "  {}{separator}{}\n", case.level.name(), plain(&cited.join(", ")))?;
    Ok(())
}

/// Writes the sentences of what the failed cases cite, each once.
fn cited(
    report: &Report,
    citations: &Citations,
    colours: &Colours,
    out: &mut dyn Write,
) -> anyhow::Result<()> {
    let deviations = report.deviations().map(|(case, _)| case);
    let ids: BTreeSet<&str> = report.failures().chain(deviations).flat_map(Case::cited).collect();
    if ids.is_empty() {
        return Ok(());
    }
    writeln!(out, "Facts and requirements:")?;
    for id in &ids {
        let line = plain(citations.line(id).unwrap_or("unknown"));
        writeln!(
            out,
            "  {}  {line}",
            colours.paint(&format!("{:<9}", plain(id)), AnsiColor::Yellow)
        )?;
    }
    Ok(writeln!(out)?)
}

/// Writes the known deviations by fact, with the observation in each case.
fn deviations(report: &Report, colours: &Colours, out: &mut dyn Write) -> anyhow::Result<()> {
    let is_strict = report.profile.as_deref() == Some("strict");
    let by_fact = by_fact(report);
    if by_fact.is_empty() {
        return Ok(());
    }
    writeln!(out, "{}", what_deviations_are(report))?;
    for (fact, cases) in by_fact {
        writeln!(out, "  {}", colours.paint(&plain(fact), AnsiColor::Yellow))?;
        for (case, deviation) in cases {
            // With `strict` the fact does not describe this target, so show what the target does.
            let found = case.detail.as_ref().and_then(|detail| detail.found.first());
            let text = found.filter(|_| is_strict).unwrap_or(&deviation.text);
            writeln!(out, "    {}: {}", plain(&case.name), plain(text))?;
        }
    }
    Ok(writeln!(out)?)
}

fn deviations_in_short(report: &Report, out: &mut dyn Write) -> anyhow::Result<()> {
    let by_fact = by_fact(report);
    let facts: Vec<String> =
        by_fact.iter().map(|(fact, cases)| format!("{} ({})", plain(fact), cases.len())).collect();
    if facts.is_empty() {
        return Ok(());
    }
    Ok(writeln!(out, "\n{}\n  {}", what_deviations_are(report), facts.join(", "))?)
}

fn by_fact(report: &Report) -> BTreeMap<&str, Vec<(&Case, &KnownDeviation)>> {
    let mut by_fact: BTreeMap<&str, Vec<_>> = BTreeMap::new();
    for (case, deviation) in report.deviations() {
        by_fact.entry(&deviation.fact).or_default().push((case, deviation));
    }
    by_fact
}

fn what_deviations_are(report: &Report) -> &'static str {
    if report.profile.as_deref() == Some("strict") {
        "Differences from runtimes that the document allows, by fact (cases):"
    } else {
        "Known deviations of this target, by fact (cases):"
    }
}

fn lenient(report: &Report, out: &mut dyn Write) -> anyhow::Result<()> {
    let is_lenient = |case: &&Case| case.grade == Grade::PassLenient;
    let cases: Vec<&Case> = report.cases.iter().filter(is_lenient).collect();
    if cases.is_empty() {
        return Ok(());
    }
    writeln!(out, "Passed leniently: correct, where a stricter implementation refuses:")?;
    for case in cases {
        writeln!(out, "  {}: {}", plain(&case.name), plain(&beginning(&case.title, 120)))?;
    }
    Ok(writeln!(out)?)
}

/// Writes what the target does not support: one line each, sorted by number of cases.
fn lacking(report: &Report, verbose: bool, out: &mut dyn Write) -> anyhow::Result<()> {
    let mut cases_by_lack: BTreeMap<&str, usize> = BTreeMap::new();
    for case in report.cases.iter().filter(|case| case.grade == Grade::Unimplemented) {
        let found = case.detail.as_ref().and_then(|detail| detail.found.first());
        *cases_by_lack.entry(found.map_or("no reason given", String::as_str)).or_default() += 1;
    }
    if !cases_by_lack.is_empty() {
        writeln!(
            out,
            "\nWhat the target does not support, {}:",
            counted(report.counts.unimplemented, "case")
        )?;
    }
    let mut lacks: Vec<(&str, usize)> = cases_by_lack.into_iter().collect();
    lacks.sort_by_key(|(_, cases)| Reverse(*cases));
    let most = if verbose { lacks.len() } else { MAX_LISTED };
    for (lack, cases) in lacks.iter().take(most) {
        writeln!(out, "  {cases:>5}  {}", plain(&beginning(lack, 120)))?;
    }
    let others: usize = lacks.iter().skip(most).map(|(_, cases)| cases).sum();
    if others > 0 {
        writeln!(
            out,
            "  {others:>5}  for {} (--verbose)",
            counted(lacks.len() - most, "other reason")
        )?;
    }
    Ok(())
}

/// Returns the beginning of a text, at most so many characters.
fn beginning(text: &str, most: usize) -> String {
    match text.char_indices().nth(most) {
        Some((end, _)) => format!("{}…", text.get(..end).unwrap_or_default()),
        None => text.to_owned(),
    }
}

/// Whether to use colours: on a terminal, unless `NO_COLOR` or similar variables disable them.
pub(crate) struct Colours(bool);

impl Colours {
    pub(crate) fn of_output() -> Self {
        Self(anstream::AutoStream::choice(&io::stdout()) != anstream::ColorChoice::Never)
    }

    pub(crate) fn paint(&self, text: &str, colour: AnsiColor) -> String {
        let style = Style::new().fg_color(Some(colour.into())).bold();
        if self.0 { format!("{style}{text}{style:#}") } else { text.to_owned() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use diagipc::CaseFault;
    use diagipc::Grade;

    /// Returns a report of failures, each with one of these faults or none.
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

    fn screen(report: &Report, verbose: bool) -> String {
        let colours = Colours::of_output();
        let mut screen = verdict(report, &colours);
        causes(report, verbose, &colours, &mut screen);
        unnamed(report, &mut screen);
        screen.join("\n")
    }

    #[test]
    fn verdict_and_causes_are_printed() {
        let faults = [Some("runs-on"), Some("runs-on"), Some("no-such-fault"), None, None];
        let said = screen(&report(&faults), false);
        for part in [
            "FAILED: 5 of 5 judged, 2 causes\n\nCAUSE  runs-on, 2 failures: The conversation is over, and the client does not end.\n  seen in 0: as it was seen\n  how to fix it: End the process when the work is done, including its threads and timers.",
            "CAUSE  no-such-fault, 1 failure: as it was seen\n  seen in 2",
            "\n\n2 failures without a named cause\n  3\n  4",
        ] {
            assert!(said.contains(part), "{said}");
        }
        assert_eq!(said.matches("how to fix it").count(), 1, "{said}");
        assert_eq!(screen(&report(&[]), false), "PASSED: 0 judged");
    }

    #[test]
    fn cause_of_two_observations_shows_both() {
        let mut report = report(&[]);
        let texts =
            ["sessionId has 4 bytes", "sessionId has 5 bytes", "the count of \"it\" has 2 bytes"];
        for (name, text) in ["a", "b", "c"].into_iter().zip(texts) {
            let mut case = Case::new(name, "all", "all", "a case", Grade::Fail);
            case.faults.push(CaseFault::new("field-too-narrow", text));
            report.add(case);
        }
        let said = screen(&report, false);
        let both =
            "  seen in a: sessionId has 4 bytes\n  also in c: the count of \"it\" has 2 bytes\n";
        assert!(said.contains(both) && !said.contains("5 bytes"), "{said}");
    }

    /// This holds for any number of causes and any length of their dumps.
    #[test]
    fn last_screen_has_bounded_length() {
        let names: Vec<String> = (0..20).map(|nth| format!("fault-{nth}")).collect();
        for count in [1, 2, 4, 8, 20] {
            let faults: Vec<Option<&str>> =
                names.iter().take(count).map(|name| Some(name.as_str())).collect();
            let mut report = report(&faults);
            for cause in &mut report.causes {
                cause.dump = (0..100).map(|nth| format!("line {nth}")).collect();
            }
            let said = screen(&report, false);
            let lines = said.lines().count();
            assert!(
                lines <= SCREEN_LINES + 10 && (count > 4 || lines <= SCREEN_LINES),
                "{count}: {lines}"
            );
            assert_eq!(said.matches("CAUSE").count(), count.min(MAX_EXPLAINED), "{said}");
            assert!(screen(&report, true).lines().count() > count * 100, "{count}");
        }
        assert!(screen(&report(&[Some("a"); 20]), false).contains("20 failures"), "one cause");
    }

    #[test]
    fn shortened_dump_keeps_its_error_or_its_beginning() {
        let lines = |last: &str| ["reply", "a", "b", "c", "d", last].map(str::to_owned).to_vec();
        assert_eq!(
            shortened(&lines("  error: at d"), 4),
            ["reply", "  … 3 more lines (--verbose)", "d", "  error: at d"]
        );
        assert_eq!(shortened(&lines("e"), 4), ["reply", "a", "b", "  … 3 more lines (--verbose)"]);
        assert_eq!(shortened(&lines("e"), 6).len(), 6);
    }
}
