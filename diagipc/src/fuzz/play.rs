//! Sends one case to the target, and judges its reaction.

use std::time::Duration;

use dotnet_diagnostics_ipc::command::Command;
use dotnet_diagnostics_ipc::header::{HEADER_LEN, MAGIC, RawHeader};
use dotnet_diagnostics_ipc_vectors::Value;
use dotnet_diagnostics_ipc_vectors::player::{Network, Player};
use dotnet_diagnostics_ipc_vectors::script::Life;

use super::case::{Delivery, FuzzCase};
use crate::KnownDeviation;
use crate::conversation::{FaultSeen, ReplyKind, message_of};
use crate::faults::Fault;
use crate::known::{Effect, Profile, explain};
use crate::server::expectation::Expectation;
use crate::server::request::{Patience, Reaction, read};
use crate::server::target::Target;
use crate::server::{Death, judge};

/// The time limit for a reply, unless the target writes a dump. A target that waits longer, for
/// example for a descriptor, is not waited for.
const REPLY_TIMEOUT: Duration = Duration::from_secs(1);
/// The time limit for closing a connection.
const CLOSE_TIMEOUT: Duration = Duration::from_millis(250);
/// The time from the end of a connection to that of the process: normally, and after a failure.
const DEATH_TIMEOUTS: [Duration; 2] = [Duration::from_millis(100), Duration::from_secs(2)];

named! {
    /// A server's reaction to a case.
    ///
    /// ```
    /// use diagipc::fuzz::CaseVerdict;
    ///
    /// assert!(CaseVerdict::Crash.is_fatal() && !CaseVerdict::LeftOpen.is_fatal());
    /// assert_eq!(CaseVerdict::LeftOpen.to_string(), "left-open");
    /// ```
    CaseVerdict {
        /// The server answered with OK.
        Ok = "ok",
        /// The server answered with Error.
        Error = "error",
        /// The connection ended without a reply, and the server is alive.
        Closed = "closed",
        /// The server did not answer in time. It answers others once the connection is closed.
        Silent = "silent",
        /// The case did not wait for an answer, and the server is alive.
        Left = "left",
        /// The process ended.
        Crash = "crash",
        /// The process exists, but no longer answers a complete `ProcessInfo`.
        Hang = "hang",
        /// Nothing listens on the endpoint any more. The process exists, or that is unknown.
        EndpointGone = "endpoint-gone",
        /// The server sent bytes without a header, which are its memory (F-71).
        Leaked = "leaked",
        /// The reply, or its continuation, is malformed.
        Malformed = "malformed",
        /// The connection stayed open after a final reply, and a descriptor is lost (F-74).
        LeftOpen = "left-open",
        /// The server accepted a request with an invalid header.
        Unchecked = "unchecked",
        /// The memory of the target grows with each request. No single case has this verdict.
        MemoryGrowth = "memory-growth",
    }
}

impl CaseVerdict {
    /// Returns the verdict of a case with this fault.
    pub(super) const fn of(fault: Fault) -> Self {
        match fault {
            Fault::Crash => Self::Crash,
            Fault::Hang => Self::Hang,
            Fault::EndpointGone => Self::EndpointGone,
            Fault::Leaked => Self::Leaked,
            Fault::ConnectionLeftOpen => Self::LeftOpen,
            Fault::MagicUnchecked | Fault::SizeUnchecked => Self::Unchecked,
            Fault::MemoryGrowth => Self::MemoryGrowth,
            // In the bytes of a reply, or of its continuation.
            _ => Self::Malformed,
        }
    }

    /// Whether the server can no longer serve anybody.
    pub const fn is_fatal(self) -> bool {
        matches!(self, Self::Crash | Self::Hang | Self::EndpointGone)
    }
}

/// The target's reaction.
#[derive(Clone, Debug)]
pub(super) struct Observed {
    pub(super) verdict: CaseVerdict,
    /// The faults that were observed, with their values.
    pub(super) faults: Vec<FaultSeen>,
    pub(super) death: Option<Death>,
    pub(super) reaction: Reaction,
}

impl Observed {
    pub(super) fn received(&self) -> usize {
        self.reaction.exchange().came.len()
    }

    /// Returns the observation of a fault, if it was seen.
    pub(super) fn text_of(&self, fault: Fault) -> Option<&str> {
        self.faults.iter().find(|seen| seen.fault == fault).map(|seen| seen.text.as_str())
    }

    /// Returns the runtime's known behaviour that explains the reaction, by the server suite's
    /// rules.
    pub(super) fn explanation(&self, profile: Profile, case: &FuzzCase) -> Option<KnownDeviation> {
        let death =
            (self.verdict == CaseVerdict::Crash).then(|| self.death.unwrap_or(Death::Unknown));
        let expectation = Expectation::of_message(case.command(), &case.message);
        let judged = judge::judge(profile, &expectation, &self.reaction, death).deviation;
        judged.or_else(|| {
            // The suite does not report an open connection after a correct error, without other
            // faults.
            let error = self.reaction.exchange().reply.error();
            let hresult = error.filter(|_| self.reaction.left_open)?;
            let answer = ReplyKind::Error(hresult);
            let seen = Effect { answer, died: false, left_open: true, wrong: false };
            let row = explain(profile, expectation.request.as_ref()?, &seen)?;
            Some(KnownDeviation { fact: row.fact.into(), text: row.text.into() })
        })
    }
}

/// Sends a case to the target, followed by a `ProcessInfo`. Starts the target if necessary.
///
/// # Errors
/// Returns an error if there is no target.
pub(super) fn play(
    subject: &mut Target,
    profile: Profile,
    case: &FuzzCase,
    within: Duration,
) -> Result<Observed, String> {
    let command = case.command();
    let is_dump = command.set == Command::GENERATE_CORE_DUMP.set;
    let patience = Patience {
        reply: if is_dump { within } else { within.min(REPLY_TIMEOUT) },
        rest: within,
        close: CLOSE_TIMEOUT,
        may_be_held: subject.may_be_held(profile),
    };
    let mut network = subject.shared()?;
    let mut player = Player::new(&mut network, within);
    // If the case could not be sent, the question afterwards explains more.
    let reaction = match player.play(&case.steps()) {
        Ok(()) if case.delivery != Delivery::Leave => {
            read(&mut player, &Value::Null, patience).ok()
        }
        _ => None,
    };
    let reaction = reaction.unwrap_or_else(|| Reaction::of(player.conversation()));
    // If this fails, dropping the network ends the connections.
    let _ = player.close_all();

    // If the process is unknown, only its endpoint can be checked.
    let is_known = subject.process_id().is_some();
    let mut is_dead = false;
    if is_known && !reaction.exchange().reply.is_whole() {
        is_dead = dies(&mut network, DEATH_TIMEOUTS[0]);
    }
    if !is_dead && subject.answers().is_ok() {
        return Ok(observe(reaction, case));
    }
    let fault = if is_dead || (is_known && dies(&mut network, DEATH_TIMEOUTS[1].min(within))) {
        Fault::Crash
    } else if subject.is_endpoint_gone() {
        Fault::EndpointGone
    } else {
        Fault::Hang
    };
    let death = if fault == Fault::Crash { subject.death() } else { None };
    let faults = Vec::from([FaultSeen::new(fault, "")]);
    Ok(Observed { verdict: CaseVerdict::of(fault), faults, death, reaction })
}

/// Whether the process ends in time. For some targets this is unknown.
fn dies(network: &mut dyn Network, within: Duration) -> bool {
    let until = network.now().saturating_add(within);
    matches!(network.life(Life::Dead, until), Ok(Life::Dead))
}

/// Judges the reaction of a server that continues to serve.
fn observe(reaction: Reaction, case: &FuzzCase) -> Observed {
    let exchange = reaction.exchange();
    let mut faults = faults_in_bytes(&reaction, case);
    if exchange.reply.is_whole() {
        faults.extend(missing_checks(&reaction, case));
    }
    let verdict = match (faults.first(), exchange.answer()) {
        (Some(seen), _) => CaseVerdict::of(seen.fault),
        (None, ReplyKind::Error(_)) => CaseVerdict::Error,
        (None, ReplyKind::Ok) => CaseVerdict::Ok,
        (None, _) if !exchange.is_silent() => CaseVerdict::Closed,
        (None, _) if case.delivery == Delivery::Leave => CaseVerdict::Left,
        (None, _) => CaseVerdict::Silent,
    };
    Observed { verdict, faults, death: None, reaction }
}

/// Returns what is wrong with the received bytes.
fn faults_in_bytes(reaction: &Reaction, case: &FuzzCase) -> Vec<FaultSeen> {
    let exchange = reaction.exchange();
    let bytes = exchange.came.as_slice();
    if !begins_a_message(bytes) {
        return Vec::from([if is_reply_but_for_the_magic(bytes) {
            let magic = bytes.get(..MAGIC.len()).unwrap_or_default();
            let text = format!("the magic is {}", hex::encode(magic));
            FaultSeen::new(Fault::MagicWrong, text)
        } else {
            let text = format!("{} bytes without a header were received", bytes.len());
            FaultSeen::new(Fault::Leaked, text)
        }]);
    }
    // Only the message counts: bytes that the server never reads turn its end into a reset (F-70).
    let has_unread = message_of(&case.message).len() < case.message.len();
    let mut found: Vec<FaultSeen> = if has_unread {
        exchange.reply.faults_of_message().cloned().collect()
    } else {
        exchange.reply.faults().cloned().collect()
    };
    if found.is_empty() && !has_unread {
        found.extend(reaction.wrong.iter().cloned());
    }
    found
}

/// Returns the missing checks of the request, and what the server failed to do after a reply.
fn missing_checks(reaction: &Reaction, case: &FuzzCase) -> Vec<FaultSeen> {
    let mut faults = Vec::new();
    let request = RawHeader::read(&case.message);
    if reaction.exchange().reply.is_ok() {
        let magic = request.magic.filter(|magic| *magic != MAGIC && request.reserved.is_some());
        if let Some(magic) = magic {
            let text = format!("an OK to a request whose magic is {}", hex::encode(magic));
            faults.push(FaultSeen::new(Fault::MagicUnchecked, text));
        }
        if let Some(size) = request.size.filter(|size| usize::from(*size) < HEADER_LEN) {
            let text = format!("an OK to a request whose size is {size}");
            faults.push(FaultSeen::new(Fault::SizeUnchecked, text));
        }
    }
    if reaction.left_open && !reaction.has_surplus {
        let text = "the connection stays open after the reply";
        faults.push(FaultSeen::new(Fault::ConnectionLeftOpen, text));
    }
    faults
}

/// Whether these bytes, as far as they go, are a magic and the rest of a header.
fn begins_a_message(bytes: &[u8]) -> bool {
    bytes.iter().zip(&MAGIC).all(|(byte, magic)| byte == magic)
}

/// Whether these bytes are the header of an OK or an error with a damaged magic, of which a part is
/// present, because a server's memory may contain anything.
fn is_reply_but_for_the_magic(bytes: &[u8]) -> bool {
    let has_some =
        bytes.iter().zip(&MAGIC).filter(|(byte, magic)| byte == magic).count() >= MAGIC.len() / 2;
    let RawHeader { size, command, .. } = RawHeader::read(bytes);
    let is_reply = [Some(Command::OK), Some(Command::ERROR)].contains(&command);
    has_some && is_reply && size.is_some_and(|size| usize::from(size) >= HEADER_LEN)
}

#[cfg(test)]
mod tests {
    use dotnet_diagnostics_ipc::exchange::End;

    use super::*;
    use crate::conversation::Exchange;
    use crate::server::request::ON;

    const RESUME: &[u8] = b"DOTNET_IPC_V1\0\x14\0\x04\x01\0\0";
    const OK: &[u8] = b"DOTNET_IPC_V1\0\x18\0\xff\0\0\0\0\0\0\0";

    const CLOSED: End = End::Closed;

    /// Returns the reaction with this answer to a request, and how it ended.
    fn answered(request: &[u8], came: &[u8], quiet: End) -> Reaction {
        Exchange::new(ON, request, came, quiet).into()
    }

    fn message(bytes: &[u8]) -> Reaction {
        answered(RESUME, bytes, CLOSED)
    }

    /// Returns the verdict and the server's faults.
    #[track_caller]
    fn judged(reaction: Reaction) -> (CaseVerdict, Vec<FaultSeen>) {
        let case = FuzzCase::of(&reaction.exchange().sent, Delivery::Whole);
        let Observed { verdict, faults, .. } = observe(reaction, &case);
        (verdict, faults)
    }

    #[test]
    fn live_server_is_judged_by_its_answer() {
        let verdict = |came: &[u8], quiet| judged(answered(RESUME, came, quiet)).0;
        let error = b"DOTNET_IPC_V1\0\x18\0\xff\xff\0\0\x85\x13\x13\x80";
        assert_eq!(
            (verdict(OK, CLOSED), verdict(error, CLOSED)),
            (CaseVerdict::Ok, CaseVerdict::Error)
        );
        assert_eq!(verdict(&[7; 20], CLOSED), CaseVerdict::Leaked);
        assert_eq!(verdict(&[7], End::TimedOut), CaseVerdict::Leaked);
        // These bytes begin like a message, but are not one.
        let size_0 = [MAGIC.as_slice(), &[0; 6]].concat();
        assert_eq!(verdict(&size_0, CLOSED), CaseVerdict::Malformed);
        assert_eq!(verdict(&MAGIC, CLOSED), CaseVerdict::Malformed);
        assert_eq!(verdict(&MAGIC, End::TimedOut), CaseVerdict::Malformed);
        assert_eq!(verdict(&[], End::Reset), CaseVerdict::Closed);
        assert_eq!(verdict(&[], End::TimedOut), CaseVerdict::Silent);
        let silence = answered(RESUME, &[], End::TimedOut);
        let left = observe(silence, &FuzzCase::of(RESUME, Delivery::Leave));
        assert_eq!((left.verdict, left.faults.len()), (CaseVerdict::Left, 0));
        let left_open = Reaction { left_open: true, ..message(OK) };
        assert_eq!(judged(left_open).0, CaseVerdict::LeftOpen);
        // Faults after the reply count, unless unread bytes follow the request (F-70).
        let streams_on = FaultSeen::new(Fault::StreamDoesNotEnd, "it does not end");
        let wrong = |answered| Reaction { wrong: [streams_on.clone()].into(), ..answered };
        assert_eq!(judged(wrong(message(OK))).1, std::slice::from_ref(&streams_on));
        let with_more = answered(&[RESUME, &[1]].concat(), OK, CLOSED);
        assert_eq!(judged(wrong(with_more)), (CaseVerdict::Ok, Vec::new()));
    }

    #[test]
    fn faults_of_a_reply_are_findings_once() {
        let says = |reaction: Reaction| judged(reaction).1;
        let one = |fault, text: &str| Vec::from([FaultSeen::new(fault, text)]);
        assert_eq!(
            says(message(b"DOTNET_IPC_V2\0\x18\0\xff\0\0\0")),
            one(Fault::MagicWrong, "the magic is 444f544e45545f4950435f563200")
        );
        // An open connection does not get a second name.
        let surplus = Reaction {
            left_open: true,
            has_surplus: true,
            ..message(b"DOTNET_IPC_V1\0\x18\0\xff\0\0\0\0\0\0\0and")
        };
        assert_eq!(
            says(surplus),
            one(Fault::BytesAfterTheMessage, "3 bytes follow the reply: \"and\"")
        );
    }

    #[test]
    fn request_without_magic_taken_is_a_finding() {
        let other = b"DOTNET_IPC_V2\0\x14\0\x04\x01\0\0";
        let text = "an OK to a request whose magic is 444f544e45545f4950435f563200";
        let taken = judged(answered(other, OK, CLOSED));
        let seen = FaultSeen::new(Fault::MagicUnchecked, text);
        assert_eq!(taken, (CaseVerdict::Unchecked, Vec::from([seen])));
        let error = b"DOTNET_IPC_V1\0\x18\0\xff\xff\0\0\x86\x13\x13\x80";
        let refused = judged(answered(other, error, CLOSED));
        assert_eq!(refused, (CaseVerdict::Error, Vec::new()));
        let small = b"DOTNET_IPC_V1\0\x13\0\x04\x01\0\0";
        let taken = judged(answered(small, OK, CLOSED)).1;
        assert_eq!(taken.first().map(|seen| seen.fault), Some(Fault::SizeUnchecked));
        // Two faults are two findings.
        let both = b"DOTNET_IPC_V1\0\x18\0\xff\0\x01\0\0\0\0\0";
        assert_eq!(judged(answered(other, both, CLOSED)).1.len(), 2);
    }

    /// Returns the fact that explains the death of a target after `message`.
    fn fact_of_crash(profile: Profile, message: &[u8]) -> Option<String> {
        let reaction = answered(message, &[], End::Reset);
        let verdict = CaseVerdict::Crash;
        let observed = Observed { verdict, faults: Vec::new(), death: None, reaction };
        let known = observed.explanation(profile, &FuzzCase::of(message, Delivery::Whole));
        known.map(|deviation| deviation.fact)
    }

    #[test]
    fn known_open_connection_after_error_by_profile() {
        let request = b"DOTNET_IPC_V1\0\x14\0\x03\x7f\0\0";
        let unknown = b"DOTNET_IPC_V1\0\x18\0\xff\xff\0\0\x85\x13\x13\x80";
        let reaction = answered(request, unknown, End::TimedOut);
        let reaction = Reaction { left_open: true, ..reaction };
        let case = FuzzCase::of(request, Delivery::Whole);
        let observed = observe(reaction, &case);
        let fact = |profile| observed.explanation(profile, &case).map(|known| known.fact);
        assert_eq!((fact(Profile::CORECLR_8), fact(Profile::STRICT)), (Some("F-74".into()), None));
    }

    #[test]
    fn known_death_needs_recorded_fault() {
        let net10 = Profile::CORECLR_10;
        let crash = |message: &[u8]| fact_of_crash(net10, message);
        let fact_of = |fact: &str| Some(fact.to_owned());
        let resume = b"DOTNET_IPC_V1\0\x14\0\x04\x01\0\0";
        let without_payload = b"DOTNET_IPC_V1\0\x14\0\x01\x01\0\0";
        // This request is canonical but beyond a limit: a buffer of 0 MB, and one provider "P".
        let zero = b"DOTNET_IPC_V1\0\x39\0\x02\x03\0\0\0\0\0\0\x01\0\0\0\0\x01\0\0\0\
            \0\0\0\0\0\0\0\0\x04\0\0\0\x02\0\0\0P\0\0\0\0\0\0\0";
        assert_eq!(
            (crash(without_payload), crash(zero), crash(resume)),
            (fact_of("F-7"), None, None)
        );
        assert_eq!(fact_of_crash(Profile::CORECLR_9, zero), fact_of("F-72"));
        // A byte after the payload kills no observed runtime.
        let surplus = b"DOTNET_IPC_V1\0\x15\0\x04\x01\0\0\x07";
        assert_eq!(crash(surplus), None);
        // The strict profile has no known behaviour.
        assert_eq!(fact_of_crash(Profile::STRICT, without_payload), None);
    }
}
