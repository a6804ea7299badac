//! The thread of a port: it accepts, reads advertises, holds connections, and hands them out.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::io;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};
use std::time::{Duration, Instant};
use std::vec::Vec;

use super::options::{PortCounts, PortOptions};
#[cfg(unix)]
use super::unix as system;
#[cfg(windows)]
use super::windows as system;
use crate::advertise::{ADVERTISE_LEN, Advertise};
use crate::exchange::{AdvertiseAction, AdvertiseOutcome, AdvertiseReceiver, DiagnosticPort, End};
use crate::wire::Guid;
use system::{Connection, LISTENER, Poller, PollerWaker};

/// How many connections are accepted before the others are served.
const ACCEPTS_AT_ONCE: usize = 64;

/// How long accepting pauses if the system has no descriptors left.
const ACCEPT_PAUSE: Duration = Duration::from_millis(50);

/// How long a runtime whose connection was taken may be busy with the command.
const COMMAND_TIMEOUT: Duration = Duration::from_secs(600);

/// The maximum number of runtimes that are known without a waiting connection.
const MOST_ABSENT: usize = 16_384;

/// State shared by callers and the thread.
pub(super) struct Shared {
    state: Mutex<State>,
    waker: PollerWaker,
}

#[derive(Default)]
pub(super) struct State {
    /// Whether the port and its thread are both alive.
    pub(super) is_open: bool,
    pub(super) runtimes: Runtimes,
    pub(super) counts: PortCounts,
    /// Waits for an event, starting with the oldest.
    pub(super) waits: BTreeMap<u64, Waker>,
    /// Waits for the next connection of a runtime, in the same order.
    requests: BTreeMap<(Guid, u64), Waker>,
    /// Connections by the numbers of the requests that they answer.
    given: HashMap<u64, Connection>,
    /// Runtimes with a new request.
    requested: Vec<Guid>,
    next: u64,
}

impl Shared {
    pub(super) fn new(waker: PollerWaker) -> Self {
        Self { state: Mutex::new(State { is_open: true, ..State::default() }), waker }
    }

    /// Locks the state. A panic of the thread cannot leave it half-changed.
    pub(super) fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Ends the thread, and all waits.
    pub(super) fn close(&self) {
        let mut state = self.lock();
        state.is_open = false;
        let requests = core::mem::take(&mut state.requests);
        let waits = core::mem::take(&mut state.waits);
        drop(state);
        requests.into_values().chain(waits.into_values()).for_each(Waker::wake);
        self.waker.wake();
    }
}

impl State {
    fn number(&mut self) -> u64 {
        self.next = self.next.wrapping_add(1);
        self.next
    }

    pub(super) fn add_wait(&mut self, waker: &Waker) -> u64 {
        let number = self.number();
        self.waits.insert(number, waker.clone());
        number
    }

    /// Returns a wait that an unreported event ends.
    pub(super) fn next_woken(&mut self) -> Option<Waker> {
        if self.runtimes.queue.is_empty() { None } else { self.waits.pop_first() }.map(|(_, it)| it)
    }
}

/// A wait for a connection of a runtime.
pub(super) struct NextConnection<'p> {
    pub(super) shared: &'p Shared,
    pub(super) cookie: Guid,
    /// The number of the request for this wait, if there is one.
    pub(super) request: Option<u64>,
}

impl Future for NextConnection<'_> {
    /// The connection; `None` if the port is closed.
    type Output = Option<Connection>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let mut state = self.shared.lock();
        let given = self.request.and_then(|number| state.given.remove(&number));
        if given.is_some() || !state.is_open {
            return Poll::Ready(given);
        }
        let number = self.request.unwrap_or_else(|| state.number());
        state.requests.insert((self.cookie, number), context.waker().clone());
        if self.request.is_none() {
            state.requested.push(self.cookie);
            self.shared.waker.wake();
        }
        drop(state);
        self.request = Some(number);
        Poll::Pending
    }
}

impl Drop for NextConnection<'_> {
    fn drop(&mut self) {
        let Some(number) = self.request else { return };
        let mut state = self.shared.lock();
        state.requests.remove(&(self.cookie, number));
        let unused = state.given.remove(&number);
        // An unused connection is closed once the state is unlocked.
        drop(state);
        drop(unused);
    }
}

/// The runtimes that a port knows, and their events that were not reported yet. An unreported
/// runtime is known only while its connection waits.
#[derive(Default)]
pub(super) struct Runtimes {
    known: HashMap<Guid, Known>,
    /// Runtimes with an event, in the order of the events.
    queue: BTreeMap<u64, Guid>,
    /// Runtimes without a connection, and when they count as gone.
    absent: BTreeSet<(Instant, Guid)>,
    /// Runtimes that were reported as gone, in the order of the reports.
    gone: BTreeMap<u64, Guid>,
    next: u64,
}

struct Known {
    advertise: Advertise,
    presence: Presence,
    /// The number of the runtime's event in the queue.
    queued: Option<u64>,
    is_reported: bool,
}

#[derive(Clone, Copy)]
enum Presence {
    Waits,
    Absent(Instant),
    Gone(u64),
}

impl Runtimes {
    /// Records a waiting connection of this runtime; returns whether there is room for that.
    fn waits(&mut self, advertise: Advertise, most: usize) -> bool {
        let cookie = advertise.runtime_cookie;
        if self.known.len() >= most && !self.known.contains_key(&cookie) {
            let Some((_, forgotten)) = self.gone.pop_first() else { return false };
            self.known.remove(&forgotten);
        }
        let presence = Presence::Waits;
        let new = Known { advertise, presence, queued: None, is_reported: false };
        self.known.entry(cookie).or_insert(new).advertise = advertise;
        self.change(cookie, presence);
        true
    }

    /// Records that no connection of this runtime waits any longer, and when it counts as gone.
    fn left(&mut self, cookie: Guid, gone: Option<Instant>) {
        let Some(known) = self.known.get(&cookie) else { return };
        match (known.is_reported, known.presence, gone) {
            (false, ..) => {
                self.queue.remove(&known.queued.unwrap_or_default());
                self.known.remove(&cookie);
            }
            (true, Presence::Waits | Presence::Absent(_), Some(gone)) => {
                self.change(cookie, Presence::Absent(gone));
            }
            _ => {}
        }
    }

    fn expire(&mut self, now: Instant) {
        while let Some((_, cookie)) = self.absent.first().copied().filter(|(at, _)| *at <= now) {
            self.next = self.next.wrapping_add(1);
            self.change(cookie, Presence::Gone(self.next));
        }
    }

    fn change(&mut self, cookie: Guid, to: Presence) {
        let Some(known) = self.known.get_mut(&cookie) else { return };
        match core::mem::replace(&mut known.presence, to) {
            Presence::Waits => {}
            Presence::Absent(at) => drop(self.absent.remove(&(at, cookie))),
            Presence::Gone(number) => drop(self.gone.remove(&number)),
        }
        match to {
            Presence::Absent(at) => drop(self.absent.insert((at, cookie))),
            // An older event keeps its place in the queue.
            Presence::Waits | Presence::Gone(_) if known.queued.is_none() => {
                self.next = self.next.wrapping_add(1);
                known.queued = Some(self.next);
                self.queue.insert(self.next, cookie);
            }
            Presence::Waits | Presence::Gone(_) => {}
        }
    }

    pub(super) fn next_event(&mut self) -> Option<(EventKind, Advertise)> {
        let (_, cookie) = self.queue.pop_first()?;
        let known = self.known.get_mut(&cookie)?;
        known.queued = None;
        let what = match (known.presence, core::mem::replace(&mut known.is_reported, true)) {
            (Presence::Gone(number), _) => {
                self.gone.insert(number, cookie);
                EventKind::Gone
            }
            (_, true) => EventKind::Again,
            (_, false) => EventKind::New,
        };
        Some((what, known.advertise))
    }
}

/// The kind of a [`PortEvent`](super::PortEvent).
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum EventKind {
    New,
    Again,
    Gone,
}

pub(super) struct PortThread {
    poller: Poller,
    shared: Arc<Shared>,
    options: PortOptions,
    /// Connections in order of arrival, which is also the order of their deadlines.
    silent: BTreeMap<u64, Silent>,
    /// Connections in order of arrival.
    held: BTreeMap<u64, Held>,
    /// The numbers of the connections in `held`.
    port: DiagnosticPort<'static, u64>,
    next: u64,
    /// The end of the pause in accepting.
    paused: Option<Instant>,
    /// When the next runtime counts as gone.
    next_gone: Option<Instant>,
    /// Wakers to use once the state is unlocked.
    woken: Vec<Waker>,
}

/// A connection without its advertise.
struct Silent {
    connection: Connection,
    receiver: AdvertiseReceiver,
    bytes: [u8; ADVERTISE_LEN],
    since: Instant,
}

/// A connection with its advertise.
struct Held {
    connection: Connection,
    cookie: Guid,
    since: Instant,
}

fn add(count: &mut u64) {
    *count = count.saturating_add(1);
}

impl PortThread {
    pub(super) fn new(poller: Poller, shared: Arc<Shared>, options: PortOptions) -> Self {
        Self {
            poller,
            shared,
            options,
            silent: BTreeMap::new(),
            held: BTreeMap::new(),
            port: DiagnosticPort::sorted(options.most_held as usize),
            next: LISTENER,
            paused: None,
            next_gone: None,
            woken: Vec::new(),
        }
    }

    /// Runs until the port is closed.
    pub(super) fn run(mut self) {
        let mut ready = Vec::new();
        while self.turn(&mut ready).is_some() {
            ready.clear();
        }
    }

    /// Waits, then handles all events; `None` at the end.
    fn turn(&mut self, ready: &mut Vec<u64>) -> Option<()> {
        let timeout =
            self.next_deadline().map(|deadline| deadline.saturating_duration_since(Instant::now()));
        let silent = self.silent.iter().map(|(id, silent)| (*id, &silent.connection));
        let held = self.held.iter().map(|(id, held)| (*id, &held.connection));
        self.poller.wait(silent.chain(held), timeout, ready).ok()?;
        let shared = Arc::clone(&self.shared);
        let mut state = shared.lock();
        if !state.is_open {
            return None;
        }
        for id in ready.iter().copied() {
            if id == LISTENER {
                self.accept(&mut state);
            } else if self.silent.contains_key(&id) {
                self.read(&mut state, id);
            } else if self.hang_up(&mut state, id) {
                // A waiting runtime sends nothing, so it has ended.
                add(&mut state.counts.ended_waiting);
            }
        }
        self.expire(&mut state, Instant::now());
        for cookie in core::mem::take(&mut state.requested) {
            self.hand_out(&mut state, cookie);
        }
        (state.counts.silent, state.counts.held) = (self.silent.len(), self.held.len());
        self.next_gone = state.runtimes.absent.first().map(|(at, _)| *at);
        for _ in 0..state.runtimes.queue.len().min(state.waits.len()) {
            self.woken.extend(state.next_woken());
        }
        drop(state);
        self.woken.drain(..).for_each(Waker::wake);
        Some(())
    }

    fn next_deadline(&self) -> Option<Instant> {
        let silent = self.silent.first_key_value();
        let silent = silent.and_then(|(_, it)| it.since.checked_add(self.options.advertise));
        let held = self.held.first_key_value().and_then(|(_, it)| self.held_until(it));
        [silent, held, self.paused, self.next_gone].into_iter().flatten().min()
    }

    fn held_until(&self, held: &Held) -> Option<Instant> {
        self.options.held.and_then(|most| held.since.checked_add(most))
    }

    fn accept(&mut self, state: &mut State) {
        for _ in 0..ACCEPTS_AT_ONCE {
            match self.poller.accept() {
                Ok(connection) => {
                    add(&mut state.counts.accepted);
                    self.begin(state, connection);
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => break,
                Err(error)
                    if matches!(
                        error.kind(),
                        io::ErrorKind::Interrupted | io::ErrorKind::ConnectionAborted
                    ) => {}
                // Usually no descriptor is left: close the oldest silent connection.
                Err(_) if self.drop_oldest(state) => {}
                Err(_) => {
                    self.poller.pause();
                    self.paused = Instant::now().checked_add(ACCEPT_PAUSE);
                    break;
                }
            }
        }
    }

    fn begin(&mut self, state: &mut State, connection: Connection) {
        // The numbers repeat only after 2⁶⁴ connections.
        self.next = self.next.wrapping_add(1).max(LISTENER + 1);
        let id = self.next;
        if self.poller.add(&connection, id).is_err() {
            return;
        }
        let most = system::most_connections();
        while (self.silent.len() >= self.options.most_silent.max(1)
            || self.silent.len().saturating_add(self.held.len()) >= most)
            && self.drop_oldest(state)
        {}
        let silent = Silent {
            connection,
            receiver: AdvertiseReceiver::new(),
            bytes: [0; ADVERTISE_LEN],
            since: Instant::now(),
        };
        self.silent.insert(id, silent);
        self.read(state, id);
    }

    /// Reads the available part of an advertise, and holds the connection once it is complete.
    fn read(&mut self, state: &mut State, id: u64) {
        let Some(silent) = self.silent.get_mut(&id) else { return };
        let outcome = loop {
            let range = match silent.receiver.action() {
                AdvertiseAction::Receive(range) => range,
                AdvertiseAction::Finished(outcome) => break outcome,
            };
            let into = silent.bytes.get_mut(range).unwrap_or_default();
            let reported = match system::read(&mut silent.connection, into) {
                Ok(0) => silent.receiver.ended(End::Closed),
                Ok(count) => silent.receiver.received(&silent.bytes, count),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => Ok(()),
                Err(_) => silent.receiver.ended(End::Reset),
            };
            // This cannot fail, because the receiver asked for the bytes.
            if reported.is_err() {
                break AdvertiseOutcome::Ended { received: 0, end: End::Reset };
            }
        };
        let Some(Silent { connection, since, .. }) = self.silent.remove(&id) else { return };
        match outcome {
            AdvertiseOutcome::Advertised(advertise) => {
                add(&mut state.counts.advertised);
                let cookie = advertise.runtime_cookie;
                self.hold(state, advertise, id, Held { connection, cookie, since });
                return self.hand_out(state, cookie);
            }
            AdvertiseOutcome::BadMagic { .. } => add(&mut state.counts.not_a_runtime),
            AdvertiseOutcome::Ended { .. } => add(&mut state.counts.ended_early),
        }
        self.close(connection);
    }

    fn hold(&mut self, state: &mut State, advertise: Advertise, id: u64, mut held: Held) {
        let cookie = held.cookie;
        let is_held = self.port.find(cookie).is_some();
        let most = system::most_held().min(self.options.most_held as usize);
        let is_full = !is_held && self.held.len() >= most;
        let most_known = MOST_ABSENT.saturating_add(self.options.most_held as usize);
        if !is_full && system::await_end(&mut held.connection).is_err() {
            add(&mut state.counts.ended_waiting);
        } else if is_full || !state.runtimes.waits(advertise, most_known) {
            add(&mut state.counts.refused);
        } else {
            self.held.insert(id, held);
            // This cannot fail, because there is room.
            let replaced = self.port.hold(advertise, id).ok().flatten();
            if let Some(replaced) = replaced.and_then(|waiting| self.held.remove(&waiting.token)) {
                add(&mut state.counts.replaced);
                self.close(replaced.connection);
            }
            return;
        }
        self.close(held.connection);
        // The runtime has not ended: it may connect again.
        if !is_held {
            state.runtimes.left(cookie, Instant::now().checked_add(self.options.reconnect));
        }
    }

    /// Stops watching a connection, and closes it.
    fn close(&mut self, mut connection: Connection) {
        // An error means that the connection has ended, which is fine.
        let _ = self.poller.remove(&mut connection);
    }

    /// Removes a connection from those that are held.
    fn unhold(&mut self, id: u64) -> Option<Held> {
        let held = self.held.remove(&id)?;
        self.port.take(held.cookie).map(|_| held)
    }

    /// Closes a held connection; returns whether it was held.
    fn hang_up(&mut self, state: &mut State, id: u64) -> bool {
        let Some(held) = self.unhold(id) else { return false };
        self.close(held.connection);
        state.runtimes.left(held.cookie, Instant::now().checked_add(self.options.reconnect));
        true
    }

    fn drop_oldest(&mut self, state: &mut State) -> bool {
        let Some((_, silent)) = self.silent.pop_first() else { return false };
        add(&mut state.counts.silent_dropped);
        self.close(silent.connection);
        true
    }

    fn expire(&mut self, state: &mut State, now: Instant) {
        while let Some(oldest) = self.silent.first_entry().filter(|oldest| {
            let deadline = oldest.get().since.checked_add(self.options.advertise);
            deadline.is_some_and(|deadline| deadline <= now)
        }) {
            let silent = oldest.remove();
            add(&mut state.counts.silent_timed_out);
            self.close(silent.connection);
        }
        while let Some(id) = self
            .held
            .first_key_value()
            .filter(|(_, held)| self.held_until(held).is_some_and(|deadline| deadline <= now))
            .map(|(id, _)| *id)
        {
            self.hang_up(state, id);
            add(&mut state.counts.held_timed_out);
        }
        if self.paused.is_some_and(|paused| paused <= now) {
            // If even that fails, it is tried again after another pause.
            self.paused = if self.poller.resume() { None } else { now.checked_add(ACCEPT_PAUSE) };
        }
        state.runtimes.expire(now);
    }

    /// Gives a runtime's connection to the first caller that waits for it.
    fn hand_out(&mut self, state: &mut State, cookie: Guid) {
        let Some(id) = self.port.find(cookie).map(|waiting| waiting.token) else { return };
        let first = state.requests.range((cookie, 0)..=(cookie, u64::MAX)).next();
        let Some(request) = first.map(|(request, _)| *request) else { return };
        let Some(mut held) = self.unhold(id) else { return };
        let may_take = if self.poller.remove(&mut held.connection).is_ok() {
            self.woken.extend(state.requests.remove(&request));
            state.given.insert(request.1, held.connection);
            add(&mut state.counts.handed_out);
            COMMAND_TIMEOUT
        } else {
            add(&mut state.counts.ended_waiting);
            self.options.reconnect
        };
        state.runtimes.left(cookie, Instant::now().checked_add(may_take));
    }
}

/// Ends all waits of callers, however the thread ends.
impl Drop for PortThread {
    fn drop(&mut self) {
        self.shared.close();
    }
}

#[cfg(test)]
mod tests {
    use super::EventKind::{Again, Gone, New};
    use super::*;

    /// A table that remembers at most this many runtimes.
    struct Table(Runtimes, Instant, usize);

    impl Table {
        fn new(most: usize) -> Self {
            Self(Runtimes::default(), Instant::now(), most)
        }

        fn cookie(number: u64) -> Guid {
            Guid::from_bytes(u128::from(number).to_be_bytes())
        }

        fn waits(&mut self, number: u64) -> bool {
            let runtime_cookie = Self::cookie(number);
            self.0.waits(Advertise { runtime_cookie, process_id: number, future: 0 }, self.2)
        }

        /// Records that this runtime left, and is gone this many seconds after the start.
        fn left(&mut self, number: u64, gone: u64) {
            self.0.left(Self::cookie(number), Some(self.1 + Duration::from_secs(gone)));
        }

        fn expire(&mut self, seconds: u64) {
            self.0.expire(self.1 + Duration::from_secs(seconds));
        }

        /// Returns all events, by process id.
        fn events(&mut self) -> Vec<(EventKind, u64)> {
            let next = || self.0.next_event().map(|(what, advertise)| (what, advertise.process_id));
            core::iter::from_fn(next).collect()
        }

        /// Returns how many entries each collection has.
        fn sizes(&self) -> [usize; 4] {
            let Runtimes { known, queue, absent, gone, .. } = &self.0;
            [known.len(), queue.len(), absent.len(), gone.len()]
        }
    }

    #[test]
    fn ten_thousand_runtimes_are_each_new_once_in_order() {
        let mut table = Table::new(10_000);
        // The second connection of an unreported runtime adds no second event.
        assert!((0..10_000).all(|number| table.waits(number) && table.waits(number)));
        assert_eq!(table.sizes(), [10_000, 10_000, 0, 0]);
        assert!(table.events().into_iter().eq((0..10_000).map(|number| (New, number))));
        (0..10_000).for_each(|number| table.left(number, 600));
        assert_eq!(table.sizes(), [10_000, 0, 10_000, 0]);
        assert!((0..10_000).rev().all(|number| table.waits(number)));
        assert!(table.events().into_iter().eq((0..10_000).rev().map(|number| (Again, number))));
    }

    #[test]
    fn runtime_is_gone_after_its_time_unless_it_returns() {
        let mut table = Table::new(10);
        assert!(table.waits(1) && table.waits(2) && table.waits(3));
        assert_eq!(table.events(), [(New, 1), (New, 2), (New, 3)]);
        table.left(1, 5);
        table.left(2, 5);
        table.left(3, 600);
        table.expire(4);
        assert_eq!(table.events(), []);
        assert!(table.waits(2));
        table.expire(5);
        assert_eq!(table.events(), [(Again, 2), (Gone, 1)]);
        // A runtime that was refused has more time, but one that is gone stays so.
        table.left(3, 900);
        table.left(1, 901);
        table.expire(899);
        assert_eq!(table.events(), []);
        table.expire(902);
        assert_eq!(table.events(), [(Gone, 3)]);
        // It returns after all. A runtime that returns before its end was reported was never gone.
        assert!(table.waits(3));
        table.left(2, 910);
        table.expire(910);
        assert!(table.waits(2));
        assert_eq!(table.events(), [(Again, 3), (Again, 2)]);
    }

    #[test]
    fn unreported_runtime_that_ends_is_forgotten() {
        let mut table = Table::new(10);
        for number in 0..100_000 {
            assert!(table.waits(number));
            table.left(number, 5);
        }
        assert_eq!(table.sizes(), [0; 4]);
        assert!(table.waits(7));
        assert_eq!(table.events(), [(New, 7)]);
    }

    #[test]
    fn memory_is_bounded_and_oldest_gone_are_forgotten() {
        let mut table = Table::new(100);
        for number in 0..100_000 {
            assert!(table.waits(number));
            assert_eq!(table.events(), [(New, number)]);
            table.left(number, number);
            table.expire(number);
            assert_eq!(table.events(), [(Gone, number)]);
        }
        assert_eq!(table.sizes(), [100, 0, 0, 100]);
        assert!(table.waits(99_950) && table.waits(5));
        assert_eq!(table.events(), [(Again, 99_950), (New, 5)]);
        // If no runtime is gone, one more is refused.
        assert!((0..98).all(|number| table.waits(200_000 + number)));
        assert!(!table.waits(300_000) && table.waits(5));
        assert_eq!(table.0.known.len(), 100);
    }
}
