//! `tracepoint_config`: into which tracepoint an event of a `user_events` session goes.

use crate::wire::{Array, IpcString, macros::wire_struct};

wire_struct! {
    /// `tracepoint_set`: a tracepoint, and the event ids that go to it.
    ///
    /// | bytes | what |
    /// |---|---|
    /// | string | `tracepoint_name` |
    /// | 4 + 4 × n | `event_ids` |
    ///
    /// ```
    /// use dotnet_diagnostics_ipc::message::eventpipe::TracepointSet;
    /// use dotnet_diagnostics_ipc::wire::{Array, Encode as _};
    ///
    /// let set = TracepointSet { tracepoint_name: "LowEvents".into(), event_ids: Array::new(&[1, 2]) };
    /// assert_eq!(set.encoded_len(), Ok(4 + 20 + 4 + 8));
    /// ```
    pub struct TracepointSet<'a> {
        /// The tracepoint.
        pub tracepoint_name: IpcString<'a> = TracepointName,
        /// The ids.
        pub event_ids: Array<'a, u32> = EventIds,
    }
}

wire_struct! {
    /// `tracepoint_config` (section "`EventPipe` Payload Serialization Examples").
    ///
    /// | bytes | what |
    /// |---|---|
    /// | string | `default_tracepoint_name` |
    /// | array of [`TracepointSet`] | `tracepoints` |
    ///
    /// At least one of the two must be there, and no id may stand twice in the sets of one provider (F-21). Early .NET 10
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
        /// Where the events go that stand in no set; absent to write none of them.
        pub default_tracepoint_name: IpcString<'a> = DefaultTracepointName,
        /// Where listed events go instead.
        pub tracepoints: Array<'a, TracepointSet<'a>> = Tracepoints,
    }
}

impl<'a> TracepointConfig<'a> {
    /// Where the event `id` goes, which passed keywords, level and filter: to the set that lists it, else to the default.
    /// `None` if it is written nowhere.
    pub fn tracepoint_for(&self, id: u32) -> Option<IpcString<'a>> {
        let listed = self.tracepoints.iter().find(|set| set.event_ids.iter().any(|listed| listed == id));
        match listed {
            Some(set) => Some(set.tracepoint_name),
            None => Some(self.default_tracepoint_name).filter(|name| !name.is_absent()),
        }
    }

    /// Whether there is a tracepoint at all. A default that is empty but not absent counts as one (P-7).
    pub fn has_tracepoint(&self) -> bool {
        !self.default_tracepoint_name.is_absent() || !self.tracepoints.is_empty()
    }

    /// The first id that stands twice in the sets, as the indices of the second one's set and of its place in it.
    ///
    /// Takes 8 KiB of stack, and time that grows with the number of ids, not with its square, for all that fits a message.
    pub fn duplicate_event_id(&self) -> Option<(usize, usize)> {
        let places = self
            .tracepoints
            .iter()
            .enumerate()
            .flat_map(|(set, tracepoints)| tracepoints.event_ids.iter().enumerate().map(move |(at, id)| (id, (set, at))));
        let nth = first_repeat(places.clone().map(|(id, _)| id))?;
        places.map(|(_, place)| place).nth(nth)
    }
}

/// How many ids are sorted at a time.
const CHUNK: usize = 1024;

/// Where the first id stands that equals one before it.
fn first_repeat(ids: impl Iterator<Item = u32> + Clone) -> Option<usize> {
    let positioned = ids.zip(0u32..);
    let (mut first, mut start) = (None::<u32>, 0usize);
    loop {
        // With its position behind the id, equal ids stand in the order in which they came.
        let mut chunk = heapless::Vec::<(u32, u32), CHUNK>::new();
        for one in positioned.clone().skip(start) {
            // Full: the rest comes later.
            if chunk.push(one).is_err() {
                break;
            }
        }
        if chunk.is_empty() {
            return first.and_then(|position| usize::try_from(position).ok());
        }
        chunk.sort_unstable();
        let within = chunk.windows(2).filter_map(|pair| match pair {
            [(a, _), (b, position)] if a == b => Some(*position),
            _ => None,
        });
        let within = within.min();
        start = start.saturating_add(CHUNK);
        let mut behind = positioned.clone().skip(start);
        let behind = behind.find(|(id, _)| chunk.binary_search_by_key(id, |(id, _)| *id).is_ok()).map(|(_, position)| position);
        first = first.into_iter().chain(within).chain(behind).min();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn config<'a>(sets: &'a [TracepointSet<'a>]) -> TracepointConfig<'a> {
        TracepointConfig { default_tracepoint_name: IpcString::ABSENT, tracepoints: Array::new(sets) }
    }

    #[test]
    fn id_may_stand_once_over_all_sets() {
        let set = |event_ids: &'static [u32]| TracepointSet { tracepoint_name: "t".into(), event_ids: event_ids.into() };
        assert_eq!(config(&[set(&[1, 2]), set(&[3])]).duplicate_event_id(), None);
        assert_eq!(config(&[set(&[1, 2]), set(&[]), set(&[3, 2])]).duplicate_event_id(), Some((2, 1)));
        assert_eq!(config(&[set(&[7, 7])]).duplicate_event_id(), Some((0, 1)));
    }

    #[test]
    fn repeat_is_found_over_chunks_and_the_first_one_counts() {
        let distinct = || (0..5000u32).map(|n| n.wrapping_mul(0x9e37_79b9));
        let repeat = |ids: &mut dyn Iterator<Item = u32>| {
            let ids: heapless::Vec<u32, 8192> = ids.collect();
            first_repeat(ids.iter().copied())
        };
        assert_eq!(repeat(&mut distinct()), None);
        // One that repeats the first, far behind; and one that repeats its neighbour, before and behind that.
        assert_eq!(repeat(&mut distinct().chain([0])), Some(5000));
        assert_eq!(repeat(&mut distinct().take(3000).chain([0]).chain(distinct().skip(3000))), Some(3000));
        assert_eq!(repeat(&mut distinct().take(3000).chain([7, 7, 0])), Some(3001));
        assert_eq!(repeat(&mut [1, 2, 2, 1, 2].into_iter()), Some(2));
        assert_eq!(repeat(&mut core::iter::empty()), None);
    }

    #[test]
    fn without_a_default_unlisted_events_go_nowhere() {
        assert_eq!(config(&[]).tracepoint_for(1), None);
        assert!(!config(&[]).has_tracepoint());
    }
}
