//! Connections in memory with a simulated clock: nothing here waits, and nothing depends on the
//! machine.
//!
//! One side of every connection is the player, the other the side under test, which runs as tasks
//! of an `Executor`. A read or write of the side under test moves as many bytes as [`Chunking`]
//! says. No read may ask for more than what is left of the message it reads (`Frame`), whatever the
//! state machine says.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll, Waker};

use dotnet_diagnostics_ipc::exchange::End;
use dotnet_diagnostics_ipc_vectors::script::FdKind;

/// The sizes in which the side under test reads and writes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Chunking {
    One,
    All,
    Random(u64),
    /// Each decision by a byte; after the last byte, everything is moved at once.
    Chosen(VecDeque<u8>),
}

impl Chunking {
    /// How many unread bytes a socket holds: a client has to wait with its request, and to notice
    /// when it fails.
    pub(crate) const fn capacity(&self) -> usize {
        match self {
            Self::One => 1,
            Self::All => 8192,
            Self::Random(_) | Self::Chosen(_) => 11,
        }
    }
}

/// The default port has no name.
pub(crate) const DEFAULT: &str = "";

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Side {
    Player,
    Tested,
}

impl Side {
    const fn other(self) -> Self {
        match self {
            Self::Player => Self::Tested,
            Self::Tested => Self::Player,
        }
    }
}

/// A byte, and the descriptor attached to it.
type Cell = (u8, Option<FdKind>);

#[derive(Debug, Default)]
pub(crate) struct Pipe {
    pub(crate) cells: VecDeque<Cell>,
    end: Option<End>,
    pub(crate) reader_gone: bool,
}

#[derive(Debug, Default)]
struct Connection {
    /// By the side that writes.
    pipes: [Pipe; 2],
}

#[derive(Debug, Default)]
struct Port {
    listening: bool,
    waiting: VecDeque<usize>,
}

/// All connections of a script.
#[derive(Debug)]
pub(crate) struct Network {
    pub(crate) now: u64,
    chunking: Chunking,
    /// Grows whenever anything moves.
    pub(crate) progress: u64,
    pub(crate) timers: BTreeSet<u64>,
    connections: Vec<Connection>,
    ports: BTreeMap<String, Port>,
    /// Forbidden actions of the side under test.
    pub(crate) faults: Vec<String>,
}

pub(crate) type Net = Rc<RefCell<Network>>;

impl Network {
    pub(crate) fn new(chunking: Chunking) -> Net {
        let ports = BTreeMap::new();
        Rc::new(RefCell::new(Self {
            now: 0,
            chunking,
            progress: 0,
            timers: BTreeSet::new(),
            connections: Vec::new(),
            ports,
            faults: Vec::new(),
        }))
    }

    /// How many unread bytes a socket of the side under test holds.
    pub(crate) fn capacity(&self) -> usize {
        self.chunking.capacity()
    }

    /// A number up to `most`: by the splitmix64 sequence of the seed, or as chosen.
    fn any_up_to(&mut self, most: usize) -> usize {
        match &mut self.chunking {
            Chunking::One | Chunking::All => most,
            Chunking::Random(state) => {
                *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
                let mut z = *state;
                z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
                z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
                1 + usize::try_from((z ^ (z >> 31)) % most as u64).unwrap()
            }
            Chunking::Chosen(bytes) => {
                bytes.pop_front().map_or(most, |byte| 1 + usize::from(byte) % most)
            }
        }
    }

    /// How many of `most` bytes are moved at once.
    pub(crate) fn piece(&mut self, most: usize) -> usize {
        match self.chunking {
            Chunking::One => most.min(1),
            // Sometimes a large piece, or a message of 65,535 bytes would take long.
            Chunking::Random(_) if most > 0 => {
                let cap = if self.any_up_to(4) == 1 { most } else { most.min(17) };
                self.any_up_to(cap)
            }
            Chunking::Chosen(_) if most > 0 => self.any_up_to(most),
            _ => most,
        }
    }

    /// Whether a task lets all others run first.
    fn hesitates(&mut self) -> bool {
        match self.chunking {
            Chunking::One | Chunking::All => false,
            Chunking::Random(_) | Chunking::Chosen(_) => self.any_up_to(3) == 1,
        }
    }

    pub(crate) fn moved(&mut self) {
        self.progress += 1;
    }

    pub(crate) fn listen(&mut self, port: &str, listening: bool) {
        self.ports.entry(port.to_owned()).or_default().listening = listening;
        self.moved();
    }

    /// Ends the connections that were not accepted.
    pub(crate) fn drop_waiting(&mut self, port: &str, listener: Side) {
        let waiting = std::mem::take(&mut self.ports.entry(port.to_owned()).or_default().waiting);
        for id in waiting {
            self.close(id, listener);
        }
    }

    /// A connection needs a listener.
    pub(crate) fn connect(&mut self, port: &str) -> Option<usize> {
        let id = self.connections.len();
        let port = self.ports.get_mut(port).filter(|port| port.listening)?;
        port.waiting.push_back(id);
        self.connections.push(Connection::default());
        self.moved();
        Some(id)
    }

    pub(crate) fn waiting(&self, port: &str) -> usize {
        self.ports.get(port).map_or(0, |port| port.waiting.len())
    }

    pub(crate) fn accept(&mut self, port: &str) -> Option<usize> {
        let id = self.ports.get_mut(port)?.waiting.pop_front()?;
        self.moved();
        Some(id)
    }

    pub(crate) fn outgoing(&mut self, id: usize, side: Side) -> &mut Pipe {
        &mut self.connections[id].pipes[side as usize]
    }

    pub(crate) fn incoming(&mut self, id: usize, side: Side) -> &mut Pipe {
        self.outgoing(id, side.other())
    }

    /// Whether the bytes were sent.
    pub(crate) fn write(
        &mut self,
        id: usize,
        side: Side,
        bytes: &[u8],
        fd: Option<FdKind>,
    ) -> bool {
        let pipe = self.outgoing(id, side);
        if pipe.reader_gone || pipe.end.is_some() {
            return false;
        }
        pipe.cells
            .extend(bytes.iter().enumerate().map(|(nth, byte)| (*byte, fd.filter(|_| nth == 0))));
        self.moved();
        true
    }

    /// Up to `most` bytes with their descriptors; `Err` is the end, `None` that nothing has
    /// arrived.
    pub(crate) fn read(
        &mut self,
        id: usize,
        side: Side,
        most: usize,
    ) -> Option<Result<Vec<Cell>, End>> {
        let pipe = self.incoming(id, side);
        if pipe.cells.is_empty() {
            return pipe.end.map(Err);
        }
        let cells = pipe.cells.drain(..most.min(pipe.cells.len())).collect();
        self.moved();
        Some(Ok(cells))
    }

    pub(crate) fn has_news(&mut self, id: usize, side: Side) -> bool {
        let pipe = self.incoming(id, side);
        !pipe.cells.is_empty() || pipe.end.is_some()
    }

    pub(crate) fn half_close(&mut self, id: usize, side: Side) {
        let pipe = self.outgoing(id, side);
        pipe.end = pipe.end.or(Some(End::Closed));
        self.moved();
    }

    /// As on a Unix socket: a side that closes with bytes unread resets the connection (F-70).
    pub(crate) fn close(&mut self, id: usize, side: Side) {
        let unread = !self.incoming(id, side).cells.is_empty();
        self.finish(id, side, if unread { End::Reset } else { End::Closed });
    }

    pub(crate) fn reset(&mut self, id: usize, side: Side) {
        self.finish(id, side, End::Reset);
    }

    fn finish(&mut self, id: usize, side: Side, end: End) {
        let pipe = self.outgoing(id, side);
        // After a half-close, the end stays as it is, unless bytes are lost.
        if pipe.end.is_none() || end == End::Reset {
            pipe.end = Some(end);
        }
        let pipe = self.incoming(id, side);
        pipe.reader_gone = true;
        pipe.cells.clear();
        self.moved();
    }

    /// The next time at which a task wants to run again.
    pub(crate) fn next_timer(&mut self) -> Option<u64> {
        let now = self.now;
        self.timers.retain(|time| *time > now);
        self.timers.first().copied()
    }
}

/// What may be read from a connection, whatever the side under test asks for.
#[derive(Clone, Debug)]
pub(crate) enum Frame {
    /// A message: 20 bytes, and as many more as its header says.
    Message(Vec<u8>),
    /// This number of bytes.
    Exactly(usize),
    /// A block of this number of bytes; an error message that has begun in it may go beyond (F-43).
    Block(usize, Vec<u8>),
    /// A stream.
    Anything,
}

impl Frame {
    pub(crate) const fn message() -> Self {
        Self::Message(Vec::new())
    }

    fn left(&self) -> usize {
        match self {
            Self::Message(seen) if seen.len() < 20 => 20 - seen.len(),
            Self::Message(seen) => {
                usize::from(u16::from_le_bytes([seen[14], seen[15]])).saturating_sub(seen.len())
            }
            Self::Exactly(left) => *left,
            Self::Block(size, seen) => {
                let last = &seen[seen.len().saturating_sub(23)..];
                let begun = last.windows(4).rposition(|bytes| bytes == b"DOTN");
                (size.saturating_sub(seen.len())).max(begun.map_or(0, |at| at + 24 - last.len()))
            }
            Self::Anything => usize::MAX,
        }
    }

    fn take(&mut self, bytes: &[u8]) {
        match self {
            Self::Message(seen) | Self::Block(_, seen) => seen.extend(bytes),
            Self::Exactly(left) => *left = left.saturating_sub(bytes.len()),
            Self::Anything => {}
        }
    }
}

/// The connection as the side under test has it.
#[derive(Clone)]
pub(crate) struct Socket {
    net: Net,
    id: usize,
    frame: Rc<RefCell<Frame>>,
    capacity: usize,
}

impl Socket {
    /// `capacity` is how many bytes it holds that the peer has not read.
    pub(crate) fn new(net: &Net, id: usize, frame: Frame, capacity: usize) -> Self {
        Self { net: net.clone(), id, frame: Rc::new(RefCell::new(frame)), capacity }
    }

    /// Sets what is read from now on.
    pub(crate) fn begin(&self, frame: Frame) {
        *self.frame.borrow_mut() = frame;
    }

    /// Reads the next bytes to the front of `into`. `patience` is the timeout in milliseconds.
    pub(crate) async fn read(&self, into: &mut [u8], patience: Option<u64>) -> Result<usize, End> {
        let left = self.frame.borrow().left();
        if into.len() > left || into.is_empty() {
            let fault = format!(
                "{} bytes were to be read, and {left} are left of {:?}",
                into.len(),
                self.frame.borrow()
            );
            self.net.borrow_mut().faults.push(fault.chars().take(200).collect());
        }
        hesitate(&self.net).await;
        let cells = within(&self.net, patience, |net| {
            let most = net.piece(into.len());
            net.read(self.id, Side::Tested, most)
        });
        let cells = cells.await.unwrap_or(Err(End::TimedOut))?;
        // A descriptor on bytes that are read without asking for it is lost (F-20).
        for (place, (byte, _)) in into.iter_mut().zip(&cells) {
            *place = *byte;
        }
        self.frame.borrow_mut().take(&into[..cells.len()]);
        Ok(cells.len())
    }

    /// One byte, and the descriptor attached to it.
    pub(crate) async fn read_fd(&self) -> Result<Option<FdKind>, End> {
        let cells = within(&self.net, None, |net| net.read(self.id, Side::Tested, 1))
            .await
            .unwrap_or(Err(End::TimedOut))?;
        Ok(cells[0].1)
    }

    /// How many bytes were sent, after waiting for room. An end is `Reset` if the peer has closed,
    /// or `TimedOut`.
    pub(crate) async fn write(&self, bytes: &[u8], patience: Option<u64>) -> Result<usize, End> {
        hesitate(&self.net).await;
        let written = within(&self.net, patience, |net| {
            let room = self.room(net);
            let n = net.piece(bytes.len().min(room));
            (room > 0).then(|| {
                if net.write(self.id, Side::Tested, &bytes[..n], None) {
                    Ok(n)
                } else {
                    Err(End::Reset)
                }
            })
        });
        written.await.unwrap_or(Err(End::TimedOut))
    }

    /// Sends one byte and its descriptor.
    pub(crate) async fn write_fd(&self, byte: u8, patience: Option<u64>) -> Result<(), End> {
        let written = within(&self.net, patience, |net| {
            (self.room(net) > 0)
                .then(|| net.write(self.id, Side::Tested, &[byte], Some(FdKind::Null)))
        });
        match written.await {
            Some(true) => Ok(()),
            Some(false) => Err(End::Reset),
            None => Err(End::TimedOut),
        }
    }

    /// For how many bytes there is room. A write to a peer that has closed fails at once.
    fn room(&self, net: &mut Network) -> usize {
        let pipe = net.outgoing(self.id, Side::Tested);
        if pipe.reader_gone { usize::MAX } else { self.capacity.saturating_sub(pipe.cells.len()) }
    }

    pub(crate) fn has_news_in(&self, net: &mut Network) -> bool {
        net.has_news(self.id, Side::Tested)
    }

    pub(crate) fn has_bytes(&self) -> bool {
        !self.net.borrow_mut().incoming(self.id, Side::Tested).cells.is_empty()
    }

    /// Whether the peer has closed both directions.
    pub(crate) fn peer_gone_in(&self, net: &mut Network) -> bool {
        net.outgoing(self.id, Side::Tested).reader_gone
    }

    pub(crate) fn peer_gone(&self) -> bool {
        self.peer_gone_in(&mut self.net.borrow_mut())
    }

    pub(crate) fn close(&self) {
        self.net.borrow_mut().close(self.id, Side::Tested);
    }
}

/// Sometimes lets all other tasks run first.
async fn hesitate(net: &Net) {
    let mut first = net.borrow_mut().hesitates();
    poll_fn(|_| {
        if std::mem::take(&mut first) {
            net.borrow_mut().moved();
            return Poll::Pending;
        }
        Poll::Ready(())
    })
    .await;
}

/// Waits until `ready` returns something; `None` after `patience`.
pub(crate) async fn within<T>(
    net: &Net,
    patience: Option<u64>,
    mut ready: impl FnMut(&mut Network) -> Option<T>,
) -> Option<T> {
    let deadline = patience.map(|patience| net.borrow().now + patience);
    poll_fn(|_| {
        let mut net = net.borrow_mut();
        if let Some(it) = ready(&mut net) {
            return Poll::Ready(Some(it));
        }
        match deadline {
            Some(deadline) if net.now >= deadline => {
                net.moved();
                Poll::Ready(None)
            }
            Some(deadline) => {
                net.timers.insert(deadline);
                Poll::Pending
            }
            None => Poll::Pending,
        }
    })
    .await
}

type Task = Pin<Box<dyn Future<Output = ()>>>;

/// New tasks are put here.
#[derive(Clone, Default)]
pub(crate) struct Spawner(Rc<RefCell<Vec<Task>>>);

impl Spawner {
    pub(crate) fn spawn(&self, task: impl Future<Output = ()> + 'static) {
        self.0.borrow_mut().push(Box::pin(task));
    }
}

/// Runs the tasks of the side under test until none of them moves.
pub(crate) struct Executor {
    net: Net,
    spawner: Spawner,
    tasks: Vec<Task>,
}

impl Executor {
    pub(crate) fn new(net: &Net) -> Self {
        Self { net: net.clone(), spawner: Spawner::default(), tasks: Vec::new() }
    }

    pub(crate) fn spawner(&self) -> Spawner {
        self.spawner.clone()
    }

    pub(crate) fn run(&mut self) -> Result<(), String> {
        let mut context = Context::from_waker(Waker::noop());
        for _ in 0..1_000_000 {
            let before = self.net.borrow().progress;
            self.tasks.append(&mut self.spawner.0.borrow_mut());
            self.tasks.retain_mut(|task| task.as_mut().poll(&mut context).is_pending());
            if self.net.borrow().progress == before && self.spawner.0.borrow().is_empty() {
                return Ok(());
            }
        }
        Err("the side under test never rests".to_owned())
    }
}
