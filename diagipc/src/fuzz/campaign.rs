//! Plays the cases of a campaign. Findings are repeated, minimised and grouped by cause.

use std::collections::BTreeMap;
use std::num::NonZeroU32;
use std::thread;
use std::time::{Duration, Instant};

use dotnet_diagnostics_ipc::command::Command;
use dotnet_diagnostics_ipc::io::Canceller;

use super::case::{FuzzCase, Seeds};
use super::finding::{
    CampaignSummary, Finding, FindingCause, Growth, depends_on_the_request, may_be_known,
};
use super::minimise::minimise;
use super::play::{CaseVerdict, Observed, play};
use crate::faults::Fault;
use crate::known::Profile;
use crate::network::address::Address;
use crate::network::trust_policy;
use crate::process::procfs::resident;
use crate::server::survey::survey;
use crate::server::target::Target;
use crate::{Interrupted, server};

/// How many open connections a target may have before it is restarted; hundreds exhaust it (F-74).
const MAX_LEFT_OPEN: u32 = 100;
/// The number of windows with a single request that show whether it costs memory.
const WINDOWS: u32 = 4;
/// The growth in KiB that is not random with a single request.
const MIN_GROWTH_ALONE: u64 = 1 << 10;
/// The age at which a target has finished starting.
const STARTING_TIME: Duration = Duration::from_millis(500);

/// The options of a campaign.
#[derive(Clone, Debug)]
pub struct CampaignOptions {
    /// The seed of all cases.
    pub seed: u64,
    /// The number of the first case. To continue another campaign, use the one after its last case.
    pub first: u64,
    /// The number of cases.
    pub cases: u64,
    /// The maximum number of cases per second.
    pub rate: NonZeroU32,
    /// How long the target may take to answer a complete `ProcessInfo` before it counts as hanging.
    pub within: Duration,
    /// The maximum number of messages tried to minimise a finding, each with a new target.
    pub tries: u32,
    /// The profile that explains findings. `None` is the profile of the runtime that the target
    /// reports to be, if it behaves like that.
    pub profile: Option<Profile>,
    /// Ends the campaign early. The summary then says that it was interrupted, and how many cases
    /// were not played.
    pub canceller: Option<Canceller>,
}

impl CampaignOptions {
    fn is_cancelled(&self) -> bool {
        self.canceller.as_ref().is_some_and(Canceller::is_cancelled)
    }
}

/// Progress reports of a campaign.
#[derive(Clone, Copy, Debug)]
pub enum CampaignProgress<'n> {
    /// A case was played.
    Played(&'n FuzzCase, CaseVerdict),
    /// A new finding.
    Found(&'n Finding),
    /// A request of another command that leads to an existing finding.
    Further(&'n Finding),
}

/// Plays the cases against the target at `address`, one after another (F-75). Calls `progress` for
/// each.
///
/// This may kill, block or exhaust the target, or make it leak its memory, so use only your own.
///
/// ```
/// use std::num::NonZeroU32;
/// use std::time::Duration;
/// use diagipc::fuzz::{CampaignOptions, CampaignProgress, CaseVerdict, Delivery, Seeds, run};
/// use diagipc::known::Profile;
/// use diagipc::runtime::{Config, Misbehaviour, ReferenceRuntime};
/// use diagipc::{Address, embedded};
///
/// // A runtime that leaks memory when a ProcessInfo has a payload.
/// let directory = tempfile::tempdir()?;
/// let misbehaviours = vec![Misbehaviour::parse("echo-payload")?];
/// let config = Config { profile: Profile::CORECLR_8, misbehaviours, ..Config::new(directory.path().join("socket")) };
/// let runtime = ReferenceRuntime::start(config)?;
///
/// let rate = NonZeroU32::new(1000).expect("it is not 0");
/// let options = CampaignOptions { seed: 1, first: 1, cases: 30, rate, within: Duration::from_secs(5), tries: 0, profile: None, canceller: None };
/// let mut played = 0;
/// let summary = run(&Seeds::of(embedded::vectors()?), &Address::Socket(runtime.socket().into()), &options, &mut |progress| {
///     if let CampaignProgress::Played(case, _) = progress {
///         assert!(case.number <= 30 && (case.delivery != Delivery::Leave || case.steps().len() >= 3));
///         played += 1;
///     }
/// });
/// assert_eq!((played, summary.cases, &summary.lost), (30, 30, &None));
/// let leak = summary.findings.iter().find(|finding| finding.verdict() == CaseVerdict::Leaked).expect("there is one");
/// assert_eq!(leak.known.as_ref().map(|known| known.fact.as_str()), Some("F-71"));
/// assert_eq!(leak.script_file(options.within).scripts.len(), 1);
/// assert!(summary.commands.iter().any(|row| row.verdicts.contains_key(&CaseVerdict::Leaked)));
/// runtime.stop();
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn run(
    seeds: &Seeds,
    address: &Address,
    options: &CampaignOptions,
    progress: &mut dyn FnMut(CampaignProgress<'_>),
) -> CampaignSummary {
    let mut summary = CampaignSummary {
        format: 1,
        target: address.to_string(),
        seed: options.seed,
        first: options.first,
        ..CampaignSummary::default()
    };
    let ended = Campaign::start(address, options, &mut summary, progress)
        .and_then(|mut campaign| campaign.play_all(seeds));
    if options.is_cancelled() {
        let not_run = options.cases.saturating_sub(summary.cases);
        let not_run = usize::try_from(not_run).unwrap_or(usize::MAX);
        summary.interrupted = (not_run > 0).then_some(Interrupted { not_run });
    } else {
        summary.lost = ended.err();
    }
    summary
}

/// A running campaign, with its target and its results so far.
///
/// Every method that plays a case fails on cancellation, or if the target is lost.
struct Campaign<'c> {
    options: &'c CampaignOptions,
    target: Target,
    profile: Profile,
    /// The number of connections that the target has left open since its start.
    left_open: u32,
    /// How long a target started for one case is left alone before the case.
    delay: Duration,
    summary: &'c mut CampaignSummary,
    progress: &'c mut dyn FnMut(CampaignProgress<'_>),
}

impl<'c> Campaign<'c> {
    /// Asks the target about itself, and checks that it answers.
    fn start(
        address: &Address,
        options: &'c CampaignOptions,
        summary: &'c mut CampaignSummary,
        progress: &'c mut dyn FnMut(CampaignProgress<'_>),
    ) -> Result<Self, String> {
        let (within, canceller) = (options.within, options.canceller.as_ref());
        let mut target = Target::find(address, within, trust_policy(), canceller)?.started_often();
        let identity = target.identity()?;
        target.answers().map_err(|reason| format!("before the first case: {reason}"))?;
        // Only a target that is a runtime is excused by a runtime's known behaviour. As in the
        // server suite, the version in a reply is not enough to conclude that.
        let (profile, within) = (options.profile, Some(within));
        let asks =
            server::Options { profile, within, allow_harmful: true, ..server::Options::default() };
        let survey = survey(&mut target, false, &[], &asks)?;
        let profile = survey.profile;
        summary.runtime = identity.map(|identity| survey.runtime(&identity.version));
        summary.profile = Some(profile.to_string());
        summary.starts = u64::from(target.can_spawn());
        let delay = Duration::ZERO;
        Ok(Self { options, target, profile, left_open: 0, delay, summary, progress })
    }

    fn play_all(&mut self, seeds: &Seeds) -> Result<(), String> {
        let options = self.options;
        let pause = Duration::from_secs(1).checked_div(options.rate.get()).unwrap_or_default();
        let mut watch = MemoryWatch::default();
        for nth in 0..options.cases {
            let began = Instant::now();
            let number = options.first.checked_add(nth).filter(|_| !options.is_cancelled());
            let Some(case) = number.and_then(|number| seeds.case(options.seed, number)) else {
                break;
            };
            let observed = self.play(&case)?;
            self.summary.count(case.command(), observed.verdict);
            (self.progress)(CampaignProgress::Played(&case, observed.verdict));
            let growth =
                self.memory().and_then(|(process, memory)| watch.after(process, memory, &case));
            for seen in &observed.faults {
                self.take(&case, &observed, seen.fault)?;
            }
            if let Some((growth, most)) = growth {
                self.take_growth(growth, &most)?;
            }
            if observed.verdict.is_fatal() && !self.target.can_spawn() {
                let end = observed
                    .death
                    .map_or_else(|| observed.verdict.to_string(), |death| death.to_string());
                return Err(format!("the target no longer serves: {end}"));
            }
            thread::sleep(pause.saturating_sub(began.elapsed()));
        }
        Ok(())
    }

    /// Returns the target's process and its memory in KiB, if they are known.
    fn memory(&self) -> Option<(u32, u64)> {
        let process = self.target.process_id()?;
        Some((process, resident(process)?))
    }

    /// Plays a case. If this makes the target unusable, the next case gets a new one.
    fn play(&mut self, case: &FuzzCase) -> Result<Observed, String> {
        let observed = play(&mut self.target, self.profile, case, self.options.within)?;
        if self.options.is_cancelled() {
            // The target may not have had enough time to answer.
            return Err("the campaign was interrupted".to_owned());
        }
        self.left_open += u32::from(observed.verdict == CaseVerdict::LeftOpen);
        if observed.verdict.is_fatal() || self.left_open >= MAX_LEFT_OPEN {
            self.end_target();
        }
        Ok(observed)
    }

    /// Ends the target. The next case gets a new one, if it can be started.
    fn end_target(&mut self) {
        if self.target.end_shared() {
            self.left_open = 0;
            self.summary.starts += 1;
        }
    }

    /// Plays a case with a new target that is used for no other case.
    fn play_alone(&mut self, case: &FuzzCase) -> Result<Observed, String> {
        self.end_target();
        if !self.delay.is_zero() {
            let _ = self.target.shared()?;
            thread::sleep(self.delay);
        }
        self.play(case)
    }

    /// Plays a case repeatedly against a new target. Returns how much the target's memory grows, if
    /// it grows in each window.
    fn grows_alone(&mut self, case: &FuzzCase) -> Result<Option<Growth>, String> {
        self.end_target();
        let mut sizes = Vec::new();
        for _ in 0..=WINDOWS {
            for _ in 0..WINDOW {
                self.play(case)?;
            }
            sizes.extend(self.memory());
        }
        let &[(process, before), .., (_, after)] = sizes.as_slice() else { return Ok(None) };
        let is_one = sizes.iter().all(|(other, _)| *other == process);
        let grows = sizes.is_sorted_by(|(_, one), (_, next)| next > one);
        let growth = Growth { before, after, requests: u64::from(WINDOWS * WINDOW) };
        Ok((is_one && grows && after.saturating_sub(before) >= MIN_GROWTH_ALONE).then_some(growth))
    }

    fn take(&mut self, case: &FuzzCase, observed: &Observed, fault: Fault) -> Result<(), String> {
        let found = FindingCause::new(fault, observed.death, case);
        let findings = &mut self.summary.findings;
        let mut known = findings.iter_mut();
        if let Some(there) = known.find(|finding| finding.has(&found, case.command())) {
            there.times += 1;
            return Ok(());
        }
        let mut finding = Finding::new(findings, found, case);
        self.describe(&mut finding, observed);
        // A fault that any reply shows is not repeated for each command.
        let others = &self.summary.findings;
        if depends_on_the_request(fault) || !others.iter().any(|other| other.is_alike(&finding)) {
            let mut last = observed.clone();
            match self.repeat(&mut finding, &mut last) {
                // Findings before the interruption are kept as they are.
                Err(reason) if !self.options.is_cancelled() => return Err(reason),
                _ => {}
            }
            // A busy machine makes even a correct server slow.
            if finding.reproduced == Some(false) && !finding.verdict().is_fatal() {
                return Ok(());
            }
            finding.cause = FindingCause::new(fault, observed.death, &finding.minimised);
            self.describe(&mut finding, &last);
        }
        self.add(finding);
        Ok(())
    }

    /// Describes a finding by what its shortest case showed.
    fn describe(&self, finding: &mut Finding, observed: &Observed) {
        let fault = finding.cause.fault;
        let text = observed.text_of(fault).filter(|text| !text.is_empty());
        finding.text = text.map(str::to_owned).or(finding.text.take());
        finding.received = observed.received();
        finding.known = may_be_known(fault)
            .then(|| observed.explanation(self.profile, &finding.minimised))
            .flatten();
    }

    /// Adds a finding for the growth of the target's memory, and the case that contributed most.
    fn take_growth(&mut self, growth: Growth, case: &FuzzCase) -> Result<(), String> {
        let found = FindingCause::new(Fault::MemoryGrowth, None, case);
        let findings = &mut self.summary.findings;
        if let Some(there) = findings.iter_mut().find(|finding| finding.cause == found) {
            there.times += 1;
            return Ok(());
        }
        let mut finding = Finding::new(findings, found, case);
        finding.memory = Some(growth);
        if self.target.can_spawn() {
            match self.grows_alone(case) {
                Ok(alone) => {
                    finding.reproduced = Some(alone.is_some());
                    finding.memory = alone.or(finding.memory);
                }
                Err(reason) if !self.options.is_cancelled() => return Err(reason),
                Err(_) => {}
            }
        }
        self.add(finding);
        Ok(())
    }

    /// Merges a finding with the one that has the same cause, or appends it.
    fn add(&mut self, mut finding: Finding) {
        let findings = &mut self.summary.findings;
        let Some(there) = findings.iter_mut().find(|other| other.is_alike(&finding)) else {
            (self.progress)(CampaignProgress::Found(&finding));
            findings.push(finding);
            return;
        };
        there.times += 1;
        // Another command may lead to the same message.
        let command = finding.command();
        if there.command() == command {
            there.found.append(&mut finding.found);
        } else if let Some(member) = there.further.iter_mut().find(|one| one.command() == command) {
            member.found.append(&mut finding.found);
        } else {
            (self.progress)(CampaignProgress::Further(&finding));
            there.further.push(finding);
        }
    }

    /// Repeats the case of a finding, and minimises its message if the finding is reproduced.
    /// `last` is then set to the last observation.
    fn repeat(&mut self, finding: &mut Finding, last: &mut Observed) -> Result<(), String> {
        let cause = finding.cause.clone();
        let is_fatal = finding.verdict().is_fatal();
        if !self.target.can_spawn() {
            if !is_fatal {
                let again = self.play(&finding.case)?;
                finding.reproduced = (!cause.is_shown_by(&again)).then_some(false);
            }
            return Ok(());
        }
        // A runtime does some things only after it has run for a while.
        let delays = [Duration::ZERO, STARTING_TIME];
        for delay in delays.into_iter().take(if is_fatal { 2 } else { 1 }) {
            self.delay = delay;
            let again = self.play_alone(&finding.case)?;
            let shows = cause.is_shown_by(&again);
            finding.reproduced = Some(shows);
            if shows {
                *last = again;
                let tries = self.options.tries;
                (finding.minimised, finding.tries) =
                    minimise(&finding.case, tries, &mut |candidate| {
                        let observed = self.play_alone(candidate)?;
                        let shows = cause.is_shown_by(&observed);
                        if shows {
                            *last = observed;
                        }
                        Ok(shows)
                    })?;
                break;
            }
        }
        Ok(())
    }
}

/// The number of cases in a window. Its minimum counts, as memory was collected by then.
const WINDOW: u32 = 32;
/// The number of consecutive windows that must grow.
const GROWING_WINDOWS: usize = 3;
/// The growth in KiB that is not a finding, because a target may use it itself.
const MIN_GROWTH: u64 = 16 << 10;

/// Watches the memory of one target from its start to its end.
#[derive(Debug, Default)]
struct MemoryWatch {
    process: Option<u32>,
    last: Option<u64>,
    in_window: u32,
    least: Option<u64>,
    /// The minimum of each window. The first window is the target's own start.
    windows: Vec<u64>,
    /// For each command, its growth and the case that contributed most.
    by_command: BTreeMap<(u8, u8), (i128, u64, FuzzCase)>,
}

impl MemoryWatch {
    /// Records the memory of the target after `case`. Returns the growth, and the case that
    /// contributed most, once the growth exceeds what a server may use.
    fn after(&mut self, process: u32, memory: u64, case: &FuzzCase) -> Option<(Growth, FuzzCase)> {
        if self.process != Some(process) {
            *self = Self { process: Some(process), ..Self::default() };
        }
        let grown = i128::from(memory)
            .saturating_sub(i128::from(self.last.replace(memory).unwrap_or(memory)));
        // The first requests only warm up the server.
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

/// Returns the growth if it is without limit: each of the last three windows is above the one
/// before, and their total growth is more than half and more than a server may use.
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
        // The memory grew, and then stayed the same.
        assert_eq!(of(&[5, 10, 40, 60, 60, 60, 60]), None);
        // These do not grow by half, not by 16 MiB, only at the start, or in too few windows.
        assert_eq!(of(&[5, 100, 110, 120, 130]), None);
        assert_eq!(of(&[5, 10, 15, 20, 25]), None);
        assert_eq!(of(&[5, 100, 101, 102, 103]), None);
        assert_eq!(of(&[5, 10, 40, 70]), None);
    }

    #[test]
    fn growth_names_command_and_restarts_with_process() {
        let case = |id: u8| {
            let case = FuzzCase::of(b"DOTNET_IPC_V1\0\x14\0\x04", Delivery::Whole);
            FuzzCase { number: id.into(), base: Command { set: 4, id }, ..case }
        };
        let mut watch = MemoryWatch::default();
        let mut memory = 10 << 10;
        let mut found = None;
        for nth in 0..5 * WINDOW {
            // Every second request costs 1 MiB, and the others nothing.
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
