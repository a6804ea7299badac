//! Our clients and our servers over modelled connections, some of which go through a diagnostic
//! port: any order of steps and any pieces, with faults, calls out of order, and sessions that are
//! stopped from another connection.
//!
//! Where no fault is injected, the outcome is known in advance: nothing else of the input may
//! change it.

mod agree;
mod line;
mod misuse;
mod request;
mod runtime;
mod tool;

use std::vec::Vec;

use self::line::{Line, close};
use self::request::Asked;
use self::runtime::{Call, Runtime, Serving};
use self::tool::{Asking, Step, Tool};
use dotnet_diagnostics_ipc::advertise::{ADVERTISE_LEN, Advertise};
use dotnet_diagnostics_ipc::exchange::diagnostic_port::{
    AdvertiseReceiver, DiagnosticPort, WaitingConnection,
};
use dotnet_diagnostics_ipc::exchange::{
    ClientAction, ConnectPort, ConnectPortAction, End, Outcome, RetryPolicy, ServerOptions,
    Session, StopOutcome,
};
use dotnet_diagnostics_ipc::hresult::HResult;
use dotnet_diagnostics_ipc::message::server::ErrorReply;
use dotnet_diagnostics_ipc::wire::Guid;

const MOST_CONNECTIONS: usize = 8;
const SLOTS: usize = 3;

/// `[how the servers are, room of a connection, actions …]`; an action is `[what and which
/// connection, number]`.
pub fn conversations(input: &[u8]) {
    let Some(([how, room], actions)) = input.split_first_chunk::<2>() else { return };
    let mut slots = [const { None }; SLOTS];
    let mut world = World::new(*how, *room, &mut slots);
    for action in actions.chunks_exact(2) {
        world.act(action[0], action[1]);
        world.check();
    }
    world.settle();
    for at in 0..world.connections.len() {
        world.stop(at, 0);
    }
    world.settle();
    for at in 0..world.connections.len() {
        world.hang_up(at);
        // A runtime sees that its client is gone when it writes.
        world.stream(at, 1);
    }
    world.settle();
    world.agree();
}

struct World<'s> {
    options: ServerOptions,
    /// The size of a server's first buffer.
    server_room: usize,
    /// How many bytes a connection holds each way.
    room: usize,
    connections: Vec<Connection>,
    /// The tool's port, and the runtime's side of it with its waiting connection.
    port: DiagnosticPort<'s, usize>,
    advertiser: ConnectPort,
    advertise: [u8; ADVERTISE_LEN],
    waiting: Option<usize>,
    last_session: u64,
}

struct Connection {
    /// To the runtime, and back.
    there: Line,
    back: Line,
    tool: Tool,
    runtime: Runtime,
    asked: Option<Asked>,
    had_fault: bool,
}

/// A number of the input as a number of bytes: at least one, and often all.
fn bytes(n: u8) -> usize {
    if n < 192 { usize::from(n % 64).saturating_add(1) } else { 4096 }
}

impl<'s> World<'s> {
    fn new(how: u8, room: u8, slots: &'s mut [Option<WaitingConnection<usize>>]) -> Self {
        let advertise = Advertise {
            runtime_cookie: Guid::from_bytes([how; 16]),
            process_id: how.into(),
            future: room.into(),
        };
        let policy = if how & 2 == 0 { RetryPolicy::AsShipped } else { RetryPolicy::AsPrinted };
        Self {
            options: runtime::options(how),
            server_room: if how & 4 == 0 { 512 } else { 24 },
            // A server that refuses early sends its error while the client still sends.
            room: usize::from(room).saturating_add(24),
            connections: Vec::new(),
            port: DiagnosticPort::new(slots),
            advertiser: ConnectPort::new(advertise, policy),
            advertise: [0; ADVERTISE_LEN],
            waiting: None,
            last_session: 0,
        }
    }

    fn act(&mut self, what: u8, n: u8) {
        let at = usize::from(what >> 4) % self.connections.len().max(1);
        match what & 15 {
            0..=2 => drop(self.tool_step(at, bytes(n))),
            3..=5 => drop(self.runtime_step(at, bytes(n))),
            6 | 7 => drop(self.port_step(bytes(n), n >= 250)),
            8 => self.connect(Asked::any(n), what >> 4, None),
            9 => self.ask_waiting(Asked::any(n), what >> 4),
            10 => self.stop(at, n),
            11 => self.stream(at, bytes(n)),
            12 => self.fault(at, n),
            _ => self.misuse(at, n),
        }
    }

    /// A client connects to the default endpoint, which ends a delay of the port (F-77).
    fn connect(&mut self, asked: Asked, how: u8, stops: Option<usize>) {
        if self.connections.len() == MOST_CONNECTIONS {
            return;
        }
        let tool = Tool::Asks(Asking::new(&asked, how.wrapping_mul(29), stops));
        let runtime = Runtime::Serves(Serving::new(self.options, self.server_room));
        self.add(tool, runtime, Some(asked));
        self.advertiser.reset_delay();
    }

    fn add(&mut self, tool: Tool, runtime: Runtime, asked: Option<Asked>) {
        let (there, back) = (Line::default(), Line::default());
        self.connections.push(Connection { there, back, tool, runtime, asked, had_fault: false });
    }

    /// Asks over the connection that waits at the port.
    fn ask_waiting(&mut self, asked: Asked, how: u8) {
        let held = self.connections.iter().find_map(|connection| match connection.tool {
            Tool::Holds(cookie) => Some(cookie),
            _ => None,
        });
        let Some(cookie) = held else { return };
        let found = self.port.take(cookie).unwrap();
        assert_eq!(found.advertise.to_bytes(), self.advertise);
        let connection = &mut self.connections[found.token];
        assert!(matches!(&connection.tool, Tool::Holds(held) if *held == cookie));
        connection.tool = Tool::Asks(Asking::new(&asked, how.wrapping_mul(29), None));
        connection.asked = Some(asked);
    }

    fn tool_step(&mut self, at: usize, n: usize) -> bool {
        let room = self.room;
        let Some(Connection { there, back, tool, .. }) = self.connections.get_mut(at) else {
            return false;
        };
        match tool.step(n, there, back, room) {
            Step::Idle => return false,
            Step::Moved => {}
            Step::Advertised(advertise) => {
                assert_eq!(advertise.to_bytes(), self.advertise);
                self.hold(at, advertise);
            }
            Step::Lost(cookie) => assert!(self.port.take(cookie).is_some()),
        }
        self.report_stop(at);
        true
    }

    fn hold(&mut self, at: usize, advertise: Advertise) {
        // All have the same cookie.
        let replaced = self.port.hold(advertise, at).unwrap();
        self.connections[at].tool = Tool::Holds(advertise.runtime_cookie);
        if let Some(old) = replaced {
            // One of the two has been cut, and it may be either: their advertises are read in any
            // order.
            let Connection { there, back, tool, had_fault, .. } = &mut self.connections[old.token];
            tool.close(there, back);
            *had_fault = true;
        }
    }

    /// Reports the outcome of a stop to its session, once.
    fn report_stop(&mut self, at: usize) {
        let Tool::Asks(asking) = &mut self.connections[at].tool else { return };
        let Some((outcome, reply)) = &asking.first else { return };
        let (Some(of), outcome, reply) = (asking.stops.take(), *outcome, reply.clone()) else {
            return;
        };
        if let Some(session) = self.session(of) {
            session.stop_finished(outcome, &reply).unwrap();
            let expected = match outcome {
                Outcome::Ok { .. } => StopOutcome::Answered,
                Outcome::Error { hresult, .. } => StopOutcome::Refused(hresult),
                Outcome::NoReply { end, .. } | Outcome::Cut { end, .. } => {
                    StopOutcome::Unanswered(end)
                }
                other => panic!("{other:?}"),
            };
            assert_eq!(session.stop(), expected);
        }
    }

    fn session(&mut self, at: usize) -> Option<&mut Session> {
        match &mut self.connections.get_mut(at)?.tool {
            Tool::Asks(asking) => asking.session.as_mut(),
            _ => None,
        }
    }

    fn runtime_step(&mut self, at: usize, n: usize) -> bool {
        let Some(Connection { there, back, runtime, asked, .. }) = self.connections.get_mut(at)
        else {
            return false;
        };
        let (Runtime::Serves(serving), Some(asked)) = (runtime, asked) else { return false };
        match serving.step(n, asked, there, back, self.room) {
            Call::Idle => false,
            Call::Moved => true,
            Call::Start => {
                self.last_session += 1;
                serving.start(self.last_session);
                true
            }
            Call::Stop(id) => self.answer_stop(at, id),
        }
    }

    /// A stop is answered once its session's stream is written (F-76).
    fn answer_stop(&mut self, at: usize, id: u64) -> bool {
        let mut of = None;
        for connection in &mut self.connections {
            let Runtime::Serves(serving) = &mut connection.runtime else { continue };
            if serving.is_session_open(id) {
                let is_new = !serving.is_stopped;
                serving.is_stopped = true;
                return is_new;
            }
            if serving.session == Some(id) {
                of = Some(serving.is_stopped);
            }
        }
        let Runtime::Serves(serving) = &mut self.connections[at].runtime else { unreachable!() };
        match of {
            Some(true) => serving.stopped(id),
            // It ended before, or there was none.
            _ => serving.refuse(&ErrorReply::new(HResult::FAIL)),
        }
        true
    }

    fn port_step(&mut self, n: usize, fails: bool) -> bool {
        let room = self.room;
        match self.advertiser.action() {
            ConnectPortAction::Connect if fails => self.advertiser.connect_failed().unwrap(),
            ConnectPortAction::Connect => {
                if self.connections.len() == MOST_CONNECTIONS {
                    return false;
                }
                self.advertiser.connected(&mut self.advertise).unwrap();
                self.waiting = Some(self.connections.len());
                let receives = Tool::Receives(AdvertiseReceiver::new(), [0; ADVERTISE_LEN]);
                self.add(receives, Runtime::OfPort, None);
            }
            ConnectPortAction::Wait(_) if fails => self.advertiser.end_elsewhere(),
            ConnectPortAction::Wait(_) => self.advertiser.waited().unwrap(),
            ConnectPortAction::Send(range) => {
                let Connection { there, back, .. } = &mut self.connections[self.waiting.unwrap()];
                match back.write(&self.advertise[range], n, room) {
                    Some(0) => return false,
                    Some(n) => self.advertiser.sent(n).unwrap(),
                    None => {
                        close(there, back);
                        self.advertiser.send_failed().unwrap();
                        self.leave();
                    }
                }
            }
            ConnectPortAction::AwaitRequest => {
                let Connection { there, back, .. } = &mut self.connections[self.waiting.unwrap()];
                if !there.is_empty() {
                    self.advertiser.request_arrived().unwrap();
                } else if there.ended().is_some() {
                    close(there, back);
                    self.advertiser.ended().unwrap();
                    self.leave();
                } else {
                    return false;
                }
            }
            ConnectPortAction::HandOver => {
                let connection = &mut self.connections[self.waiting.unwrap()];
                assert!(!connection.there.is_empty(), "no request has begun");
                connection.runtime = Runtime::Serves(Serving::new(self.options, self.server_room));
                self.advertiser.handed_over().unwrap();
                self.waiting = None;
            }
        }
        true
    }

    /// The port's connection is lost: only a fault, or a tool that does not ask, does that.
    fn leave(&mut self) {
        let connection = &mut self.connections[self.waiting.take().unwrap()];
        assert!(connection.had_fault, "the port lost a connection");
        connection.runtime = Runtime::Closed;
    }

    /// Stops the session of the connection from another one.
    fn stop(&mut self, at: usize, how: u8) {
        let is_full = self.connections.len() == MOST_CONNECTIONS;
        let Some(session) = self.session(at) else { return };
        // `None`: the session hangs up instead.
        let Ok(Some(request)) = session.begin_stop() else { return };
        if is_full {
            return session.stop_not_sent().unwrap();
        }
        self.connect(Asked::stop(request.session_id), how, Some(at));
    }

    /// Ends a session that could not be stopped.
    fn hang_up(&mut self, at: usize) {
        let Some(session) = self.session(at) else { return };
        if session.hung_up().is_ok() {
            let Connection { there, back, .. } = &mut self.connections[at];
            close(back, there);
        }
    }

    fn stream(&mut self, at: usize, n: usize) {
        if let Some(Connection { runtime: Runtime::Serves(serving), .. }) =
            self.connections.get_mut(at)
        {
            serving.stream(n);
        }
    }

    fn fault(&mut self, at: usize, n: u8) {
        let Some(Connection { there, back, tool, runtime, had_fault, .. }) =
            self.connections.get_mut(at)
        else {
            return;
        };
        let (mut lost, mut happened) = (None, true);
        match (n % 5, &mut *tool, &mut *runtime) {
            (0, Tool::Closed, _) => happened = false,
            (0, ..) => {
                lost = Some(std::mem::replace(tool, Tool::Closed));
                close(back, there);
            }
            (1, ..) => {
                there.cut();
                back.cut();
            }
            (2, Tool::Asks(asking), _) => happened = asking.client.ended(End::TimedOut).is_ok(),
            (3, Tool::Asks(asking), _) => {
                happened = matches!(asking.client.action(), ClientAction::Send(_));
                if happened {
                    there.end(End::Closed);
                }
            }
            (_, _, Runtime::Serves(serving)) => {
                happened = serving.server.ended(End::TimedOut).is_ok();
            }
            _ => happened = false,
        }
        *had_fault |= happened;
        match lost {
            Some(Tool::Holds(cookie)) => assert!(self.port.take(cookie).is_some()),
            Some(Tool::Asks(Asking { stops: Some(of), .. })) => {
                if let Some(session) = self.session(of) {
                    session.stop_failed(End::Reset).unwrap();
                    assert_eq!(session.stop(), StopOutcome::Unanswered(End::Reset));
                }
            }
            _ => {}
        }
        self.report_stop(at);
    }

    fn misuse(&mut self, at: usize, n: u8) {
        let (which, n) = (n >> 2, [0, 1, 8, 4096][usize::from(n & 3)]);
        misuse::port(&self.advertiser, which, n);
        let Some(Connection { tool, runtime, .. }) = self.connections.get(at) else { return };
        if let Tool::Asks(asking) = tool {
            misuse::client(&asking.client, &asking.buffer, which, n);
            if let Some(session) = &asking.session {
                misuse::session(session, which, n);
            }
        }
        if let Runtime::Serves(serving) = runtime {
            misuse::server(&serving.server, &serving.buffer, which, n);
        }
    }

    /// What is true at any time.
    fn check(&self) {
        let held: Vec<(usize, Guid)> = self
            .connections
            .iter()
            .enumerate()
            .filter_map(|(at, connection)| match connection.tool {
                Tool::Holds(cookie) => Some((at, cookie)),
                _ => None,
            })
            .collect();
        assert_eq!(self.port.len(), held.len());
        for (at, cookie) in held {
            assert_eq!(self.port.find(cookie).map(|found| found.token), Some(at));
        }
        for Connection { tool, runtime, asked, .. } in &self.connections {
            let (Runtime::Serves(serving), Some(asked)) = (runtime, asked) else { continue };
            assert!(serving.taken <= asked.wire.len(), "bytes after the request were read");
            if let Tool::Asks(asking) = tool {
                assert!(
                    serving.put.starts_with(&asking.read),
                    "other bytes than those of the stream"
                );
            }
        }
    }

    /// Lets everybody act in turn until nobody can.
    fn settle(&mut self) {
        // Each step moves bytes or a state, of which there are few.
        for _ in 0..100_000 {
            let mut moved = self.port_step(4096, false);
            for at in 0..self.connections.len() {
                moved |= self.tool_step(at, 64) | self.runtime_step(at, 64);
            }
            self.check();
            if !moved {
                return;
            }
        }
        panic!("the conversations do not end");
    }

    /// After everything: the result of each connection.
    fn agree(&self) {
        for connection in &self.connections {
            match (&connection.tool, &connection.runtime) {
                (Tool::Asks(asking), Runtime::Serves(serving)) => {
                    let asked = connection.asked.as_ref().unwrap();
                    asking.agree(serving, asked, connection.had_fault);
                }
                (Tool::Asks(_), _) => assert!(connection.had_fault, "no server"),
                _ => {}
            }
        }
        if self.connections.len() < MOST_CONNECTIONS {
            assert_eq!(self.advertiser.action(), ConnectPortAction::AwaitRequest);
            let waiting = self.waiting.expect("a connection waits");
            assert!(matches!(self.connections[waiting].tool, Tool::Holds(_)));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use diagipc::corpus::seeds;

    /// A seed, or its front, and random bytes.
    #[test]
    fn conversations_that_go_on_at_random_agree() {
        let mut state = 0x2545_f491_4f6c_dd1d_u64;
        let mut next = || {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            state.to_le_bytes()
        };
        let seeds = seeds("conversations").unwrap();
        for seed in seeds.iter().cycle().take(3000) {
            let [kept, len, ..] = next();
            let most = seed.input.len();
            // Half of them whole.
            let kept = if kept < 128 { most } else { (usize::from(kept) % (most + 1)) & !1 };
            let mut input = seed.input[..kept].to_vec();
            input.extend((0..len % 40).flat_map(|_| next()));
            conversations(&input);
        }
    }
}
