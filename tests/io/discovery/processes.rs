//! Which sockets are found, and their processes.

use super::*;

use std::os::unix::net::UnixDatagram;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use dotnet_diagnostics_ipc::endpoint::{NamePrefix, ProcessStat, SUN_PATH_LINUX, SocketName};
use dotnet_diagnostics_ipc::io::discovery::{
    DiscoveredEndpoint, Discovery, EndpointState, endpoint_of, processes,
};
use dotnet_diagnostics_ipc::io::{Canceller, Connect as _, Endpoint, WaitLimit};

/// Ends with its guard.
pub(crate) struct Process(pub(crate) Child);

impl Process {
    pub(crate) fn start(command: &mut Command) -> Self {
        Self(command.stdin(Stdio::piped()).spawn().unwrap())
    }

    /// A process that is not a runtime, with this TMPDIR.
    pub(crate) fn idle(tmpdir: &Path) -> Self {
        let process = Self::start(Command::new("cat").env("TMPDIR", tmpdir).stdout(Stdio::null()));
        process.is_there("cat");
        process
    }

    /// A process that listens like a runtime: this test again.
    pub(crate) fn listener(tmpdir: &Path) -> Self {
        Self::listening(&mut listener(tmpdir), tmpdir)
    }

    pub(crate) fn listening(command: &mut Command, directory: &Path) -> Self {
        let before = count(directory);
        let process = Self::start(command);
        await_that(|| count(directory) > before);
        process
    }

    /// Waits until the program runs, not a copy of this one.
    pub(crate) fn is_there(&self, name: &str) {
        await_program(self.id(), name);
    }

    pub(crate) fn id(&self) -> u32 {
        self.0.id()
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Waits until a process is this program. It has the program's name a moment before it has its
/// environment.
pub(crate) fn await_program(process_id: u32, name: &str) {
    await_that(|| {
        fs::read_to_string(format!("/proc/{process_id}/comm")).is_ok_and(|comm| comm.trim() == name)
    });
    await_that(|| {
        fs::read(format!("/proc/{process_id}/environ"))
            .is_ok_and(|environment| !environment.is_empty())
    });
}

pub(crate) fn count(directory: &Path) -> usize {
    fs::read_dir(directory)
        .unwrap()
        .filter(|entry| entry.as_ref().unwrap().file_name().to_string_lossy().ends_with(".ready"))
        .count()
}

#[track_caller]
pub(crate) fn await_that(mut what: impl FnMut() -> bool) {
    let end = Instant::now() + Duration::from_secs(60);
    while !what() {
        assert!(Instant::now() < end, "it did not come in 60 s");
        std::thread::sleep(Duration::from_millis(5));
    }
}

pub(crate) fn listener(tmpdir: &Path) -> Command {
    listener_of(&std::env::current_exe().unwrap(), tmpdir)
}

pub(crate) fn listener_of(program: &Path, tmpdir: &Path) -> Command {
    let mut command = Command::new(program);
    command
        .args(["--exact", "discovery::processes::helper_listens_as_runtime", "--ignored"])
        .env("TMPDIR", tmpdir)
        .stdout(Stdio::null());
    command
}

/// Not a test: what [`Process::listener`] starts. It listens under its own name, or under `NAME`, with
/// `DEVICE` as a key also as dotnet-dsrouter does for its device, and ends with its standard input.
#[test]
#[ignore = "started by other tests"]
fn helper_listens_as_runtime() {
    let stat = ProcessStat::parse(&fs::read("/proc/self/stat").unwrap()).unwrap();
    let own = SocketName::new(stat.pid, stat.start_time).to_string();
    let name = std::env::var("NAME").unwrap_or(own);
    let path = Path::new(&std::env::var_os("TMPDIR").unwrap()).join(&name);
    let _listener = UnixListener::bind(&path).unwrap();
    let device = std::env::var("DEVICE").ok().map(|key| key.parse().unwrap());
    let device = device.map(|key| device_of(path.parent().unwrap(), stat.pid, key));
    let _device = device.map(|path| UnixListener::bind(path).unwrap());
    fs::write(path.with_extension("ready"), "").unwrap();
    let _ = io::stdin().read_line(&mut String::new());
}

pub(crate) fn key_of(process_id: u32) -> u64 {
    ProcessStat::parse(&fs::read(format!("/proc/{process_id}/stat")).unwrap()).unwrap().start_time
}

pub(crate) fn path_of(directory: &Path, process_id: u32, key: u64) -> PathBuf {
    directory.join(SocketName::new(process_id, key).to_string())
}

/// The socket of the device behind a router.
fn device_of(directory: &Path, process_id: u32, key: u64) -> PathBuf {
    let prefix = NamePrefix::Router;
    directory.join(SocketName { prefix, ..SocketName::new(process_id, key) }.to_string())
}

pub(crate) fn of_directory(seen: Discovery, directory: &Path) -> Vec<DiscoveredEndpoint> {
    seen.found.into_iter().filter(|found| found.endpoint.parent() == Some(directory)).collect()
}

/// The only endpoint in a directory.
#[track_caller]
fn only(directory: &Path) -> DiscoveredEndpoint {
    let mut found = of_directory(processes().unwrap(), directory);
    assert_eq!(found.len(), 1, "{found:?}");
    found.remove(0)
}

pub(crate) fn find(process_id: u32) -> Result<PathBuf, Error> {
    endpoint_of(process_id, &WaitLimit::FOREVER)
}

#[track_caller]
pub(crate) fn not_found(process_id: u32) -> String {
    let error = find(process_id).unwrap_err();
    assert_error!(error, Find, ErrorKind::NotFound(_) | ErrorKind::NoSocket(_));
    error.to_string()
}

#[test]
fn discovery_finds_process_by_its_tmpdir() {
    let home = directory();
    let process = Process::listener(home.path());
    let path = path_of(home.path(), process.id(), key_of(process.id()));
    assert_eq!(find(process.id()).unwrap(), path);
    let found = only(home.path());
    let key = key_of(process.id());
    let ids = (found.process_id, found.id_in_name, found.key);
    assert_eq!(ids, (Some(process.id()), process.id(), Some(key)));
    let state = (found.endpoint, found.state, found.prefix);
    assert_eq!(state, (path.clone(), EndpointState::Listening, NamePrefix::Current));
    trusted(&path, TrustPolicy::CHECKED);
    let stream = UnixStream::connect(&path).unwrap();
    check_peer(&stream, TrustPolicy::CHECKED, Some(process.id())).unwrap();
    assert!(check_peer(&stream, TrustPolicy::CHECKED, Some(std::process::id())).is_err());
}

#[test]
fn discovery_socket_without_process_is_stale() {
    let home = directory();
    // Some process must have this TMPDIR, or it is not searched.
    let other = Process::idle(home.path());
    let mut process = Process::listener(home.path());
    let (id, path) = (process.id(), find(process.id()).unwrap());
    process.0.kill().unwrap();
    process.0.wait().unwrap();
    let found = only(home.path());
    let state = (found.process_id, found.id_in_name, found.state);
    assert_eq!(state, (None, id, EndpointState::Stale));
    assert!(found.endpoint == path && found.is_stale());
    assert_eq!(not_found(id), format!("process {id} was not found (looking for the endpoint)"));
    drop(other);
}

#[test]
fn discovery_closed_listener_is_stale() {
    // As after `exec`: the same id, the same start, and no listener.
    let home = directory();
    let process = Process::idle(home.path());
    let path = path_of(home.path(), process.id(), key_of(process.id()));
    crate::leave_stale(&path);
    let found = only(home.path());
    assert_eq!((found.process_id, found.state), (Some(process.id()), EndpointState::Stale));
    let text = not_found(process.id());
    assert!(
        text.contains(&format!(": it does not listen at {} (looking", path.display())),
        "{text}"
    );
}

/// Its id is in the name, but another process answers.
#[test]
fn discovery_listener_of_other_process_is_rejected() {
    let home = directory();
    let process = Process::idle(home.path());
    let path = path_of(home.path(), process.id(), key_of(process.id()) + 1);
    let _ours = UnixListener::bind(&path).unwrap();
    let said = not_found(process.id());
    assert!(said.contains(&path.display().to_string()), "{said}");
}

#[test]
fn discovery_matching_key_beats_newer_socket() {
    let home = directory();
    let process = Process::listener(home.path());
    let (id, key) = (process.id(), key_of(process.id()));
    crate::leave_stale(path_of(home.path(), id, key - 1));
    // Another process listens at a name that claims to be newer.
    let claimed = path_of(home.path(), id, key + 1_000_000);
    let _claims = UnixListener::bind(&claimed).unwrap();
    assert_eq!(find(id).unwrap(), path_of(home.path(), id, key));
    let found = of_directory(processes().unwrap(), home.path());
    let state = |key| {
        found
            .iter()
            .find(|found| found.key == Some(key))
            .map(|found| (found.process_id, found.state))
    };
    assert_eq!(state(key), Some((Some(id), EndpointState::Listening)));
    assert_eq!(state(key - 1), Some((None, EndpointState::Stale)));
    // The socket is ours, by the kernel's information.
    assert_eq!(state(key + 1_000_000), Some((Some(std::process::id()), EndpointState::Listening)));
}

#[test]
fn discovery_two_listeners_older_is_superseded() {
    let home = directory();
    let _somebody = Process::idle(home.path());
    let us = std::process::id();
    let (older, newer) = (path_of(home.path(), us, 7), path_of(home.path(), us, 8));
    let _listeners = (UnixListener::bind(&older).unwrap(), UnixListener::bind(&newer).unwrap());
    let found = of_directory(processes().unwrap(), home.path());
    let state = |path| found.iter().find(|found| found.endpoint == path).unwrap().state;
    assert_eq!((state(older), state(newer)), (EndpointState::Superseded, EndpointState::Listening));
}

/// F-162. The key of the second socket is of another unit.
#[test]
fn endpoint_of_router_is_its_device_unless_that_is_older() {
    use rustix::fs::{AtFlags, CWD, Timespec, Timestamps, utimensat};

    let home = directory();
    let process =
        Process::listening(listener(home.path()).env("DEVICE", "1747000000"), home.path());
    let id = process.id();
    let own = path_of(home.path(), id, key_of(id));
    let device = device_of(home.path(), id, 1_747_000_000);
    let changed = |path, tv_sec| {
        let at = Timespec { tv_sec, tv_nsec: 0 };
        let times = Timestamps { last_access: at, last_modification: at };
        utimensat(CWD, path, &times, AtFlags::empty()).unwrap();
    };
    changed(&own, 2_000);
    for (seconds, expected) in [(2_001, &device), (2_000, &device), (1_999, &own)] {
        changed(&device, seconds);
        assert_eq!(&find(id).unwrap(), expected, "{seconds}");
        drop(Endpoint::process(id).connect(&WaitLimit::FOREVER).unwrap());
    }
    let mut found = of_directory(processes().unwrap(), home.path());
    found.sort_by_key(|found| found.endpoint == device);
    let found: Vec<_> = found.iter().map(|it| (it.process_id, it.state, &it.endpoint)).collect();
    let listening = |path| (Some(id), EndpointState::Listening, path);
    assert_eq!(found, [listening(&own), listening(&device)]);
}

/// The name of the draft, for the same socket: the current one counts.
#[test]
fn discovery_current_name_beats_that_of_the_draft() {
    let home = directory();
    let process = Process::listener(home.path());
    let (id, key) = (process.id(), key_of(process.id()));
    let current = path_of(home.path(), id, key);
    let draft = home.path().join(format!("dotnetcore-diagnostic-{id}-{key}-socket"));
    fs::hard_link(&current, &draft).unwrap();
    assert_eq!(find(id).unwrap(), current);
    let found = of_directory(processes().unwrap(), home.path());
    let state = |path| found.iter().find(|found| found.endpoint == path).unwrap().state;
    assert_eq!(
        (state(current), state(draft)),
        (EndpointState::Listening, EndpointState::Superseded)
    );
}

#[test]
fn endpoint_of_process_is_found_again_after_its_socket_moved() {
    let home = directory();
    let process = Process::listener(home.path());
    let (id, key) = (process.id(), key_of(process.id()));
    let endpoint = Endpoint::process(id);
    drop(endpoint.connect(&WaitLimit::FOREVER).unwrap());
    let moved = home.path().join(format!("dotnetcore-diagnostic-{id}-{key}-socket"));
    fs::rename(path_of(home.path(), id, key), moved).unwrap();
    drop(endpoint.connect(&WaitLimit::FOREVER).unwrap());
}

#[test]
fn discovery_full_backlog_is_listening() {
    let home = directory();
    let _somebody = Process::idle(home.path());
    let path = path_of(home.path(), std::process::id(), 7);
    let listener = UnixListener::bind(&path).unwrap();
    rustix::net::listen(&listener, 0).unwrap();
    let _waiting = UnixStream::connect(&path).unwrap();
    assert_eq!(only(home.path()).state, EndpointState::Listening);
}

/// Returns the part of the error that says why.
fn reason(process: &Process, directory: &Path) -> String {
    let text = not_found(process.id());
    let place =
        format!("process {} has no diagnostic socket in {}: ", process.id(), directory.display());
    let reason = text.strip_prefix(&place).unwrap_or_else(|| panic!("{text}"));
    reason.strip_suffix(" (looking for the endpoint)").unwrap().to_owned()
}

#[test]
fn discovery_says_that_the_environment_turns_diagnostics_off() {
    let home = directory();
    for (name, value, is_off) in [
        ("DOTNET_EnableDiagnostics", "0", true),
        ("COMPlus_EnableDiagnostics", "00", true),
        ("DOTNET_EnableDiagnostics_IPC", "0", true),
        ("DOTNET_EnableDiagnostics", "1", false),
        ("DOTNET_EnableDiagnostics", "0x0", false),
    ] {
        let mut command = Command::new("cat");
        let command = command.env("TMPDIR", home.path()).env(name, value).stdout(Stdio::null());
        let process = Process::start(command);
        process.is_there("cat");
        let off = format!("{name}={value} in its environment turns diagnostics off");
        assert_eq!(reason(&process, home.path()) == off, is_off, "{name}={value}");
    }
}

#[test]
fn discovery_says_that_the_socket_was_deleted() {
    let home = directory();
    let process = Process::listener(home.path());
    let path = find(process.id()).unwrap();
    fs::remove_file(&path).unwrap();
    let deleted =
        format!("it listens, but its socket {} was deleted: start it again", path.display());
    assert_eq!(reason(&process, home.path()), deleted);
}

/// F-161: a runtime whose TMPDIR is long listens at the first 107 bytes of the path.
#[test]
fn discovery_finds_a_socket_whose_path_was_cut() {
    let home = directory();
    let name = "dotnet-diagnost";
    let room = SUN_PATH_LINUX - "/".len() - name.len();
    let padding = room - home.path().as_os_str().len() - "/".len();
    let tmpdir = home.path().join("x".repeat(padding));
    fs::create_dir(&tmpdir).unwrap();
    let cut = tmpdir.join(name);
    let first = Process::listening(listener(&tmpdir).env("NAME", name), &tmpdir);
    assert_eq!(find(first.id()).unwrap(), cut);
    // The name is already in use.
    let second = Process::idle(&tmpdir);
    let text = format!(
        "its TMPDIR is too long: a socket's path has at most 107 bytes, and it does not listen at {} (F-161)",
        cut.display()
    );
    assert_eq!(reason(&second, &tmpdir), text);
}

#[test]
fn discovery_process_id_prefix_is_not_a_match() {
    let home = directory();
    let process = Process::idle(home.path());
    let longer = process.id() * 10 + 3;
    let _listener = UnixListener::bind(path_of(home.path(), longer, key_of(process.id()))).unwrap();
    let text = not_found(process.id());
    assert!(
        text.contains(&format!(
            "process {} has no diagnostic socket in {}: it is not a .NET process: no runtime is loaded",
            process.id(),
            home.path().display()
        )),
        "{text}"
    );
    assert_eq!(only(home.path()).id_in_name, longer);
}

#[test]
fn discovery_draft_name_and_zero_key() {
    let home = directory();
    let process = Process::idle(home.path());
    let path = home.path().join(format!("dotnetcore-diagnostic-{}-0-socket", process.id()));
    crate::leave_stale(&path);
    let found = only(home.path());
    assert_eq!((found.process_id, found.prefix), (Some(process.id()), NamePrefix::Draft));
    assert_eq!((found.key, found.state), (Some(0), EndpointState::Stale));
    // Listed as listening in the network namespace of that process, which is ours.
    fs::remove_file(&path).unwrap();
    let _listener = UnixListener::bind(&path).unwrap();
    assert_eq!(only(home.path()).state, EndpointState::Listening);
    assert_eq!(find(process.id()).unwrap(), path);
}

#[test]
fn discovery_ignores_other_files() {
    let home = directory();
    let _somebody = Process::idle(home.path());
    let at = |name: &str| home.path().join(name);
    fs::write(at("dotnet-diagnostic-1-1-socket"), "").unwrap();
    fs::create_dir(at("dotnet-diagnostic-1-2-socket")).unwrap();
    symlink("dotnet-diagnostic-1-1-socket", at("dotnet-diagnostic-1-3-socket")).unwrap();
    for name in [
        "clr-debug-pipe-1-1-in",
        "dotnet-diagnostic-1-4",
        "dotnet-diagnostic-1-5-sock",
        "dotnet-diagnostic-01-6-socket",
        "x",
    ] {
        crate::leave_stale(at(name));
    }
    assert_eq!(of_directory(processes().unwrap(), home.path()), []);
    // A socket of another type: not a listener like a runtime's.
    let _datagrams = UnixDatagram::bind(at("dotnet-diagnostic-1-7-socket")).unwrap();
    assert_eq!(only(home.path()).state, EndpointState::Stale);
}

/// Whether an older process of this id has left a socket in `/tmp`.
fn is_in_tmp(process_id: u32) -> bool {
    let prefix = format!("dotnet-diagnostic-{process_id}-");
    let mut files = fs::read_dir("/tmp").unwrap().map(|file| file.unwrap().file_name());
    files.any(|name| name.to_string_lossy().starts_with(&prefix))
}

#[test]
fn discovery_missing_directory_is_empty() {
    let home = directory();
    let none = home.path().join("none");
    let process = Process::idle(&none);
    let text = not_found(process.id());
    let searched = format!("has no diagnostic socket in {0}: {0} does not exist", none.display());
    assert!(text.contains(&searched), "{text}");
    // An empty value counts as unset.
    let process = (0..10).map(|_| Process::idle(Path::new(""))).find(|one| !is_in_tmp(one.id()));
    let text = not_found(process.unwrap().id());
    assert!(text.contains("in /tmp: it is not a .NET process"), "{text}");
}

#[test]
fn discovery_tmpdir_file_is_reported() {
    let home = directory();
    let (file, below) = (home.path().join("file"), home.path().join("file/below"));
    fs::write(&file, "").unwrap();
    let (first, second) = (Process::idle(&file), Process::idle(&below));
    let listener = Process::listener(home.path());
    let seen = processes().unwrap();
    for (process, path) in [(&first, &file), (&second, &below)] {
        let unseen: Vec<_> =
            seen.unseen.iter().filter(|unseen| unseen.process_id == Some(process.id())).collect();
        assert_eq!(unseen.len(), 1, "{:?}", seen.unseen);
        assert_eq!((&unseen[0].path, unseen[0].why), (path, io::ErrorKind::NotADirectory));
        let text = not_found(process.id());
        assert!(
            text.contains(&format!("{} is not a directory", path.display()))
                || text.contains(&format!("{} is below a file", path.display())),
            "{text}"
        );
    }
    assert_eq!(of_directory(seen, home.path())[0].process_id, Some(listener.id()));
}

#[test]
fn discovery_relative_tmpdir_uses_process_cwd() {
    let home = directory();
    fs::create_dir(home.path().join("sub")).unwrap();
    let process = Process::listening(
        listener(Path::new("sub")).current_dir(home.path()),
        &home.path().join("sub"),
    );
    let path = path_of(&home.path().join("sub"), process.id(), key_of(process.id()));
    assert_eq!(find(process.id()).unwrap(), path);
}

#[test]
fn discovery_zombie_and_deadline_are_reported() {
    let mut zombie = Process(Command::new("true").spawn().unwrap());
    await_that(|| {
        fs::read_to_string(format!("/proc/{}/stat", zombie.id())).unwrap().contains(") Z ")
    });
    not_found(zombie.id());
    zombie.0.wait().unwrap();
    let canceller = Canceller::new().unwrap();
    canceller.cancel();
    let error = endpoint_of(1, &WaitLimit { canceller: Some(&canceller), ..WaitLimit::FOREVER })
        .unwrap_err();
    assert_error!(error, Find, ErrorKind::Cancelled);
    let error = endpoint_of(1, &WaitLimit { deadline: Some(Instant::now()), ..WaitLimit::FOREVER })
        .unwrap_err();
    assert!(matches!(error.kind(), ErrorKind::TimedOut), "{error}");
}

#[test]
fn discovery_stopped_process_is_found() {
    let home = directory();
    let process = Process::listener(home.path());
    let pid = rustix::process::Pid::from_raw(i32::try_from(process.id()).unwrap()).unwrap();
    rustix::process::kill_process(pid, rustix::process::Signal::STOP).unwrap();
    assert!(find(process.id()).is_ok());
    assert_eq!(only(home.path()).state, EndpointState::Listening);
}
