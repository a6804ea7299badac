//! What a reader of tracepoints keeps: the metadata of each event, which comes with its first record alone.

use core::fmt;

use super::{Extension, Metadata};
use crate::wire::{Comparer, SliceSink};

/// What tells events apart for a reader.
///
/// A record names its event by 16 bits alone; the provider stands nowhere but in the metadata. So the key is what a reader knows of
/// a record that comes without: the tracepoint, the process and the event id. Two things cannot be told apart by it:
///
/// - Two providers of one process that share a tracepoint and have an id in common. Give each its own tracepoint.
/// - Two versions of one event. That is ordinary: `MethodLoadVerbose` (143) of the runtime's own provider is written in versions 1
///   and 2, each sends its metadata once, and a later record of the id may be of either (P-20).
///
/// [`Seen::Different`] is how both show, and [`MetadataCache::is_ambiguous`] from then on.
///
/// ```
/// use dotnet_diagnostics_ipc::user_events::EventKey;
///
/// let key = EventKey { tracepoint: 1807, process_id: 12345, event_id: 1 };
/// assert_ne!(key, EventKey { event_id: 2, ..key });
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct EventKey {
    /// The tracepoint: the kernel's id for it (`common_type`), or any number that the caller gives it.
    pub tracepoint: u32,
    /// The process that wrote the record.
    pub process_id: u32,
    /// The record's `event_id`.
    pub event_id: u16,
}

/// A place for one event in a [`MetadataCache`].
///
/// ```
/// use dotnet_diagnostics_ipc::user_events::MetadataSlot;
///
/// let slots = [MetadataSlot::EMPTY; 64];
/// assert_eq!(slots[0], MetadataSlot::default());
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MetadataSlot(Option<Kept>);

impl MetadataSlot {
    /// A slot that is not in use.
    pub const EMPTY: Self = Self(None);
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Kept {
    key: EventKey,
    /// In the cache's bytes.
    start: usize,
    len: usize,
    /// Others have come since.
    ambiguous: bool,
}

/// What [`MetadataCache::insert`] found.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Seen {
    /// The event had no metadata yet: they are kept.
    First,
    /// The same metadata again, as from threads that raced. Nothing to do.
    Again,
    /// Other metadata than those that are kept, which stay: two versions of an event, or two events, have the same key, or the process
    /// id was used again.
    ///
    /// The record that brings them is described by its own. For later records the cache knows no better than the reader: neither the
    /// older nor the newer metadata are those of every one. It keeps the older because the order says nothing (version 2 may come
    /// first), and says that they may be the wrong ones: [`MetadataCache::is_ambiguous`]. What tells then is the payload itself:
    /// version 2 of `MethodLoadVerbose` is version 1 with 8 bytes more behind it.
    Different,
}

/// Why metadata could not be kept. What was there before is still there.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum CacheFull {
    /// Every slot is in use.
    Slots {
        /// How many there are.
        capacity: usize,
    },
    /// The bytes do not reach.
    Bytes {
        /// How many these metadata take.
        needed: usize,
        /// How many are left.
        left: usize,
    },
}

impl fmt::Display for CacheFull {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Slots { capacity } => write!(f, "all {capacity} slots of the metadata cache are in use"),
            Self::Bytes { needed, left } => write!(f, "the metadata take {needed} bytes, {left} are left in the cache"),
        }
    }
}

impl core::error::Error for CacheFull {}

/// The metadata of events by [`EventKey`], in memory that the caller lends (section "Which events have metadata?").
///
/// One slot an event, and the bytes of its metadata. Nothing is dropped to make room: a cache that is full says so, and goes on
/// answering for what it has.
///
/// ```
/// use dotnet_diagnostics_ipc::user_events::{CacheFull, EventKey, Metadata, MetadataCache, MetadataSlot, Seen};
///
/// let (mut slots, mut bytes) = ([MetadataSlot::EMPTY; 2], [0; 256]);
/// let mut cache = MetadataCache::new(&mut slots, &mut bytes);
/// let key = |event_id| EventKey { tracepoint: 1807, process_id: 12345, event_id };
/// assert_eq!(cache.insert(key(1), &Metadata::new(b"one")), Ok(Seen::First));
/// assert_eq!(cache.insert(key(1), &Metadata::new(b"one")), Ok(Seen::Again));
/// assert_eq!(cache.insert(key(2), &Metadata::new(b"two")), Ok(Seen::First));
/// assert_eq!(cache.insert(key(3), &Metadata::new(b"three")), Err(CacheFull::Slots { capacity: 2 }));
/// assert_eq!(cache.get(key(2)), Some(Metadata::new(b"two")));
/// ```
#[derive(Debug)]
pub struct MetadataCache<'s> {
    slots: &'s mut [MetadataSlot],
    bytes: &'s mut [u8],
    kept: usize,
    used: usize,
}

impl<'s> MetadataCache<'s> {
    /// An empty cache for as many events as there are slots, whose metadata have together no more bytes than `bytes`.
    pub fn new(slots: &'s mut [MetadataSlot], bytes: &'s mut [u8]) -> Self {
        let mut cache = Self { slots, bytes, kept: 0, used: 0 };
        cache.clear();
        cache
    }

    /// Forgets everything, as at the beginning of another session.
    pub fn clear(&mut self) {
        self.slots.fill(MetadataSlot::EMPTY);
        (self.kept, self.used) = (0, 0);
    }

    /// How many events are known.
    pub const fn len(&self) -> usize {
        self.kept
    }

    /// Whether no event is known.
    pub const fn is_empty(&self) -> bool {
        self.kept == 0
    }

    /// How many events can be known.
    pub const fn capacity(&self) -> usize {
        self.slots.len()
    }

    /// The metadata of an event, if they have come: the first that did.
    pub fn get(&self, key: EventKey) -> Option<Metadata<'_>> {
        let (_, kept) = self.find(key)?;
        self.bytes_of(kept?).map(Metadata::new)
    }

    /// Whether other metadata came for the event than those that are kept ([`Seen::Different`]).
    ///
    /// ```
    /// use dotnet_diagnostics_ipc::user_events::{EventKey, Metadata, MetadataCache, MetadataSlot, Seen};
    ///
    /// let (mut slots, mut bytes) = ([MetadataSlot::EMPTY; 2], [0; 256]);
    /// let mut cache = MetadataCache::new(&mut slots, &mut bytes);
    /// let key = EventKey { tracepoint: 1807, process_id: 12345, event_id: 143 };
    /// assert_eq!(cache.insert(key, &Metadata::new(b"version 2")), Ok(Seen::First));
    /// assert!(!cache.is_ambiguous(key));
    /// assert_eq!(cache.insert(key, &Metadata::new(b"version 1")), Ok(Seen::Different));
    /// assert!(cache.is_ambiguous(key));
    /// assert_eq!(cache.get(key), Some(Metadata::new(b"version 2")));
    /// ```
    pub fn is_ambiguous(&self, key: EventKey) -> bool {
        self.find(key).and_then(|(_, kept)| kept).is_some_and(|kept| kept.ambiguous)
    }

    /// Keeps the metadata of an event, if they are the first.
    ///
    /// # Errors
    /// [`CacheFull`] if there is no room for a new event.
    pub fn insert(&mut self, key: EventKey, metadata: &Metadata<'_>) -> Result<Seen, CacheFull> {
        let full = CacheFull::Slots { capacity: self.slots.len() };
        let (place, kept) = self.find(key).ok_or(full)?;
        if let Some(kept) = kept {
            let mut comparer = Comparer::new(self.bytes_of(kept).unwrap_or_default());
            metadata.put_bytes(&mut comparer);
            if comparer.matched() {
                return Ok(Seen::Again);
            }
            *self.slots.get_mut(place).ok_or(full)? = MetadataSlot(Some(Kept { ambiguous: true, ..kept }));
            return Ok(Seen::Different);
        }
        let room = self.bytes.get_mut(self.used..).unwrap_or_default();
        let no_room = CacheFull::Bytes { needed: metadata.len(), left: room.len() };
        let mut sink = SliceSink::new(room);
        metadata.put_bytes(&mut sink);
        let len = sink.finish().map_err(|_| no_room)?;
        *self.slots.get_mut(place).ok_or(full)? = MetadataSlot(Some(Kept { key, start: self.used, len, ambiguous: false }));
        self.used = self.used.saturating_add(len);
        self.kept = self.kept.saturating_add(1);
        Ok(Seen::First)
    }

    /// Takes what the extension of a record says: `None` if it has no metadata, or metadata of no bytes, which early .NET 10 builds
    /// send with events that have none.
    ///
    /// # Errors
    /// As [`insert`](Self::insert).
    pub fn observe(&mut self, key: EventKey, extension: &Extension<'_>) -> Result<Option<Seen>, CacheFull> {
        let metadata = extension.metadata().filter(|metadata| !metadata.is_empty());
        metadata.map(|metadata| self.insert(key, &metadata)).transpose()
    }

    fn bytes_of(&self, kept: Kept) -> Option<&[u8]> {
        self.bytes.get(kept.start..)?.get(..kept.len)
    }

    /// Where `key` is, or where it would have to be; `None` if it is nowhere and there is no free slot.
    fn find(&self, key: EventKey) -> Option<(usize, Option<Kept>)> {
        let home = home(key).checked_rem(self.slots.len())?;
        let (before, behind) = self.slots.split_at_checked(home)?;
        let order = (home..).zip(behind).chain((0..).zip(before));
        order.map(|(place, slot)| (place, slot.0)).find(|(_, kept)| kept.is_none_or(|kept| kept.key == key))
    }
}

/// Where the search for a key begins, in a table without end.
fn home(key: EventKey) -> usize {
    let owner = u64::from(key.tracepoint) << 32 | u64::from(key.process_id);
    let mixed = owner.wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(32);
    let mixed = (mixed ^ u64::from(key.event_id)).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32;
    usize::try_from(mixed).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    extern crate std;
    use super::*;
    use crate::user_events::ExtensionItem;
    use crate::wire::Guid;
    use std::string::ToString as _;

    fn key(event_id: u16) -> EventKey {
        EventKey { tracepoint: 1, process_id: 2, event_id }
    }

    #[test]
    fn the_first_metadata_stay() {
        let (mut slots, mut bytes) = ([MetadataSlot::EMPTY; 4], [0; 64]);
        let mut cache = MetadataCache::new(&mut slots, &mut bytes);
        assert!(cache.is_empty() && cache.get(key(1)).is_none());
        let named = Metadata::named("P".into(), b"x").unwrap();
        assert_eq!(cache.insert(key(1), &named), Ok(Seen::First));
        assert_eq!(cache.insert(key(1), &Metadata::new(b"P\0\0\0x")), Ok(Seen::Again));
        assert_eq!(cache.insert(key(1), &Metadata::new(b"P\0\0\0y")), Ok(Seen::Different));
        assert_eq!(cache.insert(key(1), &Metadata::new(b"P\0\0\0")), Ok(Seen::Different));
        assert_eq!(cache.insert(key(1), &Metadata::new(b"P\0\0\0xx")), Ok(Seen::Different));
        assert_eq!((cache.len(), cache.get(key(1))), (1, Some(named)));
    }

    #[test]
    fn every_part_of_the_key_counts() {
        let (mut slots, mut bytes) = ([MetadataSlot::EMPTY; 8], [0; 64]);
        let mut cache = MetadataCache::new(&mut slots, &mut bytes);
        let others = [EventKey { tracepoint: 9, ..key(1) }, EventKey { process_id: 9, ..key(1) }, key(9)];
        cache.insert(key(1), &Metadata::new(b"a")).unwrap();
        for (other, byte) in others.into_iter().zip([b"b", b"c", b"d"]) {
            assert_eq!(cache.get(other), None);
            assert_eq!(cache.insert(other, &Metadata::new(byte)), Ok(Seen::First));
        }
        assert_eq!(cache.get(key(1)), Some(Metadata::new(b"a")));
        assert_eq!(cache.get(others[1]), Some(Metadata::new(b"c")));
    }

    #[test]
    fn every_slot_can_be_used_and_then_it_is_full() {
        let (mut slots, mut bytes) = ([MetadataSlot::EMPTY; 100], [0; 200]);
        let mut cache = MetadataCache::new(&mut slots, &mut bytes);
        for id in 0..100u16 {
            assert_eq!(cache.insert(key(id), &Metadata::new(&id.to_le_bytes())), Ok(Seen::First));
        }
        assert_eq!((cache.len(), cache.capacity()), (100, 100));
        assert_eq!(cache.insert(key(100), &Metadata::new(b"")), Err(CacheFull::Slots { capacity: 100 }));
        assert_eq!(cache.get(key(100)), None);
        for id in 0..100u16 {
            assert_eq!(cache.get(key(id)), Some(Metadata::new(&id.to_le_bytes())));
            assert_eq!(cache.insert(key(id), &Metadata::new(&id.to_le_bytes())), Ok(Seen::Again));
        }
        cache.clear();
        assert_eq!((cache.len(), cache.get(key(1))), (0, None));
        assert_eq!(cache.insert(key(100), &Metadata::new(b"x")), Ok(Seen::First));
    }

    #[test]
    fn bytes_that_do_not_reach_are_said_and_nothing_is_kept() {
        let (mut slots, mut bytes) = ([MetadataSlot::EMPTY; 4], [0; 5]);
        let mut cache = MetadataCache::new(&mut slots, &mut bytes);
        assert_eq!(cache.insert(key(1), &Metadata::new(b"abc")), Ok(Seen::First));
        let full = CacheFull::Bytes { needed: 3, left: 2 };
        assert_eq!(cache.insert(key(2), &Metadata::new(b"def")), Err(full));
        assert_eq!(full.to_string(), "the metadata take 3 bytes, 2 are left in the cache");
        assert_eq!((cache.len(), cache.get(key(2))), (1, None));
        assert_eq!(cache.insert(key(2), &Metadata::new(b"de")), Ok(Seen::First));
        assert_eq!(cache.get(key(1)), Some(Metadata::new(b"abc")));
    }

    #[test]
    fn a_cache_of_nothing_is_full() {
        let mut cache = MetadataCache::new(&mut [], &mut []);
        assert_eq!(cache.insert(key(1), &Metadata::new(b"")), Err(CacheFull::Slots { capacity: 0 }));
        assert_eq!(cache.get(key(1)), None);
    }

    #[test]
    fn what_was_in_lent_memory_is_not_taken_for_metadata() {
        let (mut slots, mut bytes) = ([MetadataSlot::EMPTY; 2], [0; 8]);
        MetadataCache::new(&mut slots, &mut bytes).insert(key(1), &Metadata::new(b"old")).unwrap();
        assert_eq!(MetadataCache::new(&mut slots, &mut bytes).get(key(1)), None);
    }

    #[test]
    fn an_extension_without_metadata_teaches_nothing() {
        let (mut slots, mut bytes) = ([MetadataSlot::EMPTY; 2], [0; 8]);
        let mut cache = MetadataCache::new(&mut slots, &mut bytes);
        assert_eq!(cache.observe(key(1), &Extension::EMPTY), Ok(None));
        assert_eq!(cache.observe(key(1), &Extension::new(&[ExtensionItem::ActivityId(Guid::NIL)])), Ok(None));
        assert_eq!(cache.observe(key(1), &Extension::new(&[ExtensionItem::Metadata(Metadata::new(b""))])), Ok(None));
        assert!(cache.is_empty());
        assert_eq!(cache.observe(key(1), &Extension::new(&[ExtensionItem::Metadata(Metadata::new(b"m"))])), Ok(Some(Seen::First)));
        assert_eq!(cache.get(key(1)), Some(Metadata::new(b"m")));
    }
}
