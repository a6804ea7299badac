//! The adapters over real sockets and pipes: clients, servers, diagnostic ports, discovery, and peers that misbehave.

mod auto_traits;
#[cfg(target_os = "linux")]
mod bad_peers;
#[cfg(unix)]
mod client;
#[cfg(unix)]
mod discovery;
#[cfg(unix)]
mod live_runtime;
#[cfg(unix)]
mod port_listener;
#[cfg(unix)]
mod server;
#[cfg(feature = "tokio")]
mod tokio;
#[cfg(windows)]
mod windows;

/// Runs `test` in a process of its own, for it changes or measures what a process has one of: the limit of descriptors, memory, threads.
/// Whether this is that process: the test goes on in there alone.
#[cfg(unix)]
#[track_caller]
fn alone<T: Fn()>(_test: T) -> bool {
    const INSIDE: &str = "DIAG_TEST_ALONE";
    if std::env::var_os(INSIDE).is_some() {
        return true;
    }
    let (_, name) = std::any::type_name::<T>().split_once("::").unwrap();
    let mut command = std::process::Command::new(std::env::current_exe().unwrap());
    let output = command.args(["--exact", "--nocapture", name]).env(INSIDE, "1").output().unwrap();
    let (said, complaints) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success() && said.contains("1 passed"), "{said}{complaints}");
    false
}
