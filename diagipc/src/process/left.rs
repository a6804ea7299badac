//! The processes and mounts that the runs could not end, until they are reported.

use std::collections::BTreeMap;
use std::path::PathBuf;

/// The processes and mounts that are left of the runs and were not reported yet.
#[derive(Debug, Default)]
pub(super) struct Left {
    /// The processes that cannot be ended, by the reason.
    running: BTreeMap<String, Vec<u32>>,
    /// The mounts below a directory.
    mounted: Vec<PathBuf>,
}

impl Left {
    pub(super) const NOTHING: Self = Self { running: BTreeMap::new(), mounted: Vec::new() };

    pub(super) fn running(&mut self, number: u32, reason: &dyn ToString) {
        self.running.entry(reason.to_string()).or_default().push(number);
    }

    pub(super) fn mounted(&mut self, paths: impl IntoIterator<Item = PathBuf>) {
        self.mounted.extend(paths);
    }

    pub(super) fn sentences(self) -> Vec<String> {
        let running = self.running.into_iter().map(|(reason, numbers)| {
            let words = if numbers.len() == 1 { "process" } else { "processes" };
            let numbers: Vec<_> = numbers.iter().map(u32::to_string).collect();
            format!("{words} {} cannot be ended: {reason}", numbers.join(", "))
        });
        let mounted = self.mounted.into_iter().map(|path| {
            format!("{} is a mount, and was left with what it contains", path.display())
        });
        running.chain(mounted).collect()
    }
}
