//! Both sides of every command, connected only by a pipe that holds a few bytes.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use dotnet_diagnostics_ipc::command::{Command, Continuation};
use dotnet_diagnostics_ipc::exchange::{
    AfterReply, Client, ClientAction, End, Outcome, Server, ServerAction, ServerOutcome,
};
use dotnet_diagnostics_ipc::hresult::HResult;
use dotnet_diagnostics_ipc::message::process::ProcessEnvironmentReply;
use dotnet_diagnostics_ipc::message::{AnyReply, AnyRequest, Message};
use dotnet_diagnostics_ipc_vectors as vectors;
use dotnet_diagnostics_ipc_vectors::{Direction, ExpectedResult, Type};

/// Two queues of bytes, each of a fixed capacity, and the descriptor that may be attached to a
/// byte.
struct Pipe {
    capacity: usize,
    to_server: VecDeque<u8>,
    to_client: VecDeque<u8>,
    fd: bool,
    server_closed: bool,
    client_closed: bool,
}

fn write(queue: &mut VecDeque<u8>, capacity: usize, bytes: &[u8]) -> usize {
    let n = bytes.len().min(capacity - queue.len());
    queue.extend(&bytes[..n]);
    n
}

fn read(queue: &mut VecDeque<u8>, into: &mut [u8]) -> usize {
    let n = into.len().min(queue.len());
    for (place, byte) in into.iter_mut().zip(queue.drain(..n)) {
        *place = byte;
    }
    n
}

/// The conversation, and then its result.
struct Talk<'a> {
    capacity: usize,
    request: &'a [u8],
    answer: Answer<'a>,
    /// What follows an OK.
    continuation: &'a [u8],
}

#[derive(Clone, Copy)]
enum Answer<'a> {
    Ok(&'a AnyReply<'a>),
    Error(HResult),
}

#[derive(Debug, PartialEq)]
struct Heard {
    outcome: Outcome,
    reply: Vec<u8>,
    continuation: Vec<u8>,
    server: ServerOutcome,
}

/// Lets both sides act in turn until neither has anything to do.
fn talk(talk: &Talk) -> Result<Heard, String> {
    let mut pipe = Pipe {
        capacity: talk.capacity,
        to_server: VecDeque::new(),
        to_client: VecDeque::new(),
        fd: false,
        server_closed: false,
        client_closed: false,
    };
    let mut ours = vec![0xaa; 65_535];
    ours[..talk.request.len()].copy_from_slice(talk.request);
    let mut client = Client::from_message(&ours).map_err(|error| error.to_string())?;
    let mut theirs = vec![0x55; 65_535];
    let mut server = Server::new();
    let (mut streamed, mut continuation) = (0, Vec::new());
    // Each turn moves a byte or a state; a turn in which neither side moves is the end.
    loop {
        let before = (
            pipe.to_server.len(),
            pipe.to_client.len(),
            client.action(),
            server.action(),
            streamed,
            continuation.len(),
        );
        client_turn(&mut client, &mut ours, &mut pipe, &mut continuation)?;
        server_turn(&mut server, &mut theirs, &mut pipe, talk, &mut streamed)?;
        let after = (
            pipe.to_server.len(),
            pipe.to_client.len(),
            client.action(),
            server.action(),
            streamed,
            continuation.len(),
        );
        if before == after {
            break;
        }
    }
    let (ClientAction::Finished(outcome), ServerAction::Finished(of_server)) =
        (client.action(), server.action())
    else {
        return Err(format!(
            "both wait: the client for {:?}, the server for {:?}",
            client.action(),
            server.action()
        ));
    };
    if !pipe.to_client.is_empty() || !pipe.to_server.is_empty() {
        return Err(format!(
            "{} and {} bytes are left",
            pipe.to_client.len(),
            pipe.to_server.len()
        ));
    }
    let size = match outcome {
        Outcome::Ok { size, .. } | Outcome::Error { size, .. } => size.into(),
        _ => 0,
    };
    Ok(Heard { outcome, reply: ours[..size].to_vec(), continuation, server: of_server })
}

fn client_turn(
    client: &mut Client,
    buffer: &mut [u8],
    pipe: &mut Pipe,
    continuation: &mut Vec<u8>,
) -> Result<(), String> {
    let done = match client.action() {
        ClientAction::Send(range) => {
            client.sent(write(&mut pipe.to_server, pipe.capacity, &buffer[range]))
        }
        ClientAction::SendFd(_) if pipe.to_server.len() < pipe.capacity => {
            pipe.to_server.push_back(0);
            pipe.fd = true;
            client.fd_sent()
        }
        ClientAction::Receive(range) => match read(&mut pipe.to_client, &mut buffer[range]) {
            0 if pipe.server_closed => client.ended(End::Closed),
            0 => Ok(()),
            n => client.received(buffer, n),
        },
        ClientAction::Finished(Outcome::Ok { then: AfterReply::UserEvents { .. }, .. }) => {
            pipe.client_closed = true;
            Ok(())
        }
        ClientAction::Finished(_) => {
            continuation.extend(pipe.to_client.drain(..));
            Ok(())
        }
        ClientAction::SendFd(_) => Ok(()),
    };
    done.map_err(|illegal| format!("client: {illegal}"))
}

fn server_turn(
    server: &mut Server,
    buffer: &mut [u8],
    pipe: &mut Pipe,
    talk: &Talk,
    streamed: &mut usize,
) -> Result<(), String> {
    let done = match server.action() {
        ServerAction::Receive(range) => match read(&mut pipe.to_server, &mut buffer[range]) {
            0 => Ok(()),
            n => server.received(buffer, n),
        },
        ServerAction::Decode(range) => {
            if &buffer[range] != talk.request {
                return Err("the server got another request".to_owned());
            }
            match server.request(buffer) {
                Ok(Some(_)) => Ok(()),
                other => return Err(format!("the server says {other:?}")),
            }
        }
        ServerAction::ReceiveFd => match pipe.to_server.pop_front() {
            Some(_) if pipe.fd => server.fd_received(),
            Some(_) => server.fd_missing(),
            None => Ok(()),
        },
        ServerAction::Respond => {
            let written = match talk.answer {
                Answer::Ok(reply) => server.respond(reply, buffer),
                Answer::Error(hresult) => server.refuse(hresult, buffer),
            };
            return written.map_err(|error| error.to_string());
        }
        ServerAction::Send(range) => {
            server.sent(write(&mut pipe.to_client, pipe.capacity, &buffer[range]))
        }
        ServerAction::Continue { left } => {
            let rest = &talk.continuation[*streamed..];
            if rest.is_empty() && left.is_none() {
                server.continuation_ended()
            } else {
                let n = rest.len().min(5);
                buffer[..n].copy_from_slice(&rest[..n]);
                *streamed += n;
                server.piece(buffer, n)
            }
        }
        ServerAction::Hold if pipe.client_closed => server.ended(End::Closed),
        ServerAction::Close => {
            pipe.server_closed = true;
            server.closed()
        }
        ServerAction::Refuse(reason) => return Err(format!("the server refuses: {reason}")),
        ServerAction::Hold | ServerAction::Finished(_) => Ok(()),
    };
    done.map_err(|illegal| format!("server: {illegal}"))
}

/// Every request of the vectors that a server accepts, and the good replies to its command.
fn for_each_pair(mut check: impl FnMut(Command, &[u8], &[Vec<u8>]) -> Result<(), String>) {
    let files = vectors::files().unwrap();
    let mut replies: BTreeMap<Command, BTreeSet<Vec<u8>>> = BTreeMap::new();
    let tests = || {
        files
            .iter()
            .flat_map(|file| &file.groups)
            .flat_map(|group| group.tests.iter().map(move |test| (group, test)))
    };
    for (group, test) in tests()
        .filter(|(group, test)| group.kind == Type::Reply && test.result == ExpectedResult::Valid)
    {
        if let Some(command) = group.command.as_deref().and_then(|name| name.parse().ok()) {
            replies.entry(command).or_default().insert(test.wire.clone().unwrap());
        }
    }
    let (mut seen, mut failures) = (BTreeSet::new(), Vec::new());
    for (_, test) in tests().filter(|(group, _)| {
        group.kind == Type::Request && group.direction == Some(Direction::Client)
    }) {
        let Some(wire) = test.wire.as_ref().filter(|_| test.result == ExpectedResult::Valid) else {
            continue;
        };
        let request = Message::decode(wire).unwrap().request().unwrap();
        if request.check_limits().is_err() {
            continue;
        }
        let command = request.command();
        seen.insert(command);
        let of_command: Vec<Vec<u8>> =
            replies.get(&command).into_iter().flatten().cloned().collect();
        assert!(!of_command.is_empty(), "no vector answers {command}");
        if let Err(fault) = check(command, wire, &of_command) {
            failures.push(format!("tcId {} {command}: {fault}", test.tc_id));
        }
    }
    assert_eq!(seen, Command::known().collect(), "commands with a request vector");
    assert!(failures.is_empty(), "{} failures\n{}", failures.len(), failures.join("\n"));
}

const STREAM: &[u8] =
    b"Nettrace\x14\0\0\0!FastSerialization.1 and as much as there is, to the last byte";
const BLOCK: &[u8] = b"\x02\0\0\0\x04\0\0\0A\0=\0b\0\0\0\x02\0\0\0=\0\0\0";

fn what_follows(request: &[u8]) -> Continuation {
    let request = Message::decode(request).unwrap().request().unwrap();
    request.continuation().unwrap()
}

fn ok(capacity: usize, request: &[u8], reply: &[u8]) -> Result<(), String> {
    let continuation = what_follows(request);
    let command = Message::decode(request).unwrap().command;
    let message = Message::decode(reply).unwrap();
    let mut answer = message.reply_to(Some(command)).unwrap();
    let (follows, then): (&[u8], _) = match (continuation, answer) {
        (Continuation::Nettrace, AnyReply::Session(reply)) => {
            (STREAM, AfterReply::Stream { session_id: Some(reply.session_id) })
        }
        (Continuation::UserEvents, AnyReply::Session(reply)) => {
            (b"", AfterReply::UserEvents { session_id: Some(reply.session_id) })
        }
        (Continuation::EnvironmentBlock, AnyReply::ProcessEnvironment(reply)) => {
            let n_incoming_bytes = u32::try_from(BLOCK.len()).unwrap();
            answer =
                AnyReply::ProcessEnvironment(ProcessEnvironmentReply { n_incoming_bytes, ..reply });
            (BLOCK, AfterReply::EnvironmentBlock { n_incoming_bytes })
        }
        _ if command.set == 1 => (b"", AfterReply::AnotherReply),
        _ => (b"", AfterReply::Close),
    };
    let heard =
        talk(&Talk { capacity, request, answer: Answer::Ok(&answer), continuation: follows })?;
    let size = u16::try_from(reply.len()).unwrap();
    if (heard.outcome, heard.server) != (Outcome::Ok { size, then }, ServerOutcome::Answered) {
        return Err(format!("capacity {capacity}: {:?} and {:?}", heard.outcome, heard.server));
    }
    // The bytes of the vector; of an environment block, all but its size.
    if heard.reply[..20] != reply[..20]
        || heard.reply.len() != reply.len()
        || heard.continuation != follows
    {
        return Err(format!("capacity {capacity}: got {heard:?}"));
    }
    if continuation != Continuation::EnvironmentBlock && heard.reply != reply {
        return Err(format!("capacity {capacity}: the reply is {:02x?}", heard.reply));
    }
    Ok(())
}

#[test]
fn pair_one_byte_pipe_completes_every_command() {
    for_each_pair(|_, request, replies| replies.iter().try_for_each(|reply| ok(1, request, reply)));
}

#[test]
fn pair_larger_pipe_same_outcome() {
    for_each_pair(|_, request, replies| {
        ok(3, request, &replies[0]).and_then(|()| ok(100_000, request, &replies[0]))
    });
}

#[test]
fn pair_refusal_reaches_client_for_every_command() {
    for_each_pair(|_, request, _| {
        let hresult = HResult::NOT_SUPPORTED;
        let heard = talk(&Talk {
            capacity: 1,
            request,
            answer: Answer::Error(hresult),
            continuation: b"",
        })?;
        let expected = Heard {
            outcome: Outcome::Error { size: 24, hresult },
            reply: b"DOTNET_IPC_V1\0\x18\0\xff\xff\0\0\x15\x15\x13\x80".to_vec(),
            continuation: Vec::new(),
            server: ServerOutcome::Refused(hresult),
        };
        if heard == expected { Ok(()) } else { Err(format!("{heard:?}")) }
    });
}

#[test]
fn pair_server_returns_sent_request() {
    for_each_pair(|command, wire, _| {
        let mut server = Server::new();
        // All at once, as much as is asked for.
        server.received(wire, 20).map_err(|illegal| illegal.to_string())?;
        if wire.len() > 20 {
            server.received(wire, wire.len() - 20).map_err(|illegal| illegal.to_string())?;
        }
        let Ok(Some(request)) = server.request(wire) else {
            return Err("no request".to_owned());
        };
        let same = Message::decode(wire).unwrap().request() == Ok(request);
        if same && request.command() == command && !matches!(request, AnyRequest::Unknown { .. }) {
            Ok(())
        } else {
            Err(format!("{request:?}"))
        }
    });
}
