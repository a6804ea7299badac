//! The program under test, and the interpreter of the fixtures.

use std::env;
use std::ffi::OsString;
use std::path::Path;
use std::process::Command;
use std::sync::OnceLock;

pub(crate) const DIAGIPC: &str = env!("CARGO_BIN_EXE_diagipc");

/// Makes new files and directories writable for their owner only, whatever the umask of the user:
/// others are rightly not trusted. What the tests start inherits it.
pub(crate) fn set_umask() {
    #[cfg(unix)]
    rustix::process::umask(rustix::fs::Mode::from_raw_mode(0o022));
}

/// A new directory, on Unix below /tmp: a path in TMPDIR may be too long for sockets.
pub(crate) fn directory() -> tempfile::TempDir {
    set_umask();
    let place =
        if cfg!(unix) { Path::new("/tmp").canonicalize().unwrap() } else { env::temp_dir() };
    tempfile::tempdir_in(place).unwrap()
}

/// `diagipc`, with itself and [`python`] on its search path.
pub(crate) fn diagipc() -> Command {
    set_umask();
    let mut command = Command::new(DIAGIPC);
    command.env("PATH", search_path());
    command
}

/// `python3`, also for a user who may not read where the [`interpreter`] is.
#[cfg(unix)]
pub(crate) fn python() -> Command {
    let mut command = Command::new("python3");
    command.env("PATH", search_path());
    command
}

/// The interpreter. With a version manager, `python3` on the search path may be a script that starts
/// dozens of processes each time.
pub(crate) fn interpreter() -> &'static str {
    static PATH: OnceLock<String> = OnceLock::new();
    PATH.get_or_init(|| {
        let output =
            Command::new("python3").args(["-c", "import sys; print(sys.executable)"]).output();
        let said = output.ok().and_then(|output| String::from_utf8(output.stdout).ok());
        let path = said.map(|said| said.trim_end().to_owned()).filter(|path| !path.is_empty());
        path.unwrap_or_else(|| "python3".to_owned())
    })
}

fn search_path() -> &'static OsString {
    static PATH: OnceLock<OsString> = OnceLock::new();
    PATH.get_or_init(|| {
        let own =
            [DIAGIPC, interpreter()].into_iter().filter_map(|program| Path::new(program).parent());
        let own = own.filter(|directory| directory.is_absolute());
        let others = env::var_os("PATH").unwrap_or_default();
        env::join_paths(own.map(Path::to_owned).chain(env::split_paths(&others))).unwrap()
    })
}
