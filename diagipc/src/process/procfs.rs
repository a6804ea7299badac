//! What `/proc` says of a process. Where there is none, or it hides the processes of others: nothing.
//!
//! ```
//! let own = std::process::id();
//! let words = diagipc::process::procfs::arguments(own);
//! assert!(words.is_none_or(|words| !words.is_empty()));
//! ```

use std::fs;

#[cfg(unix)]
use dotnet_diagnostics_ipc::endpoint::ProcessStat;

/// The numbers of its `stat` that follow its name.
#[cfg(unix)]
pub(crate) struct Stat {
    /// It is a zombie, or about to disappear.
    pub(crate) has_ended: bool,
    /// The process group; 0 if that is in another pid namespace.
    #[cfg_attr(not(target_os = "linux"), allow(dead_code, reason = "only Linux has orphans"))]
    pub(crate) group: u32,
    /// In jiffies since boot: with its number it is unique.
    pub(crate) start_time: Option<u64>,
}

#[cfg(unix)]
impl Stat {
    pub(crate) fn of(process: u32) -> Option<Self> {
        Self::read(&fs::read(format!("/proc/{process}/stat")).ok()?)
    }

    /// The name may contain anything, parentheses too.
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

/// The words of its command line.
pub fn arguments(process: u32) -> Option<Vec<Vec<u8>>> {
    list(process, "cmdline")
}

/// The variables that it was started with: `NAME=value`.
pub fn environment(process: u32) -> Option<Vec<Vec<u8>>> {
    list(process, "environ")
}

/// Each has a NUL at its end.
fn list(process: u32, name: &str) -> Option<Vec<Vec<u8>>> {
    let bytes = fs::read(format!("/proc/{process}/{name}")).ok()?;
    let bytes = bytes.strip_suffix(b"\0").unwrap_or(&bytes);
    Some(bytes.split(|byte| *byte == 0).map(<[u8]>::to_vec).collect())
}

/// The name of its program.
#[cfg(target_os = "linux")]
pub(crate) fn name(process: u32) -> String {
    let name = fs::read(format!("/proc/{process}/comm")).unwrap_or_default();
    String::from_utf8_lossy(&name).trim_end().into()
}

/// As which user it runs: not the owner of its files there, which is root if it is privileged.
pub fn user(process: u32) -> Option<u32> {
    // Real, effective, saved, of the file system.
    status(process, "Uid").get(1).copied()
}

/// Whether it was started with this signal ignored.
pub fn ignores(process: u32, signal: u8) -> bool {
    let text = status_text(process);
    let mask = field(&text, "SigIgn").and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok());
    mask.is_some_and(|mask| {
        signal > 0 && mask.checked_shr(u32::from(signal) - 1).is_some_and(|mask| mask & 1 == 1)
    })
}

/// The numbers of a field of its `status`.
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

/// Whether a process is known to run for somebody else: neither this process nor one that it has
/// started is among its ancestors. One that is gone is, as those that this process has started keep
/// their ids until it has waited for them. Only Linux tells.
pub(crate) fn is_stranger(process: u32) -> bool {
    if !cfg!(target_os = "linux") {
        return false;
    }
    let mut process = process;
    // A chain has an end; one that changes meanwhile is given up.
    for _ in 0..64 {
        match status(process, "PPid").first() {
            Some(parent) if *parent == std::process::id() => return false,
            None | Some(0 | 1) => return true,
            Some(parent) => process = *parent,
        }
    }
    false
}

/// All that it shows.
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
