//! Messages that are mostly strings.

use dotnet_diagnostics_ipc::command::Command;
use dotnet_diagnostics_ipc::message::process::{
    ProcessInfo2, ProcessInfo2Reply, ProcessInfo3, SetEnvironmentVariable,
};
use dotnet_diagnostics_ipc::message::profiler::AttachProfiler;
use dotnet_diagnostics_ipc::message::{Message, Reply, Request as _, encode};
use dotnet_diagnostics_ipc::wire::Guid;

use super::peers;
use crate::case::{Case, keep, keep_bytes};
use crate::{ck, plain};

const INFO: [&str; 5] = [
    "/usr/share/dotnet/dotnet /srv/app/Example.Service.dll --urls http://localhost:5000",
    "Linux",
    "x64",
    "Example.Service",
    "10.0.9",
];
const VARIABLE: [&str; 2] = ["DOTNET_DiagnosticPorts", "/tmp/example-port,connect,nosuspend"];
const PROFILER: &str = "/opt/example/profiler/libExampleProfiler.so";
const DATA: &[u8] = &[7; 64];

pub fn cases() -> Vec<Case> {
    let cases = [
        set_environment_variable(),
        attach_profiler(),
        process_info2_reply(),
        process_info3_reply(),
    ];
    cases.into_iter().flatten().collect()
}

fn set_environment_variable() -> Vec<Case> {
    const COMMAND: u16 = 0x0403;
    let bytes = keep_bytes(plain::message(COMMAND, |bytes| {
        VARIABLE.iter().for_each(|text| plain::string(bytes, Some(text)))
    }));
    let value =
        keep(SetEnvironmentVariable { name: VARIABLE[0].into(), value: VARIABLE[1].into() });
    let decode = Case::new("decode SetEnvironmentVariable", bytes.len())
        .reads("ours", bytes, |bytes| {
            Message::decode(bytes).ok()?.request_as::<SetEnvironmentVariable<'_>>().ok()
        })
        .memcpy(bytes)
        .reads("unchecked", bytes, checked_variable::<false>)
        .reads("ck", bytes, checked_variable::<true>)
        .reads("Vec", bytes, |bytes| {
            let mut payload = plain::payload(bytes, COMMAND)?;
            Some((payload.string()?, payload.string()?))
        });
    let encode = Case::new("encode SetEnvironmentVariable", bytes.len())
        .writes("ours", value, bytes, |value, buffer| value.encode_message(buffer).ok())
        .memcpy(bytes)
        .writes("ck", &VARIABLE, bytes, |[name, value], buffer| {
            let len = 20 + ck::string_len(Some(name)) + ck::string_len(Some(value));
            let mut room = ck::room(buffer, len)?;
            room.header(COMMAND, len);
            room.string(Some(name));
            room.string(Some(value));
            Some(len)
        })
        .writes("Vec", &VARIABLE, bytes, |texts, buffer| {
            plain::into(
                buffer,
                plain::message(COMMAND, |bytes| {
                    texts.iter().for_each(|text| plain::string(bytes, Some(text)))
                }),
            )
        });
    let (decode, encode) = peers!(decode, encode, bytes, crate::model::SetVariable);
    vec![decode, encode]
}

fn checked_variable<const CHECKED: bool>(
    bytes: &'static [u8],
) -> Option<[Option<&'static [u8]>; 2]> {
    let mut payload = ck::payload::<CHECKED>(bytes, 0x0403)?;
    Some([payload.string()?, payload.string()?])
}

fn attach_profiler() -> Vec<Case> {
    const COMMAND: u16 = 0x0301;
    let bytes = keep_bytes(plain::message(COMMAND, |bytes| {
        bytes.extend_from_slice(&10_000u32.to_le_bytes());
        bytes.extend_from_slice(&[5; 16]);
        plain::string(bytes, Some(PROFILER));
        bytes.extend_from_slice(&64u32.to_le_bytes());
        bytes.extend_from_slice(DATA);
    }));
    let value = keep(AttachProfiler {
        attach_timeout: 10_000,
        profiler_guid: Guid::from_bytes([5; 16]),
        profiler_path: PROFILER.into(),
        client_data: DATA,
    });
    let decode = Case::new("decode AttachProfiler", bytes.len())
        .reads("ours", bytes, |bytes| {
            Message::decode(bytes).ok()?.request_as::<AttachProfiler<'_>>().ok()
        })
        .memcpy(bytes)
        .reads("unchecked", bytes, checked_attach::<false>)
        .reads("ck", bytes, checked_attach::<true>)
        .reads("Vec", bytes, |bytes| {
            let mut payload = plain::payload(bytes, COMMAND)?;
            let (timeout, guid): (_, [u8; 16]) =
                (payload.u32()?, payload.take(16)?.try_into().ok()?);
            let path = payload.string()?;
            let len = payload.u32()?;
            Some((timeout, guid, path, payload.take(len as usize)?.to_vec()))
        });
    let encode = Case::new("encode AttachProfiler", bytes.len())
        .writes("ours", value, bytes, |value, buffer| value.encode_message(buffer).ok())
        .memcpy(bytes)
        .writes("ck", value, bytes, |value, buffer| {
            let len = 20 + 20 + ck::string_len(Some(PROFILER)) + 4 + value.client_data.len();
            let mut room = ck::room(buffer, len)?;
            room.header(COMMAND, len);
            room.put(value.attach_timeout.to_le_bytes());
            room.put(value.profiler_guid.to_bytes());
            room.string(Some(std::hint::black_box(PROFILER)));
            room.put((value.client_data.len() as u32).to_le_bytes());
            room.bytes(value.client_data);
            Some(len)
        })
        .writes("Vec", value, bytes, |value, buffer| {
            plain::into(
                buffer,
                plain::message(COMMAND, |bytes| {
                    bytes.extend_from_slice(&value.attach_timeout.to_le_bytes());
                    bytes.extend_from_slice(&value.profiler_guid.to_bytes());
                    plain::string(bytes, Some(std::hint::black_box(PROFILER)));
                    bytes.extend_from_slice(&(value.client_data.len() as u32).to_le_bytes());
                    bytes.extend_from_slice(value.client_data);
                }),
            )
        });
    let (decode, encode) = peers!(decode, encode, bytes, crate::model::Attach);
    vec![decode, encode]
}

fn checked_attach<const CHECKED: bool>(
    bytes: &'static [u8],
) -> Option<(u32, [u8; 16], Option<&'static [u8]>, &'static [u8])> {
    let mut payload = ck::payload::<CHECKED>(bytes, 0x0301)?;
    let fixed = payload.chunk::<20>()?;
    let path = payload.string()?;
    Some((
        u32::from_le_bytes(*fixed.first_chunk()?),
        *fixed.last_chunk()?,
        path,
        payload.array::<1>()?,
    ))
}

fn process_info2_reply() -> Vec<Case> {
    const COMMAND: u16 = 0xff00;
    let bytes = keep_bytes(plain::message(COMMAND, |bytes| {
        bytes.extend_from_slice(&12345u64.to_le_bytes());
        bytes.extend_from_slice(&[5; 16]);
        INFO.iter().for_each(|text| plain::string(bytes, Some(text)));
    }));
    let value = keep(ProcessInfo2Reply {
        process_id: 12345,
        runtime_cookie: Guid::from_bytes([5; 16]),
        command_line: INFO[0].into(),
        os: INFO[1].into(),
        arch: INFO[2].into(),
        managed_entrypoint_assembly_name: INFO[3].into(),
        clr_product_version: INFO[4].into(),
    });
    let decode = Case::new("decode ProcessInfo2Reply", bytes.len())
        .reads("ours", bytes, |bytes| {
            match Message::decode(bytes).ok()?.reply_as::<ProcessInfo2>() {
                Ok(Reply::Ok(reply)) => Some(reply),
                _ => None,
            }
        })
        .memcpy(bytes)
        .reads("unchecked", bytes, checked_info::<false>)
        .reads("ck", bytes, checked_info::<true>)
        .reads("Vec", bytes, |bytes| {
            let mut payload = plain::payload(bytes, COMMAND)?;
            let (process_id, cookie): (_, [u8; 16]) =
                (payload.u64()?, payload.take(16)?.try_into().ok()?);
            let mut text = || payload.string();
            Some((process_id, cookie, [text()?, text()?, text()?, text()?, text()?]))
        });
    let encode = Case::new("encode ProcessInfo2Reply", bytes.len())
        .writes("ours", value, bytes, |value, buffer| encode(Command::OK, value, buffer).ok())
        .memcpy(bytes)
        .writes("ck", &INFO, bytes, |texts, buffer| {
            let len = 20 + 24 + texts.iter().map(|text| ck::string_len(Some(text))).sum::<usize>();
            let mut room = ck::room(buffer, len)?;
            room.header(COMMAND, len);
            room.put(12345u64.to_le_bytes());
            room.put([5; 16]);
            texts.iter().for_each(|text| room.string(Some(text)));
            Some(len)
        })
        .writes("Vec", &INFO, bytes, |texts, buffer| {
            plain::into(
                buffer,
                plain::message(COMMAND, |bytes| {
                    bytes.extend_from_slice(&12345u64.to_le_bytes());
                    bytes.extend_from_slice(&[5; 16]);
                    texts.iter().for_each(|text| plain::string(bytes, Some(text)));
                }),
            )
        });
    let (decode, encode) = peers!(decode, encode, bytes, crate::model::Info2);
    vec![decode, encode]
}

/// The newest of them; and every unit of its strings.
fn process_info3_reply() -> Vec<Case> {
    const COMMAND: u16 = 0xff00;
    let bytes = keep_bytes(plain::message(COMMAND, |bytes| {
        bytes.extend_from_slice(&1u32.to_le_bytes());
        bytes.extend_from_slice(&12345u64.to_le_bytes());
        bytes.extend_from_slice(&[5; 16]);
        INFO.iter().chain(&["linux-x64"]).for_each(|text| plain::string(bytes, Some(text)));
    }));
    let ours = |bytes: &'static [u8]| match Message::decode(bytes).ok()?.reply_as::<ProcessInfo3>()
    {
        Ok(Reply::Ok(reply)) => Some(reply),
        _ => None,
    };
    let decode = Case::new("decode ProcessInfo3Reply", bytes.len())
        .reads("ours", bytes, ours)
        .memcpy(bytes)
        .reads("unchecked", bytes, checked_info3::<false>)
        .reads("ck", bytes, checked_info3::<true>)
        .reads("Vec", bytes, |bytes| {
            let mut payload = plain::payload(bytes, COMMAND)?;
            let (version, process_id) = (payload.u32()?, payload.u64()?);
            let cookie: [u8; 16] = payload.take(16)?.try_into().ok()?;
            let mut text = || payload.string();
            let texts = [text()?, text()?, text()?, text()?, text()?, text()?];
            Some((version, process_id, cookie, texts))
        });
    let walk = Case::new("decode and walk ProcessInfo3Reply", bytes.len())
        .reads("ours", bytes, move |bytes| {
            let reply = ours(bytes)?;
            let texts = [
                reply.command_line,
                reply.os,
                reply.arch,
                reply.managed_entrypoint_assembly_name,
                reply.clr_product_version,
                reply.runtime_identifier,
            ];
            Some((
                reply.process_id,
                texts.iter().flat_map(|text| text.units()).map(u64::from).sum::<u64>(),
            ))
        })
        .reads("ck", bytes, |bytes| {
            let (_, process_id, _, texts) = checked_info3::<true>(bytes)?;
            let units = texts.iter().flat_map(|text| text.unwrap_or_default().chunks_exact(2));
            let sum: u64 =
                units.map(|unit| u64::from(u16::from_le_bytes([unit[0], unit[1]]))).sum();
            Some((process_id, sum))
        });
    vec![decode, walk]
}

type Info3 = (u32, u64, [u8; 16], [Option<&'static [u8]>; 6]);

fn checked_info3<const CHECKED: bool>(bytes: &'static [u8]) -> Option<Info3> {
    let mut payload = ck::payload::<CHECKED>(bytes, 0xff00)?;
    let fixed = payload.chunk::<28>()?;
    let mut text = || payload.string();
    let texts = [text()?, text()?, text()?, text()?, text()?, text()?];
    let version = u32::from_le_bytes(*fixed.first_chunk()?);
    let process_id = u64::from_le_bytes(*fixed[4..].first_chunk()?);
    Some((version, process_id, *fixed.last_chunk()?, texts))
}

type Info = (u64, [u8; 16], [Option<&'static [u8]>; 5]);

fn checked_info<const CHECKED: bool>(bytes: &'static [u8]) -> Option<Info> {
    let mut payload = ck::payload::<CHECKED>(bytes, 0xff00)?;
    let fixed = payload.chunk::<24>()?;
    let mut text = || payload.string();
    let texts = [text()?, text()?, text()?, text()?, text()?];
    Some((u64::from_le_bytes(*fixed.first_chunk()?), *fixed.last_chunk()?, texts))
}
