//! The runtime under test: [`Server`], [`ConnectPort`] and [`Suspension`], and an application with
//! fixed values written out here.
//!
//! One server thread serves one connection after another, from any port (F-75); sessions have their
//! own threads.

mod answers;

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::rc::Rc;

use dotnet_diagnostics_ipc::advertise::Advertise;
use dotnet_diagnostics_ipc::command::Command;
use dotnet_diagnostics_ipc::continuation::{Entry, EnvironmentEncoder};
use dotnet_diagnostics_ipc::endpoint::SUN_PATH_LINUX;
use dotnet_diagnostics_ipc::exchange::{
    ConnectPort, ConnectPortAction, End, RefusalReason, Server, ServerAction,
};
use dotnet_diagnostics_ipc::hresult::HResult;
use dotnet_diagnostics_ipc::message::Message;
use dotnet_diagnostics_ipc::message::eventpipe::Format;
use dotnet_diagnostics_ipc::message::server::ErrorReply;
use dotnet_diagnostics_ipc::port::{
    DEFAULT_PORT_SUSPEND_VARIABLE, DefaultPortSuspend, PORTS_VARIABLE, PortId, Ports, Suspension,
};
use dotnet_diagnostics_ipc::wire::{Guid, WireErrorKind};
use dotnet_diagnostics_ipc_vectors::script::{FdKind, Target, TargetPort, VariableValue};

use self::answers::Answer;
use crate::scripts::executor::{Spawner, within};
use crate::scripts::network::{DEFAULT, Net, Network};
use crate::scripts::socket::{Frame, Socket};
use crate::scripts::twice;

const COOKIE: Guid = Guid::from_bytes(*b"\x01cookie of a run");
const PROCESS_ID: u64 = 4242;
const NETTRACE: &[u8] = b"Nettrace\x14\0\0\0!FastSerialization.1";
const NETPERF: &[u8] = b"\x14\0\0\0!FastSerialization.1";
/// The tag after the last object of either.
const END_OF_STREAM: &[u8] = &[1];
/// How many unread bytes a socket holds.
const SOCKET_BUFFER: usize = 8192;
/// More than that.
const RUNDOWN: usize = 20_000;
struct Session {
    stop: bool,
    over: bool,
}

struct Application {
    net: Net,
    spawner: Spawner,
    /// In the order in which they were set; a name may occur twice (F-79).
    environment: RefCell<Vec<String>>,
    suspension: RefCell<Suspension<4>>,
    sessions: RefCell<BTreeMap<u64, Session>>,
    last_session: Cell<u64>,
}

/// Starts it.
pub(crate) fn start(net: &Net, spawner: &Spawner, target: &Target) {
    let text = |value: &VariableValue| String::from_utf8_lossy(value.as_bytes()).into_owned();
    let addresses = || {
        let one = |port: &TargetPort| {
            format!("{},{}", port.id, if port.suspend { "suspend" } else { "nosuspend" })
        };
        target.ports.iter().map(one).collect::<Vec<_>>().join(";")
    };
    let configured = target.environment.get(PORTS_VARIABLE).map_or_else(addresses, text);
    let suspended = target
        .environment
        .get(DEFAULT_PORT_SUSPEND_VARIABLE)
        .map(|value| DefaultPortSuspend::parse(&text(value)).suspends());
    let suspended = suspended.unwrap_or(target.suspended);
    // A path too long for a socket is ignored.
    let counting = Ports::new(&configured).filter(|port| port.address.len() <= SUN_PATH_LINUX);
    let variables =
        target.environment.iter().map(|(name, value)| format!("{name}={}", text(value)));
    let own = ["PATH=/bin", "no equals sign", "TWICE=1", "TWICE=2", "=C:=C:\\dir", "EMPTY="];
    let application = Rc::new(Application {
        net: net.clone(),
        spawner: spawner.clone(),
        environment: RefCell::new(own.into_iter().map(str::to_owned).chain(variables).collect()),
        suspension: RefCell::new(Suspension::new(suspended, counting).unwrap()),
        sessions: RefCell::default(),
        last_session: Cell::new(0x7f00),
    });
    net.borrow_mut().listen(DEFAULT, true);
    spawner.spawn(async move { application.serve(&configured).await });
}

/// A configured port and its connection.
struct PortState {
    address: String,
    exchange: ConnectPort,
    buffer: [u8; 34],
    socket: Option<Socket>,
    /// When a delay ends.
    waits_until: Option<u64>,
}

/// What the server thread has to do next.
enum Ready {
    Default,
    Port(usize),
    DelayOver,
}

impl Application {
    /// The server thread.
    async fn serve(self: Rc<Self>, configured: &str) {
        let advertise = Advertise { runtime_cookie: COOKIE, process_id: PROCESS_ID, future: 0 };
        let new = |address: &str| PortState {
            address: address.to_owned(),
            exchange: ConnectPort::new(advertise),
            buffer: [0; 34],
            socket: None,
            waits_until: None,
        };
        let mut ports: Vec<_> = Ports::new(configured).map(|port| new(port.address)).collect();
        loop {
            for port in &mut ports {
                self.advance(port).await;
            }
            let now = self.net.borrow().now;
            let patience = ports
                .iter()
                .filter_map(|port| port.waits_until)
                .min()
                .map(|until| until.saturating_sub(now));
            let ready = within(&self.net, patience, |net| {
                let news = ports.iter().position(|port| {
                    port.socket.as_ref().is_some_and(|socket| socket.has_news_in(net))
                });
                news.map(Ready::Port)
                    .or_else(|| (net.waiting(DEFAULT) > 0).then_some(Ready::Default))
            });
            let used = match ready.await.unwrap_or(Ready::DelayOver) {
                Ready::DelayOver => continue,
                Ready::Default => {
                    let id = self.net.borrow_mut().accept(DEFAULT).unwrap();
                    self.exchange(
                        Socket::new(&self.net, id, Frame::message(), SOCKET_BUFFER),
                        PortId::Default,
                    )
                    .await;
                    None
                }
                Ready::Port(nth) => {
                    let port = &mut ports[nth];
                    let socket = port.socket.take().unwrap();
                    if socket.peer_gone() && !socket.has_bytes() {
                        // The tool went without a command (F-77).
                        port.exchange.ended().unwrap();
                        socket.close();
                        for other in ports.iter_mut().enumerate().filter(|(other, _)| *other != nth)
                        {
                            other.1.exchange.end_elsewhere();
                        }
                        continue;
                    }
                    port.exchange.request_arrived().unwrap();
                    assert_eq!(
                        twice!(self.net, port.exchange.action()),
                        ConnectPortAction::HandOver
                    );
                    port.exchange.handed_over().unwrap();
                    self.exchange(socket, PortId::Configured(nth)).await;
                    Some(nth)
                }
            };
            for other in ports.iter_mut().enumerate().filter(|(other, _)| Some(*other) != used) {
                other.1.exchange.reset_delay();
            }
        }
    }

    /// Connects a port as far as possible without waiting.
    async fn advance(&self, port: &mut PortState) {
        loop {
            match twice!(self.net, port.exchange.action()) {
                ConnectPortAction::Connect => {
                    port.waits_until = None;
                    let id = self.net.borrow_mut().connect(&port.address);
                    match id {
                        Some(id) => {
                            port.socket =
                                Some(Socket::new(&self.net, id, Frame::message(), SOCKET_BUFFER));
                            port.exchange.connected(&mut port.buffer).unwrap();
                        }
                        None => port.exchange.connect_failed().unwrap(),
                    }
                }
                ConnectPortAction::Send(range) => {
                    let sent = port.socket.as_ref().unwrap().write(&port.buffer[range], None).await;
                    if let Ok(n) = sent {
                        port.exchange.sent(n).unwrap();
                    } else {
                        port.socket.take().unwrap().close();
                        port.exchange.send_failed().unwrap();
                    }
                }
                ConnectPortAction::Wait(delay) => {
                    let now = self.net.borrow().now;
                    let until = *port
                        .waits_until
                        .get_or_insert(now + u64::try_from(delay.as_millis()).unwrap());
                    if now < until {
                        return;
                    }
                    port.exchange.waited().unwrap();
                }
                ConnectPortAction::AwaitRequest => return,
                ConnectPortAction::HandOver => {
                    unreachable!("handed over as soon as a request arrives")
                }
            }
        }
    }

    /// One connection, until its session has its own thread or it is closed.
    async fn exchange(self: &Rc<Self>, socket: Socket, port: PortId) {
        let mut server = Server::new();
        let mut buffer = vec![0; 65_535];
        let mut answer = None;
        let mut command = Command::OK;
        let mut block: Option<(Vec<String>, usize)> = None;
        loop {
            match twice!(self.net, server.action()) {
                ServerAction::Receive(range) => match socket.read(&mut buffer[range], None).await {
                    Ok(n) => server.received(&buffer, n).unwrap(),
                    Err(end) => server.ended(end).unwrap(),
                },
                ServerAction::Decode(range) => {
                    command = Message::decode(&buffer[range]).unwrap().command;
                    if let Some(request) = server.request(&buffer).unwrap() {
                        answer = Some(self.answer(&request, port));
                    }
                }
                ServerAction::ReceiveFd => match socket.read_fd().await {
                    Ok(Some(fd)) => {
                        server.fd_received().unwrap();
                        if let (Some(Answer::UserEvents { registers }), true) =
                            (&mut answer, fd != FdKind::UserEventsData)
                        {
                            *registers = false;
                        }
                    }
                    Ok(None) => server.fd_missing().unwrap(),
                    Err(end) => server.ended(end).unwrap(),
                },
                ServerAction::Respond => {
                    let answer = answer.as_ref().expect("a request was decoded");
                    block = self.respond(&mut server, &mut buffer, answer).await;
                }
                // P-3.
                ServerAction::Refuse(RefusalReason::OverLimit(error))
                    if matches!(error.kind(), WireErrorKind::UnknownDumpType { .. })
                        && command == Command::GENERATE_CORE_DUMP3 =>
                {
                    server
                        .refuse_with(
                            &ErrorReply { hresult: HResult::FAIL, message: Some("".into()) },
                            &mut buffer,
                        )
                        .unwrap();
                }
                // F-153.
                ServerAction::Refuse(RefusalReason::Malformed(_))
                    if command == Command::ATTACH_PROFILER
                        && !self.suspension.borrow().is_started() =>
                {
                    server.refuse(HResult::NOT_YET_AVAILABLE, &mut buffer).unwrap();
                }
                ServerAction::Refuse(reason) => {
                    server.refuse(reason.hresult(), &mut buffer).unwrap();
                }
                ServerAction::Send(range) => match socket.write(&buffer[range], None).await {
                    Ok(n) => server.sent(n).unwrap(),
                    Err(_) => server.send_failed().unwrap(),
                },
                ServerAction::Continue { left: Some(left) } => {
                    let (entries, sent) = block.as_mut().expect("an environment was announced");
                    let mut encoder =
                        EnvironmentEncoder::new(entries.iter().map(|entry| Entry::new(entry)))
                            .unwrap();
                    // An encoder starts from the front; what was sent already is skipped.
                    let mut passed = vec![0; *sent];
                    assert_eq!(encoder.encode(&mut passed), *sent);
                    assert_eq!(encoder.left(), left);
                    let most = self.net.borrow_mut().piece(buffer.len());
                    let n = encoder.encode(&mut buffer[..most]);
                    *sent += n;
                    server.piece(&buffer, n).unwrap();
                }
                ServerAction::Continue { left: None } | ServerAction::Hold => {
                    let Some(Answer::Session { .. } | Answer::UserEvents { .. }) = answer else {
                        unreachable!("no session")
                    };
                    let id = self.last_session.get();
                    let application = self.clone();
                    self.spawner.spawn(async move {
                        application.session(id, answer.unwrap(), server, socket, buffer).await;
                    });
                    return;
                }
                ServerAction::Close => {
                    socket.close();
                    server.closed().unwrap();
                }
                ServerAction::Finished(_) => return,
            }
        }
    }

    /// The thread of a session: its connection after the reply.
    async fn session(
        self: Rc<Self>,
        id: u64,
        answer: Answer,
        mut server: Server,
        socket: Socket,
        mut buffer: Vec<u8>,
    ) {
        let stopped = |sessions: &BTreeMap<u64, Session>| {
            sessions.get(&id).is_some_and(|session| session.stop)
        };
        let started = || self.suspension.borrow().is_started();
        let (mut to_send, rundown) = match answer {
            Answer::Session { format: Format::NET_PERF, rundown } => (NETPERF.to_vec(), rundown),
            Answer::Session { rundown, .. } => (NETTRACE.to_vec(), rundown),
            _ => (Vec::new(), false),
        };
        let mut ends = false;
        to_send.extend([5; 100]);
        loop {
            match twice!(self.net, server.action()) {
                // A suspended runtime writes nothing, not even at the stop.
                ServerAction::Continue { .. } if !started() => {
                    let over =
                        |_: &mut _| (started() || stopped(&self.sessions.borrow())).then_some(());
                    within(&self.net, None, over).await;
                    if !started() {
                        server.continuation_ended().unwrap();
                    }
                }
                ServerAction::Continue { .. } if to_send.is_empty() && ends => {
                    server.continuation_ended().unwrap();
                }
                ServerAction::Continue { .. } if to_send.is_empty() => {
                    // A runtime finds its reader gone at its next write.
                    within(&self.net, None, |_| stopped(&self.sessions.borrow()).then_some(()))
                        .await;
                    if rundown {
                        to_send.resize(to_send.len() + RUNDOWN, 6);
                    }
                    to_send.extend(END_OF_STREAM);
                    ends = true;
                }
                ServerAction::Continue { .. } => {
                    let n = self.net.borrow_mut().piece(to_send.len().min(1000));
                    buffer[..n].copy_from_slice(&to_send[..n]);
                    to_send.drain(..n);
                    server.piece(&buffer, n).unwrap();
                }
                ServerAction::Send(range) => match socket.write(&buffer[range], None).await {
                    Ok(n) => server.sent(n).unwrap(),
                    Err(_) => server.send_failed().unwrap(),
                },
                ServerAction::Hold => {
                    let stopped_or_gone = |net: &mut Network| {
                        (socket.peer_gone_in(net) || stopped(&self.sessions.borrow())).then_some(())
                    };
                    within(&self.net, None, stopped_or_gone).await;
                    self.is_over(id);
                    // A stop leaves the connection open.
                    within(&self.net, None, |net| socket.peer_gone_in(net).then_some(())).await;
                    server.ended(End::Closed).unwrap();
                }
                ServerAction::Close => {
                    socket.close();
                    server.closed().unwrap();
                }
                ServerAction::Finished(_) => break,
                other => unreachable!("{other:?} in a session"),
            }
        }
        self.is_over(id);
    }

    fn is_over(&self, id: u64) {
        if let Some(session) = self.sessions.borrow_mut().get_mut(&id) {
            session.over = true;
        }
        self.net.borrow_mut().moved();
    }
}
