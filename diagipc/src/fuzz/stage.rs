//! The target of a campaign, and playing cases to it.

use std::thread;
use std::time::Duration;

use super::case::FuzzCase;
use super::memory::{Growth, WINDOW};
use super::options::Options;
use super::play::{Observed, play};
use super::verdict::CaseVerdict;
use crate::known::Profile;
use crate::process::procfs::resident;
use crate::server;
use crate::server::target::Target;

/// After this many connections left open a target is restarted: a few hundred exhaust it (F-74).
const LEFT_OPEN: u32 = 100;
/// This many windows of only one request show whether it costs memory.
const WINDOWS: u32 = 4;
/// More than this is not random, in KiB.
const COSTS: u64 = 1 << 10;

/// The target, and what is known of it.
pub(super) struct Stage<'o> {
    subject: Target,
    pub(super) options: &'o Options,
    pub(super) profile: Profile,
    /// Its information about itself.
    pub(super) runtime: Option<String>,
    /// How often it was started.
    pub(super) starts: u64,
    /// Since it was started.
    left_open: u32,
    /// How long a target started for one case is left alone first.
    pub(super) settles: Duration,
}

impl<'o> Stage<'o> {
    /// Asks the target for its information, and checks that it answers.
    pub(super) fn survey(subject: Target, options: &'o Options) -> Result<Self, String> {
        let starts = u64::from(subject.can_spawn());
        let mut subject = subject;
        let identity = subject.identity()?;
        subject.answers().map_err(|reason| format!("before the first case: {reason}"))?;
        // A runtime's known behaviour excuses only a target that is one, as the server suite
        // concludes: a version text is not enough.
        let (profile, within) = (options.profile, Some(options.within));
        let asks =
            server::Options { profile, within, allow_harmful: true, ..server::Options::default() };
        let profile = server::survey::survey(&mut subject, &[], &asks)?.profile;
        let runtime = identity.map(|identity| format!(".NET {}", identity.version));
        Ok(Self {
            subject,
            options,
            profile,
            runtime,
            starts,
            left_open: 0,
            settles: Duration::ZERO,
        })
    }

    /// Whether it can be restarted.
    pub(super) const fn can_spawn(&self) -> bool {
        self.subject.can_spawn()
    }

    /// Its process and its memory in KiB, if known.
    pub(super) fn memory(&self) -> Option<(u32, u64)> {
        let process = self.subject.process_id()?;
        Some((process, resident(process)?))
    }

    /// Plays a case, and gets a new target for the next one if this one is unusable.
    pub(super) fn play(&mut self, case: &FuzzCase) -> Result<Observed, String> {
        let observed = play(&mut self.subject, self.profile, case, self.options.within)?;
        if self.options.is_cancelled() {
            // The target may not have had time to answer.
            return Err("the campaign was interrupted".to_owned());
        }
        if observed.verdict == CaseVerdict::LeftOpen {
            self.left_open += 1;
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
            self.starts += 1;
        }
    }

    /// Plays a case with a new target, which is not used for another case.
    pub(super) fn play_alone(&mut self, case: &FuzzCase) -> Result<Observed, String> {
        self.end_target();
        if !self.settles.is_zero() {
            let _ = self.subject.shared()?;
            thread::sleep(self.settles);
        }
        self.play(case)
    }

    /// Plays a case repeatedly to a new target. How much its memory grows, if it does in each
    /// window.
    pub(super) fn grows_alone(&mut self, case: &FuzzCase) -> Result<Option<Growth>, String> {
        self.end_target();
        let mut sizes = Vec::new();
        for _ in 0..=WINDOWS {
            for _ in 0..WINDOW {
                self.play(case)?;
            }
            sizes.extend(self.memory());
        }
        let (Some((process, before)), Some((_, after))) =
            (sizes.first().copied(), sizes.last().copied())
        else {
            return Ok(None);
        };
        let is_one = sizes.len() > 1 && sizes.iter().all(|(other, _)| *other == process);
        let grows = sizes.iter().zip(sizes.iter().skip(1)).all(|((_, one), (_, next))| next > one);
        let growth = Growth { before, after, requests: u64::from(WINDOWS * WINDOW) };
        Ok((is_one && grows && after.saturating_sub(before) >= COSTS).then_some(growth))
    }
}
