//! Files that a command writes for its user. Others cannot read a new file, and a link to a file is
//! not followed.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use dotnet_diagnostics_ipc::io::Canceller;
use serde::Serialize;
use tempfile::{NamedTempFile, PersistError};

use crate::commands::printable::json;
use crate::commands::runtime_info::Info;
use crate::commands::{Outcome, interrupt};

/// What a name leads to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PathKind {
    /// Nothing exists; [`create_new`] creates a file.
    Nothing,
    /// A regular file.
    File,
    /// A FIFO, a device, or an open descriptor: [`open_stream`] opens it as it is.
    Stream,
}

/// Returns what a path leads to.
///
/// # Errors
/// Refuses a directory, and a symbolic link to a file. A link to a FIFO or a device is followed.
pub(crate) fn named(path: &Path) -> io::Result<PathKind> {
    let has_kind = match fs::symlink_metadata(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(PathKind::Nothing),
        metadata => metadata?.file_type(),
    };
    if has_kind.is_file() {
        return Ok(PathKind::File);
    }
    let leads_to_file = || fs::metadata(path).is_ok_and(|at| at.is_file());
    let is_link = has_kind.is_symlink();
    if is_link && !is_descriptor(path) && (leads_to_file() || !path.exists()) {
        return Err(io::Error::other(
            "it is a symbolic link, which is not followed: expected the name of the file itself",
        ));
    }
    if path.is_dir() { Err(io::ErrorKind::IsADirectory.into()) } else { Ok(PathKind::Stream) }
}

/// Returns whether the path names an open descriptor, such as a redirection.
fn is_descriptor(path: &Path) -> bool {
    ["/dev/stdout", "/dev/stderr"].iter().any(|name| path == Path::new(name))
        || ["/dev/fd", "/proc/self/fd"].iter().any(|fds| path.parent() == Some(Path::new(fds)))
}

/// The maximum number of bytes of the subject in a generated name; a file name has at most 255.
const MAX_SUBJECT_BYTES: usize = 180;

/// Generates a file name from its subject and the time in UTC.
pub(crate) fn dated(subject: &str, extension: &str) -> PathBuf {
    // A process may choose any name. `-` begins options, and `.` hides a file.
    let is_plain = |c: char| c.is_alphanumeric() || matches!(c, '-' | '_' | '.');
    let begins_well = |c: char| !matches!(c, '-' | '.');
    let plain = subject
        .chars()
        .enumerate()
        .map(|(at, c)| if is_plain(c) && (at > 0 || begins_well(c)) { c } else { '_' });
    let mut subject = String::new();
    for c in plain {
        if subject.len() + c.len_utf8() > MAX_SUBJECT_BYTES {
            break;
        }
        subject.push(c);
    }
    let now = chrono::DateTime::<chrono::Utc>::from(std::time::SystemTime::now());
    PathBuf::from(format!("{subject}_{}.{extension}", now.format("%Y%m%dT%H%M%SZ")))
}

/// Creates a file that only its owner can read. A symbolic link is not followed.
///
/// # Errors
/// [`AlreadyExists`](io::ErrorKind::AlreadyExists) if the name exists, also as a symbolic link.
pub(crate) fn create_new(path: &Path) -> io::Result<File> {
    let mut options = File::options();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(path)
}

/// A file that is being written. The file that it replaces stays until [`finish`](Self::finish).
#[derive(Debug)]
pub(crate) enum OutputFile {
    /// A new file, a stream, or a file that cannot be replaced.
    InPlace(File),
    /// A file beside another one, whose name it gets.
    Beside { path: PathBuf, part: NamedTempFile },
}

impl OutputFile {
    /// Gives the file its name. Further writes to the returned file change it there.
    pub(crate) fn finish(self) -> io::Result<File> {
        let (path, part) = match self {
            Self::InPlace(file) => return Ok(file),
            Self::Beside { path, part } => (path, part),
        };
        part.as_file().sync_all()?;
        part.persist(&path).or_else(|PersistError { error, file }| {
            if error.kind() != io::ErrorKind::ResourceBusy {
                return Err(error);
            }
            // The file is a mount of its own, as in containers.
            let mut place = empty(&path)?;
            io::copy(&mut file.reopen()?, &mut place)?;
            Ok(place)
        })
    }
}

impl Write for OutputFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Self::InPlace(file) => file.write(bytes),
            Self::Beside { part, .. } => part.as_file_mut().write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Opens a path for writing. Creates a new file as [`create_new`] does, or replaces an existing
/// file and keeps its mode. A signal ends the wait for the reader of a FIFO.
pub(crate) fn create(path: &Path) -> anyhow::Result<OutputFile> {
    let create = || match named(path)? {
        PathKind::Nothing => create_new(path).map(OutputFile::InPlace),
        PathKind::File => replacement(path),
        PathKind::Stream => open_stream(path, &interrupt::canceller()?).map(OutputFile::InPlace),
    };
    create().with_context(|| path.display().to_string())
}

/// Writes a whole file as [`create`] opens it.
pub(crate) fn write(path: &Path, bytes: &[u8]) -> anyhow::Result<()> {
    let mut file = create(path)?;
    let written = file.write_all(bytes).and_then(|()| file.finish());
    written.map(drop).with_context(|| path.display().to_string())
}

/// Writes a whole file without secrets; others may read a new one.
pub(crate) fn export(path: &Path, bytes: &[u8]) -> anyhow::Result<()> {
    let named = named(path).with_context(|| path.display().to_string())?;
    if named != PathKind::Nothing {
        return write(path, bytes);
    }
    let written = File::create_new(path).and_then(|mut file| file.write_all(bytes));
    written.with_context(|| path.display().to_string())
}

/// Creates a file beside an existing one, with its mode. Returns the file itself, emptied, if
/// another user owns it, or if this user cannot create files in its directory.
fn replacement(path: &Path) -> io::Result<OutputFile> {
    let part = match beside(path) {
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => None,
        part => Some(part?),
    };
    match part {
        Some(part) if keeps_owner(path, part.as_file())? => {
            Ok(OutputFile::Beside { path: path.to_owned(), part })
        }
        _ => empty(path).map(OutputFile::InPlace),
    }
}

/// Creates a file in the directory of this one, which is removed on drop.
pub(crate) fn beside(path: &Path) -> io::Result<NamedTempFile> {
    let directory = path.parent().filter(|parent| !parent.as_os_str().is_empty());
    let mut name = path.file_name().unwrap_or_default().to_owned();
    name.push(".");
    let mut builder = tempfile::Builder::new();
    builder.prefix(&name).suffix(".part").tempfile_in(directory.unwrap_or(Path::new(".")))
}

/// Gives a new file the group and mode of this path's file; returns whether both have one owner.
#[cfg(unix)]
fn keeps_owner(path: &Path, new: &File) -> io::Result<bool> {
    use std::os::unix::fs::{MetadataExt as _, fchown};

    let (old, now) = (fs::symlink_metadata(path)?, new.metadata()?);
    let is_kept = old.uid() == now.uid()
        && (old.gid() == now.gid() || fchown(new, None, Some(old.gid())).is_ok());
    if is_kept {
        new.set_permissions(old.permissions())?;
    }
    Ok(is_kept)
}

#[cfg(not(unix))]
#[allow(clippy::unnecessary_wraps, reason = "on Unix it may fail")]
fn keeps_owner(_: &Path, _: &File) -> io::Result<bool> {
    Ok(true)
}

/// Empties a file. A symbolic link that has just taken its place is not followed.
#[cfg(unix)]
fn empty(path: &Path) -> io::Result<File> {
    use rustix::fs::{Mode, OFlags, open};

    let flags = OFlags::WRONLY | OFlags::TRUNC | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    Ok(open(path, flags, Mode::empty())?.into())
}

#[cfg(not(unix))]
fn empty(path: &Path) -> io::Result<File> {
    File::options().write(true).truncate(true).open(path)
}

/// Opens an existing file for writing at its end; nothing is created or truncated. Waits for the
/// reader of a FIFO, until `canceller` is cancelled.
///
/// # Errors
/// Fails with [`Interrupted`](io::ErrorKind::Interrupted) if cancelled.
#[cfg(unix)]
pub(crate) fn open_stream(path: &Path, canceller: &Canceller) -> io::Result<File> {
    use std::os::unix::fs::FileTypeExt as _;

    use rustix::fs::{Mode, OFlags, fcntl_getfl, fcntl_setfl, open};
    use rustix::io::Errno;

    // With these flags the system refuses a FIFO without a reader, instead of waiting for one.
    let flags =
        OFlags::WRONLY | OFlags::APPEND | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
    loop {
        match open(path, flags, Mode::empty()) {
            Ok(fd) => {
                fcntl_setfl(&fd, fcntl_getfl(&fd)?.difference(OFlags::NONBLOCK))?;
                return Ok(File::from(fd));
            }
            Err(Errno::NXIO) if fs::metadata(path)?.file_type().is_fifo() => {}
            Err(errno) => return Err(errno.into()),
        }
        if canceller.is_cancelled() {
            return Err(io::ErrorKind::Interrupted.into());
        }
        std::thread::sleep(std::time::Duration::from_millis(50));
    }
}

#[cfg(not(unix))]
pub(crate) fn open_stream(path: &Path, _: &Canceller) -> io::Result<File> {
    File::options().append(true).open(path)
}

/// The result of a trace or a dump.
#[derive(Debug, Default, Serialize)]
pub(crate) struct Written {
    /// The file with the bytes, if there are any.
    pub(crate) file: Option<String>,
    pub(crate) bytes: u64,
    /// The time that it took: for a trace from the start of the session to the end of the stream,
    /// for a dump the whole request.
    pub(crate) seconds: f64,
    /// What the process reports about itself; .NET Core 3.1 reports nothing.
    pub(crate) process: Option<Info>,
    pub(crate) complete: bool,
    /// The number of events that the runtime dropped, if the trace is whole and this is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) lost: Option<u64>,
    pub(crate) why: Option<String>,
    exit: i32,
}

impl Written {
    /// Prints one object, with the exit status of this outcome.
    pub(crate) fn print(
        &mut self,
        ended: &anyhow::Result<Outcome>,
        out: &mut dyn Write,
    ) -> io::Result<()> {
        self.exit = ended.as_ref().map_or(Outcome::FAILURE, Outcome::status);
        json(self, out)
    }
}
