//! Session requests with many providers.

use dotnet_diagnostics_ipc::message::eventpipe::{
    CollectTracing2, EventLevel, Format, ProviderConfig,
};
use dotnet_diagnostics_ipc::message::{Message, Request as _};
use dotnet_diagnostics_ipc::wire::Array;

use super::peers;
use crate::case::{Case, keep, keep_bytes};
use crate::{ck, plain};

const COMMAND: u16 = 0x0203;
const NAME: &str = "Microsoft-Windows-DotNETRuntime";

pub fn cases() -> Vec<Case> {
    [1, 10, 100].into_iter().flat_map(of).collect()
}

/// The request as bytes.
pub fn request(count: usize) -> &'static [u8] {
    keep_bytes(plain::message(COMMAND, |bytes| write(count, bytes)))
}

pub fn providers(count: usize) -> &'static [ProviderConfig<'static>] {
    vec![ProviderConfig::new(NAME, 0x8002_0139, EventLevel::VERBOSE); count].leak()
}

/// The same as a value.
pub fn value(count: usize) -> &'static CollectTracing2<'static> {
    let providers = Array::new(providers(count));
    keep(CollectTracing2 {
        circular_buffer_mb: 256,
        format: Format::NET_TRACE,
        request_rundown: true,
        providers,
    })
}

fn write(count: usize, bytes: &mut Vec<u8>) {
    bytes.extend_from_slice(b"\0\x01\0\0\x01\0\0\0\x01");
    bytes.extend_from_slice(&(count as u32).to_le_bytes());
    for _ in 0..count {
        bytes.extend_from_slice(&0x8002_0139u64.to_le_bytes());
        bytes.extend_from_slice(&5u32.to_le_bytes());
        plain::string(bytes, Some(std::hint::black_box(NAME)));
        plain::string(bytes, None);
    }
}

fn of(count: usize) -> [Case; 3] {
    let (bytes, value) = (request(count), value(count));
    let decode = Case::new(format!("decode CollectTracing2 of {count}"), bytes.len())
        .reads("ours", bytes, |bytes| {
            Message::decode(bytes).ok()?.request_as::<CollectTracing2<'_>>().ok()
        })
        .memcpy(bytes)
        .reads("unchecked", bytes, checked::<false>)
        .reads("ck", bytes, checked::<true>)
        .reads("Vec", bytes, |bytes| {
            let mut payload = plain::payload(bytes, COMMAND)?;
            let fixed = (payload.u32()?, payload.u32()?, payload.u8()? != 0);
            Some((
                fixed,
                payload.list(|payload| {
                    Some((payload.u64()?, payload.u32()?, payload.string()?, payload.string()?))
                })?,
            ))
        });
    let walk = Case::new(format!("decode and walk CollectTracing2 of {count}"), bytes.len())
        .reads("ours", bytes, |bytes| {
            let request = Message::decode(bytes).ok()?.request_as::<CollectTracing2<'_>>().ok()?;
            Some(
                request
                    .providers
                    .iter()
                    .map(|p| p.keywords ^ u64::from(p.log_level.0) ^ sum(p.provider_name.units()))
                    .sum::<u64>(),
            )
        })
        .reads("ck", bytes, |bytes| {
            let (_, count, mut rest) = checked::<true>(bytes)?;
            let mut all = 0u64;
            for _ in 0..count {
                let fixed = rest.chunk::<12>()?;
                let (name, _) = (rest.string()?, rest.string()?);
                let units = name
                    .unwrap_or_default()
                    .chunks_exact(2)
                    .map(|unit| u16::from_le_bytes([unit[0], unit[1]]));
                let (keywords, level) = (
                    u64::from_le_bytes(*fixed.first_chunk()?),
                    u32::from_le_bytes(*fixed.last_chunk()?),
                );
                all = all.wrapping_add(keywords ^ u64::from(level) ^ sum(units));
            }
            Some(all)
        });
    let encode = Case::new(format!("encode CollectTracing2 of {count}"), bytes.len())
        .writes("ours", value, bytes, |value, buffer| value.encode_message(buffer).ok())
        .memcpy(bytes)
        .writes("ck", providers(count), bytes, |providers, buffer| {
            let name = std::hint::black_box(NAME);
            let len = 33
                + providers
                    .iter()
                    .map(|_| 12 + ck::string_len(Some(name)) + ck::string_len(None))
                    .sum::<usize>();
            let mut room = ck::room(buffer, len)?;
            room.header(COMMAND, len);
            room.put(*b"\0\x01\0\0\x01\0\0\0\x01");
            room.put((providers.len() as u32).to_le_bytes());
            for provider in providers {
                room.put(provider.keywords.to_le_bytes());
                room.put(provider.log_level.0.to_le_bytes());
                room.string(Some(name));
                room.string(None);
            }
            Some(len)
        })
        .writes("Vec", value, bytes, |value, buffer| {
            plain::into(
                buffer,
                plain::message(COMMAND, |bytes| write(value.providers.len(), bytes)),
            )
        });
    let (decode, encode) = peers!(decode, encode, bytes, crate::model::Collect2);
    [decode, walk, encode]
}

fn sum(units: impl Iterator<Item = u16>) -> u64 {
    units.map(u64::from).sum()
}

type Checked<const CHECKED: bool> = ((u32, u32, bool), u32, ck::Bytes<'static, CHECKED>);

/// The fixed fields, the count, and the bytes of providers that are known to be whole.
fn checked<const CHECKED: bool>(bytes: &'static [u8]) -> Option<Checked<CHECKED>> {
    let mut payload = ck::payload::<CHECKED>(bytes, COMMAND)?;
    let fixed = payload.chunk::<13>()?;
    let number = |at: usize| u32::from_le_bytes(*fixed[at..].first_chunk().unwrap());
    let (count, items) = (number(9), payload);
    if CHECKED {
        for _ in 0..count {
            payload.chunk::<12>()?;
            payload.string()?;
            payload.string()?;
        }
    }
    Some(((number(0), number(4), fixed[8] != 0), count, items))
}
