//! Every encoded message decodes to the same value, and decoding never panics.

use crate::strategies::{any_command, guid, payload, replies, requests, string, units};
use dotnet_diagnostics_ipc::advertise::Advertise;
use dotnet_diagnostics_ipc::command::Command;
use dotnet_diagnostics_ipc::header::{HEADER_LEN, Header};
use dotnet_diagnostics_ipc::hresult::HResult;
use dotnet_diagnostics_ipc::message::eventpipe::{
    EventFilter, ProviderConfig, StreamingProviderConfig, TracepointConfig,
    UserEventsProviderConfig,
};
use dotnet_diagnostics_ipc::message::{
    AnyReply, AnyRequest, Message, Reply, Request as _, dump, encode, eventpipe, process, profiler,
};
use dotnet_diagnostics_ipc::wire::{
    Array, Decode, Encode, EncodeError, Guid, IpcString, Reader, SliceSink, WireError,
};
use proptest::collection::vec;
use proptest::prelude::*;

#[allow(unused_macros, unused_imports, reason = "only the commands are needed")]
#[path = "../../src/command/table.rs"]
mod table;

use table::each_command;

/// Encodes a message into buffers of every kind of size, and returns its bytes.
fn encoded<T: Encode>(command: Command, payload: &T) -> Result<Vec<u8>, TestCaseError> {
    let len = HEADER_LEN + payload.encoded_len().unwrap();
    let mut roomy = vec![0xaa; len + 3];
    prop_assert_eq!(encode(command, payload, &mut roomy), Ok(len));
    prop_assert_eq!(&roomy[len..], [0xaa; 3], "written behind the message");
    let mut exact = vec![0x55; len];
    prop_assert_eq!(encode(command, payload, &mut exact), Ok(len));
    prop_assert_eq!(&exact, &roomy[..len], "the buffer's old bytes show through");
    for short in [len - 1, HEADER_LEN - 1, 0] {
        prop_assert_eq!(
            encode(command, payload, &mut exact[..short].to_vec()),
            Err(EncodeError::BufferTooSmall { needed: len })
        );
    }
    let mut sink_buffer = vec![0; len - HEADER_LEN];
    let mut sink = SliceSink::new(&mut sink_buffer);
    payload.encode(&mut sink).unwrap();
    prop_assert_eq!(sink.finish(), Ok(len - HEADER_LEN));
    prop_assert_eq!(&sink_buffer, &roomy[HEADER_LEN..len]);
    roomy.truncate(len);
    Ok(roomy)
}

/// The message as the reply to `command`, read with the type of that command's request.
fn reply_by_type<'a>(
    message: &Message<'a>,
    command: Command,
) -> Option<Result<AnyReply<'a>, WireError>> {
    macro_rules! by_type {
        ($($(#[$meta:meta])* $CONST:ident = $code:literal, $set:literal $module:ident::$Request:ident $(<$lt:lifetime>)?,
           since ($major:literal, $minor:literal), $Variant:ident, $continuation:ident;)*) => {
            match command {
                $($module::$Request::COMMAND => Some(message.reply_as::<$module::$Request>().map(|reply| match reply {
                    Reply::Ok(reply) => AnyReply::$Variant(reply),
                    Reply::OkWithoutPayload => AnyReply::OkWithoutPayload,
                    Reply::Error(error) => AnyReply::Error(error),
                })),)*
                _ => None,
            }
        };
    }
    each_command!(by_type)
}

/// The request, read and written with its own type.
fn check_by_type(
    request: AnyRequest<'_>,
    bytes: &[u8],
    message: &Message<'_>,
) -> Result<(), TestCaseError> {
    macro_rules! by_type {
        ($($(#[$meta:meta])* $CONST:ident = $code:literal, $set:literal $module:ident::$Request:ident $(<$lt:lifetime>)?,
           since ($major:literal, $minor:literal), $Variant:ident, $continuation:ident;)*) => {
            match request {
                $(AnyRequest::$Request(request) => {
                    prop_assert_eq!(message.request_as(), Ok(request));
                    let mut buffer = vec![0; bytes.len()];
                    prop_assert_eq!(request.encode_message(&mut buffer), Ok(bytes.len()));
                    prop_assert_eq!(&buffer, bytes);
                })*
                AnyRequest::Unknown { payload, .. } => prop_assert_eq!(payload, message.payload),
                other => panic!("{other:?} is new: add it here and to the strategies"),
            }
        };
    }
    each_command!(by_type);
    Ok(())
}

/// Reads `bytes` in every way; what can be read must roundtrip.
fn read_every_way(bytes: &[u8]) -> Result<(), TestCaseError> {
    fn refused(error: &WireError, len: usize) -> Result<(), TestCaseError> {
        prop_assert!(
            error.offset() <= len && !error.to_string().is_empty(),
            "{error} in {len} bytes"
        );
        Ok(())
    }
    match Advertise::decode(bytes) {
        Ok(advertise) => prop_assert_eq!(&advertise.to_bytes()[..], bytes),
        Err(error) => refused(&error, bytes.len())?,
    }
    let (message, rest) = match Message::decode_prefix(bytes) {
        Ok(message) => message,
        Err(error) => return refused(&error, bytes.len()),
    };
    let len = bytes.len() - rest.len();
    let bytes = &bytes[..len];
    let mut buffer = vec![0; 0x10000];
    let request = message.request();
    let _ = format!("{message:?} {request:?}");
    match request {
        Ok(request) => {
            if let Err(error) = request.check_limits() {
                prop_assert!(error.offset() < len && !error.to_string().is_empty(), "{}", error);
            }
            let written = encode(request.command(), &request, &mut buffer).unwrap();
            prop_assert_eq!(message.is_canonical(&request), buffer[..written] == *bytes);
            prop_assert_eq!(
                Message::decode(&buffer[..written]).and_then(|message| message.request()),
                Ok(request)
            );
        }
        Err(error) => refused(&error, len)?,
    }
    for command in Command::known().map(Some).chain([None]) {
        let reply = message.reply_to(command);
        let _ = format!("{reply:?}");
        if let Some(by_type) = command.and_then(|command| reply_by_type(&message, command)) {
            prop_assert_eq!(by_type, reply);
        }
        match reply {
            Ok(reply) => {
                let written = encode(reply.command(), &reply, &mut buffer).unwrap();
                prop_assert_eq!(message.is_canonical(&reply), buffer[..written] == *bytes);
                prop_assert_eq!(
                    Message::decode(&buffer[..written])
                        .and_then(|message| message.reply_to(command)),
                    Ok(reply)
                );
            }
            Err(error) => refused(&error, len)?,
        }
    }
    Ok(())
}

/// Reads a piece from `bytes`; if it is valid, it must roundtrip.
fn piece<'a, T: Decode<'a> + Encode + PartialEq + std::fmt::Debug>(
    bytes: &'a [u8],
    again: &'a mut [u8],
) -> Result<(), TestCaseError> {
    let mut reader = Reader::new(bytes);
    let Ok(value) = T::decode(&mut reader) else { return Ok(()) };
    let mut sink = SliceSink::new(again);
    value.encode(&mut sink).unwrap();
    let len = sink.finish().unwrap();
    prop_assert_eq!(value.encoded_len(), Ok(len));
    prop_assert_eq!(len, reader.offset());
    prop_assert!(len >= T::MIN_LEN);
    prop_assert_eq!(T::decode(&mut Reader::new(&again[..len])), Ok(value));
    Ok(())
}

proptest! {
    // The failing case is printed whole; seed files in the tree would only be left over.
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn every_request_roundtrips(request in requests()) {
        let bytes = encoded(request.command(), &request)?;
        let message = Message::decode(&bytes).unwrap();
        prop_assert_eq!(message.request(), Ok(request));
        prop_assert!(message.is_canonical(&request));
        check_by_type(request, &bytes, &message)?;
        #[cfg(feature = "alloc")]
        prop_assert_eq!(dotnet_diagnostics_ipc::message::encode_to_vec(request.command(), &request), Ok(bytes));
    }

    #[test]
    fn every_reply_roundtrips((command, reply) in replies()) {
        let bytes = encoded(reply.command(), &reply)?;
        let message = Message::decode(&bytes).unwrap();
        prop_assert_eq!(message.reply_to(command), Ok(reply));
        prop_assert!(message.is_canonical(&reply));
        if let Some(by_type) = command.and_then(|command| reply_by_type(&message, command)) {
            prop_assert_eq!(by_type, Ok(reply));
        }
    }

    #[test]
    fn every_advertise_roundtrips(cookie in guid(), process_id: u64, future: u16) {
        let advertise = Advertise { runtime_cookie: cookie, process_id, future };
        prop_assert_eq!(Advertise::decode(&advertise.to_bytes()), Ok(advertise));
    }

    #[test]
    fn header_roundtrips_with_bytes_after_it(size in 20..=u16::MAX, code: u16, reserved: u16, rest in vec(any::<u8>(), 0..4)) {
        let header = Header { size, command: Command::from_code(code), reserved };
        let bytes = [&header.to_bytes()[..], &rest].concat();
        prop_assert_eq!(Header::decode(&bytes), Ok(header));
        prop_assert_eq!(header.payload_len(), usize::from(size) - 20);
    }

    #[test]
    fn bytes_after_message_are_returned(request in requests(), rest in vec(any::<u8>(), 1..30)) {
        let mut bytes = encoded(request.command(), &request)?;
        let len = bytes.len();
        bytes.extend(&rest);
        let (message, behind) = Message::decode_prefix(&bytes).unwrap();
        prop_assert_eq!((message.payload, behind), (&bytes[20..len], &rest[..]));
        prop_assert_eq!(Message::decode(&bytes).map_err(|error| error.offset()), Err(len));
    }

    #[test]
    fn string_from_text_units_and_wire_is_equal(text in "\\PC{0,12}", tail in units()) {
        let units: Vec<u16> = text.encode_utf16().collect();
        let mut wire = u32::try_from(units.len() + 1).unwrap().to_le_bytes().to_vec();
        wire.extend(units.iter().chain(&[0]).flat_map(|unit| unit.to_le_bytes()));
        let forms = [IpcString::new(&text), IpcString::from_units(&units), IpcString::decode(&mut Reader::new(&wire)).unwrap()];
        let longer: Vec<u16> = units.iter().chain(&tail).copied().collect();
        for form in forms {
            prop_assert!(forms.iter().all(|other| *other == form));
            prop_assert_eq!(form.units().collect::<Vec<_>>(), &units[..]);
            prop_assert_eq!((form.to_string(), form == text.as_str(), form.is_unicode()), (text.clone(), true, true));
            prop_assert_eq!((form.is_empty(), form.is_absent()), (text.is_empty(), false));
            prop_assert_eq!(form == IpcString::from_units(&longer), tail.is_empty());
            let mut again = vec![0; wire.len()];
            let mut sink = SliceSink::new(&mut again);
            form.encode(&mut sink).unwrap();
            prop_assert_eq!(sink.finish(), Ok(wire.len()));
            prop_assert_eq!(&again, &wire);
        }
    }

    #[test]
    fn units_that_are_not_text_are_kept_and_reported(units in units()) {
        let mut wire = u32::try_from(units.len() + 1).unwrap().to_le_bytes().to_vec();
        wire.extend(units.iter().chain(&[0]).flat_map(|unit| unit.to_le_bytes()));
        for form in [IpcString::from_units(&units), IpcString::decode(&mut Reader::new(&wire)).unwrap()] {
            prop_assert_eq!(form.units().collect::<Vec<_>>(), &units[..]);
            prop_assert_eq!(form.is_unicode(), String::from_utf16(&units).is_ok());
            prop_assert_eq!(form.to_string(), String::from_utf16_lossy(&units));
            prop_assert_eq!(form.has_inner_nul(), units.contains(&0));
            #[cfg(feature = "alloc")]
            prop_assert_eq!(form.to_unicode(), String::from_utf16(&units).ok());
        }
    }

    #[test]
    fn array_from_slice_and_wire_is_equal(items in vec(string(), 0..6), other in string(), at: prop::sample::Index) {
        let array = Array::new(&items);
        let mut wire = vec![0; array.encoded_len().unwrap()];
        array.encode(&mut SliceSink::new(&mut wire)).unwrap();
        let read = Array::<IpcString<'_>>::decode(&mut Reader::new(&wire)).unwrap();
        prop_assert_eq!(read, array);
        prop_assert_eq!((read.len(), read.iter().len(), read.is_empty()), (items.len(), items.len(), items.is_empty()));
        prop_assert_eq!(read.iter().collect::<Vec<_>>(), &items[..]);
        let longer = [&items[..], &[other]].concat();
        prop_assert_ne!(read, Array::new(&longer));
        if !items.is_empty() {
            let mut changed = items.clone();
            let place = at.get_mut(&mut changed);
            let same = std::mem::replace(place, other) == other;
            prop_assert_eq!(read == Array::new(&changed), same);
        }
    }

    #[test]
    fn decode_any_bytes_does_not_panic(bytes in vec(any::<u8>(), 0..80)) {
        read_every_way(&bytes)?;
        // And after the beginnings without which decoding stops early.
        read_every_way(&[b"DOTNET_IPC_V1\0", &bytes[..]].concat())?;
        read_every_way(&[b"ADVR_V1\0", &bytes[..]].concat())?;
    }

    #[test]
    fn decode_any_payload_does_not_panic(command in any_command(), reserved in prop_oneof![Just(0_u16), any::<u16>()], payload in payload()) {
        let size = u16::try_from(20 + payload.len()).unwrap().to_le_bytes();
        let bytes = [b"DOTNET_IPC_V1\0", &size[..], &[command.set, command.id], &reserved.to_le_bytes(), &payload].concat();
        prop_assert!(Message::decode(&bytes).is_ok());
        read_every_way(&bytes)?;
    }

    #[test]
    fn decode_any_piece_does_not_panic(bytes in payload()) {
        let mut again = vec![0; bytes.len() + 8];
        piece::<u8>(&bytes, &mut again)?;
        piece::<u16>(&bytes, &mut again)?;
        piece::<u64>(&bytes, &mut again)?;
        piece::<HResult>(&bytes, &mut again)?;
        piece::<bool>(&bytes, &mut again)?;
        piece::<Guid>(&bytes, &mut again)?;
        piece::<IpcString<'_>>(&bytes, &mut again)?;
        piece::<&[u8]>(&bytes, &mut again)?;
        piece::<Array<'_, u16>>(&bytes, &mut again)?;
        piece::<Array<'_, Array<'_, u32>>>(&bytes, &mut again)?;
        piece::<Array<'_, IpcString<'_>>>(&bytes, &mut again)?;
        piece::<EventFilter<'_>>(&bytes, &mut again)?;
        piece::<TracepointConfig<'_>>(&bytes, &mut again)?;
        piece::<Array<'_, ProviderConfig<'_>>>(&bytes, &mut again)?;
        piece::<Array<'_, StreamingProviderConfig<'_>>>(&bytes, &mut again)?;
        piece::<Array<'_, UserEventsProviderConfig<'_>>>(&bytes, &mut again)?;
    }
}

#[test]
fn message_over_65535_bytes_is_refused() {
    let bytes = vec![7; 65_516];
    let mut buffer = vec![0; 70_000];
    let command = Command::from_code(0x6301);
    let sent = |payload| AnyRequest::Unknown { command, payload };

    assert_eq!(encode(command, &sent(&bytes[..65_515]), &mut buffer), Ok(65_535));
    assert_eq!(buffer[..22], *b"DOTNET_IPC_V1\0\xff\xff\x63\x01\0\0\x07\x07");
    let message = Message::decode(&buffer[..65_535]).unwrap();
    assert_eq!(message.request(), Ok(sent(&bytes[..65_515])));

    assert_eq!(
        encode(command, &sent(&bytes), &mut buffer),
        Err(EncodeError::MessageTooLarge { len: 65_536 })
    );
    // No buffer helps, so the error is not the size needed.
    assert_eq!(
        encode(command, &sent(&bytes), &mut [0; 30]),
        Err(EncodeError::MessageTooLarge { len: 65_536 })
    );
    assert_eq!(
        encode(command, &sent(&bytes[..65_515]), &mut [0; 30]),
        Err(EncodeError::BufferTooSmall { needed: 65_535 })
    );
}

#[test]
fn text_too_long_for_message_is_refused() {
    // 20 + 4 + 2 × 32,756 + 2 is 65,538; one unit less is 65,536, two less 65,534.
    let text = "x".repeat(32_756);
    let mut buffer = vec![0; 70_000];
    let mut hook = |units: usize| {
        process::ApplyStartupHook { startup_hook_path: text[..units].into() }
            .encode_message(&mut buffer)
    };
    assert_eq!(hook(32_756), Err(EncodeError::MessageTooLarge { len: 65_538 }));
    assert_eq!(hook(32_755), Err(EncodeError::MessageTooLarge { len: 65_536 }));
    assert_eq!(hook(32_754), Ok(65_534));
}
