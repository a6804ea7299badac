//! Lists the processes on this machine that can be diagnosed, and the paths that could not be read.
//!
//! `cargo run --features io-adapters --example ps [PROCESS ...]`
//!
//! Asks each runtime for its command line, which has no side effects. With arguments, lists and
//! asks only those processes.
use std::collections::BTreeMap;
use std::error::Error;
use std::time::Duration;

use dotnet_diagnostics_ipc::io::discovery::{
    self, DiscoveredEndpoint, EndpointState, UnreadablePath,
};
use dotnet_diagnostics_ipc::io::trust::TrustPolicy;
use dotnet_diagnostics_ipc::io::{Client, Deadlines, Endpoint, Error as IoError};

/// The time limit for all questions to one process.
const PATIENCE: Duration = Duration::from_secs(1);

fn main() -> Result<(), Box<dyn Error>> {
    let wanted: Vec<u32> =
        std::env::args().skip(1).map(|id| id.parse()).collect::<Result<_, _>>()?;
    let seen = discovery::processes()?;
    println!("{:>10}  {:<12}  COMMAND LINE, ENDPOINT", "PROCESS", "STATE");
    let is_wanted = |found: &&DiscoveredEndpoint| {
        wanted.is_empty() || found.process_id.is_some_and(|id| wanted.contains(&id))
    };
    for found in seen.found.iter().filter(is_wanted) {
        let process_id = found.process_id.map_or_else(|| "-".to_string(), |id| id.to_string());
        let command_line = match found.state {
            EndpointState::Listening => {
                command_line(found).unwrap_or_else(|error| format!("({error:#})"))
            }
            _ => "-".to_string(),
        };
        println!("{process_id:>10}  {:<12}  {command_line}", found.state.to_string());
        println!("{:>10}  {:<12}  {}", "", "", found.endpoint.to_string_lossy().escape_debug());
    }
    report(&seen.unseen);
    Ok(())
}

/// Returns the command line that the process reports.
fn command_line(found: &DiscoveredEndpoint) -> Result<String, IoError> {
    // Asks only for the info. Root may ask other users' processes, and the socket's mode stops
    // everyone else. No other process may answer in place of this one.
    let policy = found
        .owner
        .map_or(TrustPolicy::CHECKED, |owner| TrustPolicy::CHECKED.allowing_owner(owner));
    let deadlines = Deadlines { whole: Some(PATIENCE), ..Deadlines::DEFAULT };
    let client = Client::new(Endpoint::from(found).trusting(policy)).with_deadlines(deadlines);
    // Escapes characters that would move the cursor, because a process may choose any name.
    Ok(client.info()?.command_line.escape_debug().to_string())
}

/// Prints one line for each reason.
fn report(unseen: &[UnreadablePath]) {
    let mut processes: BTreeMap<String, usize> = BTreeMap::new();
    for one in unseen {
        match (one.process_id, one.path.file_name()) {
            (Some(_), Some(file)) if one.path.starts_with("/proc") => {
                *processes
                    .entry(format!("{}: {}", file.to_string_lossy(), one.why))
                    .or_default() += 1;
            }
            _ => eprintln!("not readable: {one}"),
        }
    }
    for (what, count) in processes {
        eprintln!("not readable: {count} × /proc/PID/{what}");
    }
}
