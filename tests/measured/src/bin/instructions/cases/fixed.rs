//! Messages of fixed size, and the header.

use dotnet_diagnostics_ipc::advertise::Advertise;
use dotnet_diagnostics_ipc::command::Command;
use dotnet_diagnostics_ipc::header::Header;
use dotnet_diagnostics_ipc::hresult::HResult;
use dotnet_diagnostics_ipc::message::eventpipe::{CollectTracing2, SessionReply, StopTracing};
use dotnet_diagnostics_ipc::message::process::{
    EnablePerfMap, PerfMapType, ProcessEnvironment, ProcessEnvironmentReply, ProcessInfo,
    ResumeRuntime,
};
use dotnet_diagnostics_ipc::message::server::{ErrorReply, ResultReply};
use dotnet_diagnostics_ipc::message::{Message, Reply, Request as _, encode};
use dotnet_diagnostics_ipc::wire::Guid;

use super::peers;
use crate::case::{Case, keep};
use crate::{ck, plain};

pub fn cases() -> Vec<Case> {
    let cases = [
        header(),
        process_info(),
        stop_tracing(),
        session_reply(),
        result_reply(),
        error_reply(),
        enable_perf_map(),
        environment_reply(),
        advertise(),
    ];
    cases.into_iter().flatten().collect()
}

/// A message of a header and one fixed number; `$get` and `$put` are its bytes.
macro_rules! fixed {
    ($name:literal, $bytes:expr, $command:expr, $Model:ident, $len:literal, $value:expr,
     decode: |$message:ident| $decode:expr, encode: |$v:ident, $b:ident| $encode:expr, fields: |$room:ident, $f:ident| $put:expr) => {{
        const BYTES: &[u8] = $bytes;
        let value = keep($value);
        let decode = Case::new(concat!("decode ", $name), BYTES.len())
            .reads("ours", BYTES, |bytes| {
                let $message = Message::decode(bytes).ok()?;
                $decode
            })
            .memcpy(BYTES)
            .reads("unchecked", BYTES, |bytes| {
                ck::payload::<false>(bytes, $command)?.chunk::<$len>().copied()
            })
            .reads("ck", BYTES, |bytes| {
                ck::payload::<true>(bytes, $command)?.chunk::<$len>().copied()
            })
            .reads("Vec", BYTES, |bytes| {
                <[u8; $len]>::try_from(plain::payload(bytes, $command)?.take($len)?).ok()
            });
        let encode = Case::new(concat!("encode ", $name), BYTES.len())
            .writes("ours", value, BYTES, |$v, $b| $encode.ok())
            .memcpy(BYTES)
            .writes("ck", value, BYTES, |$f, buffer| {
                let mut $room = ck::room(buffer, BYTES.len())?;
                $room.header($command, BYTES.len());
                $put;
                Some(BYTES.len())
            })
            .writes("Vec", value, BYTES, |_, buffer| {
                plain::into(
                    buffer,
                    plain::message($command, |bytes| bytes.extend_from_slice(&BYTES[20..])),
                )
            });
        let (decode, encode) = peers!(decode, encode, BYTES, crate::model::$Model);
        vec![decode, encode]
    }};
}

fn header() -> Vec<Case> {
    const BYTES: &[u8] = b"DOTNET_IPC_V1\0\x14\0\x04\x04\0\0";
    let value = keep(Header { size: 20, command: Command::PROCESS_INFO2, reserved: 0 });
    vec![
        Case::new("decode header", 20)
            .reads("ours", BYTES, |bytes| Header::decode(bytes).ok())
            .memcpy(BYTES)
            .reads("unchecked", BYTES, |bytes| {
                let header = ck::Bytes::<false>(bytes).chunk::<20>()?;
                Some((
                    u16::from_le_bytes([header[14], header[15]]),
                    [header[16], header[17]],
                    [header[18], header[19]],
                ))
            })
            .reads("ck", BYTES, |bytes| {
                let header = bytes.first_chunk::<20>()?;
                let word = |at: usize| u64::from_le_bytes(*header[at..].first_chunk().unwrap());
                let magic = |at: usize| u64::from_le_bytes(*ck::MAGIC[at..].first_chunk().unwrap());
                let size = u16::from_le_bytes([header[14], header[15]]);
                (word(0) == magic(0) && word(6) == magic(6) && size >= 20).then_some(())?;
                Some((size, [header[16], header[17]], u16::from_le_bytes([header[18], header[19]])))
            }),
        Case::new("encode header", 20)
            .writes("ours", value, BYTES, |value, buffer| {
                *buffer.first_chunk_mut()? = value.to_bytes();
                Some(20)
            })
            .memcpy(BYTES)
            .writes("ck", value, BYTES, |value, buffer| {
                let mut room = ck::room(buffer, 20)?;
                room.put(ck::MAGIC);
                room.put(value.size.to_le_bytes());
                room.put([value.command.set, value.command.id]);
                room.put(value.reserved.to_le_bytes());
                Some(20)
            }),
    ]
}

fn process_info() -> Vec<Case> {
    fixed!(
        "ProcessInfo", b"DOTNET_IPC_V1\0\x14\0\x04\0\0\0", 0x0400, Empty, 0, ProcessInfo {},
        decode: |message| message.request_as::<ProcessInfo>().ok(),
        encode: |value, buffer| value.encode_message(buffer),
        fields: |_room, _value| ()
    )
}

fn stop_tracing() -> Vec<Case> {
    fixed!(
        "StopTracing", b"DOTNET_IPC_V1\0\x1c\0\x02\x01\0\0\x2a\0\0\0\0\0\0\0", 0x0201, Session, 8, StopTracing { session_id: 42 },
        decode: |message| message.request_as::<StopTracing>().ok(),
        encode: |value, buffer| value.encode_message(buffer),
        fields: |room, value| room.put(value.session_id.to_le_bytes())
    )
}

fn session_reply() -> Vec<Case> {
    fixed!(
        "SessionReply", b"DOTNET_IPC_V1\0\x1c\0\xff\0\0\0\x2a\0\0\0\0\0\0\0", 0xff00, Session, 8, SessionReply { session_id: 42 },
        decode: |message| match message.reply_as::<CollectTracing2<'_>>() {
            Ok(Reply::Ok(reply)) => Some(reply),
            _ => None,
        },
        encode: |value, buffer| encode(Command::OK, value, buffer),
        fields: |room, value| room.put(value.session_id.to_le_bytes())
    )
}

fn result_reply() -> Vec<Case> {
    fixed!(
        "ResultReply", b"DOTNET_IPC_V1\0\x18\0\xff\0\0\0\0\0\0\0", 0xff00, Number, 4, ResultReply { hresult: HResult::OK },
        decode: |message| match message.reply_as::<ResumeRuntime>() {
            Ok(Reply::Ok(reply)) => Some(reply),
            _ => None,
        },
        encode: |value, buffer| encode(Command::OK, value, buffer),
        fields: |room, value| room.put(value.hresult.0.to_le_bytes())
    )
}

fn error_reply() -> Vec<Case> {
    fixed!(
        "ErrorReply", b"DOTNET_IPC_V1\0\x18\0\xff\xff\0\0\x85\x13\x13\x80", 0xffff, Number, 4, ErrorReply::new(HResult::UNKNOWN_COMMAND),
        decode: |message| match message.reply_as::<ResumeRuntime>() {
            Ok(Reply::Error(error)) => Some(error.hresult),
            _ => None,
        },
        encode: |value, buffer| encode(Command::ERROR, value, buffer),
        fields: |room, value| room.put(value.hresult.0.to_le_bytes())
    )
}

fn enable_perf_map() -> Vec<Case> {
    fixed!(
        "EnablePerfMap", b"DOTNET_IPC_V1\0\x18\0\x04\x05\0\0\x03\0\0\0", 0x0405, Number, 4, EnablePerfMap { perf_map_type: PerfMapType::PERF_MAP },
        decode: |message| message.request_as::<EnablePerfMap>().ok(),
        encode: |value, buffer| value.encode_message(buffer),
        fields: |room, value| room.put(value.perf_map_type.0.to_le_bytes())
    )
}

fn environment_reply() -> Vec<Case> {
    fixed!(
        "ProcessEnvironmentReply", b"DOTNET_IPC_V1\0\x1a\0\xff\0\0\0\x10\0\0\0\0\0", 0xff00, EnvironmentReply, 6,
        ProcessEnvironmentReply { n_incoming_bytes: 16, future: 0 },
        decode: |message| match message.reply_as::<ProcessEnvironment>() {
            Ok(Reply::Ok(reply)) => Some(reply),
            _ => None,
        },
        encode: |value, buffer| encode(Command::OK, value, buffer),
        fields: |room, value| {
            room.put(value.n_incoming_bytes.to_le_bytes());
            room.put(value.future.to_le_bytes());
        }
    )
}

fn advertise() -> Vec<Case> {
    const BYTES: &[u8] = b"ADVR_V1\0\x67\x45\x3e\x12\x9b\xe8\xd3\x12\xa4\x56\x42\x66\x14\x17\x40\0\x39\x30\0\0\0\0\0\0\0\0";
    let value = keep(Advertise {
        runtime_cookie: Guid::from_bytes(*BYTES[8..].first_chunk().unwrap()),
        process_id: 12345,
        future: 0,
    });
    let decode = Case::new("decode Advertise", 34)
        .reads("ours", BYTES, |bytes| Advertise::decode(bytes).ok())
        .memcpy(BYTES)
        .reads("ck", BYTES, |bytes| {
            let bytes: &[u8; 34] = bytes.try_into().ok()?;
            (bytes[..8] == *b"ADVR_V1\0").then_some(())?;
            Some((
                *bytes[8..].first_chunk::<16>()?,
                u64::from_le_bytes(*bytes[24..].first_chunk()?),
                u16::from_le_bytes([bytes[32], bytes[33]]),
            ))
        });
    let encode = Case::new("encode Advertise", 34)
        .writes("ours", value, BYTES, |value, buffer| {
            *buffer.first_chunk_mut()? = value.to_bytes();
            Some(34)
        })
        .memcpy(BYTES)
        .writes("ck", value, BYTES, |value, buffer| {
            let mut room = ck::room(buffer, 34)?;
            room.put(*b"ADVR_V1\0");
            room.put(value.runtime_cookie.to_bytes());
            room.put(value.process_id.to_le_bytes());
            room.put(value.future.to_le_bytes());
            Some(34)
        });
    let (decode, encode) = peers!(decode, encode, BYTES, crate::model::Advertise);
    vec![decode, encode]
}
