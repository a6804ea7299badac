//! `tracepoint_config`: the tracepoint for each event of a `user_events` session.

use crate::wire::{Array, IpcString, macros::wire_struct};

wire_struct! {
    /// `tracepoint_set`: a tracepoint, and the ids of its events.
    ///
    /// ```
    /// use dotnet_diagnostics_ipc::message::eventpipe::TracepointSet;
    /// use dotnet_diagnostics_ipc::wire::{Array, Encode as _};
    ///
    /// let set = TracepointSet { tracepoint_name: "LowEvents".into(), event_ids: Array::new(&[1, 2]) };
    /// assert_eq!(set.encoded_len(), Ok(4 + 20 + 4 + 8));
    /// ```
    pub struct TracepointSet<'a> {
        /// The tracepoint's name.
        pub tracepoint_name: IpcString<'a> = TracepointName,
        /// The ids.
        pub event_ids: Array<'a, u32> = EventIds,
    }
}

wire_struct! {
    /// `tracepoint_config` (section "`EventPipe` Payload Serialization Examples").
    ///
    /// At least one of the two must be present, and an id may occur only once in the sets of a provider (F-21). Early .NET 10
    /// builds refuse a default without a set (F-33).
    ///
    /// ```
    /// use dotnet_diagnostics_ipc::message::eventpipe::{TracepointConfig, TracepointSet};
    /// use dotnet_diagnostics_ipc::wire::Array;
    ///
    /// let sets = [TracepointSet { tracepoint_name: "LowEvents".into(), event_ids: Array::new(&[1, 2]) }];
    /// let config = TracepointConfig { default_tracepoint_name: "MyTracepoint".into(), tracepoints: Array::new(&sets) };
    /// assert_eq!(config.tracepoint_for(2), Some("LowEvents".into()));
    /// assert_eq!(config.tracepoint_for(3), Some("MyTracepoint".into()));
    /// ```
    pub struct TracepointConfig<'a> {
        /// The tracepoint of events that are in no set; absent to drop them.
        pub default_tracepoint_name: IpcString<'a> = DefaultTracepointName,
        /// The tracepoints of listed events.
        pub tracepoints: Array<'a, TracepointSet<'a>> = Tracepoints,
    }
}

impl<'a> TracepointConfig<'a> {
    /// The tracepoint of event `id` if it passes keywords, level and filter: the set that lists it,
    /// else the default. `None` if it is not written.
    pub fn tracepoint_for(&self, id: u32) -> Option<IpcString<'a>> {
        let listed =
            self.tracepoints.iter().find(|set| set.event_ids.iter().any(|listed| listed == id));
        match listed {
            Some(set) => Some(set.tracepoint_name),
            None => Some(self.default_tracepoint_name).filter(|name| !name.is_absent()),
        }
    }

    /// Whether there is any tracepoint. A default that is empty but not absent counts (P-7).
    pub fn has_tracepoint(&self) -> bool {
        !self.default_tracepoint_name.is_absent() || !self.tracepoints.is_empty()
    }

    /// The first id that occurs twice in the sets, as the index of the second occurrence's set and
    /// its index in that set.
    ///
    /// Takes 1 KiB of stack; the time grows with the square of the number of ids. 136 ids at a time
    /// are compared with all that follow: each of the 16,000 that fit in a message is looked up
    /// at most 118 times.
    pub fn duplicate_event_id(&self) -> Option<(usize, usize)> {
        let ids = self.tracepoints.iter().flat_map(|set| set.event_ids.iter());
        self.place_of(first_repeat(ids)?)
    }

    /// The set of the `nth` id of all, and its index in that set. Separate: it has room on the stack
    /// only while it runs.
    #[inline(never)]
    fn place_of(&self, mut nth: usize) -> Option<(usize, usize)> {
        for (set, tracepoints) in self.tracepoints.iter().enumerate() {
            let len = tracepoints.event_ids.len();
            if nth < len {
                return Some((set, nth));
            }
            nth = nth.saturating_sub(len);
        }
        None
    }
}

/// How many ids are compared with all that follow at a time.
const CHUNK: usize = 136;

/// The position of the first id that equals an earlier one.
#[inline(never)]
fn first_repeat(mut rest: impl Iterator<Item = u32> + Clone) -> Option<usize> {
    let mut chunk = Chunk { ids: heapless::Vec::new(), filter: [0; Chunk::WORDS] };
    let (mut start, mut first) = (0usize, None::<usize>);
    loop {
        if let Some(nth) = chunk.fill(&mut rest) {
            return earlier(first, Some(start.saturating_add(nth)));
        }
        sort(&mut chunk.ids);
        start = start.saturating_add(chunk.ids.len());
        first = earlier(first, chunk.first_in(rest.clone()).map(|nth| start.saturating_add(nth)));
        if !chunk.ids.is_full() || first.is_some_and(|first| first <= start) {
            return first;
        }
    }
}

fn earlier(one: Option<usize>, other: Option<usize>) -> Option<usize> {
    one.into_iter().chain(other).min()
}

/// Some ids, and a filter: one bit rules out most other ids.
struct Chunk {
    ids: heapless::Vec<u32, CHUNK>,
    filter: [u32; Self::WORDS],
}

impl Chunk {
    const WORDS: usize = 64;

    /// Takes the next ids in order, up to the first that equals one of them; returns how many come
    /// before that one.
    fn fill(&mut self, ids: &mut impl Iterator<Item = u32>) -> Option<usize> {
        self.ids.clear();
        self.filter.fill(0);
        while !self.ids.is_full() {
            let id = ids.next()?;
            let (word, bit) = Self::place(id);
            let word = self.filter.get_mut(word)?;
            // The ids are not sorted yet.
            if *word & bit != 0 && self.ids.contains(&id) {
                return Some(self.ids.len());
            }
            *word |= bit;
            let _ = self.ids.push(id);
        }
        None
    }

    /// The position in `ids` of the first id that this chunk contains. The first pass only checks
    /// whether there is one: nearly always there is none, and folding over an array is faster
    /// than stopping at each item.
    fn first_in(&self, mut ids: impl Iterator<Item = u32> + Clone) -> Option<usize> {
        if ids.clone().fold(false, |is_there, id| is_there | self.contains(id)) {
            ids.position(|id| self.contains(id))
        } else {
            None
        }
    }

    /// Whether the chunk, sorted, contains `id`.
    fn contains(&self, id: u32) -> bool {
        let (word, bit) = Self::place(id);
        self.filter.get(word).is_some_and(|word| word & bit != 0)
            && self.ids.binary_search(&id).is_ok()
    }

    /// The filter's word for an id, and the bit in it.
    fn place(id: u32) -> (usize, u32) {
        // Fibonacci hashing spreads consecutive ids.
        let [.., low, high] = id.wrapping_mul(0x9e37_79b1).to_le_bytes();
        (usize::from(high) % Self::WORDS, 1u32.wrapping_shl(low.into()))
    }
}

/// Sorts at most [`CHUNK`] items in place (Shell's sort, with Ciura's gaps). The standard library's
/// sort is 12 KB of code on a small machine, a sixth of this crate.
fn sort(items: &mut [u32]) {
    for gap in [132, 57, 23, 10, 4, 1] {
        for last in gap..items.len() {
            let mut at = last;
            while let Some(before) = at.checked_sub(gap) {
                let (Some(low), Some(high)) = (items.get(before).copied(), items.get(at).copied())
                else {
                    break;
                };
                if low <= high {
                    break;
                }
                for (place, item) in [(before, high), (at, low)] {
                    if let Some(place) = items.get_mut(place) {
                        *place = item;
                    }
                }
                at = before;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sort_orders_any_items() {
        for (len, factor) in [(0, 1), (1, 1), (2, 255), (136, 1), (136, 255), (130, 99), (136, 0)] {
            let mut items: heapless::Vec<u32, CHUNK> = (0..len).map(|n| n * factor % 256).collect();
            sort(&mut items);
            let sum: u32 = (0..len).map(|n| n * factor % 256).sum();
            assert_eq!(items.iter().sum::<u32>(), sum);
            assert!(items.windows(2).all(|pair| pair[0] <= pair[1]), "{len} {factor}");
        }
    }

    fn config<'a>(sets: &'a [TracepointSet<'a>]) -> TracepointConfig<'a> {
        TracepointConfig {
            default_tracepoint_name: IpcString::ABSENT,
            tracepoints: Array::new(sets),
        }
    }

    #[test]
    fn event_id_is_unique_over_all_sets() {
        let set = |event_ids: &'static [u32]| TracepointSet {
            tracepoint_name: "t".into(),
            event_ids: event_ids.into(),
        };
        assert_eq!(config(&[set(&[1, 2]), set(&[3])]).duplicate_event_id(), None);
        assert_eq!(
            config(&[set(&[1, 2]), set(&[]), set(&[3, 2])]).duplicate_event_id(),
            Some((2, 1))
        );
        assert_eq!(config(&[set(&[7, 7])]).duplicate_event_id(), Some((0, 1)));
    }

    #[test]
    fn first_repeat_is_found_over_chunks() {
        let distinct = || (0..5000u32).map(|n| n.wrapping_mul(0x9e37_79b9));
        let repeat = |ids: &mut dyn Iterator<Item = u32>| {
            let ids: heapless::Vec<u32, 8192> = ids.collect();
            first_repeat(ids.iter().copied())
        };
        assert_eq!(repeat(&mut distinct()), None);
        // One that repeats the first, much later; and one that repeats its neighbour, before and
        // after that.
        assert_eq!(repeat(&mut distinct().chain([0])), Some(5000));
        assert_eq!(
            repeat(&mut distinct().take(3000).chain([0]).chain(distinct().skip(3000))),
            Some(3000)
        );
        assert_eq!(repeat(&mut distinct().take(3000).chain([7, 7, 0])), Some(3001));
        assert_eq!(repeat(&mut [1, 2, 2, 1, 2].into_iter()), Some(2));
        assert_eq!(repeat(&mut core::iter::empty()), None);
        // Around the end of the first chunk.
        for len in [135, 136, 137, 272] {
            assert_eq!(repeat(&mut distinct().take(len).chain([0])), Some(len));
            assert_eq!(repeat(&mut distinct().take(len)), None);
        }
    }

    #[test]
    fn unlisted_event_without_default_has_no_tracepoint() {
        assert_eq!(config(&[]).tracepoint_for(1), None);
        assert!(!config(&[]).has_tracepoint());
    }
}
