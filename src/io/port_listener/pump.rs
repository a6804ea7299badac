//! The thread of a port: it accepts, reads advertises, holds connections, and hands them out.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::sync::Arc;
use std::time::{Duration, Instant};
use std::vec::Vec;

use super::ask::{Ask, Giver, Queue};
use super::system::{LISTENER, Room, System};
use super::{PortCounts, PortOptions, RuntimeFilter};
use crate::advertise::{ADVERTISE_LEN, Advertise};
use crate::exchange::diagnostic_port::{
    ConnectionKey, DiagnosticPort, SameCookie, Slot, WaitingConnection,
};
use crate::exchange::{AdvertiseAction, AdvertiseOutcome, AdvertiseReceiver, End};

/// The number of the first connection.
const FIRST: u64 = LISTENER + 1;

/// How many connections are accepted before the others are served.
const AT_ONCE: usize = 64;

/// How long accepting pauses if the system has no descriptors left.
const PAUSE: Duration = Duration::from_millis(50);

pub(super) struct Pump<S: System> {
    system: S,
    queue: Arc<Queue<S::Connection>>,
    options: PortOptions,
    port: DiagnosticPort<Vec<Slot<HoldOutcome<S::Connection>>>>,
    /// In order of arrival, which is also that of their deadlines.
    silent: BTreeMap<u64, Silent<S::Connection>>,
    held: BTreeMap<u64, ConnectionKey>,
    /// The deadlines of held connections.
    held_until: BTreeSet<(Instant, u64)>,
    /// Unanswered questions.
    asks: Vec<Ask<S::Connection>>,
    next_id: u64,
    /// Accepting is paused until then.
    paused: Option<Instant>,
    counts: PortCounts,
}

/// A connection without its advertise.
#[derive(Debug)]
struct Silent<C> {
    connection: C,
    receiver: AdvertiseReceiver,
    bytes: [u8; ADVERTISE_LEN],
    deadline: Option<Instant>,
}

/// A connection with it.
#[derive(Debug)]
struct HoldOutcome<C> {
    id: u64,
    connection: C,
    deadline: Option<Instant>,
}

impl<S: System> Pump<S> {
    pub(super) fn new(
        system: S,
        queue: Arc<Queue<S::Connection>>,
        options: PortOptions,
        seed: u128,
    ) -> io::Result<Self> {
        let port = DiagnosticPort::with_seed(Vec::new(), SameCookie::Replace, seed)
            .map_err(io::Error::other)?;
        Ok(Self {
            system,
            queue,
            options,
            port: port.with_most(options.most_held),
            silent: BTreeMap::new(),
            held: BTreeMap::new(),
            held_until: BTreeSet::new(),
            asks: Vec::new(),
            next_id: FIRST,
            paused: None,
            counts: PortCounts::default(),
        })
    }

    /// Until the queue is closed.
    pub(super) fn run(mut self) {
        // However it ends, no caller waits any longer.
        let queue = CloseOnDrop(Arc::clone(&self.queue));
        let mut ready = Vec::new();
        while self.turn(&mut ready).is_some() {
            ready.clear();
        }
        drop(queue);
    }

    /// Waits, then handles all events; `None` at the end.
    fn turn(&mut self, ready: &mut Vec<u64>) -> Option<()> {
        let timeout =
            self.next_deadline().map(|deadline| deadline.saturating_duration_since(Instant::now()));
        let silent = self.silent.iter().map(|(id, silent)| (*id, &silent.connection));
        let held = self.port.iter().map(|waiting| (waiting.token.id, &waiting.token.connection));
        self.system.wait(silent.chain(held), timeout, ready).ok()?;
        let mut changed = false;
        for id in ready.iter().copied() {
            match id {
                LISTENER => changed |= self.accept(),
                id if self.silent.contains_key(&id) => changed |= self.read(id),
                // A waiting runtime is silent: it has ended.
                id => self.ended(id),
            }
        }
        self.expire();
        let asks = self.queue.take()?;
        if changed || !asks.is_empty() {
            self.asks.extend(asks);
            self.answer();
        }
        Some(())
    }

    fn next_deadline(&self) -> Option<Instant> {
        let silent = self.silent.first_key_value().and_then(|(_, silent)| silent.deadline);
        let held = self.held_until.first().map(|(deadline, _)| *deadline);
        [silent, held, self.paused].into_iter().flatten().min()
    }

    /// Accepts some connections; returns whether a runtime was among them.
    fn accept(&mut self) -> bool {
        let mut advertised = false;
        for _ in 0..AT_ONCE {
            match self.system.accept() {
                Ok(connection) => {
                    self.counts.accepted = self.counts.accepted.saturating_add(1);
                    advertised |= self.begin(connection);
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => break,
                Err(error)
                    if matches!(
                        error.kind(),
                        io::ErrorKind::Interrupted | io::ErrorKind::ConnectionAborted
                    ) => {}
                // Usually no descriptor is left: close the oldest silent connection.
                Err(_) if self.drop_oldest() => {}
                Err(_) => {
                    self.system.pause();
                    self.paused = Instant::now().checked_add(PAUSE);
                    break;
                }
            }
        }
        advertised
    }

    /// Checks a new connection; returns whether it is a runtime's.
    fn begin(&mut self, connection: S::Connection) -> bool {
        let id = self.next_id;
        // Only 2⁶⁴ connections have different numbers.
        self.next_id = id.wrapping_add(1).max(FIRST);
        if self.system.add(&connection, id).is_err() {
            return false;
        }
        let Room { connections, .. } = self.system.room();
        while (self.silent.len() >= self.options.most_silent.max(1)
            || self.silent.len().saturating_add(self.port.len()) >= connections)
            && self.drop_oldest()
        {}
        let deadline = Instant::now().checked_add(self.options.advertise);
        self.silent.insert(
            id,
            Silent {
                connection,
                receiver: AdvertiseReceiver::new(),
                bytes: [0; ADVERTISE_LEN],
                deadline,
            },
        );
        self.read(id)
    }

    /// Reads the available part of an advertise; returns whether it is now complete and held.
    fn read(&mut self, id: u64) -> bool {
        let Some(silent) = self.silent.get_mut(&id) else { return false };
        let outcome = loop {
            let range = match silent.receiver.action() {
                AdvertiseAction::Receive(range) => range,
                AdvertiseAction::Finished(outcome) => break outcome,
            };
            let reported = match self
                .system
                .read(&mut silent.connection, silent.bytes.get_mut(range).unwrap_or_default())
            {
                Ok(0) => silent.receiver.ended(End::Closed),
                Ok(count) => silent.receiver.received(&silent.bytes, count),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return false,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => Ok(()),
                Err(_) => silent.receiver.ended(End::Reset),
            };
            // The receiver asked for it.
            if reported.is_err() {
                break AdvertiseOutcome::Ended { received: 0, end: End::Reset };
            }
        };
        let Some(mut silent) = self.silent.remove(&id) else { return false };
        match outcome {
            AdvertiseOutcome::Advertised(advertise) => {
                self.counts.advertised = self.counts.advertised.saturating_add(1);
                let deadline = self.options.held.and_then(|held| Instant::now().checked_add(held));
                return self
                    .hold(advertise, HoldOutcome { id, connection: silent.connection, deadline });
            }
            AdvertiseOutcome::BadMagic { .. } => {
                self.counts.not_a_runtime = self.counts.not_a_runtime.saturating_add(1);
            }
            AdvertiseOutcome::Ended { .. } => {
                self.counts.ended_early = self.counts.ended_early.saturating_add(1);
            }
        }
        self.close(&mut silent.connection);
        false
    }

    fn hold(&mut self, advertise: Advertise, mut token: HoldOutcome<S::Connection>) -> bool {
        let (id, deadline) = (token.id, token.deadline);
        if self.port.len() >= self.system.room().held
            && self.port.find(advertise.runtime_cookie).is_none()
        {
            self.counts.refused = self.counts.refused.saturating_add(1);
            self.close(&mut token.connection);
            return false;
        }
        if self.system.await_end(&mut token.connection).is_err() {
            self.counts.ended_waiting = self.counts.ended_waiting.saturating_add(1);
            self.close(&mut token.connection);
            return false;
        }
        match self.port.hold(advertise, token) {
            Ok(held) => {
                self.held.insert(id, held.key);
                self.held_until.extend(deadline.map(|deadline| (deadline, id)));
                if let Some(mut replaced) = held.replaced {
                    self.counts.replaced = self.counts.replaced.saturating_add(1);
                    self.forget(&replaced);
                    self.close(&mut replaced.token.connection);
                }
                true
            }
            Err(mut refused) => {
                self.counts.refused = self.counts.refused.saturating_add(1);
                self.close(&mut refused.token.connection);
                false
            }
        }
    }

    /// Stops watching a connection that was taken out of the table.
    fn forget(&mut self, waiting: &WaitingConnection<HoldOutcome<S::Connection>>) {
        let HoldOutcome { id, deadline, .. } = waiting.token;
        self.held.remove(&id);
        if let Some(deadline) = deadline {
            self.held_until.remove(&(deadline, id));
        }
    }

    /// Dropping it closes it.
    fn close(&mut self, connection: &mut S::Connection) {
        // If it has ended, that is fine too.
        let _ = self.system.remove(connection);
    }

    /// A waiting connection has ended.
    fn ended(&mut self, id: u64) {
        if self.hang_up(id) {
            self.counts.ended_waiting = self.counts.ended_waiting.saturating_add(1);
        }
    }

    /// Closes a held connection; returns whether it was held.
    fn hang_up(&mut self, id: u64) -> bool {
        let Some(mut waiting) = self.held.get(&id).copied().and_then(|key| self.port.remove(key))
        else {
            return false;
        };
        self.forget(&waiting);
        self.close(&mut waiting.token.connection);
        true
    }

    fn drop_oldest(&mut self) -> bool {
        let Some((_, mut silent)) = self.silent.pop_first() else { return false };
        self.counts.silent_dropped = self.counts.silent_dropped.saturating_add(1);
        self.close(&mut silent.connection);
        true
    }

    fn expire(&mut self) {
        let now = Instant::now();
        while self
            .silent
            .first_key_value()
            .is_some_and(|(_, silent)| silent.deadline.is_some_and(|deadline| deadline <= now))
        {
            let Some((_, mut silent)) = self.silent.pop_first() else { break };
            self.counts.silent_timed_out = self.counts.silent_timed_out.saturating_add(1);
            self.close(&mut silent.connection);
        }
        while let Some((_, id)) =
            self.held_until.first().copied().filter(|(deadline, _)| *deadline <= now)
        {
            self.held_until.pop_first();
            if self.hang_up(id) {
                self.counts.held_timed_out = self.counts.held_timed_out.saturating_add(1);
            }
        }
        if self.paused.is_some_and(|paused| paused <= now) {
            // If even that fails, it is tried again after another pause.
            self.paused = if self.system.resume() { None } else { now.checked_add(PAUSE) };
        }
    }

    /// Answers all questions that can be answered, in order.
    fn answer(&mut self) {
        for ask in core::mem::take(&mut self.asks) {
            let unanswered = match ask {
                Ask::List(giver) => {
                    let all = self.port.iter().map(|waiting| waiting.advertise).collect();
                    let _ = giver.give(all);
                    None
                }
                Ask::Counts(giver) => {
                    let _ = giver.give(PortCounts {
                        silent: self.silent.len(),
                        held: self.port.len(),
                        ..self.counts
                    });
                    None
                }
                Ask::Find(_, giver) if giver.is_abandoned() => None,
                Ask::Take(_, giver) if giver.is_abandoned() => None,
                Ask::Find(which, giver) => match self.find(&which) {
                    Some((_, advertise)) => {
                        let _ = giver.give(advertise);
                        None
                    }
                    None => Some(Ask::Find(which, giver)),
                },
                Ask::Take(which, giver) => self.hand_out(which, giver),
            };
            self.asks.extend(unanswered);
        }
    }

    /// Hands out a live connection; returns the question if there is none.
    fn hand_out(
        &mut self,
        which: RuntimeFilter,
        giver: Giver<(Advertise, S::Connection)>,
    ) -> Option<Ask<S::Connection>> {
        while let Some(mut waiting) = self.find(&which).and_then(|(key, _)| self.port.remove(key)) {
            self.forget(&waiting);
            if self.system.remove(&mut waiting.token.connection).is_err() {
                self.counts.ended_waiting = self.counts.ended_waiting.saturating_add(1);
                continue;
            }
            let WaitingConnection {
                advertise,
                token: HoldOutcome { id, connection, deadline },
                ..
            } = waiting;
            match giver.give((advertise, connection)) {
                Ok(()) => self.counts.handed_out = self.counts.handed_out.saturating_add(1),
                Err((advertise, connection)) => {
                    self.hold_again(advertise, HoldOutcome { id, connection, deadline });
                }
            }
            return None;
        }
        Some(Ask::Take(which, giver))
    }

    /// The caller has stopped waiting.
    fn hold_again(&mut self, advertise: Advertise, token: HoldOutcome<S::Connection>) {
        if self.system.add(&token.connection, token.id).is_ok() {
            self.hold(advertise, token);
        }
    }

    fn find(&self, which: &RuntimeFilter) -> Option<(ConnectionKey, Advertise)> {
        let found = match which {
            RuntimeFilter::Cookie(cookie) => self.port.find(*cookie),
            which => self.port.iter().find(|waiting| which.is(&waiting.advertise)),
        };
        found.map(|waiting| (waiting.key, waiting.advertise))
    }
}

/// Closes the queue even if the thread panics.
struct CloseOnDrop<C>(Arc<Queue<C>>);

impl<C> Drop for CloseOnDrop<C> {
    fn drop(&mut self) {
        self.0.close();
    }
}

#[cfg(all(test, unix))]
mod tests {
    use std::os::unix::net::{UnixListener, UnixStream};

    use super::*;
    use crate::io::port_listener::readiness::Best;
    use crate::io::port_listener::unix::Sockets;
    use crate::wire::Guid;

    #[test]
    fn connection_not_taken_in_time_is_held_until_it_ends() {
        let directory = tempfile::tempdir().unwrap();
        let listener = UnixListener::bind(directory.path().join("port")).unwrap();
        let (queue, woken) = Queue::new().unwrap();
        let system = Sockets::<Best>::new(listener, woken).unwrap();
        let mut pump = Pump::new(system, Arc::new(queue), PortOptions::DEFAULT, 1).unwrap();
        let (connection, theirs) = UnixStream::pair().unwrap();
        let advertise =
            Advertise { runtime_cookie: Guid::from_bytes([7; 16]), process_id: 7, future: 0 };
        pump.hold_again(advertise, HoldOutcome { id: FIRST, connection, deadline: None });
        assert_eq!(pump.find(&RuntimeFilter::Process(7)).map(|(_, found)| found), Some(advertise));
        assert_eq!(pump.counts.handed_out, 0);
        drop(theirs);
        assert!(pump.turn(&mut Vec::new()).is_some());
        assert_eq!((pump.find(&RuntimeFilter::Any), pump.counts.ended_waiting), (None, 1));
    }
}
