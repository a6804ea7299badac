//! A target that is started for a run, and again after its death.

use alloc::{
    borrow::ToOwned as _,
    format,
    string::{String, ToString as _},
    sync::Arc,
    vec::Vec,
};
use core::time::Duration;
use std::ffi::{OsStr, OsString};
use std::fs::{self, File};
use std::io::{self, Read, Seek as _, SeekFrom};
use std::path::{Path, PathBuf};
use std::process::{ChildStdout, Command, Stdio};
use std::sync::{Mutex, OnceLock, PoisonError};
use std::thread;
use std::time::Instant;

use super::place::RunsIn;
use super::{Death, SpawnCommand};
use crate::conformance::player::{Network as _, SocketNetwork};
use crate::conformance::started::{OwnDirectory, Started};
use crate::io::{Canceller, Until, discovery};
use crate::port::{DEFAULT_PORT_SUSPEND_VARIABLE, PORTS_VARIABLE};
use crate::vectors::script::Target;

/// How long to wait before something is looked at again.
const PAUSE: Duration = Duration::from_millis(20);
/// How much of what the target said is kept for an error.
const LAST_WORDS: u64 = 2000;
/// Why nothing is started, or waited for, any more.
pub(super) const INTERRUPTED: &str = "the run was interrupted";
/// The longest first line: a path has less.
const LONGEST_LINE: usize = 64 * 1024;

/// A target that runs. It is ended when this is dropped.
pub(super) struct Spawned {
    process: Arc<Mutex<Started>>,
    directory: OwnDirectory,
    socket: PathBuf,
}

/// The first line of a target, or that it is longer than any.
type FirstLine = Result<String, TooLong>;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct TooLong;

impl Spawned {
    /// Starts a target as a script wants it; the network has its ports. `canceller` ends the waiting for it.
    pub(super) fn start(
        command: &SpawnCommand,
        target: &Target,
        runs_in: RunsIn,
        canceller: Option<&Canceller>,
    ) -> Result<(Self, SocketNetwork), String> {
        let failed = |error: io::Error| format!("{command}: {error}");
        if canceller.is_some_and(Canceller::is_cancelled) {
            return Err(INTERRUPTED.to_owned());
        }
        let directory = OwnDirectory::new("diagipc-").map_err(failed)?;
        let mut network = with_canceller(SocketNetwork::to_socket(directory.path().join("none")), canceller);
        let mut addresses = Vec::new();
        for port in &target.ports {
            let path = directory.path().join(&port.id);
            addresses.push(format!("{},{}", path.display(), if port.suspend { "suspend" } else { "nosuspend" }));
            network = network.with_port(&port.id, path);
            if port.listening {
                network.listen(&port.id, true).map_err(|trouble| trouble.to_string())?;
            }
        }
        let mut process = match runs_in {
            RunsIn::CurrentDirectory => {
                let mut process = Command::new(&command.program);
                process.args(&command.arguments);
                process
            }
            RunsIn::OwnDirectory => {
                let mut process = Command::new(from_anywhere(&command.program, true));
                process.args(command.arguments.iter().map(|argument| from_anywhere(argument, false)));
                process.current_dir(directory.path());
                process
            }
        };
        process.env("TMPDIR", directory.path());
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
        process.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(errors);
        let start = if command.ends_with_input { Started::start_that_ends } else { Started::start };
        let mut started = start(&mut process).map_err(failed)?;
        let (id, (stdout, _)) = (started.id(), started.take_output());
        let mut spawned = Self { process: Arc::new(Mutex::new(started)), directory, socket: PathBuf::new() };
        spawned.socket = spawned.find_socket(id, stdout, command.patience, canceller)?;
        network.move_to(spawned.socket.clone());
        let process = spawned.process.clone();
        Ok((spawned, network.with_process(move || death(&process).is_none())))
    }

    /// Connections to it.
    pub(super) fn network(&self) -> SocketNetwork {
        let process = self.process.clone();
        SocketNetwork::to_socket(self.socket.clone()).with_process(move || death(&process).is_none())
    }

    /// Waits for the first line, or for the socket of a runtime.
    fn find_socket(
        &self,
        id: u32,
        stdout: Option<ChildStdout>,
        patience: Duration,
        canceller: Option<&Canceller>,
    ) -> Result<PathBuf, String> {
        let said = Arc::new(OnceLock::new());
        if let Some(stdout) = stdout {
            let said = said.clone();
            let reads = move || first_line(stdout, &said);
            thread::Builder::new().name("target".to_owned()).spawn(reads).map_err(|error| error.to_string())?;
        }
        let began = Instant::now();
        loop {
            let line: Option<&FirstLine> = said.get();
            if let Some(Err(TooLong)) = line {
                return Err(format!("the first line of the target is longer than {LONGEST_LINE} bytes{}", self.last_words()));
            }
            let named = line.and_then(|line| place(line.as_ref().ok()?, canceller));
            if let Some(path) = named.or_else(|| default_port(self.directory.path(), id)) {
                return Ok(path);
            }
            if let Some(death) = self.death() {
                return Err(format!("the target {death} before it could be reached{}", self.last_words()));
            }
            if canceller.is_some_and(Canceller::is_cancelled) {
                return Err(INTERRUPTED.to_owned());
            }
            if began.elapsed() >= patience {
                let text = "names no endpoint, and has no socket of a default port in TMPDIR";
                return Err(format!("the target {text} after {} s{}", patience.as_secs(), self.last_words()));
            }
            thread::sleep(PAUSE);
        }
    }

    /// The number of the process that was started.
    pub(super) fn process_id(&self) -> u32 {
        self.process.lock().unwrap_or_else(PoisonError::into_inner).id()
    }

    /// Where it listens.
    pub(super) fn socket(&self) -> &Path {
        &self.socket
    }

    /// How the process ended, if it did.
    pub(super) fn death(&self) -> Option<Death> {
        death(&self.process)
    }

    fn last_words(&self) -> String {
        let mut text = Vec::new();
        // What cannot be read says nothing.
        let _ = File::open(self.directory.path().join("stderr")).and_then(|mut file| {
            let begin = file.metadata()?.len().saturating_sub(LAST_WORDS);
            file.seek(SeekFrom::Start(begin))?;
            file.take(LAST_WORDS).read_to_end(&mut text)
        });
        let text = String::from_utf8_lossy(&text).into_owned();
        if text.trim().is_empty() { String::new() } else { format!("; it said: {}", text.trim()) }
    }
}

impl Drop for Spawned {
    fn drop(&mut self) {
        // With what it started itself, such as a `createdump` that does not end. Connections to it may be there longer.
        self.process.lock().unwrap_or_else(PoisonError::into_inner).end();
    }
}

/// A word of a command, which is to mean the same from any directory. A program without a `/` is looked for in `PATH`.
fn from_anywhere(word: &OsStr, is_program: bool) -> OsString {
    let path = Path::new(word);
    let is_searched = is_program && path.components().count() == 1 && !word.as_encoded_bytes().contains(&b'/');
    if path.is_absolute() || is_searched || !path.exists() {
        return word.to_owned();
    }
    std::path::absolute(path).map_or_else(|_| word.to_owned(), PathBuf::into_os_string)
}

/// The network, whose waits `canceller` ends.
pub(super) fn with_canceller(network: SocketNetwork, canceller: Option<&Canceller>) -> SocketNetwork {
    match canceller {
        Some(canceller) => network.with_canceller(canceller.clone()),
        None => network,
    }
}

fn death(process: &Mutex<Started>) -> Option<Death> {
    process.lock().unwrap_or_else(PoisonError::into_inner).death()
}

/// Keeps the first line and reads on, so that the target never waits for a reader.
fn first_line(mut stdout: impl Read, said: &OnceLock<FirstLine>) {
    let (mut line, mut piece) = (Vec::new(), [0; 8192]);
    loop {
        let count = match stdout.read(&mut piece) {
            Ok(count @ 1..) => count,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Ok(0) | Err(_) => break,
        };
        if said.get().is_some() {
            continue;
        }
        let bytes = piece.get(..count).unwrap_or_default();
        let end = bytes.iter().position(|byte| *byte == b'\n');
        line.extend_from_slice(bytes.get(..end.unwrap_or(count)).unwrap_or_default());
        if line.len() > LONGEST_LINE {
            line = Vec::new();
            let _ = said.set(Err(TooLong));
        } else if end.is_some() {
            let _ = said.set(Ok(text(&line)));
        }
    }
    // One that ends with the output and has no newline.
    if !line.is_empty() {
        let _ = said.set(Ok(text(&line)));
    }
}

fn text(line: &[u8]) -> String {
    String::from_utf8_lossy(line).trim().to_owned()
}

/// The socket that a line names.
fn place(line: &str, canceller: Option<&Canceller>) -> Option<PathBuf> {
    if let Ok(id) = line.parse::<u32>() {
        return discovery::endpoint_of(id, &Until { deadline: None, canceller }).ok();
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

#[cfg(test)]
mod tests {
    use rustix::io::Errno;
    use rustix::process::{Pid, test_kill_process};

    use super::*;
    use crate::vectors::script::Life;

    fn shell(script: &str) -> SpawnCommand {
        let arguments = ["-c", script].map(Into::into).to_vec();
        SpawnCommand { program: "sh".into(), arguments, patience: Duration::from_secs(30), ends_with_input: false }
    }

    #[test]
    fn target_without_a_newline_is_refused_and_read_on() {
        // The last of it comes only if the rest is read.
        let script = "head -c 1000000 /dev/zero | tr '\\0' x; echo done >&2; exec sleep 1000";
        let error = Spawned::start(&shell(script), &Target::default(), RunsIn::CurrentDirectory, None).err().unwrap();
        assert!(error.starts_with("the first line of the target is longer than 65536 bytes"), "{error}");
        let said = OnceLock::new();
        first_line(io::repeat(b'x').take(10 << 20), &said);
        assert_eq!(said.get(), Some(&Err(TooLong)));
    }

    #[test]
    fn first_line_is_kept_whatever_its_pieces() {
        for (text, line) in [("/a b\nc\n", Some("/a b")), ("/a", Some("/a")), ("\n/a\n", Some("")), ("", None)] {
            let said = OnceLock::new();
            first_line(text.as_bytes(), &said);
            assert_eq!(said.get(), line.map(|line| Ok(line.to_owned())).as_ref(), "{text:?}");
        }
        let (line, said) = ("x".repeat(LONGEST_LINE), OnceLock::new());
        first_line(line.as_bytes().chain(&b"\nmore\n"[..]), &said);
        assert_eq!(said.get(), Some(&Ok(line)));
    }

    #[test]
    fn target_that_has_died_is_dead_and_its_number_still_its_own() {
        let script = r#"cd "$TMPDIR"; touch s; echo "$PWD/s"; sleep 1000 & while [ -e s ]; do sleep 0.01; done; exit 3"#;
        let (spawned, mut network) = Spawned::start(&shell(script), &Target::default(), RunsIn::CurrentDirectory, None).unwrap();
        assert_eq!(network.life(Life::Alive, Duration::ZERO), Ok(Life::Alive));
        fs::remove_file(&spawned.socket).unwrap();
        let until = network.now().saturating_add(Duration::from_secs(30));
        assert_eq!(network.life(Life::Dead, until), Ok(Life::Dead));
        assert_eq!(spawned.death(), Some(Death::Status(3)));
        let pid = Pid::from_raw(i32::try_from(spawned.process.lock().unwrap().id()).unwrap()).unwrap();
        // Nobody else can have the number as long as the group may be ended by it.
        assert_eq!(test_kill_process(pid), Ok(()));
        let directory = spawned.directory.path().to_owned();
        drop(spawned);
        assert_eq!((test_kill_process(pid), directory.exists()), (Err(Errno::SRCH), false));
        assert_eq!(network.life(Life::Alive, until), Ok(Life::Dead));
    }
}
