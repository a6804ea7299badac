//! The kernel's structures, records, and names of tracepoints.

use dotnet_diagnostics_ipc::user_events::{
    Extension, ExtensionItem, Metadata, Record, RecordV1, TracepointCommand, UserReg, UserUnreg,
    WrittenRecord,
};
use dotnet_diagnostics_ipc::wire::{Decode as _, Encode, Guid, Reader, SliceSink};

use super::peers;
use crate::case::{Case, keep, keep_bytes};
use crate::ck;

pub fn cases() -> Vec<Case> {
    [user_reg(), user_unreg(), record(), extension(), command()].into_iter().flatten().collect()
}

fn put<T: Encode>(value: &T, buffer: &mut [u8]) -> Option<usize> {
    let mut sink = SliceSink::new(buffer);
    value.encode(&mut sink).ok()?;
    sink.finish().ok()
}

fn user_reg() -> Vec<Case> {
    const BYTES: &[u8] =
        b"\x20\0\0\0\x1f\x04\0\0\0\x10\0\0\x7f\0\0\0\0\x20\0\0\x7f\0\0\0\0\0\0\0\0\0\0\0";
    let value = keep(UserReg::new(0x7f_0000_1000, 0x7f_0000_2000));
    let decode = Case::new("decode UserReg", 32)
        .reads("ours", BYTES, |bytes| UserReg::decode(&mut Reader::new(bytes)).ok())
        .memcpy(BYTES)
        .reads("ck", BYTES, |bytes| {
            let fields = bytes.first_chunk::<32>()?;
            let number = |at: usize| u64::from_le_bytes(*fields[at..].first_chunk().unwrap());
            let half = |at: usize| u32::from_le_bytes(*fields[at..].first_chunk().unwrap());
            (half(0) == 32 && half(28) == 0).then_some(())?;
            Some((
                fields[4],
                fields[5],
                u16::from_le_bytes([fields[6], fields[7]]),
                number(8),
                number(16),
                half(24),
            ))
        });
    let encode = Case::new("encode UserReg", 32)
        .writes("ours", value, BYTES, put)
        .memcpy(BYTES)
        .writes("ck", value, BYTES, |reg, buffer| {
            let mut room = ck::room(buffer, 32)?;
            room.put(32u32.to_le_bytes());
            room.put([reg.enable_bit, reg.enable_size]);
            room.put(reg.flags.to_le_bytes());
            room.put(reg.enable_addr.to_le_bytes());
            room.put(reg.name_args.to_le_bytes());
            room.put(reg.write_index.to_le_bytes());
            room.put([0; 4]);
            Some(32)
        });
    let (decode, encode) = peers!(decode, encode, BYTES, crate::model::UserReg);
    vec![decode, encode]
}

fn user_unreg() -> Vec<Case> {
    const BYTES: &[u8] = b"\x10\0\0\0\x1f\0\0\0\0\x10\0\0\x7f\0\0\0";
    let value = keep(UserUnreg::of(&UserReg::new(0x7f_0000_1000, 0)));
    let decode = Case::new("decode UserUnreg", 16)
        .reads("ours", BYTES, |bytes| UserUnreg::decode(&mut Reader::new(bytes)).ok())
        .memcpy(BYTES)
        .reads("ck", BYTES, |bytes| {
            let fields = bytes.first_chunk::<16>()?;
            (u32::from_le_bytes(*fields.first_chunk()?) == 16).then_some(())?;
            Some((
                fields[4],
                fields[5],
                u16::from_le_bytes([fields[6], fields[7]]),
                u64::from_le_bytes(*fields.last_chunk()?),
            ))
        });
    let encode = Case::new("encode UserUnreg", 16)
        .writes("ours", value, BYTES, put)
        .memcpy(BYTES)
        .writes("ck", value, BYTES, |reg, buffer| {
            let mut room = ck::room(buffer, 16)?;
            room.put(16u32.to_le_bytes());
            room.put([reg.disable_bit, reg.reserved]);
            room.put(reg.reserved2.to_le_bytes());
            room.put(reg.disable_addr.to_le_bytes());
            Some(16)
        });
    vec![decode, encode]
}

fn record() -> Vec<Case> {
    let extension: &[u8] = &[7; 21];
    let payload: &[u8] = &[9; 40];
    let parts = [b"\x03\0\0\0\x01\x2a\0\x04\0\x15\0\x15\0\x28\0", extension, payload].concat();
    let bytes = keep_bytes(parts);
    let value = keep(WrittenRecord {
        write_index: 3,
        record: Record::V1(RecordV1::new(42, &[7; 21], &[9; 40]).unwrap()),
    });
    let decode = Case::new("decode Record", bytes.len())
        .reads("ours", bytes, |bytes| WrittenRecord::decode(&mut Reader::new(bytes)).ok())
        .memcpy(bytes)
        .reads("ck", bytes, |bytes| {
            let (fixed, data) = bytes.split_first_chunk::<15>()?;
            (fixed[4] == 1).then_some(())?;
            let half = |at: usize| usize::from(u16::from_le_bytes([fixed[at], fixed[at + 1]]));
            let find = |at: usize, end: usize| {
                data.get((half(at) + end).checked_sub(11)?..)?.get(..half(at + 2))
            };
            Some((u32::from_le_bytes(*fixed.first_chunk()?), half(5), find(7, 7)?, find(11, 11)?))
        });
    let encode = Case::new("encode Record", bytes.len())
        .writes("ours", value, bytes, put)
        .memcpy(bytes)
        .writes("ck", value, bytes, |written, buffer| {
            let Record::V1(record) = written.record else { return None };
            let (extension, payload) = (
                u16::try_from(record.extension.len()).ok()?,
                u16::try_from(record.payload.len()).ok()?,
            );
            let mut room = ck::room(buffer, 15 + record.extension.len() + record.payload.len())?;
            room.put(written.write_index.to_le_bytes());
            room.put([1]);
            room.put(record.event_id.to_le_bytes());
            room.put((u32::from(extension) << 16 | 4).to_le_bytes());
            room.put((u32::from(payload) << 16 | u32::from(extension)).to_le_bytes());
            room.bytes(record.extension);
            room.bytes(record.payload);
            Some(15 + record.extension.len() + record.payload.len())
        });
    vec![decode, encode]
}

fn extension() -> Vec<Case> {
    let bytes = keep_bytes(
        [b"\x01\x20\0\0\0", &[8; 32][..], b"\x02", &[1; 16], b"\x03", &[2; 16]].concat(),
    );
    let items = keep([
        ExtensionItem::Metadata(Metadata::new(&[8; 32])),
        ExtensionItem::ActivityId(Guid::from_bytes([1; 16])),
        ExtensionItem::RelatedActivityId(Guid::from_bytes([2; 16])),
    ]);
    let value = keep(Extension::new(items));
    let decode = Case::new("decode Extension", bytes.len())
        .reads("ours", bytes, |bytes| Extension::decode(&mut Reader::new(bytes)).ok())
        .memcpy(bytes)
        .reads("ck", bytes, |bytes| {
            let mut rest = ck::Bytes::<true>(bytes);
            while let Some([label]) = rest.chunk::<1>() {
                match label {
                    1 => drop(rest.array::<1>()?),
                    2 | 3 => drop(rest.chunk::<16>()?),
                    _ => break,
                }
            }
            Some(bytes)
        });
    let encode = Case::new("encode Extension", bytes.len())
        .writes("ours", value, bytes, put)
        .memcpy(bytes)
        .writes("ck", items, bytes, |items, buffer| {
            let len = |item: &ExtensionItem<'_>| match item {
                ExtensionItem::Metadata(metadata) => 5 + metadata.len(),
                _ => 17,
            };
            let len = items.iter().map(len).sum::<usize>();
            let mut room = ck::room(buffer, len)?;
            for item in items {
                room.put([item.label()]);
                match item {
                    ExtensionItem::Metadata(metadata) => {
                        room.put((metadata.len() as u32).to_le_bytes());
                        room.bytes(std::hint::black_box(&[8; 32]));
                    }
                    ExtensionItem::ActivityId(id) | ExtensionItem::RelatedActivityId(id) => {
                        room.put(id.to_bytes())
                    }
                    _ => return None,
                }
            }
            Some(len)
        });
    vec![decode, encode]
}

fn command() -> Vec<Case> {
    const TEXT: &[u8] =
        b"MyTracepoint u8 version; u16 event_id; __rel_loc u8[] extension; __rel_loc u8[] payload";
    let value = keep(TracepointCommand::new("MyTracepoint".into()).unwrap());
    let decode = Case::new("decode TracepointCommand", TEXT.len())
        .reads("ours", TEXT, |text| TracepointCommand::parse(text).ok())
        .reads("ck", TEXT, |text| {
            let end = text.iter().position(|byte| *byte == b' ')?;
            let (name, rest) = text.split_at(end);
            let right =
                !name.is_empty() && name.len() <= 436 && !name.contains(&0) && *rest == TEXT[12..];
            std::str::from_utf8(name).ok().filter(|_| right)
        });
    let encode = Case::new("encode TracepointCommand", TEXT.len())
        .writes("ours", value, TEXT, put)
        .memcpy(TEXT)
        .writes("ck", value, TEXT, |_, buffer| {
            let name = std::hint::black_box("MyTracepoint");
            let mut room = ck::room(buffer, name.len() + 75)?;
            room.bytes(name.as_bytes());
            room.bytes(&TEXT[12..]);
            Some(name.len() + 75)
        });
    vec![decode, encode]
}
