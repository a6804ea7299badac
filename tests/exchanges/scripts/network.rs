//! Connections in memory with a simulated clock: nothing here waits, and nothing depends on the
//! machine.
//!
//! One side of every connection is the player, the other the side under test, which runs as tasks
//! of an `Executor`. A read or write of the side under test moves as many bytes as [`Chunking`]
//! says. No read may ask for more than what is left of the message it reads (`Frame`), whatever the
//! state machine says.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::rc::Rc;

use dotnet_diagnostics_ipc::exchange::End;
use dotnet_diagnostics_ipc_vectors::script::FdKind;

/// The sizes in which the side under test reads and writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Chunking {
    One,
    All,
    Random(u64),
}

impl Chunking {
    /// How many unread bytes a socket holds: a client has to wait with its request, and to notice
    /// when it fails.
    pub(crate) const fn capacity(self) -> usize {
        match self {
            Self::One => 1,
            Self::All => 8192,
            Self::Random(_) => 11,
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
    pub(crate) chunking: Chunking,
    random: u64,
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
        let random = if let Chunking::Random(seed) = chunking { seed } else { 0 };
        let ports = BTreeMap::new();
        Rc::new(RefCell::new(Self {
            now: 0,
            chunking,
            random,
            progress: 0,
            timers: BTreeSet::new(),
            connections: Vec::new(),
            ports,
            faults: Vec::new(),
        }))
    }

    /// A number up to `most`, by the splitmix64 sequence of the seed.
    pub(crate) fn any_up_to(&mut self, most: usize) -> usize {
        self.random = self.random.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.random;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        1 + usize::try_from((z ^ (z >> 31)) % most as u64).unwrap()
    }

    /// How many of `most` bytes are moved at once.
    pub(crate) fn piece(&mut self, most: usize) -> usize {
        match self.chunking {
            Chunking::One => most.min(1),
            Chunking::All => most,
            // Sometimes a large piece, or a message of 65,535 bytes would take long.
            Chunking::Random(_) if most > 0 => {
                let cap = if self.any_up_to(4) == 1 { most } else { most.min(17) };
                self.any_up_to(cap)
            }
            Chunking::Random(_) => 0,
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
