//! Who speaks when: the rows of the table as the document and the errata tell them, written out by hand.

use std::time::Duration;

use dotnet_diagnostics_ipc::command::{Command, Continuation, ReplyType};
use dotnet_diagnostics_ipc::exchange::{Client, ClientAction, Outcome, Then};
use dotnet_diagnostics_ipc::flow::{Connection, Deadline, Flow, Speaker, StreamEnd, What};
use dotnet_diagnostics_ipc::message::eventpipe::SessionType;

#[track_caller]
fn is(flow: Option<Flow>, lines: &[&str]) {
    assert_eq!(flow.unwrap().to_string(), lines.join("\n"));
}

#[test]
fn a_command_is_asked_answered_and_over() {
    let asked = ["client -> runtime: request", "runtime -> client: reply", "runtime -> client: close"];
    for command in [
        Command::GENERATE_CORE_DUMP,
        Command::GENERATE_CORE_DUMP2,
        Command::GENERATE_CORE_DUMP3,
        Command::STOP_TRACING,
        Command::ATTACH_PROFILER,
        Command::STARTUP_PROFILER,
        Command::PROCESS_INFO,
        Command::RESUME_RUNTIME,
        Command::APPLY_STARTUP_HOOK,
    ] {
        is(Flow::of(command, None), &asked);
    }
}

#[test]
fn a_session_streams_until_it_is_stopped_elsewhere() {
    let lines = [
        "client -> runtime: request",
        "runtime -> client: reply",
        "runtime -> client: stream",
        "client -> runtime: StopTracing, on a second connection",
        "runtime -> client: reply to StopTracing, on a second connection",
        "runtime -> client: close",
    ];
    for command in [Command::COLLECT_TRACING, Command::COLLECT_TRACING2, Command::COLLECT_TRACING3, Command::COLLECT_TRACING4] {
        is(Flow::of(command, None), &lines);
    }
    for command in [Command::COLLECT_TRACING5, Command::COLLECT_TRACING6] {
        is(Flow::of(command, Some(SessionType::STREAMING)), &lines);
    }
    assert_eq!((StreamEnd::after(true), StreamEnd::after(false)), (StreamEnd::Complete, StreamEnd::Incomplete));
}

/// F-19: the document prints the descriptor behind the reply.
#[test]
fn the_descriptor_goes_before_the_reply() {
    for command in [Command::COLLECT_TRACING5, Command::COLLECT_TRACING6] {
        is(
            Flow::of(command, Some(SessionType::USER_EVENTS)),
            &[
                "client -> runtime: request",
                "client -> runtime: file descriptor",
                "runtime -> client: reply",
                "client -> runtime: close",
            ],
        );
    }
}

#[test]
fn the_environment_follows_its_reply() {
    is(
        Flow::of(Command::PROCESS_ENVIRONMENT, None),
        &[
            "client -> runtime: request",
            "runtime -> client: reply",
            "runtime -> client: environment block",
            "runtime -> client: close",
        ],
    );
}

#[test]
fn on_a_port_the_runtime_connects_and_the_tool_asks() {
    is(
        Some(Flow::PORT),
        &[
            "runtime -> client: connect",
            "runtime -> client: advertise",
            "client -> runtime: request",
            "runtime -> client: reply",
            "client <-> runtime: continuation (if any)",
            "runtime -> client: connect, on the next connection",
            "runtime -> client: advertise, on the next connection",
        ],
    );
}

#[test]
fn a_connection_carries_one_request() {
    for flow in Flow::ALL {
        for connection in [Connection::First, Connection::Second, Connection::Next] {
            let requests = flow.steps.iter().filter(|step| {
                step.connection == connection
                    && matches!(step.what, What::Request | What::StopRequest | What::OldRequest)
                    && step.speaker == Speaker::Client
            });
            assert!(requests.count() <= 1, "{}", flow.name);
        }
    }
}

#[test]
fn the_old_protocol_streams_behind_a_bare_session_id() {
    is(
        Some(Flow::OLD),
        &[
            "client -> runtime: message header",
            "runtime -> client: session id",
            "runtime -> client: stream",
            "client -> runtime: message header, on a second connection",
            "runtime -> client: session id, on a second connection",
            "runtime -> client: close",
        ],
    );
}

/// What a report calls them, where the document prints them, and how long their reply may take.
#[test]
fn every_row_has_its_name_its_section_and_its_time() {
    let within = |seconds| Deadline::Within(Duration::from_secs(seconds));
    let seconds = Duration::from_secs;
    let rows = [
        (Flow::GENERAL, "general", "General Flow", within(5)),
        (Flow::ASK, "ask", "General Flow", within(5)),
        (Flow::DUMP, "dump", "CreateCoreDump", within(600)),
        (Flow::ATTACH, "attach", "AttachProfiler", Deadline::AttachTimeoutAnd(seconds(5))),
        (Flow::STOP, "stop", "StopTracing", Deadline::OnceDrained(seconds(30))),
        (Flow::STREAM, "stream", "General Flow, the example for EventPipe", within(5)),
        (Flow::USER_EVENTS, "user_events", "CollectTracing5, passing_file_descriptor (printed with the reply first)", within(5)),
        (Flow::ENVIRONMENT, "environment", "ProcessEnvironment", within(5)),
        (Flow::PORT, "port", "Dataflow", within(5)),
        (Flow::OLD, "old", "Current Implementation (OLD)", within(5)),
    ];
    assert_eq!(Flow::ALL, rows.map(|(flow, ..)| flow));
    for (flow, name, section, reply) in rows {
        assert_eq!((flow.name, flow.section, flow.reply), (name, section, reply));
    }
}

/// The steps of a row that happen on the request's own connection, in the words of the exchanges.
fn on_the_first_connection(flow: &Flow) -> Vec<What> {
    flow.steps.iter().filter(|step| step.connection == Connection::First).map(|step| step.what).collect()
}

/// What a client is asked to do, and what it says the connection is then.
fn walked_by_a_client(command: Command, continuation: Continuation, reply: &[u8]) -> Vec<What> {
    let mut buffer = [0; 64];
    let mut client = Client::with_payload(command, Some(continuation), &(), &mut buffer).unwrap();
    let mut walked = Vec::new();
    loop {
        match client.action() {
            ClientAction::Send(range) => {
                walked.push(What::Request);
                client.sent(range.len()).unwrap();
            }
            ClientAction::SendFd => {
                walked.push(What::FileDescriptor);
                client.fd_sent().unwrap();
            }
            ClientAction::Receive(range) => {
                buffer[range.clone()].copy_from_slice(&reply[range.clone()]);
                client.received(&buffer, range.len()).unwrap();
            }
            ClientAction::Finished(Outcome::Ok { then, .. }) => {
                walked.push(What::Reply);
                walked.extend(match then {
                    Then::Stream { .. } => Some(What::Stream),
                    Then::EnvironmentBlock { .. } => Some(What::EnvironmentBlock),
                    Then::Close | Then::AnotherReply | Then::UserEvents { .. } => None,
                    other => panic!("{command}: {other:?}"),
                });
                walked.push(What::Close);
                return walked;
            }
            ClientAction::Finished(other) => panic!("{command}: {other:?}"),
        }
    }
}

#[test]
fn a_client_walks_the_row_of_its_command() {
    for command in Command::known() {
        let reply: &[u8] = match command.reply_type().unwrap() {
            ReplyType::Session => b"DOTNET_IPC_V1\0\x1c\0\xff\0\0\0\x2a\0\0\0\0\0\0\0",
            ReplyType::ProcessEnvironment => b"DOTNET_IPC_V1\0\x1a\0\xff\0\0\0\x08\0\0\0\0\0",
            _ => b"DOTNET_IPC_V1\0\x14\0\xff\0\0\0",
        };
        let both = [(SessionType::STREAMING, Continuation::Nettrace), (SessionType::USER_EVENTS, Continuation::UserEvents)];
        let types: Vec<_> = match command.continuation().unwrap() {
            Continuation::BySessionType => both.map(|(kind, continuation)| (Some(kind), continuation)).to_vec(),
            continuation => vec![(None, continuation)],
        };
        for (session_type, continuation) in types {
            let flow = Flow::of(command, session_type).unwrap();
            assert_eq!(walked_by_a_client(command, continuation, reply), on_the_first_connection(&flow), "{command}");
        }
    }
}
