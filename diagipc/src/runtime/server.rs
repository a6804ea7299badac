//! Serves connections one after another, from any port (F-75).

use std::sync::Arc;
use std::time::{Duration, Instant};

use dotnet_diagnostics_ipc::exchange::MisuseError;
use dotnet_diagnostics_ipc::io::server::{Listen, ServeOptions, serve_with};
use dotnet_diagnostics_ipc::io::{Error, Phase, WaitLimit};
use dotnet_diagnostics_ipc::port::PortId;

use super::answers::Answers;
use super::application::Application;
use super::misbehaviour::MisbehaviourKind as Kind;
use super::peer::Peer;
use super::ports::Port;
use super::ready::Ready;
use super::system::{Kept, Listening};

/// How often the clients of connections left open are checked for disconnection.
const LOOK: Duration = Duration::from_millis(250);

pub(super) struct Server {
    pub(super) application: Arc<Application>,
    /// The default port.
    pub(super) listening: Listening,
    pub(super) ports: Vec<Port>,
}

impl Server {
    /// Serves one connection after another; a session has its own thread once its reply is sent.
    pub(super) fn run(self) {
        let application = Arc::clone(&self.application);
        let options = ServeOptions {
            commands: application.profile.commands(),
            // F-6.
            request: None,
            send: None,
            stream: None,
            most_at_once: 1,
            // The application counts them: a stopped one does not count, though its connection
            // lasts.
            most_sessions: usize::MAX,
            ..ServeOptions::DEFAULT
        };
        let done = serve_with(self, Peer::answers, &options, &application.stop);
        debug_assert!(done.is_ok(), "the exchange was asked for something that it did not want");
    }

    /// The next connection, if there was an event.
    fn next(&mut self) -> Result<Option<Peer>, MisuseError> {
        for port in &mut self.ports {
            port.advance(&self.application)?;
        }
        self.application.state().open.retain_mut(|kept: &mut Kept| !kept.has_hung_up());
        let (transport, port, used) = match self.ready() {
            Ready::Nothing => return Ok(None),
            Ready::Default => match self.listening.accept() {
                Some(transport) => (transport, PortId::Default, None),
                None => return Ok(None),
            },
            Ready::Port { nth, is_request } => {
                let Some(port) = self.ports.get_mut(nth) else { return Ok(None) };
                let Some(transport) = port.take() else { return Ok(None) };
                if !is_request {
                    // The tool disconnected without a command (F-77).
                    port.exchange.ended()?;
                    self.others(Some(nth)).for_each(|other| other.exchange.end_elsewhere());
                    return Ok(None);
                }
                port.exchange.request_arrived()?;
                port.exchange.handed_over()?;
                (transport, PortId::Configured(nth), Some(nth))
            }
        };
        // P-28.
        self.others(used).for_each(|other| other.exchange.reset_delay());
        Ok(Some(Peer::new(transport, Answers::new(Arc::clone(&self.application), port))))
    }

    /// The ports except this one.
    fn others(&mut self, but: Option<usize>) -> impl Iterator<Item = &mut Port> {
        self.ports
            .iter_mut()
            .enumerate()
            .filter(move |(nth, _)| Some(*nth) != but)
            .map(|(_, port)| port)
    }

    /// Waits for the next event.
    fn ready(&mut self) -> Ready {
        let accepts = !self.application.wrong.has(Kind::NeverAccepts);
        let delays = self.ports.iter().filter_map(|port| port.waits_until);
        let now = Instant::now();
        let left = delays
            .map(|until| until.saturating_duration_since(now))
            .chain([LOOK])
            .min()
            .unwrap_or(LOOK);
        let waiting = self
            .ports
            .iter_mut()
            .enumerate()
            .filter_map(|(nth, port)| Some((nth, port.transport.as_mut()?)));
        self.listening.wait(waiting, accepts, &self.application.stop, left)
    }
}

impl Listen for Server {
    type Transport = Peer;

    fn accept(&mut self, until: &WaitLimit<'_>) -> Result<Peer, Error> {
        loop {
            until.check().map_err(|stopped| Error::new(Phase::Listen, stopped))?;
            if let Some(peer) = self.next().map_err(|illegal| Error::new(Phase::Listen, illegal))? {
                return Ok(peer);
            }
        }
    }
}
