//! Plays every request of the vectors with every reply to its command between a client and a
//! server, and every recorded reply to a client. Messages arrive in any pieces, and are cut
//! anywhere.

use std::collections::{BTreeMap, BTreeSet};

use dotnet_diagnostics_ipc::command::{Command, Continuation};
use dotnet_diagnostics_ipc::exchange::{AfterReply, End, Outcome, ServerOutcome};
use dotnet_diagnostics_ipc::hresult::HResult;
use dotnet_diagnostics_ipc::message::process::{ProcessEnvironmentReply, ProcessInfo};
use dotnet_diagnostics_ipc::message::{AnyReply, Message, Request as _};
use dotnet_diagnostics_ipc_vectors as vectors;
use dotnet_diagnostics_ipc_vectors::{
    Direction, ExpectedResult, Group, SourceKind, Test, Type, Value,
};

use super::drive::{ENDS, Peer, hear};
use super::pair::{Answer, Conversation, Course, Cut, Played, client_that_sends, play};

const STREAM: &[u8] =
    b"Nettrace\x14\0\0\0!FastSerialization.1 and as much as there is, to the last byte";
const BLOCK: &[u8] = b"\x02\0\0\0\x04\0\0\0A\0=\0b\0\0\0\x02\0\0\0=\0\0\0";
const BAD_ENCODING: &[u8] = b"DOTNET_IPC_V1\0\x18\0\xff\xff\0\0\x84\x13\x13\x80";

/// A request that a server accepts, and the good replies to its command.
pub(super) struct Row {
    tc_id: u32,
    pub(super) command: Command,
    pub(super) continuation: Continuation,
    request: Vec<u8>,
    replies: Vec<Vec<u8>>,
}

fn tests() -> Vec<(Group, Test)> {
    let groups = vectors::files().unwrap().into_iter().flat_map(|file| file.groups);
    groups
        .flat_map(|group| group.tests.clone().into_iter().map(move |test| (group.clone(), test)))
        .collect()
}

fn continuation(request: &[u8]) -> Continuation {
    Message::decode(request).unwrap().request().unwrap().continuation().unwrap()
}

/// The table of conversations.
pub(super) fn rows() -> Vec<Row> {
    let mut replies: BTreeMap<Command, BTreeSet<Vec<u8>>> = BTreeMap::new();
    let mut rows = Vec::new();
    for (group, test) in tests() {
        let (ExpectedResult::Valid, Some(wire)) = (test.result, test.wire) else { continue };
        let command = group.command.as_deref().and_then(|name| name.parse::<Command>().ok());
        match (group.kind, command) {
            (Type::Reply, Some(command)) => {
                replies.entry(command).or_default().insert(wire);
            }
            (Type::Request, _) if group.direction == Some(Direction::Client) => {
                let request = Message::decode(&wire).unwrap().request().unwrap();
                if request.check_limits().is_ok() {
                    rows.push(Row {
                        tc_id: test.tc_id,
                        command: request.command(),
                        continuation: continuation(&wire),
                        request: wire,
                        replies: Vec::new(),
                    });
                }
            }
            _ => {}
        }
    }
    for row in &mut rows {
        let all = replies.get(&row.command).into_iter().flatten().cloned();
        // The generic OK starts a session of unknown id, and no environment block follows it.
        let takes_generic = row.continuation == Continuation::Close;
        row.replies = all.filter(|reply| reply.len() > 20 || takes_generic).collect();
        assert!(!row.replies.is_empty(), "no vector answers {}", row.command);
    }
    let asked: BTreeSet<_> = rows.iter().map(|row| row.command).collect();
    assert_eq!(asked, Command::known().collect(), "commands with a request vector");
    rows
}

/// The shortest request of each command and continuation.
fn one_of_each() -> Vec<Row> {
    let (mut rows, mut kinds) = (rows(), BTreeSet::new());
    rows.sort_by_key(|row| row.request.len());
    rows.into_iter()
        .filter(|row| kinds.insert((row.command, format!("{:?}", row.continuation))))
        .collect()
}

impl Row {
    fn course() -> Course {
        Course { capacity: 100_000, room: 65_535, cut: None }
    }

    /// Plays with a cut: at once, and in small pieces, over a connection that holds few bytes, with
    /// buffers that are too small. Both must come to the same.
    fn play_cut(&self, reply: &[u8], cut: Cut) -> Result<Played, String> {
        let course = Course { cut: Some(cut), ..Self::course() };
        let played = self.play(reply, &course, usize::MAX)?;
        let narrow = Course { capacity: 40, room: 24, ..course };
        let again = self.play(reply, &narrow, 7)?;
        if again.served == played.served
            && (again.outcome, &again.reply) == (played.outcome, &played.reply)
        {
            return Ok(played);
        }
        Err(format!("{played:?} at once, {again:?} in pieces"))
    }

    /// Returns the results of both sides if nothing goes wrong, without the steps.
    fn expected(&self, reply: &[u8]) -> Played {
        let answer = Message::decode(reply).unwrap().reply_to(Some(self.command)).unwrap();
        let (mut reply, mut follows) = (reply.to_vec(), Vec::new());
        let then = match (self.continuation, answer) {
            (Continuation::Nettrace, AnyReply::Session(session)) => {
                follows = STREAM.to_vec();
                AfterReply::Stream { session_id: Some(session.session_id) }
            }
            (Continuation::UserEvents, AnyReply::Session(session)) => {
                AfterReply::UserEvents { session_id: Some(session.session_id) }
            }
            (Continuation::EnvironmentBlock, _) => {
                let n_incoming_bytes = u32::try_from(BLOCK.len()).unwrap();
                follows = BLOCK.to_vec();
                reply[20..24].copy_from_slice(&n_incoming_bytes.to_le_bytes());
                AfterReply::EnvironmentBlock { n_incoming_bytes }
            }
            _ if self.command.set == Command::GENERATE_CORE_DUMP.set => AfterReply::AnotherReply,
            _ => AfterReply::Close,
        };
        let size = u16::try_from(reply.len()).unwrap();
        let outcome = Outcome::Ok { size, then };
        let (served, steps) = (ServerOutcome::Answered, Vec::new());
        Played { outcome, reply, follows, served, steps }
    }

    fn play(&self, reply: &[u8], course: &Course, piece: usize) -> Result<Played, String> {
        let mut answer = Message::decode(reply).unwrap().reply_to(Some(self.command)).unwrap();
        let follows = self.expected(reply).follows;
        if let AnyReply::ProcessEnvironment(reply) = answer {
            let n_incoming_bytes = u32::try_from(BLOCK.len()).unwrap();
            answer =
                AnyReply::ProcessEnvironment(ProcessEnvironmentReply { n_incoming_bytes, ..reply });
        }
        let answer = Answer::Ok(&answer);
        let conversation = Conversation { request: &self.request, answer, follows: &follows };
        play(conversation, course, &mut |n| n.min(piece))
    }

    /// The steps that the client and the server take.
    pub(super) fn steps(&self) -> Vec<&'static str> {
        self.play(&self.replies[0], &Self::course(), usize::MAX).unwrap().steps
    }
}

/// Compares what was played, except for the steps, and reports every difference in one panic.
fn agree(played: impl IntoIterator<Item = (String, Result<Played, String>, Played)>) {
    let mut wrong = Vec::new();
    let mut count = 0;
    for (name, played, expected) in played {
        count += 1;
        let played = played.map(|played| Played { steps: Vec::new(), ..played });
        if played.as_ref() != Ok(&expected) {
            wrong.push(format!("{name}: {played:?}, expected {expected:?}"));
        }
    }
    assert!(count > 0);
    assert!(wrong.is_empty(), "{} failures\n{}", wrong.len(), wrong.join("\n"));
}

#[test]
fn conversation_of_every_command_completes_in_any_pieces() {
    for row in rows() {
        let played = row.replies.iter().enumerate().flat_map(|(nth, reply)| {
            let courses = [(1, 65_535, 1), (3, 100, 3), (100_000, 65_535, 100_000)];
            // The first reply is played in all ways.
            let courses = courses.into_iter().take(if nth == 0 { 3 } else { 1 });
            let row = &row;
            courses.map(move |(capacity, room, piece)| {
                let course = Course { capacity, room, cut: None };
                let name = format!("tcId {} {} in pieces of {piece}", row.tc_id, row.command);
                (name, row.play(reply, &course, piece), row.expected(reply))
            })
        });
        agree(played);
    }
}

/// Both sides begin with a buffer that is too small for most messages, which they enlarge. In each
/// state every report that was not asked for is tried, and changes nothing.
#[test]
fn conversation_refuses_reports_that_were_not_asked_for() {
    agree(one_of_each().iter().flat_map(|row| {
        [(24, 1), (24, 100), (128, 1), (128, 100)].map(|(room, piece)| {
            let course = Course { capacity: 2, room, cut: None };
            let reply = &row.replies[0];
            let name = format!("{} with room for {room} bytes", row.command);
            (name, row.play(reply, &course, piece), row.expected(reply))
        })
    }));
}

#[test]
fn conversation_refusal_reaches_client_for_every_command() {
    let hresult = HResult::NOT_SUPPORTED;
    let expected = || Played {
        outcome: Outcome::Error { size: 24, hresult },
        reply: b"DOTNET_IPC_V1\0\x18\0\xff\xff\0\0\x15\x15\x13\x80".to_vec(),
        follows: Vec::new(),
        served: ServerOutcome::Refused(hresult),
        steps: Vec::new(),
    };
    agree(rows().iter().map(|row| {
        let (request, answer) = (&row.request[..], Answer::Error(hresult));
        let conversation = Conversation { request, answer, follows: b"" };
        let course = Course { capacity: 1, ..Row::course() };
        (format!("tcId {}", row.tc_id), play(conversation, &course, &mut |n| n), expected())
    }));
}

#[test]
fn conversation_cut_after_any_byte_of_the_answer_is_reported() {
    for row in one_of_each() {
        let reply = &row.replies[0];
        let whole = row.expected(reply);
        let (len, all) = (whole.reply.len(), whole.reply.len() + whole.follows.len());
        agree((0..all).flat_map(|after| ENDS.map(|end| (after, end))).map(|(after, end)| {
            let mut expected = row.expected(reply);
            if after < len {
                let received = u16::try_from(after).unwrap();
                let cut = Outcome::Cut { received, end };
                let none = Outcome::NoReply { end, request_sent: true };
                expected.outcome = if after == 0 { none } else { cut };
                expected.reply.clear();
            }
            expected.follows.truncate(after.saturating_sub(len));
            expected.served = ServerOutcome::Gone { end: End::Reset };
            let name = format!("{} cut after {after} bytes: {end:?}", row.command);
            (name, row.play_cut(reply, Cut { to_server: false, after, end }), expected)
        }));
    }
}

/// A client that sends no more may still read, and is answered (F-69).
#[test]
fn conversation_cut_after_any_byte_of_the_request_is_answered() {
    for row in one_of_each() {
        // A descriptor has a byte of its own.
        let all = row.request.len() + usize::from(row.continuation == Continuation::UserEvents);
        agree((0..all).flat_map(|after| ENDS.map(|end| (after, end))).map(|(after, end)| {
            let hresult = HResult::BAD_ENCODING;
            let mut expected = Played {
                outcome: Outcome::Error { size: 24, hresult },
                reply: BAD_ENCODING.to_vec(),
                follows: Vec::new(),
                served: ServerOutcome::Refused(hresult),
                steps: Vec::new(),
            };
            if end != End::Closed {
                expected.served = ServerOutcome::Gone { end };
                let request_sent = after == row.request.len();
                expected.outcome = Outcome::NoReply { end: End::Closed, request_sent };
                expected.reply.clear();
            }
            let name = format!("{} cut after {after} bytes: {end:?}", row.command);
            let cut = Cut { to_server: true, after, end };
            (name, row.play_cut(&row.replies[0], cut), expected)
        }));
    }
}

/// What follows each recorded reply on the connection, and is not part of it.
const BEHIND: &[u8] = b"DOTNET_IPC_V1\0\x14\0\xff\0\0\0 and more";

/// Each recorded reply or error with the request that it answers. A message that answers no specific
/// command, such as a wrong magic, answers the simplest.
fn recorded() -> Vec<(Group, Test, Command, Vec<u8>)> {
    let mut requests = BTreeMap::new();
    for row in rows() {
        requests.entry(row.command).or_insert(row.request);
    }
    let recorded = tests().into_iter().filter(|(group, _)| {
        group.source.kind == SourceKind::Runtime && matches!(group.kind, Type::Reply | Type::Error)
    });
    recorded
        .map(|(group, test)| {
            let name = group.command.as_ref();
            let command = name.map_or(ProcessInfo::COMMAND, |name| name.parse().unwrap());
            (group, test, command, requests[&command].clone())
        })
        .collect()
}

fn hexadecimal(value: &Value) -> HResult {
    HResult(u32::from_str_radix(value.as_str().unwrap().strip_prefix("0x").unwrap(), 16).unwrap())
}

/// The outcome in the value of a vector.
fn outcome_of(group: &Group, test: &Test, command: Command, request: &[u8]) -> Outcome {
    let (value, size) = (&test.value, u16::try_from(test.wire.as_ref().unwrap().len()).unwrap());
    if group.kind == Type::Error {
        return Outcome::Error { size, hresult: hexadecimal(&value["hresult"]) };
    }
    let session_id = || value["sessionId"].as_str().map(|id| id.parse().unwrap());
    let then = match continuation(request) {
        Continuation::Nettrace => AfterReply::Stream { session_id: session_id() },
        Continuation::UserEvents => AfterReply::UserEvents { session_id: session_id() },
        Continuation::EnvironmentBlock => AfterReply::EnvironmentBlock {
            n_incoming_bytes: u32::try_from(value["nIncomingBytes"].as_u64().unwrap()).unwrap(),
        },
        _ if command.set == Command::GENERATE_CORE_DUMP.set => AfterReply::AnotherReply,
        _ => AfterReply::Close,
    };
    Outcome::Ok { size, then }
}

/// Sends `request`; `peer` arrives in pieces of `piece` bytes, none across byte `cut`.
fn heard(request: &[u8], peer: &[u8], piece: usize, cut: usize) -> (Outcome, usize, Vec<u8>) {
    let mut buffer = vec![0xee; 65_535];
    let mut client = client_that_sends(request, &mut buffer).unwrap();
    // The pieces of the request are counted too, but not those of its descriptor.
    let (mut moved, cut) = (0, request.len() + cut);
    let mut pieces = |most: usize| {
        let before_the_cut = if moved < cut { cut - moved } else { usize::MAX };
        let n = most.min(piece).min(before_the_cut);
        moved += n;
        n
    };
    let peer = Peer::new(peer, End::Closed);
    let (outcome, taken) = hear(&mut client, &mut buffer, &peer, &mut pieces);
    buffer.truncate(taken);
    (outcome, taken, buffer)
}

#[test]
fn recorded_reply_outcome_for_every_chunking() {
    let mut counts = BTreeMap::new();
    for (group, test, command, request) in recorded() {
        let wire = test.wire.clone().unwrap();
        let expected = outcome_of(&group, &test, command, &request);
        let coming = [&wire[..], BEHIND].concat();
        let pieces = (1..=wire.len().min(200)).map(|piece| (piece, 0));
        let cuts = (1..wire.len()).map(|cut| (usize::MAX, cut));
        for (piece, cut) in pieces.chain(cuts).chain([(usize::MAX, 0)]) {
            let (outcome, taken, reply) = heard(&request, &coming, piece, cut);
            let at = format!("tcId {} in pieces of {piece}, cut at {cut}", test.tc_id);
            // No byte of what follows is taken.
            assert_eq!((outcome, taken), (expected, wire.len()), "{at}");
            assert_eq!(reply, wire, "{at}");
        }
        *counts.entry(group.source.runtime.clone().unwrap()).or_insert(0) += 1;
    }
    assert!(counts.len() >= 11 && counts.values().sum::<usize>() >= 285, "{counts:?}");
}

/// A recorded reply that ends too early is never accepted as one.
#[test]
fn recorded_reply_cut_is_reported() {
    for (_, test, _, request) in recorded() {
        let wire = test.wire.unwrap();
        for len in 0..wire.len() {
            let expected = match u16::try_from(len).unwrap() {
                0 => Outcome::NoReply { end: End::Closed, request_sent: true },
                received => Outcome::Cut { received, end: End::Closed },
            };
            let (outcome, ..) = heard(&request, &wire[..len], usize::MAX, 0);
            assert_eq!(outcome, expected, "tcId {} cut to {len}", test.tc_id);
        }
    }
}
