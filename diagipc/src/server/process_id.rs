//! The process of a target, and whether a reported process id is right.

use dotnet_diagnostics_ipc::advertise::Advertise;

use crate::network::Peer;

/// What is known of a target's process.
#[derive(Clone, Debug, Default)]
pub(super) struct TargetProcess {
    /// The id in the name of its socket or pipe, written by the process itself.
    pub(super) named: Option<u32>,
    /// The system's information on the other end of its connections.
    pub(super) peer: Peer,
}

impl TargetProcess {
    /// Its advertise at the port through which it is reached.
    pub(super) fn advertise(&self) -> Option<Advertise> {
        self.peer.advertise()
    }

    /// The expected id instead of `said`; `None` if it is right, or unknown.
    pub(super) fn expected_in_place_of(&self, said: u64) -> Option<String> {
        if self.named.is_some_and(|named| u64::from(named) == said) {
            return None;
        }
        match (ids_of(&self.peer), self.named) {
            (Some(process), _)
                if process.ids.iter().any(|id| u64::from(*id) == said) || process.is_kin(said) =>
            {
                None
            }
            (Some(process), _) => {
                let ids: Vec<String> = process.ids.iter().map(|id| format!("{id}")).collect();
                Some(format!("{}, the id of the listening process", ids.join(" or ")))
            }
            (None, Some(named)) => Some(format!("{named}, as in the name of its endpoint")),
            (None, None) => None,
        }
    }

    /// Why process ids cannot be compared, if so.
    pub(super) fn unknown(&self) -> Option<&'static str> {
        (self.named.is_none() && ids_of(&self.peer).is_none()).then_some(
            "processId was not checked: the process of the target, or its own id, is unknown here",
        )
    }
}

/// The ids of a process: ours first, then those of its pid namespaces, its own last.
struct Process {
    ids: Vec<u32>,
}

#[cfg(target_os = "linux")]
fn ids_of(peer: &Peer) -> Option<Process> {
    Some(Process { ids: linux::ids(peer.process_id()?) }).filter(|process| !process.ids.is_empty())
}

#[cfg(not(target_os = "linux"))]
fn ids_of(peer: &Peer) -> Option<Process> {
    peer.process_id().map(|id| Process { ids: [id].into() })
}

impl Process {
    /// Whether `said` is a descendant of this process, or in its process group: a server may listen
    /// in one process and serve in another.
    #[cfg(target_os = "linux")]
    fn is_kin(&self, said: u64) -> bool {
        let (Some(first), Ok(said)) = (self.ids.first(), u32::try_from(said)) else { return false };
        linux::is_kin(*first, said)
    }

    #[cfg(not(target_os = "linux"))]
    #[allow(clippy::unused_self, reason = "on Linux the system is asked")]
    const fn is_kin(&self, _: u64) -> bool {
        false
    }
}

#[cfg(target_os = "linux")]
mod linux {
    use std::collections::BTreeMap;

    use crate::process::procfs::{self, Stat};

    /// Those of a process that lives, in our pid namespace first.
    pub(super) fn ids(process: u32) -> Vec<u32> {
        if !crate::network::lives(process) {
            return Vec::new();
        }
        // A kernel without pid namespaces has no `NSpid`.
        let ids = procfs::status(process, "NSpid");
        if ids.is_empty() { procfs::status(process, "Pid") } else { ids }
    }

    /// Whether a process that reports the id `said`, in its own pid namespace or ours, descends
    /// from `id` or is in its group.
    pub(super) fn is_kin(id: u32, said: u32) -> bool {
        let parent = |id: u32| Some((id, procfs::status(id, "PPid").first().copied()?));
        let parents: BTreeMap<u32, u32> = procfs::processes().filter_map(parent).collect();
        let group_of = |id| Stat::of(id).map(|stat| stat.group).filter(|group| *group > 0);
        let group = group_of(id);
        parents.keys().filter(|other| ids(**other).contains(&said)).any(|other| {
            let descends = || {
                std::iter::successors(Some(*other), |id| parents.get(id).copied())
                    .any(|one| one == id)
            };
            (group.is_some() && group_of(*other) == group) || descends()
        })
    }

    #[cfg(test)]
    mod tests {
        use super::*;

        #[test]
        fn kin_includes_child_but_not_parent_of_other_group() {
            let ours = std::process::id();
            let mut child = std::process::Command::new("cat")
                .stdin(std::process::Stdio::piped())
                .spawn()
                .unwrap();
            assert!(is_kin(ours, child.id()) && !is_kin(ours, 1));
            let _ = child.kill();
            let _ = child.wait();
            assert!(!is_kin(ours, child.id()), "it has ended");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn process_id_in_name_is_expected_without_other_source() {
        let named = TargetProcess { named: Some(12), peer: Peer::default() };
        assert_eq!(named.expected_in_place_of(12), None);
        assert_eq!(named.expected_in_place_of(13).unwrap(), "12, as in the name of its endpoint");
        let unknown = TargetProcess::default();
        assert_eq!(
            (unknown.expected_in_place_of(13), unknown.unknown().is_some(), named.unknown()),
            (None, true, None)
        );
    }
}
