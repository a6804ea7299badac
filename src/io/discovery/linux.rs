//! Reads `/proc`.

use std::collections::BTreeSet;
use std::ffi::{OsStr, OsString};
use std::fs::{self, File};
use std::io::{self, BufReader, Read as _};
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::vec::Vec;

use super::{Process, Tmpdir, UnreadablePath};
use crate::endpoint::ProcessStat;

/// The maximum number of bytes read from `stat` and `status`.
const MOST: u64 = 64 * 1024;
/// The maximum number of bytes read from an environment; Linux allows at most 6 MiB.
pub(super) const MOST_ENVIRONMENT: u64 = 8 << 20;
/// The flag of a listening socket in `/proc/net/unix`.
const ACCEPTS: u32 = 0x1_0000;

/// Returns all processes with an address space, so no kernel threads and no zombies.
pub(super) fn processes(unseen: &mut Vec<UnreadablePath>) -> Vec<Process> {
    let entries = match fs::read_dir("/proc") {
        Ok(entries) => entries,
        Err(error) => {
            unseen.push(UnreadablePath::new(None, "/proc", &error));
            return Vec::new();
        }
    };
    let ids = entries.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok());
    let found: Vec<Process> = ids
        .filter_map(|process_id| process(process_id, unseen))
        .filter(|process| process.runs)
        .collect();
    // The first process of a pid namespace always exists; if it is hidden (`hidepid`), others are
    // too.
    if let Err(error) = fs::symlink_metadata("/proc/1") {
        unseen.push(UnreadablePath::new(None, "/proc/1", &error));
    }
    found
}

/// Returns a process; `None` if it does not exist. Anything unreadable is added to `unseen`.
pub(super) fn process(process_id: u32, unseen: &mut Vec<UnreadablePath>) -> Option<Process> {
    let home = PathBuf::from(std::format!("/proc/{process_id}"));
    let mut note = |path: PathBuf, error: &io::Error| {
        unseen.push(UnreadablePath::new(Some(process_id), path, error));
    };
    let mut process = Process::unknown(process_id);
    match read(&home.join("stat")) {
        Ok(text) => process.start_time = ProcessStat::parse(&text).ok().map(|stat| stat.start_time),
        Err(error) if is_gone(&error) => {
            // In a container `/proc` may be missing; then every process seems to be missing.
            if let Err(error) = fs::symlink_metadata("/proc/self") {
                note(PathBuf::from("/proc"), &error);
            }
            return None;
        }
        Err(error) => note(home.join("stat"), &error),
    }
    match read(&home.join("status")) {
        Ok(text) => {
            process.inner_id = inner_id(&text).unwrap_or(process_id);
            process.user = effective_user(&text);
            // Kernel threads and zombies have no memory.
            process.runs = field(&text, "VmSize:").is_some();
        }
        Err(error) if is_gone(&error) => return None,
        Err(error) => note(home.join("status"), &error),
    }
    if !process.runs {
        return Some(process);
    }
    process.tmpdir = match tmpdir(&home) {
        Ok(tmpdir) => Tmpdir::Known(tmpdir),
        Err(error) if is_gone(&error) => return None,
        Err(error) => {
            note(home.join("environ"), &error);
            return Some(process);
        }
    };
    match is_our_root(&home) {
        Ok(true) => {}
        Ok(false) => process.root = Some(home.join("root")),
        Err(error) => note(home.join("root"), &error),
    }
    Some(process)
}

fn is_gone(error: &io::Error) -> bool {
    error.kind() == io::ErrorKind::NotFound
        || error.raw_os_error() == Some(rustix::io::Errno::SRCH.raw_os_error())
}

fn read(path: &Path) -> io::Result<Vec<u8>> {
    let mut text = Vec::new();
    File::open(path)?.take(MOST).read_to_end(&mut text)?;
    Ok(text)
}

/// Returns the rest of the line `name` in the text of a `/proc/PID/status`.
fn field<'t>(status: &'t [u8], name: &str) -> Option<&'t str> {
    let line = status.split(|b| *b == b'\n').find_map(|line| line.strip_prefix(name.as_bytes()))?;
    core::str::from_utf8(line).ok()
}

/// Returns the last number of `NSpid`, the id in the process's own pid namespace. A kernel without
/// namespaces has no such line.
fn inner_id(status: &[u8]) -> Option<u32> {
    field(status, "NSpid:")?.split_ascii_whitespace().next_back()?.parse().ok()
}

/// Returns the effective user id, the second number of `Uid`, as the kernel records it on `listen`.
fn effective_user(status: &[u8]) -> Option<u32> {
    field(status, "Uid:")?.split_ascii_whitespace().nth(1)?.parse().ok()
}

/// Returns the process's `TMPDIR`, made absolute; `None` if it has none.
fn tmpdir(home: &Path) -> io::Result<Option<PathBuf>> {
    let environment = File::open(home.join("environ"))?.take(MOST_ENVIRONMENT);
    let Some(value) = variable(BufReader::new(environment), b"TMPDIR=")? else { return Ok(None) };
    if value.is_empty() {
        return Ok(None);
    }
    let path = PathBuf::from(OsString::from_vec(value));
    // A relative path starts at the process's current directory, which may have changed since the
    // runtime started.
    Ok(Some(if path.is_absolute() { path } else { fs::read_link(home.join("cwd"))?.join(path) }))
}

/// Returns the value of the first entry that begins with `name`, like `getenv`.
fn variable(environment: impl io::BufRead, name: &[u8]) -> io::Result<Option<Vec<u8>>> {
    for entry in environment.split(0) {
        if let Some(value) = entry?.strip_prefix(name) {
            return Ok(Some(value.to_vec()));
        }
    }
    Ok(None)
}

/// Returns whether the process sees the same files as we do: the same mounts, from the same root.
fn is_our_root(home: &Path) -> io::Result<bool> {
    let (theirs, ours) = (fs::metadata(home.join("root"))?, fs::metadata("/")?);
    Ok((theirs.dev(), theirs.ino()) == (ours.dev(), ours.ino())
        && fs::read_link(home.join("ns/mnt"))? == fs::read_link("/proc/self/ns/mnt")?)
}

/// The names of the listening sockets in our network namespace, read once.
///
/// Other namespaces are left out. The namespace of another user's process is not readable, and
/// reading its list would take as long as reading ours, for each process.
#[derive(Debug, Default)]
pub(super) struct Listeners(Option<BTreeSet<OsString>>);

impl Listeners {
    /// Returns whether the system lists a listening socket with this name. A listed socket may be
    /// elsewhere, because anyone can use the name; an unlisted socket may still listen.
    pub(super) fn is_listed(&mut self, name: &str) -> bool {
        let names = self.0.get_or_insert_with(|| {
            File::open("/proc/self/net/unix")
                .and_then(|file| listeners(BufReader::new(file)))
                .unwrap_or_default()
        });
        names.contains(OsStr::new(name))
    }
}

/// Returns the file names of this protocol's listening sockets in a `/proc/net/unix`.
fn listeners(table: impl io::BufRead) -> io::Result<BTreeSet<OsString>> {
    let mut names = BTreeSet::new();
    for line in table.split(b'\n') {
        let line = line?;
        let flags = line.split(|b| *b == b' ').filter(|field| !field.is_empty()).nth(3);
        let flags =
            flags.and_then(|flags| u32::from_str_radix(core::str::from_utf8(flags).ok()?, 16).ok());
        let name = line.rsplit(|b| matches!(b, b'/' | b' ')).next().unwrap_or_default();
        if flags.is_some_and(|flags| flags & ACCEPTS != 0) && name.starts_with(b"dotnet") {
            names.insert(OsStr::from_bytes(name).to_os_string());
        }
    }
    Ok(names)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn innermost_process_id_is_used() {
        assert_eq!(inner_id(b"Name:\tx\nNSpid:\t4711\t12\t1\nVmSize:\t 1 kB\n"), Some(1));
        assert_eq!(inner_id(b"Name:\tx\nNSpid:\t4711\n"), Some(4711));
        assert_eq!(inner_id(b"Name:\tNSpid: 3\n"), None);
    }

    #[test]
    fn effective_user_is_used() {
        assert_eq!(effective_user(b"Name:\tx\nUid:\t1\t2\t3\t4\nGid:\t5\t6\t7\t8\n"), Some(2));
        assert_eq!(effective_user(b"Name:\tUid: 1 2\nUid:\t1\n"), None);
    }

    #[test]
    fn variable_is_read_as_getenv_does() {
        #[track_caller]
        fn tmpdir(environment: &[u8], value: Option<&[u8]>) {
            let found = variable(BufReader::with_capacity(7, environment), b"TMPDIR=").unwrap();
            assert_eq!(found.as_deref(), value);
        }
        tmpdir(b"", None);
        tmpdir(b"A=1\0XTMPDIR=/x\0TMPDIRX=/x\0", None);
        tmpdir(b"A=1\0TMPDIR=/first\0TMPDIR=/second\0", Some(b"/first"));
        tmpdir(b"A\0\0TMPDIR=", Some(b""));
        tmpdir(b"TMPDIR=/\xff\0", Some(b"/\xff"));
    }

    #[test]
    fn only_accepting_sockets_are_listed() {
        let table = b"Num       RefCount Protocol Flags    Type St Inode Path\n\
            0000000000000000: 00000002 00000000 00010000 0001 01 20000 /a b/dotnet-diagnostic-12-3-socket\n\
            0000000000000000: 00000003 00000000 00000000 0001 03 20001 /tmp/dotnet-diagnostic-13-3-socket\n\
            0000000000000000: 00000002 00000000 00010000 0001 01 20002 dotnet-diagnostic-14-3-socket\n\
            0000000000000000: 00000002 00000000 00010000 0001 01 20003 @abstract\n\
            cut";
        let names = listeners(&table[..]).unwrap();
        assert_eq!(
            names.into_iter().collect::<Vec<_>>(),
            ["dotnet-diagnostic-12-3-socket", "dotnet-diagnostic-14-3-socket"]
        );
    }
}
