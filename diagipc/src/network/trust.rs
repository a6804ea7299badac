//! The directories and addresses that this process trusts, and the option that trusts another one.

use std::env;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

use dotnet_diagnostics_ipc::io::trust::{Distrust, TrustPolicy};
use dotnet_diagnostics_ipc::io::{Error, ErrorKind};

/// Whether directories that other users can write to are trusted, in the whole process.
static TRUSTS_SHARED_DIRECTORIES: AtomicBool = AtomicBool::new(false);

/// Whether TCP addresses of other machines are allowed, in the whole process.
static ALLOWS_ANY_ADDRESS: AtomicBool = AtomicBool::new(false);

/// Allows TCP addresses of other machines from now on.
pub fn allow_any_address() {
    ALLOWS_ANY_ADDRESS.store(true, Ordering::Relaxed);
}

/// Trusts directories that other users own or can write to, from now on.
///
/// ```
/// use dotnet_diagnostics_ipc::io::trust::TrustPolicy;
///
/// assert_eq!(diagipc::network::trust_policy(), TrustPolicy::CHECKED);
/// diagipc::network::trust_shared_directories();
/// assert_ne!(diagipc::network::trust_policy(), TrustPolicy::CHECKED);
/// ```
pub fn trust_shared_directories() {
    TRUSTS_SHARED_DIRECTORIES.store(true, Ordering::Relaxed);
}

/// Returns the policy of this process for every socket and TCP address.
pub fn trust_policy() -> TrustPolicy {
    let policy = TrustPolicy::CHECKED;
    let is_anywhere = ALLOWS_ANY_ADDRESS.load(Ordering::Relaxed);
    let policy = if is_anywhere { policy.allowing_any_address() } else { policy };
    let is_shared = TRUSTS_SHARED_DIRECTORIES.load(Ordering::Relaxed);
    if is_shared { policy.allowing_shared_directory() } else { policy }
}

/// Returns the option that helps if a directory or an address caused the error.
pub fn advice(error: &Error) -> Option<&'static str> {
    let ErrorKind::Untrusted(reason) = error.kind() else { return None };
    if let Distrust::NotLoopback { .. } = reason {
        return Some("--any-address allows it");
    }
    let is_directory = match reason {
        Distrust::SharedDirectory { .. } => true,
        Distrust::UnmappedOwner { path, .. } | Distrust::OtherOwner { path, .. } => path.is_dir(),
        _ => false,
    };
    is_directory.then(|| {
        if is_in_container() {
            "--shared-directory trusts it, as an emptyDir volume needs (F-167)"
        } else {
            "--shared-directory trusts it"
        }
    })
}

/// Returns the text of an error, with the option that helps.
pub fn advised(error: &Error) -> String {
    advice(error).map_or_else(|| format!("{error:#}"), |advice| format!("{error:#}: {advice}"))
}

/// Returns whether this process seems to run in a container.
fn is_in_container() -> bool {
    env::var_os("KUBERNETES_SERVICE_HOST").is_some()
        || ["/.dockerenv", "/run/.containerenv"].iter().any(|path| Path::new(path).exists())
}
