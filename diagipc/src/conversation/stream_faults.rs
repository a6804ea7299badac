//! Faults in the beginning of a session's stream.
#![cfg_attr(not(test), deny(clippy::arithmetic_side_effects))]

use dotnet_diagnostics_ipc::message::eventpipe::{CollectTracing5, CollectTracing6, Format};
use dotnet_diagnostics_ipc::message::{AnyRequest, Message};

use super::fault_seen::FaultSeen;
use super::request_bytes::message_of;
use crate::faults::Fault;
use crate::nettrace::FRONTS;

/// A netperf stream.
const NETPERF: &[u8] = b"\x14\0\0\0!FastSerialization.1";

/// Whether `bytes` may be the front of an event stream.
pub(super) fn begins_stream(bytes: &[u8]) -> bool {
    !bytes.is_empty() && (is_nettrace(bytes) || is_like(bytes, NETPERF))
}

fn is_nettrace(bytes: &[u8]) -> bool {
    FRONTS.iter().any(|stream| is_like(bytes, stream))
}

/// As far as both go.
fn is_like(bytes: &[u8], stream: &[u8]) -> bool {
    bytes.iter().zip(stream).all(|(have, want)| have == want)
}

/// The fault in `stream`, which follows the reply to `request`. `is_all`: it has ended.
pub(crate) fn fault_in_stream(request: &[u8], stream: &[u8], is_all: bool) -> Option<FaultSeen> {
    let asked = format_of(request)?;
    if stream.is_empty() && is_all {
        let text = "the session was stopped, and its stream ended without a byte";
        return Some(FaultSeen::new(Fault::StreamEmpty, text));
    }
    let came = if is_nettrace(stream) {
        Format::NET_TRACE
    } else if is_like(stream, NETPERF) {
        Format::NET_PERF
    } else {
        let start = stream.get(..stream.len().min(24)).unwrap_or_default().escape_ascii();
        let text = format!("the stream begins with \"{start}\", expected nettrace or netperf");
        return Some(FaultSeen::new(Fault::StreamIsNoNettrace, text));
    };
    // There may be no first bytes yet.
    (came != asked && !stream.is_empty()).then(|| {
        FaultSeen::new(
            Fault::StreamFormatWrong,
            format!("the stream is {}, expected {}", name(came), name(asked)),
        )
    })
}

fn name(format: Format) -> &'static str {
    if format == Format::NET_PERF { "netperf" } else { "nettrace" }
}

/// The requested format, if the request is for a session that streams.
fn format_of(request: &[u8]) -> Option<Format> {
    let message = Message::decode(message_of(request)).ok()?;
    let format = match message.request().ok()? {
        AnyRequest::CollectTracing(request) => request.format,
        AnyRequest::CollectTracing2(request) => request.format,
        AnyRequest::CollectTracing3(request) => request.format,
        AnyRequest::CollectTracing4(request) => request.format,
        AnyRequest::CollectTracing5(CollectTracing5::Streaming(request)) => request.format,
        AnyRequest::CollectTracing6(CollectTracing6::Streaming(request)) => request.format,
        _ => return None,
    };
    [Format::NET_PERF, Format::NET_TRACE].contains(&format).then_some(format)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `CollectTracing2` with a buffer of 1 MB, this format, and one provider "P".
    fn request(format: u8) -> Vec<u8> {
        let mut bytes = b"DOTNET_IPC_V1\0\x39\0\x02\x03\0\0\x01\0\0\0?\0\0\0\0\x01\0\0\0\
            \0\0\0\0\0\0\0\0\x04\0\0\0\x02\0\0\0P\0\0\0\0\0\0\0"
            .to_vec();
        bytes[24] = format;
        bytes
    }

    #[test]
    fn stream_of_other_or_unknown_format_is_named() {
        const OLD: &[u8] = b"Nettrace\x14\0\0\0!FastSerialization.1\x05";
        const NEW: &[u8] = b"Nettrace\0\0\0\0\x06\0\0\0\0\0\0\0";
        const PERF: &[u8] = b"\x14\0\0\0!FastSerialization.1\x05";
        let fault = |format, stream: &[u8]| {
            fault_in_stream(&request(format), stream, false).map(|seen| seen.fault)
        };
        for (format, right) in [(1, OLD), (1, NEW), (0, PERF), (1, b""), (0, b""), (1, b"Nett")] {
            assert_eq!(fault(format, right), None, "{format} {}", right.escape_ascii());
        }
        for (format, other) in [(0, OLD), (0, NEW), (1, PERF)] {
            assert_eq!(fault(format, other), Some(Fault::StreamFormatWrong));
        }
        for none in [b"hello".as_slice(), b"Nettrace\x15", b"nettrace"] {
            assert_eq!(fault(1, none), Some(Fault::StreamIsNoNettrace));
        }
        let text = fault_in_stream(&request(1), b"hello", true).unwrap().text;
        assert_eq!(fault_in_stream(&request(1), b"", true).unwrap().fault, Fault::StreamEmpty);
        assert_eq!(text, "the stream begins with \"hello\", expected nettrace or netperf");
    }
}
