//! Who sends when: the exchanges follow the steps of `spec/GUIDE.md` for every command.

use std::collections::BTreeMap;
use std::time::Duration;

use dotnet_diagnostics_ipc::advertise::Advertise;
use dotnet_diagnostics_ipc::command::{Command, Continuation};
use dotnet_diagnostics_ipc::exchange::{
    AfterReply, ConnectPort, ConnectPortAction, End, Outcome, ReplyDeadline, Session, SessionAction,
};
use dotnet_diagnostics_ipc::message::eventpipe::StopTracing;
use dotnet_diagnostics_ipc::wire::Guid;

use crate::conversations;

const GUIDE: &str = include_str!("../../spec/GUIDE.md");
const SESSION_42: &[u8] = b"DOTNET_IPC_V1\0\x1c\0\xff\0\0\0\x2a\0\0\0\0\0\0\0";

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

/// Returns the lines of the section with both tables.
fn flows() -> impl Iterator<Item = &'static str> {
    let mut sections = GUIDE.split("\n## ");
    sections.find(|section| section.starts_with("Who sends when\n")).expect("a section").lines()
}

pub(super) fn rows() -> BTreeMap<&'static str, Row> {
    let rows = flows().filter_map(cells).filter(|cells| cells.len() == 3 && cells[1].contains('`'));
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
    for cells in flows().filter_map(cells).filter(|cells| cells.len() == 2) {
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

/// What the document prints, and what differs from it.
#[test]
fn flows_rows_follow_the_document() {
    let rows = rows();
    let expected: [(&str, &[&str]); 4] = [
        ("general", &["> request", "< reply", "(`<> continuation`)", "<> close"]),
        // F-19: the document prints the descriptor after the reply.
        ("user_events", &["> request", "> descriptor", "< reply", "> close"]),
        (
            "stream",
            &["> request", "< reply", "< stream", "[2] > StopTracing", "[2] < reply", "< close"],
        ),
        (
            "old",
            &[
                "> message header",
                "< session id",
                "< stream",
                "[2] > message header",
                "[2] < session id",
                "< close",
            ],
        ),
    ];
    for (flow, steps) in expected {
        assert_eq!(rows[flow].steps, steps, "{flow}");
    }
}

/// The client and the server of each request in the vectors.
#[test]
fn flows_pair_takes_the_steps_of_the_command() {
    let (rows, commands) = (rows(), commands());
    for row in conversations::rows() {
        let (command, continuation) = (row.command, row.continuation);
        let flow = commands.iter().find(|(one, of, _)| (*one, *of) == (command, continuation));
        let flow = flow.unwrap().2;
        let mut expected = rows[flow].first_connection();
        // A second reply is a fault of some runtimes (F-81).
        expected.retain(|step| *step != "< second reply");
        let mut steps = row.steps();
        // The side that holds a session closes its connection, and then the other side does.
        steps.retain(|step| *step != "< close" || expected.contains(step));
        assert_eq!(steps, expected, "{command}, {continuation:?}");
    }
}

#[test]
fn flows_session_is_stopped_on_a_second_connection() {
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
            walked.extend(["> request", "< reply"].map(String::from));
            port.handed_over().unwrap();
        }
    }
    let expected: Vec<_> = port_row.iter().filter(|step| !step.starts_with('(')).collect();
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
