//! Faults in the environment or stream that follows a reply.
#![cfg_attr(not(test), deny(clippy::arithmetic_side_effects))]

use byteorder::{ByteOrder as _, LittleEndian};
use dotnet_diagnostics_ipc::exchange::End;
use dotnet_diagnostics_ipc::message::eventpipe::{CollectTracing5, CollectTracing6, Format};
use dotnet_diagnostics_ipc::message::{AnyRequest, Message};
use dotnet_diagnostics_ipc::wire::{Decode as _, IpcString, Reader};

use super::observed::{FaultSeen, message_of};
use super::string_encodings::{Spelled, Spelling, wrong_spelling};
use crate::faults::Fault;
use dotnet_diagnostics_ipc_vectors::nettrace::{self, StreamState};

/// Whether `block` is an environment of the announced length.
pub(super) fn is_whole(block: &[u8], announced: usize) -> bool {
    block.len() == announced && length_of(block) == Some(announced)
}

/// Returns the length of a block according to its own counts.
fn length_of(block: &[u8]) -> Option<usize> {
    let mut spelled = Spelled::new(block, Spelling::Right);
    entries(&mut spelled)?;
    Some(spelled.read())
}

/// Returns the length of a block whose last entry is truncated.
fn declared_length(block: &[u8]) -> Option<usize> {
    let number = |at: usize| block.get(at..at.checked_add(4)?).map(LittleEndian::read_u32);
    let mut at = 4_usize;
    for _ in 0..number(0)? {
        let units = usize::try_from(number(at)?).ok()?;
        at = at.checked_add(4)?.checked_add(units.checked_mul(2)?)?;
    }
    Some(at)
}

fn entries(spelled: &mut Spelled<'_>) -> Option<()> {
    let count = spelled.count()?;
    (0..count).try_for_each(|nth| entry(spelled, nth))
}

fn entry(spelled: &mut Spelled<'_>, nth: u32) -> Option<()> {
    spelled.call(format!("environment[{nth}]"));
    spelled.text()
}

/// Reads entries up to the end of the bytes, whatever the count.
fn all_entries(spelled: &mut Spelled<'_>) -> Option<u32> {
    spelled.count()?;
    let mut count = 0;
    while !spelled.rest().is_empty() {
        entry(spelled, count)?;
        count = count.saturating_add(1);
    }
    Some(count)
}

/// Returns the strings of a correct block, or before a truncated entry, and whether it ends there.
fn texts_of(block: &[u8]) -> (Vec<String>, bool) {
    let mut reader = Reader::new(block);
    let mut texts = Vec::new();
    let Ok(count) = u32::decode(&mut reader) else { return (texts, true) };
    for _ in 0..count {
        match IpcString::decode(&mut reader) {
            Ok(text) => texts.push(text.to_string()),
            Err(_) => return (texts, true),
        }
    }
    (texts, false)
}

/// Returns the last value of a variable in a block, if there is one.
pub(crate) fn value_in_block(block: &[u8], name: &str) -> Option<String> {
    let (texts, _) = texts_of(block);
    let mut values = texts.iter().filter_map(|text| text.strip_prefix(name)?.strip_prefix('='));
    values.next_back().map(str::to_owned)
}

/// The minimum number of entries for a conclusion.
const MIN_ENTRIES: usize = 4;

/// Returns the fault of a correct block in which most entries are not variables.
fn names_alone(block: &[u8]) -> Option<FaultSeen> {
    let (texts, _) = texts_of(block);
    let (all, with) = (texts.len(), texts.iter().filter(|text| text.contains('=')).count());
    (all >= MIN_ENTRIES && with.saturating_mul(2) < all).then(|| {
        let text = format!("{with} of the {all} entries of the environment have a `=`");
        FaultSeen::new(Fault::EnvironmentWithoutEquals, text)
    })
}

/// Returns the fault in `rest`, which follows a reply that announces this many bytes. `quiet` is
/// why nothing more followed.
pub(super) fn fault_in_block(
    announced: usize,
    rest: &[u8],
    quiet: Option<End>,
) -> Option<FaultSeen> {
    let block = rest.get(..announced);
    if block.is_some_and(|block| length_of(block) == Some(announced)) {
        let more = rest.len().saturating_sub(announced);
        let text = format!("{more} bytes follow the environment of {announced} bytes");
        return (more > 0)
            .then(|| FaultSeen::new(Fault::BytesAfterTheMessage, text))
            .or_else(|| names_alone(rest));
    }
    if block.is_none() && quiet.is_none() {
        return None;
    }
    let swapped = u32::try_from(announced).ok().and_then(|n| usize::try_from(n.swap_bytes()).ok());
    if swapped == Some(rest.len()) && announced != rest.len() {
        let text =
            format!("nIncomingBytes is {announced}, but {} with its bytes reversed", rest.len());
        return Some(FaultSeen::new(Fault::NumbersBigEndian, text));
    }
    if length_of(rest) == Some(rest.len()) {
        return Some(bytes_wrong(announced, rest.len()));
    }
    if let Some(seen) = count_width(block.unwrap_or(rest)) {
        return Some(seen);
    }
    if block.is_none() && declared_length(rest) == Some(announced) {
        let text = format!("nIncomingBytes is {announced}, but {} bytes were received", rest.len());
        return Some(FaultSeen::cut(quiet, text));
    }
    for block in [block, Some(rest)].into_iter().flatten() {
        let mut right = Spelled::new(block, Spelling::Right);
        if let Some(count) = all_entries(&mut right) {
            let said = block.get(..4).map_or(0, LittleEndian::read_u32);
            let text =
                format!("the count of the environment is {said}, but {count} entries follow");
            return Some(FaultSeen::new(Fault::EnvironmentCountWrong, text));
        }
        let misspelled = wrong_spelling(block, entries)
            .or_else(|| wrong_spelling(block, |block| all_entries(block).map(drop)));
        if misspelled.is_some() {
            return misspelled;
        }
    }
    if block.is_none() && texts_of(rest).1 {
        let text = format!("nIncomingBytes is {announced}, but {} bytes were received", rest.len());
        return Some(FaultSeen::cut(quiet, text));
    }
    if block.is_none() {
        return Some(bytes_wrong(announced, rest.len()));
    }
    let text = format!("the {announced} bytes of the environment are not an array of strings");
    Some(FaultSeen::new(Fault::EnvironmentMalformed, text))
}

/// Returns the fault of a block in which only the width of its count is wrong.
fn count_width(block: &[u8]) -> Option<FaultSeen> {
    [(2, Fault::FieldTooNarrow), (8, Fault::FieldTooWide)].into_iter().find_map(|(width, fault)| {
        let (count, rest) = block.split_at_checked(width)?;
        let mut whole = [0; 4].to_vec();
        whole.iter_mut().zip(count).for_each(|(to, from)| *to = *from);
        let is_small = count.iter().skip(4).all(|byte| *byte == 0);
        whole.extend(rest);
        (is_small && length_of(&whole) == Some(whole.len())).then(|| {
            let text = format!("the count of the environment has {width} bytes, expected 4");
            FaultSeen::new(fault, text)
        })
    })
}

fn bytes_wrong(announced: usize, came: usize) -> FaultSeen {
    FaultSeen::new(
        Fault::EnvironmentBytesWrong,
        format!("nIncomingBytes is {announced}, but {came} bytes follow"),
    )
}

const NETPERF: &[u8] = b"\x14\0\0\0!FastSerialization.1";

/// Whether `bytes` may be the beginning of an event stream.
pub(super) fn begins_stream(bytes: &[u8]) -> bool {
    !bytes.is_empty() && (nettrace::is_front(bytes) || is_like(bytes, NETPERF))
}

/// Whether both are equal up to the end of the shorter one.
fn is_like(bytes: &[u8], stream: &[u8]) -> bool {
    bytes.iter().zip(stream).all(|(have, want)| have == want)
}

/// Returns the fault in `stream`, which follows the reply to `request`, and has ended if `is_all`.
pub(crate) fn fault_in_stream(request: &[u8], stream: &[u8], is_all: bool) -> Option<FaultSeen> {
    let asked = format_of(request)?;
    if stream.is_empty() && is_all {
        let text = "the session was stopped, but its stream ended without a byte";
        return Some(FaultSeen::new(Fault::StreamEmpty, text));
    }
    let came = if nettrace::is_front(stream) {
        Format::NET_TRACE
    } else if is_like(stream, NETPERF) {
        Format::NET_PERF
    } else {
        let start = stream.get(..stream.len().min(24)).unwrap_or_default().escape_ascii();
        let text = format!("the stream begins with \"{start}\", expected nettrace or netperf");
        return Some(FaultSeen::new(Fault::StreamNotNettrace, text));
    };
    // The first bytes may not have been received yet.
    (came != asked && !stream.is_empty()).then(|| {
        FaultSeen::new(
            Fault::StreamFormatWrong,
            format!("the stream is {}, expected {}", name(came), name(asked)),
        )
    })
}

/// Returns the fault of a nettrace stream that has ended.
pub(crate) fn fault_in_ended_stream(state: StreamState) -> Option<FaultSeen> {
    let fault =
        if state == StreamState::Cut { Fault::StreamWithoutEnd } else { Fault::StreamBroken };
    state.is_wrong_nettrace().then(|| FaultSeen::new(fault, state.to_string()))
}

fn name(format: Format) -> &'static str {
    if format == Format::NET_PERF { "netperf" } else { "nettrace" }
}

/// Returns the requested format if the request starts a session that streams.
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

/// Reverses the bytes of a GUID's first three fields: converts between wire and text order.
pub(crate) fn guid_reversed(mut guid: [u8; 16]) -> [u8; 16] {
    for part in [0..4, 4..6, 6..8] {
        if let Some(part) = guid.get_mut(part) {
            part.reverse();
        }
    }
    guid
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stream_is_judged_by_its_first_bytes() {
        /// A `CollectTracing2` with a buffer of 1 MB, nettrace, and one provider "P".
        const REQUEST: &[u8] = b"DOTNET_IPC_V1\0\x39\0\x02\x03\0\0\x01\0\0\0\x01\0\0\0\0\x01\0\0\0\
            \0\0\0\0\0\0\0\0\x04\0\0\0\x02\0\0\0P\0\0\0\0\0\0\0";
        for (stream, is_all, fault) in [
            (&b"Nettrace\x14\0\0\0!FastSerialization.1\x05"[..], false, None),
            (b"Nettrace\0\0\0\0\x06\0\0\0\0\0\0\0", false, None),
            (b"Nett", false, None),
            (b"", false, None),
            (b"", true, Some(Fault::StreamEmpty)),
            (b"\x14\0\0\0!FastSerialization.1\x05", false, Some(Fault::StreamFormatWrong)),
            (b"Nettrace\x15", false, Some(Fault::StreamNotNettrace)),
            (b"nettrace", true, Some(Fault::StreamNotNettrace)),
        ] {
            let seen = fault_in_stream(REQUEST, stream, is_all);
            assert_eq!(seen.map(|seen| seen.fault), fault, "{}", stream.escape_ascii());
        }
    }
}
