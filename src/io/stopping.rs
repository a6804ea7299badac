//! A stop of a session, without the I/O.

use super::connection::{ClientDriver, Finished};
use super::session::Streaming;
use super::{Error, ErrorKind, Phase};
use crate::exchange::{End, MisuseError, StopOutcome};
use crate::message::eventpipe::StopTracing;

/// A stop that has begun. Dropped before it is finished, as an `async` call may be, it counts as
/// unanswered.
#[derive(Debug)]
pub(super) struct Stopping<'s> {
    session: &'s Streaming,
    request: StopTracing,
    is_pending: bool,
}

impl<'s> Stopping<'s> {
    /// Begins to stop the session. `None` if its connection is closed instead: no byte has arrived
    /// (F-160).
    pub(super) fn begin(session: &'s Streaming) -> Result<Option<Self>, Error> {
        session.may_stop()?;
        let refused = |kind| Err(Error::new(Phase::Stop, kind));
        let mut state = session.lock();
        if state.session.id().is_none() {
            return refused(ErrorKind::Unsupported("the runtime did not report the session id"));
        }
        let begun = state.session.begin_stop();
        drop(state);
        match begun {
            Ok(Some(request)) => Ok(Some(Self { session, request, is_pending: true })),
            Ok(None) => {
                session.wake_reader();
                Ok(None)
            }
            Err(_) => refused(ErrorKind::AlreadyStopped),
        }
    }

    /// The request, for a separate connection. Connecting may take its time: it is sent only while
    /// the session lasts.
    pub(super) fn drive(&self) -> Result<ClientDriver, Error> {
        Ok(ClientDriver::new(&self.request, true)?.while_open(self.session.clone()))
    }

    /// Its outcome.
    pub(super) fn finish(mut self, asked: Result<Finished, Error>) -> Result<StopOutcome, Error> {
        self.is_pending = false;
        let session = &mut self.session.lock().session;
        let at = |kind| Err(Error::new(Phase::Stop, kind));
        let bug = |illegal: MisuseError| Error::new(Phase::Stop, illegal);
        let Finished { outcome, buffer, .. } = match asked {
            Ok(finished) => finished,
            Err(error) => {
                match error.phase() {
                    Phase::Reply => session.stop_failed(End::TimedOut),
                    _ => session.stop_not_sent(),
                }
                .map_err(bug)?;
                return Err(error);
            }
        };
        session.stop_finished(outcome, &buffer).map_err(bug)?;
        match session.stop() {
            StopOutcome::Refused(hresult) => at(ErrorKind::Refused { hresult, message: None }),
            StopOutcome::Unanswered(End::TimedOut) => at(ErrorKind::TimedOut),
            StopOutcome::Unanswered(end) => at(ErrorKind::Ended { end, received: 0 }),
            stop => Ok(stop),
        }
    }
}

impl Drop for Stopping<'_> {
    fn drop(&mut self) {
        if self.is_pending {
            // It is pending, so this cannot fail.
            let _ = self.session.lock().session.stop_failed(End::TimedOut);
        }
    }
}
