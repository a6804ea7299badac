//! One connection, until its session has a thread of its own or it is closed.

use std::sync::Arc;
use std::thread::{self, JoinHandle};
use std::time::Duration;
use std::vec::Vec;

use rustix::fs::{FileType, fstat};

use super::Profile;
use super::answers::{Answer, Dump};
use super::application::Application;
use super::deaths;
use super::misbehaviour::MisbehaviourKind as Kind;
use super::peer::{Next, Peer};
use super::session::{SessionKind, SessionThread};
use crate::command::Command;
use crate::continuation::{Entry, EnvironmentEncoder};
use crate::exchange::{End, Illegal, ParsedRequest, RefusalReason, RespondError, Server, ServerAction};
use crate::header::{HEADER_LEN, MAX_MESSAGE_LEN};
use crate::hresult::HResult;
use crate::io::UnixTransport;
use crate::message::eventpipe::SessionReply;
use crate::message::server::{ErrorReply, ResultReply};
use crate::message::{self, Message};
use crate::port::PortId;
use crate::wire::LimitKind;

/// How long a dump takes.
const DUMP_TAKES: Duration = Duration::from_millis(400);
/// How much of an environment block is sent at once.
const PIECE: usize = 16 * 1024;

/// What is left of a connection.
pub(super) enum Left {
    Nothing,
    /// It stays open, though the runtime has nothing to say any more (F-5, F-74).
    Open(UnixTransport),
    Session(JoinHandle<()>),
}

pub(super) fn serve(application: &Arc<Application>, transport: UnixTransport, port: PortId) -> Left {
    let peer = Peer::new(transport, Arc::clone(&application.wrong), application.stop.clone());
    let conversation = Conversation {
        application: Arc::clone(application),
        port,
        peer,
        server: Server::with_options(application.profile.options()),
        buffer: std::vec![0; MAX_MESSAGE_LEN],
        command: Command::OK,
        answer: Answer::Done,
        session: None,
        block: Vec::new(),
        has_replied: false,
        has_begun: false,
        stays_open: false,
    };
    let left = conversation.run();
    debug_assert!(left.is_ok(), "the exchange was asked for something that it did not want");
    left.unwrap_or(Left::Nothing)
}

struct Conversation {
    application: Arc<Application>,
    port: PortId,
    peer: Peer,
    server: Server,
    buffer: Vec<u8>,
    command: Command,
    answer: Answer,
    session: Option<u64>,
    /// What is left of an environment block.
    block: Vec<u8>,
    has_replied: bool,
    /// The OK was given before it was asked for.
    has_begun: bool,
    stays_open: bool,
}

impl Conversation {
    fn run(mut self) -> Result<Left, Illegal> {
        let next = self.converse();
        // A session that got no thread is over.
        if let (Some(id), Err(_) | Ok(Next::End | Next::Silence)) = (self.session, &next) {
            self.application.session_is_over(id);
        }
        match next? {
            Next::GoOn => Ok(self.into_session()),
            Next::End => {
                // The client may have gone.
                let _ = self.peer.flush();
                Ok(Left::Nothing)
            }
            Next::Silence => Ok(Left::Open(self.peer.into_transport())),
        }
    }

    /// Goes on as far as to the session, if there is one.
    fn converse(&mut self) -> Result<Next, Illegal> {
        loop {
            match self.server.action() {
                ServerAction::Receive(range) => self.receive(range)?,
                ServerAction::Decode(range) => {
                    if let Some(next) = self.decode(range)? {
                        return Ok(next);
                    }
                }
                ServerAction::ReceiveFd => self.receive_fd()?,
                ServerAction::Respond => match self.respond() {
                    Ok(None) => {}
                    Ok(Some(next)) => return Ok(next),
                    Err(RespondError::Illegal(illegal)) => return Err(illegal),
                    // A reply over 65,535 bytes (F-40).
                    Err(RespondError::Encode(_)) => return Ok(Next::End),
                },
                ServerAction::Refuse(reason) => self.refuse(reason)?,
                ServerAction::Send(range) => {
                    let next = self.send(range.clone());
                    match next {
                        Ok(Next::GoOn) => self.server.sent(range.len())?,
                        Ok(next) => return Ok(next),
                        Err(_) => self.server.send_failed()?,
                    }
                }
                ServerAction::Continue { left: Some(_) } => {
                    if let Some(next) = self.environment()? {
                        return Ok(next);
                    }
                }
                ServerAction::Continue { left: None } | ServerAction::Hold => return Ok(Next::GoOn),
                ServerAction::Close => {
                    self.server.closed()?;
                    return Ok(if self.stays_open { Next::Silence } else { Next::End });
                }
                ServerAction::Finished(_) => return Ok(Next::End),
            }
        }
    }

    fn receive(&mut self, range: core::ops::Range<usize>) -> Result<(), Illegal> {
        let is_first = range.start == 0;
        match self.peer.receive(self.buffer.get_mut(range).unwrap_or_default()) {
            Ok(n) => {
                self.server.received(&self.buffer, n)?;
                // 3.1 refuses a header that comes in pieces (F-69).
                if is_first && n < HEADER_LEN && self.application.profile == Profile::CoreClr31 {
                    self.server.ended(End::Closed)?;
                }
                Ok(())
            }
            Err(end) => self.server.ended(end),
        }
    }

    fn decode(&mut self, range: core::ops::Range<usize>) -> Result<Option<Next>, Illegal> {
        let whole = self.buffer.get(range).unwrap_or_default();
        let (command, payload) =
            Message::decode_exact(whole).map_or((Command::OK, &[][..]), |message| (message.command, message.payload));
        self.command = command;
        if self.application.wrong.has(Kind::NeverAnswers) {
            return Ok(Some(Next::Silence));
        }
        let takes_none = [Command::PROCESS_INFO, Command::PROCESS_INFO2, Command::PROCESS_INFO3, Command::PROCESS_ENVIRONMENT];
        if self.application.wrong.has(Kind::EchoPayload) && takes_none.contains(&command) && !payload.is_empty() {
            let echo = [payload, &[0; HEADER_LEN]].concat();
            // The client may have gone.
            let _ = self.peer.send(&echo);
            return Ok(Some(Next::End));
        }
        // Others are refused, now or behind their descriptor.
        if let ParsedRequest::Request(request) = self.server.request(&self.buffer)? {
            self.answer = self.application.answer(&request, self.port);
        }
        self.die_if(matches!(self.answer, Answer::Dies));
        Ok(None)
    }

    fn die_if(&self, kills: bool) {
        if kills && self.application.dies {
            std::process::abort();
        }
    }

    fn receive_fd(&mut self) -> Result<(), Illegal> {
        if self.application.wrong.has(Kind::ReplyBeforeDescriptor) && self.session.is_none() {
            self.session = self.application.begin_session();
            let reply = SessionReply { session_id: self.session.unwrap_or_default() };
            let reply = message::encode_to_vec(Command::OK, &reply).unwrap_or_default();
            // A client that has gone is noticed at the descriptor.
            let _ = self.peer.reply(self.command, reply);
            (self.has_replied, self.has_begun) = (true, true);
        }
        match self.peer.receive_fd() {
            Ok(Some(fd)) => {
                // The file of user events is a regular one, and what stands for it in tests a socket. What is neither, the kernel
                // does not register at.
                let kind = fstat(&fd).map(|stat| FileType::from_raw_mode(stat.st_mode));
                if let (Answer::UserEvents { registers }, false) =
                    (&mut self.answer, matches!(kind, Ok(FileType::RegularFile | FileType::Socket)))
                {
                    *registers = false;
                }
                self.server.fd_received()
            }
            Ok(None) => self.server.fd_missing(),
            Err(end) => self.server.ended(end),
        }
    }

    fn refuse(&mut self, reason: RefusalReason) -> Result<(), Illegal> {
        let (profile, command) = (self.application.profile, (self.command != Command::OK).then_some(self.command));
        // The request is there until the reply stands in its place.
        let has_payload = self.buffer.get(14..16) != Some(&[20, 0]);
        let kills = command.is_some_and(|command| deaths::kills(profile, command, has_payload, reason));
        self.die_if(kills);
        // Where a runtime dies there is nothing to be like.
        self.stays_open = !kills && profile.stays_open(command, reason);
        let hresult = profile.refusal(reason);
        let is_dump_type = matches!(reason, RefusalReason::OverLimit { kind: LimitKind::UnknownDumpType(_), .. });
        // P-3.
        let message = (is_dump_type && self.command == Command::GENERATE_CORE_DUMP3).then(|| "".into());
        match self.server.refuse_with(&ErrorReply { hresult, message }, &mut self.buffer) {
            Err(RespondError::Illegal(illegal)) => Err(illegal),
            // It has 30 bytes at most.
            Ok(()) | Err(RespondError::Encode(_)) => Ok(()),
        }
    }

    fn respond(&mut self) -> Result<Option<Next>, RespondError> {
        let (application, server, buffer) = (&self.application, &mut self.server, &mut self.buffer);
        match &self.answer {
            Answer::Done | Answer::Dies => server.respond(&ResultReply { hresult: HResult::OK }, buffer)?,
            Answer::Fails(hresult) => server.refuse(*hresult, buffer)?,
            Answer::Dump(dump) => {
                // Nobody else is served meanwhile (F-75). NativeAOT has nothing to write (F-63).
                if application.profile != Profile::NativeAot {
                    application.wait(Some(DUMP_TAKES), |_| None::<()>);
                }
                if application.wrong.has(Kind::SocketGone) {
                    // It may be gone already.
                    let _ = std::fs::remove_file(&application.socket);
                }
                match dump {
                    Dump::Written => server.respond(&ResultReply { hresult: HResult::OK }, buffer)?,
                    Dump::NotClosed => {
                        self.stays_open = true;
                        server.respond(&ResultReply { hresult: HResult::OK }, buffer)?;
                    }
                    Dump::Fails(text) => {
                        let text = text.as_deref().filter(|_| ErrorReply::has_message(Some(self.command)));
                        server.refuse_with(&ErrorReply { hresult: HResult::FAIL, message: text.map(Into::into) }, buffer)?;
                    }
                }
            }
            Answer::ProcessInfo(version) => application.process_info(*version, server, buffer)?,
            Answer::Environment => {
                let state = application.state();
                let entries = state.environment.iter().map(|entry| Entry::new(entry));
                let mut encoder = EnvironmentEncoder::new(entries).map_err(RespondError::Encode)?;
                server.respond(&encoder.reply(), buffer)?;
                self.block = std::vec![0; usize::try_from(encoder.n_incoming_bytes()).unwrap_or(0)];
                encoder.encode(&mut self.block);
                count_wrongly(application, &mut self.block);
            }
            Answer::UserEvents { registers: false } => server.refuse(HResult::FAIL, buffer)?,
            Answer::Session { .. } | Answer::UserEvents { .. } => {
                self.session = self.session.or_else(|| application.begin_session());
                match self.session {
                    Some(session_id) => server.respond(&SessionReply { session_id }, buffer)?,
                    None => server.refuse(HResult::FAIL, buffer)?,
                }
            }
            Answer::Stop(id) => {
                application.stop_session(*id);
                // The stream is written to its end first, and that needs a reader (F-75).
                application.wait(None, |state| state.is_over(*id).then_some(()));
                if application.wrong.has(Kind::StopUnanswered) {
                    return Ok(Some(Next::End));
                }
                let session_id = id.wrapping_add(u64::from(application.wrong.has(Kind::StopAnother)));
                server.respond(&SessionReply { session_id }, buffer)?;
            }
        }
        Ok(None)
    }

    fn send(&mut self, range: core::ops::Range<usize>) -> Result<Next, End> {
        let bytes = self.buffer.get(range).unwrap_or_default();
        if std::mem::take(&mut self.has_begun) && bytes.get(17) == Some(&Command::OK.id) {
            return Ok(Next::GoOn);
        }
        if self.has_replied {
            return self.peer.send(bytes).map(|()| Next::GoOn);
        }
        self.has_replied = true;
        self.peer.reply(self.command, bytes.to_vec())
    }

    /// The next piece of an environment block.
    fn environment(&mut self) -> Result<Option<Next>, Illegal> {
        let wrong = &self.application.wrong;
        if let Some(at) = wrong.bytes(Kind::EnvironmentCut).or_else(|| wrong.bytes(Kind::EnvironmentError)) {
            let front = self.block.get(..at).unwrap_or(&self.block);
            let gone = self.peer.send(front).is_err();
            if gone || wrong.has(Kind::EnvironmentCut) {
                return Ok(Some(Next::End));
            }
            return match self.server.break_off(HResult::FAIL, &mut self.buffer) {
                Err(RespondError::Illegal(illegal)) => Err(illegal),
                Ok(()) | Err(RespondError::Encode(_)) => Ok(None),
            };
        }
        let n = self.block.len().min(PIECE);
        for (place, byte) in self.buffer.iter_mut().zip(self.block.drain(..n)) {
            *place = byte;
        }
        self.server.piece(&self.buffer, n)?;
        Ok(None)
    }

    /// Gives the connection to the thread of its session.
    fn into_session(self) -> Left {
        let kind = match self.answer {
            Answer::Session { format, rundown } => SessionKind::Stream { format, rundown },
            _ => SessionKind::UserEvents,
        };
        let Some(id) = self.session else { return Left::Nothing };
        let session = SessionThread { application: self.application, id, server: self.server, peer: self.peer, kind, streamed: 0 };
        let started = thread::Builder::new().name("session".into()).spawn(move || session.run());
        started.map_or(Left::Nothing, Left::Session)
    }
}

/// Changes the count of entries.
fn count_wrongly(application: &Application, block: &mut [u8]) {
    if let Some(bytes) = block.first_chunk_mut() {
        let count = u32::from_le_bytes(*bytes)
            .saturating_sub(application.wrong.number(Kind::EnvironmentCountLess).unwrap_or(0))
            .saturating_add(application.wrong.number(Kind::EnvironmentCountMore).unwrap_or(0));
        *bytes = count.to_le_bytes();
    }
}
