//! The program under test, and the interpreter of the fixtures.

use std::env;
use std::ffi::OsString;
use std::path::Path;
use std::process::Command;
use std::sync::OnceLock;

use crate::thorough;

pub(crate) const DIAGIPC: &str = env!("CARGO_BIN_EXE_diagipc");

/// `diagipc`, with itself and [`python`] on its search path.
pub(crate) fn diagipc() -> Command {
    let mut command = Command::new(DIAGIPC);
    command.env("PATH", search_path());
    command
}

/// A `python3` that is the interpreter. With a version manager, the one on the search path may be a
/// script that starts dozens of processes each time.
#[cfg(unix)]
pub(crate) fn python() -> Command {
    let mut command = Command::new("python3");
    command.env("PATH", search_path());
    command
}

fn search_path() -> &'static OsString {
    static PATH: OnceLock<OsString> = OnceLock::new();
    PATH.get_or_init(|| {
        let prefix =
            Command::new("python3").args(["-c", "import sys; print(sys.base_prefix)"]).output();
        let bin = prefix.ok().map(|output| {
            Path::new(String::from_utf8_lossy(&output.stdout).trim_end()).join("bin")
        });
        let own = Path::new(DIAGIPC).parent().unwrap().to_owned();
        let others = env::var_os("PATH").unwrap_or_default();
        env::join_paths([own].into_iter().chain(bin).chain(env::split_paths(&others))).unwrap()
    })
}

/// Those of many that are played: all if thorough.
pub(crate) fn part<T>(many: impl IntoIterator<Item = T>) -> impl Iterator<Item = T> {
    many.into_iter().enumerate().filter_map(|(nth, one)| thorough::is_chosen(nth).then_some(one))
}
