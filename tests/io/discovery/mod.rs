//! Discovery, trust and the path to listen at, with real sockets in directories of their own.

use std::fs::{self, Permissions};
use std::io;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, symlink};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::Path;

use dotnet_diagnostics_ipc::io::trust::{Distrust, TrustPolicy, check_path, check_peer};
use dotnet_diagnostics_ipc::io::{Error, ErrorKind, Phase, bind_private, bind_trusting};

use crate::directory;

/// Another user who is not root.
const NOBODY: u32 = 65533;

fn we_are_root() -> bool {
    rustix::process::geteuid().is_root()
}

/// Requires root, or reports what was not tried. The gate runs as root.
macro_rules! needs_root {
    () => {
        if !we_are_root() {
            eprintln!("SKIPPED {}:{}: takes root, to give files away", file!(), line!());
            return;
        }
    };
}

fn give_away(path: &Path) {
    std::os::unix::fs::lchown(path, Some(NOBODY), None).unwrap();
}

fn chmod(path: &Path, mode: u32) {
    fs::set_permissions(path, Permissions::from_mode(mode)).unwrap();
}

#[track_caller]
fn distrust(error: &Error) -> &Distrust {
    match error.kind() {
        ErrorKind::Untrusted(reason) => reason,
        other => panic!("{other:?}"),
    }
}

#[track_caller]
fn refused(path: &Path) -> Distrust {
    let error = check_path(path, TrustPolicy::CHECKED).unwrap_err();
    assert_eq!(error.phase(), Phase::Trust);
    distrust(&error).clone()
}

#[track_caller]
fn trusted(path: &Path, policy: TrustPolicy) {
    check_path(path, policy).unwrap();
}

#[cfg(target_os = "linux")]
mod namespaces;
mod private_socket;
#[cfg(target_os = "linux")]
mod processes;
mod trust;
