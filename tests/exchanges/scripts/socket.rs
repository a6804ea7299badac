//! The connection as the side under test has it.

use std::cell::RefCell;
use std::future::poll_fn;
use std::rc::Rc;
use std::task::Poll;

use dotnet_diagnostics_ipc::exchange::End;
use dotnet_diagnostics_ipc_vectors::script::FdKind;

use crate::scripts::executor::within;
use crate::scripts::network::{Chunking, Net, Network, Side};

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

    /// The same with one byte and its descriptor.
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
    let mut first = {
        let mut net = net.borrow_mut();
        matches!(net.chunking, Chunking::Random(_)) && net.any_up_to(3) == 1
    };
    poll_fn(|_| {
        if std::mem::take(&mut first) {
            net.borrow_mut().moved();
            return Poll::Pending;
        }
        Poll::Ready(())
    })
    .await;
}
