//! The diagnostic ports to which the reference runtime connects.

use std::path::PathBuf;
use std::time::Instant;

use dotnet_diagnostics_ipc::advertise::{ADVERTISE_LEN, Advertise};
use dotnet_diagnostics_ipc::exchange::{ConnectPort, ConnectPortAction, MisuseError};
use dotnet_diagnostics_ipc::io::{Transport as _, WaitLimit};

use super::application::Application;
use super::misbehaviour::MisbehaviourKind as Kind;
use super::system::{self, Link};

/// A configured port and its connection.
pub(super) struct Port {
    path: PathBuf,
    pub(super) exchange: ConnectPort,
    buffer: [u8; ADVERTISE_LEN],
    pub(super) transport: Option<Link>,
    /// When a delay is over.
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
            path: PathBuf::from(address.to_owned()),
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
                // It is handed over as soon as a request arrives.
                ConnectPortAction::AwaitRequest | ConnectPortAction::HandOver => return Ok(()),
            }
        }
        Ok(())
    }

    fn distort(&mut self, application: &Application) {
        if application.wrong.has(Kind::AdvertiseMagic) {
            // ADVR_V2.
            self.buffer.get_mut(6).into_iter().for_each(|byte| *byte = b'2');
        }
    }

    /// Takes the connection, on which an event occurred.
    pub(super) const fn take(&mut self) -> Option<Link> {
        self.transport.take()
    }
}
