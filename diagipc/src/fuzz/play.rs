//! Sends one case to the target, and records its reaction.

use std::time::Duration;

use dotnet_diagnostics_ipc::command::Command;
use dotnet_diagnostics_ipc_vectors::Value;
use dotnet_diagnostics_ipc_vectors::player::{Network, Player};
use dotnet_diagnostics_ipc_vectors::script::Life;

use super::case::{Delivery, FuzzCase};
use super::cause::{Cause, verdict_of};
use super::reply::{Judged, judge};
use super::verdict::CaseVerdict;
use crate::conversation::FaultSeen;
use crate::faults::Fault;
use crate::known::Profile;
use crate::server::Death;
use crate::server::request::{Patience, Reaction, read};
use crate::server::target::Target;

/// The time limit for a reply, unless the target writes a dump. One that waits, for example for a
/// descriptor, is not waited for.
const REPLY: Duration = Duration::from_secs(1);
/// The time limit for closing a connection.
const CLOSE: Duration = Duration::from_millis(250);
/// From the end of a connection to the end of the process; and after a failure.
const DIES: [Duration; 2] = [Duration::from_millis(100), Duration::from_secs(2)];

/// The target's reaction.
#[derive(Clone, Debug)]
pub(super) struct Observed {
    pub(super) verdict: CaseVerdict,
    /// What no server may do, with the numbers.
    pub(super) faults: Vec<FaultSeen>,
    /// How its process ended, if known.
    pub(super) death: Option<Death>,
    pub(super) answered: Reaction,
}

impl Observed {
    /// How many bytes were received.
    pub(super) fn seen(&self) -> usize {
        self.answered.exchange().came.len()
    }

    fn seen_fault(&self, fault: Fault) -> Option<&FaultSeen> {
        self.faults.iter().find(|seen| seen.fault == fault)
    }

    /// Whether it did this.
    pub(super) fn shows(&self, cause: &Cause) -> bool {
        self.seen_fault(cause.fault).is_some() && self.death == cause.death
    }

    /// The numbers of a fault.
    pub(super) fn text_of(&self, fault: Fault) -> Option<String> {
        self.seen_fault(fault).map(|seen| seen.text.clone()).filter(|text| !text.is_empty())
    }

    /// The end of the target, in words.
    pub(super) fn end(&self) -> String {
        self.death.map_or_else(|| self.verdict.to_string(), |death| death.to_string())
    }
}

/// Sends a case to the target, which is started if necessary, and then a `ProcessInfo`.
///
/// # Errors
/// If there is no target.
pub(super) fn play(
    subject: &mut Target,
    profile: Profile,
    case: &FuzzCase,
    within: Duration,
) -> Result<Observed, String> {
    let command = case.command();
    let is_dump = command.set == Command::GENERATE_CORE_DUMP.set;
    let patience = Patience {
        reply: if is_dump { within } else { within.min(REPLY) },
        rest: within,
        close: CLOSE,
        may_be_held: subject.may_be_held(profile),
    };
    let mut network = subject.shared()?;
    let mut player = Player::new(&mut network, within);
    // If it could not be sent, the question afterwards explains more.
    let answered = match player.play(&case.steps()) {
        Ok(()) if case.delivery != Delivery::Leave => {
            read(&mut player, &Value::Null, patience).ok()
        }
        _ => None,
    };
    let answered = answered.unwrap_or_else(|| Reaction::of(player.conversation()));
    // Dropping the network ends the connections anyway.
    let _ = player.close_all();

    // For an unknown process, only its endpoint is known.
    let is_known = subject.process_id().is_some();
    let mut is_dead = false;
    if is_known && !answered.exchange().reply.is_whole() {
        is_dead = dies(&mut network, DIES[0]);
    }
    if !is_dead && subject.answers().is_ok() {
        let Judged { verdict, faults } = judge(&answered, case);
        return Ok(Observed { verdict, faults, death: None, answered });
    }
    let fault = if is_dead || (is_known && dies(&mut network, DIES[1].min(within))) {
        Fault::Crash
    } else if subject.is_endpoint_gone() {
        Fault::EndpointGone
    } else {
        Fault::Hang
    };
    let death = if fault == Fault::Crash { subject.death() } else { None };
    let faults = Vec::from([FaultSeen::new(fault, "")]);
    Ok(Observed { verdict: verdict_of(fault), faults, death, answered })
}

/// Whether the process ends in time. For some targets this is unknown.
fn dies(network: &mut dyn Network, within: Duration) -> bool {
    let until = network.now().saturating_add(within);
    matches!(network.life(Life::Dead, until), Ok(Life::Dead))
}
