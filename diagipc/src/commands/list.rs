//! `diagipc list`.

use std::fs::{self, File};
use std::io::{ErrorKind, Write};
use std::path::{Path, PathBuf};

use anyhow::{Context as _, bail};
use diagipc::embedded::{self, COMPANIONS, PACKAGE, SCENARIOS, SCRIPTS, VECTORS};
use diagipc::faults::{Fault, SuiteName};
use diagipc::runtime::{Misbehaviour, MisbehaviourKind};
use serde_json::json;

use crate::commands::explain::{name, played};
use crate::commands::output::Output;
use crate::commands::printable::{self, json_array};
use crate::commands::{Outcome, check, output_file};

#[derive(clap::Args)]
#[command(
    after_long_help = exit_statuses!(
        "0  the list was printed, or the files were written",
        "2  usage error, or a file that cannot be written",
    )
)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    what: What,
}

#[derive(clap::Subcommand)]
enum What {
    /// Lists the cases of `check`, which has all suites
    Cases,
    /// Lists the groups of vectors, or writes all files
    Vectors {
        /// Print JSON
        #[arg(long)]
        json: bool,
        /// Write the files to this directory instead, including exchange scripts, schemas and
        /// documentation: a package for Go, npm and Python
        #[arg(long, value_name = "DIRECTORY", conflicts_with = "json")]
        export: Option<PathBuf>,
        /// Overwrite existing files
        #[arg(long, requires = "export")]
        force: bool,
    },
    /// Lists the exchange scripts
    Scripts {
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Lists the faults that suites name, and those that `runtime --misbehave` shows
    Faults {
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
}

pub(crate) fn run(arguments: &Arguments, out: &mut dyn Write) -> anyhow::Result<Outcome> {
    match &arguments.what {
        What::Cases => return Output::list(&check::cases(embedded::vectors()?)?, out),
        What::Vectors { export: Some(directory), force, .. } => export(directory, *force, out),
        What::Vectors { json, .. } => vectors(*json, out),
        What::Scripts { json } => scripts(*json, out),
        What::Faults { json } => faults(*json, out),
    }?;
    Ok(Outcome::Well)
}

fn vectors(json: bool, out: &mut dyn Write) -> anyhow::Result<()> {
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
        return Ok(printable::json(&rows?, out)?);
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

fn scripts(json: bool, out: &mut dyn Write) -> anyhow::Result<()> {
    let scripts = embedded::scripts()?.iter().flat_map(|(_, file)| &file.scripts);
    if json {
        return Ok(json_array(scripts, out)?);
    }
    let mut table = check::table(["scId", "name", "plays", "since", "hazard", "steps"]);
    for script in scripts {
        table.add_row([
            script.sc_id.to_string(),
            script.name.clone(),
            played(script).to_owned(),
            script.since.clone().unwrap_or_default(),
            script.hazard.as_ref().map(name).transpose()?.unwrap_or_default(),
            script.steps.len().to_string(),
        ]);
    }
    writeln!(out, "{table}")?;
    Ok(())
}

fn faults(json: bool, out: &mut dyn Write) -> anyhow::Result<()> {
    let named = Fault::ALL.iter().map(|fault| {
        let by: Vec<&str> = fault.suites().iter().map(|suite| SuiteName::name(*suite)).collect();
        (fault.name().to_owned(), by, fault.spec().join(", "), fault.sentence())
    });
    let shown = MisbehaviourKind::ALL.iter().map(|kind| {
        let name = Misbehaviour::new(*kind).to_string();
        (name, Vec::from(["runtime"]), kind.spec().to_owned(), kind.text())
    });
    let all = named.chain(shown);
    if json {
        let row =
            |(name, of, spec, text)| json!({ "name": name, "of": of, "spec": spec, "text": text });
        return Ok(json_array(all.map(row), out)?);
    }
    let mut table = check::table(["fault", "of", "spec", "what it is"]);
    for (name, of, spec, text) in all {
        table.add_row([&name, &of.join(", "), &spec, text]);
    }
    writeln!(out, "{table}")?;
    Ok(())
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
        let text = with_links(&text.unpacked());
        if force {
            output_file::export(&path, text.as_bytes())?;
        } else {
            let created = File::create_new(&path);
            if created.as_ref().is_err_and(|error| error.kind() == ErrorKind::AlreadyExists) {
                bail!("{} already exists: --force overwrites it", path.display());
            }
            created
                .and_then(|mut file| file.write_all(text.as_bytes()))
                .with_context(|| path.display().to_string())?;
        }
        written += 1;
    }
    writeln!(out, "{written} files in {}", directory.display())?;
    Ok(())
}

/// Adjusts links: `diagipc/` is beside `vectors/` in the repository, but below it in an export.
fn with_links(text: &str) -> String {
    text.replace("](../diagipc/", "](").replace("](../../vectors/", "](../")
}
