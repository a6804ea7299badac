//! Removes the directory of a started process, which may have mounted something below it.

use std::path::{Path, PathBuf};

/// Removes a directory with everything below it, as far as the system allows. Returns the mounts
/// there, which are left.
#[cfg(unix)]
pub(crate) fn remove(directory: &Path) -> Vec<PathBuf> {
    use rustix::fs::{CWD, Mode, OFlags, openat};

    let mut mounted = Vec::new();
    if let (Some(parent), Some(name)) = (directory.parent(), directory.file_name()) {
        // A directory of temporary files may not be listable.
        #[cfg(target_os = "linux")]
        let access = OFlags::PATH;
        #[cfg(not(target_os = "linux"))]
        let access = OFlags::RDONLY;
        let flags = access | OFlags::DIRECTORY | OFlags::CLOEXEC;
        if let Ok(parent) = openat(CWD, parent, flags, Mode::empty()) {
            let mount = mount::Mount::of(&parent);
            below::remove(&parent, name, directory, &mount, &mut mounted);
        }
    }
    mounted
}

#[cfg(windows)]
pub(super) fn remove(directory: &Path) -> Vec<PathBuf> {
    // An error cannot be reported to anybody.
    let _ = std::fs::remove_dir_all(directory);
    Vec::new()
}

#[cfg(unix)]
mod below {
    use std::ffi::{OsStr, OsString};
    use std::os::fd::OwnedFd;
    use std::os::unix::ffi::OsStrExt as _;
    use std::path::{Path, PathBuf};

    use rustix::fs::{AtFlags, Dir, Mode, OFlags, openat, unlinkat};
    use rustix::io::Errno;

    use super::mount::Mount;

    /// Removes what has this name, without following symbolic links or entering other mounts.
    pub(super) fn remove(
        parent: &OwnedFd,
        name: &OsStr,
        path: &Path,
        mount: &Mount,
        mounted: &mut Vec<PathBuf>,
    ) {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let Ok(directory) = openat(parent, name, flags, Mode::empty()) else {
            // It is not a directory, or a directory that this user cannot read, which may be empty.
            let removed = unlinkat(parent, name, AtFlags::empty()).or_else(|error| match error {
                Errno::BUSY => Err(error),
                _ => unlinkat(parent, name, AtFlags::REMOVEDIR),
            });
            if removed == Err(Errno::BUSY) {
                mounted.push(path.to_owned());
            }
            return;
        };
        if Mount::of(&directory) != *mount {
            mounted.push(path.to_owned());
            return;
        }
        let Ok(entries) = Dir::read_from(&directory) else { return };
        let names = entries
            .filter_map(Result::ok)
            .map(|entry| OsString::from(OsStr::from_bytes(entry.file_name().to_bytes())));
        let names: Vec<_> = names.filter(|name| name != "." && name != "..").collect();
        for name in names {
            remove(&directory, &name, &path.join(&name), mount, mounted);
        }
        // This fails if something is left in the directory.
        let _ = unlinkat(parent, name, AtFlags::REMOVEDIR);
    }
}

#[cfg(unix)]
mod mount {
    use std::os::fd::OwnedFd;

    /// Identifies the mount of an open file. A bind mount has the device of its source, so Linux
    /// uses the number of the mount.
    #[derive(Debug, PartialEq, Eq)]
    pub(super) enum Mount {
        #[cfg(target_os = "linux")]
        Number(String),
        Device(u64),
        Unknown,
    }

    impl Mount {
        pub(super) fn of(file: &OwnedFd) -> Self {
            #[cfg(target_os = "linux")]
            {
                use std::os::fd::AsRawFd as _;

                let about =
                    std::fs::read_to_string(format!("/proc/self/fdinfo/{}", file.as_raw_fd()));
                let about = about.unwrap_or_default();
                let mut numbers = about.lines().filter_map(|line| line.strip_prefix("mnt_id:"));
                if let Some(number) = numbers.next() {
                    return Self::Number(number.trim().to_owned());
                }
            }
            #[allow(
                clippy::unnecessary_cast,
                clippy::cast_sign_loss,
                reason = "its type differs by system"
            )]
            rustix::fs::fstat(file).map_or(Self::Unknown, |stat| Self::Device(stat.st_dev as u64))
        }
    }
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    #[test]
    #[cfg(target_os = "linux")]
    fn remove_does_not_list_the_parent() {
        use std::os::unix::fs::PermissionsExt as _;

        let parent = tempfile::tempdir().unwrap();
        let directory = parent.path().join("d");
        std::fs::create_dir(&directory).unwrap();
        let mode = |mode| {
            std::fs::set_permissions(parent.path(), std::fs::Permissions::from_mode(mode)).unwrap();
        };
        mode(0o300);
        assert!(remove(&directory).is_empty());
        mode(0o700);
        assert!(!directory.exists());
    }

    #[test]
    fn remove_takes_deep_trees_and_leaves_what_links_lead_to() {
        let precious = tempfile::tempdir().unwrap();
        std::fs::write(precious.path().join("file"), "kept").unwrap();
        let directory = tempfile::tempdir().unwrap();
        let deep = directory.path().join("a/b/c");
        std::fs::create_dir_all(&deep).unwrap();
        std::fs::write(deep.join("file"), "").unwrap();
        std::os::unix::fs::symlink(precious.path(), deep.join("link")).unwrap();
        std::os::unix::fs::symlink("nowhere", directory.path().join("dangling")).unwrap();
        let path = directory.path().to_path_buf();
        assert!(remove(&path).is_empty());
        assert!(!path.exists());
        assert_eq!(std::fs::read(precious.path().join("file")).unwrap(), b"kept");
    }
}
