//! Forwards between clients and a runtime.

use std::collections::VecDeque;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::time::{Duration, Instant};
use std::{io, thread};

use dotnet_diagnostics_ipc::command::Command;
use dotnet_diagnostics_ipc::header::{HEADER_LEN, RawHeader};
use dotnet_diagnostics_ipc::io::fd::{self, without_signal};
use dotnet_diagnostics_ipc::io::{Canceller, Connect as _, Endpoint, ErrorKind, WaitLimit};
use dotnet_diagnostics_ipc_vectors::Direction;
use dotnet_diagnostics_ipc_vectors::script::Ending;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::net::Shutdown;

use super::recording::{Log, Recording, Witness};
use crate::network::{Listener, advised, has_hung_up, kind_of, sends_no_more};

/// The time limit for connecting to the other side.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);
/// The interval for connecting to a tool that does not listen yet.
const RETRY_INTERVAL: Duration = Duration::from_millis(50);

/// How many times a failing accept is retried.
const MAX_ACCEPT_ATTEMPTS: u32 = 100;

/// Accepts connections, opens one to the other side for each of them, and forwards bytes,
/// descriptors and ends.
///
/// ```no_run
/// use diagipc::network::Listener;
/// use diagipc::record::Proxy;
/// use dotnet_diagnostics_ipc::io::{Canceller, Endpoint};
///
/// let listener = Listener::bind("/tmp/proxy")?;
/// let proxy = Proxy { records: true, ..Proxy::new(listener, Endpoint::process(12345)) };
/// let recording = proxy.run(&Canceller::new()?, Some(1), &|summary| eprintln!("{} bytes", summary.client))?;
/// println!("{} connections", recording.conversation.connections.len());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Proxy {
    /// The listener that clients connect to.
    pub listener: Listener,
    /// The endpoint at which the runtime listens.
    pub to: Endpoint,
    /// Whether the roles are reversed: runtimes connect to `listener` as their diagnostic port, and
    /// a tool listens at `to`.
    pub runtime_connects: bool,
    /// Whether the messages are recorded.
    pub records: bool,
    /// Receives every event, whether or not it is recorded.
    pub witness: Option<Witness>,
    /// Stops accepting connections. The proxy continues until the open connections have ended.
    pub closing: Option<Canceller>,
}

impl Proxy {
    /// Returns a proxy that forwards from `listener` to a runtime at `to`, and records nothing.
    pub const fn new(listener: Listener, to: Endpoint) -> Self {
        Self { listener, to, runtime_connects: false, records: false, witness: None, closing: None }
    }

    /// Forwards until `connections` have been served, or until cancellation. Calls `told` for each
    /// finished connection.
    ///
    /// # Errors
    /// Returns an error if accepting fails.
    pub fn run(
        &self,
        canceller: &Canceller,
        connections: Option<u64>,
        told: &(dyn Fn(&ConnectionSummary) + Sync),
    ) -> io::Result<Recording> {
        let began = Instant::now();
        let log = Log::of_proxy(self.runtime_connects, self.records, self.witness.clone());
        let until = WaitLimit {
            deadline: None,
            canceller: Some(self.closing.as_ref().unwrap_or(canceller)),
        };
        let accepted: io::Result<()> = thread::scope(|scope| {
            let (mut number, mut failures) = (0_u64, 0);
            while connections.is_none_or(|most| number < most) && !canceller.is_cancelled() {
                let stream = match self.listener.accept_now() {
                    Ok(stream) => stream,
                    Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                    Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                        match until.readable(&self.listener) {
                            Ok(()) => continue,
                            Err(ErrorKind::Io(error)) => return Err(error),
                            // Clients that connected before cancellation are accepted.
                            Err(_) => return Ok(()),
                        }
                    }
                    // Too many files may be open for a while.
                    Err(_) if failures < MAX_ACCEPT_ATTEMPTS => {
                        failures += 1;
                        thread::sleep(RETRY_INTERVAL);
                        continue;
                    }
                    Err(error) => return Err(error),
                };
                failures = 0;
                number += 1;
                let log = &log;
                thread::Builder::new().spawn_scoped(scope, move || {
                    told(&self.forward(stream, number, began, log, canceller));
                })?;
            }
            Ok(())
        });
        accepted.map(|()| log.take())
    }

    fn forward(
        &self,
        accepted: OwnedFd,
        number: u64,
        began: Instant,
        log: &Log,
        canceller: &Canceller,
    ) -> ConnectionSummary {
        let connection = if self.records || self.witness.is_some() { log.opened() } else { None };
        let mut summary =
            ConnectionSummary { number, began: began.elapsed(), ..ConnectionSummary::default() };
        let relayed = self.other_side(&accepted, canceller).and_then(|other| {
            let (client, runtime) =
                if self.runtime_connects { (other, accepted) } else { (accepted, other) };
            relay(&client, &runtime, log, connection, canceller, &mut summary)
                .map_err(|error| error.to_string())
        });
        if let Err(why) = relayed {
            // A connection that was opened is closed without a message.
            log.ended(
                connection,
                if self.runtime_connects { Direction::Client } else { Direction::Server },
                Ending::Close,
            );
            summary.trouble = Some(why);
        }
        summary.over = began.elapsed();
        summary
    }

    fn other_side(&self, accepted: &OwnedFd, canceller: &Canceller) -> Result<OwnedFd, String> {
        loop {
            let until = WaitLimit {
                deadline: Instant::now().checked_add(CONNECT_TIMEOUT),
                canceller: Some(canceller),
            };
            let connected = self.to.connect(&until);
            match connected {
                Ok(transport) => {
                    return Ok(transport.into());
                }
                // A rejected runtime would reconnect immediately and repeatedly (F-77), so it is
                // held until the tool listens.
                Err(_)
                    if self.runtime_connects
                        && !canceller.is_cancelled()
                        && !has_hung_up(accepted) =>
                {
                    thread::sleep(RETRY_INTERVAL);
                }
                Err(error) => return Err(advised(&error)),
            }
        }
    }
}

/// How often a socket is polled in which a byte was left.
const POLL_INTERVAL: Timespec = Timespec { tv_sec: 0, tv_nsec: 2_000_000 };

struct Way {
    from: Direction,
    /// The bytes not yet forwarded, from one read at most.
    pieces: VecDeque<Piece>,
    /// How many bytes of the first piece were forwarded.
    sent: usize,
    ended: Option<Ending>,
    told: bool,
    /// Whether the other side no longer accepts data.
    refused: bool,
    /// How many bytes that were already read are still in the socket.
    lag: usize,
    /// The number of bytes read, and the first of them.
    taken: u64,
    first: Vec<u8>,
}

/// A summary of a finished connection.
#[derive(Clone, Debug, Default)]
pub struct ConnectionSummary {
    /// The number, from 1.
    pub number: u64,
    /// When it began, counted from the start of the proxy.
    pub began: Duration,
    /// When it ended, counted from the start of the proxy.
    pub over: Duration,
    /// The client's command, if one was sent.
    pub command: Option<Command>,
    /// How many bytes the client sent.
    pub client: u64,
    /// How many bytes the runtime sent.
    pub runtime: u64,
    /// Who ended it first, and how; `None` on cancellation.
    pub ended: Option<(Direction, Ending)>,
    /// Why it failed, or ended early.
    pub trouble: Option<String>,
}

/// Forwards until both sides have ended, or one has closed, or until cancellation. Fills `summary`.
///
/// # Errors
/// Returns an error if the system cannot wait.
fn relay(
    client: &OwnedFd,
    runtime: &OwnedFd,
    log: &Log,
    connection: Option<usize>,
    canceller: &Canceller,
    summary: &mut ConnectionSummary,
) -> io::Result<()> {
    for stream in [client, runtime] {
        rustix::io::ioctl_fionbio(stream, true)?;
        // If this fails, the peer has closed, and only its bytes matter.
        let _ = without_signal(stream);
    }
    let (mut there, mut back) = (Way::new(Direction::Client), Way::new(Direction::Server));
    let by_reset = loop {
        if canceller.is_cancelled() {
            break false;
        }
        let progress = there.step(client, runtime, log, connection, &mut summary.ended)?
            | back.step(runtime, client, log, connection, &mut summary.ended)?;
        if let Some(how) = [&there, &back].into_iter().find_map(Way::is_closed) {
            break how == Ending::Reset;
        }
        if there.told && back.told {
            break false;
        }
        if !progress {
            wait(client, runtime, &there, &back, canceller)?;
        }
    };
    if !by_reset {
        // An unread byte would make the client see a reset.
        discard(client.as_fd());
    }
    summary.command = RawHeader::read(&there.first).command;
    (summary.client, summary.runtime) = (there.taken, back.taken);
    Ok(())
}

fn wait(
    client: &OwnedFd,
    runtime: &OwnedFd,
    there: &Way,
    back: &Way,
    canceller: &Canceller,
) -> io::Result<()> {
    let mut fds = Vec::from([PollFd::new(canceller, PollFlags::IN)]);
    for (stream, incoming, outgoing) in [(client, there, back), (runtime, back, there)] {
        let mut flags = PollFlags::empty();
        if incoming.wants_more() {
            flags |= PollFlags::IN;
        }
        if !outgoing.pieces.is_empty() {
            flags |= PollFlags::OUT;
        }
        // A disconnected side is always ready, which would keep the loop busy while the other side
        // is slow.
        let only_waits = flags.is_empty() && !incoming.pieces.is_empty();
        if !only_waits && incoming.lag == 0 || flags.contains(PollFlags::OUT) {
            fds.push(PollFd::from_borrowed_fd(stream.as_fd(), flags));
        }
    }
    let ticks = there.lag > 0 || back.lag > 0;
    match poll(&mut fds, ticks.then_some(&POLL_INTERVAL)) {
        Ok(_) | Err(rustix::io::Errno::INTR) => Ok(()),
        Err(errno) => Err(errno.into()),
    }
}

impl Way {
    fn new(from: Direction) -> Self {
        Self {
            from,
            pieces: VecDeque::new(),
            sent: 0,
            ended: None,
            told: false,
            refused: false,
            lag: 0,
            taken: 0,
            first: Vec::new(),
        }
    }

    fn wants_more(&self) -> bool {
        self.ended.is_none() && self.pieces.is_empty() && self.lag == 0
    }

    /// Returns how the sender has closed, once the other side has all of its bytes.
    fn is_closed(&self) -> Option<Ending> {
        self.ended
            .filter(|how| *how != Ending::HalfClose && (self.pieces.is_empty() || self.refused))
    }

    fn step(
        &mut self,
        from: &OwnedFd,
        to: &OwnedFd,
        log: &Log,
        connection: Option<usize>,
        first: &mut Option<(Direction, Ending)>,
    ) -> io::Result<bool> {
        let mut progress = false;
        if self.pieces.is_empty() && self.is_open(from) {
            progress |= self.take(from, log, connection, first);
        }
        progress |= self.give(to)?;
        if self.ended == Some(Ending::HalfClose) && self.pieces.is_empty() && !self.told {
            self.told = true;
            // A disconnected peer needs no end.
            let _ = rustix::net::shutdown(to, Shutdown::Write);
            progress = true;
        }
        Ok(progress)
    }

    /// Whether anything is left to learn about the sender, which may close after a half-close.
    fn is_open(&self, from: &OwnedFd) -> bool {
        match self.ended {
            None => true,
            Some(Ending::HalfClose) => has_hung_up(from),
            Some(_) => false,
        }
    }

    fn take(
        &mut self,
        from: &OwnedFd,
        log: &Log,
        connection: Option<usize>,
        first: &mut Option<(Direction, Ending)>,
    ) -> bool {
        let mut lag = self.lag;
        let taken = take(from.as_fd(), &mut lag, |new| self.is_surplus(new));
        self.lag = lag;
        let how = match taken {
            Ok(pieces) if !pieces.is_empty() => {
                for piece in pieces {
                    self.note(&piece.bytes);
                    log.piece(
                        connection,
                        self.from,
                        &piece.bytes,
                        piece.fds.iter().map(kind_of).collect(),
                    );
                    self.pieces.push_back(piece);
                }
                return true;
            }
            Ok(_) if has_hung_up(from) => Ending::Close,
            Ok(_) => Ending::HalfClose,
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                if self.lag == 0 || !sends_no_more(from) {
                    return false;
                }
                // Nothing follows the byte that was left there, so the next read finds the end.
                self.lag = 0;
                discard(from.as_fd());
                return true;
            }
            Err(_) => Ending::Reset,
        };
        if self.ended == Some(how) {
            return false;
        }
        // A close after a half-close matters only if the other side continues.
        self.ended = Some(how);
        first.get_or_insert((self.from, how));
        log.ended(connection, self.from, how);
        true
    }

    fn note(&mut self, bytes: &[u8]) {
        self.taken += len(bytes);
        let room = HEADER_LEN.saturating_sub(self.first.len()).min(bytes.len());
        self.first.extend_from_slice(bytes.get(..room).unwrap_or_default());
    }

    /// Whether `new` extends beyond the request. A server does not read such bytes, so its end is a
    /// reset (F-70), and ours must be one too.
    fn is_surplus(&self, new: &[u8]) -> bool {
        let header: Vec<u8> = self.first.iter().chain(new).take(HEADER_LEN).copied().collect();
        let size = RawHeader::read(&header).size.filter(|_| self.from == Direction::Client);
        size.is_some_and(|size| self.taken.saturating_add(len(new)) > u64::from(size))
    }

    fn give(&mut self, to: &OwnedFd) -> io::Result<bool> {
        let mut progress = false;
        while let Some(piece) = self.pieces.front_mut() {
            let rest = piece.bytes.get(self.sent..).unwrap_or_default();
            let fds: Vec<_> = match self.sent {
                0 => piece.fds.iter().map(AsFd::as_fd).collect(),
                _ => Vec::new(),
            };
            match fd::send(to, rest, &fds) {
                Ok(n) => {
                    self.sent += n;
                    progress = true;
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => break,
                Err(error)
                    if matches!(
                        error.kind(),
                        io::ErrorKind::BrokenPipe | io::ErrorKind::ConnectionReset
                    ) =>
                {
                    // The peer's end follows. What it refuses is lost, as without the proxy.
                    self.refused = true;
                    self.sent = piece.bytes.len();
                    progress = true;
                }
                Err(error) => return Err(error),
            }
            if self.sent >= piece.bytes.len() {
                self.pieces.pop_front();
                self.sent = 0;
            }
        }
        Ok(progress)
    }
}

fn len(bytes: &[u8]) -> u64 {
    u64::try_from(bytes.len()).unwrap_or(u64::MAX)
}

/// The maximum number of bytes read at a time.
const READ_LEN: usize = 65_536;

/// Bytes, with the descriptors received on the first of them.
#[derive(Default)]
struct Piece {
    bytes: Vec<u8>,
    fds: Vec<OwnedFd>,
}

/// Reads the available data of a socket without waiting. No piece means that the data has ended.
///
/// The last `lag` bytes read before are still in the socket. If `keeps_last` returns true for the
/// new bytes, the last of them is left there until the next read, because closing a socket with an
/// unread byte resets it for its peer.
///
/// # Errors
/// Returns the errors of `recvmsg`, including `WouldBlock` if nothing has arrived.
fn take(
    stream: BorrowedFd<'_>,
    lag: &mut usize,
    keeps_last: impl FnOnce(&[u8]) -> bool,
) -> io::Result<Vec<Piece>> {
    let mut buffer = vec![0; READ_LEN];
    let (n, fds) = fd::peek(stream, &mut buffer)?;
    if n == 0 {
        return Ok(Vec::new());
    }
    if n <= *lag {
        return Err(io::ErrorKind::WouldBlock.into());
    }
    if fds.is_empty() {
        let kept = usize::from(keeps_last(buffer.get(*lag..n).unwrap_or_default()));
        let taken = n.saturating_sub(kept);
        let (read, _) = match buffer.get_mut(..taken) {
            Some(into) if !into.is_empty() => fd::receive(stream, into)?,
            _ => (0, Vec::new()),
        };
        buffer.truncate(if read == taken { n } else { read });
        let bytes = buffer.get(*lag..).unwrap_or_default().to_vec();
        *lag = kept;
        return Ok(vec![Piece { bytes, fds: Vec::new() }]);
    }
    // Only reading shows which byte carries the descriptors.
    drop(fds);
    let (mut before, mut with) = (Piece::default(), Piece::default());
    for nth in 0..n {
        let mut byte = [0];
        let (read, fds) = fd::receive(stream, &mut byte)?;
        if read == 0 {
            break;
        }
        let is_first = !fds.is_empty() && with.bytes.is_empty();
        with.fds.extend(fds);
        if is_first || !with.bytes.is_empty() {
            with.bytes.extend(byte);
        } else if nth >= *lag {
            before.bytes.extend(byte);
        }
    }
    *lag = 0;
    Ok([before, with].into_iter().filter(|piece| !piece.bytes.is_empty()).collect())
}

fn discard(stream: BorrowedFd<'_>) {
    let mut buffer = vec![0; READ_LEN];
    while matches!(fd::receive(stream, &mut buffer), Ok((1.., _))) {}
}
