//! Connect port × diagnostic port: a runtime that connects again and again, and a tool that reads
//! its advertises, holds its connections, and uses or closes them.

use dotnet_diagnostics_ipc::advertise::Advertise;
use dotnet_diagnostics_ipc::exchange::diagnostic_port::WaitingConnection;
use dotnet_diagnostics_ipc::exchange::{
    AdvertiseAction, AdvertiseOutcome, AdvertiseReceiver, ConnectPort, ConnectPortAction,
    DiagnosticPort, End,
};
use dotnet_diagnostics_ipc::wire::Guid;

use super::{Product, Way, walk};
use crate::drive::ENDS;
use crate::flows;
use crate::legal::{counts, is_new, tried};

const COOKIE: Guid = Guid::from_bytes([7; 16]);
const ADVERTISE: Advertise = Advertise { runtime_cookie: COOKIE, process_id: 12345, future: 7 };
/// Another runtime, which always has one waiting connection. It has the same process id, as in
/// another namespace.
const OTHER: Advertise = Advertise { runtime_cookie: Guid::NIL, ..ADVERTISE };
/// The first byte of a reply.
const REPLY: u8 = 0xee;
/// How many connections the tool has at once.
const MOST: usize = 2;
/// How many faults may occur between two requests: each makes the delay longer.
const FAILURES: usize = 2;

#[derive(Clone, Debug, PartialEq)]
enum Tool {
    Reads(AdvertiseReceiver),
    Holds,
    /// A request was sent.
    Asks,
    Gone,
}

#[derive(Clone, Debug)]
struct Connection {
    tool: Tool,
    buffer: [u8; 34],
    to_tool: Vec<u8>,
    has_request: bool,
    /// How the tool sees the runtime's end.
    end: Option<End>,
}

#[derive(Clone, Debug)]
struct Meeting {
    port: ConnectPort,
    buffer: [u8; 34],
    /// In order of arrival; the last is the runtime's, if it has one.
    connections: Vec<Connection>,
    is_connected: bool,
    failed: usize,
    steps: Vec<&'static str>,
}

/// The slots of the port: the other runtime's connection, and perhaps one of this.
fn slots(held: Option<usize>) -> [Option<WaitingConnection<usize>>; 2] {
    let other = WaitingConnection { advertise: OTHER, token: usize::MAX };
    [Some(other), held.map(|token| WaitingConnection { advertise: ADVERTISE, token })]
}

impl Meeting {
    fn held(&self) -> Option<usize> {
        let mut held = self
            .connections
            .iter()
            .enumerate()
            .filter(|(_, connection)| connection.tool == Tool::Holds);
        let first = held.next();
        assert!(held.next().is_none(), "two connections of one runtime are held");
        first.map(|(index, _)| index)
    }

    fn way(
        &self,
        ways: &mut Vec<Way<Self>>,
        label: &'static str,
        is_fault: bool,
        act: impl FnOnce(&mut Self),
    ) {
        let mut to = self.clone();
        act(&mut to);
        // Connections that both sides have closed are removed; the runtime's own stays the last.
        let last = to.connections.len().wrapping_sub(1);
        let mut index = 0;
        to.connections.retain(|connection| {
            let is_own = index == last && to.is_connected;
            index += 1;
            connection.tool != Tool::Gone || is_own
        });
        ways.push(Way { label, is_fault, to });
    }

    /// The runtime's own connection.
    fn own(&mut self) -> &mut Connection {
        assert!(self.is_connected);
        self.connections.last_mut().unwrap()
    }

    fn runtime_lets_go(&mut self) {
        self.own().end = Some(End::Closed);
        self.is_connected = false;
        self.steps.clear();
    }

    fn runtime_ways(&self, ways: &mut Vec<Way<Self>>) {
        let own = self.connections.last().filter(|_| self.is_connected);
        let tool_is_gone = own.is_some_and(|own| own.tool == Tool::Gone);
        match self.port.action() {
            ConnectPortAction::Connect => {
                if self.connections.len() < MOST {
                    self.way(ways, "runtime connects", false, |meeting| {
                        meeting.port.connected(&mut meeting.buffer).unwrap();
                        let tool = Tool::Reads(AdvertiseReceiver::new());
                        let connection = Connection {
                            tool,
                            buffer: [0; 34],
                            to_tool: vec![],
                            has_request: false,
                            end: None,
                        };
                        meeting.connections.push(connection);
                        (meeting.is_connected, meeting.steps) = (true, vec!["< connect"]);
                    });
                }
                if self.failed < FAILURES {
                    self.way(ways, "runtime cannot connect", true, |meeting| {
                        meeting.failed += 1;
                        meeting.port.connect_failed().unwrap();
                    });
                }
            }
            ConnectPortAction::Send(range) => {
                for n in [1, range.len() - 1, range.len()]
                    .into_iter()
                    .filter(|n| *n > 0 && !tool_is_gone && !(*n == 1 && range.len() == 33))
                {
                    self.way(ways, "runtime sends", false, |meeting| {
                        let bytes = meeting.buffer[range.start..range.start + n].to_vec();
                        meeting.own().to_tool.extend(bytes);
                        meeting.port.sent(n).unwrap();
                        if meeting.port.action() == ConnectPortAction::AwaitRequest {
                            meeting.steps.push("< advertise");
                        }
                    });
                }
                if tool_is_gone || self.failed < FAILURES {
                    self.way(ways, "runtime's send fails", !tool_is_gone, |meeting| {
                        meeting.failed += usize::from(!tool_is_gone);
                        meeting.port.send_failed().unwrap();
                        meeting.runtime_lets_go();
                    });
                }
            }
            ConnectPortAction::AwaitRequest => {
                assert_eq!(self.steps, ["< connect", "< advertise"]);
                if own.unwrap().has_request {
                    self.way(ways, "request arrives", false, |meeting| {
                        meeting.port.request_arrived().unwrap();
                        meeting.steps.push("> request");
                    });
                } else if tool_is_gone {
                    self.way(ways, "runtime sees the end", false, |meeting| {
                        meeting.port.ended().unwrap();
                        meeting.runtime_lets_go();
                    });
                }
            }
            ConnectPortAction::HandOver => self.way(ways, "runtime answers", false, |meeting| {
                meeting.failed = 0;
                meeting.own().to_tool.push(REPLY);
                meeting.port.handed_over().unwrap();
                meeting.runtime_lets_go();
                assert_eq!(meeting.port.action(), ConnectPortAction::Connect);
            }),
            ConnectPortAction::Wait(delay) => {
                assert!((10..=571).contains(&delay.as_millis()), "{delay:?}");
                self.way(ways, "runtime has waited", false, |meeting| {
                    meeting.port.waited().unwrap();
                });
            }
        }
        if self.failed > 0 {
            self.way(ways, "command elsewhere", true, |meeting| {
                meeting.failed = 0;
                meeting.port.reset_delay();
            });
            self.way(ways, "end elsewhere", true, |meeting| {
                meeting.failed = 0;
                meeting.port.end_elsewhere();
            });
        }
    }

    fn tool_ways(&self, ways: &mut Vec<Way<Self>>, index: usize) {
        let Connection { tool, to_tool, end, .. } = &self.connections[index];
        let ended = end.filter(|_| to_tool.is_empty());
        match tool {
            Tool::Reads(receiver) => match receiver.action() {
                AdvertiseAction::Receive(range) => {
                    assert_eq!(range.end, 34, "{range:?}");
                    let most = range.len().min(to_tool.len());
                    for n in [1, most]
                        .into_iter()
                        .filter(|n| (1..=most).contains(n) && (*n == most || most == 34))
                    {
                        self.way(ways, "tool reads", false, |meeting| {
                            let connection = &mut meeting.connections[index];
                            let mut receiver = *receiver;
                            for (place, byte) in connection.buffer[range.clone()]
                                .iter_mut()
                                .zip(connection.to_tool.drain(..n))
                            {
                                *place = byte;
                            }
                            receiver.received(&connection.buffer, n).unwrap();
                            connection.tool = Tool::Reads(receiver);
                        });
                    }
                    let times_out = (self.failed < FAILURES).then_some(End::TimedOut);
                    for end in ended.into_iter().chain(times_out) {
                        let is_fault = end == End::TimedOut;
                        self.way(ways, "tool sees the end", is_fault, |meeting| {
                            let mut receiver = *receiver;
                            meeting.failed += usize::from(is_fault);
                            receiver.ended(end).unwrap();
                            meeting.connections[index].tool = Tool::Reads(receiver);
                        });
                    }
                }
                AdvertiseAction::Finished(AdvertiseOutcome::Advertised(advertise)) => {
                    assert_eq!(advertise, ADVERTISE);
                    self.way(ways, "tool holds", false, |meeting| {
                        let (before, mut slots) = (meeting.held(), slots(meeting.held()));
                        let mut port = DiagnosticPort::new(&mut slots);
                        let replaced = port.hold(advertise, index).unwrap();
                        assert_eq!(replaced.map(|waiting| waiting.token), before);
                        assert_eq!((port.len(), port.find(COOKIE).unwrap().token), (2, index));
                        if let Some(before) = before {
                            // The later connection must not be older.
                            meeting.connections[before].tool = Tool::Gone;
                        }
                        meeting.connections[index].tool = Tool::Holds;
                    });
                }
                AdvertiseAction::Finished(AdvertiseOutcome::Ended { .. }) => {
                    self.way(ways, "tool closes", false, |meeting| {
                        meeting.connections[index].tool = Tool::Gone;
                    });
                }
                AdvertiseAction::Finished(AdvertiseOutcome::BadMagic { .. }) => {
                    panic!("nobody lies: {self:?}")
                }
            },
            Tool::Holds => {
                self.way(ways, "tool asks", false, |meeting| {
                    let mut slots = slots(Some(index));
                    let mut port = DiagnosticPort::new(&mut slots);
                    assert_eq!(port.take(COOKIE).map(|waiting| waiting.token), Some(index));
                    assert_eq!((port.len(), port.take(COOKIE).is_none()), (1, true), "used once");
                    let connection = &mut meeting.connections[index];
                    (connection.tool, connection.has_request) = (Tool::Asks, true);
                });
                self.way(ways, "tool lets go", ended.is_none(), |meeting| {
                    let mut slots = slots(Some(index));
                    let mut port = DiagnosticPort::new(&mut slots);
                    assert_eq!(port.find(COOKIE).map(|waiting| waiting.token), Some(index));
                    assert!(port.take(COOKIE).is_some() && port.find(COOKIE).is_none());
                    assert_eq!(port.len(), 1);
                    meeting.connections[index].tool = Tool::Gone;
                });
            }
            Tool::Asks => {
                if let Some(byte) = to_tool.first() {
                    assert_eq!(to_tool.len(), 1, "bytes of the advertise are left");
                    assert_eq!(*byte, REPLY);
                }
                if !to_tool.is_empty() || ended.is_some() {
                    self.way(ways, "tool has its reply", false, |meeting| {
                        meeting.connections[index].tool = Tool::Gone;
                    });
                }
            }
            Tool::Gone => {}
        }
    }

    fn legal(&self) {
        let (port, action) = (&self.port, self.port.action());
        assert_eq!(port.action(), action);
        if is_new(port, &self.buffer) {
            let sends =
                if let ConnectPortAction::Send(range) = &action { Some(range.len()) } else { None };
            for n in counts(sends.unwrap_or(1)) {
                tried(
                    port,
                    &[],
                    sends.is_some_and(|asked| (1..=asked).contains(&n)),
                    "sent",
                    |port, _| port.sent(n),
                );
            }
            let is = |other| action == other;
            tried(
                port,
                &[0; 34],
                is(ConnectPortAction::Connect),
                "connected",
                ConnectPort::connected,
            );
            tried(port, &[0; 33], false, "connected in a short buffer", ConnectPort::connected);
            tried(port, &[], is(ConnectPortAction::Connect), "connect_failed", |port, _| {
                port.connect_failed()
            });
            tried(port, &[], sends.is_some(), "send_failed", |port, _| port.send_failed());
            tried(port, &[], is(ConnectPortAction::AwaitRequest), "request_arrived", |port, _| {
                port.request_arrived()
            });
            tried(port, &[], is(ConnectPortAction::AwaitRequest), "ended", |port, _| port.ended());
            tried(port, &[], is(ConnectPortAction::HandOver), "handed_over", |port, _| {
                port.handed_over()
            });
            tried(port, &[], matches!(action, ConnectPortAction::Wait(_)), "waited", |port, _| {
                port.waited()
            });
        }
        for connection in &self.connections {
            let Tool::Reads(receiver) = &connection.tool else { continue };
            if !is_new(receiver, &connection.buffer) {
                continue;
            }
            let asked = if let AdvertiseAction::Receive(range) = receiver.action() {
                Some(range.len())
            } else {
                None
            };
            for n in counts(asked.unwrap_or(1)) {
                let is_legal = asked.is_some_and(|asked| (1..=asked).contains(&n));
                tried(receiver, &connection.buffer, is_legal, "received", |receiver, buffer| {
                    receiver.received(buffer, n)
                });
            }
            tried(receiver, &[0; 33], false, "received in a short buffer", |receiver, buffer| {
                receiver.received(buffer, 1)
            });
            for end in ENDS {
                tried(receiver, &[], asked.is_some(), "ended", |receiver, _| receiver.ended(end));
            }
        }
    }
}

impl Product for Meeting {
    fn key(&self) -> String {
        format!("{self:?}")
    }

    fn ways(&self) -> Vec<Way<Self>> {
        self.legal();
        let mut ways = Vec::new();
        self.runtime_ways(&mut ways);
        for index in 0..self.connections.len() {
            self.tool_ways(&mut ways, index);
        }
        ways
    }

    /// A runtime connects forever: it must always reach a request again.
    fn end(&self) -> Option<String> {
        if self.port.action() != ConnectPortAction::HandOver {
            return None;
        }
        let row = &flows::rows()["port"].first_connection();
        assert_eq!(self.steps, row[..3], "{row:?}");
        let tool = &self.connections.last().unwrap().tool;
        assert!(matches!(tool, Tool::Asks), "the tool did not ask: {tool:?}");
        Some(format!("handed over, {} connections", self.connections.len()))
    }
}

#[test]
fn port_every_state_reaches_a_request() {
    let start = Meeting {
        port: ConnectPort::new(ADVERTISE),
        buffer: [0; 34],
        connections: vec![],
        is_connected: false,
        failed: 0,
        steps: vec![],
    };
    let walked = walk(start);
    eprintln!(
        "connect port x diagnostic port: {} states, {} ways, ends: {:?}",
        walked.states, walked.ways, walked.ends
    );
    walked.reached("handed over, 1 connections");
    walked.reached("handed over, 2 connections");
    assert!(walked.states > 1000, "{}", walked.states);
}
