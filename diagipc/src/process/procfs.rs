//! Reads `/proc`. Without it, or if it hides the processes of others, the functions return nothing.
//!
//! ```
//! let own = std::process::id();
//! let words = diagipc::process::procfs::arguments(own);
//! assert!(words.is_none_or(|words| !words.is_empty()));
//! ```

use std::fs;

#[cfg(unix)]
use dotnet_diagnostics_ipc::endpoint::ProcessStat;

/// The fields of a process's `stat` that follow its name.
#[cfg(unix)]
pub(crate) struct Stat {
    /// Whether the process is a zombie, or about to disappear.
    pub(crate) has_ended: bool,
    /// The process group; 0 if that is in another pid namespace.
    #[cfg_attr(not(target_os = "linux"), allow(dead_code, reason = "only Linux has orphans"))]
    pub(crate) group: u32,
    /// The start time in jiffies since boot, which together with the process id is unique.
    pub(crate) start_time: Option<u64>,
}

#[cfg(unix)]
impl Stat {
    pub(crate) fn of(process: u32) -> Option<Self> {
        Self::read(&fs::read(format!("/proc/{process}/stat")).ok()?)
    }

    /// Parses a `stat`. The name in it may contain anything, even parentheses.
    fn read(text: &[u8]) -> Option<Self> {
        let close = text.iter().rposition(|byte| *byte == b')')?;
        let behind = String::from_utf8_lossy(text.get(close..)?);
        let mut fields = behind.split_ascii_whitespace().skip(1);
        let has_ended = matches!(fields.next()?, "Z" | "X" | "x");
        let group = fields.nth(1).and_then(|group| group.parse().ok()).unwrap_or(0);
        let start_time = ProcessStat::parse(text).ok().map(|stat| stat.start_time);
        Some(Self { has_ended, group, start_time })
    }
}

/// Returns the words of the process's command line.
pub fn arguments(process: u32) -> Option<Vec<Vec<u8>>> {
    list(process, "cmdline")
}

/// Returns the variables with which the process was started, as `NAME=value`.
pub fn environment(process: u32) -> Option<Vec<Vec<u8>>> {
    list(process, "environ")
}

/// Returns the items of a file in which each item ends with a NUL.
fn list(process: u32, name: &str) -> Option<Vec<Vec<u8>>> {
    let bytes = fs::read(format!("/proc/{process}/{name}")).ok()?;
    let bytes = bytes.strip_suffix(b"\0").unwrap_or(&bytes);
    Some(bytes.split(|byte| *byte == 0).map(<[u8]>::to_vec).collect())
}

/// Returns the name of the process's program.
#[cfg(target_os = "linux")]
pub(crate) fn name(process: u32) -> String {
    let name = fs::read(format!("/proc/{process}/comm")).unwrap_or_default();
    String::from_utf8_lossy(&name).trim_end().into()
}

/// Returns the effective user of the process; its files in `/proc` may belong to root instead.
pub fn user(process: u32) -> Option<u32> {
    // These are the real, effective, saved and file system ids.
    status(process, "Uid").get(1).copied()
}

/// Returns whether the process ignores this signal.
pub fn ignores(process: u32, signal: u8) -> bool {
    let text = status_text(process);
    let mask = field(&text, "SigIgn").and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok());
    mask.is_some_and(|mask| {
        signal > 0 && mask.checked_shr(u32::from(signal) - 1).is_some_and(|mask| mask & 1 == 1)
    })
}

/// Returns the numbers in a field of the process's `status`.
pub(crate) fn status(process: u32, field: &str) -> Vec<u32> {
    numbers(&status_text(process), field)
}

fn status_text(process: u32) -> String {
    fs::read_to_string(format!("/proc/{process}/status")).unwrap_or_default()
}

pub(crate) fn resident(process: u32) -> Option<u64> {
    status(process, "VmRSS").first().copied().map(u64::from)
}

fn field<'s>(status: &'s str, name: &str) -> Option<&'s str> {
    status.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'))
}

fn numbers(status: &str, name: &str) -> Vec<u32> {
    let words = field(status, name).into_iter().flat_map(str::split_ascii_whitespace);
    words.map_while(|word| word.parse().ok()).collect()
}

/// Returns whether a process is known to be a stranger: neither this process nor one that it has
/// started is among its ancestors. A process that is gone is a stranger, because those that this
/// process has started keep their ids until it waits for them. Only Linux reports this.
pub(crate) fn is_stranger(process: u32) -> bool {
    if !cfg!(target_os = "linux") {
        return false;
    }
    let mut process = process;
    // A chain of parents ends. If it changes meanwhile, it is given up.
    for _ in 0..64 {
        match status(process, "PPid").first() {
            Some(parent) if *parent == std::process::id() => return false,
            None | Some(0 | 1) => return true,
            Some(parent) => process = *parent,
        }
    }
    false
}

/// Returns all processes that `/proc` shows.
#[cfg(target_os = "linux")]
pub(crate) fn processes() -> impl Iterator<Item = u32> {
    let names = fs::read_dir("/proc").into_iter().flatten();
    names.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok())
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    #[test]
    fn stat_is_read_after_the_name() {
        for (text, ended, group) in [
            ("12 (a) S 1 2", Some(false), 2),
            ("12 (a) Z 1 2", Some(true), 2),
            ("12 (a) Z) R 1 2", Some(false), 2),
            ("12 (a) R) X 0 0", Some(true), 0),
            ("", None, 0),
            ("12 (a)", None, 0),
        ] {
            let stat = Stat::read(text.as_bytes());
            assert_eq!(stat.as_ref().map(|stat| stat.has_ended), ended, "{text}");
            assert_eq!(stat.map_or(0, |stat| stat.group), group, "{text}");
        }
    }

    #[test]
    fn own_process_is_as_it_was_started() {
        let own = std::process::id();
        let words = arguments(own).unwrap();
        assert_eq!(words.len(), std::env::args_os().len());
        assert_eq!(user(own), Some(rustix::process::geteuid().as_raw()));
        let path = std::env::var_os("PATH").unwrap();
        let path = [b"PATH=", path.as_encoded_bytes()].concat();
        assert!(environment(own).unwrap().contains(&path));
        assert!(environment(u32::MAX).is_none() && user(u32::MAX).is_none());
        // Nobody can ignore SIGKILL.
        assert!(!ignores(own, 9) && !ignores(own, 0) && !ignores(own, u8::MAX));
    }

    #[test]
    fn status_has_several_ids_in_another_pid_namespace() {
        let text = "Name:\tPid: 3\nPid:\t4711\nPPid:\t12\nNSpid:\t4711\t1\nVmRSS:\t 640 kB\n";
        assert_eq!(numbers(text, "NSpid"), [4711, 1]);
        assert_eq!((numbers(text, "Pid"), numbers(text, "VmRSS")), (vec![4711], vec![640]));
        assert!(numbers(text, "NStgid").is_empty());
        let own = std::process::id();
        assert!(resident(own).is_some_and(|memory| memory > 500));
        assert!(resident(u32::MAX).is_none() && processes().any(|one| one == own));
    }
}
