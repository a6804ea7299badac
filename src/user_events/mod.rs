//! Write and read the data that a `user_events` session sends to the Linux kernel: registrations of
//! tracepoints, and records.
//!
//! A [`CollectTracing5`](crate::message::eventpipe::CollectTracing5) with a
//! [`UserEventsSession`](crate::message::eventpipe::UserEventsSession) names tracepoints. The
//! runtime then
//!
//! 1. makes a [`TracepointCommand`] of each name and registers it with [`UserReg`] and
//!    [`DIAG_IOCSREG`];
//! 2. chooses the tracepoint of each event as [`route`] does;
//! 3. writes a [`WrittenRecord`], whose [`Extension`] has the event's metadata the first time;
//! 4. removes the tracepoints at the end of the session with [`UserUnreg`] and [`DIAG_IOCSUNREG`].
//!
//! A reader of the tracepoint gets the [`Record`] without its `write_index`. Only the first record
//! of an event has its metadata, so store the metadata by tracepoint, process id and event id. Keep
//! the first metadata. If other metadata arrives for the same key, a record without metadata may
//! belong to either (P-23).
//!
//! A failed registration ends the request. Later names are not registered, earlier ones are removed
//! again, and the client gets `E_FAIL` (P-22). A name with a space fails this way, because the
//! kernel reads the part after the space as fields.
//!
//! This module opens no file; `user_events_data` and the `ioctl`s are left to the caller. See the
//! sections "`User_events` format" and "Which events have metadata?" of the document, editions 10
//! and 10+; F-25 to F-29, F-64 to F-67, F-87; P-18 to P-23.
#![forbid(unsafe_code)]

//! # Example
//!
//! Read a record that a runtime wrote to the kernel:
//!
//! ```
//! use dotnet_diagnostics_ipc::user_events::Record;
//! use dotnet_diagnostics_ipc::wire::Reader;
//!
//! let written = b"\x01\x2a\0\x04\0\0\0\0\0\x07\0payload";
//! let Record::V1(record) = Record::decode(&mut Reader::new(written)).unwrap() else { panic!("another version") };
//! assert_eq!((record.event_id, record.payload), (42, &b"payload"[..]));
//! ```

mod extension;
mod record;
mod registration;
mod routing;

pub use crate::message::eventpipe::MAX_TRACEPOINT_NAME_LEN;
pub use extension::{Extension, ExtensionItem, Metadata};
pub use record::{Record, RecordV1, RelLoc, WrittenRecord};
pub use registration::{
    DIAG_IOCSREG, DIAG_IOCSREG_32, DIAG_IOCSUNREG, DIAG_IOCSUNREG_32, MAX_COMMAND_LEN,
    TRACEPOINT_FORMAT_V1, TracepointCommand, USER_REG_LEN, USER_REG_PACKED_LEN, USER_UNREG_LEN,
    UserReg, UserRegSize, UserUnreg,
};
pub use routing::{EventTraits, Route, route};
