//! The results of a campaign.

use std::collections::{BTreeMap, BTreeSet};

use dotnet_diagnostics_ipc::command::Command;
use serde::Serialize;

use super::finding::Finding;
use super::mutation::NO_COMMANDS;
use super::verdict::CaseVerdict;
use crate::{Case, CaseFault, Grade, Interrupted, Report};

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
    /// The numbers of the findings that are accepted ([`accept`](Self::accept)).
    pub accepted: Vec<u32>,
    /// Accepted faults and commands that do not exist.
    pub stale: Vec<String>,
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

    /// The findings as failed cases: one for each cause and command, with the command as its name.
    ///
    /// ```
    /// use diagipc::fuzz::CampaignSummary;
    ///
    /// assert!(CampaignSummary::case_names().contains("Process/ProcessInfo"));
    /// ```
    pub fn report(&self) -> Report {
        let mut report = Report::new("fuzz-server", &self.target);
        for member in self.findings.iter().flat_map(Finding::members) {
            let command = member.command().to_string();
            let text = member.to_string();
            let mut case = Case::new(&command, &command, &command, &text, Grade::Fail);
            case.faults.push(CaseFault::new(&member.cause(), &text));
            report.add(case);
        }
        report
    }

    /// The names that its cases may have.
    pub fn case_names() -> BTreeSet<String> {
        let unknown = NO_COMMANDS.into_iter().map(Command::from_code);
        Command::known().chain(unknown).map(|command| command.to_string()).collect()
    }

    /// Takes over what is accepted in the same [`report`](Self::report).
    pub fn accept(&mut self, report: &Report) {
        let is_accepted = |member: &Finding| {
            let (command, cause) = (member.command().to_string(), member.cause());
            let shows_it = |case: &&Case| {
                case.name == command && case.faults.iter().any(|fault| fault.name == cause)
            };
            report.cases.iter().filter(shows_it).all(|case| case.grade != Grade::Fail)
        };
        let all_accepted = |finding: &&Finding| finding.members().all(is_accepted);
        self.accepted =
            self.findings.iter().filter(all_accepted).map(|finding| finding.number).collect();
        self.stale.clone_from(&report.stale);
    }

    /// The findings that are not accepted.
    pub fn failures(&self) -> impl Iterator<Item = &Finding> {
        self.findings.iter().filter(|finding| !self.accepted.contains(&finding.number))
    }

    /// How many cases had this verdict.
    pub fn of(&self, verdict: CaseVerdict) -> u64 {
        self.commands.iter().filter_map(|row| row.verdicts.get(&verdict)).sum()
    }
}
