//! Processes whose parent has ended. On Linux they become children of this process.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;
use std::{fs, io};

use rustix::process::{
    Pid, Signal, WaitId, WaitIdOptions, getpgid, getpid, kill_process, set_child_subreaper, waitid,
};

use super::left::Left;
use super::unix::UnixProcess;
use crate::process::procfs;

/// The orphans that this process has adopted.
pub(super) struct Orphans {
    /// Earlier children of this process, such as those of a shell that has become this program.
    before: BTreeSet<u32>,
    /// Orphans that were killed, but not waited for.
    killed: BTreeSet<u32>,
    /// Orphans that the system refuses to kill.
    refused: BTreeSet<u32>,
    /// How many of each name were killed outside the process group of their program.
    ended: BTreeMap<String, usize>,
}

impl Orphans {
    /// Makes this process adopt orphans from now on.
    pub(super) fn adopted() -> io::Result<Self> {
        set_child_subreaper(Some(getpid()))?;
        Ok(Self {
            before: children().into_iter().collect(),
            killed: BTreeSet::new(),
            refused: BTreeSet::new(),
            ended: BTreeMap::new(),
        })
    }

    /// Waits for orphans that have ended, and kills the orphans of one process, or all.
    /// `is_started` recognises a child that is not an orphan. Returns whether killed orphans are
    /// still running. Orphans that the system does not let this process kill are noted in `left`.
    ///
    /// The children of an orphan become orphans when it ends, so call this until it returns false.
    pub(super) fn end(
        &mut self,
        of: Option<&UnixProcess>,
        is_started: &dyn Fn(u32) -> bool,
        left: &mut Left,
    ) -> bool {
        let mut still = false;
        for number in children() {
            let Some(pid) = i32::try_from(number).ok().and_then(Pid::from_raw) else { continue };
            if is_started(number) || self.before.contains(&number) {
                continue;
            }
            // An orphan is waited for only here, so its number stays its own until then.
            let ended = waitid(WaitId::Pid(pid), WaitIdOptions::EXITED | WaitIdOptions::NOHANG);
            if !matches!(ended, Ok(None)) {
                self.killed.remove(&number);
                self.refused.remove(&number);
                continue;
            }
            let is_of_group = of.is_some_and(|of| getpgid(Some(pid)) == Ok(of.pid));
            let is_its_own = of.is_none_or(|of| {
                let tmpdir = of.tmpdir.as_deref();
                is_of_group || tmpdir.is_some_and(|tmpdir| is_in_environment(number, tmpdir))
            });
            if is_its_own && !self.killed.contains(&number) && !self.refused.contains(&number) {
                let name = procfs::name(number);
                if let Err(error) = kill_process(pid, Signal::KILL) {
                    self.refused.insert(number);
                    left.running(number, &io::Error::from(error));
                    continue;
                }
                self.killed.insert(number);
                if !is_of_group {
                    *self.ended.entry(name).or_default() += 1;
                }
            }
            still |= self.killed.contains(&number);
        }
        still
    }

    /// Returns a sentence about the orphans ended so far, and forgets them.
    pub(super) fn take_ended(&mut self) -> Option<String> {
        let ended = std::mem::take(&mut self.ended);
        let all = ended.values().sum::<usize>();
        let names: Vec<_> = ended.iter().map(|(name, count)| format!("{name} ({count})")).collect();
        (all > 0).then(|| {
            let processes = if all == 1 { "process that was" } else { "processes that were" };
            format!(
                "{all} {processes} outside the process group of the started program ran on after its end, and got killed: {}",
                names.join(", ")
            )
        })
    }
}

/// Returns the children of this process's main thread. They include orphans, and children of
/// threads that have ended; the suites start all others.
fn children() -> Vec<u32> {
    // Without CONFIG_PROC_CHILDREN there is no such file, and orphans run on.
    let list = fs::read_to_string(format!("/proc/self/task/{}/children", std::process::id()));
    list.unwrap_or_default().split_whitespace().filter_map(|word| word.parse().ok()).collect()
}

/// Returns whether a variable of a process names this directory, with or without a separator at its
/// end. A process that has ended has no variables.
pub(super) fn is_in_environment(number: u32, directory: &Path) -> bool {
    procfs::environment(number).unwrap_or_default().iter().any(|entry| {
        let mut parts = entry.splitn(2, |byte| *byte == b'=');
        parts.nth(1).is_some_and(|value| Path::new(OsStr::from_bytes(value)) == directory)
    })
}
