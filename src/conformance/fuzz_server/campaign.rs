//! Plays case after case, and makes findings of what goes wrong.

use alloc::{
    borrow::ToOwned as _,
    format,
    string::{String, ToString as _},
    vec::Vec,
};
use core::num::NonZeroU32;
use core::time::Duration;
use std::thread;
use std::time::Instant;

use super::bases::Bases;
use super::case::FuzzCase;
use super::finding::{Finding, Key};
use super::known::known;
use super::minimise::minimise;
use super::play::{Observed, play};
use super::summary::CampaignSummary;
use super::verdict::CaseVerdict;
use crate::conformance::Interrupted;
use crate::conformance::known::Profile;
use crate::conformance::server::Place;
use crate::conformance::server::target::Subject;
use crate::io::Canceller;
use crate::io::trust::TrustPolicy;

/// After so many connections that were left open a target is started anew: a few hundred exhaust it (F-74).
const LEFT_OPEN: u32 = 100;
/// How old a target is that has done at its start what it does.
const SETTLED: Duration = Duration::from_millis(500);

/// What is played, and how.
///
/// ```
/// use core::num::NonZeroU32;
/// use core::time::Duration;
/// use dotnet_diagnostics_ipc::conformance::fuzz_server::Options;
///
/// let rate = NonZeroU32::new(100).expect("it is not 0");
/// let options = Options { seed: 1, first: 1, cases: 1000, rate, within: Duration::from_secs(5), tries: 64, profile: None, canceller: None };
/// // Where it ended, another run goes on.
/// let next = Options { first: options.first + options.cases, ..options.clone() };
/// assert_eq!(next.first, 1001);
/// ```
#[derive(Clone, Debug)]
pub struct Options {
    /// Of which all cases come.
    pub seed: u64,
    /// The number of the first case.
    pub first: u64,
    /// How many cases.
    pub cases: u64,
    /// The most cases a second.
    pub rate: NonZeroU32,
    /// How long the target may take to a complete `ProcessInfo`, before it is said to hang.
    pub within: Duration,
    /// How many messages are tried to make that of a finding shorter, each with a new target.
    pub tries: u32,
    /// By what something is known; `None`: by what the target says of itself.
    pub profile: Option<Profile>,
    /// What ends the campaign early: the summary then says that it was interrupted, and how many cases were not played.
    pub canceller: Option<Canceller>,
}

impl Options {
    fn is_cancelled(&self) -> bool {
        self.canceller.as_ref().is_some_and(Canceller::is_cancelled)
    }
}

/// What a campaign has to say while it goes on.
#[derive(Clone, Copy, Debug)]
pub enum CampaignProgress<'n> {
    /// A case was played.
    Played(&'n FuzzCase, CaseVerdict),
    /// Something new was found.
    Found(&'n Finding),
}

/// Plays the cases against what is at `place`, one after another (F-75). `news` hears of each.
///
/// This may kill, wedge or exhaust the target, or make it give away its memory: it must be yours.
///
/// ```
/// use core::num::NonZeroU32;
/// use core::time::Duration;
/// use dotnet_diagnostics_ipc::conformance::fuzz_server::{Bases, CampaignProgress, CaseVerdict, Delivery, Options, run};
/// use dotnet_diagnostics_ipc::conformance::known::Profile;
/// use dotnet_diagnostics_ipc::conformance::runtime::{Config, Misbehaviour, ReferenceRuntime};
/// use dotnet_diagnostics_ipc::conformance::server::Place;
/// use dotnet_diagnostics_ipc::vectors;
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
/// let summary = run(&Bases::of(&vectors::files()?), &Place::Socket(runtime.socket().into()), &options, &mut |news| {
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
pub fn run(bases: &Bases, place: &Place, options: &Options, news: &mut dyn FnMut(CampaignProgress<'_>)) -> CampaignSummary {
    let summary = CampaignSummary {
        format: 1,
        target: place.to_string(),
        runtime: None,
        profile: None,
        seed: options.seed,
        first: options.first,
        cases: 0,
        starts: 0,
        commands: Vec::new(),
        findings: Vec::new(),
        lost: None,
        interrupted: None,
    };
    let subject = match Subject::find(place, options.within, TrustPolicy::CHECKED, options.canceller.as_ref()) {
        Ok(subject) => subject.started_often(),
        Err(_) if options.is_cancelled() => return CampaignSummary { interrupted: not_played(options, 0), ..summary },
        Err(reason) => return CampaignSummary { lost: Some(reason), ..summary },
    };
    let starts = u64::from(subject.can_spawn());
    let profile = options.profile.unwrap_or(Profile::STRICT);
    let mut campaign = Campaign {
        subject,
        options,
        profile,
        left_open: 0,
        settles: Duration::ZERO,
        summary: CampaignSummary { starts, ..summary },
    };
    let ended = campaign.meet().and_then(|()| campaign.play_all(bases, news));
    if options.is_cancelled() {
        campaign.summary.interrupted = not_played(options, campaign.summary.cases);
    } else if let Err(reason) = ended {
        campaign.summary.lost = Some(reason);
    }
    campaign.summary
}

/// That so many cases were played; `None` if these are all.
fn not_played(options: &Options, played: u64) -> Option<Interrupted> {
    let not_run = usize::try_from(options.cases.saturating_sub(played)).unwrap_or(usize::MAX);
    (not_run > 0).then_some(Interrupted { not_run })
}

struct Campaign<'o> {
    subject: Subject,
    options: &'o Options,
    profile: Profile,
    /// Since the target was started.
    left_open: u32,
    /// How long a target that is started for one case alone is left in peace first.
    settles: Duration,
    summary: CampaignSummary,
}

impl Campaign<'_> {
    /// Asks the target what it is, and looks that it answers at all.
    fn meet(&mut self) -> Result<(), String> {
        let identity = self.subject.identity()?;
        self.subject.answers().map_err(|reason| format!("before the first case: {reason}"))?;
        self.summary.runtime = identity.as_ref().map(|identity| format!(".NET {}", identity.version));
        let said = identity.and_then(|identity| Profile::of_version(&identity.version));
        self.profile = self.options.profile.or(said).unwrap_or(self.profile);
        self.summary.profile = Some(self.profile.to_string());
        Ok(())
    }

    fn play_all(&mut self, bases: &Bases, news: &mut dyn FnMut(CampaignProgress<'_>)) -> Result<(), String> {
        let pause = Duration::from_secs(1).checked_div(self.options.rate.get()).unwrap_or_default();
        for nth in 0..self.options.cases {
            if self.options.is_cancelled() {
                break;
            }
            let began = Instant::now();
            let Some(case) = self.options.first.checked_add(nth).and_then(|number| bases.case(self.options.seed, number)) else {
                break;
            };
            let observed = self.play(&case)?;
            self.summary.count(case.command(), observed.verdict);
            news(CampaignProgress::Played(&case, observed.verdict));
            let end = observed.death.map_or_else(|| observed.verdict.to_string(), |death| death.to_string());
            let is_fatal = observed.verdict.is_fatal();
            if observed.verdict.is_finding() {
                if let Some(finding) = self.finding(case, observed)? {
                    news(CampaignProgress::Found(finding));
                }
            }
            if is_fatal && !self.subject.can_spawn() {
                return Err(format!("the target does not serve any more: {end}"));
            }
            thread::sleep(pause.saturating_sub(began.elapsed()));
        }
        Ok(())
    }

    /// Plays a case, and has a new target for the next one where this one is of no use any more.
    fn play(&mut self, case: &FuzzCase) -> Result<Observed, String> {
        let observed = play(&mut self.subject, case, self.options.within)?;
        if self.options.is_cancelled() {
            // The target may have had no time to answer.
            return Err("the campaign was interrupted".to_owned());
        }
        if observed.verdict == CaseVerdict::LeftOpen {
            self.left_open = self.left_open.saturating_add(1);
        }
        if observed.verdict.is_fatal() || self.left_open >= LEFT_OPEN {
            self.end_target();
        }
        Ok(observed)
    }

    /// The next case has a new target, if one can be started.
    fn end_target(&mut self) {
        if self.subject.end_shared() {
            self.left_open = 0;
            self.summary.starts = self.summary.starts.saturating_add(1);
        }
    }

    /// Plays a case with a new target, which is of no use to another case afterwards.
    fn play_alone(&mut self, case: &FuzzCase) -> Result<Observed, String> {
        self.end_target();
        if !self.settles.is_zero() {
            let _ = self.subject.shared()?;
            thread::sleep(self.settles);
        }
        self.play(case)
    }

    /// Makes a finding of a case; `None` if it is known already, or does not come again.
    fn finding(&mut self, case: FuzzCase, observed: Observed) -> Result<Option<&Finding>, String> {
        let verdict = observed.verdict;
        let key = Key { command: case.command(), verdict, mutation: case.mutation(), death: observed.death };
        if let Some(there) = self.summary.findings.iter_mut().find(|finding| finding.key == key) {
            there.times = there.times.saturating_add(1);
            return Ok(None);
        }
        let number = u32::try_from(self.summary.findings.len()).unwrap_or(u32::MAX).saturating_add(1);
        let mut finding = Finding {
            number,
            minimised: case.clone(),
            case,
            same_as: None,
            reproduced: None,
            tries: 0,
            times: 1,
            known: None,
            seen: observed.seen(),
            key,
        };
        let mut last = observed;
        let repeated = self.repeat(&mut finding, &mut last);
        // What was found before the interruption is kept as it is.
        repeated.or_else(|reason| if self.options.is_cancelled() { Ok(()) } else { Err(reason) })?;
        // A machine that is busy makes a slow server of a good one.
        if finding.reproduced == Some(false) && !verdict.is_fatal() {
            return Ok(None);
        }
        if finding.known.is_none() {
            finding.known = known(self.profile, &finding.minimised, &last);
        }
        finding.seen = last.seen();
        self.summary.findings.push(finding);
        Ok(self.summary.findings.last())
    }

    /// Plays what made a finding again, and makes its message shorter where it comes again. `last`: what came of it then.
    fn repeat(&mut self, finding: &mut Finding, last: &mut Observed) -> Result<(), String> {
        let verdict = finding.key.verdict;
        if self.subject.can_spawn() {
            // Some of it a runtime does only when it has been there for a while.
            let times: &[Duration] = if verdict.is_fatal() { &[Duration::ZERO, SETTLED] } else { &[Duration::ZERO] };
            for time in times {
                self.settles = *time;
                let again = self.play_alone(&finding.case)?;
                let does = does(&again, &finding.key);
                finding.reproduced = Some(does);
                if does {
                    *last = self.make_shorter(finding, again)?;
                    break;
                }
            }
        } else if !verdict.is_fatal() {
            let again = self.play(&finding.case)?;
            finding.reproduced = (!does(&again, &finding.key)).then_some(false);
        }
        Ok(())
    }

    /// Takes the message of a finding that is like this one but for the mutation, or makes one; what came of what is played then.
    fn make_shorter(&mut self, finding: &mut Finding, observed: Observed) -> Result<Observed, String> {
        let mut others = self.summary.findings.iter().filter(|other| other.same_as.is_none() && other.reproduced == Some(true));
        let like =
            others.find(|other| other.key.is_like(&finding.key) && other.minimised.message.len() <= finding.case.message.len());
        if let Some(like) = like {
            finding.same_as = Some(like.number);
            finding.minimised = like.minimised.clone();
            finding.known.clone_from(&like.known);
            return Ok(observed);
        }
        let mut last = observed;
        let (minimised, tries) = minimise(&finding.case, self.options.tries, &mut |candidate| {
            let observed = self.play_alone(candidate)?;
            let does = does(&observed, &finding.key);
            if does {
                last = observed;
            }
            Ok(does)
        })?;
        finding.minimised = minimised;
        finding.tries = tries;
        Ok(last)
    }
}

/// Whether what was observed is the same thing once more.
fn does(observed: &Observed, key: &Key) -> bool {
    observed.verdict == key.verdict && observed.death == key.death
}
