//! Play the steps of an exchange script against the side under test.
//!
//! [`Player`] performs the steps without I/O. You provide the connections as a [`Network`].
//!
//! Play a conversation to a server, in memory:
//!
//! ```
//! use std::time::Duration;
//! use dotnet_diagnostics_ipc::exchange::End;
//! use dotnet_diagnostics_ipc_vectors::player::{Link, Network, Player, PlayerError, Received, Sent};
//! use dotnet_diagnostics_ipc_vectors::script::{Ending, FdKind, Step};
//!
//! /// A server that knows no command, with a clock that stands still.
//! struct Knows(&'static [u8]);
//!
//! impl Network for Knows {
//!     fn now(&self) -> Duration {
//!         Duration::ZERO
//!     }
//!     fn open(&mut self, _: Option<&str>, _: Duration) -> Result<Link, PlayerError> {
//!         Ok(Link::new(0))
//!     }
//!     fn send(&mut self, _: Link, _: &[u8], _: Option<FdKind>, _: Duration) -> Result<Sent, PlayerError> {
//!         self.0 = b"DOTNET_IPC_V1\0\x18\0\xff\xff\0\0\x85\x13\x13\x80";
//!         Ok(Sent::All)
//!     }
//!     fn receive(&mut self, _: Link, most: usize, _: Duration) -> Result<Received, PlayerError> {
//!         let (now, later) = self.0.split_at(most.min(self.0.len()));
//!         self.0 = later;
//!         Ok(if now.is_empty() { Received::End(End::Closed) } else { Received::Bytes(now.to_vec(), Vec::new()) })
//!     }
//!     fn end(&mut self, _: Link, _: Ending) -> Result<(), PlayerError> {
//!         Ok(())
//!     }
//! }
//!
//! let steps: Vec<Step> = serde_json::from_str(r#"[
//!     { "open": "a" },
//!     { "on": "a", "send": ["444f544e45545f4950435f563100", "1400", "0463", "0000"] },
//!     { "on": "a", "expect": ["444f544e45545f4950435f563100", "1800", "ffff", "0000", "85131380"] },
//!     { "on": "a", "expect_end": "closed" }]"#)?;
//! let mut network = Knows(b"");
//! let mut player = Player::new(&mut network, Duration::from_secs(5));
//! player.play(&steps)?;
//! assert_eq!(player.conversation().connections[0].came.len, 24);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod conversation;
mod error;
mod fields;
mod network;
mod stream;
#[cfg(test)]
mod tests;

pub use crate::script::Mismatch;
pub use conversation::{Connection, Conversation, Event, EventKind, Flow, TurnDirection};
pub use error::{Difference, Failure, PlayerError};
pub use fields::FieldDifference;
pub use network::{Link, Network, Received, Sent};

use alloc::{
    borrow::ToOwned as _,
    collections::BTreeMap,
    format,
    string::{String, ToString as _},
    vec::Vec,
};
use core::{fmt, time::Duration};

use fields::reply_differences;
use stream::StreamStart;

use crate::script::{Comparison, Ending, ExpectFile, FdKind, Life, Pattern, Presence, Send, Step};
use dotnet_diagnostics_ipc::exchange::End;
use dotnet_diagnostics_ipc::header::{HEADER_LEN, MAGIC, RawHeader};

/// The time that the player waits after a piece whose size the script gives.
const AFTER_A_PIECE: Duration = Duration::from_millis(20);
/// The maximum time that the player waits after all of many pieces, which shortens each wait.
const AFTER_ALL_PIECES: Duration = Duration::from_millis(500);
/// The time that the player waits for messages of a peer that no longer listens.
const LAST_WORDS: Duration = Duration::from_millis(50);

/// An open connection.
#[derive(Clone, Copy)]
struct Open {
    link: Link,
    /// The index of the connection in the conversation.
    number: usize,
    is_drained: bool,
}

/// Plays one conversation. The [module](self) has an example.
pub struct Player<'n> {
    network: &'n mut dyn Network,
    within: Duration,
    connections: BTreeMap<String, Open>,
    /// The start of each stream that arrived before its first event was expected.
    starts: BTreeMap<String, StreamStart>,
    conversation: Conversation,
    /// The start of the current time limit, and its end on an idle machine.
    limit: (Duration, Duration),
}

impl fmt::Debug for Player<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Player")
            .field("connections", &self.connections.keys())
            .finish_non_exhaustive()
    }
}

/// Methods that wait fail with the [`PlayerError`] of the network. Methods that take the name of a
/// connection also fail if there is none.
#[allow(clippy::missing_errors_doc, reason = "they fail like this")]
impl<'n> Player<'n> {
    /// Returns a player. `within` is the default time limit of a step. Limits are those of an idle
    /// machine. If the machine is busy when a limit ends, the limit is extended by the measured
    /// factor of up to 30.
    pub fn new(network: &'n mut dyn Network, within: Duration) -> Self {
        Self {
            network,
            within,
            connections: BTreeMap::new(),
            starts: BTreeMap::new(),
            conversation: Conversation::default(),
            limit: (Duration::ZERO, Duration::ZERO),
        }
    }

    /// Plays all of `steps`. Connections stay open until [`Player::close_all`].
    ///
    /// # Errors
    /// Returns the first step that failed. If the network lacks a step ([`Network::lacks`]),
    /// returns that step with [`PlayerError::Unavailable`], and plays nothing.
    pub fn play<'s>(
        &mut self,
        steps: impl IntoIterator<Item = &'s Step, IntoIter: Clone>,
    ) -> Result<(), Failure> {
        let failure = |step: usize, text: &Step, trouble: PlayerError| Failure {
            step,
            text: text.in_words(),
            trouble,
        };
        let steps = steps.into_iter().enumerate();
        for (nth, step) in steps.clone() {
            if let Some(why) = self.network.lacks(step) {
                return Err(failure(nth, step, PlayerError::Unavailable(why.to_owned())));
            }
        }
        for (nth, step) in steps {
            if let Err(trouble) = self.step(step) {
                self.hear_out();
                return Err(failure(nth, step, trouble));
            }
        }
        Ok(())
    }

    /// Reads available bytes on connections that are not read in the background, because the bytes
    /// may explain a failed step.
    fn hear_out(&mut self) {
        let open = self.connections.iter().filter(|(_, connection)| !connection.is_drained);
        let names: Vec<_> = open.map(|(name, _)| name.clone()).collect();
        for name in names {
            let now = self.network.now();
            // Read errors are ignored.
            let _ = self.listen(&name, Conversation::KEPT, now);
        }
    }

    /// Closes all open connections.
    pub fn close_all(&mut self) -> Result<(), PlayerError> {
        for connection in core::mem::take(&mut self.connections).into_values() {
            self.network.end(connection.link, Ending::Close)?;
        }
        Ok(())
    }

    /// Returns the conversation so far.
    pub const fn conversation(&self) -> &Conversation {
        &self.conversation
    }

    /// Returns the network, for anything that is not a step.
    pub fn network(&mut self) -> &mut dyn Network {
        self.network
    }

    /// Returns the connection with that name.
    pub fn link(&self, name: &str) -> Result<Link, PlayerError> {
        self.connection(name).map(|open| open.link)
    }

    fn connection(&self, name: &str) -> Result<Open, PlayerError> {
        let found = self.connections.get(name).copied();
        found.ok_or_else(|| PlayerError::differs(format!("no connection {name}")))
    }

    /// Returns what was sent and received so far on the open connection with that name.
    pub fn so_far(&self, name: &str) -> Result<&Connection, PlayerError> {
        let number = self.connection(name)?.number;
        let found = self.conversation.connections.get(number);
        found.ok_or_else(|| PlayerError::differs(format!("no connection {name}")))
    }

    /// Opens a connection to the default port.
    pub fn open(&mut self, name: &str, until: Duration) -> Result<(), PlayerError> {
        self.open_at(None, name, until)
    }

    fn open_at(
        &mut self,
        port: Option<&str>,
        name: &str,
        until: Duration,
    ) -> Result<(), PlayerError> {
        let link =
            self.patiently(until, Result::is_ok, |network, until| network.open(port, until))?;
        self.named(name, link, TurnDirection::Sent)
    }

    /// Waits with `wait`, on a busy machine longer than `until` if nothing `is_decided` by then.
    fn patiently<T>(
        &mut self,
        until: Duration,
        is_decided: impl Fn(&Result<T, PlayerError>) -> bool,
        mut wait: impl FnMut(&mut dyn Network, Duration) -> Result<T, PlayerError>,
    ) -> Result<T, PlayerError> {
        let (mut began, ends) = self.limit;
        if ends != until {
            began = self.network.now();
            self.limit = (began, until);
        }
        let mut end = until;
        loop {
            let result = wait(self.network, end);
            if is_decided(&result) || self.network.now() < end {
                return result;
            }
            let later = began.saturating_add(self.network.here(until.saturating_sub(began)));
            if later <= end {
                return result;
            }
            end = later;
        }
    }

    /// Waits for the next connection of the other side to a port.
    pub fn accepted(
        &mut self,
        port: Option<&str>,
        until: Duration,
    ) -> Result<Option<Link>, PlayerError> {
        self.patiently(
            until,
            |link| !matches!(link, Ok(None)),
            |network, until| network.accept(port, until),
        )
    }

    /// Returns the bytes read from a connection in the background, once it has ended.
    pub fn drained(&mut self, link: Link, until: Duration) -> Result<Flow, PlayerError> {
        let has_ended = |drained: &Result<Flow, _>| !matches!(drained, Ok(Flow { end: None, .. }));
        self.patiently(until, has_ended, |network, until| network.drained(link, until))
    }

    /// Returns whether the target's process is alive, once that is `expected`.
    pub fn life(&mut self, expected: Life, until: Duration) -> Result<Life, PlayerError> {
        let is_it = |life: &Result<Life, _>| !matches!(life, Ok(life) if *life != expected);
        self.patiently(until, is_it, |network, until| network.life(expected, until))
    }

    /// Sends bytes, the first with a descriptor if given.
    pub fn send(
        &mut self,
        on: &str,
        bytes: &[u8],
        fd: Option<FdKind>,
        until: Duration,
    ) -> Result<Sent, PlayerError> {
        let Open { link, number, .. } = self.connection(on)?;
        let sent = self.network.send(link, bytes, fd, until)?;
        if sent == Sent::All {
            self.said(number, TurnDirection::Sent, bytes, fd.into_iter().collect());
        }
        Ok(sent)
    }

    /// Ends a connection. The name of a closed connection is free again.
    pub fn end(&mut self, on: &str, how: Ending) -> Result<(), PlayerError> {
        self.end_step(on, how)?;
        if how != Ending::HalfClose {
            self.connections.remove(on);
        }
        Ok(())
    }

    /// Closes a connection that did not come from the other side, and forgets its bytes.
    pub fn forget(&mut self, on: &str) -> Result<(), PlayerError> {
        let number = self.connection(on)?.number;
        self.end(on, Ending::Close)?;
        self.conversation.forget(number);
        let later = self.connections.values_mut().filter(|open| open.number > number);
        later.for_each(|open| open.number = open.number.saturating_sub(1));
        Ok(())
    }

    /// Ends a connection like [`Player::end`], but keeps the name; a script uses it only once.
    fn end_step(&mut self, on: &str, how: Ending) -> Result<(), PlayerError> {
        let Open { link, number, .. } = self.connection(on)?;
        self.conversation.ended(number, TurnDirection::Sent, how, self.network.now());
        self.network.end(link, how)
    }

    /// Reads at most `most` bytes of a connection, and adds them to the conversation.
    pub fn receive(
        &mut self,
        on: &str,
        most: usize,
        until: Duration,
    ) -> Result<Received, PlayerError> {
        let Open { link, number, .. } = self.connection(on)?;
        if let Some(bytes) = self.starts.get_mut(on).and_then(|start| start.take(most)) {
            // The conversation already has them.
            return Ok(Received::Bytes(bytes, Vec::new()));
        }
        let is_it = |received: &Result<Received, _>| !matches!(received, Ok(Received::Nothing));
        let received =
            self.patiently(until, is_it, |network, until| network.receive(link, most, until));
        Ok(self.noted(number, received?))
    }

    /// Reads bytes where none should arrive, and waits at most until `until`.
    pub fn listen(
        &mut self,
        on: &str,
        most: usize,
        until: Duration,
    ) -> Result<Received, PlayerError> {
        let Open { link, number, .. } = self.connection(on)?;
        let received = self.network.receive(link, most, until)?;
        Ok(self.noted(number, received))
    }

    /// Waits until a connection has something to read, but reads nothing.
    pub fn wait_for_bytes(&mut self, on: &str, until: Duration) -> Result<(), PlayerError> {
        let link = self.connection(on)?.link;
        self.network.wait_for_bytes(link, until)
    }

    fn said(&mut self, number: usize, by: TurnDirection, bytes: &[u8], fds: Vec<FdKind>) {
        let now = self.network.now();
        self.conversation.said(number, by, bytes, fds, now, Conversation::KEPT);
    }

    fn noted(&mut self, number: usize, received: Received) -> Received {
        let by = TurnDirection::Received;
        match &received {
            Received::Bytes(bytes, fds) => self.said(number, by, bytes, fds.clone()),
            Received::End(end) => {
                let how = if *end == End::Reset { Ending::Reset } else { Ending::Close };
                self.conversation.ended(number, by, how, self.network.now());
            }
            Received::Nothing => {
                if let Some(flow) = self.conversation.flow(number, by) {
                    flow.end = Some(End::TimedOut);
                }
            }
        }
        received
    }

    /// Plays one step.
    pub fn step(&mut self, step: &Step) -> Result<(), PlayerError> {
        let within = step.within_ms().map_or(self.within, ms);
        let until = self.in_a(within);
        match step {
            Step::Open(step) => self.open_at(step.port.as_deref(), &step.open, until),
            Step::Accept(step) => {
                let link = self.accepted(step.port.as_deref(), until)?;
                let link = link.ok_or(Difference::NotConnected)?;
                self.named(&step.accept, link, TurnDirection::Received)
            }
            Step::Listen(step) => self.network.listen(&step.port, step.listen),
            Step::ExpectNoConnection(step) => {
                let until = self.in_a(ms(step.expect_no_connection));
                let is_called = self.network.is_called(step.port.as_deref(), until)?;
                if is_called { differs("unexpected connection") } else { Ok(()) }
            }
            Step::Send(step) => self.send_step(step, until),
            Step::Expect(step) => {
                self.receive_one_of(&step.on, &[&step.expect], step.with_fd, until)
            }
            Step::ExpectAnyOf(step) => {
                let patterns: Vec<_> = step.expect_any_of.iter().map(|one| &one.expect).collect();
                self.receive_one_of(&step.on, &patterns, false, until)
            }
            Step::ExpectNothing(step) => {
                let until = self.in_a(ms(step.expect_nothing));
                let Open { link, is_drained, .. } = self.connection(&step.on)?;
                let received = if is_drained {
                    let end = self.network.drained(link, until)?.end;
                    end.map_or(Received::Nothing, Received::End)
                } else {
                    self.listen(&step.on, 64, until)?
                };
                match received {
                    Received::Nothing => Ok(()),
                    Received::Bytes(bytes, _) => differs(unexpected(&bytes)),
                    Received::End(end) if is_drained => Err(Difference::End(end).into()),
                    Received::End(end) => differs(format!("unexpected end: {end}")),
                }
            }
            Step::ExpectNoEvent(step) => {
                let until = self.in_a(ms(step.expect_no_event));
                self.expect_no_event(&step.on, until)
            }
            Step::ExpectEvent(step) => self.expect_event(&step.on, until),
            Step::Drain(step) => self.drain(&step.on),
            Step::ExpectEnd(step) => self.expect_end(step, until),
            Step::EndStep(step) => self.end_step(&step.on, step.end),
            Step::Wait(step) => {
                let until = self.in_a(ms(step.wait));
                self.network.wait(until)
            }
            Step::ExpectTarget(step) => match self.life(step.expect_target, until)? {
                life if life == step.expect_target => Ok(()),
                Life::Dead => differs("the target is dead"),
                Life::Alive => differs("the target is alive"),
            },
            Step::Signal(step) => self.network.signal(step.signal),
            Step::ExpectSocket(step) => {
                let expected = step.expect_socket;
                let is_it =
                    |found: &Result<_, _>| !matches!(found, Ok(found) if *found != expected);
                match self
                    .patiently(until, is_it, |network, until| network.socket(expected, until))?
                {
                    found if found == expected => Ok(()),
                    Presence::Gone => differs("the socket does not exist"),
                    Presence::There => differs("the socket file exists"),
                }
            }
            Step::ExpectFile(step) => self.expect_file(step, until),
        }
    }

    /// Waits until the file exists and begins with these bytes.
    fn expect_file(&mut self, step: &ExpectFile, until: Duration) -> Result<(), PlayerError> {
        let began = self.network.now();
        let whole = until.saturating_sub(began);
        while let Some(difference) = self.compare_file(step)? {
            let elapsed = self.network.now().saturating_sub(began);
            if elapsed >= whole && elapsed >= self.network.here(whole) {
                return Err(difference.into());
            }
            self.network.wait(self.in_a(AFTER_A_PIECE))?;
        }
        Ok(())
    }

    /// Returns the difference of the file, if there is one.
    fn compare_file(&mut self, step: &ExpectFile) -> Result<Option<Difference>, PlayerError> {
        let mut most = 0;
        Ok(loop {
            let Some(bytes) = self.network.file(&step.expect_file, most)? else {
                let text = format!("the file {} does not exist", step.expect_file);
                break Some(Difference::Other(text));
            };
            match step.begins.compare(&bytes, &self.conversation.captures) {
                Comparison::Matched(_) => break None,
                Comparison::NeedMore(more) if bytes.len() == most => {
                    most = most.saturating_add(more);
                }
                Comparison::NeedMore(_) => {
                    let text = format!("the file has {} bytes, expected more", bytes.len());
                    break Some(Difference::Other(text));
                }
                Comparison::Differs(mismatch) => {
                    let (mismatches, fields) = ([mismatch].into(), Vec::new());
                    break Some(Difference::Bytes { mismatches, came: bytes, fields });
                }
            }
        })
    }

    fn in_a(&self, time: Duration) -> Duration {
        self.network.now().saturating_add(time)
    }

    fn named(&mut self, name: &str, link: Link, by: TurnDirection) -> Result<(), PlayerError> {
        let number = self.conversation.opened(name, by, self.network.now());
        match self.connections.insert(name.to_owned(), Open { link, number, is_drained: false }) {
            None => Ok(()),
            Some(_) => differs(format!("{name} is used for two connections")),
        }
    }

    fn send_step(&mut self, step: &Send, until: Duration) -> Result<(), PlayerError> {
        let parts = step.send.iter().map(|part| part.bytes(&self.conversation.captures));
        let bytes = parts
            .collect::<Result<Vec<_>, _>>()
            .map_err(|error| PlayerError::differs(error.to_string()))?
            .concat();
        let whole = [bytes.len()];
        let chunks = if step.chunks.is_empty() { whole.as_slice() } else { step.chunks.as_slice() };
        let sum = chunks.iter().try_fold(0, |sum: usize, size| sum.checked_add(*size));
        if sum != Some(bytes.len()) {
            let text = format!("the script's chunks do not add up to {} bytes", bytes.len());
            return differs(text);
        }
        // `None` if the script gives no pieces.
        let part_of_all = u32::try_from(step.chunks.len())
            .ok()
            .and_then(|count| AFTER_ALL_PIECES.checked_div(count));
        let mut fd = step.with_fd;
        let mut rest = bytes.as_slice();
        for size in chunks {
            let Some((chunk, later)) = rest.split_at_checked(*size) else { break };
            rest = later;
            match self.send(&step.on, chunk, fd.take(), until)? {
                Sent::All => {}
                Sent::PeerGone(_) if step.may_fail => return Ok(()),
                Sent::PeerGone(why) => {
                    let until = self.in_a(LAST_WORDS);
                    let before = match self.listen(&step.on, Conversation::KEPT, until) {
                        Ok(Received::Bytes(bytes, _)) => Some(bytes),
                        _ => None,
                    };
                    return Err(Difference::PeerGone { why, before }.into());
                }
            }
            if let Some(share) = part_of_all {
                let until = self.in_a(AFTER_A_PIECE.min(share));
                self.network.wait(until)?;
            }
        }
        Ok(())
    }

    /// Reads bytes that match one of `patterns`, and stores its captures.
    fn receive_one_of(
        &mut self,
        on: &str,
        patterns: &[&Pattern],
        with_fd: bool,
        until: Duration,
    ) -> Result<(), PlayerError> {
        let (mut so_far, mut fds, mut over) = (Vec::new(), Vec::new(), None);
        let captured = loop {
            let (mut mismatches, mut most) = (Vec::new(), usize::MAX);
            let mut matched = None;
            for pattern in patterns {
                match pattern.compare(&so_far, &self.conversation.captures) {
                    Comparison::Matched(captured) => matched = matched.or(Some(captured)),
                    Comparison::NeedMore(n) => most = most.min(n),
                    Comparison::Differs(mismatch) => mismatches.push(mismatch),
                }
            }
            if let Some(captured) = matched {
                break captured;
            }
            if mismatches.len() == patterns.len() {
                // The rest of a message explains more than its first wrong byte.
                while is_cut(&so_far) {
                    let Ok(Received::Bytes(bytes, _)) = self.receive(on, Conversation::KEPT, until)
                    else {
                        break;
                    };
                    so_far.extend(bytes);
                }
                let until = self.in_a(LAST_WORDS);
                if let Ok(Received::Bytes(bytes, _)) = self.listen(on, Conversation::KEPT, until) {
                    so_far.extend(bytes);
                }
                let pairs = patterns.iter().zip(&mismatches).rev();
                let most_like = pairs.max_by_key(|(_, mismatch)| mismatch.offset);
                let fields = most_like.and_then(|(pattern, _)| {
                    let captures = &self.conversation.captures;
                    Some(reply_differences(self.so_far(on).ok()?, captures, pattern, &so_far))
                });
                let fields = fields.unwrap_or_default();
                return Err(Difference::Bytes { mismatches, came: so_far, fields }.into());
            }
            match over {
                Some(Received::End(end)) => {
                    return Err(Difference::Ended { end, after: so_far }.into());
                }
                Some(_) => return Err(Difference::Nothing { after: so_far }.into()),
                None => {}
            }
            // Each comparison begins at the first byte, so small pieces are compared together.
            let enough = most.min((so_far.len() / 8).saturating_add(1));
            let mut piece = Vec::new();
            while over.is_none() && piece.len() < enough {
                match self.receive(on, most.saturating_sub(piece.len()), until)? {
                    Received::Bytes(bytes, with) => {
                        piece.extend(bytes);
                        fds.extend(with);
                    }
                    other => over = Some(other),
                }
            }
            so_far.extend(piece);
        };
        if fds.len() != usize::from(with_fd) {
            return Err(Difference::Descriptors(fds.len()).into());
        }
        self.conversation.captures.extend(captured);
        Ok(())
    }
}

/// Returns whether these bytes are an incomplete message.
fn is_cut(bytes: &[u8]) -> bool {
    let header = RawHeader::read(bytes);
    let is_one = bytes.iter().zip(&MAGIC).all(|(byte, magic)| byte == magic);
    is_one && header.size.is_none_or(|size| bytes.len() < HEADER_LEN.max(size.into()))
}

fn differs<T>(text: impl Into<String>) -> Result<T, PlayerError> {
    Err(PlayerError::differs(text))
}

fn unexpected(bytes: &[u8]) -> String {
    format!("unexpected bytes {}", hex::encode(bytes))
}

fn ms(number: u32) -> Duration {
    Duration::from_millis(number.into())
}
