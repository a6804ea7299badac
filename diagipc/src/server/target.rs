//! The target of a run: its location, and whether it is reachable.

use std::time::Duration;

use dotnet_diagnostics_ipc::io::Canceller;
use dotnet_diagnostics_ipc::io::trust::TrustPolicy;
use dotnet_diagnostics_ipc::vectors::player::{Network as _, Player};
use dotnet_diagnostics_ipc::vectors::script;
use system::{Reach, Spawned};
pub(super) use system::{TargetNetwork, process_of, with_user_events};

use super::ask::{self, Identity};
use super::process_id::TargetProcess;
use super::spawn::RunsIn;
#[cfg(unix)]
use super::unix as system;
#[cfg(windows)]
use super::windows as system;
use super::{Address, Death};

/// The target of a run.
pub(crate) struct Target {
    reach: Reach,
    within: Duration,
    canceller: Option<Canceller>,
    /// Whether it is restarted repeatedly.
    often: bool,
    /// The process of the shared target, as shown by its connections.
    process: TargetProcess,
}

impl Target {
    /// Finds the target, and checks whether it is trusted; `within` limits that, and an answer too.
    /// `canceller` ends every wait for it.
    pub(crate) fn find(
        address: &Address,
        within: Duration,
        trust: TrustPolicy,
        canceller: Option<&Canceller>,
    ) -> Result<Self, String> {
        let reach = Reach::find(address, within, trust, canceller)?;
        Ok(Self {
            reach,
            within,
            canceller: canceller.cloned(),
            often: false,
            process: TargetProcess::default(),
        })
    }

    /// Targets that are restarted are ready once they answer, whatever their code does next. They
    /// run in their own directory, and leave their perf maps there.
    pub(crate) fn started_often(mut self) -> Self {
        self.often = true;
        self
    }

    /// Whether a target for a script can be started that may die.
    pub(crate) const fn can_spawn(&self) -> bool {
        self.reach.can_spawn()
    }

    /// Whether it connects to us: one connection at a time.
    pub(super) const fn is_at_port(&self) -> bool {
        self.reach.is_at_port()
    }

    /// Whether two connections can be open at a time. On Windows two concurrent ones can hang a
    /// runtime (F-120); on a port the next connection is opened when the one before is done.
    pub(super) fn takes_two_at_once(&self) -> bool {
        self.reach.takes_two_at_once()
    }

    /// The target shared by cases. It is started if necessary.
    pub(crate) fn shared(&mut self) -> Result<TargetNetwork, String> {
        self.reach.shared(self.within, self.often, self.canceller.as_ref())
    }

    /// A target for one case.
    pub(super) fn own(
        &self,
        target: &script::Target,
        runs_in: RunsIn,
    ) -> Result<(Spawned, TargetNetwork), String> {
        self.reach.own(target, runs_in, self.within, self.canceller.as_ref())
    }

    /// How the shared target ended, if known.
    pub(crate) fn death(&self) -> Option<Death> {
        self.reach.death()
    }

    /// The process of the shared target, if known.
    pub(crate) fn process_id(&self) -> Option<u32> {
        self.reach.process_id()
    }

    /// Why process ids cannot be compared with the target's, if so. Shown by [`Target::identity`].
    pub(super) fn unknown_process(&self) -> Option<&'static str> {
        self.process.unknown()
    }

    /// Whether the shared target's endpoint has no listener any more.
    pub(crate) fn is_endpoint_gone(&self) -> bool {
        self.reach.is_endpoint_gone(self.within)
    }

    /// Ends the shared target, if it was started here; returns whether it was.
    pub(crate) fn end_shared(&mut self) -> bool {
        self.reach.end_shared()
    }

    /// Whether the shared target still answers a complete `ProcessInfo`.
    pub(crate) fn answers(&mut self) -> Result<(), String> {
        let mut network = self.shared()?;
        let until = network.now().saturating_add(self.within);
        let mut player = Player::new(&mut network, self.within);
        ask::answers(&mut player, "the last one", until).map_err(|trouble| trouble.to_string())
    }

    /// Whether the shared target still reacts to a request: the cases judge its answers.
    pub(super) fn reacts(&mut self) -> Result<(), String> {
        let mut network = self.shared()?;
        ask::reacts(&mut network, self.within).map_err(|trouble| trouble.to_string())
    }

    /// The shared target's information about itself.
    pub(crate) fn identity(&mut self) -> Result<Option<Identity>, String> {
        let mut network = self.shared()?;
        self.process = process_of(&network);
        ask::identity_of(&mut network, self.within)
    }
}
