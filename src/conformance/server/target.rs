//! The target of a run: where it is, and that it is there.

use alloc::string::{String, ToString as _};
use core::time::Duration;

use super::ask::{self, Identity};
use super::place::RunsIn;
use super::process_id::TargetProcess;
#[cfg(unix)]
use super::unix as system;
#[cfg(windows)]
use super::windows as system;
use super::{Death, Place};
use crate::conformance::player::{Network as _, Player};
use crate::io::Canceller;
use crate::io::trust::TrustPolicy;
use crate::vectors::script::Target;
use system::{Reach, Spawned};
pub(super) use system::{TargetNetwork, process_of, with_user_events};

/// The target of a run.
pub(in crate::conformance) struct Subject {
    reach: Reach,
    within: Duration,
    canceller: Option<Canceller>,
    /// Whether it is started again and again.
    often: bool,
    /// The process of the shared target, as far as its connections show it.
    process: TargetProcess,
}

impl Subject {
    /// Finds the target, and looks whether it is trusted; `within` is how long it may take, of an answer as well. `canceller` ends every
    /// wait for it.
    pub(in crate::conformance) fn find(
        place: &Place,
        within: Duration,
        trust: TrustPolicy,
        canceller: Option<&Canceller>,
    ) -> Result<Self, String> {
        let reach = Reach::find(place, within, trust, canceller)?;
        Ok(Self { reach, within, canceller: canceller.cloned(), often: false, process: TargetProcess::default() })
    }

    /// Targets that are started again and again are there as soon as they answer, whatever their own code does next. They run in their
    /// own directory, and leave their perf maps there.
    pub(in crate::conformance) fn started_often(mut self) -> Self {
        self.often = true;
        self
    }

    /// Whether a target can be had that is as a script wants it, and that may die.
    pub(in crate::conformance) const fn can_spawn(&self) -> bool {
        self.reach.can_spawn()
    }

    /// Whether it connects to us: one connection at a time.
    pub(super) const fn is_at_port(&self) -> bool {
        self.reach.is_at_port()
    }

    /// Whether two connections can be open beside each other. On Windows two that are opened at once can hang a runtime (F-120); at a
    /// port the next connection comes when the one before is done.
    pub(super) fn takes_two_at_once(&self) -> bool {
        self.reach.takes_two_at_once()
    }

    /// The target that cases share. It is started if it is not there.
    pub(in crate::conformance) fn shared(&mut self) -> Result<TargetNetwork, String> {
        self.reach.shared(self.within, self.often, self.canceller.as_ref())
    }

    /// A target for one case alone.
    pub(super) fn own(&self, target: &Target, runs_in: RunsIn) -> Result<(Spawned, TargetNetwork), String> {
        self.reach.own(target, runs_in, self.within, self.canceller.as_ref())
    }

    /// How the shared target ended, if it is known to have.
    pub(in crate::conformance) fn death(&self) -> Option<Death> {
        self.reach.death()
    }

    /// The process of the shared target, where it is known.
    pub(in crate::conformance) fn process_id(&self) -> Option<u32> {
        self.reach.process_id()
    }

    /// Why no process id can be compared with the target's, if none can. [`Subject::identity`] shows it.
    pub(super) fn unknown_process(&self) -> Option<&'static str> {
        self.process.unknown()
    }

    /// Whether nobody listens any more where the shared target did.
    pub(in crate::conformance) fn is_endpoint_gone(&self) -> bool {
        self.reach.is_endpoint_gone(self.within)
    }

    /// Ends the shared target, if it was started here; whether it was.
    pub(in crate::conformance) fn end_shared(&mut self) -> bool {
        self.reach.end_shared()
    }

    /// Whether the shared target still answers a complete `ProcessInfo`.
    pub(in crate::conformance) fn answers(&mut self) -> Result<(), String> {
        let mut network = self.shared()?;
        let until = network.now().saturating_add(self.within);
        let mut player = Player::new(&mut network, self.within);
        ask::answers(&mut player, "the last one", until).map_err(|trouble| trouble.to_string())
    }

    /// Whether the shared target still does something when it is asked: what is wrong with its answers, the cases say.
    pub(super) fn reacts(&mut self) -> Result<(), String> {
        let mut network = self.shared()?;
        ask::reacts(&mut network, self.within).map_err(|trouble| trouble.to_string())
    }

    /// What the shared target says it is.
    pub(in crate::conformance) fn identity(&mut self) -> Result<Option<Identity>, String> {
        let mut network = self.shared()?;
        self.process = process_of(&network);
        ask::identity_of(&mut network, self.within)
    }
}
