//! The providers of a session, in the three forms that sessions use, with filters and tracepoints.

use super::EventLevel;
use crate::wire::{Array, IpcString, macros::wire_struct};

wire_struct! {
    /// A provider to enable (`provider_config`) in [`CollectTracing`](super::CollectTracing) to
    /// [`CollectTracing4`](super::CollectTracing4).
    ///
    /// Earlier editions call the last field `filter_data` and optional, but it is always present (F-83).
    ///
    /// ```
    /// use dotnet_diagnostics_ipc::message::eventpipe::{EventLevel, ProviderConfig};
    /// use dotnet_diagnostics_ipc::wire::Encode as _;
    ///
    /// let provider = ProviderConfig::new("MyEventSource", 100, EventLevel::ERROR);
    /// assert_eq!(provider.encoded_len(), Ok(8 + 4 + 32 + 4));
    /// ```
    pub struct ProviderConfig<'a> {
        /// The groups of events, as bits that the provider defines.
        pub keywords: u64 = Keywords,
        /// The level of detail.
        pub log_level: EventLevel = LogLevel,
        /// The provider's name.
        pub provider_name: IpcString<'a> = ProviderName,
        /// `key=value` pairs for the provider, or an absent string.
        pub arguments: IpcString<'a> = Arguments,
    }
}

impl<'a> ProviderConfig<'a> {
    /// Returns a provider without arguments.
    pub const fn new(provider_name: &'a str, keywords: u64, log_level: EventLevel) -> Self {
        Self {
            keywords,
            log_level,
            provider_name: IpcString::new(provider_name),
            arguments: IpcString::ABSENT,
        }
    }
}

wire_struct! {
    /// A provider to enable (`streaming_provider_config`) in a [`StreamingSession`](super::StreamingSession).
    ///
    /// ```
    /// use dotnet_diagnostics_ipc::message::eventpipe::{EventFilter, EventLevel, ProviderConfig, StreamingProviderConfig};
    /// use dotnet_diagnostics_ipc::wire::{Array, Encode as _, IpcString};
    ///
    /// let provider = StreamingProviderConfig {
    ///     keywords: u64::MAX,
    ///     log_level: EventLevel::VERBOSE,
    ///     provider_name: "P".into(),
    ///     arguments: IpcString::ABSENT,
    ///     filter: EventFilter { enable: true, event_ids: Array::new(&[1, 2]) },
    /// };
    /// assert_eq!(provider.encoded_len(), Ok(8 + 4 + 8 + 4 + 1 + 4 + 8));
    /// let plain = ProviderConfig::new("P", u64::MAX, EventLevel::VERBOSE);
    /// assert_eq!(StreamingProviderConfig::from(plain).filter, EventFilter::ALL);
    /// ```
    pub struct StreamingProviderConfig<'a> {
        /// The groups of events, as bits that the provider defines.
        pub keywords: u64 = Keywords,
        /// The level of detail.
        pub log_level: EventLevel = LogLevel,
        /// The provider's name.
        pub provider_name: IpcString<'a> = ProviderName,
        /// `key=value` pairs for the provider, or an absent string.
        pub arguments: IpcString<'a> = Arguments,
        /// The ids of the events to write, among those that pass keywords and level.
        pub filter: EventFilter<'a> = Filter,
    }
}

/// Adds a filter that lets every event through.
impl<'a> From<ProviderConfig<'a>> for StreamingProviderConfig<'a> {
    fn from(provider: ProviderConfig<'a>) -> Self {
        let ProviderConfig { keywords, log_level, provider_name, arguments } = provider;
        Self { keywords, log_level, provider_name, arguments, filter: EventFilter::ALL }
    }
}

wire_struct! {
    /// A provider to enable (`user_events_provider_config`) in a [`UserEventsSession`](super::UserEventsSession).
    ///
    /// ```
    /// use dotnet_diagnostics_ipc::message::eventpipe::{EventFilter, EventLevel, TracepointConfig, UserEventsProviderConfig};
    /// use dotnet_diagnostics_ipc::wire::{Array, Encode as _, IpcString};
    ///
    /// let provider = UserEventsProviderConfig {
    ///     keywords: u64::MAX,
    ///     log_level: EventLevel::VERBOSE,
    ///     provider_name: "P".into(),
    ///     arguments: IpcString::ABSENT,
    ///     filter: EventFilter::ALL,
    ///     config: TracepointConfig { default_tracepoint_name: "T".into(), tracepoints: Array::EMPTY },
    /// };
    /// assert_eq!(provider.encoded_len(), Ok(8 + 4 + 8 + 4 + 5 + 8 + 4));
    /// ```
    pub struct UserEventsProviderConfig<'a> {
        /// The groups of events, as bits that the provider defines.
        pub keywords: u64 = Keywords,
        /// The level of detail.
        pub log_level: EventLevel = LogLevel,
        /// The provider's name.
        pub provider_name: IpcString<'a> = ProviderName,
        /// `key=value` pairs for the provider, or an absent string.
        pub arguments: IpcString<'a> = Arguments,
        /// The ids of the events to write, among those that pass keywords and level.
        pub filter: EventFilter<'a> = Filter,
        /// The tracepoints to which events are written.
        pub config: TracepointConfig<'a> = Config,
    }
}

wire_struct! {
    /// A filter by event id: `event_filter` (section "`EventPipe` Payload Serialization Examples").
    ///
    /// It has at least 5 bytes. `enable = 0` without ids means no filter (F-17); `enable = 1` without ids lets
    /// nothing through.
    ///
    /// ```
    /// use dotnet_diagnostics_ipc::message::eventpipe::EventFilter;
    /// use dotnet_diagnostics_ipc::wire::Array;
    ///
    /// let only = EventFilter { enable: true, event_ids: Array::new(&[1, 2, 3]) };
    /// assert!(only.allows(2) && !only.allows(4));
    /// let all_but = EventFilter { enable: false, event_ids: Array::new(&[4, 5]) };
    /// assert!(all_but.allows(2) && !all_but.allows(4));
    /// assert!(EventFilter::ALL.allows(4) && !EventFilter::NONE.allows(4));
    /// ```
    pub struct EventFilter<'a> {
        /// Whether only the listed events are written (true), or all others (false).
        pub enable: bool = Enable,
        /// The ids of the listed events.
        pub event_ids: Array<'a, u32> = EventIds,
    }
}

impl EventFilter<'_> {
    /// Lets every event through.
    pub const ALL: Self = Self { enable: false, event_ids: Array::EMPTY };
    /// Lets no event through.
    pub const NONE: Self = Self { enable: true, event_ids: Array::EMPTY };

    /// Returns whether the event `id` is written if it passes keywords and level.
    pub fn allows(&self, id: u32) -> bool {
        self.event_ids.iter().any(|listed| listed == id) == self.enable
    }
}

wire_struct! {
    /// A tracepoint and the ids of its events: `tracepoint_set`.
    ///
    /// ```
    /// use dotnet_diagnostics_ipc::message::eventpipe::TracepointSet;
    /// use dotnet_diagnostics_ipc::wire::{Array, Encode as _};
    ///
    /// let set = TracepointSet { tracepoint_name: "LowEvents".into(), event_ids: Array::new(&[1, 2]) };
    /// assert_eq!(set.encoded_len(), Ok(4 + 20 + 4 + 8));
    /// ```
    pub struct TracepointSet<'a> {
        /// The name of the tracepoint.
        pub tracepoint_name: IpcString<'a> = TracepointName,
        /// The ids of the events that are written to the tracepoint.
        pub event_ids: Array<'a, u32> = EventIds,
    }
}

wire_struct! {
    /// The tracepoints of a provider: `tracepoint_config` (section "`EventPipe` Payload Serialization Examples").
    ///
    /// A default tracepoint or a set must be present, and an id may occur only once in the sets of a provider (F-21). Early
    /// .NET 10 builds refuse a default without a set (F-33).
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
        /// The tracepoints of events that are listed by id.
        pub tracepoints: Array<'a, TracepointSet<'a>> = Tracepoints,
    }
}

impl<'a> TracepointConfig<'a> {
    /// Returns the tracepoint of event `id` if the event passes keywords, level and filter. It is
    /// the set that lists the id, otherwise the default. `None` if the event is not written.
    pub fn tracepoint_for(&self, id: u32) -> Option<IpcString<'a>> {
        let listed =
            self.tracepoints.iter().find(|set| set.event_ids.iter().any(|listed| listed == id));
        match listed {
            Some(set) => Some(set.tracepoint_name),
            None => Some(self.default_tracepoint_name).filter(|name| !name.is_absent()),
        }
    }

    /// Returns whether there is any tracepoint. A default that is empty but not absent counts (P-7).
    pub fn has_tracepoint(&self) -> bool {
        !self.default_tracepoint_name.is_absent() || !self.tracepoints.is_empty()
    }

    /// Returns the first id that occurs twice in the sets, as the index of the second occurrence's
    /// set and the index in that set.
    ///
    /// The search takes 1 KiB of stack, and time that grows with the square of the number of ids.
    /// It compares 136 ids at a time with all later ones, so each of the 16,000 ids that fit in a
    /// message is looked up at most 118 times.
    pub fn duplicate_event_id(&self) -> Option<(usize, usize)> {
        let ids = self.tracepoints.iter().flat_map(|set| set.event_ids.iter());
        self.place_of(first_repeat(ids)?)
    }

    /// Returns the set of the `nth` id of all sets, and the index in that set. Not inlined, so that
    /// it uses stack only while it runs.
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

/// Returns the position of the first id that equals an earlier one.
#[inline(never)]
fn first_repeat(mut rest: impl Iterator<Item = u32> + Clone) -> Option<usize> {
    let earlier = |one: Option<usize>, other| one.into_iter().chain(other).min();
    let (mut start, mut first) = (0usize, None);
    loop {
        let mut chunk = Chunk { sorted: heapless::Vec::new(), filter: [0; 64] };
        while !chunk.sorted.is_full() {
            let Some(id) = rest.next() else { return first };
            if !chunk.add(id) {
                return earlier(first, Some(start.saturating_add(chunk.sorted.len())));
            }
        }
        start = start.saturating_add(chunk.sorted.len());
        // There is nearly always no repeat, and folding an array is faster than stopping at each item.
        if rest.clone().fold(false, |any, id| any | chunk.contains(id)) {
            let nth = rest.clone().position(|id| chunk.contains(id));
            first = earlier(first, nth.map(|nth| start.saturating_add(nth)));
        }
        if first.is_some_and(|first| first <= start) {
            return first;
        }
    }
}

/// Ids that are compared with all later ones, with a bit filter that rules out most other ids.
struct Chunk {
    sorted: heapless::Vec<u32, 136>,
    filter: [u32; 64],
}

impl Chunk {
    /// Returns the filter's word for an id, and the bit in it. Fibonacci hashing spreads consecutive ids.
    fn place(id: u32) -> (usize, u32) {
        let [.., low, high] = id.wrapping_mul(0x9e37_79b1).to_le_bytes();
        (usize::from(high) % 64, 1u32.wrapping_shl(low.into()))
    }

    fn contains(&self, id: u32) -> bool {
        let (word, bit) = Self::place(id);
        self.filter.get(word).is_some_and(|word| word & bit != 0)
            && self.sorted.binary_search(&id).is_ok()
    }

    /// Adds an id, and returns whether it is new.
    fn add(&mut self, mut id: u32) -> bool {
        let Err(at) = self.sorted.binary_search(&id) else { return false };
        let (word, bit) = Self::place(id);
        if let Some(word) = self.filter.get_mut(word) {
            *word |= bit;
        }
        for place in self.sorted.iter_mut().skip(at) {
            core::mem::swap(place, &mut id);
        }
        self.sorted.push(id).is_ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
        // One id repeats the first, much later; others repeat their neighbour before and after that.
        assert_eq!(repeat(&mut distinct().chain([0])), Some(5000));
        assert_eq!(
            repeat(&mut distinct().take(3000).chain([0]).chain(distinct().skip(3000))),
            Some(3000)
        );
        assert_eq!(repeat(&mut distinct().take(3000).chain([7, 7, 0])), Some(3001));
        assert_eq!(repeat(&mut [1, 2, 2, 1, 2].into_iter()), Some(2));
        assert_eq!(repeat(&mut core::iter::empty()), None);
        // Lengths around the ends of the first two chunks.
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
