//! Faults in the answer of a server that continues to serve.

use dotnet_diagnostics_ipc::command::Command;
use dotnet_diagnostics_ipc::header::{HEADER_LEN, MAGIC, RawHeader};

use super::case::{Delivery, FuzzCase};
use super::cause::Symptom;
use super::verdict::CaseVerdict;
use crate::faults::Fault;
use crate::server::answer_faults::fault_in_wrong;
use crate::server::ask::Received;
use crate::server::exchange::Exchange;
use crate::server::fault_seen::FaultSeen;
use crate::server::request::{ON, Reaction};
use crate::server::request_bytes::message_of;

/// The result of such an answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Judged {
    pub(super) verdict: CaseVerdict,
    /// What no server may do, with the numbers.
    pub(super) symptoms: Vec<(Symptom, String)>,
}

/// Checks the whole answer to `case`.
pub(super) fn judge(answered: &Reaction, case: &FuzzCase) -> Judged {
    let symptoms = answered.exchanges.on(ON).map_or_else(Vec::new, |exchange| {
        let mut symptoms = in_bytes(exchange, answered, case);
        if answered.reply().is_some() {
            symptoms.extend(in_checks(exchange, answered, case));
        }
        symptoms
    });
    let verdict = match (symptoms.first(), &answered.came) {
        (Some((symptom, _)), _) => symptom.verdict(),
        (None, Received::Message(_)) if answered.error().is_some() => CaseVerdict::Error,
        (None, Received::Message(_)) => CaseVerdict::Ok,
        (None, Received::Silence(_)) if case.delivery == Delivery::Leave => CaseVerdict::Left,
        (None, Received::Silence(_)) => CaseVerdict::Silent,
        (None, Received::NoMessage(_) | Received::End(..)) => CaseVerdict::Closed,
    };
    Judged { verdict, symptoms }
}

/// What is wrong with the received bytes.
fn in_bytes(exchange: &Exchange, answered: &Reaction, case: &FuzzCase) -> Vec<(Symptom, String)> {
    let bytes = exchange.came.as_slice();
    if !begins_a_message(bytes) {
        return Vec::from([if is_reply_but_for_the_magic(bytes) {
            let magic = bytes.get(..MAGIC.len()).unwrap_or_default();
            let text = format!("the magic is {}", hex::encode(magic));
            (Symptom::Reply(Fault::MagicWrong), text)
        } else {
            (Symptom::Leaked, format!("{} bytes without a header were received", bytes.len()))
        }]);
    }
    // Bytes that the server never reads turn the end of its stream into a reset (F-70): only the
    // message counts.
    let has_unread = message_of(&case.message).is_some();
    let mut found: Vec<FaultSeen> = if has_unread {
        exchange.reply.faults_of_message().cloned().collect()
    } else {
        exchange.reply.faults().cloned().collect()
    };
    if found.is_empty() && !has_unread {
        let wrong = answered.wrong.iter();
        found.extend(wrong.filter_map(|wrong| fault_in_wrong(wrong, &answered.exchanges)));
    }
    found.into_iter().map(|seen| (Symptom::Reply(seen.fault), seen.text)).collect()
}

/// What the server should have checked in the request, and what it should have done after a reply.
fn in_checks(exchange: &Exchange, answered: &Reaction, case: &FuzzCase) -> Vec<(Symptom, String)> {
    let mut symptoms = Vec::new();
    let request = RawHeader::read(&case.message);
    if exchange.reply.is_ok() {
        let magic = request.magic.filter(|magic| *magic != MAGIC && request.reserved.is_some());
        if let Some(magic) = magic {
            let text = format!("an OK to a request whose magic is {}", hex::encode(magic));
            symptoms.push((Symptom::MagicUnchecked, text));
        }
        if let Some(size) = request.size.filter(|size| usize::from(*size) < HEADER_LEN) {
            let text = format!("an OK to a request whose size is {size}");
            symptoms.push((Symptom::SizeUnchecked, text));
        }
    }
    if answered.left_open && !answered.has_surplus {
        let text = "the connection stays open after the reply".to_owned();
        symptoms.push((Symptom::LeftOpen, text));
    }
    symptoms
}

/// Whether these bytes, as far as they go, are a magic and the rest of a header.
fn begins_a_message(bytes: &[u8]) -> bool {
    bytes.iter().zip(&MAGIC).all(|(byte, magic)| byte == magic)
}

/// Whether these bytes are the header of an OK or an error except for the magic, of which some is
/// present: a server's memory may contain anything.
fn is_reply_but_for_the_magic(bytes: &[u8]) -> bool {
    let has_some =
        bytes.iter().zip(&MAGIC).filter(|(byte, magic)| byte == magic).count() >= MAGIC.len() / 2;
    let RawHeader { size, command, .. } = RawHeader::read(bytes);
    let is_reply = [Some(Command::OK), Some(Command::ERROR)].contains(&command);
    has_some && is_reply && size.is_some_and(|size| usize::from(size) >= HEADER_LEN)
}

#[cfg(test)]
mod tests {
    use dotnet_diagnostics_ipc::command::Command;
    use dotnet_diagnostics_ipc::exchange::End;

    use super::*;
    use crate::fuzz_server::Mutation;
    use crate::server::exchange::Exchanges;
    use crate::server::request::Wrong;

    fn case(message: &[u8], delivery: Delivery) -> FuzzCase {
        let mutations = Vec::from([Mutation::ExtraBytes]);
        FuzzCase {
            number: 1,
            tc_id: 1,
            base: Command::RESUME_RUNTIME,
            mutations,
            message: message.to_vec(),
            delivery,
        }
    }

    const RESUME: &[u8] = b"DOTNET_IPC_V1\0\x14\0\x04\x01\0\0";
    const OK: &[u8] = b"DOTNET_IPC_V1\0\x18\0\xff\0\0\0\0\0\0\0";

    fn answered(came: Received) -> Reaction {
        Reaction::new(came, Exchanges::default())
    }

    fn message(bytes: &[u8]) -> Reaction {
        answered(Received::Message(bytes.to_vec()))
    }

    /// The answer to that request, with its bytes; nothing follows them.
    fn judge_delivered(answered: &Reaction, request: &[u8], delivery: Delivery) -> Judged {
        judge(&answered.clone().to(request), &case(request, delivery))
    }

    /// The verdict, and the server's faults.
    #[track_caller]
    fn judged(answered: &Reaction, request: &[u8]) -> (CaseVerdict, Vec<(Symptom, String)>) {
        let Judged { verdict, symptoms } = judge_delivered(answered, request, Delivery::Whole);
        (verdict, symptoms)
    }

    #[test]
    fn live_server_is_judged_by_its_answer() {
        let verdict = |came| judged(&answered(came), RESUME).0;
        let magic = || MAGIC.to_vec();
        let error =
            Received::Message(b"DOTNET_IPC_V1\0\x18\0\xff\xff\0\0\x85\x13\x13\x80".to_vec());
        assert_eq!(
            (judged(&message(OK), RESUME).0, verdict(error)),
            (CaseVerdict::Ok, CaseVerdict::Error)
        );
        assert_eq!(verdict(Received::NoMessage(Vec::from([7; 20]))), CaseVerdict::Leaked);
        assert_eq!(verdict(Received::Silence(Vec::from([7]))), CaseVerdict::Leaked);
        // It begins like a message, but is not one.
        assert_eq!(
            verdict(Received::NoMessage([magic(), Vec::from([0; 6])].concat())),
            CaseVerdict::Malformed
        );
        assert_eq!(verdict(Received::End(End::Closed, magic())), CaseVerdict::Malformed);
        assert_eq!(verdict(Received::Silence(magic())), CaseVerdict::Malformed);
        assert_eq!(verdict(Received::End(End::Reset, Vec::new())), CaseVerdict::Closed);
        assert_eq!(verdict(Received::Silence(Vec::new())), CaseVerdict::Silent);
        let silence = answered(Received::Silence(Vec::new()));
        let left = judge_delivered(&silence, RESUME, Delivery::Leave);
        assert_eq!((left.verdict, left.symptoms.len()), (CaseVerdict::Left, 0));
        assert_eq!(
            judged(&Reaction { left_open: true, ..message(OK) }, RESUME).0,
            CaseVerdict::LeftOpen
        );
        // Faults after the reply count, unless bytes follow the request that the server never reads
        // (F-70).
        let wrong = Reaction { wrong: Vec::from([Wrong::Stream(None)]), ..message(OK) };
        assert_eq!(
            judged(&wrong, RESUME).1,
            [(
                Symptom::Reply(Fault::StreamDoesNotEnd),
                "the session was stopped, but its stream continues or stays open".into()
            )]
        );
        assert_eq!(judged(&wrong, &[RESUME, &[1]].concat()), (CaseVerdict::Ok, Vec::new()));
    }

    #[test]
    fn reply_each_field_is_checked() {
        let says = |answered: &Reaction| judged(answered, RESUME).1;
        let one = |fault, text: &str| Vec::from([(Symptom::Reply(fault), text.into())]);
        assert_eq!(
            says(&message(b"DOTNET_IPC_V1\0\x18\0\x04\x01\0\0\0\0\0\0")),
            one(
                Fault::ReplyCommandWrong,
                "the reply has Process/ResumeRuntime (0x04, 0x01), expected Server/OK or Server/Error"
            )
        );
        assert_eq!(
            says(&message(b"DOTNET_IPC_V1\0\x18\0\xff\x01\0\0\0\0\0\0")),
            one(
                Fault::ReplyCommandWrong,
                "the reply has Server/0x01 (0xff, 0x01), expected Server/OK or Server/Error"
            )
        );
        assert_eq!(
            says(&message(b"DOTNET_IPC_V1\0\x18\0\xff\0\x01\0\0\0\0\0")),
            one(Fault::ReservedNotZero, "reserved is 0x0001, expected 0x0000")
        );
        let other_magic = b"DOTNET_IPC_V2\0\x18\0\xff\0\0\0".to_vec();
        assert_eq!(
            says(&answered(Received::NoMessage(other_magic))),
            one(Fault::MagicWrong, "the magic is 444f544e45545f4950435f563200")
        );
        let short = OK.get(..22).unwrap().to_vec();
        assert_eq!(
            says(&answered(Received::End(End::Closed, short))),
            one(Fault::ReplyCut, "size is 24, but 22 bytes were received")
        );
        // No second name for an open connection.
        let surplus = Reaction {
            left_open: true,
            has_surplus: true,
            ..message(b"DOTNET_IPC_V1\0\x18\0\xff\0\0\0\0\0\0\0and")
        };
        assert_eq!(
            says(&surplus),
            one(Fault::BytesAfterTheMessage, "3 bytes follow the reply: \"and\"")
        );
        assert_eq!(
            says(&message(b"DOTNET_IPC_V1\0\x16\0\xff\0\0\0\0\0")),
            one(
                Fault::PayloadMalformed,
                "the payload is malformed: the field needs 4 bytes, the payload has 2 left \
                 (payload unexpected_end at byte 20 in ResumeRuntime.hresult)"
            )
        );
    }

    #[test]
    fn request_without_magic_taken_is_a_finding() {
        let other = b"DOTNET_IPC_V2\0\x14\0\x04\x01\0\0";
        let text = "an OK to a request whose magic is 444f544e45545f4950435f563200";
        assert_eq!(
            judged(&message(OK), other),
            (CaseVerdict::Unchecked, Vec::from([(Symptom::MagicUnchecked, text.into())]))
        );
        let error = message(b"DOTNET_IPC_V1\0\x18\0\xff\xff\0\0\x86\x13\x13\x80");
        assert_eq!(judged(&error, other), (CaseVerdict::Error, Vec::new()));
        let small = b"DOTNET_IPC_V1\0\x13\0\x04\x01\0\0";
        assert_eq!(
            judged(&message(OK), small).1.first().map(|(symptom, _)| symptom.clone()),
            Some(Symptom::SizeUnchecked)
        );
        // Two faults are two findings.
        let both = message(b"DOTNET_IPC_V1\0\x18\0\xff\0\x01\0\0\0\0\0");
        assert_eq!(judged(&both, other).1.len(), 2);
    }
}
