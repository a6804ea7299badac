//! What follows a reply: a stream and its stop, or an environment block.

use std::cell::RefCell;
use std::rc::Rc;

use dotnet_diagnostics_ipc::continuation::{
    EnvironmentDecoder, EnvironmentEvent, EnvironmentLimits,
};
use dotnet_diagnostics_ipc::exchange::{
    Client, End, Outcome, Session, SessionAction, SessionEnd, StopOutcome,
};
use dotnet_diagnostics_ipc::wire::WireErrorKind;
use dotnet_diagnostics_ipc_vectors::ValueForm as _;
use dotnet_diagnostics_ipc_vectors::script::{
    ScriptEnvironment, ScriptStop, ScriptStream, ScriptStreamEnd,
};

use super::words::{fault, text_of};
use super::{BUFFER, Tool};
use crate::scripts::executor::within;
use crate::scripts::socket::{Frame, Socket};
use crate::scripts::twice;

impl Tool {
    pub(super) async fn stream(
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
            match twice!(self.net, session.action()) {
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

    pub(super) async fn environment(
        &self,
        n_incoming_bytes: u32,
        socket: &Socket,
    ) -> ScriptEnvironment {
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
