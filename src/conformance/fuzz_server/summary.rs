//! What a campaign came to.

use alloc::{collections::BTreeMap, format, string::String, vec::Vec};

use serde::Serialize;

use super::finding::Finding;
use super::verdict::CaseVerdict;
use crate::command::Command;
use crate::conformance::Interrupted;

/// The cases of one command.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Row {
    /// The command, as its message says.
    pub command: String,
    /// How many cases came to what.
    pub verdicts: BTreeMap<CaseVerdict, u64>,
}

/// What a campaign came to.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct CampaignSummary {
    /// 1.
    pub format: u32,
    /// Where the target is.
    pub target: String,
    /// What it says it is.
    pub runtime: Option<String>,
    /// By what profile something is known.
    pub profile: Option<String>,
    /// The seed.
    pub seed: u64,
    /// The number of the first case.
    pub first: u64,
    /// How many cases were played.
    pub cases: u64,
    /// How often the target was started.
    pub starts: u64,
    /// By command, in the order in which they first came.
    pub commands: Vec<Row>,
    /// What was found.
    pub findings: Vec<Finding>,
    /// Why it ended before the last case.
    pub lost: Option<String>,
    /// That it was ended early by the canceller of its options. Then `lost` is `None`.
    pub interrupted: Option<Interrupted>,
}

impl CampaignSummary {
    pub(super) fn count(&mut self, command: Command, verdict: CaseVerdict) {
        self.cases = self.cases.saturating_add(1);
        let command = format!("{command}");
        if !self.commands.iter().any(|row| row.command == command) {
            self.commands.push(Row { command: command.clone(), verdicts: BTreeMap::new() });
        }
        if let Some(row) = self.commands.iter_mut().find(|row| row.command == command) {
            let count = row.verdicts.entry(verdict).or_default();
            *count = count.saturating_add(1);
        }
    }

    /// How many cases came to this.
    pub fn of(&self, verdict: CaseVerdict) -> u64 {
        self.commands.iter().filter_map(|row| row.verdicts.get(&verdict)).sum()
    }
}
