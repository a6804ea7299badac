//! A target that is started for a run, and again after its death.

use alloc::{
    borrow::ToOwned as _,
    format,
    string::{String, ToString as _},
    sync::Arc,
    vec::Vec,
};
use core::time::Duration;
use std::fs::{self, File};
use std::io::{BufRead as _, BufReader};
use std::os::unix::process::{CommandExt as _, ExitStatusExt as _};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, Stdio};
use std::sync::{Mutex, OnceLock, PoisonError};
use std::thread;
use std::time::Instant;

use rustix::process::{Pid, Signal, kill_process_group};
use tempfile::TempDir;

use super::{Death, SpawnCommand};
use crate::conformance::player::{Network as _, SocketNetwork};
use crate::io::{Until, discovery};
use crate::port::{DEFAULT_PORT_SUSPEND_VARIABLE, PORTS_VARIABLE};
use crate::vectors::script::Target;

/// How long to wait before something is looked at again.
const PAUSE: Duration = Duration::from_millis(20);
/// How much of what the target said is kept for an error.
const LAST_WORDS: usize = 2000;

/// A target that runs. It is ended when this is dropped.
pub(super) struct Spawned {
    child: Arc<Mutex<Child>>,
    group: Option<Pid>,
    directory: TempDir,
    socket: PathBuf,
}

impl Spawned {
    /// Starts a target as a script wants it; the network has its ports.
    pub(super) fn start(command: &SpawnCommand, target: &Target) -> Result<(Self, SocketNetwork), String> {
        let failed = |error: std::io::Error| format!("{command}: {error}");
        let directory = tempfile::Builder::new().prefix("diagipc-").tempdir().map_err(failed)?;
        let mut network = SocketNetwork::to_socket(directory.path().join("none"));
        let mut addresses = Vec::new();
        for port in &target.ports {
            let path = directory.path().join(&port.id);
            addresses.push(format!("{},{}", path.display(), if port.suspend { "suspend" } else { "nosuspend" }));
            network = network.with_port(&port.id, path);
            if port.listening {
                network.listen(&port.id, true).map_err(|trouble| trouble.to_string())?;
            }
        }
        let mut process = Command::new(&command.program);
        process.args(&command.arguments).current_dir(directory.path()).env("TMPDIR", directory.path());
        // What this program was started with is not meant for the target.
        process.env_remove(PORTS_VARIABLE).env_remove(DEFAULT_PORT_SUSPEND_VARIABLE);
        if !addresses.is_empty() {
            process.env(PORTS_VARIABLE, addresses.join(";"));
        }
        if target.suspended {
            process.env(DEFAULT_PORT_SUSPEND_VARIABLE, "1");
        }
        process.envs(&target.environment);
        let errors = File::create(directory.path().join("stderr")).map_err(failed)?;
        let started = process.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(errors).process_group(0).spawn();
        let mut child = started.map_err(failed)?;
        let group = i32::try_from(child.id()).ok().and_then(Pid::from_raw);
        let (id, stdout) = (child.id(), child.stdout.take());
        let mut spawned = Self { child: Arc::new(Mutex::new(child)), group, directory, socket: PathBuf::new() };
        spawned.socket = spawned.find_socket(id, stdout, command.patience)?;
        network.move_to(spawned.socket.clone());
        let child = spawned.child.clone();
        Ok((spawned, network.with_process(move || lives(&child))))
    }

    /// Connections to it.
    pub(super) fn network(&self) -> SocketNetwork {
        let child = self.child.clone();
        SocketNetwork::to_socket(self.socket.clone()).with_process(move || lives(&child))
    }

    /// Waits for the first line, or for the socket of a runtime.
    fn find_socket(&self, id: u32, stdout: Option<ChildStdout>, patience: Duration) -> Result<PathBuf, String> {
        let said = Arc::new(OnceLock::new());
        if let Some(stdout) = stdout {
            let said = said.clone();
            let reads = move || first_line(stdout, &said);
            thread::Builder::new().name("target".to_owned()).spawn(reads).map_err(|error| error.to_string())?;
        }
        let began = Instant::now();
        loop {
            let line: Option<&String> = said.get();
            if let Some(path) = line.and_then(|line| place(line)).or_else(|| default_port(self.directory.path(), id)) {
                return Ok(path);
            }
            if let Some(death) = self.death() {
                return Err(format!("the target {death} before it could be reached{}", self.last_words()));
            }
            if began.elapsed() >= patience {
                let text = "names no endpoint, and has no socket of a default port in TMPDIR";
                return Err(format!("the target {text} after {} s{}", patience.as_secs(), self.last_words()));
            }
            thread::sleep(PAUSE);
        }
    }

    /// How the process ended, if it did.
    pub(super) fn death(&self) -> Option<Death> {
        let status = self.child.lock().unwrap_or_else(PoisonError::into_inner).try_wait().ok().flatten()?;
        Some(match (status.code(), status.signal()) {
            (Some(code), _) => Death::Status(code),
            (None, Some(signal)) => Death::Signal(signal),
            (None, None) => Death::Unknown,
        })
    }

    fn last_words(&self) -> String {
        let text = fs::read(self.directory.path().join("stderr")).unwrap_or_default();
        let text = String::from_utf8_lossy(text.get(text.len().saturating_sub(LAST_WORDS)..).unwrap_or_default()).into_owned();
        if text.trim().is_empty() { String::new() } else { format!("; it said: {}", text.trim()) }
    }
}

impl Drop for Spawned {
    fn drop(&mut self) {
        // With what it started itself, such as a `createdump` that does not end.
        if let Some(group) = self.group {
            let _ = kill_process_group(group, Signal::KILL);
        }
        let mut child = self.child.lock().unwrap_or_else(PoisonError::into_inner);
        let _ = child.kill();
        let _ = child.wait();
    }
}

fn lives(child: &Mutex<Child>) -> bool {
    matches!(child.lock().unwrap_or_else(PoisonError::into_inner).try_wait(), Ok(None))
}

/// Keeps the first line and reads on, so that the target never waits for a reader.
fn first_line(stdout: ChildStdout, said: &OnceLock<String>) {
    let mut lines = BufReader::new(stdout).split(b'\n');
    while let Some(Ok(line)) = lines.next() {
        let _ = said.set(String::from_utf8_lossy(&line).trim().to_owned());
    }
}

/// The socket that a line names.
fn place(line: &str) -> Option<PathBuf> {
    if let Ok(id) = line.parse::<u32>() {
        return discovery::endpoint_of(id, &Until::FOREVER).ok();
    }
    let path = Path::new(line);
    (path.is_absolute() && path.exists()).then(|| path.to_path_buf())
}

/// The socket of a default port in `directory`: that of the process `id`, or of one that it started.
fn default_port(directory: &Path, id: u32) -> Option<PathBuf> {
    let own = format!("dotnet-diagnostic-{id}-");
    let names = fs::read_dir(directory).ok()?.filter_map(Result::ok).map(|entry| entry.file_name().to_string_lossy().into_owned());
    let mut sockets: Vec<_> = names.filter(|name| name.starts_with("dotnet-diagnostic-") && name.ends_with("-socket")).collect();
    sockets.sort_by_key(|name| !name.starts_with(&own));
    sockets.first().map(|name| directory.join(name))
}
