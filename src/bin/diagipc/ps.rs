//! `diagipc ps`: the processes on this machine that can be diagnosed.

use std::collections::BTreeMap;
use std::io::{self, Write};
use std::thread;
use std::time::Duration;

use comfy_table::{CellAlignment, Table, presets::NOTHING};
use dotnet_diagnostics_ipc::command::Command;
use dotnet_diagnostics_ipc::io::discovery::{
    self, DiscoveredEndpoint, EndpointState, UnreadablePath,
};
use dotnet_diagnostics_ipc::io::trust::TrustPolicy;
use dotnet_diagnostics_ipc::io::{Canceller, Client, Deadlines, Endpoint};
use serde::Serialize;

use crate::info::Info;
use crate::printable::{json_array, plain, printable};
use crate::{Outcome, interrupt};

/// Time limit for everything asked of one process.
const PATIENCE: Duration = Duration::from_secs(2);
/// How many are asked at a time.
const AT_A_TIME: usize = 16;

/// Lists the processes on this machine that can be diagnosed, and places that could not be read.
///
/// Sends each runtime a `ProcessInfo`, which has no side effects.
#[derive(clap::Args)]
#[command(
    after_help = "Exit status: 0 listed, 1 a named process was not found, 2 usage error, 130 or 143 interrupted."
)]
pub(crate) struct Arguments {
    /// Only these processes
    process: Vec<u32>,

    /// Also sockets without a listener
    #[arg(long)]
    stale: bool,

    /// As JSON
    #[arg(long)]
    json: bool,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Row {
    process_id: Option<u32>,
    state: String,
    endpoint: String,
    #[serde(flatten)]
    answer: Answer,
}

#[derive(Serialize)]
#[serde(rename_all = "lowercase")]
enum Answer {
    Info(Box<Info>),
    Error(String),
    #[serde(untagged)]
    NotAsked {},
}

pub(crate) fn run(arguments: &Arguments, out: &mut dyn Write) -> anyhow::Result<Outcome> {
    let canceller = interrupt::canceller()?;
    let seen = discovery::processes()?;
    let is_wanted = |found: &&DiscoveredEndpoint| {
        let is_named = arguments.process.is_empty()
            || found.process_id.is_some_and(|id| arguments.process.contains(&id));
        is_named && (arguments.stale || !found.is_stale())
    };
    let found: Vec<&DiscoveredEndpoint> = seen.found.iter().filter(is_wanted).collect();
    let rows = ask(&found, &canceller);
    if let Some(signal) = interrupt::signal() {
        return Ok(Outcome::Interrupted(signal));
    }
    if arguments.json {
        json_array(rows.iter(), out)?;
        writeln!(out)?;
    } else {
        writeln!(out, "{}", table(&rows))?;
    }
    not_seen(&seen.unseen)?;
    let is_there = |id: &&u32| rows.iter().any(|row| row.process_id == Some(**id));
    match arguments.process.iter().find(|id| !is_there(id)) {
        Some(id) => {
            // Standard error may be closed too.
            let _ = writeln!(io::stderr(), "diagipc ps: process {id} has no visible endpoint");
            Ok(Outcome::Faulty)
        }
        None => Ok(Outcome::Well),
    }
}

/// Several at a time: a stopped or blocked one does not answer.
fn ask(found: &[&DiscoveredEndpoint], canceller: &Canceller) -> Vec<Row> {
    let mut rows = Vec::new();
    for some in found.chunks(AT_A_TIME) {
        rows.extend(thread::scope(|scope| {
            let asking: Vec<_> =
                some.iter().map(|found| scope.spawn(|| row(found, canceller))).collect();
            asking.into_iter().filter_map(|asking| asking.join().ok()).collect::<Vec<_>>()
        }));
    }
    rows
}

fn row(found: &DiscoveredEndpoint, canceller: &Canceller) -> Row {
    let endpoint = found.endpoint.to_string_lossy().into_owned();
    let answer = match found.state {
        EndpointState::Listening => info(found, canceller),
        _ => Answer::NotAsked {},
    };
    Row { process_id: found.process_id, state: found.state.to_string(), endpoint, answer }
}

fn info(found: &DiscoveredEndpoint, canceller: &Canceller) -> Answer {
    // It is only asked for its info. Root may ask other users' processes; for others the socket's
    // mode refuses it. No other process may answer for it.
    let policy = found
        .owner
        .map_or(TrustPolicy::CHECKED, |owner| TrustPolicy::CHECKED.allowing_owner(owner));
    let deadlines = Deadlines { whole: Some(PATIENCE), ..Deadlines::DEFAULT };
    let client = Client::new(Endpoint::from(found).trusting(policy))
        .with_deadlines(deadlines)
        .with_canceller(canceller.clone());
    match Info::ask(&client, Command::PROCESS_INFO3) {
        Ok(info) => Answer::Info(Box::new(info)),
        Err(error) => Answer::Error(format!("{error:#}")),
    }
}

fn table(rows: &[Row]) -> Table {
    let mut table = Table::new();
    table.load_preset(NOTHING).set_header(["PROCESS", "VERSION", "COMMAND LINE", "ENDPOINT"]);
    if let Some(column) = table.column_mut(0) {
        column.set_cell_alignment(CellAlignment::Right);
    }
    for row in rows {
        let process_id = row.process_id.map_or_else(|| "-".to_owned(), |id| id.to_string());
        let (version, command_line) = match &row.answer {
            Answer::Info(info) => {
                (info.clr_product_version.as_deref().unwrap_or("5"), info.command_line.clone())
            }
            Answer::Error(error) => ("?", format!("({error})")),
            Answer::NotAsked {} => ("?", format!("({})", row.state)),
        };
        // A process may choose any name.
        table.add_row([process_id, plain(version), plain(&command_line), printable(&row.endpoint)]);
    }
    table
}

/// How many processes are named whose files could not be read.
const NAMED: usize = 8;

/// One line for each reason.
fn not_seen(unseen: &[UnreadablePath]) -> io::Result<()> {
    let mut processes: BTreeMap<String, Vec<u32>> = BTreeMap::new();
    let mut errors = io::stderr().lock();
    for one in unseen {
        match (one.process_id, one.path.file_name()) {
            (Some(id), Some(file)) if one.path.starts_with("/proc") => {
                let what = format!("{}: {}", file.to_string_lossy(), one.why);
                processes.entry(what).or_default().push(id);
            }
            _ => writeln!(errors, "not readable: {}", printable(&one.to_string()))?,
        }
    }
    for (what, ids) in processes {
        let named: Vec<String> = ids.iter().take(NAMED).map(u32::to_string).collect();
        let more = if ids.len() > NAMED { ", …" } else { "" };
        writeln!(
            errors,
            "not readable: {} × /proc/PID/{what} (PID {}{more})",
            ids.len(),
            named.join(", ")
        )?;
    }
    Ok(())
}
