//! One case, sent to the target, and what the target did.

use alloc::{string::String, vec::Vec};
use core::time::Duration;

use super::case::{Delivery, FuzzCase};
use super::numbers;
use super::verdict::CaseVerdict;
use crate::command::Command;
use crate::conformance::player::{Network, Player};
use crate::conformance::server::Death;
use crate::conformance::server::ask::Came;
use crate::conformance::server::request::{Answered, Patience, read};
use crate::conformance::server::target::Subject;
use crate::header::MAGIC;
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
    /// How its process ended, where that is known.
    pub(super) death: Option<Death>,
    pub(super) answered: Answered,
}

impl Observed {
    /// How many bytes came.
    pub(super) fn seen(&self) -> usize {
        match &self.answered.came {
            Came::Message(bytes) | Came::NoMessage(bytes) | Came::End(_, bytes) | Came::Silence(bytes) => bytes.len(),
        }
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
    let nothing = || Answered { came: Came::Silence(Vec::new()), wrong: Vec::new(), left_open: false };
    // Where it could not be sent, the question afterwards says more.
    let answered = match player.play(&case.steps()) {
        Ok(()) if case.delivery != Delivery::Leave => {
            read(&mut player, Some(command), &Value::Null, patience).unwrap_or_else(|_| nothing())
        }
        _ => nothing(),
    };
    // The connections end with the network in any case.
    let _ = player.close_all();

    let mut is_dead = false;
    if !matches!(answered.came, Came::Message(_)) {
        is_dead = dies(&mut network, DIES[0]);
    }
    let verdict = if is_dead {
        CaseVerdict::Crash
    } else if subject.answers().is_ok() {
        mild(&answered, case)
    } else if dies(&mut network, DIES[1].min(within)) {
        CaseVerdict::Crash
    } else {
        CaseVerdict::Hang
    };
    let death = if verdict == CaseVerdict::Crash { subject.death() } else { None };
    Ok(Observed { verdict, death, answered })
}

/// Whether the process ends in time. Of some targets that is not known.
fn dies(network: &mut dyn Network, within: Duration) -> bool {
    let until = network.now().saturating_add(within);
    matches!(network.life(Life::Dead, until), Ok(Life::Dead))
}

/// The verdict on an answer of a server that goes on to serve.
fn mild(answered: &Answered, case: &FuzzCase) -> CaseVerdict {
    // Bytes that the server never reads make the end of its stream a reset (F-70).
    let has_surplus = numbers::size(&case.message).is_some_and(|size| usize::from(size) < case.message.len());
    match &answered.came {
        Came::Message(_) if !answered.wrong.is_empty() && !has_surplus => CaseVerdict::Malformed,
        Came::Message(_) if answered.left_open => CaseVerdict::LeftOpen,
        Came::Message(_) if answered.came.error().is_some() => CaseVerdict::Error,
        Came::Message(_) => CaseVerdict::Ok,
        Came::NoMessage(bytes) | Came::End(_, bytes) | Came::Silence(bytes) if !begins_a_message(bytes) => CaseVerdict::Leaked,
        Came::NoMessage(_) => CaseVerdict::Malformed,
        Came::End(_, bytes) | Came::Silence(bytes) if !bytes.is_empty() => CaseVerdict::Malformed,
        Came::End(..) => CaseVerdict::Closed,
        Came::Silence(_) if case.delivery == Delivery::Leave => CaseVerdict::Left,
        Came::Silence(_) => CaseVerdict::Silent,
    }
}

/// Whether these bytes, as far as they go, are a magic and what is behind it.
fn begins_a_message(bytes: &[u8]) -> bool {
    bytes.iter().zip(&MAGIC).all(|(byte, magic)| byte == magic)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::conformance::fuzz_server::Mutation;
    use crate::exchange::End;

    #[test]
    fn of_a_server_that_goes_on_the_answer_decides() {
        let case = |delivery, behind: &[u8]| FuzzCase {
            number: 1,
            tc_id: 1,
            base: crate::command::Command::RESUME_RUNTIME,
            mutations: Vec::from([Mutation::ExtraBytes]),
            message: [b"DOTNET_IPC_V1\0\x14\0\x04\x01\0\0", behind].concat(),
            delivery,
        };
        let answered = |came| Answered { came, wrong: Vec::new(), left_open: false };
        let verdict = |came| mild(&answered(came), &case(Delivery::Whole, &[]));
        let magic = || b"DOTNET_IPC_V1\0".to_vec();
        let ok = || Came::Message(b"DOTNET_IPC_V1\0\x18\0\xff\0\0\0\0\0\0\0".to_vec());
        let error = Came::Message(b"DOTNET_IPC_V1\0\x18\0\xff\xff\0\0\x85\x13\x13\x80".to_vec());
        assert_eq!((verdict(ok()), verdict(error)), (CaseVerdict::Ok, CaseVerdict::Error));
        assert_eq!(verdict(Came::NoMessage(Vec::from([7; 20]))), CaseVerdict::Leaked);
        assert_eq!(verdict(Came::Silence(Vec::from([7]))), CaseVerdict::Leaked);
        // It begins as a message does, and is none.
        assert_eq!(verdict(Came::NoMessage([magic(), Vec::from([0; 6])].concat())), CaseVerdict::Malformed);
        assert_eq!(verdict(Came::End(End::Closed, magic())), CaseVerdict::Malformed);
        assert_eq!(verdict(Came::Silence(magic())), CaseVerdict::Malformed);
        assert_eq!(verdict(Came::End(End::Reset, Vec::new())), CaseVerdict::Closed);
        assert_eq!(verdict(Came::Silence(Vec::new())), CaseVerdict::Silent);
        assert_eq!(mild(&answered(Came::Silence(Vec::new())), &case(Delivery::Leave, &[])), CaseVerdict::Left);
        assert_eq!(mild(&Answered { left_open: true, ..answered(ok()) }, &case(Delivery::Whole, &[])), CaseVerdict::LeftOpen);
        // What is wrong counts, but where bytes are behind the message that the server never reads (F-70).
        let wrong = || Answered {
            wrong: Vec::from([crate::conformance::server::request::Wrong::Stream(Some(End::Reset))]),
            ..answered(ok())
        };
        assert_eq!(mild(&wrong(), &case(Delivery::Whole, &[])), CaseVerdict::Malformed);
        assert_eq!(mild(&wrong(), &case(Delivery::Whole, &[1])), CaseVerdict::Ok);
    }
}
