//! Where connections come from: one after another, whatever port it is (F-75).

use std::os::unix::net::UnixListener;
use std::sync::Arc;
use std::time::{Duration, Instant};
use std::vec::Vec;

use rustix::event::{PollFd, PollFlags, Timespec, poll};

use super::answers::Answers;
use super::application::Application;
use super::misbehaviour::MisbehaviourKind as Kind;
use super::peer::{Peer, has_hung_up};
use super::ports::Port;
use crate::exchange::MisuseError;
use crate::io::server::{Listen, ServeOptions, serve_each};
use crate::io::{Error, Phase, UnixTransport, Until};
use crate::port::PortId;

/// How often it is looked whether the clients of connections that stay open have gone.
const LOOK: Duration = Duration::from_millis(250);
/// How long to wait after a connection that could not be accepted.
const PAUSE: Duration = Duration::from_millis(5);

pub(super) struct Server {
    pub(super) application: Arc<Application>,
    /// Of the default port. Does not block.
    pub(super) listener: UnixListener,
    pub(super) ports: Vec<Port>,
}

/// What the server thread has to do next.
enum Ready {
    Nothing,
    Default,
    /// The connection of a port, which the tool may have ended.
    Port(usize, bool),
}

impl Server {
    /// Serves one connection after another; a session has a thread of its own once its reply is sent.
    pub(super) fn run(self) {
        let application = Arc::clone(&self.application);
        let options = ServeOptions {
            exchange: application.profile.options(),
            // F-6.
            request: None,
            send: None,
            stream: None,
            most_at_once: 1,
            // The application counts them: one that was stopped is none, though its connection lasts.
            most_sessions: usize::MAX,
        };
        let done = serve_each(self, Peer::answers, &options, &application.stop);
        debug_assert!(done.is_ok(), "the exchange was asked for something that it did not want");
    }

    /// The next connection, if something happened.
    fn next(&mut self) -> Result<Option<Peer>, MisuseError> {
        for port in &mut self.ports {
            port.advance(&self.application)?;
        }
        self.application.state().open.retain(|fd| !has_hung_up(fd));
        let (transport, port, used) = match self.ready() {
            Ready::Nothing => return Ok(None),
            Ready::Default => {
                let Ok((stream, _)) = self.listener.accept() else {
                    // A client that has gone again is none; and a system without descriptors is not asked all the time.
                    std::thread::sleep(PAUSE);
                    return Ok(None);
                };
                let Ok(transport) = UnixTransport::new(stream) else { return Ok(None) };
                (transport, PortId::Default, None)
            }
            Ready::Port(nth, has_hung_up) => {
                let Some(port) = self.ports.get_mut(nth) else { return Ok(None) };
                let Some((transport, is_request)) = port.take(has_hung_up) else { return Ok(None) };
                if !is_request {
                    // The tool went without a command (F-77).
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

    /// The ports but for this one.
    fn others(&mut self, but: Option<usize>) -> impl Iterator<Item = &mut Port> {
        self.ports.iter_mut().enumerate().filter(move |(nth, _)| Some(*nth) != but).map(|(_, port)| port)
    }

    /// Waits until there is something to do.
    fn ready(&self) -> Ready {
        let accepts = !self.application.wrong.has(Kind::NeverAccepts);
        let listener = if accepts { PollFlags::IN } else { PollFlags::empty() };
        let mut fds = std::vec![
            PollFd::from_borrowed_fd(self.application.stop.wake(), PollFlags::IN),
            PollFd::new(&self.listener, listener),
        ];
        let waiting = || self.ports.iter().enumerate().filter_map(|(nth, port)| Some((nth, port.transport.as_ref()?)));
        fds.extend(waiting().map(|(_, transport)| PollFd::new(transport, PollFlags::IN)));
        let delays = self.ports.iter().filter_map(|port| port.waits_until);
        let now = Instant::now();
        let left = delays.map(|until| until.saturating_duration_since(now)).chain([LOOK]).min().unwrap_or(LOOK);
        // Not before the delay is over.
        let left = left.saturating_add(Duration::from_micros(50));
        let timeout = Timespec { tv_sec: 0, tv_nsec: left.subsec_nanos().into() };
        // A signal is nothing to do.
        if !matches!(poll(&mut fds, Some(&timeout)), Ok(n) if n > 0) {
            return Ready::Nothing;
        }
        let mut events = fds.iter().map(PollFd::revents).skip(1);
        let default = events.next().is_some_and(|events| events.contains(PollFlags::IN));
        // The ports first: of a client that asks again and again, nobody else would get a word in otherwise.
        let port = waiting().zip(events).find(|(_, events)| !events.is_empty());
        match port {
            Some(((nth, _), events)) => Ready::Port(nth, events.contains(PollFlags::HUP)),
            None if default => Ready::Default,
            None => Ready::Nothing,
        }
    }
}

impl Listen for Server {
    type Transport = Peer;

    fn accept(&mut self, until: &Until<'_>) -> Result<Peer, Error> {
        loop {
            until.check().map_err(|stopped| stopped.during(Phase::Listen))?;
            if let Some(peer) = self.next().map_err(|illegal| Error::new(Phase::Listen, illegal))? {
                return Ok(peer);
            }
        }
    }
}
