//! Plays a case, and collects what it shows. Only [`decide`](super::judge::decide) judges that.

use std::borrow::Cow;
use std::cell::Cell;
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use dotnet_diagnostics_ipc::hresult::HResult;
use dotnet_diagnostics_ipc_vectors::player::{Failure, Player, PlayerError};
use dotnet_diagnostics_ipc_vectors::script::{self, Life, Script, Step};
use dotnet_diagnostics_ipc_vectors::{Hazard, Test};

use super::facts::{CaseFacts, PlayEnd};
use super::judge::{Known, decide};
use super::request::{CLOSE_TIMEOUT, Patience, after};
use super::spawn::{RunsIn, START_TIMEOUT, Spawned, is_suspended};
use super::survey::Survey;
use super::target::{SeenInRun, Target, TargetProcess, process_of};
use super::timeouts::{About, Pace, WITHIN};
use super::{Death, Options, ServerCase, ServerCaseKind, consistency, request};
use crate::conversation::{Exchange, Exchanges};
use crate::known::{Family, ways_of};
use crate::process::timeouts::Limit;
use crate::suite::CaseResult;
use crate::{Case, Grade, Playable as _};

/// The pause after a target answers that its start-up has not ended.
const START_INTERVAL: Duration = Duration::from_millis(100);
/// A target whose socket has disappeared after this many cases in a row is lost.
const MAX_WITHOUT_SOCKET: u32 = 2;
/// A target that has answered no request for this time, and for [`MAX_WITHOUT_ANSWER`] cases, is
/// lost because it does not speak the protocol.
const NO_ANSWER_TIMEOUT: Duration = Duration::from_secs(10);
const MAX_WITHOUT_ANSWER: u32 = 10;
/// The time a process may take to end after its last message.
const DEATH_TIMEOUT: Duration = Duration::from_millis(300);

pub(super) struct CasePlayer<'o> {
    pub(super) subject: Target,
    known: Known<'o>,
    pace: Pace,
    seen: SeenInRun,
    /// Whether a target ever remained in its start-up for the whole time limit.
    never_starts: Cell<bool>,
    /// Why the target was lost during the last case.
    lost: Option<String>,
    /// The number of cases in a row after which the target's socket was missing.
    without_socket: u32,
    pub(super) last: Option<String>,
    again: bool,
    /// Since when, and how many, cases were played without an answer; `None` after an answer.
    without_answer: Option<(Instant, u32)>,
    /// Whether a reaction of the target is expected after every case.
    reacts: bool,
}

impl<'o> CasePlayer<'o> {
    /// Returns a player for `subject`, whose survey is `survey`.
    pub(super) fn new(subject: Target, survey: &'o Survey, options: &'o Options) -> Self {
        let abilities = &survey.abilities;
        let served = abilities.served().collect();
        Self {
            subject,
            known: Known { options, profile: survey.profile, abilities, served },
            pace: survey.pace.clone(),
            seen: survey.seen.clone(),
            never_starts: Cell::new(false),
            lost: None,
            without_socket: 0,
            last: None,
            again: false,
            without_answer: survey.without_answer_since.map(|since| (since, 0)),
            reacts: survey.reacts,
        }
    }

    /// Takes the reason why the target was lost during the last case.
    pub(super) fn lost(&mut self) -> Option<String> {
        self.lost.take()
    }

    /// Prepares for playing cases again, which waits for silent commands once more.
    pub(super) fn begins_again(&mut self) {
        if !std::mem::replace(&mut self.again, true) {
            self.pace.forget_silence();
        }
    }

    /// Plays a case. Returns `Err` if the target is lost.
    pub(super) fn play(&mut self, case: &ServerCase<'_>) -> Result<CaseResult<Case>, String> {
        let wants_own =
            case.cannot_share() || case.wants_own_target() && !self.known.options.keep_target;
        let own = wants_own && self.subject.can_spawn();
        let began = Instant::now();
        let facts =
            self.collect(case, own).map_err(|reason| format!("by {}: {reason}", case.name()))?;
        self.last = Some(case.name());
        let served = facts.exchanges.answered().filter(|exchange| exchange.reply.is_ok());
        self.known.served.extend(served.filter_map(Exchange::command));
        if !facts.fails {
            self.pace.passed(about(case), facts.took);
        } else if facts.exchanges.answered().next().is_none() && facts.took >= self.whole(case) {
            self.pace.was_silent(about(case));
        }
        if let PlayEnd::Unavailable(why) = facts.end {
            return Ok(CaseResult::Unavailable(why));
        }
        let verdict = decide(&self.known, case, &facts);
        self.note_answers(&facts, &verdict.found);
        // A shared target is harmed only once, so a harmful case is not repeated.
        let is_late = verdict.is_late(&facts) && (own || case.hazard() != Some(Hazard::Harmful));
        let entry = Case { took: began.elapsed(), ..verdict.case(case, &facts.conversation) };
        Ok(if is_late { CaseResult::Late(entry) } else { CaseResult::Done(entry) })
    }

    /// Whether any request has had an answer.
    pub(super) const fn has_answered(&self) -> bool {
        self.without_answer.is_none()
    }

    /// Marks a target as lost if it has answered nothing, not even with a header.
    fn note_answers(&mut self, facts: &CaseFacts<'_>, found: &[String]) {
        let Some((since, cases)) = &mut self.without_answer else { return };
        *cases = cases.saturating_add(1);
        if facts.exchanges.all.iter().any(|exchange| exchange.reply.code.is_some()) {
            self.without_answer = None;
        } else if *cases >= MAX_WITHOUT_ANSWER && since.elapsed() >= NO_ANSWER_TIMEOUT {
            let found = found.join("; ");
            self.lost.get_or_insert(format!("no request was answered: {found}"));
        }
    }

    /// Whether the target did something other than the case expects, even if it is known to.
    fn fails(&self, case: &ServerCase<'_>, facts: &CaseFacts<'_>) -> bool {
        match &facts.end {
            PlayEnd::AsWritten(Some(_)) => facts.death_after.is_some(),
            PlayEnd::AsWritten(None) => facts.death_after.is_some() || !facts.faults.is_empty(),
            PlayEnd::Reacted(_) => decide(&self.known, case, facts).grade == Grade::Fail,
            _ => true,
        }
    }

    /// Plays a request once, or a script in each known variant until one fits. If none fits, the
    /// first variant counts.
    fn collect<'c>(&mut self, case: &ServerCase<'c>, own: bool) -> Result<CaseFacts<'c>, String> {
        let (script, target) = match case.kind {
            ServerCaseKind::Request { test, .. } => return self.collect_request(case, test, own),
            ServerCaseKind::Script { script, target, .. } => (script, target),
        };
        let (mut first, is_tcp) = (None, self.subject.is_tcp());
        for deviation in ways_of(self.known.profile, script) {
            let steps = match deviation {
                Some(deviation) => script.steps_of(deviation),
                None => self.steps(script),
            };
            let facts = self.with_target(case, own, target, |player, _| {
                match player.play(steps.iter().copied()) {
                    Ok(()) => PlayEnd::AsWritten(deviation),
                    Err(Failure { trouble: PlayerError::Unavailable(why), .. }) => {
                        PlayEnd::Unavailable(why)
                    }
                    Err(failure) if is_tcp && relies_on_a_full_socket(&steps, failure.step) => {
                        let why = "a TCP connection buffers all of a stream that nobody reads";
                        PlayEnd::Unavailable(why.to_owned())
                    }
                    Err(failure) => {
                        let step = steps.get(failure.step).copied();
                        PlayEnd::Differs(failure, step)
                    }
                }
            })?;
            // A variant that fits counts also if the target hangs afterwards.
            let hangs = facts.hangs.is_some() && matches!(facts.end, PlayEnd::AsWritten(_));
            if matches!(facts.end, PlayEnd::Unavailable(_)) || hangs || !facts.fails {
                return Ok(facts);
            }
            first.get_or_insert(facts);
        }
        first.ok_or_else(|| "nothing to play".to_owned())
    }

    fn collect_request<'c>(
        &mut self,
        case: &ServerCase<'c>,
        test: &Test,
        own: bool,
    ) -> Result<CaseFacts<'c>, String> {
        let (within, keeps_open) = (self.within(case), self.known.abilities.keeps_open);
        let patience = Patience {
            reply: within,
            rest: within,
            close: if keeps_open { Duration::ZERO } else { CLOSE_TIMEOUT },
            may_be_held: self.subject.may_be_held(self.known.profile),
        };
        self.with_target(case, own, &script::Target::default(), |player, directory| {
            let sent =
                directory.map_or(Cow::Borrowed(test), |path| request::with_dump_below(path, test));
            match request::play(player, &sent, patience) {
                Ok(mut reaction) => {
                    reaction.left_open &= !keeps_open;
                    PlayEnd::Reacted(reaction)
                }
                Err(PlayerError::Unavailable(why)) => PlayEnd::Unavailable(why),
                Err(PlayerError::Differs(difference)) => PlayEnd::NotSent(difference),
            }
        })
    }

    fn whole(&self, case: &ServerCase<'_>) -> Duration {
        let own = match case.kind {
            ServerCaseKind::Request { .. } => WITHIN,
            ServerCaseKind::Script { within_ms, .. } => Duration::from_millis(within_ms.into()),
        };
        self.known.options.within.unwrap_or(own)
    }

    /// Returns the time limit of the case. It is below the default if the target has exceeded it
    /// once, or has never answered. With `--timeout` a dump gets the full time.
    fn within(&self, case: &ServerCase<'_>) -> Duration {
        let whole = self.whole(case);
        if !self.has_answered() {
            self.pace.learned().min(whole)
        } else if self.known.options.within.is_some() && case.asks_for_a_dump() {
            whole
        } else {
            self.pace.within(about(case), whole)
        }
    }

    /// Returns the steps of a script. If a target keeps connections open, the only expected ends
    /// are those of streams.
    fn steps<'s>(&self, script: &'s Script) -> Vec<&'s Step> {
        let streams = |on: &str| {
            script.steps.iter().any(|step| matches!(step, Step::Drain(drain) if drain.on == on))
        };
        let is_due = |step: &&Step| match step {
            Step::ExpectEnd(end) => !self.known.abilities.keeps_open || streams(&end.on),
            _ => true,
        };
        script.steps.iter().filter(is_due).collect()
    }

    /// Plays a case against a target, and checks the target afterwards. A target started for the
    /// case has a directory for its files.
    fn with_target<'c>(
        &mut self,
        case: &ServerCase<'c>,
        own: bool,
        target: &script::Target,
        play: impl Fn(&mut Player<'_>, Option<&Path>) -> PlayEnd<'c>,
    ) -> Result<CaseFacts<'c>, String> {
        let within = self.within(case);
        let (spawned, network) = if own {
            let has_files = case.asks_for_a_dump();
            let runs_in = if has_files { RunsIn::OwnDirectory } else { RunsIn::CurrentDirectory };
            match self.subject.own(target, runs_in) {
                Ok((spawned, network)) => (Some(spawned), network),
                Err(reason) => return Ok(CaseFacts::unplayed(PlayEnd::NotStarted(reason))),
            }
        } else {
            (None, self.subject.shared()?)
        };
        let mut network =
            network.with_user_events_data(self.known.options.stand_in_for_user_events);
        // A target that was started for the case may not tell its arguments yet (F-79).
        let tells_arguments =
            self.known.profile.family() == Family::CoreClr && self.subject.can_spawn() && !own;
        let seen = self.seen.clone();
        let process = TargetProcess { seen, tells_arguments, ..process_of(&network) };
        let directory = spawned.as_ref().map(Spawned::directory);
        let death = || spawned.as_ref().map_or_else(|| self.subject.death(), Spawned::death);
        let mut facts = self.once_started(!own || !is_suspended(target), || {
            let mut player = Player::new(&mut network, within);
            let began = Instant::now();
            let end = play(&mut player, directory);
            let exchanges = match &end {
                PlayEnd::Reacted(reaction) => reaction.exchanges.clone(),
                _ => Exchanges::of(player.conversation()),
            };
            let faults = consistency::faults_in_case(&exchanges, &process);
            let is_dying = match &end {
                PlayEnd::Reacted(reaction) => {
                    let is_answered = reaction.exchange().reply.is_whole();
                    !is_answered || case.hazard() == Some(Hazard::Harmful)
                }
                PlayEnd::Differs(..) => !case.sends_a_signal(),
                _ => false,
            };
            let death = if is_dying { dying(&mut player, &death) } else { None };
            let took = began.elapsed();
            // If this fails, dropping the network ends the connections.
            let _ = player.close_all();
            let conversation = player.conversation().clone();
            CaseFacts { conversation, exchanges, faults, death, took, ..CaseFacts::unplayed(end) }
        });
        drop(network);
        if !own {
            facts.death_after = self.subject.death();
        }
        if facts.death.or(facts.death_after).is_some() {
            let own = spawned.as_ref().map(Spawned::last_words);
            facts.last_words = own.unwrap_or_else(|| self.subject.last_words());
        }
        facts.fails = self.fails(case, &facts);
        let is_unavailable = matches!(facts.end, PlayEnd::Unavailable(_));
        let may_hang =
            facts.death_after.is_none() && (self.has_answered() || !self.subject.can_spawn());
        // A case that passes may hang the target too, and the next one would be blamed.
        let is_due = facts.fails || self.reacts && self.subject.can_spawn();
        if !own && is_due && may_hang && !is_unavailable {
            self.look_after(case, &mut facts);
            facts.fails |= facts.hangs.is_some();
        }
        Ok(facts)
    }

    /// Plays until the target's start-up has ended. Before that a runtime answers profiler commands
    /// with an error (F-56), unless it was asked to wait at its start (F-153).
    fn once_started<'c>(
        &self,
        starts: bool,
        mut play: impl FnMut() -> CaseFacts<'c>,
    ) -> CaseFacts<'c> {
        let limit = Limit::new(START_TIMEOUT);
        loop {
            let facts = play();
            let is_early = starts
                && !self.never_starts.get()
                && facts.exchanges.has_error(HResult::NOT_YET_AVAILABLE);
            if !is_early || self.known.options.is_cancelled() {
                return facts;
            }
            if limit.is_over() {
                self.never_starts.set(true);
                return facts;
            }
            thread::sleep(START_INTERVAL);
        }
    }

    /// Checks whether the shared target still answers. If not, it is restarted for the next case.
    fn look_after(&mut self, case: &ServerCase<'_>, facts: &mut CaseFacts<'_>) {
        let Err(reason) = self.subject.reacts() else {
            self.without_socket = 0;
            return;
        };
        self.without_socket += u32::from(self.subject.has_lost_its_socket());
        if !self.subject.end_shared() || self.without_socket >= MAX_WITHOUT_SOCKET {
            let found = decide(&self.known, case, facts).found.join("; ");
            let text = if found.is_empty() { "a case that passed".to_owned() } else { found };
            self.lost = Some(format!("{reason}; after: {text}"));
            return;
        }
        facts.hangs = Some(format!("afterwards the target no longer answers: {reason}"));
    }
}

fn about(case: &ServerCase<'_>) -> About {
    case.commands().first().copied().filter(|command| command.name().is_some())
}

/// Returns how the target ended. It is given a moment, as it may take one after its last message.
fn dying(player: &mut Player<'_>, death: &dyn Fn() -> Option<Death>) -> Option<Death> {
    let until = after(player, DEATH_TIMEOUT);
    // Only a process that closed without a reply is likely to be exiting.
    let conversation = player.conversation();
    let _ = if conversation.has_end() && !conversation.has_received() {
        player.life(Life::Dead, until)
    } else {
        player.network().life(Life::Dead, until)
    };
    death()
}

/// Whether a step that expects nothing is one before which a stream is left unread.
fn relies_on_a_full_socket(steps: &[&Step], at: usize) -> bool {
    let (before, after) = steps.split_at_checked(at).unwrap_or((steps, &[]));
    matches!(after.first(), Some(Step::ExpectNothing(_)))
        && after.iter().any(|step| {
            let Step::Drain(drain) = step else { return false };
            before.iter().any(|step| matches!(step, Step::Open(open) if open.open == drain.on))
        })
}
