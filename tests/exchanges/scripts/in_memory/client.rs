//! The client under test: [`AdvertiseReceiver`], [`Client`], [`Fallback`], [`Session`] and
//! [`EnvironmentDecoder`], driven by the `ask` of a script. Its outcome is in the words of
//! `vectors/exchanges/README.md`.

use std::cell::RefCell;
use std::rc::Rc;

use dotnet_diagnostics_ipc::command::Command;
use dotnet_diagnostics_ipc::continuation::{
    EnvironmentDecoder, EnvironmentEvent, EnvironmentLimits, FdByte,
};
use dotnet_diagnostics_ipc::exchange::fallback::Fallback;
use dotnet_diagnostics_ipc::exchange::{
    AdvertiseAction, AdvertiseOutcome, AdvertiseReceiver, AfterReply, Client, ClientAction, End,
    Outcome, Session, SessionAction, SessionEnd, StopOutcome,
};
use dotnet_diagnostics_ipc::hresult::HResult;
use dotnet_diagnostics_ipc::legacy::{OldRequest, OldRequestType};
use dotnet_diagnostics_ipc::message::Message;
use dotnet_diagnostics_ipc::wire::{Decode as _, Reader, WireErrorKind};
use dotnet_diagnostics_ipc_vectors::script::{
    Ask, OkOutcome, ScriptAfterReply, ScriptEnd, ScriptEnvironment, ScriptFault, ScriptOutcome,
    ScriptStop, ScriptStream, ScriptStreamEnd,
};
use dotnet_diagnostics_ipc_vectors::{Type, TypedCodec, Value, ValueForm as _};

use super::super::drive::client_that_sends;

use super::network::{DEFAULT, Frame, Net, Socket, Spawner, within};

/// Room for a message, if the script does not say how much: no message is larger.
const BUFFER: usize = 65_535;

struct Tool {
    net: Net,
    spawner: Spawner,
    ask: Ask,
}

/// The result of one request, and its connection.
struct Answered {
    command: Command,
    outcome: Outcome,
    socket: Socket,
    buffer: Vec<u8>,
    advertise: Option<Value>,
}

/// Does what the script asks, and stores the outcome.
pub(crate) fn start(
    net: &Net,
    spawner: &Spawner,
    ask: &Ask,
    concluded: &Rc<RefCell<Option<ScriptOutcome>>>,
) {
    let tool = Rc::new(Tool { net: net.clone(), spawner: spawner.clone(), ask: ask.clone() });
    let concluded = concluded.clone();
    if let Some(port) = &tool.ask.port {
        net.borrow_mut().listen(port, true);
    }
    spawner.spawn(async move {
        let outcome = tool.run().await;
        *concluded.borrow_mut() = Some(outcome);
        tool.net.borrow_mut().moved();
    });
}

impl Tool {
    fn patience(&self) -> Option<u64> {
        self.ask.patience_ms.map(u64::from)
    }

    async fn run(self: &Rc<Self>) -> ScriptOutcome {
        let Some(command) = &self.ask.command else { return self.ask_the_old_way().await };
        let command: Command = command.parse().expect("a command of the protocol");
        let subject =
            TypedCodec { kind: Type::Request, command: Some(command), from_server: false };
        let message = subject.encode(&self.ask.value).expect("a value in the form of the vectors");
        if !self.ask.fallback {
            let mut buffer = self.buffer();
            let client = client_that_sends(&message, &mut buffer).unwrap();
            return match self.exchange(client, buffer).await {
                Ok(answered) => self.conclude(answered, None).await,
                Err(outcome) => outcome,
            };
        }
        let request = Message::decode(&message).unwrap().request().unwrap();
        self.descend(Fallback::new(request)).await
    }

    fn socket(&self, id: usize, frame: Frame) -> Socket {
        let capacity = self.net.borrow().capacity();
        Socket::new(&self.net, id, frame, capacity)
    }

    fn buffer(&self) -> Vec<u8> {
        vec![0; self.ask.buffer.unwrap_or(BUFFER)]
    }

    /// Asks one command after the other, each on a new connection.
    async fn descend(self: &Rc<Self>, mut fallback: Fallback<'_>) -> ScriptOutcome {
        let mut asked = Vec::new();
        loop {
            let (command, continuation) = (fallback.command(), fallback.continuation());
            let mut buffer = self.buffer();
            let client =
                Client::with_payload(command, continuation, &fallback, &mut buffer).unwrap();
            asked.push(command.to_string());
            let answered = match self.exchange(client, buffer).await {
                Ok(answered) => answered,
                Err(outcome) => return outcome,
            };
            if let Outcome::Error { hresult, .. } = answered.outcome {
                if fallback.refused(hresult).is_ok() {
                    answered.socket.close();
                    continue;
                }
            }
            return self.conclude(answered, Some(asked)).await;
        }
    }

    /// A connection to ask on, and the runtime's advertise.
    async fn connection(&self) -> Result<(Socket, Option<Value>), ScriptOutcome> {
        let Some(port) = &self.ask.port else {
            let id = self.net.borrow_mut().connect(DEFAULT);
            let id = id.ok_or(ScriptOutcome::NoReply { end: ScriptEnd::Reset })?;
            return Ok((self.socket(id, Frame::message()), None));
        };
        let id = within(&self.net, None, |net| net.accept(port))
            .await
            .expect("a runtime comes some time");
        let socket = self.socket(id, Frame::Exactly(34));
        let (mut receiver, mut buffer) = (AdvertiseReceiver::new(), [0; 34]);
        loop {
            match receiver.action() {
                AdvertiseAction::Receive(range) => {
                    match socket.read(&mut buffer[range], self.patience()).await {
                        Ok(n) => receiver.received(&buffer, n).unwrap(),
                        Err(end) => receiver.ended(end).unwrap(),
                    }
                }
                AdvertiseAction::Finished(AdvertiseOutcome::Advertised(_)) => {
                    let subject =
                        TypedCodec { kind: Type::Advertise, command: None, from_server: true };
                    let advertise = subject.decode(&buffer).expect("it was taken").value;
                    socket.begin(Frame::message());
                    return Ok((socket, Some(advertise)));
                }
                AdvertiseAction::Finished(AdvertiseOutcome::BadMagic { offset }) => {
                    socket.close();
                    return Err(ScriptOutcome::BadAdvertise {
                        error: fault(WireErrorKind::BadMagic, offset.into()),
                    });
                }
                AdvertiseAction::Finished(AdvertiseOutcome::Ended { received, end }) => {
                    socket.close();
                    return Err(ScriptOutcome::CutAdvertise {
                        received: received.into(),
                        end: end.into(),
                    });
                }
            }
        }
    }

    /// One request, on a new connection.
    async fn exchange(
        &self,
        mut client: Client,
        mut buffer: Vec<u8>,
    ) -> Result<Answered, ScriptOutcome> {
        let (socket, advertise) = self.connection().await?;
        let outcome = self.drive(&mut client, &mut buffer, &socket).await;
        Ok(Answered { command: client.command(), outcome, socket, buffer, advertise })
    }

    async fn drive(&self, client: &mut Client, buffer: &mut [u8], socket: &Socket) -> Outcome {
        loop {
            match client.action() {
                ClientAction::Send(range) => {
                    match socket.write(&buffer[range], self.patience()).await {
                        Ok(n) => client.sent(n).unwrap(),
                        Err(End::TimedOut) => client.ended(End::TimedOut).unwrap(),
                        Err(_) => client.send_failed().unwrap(),
                    }
                }
                ClientAction::SendFd(_) => {
                    match socket.write_fd(FdByte::CANONICAL.0, self.patience()).await {
                        Ok(()) => client.fd_sent().unwrap(),
                        Err(End::TimedOut) => client.ended(End::TimedOut).unwrap(),
                        Err(_) => client.send_failed().unwrap(),
                    }
                }
                ClientAction::Receive(range) => {
                    match socket.read(&mut buffer[range], self.patience()).await {
                        Ok(n) => client.received(buffer, n).unwrap(),
                        Err(end) => client.ended(end).unwrap(),
                    }
                }
                ClientAction::Finished(outcome) => return outcome,
            }
        }
    }

    /// The outcome of a reply, and of what follows it.
    async fn conclude(
        self: &Rc<Self>,
        answered: Answered,
        asked: Option<Vec<String>>,
    ) -> ScriptOutcome {
        let Answered { command, outcome, socket, mut buffer, advertise } = answered;
        let Outcome::Ok { size, then } = outcome else {
            socket.close();
            return said(outcome, command, &buffer, asked, advertise);
        };
        let mut ok = OkOutcome {
            reply: value(command, &buffer[..size.into()]),
            then: ScriptAfterReply::Close,
            asked,
            advertise,
            stream: None,
            stop: None,
            environment: None,
            second: None,
        };
        match then {
            AfterReply::Close => {}
            AfterReply::AnotherReply => {
                ok.then = ScriptAfterReply::AnotherReply;
                // A client that has sent its request and waits.
                let mut client = Client::with_payload(command, None, &(), &mut buffer).unwrap();
                client.sent(20).unwrap();
                socket.begin(Frame::message());
                let second = self.drive(&mut client, &mut buffer, &socket).await;
                ok.second = Some(match second {
                    Outcome::Ok { size, .. } => {
                        let reply = value(command, &buffer[..size.into()]);
                        ScriptOutcome::Ok(Box::new(OkOutcome {
                            reply,
                            second: None,
                            asked: None,
                            advertise: None,
                            ..ok.clone()
                        }))
                    }
                    other => said(other, command, &buffer, None, None),
                });
            }
            AfterReply::Stream { session_id } => {
                ok.then = ScriptAfterReply::Stream;
                socket.begin(Frame::Anything);
                let (stream, stop) = self.stream(session_id, &socket).await;
                (ok.stream, ok.stop) = (Some(stream), Some(stop));
            }
            AfterReply::EnvironmentBlock { n_incoming_bytes } => {
                ok.then = ScriptAfterReply::Environment;
                ok.environment = Some(self.environment(n_incoming_bytes, &socket).await);
            }
            AfterReply::UserEvents { .. } => {
                // The connection holds the session: it stays open (F-23).
                ok.then = ScriptAfterReply::UserEvents;
                return ScriptOutcome::Ok(Box::new(ok));
            }
            AfterReply::Unknown => ok.then = ScriptAfterReply::Unknown,
            other => panic!("{other:?} has no word"),
        }
        socket.close();
        ScriptOutcome::Ok(Box::new(ok))
    }

    /// The protocol before this one: two numbers are sent, and one of 64 bits is received.
    async fn ask_the_old_way(self: &Rc<Self>) -> ScriptOutcome {
        let old = |kind| TypedCodec { kind, command: None, from_server: kind == Type::OldReply };
        let request = old(Type::OldRequest)
            .encode(&self.ask.value)
            .expect("a value in the form of the vectors");
        let socket = match self.connection().await {
            Ok((socket, _)) => socket,
            Err(outcome) => return outcome,
        };
        socket.begin(Frame::Exactly(8));
        let mut sent = 0;
        while sent < request.len() {
            match socket.write(&request[sent..], self.patience()).await {
                Ok(n) => sent += n,
                Err(_) => break,
            }
        }
        let (mut reply, mut received) = ([0; 8], 0);
        while received < reply.len() {
            match socket.read(&mut reply[received..], self.patience()).await {
                Ok(n) => received += n,
                Err(end) if received > 0 => {
                    return ScriptOutcome::Cut { received, end: end.into() };
                }
                Err(end) => return ScriptOutcome::NoReply { end: end.into() },
            }
        }
        let reply = old(Type::OldReply).decode(&reply).expect("any number is a reply").value;
        let mut ok = OkOutcome {
            then: ScriptAfterReply::Close,
            asked: None,
            advertise: None,
            stream: None,
            stop: None,
            environment: None,
            second: None,
            reply,
        };
        let collects = OldRequest::decode(&mut Reader::new(&request))
            .is_ok_and(|it| it.request_type == OldRequestType::COLLECT);
        if collects && !ok.reply["sessionId"].is_null() {
            socket.begin(Frame::Anything);
            let (stream, _) = self.stream(None, &socket).await;
            (ok.then, ok.stream) = (ScriptAfterReply::Stream, Some(stream));
        }
        socket.close();
        ScriptOutcome::Ok(Box::new(ok))
    }
}

/// The outcome of every reply that is not an OK.
fn said(
    outcome: Outcome,
    command: Command,
    buffer: &[u8],
    asked: Option<Vec<String>>,
    advertise: Option<Value>,
) -> ScriptOutcome {
    match outcome {
        Outcome::Error { size, hresult } => {
            let message = value(command, &buffer[..size.into()]).get("message").cloned();
            ScriptOutcome::Error { hresult: text_of(hresult), message, asked, advertise }
        }
        Outcome::Malformed { kind, offset } => {
            ScriptOutcome::Malformed { error: fault(kind, offset) }
        }
        Outcome::BufferTooSmall { size } => ScriptOutcome::BufferTooSmall { size: size.into() },
        Outcome::NoReply { end, .. } => ScriptOutcome::NoReply { end: end.into() },
        Outcome::Cut { received, end } => {
            ScriptOutcome::Cut { received: received.into(), end: end.into() }
        }
        other => panic!("{other:?} has no word"),
    }
}

/// The payload's value, of a reply that the client has accepted.
fn value(command: Command, reply: &[u8]) -> Value {
    let subject = TypedCodec { kind: Type::Reply, command: Some(command), from_server: true };
    subject.decode(reply).expect("the client has taken it").value
}

/// What follows a reply: a stream and its stop, or an environment block.
impl Tool {
    async fn stream(
        self: &Rc<Self>,
        session_id: Option<u64>,
        socket: &Socket,
    ) -> (ScriptStream, ScriptStop) {
        let mut session =
            Session::streaming(session_id, self.ask.limits.stream_bytes.unwrap_or(u64::MAX));
        let mut taken = 0;
        let mut stop_after = self.ask.stop_after.filter(|_| session.id().is_some());
        let stopped = Rc::new(RefCell::new(None));
        let mut malformed = None;
        let mut buffer = vec![0; 4096];
        let outcome = loop {
            if stop_after.is_some_and(|after| taken >= after)
                && session.action() == SessionAction::Read
            {
                stop_after = None;
                // `None`: the session hangs up instead.
                let Some(request) = session.begin_stop().unwrap() else { continue };
                let (tool, stopped) = (self.clone(), stopped.clone());
                self.spawner.spawn(async move {
                    let mut buffer = vec![0; BUFFER];
                    let client = Client::new(&request, &mut buffer).unwrap();
                    let answered = tool.exchange(client, buffer).await;
                    let answered = answered.map(|answered| {
                        answered.socket.close();
                        (answered.outcome, answered.buffer)
                    });
                    *stopped.borrow_mut() = Some(answered.ok());
                    tool.net.borrow_mut().moved();
                });
            }
            let lost = Outcome::NoReply { end: End::Reset, request_sent: false };
            // The reply may arrive before the stream's end or after it.
            let mut take_stop = |session: &mut Session| {
                let answered = stopped.borrow_mut().take();
                match answered {
                    Some(Some((outcome, buffer))) => {
                        if let Outcome::Malformed { kind, offset } = outcome {
                            malformed = Some(fault(kind, offset));
                        }
                        session.stop_finished(outcome, &buffer).unwrap();
                    }
                    Some(None) => session.stop_finished(lost, &[]).unwrap(),
                    None => {}
                }
            };
            match session.action() {
                SessionAction::Read => {
                    take_stop(&mut session);
                    // Up to the stop, so that it is sent no later than asked.
                    let far = stop_after.map_or(buffer.len() as u64, |after| {
                        (after - taken).min(buffer.len() as u64)
                    });
                    let far = usize::try_from(far).unwrap();
                    match socket.read(&mut buffer[..far], self.patience()).await {
                        Ok(n) => {
                            taken += n as u64;
                            let within = session.received(&buffer[..n]).unwrap();
                            assert!(
                                buffer[..n].starts_with(within),
                                "bytes of the stream are lost"
                            );
                        }
                        Err(end) => session.ended(end).unwrap(),
                    }
                }
                SessionAction::AwaitStop => {
                    within(&self.net, None, |_| stopped.borrow().is_some().then_some(())).await;
                    take_stop(&mut session);
                }
                SessionAction::HangUp => {
                    socket.close();
                    session.hung_up().unwrap();
                }
                SessionAction::Finished(outcome) => break outcome,
            }
        };
        let end = match (outcome.end, outcome.is_complete()) {
            (SessionEnd::LimitReached, _) => ScriptStreamEnd::TooLong,
            (_, true) => ScriptStreamEnd::Complete,
            _ => ScriptStreamEnd::Incomplete,
        };
        let stop = match outcome.stop {
            StopOutcome::NotSent => ScriptStop::NotSent,
            StopOutcome::Answered => ScriptStop::Ok,
            StopOutcome::AnsweredWithoutId => ScriptStop::OkWithoutId,
            StopOutcome::OtherId(id) => ScriptStop::AnotherSession(id.to_string()),
            StopOutcome::Refused(hresult) => ScriptStop::Hresult(text_of(hresult)),
            StopOutcome::Malformed => ScriptStop::Malformed(malformed.expect("it was seen")),
            StopOutcome::Unanswered(_) => ScriptStop::NoReply,
            other => panic!("{other:?} has no word"),
        };
        (ScriptStream { bytes: outcome.bytes, end }, stop)
    }

    async fn environment(&self, n_incoming_bytes: u32, socket: &Socket) -> ScriptEnvironment {
        let limits = &self.ask.limits;
        let limit = |limit: Option<u32>| limit.unwrap_or(u32::MAX);
        let most = EnvironmentLimits {
            max_bytes: limit(limits.environment_bytes),
            max_entries: limit(limits.environment_entries),
            ..EnvironmentLimits::NONE
        };
        let mut entry = vec![0; limits.entry_bytes.unwrap_or(1 << 20)];
        let mut decoder = EnvironmentDecoder::with_limits(n_incoming_bytes, &mut entry, most);
        socket.begin(Frame::Block(n_incoming_bytes as usize, Vec::new()));
        let mut found =
            ScriptEnvironment { entries: Vec::new(), error: None, hresult: None, cut: None };
        let mut buffer = vec![0; 4096];
        let mut bytes: &[u8] = &[];
        loop {
            match decoder.decode(&mut bytes) {
                Ok(Some(EnvironmentEvent::Entry(entry))) => found.entries.push(entry.to_value()),
                Ok(Some(EnvironmentEvent::EntryTooLarge { .. })) => {
                    found.entries.push("too_long".into());
                }
                Ok(Some(EnvironmentEvent::Count(_))) => {}
                Ok(Some(_)) => return found,
                Ok(None) => {
                    let most = decoder.wanted().min(buffer.len());
                    match socket.read(&mut buffer[..most], self.patience()).await {
                        Ok(n) => bytes = &buffer[..n],
                        Err(end) => {
                            match decoder.finish() {
                                // An error message had begun, so this is not a count.
                                Err(error)
                                    if !matches!(
                                        error.kind(),
                                        WireErrorKind::EndOfInput { .. }
                                    ) =>
                                {
                                    found.error = Some(error.into());
                                }
                                _ => found.cut = Some(end.into()),
                            }
                            return found;
                        }
                    }
                }
                Err(error) => {
                    if let WireErrorKind::ErrorMessage { hresult } = error.kind() {
                        found.hresult = Some(text_of(hresult));
                    }
                    found.error = Some(error.into());
                    return found;
                }
            }
        }
    }
}

fn text_of(hresult: HResult) -> String {
    format!("0x{:08X}", hresult.0)
}

fn fault(kind: WireErrorKind, offset: u32) -> ScriptFault {
    ScriptFault::new(kind, usize::try_from(offset).unwrap())
}
