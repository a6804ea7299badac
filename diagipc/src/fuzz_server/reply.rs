//! Faults in the answer of a server that continues to serve.

use dotnet_diagnostics_ipc::command::Command;
use dotnet_diagnostics_ipc::header::{HEADER_LEN, Header, MAGIC, RawHeader};
use dotnet_diagnostics_ipc::vectors::{ReadAs, Type};

use super::case::{Delivery, FuzzCase};
use super::cause::Symptom;
use super::verdict::CaseVerdict;
use crate::server::ask::Came;
use crate::server::request::{Answered, Wrong};

/// The result of such an answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Judged {
    pub(super) verdict: CaseVerdict,
    /// What no server may do, with the numbers.
    pub(super) symptoms: Vec<(Symptom, String)>,
}

/// Checks the whole answer to `case`.
pub(super) fn judge(answered: &Answered, case: &FuzzCase) -> Judged {
    let symptoms = match &answered.came {
        Came::Message(bytes) => symptoms_in_message(bytes, answered, case),
        Came::NoMessage(bytes) | Came::End(_, bytes) | Came::Silence(bytes) => {
            symptoms_in_bytes(bytes)
        }
    };
    let verdict = match (symptoms.first(), &answered.came) {
        (Some((symptom, _)), _) => symptom.verdict(),
        (None, Came::Message(_)) if answered.came.error().is_some() => CaseVerdict::Error,
        (None, Came::Message(_)) => CaseVerdict::Ok,
        (None, Came::Silence(_)) if case.delivery == Delivery::Leave => CaseVerdict::Left,
        (None, Came::Silence(_)) => CaseVerdict::Silent,
        (None, Came::NoMessage(_) | Came::End(..)) => CaseVerdict::Closed,
    };
    Judged { verdict, symptoms }
}

/// Bytes that are not a whole message.
fn symptoms_in_bytes(bytes: &[u8]) -> Vec<(Symptom, String)> {
    let size = RawHeader::read(bytes).size;
    let symptom = match bytes {
        [] => return Vec::new(),
        _ if begins_a_message(bytes) => {
            let text = match size {
                Some(size) => format!("size is {size}, but {} bytes were received", bytes.len()),
                None => format!("{} bytes were received, fewer than a header has", bytes.len()),
            };
            (Symptom::ReplySize, text)
        }
        _ if is_reply_but_for_the_magic(bytes) => {
            let magic = bytes.get(..MAGIC.len()).unwrap_or_default();
            (Symptom::ReplyMagic, format!("the magic is {}", hex::encode(magic)))
        }
        _ => (Symptom::Leaked, format!("{} bytes without a header were received", bytes.len())),
    };
    Vec::from([symptom])
}

/// A whole message.
fn symptoms_in_message(
    bytes: &[u8],
    answered: &Answered,
    case: &FuzzCase,
) -> Vec<(Symptom, String)> {
    let Ok(header) = Header::decode(bytes) else { return symptoms_in_bytes(bytes) };
    let mut symptoms = Vec::new();
    let mut add = |symptom, text: String| symptoms.push((symptom, text));
    let is_known = [Command::OK, Command::ERROR].contains(&header.command);
    if !is_known {
        let Command { set, id } = header.command;
        let text = format!("the command is {set:#04x}, {id:#04x}, expected 0xff and 0x00 or 0xff");
        add(Symptom::ReplyCommand, text);
    }
    if header.reserved != 0 {
        add(Symptom::ReplyReserved, format!("reserved is 0x{:04x}, expected 0", header.reserved));
    }
    // A second reply may follow the first one to a dump (F-81).
    if answered.has_surplus && case.command().set != Command::GENERATE_CORE_DUMP.set {
        add(Symptom::ReplySize, format!("size is {}, but more bytes were received", header.size));
    }
    let payload = (ReadAs { kind: Type::Reply, command: Some(case.command()), from_server: true })
        .decode(bytes)
        .err();
    // Bytes that the server never reads turn the end of its stream into a reset (F-70).
    let has_unread = RawHeader::read(&case.message)
        .size
        .is_some_and(|size| usize::from(size) < case.message.len());
    // Faults of the reply itself are separate symptoms.
    let behind = answered.wrong.iter().filter(|wrong| !matches!(wrong, Wrong::NotCanonical));
    let behind: Vec<String> = behind.map(|wrong| format!("{wrong}")).collect();
    match payload {
        Some(refusal) if is_known => {
            add(Symptom::ReplyPayload(refusal.fault.kind.clone()), format!("{refusal}"));
        }
        None if !behind.is_empty() && !has_unread => add(Symptom::Continuation, behind.join("; ")),
        _ => {}
    }
    if header.command == Command::OK {
        let magic = case
            .message
            .get(..MAGIC.len())
            .filter(|magic| **magic != MAGIC && case.message.len() >= HEADER_LEN);
        if let Some(magic) = magic {
            add(
                Symptom::MagicUnchecked,
                format!("an OK to a request whose magic is {}", hex::encode(magic)),
            );
        }
        if let Some(size) =
            RawHeader::read(&case.message).size.filter(|size| usize::from(*size) < HEADER_LEN)
        {
            add(Symptom::SizeUnchecked, format!("an OK to a request whose size is {size}"));
        }
    }
    if answered.left_open && !answered.has_surplus {
        add(Symptom::LeftOpen, "the connection stays open after the reply".into());
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
    use dotnet_diagnostics_ipc::exchange::End;

    use super::*;
    use crate::fuzz_server::Mutation;

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

    fn answered(came: Came) -> Answered {
        Answered {
            came,
            wrong: Vec::new(),
            left_open: false,
            has_surplus: false,
            stream: Vec::new(),
        }
    }

    fn message(bytes: &[u8]) -> Answered {
        answered(Came::Message(bytes.to_vec()))
    }

    /// The verdict, and the server's faults.
    #[track_caller]
    fn judged(answered: &Answered, request: &[u8]) -> (CaseVerdict, Vec<(Symptom, String)>) {
        let Judged { verdict, symptoms } = judge(answered, &case(request, Delivery::Whole));
        (verdict, symptoms)
    }

    #[test]
    fn live_server_is_judged_by_its_answer() {
        let verdict = |came| judged(&answered(came), RESUME).0;
        let magic = || MAGIC.to_vec();
        let error = Came::Message(b"DOTNET_IPC_V1\0\x18\0\xff\xff\0\0\x85\x13\x13\x80".to_vec());
        assert_eq!(
            (judged(&message(OK), RESUME).0, verdict(error)),
            (CaseVerdict::Ok, CaseVerdict::Error)
        );
        assert_eq!(verdict(Came::NoMessage(Vec::from([7; 20]))), CaseVerdict::Leaked);
        assert_eq!(verdict(Came::Silence(Vec::from([7]))), CaseVerdict::Leaked);
        // It begins like a message, but is not one.
        assert_eq!(
            verdict(Came::NoMessage([magic(), Vec::from([0; 6])].concat())),
            CaseVerdict::Malformed
        );
        assert_eq!(verdict(Came::End(End::Closed, magic())), CaseVerdict::Malformed);
        assert_eq!(verdict(Came::Silence(magic())), CaseVerdict::Malformed);
        assert_eq!(verdict(Came::End(End::Reset, Vec::new())), CaseVerdict::Closed);
        assert_eq!(verdict(Came::Silence(Vec::new())), CaseVerdict::Silent);
        let left = judge(&answered(Came::Silence(Vec::new())), &case(RESUME, Delivery::Leave));
        assert_eq!((left.verdict, left.symptoms.len()), (CaseVerdict::Left, 0));
        assert_eq!(
            judged(&Answered { left_open: true, ..message(OK) }, RESUME).0,
            CaseVerdict::LeftOpen
        );
        // Faults after the reply count, unless bytes follow the request that the server never reads
        // (F-70).
        let wrong = Answered { wrong: Vec::from([Wrong::Stream(None)]), ..message(OK) };
        assert_eq!(
            judged(&wrong, RESUME).1,
            [(Symptom::Continuation, "the stream of the stopped session does not end".into())]
        );
        assert_eq!(judged(&wrong, &[RESUME, &[1]].concat()), (CaseVerdict::Ok, Vec::new()));
    }

    #[test]
    fn reply_each_field_is_checked() {
        let says = |answered: &Answered| judged(answered, RESUME).1;
        let one = |symptom, text: &str| Vec::from([(symptom, text.into())]);
        assert_eq!(
            says(&message(b"DOTNET_IPC_V1\0\x18\0\x04\x01\0\0\0\0\0\0")),
            one(Symptom::ReplyCommand, "the command is 0x04, 0x01, expected 0xff and 0x00 or 0xff")
        );
        assert_eq!(
            says(&message(b"DOTNET_IPC_V1\0\x18\0\xff\x01\0\0\0\0\0\0")),
            one(Symptom::ReplyCommand, "the command is 0xff, 0x01, expected 0xff and 0x00 or 0xff")
        );
        assert_eq!(
            says(&message(b"DOTNET_IPC_V1\0\x18\0\xff\0\x01\0\0\0\0\0")),
            one(Symptom::ReplyReserved, "reserved is 0x0001, expected 0")
        );
        let other_magic = b"DOTNET_IPC_V2\0\x18\0\xff\0\0\0".to_vec();
        assert_eq!(
            says(&answered(Came::NoMessage(other_magic))),
            one(Symptom::ReplyMagic, "the magic is 444f544e45545f4950435f563200")
        );
        let short = OK.get(..22).unwrap().to_vec();
        assert_eq!(
            says(&answered(Came::End(End::Closed, short))),
            one(Symptom::ReplySize, "size is 24, but 22 bytes were received")
        );
        let surplus = Answered { left_open: true, has_surplus: true, ..message(OK) };
        assert_eq!(
            says(&surplus),
            one(Symptom::ReplySize, "size is 24, but more bytes were received")
        );
        let [(Symptom::ReplyPayload(kind), _)] =
            &says(&message(b"DOTNET_IPC_V1\0\x16\0\xff\0\0\0\0\0"))[..]
        else {
            panic!()
        };
        assert_eq!(kind, "unexpected_end");
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
