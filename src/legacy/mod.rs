//! Read and write what only the 2019 editions of the protocol have.
//!
//! | | in the draft of 2019-05 | since .NET Core 3.x |
//! |---|---|---|
//! | `CollectTracing` | carries a path: [`DraftCollectTracing`] | carries a [`Format`](crate::message::eventpipe::Format) |
//! | stream | netperf | nettrace |
//! | a provider's last string | `filter_data (optional)`, also in 3.x and 5 (F-83): [`decode_without_filter_data`] | `arguments`, always present |
//! | command set `0x01` | [`MISCELLANEOUS`], without commands | `Dump` |
//! | error codes | [`DraftErrorCode`]: 0 to 4 and 0xFFFFFFFF | [`HResult`](crate::hresult::HResult) |
//! | socket and pipe | `dotnetcore-diagnostic-…` | `dotnet-diagnostic-…` |
//!
//! The draft and the 3.x edition end with the previous protocol, "Current Implementation (OLD)":
//! [`OldRequest`] and [`OldReply`].
//!
//! No tested release speaks any of this. Only functions whose names say so decode it, never
//! [`Message::request`](crate::message::Message::request).
#![forbid(unsafe_code)]

//! # Example
//!
//! Name a request of the previous protocol:
//!
//! ```
//! use dotnet_diagnostics_ipc::legacy::OldRequestType;
//!
//! assert_eq!(OldRequestType(1026).name(), Some("CollectEventPipeTracing"));
//! ```

mod draft;
mod error_code;
mod filter_data;
mod old_reply;
mod old_request;

pub use draft::{DraftCollectTracing, DraftProviderConfig};
pub use error_code::DraftErrorCode;
pub use filter_data::{
    CollectTracingWithoutFilterData, ProviderConfigWithoutFilterData, SessionLayout,
    decode_without_filter_data,
};
pub use old_reply::{OldReply, SessionIdWidth};
pub use old_request::{OldRequest, OldRequestType};

/// The draft's command set `0x01`, "Miscellaneous". No edition has a command in it; since 3.x the
/// set is `Dump`.
///
/// ```
/// use dotnet_diagnostics_ipc::{command::Command, legacy::MISCELLANEOUS};
///
/// assert_eq!(MISCELLANEOUS, Command::GENERATE_CORE_DUMP.set);
/// ```
pub const MISCELLANEOUS: u8 = 0x01;

/// The draft's name of a command set: `Miscellaneous`, `EventPipe` or `Server`.
///
/// ```
/// use dotnet_diagnostics_ipc::legacy::draft_set_name;
///
/// assert_eq!((draft_set_name(0x01), draft_set_name(0x03)), (Some("Miscellaneous"), None));
/// ```
pub const fn draft_set_name(set: u8) -> Option<&'static str> {
    match set {
        MISCELLANEOUS => Some("Miscellaneous"),
        0x02 => Some("EventPipe"),
        0xff => Some("Server"),
        _ => None,
    }
}
