//! `diagipc ps`: the processes on this machine that can be diagnosed.

use std::collections::BTreeMap;
use std::io::{self, Write};
use std::sync::Mutex;
use std::sync::mpsc::{self, RecvTimeoutError};
use std::time::{Duration, Instant};
use std::{iter, thread};

use anyhow::bail;
use diagipc::Address;
use diagipc::network::{advised, trust_policy};
use diagipc::process::{Suspended, procfs};
use dotnet_diagnostics_ipc::io::discovery::{
    self, DiscoveredEndpoint, EndpointState, UnreadablePath,
};
use dotnet_diagnostics_ipc::io::{Canceller, Client, Deadlines, Endpoint, Error, ErrorKind, Phase};
use serde::Serialize;

use crate::commands::duration::duration;
use crate::commands::printable::{json_array, plain, printable, say};
use crate::commands::runtime_info::Info;
use crate::commands::{Outcome, interrupt};

/// The time limit for the answers of all processes when one is searched by its name.
const NAME_TIMEOUT: Duration = Duration::from_secs(2);
/// How many processes are asked at a time. Each takes a thread and a descriptor, and some systems
/// allow 256 descriptors.
const MAX_THREADS: usize = 128;

/// Lists the processes on this machine that can be diagnosed.
///
/// Sends each runtime a `ProcessInfo`, which has no side effects. Places that could not be read are
/// listed too.
#[derive(clap::Args)]
#[command(
    after_long_help = exit_statuses!(
        "0      the processes are listed",
        "1      a named process was not found",
        "2      usage error",
        "128+n  interrupted by signal n: SIGHUP, SIGINT or SIGTERM",
    )
)]
pub(crate) struct Arguments {
    /// List only these processes
    process: Vec<u32>,

    /// Also list sockets where nobody listens
    #[arg(long)]
    stale: bool,

    /// Print JSON
    #[arg(long)]
    json: bool,

    /// The time limit for all answers together: seconds, 500ms, 10s
    #[arg(long, value_name = "TIME", default_value = "500ms", value_parser = duration)]
    timeout: Duration,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Row {
    process_id: Option<u32>,
    state: String,
    endpoint: String,
    #[serde(flatten)]
    answer: Answer,
    /// The command line that the system reports for a process that did not answer.
    #[serde(skip_serializing_if = "Option::is_none")]
    command_line: Option<String>,
    /// What a process that has not started yet waits for.
    #[serde(skip_serializing_if = "Option::is_none")]
    waits: Option<String>,
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
    let mut answers = ask(&found, arguments.timeout, &canceller)?;
    if let Some(signal) = interrupt::signal() {
        return Ok(Outcome::Interrupted(signal));
    }
    let rows = found.iter().enumerate().map(|(place, found)| row(found, answers.remove(&place)));
    let rows: Vec<Row> = rows.collect();
    if arguments.json {
        json_array(rows.iter(), out)?;
    } else {
        table(&rows, out)?;
    }
    not_seen(&seen.unseen);
    let is_there = |id: &&u32| rows.iter().any(|row| row.process_id == Some(**id));
    match arguments.process.iter().find(|id| !is_there(id)) {
        Some(id) => {
            say(&format!("diagipc ps: process {id} has no visible endpoint"));
            Ok(Outcome::Faulty)
        }
        None => Ok(Outcome::Well),
    }
}

/// Returns the processes that answer and have this name of entry assembly or program.
pub(crate) fn named(name: &str) -> anyhow::Result<Vec<u32>> {
    let seen = discovery::processes()?;
    let found: Vec<_> = seen.found.iter().filter(|found| !found.is_stale()).collect();
    let mut answers = ask(&found, NAME_TIMEOUT, &Canceller::new()?)?;
    let has_name = |(place, found): (usize, &&DiscoveredEndpoint)| {
        let id = found.process_id?;
        let assembly = match answers.remove(&place) {
            Some(Answer::Info(info)) => info.0.managed_entrypoint_assembly_name,
            _ => None,
        };
        (assembly.as_deref() == Some(name) || program_of(id).as_deref() == Some(name)).then_some(id)
    };
    let mut ids: Vec<u32> = found.iter().enumerate().filter_map(has_name).collect();
    ids.sort_unstable();
    // A process may have several sockets.
    ids.dedup();
    Ok(ids)
}

/// Returns the name of a process's program, as it was started.
pub(crate) fn program_of(process_id: u32) -> Option<String> {
    let program = String::from_utf8(procfs::arguments(process_id)?.into_iter().next()?).ok()?;
    Some(std::path::Path::new(&program).file_name()?.to_str()?.to_owned())
}

/// Asks those that listen, and returns their answers by place. Many are asked at a time, because a
/// stopped or blocked process does not answer, nor do sockets that anyone can create.
fn ask(
    found: &[&DiscoveredEndpoint],
    limit: Duration,
    canceller: &Canceller,
) -> io::Result<BTreeMap<usize, Answer>> {
    let end = Instant::now().checked_add(limit);
    let left = || end.map_or(limit, |end| end.saturating_duration_since(Instant::now()));
    let listening: Vec<_> = found
        .iter()
        .enumerate()
        .filter(|(_, found)| found.state == EndpointState::Listening)
        .collect();
    let queue = Mutex::new(listening.iter());
    let next = || {
        let mut queue = queue.lock().ok()?;
        // Every process gets its share of the time that is left.
        let rounds = u32::try_from(queue.len().div_ceil(MAX_THREADS)).unwrap_or(u32::MAX);
        let (place, found) = queue.next()?;
        Some((*place, found, left().checked_div(rounds)?))
    };
    let (done, answered) = mpsc::channel();
    thread::scope(|scope| {
        for worker in 0..listening.len().min(MAX_THREADS) {
            let (done, next) = (done.clone(), &next);
            let work = move || {
                while let Some((place, found, patience)) = next() {
                    // This cannot fail: the channel is received until all are done.
                    let _ = done.send((place, info(found, patience, canceller)));
                }
            };
            match thread::Builder::new().spawn_scoped(scope, work) {
                Err(error) if worker == 0 => return Err(error),
                // The other threads do its work.
                Err(_) => break,
                Ok(_) => {}
            }
        }
        drop(done);
        let mut answers = BTreeMap::new();
        loop {
            match answered.recv_timeout(left()) {
                Ok((place, answer)) => drop(answers.insert(place, answer)),
                // Some processes answer several questions, each late.
                Err(RecvTimeoutError::Timeout) => {
                    canceller.cancel();
                    answers.extend(answered.iter());
                    return Ok(answers);
                }
                Err(RecvTimeoutError::Disconnected) => return Ok(answers),
            }
        }
    })
}

fn row(found: &DiscoveredEndpoint, answer: Option<Answer>) -> Row {
    let command_line = match answer {
        Some(Answer::Info(_)) => None,
        _ => found.process_id.and_then(command_line_of),
    };
    Row {
        process_id: found.process_id,
        state: found.state.to_string(),
        endpoint: found.endpoint.to_string_lossy().into_owned(),
        answer: answer.unwrap_or(Answer::NotAsked {}),
        command_line,
        waits: found.process_id.and_then(Suspended::of).map(|waits| waits.to_string()),
    }
}

fn command_line_of(process_id: u32) -> Option<String> {
    let line = procfs::arguments(process_id)?.join(&b' ');
    (!line.is_empty()).then(|| String::from_utf8_lossy(&line).into_owned())
}

fn info(found: &DiscoveredEndpoint, patience: Duration, canceller: &Canceller) -> Answer {
    // This only asks for information. Root may ask other users' processes; for others the socket's
    // mode refuses it. No other process may answer in its place.
    let policy =
        found.owner.map_or_else(trust_policy, |owner| trust_policy().allowing_owner(owner));
    let deadlines = Deadlines { whole: Some(patience), ..Deadlines::DEFAULT };
    let client = Client::new(Endpoint::from(found).trusting(policy))
        .with_deadlines(deadlines)
        .with_canceller(canceller.clone());
    match Info::ask(&client) {
        Ok(info) => Answer::Info(Box::new(info)),
        Err(error) => {
            let kind = error.downcast_ref().map(Error::kind);
            Answer::Error(match kind {
                Some(ErrorKind::TimedOut | ErrorKind::Cancelled) => {
                    "it did not answer in time".to_owned()
                }
                _ => error.downcast_ref().map_or_else(|| format!("{error:#}"), advised),
            })
        }
    }
}

/// The maximum width of a column. Any process may choose long texts; a longer one moves what
/// follows it in its own row.
const MAX_COLUMN_WIDTH: usize = 64;

fn table(rows: &[Row], out: &mut dyn Write) -> io::Result<()> {
    let heading = ["PROCESS", "VERSION", "ENDPOINT", "COMMAND LINE"].map(str::to_owned);
    let lines: Vec<[String; 4]> = iter::once(heading).chain(rows.iter().map(cells)).collect();
    let width = |cell: fn(&[String; 4]) -> &String| {
        let widths = lines.iter().map(|line| cell(line).chars().count());
        widths.filter(|width| *width <= MAX_COLUMN_WIDTH).max().unwrap_or_default()
    };
    let (first, second, third) = (
        width(|[id, ..]| id),
        width(|[_, version, ..]| version),
        width(|[.., endpoint, _]| endpoint),
    );
    for [process_id, version, endpoint, command_line] in &lines {
        let line =
            format!("{process_id:>first$}  {version:second$}  {endpoint:third$}  {command_line}");
        writeln!(out, "{}", line.trim_end())?;
    }
    Ok(())
}

/// Returns the cells of a row. The longest is last, so that no row is padded to its length.
fn cells(row: &Row) -> [String; 4] {
    let process_id = row.process_id.map_or_else(|| "-".to_owned(), |id| id.to_string());
    let without_answer = |why: &str| {
        let known = row.command_line.iter().map(|line| plain(line));
        known.chain([format!("({})", plain(why))]).collect::<Vec<_>>().join(" ")
    };
    let (version, command_line) = match &row.answer {
        Answer::Info(info) => {
            (info.0.clr_product_version.as_deref().unwrap_or("5"), plain(&info.0.command_line))
        }
        Answer::Error(error) => ("?", without_answer(error)),
        Answer::NotAsked {} => ("?", without_answer(&row.state)),
    };
    let waits = row.waits.iter().map(|waits| format!(" ({})", plain(waits)));
    let command_line = iter::once(command_line).chain(waits).collect();
    // A process may choose any name.
    [process_id, plain(version), printable(&row.endpoint), command_line]
}

/// The maximum number of processes that are named because their files could not be read.
const MAX_PIDS: usize = 8;

/// Reports what could not be read, with one line for each reason.
fn not_seen(unseen: &[UnreadablePath]) {
    let mut processes: BTreeMap<String, Vec<u32>> = BTreeMap::new();
    for one in unseen {
        match (one.process_id, one.path.file_name()) {
            (Some(id), Some(file)) if one.path.starts_with("/proc") => {
                let what = format!("{}: {}", file.to_string_lossy(), one.why);
                processes.entry(what).or_default().push(id);
            }
            _ => say(&format!("not readable: {}", printable(&one.to_string()))),
        }
    }
    for (what, ids) in processes {
        let named: Vec<String> = ids.iter().take(MAX_PIDS).map(u32::to_string).collect();
        let more = if ids.len() > MAX_PIDS { ", …" } else { "" };
        let (count, named) = (ids.len(), named.join(", "));
        say(&format!("not readable: {count} × /proc/PID/{what} (PID {named}{more})"));
    }
}

/// A target by its address, process id or name.
#[derive(Clone, clap::Args)]
#[allow(clippy::doc_markdown, reason = "this is the help of a command")]
pub(crate) struct NamedTarget {
    /// A process id or name, the path of a socket, a pipe (`\\.\pipe\NAME`), or HOST:PORT
    target: Option<Address>,

    /// The process with this id, in place of TARGET
    #[arg(long, value_name = "PID", conflicts_with_all = ["target", "name"])]
    process_id: Option<u32>,

    /// The process whose entry assembly or program has this name, in place of TARGET
    #[arg(short, long, value_name = "NAME")]
    name: Option<String>,
}

impl NamedTarget {
    pub(crate) fn name(&self) -> Option<&str> {
        self.name.as_deref()
    }

    /// Returns the address of the target, if one was given. A name is looked for.
    pub(crate) fn address(&self) -> anyhow::Result<Option<Address>> {
        match (&self.target, self.process_id, &self.name) {
            (Some(target), _, None) => resolved(target).map(Some),
            (Some(target @ Address::Port(_)), ..) => Ok(Some(target.clone())),
            (Some(target), ..) => {
                bail!("--name finds a process, or chooses one that connects: not with {target}")
            }
            (None, Some(id), _) => Ok(Some(Address::Process(id))),
            (None, None, Some(name)) => Ok(Some(Address::Process(only(name)?))),
            (None, None, None) => Ok(None),
        }
    }
}

/// Returns the address, or for a name the address of the only process with that name.
pub(crate) fn resolved(target: &Address) -> anyhow::Result<Address> {
    match target.name() {
        Some(name) => Ok(Address::Process(only(name)?)),
        None => Ok(target.clone()),
    }
}

fn only(name: &str) -> anyhow::Result<u32> {
    match *named(name)? {
        [id] => Ok(id),
        [] => {
            let what = format!("a .NET process with the name {name}, as in `diagipc ps`,");
            Err(Error::new(Phase::Find, ErrorKind::NotFound(what)).into())
        }
        ref several => {
            let line = |id: &u32| {
                let line = command_line_of(*id).unwrap_or_default();
                format!("\n{id:>9}  {}", plain(&line))
            };
            let lines: String = several.iter().map(line).collect();
            bail!("{} processes have the name {name}, expected one:{lines}", several.len())
        }
    }
}
