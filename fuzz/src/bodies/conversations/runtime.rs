//! The runtime's side of one connection.

use std::vec;
use std::vec::Vec;

use super::line::{Line, Read, close};
use super::request::Asked;
use dotnet_diagnostics_ipc::command::{Command, Continuation};
use dotnet_diagnostics_ipc::exchange::{
    CheckOrder, ParsedRequest, Server, ServerAction, ServerOptions, ServerOutcome,
};
use dotnet_diagnostics_ipc::hresult::HResult;
use dotnet_diagnostics_ipc::message::eventpipe::SessionReply;
use dotnet_diagnostics_ipc::message::process::{ProcessEnvironmentReply, ProcessInfo3Reply, Tail};
use dotnet_diagnostics_ipc::message::server::{ErrorReply, ResultReply};
use dotnet_diagnostics_ipc::message::{AnyRequest, Message};
use dotnet_diagnostics_ipc::wire::{Guid, IpcString};

/// The environment block: one entry.
const BLOCK: &[u8] = b"\x01\0\0\0\x04\0\0\0A\0=\0b\0\0\0";

/// A stream of more bytes shows nothing else.
const MOST: usize = 2048;

#[derive(Debug)]
pub(super) enum Runtime {
    /// The port's own state says what happens: [`ConnectPort`](dotnet_diagnostics_ipc::exchange::ConnectPort).
    OfPort,
    Serves(Serving),
    Closed,
}

/// A server, and what its caller does.
#[derive(Debug)]
pub(super) struct Serving {
    pub(super) server: Server,
    pub(super) buffer: Vec<u8>,
    /// How many bytes of the request were taken.
    pub(super) taken: usize,
    /// What is sent as the reply.
    pub(super) reply: Vec<u8>,
    /// Everything that is sent after the reply.
    pub(super) put: Vec<u8>,
    pub(super) served: Option<ServerOutcome>,
    /// The session that has this connection.
    pub(super) session: Option<u64>,
    /// The session was told to stop.
    pub(super) is_stopped: bool,
    /// The session that this request stops.
    pub(super) stops: Option<u64>,
    /// Bytes of the stream that are still to come after a stop.
    rundown: usize,
    is_replied: bool,
    /// The environment block was interrupted, by an error that may be longer than the rest of it.
    pub(super) is_broken_off: bool,
}

/// What a server asks of the whole runtime.
pub(super) enum Call {
    Idle,
    Moved,
    /// A session starts: it needs an id.
    Start,
    /// This session is to be stopped.
    Stop(u64),
}

impl Serving {
    pub(super) fn new(options: ServerOptions, room: usize) -> Self {
        Self {
            server: Server::with_options(options),
            buffer: vec![0; room],
            taken: 0,
            reply: Vec::new(),
            put: Vec::new(),
            served: None,
            session: None,
            is_stopped: false,
            stops: None,
            rundown: 12,
            is_replied: false,
            is_broken_off: false,
        }
    }

    /// Does what is asked for, with at most `n` bytes; `n` also chooses the answer.
    pub(super) fn step(
        &mut self,
        n: usize,
        asked: &Asked,
        there: &mut Line,
        back: &mut Line,
        room: usize,
    ) -> Call {
        match self.server.action() {
            ServerAction::Receive(range) => match there.read(range, n, &mut self.buffer) {
                Read::Bytes(n) => {
                    self.taken += n;
                    self.server.received(&self.buffer, n).unwrap();
                }
                Read::Ended(end) => self.server.ended(end).unwrap(),
                Read::Nothing => return Call::Idle,
            },
            ServerAction::Decode(range) => {
                assert_eq!(self.buffer[range], asked.wire, "another request arrived");
                let request = self.server.request(&self.buffer).unwrap();
                let ParsedRequest::Request(request) = request else { panic!("{request:?}") };
                assert_eq!(request.command(), asked.command);
                if let AnyRequest::StopTracing(stop) = request {
                    self.stops = Some(stop.session_id);
                }
            }
            ServerAction::ReceiveFd => match there.read_fd() {
                Ok(true) => self.server.fd_received().unwrap(),
                Ok(false) => self.server.fd_missing().unwrap(),
                Err(Read::Ended(end)) => self.server.ended(end).unwrap(),
                Err(_) => return Call::Idle,
            },
            ServerAction::Respond => return self.respond(n, asked),
            ServerAction::Refuse(reason) => self.refuse(&ErrorReply::new(reason.hresult())),
            ServerAction::Send(range) => {
                let Some(sent) = back.write(&self.buffer[range.clone()], n, room) else {
                    self.server.send_failed().unwrap();
                    return Call::Moved;
                };
                if sent == 0 {
                    return Call::Idle;
                }
                if self.is_replied {
                    self.put.extend(&self.buffer[range.start..range.start + sent]);
                }
                self.server.sent(sent).unwrap();
                self.is_replied |= !matches!(self.server.action(), ServerAction::Send(_));
            }
            ServerAction::Continue { left: Some(left) } => {
                if n == 63 {
                    self.server.break_off(HResult::FAIL, &mut self.buffer).unwrap();
                    self.is_broken_off = true;
                    return Call::Moved;
                }
                let at = BLOCK.len() - usize::try_from(left).unwrap();
                let n = n.min(BLOCK.len() - at);
                self.buffer[..n].copy_from_slice(&BLOCK[at..at + n]);
                self.server.piece(&self.buffer, n).unwrap();
            }
            // A stream continues when the runtime has something to say.
            ServerAction::Continue { left: None } if !self.is_stopped => return Call::Idle,
            ServerAction::Continue { left: None } if self.rundown > 0 => {
                let n = n.min(self.rundown);
                self.rundown -= n;
                self.stream(n);
            }
            ServerAction::Hold if !self.is_stopped => {
                let Some(end) = there.ended() else { return Call::Idle };
                self.server.ended(end).unwrap();
            }
            ServerAction::Continue { left: None } | ServerAction::Hold => {
                self.server.continuation_ended().unwrap();
            }
            ServerAction::Close => {
                close(there, back);
                self.server.closed().unwrap();
            }
            ServerAction::Finished(ServerOutcome::BufferTooSmall { size }) => {
                self.buffer.resize(size.into(), 0);
                self.server.enlarged(&self.buffer).unwrap();
            }
            ServerAction::Finished(outcome) => {
                if self.served.replace(outcome).is_some() {
                    return Call::Idle;
                }
            }
        }
        Call::Moved
    }

    /// Puts `n` more bytes of the stream, if there is one and nothing else is to be sent.
    pub(super) fn stream(&mut self, n: usize) {
        if self.server.action() != (ServerAction::Continue { left: None }) || self.put.len() > MOST
        {
            return;
        }
        let n = n.min(self.buffer.len());
        for (at, place) in self.buffer[..n].iter_mut().enumerate() {
            *place = (self.put.len() + at).to_le_bytes()[0];
        }
        self.server.piece(&self.buffer, n).unwrap();
    }

    fn respond(&mut self, n: usize, asked: &Asked) -> Call {
        if let Some(id) = self.stops {
            return Call::Stop(id);
        }
        let starts =
            matches!(asked.continuation, Some(Continuation::Nettrace | Continuation::UserEvents));
        match asked.command {
            _ if n % 8 == 7 => {
                let message = asked.command == Command::GENERATE_CORE_DUMP3;
                let message = message.then(|| IpcString::from("no"));
                self.refuse(&ErrorReply { hresult: HResult::FAIL, message });
            }
            _ if starts => return Call::Start,
            Command::PROCESS_ENVIRONMENT => self.reply(&ProcessEnvironmentReply {
                n_incoming_bytes: u32::try_from(BLOCK.len()).unwrap(),
                future: 0,
            }),
            Command::PROCESS_INFO3 => self.reply(&ProcessInfo3Reply {
                version: 1,
                process_id: 42,
                runtime_cookie: Guid::NIL,
                command_line: "a command".into(),
                os: "Linux".into(),
                arch: "x64".into(),
                managed_entrypoint_assembly_name: IpcString::ABSENT,
                clr_product_version: "10.0.0".into(),
                runtime_identifier: "linux-x64".into(),
                tail: Tail(&[]),
            }),
            _ => self.reply(&ResultReply { hresult: HResult::OK }),
        }
        Call::Moved
    }

    pub(super) fn start(&mut self, session_id: u64) {
        self.session = Some(session_id);
        self.reply(&SessionReply { session_id });
    }

    pub(super) fn stopped(&mut self, session_id: u64) {
        self.reply(&SessionReply { session_id });
    }

    /// In a buffer that may be too small at first.
    fn reply(&mut self, payload: &impl dotnet_diagnostics_ipc::wire::Encode) {
        if self.server.respond(payload, &mut self.buffer).is_err() {
            assert_eq!(self.server.action(), ServerAction::Respond);
            self.buffer.resize(512, 0);
            self.server.respond(payload, &mut self.buffer).unwrap();
        }
        self.keep();
    }

    pub(super) fn refuse(&mut self, error: &ErrorReply<'_>) {
        if self.server.refuse_with(error, &mut self.buffer).is_err() {
            self.buffer.resize(512, 0);
            self.server.refuse_with(error, &mut self.buffer).unwrap();
        }
        self.keep();
    }

    fn keep(&mut self) {
        let ServerAction::Send(range) = self.server.action() else { panic!("nothing to send") };
        self.reply = self.buffer[range].to_vec();
        assert!(Message::decode(&self.reply).is_ok());
    }

    /// Whether a session has the connection.
    pub(super) fn is_session_open(&self, id: u64) -> bool {
        self.session == Some(id) && self.served.is_none()
    }
}

/// The options of the servers of one world.
pub(super) fn options(how: u8) -> ServerOptions {
    ServerOptions {
        order: if how & 1 == 0 { CheckOrder::AsShipped } else { CheckOrder::Strict },
        ..ServerOptions::DEFAULT
    }
}
