//! Every recorded reply, line by line: its request is sent, the recorded bytes arrive in pieces of
//! every size, and the client's outcome is the one in the vector's value, without reading a byte
//! too many.

use std::collections::BTreeMap;

use dotnet_diagnostics_ipc::command::{Command, Continuation};
use dotnet_diagnostics_ipc::exchange::{AfterReply, Client, ClientAction, End, Outcome};
use dotnet_diagnostics_ipc::hresult::HResult;
use dotnet_diagnostics_ipc::message::{Message, Request as _, process::ProcessInfo};
use dotnet_diagnostics_ipc_vectors as vectors;
use dotnet_diagnostics_ipc_vectors::{
    ExpectedResult, Group, SourceKind, Test, Type, TypedCodec, Value,
};

/// What follows each reply on the connection, and is not part of it.
const BEHIND: &[u8] = b"DOTNET_IPC_V1\0\x14\0\xff\0\0\0 and more";

/// The first request of each command that a server accepts.
fn requests() -> BTreeMap<Command, Vec<u8>> {
    let mut requests = BTreeMap::new();
    for group in vectors::files().unwrap().into_iter().flat_map(|file| file.groups) {
        let Some(command) = group.command.as_ref().filter(|_| group.kind == Type::Request) else {
            continue;
        };
        let command: Command = command.parse().unwrap();
        for test in group
            .tests
            .into_iter()
            .filter(|test| test.result == ExpectedResult::Valid && test.canonical)
        {
            requests.entry(command).or_insert_with(|| test.wire.unwrap());
        }
    }
    requests
}

fn recorded() -> Vec<(Group, Test)> {
    let files = vectors::files().unwrap();
    let groups = files.into_iter().flat_map(|file| file.groups);
    let recorded = groups.filter(|group| {
        group.source.kind == SourceKind::Runtime && matches!(group.kind, Type::Reply | Type::Error)
    });
    recorded
        .flat_map(|group| group.tests.clone().into_iter().map(move |test| (group.clone(), test)))
        .collect()
}

/// A client's outcome for a reply, the reply in its buffer, and the bytes that were left on the
/// connection.
struct Heard<'c> {
    outcome: Outcome,
    reply: Vec<u8>,
    left: &'c [u8],
}

/// Sends `request`, `sent` bytes at a time; `coming` arrives in pieces of `piece` bytes, none
/// across byte `cut`.
fn drive<'c>(request: &[u8], mut coming: &'c [u8], piece: usize, cut: usize) -> Heard<'c> {
    let all = coming.len();
    let mut buffer = vec![0xee; 65_535];
    buffer[..request.len()].copy_from_slice(request);
    let mut client = Client::from_message(&buffer).unwrap();
    let (mut sent, mut fd_sent) = (Vec::new(), false);
    loop {
        let action = client.action();
        assert_eq!(action, client.action(), "asked twice");
        match action {
            ClientAction::Send(range) => {
                let n = range.len().min(piece);
                sent.extend_from_slice(&buffer[range][..n]);
                client.sent(n).unwrap();
            }
            ClientAction::SendFd(_) => {
                assert_eq!(sent, request, "the descriptor comes behind the request (F-20)");
                fd_sent = true;
                client.fd_sent().unwrap();
            }
            ClientAction::Receive(range) => {
                assert_eq!(sent, request);
                let come = all - coming.len();
                let before_the_cut = if come < cut { cut - come } else { usize::MAX };
                let n = range.len().min(piece).min(before_the_cut).min(coming.len());
                if n == 0 {
                    client.ended(End::Closed).unwrap();
                    continue;
                }
                buffer[range][..n].copy_from_slice(&coming[..n]);
                coming = &coming[n..];
                client.received(&buffer, n).unwrap();
            }
            ClientAction::Finished(outcome) => {
                assert_eq!(fd_sent, continuation(request) == Some(Continuation::UserEvents));
                return Heard {
                    outcome,
                    reply: buffer[..all - coming.len()].to_vec(),
                    left: coming,
                };
            }
        }
    }
}

fn continuation(request: &[u8]) -> Option<Continuation> {
    Message::decode(request).unwrap().request().unwrap().continuation()
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
    let then = match continuation(request).unwrap() {
        Continuation::Close if command.set == Command::GENERATE_CORE_DUMP.set => {
            AfterReply::AnotherReply
        }
        Continuation::Close => AfterReply::Close,
        Continuation::Nettrace => AfterReply::Stream { session_id: session_id() },
        Continuation::EnvironmentBlock => AfterReply::EnvironmentBlock {
            n_incoming_bytes: u32::try_from(value["nIncomingBytes"].as_u64().unwrap()).unwrap(),
        },
        Continuation::UserEvents => AfterReply::UserEvents { session_id: session_id() },
        other => panic!("{other:?} is none of one request"),
    };
    Outcome::Ok { size, then }
}

/// The request that a recorded message answers. A message that answers no specific command, such as
/// a wrong magic, answers the simplest.
fn request_of(group: &Group, requests: &BTreeMap<Command, Vec<u8>>) -> (Command, Vec<u8>) {
    let command = group.command.as_ref().map_or(ProcessInfo::COMMAND, |name| name.parse().unwrap());
    (command, requests[&command].clone())
}

#[test]
fn recorded_reply_outcome_for_every_chunking() {
    let requests = requests();
    let mut counts = BTreeMap::new();
    for (group, test) in recorded() {
        let (command, request) = request_of(&group, &requests);
        let wire = test.wire.clone().unwrap();
        let expected = outcome_of(&group, &test, command, &request);
        let coming = [&wire[..], BEHIND].concat();
        let pieces = (1..=wire.len().min(200)).map(|piece| (piece, 0));
        let cuts = (1..wire.len()).map(|cut| (usize::MAX, cut));
        for (piece, cut) in pieces.chain(cuts).chain([(usize::MAX, 0)]) {
            let heard = drive(&request, &coming, piece, cut);
            let at = format!("tcId {} in pieces of {piece}, cut at {cut}", test.tc_id);
            assert_eq!(heard.outcome, expected, "{at}");
            assert_eq!(heard.left, BEHIND, "{at}");
            assert_eq!(heard.reply, wire, "{at}");
        }
        let subject = TypedCodec { kind: group.kind, command: Some(command), from_server: true };
        assert_eq!(subject.decode(&wire).unwrap().value, test.value, "tcId {}", test.tc_id);
        *counts.entry(group.source.runtime.clone().unwrap()).or_insert(0) += 1;
    }
    let counts: Vec<_> = counts.iter().map(|(runtime, count)| (runtime.as_str(), *count)).collect();
    assert_eq!(counts, RECORDED);
}

/// The number of replies of each runtime: none is missing.
const RECORDED: &[(&str, usize)] = &[
    ("aot8.0.31", 29),
    ("aot9.0.20", 29),
    ("net10.0.12", 33),
    ("net10.0.9", 33),
    ("net3.0.3", 26),
    ("net3.1.23", 26),
    ("net8.0.30", 34),
    ("net9.0.5", 38),
    ("win-net10.0.9", 9),
    ("win-net6.0.13", 25),
    ("win-net8.0.30", 3),
];

/// A recorded reply that ends too early is never accepted as one.
#[test]
fn recorded_reply_cut_is_reported() {
    let requests = requests();
    for (group, test) in recorded() {
        let (_, request) = request_of(&group, &requests);
        let wire = test.wire.unwrap();
        for len in 0..wire.len() {
            let expected = match u16::try_from(len).unwrap() {
                0 => Outcome::NoReply { end: End::Closed, request_sent: true },
                received => Outcome::Cut { received, end: End::Closed },
            };
            assert_eq!(
                drive(&request, &wire[..len], usize::MAX, 0).outcome,
                expected,
                "tcId {} cut to {len}",
                test.tc_id
            );
        }
    }
}
