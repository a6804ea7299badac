//! `diagipc vectors`.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use diagipc::annotated;
use diagipc::corpus::{TARGETS, dictionary, seeds};
use diagipc::embedded::{self, COMPANIONS, PACKAGE, SCENARIOS, SCRIPTS, VECTORS};
use diagipc::known::harm_of;
use dotnet_diagnostics_ipc_vectors::{ExpectedResult, Group, Hazard, Test};
use serde::Serialize;

use crate::commands::Outcome;
use crate::commands::check;
use crate::commands::output_file::named;
use crate::commands::printable::shortened;

#[derive(clap::Args)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(clap::Subcommand)]
enum Command {
    /// Lists the groups of vectors
    List {
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Writes the files to a directory, including exchange scripts, schemas and documentation: a
    /// package for Go, npm and Python
    Export {
        /// The directory; created if missing
        directory: PathBuf,
        /// Overwrite existing files
        #[arg(long)]
        force: bool,
    },
    /// Writes the corpus of a fuzzer: for each target of fuzz/ a directory of seeds, and
    /// `dictionary.txt`
    Corpus {
        /// The directory; created if missing. Other files are kept
        directory: PathBuf,
    },
}

pub(crate) fn run(arguments: &Arguments, out: &mut dyn Write) -> anyhow::Result<Outcome> {
    match &arguments.command {
        Command::List { json } => list(*json, out),
        Command::Export { directory, force } => export(directory, *force, out),
        Command::Corpus { directory } => corpus(directory, out),
    }?;
    Ok(Outcome::Well)
}

fn list(json: bool, out: &mut dyn Write) -> anyhow::Result<()> {
    let groups: Vec<_> = embedded::vectors()?.iter().flat_map(|one| &one.file.groups).collect();
    if json {
        let rows = groups.iter().map(|group| {
            let mut row = serde_json::to_value(group)?;
            if let Some(row) = row.as_object_mut() {
                row.insert("tests".into(), group.tests.len().into());
            }
            Ok(row)
        });
        let rows: serde_json::Result<Vec<_>> = rows.collect();
        return Ok(crate::commands::printable::json(&rows?, out)?);
    }
    let mut table = check::table(["group", "type", "command", "source", "tests", "tcIds"]);
    for group in groups {
        let ids = group.tests.iter().map(|test| test.tc_id);
        let range = format!("{}-{}", ids.clone().min().unwrap_or(0), ids.max().unwrap_or(0));
        let command = group.command.clone().unwrap_or_default();
        table.add_row([
            &group.name,
            &group.kind.to_string(),
            &command,
            &name(&group.source.kind)?,
            &group.tests.len().to_string(),
            &range,
        ]);
    }
    writeln!(out, "{table}")?;
    Ok(())
}

/// All information on one test.
pub(crate) fn describe(group: &Group, test: &Test, out: &mut dyn Write) -> io::Result<()> {
    writeln!(out, "tcId {}: {}", test.tc_id, test.comment)?;
    write!(out, "  group   {} ({}", group.name, group.kind)?;
    group.command.as_ref().map_or(Ok(()), |command| write!(out, ", {command}"))?;
    writeln!(out, ")")?;
    let source = &group.source;
    let words = [
        Some(name(&source.kind)?),
        source.edition.clone(),
        source.section.clone(),
        source.fact.clone(),
        source.runtime.clone(),
    ];
    writeln!(
        out,
        "  source  {}: {}",
        words.into_iter().flatten().collect::<Vec<_>>().join(", "),
        group.made
    )?;
    if !group.spec.is_empty() {
        writeln!(out, "  facts   {}", group.spec.join(", "))?;
    }
    let canonical = if test.canonical { "canonical" } else { "not canonical" };
    let verdict = name(&test.result)?;
    match &test.error {
        Some(error) => writeln!(out, "  result  {verdict}: {error}")?,
        None => writeln!(out, "  result  {verdict}, {canonical}")?,
    }
    if !test.acceptable_on.is_empty() {
        writeln!(out, "  accepted by {}", test.acceptable_on.join(", "))?;
    }
    if let Some(refusals) = &test.refusals {
        let refusals: Vec<_> = refusals.iter().map(ToString::to_string).collect();
        writeln!(out, "  may be refused by {}", refusals.join(", "))?;
    }
    hazard(test.hazard, &test.tc_id.to_string(), out)?;
    if test.result != ExpectedResult::Invalid || !test.value.is_null() {
        writeln!(out, "  value   {}", shortened(&test.value.to_string()))?;
    }
    if let (Some(wire), Some(subject)) = (&test.wire, group.subject()) {
        annotated::fields(out, subject, wire)?;
    }
    Ok(())
}

/// The name of a value that is a string in JSON.
pub(crate) fn name(word: &impl Serialize) -> serde_json::Result<String> {
    Ok(serde_json::to_value(word)?.as_str().unwrap_or_default().to_owned())
}

/// The hazard of a case, and which builds it ended.
pub(crate) fn hazard(hazard: Option<Hazard>, case: &str, out: &mut dyn Write) -> io::Result<()> {
    match hazard {
        None => Ok(()),
        Some(Hazard::Harmful) => writeln!(out, "  hazard  {}", harm_of(case)),
        Some(hazard) => writeln!(out, "  hazard  {}", name(&hazard)?),
    }
}

fn export(directory: &Path, force: bool, out: &mut dyn Write) -> anyhow::Result<()> {
    let mut written = 0usize;
    let places = [
        ("", VECTORS),
        ("", PACKAGE),
        ("", COMPANIONS),
        ("exchanges", SCRIPTS),
        ("clients/scenarios", SCENARIOS),
    ];
    for (place, (name, text)) in
        places.into_iter().flat_map(|(place, files)| files.iter().map(move |file| (place, file)))
    {
        let path = directory.join(place).join(name);
        if let Some(parent) = path.parent() {
            fs::create_dir_all(parent).with_context(|| parent.display().to_string())?;
        }
        let file = if force { replace(&path) } else { File::create_new(&path) };
        file.and_then(|mut file| file.write_all(with_links(&text.unpacked()).as_bytes()))
            .with_context(|| path.display().to_string())?;
        written += 1;
    }
    writeln!(out, "{written} files in {}", directory.display())?;
    Ok(())
}

/// The file of that name, emptied; a symbolic link to a file is not followed.
fn replace(path: &Path) -> io::Result<File> {
    named(path)?;
    File::create(path)
}

/// In the repository, what is about testing others is in `diagipc/`, beside `vectors/`; here it is
/// below.
fn with_links(text: &str) -> String {
    text.replace("](../diagipc/", "](").replace("](../../vectors/", "](../")
}

fn corpus(directory: &Path, out: &mut dyn Write) -> anyhow::Result<()> {
    let put = |path: PathBuf, bytes: &[u8]| {
        let file = replace(&path);
        file.and_then(|mut file| file.write_all(bytes)).with_context(|| path.display().to_string())
    };
    for target in TARGETS {
        let place = directory.join(target);
        fs::create_dir_all(&place).with_context(|| place.display().to_string())?;
        let seeds = seeds(target)?;
        for seed in &seeds {
            put(place.join(&seed.name), &seed.input)?;
        }
        writeln!(out, "{:>5} seeds in {}", seeds.len(), place.display())?;
    }
    put(directory.join("dictionary.txt"), dictionary().as_bytes())
}
