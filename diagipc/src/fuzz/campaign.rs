//! Plays case after case, and makes findings of the failures.

use std::thread;
use std::time::{Duration, Instant};

use dotnet_diagnostics_ipc::io::trust::TrustPolicy;

use super::bases::Bases;
use super::case::FuzzCase;
use super::finding::Finding;
use super::findings::{New, take, take_growth};
use super::memory::Watch;
use super::options::Options;
use super::stage::Stage;
use super::summary::CampaignSummary;
use super::verdict::CaseVerdict;
use crate::Interrupted;
use crate::network::address::Address;
use crate::server::target::Target;

/// Progress reports of a campaign.
#[derive(Clone, Copy, Debug)]
pub enum CampaignProgress<'n> {
    /// A case was played.
    Played(&'n FuzzCase, CaseVerdict),
    /// A new finding.
    Found(&'n Finding),
    /// Another command leads to an existing finding: this is its request.
    Further(&'n Finding),
}

/// Plays the cases against the target at `place`, one after another (F-75). `news` is called for
/// each.
///
/// This may kill, block or exhaust the target, or make it leak its memory: it must be yours.
///
/// ```
/// use std::num::NonZeroU32;
/// use std::time::Duration;
/// use diagipc::fuzz::{Bases, CampaignProgress, CaseVerdict, Delivery, Options, run};
/// use diagipc::known::Profile;
/// use diagipc::runtime::{Config, Misbehaviour, ReferenceRuntime};
/// use diagipc::{Address, embedded};
///
/// // A runtime that answers a ProcessInfo with a payload by its memory.
/// let directory = tempfile::tempdir()?;
/// let misbehaviours = vec![Misbehaviour::parse("echo-payload")?];
/// let config = Config { profile: Profile::CORECLR_8, misbehaviours, ..Config::new(directory.path().join("socket")) };
/// let runtime = ReferenceRuntime::start(config)?;
///
/// let rate = NonZeroU32::new(1000).expect("it is not 0");
/// let options = Options { seed: 1, first: 1, cases: 30, rate, within: Duration::from_secs(5), tries: 0, profile: None, canceller: None };
/// let mut played = 0;
/// let summary = run(&Bases::of(embedded::vectors()?), &Address::Socket(runtime.socket().into()), &options, &mut |news| {
///     if let CampaignProgress::Played(case, _) = news {
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
    bases: &Bases,
    address: &Address,
    options: &Options,
    news: &mut dyn FnMut(CampaignProgress<'_>),
) -> CampaignSummary {
    let summary = CampaignSummary {
        format: 1,
        target: address.to_string(),
        runtime: None,
        profile: None,
        seed: options.seed,
        first: options.first,
        cases: 0,
        starts: 0,
        commands: Vec::new(),
        findings: Vec::new(),
        accepted: Vec::new(),
        stale: Vec::new(),
        lost: None,
        interrupted: None,
    };
    let subject = match Target::find(
        address,
        options.within,
        TrustPolicy::CHECKED,
        options.canceller.as_ref(),
    ) {
        Ok(subject) => subject.started_often(),
        Err(_) if options.is_cancelled() => {
            return CampaignSummary { interrupted: not_played(options, 0), ..summary };
        }
        Err(reason) => return CampaignSummary { lost: Some(reason), ..summary },
    };
    let mut stage = match Stage::survey(subject, options) {
        Ok(stage) => stage,
        Err(_) if options.is_cancelled() => {
            return CampaignSummary { interrupted: not_played(options, 0), ..summary };
        }
        Err(reason) => return CampaignSummary { lost: Some(reason), ..summary },
    };
    let (runtime, profile) = (stage.runtime.clone(), Some(stage.profile.to_string()));
    let mut summary = CampaignSummary { runtime, profile, ..summary };
    let ended = play_all(bases, &mut stage, &mut summary, news);
    summary.starts = stage.starts;
    if options.is_cancelled() {
        summary.interrupted = not_played(options, summary.cases);
    } else if let Err(reason) = ended {
        summary.lost = Some(reason);
    }
    summary
}

/// This many cases were played; `None` if these are all.
fn not_played(options: &Options, played: u64) -> Option<Interrupted> {
    let not_run = usize::try_from(options.cases.saturating_sub(played)).unwrap_or(usize::MAX);
    (not_run > 0).then_some(Interrupted { not_run })
}

fn play_all(
    bases: &Bases,
    stage: &mut Stage<'_>,
    summary: &mut CampaignSummary,
    news: &mut dyn FnMut(CampaignProgress<'_>),
) -> Result<(), String> {
    let options = stage.options;
    let pause = Duration::from_secs(1).checked_div(options.rate.get()).unwrap_or_default();
    let mut watch = Watch::default();
    for nth in 0..options.cases {
        if options.is_cancelled() {
            break;
        }
        let began = Instant::now();
        let Some(case) =
            options.first.checked_add(nth).and_then(|number| bases.case(options.seed, number))
        else {
            break;
        };
        let observed = stage.play(&case)?;
        summary.count(case.command(), observed.verdict);
        news(CampaignProgress::Played(&case, observed.verdict));
        let growth =
            stage.memory().and_then(|(process, memory)| watch.after(process, memory, &case));
        let findings = &mut summary.findings;
        for seen in &observed.faults {
            let new = take(findings, stage, &case, &observed, seen.fault)?;
            tell(findings, new, news);
        }
        if let Some((growth, most)) = growth {
            let new = take_growth(findings, stage, growth, &most)?;
            tell(findings, new, news);
        }
        if observed.verdict.is_fatal() && !stage.can_spawn() {
            return Err(format!("the target no longer serves: {}", observed.end()));
        }
        thread::sleep(pause.saturating_sub(began.elapsed()));
    }
    Ok(())
}

fn tell(findings: &[Finding], new: New, news: &mut dyn FnMut(CampaignProgress<'_>)) {
    let progress = match new {
        New::Nothing => None,
        New::Finding(index) => findings.get(index).map(CampaignProgress::Found),
        New::Further(index) => findings
            .get(index)
            .and_then(|finding| finding.further.last())
            .map(CampaignProgress::Further),
    };
    progress.into_iter().for_each(news);
}
