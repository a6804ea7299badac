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
    /// Children that this process had before, such as those of a shell that has become this
    /// program.
    before: BTreeSet<u32>,
    /// Killed, and not waited for.
    killed: BTreeSet<u32>,
    /// Not killed, since the system refuses it.
    refused: BTreeSet<u32>,
    /// How many of each name were killed outside the group of what had started them.
    ended: BTreeMap<String, usize>,
}

impl Orphans {
    /// From now on this process adopts them.
    pub(super) fn adopted() -> io::Result<Self> {
        set_child_subreaper(Some(getpid()))?;
        Ok(Self {
            before: children().into_iter().collect(),
            killed: BTreeSet::new(),
            refused: BTreeSet::new(),
            ended: BTreeMap::new(),
        })
    }

    /// Waits for those that have ended, and kills those of a process, or all. `is_started`: a child
    /// that is not an orphan. Whether some killed ones are still running; those that the system does
    /// not let this process kill are noted in `left`.
    ///
    /// Their own children become orphans when they end: it must be called until it returns false.
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
            // Only here an orphan is waited for: until then its number is its own.
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

    /// Takes a sentence about the orphans ended so far.
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

/// The children of this process. Those of a thread that has ended, and orphans, are those of the
/// main thread; all others are started by the suites.
fn children() -> Vec<u32> {
    // Without CONFIG_PROC_CHILDREN there is no such file, and orphans run on.
    let list = fs::read_to_string(format!("/proc/self/task/{}/children", std::process::id()));
    list.unwrap_or_default().split_whitespace().filter_map(|word| word.parse().ok()).collect()
}

/// Whether a variable of a process names this directory, with or without a separator at its end. A
/// process that has ended has none.
pub(super) fn is_in_environment(number: u32, directory: &Path) -> bool {
    procfs::environment(number).unwrap_or_default().iter().any(|entry| {
        let mut parts = entry.splitn(2, |byte| *byte == b'=');
        parts.nth(1).is_some_and(|value| Path::new(OsStr::from_bytes(value)) == directory)
    })
}
