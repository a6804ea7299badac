//! Chooses the tracepoint of an event.

use crate::message::eventpipe::{EventLevel, UserEventsProviderConfig};
use crate::wire::IpcString;

/// The properties of an event that decide its tracepoint, as defined by its provider.
///
/// ```
/// use dotnet_diagnostics_ipc::{message::eventpipe::EventLevel, user_events::EventTraits};
///
/// let event = EventTraits { keywords: 0x1, level: EventLevel::INFORMATIONAL, id: 80 };
/// assert_eq!(event.level.name(), Some("Informational"));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EventTraits {
    /// The groups of the event, or 0 for none.
    pub keywords: u64,
    /// The level of detail of the event.
    pub level: EventLevel,
    /// The id of the event with all 32 bits, of which a record has only the lower 16 (F-29).
    pub id: u32,
}

/// The tracepoint of an event, or the first reason why it has none.
///
/// ```
/// use dotnet_diagnostics_ipc::user_events::Route;
///
/// assert_eq!(Route::Tracepoint("MyTracepoint".into()).tracepoint(), Some("MyTracepoint".into()));
/// assert_eq!(Route::Filter.tracepoint(), None);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Route<'a> {
    /// The event is written to this tracepoint.
    Tracepoint(IpcString<'a>),
    /// The level of the event is above the provider's `logLevel`.
    Level,
    /// The provider has none of the event's keywords.
    Keywords,
    /// The provider's filter excludes the event's id.
    Filter,
    /// No set lists the event's id, and there is no default tracepoint.
    NoTracepoint,
}

impl<'a> Route<'a> {
    /// Returns the tracepoint if the event is written.
    pub const fn tracepoint(self) -> Option<IpcString<'a>> {
        match self {
            Self::Tracepoint(name) => Some(name),
            _ => None,
        }
    }
}

/// Returns the tracepoint of an event (section "`CollectTracing5`"). The checks are in this order:
///
/// 1. The event's level is `LogAlways` (0) or at most `logLevel`.
/// 2. The event has no keywords, or one of `keywords`.
/// 3. The filter allows the event's id:
///    [`EventFilter::allows`](crate::message::eventpipe::EventFilter::allows).
/// 4. A set lists the id, or there is a default tracepoint:
///    [`TracepointConfig::tracepoint_for`](crate::message::eventpipe::TracepointConfig::tracepoint_for).
///
/// The first two are the ETW rules, to which the document refers. So a provider with `keywords` 0
/// gets only events without keywords, and one with `logLevel` 0 gets only events of level 0.
///
/// ```
/// use dotnet_diagnostics_ipc::message::eventpipe::{
///     EventFilter, EventLevel, TracepointConfig, TracepointSet, UserEventsProviderConfig,
/// };
/// use dotnet_diagnostics_ipc::user_events::{EventTraits, Route, route};
/// use dotnet_diagnostics_ipc::wire::{Array, IpcString};
///
/// let sets = [TracepointSet { tracepoint_name: "LowEvents".into(), event_ids: Array::new(&[1, 2]) }];
/// let provider = UserEventsProviderConfig {
///     keywords: 0x6,
///     log_level: EventLevel::INFORMATIONAL,
///     provider_name: "P".into(),
///     arguments: IpcString::ABSENT,
///     filter: EventFilter { enable: false, event_ids: Array::new(&[9]) },
///     config: TracepointConfig { default_tracepoint_name: "MyTracepoint".into(), tracepoints: Array::new(&sets) },
/// };
/// let event = EventTraits { keywords: 0x4, level: EventLevel::WARNING, id: 2 };
/// assert_eq!(route(&provider, event), Route::Tracepoint("LowEvents".into()));
/// assert_eq!(route(&provider, EventTraits { id: 3, ..event }), Route::Tracepoint("MyTracepoint".into()));
/// assert_eq!(route(&provider, EventTraits { id: 9, ..event }), Route::Filter);
/// assert_eq!(route(&provider, EventTraits { keywords: 0x8, ..event }), Route::Keywords);
/// assert_eq!(route(&provider, EventTraits { level: EventLevel::VERBOSE, ..event }), Route::Level);
/// ```
pub fn route<'a>(provider: &UserEventsProviderConfig<'a>, event: EventTraits) -> Route<'a> {
    if event.level != EventLevel::LOG_ALWAYS && event.level > provider.log_level {
        return Route::Level;
    }
    if event.keywords != 0 && event.keywords & provider.keywords == 0 {
        return Route::Keywords;
    }
    if !provider.filter.allows(event.id) {
        return Route::Filter;
    }
    provider.config.tracepoint_for(event.id).map_or(Route::NoTracepoint, Route::Tracepoint)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::message::eventpipe::{EventFilter, TracepointConfig, TracepointSet};
    use crate::wire::Array;

    const SETS: &[TracepointSet<'_>] = &[
        TracepointSet { tracepoint_name: IpcString::new("A"), event_ids: Array::new(&[1, 2]) },
        TracepointSet { tracepoint_name: IpcString::new("B"), event_ids: Array::new(&[3, 65_537]) },
    ];

    fn provider() -> UserEventsProviderConfig<'static> {
        UserEventsProviderConfig {
            keywords: 0x8000_0000_0000_0006,
            log_level: EventLevel::WARNING,
            provider_name: "P".into(),
            arguments: IpcString::ABSENT,
            filter: EventFilter::ALL,
            config: TracepointConfig {
                default_tracepoint_name: "D".into(),
                tracepoints: Array::new(SETS),
            },
        }
    }

    const EVENT: EventTraits = EventTraits { keywords: 0x2, level: EventLevel::ERROR, id: 1 };

    fn to(name: &str) -> Route<'_> {
        Route::Tracepoint(name.into())
    }

    #[test]
    fn level_up_to_provider_or_log_always_passes() {
        let of = |level| route(&provider(), EventTraits { level: EventLevel(level), ..EVENT });
        assert_eq!([0, 1, 2, 3].map(of), [to("A"); 4]);
        assert_eq!([4, 5, 6, u32::MAX].map(of), [Route::Level; 4]);
        let lowest = UserEventsProviderConfig { log_level: EventLevel::LOG_ALWAYS, ..provider() };
        assert_eq!(
            route(&lowest, EventTraits { level: EventLevel::CRITICAL, ..EVENT }),
            Route::Level
        );
        assert_eq!(route(&lowest, EventTraits { level: EventLevel::LOG_ALWAYS, ..EVENT }), to("A"));
    }

    #[test]
    fn common_keyword_or_no_keyword_passes() {
        let of = |keywords| route(&provider(), EventTraits { keywords, ..EVENT });
        assert_eq!([0, 2, 4, 3, u64::MAX, 1 << 63].map(of), [to("A"); 6]);
        assert_eq!([1, 8, 1 << 62].map(of), [Route::Keywords; 3]);
        let none = UserEventsProviderConfig { keywords: 0, ..provider() };
        assert_eq!(route(&none, EVENT), Route::Keywords);
        assert_eq!(route(&none, EventTraits { keywords: 0, ..EVENT }), to("A"));
    }

    #[test]
    fn filter_is_applied_before_sets() {
        let only = EventFilter { enable: true, event_ids: Array::new(&[2, 7]) };
        let filtered = UserEventsProviderConfig { filter: only, ..provider() };
        let of = |id| route(&filtered, EventTraits { id, ..EVENT });
        assert_eq!([1, 2, 7, 8].map(of), [Route::Filter, to("A"), to("D"), Route::Filter]);
        let nothing = UserEventsProviderConfig { filter: EventFilter::NONE, ..provider() };
        assert_eq!(route(&nothing, EVENT), Route::Filter);
    }

    #[test]
    fn set_is_preferred_to_default() {
        let of = |id| route(&provider(), EventTraits { id, ..EVENT });
        assert_eq!([1, 2, 3, 4, 65_537].map(of), [to("A"), to("A"), to("B"), to("D"), to("B")]);
        assert_eq!(of(65_538), to("D"), "the id is not cut to 16 bits");
        let config =
            TracepointConfig { default_tracepoint_name: IpcString::ABSENT, ..provider().config };
        let without = UserEventsProviderConfig { config, ..provider() };
        assert_eq!(route(&without, EventTraits { id: 4, ..EVENT }), Route::NoTracepoint);
        assert_eq!(route(&without, EVENT).tracepoint(), Some("A".into()));
        assert_eq!(Route::NoTracepoint.tracepoint(), None);
    }

    #[test]
    fn first_reason_is_given() {
        let filtered = UserEventsProviderConfig { filter: EventFilter::NONE, ..provider() };
        assert_eq!(
            route(&filtered, EventTraits { keywords: 1, level: EventLevel::VERBOSE, id: 1 }),
            Route::Level
        );
        assert_eq!(route(&filtered, EventTraits { keywords: 1, ..EVENT }), Route::Keywords);
    }
}
