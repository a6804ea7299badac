//! The waiting connections of a diagnostic port.

use core::fmt;

use super::hash::hash;
use super::iter::waiting;
use super::slot::{NONE, Slot};
use super::{
    ConnectionKey, FindProcess, HoldError, HoldErrorKind, HoldOutcome, Iter, SameCookie, Slots,
    SlotsError, WaitingConnection,
};
use crate::advertise::Advertise;
use crate::wire::Guid;

/// The tool's side of a diagnostic port (section "Diagnostic Ports"): which runtimes have a
/// connection that waits for a command.
///
/// | step | here |
/// |---|---|
/// | a connection is accepted | an [`AdvertiseReceiver`](super::AdvertiseReceiver) reads its 34 bytes |
/// | its advertise is complete | [`hold`](Self::hold) |
/// | a command for a runtime | [`take`](Self::take) by cookie, and give the connection to a [`Client`](crate::exchange::Client) |
/// | a waiting connection ends | [`remove`](Self::remove) by the key that `hold` returned |
///
/// The cookie is the runtime's identity; process ids of different namespaces collide. A token `T`
/// represents the connection: a descriptor, an index, the socket. Every token that leaves the table
/// is returned. When a port is dropped, tokens still held are dropped with its slots.
///
/// Finding, holding, taking and removing take constant time, up to 100,000 connections, if the
/// cookies do not collide. Any peer chooses its cookie, so use [`with_seed`](Self::with_seed) with
/// random bits unless every process that can reach the port is trusted: otherwise a peer can choose
/// cookies that make each step walk through all of them.
///
/// ```
/// use dotnet_diagnostics_ipc::advertise::Advertise;
/// use dotnet_diagnostics_ipc::exchange::diagnostic_port::{DiagnosticPort, SameCookie, Slot};
///
/// let cookie = "123e4567-e89b-12d3-a456-426614174000".parse()?;
/// let advertise = Advertise { runtime_cookie: cookie, process_id: 12345, future: 0 };
/// let mut port = DiagnosticPort::new([const { Slot::EMPTY }; 16], SameCookie::Replace)?;
///
/// let dead = port.hold(advertise, "dead socket")?;
/// let held = port.hold(advertise, "socket")?; // The runtime has connected again.
/// assert_eq!(held.replaced.map(|waiting| waiting.token), Some("dead socket"));
/// assert!(port.remove(dead.key).is_none()); // No connection has that key any longer.
///
/// assert_eq!(port.find_process(12345).count(), 1);
/// assert_eq!(port.take(cookie).map(|waiting| waiting.token), Some("socket"));
/// assert!(port.take(cookie).is_none()); // Used once.
/// # Ok::<(), Box<dyn core::error::Error>>(())
/// ```
///
/// With the feature `alloc`, as many slots as needed:
///
/// ```
/// # #[cfg(feature = "alloc")] {
/// use dotnet_diagnostics_ipc::exchange::diagnostic_port::{DiagnosticPort, SameCookie, Slot};
///
/// let port = DiagnosticPort::new(Vec::<Slot<u32>>::new(), SameCookie::Replace)?.with_most(100_000);
/// assert_eq!((port.len(), port.capacity()), (0, 0));
/// # }
/// # Ok::<(), dotnet_diagnostics_ipc::exchange::diagnostic_port::SlotsError>(())
/// ```
pub struct DiagnosticPort<S> {
    slots: S,
    seed: u128,
    same_cookie: SameCookie,
    most: u32,
    held: u32,
    free: u32,
    oldest: u32,
    newest: u32,
}

/// The first connection of a cookie, and the link to it.
#[derive(Clone, Copy)]
struct Found {
    link: Link,
    first: u32,
}

/// A link of a chain of cookies.
#[derive(Clone, Copy)]
enum Link {
    Bucket(u32),
    Behind(u32),
}

impl<S: Slots> DiagnosticPort<S> {
    /// An empty port with seed 0.
    ///
    /// # Errors
    /// [`SlotsError`].
    pub fn new(slots: S, same_cookie: SameCookie) -> Result<Self, SlotsError> {
        Self::with_seed(slots, same_cookie, 0)
    }

    /// An empty port. `seed` is random bits that no peer knows.
    ///
    /// # Errors
    /// [`SlotsError`].
    pub fn with_seed(
        mut slots: S,
        same_cookie: SameCookie,
        seed: u128,
    ) -> Result<Self, SlotsError> {
        if let Some(index) = slots.slots().iter().position(|slot| slot.held.is_some()) {
            return Err(SlotsError::InUse { index });
        }
        u32::try_from(slots.slots().len()).map_err(|_| SlotsError::TooMany)?;
        for slot in slots.slots_mut() {
            *slot = Slot { generation: slot.generation, ..Slot::EMPTY };
        }
        let mut port = Self {
            slots,
            seed,
            same_cookie,
            most: u32::MAX,
            held: 0,
            free: NONE,
            oldest: NONE,
            newest: NONE,
        };
        port.free_from(0);
        Ok(port)
    }

    /// Refuses connections beyond `most` even if there are slots for them.
    #[must_use]
    pub fn with_most(self, most: u32) -> Self {
        Self { most, ..self }
    }

    /// How many connections are held.
    pub const fn len(&self) -> usize {
        self.held as usize
    }

    /// Whether no connection is held.
    pub const fn is_empty(&self) -> bool {
        self.held == 0
    }

    /// How many slots there are. A `Vec` grows beyond this.
    pub fn capacity(&self) -> usize {
        self.slots.slots().len()
    }

    /// Holds a connection until it is taken or removed.
    ///
    /// # Errors
    /// [`HoldError`], with the token, if there is no room. Nothing has changed then, except that a
    /// `Vec` may have grown.
    pub fn hold(
        &mut self,
        advertise: Advertise,
        token: S::Token,
    ) -> Result<HoldOutcome<S::Token>, HoldError<S::Token>> {
        let full = HoldErrorKind::Full { most: self.len() };
        let hash = self.hash(advertise.runtime_cookie);
        let found = self.find_first(advertise.runtime_cookie, hash);
        let kind = match self.same_cookie {
            SameCookie::Queue { most } if self.queued(found) >= most.get() => {
                Some(HoldErrorKind::CookieFull { most: most.get() })
            }
            SameCookie::Replace if found.is_some() => None,
            _ => (self.held >= self.most).then_some(full),
        };
        if let Some(kind) = kind {
            return Err(HoldError { token, kind });
        }
        // Taking a connection out here frees its slot, so nothing is refused below and lost. It was
        // the only one of its cookie.
        let (replaced, first) = match self.same_cookie {
            SameCookie::Replace => (found.and_then(|found| self.unlink(found.first, found)), None),
            SameCookie::Queue { .. } => (None, found.map(|found| found.first)),
        };
        match self.insert(advertise, hash, first, token) {
            Ok(key) => Ok(HoldOutcome { key, replaced }),
            Err(token) => Err(HoldError { token, kind: full }),
        }
    }

    /// Takes out the oldest connection of a runtime, for use.
    #[must_use = "the caller owns the connection now"]
    pub fn take(&mut self, cookie: Guid) -> Option<WaitingConnection<S::Token>> {
        let found = self.find_first(cookie, self.hash(cookie))?;
        self.unlink(found.first, found)
    }

    /// Takes out a connection, because it has ended or for use. `None` if it is no longer held.
    #[must_use = "the caller owns the connection now"]
    pub fn remove(&mut self, key: ConnectionKey) -> Option<WaitingConnection<S::Token>> {
        let cookie = self.get(key)?.advertise.runtime_cookie;
        let found = self.find_first(cookie, self.hash(cookie))?;
        self.unlink(key.index, found)
    }

    /// Takes out the oldest connection.
    #[must_use = "the caller owns the connection now"]
    pub fn take_oldest(&mut self) -> Option<WaitingConnection<S::Token>> {
        let key = waiting(self.slots.slots(), self.oldest)?.key;
        self.remove(key)
    }

    /// The connection of a runtime that [`take`](Self::take) would return.
    pub fn find(&self, cookie: Guid) -> Option<WaitingConnection<&S::Token>> {
        waiting(self.slots.slots(), self.find_first(cookie, self.hash(cookie))?.first)
    }

    /// How many connections of a runtime are held.
    pub fn waiting_for(&self, cookie: Guid) -> u32 {
        self.queued(self.find_first(cookie, self.hash(cookie)))
    }

    /// A connection by its key. `None` if it is no longer held.
    pub fn get(&self, key: ConnectionKey) -> Option<WaitingConnection<&S::Token>> {
        waiting(self.slots.slots(), key.index).filter(|waiting| waiting.key == key)
    }

    /// The token of a connection. `None` if it is no longer held.
    pub fn token_mut(&mut self, key: ConnectionKey) -> Option<&mut S::Token> {
        let slot = self.slots.slots_mut().get_mut(key.index as usize)?;
        let (_, token) = slot.held.as_mut().filter(|_| slot.generation == key.generation)?;
        Some(token)
    }

    /// The connections whose advertise has this process id, in order of arrival. Searches all held
    /// connections.
    ///
    /// They may belong to several runtimes: the id is from the runtime's own namespace.
    pub fn find_process(&self, process_id: u64) -> FindProcess<'_, S::Token> {
        FindProcess { all: self.iter(), process_id }
    }

    /// All connections, in order of arrival.
    pub fn iter(&self) -> Iter<'_, S::Token> {
        Iter { slots: self.slots.slots(), index: self.oldest, left: self.len() }
    }

    fn slot(&self, index: u32) -> Option<&Slot<S::Token>> {
        self.slots.slots().get(index as usize)
    }

    /// Changes a slot; does nothing if the index is [`NONE`].
    fn edit(&mut self, index: u32, change: impl FnOnce(&mut Slot<S::Token>)) {
        if let Some(slot) = self.slots.slots_mut().get_mut(index as usize) {
            change(slot);
        }
    }

    fn queued(&self, found: Option<Found>) -> u32 {
        found.and_then(|found| self.slot(found.first)).map_or(0, |slot| slot.queued)
    }

    /// Computed once for all operations on a cookie.
    fn hash(&self, cookie: Guid) -> u64 {
        hash(self.seed, cookie)
    }

    /// One of as many buckets as slots.
    fn bucket(&self, hash: u64) -> u32 {
        let buckets = self.slots.slots().len() as u64;
        let high = hash >> 32;
        u32::try_from(high.wrapping_mul(buckets) >> 32).unwrap_or(NONE)
    }

    fn follow(&self, link: Link) -> u32 {
        match link {
            Link::Bucket(index) => self.slot(index).map_or(NONE, |slot| slot.head),
            Link::Behind(index) => self.slot(index).map_or(NONE, |slot| slot.chained),
        }
    }

    fn point(&mut self, link: Link, to: u32) {
        match link {
            Link::Bucket(index) => self.edit(index, |slot| slot.head = to),
            Link::Behind(index) => self.edit(index, |slot| slot.chained = to),
        }
    }

    /// The links of a bucket's chain, with their cookies.
    fn chain(&self, bucket: u32) -> impl Iterator<Item = Found> {
        let found = |link| {
            let first = self.follow(link);
            (first != NONE).then_some(Found { link, first })
        };
        core::iter::successors(found(Link::Bucket(bucket)), move |before| {
            found(Link::Behind(before.first))
        })
    }

    fn find_first(&self, cookie: Guid, hash: u64) -> Option<Found> {
        let is_it = |slot: &Slot<_>| {
            slot.held.as_ref().is_some_and(|(advertise, _)| advertise.runtime_cookie == cookie)
        };
        self.chain(self.bucket(hash)).find(|found| self.slot(found.first).is_some_and(is_it))
    }

    /// Frees the slots from `index` on, the lowest first.
    fn free_from(&mut self, index: u32) {
        let end = u32::try_from(self.slots.slots().len()).unwrap_or(NONE);
        for index in (index..end).rev() {
            let free = self.free;
            self.edit(index, |slot| slot.newer = free);
            self.free = index;
        }
    }

    /// Makes more slots, if possible; puts every cookie into its new bucket.
    fn grow(&mut self) {
        let before = u32::try_from(self.slots.slots().len()).unwrap_or(NONE);
        // A `Vec` of twice as many must still be numbered.
        if before >= NONE / 2 {
            return;
        }
        self.slots.grow();
        if self.slots.slots().len() == before as usize {
            return;
        }
        self.free_from(before);
        for slot in self.slots.slots_mut() {
            slot.head = NONE;
        }
        for index in 0..before {
            let first = self.slot(index).filter(|slot| slot.queued > 0);
            if let Some(cookie) = first
                .and_then(|slot| slot.held.as_ref())
                .map(|(advertise, _)| advertise.runtime_cookie)
            {
                self.link_first(index, self.hash(cookie));
            }
        }
    }

    /// Puts the first connection of a cookie at the head of its chain.
    fn link_first(&mut self, index: u32, hash: u64) {
        let link = Link::Bucket(self.bucket(hash));
        let next = self.follow(link);
        self.edit(index, |slot| slot.chained = next);
        self.point(link, index);
    }

    /// Puts a connection into a free slot: after those of the same cookie, of which `first` is the
    /// first, as the newest of all.
    fn insert(
        &mut self,
        advertise: Advertise,
        hash: u64,
        first: Option<u32>,
        token: S::Token,
    ) -> Result<ConnectionKey, S::Token> {
        if self.free == NONE {
            self.grow();
        }
        let (index, newest) = (self.free, self.newest);
        let Some(slot) = self.slots.slots_mut().get_mut(index as usize) else { return Err(token) };
        self.free = slot.newer;
        let key = ConnectionKey { index, generation: slot.generation };
        (slot.older, slot.newer, slot.behind) = (newest, NONE, NONE);
        (slot.ahead, slot.queued) = (index, 1);
        slot.held = Some((advertise, token));
        self.held = self.held.saturating_add(1);
        self.edit(newest, |slot| slot.newer = index);
        self.newest = index;
        if self.oldest == NONE {
            self.oldest = index;
        }
        match first {
            None => self.link_first(index, hash),
            Some(first) => {
                let last = self.slot(first).map_or(first, |slot| slot.ahead);
                self.edit(index, |slot| (slot.ahead, slot.queued) = (last, 0));
                self.edit(last, |slot| slot.behind = index);
                self.edit(first, |slot| {
                    (slot.ahead, slot.queued) = (index, slot.queued.saturating_add(1));
                });
            }
        }
        Ok(key)
    }

    /// Takes a connection out of its slot. `found` is the first of its cookie.
    fn unlink(&mut self, index: u32, found: Found) -> Option<WaitingConnection<S::Token>> {
        let free = self.free;
        let slot = self.slots.slots_mut().get_mut(index as usize)?;
        let (advertise, token) = slot.held.take()?;
        let key = ConnectionKey { index, generation: slot.generation };
        let (ahead, behind, queued, chained) = (slot.ahead, slot.behind, slot.queued, slot.chained);
        let (older, newer) = (slot.older, slot.newer);
        *slot = Slot {
            head: slot.head,
            generation: slot.generation.wrapping_add(1),
            newer: free,
            ..Slot::EMPTY
        };
        self.free = index;
        self.held = self.held.saturating_sub(1);

        if self.oldest == index {
            self.oldest = newer;
        }
        if self.newest == index {
            self.newest = older;
        }
        self.edit(older, |slot| slot.newer = newer);
        self.edit(newer, |slot| slot.older = older);

        if found.first != index {
            self.edit(ahead, |slot| slot.behind = behind);
            self.edit(if behind == NONE { found.first } else { behind }, |slot| slot.ahead = ahead);
            self.edit(found.first, |slot| slot.queued = slot.queued.saturating_sub(1));
        } else if behind == NONE {
            self.point(found.link, chained);
        } else {
            self.edit(behind, |slot| {
                (slot.ahead, slot.queued, slot.chained) =
                    (ahead, queued.saturating_sub(1), chained);
            });
            self.point(found.link, behind);
        }
        Some(WaitingConnection { key, advertise, token })
    }

    /// The number of cookies in each bucket.
    #[cfg(test)]
    pub(super) fn chain_lengths(&self) -> impl Iterator<Item = usize> {
        (0..u32::try_from(self.capacity()).unwrap()).map(|bucket| self.chain(bucket).count())
    }
}

/// Omits the seed, which is secret, and the tokens.
impl<S: Slots> fmt::Debug for DiagnosticPort<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut port = f.debug_struct("DiagnosticPort");
        port.field("same_cookie", &self.same_cookie)
            .field("len", &self.len())
            .field("capacity", &self.capacity());
        port.finish_non_exhaustive()
    }
}

impl<'p, S: Slots> IntoIterator for &'p DiagnosticPort<S> {
    type Item = WaitingConnection<&'p S::Token>;
    type IntoIter = Iter<'p, S::Token>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}
