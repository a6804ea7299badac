//! `diagipc check`.

use std::fs;
use std::io::Write;
use std::path::PathBuf;

use anyhow::{Context as _, bail};
use comfy_table::{CellAlignment, Table, presets::NOTHING};
use dotnet_diagnostics_ipc::vectors::{self as golden, File, Group, Test};

use crate::Outcome;
use crate::requirements::Coverage;
use crate::vectors::{describe, name, shortened};

/// Checks this codec against every golden vector: decoding, encoding, and whether bytes are canonical.
#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// Check the files of this directory instead of those that are part of the program
    #[arg(long, value_name = "DIRECTORY")]
    vectors: Option<PathBuf>,

    /// Print JSON
    #[arg(long)]
    json: bool,
}

struct Failure<'f> {
    group: &'f Group,
    test: &'f Test,
    lines: Vec<String>,
}

pub(crate) fn run(arguments: &Arguments, out: &mut dyn Write) -> anyhow::Result<Outcome> {
    let files = match &arguments.vectors {
        Some(directory) => read(directory)?,
        None => golden::files()?,
    };
    let groups: Vec<&Group> = files.iter().flat_map(|file| &file.groups).collect();
    let failures: Vec<Failure<'_>> = groups
        .iter()
        .flat_map(|group| group.tests.iter().map(|test| Failure { group, test, lines: golden::check(group, test) }))
        .filter(|failure| !failure.lines.is_empty())
        .collect();
    let coverage = Coverage::read()?;
    if arguments.json {
        json(&groups, &failures, &coverage, out)?;
    } else {
        text(files.len(), &groups, &failures, &coverage, out)?;
    }
    Ok(if failures.is_empty() { Outcome::Well } else { Outcome::Faulty })
}

fn failed(group: &Group, failures: &[Failure<'_>]) -> usize {
    failures.iter().filter(|failure| std::ptr::eq(failure.group, group)).count()
}

fn text(files: usize, groups: &[&Group], failures: &[Failure<'_>], coverage: &Coverage, out: &mut dyn Write) -> anyhow::Result<()> {
    let mut shown = table(["group", "type", "source", "tests", "passed", "failed"]);
    for group in groups {
        let (tests, failed) = (group.tests.len(), failed(group, failures));
        let passed = tests.saturating_sub(failed).to_string();
        let mark = if failed == 0 { String::new() } else { failed.to_string() };
        shown.add_row([&group.name, &name(&group.kind)?, &name(&group.source.kind)?, &tests.to_string(), &passed, &mark]);
    }
    writeln!(out, "{shown}")?;
    for Failure { group, test, lines } in failures {
        writeln!(out)?;
        describe(group, test, out)?;
        for line in lines {
            writeln!(out, "  FAILED  {}", shortened(line))?;
        }
    }
    coverage.write(out)?;
    let tests: usize = groups.iter().map(|group| group.tests.len()).sum();
    let passed = tests.saturating_sub(failures.len());
    writeln!(out, "\n{tests} vectors in {} groups of {files} files: {passed} passed, {} failed", groups.len(), failures.len())?;
    Ok(())
}

fn json(groups: &[&Group], failures: &[Failure<'_>], coverage: &Coverage, out: &mut dyn Write) -> anyhow::Result<()> {
    let rows: Vec<_> = groups
        .iter()
        .map(|group| serde_json::json!({ "group": group.name, "tests": group.tests.len(), "failed": failed(group, failures) }))
        .collect();
    let failed: Vec<_> = failures
        .iter()
        .map(|failure| serde_json::json!({ "tcId": failure.test.tc_id, "group": failure.group.name, "comment": failure.test.comment, "found": failure.lines }))
        .collect();
    serde_json::to_writer_pretty(
        &mut *out,
        &serde_json::json!({ "groups": rows, "failures": failed, "requirements": { "all": coverage.all(), "shown": coverage.shown(), "notShown": coverage.unshown() } }),
    )?;
    writeln!(out)?;
    Ok(())
}

/// The `*.json` files of a directory, by name.
fn read(directory: &PathBuf) -> anyhow::Result<Vec<File>> {
    let entries = fs::read_dir(directory).with_context(|| directory.display().to_string())?;
    let mut paths: Vec<_> = entries.map(|entry| entry.map(|entry| entry.path())).collect::<Result<_, _>>()?;
    paths.retain(|path| path.extension().is_some_and(|extension| extension == "json"));
    paths.sort();
    if paths.is_empty() {
        bail!("{}: no .json file", directory.display());
    }
    let read = paths.iter().map(|path| {
        let text = fs::read_to_string(path).with_context(|| path.display().to_string())?;
        Ok(golden::parse(&path.display().to_string(), &text)?)
    });
    read.collect()
}

/// A table without lines, numbers to the right.
pub(crate) fn table<const N: usize>(header: [&str; N]) -> Table {
    let mut table = Table::new();
    table.load_preset(NOTHING).set_header(header);
    for (index, title) in header.iter().enumerate() {
        if let (true, Some(column)) =
            (["tests", "passed", "failed", "requirements", "shown"].contains(title), table.column_mut(index))
        {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }
    table
}
