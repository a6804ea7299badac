//! Explains why a process has no socket, from what `/proc` shows.

use std::borrow::ToOwned as _;
use std::fs::File;
use std::io::{self, BufRead as _, BufReader, Read as _};
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::string::{String, ToString as _};

use super::Process;
use super::Tmpdir;
use super::linux::{Listeners, MOST_ENVIRONMENT};
use crate::endpoint::SocketName;
use crate::io::unix::SUN_PATH;

/// The maximum number of bytes read from `/proc/PID/maps`.
const MOST_MAPS: u64 = 16 << 20;
/// The variables that turn diagnostics off if they are 0 (F-63, F-107).
const SWITCHES: [&str; 4] = [
    "DOTNET_EnableDiagnostics",
    "DOTNET_EnableDiagnostics_IPC",
    "COMPlus_EnableDiagnostics",
    "COMPlus_EnableDiagnostics_IPC",
];
/// The libraries that identify a .NET process.
const RUNTIMES: [&str; 3] = ["libcoreclr.so", "libmonosgen-2.0.so", "libclrjit.so"];

/// Returns the reason, as a clause. `Err` names what could not be read.
pub(super) fn reason(
    process: &Process,
    directory: &Path,
    listeners: &mut Listeners,
) -> Result<String, (PathBuf, io::Error)> {
    if !process.runs {
        return Ok("it has exited, or is a thread of the kernel".to_owned());
    }
    let home = PathBuf::from(std::format!("/proc/{}", process.process_id));
    let environ = home.join("environ");
    if let Some(entry) = switched_off(&environ).map_err(|error| (environ, error))? {
        return Ok(std::format!("{entry} in its environment turns diagnostics off"));
    }
    if let Some(cut) = cut_path(process) {
        let name = cut.display();
        return Ok(std::format!(
            "its TMPDIR is too long: a socket's path has at most {SUN_PATH} bytes, and it does not listen at {name} (F-161)"
        ));
    }
    if let Some(key) = process.start_time {
        let name = SocketName::new(process.inner_id, key).to_string();
        if listeners.is_listed(&name) {
            let path = directory.join(name);
            return Ok(std::format!(
                "it listens, but its socket {} was deleted: start it again",
                path.display()
            ));
        }
    }
    if let Some(why) = no_room(process, directory) {
        return Ok(why);
    }
    let maps = home.join("maps");
    let loaded = runtime(&maps).map_err(|error| (maps, error))?;
    Ok(loaded.map_or_else(
        || {
            "it is not a .NET process: no runtime is loaded; or its executable was made without diagnostics"
                .to_owned()
        },
        |library| {
            std::format!(
                "it has loaded {library}, but it is not ready yet, or its runtimeconfig.json turns diagnostics off"
            )
        },
    ))
}

/// Returns the path at which `CoreCLR` listens if the path of its socket is too long: the first 107
/// bytes (F-161), as the process sees them, below its root.
pub(super) fn cut_path(process: &Process) -> Option<PathBuf> {
    let Tmpdir::Known(Some(tmpdir)) = &process.tmpdir else { return None };
    let name = SocketName::new(process.inner_id, process.start_time?).to_string();
    let path = tmpdir.join(name).into_os_string().into_vec();
    let cut = path.get(..SUN_PATH).filter(|_| path.len() > SUN_PATH)?;
    let cut = Path::new(std::ffi::OsStr::from_bytes(cut));
    Some(
        process.root.as_ref().map_or_else(
            || cut.to_path_buf(),
            |root| root.join(cut.strip_prefix("/").unwrap_or(cut)),
        ),
    )
}

/// Returns the first entry of the environment that turns diagnostics off.
fn switched_off(environ: &Path) -> io::Result<Option<String>> {
    for entry in BufReader::new(File::open(environ)?.take(MOST_ENVIRONMENT)).split(0) {
        let entry = entry?;
        let Some(text) = core::str::from_utf8(&entry).ok() else { continue };
        let Some((name, value)) = text.split_once('=') else { continue };
        // A runtime reads the value as a hexadecimal number without a prefix (F-107).
        if SWITCHES.contains(&name) && u64::from_str_radix(value, 16) == Ok(0) {
            return Ok(Some(text.to_owned()));
        }
    }
    Ok(None)
}

/// Returns why the process could not create its socket in the directory.
fn no_room(process: &Process, directory: &Path) -> Option<String> {
    let shown = directory.display();
    let metadata = match std::fs::metadata(directory) {
        Ok(metadata) if metadata.is_dir() => metadata,
        Ok(_) => return Some(std::format!("{shown} is not a directory")),
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            return Some(std::format!("{shown} does not exist"));
        }
        Err(error) if error.kind() == io::ErrorKind::NotADirectory => {
            return Some(std::format!("{shown} is below a file"));
        }
        Err(_) => return None,
    };
    let is_read_only = rustix::fs::statvfs(directory)
        .is_ok_and(|system| system.f_flag.contains(rustix::fs::StatVfsMountFlags::RDONLY));
    if is_read_only {
        return Some(std::format!("{shown} is on a read-only file system"));
    }
    let user = process.user?;
    // The groups of the process are not looked up.
    let writable = if user == metadata.uid() { 0o200 } else { 0o022 };
    (user != 0 && metadata.mode() & writable == 0)
        .then(|| std::format!("user {user} cannot write to {shown}"))
}

/// Returns the library of a runtime that the process has loaded.
fn runtime(maps: &Path) -> io::Result<Option<&'static str>> {
    for line in BufReader::new(File::open(maps)?.take(MOST_MAPS)).split(b'\n') {
        let line = line?;
        let name = line.rsplit(|byte| matches!(byte, b'/' | b' ')).next().unwrap_or_default();
        let library = RUNTIMES.into_iter().find(|library| name == library.as_bytes());
        if library.is_some() {
            return Ok(library);
        }
    }
    Ok(None)
}
