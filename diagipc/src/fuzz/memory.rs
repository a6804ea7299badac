//! The target's memory, and whether it grows with each request.

use std::collections::BTreeMap;
use std::fmt;

use dotnet_diagnostics_ipc::command::Command;
use serde::Serialize;

use super::case::FuzzCase;

/// This many cases are one window, whose minimum counts: a garbage collection has happened by then.
pub(super) const WINDOW: u32 = 32;
/// This many windows in a row must grow.
const GROWING_WINDOWS: usize = 3;
/// What a target may use itself, in KiB.
const MIN_GROWTH: u64 = 16 << 10;

/// How the memory of a target grew. In KiB, as `VmRSS` of `/proc/PID/status`.
///
/// ```
/// use diagipc::fuzz::Growth;
///
/// let growth = Growth { before: 10_240, after: 42_240, requests: 128 };
/// assert_eq!(growth.to_string(), "its memory grew from 10240 to 42240 KiB in 128 requests, 250 KiB each");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Growth {
    /// The memory when it was warm.
    pub before: u64,
    /// The memory afterwards.
    pub after: u64,
    /// The requests in between.
    pub requests: u64,
}

impl fmt::Display for Growth {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { before, after, requests } = self;
        let each = after.saturating_sub(*before).checked_div(*requests).unwrap_or_default();
        write!(
            f,
            "its memory grew from {before} to {after} KiB in {requests} requests, {each} KiB each"
        )
    }
}

/// Watches one target from its start to its end.
#[derive(Debug, Default)]
pub(super) struct MemoryWatch {
    process: Option<u32>,
    last: Option<u64>,
    in_window: u32,
    least: Option<u64>,
    /// The minimum of each window. The first one is the target's own start.
    windows: Vec<u64>,
    /// By command: its growth, and the case with most of it.
    by_command: BTreeMap<(u8, u8), (i128, u64, FuzzCase)>,
}

impl MemoryWatch {
    /// Records the memory of the target after `case`. The growth, and the case with most of it,
    /// once it exceeds what a server may use.
    pub(super) fn after(
        &mut self,
        process: u32,
        memory: u64,
        case: &FuzzCase,
    ) -> Option<(Growth, FuzzCase)> {
        if self.process != Some(process) {
            *self = Self { process: Some(process), ..Self::default() };
        }
        let grown = i128::from(memory)
            .saturating_sub(i128::from(self.last.replace(memory).unwrap_or(memory)));
        // The first requests warm up the server.
        if !self.windows.is_empty() {
            self.count(case, grown);
        }
        self.least = Some(self.least.map_or(memory, |least| least.min(memory)));
        self.in_window += 1;
        if self.in_window < WINDOW {
            return None;
        }
        self.in_window = 0;
        self.windows.extend(self.least.take());
        let growth = growth(&self.windows)?;
        let (_, _, most) = self.by_command.values().max_by_key(|(grown, ..)| *grown)?;
        Some((growth, most.clone()))
    }

    fn count(&mut self, case: &FuzzCase, grown: i128) {
        let Command { set, id } = case.command();
        let most = u64::try_from(grown).unwrap_or_default();
        let (sum, largest, example) =
            self.by_command.entry((set, id)).or_insert_with(|| (0, most, case.clone()));
        *sum += grown;
        if most > *largest {
            (*largest, *example) = (most, case.clone());
        }
    }
}

/// Whether the windows after the first grow without limit: the last three each more than the one
/// before, and in total by half, and by more than a server may use.
fn growth(windows: &[u64]) -> Option<Growth> {
    let warm = windows.get(1..)?;
    let (before, after) = (*warm.first()?, *warm.last()?);
    let last = warm.get(warm.len().checked_sub(GROWING_WINDOWS + 1)?..)?;
    let grows = last.is_sorted_by(|one, next| next > one);
    let requests = u64::try_from(warm.len().saturating_sub(1)).ok()?.saturating_mul(WINDOW.into());
    let exceeds = after.saturating_sub(before) >= MIN_GROWTH.max(before / 2);
    (grows && exceeds).then_some(Growth { before, after, requests })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fuzz::Delivery;

    #[test]
    fn growth_is_steady_and_above_own_use() {
        let mib = |sizes: &[u64]| sizes.iter().map(|size| size << 10).collect::<Vec<_>>();
        let of = |sizes: &[u64]| {
            growth(&mib(sizes))
                .map(|growth| (growth.before >> 10, growth.after >> 10, growth.requests))
        };
        assert_eq!(of(&[5, 10, 16, 22, 28]), Some((10, 28, 96)));
        // It grew, and stays.
        assert_eq!(of(&[5, 10, 40, 60, 60, 60, 60]), None);
        // Not by half; not by 16 MiB; at its start; too few.
        assert_eq!(of(&[5, 100, 110, 120, 130]), None);
        assert_eq!(of(&[5, 10, 15, 20, 25]), None);
        assert_eq!(of(&[5, 100, 101, 102, 103]), None);
        assert_eq!(of(&[5, 10, 40, 70]), None);
    }

    #[test]
    fn growth_names_command_and_restarts_with_process() {
        let case = |id: u8| FuzzCase {
            number: id.into(),
            tc_id: 1,
            base: Command { set: 4, id },
            mutations: Vec::new(),
            message: Vec::from(*b"DOTNET_IPC_V1\0\x14\0\x04"),
            delivery: Delivery::Whole,
        };
        let mut watch = MemoryWatch::default();
        let mut memory = 10 << 10;
        let mut found = None;
        for nth in 0..5 * WINDOW {
            // Each second request costs 1 MiB, and the others nothing.
            memory += if nth % 2 == 0 { 1 << 10 } else { 0 };
            found = watch.after(7, memory, &case(if nth % 2 == 0 { 3 } else { 1 }));
        }
        let (growth, most) = found.expect("it grows");
        assert_eq!((growth.requests, most.number), (96, 3));
        assert_eq!((growth.after - growth.before) >> 10, 48);
        assert_eq!(watch.after(8, memory, &case(3)), None);
        assert_eq!(watch.windows.len(), 0);
    }
}
