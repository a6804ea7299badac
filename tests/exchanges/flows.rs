//! Who sends when: the exchanges follow the steps of `spec/FLOWS.md`, for every command.

use std::collections::BTreeMap;
use std::time::Duration;

use dotnet_diagnostics_ipc::advertise::Advertise;
use dotnet_diagnostics_ipc::command::{Command, Continuation, ReplyType};
use dotnet_diagnostics_ipc::exchange::{
    AfterReply, Client, ClientAction, ConnectPort, ConnectPortAction, End, Outcome, ReplyDeadline,
    Server, ServerAction, ServerOutcome, Session, SessionAction,
};
use dotnet_diagnostics_ipc::message::eventpipe::{SessionReply, StopTracing};
use dotnet_diagnostics_ipc::wire::Guid;

const FLOWS: &str = include_str!("../../spec/FLOWS.md");
const SESSION_42: &[u8] = b"DOTNET_IPC_V1\0\x1c\0\xff\0\0\0\x2a\0\0\0\0\0\0\0";
const EIGHT_BYTES_FOLLOW: &[u8] = b"DOTNET_IPC_V1\0\x1a\0\xff\0\0\0\x08\0\0\0\0\0";

/// A row of the first table.
pub(super) struct Row {
    /// As printed, such as `[2] > StopTracing`; optional ones in parentheses.
    steps: Vec<&'static str>,
    reply: &'static str,
}

impl Row {
    /// The steps on the connection with the request, without the parentheses.
    pub(super) fn first_connection(&self) -> Vec<&'static str> {
        let own = self.steps.iter().filter(|step| !step.contains('['));
        own.map(|step| step.trim_matches(['(', ')', '`'])).collect()
    }
}

fn cells(line: &'static str) -> Option<Vec<&'static str>> {
    let line = line.strip_prefix('|')?.strip_suffix('|')?;
    Some(line.split('|').map(str::trim).collect())
}

pub(super) fn rows() -> BTreeMap<&'static str, Row> {
    let rows =
        FLOWS.lines().filter_map(cells).filter(|cells| cells.len() == 4 && cells[1].contains('`'));
    let rows = rows.map(|cells| {
        (
            cells[0],
            Row {
                steps: cells[1].split(", ").map(|step| step.trim_matches('`')).collect(),
                reply: cells[2],
            },
        )
    });
    let rows: BTreeMap<_, _> = rows.collect();
    assert_eq!(rows.len(), 10);
    rows
}

/// Each command with its continuation and its flow, by the second table.
fn commands() -> Vec<(Command, Continuation, &'static str)> {
    let mut all = Vec::new();
    for cells in FLOWS.lines().filter_map(cells).filter(|cells| cells.len() == 2) {
        let (names, session_type) = match cells[0].split_once(" with session type ") {
            Some((names, session_type)) => (names, Some(session_type)),
            None => (cells[0], None),
        };
        if names == "every other command" {
            let special: Vec<_> = all.iter().map(|(command, _, _)| *command).collect();
            for command in Command::known().filter(|command| !special.contains(command)) {
                all.push((command, command.continuation().unwrap(), cells[1]));
            }
            continue;
        }
        for name in names.split(", ").filter(|name| !name.starts_with('-') && *name != "command") {
            let command: Command = name.parse().unwrap();
            let continuation = match (command.continuation().unwrap(), session_type) {
                (Continuation::BySessionType, Some("0")) => Continuation::Nettrace,
                (Continuation::BySessionType, Some("1")) => Continuation::UserEvents,
                (Continuation::BySessionType, other) => panic!("{name}: session type {other:?}"),
                (continuation, None) => continuation,
                (_, Some(_)) => panic!("{name} has no session type"),
            };
            all.push((command, continuation, cells[1]));
        }
    }
    all
}

#[test]
fn flows_name_every_command_once() {
    let mut listed: Vec<_> = commands()
        .into_iter()
        .map(|(command, continuation, _)| (command, continuation == Continuation::UserEvents))
        .collect();
    listed.sort();
    let known = Command::known().flat_map(|command| {
        let has_two = command.continuation() == Some(Continuation::BySessionType);
        [Some((command, false)), has_two.then_some((command, true))]
    });
    let mut known: Vec<_> = known.flatten().collect();
    known.sort();
    assert_eq!(listed, known);
}

#[test]
fn flows_general_row_equals_three_arrows_of_document() {
    assert_eq!(
        rows()["general"].steps,
        ["> request", "< reply", "(`<> continuation`)", "<> close"]
    );
}

fn ok_to(command: Command) -> &'static [u8] {
    match command.reply_type().unwrap() {
        ReplyType::Session => SESSION_42,
        ReplyType::ProcessEnvironment => EIGHT_BYTES_FOLLOW,
        _ => b"DOTNET_IPC_V1\0\x14\0\xff\0\0\0",
    }
}

/// What a client is asked to do, and the final state that it reports for the connection.
fn walked_by_a_client(command: Command, continuation: Continuation) -> Vec<&'static str> {
    let reply = ok_to(command);
    let mut buffer = [0; 64];
    let mut client = Client::with_payload(command, Some(continuation), &(), &mut buffer).unwrap();
    let mut walked = Vec::new();
    loop {
        match client.action() {
            ClientAction::Send(range) => {
                walked.push("> request");
                client.sent(range.len()).unwrap();
            }
            ClientAction::SendFd(_) => {
                walked.push("> descriptor");
                client.fd_sent().unwrap();
            }
            ClientAction::Receive(range) => {
                buffer[range.clone()].copy_from_slice(&reply[range.clone()]);
                client.received(&buffer, range.len()).unwrap();
            }
            ClientAction::Finished(Outcome::Ok { then, .. }) => {
                walked.push("< reply");
                walked.extend(match then {
                    AfterReply::Close => &["< close"][..],
                    AfterReply::AnotherReply => &["< second reply", "< close"],
                    AfterReply::Stream { .. } => &["< stream", "< close"],
                    AfterReply::EnvironmentBlock { .. } => &["< environment block", "< close"],
                    AfterReply::UserEvents { .. } => &["> close"],
                    other => panic!("{command}: {other:?}"),
                });
                return walked;
            }
            ClientAction::Finished(other) => panic!("{command}: {other:?}"),
        }
    }
}

#[test]
fn flows_client_takes_the_steps_of_the_command() {
    let rows = rows();
    for (command, continuation, flow) in commands() {
        let walked = walked_by_a_client(command, continuation);
        assert_eq!(walked, rows[flow].first_connection(), "{command}, {continuation:?}");
    }
}

/// Requests that a server accepts, one or more of each flow that a command has.
pub(super) fn requests() -> [(&'static str, &'static [u8]); 8] {
    [
        ("ask", b"DOTNET_IPC_V1\0\x14\0\x04\x01\0\0"),
        ("stop", b"DOTNET_IPC_V1\0\x1c\0\x02\x01\0\0\x2a\0\0\0\0\0\0\0"),
        ("dump", b"DOTNET_IPC_V1\0\x24\0\x01\x01\0\0\x02\0\0\0d\0\0\0\x01\0\0\0\0\0\0\0"),
        (
            "attach",
            b"DOTNET_IPC_V1\0\x34\0\x03\x01\0\0\x88\x13\0\0\
                \0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\x02\0\0\0p\0\0\0\0\0\0\0",
        ),
        (
            "stream",
            b"DOTNET_IPC_V1\0\x39\0\x02\x03\0\0\x01\0\0\0\x01\0\0\0\0\x01\0\0\0\
                \0\0\0\0\0\0\0\0\x04\0\0\0\x02\0\0\0P\0\0\0\0\0\0\0",
        ),
        // Vector 6500 as CollectTracing5: one provider, one tracepoint set.
        (
            "user_events",
            b"DOTNET_IPC_V1\0\x5d\0\x02\x06\0\0\x01\0\0\0\0\0\0\0\0\0\0\0\x01\0\0\0\
                \x01\0\0\0\0\0\0\0\x02\0\0\0\x02\0\0\0a\0\0\0\0\0\0\0\0\0\0\0\0\
                \x02\0\0\0t\0\0\0\x01\0\0\0\x02\0\0\0s\0\0\0\x01\0\0\0\x07\0\0\0",
        ),
        ("environment", b"DOTNET_IPC_V1\0\x14\0\x04\x02\0\0"),
        ("ask", b"DOTNET_IPC_V1\0\x14\0\x04\x08\0\0"),
    ]
}

/// What a server is asked to do.
fn walked_by_a_server(request: &[u8]) -> Vec<&'static str> {
    let mut buffer = [0; 256];
    let mut server = Server::new();
    let (mut walked, mut command) = (Vec::new(), None);
    loop {
        match server.action() {
            ServerAction::Receive(range) => {
                buffer[range.clone()].copy_from_slice(&request[range.clone()]);
                server.received(&buffer, range.len()).unwrap();
            }
            ServerAction::Decode(_) => {
                walked.push("> request");
                let Some(request) = server.request(&buffer).unwrap() else { panic!("{walked:?}") };
                command = Some(request.command());
            }
            ServerAction::ReceiveFd => {
                walked.push("> descriptor");
                server.fd_received().unwrap();
            }
            ServerAction::Respond => {
                let payload = &ok_to(command.unwrap())[20..];
                match *payload {
                    [] => server.respond(&(), &mut buffer).unwrap(),
                    [n, ..] if payload.len() == 8 => {
                        server
                            .respond(&SessionReply { session_id: n.into() }, &mut buffer)
                            .unwrap();
                    }
                    _ => {
                        let reply =
                            dotnet_diagnostics_ipc::message::process::ProcessEnvironmentReply {
                                n_incoming_bytes: 8,
                                future: 0,
                            };
                        server.respond(&reply, &mut buffer).unwrap();
                    }
                }
            }
            ServerAction::Send(range) => {
                if !walked.contains(&"< reply") {
                    walked.push("< reply");
                }
                server.sent(range.len()).unwrap();
            }
            ServerAction::Continue { left: None } if walked.contains(&"< stream") => {
                server.continuation_ended().unwrap();
            }
            ServerAction::Continue { left: None } => {
                walked.push("< stream");
                server.piece(&buffer, 16).unwrap();
            }
            ServerAction::Continue { left: Some(left) } => {
                walked.push("< environment block");
                server.piece(&buffer, left as usize).unwrap();
            }
            ServerAction::Hold => {
                walked.push("> close");
                server.ended(End::Closed).unwrap();
            }
            ServerAction::Close => {
                walked.push("< close");
                server.closed().unwrap();
            }
            ServerAction::Finished(outcome) => {
                assert_eq!(outcome, ServerOutcome::Answered);
                return walked;
            }
            other => panic!("{walked:?}: {other:?}"),
        }
    }
}

#[test]
fn flows_server_takes_the_steps_of_the_command() {
    let rows = rows();
    for (flow, request) in requests() {
        let mut expected = rows[flow].first_connection();
        // A server that closes is also told when the client hangs up; a second reply is a fault of
        // some runtimes (F-81).
        expected.retain(|step| *step != "< second reply");
        let mut walked = walked_by_a_server(request);
        if flow == "user_events" {
            assert_eq!(walked.pop(), Some("< close"));
        }
        assert_eq!(walked, expected, "{flow}");
    }
}

/// F-19: the document prints the descriptor after the reply.
#[test]
fn flows_user_events_sends_the_descriptor_before_the_reply() {
    assert_eq!(rows()["user_events"].steps, ["> request", "> descriptor", "< reply", "> close"]);
}

#[test]
fn flows_session_is_stopped_on_a_second_connection() {
    assert_eq!(
        rows()["stream"].steps,
        ["> request", "< reply", "< stream", "[2] > StopTracing", "[2] < reply", "< close"]
    );
    let mut session = Session::streaming(Some(42), u64::MAX);
    session.received(b"Nettrace").unwrap();
    assert_eq!(session.begin_stop(), Ok(Some(StopTracing { session_id: 42 })));
    assert_eq!(session.action(), SessionAction::Read);
    session.stop_finished(Outcome::Ok { size: 28, then: AfterReply::Close }, SESSION_42).unwrap();
    assert_eq!(session.action(), SessionAction::Read);
    session.ended(End::Closed).unwrap();
    let SessionAction::Finished(outcome) = session.action() else { panic!("{session:?}") };
    assert!(outcome.is_complete());
}

#[test]
fn flows_port_connects_advertises_and_is_asked() {
    let port_row = &rows()["port"].steps;
    assert_eq!(port_row[2..5], ["> request", "< reply", "(`<> continuation`)"]);
    let advertise = Advertise { runtime_cookie: Guid::NIL, process_id: 1, future: 0 };
    let mut port = ConnectPort::new(advertise);
    let (mut buffer, mut walked) = ([0; 64], Vec::new());
    for connection in ["", "[next] "] {
        assert_eq!(port.action(), ConnectPortAction::Connect);
        walked.push(format!("{connection}< connect"));
        port.connected(&mut buffer).unwrap();
        assert_eq!(port.action(), ConnectPortAction::Send(0..34));
        walked.push(format!("{connection}< advertise"));
        port.sent(34).unwrap();
        assert_eq!(port.action(), ConnectPortAction::AwaitRequest);
        if connection.is_empty() {
            port.request_arrived().unwrap();
            assert_eq!(port.action(), ConnectPortAction::HandOver);
            walked.extend(
                walked_by_a_server(b"DOTNET_IPC_V1\0\x14\0\x04\x01\0\0")
                    .into_iter()
                    .map(String::from),
            );
            port.handed_over().unwrap();
        }
    }
    let expected: Vec<_> = port_row.iter().filter(|step| !step.starts_with('(')).collect();
    walked.retain(|step| step != "< close");
    assert_eq!(walked.iter().collect::<Vec<_>>(), expected);
}

#[test]
fn flows_connection_carries_one_request() {
    for (flow, row) in rows() {
        for connection in ["", "[2] ", "[next] "] {
            let requests = ["request", "StopTracing", "message header"]
                .map(|what| format!("{connection}> {what}"));
            assert!(
                row.steps
                    .iter()
                    .filter(|step| requests.iter().any(|request| request == *step))
                    .count()
                    <= 1,
                "{flow}"
            );
        }
    }
}

#[test]
fn flows_old_protocol_streams_after_a_bare_session_id() {
    assert_eq!(
        rows()["old"].steps,
        [
            "> message header",
            "< session id",
            "< stream",
            "[2] > message header",
            "[2] < session id",
            "< close"
        ]
    );
}

#[test]
fn flows_reply_deadline_equals_row() {
    let rows = rows();
    let seconds = Duration::from_secs;
    for (command, _, flow) in commands() {
        let expected = match rows[flow].reply {
            "5 s" => ReplyDeadline::Within(seconds(5)),
            "600 s" => ReplyDeadline::Within(seconds(600)),
            "`attachTimeout` + 5 s" => ReplyDeadline::AfterAttachTimeout(seconds(5)),
            "30 s after the stream's end" => ReplyDeadline::AfterStreamEnd(seconds(30)),
            other => panic!("{flow}: {other}"),
        };
        assert_eq!(ReplyDeadline::of(command), expected, "{command}");
    }
    assert_eq!(ReplyDeadline::of(Command::from_code(0x6301)), ReplyDeadline::Within(seconds(5)));
}
