//! Read and write the messages that only the 2019 editions of the protocol have.
//!
//! | | in the draft of 2019-05 | since .NET Core 3.x |
//! |---|---|---|
//! | `CollectTracing` | carries a path: [`DraftCollectTracing`] | carries a [`Format`](crate::message::eventpipe::Format) |
//! | stream | netperf | nettrace |
//! | a provider's last string | `filter_data (optional)`, also in 3.x and 5 (F-83) | `arguments`, always present |
//! | command set `0x01` | `Miscellaneous`, without commands | `Dump` |
//! | error codes | [`DraftErrorCode`]: 0 to 4 and 0xFFFFFFFF | [`HResult`](crate::hresult::HResult) |
//! | socket and pipe | `dotnetcore-diagnostic-…` | `dotnet-diagnostic-…` |
//!
//! The draft and the 3.x edition end with a description of the previous protocol, "Current
//! Implementation (OLD)": [`OldRequest`] and [`OldReply`].
//!
//! No tested release implements any of this. Only functions that have the draft or the old protocol
//! in their name decode these messages, never
//! [`Message::request`](crate::message::Message::request).
#![forbid(unsafe_code)]

//! # Example
//!
//! Print the name of a request of the previous protocol:
//!
//! ```
//! use dotnet_diagnostics_ipc::legacy::OldRequestType;
//!
//! assert_eq!(OldRequestType(1026).name(), Some("CollectEventPipeTracing"));
//! ```

mod payloads;

pub use payloads::{
    DraftCollectTracing, DraftErrorCode, DraftProviderConfig, OldReply, OldRequest, OldRequestType,
};
