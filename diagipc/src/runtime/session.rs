//! A session: its use of the connection after the reply.

use std::io::{self, Write as _};
use std::sync::Arc;
use std::time::Duration;

#[cfg(unix)]
use dotnet_diagnostics_ipc::io::server::HeldConnection;
use dotnet_diagnostics_ipc::io::server::StreamWriter;
use dotnet_diagnostics_ipc::message::eventpipe::Format;

use super::application::{Application, State};
use super::misbehaviour::MisbehaviourKind as Kind;
use super::stream::{self, Events};

/// How often a session checks for its client, and for how long.
const LOOK: (Duration, Duration) = (Duration::from_millis(20), Duration::from_millis(1));

/// A session that has begun. Dropping it ends it, even if its reply was not sent.
pub(super) struct Session {
    application: Arc<Application>,
    id: u64,
}

impl Session {
    /// A new session, unless there are too many.
    pub(super) fn begin(application: &Arc<Application>) -> Option<Self> {
        let id = application.begin_session()?;
        Some(Self { application: Arc::clone(application), id })
    }

    pub(super) const fn id(&self) -> u64 {
        self.id
    }

    pub(super) fn stream(
        self,
        stream: &mut StreamWriter<'_>,
        format: Format,
        rundown: bool,
        events: Events,
    ) -> io::Result<()> {
        // A suspended runtime writes nothing, not even at the stop (P-29).
        self.wait(
            |time| stream.pause(time),
            |state| state.is_started() || state.is_stopped(self.id),
        );
        if !self.application.state().is_started() {
            return Ok(());
        }
        let mut first = stream::start(format, self.application.process_id);
        if format != Format::NET_PERF {
            let info = self.application.info();
            let texts = [&*info.command_line, &info.os, &info.arch];
            first.extend(events.first(first.len(), texts));
        }
        stream.write_all(&first)?;
        // A runtime notices a missing reader when it next writes; this one, which has nothing to
        // write, checks.
        let never = self.application.wrong.has(Kind::StreamNeverEnds);
        self.wait(|time| stream.pause(time), |state| !never && state.is_stopped(self.id));
        let mut last = Vec::new();
        if rundown && format != Format::NET_PERF {
            let start = usize::try_from(stream.streamed()).unwrap_or(usize::MAX);
            last = stream::rundown(start, self.application.has_short_rundown);
        }
        last.extend(stream::LAST);
        stream.write_all(&last)
    }

    #[cfg(unix)]
    pub(super) fn hold(self, connection: &mut HeldConnection<'_>) {
        self.wait(|time| connection.wait(Some(time)), |state| state.is_stopped(self.id));
        // A stop leaves the connection open.
        drop(self);
        // The runtime's end also ends the connection.
        let _ = connection.wait(None);
    }

    /// Waits until it is so, the client has disconnected, or the runtime ends.
    fn wait(
        &self,
        mut has_gone: impl FnMut(Duration) -> io::Result<bool>,
        is_so: impl Fn(&State) -> bool,
    ) {
        let (every, time) = LOOK;
        while self.application.wait(Some(every), |state| is_so(state).then_some(())).is_none() {
            if !matches!(has_gone(time), Ok(false)) {
                return;
            }
        }
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        self.application.session_is_over(self.id);
    }
}
