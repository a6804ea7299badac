//! `provider_config`: one provider to enable, in the three forms used by sessions.

use super::{EventFilter, EventLevel, TracepointConfig};
use crate::wire::{IpcString, macros::wire_struct};

wire_struct! {
    /// `provider_config`, in [`CollectTracing`](super::CollectTracing) to [`CollectTracing4`](super::CollectTracing4).
    ///
    /// Earlier editions call the last field `filter_data` and optional: it is always present (F-83).
    ///
    /// ```
    /// use dotnet_diagnostics_ipc::message::eventpipe::{EventLevel, ProviderConfig};
    /// use dotnet_diagnostics_ipc::wire::Encode as _;
    ///
    /// let provider = ProviderConfig::new("MyEventSource", 100, EventLevel::ERROR);
    /// assert_eq!(provider.encoded_len(), Ok(8 + 4 + 32 + 4));
    /// ```
    pub struct ProviderConfig<'a> {
        /// Groups of events, as bits that the provider defines.
        pub keywords: u64 = Keywords,
        /// The level of detail.
        pub log_level: EventLevel = LogLevel,
        /// The provider's name.
        pub provider_name: IpcString<'a> = ProviderName,
        /// `key=value` pairs for the provider, or absent.
        pub arguments: IpcString<'a> = Arguments,
    }
}

impl<'a> ProviderConfig<'a> {
    /// A provider without arguments.
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
    /// `streaming_provider_config`, in a [`StreamingSession`](super::StreamingSession).
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
        /// Groups of events.
        pub keywords: u64 = Keywords,
        /// The level of detail.
        pub log_level: EventLevel = LogLevel,
        /// The provider's name.
        pub provider_name: IpcString<'a> = ProviderName,
        /// `key=value` pairs for the provider, or absent.
        pub arguments: IpcString<'a> = Arguments,
        /// Event ids, among those that pass keywords and level.
        pub filter: EventFilter<'a> = Filter,
    }
}

/// Without a filter: all events that pass keywords and level.
impl<'a> From<ProviderConfig<'a>> for StreamingProviderConfig<'a> {
    fn from(provider: ProviderConfig<'a>) -> Self {
        let ProviderConfig { keywords, log_level, provider_name, arguments } = provider;
        Self { keywords, log_level, provider_name, arguments, filter: EventFilter::ALL }
    }
}

wire_struct! {
    /// `user_events_provider_config`, in a [`UserEventsSession`](super::UserEventsSession).
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
        /// Groups of events.
        pub keywords: u64 = Keywords,
        /// The level of detail.
        pub log_level: EventLevel = LogLevel,
        /// The provider's name.
        pub provider_name: IpcString<'a> = ProviderName,
        /// `key=value` pairs for the provider, or absent.
        pub arguments: IpcString<'a> = Arguments,
        /// Event ids, among those that pass keywords and level.
        pub filter: EventFilter<'a> = Filter,
        /// The tracepoints.
        pub config: TracepointConfig<'a> = Config,
    }
}
