//! Finds the files of a process as that process finds them. A container has another root directory;
//! a private `/tmp` changes what one path leads to.

use std::fs::Metadata;
use std::io;
use std::path::{Path, PathBuf};

use diagipc::Address;

#[cfg(target_os = "linux")]
use self::linux::Directory;
#[cfg(not(target_os = "linux"))]
use self::other::NoDirectory as Directory;

/// The root directory of a process.
#[derive(Debug)]
pub(crate) struct ProcessRoot {
    /// The directory; `None` for the root directory of this program.
    directory: io::Result<Option<Directory>>,
    /// The process, if its id is known.
    process_id: Option<u32>,
}

/// What a path leads to. A symbolic link at its end is not followed.
pub(crate) struct Found {
    /// The path at which this program finds it.
    pub(crate) path: PathBuf,
    pub(crate) metadata: Metadata,
}

impl ProcessRoot {
    /// Returns a target's root directory, or this program's if the process is not known.
    pub(crate) fn of(target: &Address) -> Self {
        let process_id = match target {
            Address::Process(id) => Some(*id),
            _ => None,
        };
        // Otherwise this program's root is used; the request reports a missing process.
        #[cfg(target_os = "linux")]
        let process_id = process_id.filter(|id| Path::new(&format!("/proc/{id}")).exists());
        Self { directory: process_id.map_or(Ok(None), Directory::of), process_id }
    }

    /// Returns the user as which the process writes files, if the process is known.
    #[cfg(unix)]
    pub(crate) fn user(&self) -> Option<u32> {
        self.process_id.and_then(diagipc::process::procfs::user)
    }

    /// Returns whether files are looked up as the process does, and not only as this program does.
    pub(crate) const fn is_of_process(&self) -> bool {
        self.process_id.is_some()
    }

    /// Returns a name for the process's file at an absolute path. It may contain links, which a
    /// program with another root directory would follow elsewhere; [`Found::path`] contains none.
    pub(crate) fn name(&self, path: &Path) -> PathBuf {
        match &self.directory {
            Ok(Some(directory)) => directory.name().join(path.strip_prefix("/").unwrap_or(path)),
            _ => path.to_owned(),
        }
    }

    /// Finds the process's file at an absolute path, if there is one. Links are followed below the
    /// root directory of the process.
    ///
    /// # Errors
    /// Fails if `/proc` does not lead there, or the system cannot look it up.
    pub(crate) fn find(&self, path: &Path) -> io::Result<Option<Found>> {
        let found = match &self.directory {
            Ok(Some(directory)) => directory.find(path),
            Ok(None) => at(path),
            Err(error) => return Err(io::Error::new(error.kind(), error.to_string())),
        };
        match found {
            Ok(found) => Ok(Some(found)),
            Err(error)
                if matches!(
                    error.kind(),
                    io::ErrorKind::NotFound | io::ErrorKind::NotADirectory
                ) =>
            {
                Ok(None)
            }
            Err(error) => Err(error),
        }
    }
}

fn at(path: &Path) -> io::Result<Found> {
    Ok(Found { path: path.to_owned(), metadata: path.symlink_metadata()? })
}

#[cfg(target_os = "linux")]
mod linux {
    use std::fs::{self, File};
    use std::io;
    use std::os::fd::{AsRawFd as _, OwnedFd};
    use std::os::unix::fs::MetadataExt as _;
    use std::path::{Path, PathBuf};

    use rustix::fs::{CWD, Mode, OFlags, ResolveFlags, openat, openat2};
    use rustix::io::Errno;

    use super::Found;

    /// How often a disturbed look-up is repeated.
    const MAX_ATTEMPTS: usize = 16;

    /// An open root directory, which remains that of the process.
    #[derive(Debug)]
    pub(super) struct Directory {
        fd: OwnedFd,
        name: PathBuf,
    }

    impl Directory {
        /// Opens a process's root directory; `None` if this program finds the same everywhere.
        pub(super) fn of(process_id: u32) -> io::Result<Option<Self>> {
            let view = |process: &str| {
                let root = fs::metadata(format!("/proc/{process}/root"))?;
                let mounts = fs::read_link(format!("/proc/{process}/ns/mnt"))?;
                io::Result::Ok((root.dev(), root.ino(), mounts))
            };
            let name = format!("/proc/{process_id}/root");
            let directory = || {
                if view(&process_id.to_string())? == view("self")? {
                    return Ok(None);
                }
                Self::at(PathBuf::from(&name)).map(Some)
            };
            directory().map_err(|error: io::Error| {
                io::Error::new(error.kind(), format!("{name}: {error}"))
            })
        }

        pub(super) fn at(name: PathBuf) -> io::Result<Self> {
            let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
            let fd = openat(CWD, &name, flags, Mode::empty())?;
            Ok(Self { fd, name })
        }

        /// Returns the name of the directory, such as `/proc/12/root`.
        pub(super) fn name(&self) -> &Path {
            &self.name
        }

        pub(super) fn find(&self, path: &Path) -> io::Result<Found> {
            // This opens without reading, so a FIFO or a device does not notice.
            let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
            let resolve = ResolveFlags::IN_ROOT | ResolveFlags::NO_MAGICLINKS;
            let open = || openat2(&self.fd, path, flags, Mode::empty(), resolve);
            let mut opened = open();
            for _ in 1..MAX_ATTEMPTS {
                if !matches!(opened, Err(Errno::AGAIN | Errno::INTR)) {
                    break;
                }
                opened = open();
            }
            let file = match opened {
                // Old filters of system calls answer EPERM.
                Err(Errno::NOSYS | Errno::PERM) => {
                    return Err(io::Error::new(
                        io::ErrorKind::Unsupported,
                        "this system has no openat2 (Linux 5.6), without which links in another root directory cannot be followed",
                    ));
                }
                opened => File::from(opened?),
            };
            let path = self.without_links(&file, path)?;
            Ok(Found { path, metadata: file.metadata()? })
        }

        /// Returns the name of an open file below this directory.
        fn without_links(&self, file: &File, path: &Path) -> io::Result<PathBuf> {
            let own = |fd: i32| fs::read_link(format!("/proc/self/fd/{fd}"));
            let (root, whole) = (own(self.fd.as_raw_fd())?, own(file.as_raw_fd())?);
            let rest = whole.strip_prefix(root).or_else(|_| path.strip_prefix("/"));
            Ok(self.name.join(rest.unwrap_or(path)))
        }
    }
}

#[cfg(not(target_os = "linux"))]
mod other {
    use std::io;
    use std::path::Path;

    use super::Found;

    /// A type without values: processes seem to have the root directory of this program.
    #[derive(Debug)]
    pub(super) enum NoDirectory {}

    impl NoDirectory {
        #[allow(clippy::unnecessary_wraps, reason = "on Linux it may fail")]
        pub(super) const fn of(_: u32) -> io::Result<Option<Self>> {
            Ok(None)
        }

        pub(super) const fn name(&self) -> &Path {
            match *self {}
        }

        pub(super) const fn find(&self, _: &Path) -> io::Result<Found> {
            match *self {}
        }
    }
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;

    use super::*;

    /// In this test a directory stands for the root directory of a process.
    #[test]
    fn links_are_followed_below_the_root_of_the_process() {
        let home = tempfile::tempdir().unwrap();
        let (root, outside) = (home.path().join("root"), home.path().join("outside"));
        fs::create_dir_all(root.join("real")).unwrap();
        fs::create_dir(&outside).unwrap();
        fs::write(outside.join("file"), "of another").unwrap();
        fs::write(root.join("real/file"), "core").unwrap();
        symlink("/real", root.join("data")).unwrap();
        symlink(&outside, root.join("out")).unwrap();
        symlink("../../outside", root.join("up")).unwrap();
        symlink(outside.join("file"), root.join("real/link")).unwrap();
        let process =
            ProcessRoot { directory: Directory::at(root.clone()).map(Some), process_id: None };
        let find = |path: &str| process.find(Path::new(path)).unwrap();

        for path in ["/real/file", "/data/file", "/data/../data/file"] {
            let found = find(path).unwrap();
            assert_eq!(found.path, root.join("real/file"), "{path}");
            assert_eq!((found.metadata.is_file(), found.metadata.len()), (true, 4), "{path}");
        }
        for path in ["/out/file", "/up/file", "/none", "/real/file/none"] {
            assert!(find(path).is_none(), "{path}");
        }
        assert!(find("/data/link").unwrap().metadata.is_symlink());
        assert_eq!(process.name(Path::new("/data/file")), root.join("data/file"));
    }
}
