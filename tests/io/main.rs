//! The adapters over real sockets and pipes: clients, servers, diagnostic ports, discovery, and
//! peers that misbehave.

/// Asserts the phase and the kind of an error.
macro_rules! assert_error {
    ($error:expr, $phase:ident, $kind:pat) => {{
        let error = &$error;
        let is_phase = error.phase() == dotnet_diagnostics_ipc::io::Phase::$phase;
        assert!(is_phase && matches!(error.kind(), $kind), "{error:?}");
    }};
}

mod auto_traits;
#[cfg(target_os = "linux")]
mod bad_peers;
#[cfg(unix)]
mod client;
#[cfg(target_os = "linux")]
mod closed_peer;
#[cfg(unix)]
mod discovery;
mod port_listener;
#[cfg(unix)]
mod server;
mod tcp;
#[cfg(all(unix, feature = "tokio"))]
mod tokio;
#[cfg(windows)]
mod windows;

/// A directory that trust allows. It is not below TMPDIR, which may be shared, or too long for
/// sockets. The umask decides the modes of new directories, and is not the user's here.
#[cfg(unix)]
fn directory() -> tempfile::TempDir {
    rustix::process::umask(rustix::fs::Mode::from_raw_mode(0o022));
    let tmp = std::fs::canonicalize("/tmp").unwrap();
    tempfile::Builder::new().prefix("io-").tempdir_in(tmp).unwrap()
}

/// Runs `test` in a separate process, because it changes or measures something of the whole
/// process: the limit of descriptors, memory, threads. Returns whether this is that process: the
/// test continues only there.
#[cfg(unix)]
#[track_caller]
fn alone<T: Fn()>(test: T) -> bool {
    alone_with(test, |command| command)
}

/// The name of the variable that is set in such a process.
#[cfg(unix)]
const INSIDE: &str = "DIAG_TEST_ALONE";

#[cfg(unix)]
fn is_alone() -> bool {
    std::env::var_os(INSIDE).is_some()
}

/// Returns the same in a process that is started differently.
#[cfg(unix)]
#[track_caller]
fn alone_with<T: Fn()>(
    _test: T,
    change: impl FnOnce(&mut std::process::Command) -> &mut std::process::Command,
) -> bool {
    if is_alone() {
        return true;
    }
    let (_, name) = std::any::type_name::<T>().split_once("::").unwrap();
    let mut command = std::process::Command::new(std::env::current_exe().unwrap());
    let output =
        change(command.args(["--exact", "--nocapture", name]).env(INSIDE, "1")).output().unwrap();
    let (said, complaints) =
        (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success() && said.contains("1 passed"), "{said}{complaints}");
    false
}

/// Leaves a socket file without a listener.
#[cfg(unix)]
fn leave_stale(path: impl AsRef<std::path::Path>) {
    drop(std::os::unix::net::UnixListener::bind(&path).unwrap());
    until_nobody_listens(path);
}

/// A process that another test starts holds a listener that was dropped here until its `exec`.
#[cfg(unix)]
fn until_nobody_listens(path: impl AsRef<std::path::Path>) {
    for _ in 0..1000 {
        if std::os::unix::net::UnixStream::connect(&path).is_err() {
            return;
        }
        std::thread::sleep(std::time::Duration::from_millis(10));
    }
    panic!("somebody listens at {}", path.as_ref().display());
}
