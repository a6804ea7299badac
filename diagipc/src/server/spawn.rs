//! A target that is started for a run, and restarted after its death.

use std::cell::Cell;
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use std::{io, thread};

use dotnet_diagnostics_ipc::io::Canceller;
use dotnet_diagnostics_ipc::port::{DEFAULT_PORT_SUSPEND_VARIABLE, PORTS_VARIABLE};
use dotnet_diagnostics_ipc_vectors::player::Network as _;
use dotnet_diagnostics_ipc_vectors::script::{Target, TargetPort};

use super::recognise::known_version;
use super::request::{Identity, identity_of};
use super::{Death, system};
use crate::network::LiveNetwork;
use crate::network::address::SpawnCommand;
use crate::process::program::{Captured, Keep, Program, TooLong, on_standard_error};
use crate::process::timeouts::Limit;
use crate::process::{OwnDirectory, Started};

/// The time managed code may take to start.
pub(super) const START_TIMEOUT: Duration = Duration::from_secs(20);
/// The interval for looking for a target, and for asking whether it runs.
const POLL_INTERVAL: Duration = Duration::from_millis(20);
const RESTART_INTERVAL: Duration = Duration::from_millis(50);
/// The number of bytes of the target's output kept for an error.
const KEPT_ERRORS: usize = 2000;
/// The variable of .NET for the directory of perf maps, by default `/tmp`.
const PERF_MAP_PATH: &str = "DOTNET_PerfMapJitDumpPath";
/// The error after cancellation, when nothing is started or waited for any more.
pub(super) const INTERRUPTED: &str = "the run was interrupted";
/// The longest first line; a path is shorter.
const MAX_LINE_BYTES: usize = 64 * 1024;

/// The current directory of a started target.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum RunsIn {
    CurrentDirectory,
    /// A new directory for files with relative names, removed at the end.
    OwnDirectory,
}

/// A running target, which ends when this is dropped.
pub(super) struct Spawned {
    process: Arc<Mutex<Started>>,
    errors: Captured,
    directory: OwnDirectory,
    address: PathBuf,
}

impl Spawned {
    /// Starts a target for a script. The network has its ports. `canceller` ends the wait for it.
    pub(super) fn start(
        command: &SpawnCommand,
        target: &Target,
        runs_in: RunsIn,
        canceller: Option<&Canceller>,
    ) -> Result<(Self, LiveNetwork), String> {
        let failed = |error: io::Error| format!("{}: {error}", command.program);
        if canceller.is_some_and(Canceller::is_cancelled) {
            return Err(INTERRUPTED.to_owned());
        }
        let directory = OwnDirectory::new("diagipc-").map_err(failed)?;
        let mut network = LiveNetwork::to(system::port_address(directory.path(), "none"))
            .with_canceller(canceller.cloned());
        let mode = |port: &TargetPort| if port.suspend { "suspend" } else { "nosuspend" };
        let listed = target.ports.iter().map(|port| format!("{{{}}},{}", port.id, mode(port)));
        let mut ports =
            target.spelled.clone().unwrap_or_else(|| listed.collect::<Vec<_>>().join(";"));
        for port in &target.ports {
            let address = system::port_address(directory.path(), &port.id);
            ports = ports.replace(&format!("{{{}}}", port.id), &address.display().to_string());
            network = network.with_port(&port.id, address);
            if port.listening {
                network.listen(&port.id, true).map_err(|trouble| trouble.to_string())?;
            }
        }
        let mut process = runs_in.command(&command.program, directory.path());
        if !ports.is_empty() {
            process.env(PORTS_VARIABLE, ports);
        }
        if target.suspended {
            process.env(DEFAULT_PORT_SUSPEND_VARIABLE, "1");
        }
        for (name, value) in &target.environment {
            let value = system::variable(value).ok_or_else(|| {
                format!("{name}: a variable of this system cannot hold these bytes")
            })?;
            process.env(name, value);
        }
        let mut started = Started::start(&mut process).map_err(failed)?;
        let (id, (stdout, stderr)) = (started.id(), started.take_output());
        system::without_core_file(id);
        let mut spawned = Self {
            process: Arc::new(Mutex::new(started)),
            errors: Captured::start(stderr, Keep::Last(KEPT_ERRORS)),
            directory,
            address: PathBuf::new(),
        };
        let lookout = Lookout {
            directory: spawned.directory.path().to_owned(),
            id,
            output: Captured::start(stdout, Keep::First(MAX_LINE_BYTES + 1)),
            canceller: canceller.cloned(),
        };
        if target.default_port {
            spawned.address = spawned.find(&lookout, command.patience, canceller)?;
            network.move_to(spawned.address.clone());
        } else {
            network = network
                .with_socket_found_by(move || lookout.find().is_ok_and(|found| found.is_some()));
        }
        if matches!(runs_in, RunsIn::OwnDirectory) {
            network = network.with_directory(spawned.directory.path());
        }
        let process = spawned.process.clone();
        let network =
            network.with_signals_to(system::named_process(&spawned.address).unwrap_or(id));
        Ok((spawned, network.with_process(move || death(&process).is_none())))
    }

    pub(super) fn network(&self) -> LiveNetwork {
        let process = self.process.clone();
        LiveNetwork::to(&self.address).with_process(move || death(&process).is_none())
    }

    /// Waits for the first line, or for the default port of a runtime.
    fn find(
        &self,
        lookout: &Lookout,
        patience: Duration,
        canceller: Option<&Canceller>,
    ) -> Result<PathBuf, String> {
        let limit = Limit::new(patience);
        let reason = loop {
            match lookout.find() {
                Ok(Some(address)) => return Ok(address),
                Ok(None) => {}
                Err(TooLong) => {
                    break format!(
                        "the first line of the target is longer than {MAX_LINE_BYTES} bytes"
                    );
                }
            }
            if let Some(death) = self.death() {
                break format!(
                    "the target {death} before it could be reached (each start needs an endpoint of its own, such as a socket in its TMPDIR)"
                );
            }
            if canceller.is_some_and(Canceller::is_cancelled) {
                return Err(INTERRUPTED.to_owned());
            }
            if limit.is_over() {
                let seconds = patience.as_secs();
                let line = lookout.output.first_line().and_then(Result::ok);
                let line = line.map_or_else(String::new, |line| {
                    format!("; its first line {line:?} is {}", system::NO_ADDRESS)
                });
                break format!("the target {} after {seconds} s{line}", system::NO_ENDPOINT);
            }
            thread::sleep(POLL_INTERVAL);
        };
        Err(format!("{reason}{}", self.last_words()))
    }

    /// Returns the end of the target's standard error to follow how it ended, or an empty text.
    pub(super) fn last_words(&self) -> String {
        let is_over = self.death().is_some();
        let errors = if is_over { self.errors.whole() } else { self.errors.so_far() };
        on_standard_error(&errors)
    }

    /// Returns the directory of the target, which is removed in the end.
    pub(super) fn directory(&self) -> &Path {
        self.directory.path()
    }

    pub(super) fn process_id(&self) -> u32 {
        self.process.lock().unwrap_or_else(PoisonError::into_inner).id()
    }

    pub(super) fn address(&self) -> &Path {
        &self.address
    }

    /// Returns how the process ended, if it did.
    pub(super) fn death(&self) -> Option<Death> {
        death(&self.process)
    }
}

impl Drop for Spawned {
    fn drop(&mut self) {
        // Also ends its children, such as a hanging `createdump`. Connections to it may last
        // longer.
        self.process.lock().unwrap_or_else(PoisonError::into_inner).end();
    }
}

/// Looks for the endpoint of a target in its first line, or as the default port of a runtime.
struct Lookout {
    directory: PathBuf,
    id: u32,
    output: Captured,
    canceller: Option<Canceller>,
}

impl Lookout {
    fn find(&self) -> Result<Option<PathBuf>, TooLong> {
        let line = self.output.first_line().transpose()?;
        let named = line.and_then(|line| system::named(&line, self.canceller.as_ref()));
        Ok(named.or_else(|| system::default_port(&self.directory, self.id)))
    }
}

impl RunsIn {
    /// Returns the command for a target with this directory.
    fn command(self, program: &Program, directory: &Path) -> Command {
        let mut command = match self {
            Self::CurrentDirectory => program.command(),
            Self::OwnDirectory => {
                let words = program.arguments.iter().map(|word| from_anywhere(word, false));
                let mut command = Program::new(from_anywhere(&program.path, true), words).command();
                command.current_dir(directory);
                command
            }
        };
        // What the target writes is removed with its directory. Without the trailing separator,
        // createdump would put a dump without a name beside the directory.
        let with_separator = directory.join("");
        let variables = system::DIRECTORY_VARIABLES.iter().copied().chain([PERF_MAP_PATH]);
        command.envs(variables.map(|name| (name, &with_separator)));
        // The variables of this program are not passed to the target.
        command.env_remove(PORTS_VARIABLE).env_remove(DEFAULT_PORT_SUSPEND_VARIABLE);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    }
}

/// Makes a word of a command independent of the directory. A bare program is looked up in `PATH`.
fn from_anywhere(word: &OsStr, is_program: bool) -> OsString {
    let path = Path::new(word);
    let is_searched =
        is_program && path.components().count() == 1 && !word.as_encoded_bytes().contains(&b'/');
    if path.is_absolute() || is_searched || !path.exists() {
        return word.to_owned();
    }
    std::path::absolute(path).map_or_else(|_| word.to_owned(), std::path::PathBuf::into_os_string)
}

fn death(process: &Mutex<Started>) -> Option<Death> {
    process.lock().unwrap_or_else(PoisonError::into_inner).death()
}

/// Whether a target may have been asked to wait at its start.
pub(super) fn is_suspended(target: &Target) -> bool {
    let is_told = |name: &&str| target.environment.contains_key(*name);
    target.suspended
        || [PORTS_VARIABLE, DEFAULT_PORT_SUSPEND_VARIABLE].iter().any(is_told)
        || target.ports.iter().any(|port| port.suspend)
}

/// Waits until managed code runs, as scripts expect of a target that is not suspended. When .NET
/// reports its assembly, it is given time to become idle; so is a target that cannot be asked. A
/// target that is not .NET is ready once its endpoint exists.
///
/// Sets `is_nameless` if the time ended or the target cannot be asked, so that other targets of the
/// command are not waited for.
pub(super) fn until_it_runs(
    network: &mut LiveNetwork,
    within: Duration,
    settled: Duration,
    is_nameless: &Cell<bool>,
) -> Result<(), String> {
    let limit = Limit::new(START_TIMEOUT);
    let pause = |network: &mut LiveNetwork, time| {
        let until = network.now().saturating_add(time);
        network.wait(until).map_err(|trouble| trouble.to_string())
    };
    while !is_nameless.get() {
        match identity_of(network, within).map_err(|trouble| trouble.to_string())? {
            Some(Identity { version, .. }) if known_version(&version).is_none() => return Ok(()),
            Some(Identity { runs: false, .. }) => is_nameless.set(limit.is_over()),
            Some(Identity { runs: true, .. }) => break,
            None => is_nameless.set(true),
        }
        if !is_nameless.get() {
            pause(network, RESTART_INTERVAL)?;
        }
    }
    pause(network, settled)
}

#[cfg(all(test, unix))]
mod tests {
    use std::fs;

    use dotnet_diagnostics_ipc_vectors::script::Life;
    use rustix::io::Errno;
    use rustix::process::{Pid, test_kill_process};

    use super::*;

    fn shell(script: &str) -> SpawnCommand {
        let program = Program::new("sh", ["-c", script]);
        let (patience, settles) = (Duration::from_secs(30), Duration::ZERO);
        SpawnCommand { program, patience, settles }
    }

    /// The output of a target is not kept on disk, and the end of it is in the error. That end
    /// arrives only if everything before it is read.
    #[test]
    fn output_of_any_length_is_drained_and_not_kept() {
        let fills =
            r#"yes 0123456789 | head -c 20000000 >&2; echo >&2; du -k "$TMPDIR" >&2; exit 3"#;
        let endless = "head -c 1000000 /dev/zero | tr '\\0' x; echo done >&2; exec sleep 1000";
        let [filled, endless] = [fills, endless].map(|script| {
            Spawned::start(&shell(script), &Target::default(), RunsIn::CurrentDirectory, None)
                .err()
                .unwrap()
        });
        let last = filled.lines().last().unwrap();
        let kilobytes: u32 = last.split_whitespace().next().unwrap().parse().unwrap();
        assert!(kilobytes < 1000 && filled.len() < 3000, "{filled}");
        let text = "the first line of the target is longer than 65536 bytes";
        assert!(endless.starts_with(text), "{endless}");
    }

    #[test]
    fn target_with_other_first_line_is_named_with_it() {
        let mut command = shell("echo 'listening on s'; exec sleep 1000");
        command.patience = Duration::from_secs(1);
        let refused =
            Spawned::start(&command, &Target::default(), RunsIn::CurrentDirectory, None).err();
        let text = "prints no endpoint, and has no default-port socket in TMPDIR after 1 s; its \
                    first line \"listening on s\" is neither the absolute path of a socket that exists nor a process id";
        assert!(refused.as_ref().is_some_and(|refused| refused.contains(text)), "{refused:?}");
    }

    #[test]
    fn target_dead_keeps_its_process_id() {
        let script = r#"cd "$TMPDIR"; touch s; echo "$PWD/s"; sleep 1000 & while [ -e s ]; do sleep 0.01; done; exit 3"#;
        let (spawned, mut network) =
            Spawned::start(&shell(script), &Target::default(), RunsIn::CurrentDirectory, None)
                .unwrap();
        assert_eq!(network.life(Life::Alive, Duration::ZERO), Ok(Life::Alive));
        fs::remove_file(&spawned.address).unwrap();
        let until = network.now().saturating_add(Duration::from_secs(30));
        assert_eq!(network.life(Life::Dead, until), Ok(Life::Dead));
        assert_eq!(spawned.death(), Some(Death::Status(3)));
        let pid =
            Pid::from_raw(i32::try_from(spawned.process.lock().unwrap().id()).unwrap()).unwrap();
        // The id cannot be reused while its group may be ended by it.
        assert_eq!(test_kill_process(pid), Ok(()));
        let directory = spawned.directory.path().to_owned();
        drop(spawned);
        assert_eq!((test_kill_process(pid), directory.exists()), (Err(Errno::SRCH), false));
        assert_eq!(network.life(Life::Alive, until), Ok(Life::Dead));
    }
}
