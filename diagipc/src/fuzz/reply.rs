//! Faults in the answer of a server that continues to serve.

use dotnet_diagnostics_ipc::command::Command;
use dotnet_diagnostics_ipc::header::{HEADER_LEN, MAGIC, RawHeader};

use super::case::{Delivery, FuzzCase};
use super::cause::verdict_of;
use super::verdict::CaseVerdict;
use crate::conversation::{Answer, FaultSeen, message_of};
use crate::faults::Fault;
use crate::server::request::Reaction;

/// The result of such an answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Judged {
    pub(super) verdict: CaseVerdict,
    /// What no server may do, with the numbers.
    pub(super) faults: Vec<FaultSeen>,
}

/// Checks the whole answer to `case`.
pub(super) fn judge(answered: &Reaction, case: &FuzzCase) -> Judged {
    let exchange = answered.exchange();
    let mut faults = in_bytes(answered, case);
    if exchange.reply.is_whole() {
        faults.extend(in_checks(answered, case));
    }
    let verdict = match (faults.first(), exchange.answer()) {
        (Some(seen), _) => verdict_of(seen.fault),
        (None, Answer::Error(_)) => CaseVerdict::Error,
        (None, Answer::Ok) => CaseVerdict::Ok,
        (None, _) if !exchange.is_silent() => CaseVerdict::Closed,
        (None, _) if case.delivery == Delivery::Leave => CaseVerdict::Left,
        (None, _) => CaseVerdict::Silent,
    };
    Judged { verdict, faults }
}

/// What is wrong with the received bytes.
fn in_bytes(answered: &Reaction, case: &FuzzCase) -> Vec<FaultSeen> {
    let exchange = answered.exchange();
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
    // Bytes that the server never reads turn the end of its stream into a reset (F-70): only the
    // message counts.
    let has_unread = message_of(&case.message).len() < case.message.len();
    let mut found: Vec<FaultSeen> = if has_unread {
        exchange.reply.faults_of_message().cloned().collect()
    } else {
        exchange.reply.faults().cloned().collect()
    };
    if found.is_empty() && !has_unread {
        found.extend(answered.wrong.iter().cloned());
    }
    found
}

/// What the server should have checked in the request, and what it should have done after a reply.
fn in_checks(answered: &Reaction, case: &FuzzCase) -> Vec<FaultSeen> {
    let mut faults = Vec::new();
    let request = RawHeader::read(&case.message);
    if answered.exchange().reply.is_ok() {
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
    if answered.left_open && !answered.has_surplus {
        let text = "the connection stays open after the reply";
        faults.push(FaultSeen::new(Fault::ConnectionLeftOpen, text));
    }
    faults
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
    use crate::conversation::Exchange;
    use crate::fuzz::Mutation;
    use crate::server::request::ON;

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

    const CLOSED: End = End::Closed;

    /// This answer to a request, and then the end, or nothing more.
    fn answered(request: &[u8], came: &[u8], quiet: End) -> Reaction {
        Exchange::new(ON, request, came, quiet).into()
    }

    fn message(bytes: &[u8]) -> Reaction {
        answered(RESUME, bytes, CLOSED)
    }

    /// The verdict, and the server's faults.
    #[track_caller]
    fn judged(answered: &Reaction) -> (CaseVerdict, Vec<FaultSeen>) {
        let case = case(&answered.exchange().sent, Delivery::Whole);
        let Judged { verdict, faults } = judge(answered, &case);
        (verdict, faults)
    }

    #[test]
    fn live_server_is_judged_by_its_answer() {
        let verdict = |came: &[u8], quiet| judged(&answered(RESUME, came, quiet)).0;
        let error = b"DOTNET_IPC_V1\0\x18\0\xff\xff\0\0\x85\x13\x13\x80";
        assert_eq!(
            (verdict(OK, CLOSED), verdict(error, CLOSED)),
            (CaseVerdict::Ok, CaseVerdict::Error)
        );
        assert_eq!(verdict(&[7; 20], CLOSED), CaseVerdict::Leaked);
        assert_eq!(verdict(&[7], End::TimedOut), CaseVerdict::Leaked);
        // It begins like a message, but is not one.
        let size_0 = [MAGIC.as_slice(), &[0; 6]].concat();
        assert_eq!(verdict(&size_0, CLOSED), CaseVerdict::Malformed);
        assert_eq!(verdict(&MAGIC, CLOSED), CaseVerdict::Malformed);
        assert_eq!(verdict(&MAGIC, End::TimedOut), CaseVerdict::Malformed);
        assert_eq!(verdict(&[], End::Reset), CaseVerdict::Closed);
        assert_eq!(verdict(&[], End::TimedOut), CaseVerdict::Silent);
        let silence = answered(RESUME, &[], End::TimedOut);
        let left = judge(&silence, &case(RESUME, Delivery::Leave));
        assert_eq!((left.verdict, left.faults.len()), (CaseVerdict::Left, 0));
        let left_open = Reaction { left_open: true, ..message(OK) };
        assert_eq!(judged(&left_open).0, CaseVerdict::LeftOpen);
        // Faults after the reply count, unless bytes follow the request that the server never reads
        // (F-70).
        let streams_on = FaultSeen::new(Fault::StreamDoesNotEnd, "it does not end");
        let wrong = |answered| Reaction { wrong: [streams_on.clone()].into(), ..answered };
        assert_eq!(judged(&wrong(message(OK))).1, std::slice::from_ref(&streams_on));
        let with_more = answered(&[RESUME, &[1]].concat(), OK, CLOSED);
        assert_eq!(judged(&wrong(with_more)), (CaseVerdict::Ok, Vec::new()));
    }

    #[test]
    fn reply_each_field_is_checked() {
        let says = |answered: &Reaction| judged(answered).1;
        let one = |fault, text: &str| Vec::from([FaultSeen::new(fault, text)]);
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
        assert_eq!(
            says(&message(b"DOTNET_IPC_V2\0\x18\0\xff\0\0\0")),
            one(Fault::MagicWrong, "the magic is 444f544e45545f4950435f563200")
        );
        assert_eq!(
            says(&message(&OK[..22])),
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
        let taken = judged(&answered(other, OK, CLOSED));
        let seen = FaultSeen::new(Fault::MagicUnchecked, text);
        assert_eq!(taken, (CaseVerdict::Unchecked, Vec::from([seen])));
        let error = b"DOTNET_IPC_V1\0\x18\0\xff\xff\0\0\x86\x13\x13\x80";
        let refused = judged(&answered(other, error, CLOSED));
        assert_eq!(refused, (CaseVerdict::Error, Vec::new()));
        let small = b"DOTNET_IPC_V1\0\x13\0\x04\x01\0\0";
        let taken = judged(&answered(small, OK, CLOSED)).1;
        assert_eq!(taken.first().map(|seen| seen.fault), Some(Fault::SizeUnchecked));
        // Two faults are two findings.
        let both = b"DOTNET_IPC_V1\0\x18\0\xff\0\x01\0\0\0\0\0";
        assert_eq!(judged(&answered(other, both, CLOSED)).1.len(), 2);
    }
}
