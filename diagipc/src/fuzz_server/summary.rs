//! The results of a campaign.

use std::collections::BTreeMap;

use dotnet_diagnostics_ipc::command::Command;
use serde::Serialize;

use super::finding::Finding;
use super::verdict::CaseVerdict;
use crate::Interrupted;

/// The cases of one command.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Row {
    /// The command, from its message.
    pub command: String,
    /// How many cases had which verdict.
    pub verdicts: BTreeMap<CaseVerdict, u64>,
}

/// The results of a campaign.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct CampaignSummary {
    /// The version of the format: 1.
    pub format: u32,
    /// The address of the target.
    pub target: String,
    /// Its information about itself.
    pub runtime: Option<String>,
    /// The profile that explains findings.
    pub profile: Option<String>,
    /// The seed.
    pub seed: u64,
    /// The number of the first case.
    pub first: u64,
    /// How many cases were played.
    pub cases: u64,
    /// How often the target was started.
    pub starts: u64,
    /// By command, in the order of appearance.
    pub commands: Vec<Row>,
    /// The findings.
    pub findings: Vec<Finding>,
    /// Why it ended before the last case.
    pub lost: Option<String>,
    /// The canceller of its options ended it early. Then `lost` is `None`.
    pub interrupted: Option<Interrupted>,
}

impl CampaignSummary {
    pub(super) fn count(&mut self, command: Command, verdict: CaseVerdict) {
        self.cases += 1;
        let command = format!("{command}");
        if !self.commands.iter().any(|row| row.command == command) {
            self.commands.push(Row { command: command.clone(), verdicts: BTreeMap::new() });
        }
        if let Some(row) = self.commands.iter_mut().find(|row| row.command == command) {
            let count = row.verdicts.entry(verdict).or_default();
            *count += 1;
        }
    }

    /// How many cases had this verdict.
    pub fn of(&self, verdict: CaseVerdict) -> u64 {
        self.commands.iter().filter_map(|row| row.verdicts.get(&verdict)).sum()
    }
}
