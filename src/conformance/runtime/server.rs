//! The server thread: one connection after another, whatever port it came from (F-75).

use std::os::unix::net::UnixListener;
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};
use std::vec::Vec;

use rustix::event::{PollFd, PollFlags, Timespec, poll};

use super::application::Application;
use super::connection::{self, Left};
use super::misbehaviour::MisbehaviourKind as Kind;
use super::peer::has_hung_up;
use super::ports::Port;
use crate::exchange::Illegal;
use crate::io::UnixTransport;
use crate::port::PortId;

/// How many connections stay open at the most (F-74); the oldest is closed for a newer one.
const MOST_OPEN: usize = 256;
/// How often it is looked whether the clients of those have gone.
const LOOK: Duration = Duration::from_millis(250);
/// How long to wait after a connection that could not be accepted.
const PAUSE: Duration = Duration::from_millis(5);

pub(super) struct ServerThread {
    pub(super) application: Arc<Application>,
    /// Of the default port. Does not block.
    pub(super) listener: UnixListener,
    pub(super) ports: Vec<Port>,
    /// Connections that stay open, though nothing more is said.
    pub(super) open: Vec<UnixTransport>,
    pub(super) sessions: Vec<JoinHandle<()>>,
}

/// What the server thread has to do next.
enum Ready {
    Nothing,
    Default,
    /// The connection of a port, which the tool may have ended.
    Port(usize, bool),
}

impl ServerThread {
    pub(super) fn run(mut self) {
        let done = self.serve();
        debug_assert_eq!(done, Ok(()), "the exchange was asked for something that it did not want");
        for session in self.sessions {
            // One that panicked has said so.
            let _ = session.join();
        }
    }

    fn serve(&mut self) -> Result<(), Illegal> {
        while !self.application.stop.is_cancelled() {
            for port in &mut self.ports {
                port.advance(&self.application)?;
            }
            self.open.retain(|transport| !has_hung_up(transport));
            self.sessions.retain(|session| !session.is_finished());
            let used = match self.ready() {
                Ready::Nothing => continue,
                Ready::Default => {
                    let Ok((stream, _)) = self.listener.accept() else {
                        // A client that has gone again is none; and a system without descriptors is not asked all the time.
                        std::thread::sleep(PAUSE);
                        continue;
                    };
                    let Ok(transport) = UnixTransport::new(stream) else { continue };
                    self.keep(transport, PortId::Default);
                    None
                }
                Ready::Port(nth, has_hung_up) => {
                    let Some(port) = self.ports.get_mut(nth) else { continue };
                    let Some((transport, is_request)) = port.take(has_hung_up) else { continue };
                    if !is_request {
                        // The tool went without a command (F-77).
                        port.exchange.ended()?;
                        for (_, other) in self.ports.iter_mut().enumerate().filter(|(other, _)| *other != nth) {
                            other.exchange.end_elsewhere();
                        }
                        continue;
                    }
                    port.exchange.request_arrived()?;
                    port.exchange.handed_over()?;
                    self.keep(transport, PortId::Configured(nth));
                    Some(nth)
                }
            };
            // P-28.
            for (_, other) in self.ports.iter_mut().enumerate().filter(|(other, _)| Some(*other) != used) {
                other.exchange.reset_delay();
            }
        }
        Ok(())
    }

    fn keep(&mut self, transport: UnixTransport, port: PortId) {
        match connection::serve(&self.application, transport, port) {
            Left::Nothing => {}
            Left::Open(transport) => {
                if self.open.len() >= MOST_OPEN {
                    self.open.remove(0);
                }
                self.open.push(transport);
            }
            Left::Session(session) => self.sessions.push(session),
        }
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
