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
    /// | offset | bytes | what |
    /// |---|---|---|
    /// | 0 | 4 | `RequestType`, little-endian as everything |
    /// | 4 | 4 | `Pid` |
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

#[cfg(test)]
mod tests {
    extern crate std;
    use super::*;
    use crate::wire::{Decode as _, Encode as _, Reader, SliceSink, WireErrorKind};
    use std::string::ToString;

    #[test]
    fn request_reads_8_bytes_and_leaves_the_rest() {
        let mut reader = Reader::new(b"\x00\x04\0\0\x01\0\0\0rest");
        let request = OldRequest::decode(&mut reader).unwrap();
        assert_eq!((request.request_type, request.pid), (OldRequestType::START, 1));
        assert_eq!(reader.rest(), b"rest");
        let mut out = [0; 8];
        request.encode(&mut SliceSink::new(&mut out)).unwrap();
        assert_eq!(&out, b"\x00\x04\0\0\x01\0\0\0");
    }

    #[test]
    fn request_truncated_is_refused_at_its_end() {
        for len in 0..8 {
            let error = OldRequest::decode(&mut Reader::new(&[0; 8][..len])).unwrap_err();
            let (offset, path) = if len < 4 { (0, "RequestType") } else { (4, "Pid") };
            assert!(matches!(error.kind(), WireErrorKind::UnexpectedEnd { needed: 4, .. }));
            assert_eq!((error.offset(), error.path().to_string().as_str()), (offset, path));
        }
    }
}
