//! `CollectTracing` to `CollectTracing4`: sessions that stream over the connection.

use super::limits::{check_providers, check_stream};
use super::{Format, ProviderConfig, SessionReply};
use crate::command::Command;
use crate::message::Request;
use crate::wire::{Array, Field, WireError, macros::wire_struct};

/// Declares a session request: the buffer and the format, its own fields, and the providers. A server
/// checks the fields that all have.
macro_rules! session_request {
    ($(#[$meta:meta])* $Request:ident, $COMMAND:ident, { $($fields:tt)* }) => {
        wire_struct! {
            $(#[$meta])*
            pub struct $Request<'a> {
                /// The size of the buffer, in MB; not 0.
                pub circular_buffer_mb: u32 = CircularBufferMb,
                /// The format of the stream.
                pub format: Format = Format,
                $($fields)*
                /// The providers to enable; 1 to 1,000.
                pub providers: Array<'a, ProviderConfig<'a>> = Providers,
            }
        }

        impl<'a> Request<'a> for $Request<'a> {
            const COMMAND: Command = Command::$COMMAND;
            type Reply = SessionReply;

            fn check_values(&self) -> Result<(), WireError> {
                check_stream(self, (Field::CircularBufferMb, self.circular_buffer_mb), (Field::Format, self.format))?;
                check_providers(self, self.providers)
            }
        }
    };
}

session_request! {
    /// `CollectTracing`, `0x0202`. Since .NET Core 3.x.
    ///
    /// Answered by a [`SessionReply`], then the stream.
    ///
    /// ```
    /// use dotnet_diagnostics_ipc::message::{Request as _, eventpipe::{CollectTracing, EventLevel, Format, ProviderConfig}};
    /// use dotnet_diagnostics_ipc::wire::Array;
    ///
    /// let providers = [ProviderConfig::new("MyEventSource", 100, EventLevel::ERROR)];
    /// let request = CollectTracing { circular_buffer_mb: 250, format: Format::NET_TRACE, providers: Array::new(&providers) };
    /// assert_eq!(request.encode_message(&mut [0; 80]), Ok(80));
    /// ```
    CollectTracing, COLLECT_TRACING, {}
}

session_request! {
    /// `CollectTracing2`, `0x0203`: with or without rundown. Since .NET Core 3.x.
    ///
    /// Answered by a [`SessionReply`], then the stream.
    ///
    /// ```
    /// use dotnet_diagnostics_ipc::message::{Request as _, eventpipe::{CollectTracing2, EventLevel, Format, ProviderConfig}};
    /// use dotnet_diagnostics_ipc::wire::Array;
    ///
    /// let providers = [ProviderConfig::new("P", 0, EventLevel(6))];
    /// let request = CollectTracing2 {
    ///     circular_buffer_mb: 16,
    ///     format: Format::NET_TRACE,
    ///     request_rundown: true,
    ///     providers: Array::new(&providers),
    /// };
    /// assert_eq!(request.encode_message(&mut [0; 64]), Ok(57));
    /// let error = request.check_limits().unwrap_err();
    /// assert_eq!(error.to_string(), "CollectTracing2.providers[0].logLevel at byte 41: level 6 is above 5 (Verbose)");
    /// ```
    CollectTracing2, COLLECT_TRACING2, {
        /// Whether the stream ends with the rundown events.
        pub request_rundown: bool = RequestRundown,
    }
}

session_request! {
    /// `CollectTracing3`, `0x0204` (the document prints its header with 0x0203: F-14): with or without stacks. Since .NET 9.
    ///
    /// Answered by a [`SessionReply`], then the stream.
    ///
    /// ```
    /// use dotnet_diagnostics_ipc::message::{Request as _, eventpipe::{CollectTracing3, EventLevel, Format, ProviderConfig}};
    /// use dotnet_diagnostics_ipc::wire::Array;
    ///
    /// let providers = [ProviderConfig::new("P", 0, EventLevel::VERBOSE)];
    /// let request = CollectTracing3 {
    ///     circular_buffer_mb: 16,
    ///     format: Format::NET_TRACE,
    ///     request_rundown: true,
    ///     request_stackwalk: false,
    ///     providers: Array::new(&providers),
    /// };
    /// assert_eq!(request.encode_message(&mut [0; 64]), Ok(58));
    /// ```
    CollectTracing3, COLLECT_TRACING3, {
        /// Whether the stream ends with the rundown events.
        pub request_rundown: bool = RequestRundown,
        /// Whether events carry the stack of their thread.
        pub request_stackwalk: bool = RequestStackwalk,
    }
}

session_request! {
    /// `CollectTracing4`, `0x0205`: with the keyword of the rundown. Since .NET 9.
    ///
    /// Answered by a [`SessionReply`], then the stream.
    ///
    /// ```
    /// use dotnet_diagnostics_ipc::message::{Request as _, eventpipe::{CollectTracing4, EventLevel, Format, ProviderConfig}};
    /// use dotnet_diagnostics_ipc::message::eventpipe::rundown_keyword;
    /// use dotnet_diagnostics_ipc::wire::Array;
    ///
    /// let providers = [ProviderConfig::new("P", 0, EventLevel::VERBOSE)];
    /// let request = CollectTracing4 {
    ///     circular_buffer_mb: 16,
    ///     format: Format::NET_TRACE,
    ///     rundown_keyword: rundown_keyword(true),
    ///     request_stackwalk: false,
    ///     providers: Array::new(&providers),
    /// };
    /// assert_eq!(request.encode_message(&mut [0; 80]), Ok(65));
    /// ```
    CollectTracing4, COLLECT_TRACING4, {
        /// The rundown provider's keyword; 0 for no rundown. See [`rundown_keyword`](super::rundown_keyword).
        pub rundown_keyword: u64 = RundownKeyword,
        /// Whether events carry the stack of their thread. Missing in the document's struct (F-15).
        pub request_stackwalk: bool = RequestStackwalk,
    }
}
