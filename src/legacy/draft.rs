//! The draft's `CollectTracing`, shown in the 78-byte tables of three editions.

use crate::message::eventpipe::EventLevel;
use crate::wire::{Array, IpcString, macros::wire_struct};

wire_struct! {
    /// `CollectTracing`, `0x0202`, in the 2019 draft: with a path in place of the format.
    ///
    /// No released runtime accepts it: only this type's own functions decode it, never
    /// [`Message::request`](crate::message::Message::request).
    ///
    /// ```
    /// use dotnet_diagnostics_ipc::{legacy::DraftCollectTracing, wire::{Array, Encode as _, IpcString}};
    ///
    /// let request = DraftCollectTracing { circular_buffer_mb: 250, output_path: IpcString::ABSENT, providers: Array::EMPTY };
    /// assert_eq!(request.encoded_len(), Ok(12));
    /// ```
    pub struct DraftCollectTracing<'a> {
        /// The size of the buffer, in MB.
        pub circular_buffer_mb: u32 = CircularBufferMb,
        /// "Currently unused", to be sent absent.
        pub output_path: IpcString<'a> = OutputPath,
        /// The providers to enable.
        pub providers: Array<'a, DraftProviderConfig<'a>> = Providers,
    }
}

wire_struct! {
    /// `provider_config` with the field names of the 2019 draft and the editions up to .NET 6.
    ///
    /// ```
    /// use dotnet_diagnostics_ipc::{legacy::DraftProviderConfig, message::eventpipe::EventLevel, wire::{Encode as _, IpcString}};
    ///
    /// let provider = DraftProviderConfig {
    ///     keywords: 100,
    ///     log_level: EventLevel::ERROR,
    ///     provider_name: "MyEventSource".into(),
    ///     filter_data: IpcString::ABSENT,
    /// };
    /// assert_eq!(provider.encoded_len(), Ok(48));
    /// ```
    pub struct DraftProviderConfig<'a> {
        /// Groups of events.
        pub keywords: u64 = Keywords,
        /// The level of detail.
        pub log_level: EventLevel = LogLevel,
        /// The provider's name.
        pub provider_name: IpcString<'a> = ProviderName,
        /// Later called `arguments`. Called optional here, but always present (F-83).
        pub filter_data: IpcString<'a> = FilterData,
    }
}
