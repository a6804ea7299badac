//! Arrays of integers: the event ids of a filter.

use dotnet_diagnostics_ipc::message::eventpipe::{
    CollectTracing5, EventFilter, EventLevel, Format, StreamingProviderConfig, StreamingSession,
};
use dotnet_diagnostics_ipc::message::{Message, Request as _};
use dotnet_diagnostics_ipc::wire::{Array, Decode as _, Encode as _, IpcString, Reader, SliceSink};

use super::peers;
use crate::case::{Case, keep, keep_bytes};
use crate::{ck, plain};

const COMMAND: u16 = 0x0206;
const NAME: &str = "P";
const COUNT: usize = 10_000;

pub fn cases() -> Vec<Case> {
    [ids(COUNT), session(10), session(COUNT)].into_iter().flatten().collect()
}

/// An array by itself.
pub fn ids(count: usize) -> Vec<Case> {
    let numbers: &'static [u32] = (0..count as u32).map(|id| id * 3).collect::<Vec<_>>().leak();
    let bytes = keep_bytes(
        [
            &(count as u32).to_le_bytes()[..],
            &numbers.iter().flat_map(|id| id.to_le_bytes()).collect::<Vec<_>>(),
        ]
        .concat(),
    );
    let (slice, wire) =
        (keep(Array::new(numbers)), keep(Array::<u32>::decode(&mut Reader::new(bytes)).unwrap()));
    let put = |array: &Array<'_, u32>, buffer: &mut [u8]| {
        let mut sink = SliceSink::new(buffer);
        array.encode(&mut sink).ok()?;
        sink.finish().ok()
    };
    let ck = |numbers: &[u32], buffer: &mut [u8]| {
        let mut room = ck::Room(buffer.get_mut(..4 + 4 * numbers.len())?);
        room.put((numbers.len() as u32).to_le_bytes());
        for (place, id) in room.0.chunks_exact_mut(4).zip(numbers) {
            place.copy_from_slice(&id.to_le_bytes());
        }
        Some(4 + 4 * numbers.len())
    };
    let plain_put = |numbers: &[u32], buffer: &mut [u8]| {
        let mut bytes = (numbers.len() as u32).to_le_bytes().to_vec();
        numbers.iter().for_each(|id| bytes.extend_from_slice(&id.to_le_bytes()));
        plain::into(buffer, bytes)
    };
    let decode = Case::new(format!("decode {count} ids"), count)
        .reads("ours", bytes, |bytes| Array::<u32>::decode(&mut Reader::new(bytes)).ok())
        .reads("ck", bytes, |bytes| ck::Bytes::<true>(bytes).array::<4>())
        .reads("Vec", bytes, |bytes| plain::Reader(bytes).list(|reader| reader.u32()));
    let walk = Case::new(format!("decode and walk {count} ids"), count)
        .reads("ours", bytes, |bytes| {
            let ids = Array::<u32>::decode(&mut Reader::new(bytes)).ok()?;
            Some(ids.iter().map(u64::from).sum::<u64>())
        })
        .reads("ck", bytes, |bytes| {
            let ids = ck::Bytes::<true>(bytes).array::<4>()?;
            Some(
                ids.chunks_exact(4)
                    .map(|id| u64::from(u32::from_le_bytes(id.try_into().unwrap())))
                    .sum::<u64>(),
            )
        })
        .reads("Vec", bytes, |bytes| {
            let ids = plain::Reader(bytes).list(|reader| reader.u32())?;
            Some(ids.into_iter().map(u64::from).sum::<u64>())
        });
    let encode = Case::new(format!("encode {count} ids"), count)
        .writes("ours", slice, bytes, put)
        .memcpy(bytes)
        .writes("ck", numbers, bytes, ck)
        .writes("Vec", numbers, bytes, plain_put);
    let encode_wire = Case::new(format!("encode {count} decoded ids"), count)
        .writes("ours", wire, bytes, put)
        .memcpy(bytes);
    let (decode, encode) = peers!(decode, encode, bytes, crate::model::Ids);
    vec![decode, walk, encode, encode_wire]
}

fn session(count: usize) -> Vec<Case> {
    let ids: &'static [u32] = (0..count as u32).collect::<Vec<_>>().leak();
    let filter = EventFilter { enable: true, event_ids: Array::new(ids) };
    let provider = StreamingProviderConfig {
        keywords: 7,
        log_level: EventLevel::VERBOSE,
        provider_name: NAME.into(),
        arguments: IpcString::ABSENT,
        filter,
    };
    let value = keep(CollectTracing5::Streaming(StreamingSession {
        circular_buffer_mb: 256,
        format: Format::NET_TRACE,
        rundown_keyword: 1,
        request_stackwalk: true,
        providers: Array::new(std::slice::from_ref(keep(provider))),
    }));
    let write = move |bytes: &mut Vec<u8>| {
        bytes.extend_from_slice(b"\0\0\0\0\0\x01\0\0\x01\0\0\0\x01\0\0\0\0\0\0\0\x01\x01\0\0\0\x07\0\0\0\0\0\0\0\x05\0\0\0");
        plain::string(bytes, Some(std::hint::black_box(NAME)));
        plain::string(bytes, None);
        bytes.push(1);
        bytes.extend_from_slice(&(count as u32).to_le_bytes());
        ids.iter().for_each(|id| bytes.extend_from_slice(&id.to_le_bytes()));
    };
    let bytes = keep_bytes(plain::message(COMMAND, write));
    let decode = Case::new(format!("decode CollectTracing5 with {count} ids"), bytes.len())
        .reads("ours", bytes, |bytes| {
            Message::decode(bytes).ok()?.request_as::<CollectTracing5<'_>>().ok()
        })
        .memcpy(bytes)
        .reads("unchecked", bytes, checked::<false>)
        .reads("ck", bytes, checked::<true>)
        .reads("Vec", bytes, |bytes| {
            let mut payload = plain::payload(bytes, COMMAND)?;
            let fixed =
                (payload.u32()?, payload.u32()?, payload.u32()?, payload.u64()?, payload.u8()?);
            let providers = payload.list(|payload| {
                let provider = (
                    payload.u64()?,
                    payload.u32()?,
                    payload.string()?,
                    payload.string()?,
                    payload.u8()?,
                );
                Some((provider, payload.list(|payload| payload.u32())?))
            })?;
            Some((fixed, providers))
        });
    let encode = Case::new(format!("encode CollectTracing5 with {count} ids"), bytes.len())
        .writes("ours", value, bytes, |value, buffer| value.encode_message(buffer).ok())
        .memcpy(bytes)
        .writes("ck", ids, bytes, |ids, buffer| {
            let name = std::hint::black_box(NAME);
            let len = 20 + 25 + 12 + ck::string_len(Some(name)) + 4 + 5 + 4 * ids.len();
            let mut room = ck::room(buffer, len)?;
            room.header(COMMAND, len);
            room.put(*b"\0\0\0\0\0\x01\0\0\x01\0\0\0\x01\0\0\0\0\0\0\0\x01\x01\0\0\0\x07\0\0\0\0\0\0\0\x05\0\0\0");
            room.string(Some(name));
            room.string(None);
            room.put([1]);
            room.put((ids.len() as u32).to_le_bytes());
            for (place, id) in room.0.chunks_exact_mut(4).zip(ids) {
                place.copy_from_slice(&id.to_le_bytes());
            }
            Some(len)
        })
        .writes("Vec", ids, bytes, move |_, buffer| plain::into(buffer, plain::message(COMMAND, write)));
    let (decode, encode) = peers!(decode, encode, bytes, crate::model::Collect5);
    vec![decode, encode]
}

type Checked = (u32, u32, u64, bool, u32, &'static [u8]);

fn checked<const CHECKED: bool>(bytes: &'static [u8]) -> Option<Checked> {
    let mut payload = ck::payload::<CHECKED>(bytes, COMMAND)?;
    let fixed = payload.chunk::<25>()?;
    let number = |at: usize| u32::from_le_bytes(*fixed[at..].first_chunk().unwrap());
    (number(0) == 0).then_some(())?;
    let (count, items) = (number(21), payload.0);
    if CHECKED {
        for _ in 0..count {
            payload.chunk::<12>()?;
            payload.string()?;
            payload.string()?;
            payload.chunk::<1>()?;
            payload.array::<4>()?;
        }
    }
    Some((
        number(4),
        number(8),
        u64::from_le_bytes(*fixed[12..].first_chunk()?),
        fixed[20] != 0,
        count,
        items,
    ))
}
