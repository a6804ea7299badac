//! `event_filter`: which event ids of a provider are written.

use crate::wire::{Array, macros::wire_struct};

wire_struct! {
    /// `event_filter` (section "`EventPipe` Payload Serialization Examples").
    ///
    /// At least 5 bytes: "no filter" is `enable = 0` and no ids (F-17). `enable = 1` and no ids lets nothing through.
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
        /// Whether the ids are the events to write (true) or to leave out (false).
        pub enable: bool = Enable,
        /// The ids.
        pub event_ids: Array<'a, u32> = EventIds,
    }
}

impl EventFilter<'_> {
    /// Lets every event through.
    pub const ALL: Self = Self { enable: false, event_ids: Array::EMPTY };
    /// Lets no event through.
    pub const NONE: Self = Self { enable: true, event_ids: Array::EMPTY };

    /// Whether the event `id` is written if it passes keywords and level.
    pub fn allows(&self, id: u32) -> bool {
        self.event_ids.iter().any(|listed| listed == id) == self.enable
    }
}
