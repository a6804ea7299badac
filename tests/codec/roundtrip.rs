//! Every encoded message decodes to the same value, with any size of buffer and by its own type.

use crate::any_bytes::decode_any;
use dotnet_diagnostics_ipc::command::Command;
use dotnet_diagnostics_ipc::header::HEADER_LEN;
use dotnet_diagnostics_ipc::message::{
    AnyReply, AnyRequest, Message, Reply, Request as _, dump, encode, encode_to_vec, eventpipe,
    process, profiler,
};
use dotnet_diagnostics_ipc::testing::{Hostile, MadeReply, MadeRequest, strategy};
use dotnet_diagnostics_ipc::wire::{
    Array, Decode, Encode, EncodeError, IpcString, Reader, SliceSink, WireError,
};
use proptest::collection::vec;
use proptest::prelude::*;

#[allow(unused_macros, unused_imports, reason = "only the commands are needed")]
#[path = "../../src/command/table.rs"]
mod table;

use table::each_command;

/// Encodes a message into buffers of every kind of size, and compares its bytes.
fn encodes_to<T: Encode>(command: Command, payload: &T, bytes: &[u8]) -> Result<(), TestCaseError> {
    let len = HEADER_LEN + payload.encoded_len().unwrap();
    let mut roomy = vec![0xaa; len + 3];
    prop_assert_eq!(encode(command, payload, &mut roomy), Ok(len));
    prop_assert_eq!(&roomy[len..], [0xaa; 3], "written behind the message");
    let mut exact = vec![0x55; len];
    prop_assert_eq!(encode(command, payload, &mut exact), Ok(len));
    prop_assert_eq!(&exact, &roomy[..len], "the buffer's old bytes show through");
    prop_assert_eq!(&exact, bytes);
    for short in [len - 1, HEADER_LEN - 1, 0] {
        let too_small = Err(EncodeError::BufferTooSmall { needed: len });
        prop_assert_eq!(encode(command, payload, &mut exact[..short].to_vec()), too_small);
    }
    prop_assert_eq!(encode_to_vec(command, payload), Ok(bytes.to_vec()));
    Ok(())
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
                other => panic!("{other:?} is new: add it here"),
            }
        };
    }
    each_command!(by_type);
    Ok(())
}

fn units() -> impl Strategy<Value = Vec<u16>> {
    vec(prop_oneof![Just(0), 0x20..0x7f_u16, 0xd800..=0xdfff_u16, any::<u16>()], 0..10)
}

/// A string of these units in wire form.
fn wire(units: &[u16]) -> Vec<u8> {
    let mut wire = u32::try_from(units.len() + 1).unwrap().to_le_bytes().to_vec();
    wire.extend(units.iter().chain(&[0]).flat_map(|unit| unit.to_le_bytes()));
    wire
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn every_request_roundtrips(made in strategy::<MadeRequest>(), rest in vec(any::<u8>(), 1..30)) {
        let request = made.request();
        encodes_to(request.command(), &request, made.bytes())?;
        let message = Message::decode(made.bytes()).unwrap();
        prop_assert_eq!(message.request(), Ok(request));
        prop_assert!(message.is_canonical(&request));
        check_by_type(request, made.bytes(), &message)?;
        // Bytes after the message are returned, or refused where none may be.
        let len = made.bytes().len();
        let longer = [made.bytes(), &rest].concat();
        let (message, behind) = Message::decode_prefix(&longer).unwrap();
        prop_assert_eq!((message.payload, behind), (&made.bytes()[20..], &rest[..]));
        prop_assert_eq!(Message::decode(&longer).map_err(|error| error.offset()), Err(len));
    }

    #[test]
    fn every_reply_roundtrips(made in strategy::<MadeReply>()) {
        let reply = made.reply();
        encodes_to(reply.command(), &reply, made.bytes())?;
        let message = Message::decode(made.bytes()).unwrap();
        prop_assert_eq!(message.reply_to(made.answers()), Ok(reply));
        prop_assert!(message.is_canonical(&reply));
        if let Some(by_type) = made.answers().and_then(|command| reply_by_type(&message, command)) {
            prop_assert_eq!(by_type, Ok(reply));
        }
    }

    #[test]
    fn damaged_message_is_read_alike_by_its_type(hostile in strategy::<Hostile>()) {
        decode_any(&hostile.0);
        if let Ok((message, _)) = Message::decode_prefix(&hostile.0) {
            for command in Command::known() {
                prop_assert_eq!(reply_by_type(&message, command), Some(message.reply_to(Some(command))));
            }
        }
    }

    #[test]
    fn string_from_text_units_and_wire_is_equal(text in "\\PC{0,12}", tail in units()) {
        let units: Vec<u16> = text.encode_utf16().collect();
        let wire = wire(&units);
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
        let wire = wire(&units);
        for form in [IpcString::from_units(&units), IpcString::decode(&mut Reader::new(&wire)).unwrap()] {
            prop_assert_eq!(form.units().collect::<Vec<_>>(), &units[..]);
            prop_assert_eq!(form.is_unicode(), String::from_utf16(&units).is_ok());
            prop_assert_eq!(form.to_string(), String::from_utf16_lossy(&units));
            prop_assert_eq!(form.has_inner_nul(), units.contains(&0));
            prop_assert_eq!(form.to_unicode(), String::from_utf16(&units).ok());
        }
    }

    #[test]
    fn array_from_slice_and_wire_is_equal(items in vec(units(), 0..6), other in units(), at: prop::sample::Index) {
        let items: Vec<_> = items.iter().map(|units| IpcString::from_units(units)).collect();
        let (array, other) = (Array::new(&items), IpcString::from_units(&other));
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

    let too_large = Err(EncodeError::MessageTooLarge { len: 65_536 });
    assert_eq!(encode(command, &sent(&bytes), &mut buffer), too_large);
    // No buffer helps, so the error is not the size needed.
    assert_eq!(encode(command, &sent(&bytes), &mut [0; 30]), too_large);
    let too_small = Err(EncodeError::BufferTooSmall { needed: 65_535 });
    assert_eq!(encode(command, &sent(&bytes[..65_515]), &mut [0; 30]), too_small);
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
