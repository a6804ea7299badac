//! One case, sent to the target, and what the target did.

use alloc::{
    string::{String, ToString as _},
    vec::Vec,
};
use core::time::Duration;

use super::case::{Delivery, FuzzCase};
use super::cause::Symptom;
use super::reply::{Judged, judge};
use super::verdict::CaseVerdict;
use crate::command::Command;
use crate::conformance::player::{Network, Player};
use crate::conformance::server::Death;
use crate::conformance::server::ask::Came;
use crate::conformance::server::request::{Answered, Patience, read};
use crate::conformance::server::target::Subject;
use crate::vectors::Value;
use crate::vectors::script::Life;

/// How long a server may take to a reply, unless it writes a dump. One that waits, as for a descriptor, is not waited for.
const REPLY: Duration = Duration::from_secs(1);
/// How long it may take to close a connection.
const CLOSE: Duration = Duration::from_millis(250);
/// From the end of a connection to the end of the process; and where it is known that something is wrong.
const DIES: [Duration; 2] = [Duration::from_millis(100), Duration::from_secs(2)];

/// What the target did.
#[derive(Clone, Debug)]
pub(super) struct Observed {
    pub(super) verdict: CaseVerdict,
    /// What no server may do, with the figures.
    pub(super) symptoms: Vec<(Symptom, String)>,
    pub(super) answered: Answered,
}

impl Observed {
    /// How many bytes came.
    pub(super) fn seen(&self) -> usize {
        match &self.answered.came {
            Came::Message(bytes) | Came::NoMessage(bytes) | Came::End(_, bytes) | Came::Silence(bytes) => bytes.len(),
        }
    }

    /// Whether this is among what it did.
    pub(super) fn shows(&self, symptom: &Symptom) -> bool {
        self.symptoms.iter().any(|(shown, _)| shown == symptom)
    }

    /// The figures of a symptom.
    pub(super) fn text_of(&self, symptom: &Symptom) -> Option<String> {
        let (_, text) = self.symptoms.iter().find(|(shown, _)| shown == symptom)?;
        (!text.is_empty()).then(|| text.clone())
    }

    /// How its process ended, where that is known.
    pub(super) fn death(&self) -> Option<Death> {
        self.symptoms.iter().find_map(|(symptom, _)| if let Symptom::Crash(death) = symptom { *death } else { None })
    }

    /// The end of the target, in words.
    pub(super) fn end(&self) -> String {
        self.death().map_or_else(|| self.verdict.to_string(), |death| death.to_string())
    }
}

/// Sends a case to the target, which is started if it is not there, and asks it a `ProcessInfo` afterwards.
///
/// # Errors
/// Where there is no target.
pub(super) fn play(subject: &mut Subject, case: &FuzzCase, within: Duration) -> Result<Observed, String> {
    let mut network = subject.shared()?;
    let command = case.command();
    let is_dump = command.set == Command::GENERATE_CORE_DUMP.set;
    let patience = Patience { reply: if is_dump { within } else { within.min(REPLY) }, rest: within, close: CLOSE };
    let mut player = Player::new(&mut network, within);
    let nothing = || Answered {
        came: Came::Silence(Vec::new()),
        wrong: Vec::new(),
        left_open: false,
        has_surplus: false,
        stream: Vec::new(),
    };
    // Where it could not be sent, the question afterwards says more.
    let answered = match player.play(&case.steps()) {
        Ok(()) if case.delivery != Delivery::Leave => {
            read(&mut player, Some(command), &Value::Null, patience).unwrap_or_else(|_| nothing())
        }
        _ => nothing(),
    };
    // The connections end with the network in any case.
    let _ = player.close_all();

    // Of a process that is not known, only its endpoint is.
    let is_known = subject.process_id().is_some();
    let mut is_dead = false;
    if is_known && !matches!(answered.came, Came::Message(_)) {
        is_dead = dies(&mut network, DIES[0]);
    }
    if !is_dead && subject.answers().is_ok() {
        let Judged { verdict, symptoms } = judge(&answered, case);
        return Ok(Observed { verdict, symptoms, answered });
    }
    let symptom = if is_dead || (is_known && dies(&mut network, DIES[1].min(within))) {
        Symptom::Crash(subject.death())
    } else if subject.is_endpoint_gone() {
        Symptom::EndpointGone
    } else {
        Symptom::Hang
    };
    Ok(Observed { verdict: symptom.verdict(), symptoms: Vec::from([(symptom, String::new())]), answered })
}

/// Whether the process ends in time. Of some targets that is not known.
fn dies(network: &mut dyn Network, within: Duration) -> bool {
    let until = network.now().saturating_add(within);
    matches!(network.life(Life::Dead, until), Ok(Life::Dead))
}
