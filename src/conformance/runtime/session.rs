//! The thread of a session: what its connection is from the reply on.

use std::sync::Arc;
use std::vec::Vec;

use super::application::Application;
use super::misbehaviour::MisbehaviourKind as Kind;
use super::peer::Peer;
use super::stream;
use crate::exchange::{End, Illegal, Server, ServerAction};
use crate::message::eventpipe::Format;

/// How much of a stream is sent at once.
const PIECE: usize = 16 * 1024;

pub(super) struct SessionThread {
    pub(super) application: Arc<Application>,
    pub(super) id: u64,
    pub(super) server: Server,
    pub(super) peer: Peer,
    pub(super) kind: SessionKind,
    /// How much was streamed.
    pub(super) streamed: usize,
}

#[derive(Clone, Copy)]
pub(super) enum SessionKind {
    Stream { format: Format, rundown: bool },
    UserEvents,
}

/// The session is over, however it ended: also where its thread could not be started.
impl Drop for SessionThread {
    fn drop(&mut self) {
        self.application.session_is_over(self.id);
    }
}

impl SessionThread {
    pub(super) fn run(mut self) {
        let done = match self.kind {
            SessionKind::Stream { format, rundown } => self.stream(format, rundown),
            SessionKind::UserEvents => self.hold(),
        };
        debug_assert_eq!(done, Ok(()), "the exchange was asked for something that it did not want");
        // What was held back to go with a stream of no bytes.
        let _ = self.peer.flush();
    }

    fn stream(&mut self, format: Format, rundown: bool) -> Result<(), Illegal> {
        // A suspended runtime writes nothing, not even at the stop (P-29).
        let (application, id) = (Arc::clone(&self.application), self.id);
        application.wait(None, |state| (state.is_started() || state.is_stopped(id) || self.peer.has_hung_up()).then_some(()));
        let mut last: Vec<u8> = Vec::new();
        if application.state().is_started() {
            self.emit(&stream::start(format, application.process_id))?;
            // A runtime finds out that its reader has gone when it next writes; this one, which has nothing to write, looks.
            let never = application.wrong.has(Kind::StreamNeverEnds);
            let is_cut = self.server.action() == ServerAction::Close;
            application.wait(None, |state| (is_cut || (!never && state.is_stopped(id)) || self.peer.has_hung_up()).then_some(()));
            if rundown && format != Format::NET_PERF {
                last = stream::rundown(self.streamed);
            }
            last.extend(stream::LAST);
        }
        self.emit(&last)?;
        if let ServerAction::Continue { .. } = self.server.action() {
            self.server.continuation_ended()?;
        }
        Ok(())
    }

    /// Streams these bytes, unless the client has gone.
    fn emit(&mut self, bytes: &[u8]) -> Result<(), Illegal> {
        let most = self.application.wrong.bytes(Kind::StreamCut).unwrap_or(usize::MAX);
        let room = most.saturating_sub(self.streamed).min(bytes.len());
        for piece in bytes.get(..room).unwrap_or_default().chunks(PIECE) {
            let ServerAction::Continue { .. } = self.server.action() else { return Ok(()) };
            self.server.piece(piece, piece.len())?;
            while let ServerAction::Send(range) = self.server.action() {
                match self.peer.send(piece.get(range.clone()).unwrap_or_default()) {
                    Ok(()) => self.server.sent(range.len())?,
                    Err(_) => self.server.send_failed()?,
                }
            }
            self.streamed = self.streamed.saturating_add(piece.len());
        }
        if room < bytes.len() {
            // As if the process had ended: what is to come is not sent.
            if let ServerAction::Continue { .. } = self.server.action() {
                self.server.continuation_ended()?;
            }
        }
        Ok(())
    }

    fn hold(&mut self) -> Result<(), Illegal> {
        let (application, id) = (Arc::clone(&self.application), self.id);
        application.wait(None, |state| (state.is_stopped(id) || self.peer.has_hung_up()).then_some(()));
        // A stop leaves the connection open.
        application.session_is_over(id);
        application.wait(None, |_| self.peer.has_hung_up().then_some(()));
        self.server.ended(End::Closed)
    }
}
