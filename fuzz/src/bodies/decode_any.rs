//! Reads any bytes with every decoder of the crate.

use std::fmt::{Debug, Write as _};

use super::{Nowhere, show};
use dotnet_diagnostics_ipc::advertise::Advertise;
use dotnet_diagnostics_ipc::command::Command;
use dotnet_diagnostics_ipc::header::HEADER_LEN;
use dotnet_diagnostics_ipc::hresult::HResult;
use dotnet_diagnostics_ipc::legacy::DraftCollectTracing;
use dotnet_diagnostics_ipc::message::eventpipe::{
    CollectTracing5, CollectTracing6, EventFilter, ProviderConfig, StreamingProviderConfig,
    TracepointConfig, TracepointSet, UserEventsProviderConfig,
};
use dotnet_diagnostics_ipc::message::process::ProcessInfo3Reply;
use dotnet_diagnostics_ipc::message::{AnyReply, AnyRequest, Message, encode};
use dotnet_diagnostics_ipc::wire::{
    Array, Decode, Encode, Guid, IpcString, Reader, SliceSink, WireError,
};

fn refused(error: &WireError, len: usize) {
    assert!(error.offset() <= len, "{error} in {len} bytes");
    write!(Nowhere, "{error}").unwrap();
}

/// Returns whether `payload` encodes to the message `bytes`; it must encode to its own length.
fn writes<T: Encode>(command: Command, payload: &T, bytes: &[u8], again: &mut Vec<u8>) -> bool {
    // The room is exact: to need more than was read would be a bug of the codec.
    again.resize(bytes.len(), 0);
    let len = encode(command, payload, again).unwrap();
    again.truncate(len);
    assert_eq!(payload.encoded_len(), Ok(len - HEADER_LEN));
    again == bytes
}

fn request(message: &Message<'_>, bytes: &[u8]) {
    let request = match message.request() {
        Ok(request) => request,
        Err(error) => return refused(&error, bytes.len()),
    };
    show(request);
    if let Err(limit) = request.check_limits() {
        assert!(limit.offset() < bytes.len(), "{limit}");
    }
    if let AnyRequest::CollectTracing5(CollectTracing5::UserEvents(session))
    | AnyRequest::CollectTracing6(CollectTracing6::UserEvents(session)) = request
    {
        for provider in session.providers.iter().take(16) {
            let listed =
                provider.config.tracepoints.iter().flat_map(|set| set.event_ids.iter()).next();
            assert!(listed.is_none_or(|id| provider.config.tracepoint_for(id).is_some()));
            assert!(
                provider
                    .filter
                    .event_ids
                    .iter()
                    .take(16)
                    .all(|id| provider.filter.allows(id) == provider.filter.enable)
            );
        }
    }
    let mut again = Vec::new();
    let identical = writes(request.command(), &request, bytes, &mut again);
    assert_eq!(message.is_canonical(&request), identical);
    assert_eq!(Message::decode(&again).and_then(|message| message.request()), Ok(request));
}

fn reply(message: &Message<'_>, command: Option<Command>, bytes: &[u8]) {
    let reply = match message.reply_to(command) {
        Ok(reply) => reply,
        Err(error) => return refused(&error, bytes.len()),
    };
    show(reply);
    if let AnyReply::ProcessInfo3(ProcessInfo3Reply { command_line, .. }) = reply {
        let (units, chars) = (command_line.units().count(), command_line.chars().count());
        assert!(
            units >= chars && command_line.is_unicode() == command_line.chars().all(|c| c.is_ok())
        );
    }
    let mut again = Vec::new();
    let identical = writes(reply.command(), &reply, bytes, &mut again);
    assert_eq!(message.is_canonical(&reply), identical);
    assert_eq!(Message::decode(&again).and_then(|message| message.reply_to(command)), Ok(reply));
}

fn piece<'a, T: Decode<'a> + Encode + PartialEq + Debug>(bytes: &'a [u8], again: &'a mut [u8]) {
    let mut reader = Reader::new(bytes);
    let value = match T::decode(&mut reader) {
        Ok(value) => value,
        Err(error) => return refused(&error, bytes.len()),
    };
    show(&value);
    let mut sink = SliceSink::new(&mut again[..reader.offset()]);
    value.encode(&mut sink).unwrap();
    assert_eq!(sink.finish(), Ok(reader.offset()));
    assert_eq!(T::decode(&mut Reader::new(again)).as_ref(), Ok(&value));
}

/// Reads the bytes as a message, as every request and reply, and as an advertise; and the bytes
/// after the first as a piece or a payload.
pub fn decode_any(bytes: &[u8]) {
    match Message::decode_prefix(bytes) {
        Ok((message, rest)) => {
            let bytes = &bytes[..bytes.len() - rest.len()];
            show(message);
            request(&message, bytes);
            for command in Command::known().map(Some).chain([None]) {
                reply(&message, command, bytes);
            }
        }
        Err(error) => refused(&error, bytes.len()),
    }
    match Advertise::decode(bytes) {
        Ok(advertise) => assert_eq!(&advertise.to_bytes()[..], bytes),
        Err(error) => refused(&error, bytes.len()),
    }
    // The first byte chooses the piece, or the message for the payload in the rest.
    let Some((which, bytes)) = bytes.split_first() else { return };
    let again = &mut vec![0; bytes.len()];
    match which {
        0 => piece::<u8>(bytes, again),
        1 => piece::<u16>(bytes, again),
        2 => piece::<u32>(bytes, again),
        3 => piece::<u64>(bytes, again),
        4 => piece::<HResult>(bytes, again),
        5 => piece::<bool>(bytes, again),
        6 => piece::<Guid>(bytes, again),
        7 => piece::<IpcString<'_>>(bytes, again),
        8 => piece::<&[u8]>(bytes, again),
        9 => piece::<Array<'_, u16>>(bytes, again),
        10 => piece::<Array<'_, u32>>(bytes, again),
        11 => piece::<Array<'_, IpcString<'_>>>(bytes, again),
        12 => piece::<EventFilter<'_>>(bytes, again),
        13 => piece::<TracepointSet<'_>>(bytes, again),
        14 => piece::<TracepointConfig<'_>>(bytes, again),
        15 => piece::<ProviderConfig<'_>>(bytes, again),
        16 => piece::<StreamingProviderConfig<'_>>(bytes, again),
        17 => piece::<UserEventsProviderConfig<'_>>(bytes, again),
        18 => piece::<DraftCollectTracing<'_>>(bytes, again),
        19 => piece::<Array<'_, Array<'_, IpcString<'_>>>>(bytes, again),
        _ => {
            // Put a header before the rest, because a fuzzer finds the 14 bytes of magic, but often
            // loses them.
            let payload = &bytes[..bytes.len().min(65_515)];
            let size = u16::try_from(HEADER_LEN + payload.len()).unwrap().to_le_bytes();
            let commands: Vec<_> = Command::known().chain([Command::OK, Command::ERROR]).collect();
            let command = commands[usize::from(*which) % commands.len()];
            let whole =
                [b"DOTNET_IPC_V1\0", &size[..], &[command.set, command.id, 0, 0], payload].concat();
            let message = Message::decode(&whole).unwrap();
            request(&message, &whole);
            for command in Command::known().map(Some).chain([None]) {
                reply(&message, command, &whole);
            }
        }
    }
}
