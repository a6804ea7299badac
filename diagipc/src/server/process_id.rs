//! The process of a target, and whether a reported process id is right.

use dotnet_diagnostics_ipc::advertise::Advertise;

use crate::networks::Peer;

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
    let status = linux::Status::of(peer.process_id()?)?;
    Some(Process { ids: status.ids })
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
    use std::fs;

    /// The `/proc/PID/status` of a live process.
    pub(super) struct Status {
        /// In our pid namespace first.
        pub(super) ids: Vec<u32>,
        parent: u32,
    }

    impl Status {
        pub(super) fn of(id: u32) -> Option<Self> {
            if !crate::networks::process::lives(id) {
                return None;
            }
            Self::read(&String::from_utf8_lossy(&fs::read(format!("/proc/{id}/status")).ok()?))
        }

        fn read(text: &str) -> Option<Self> {
            let numbers = |name: &str| -> Option<Vec<u32>> {
                let line = text.lines().find_map(|line| line.strip_prefix(name))?;
                line.split_ascii_whitespace().map(|number| number.parse().ok()).collect()
            };
            // A kernel without pid namespaces has no `NSpid`.
            let ids =
                numbers("NSpid:").or_else(|| numbers("Pid:")).filter(|ids| !ids.is_empty())?;
            Some(Self { ids, parent: numbers("PPid:")?.first().copied()? })
        }
    }

    /// Whether a process that reports the id `said`, in its own pid namespace or ours, descends
    /// from `id` or is in its group.
    pub(super) fn is_kin(id: u32, said: u32) -> bool {
        let Ok(entries) = fs::read_dir("/proc") else { return false };
        let ids = entries.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse::<u32>().ok());
        let all: BTreeMap<u32, Status> = ids.filter_map(|id| Some((id, Status::of(id)?))).collect();
        let group = group_of(id);
        all.iter().filter(|(_, status)| status.ids.contains(&said)).any(|(other, _)| {
            let descends = || {
                std::iter::successors(Some(*other), |id| all.get(id).map(|status| status.parent))
                    .any(|one| one == id)
            };
            (group.is_some() && group_of(*other) == group) || descends()
        })
    }

    /// Its process group; `None` if that is in another pid namespace.
    fn group_of(id: u32) -> Option<u32> {
        let stat =
            String::from_utf8_lossy(&fs::read(format!("/proc/{id}/stat")).ok()?).into_owned();
        // After the name, which may contain anything: the state, the parent, the group.
        let (_, behind) = stat.rsplit_once(')')?;
        behind.split_ascii_whitespace().nth(2)?.parse().ok().filter(|group| *group > 0)
    }

    #[cfg(test)]
    mod tests {
        use super::*;

        #[test]
        fn process_in_another_pid_namespace_has_several_ids() {
            let status =
                Status::read("Name:\tserver\nPid:\t4711\nPPid:\t12\nNSpid:\t4711\t1\n").unwrap();
            assert_eq!((status.ids, status.parent), ([4711, 1].into(), 12));
            assert_eq!(Status::read("Pid:\t4711\nPPid:\t12\n").unwrap().ids, [4711]);
            assert!(Status::read("Name:\tPid: 3\n").is_none());
        }

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
