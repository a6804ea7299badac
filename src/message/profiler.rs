//! Attach a profiler: the Profiler commands, set `0x03`.

//! # Example
//!
//! Attach a profiler to a running process:
//!
//! ```
//! use dotnet_diagnostics_ipc::message::{Request as _, profiler::AttachProfiler};
//!
//! let request = AttachProfiler {
//!     attach_timeout: 10_000, // milliseconds
//!     profiler_guid: "cf0d821e-299b-5307-a3d8-b283c03916dd".parse()?,
//!     profiler_path: "/opt/profiler.so".into(),
//!     client_data: b"on",
//! };
//! assert_eq!(request.encode_message(&mut [0; 128]), Ok(84));
//! # Ok::<(), dotnet_diagnostics_ipc::text::TextError>(())
//! ```

use super::{Request, server::ResultReply};
use crate::command::Command;
use crate::wire::{Clsid, IpcString, macros::wire_struct};

wire_struct! {
    /// The `AttachProfiler` request (`0x0301`, since .NET Core 3.x), which loads a profiler into a running process.
    ///
    /// The reply is a [`ResultReply`], sent once the profiler is attached. The document prints the `CLSID` with 14 bytes (F-52)
    /// and `clientData` with two lengths (F-53); on the wire they have 16 bytes and one length.
    ///
    /// ```
    /// use dotnet_diagnostics_ipc::message::{Request as _, profiler::AttachProfiler};
    ///
    /// let request = AttachProfiler {
    ///     attach_timeout: 10_000,
    ///     profiler_guid: "cf0d821e-299b-5307-a3d8-b283c03916dd".parse()?,
    ///     profiler_path: "/opt/profiler.so".into(),
    ///     client_data: b"on",
    /// };
    /// assert_eq!(request.encode_message(&mut [0; 128]), Ok(20 + 4 + 16 + 38 + 6));
    /// # Ok::<(), dotnet_diagnostics_ipc::text::TextError>(())
    /// ```
    pub struct AttachProfiler<'a> {
        /// The time that the profiler has to attach, in milliseconds (F-55).
        pub attach_timeout: u32 = AttachTimeout,
        /// The class id of the profiler.
        pub profiler_guid: Clsid = ProfilerGuid,
        /// The path of the profiler's library on the target.
        pub profiler_path: IpcString<'a> = ProfilerPath,
        /// Data that the profiler receives unchanged. Released runtimes check its length the wrong way round (F-54).
        pub client_data: &'a [u8] = ClientData,
    }
}

impl<'a> Request<'a> for AttachProfiler<'a> {
    const COMMAND: Command = Command::ATTACH_PROFILER;
    type Reply = ResultReply;
}

wire_struct! {
    /// The `StartupProfiler` request (`0x0302`, since .NET 6), which sets the profiler of a runtime that is
    /// still suspended (F-51).
    ///
    /// The document gives only its number. The reply is a [`ResultReply`], even from runtimes that have started (P-4).
    ///
    /// ```
    /// use dotnet_diagnostics_ipc::message::{Request as _, profiler::StartupProfiler};
    /// use dotnet_diagnostics_ipc::wire::Clsid;
    ///
    /// let request = StartupProfiler { profiler_guid: Clsid::NIL, profiler_path: "p".into() };
    /// assert_eq!(request.encode_message(&mut [0; 64]), Ok(20 + 16 + 8));
    /// ```
    pub struct StartupProfiler<'a> {
        /// The class id of the profiler.
        pub profiler_guid: Clsid = ProfilerGuid,
        /// The path of the profiler's library on the target.
        pub profiler_path: IpcString<'a> = ProfilerPath,
    }
}

impl<'a> Request<'a> for StartupProfiler<'a> {
    const COMMAND: Command = Command::STARTUP_PROFILER;
    type Reply = ResultReply;
}
