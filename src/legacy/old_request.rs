//! Requests of the previous protocol.

use crate::wire::macros::{open_enum, wire_struct};

open_enum! {
    /// `DiagnosticMessageType` of the old protocol.
    ///
    /// ```
    /// use dotnet_diagnostics_ipc::legacy::OldRequestType;
    ///
    /// assert_eq!(OldRequestType::STOP.0, 1025);
    /// assert_eq!(OldRequestType(1026).name(), Some("CollectEventPipeTracing"));
    /// ```
    pub enum OldRequestType {
        /// Start a session that writes a file.
        START = 1024, "StartEventPipeTracing";
        /// Stop a session. Printed without a number: follows 1024.
        STOP = 1025, "StopEventPipeTracing";
        /// Start a session that streams into the connection. Printed without a number: follows 1025.
        COLLECT = 1026, "CollectEventPipeTracing";
    }
}

wire_struct! {
    /// `MessageHeader` of the old protocol (sections "Current Implementation (OLD)" of the 2019-05 and 3.x editions).
    ///
    /// It has no magic and no size. No edition gives the payload after these 8 bytes (the session to stop, the providers to
    /// enable): it is left to the caller.
    ///
    /// The flow, in which [`OldReply`](super::OldReply) is the session id:
    ///
    /// ```text
    /// runtime <- client : MessageHeader { CollectEventPipeTracing }
    ///     error? -> 0, then the runtime closes
    /// runtime -> client : session id
    /// runtime -> client : event stream (netperf in the draft, nettrace in 3.x)
    /// ...
    /// runtime <- client : MessageHeader { StopEventPipeTracing }, on another connection
    /// runtime -> client : session id, and the session stops
    /// ```
    ///
    /// ```
    /// use dotnet_diagnostics_ipc::{legacy::{OldRequest, OldRequestType}, wire::{Decode as _, Reader}};
    ///
    /// let request = OldRequest::decode(&mut Reader::new(b"\x02\x04\0\0\x39\x30\0\0")).unwrap();
    /// assert_eq!(request, OldRequest { request_type: OldRequestType::COLLECT, pid: 12345 });
    /// ```
    pub struct OldRequest {
        /// The request's type.
        pub request_type: OldRequestType = RequestType,
        /// The process; 32 bits, unlike later `processId`s.
        pub pid: u32 = Pid,
    }
}
