//! Serves connections one after another, from any port (F-75).

use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use dotnet_diagnostics_ipc::advertise::{ADVERTISE_LEN, Advertise};
use dotnet_diagnostics_ipc::exchange::{ConnectPort, ConnectPortAction, MisuseError};
use dotnet_diagnostics_ipc::io::server::{Listen, ServeOptions, serve_with};
use dotnet_diagnostics_ipc::io::{Error, Phase, Transport as _, WaitLimit};
use dotnet_diagnostics_ipc::port::PortId;

use super::answers::Answers;
use super::application::Application;
use super::misbehaviour::MisbehaviourKind as Kind;
use super::peer::ClientConnection;
use super::system::{self, Kept, Link, Listening};
use crate::network::place;

/// How often it is checked whether the clients of connections left open have disconnected.
const POLL_INTERVAL: Duration = Duration::from_millis(250);

pub(super) struct Server {
    pub(super) application: Arc<Application>,
    pub(super) listening: Listening,
    pub(super) ports: Vec<Port>,
}

impl Server {
    /// Serves one connection after another. A session has its own thread once its reply is sent.
    pub(super) fn run(self) {
        let application = Arc::clone(&self.application);
        let options = ServeOptions {
            commands: application.profile.commands(),
            // A request has no time limit (F-6).
            request: None,
            send: None,
            stream: None,
            most_at_once: 1,
            // The application counts the sessions: a stopped one does not count, even if still
            // connected.
            most_sessions: usize::MAX,
            ..ServeOptions::DEFAULT
        };
        let done = serve_with(self, ClientConnection::answers, &options, &application.stop);
        debug_assert!(done.is_ok(), "the exchange was asked for something that it did not want");
    }

    /// Returns the next connection, if there was an event.
    fn next(&mut self) -> Result<Option<ClientConnection>, MisuseError> {
        for port in &mut self.ports {
            port.advance(&self.application)?;
        }
        self.application.state().open.retain_mut(|kept: &mut Kept| !kept.has_hung_up());
        let Some((port, is_request)) = self.ready() else { return Ok(None) };
        let (transport, port, used) = match port {
            None => match self.listening.accept() {
                Some(transport) => (transport, PortId::Default, None),
                None => return Ok(None),
            },
            Some(nth) => {
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
        // The other ports reconnect without delay (P-28).
        self.others(used).for_each(|other| other.exchange.reset_delay());
        Ok(Some(ClientConnection::new(
            transport,
            Answers::new(Arc::clone(&self.application), port),
        )))
    }

    fn others(&mut self, but: Option<usize>) -> impl Iterator<Item = &mut Port> {
        self.ports
            .iter_mut()
            .enumerate()
            .filter(move |(nth, _)| Some(*nth) != but)
            .map(|(_, port)| port)
    }

    fn ready(&mut self) -> Option<(Option<usize>, bool)> {
        let accepts = !self.application.wrong.has(Kind::NeverAccepts);
        let delays = self.ports.iter().filter_map(|port| port.waits_until);
        let now = Instant::now();
        let left = delays
            .map(|until| until.saturating_duration_since(now))
            .chain([POLL_INTERVAL])
            .min()
            .unwrap_or(POLL_INTERVAL);
        let waiting = self
            .ports
            .iter_mut()
            .enumerate()
            .filter_map(|(nth, port)| Some((nth, port.transport.as_mut()?)));
        self.listening.wait(waiting, accepts, &self.application.stop, left)
    }
}

impl Listen for Server {
    type Transport = ClientConnection;

    fn accept(&mut self, until: &WaitLimit<'_>) -> Result<ClientConnection, Error> {
        loop {
            until.check().map_err(|stopped| Error::new(Phase::Listen, stopped))?;
            if let Some(peer) = self.next().map_err(|illegal| Error::new(Phase::Listen, illegal))? {
                return Ok(peer);
            }
        }
    }
}

pub(super) struct Port {
    path: PathBuf,
    pub(super) exchange: ConnectPort,
    buffer: [u8; ADVERTISE_LEN],
    pub(super) transport: Option<Link>,
    pub(super) waits_until: Option<Instant>,
}

impl Port {
    pub(super) fn new(address: &str, application: &Application) -> Self {
        let advertise = Advertise {
            runtime_cookie: application.cookie,
            process_id: application.process_id.into(),
            future: 0,
        };
        Self {
            // An address of another form is the path of a socket.
            path: place(address).unwrap_or_else(|_| address.into()),
            exchange: ConnectPort::new(advertise),
            buffer: [0; ADVERTISE_LEN],
            transport: None,
            waits_until: None,
        }
    }

    /// Connects as far as possible without waiting.
    pub(super) fn advance(&mut self, application: &Application) -> Result<(), MisuseError> {
        while !application.stop.is_cancelled() {
            match self.exchange.action() {
                ConnectPortAction::Connect => {
                    self.waits_until = None;
                    match system::connect(&self.path, &application.stop) {
                        Some(transport) => {
                            self.transport = Some(transport);
                            self.exchange.connected(&mut self.buffer)?;
                            self.distort(application);
                        }
                        None => self.exchange.connect_failed()?,
                    }
                }
                ConnectPortAction::Send(range) => {
                    let deadline = Instant::now().checked_add(ConnectPort::ADVERTISE_TIMEOUT);
                    let until = WaitLimit { deadline, canceller: Some(&application.stop) };
                    let cut = application.wrong.bytes(Kind::AdvertiseCut).unwrap_or(usize::MAX);
                    let bytes =
                        self.buffer.get(range.start..range.end.min(cut)).unwrap_or_default();
                    let sent = match &mut self.transport {
                        Some(transport) if !bytes.is_empty() => transport.send(bytes, &until).ok(),
                        _ => None,
                    };
                    if let Some(n) = sent {
                        self.exchange.sent(n)?;
                    } else {
                        self.transport = None;
                        self.exchange.send_failed()?;
                    }
                }
                ConnectPortAction::Wait(delay) => {
                    let now = Instant::now();
                    let until = *self
                        .waits_until
                        .get_or_insert_with(|| now.checked_add(delay).unwrap_or(now));
                    if now < until {
                        return Ok(());
                    }
                    self.waits_until = None;
                    self.exchange.waited()?;
                }
                // The connection is handed over as soon as a request arrives.
                ConnectPortAction::AwaitRequest | ConnectPortAction::HandOver => return Ok(()),
            }
        }
        Ok(())
    }

    fn distort(&mut self, application: &Application) {
        if application.wrong.has(Kind::AdvertiseMagic) {
            // This makes it ADVR_V2.
            self.buffer.get_mut(6).into_iter().for_each(|byte| *byte = b'2');
        }
    }

    /// Takes the connection on which an event occurred.
    pub(super) const fn take(&mut self) -> Option<Link> {
        self.transport.take()
    }
}
