//! The runtime under test: [`Server`], [`ConnectPort`] and [`Suspension`], and an application with
//! fixed values written out here.
//!
//! One server thread serves one connection after another, from any port (F-75); sessions have their
//! own threads.

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
use dotnet_diagnostics_ipc::message::eventpipe::{
    CollectTracing5, CollectTracing6, Format, SessionReply, UserEventsSession,
};
use dotnet_diagnostics_ipc::message::process::{
    ProcessInfo2Reply, ProcessInfo3Reply, ProcessInfoReply, SetEnvironmentVariable, Tail,
};
use dotnet_diagnostics_ipc::message::server::{ErrorReply, ResultReply};
use dotnet_diagnostics_ipc::message::{AnyRequest, Message};
use dotnet_diagnostics_ipc::port::{
    DEFAULT_PORT_SUSPEND_VARIABLE, PORTS_VARIABLE, PortId, Ports, Suspension, default_port_suspend,
};
use dotnet_diagnostics_ipc::wire::{Guid, IpcString, WireErrorKind};
use dotnet_diagnostics_ipc_vectors::script::{FdKind, Target, TargetPort, VariableValue};

use super::network::{DEFAULT, Frame, Net, Network, Socket, Spawner, within};

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
        .map(|value| default_port_suspend(&text(value)).is_some_and(|number| number != 0));
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
                    assert_eq!(port.exchange.action(), ConnectPortAction::HandOver);
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
            match port.exchange.action() {
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
            match server.action() {
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
            match server.action() {
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

const MOST_SESSIONS: usize = 64;
/// In milliseconds.
const DUMP_TAKES: u64 = 400;
/// `HRESULT_FROM_WIN32(ERROR_ENVVAR_NOT_FOUND)` and `(ERROR_MOD_NOT_FOUND)` (F-80).
const NO_SUCH_VARIABLE: HResult = HResult(0x8007_00CB);
const NO_SUCH_MODULE: HResult = HResult(0x8007_007E);
/// `CORPROF_E_RUNTIME_UNINITIALIZED` as it is seen before the runtime runs (F-56).
const NOT_RUNNING_YET: HResult = HResult(0x8013_135B);

/// What a request leads to; independent of its bytes.
enum Answer {
    Done,
    Fails(HResult),
    Dump,
    ProcessInfo(u8),
    Environment,
    Session { format: Format, rundown: bool },
    UserEvents { registers: bool },
    Stop(u64),
}

impl Application {
    /// What the runtime does for a request.
    fn answer(&self, request: &AnyRequest<'_>, port: PortId) -> Answer {
        let session = |format, rundown| Answer::Session { format, rundown };
        match request {
            AnyRequest::ProcessInfo(_) => Answer::ProcessInfo(1),
            AnyRequest::ProcessInfo2(_) => Answer::ProcessInfo(2),
            AnyRequest::ProcessInfo3(_) => Answer::ProcessInfo(3),
            AnyRequest::ProcessEnvironment(_) => Answer::Environment,
            AnyRequest::SetEnvironmentVariable(request) => self.set_variable(request),
            AnyRequest::ResumeRuntime(_) => {
                self.suspension.borrow_mut().resume(port).unwrap();
                Answer::Done
            }
            AnyRequest::StopTracing(request) => Answer::Stop(request.session_id),
            AnyRequest::CollectTracing(request) => session(request.format, true),
            AnyRequest::CollectTracing2(request) => {
                session(request.format, request.request_rundown)
            }
            AnyRequest::CollectTracing3(request) => {
                session(request.format, request.request_rundown)
            }
            AnyRequest::CollectTracing4(request) => {
                session(request.format, request.rundown_keyword != 0)
            }
            AnyRequest::CollectTracing5(CollectTracing5::Streaming(request)) => {
                session(request.format, request.rundown_keyword != 0)
            }
            AnyRequest::CollectTracing6(CollectTracing6::Streaming(request)) => {
                session(request.format, request.rundown_keyword != 0)
            }
            AnyRequest::CollectTracing5(CollectTracing5::UserEvents(request))
            | AnyRequest::CollectTracing6(CollectTracing6::UserEvents(request)) => {
                Answer::UserEvents { registers: registers(request) }
            }
            // There is no profiler to load, and before the start none can be loaded (F-56).
            AnyRequest::AttachProfiler(_) if !self.suspension.borrow().is_started() => {
                Answer::Fails(NOT_RUNNING_YET)
            }
            AnyRequest::AttachProfiler(request) if request.profiler_path.is_absent() => {
                Answer::Fails(HResult::FAIL)
            }
            AnyRequest::AttachProfiler(_) => Answer::Fails(NO_SUCH_MODULE),
            AnyRequest::GenerateCoreDump(_)
            | AnyRequest::GenerateCoreDump2(_)
            | AnyRequest::GenerateCoreDump3(_) => Answer::Dump,
            _ => Answer::Done,
        }
    }

    /// F-80.
    fn set_variable(&self, request: &SetEnvironmentVariable<'_>) -> Answer {
        let text =
            |string: IpcString<'_>| string.to_string().split('\0').next().unwrap().to_owned();
        let prefix = format!("{}=", text(request.name));
        let mut environment = self.environment.borrow_mut();
        let there = environment.iter().any(|entry| entry.starts_with(&prefix));
        if prefix == "=" {
            return Answer::Done;
        }
        if request.value.is_absent() && !there {
            return Answer::Fails(NO_SUCH_VARIABLE);
        }
        environment.retain(|entry| !entry.starts_with(&prefix));
        if !request.value.is_absent() {
            environment.push(prefix + &text(request.value));
        }
        Answer::Done
    }

    /// Gives the answer. Returns what is left of an environment.
    async fn respond(
        &self,
        server: &mut Server,
        buffer: &mut [u8],
        answer: &Answer,
    ) -> Option<(Vec<String>, usize)> {
        let full = self.sessions.borrow().values().filter(|session| !session.over).count()
            >= MOST_SESSIONS;
        match answer {
            Answer::Done => server.respond(&ResultReply { hresult: HResult::OK }, buffer).unwrap(),
            Answer::Fails(hresult) => server.refuse(*hresult, buffer).unwrap(),
            Answer::Dump => {
                // No other client is served meanwhile (F-75).
                within(&self.net, Some(DUMP_TAKES), |_| None::<()>).await;
                server.respond(&ResultReply { hresult: HResult::OK }, buffer).unwrap();
            }
            Answer::ProcessInfo(version) => self.process_info(*version, server, buffer),
            Answer::Environment => {
                let entries = self.environment.borrow().clone();
                let encoder =
                    EnvironmentEncoder::new(entries.iter().map(|entry| Entry::new(entry))).unwrap();
                server.respond(&encoder.reply(), buffer).unwrap();
                return Some((entries, 0));
            }
            Answer::UserEvents { registers: false } => {
                server.refuse(HResult::FAIL, buffer).unwrap();
            }
            Answer::Session { .. } | Answer::UserEvents { .. } if full => {
                server.refuse(HResult::FAIL, buffer).unwrap();
            }
            Answer::Session { .. } | Answer::UserEvents { .. } => {
                let id = self.last_session.get() + 0x110;
                self.last_session.set(id);
                self.sessions.borrow_mut().insert(id, Session { stop: false, over: false });
                server.respond(&SessionReply { session_id: id }, buffer).unwrap();
            }
            Answer::Stop(id) => {
                if let Some(session) = self.sessions.borrow_mut().get_mut(id) {
                    session.stop = true;
                }
                // The stream is written to its end first, and that needs a reader (F-75).
                within(&self.net, None, |_| {
                    self.sessions.borrow().get(id).is_none_or(|session| session.over).then_some(())
                })
                .await;
                server.respond(&SessionReply { session_id: *id }, buffer).unwrap();
            }
        }
        None
    }

    fn process_info(&self, version: u8, server: &mut Server, buffer: &mut [u8]) {
        let started = self.suspension.borrow().is_started();
        // F-79.
        let command_line =
            IpcString::new(if started { "/app/app app.dll --serve" } else { "/app/app" });
        let (process_id, runtime_cookie, os, arch) =
            (PROCESS_ID, COOKIE, "Linux".into(), "x64".into());
        let managed_entrypoint_assembly_name = IpcString::new(if started { "app" } else { "" });
        let (clr_product_version, runtime_identifier) = ("10.0.9".into(), "linux-x64".into());
        let responded = match version {
            1 => server.respond(
                &ProcessInfoReply { process_id, runtime_cookie, command_line, os, arch },
                buffer,
            ),
            2 => {
                let reply = ProcessInfo2Reply {
                    process_id,
                    runtime_cookie,
                    command_line,
                    os,
                    arch,
                    managed_entrypoint_assembly_name,
                    clr_product_version,
                };
                server.respond(&reply, buffer)
            }
            _ => {
                let reply = ProcessInfo3Reply {
                    version: 1,
                    process_id,
                    runtime_cookie,
                    command_line,
                    os,
                    arch,
                    managed_entrypoint_assembly_name,
                    clr_product_version,
                    runtime_identifier,
                    tail: Tail::default(),
                };
                server.respond(&reply, buffer)
            }
        };
        responded.unwrap();
    }
}

/// Whether the kernel accepts the tracepoints: it refuses an empty default, which is not a name
/// (P-7). The limits have refused what else it would refuse.
fn registers(request: &UserEventsSession<'_>) -> bool {
    request.providers.iter().all(|provider| {
        let name = provider.config.default_tracepoint_name;
        name.is_absent() || !name.is_empty()
    })
}
