//! What each connection must have come to.

use super::request::Asked;
use super::runtime::Serving;
use super::tool::Asking;
use dotnet_diagnostics_ipc::command::Continuation;
use dotnet_diagnostics_ipc::exchange::{
    AfterReply, Outcome, ServerOutcome, Session, SessionAction, SessionEnd, StopOutcome, StreamEnd,
};
use dotnet_diagnostics_ipc::hresult::HResult;
use dotnet_diagnostics_ipc::message::{AnyReply, Message};

impl Asking {
    pub(super) fn agree(&self, serving: &Serving, asked: &Asked, had_fault: bool) {
        let (Some((outcome, reply)), Some(_)) = (&self.first, self.outcome()) else {
            panic!("the client waits: {self:?} {serving:?}");
        };
        let served = serving.served.unwrap_or_else(|| panic!("the server waits: {serving:?}"));
        let is_heard = matches!(outcome, Outcome::Ok { .. } | Outcome::Error { .. });
        // With a fault there may be no reply; but what is heard was said.
        assert!(is_heard || (had_fault && !matches!(outcome, Outcome::Malformed { .. })));
        if is_heard {
            assert_eq!(*reply, serving.reply);
            let message = Message::decode(reply).unwrap();
            match (message.reply_to(Some(asked.command)).unwrap(), *outcome) {
                (AnyReply::Error(error), Outcome::Error { hresult, .. }) => {
                    assert_eq!(error.hresult, hresult);
                }
                (_, Outcome::Ok { then, .. }) => assert_eq!(then, follows(asked, serving)),
                other => panic!("{other:?}"),
            }
        }
        if had_fault {
            return;
        }
        let expected = match asked.continuation {
            None => Some(HResult::UNKNOWN_COMMAND),
            Some(Continuation::UserEvents) if !self.has_fd => Some(HResult::BAD_ENCODING),
            _ => None,
        };
        if let Some(expected) = expected {
            assert_eq!(served, ServerOutcome::Refused(expected));
        } else {
            assert_eq!(serving.taken, asked.wire.len());
        }
        match (*outcome, served) {
            (Outcome::Error { hresult, .. }, ServerOutcome::Refused(of)) => {
                assert_eq!(hresult, of);
                assert!(of == HResult::FAIL || expected.is_some());
            }
            (Outcome::Ok { .. }, ServerOutcome::Answered | ServerOutcome::BrokenOff(_)) => {}
            // The tool hung up: at the limit of the stream, or after as many bytes as the block
            // should have.
            (Outcome::Ok { .. }, ServerOutcome::Gone { .. }) => {
                assert!(self.hung_up() || serving.is_broken_off, "{self:?}");
            }
            other => panic!("{other:?}"),
        }
        if served == ServerOutcome::Answered && !self.hung_up() {
            assert_eq!(self.read, serving.put, "the bytes after the reply");
        }
        self.agree_session();
    }

    /// Whether the tool has ended the session by itself.
    fn hung_up(&self) -> bool {
        let end = self.session.as_ref().map(Session::action);
        matches!(end, Some(SessionAction::Finished(outcome)) if !matches!(outcome.end, SessionEnd::Ended(_)))
    }

    fn agree_session(&self) {
        let Some(session) = &self.session else { return };
        let SessionAction::Finished(outcome) = session.action() else {
            panic!("the session waits: {session:?}")
        };
        assert_eq!(outcome.bytes, self.read.len() as u64);
        // A fault is of another connection, on which the stop was sent.
        let is_refused = matches!(outcome.stop, StopOutcome::Refused(_));
        assert!(!is_refused || self.hung_up(), "{outcome:?}");
        if outcome.stop == StopOutcome::Answered && !self.hung_up() {
            let is_whole = outcome.stream_end() == Some(StreamEnd::Complete);
            assert!(is_whole || !outcome.streamed || self.sends_more(), "{outcome:?}");
        }
    }
}

/// What follows an OK.
fn follows(asked: &Asked, serving: &Serving) -> AfterReply {
    let session_id = serving.session;
    match asked.continuation {
        Some(Continuation::Nettrace) => AfterReply::Stream { session_id },
        Some(Continuation::UserEvents) => AfterReply::UserEvents { session_id },
        Some(Continuation::EnvironmentBlock) => {
            AfterReply::EnvironmentBlock { n_incoming_bytes: 16 }
        }
        _ if asked.command.set == 1 => AfterReply::AnotherReply,
        _ => AfterReply::Close,
    }
}
