//! The environment block: whole, in pieces, and as text.

use dotnet_diagnostics_ipc::continuation::{
    Entry, Environment, EnvironmentDecoder, EnvironmentEncoder, EnvironmentEvent,
};
use dotnet_diagnostics_ipc::wire::{Encode as _, SliceSink};

use super::peers;
use crate::case::{Case, keep, keep_bytes};
use crate::{ck, plain};

const ENTRIES: usize = 100;

pub fn cases() -> Vec<Case> {
    let (texts, bytes) = block(ENTRIES);
    let entries: &'static [Entry<'static>] =
        texts.iter().map(|text| Entry::new(text)).collect::<Vec<_>>().leak();
    let value = keep(Environment::new(entries));
    let put = |value: &Environment<'_>, buffer: &mut [u8]| {
        let mut sink = SliceSink::new(buffer);
        value.encode(&mut sink).ok()?;
        sink.finish().ok()
    };
    let plain_put = |texts: &[&str], buffer: &mut [u8]| {
        let mut bytes = (texts.len() as u32).to_le_bytes().to_vec();
        texts.iter().for_each(|text| plain::string(&mut bytes, Some(text)));
        plain::into(buffer, bytes)
    };
    let decode = Case::new("decode environment", bytes.len())
        .reads("ours", bytes, |bytes| Environment::decode(bytes).ok())
        .memcpy(bytes)
        .reads("ck", bytes, |bytes| {
            let mut rest = ck::Bytes::<true>(bytes);
            let count = rest.u32()?;
            let items = rest;
            for _ in 0..count {
                rest.array::<2>()?;
            }
            rest.0.is_empty().then_some((count, items))
        })
        .reads("Vec", bytes, |bytes| plain::Reader(bytes).list(|reader| reader.string()));
    let encode = Case::new("encode environment", bytes.len())
        .writes("ours", value, bytes, put)
        .memcpy(bytes)
        .writes("ck", texts, bytes, |texts, buffer| {
            let len = 4 + texts.iter().map(|text| ck::string_len(Some(text))).sum::<usize>();
            let mut room = ck::Room(buffer.get_mut(..len)?);
            room.put((texts.len() as u32).to_le_bytes());
            texts.iter().for_each(|text| room.string(Some(text)));
            Some(len)
        })
        .writes("Vec", texts, bytes, plain_put);
    let pieces = Case::new("encode environment in pieces", bytes.len()).by("ours", move || {
        let mut encoder =
            EnvironmentEncoder::new(std::hint::black_box(entries).iter().copied()).unwrap();
        let mut piece = [0; 1024];
        while encoder.encode(&mut piece) > 0 {
            std::hint::black_box(&piece);
        }
    });
    let (decode, encode) = peers!(decode, encode, bytes, crate::model::Block);
    vec![
        decode,
        in_pieces(bytes, usize::MAX),
        in_pieces(bytes, 1000),
        split(bytes),
        to_utf8("environment to UTF-8", bytes),
        encode,
        pieces,
    ]
}

/// Texts, and the block of them.
pub fn block(entries: usize) -> (&'static [&'static str], &'static [u8]) {
    let text = |nth: usize| match nth % 4 {
        0 => format!("DOTNET_VARIABLE_{nth:05}=1"),
        1 => format!(
            "PATH{nth:05}=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin:/opt/example/bin"
        ),
        2 => format!(
            "EXAMPLE_CONNECTION_{nth:05}=Server=db.example.com;Port=5432;Database=example;Timeout=30;Pooling=true"
        ),
        _ => format!("LANG{nth:05}=en_US.UTF-8"),
    };
    let texts: Vec<&'static str> = (0..entries).map(|nth| &*text(nth).leak()).collect();
    let mut bytes = (entries as u32).to_le_bytes().to_vec();
    texts.iter().for_each(|text| plain::string(&mut bytes, Some(text)));
    (texts.leak(), keep_bytes(bytes))
}

/// Read as it arrives, by `piece` bytes; every entry is counted.
pub fn in_pieces(bytes: &'static [u8], piece: usize) -> Case {
    let what = if piece == usize::MAX { "whole".into() } else { format!("by {piece} bytes") };
    let mut buffer = vec![0; 4096];
    let mut copy = vec![0; 4096];
    Case::new(format!("count environment, {what}"), bytes.len())
        .by("ours", move || {
            let mut decoder = EnvironmentDecoder::new(bytes.len() as u32, &mut buffer);
            let mut entries = 0;
            for mut piece in std::hint::black_box(bytes).chunks(piece) {
                while let Some(event) = decoder.decode(&mut piece).unwrap() {
                    if let EnvironmentEvent::Entry(entry) = event {
                        std::hint::black_box(entry);
                        entries += 1;
                    }
                }
            }
            std::hint::black_box(entries);
        })
        .by("ck", move || {
            // The whole block alone: pieces have no straight line.
            let mut rest = ck::Bytes::<true>(std::hint::black_box(bytes));
            let mut count = || {
                let entries = rest.u32()?;
                for _ in 0..entries {
                    let units = rest.array::<2>()?;
                    let place = copy.get_mut(..units.len())?;
                    place.copy_from_slice(units);
                    std::hint::black_box(&place);
                }
                Some(entries)
            };
            std::hint::black_box(count().unwrap());
        })
}

/// The name and the value of every entry.
fn split(bytes: &'static [u8]) -> Case {
    Case::new("split environment", bytes.len())
        .by("ours", move || {
            for entry in Environment::decode(std::hint::black_box(bytes)).unwrap() {
                std::hint::black_box((entry.name(), entry.value()));
            }
        })
        .by("ck", move || {
            let mut rest = ck::Bytes::<true>(std::hint::black_box(bytes));
            for _ in 0..rest.u32().unwrap() {
                let units = rest.string().unwrap().unwrap();
                // A first `=` belongs to the name.
                let at = units.chunks_exact(2).skip(1).position(|unit| unit == b"=\0");
                std::hint::black_box(match at {
                    Some(at) => (&units[..2 * at + 2], Some(&units[2 * at + 4..])),
                    None => (units, None),
                });
            }
        })
}

/// Every entry as a `String`.
pub fn to_utf8(name: &str, bytes: &'static [u8]) -> Case {
    Case::new(name, bytes.len())
        .by("ours", move || {
            for entry in Environment::decode(std::hint::black_box(bytes)).unwrap() {
                std::hint::black_box(entry.text().to_unicode().unwrap());
            }
        })
        .by("std", move || {
            let mut rest = ck::Bytes::<true>(std::hint::black_box(bytes));
            for _ in 0..rest.u32().unwrap() {
                let units = rest.string().unwrap().unwrap();
                let units: Vec<u16> = units
                    .chunks_exact(2)
                    .map(|unit| u16::from_le_bytes([unit[0], unit[1]]))
                    .collect();
                std::hint::black_box(String::from_utf16(&units).unwrap());
            }
        })
}
