//! Text, to UTF-16 and from it, by script.

use std::fmt::Write as _;
use std::hint::black_box;

use dotnet_diagnostics_ipc::wire::{Decode as _, Encode as _, IpcString, Reader, SliceSink};

use crate::case::{Case, keep_bytes};

/// How many units, or a few more.
const UNITS: usize = 10_000;

pub fn cases() -> Vec<Case> {
    let scripts = [
        ("ASCII", "The quick brown fox jumps over the lazy dog. "),
        ("Latin", "Größe, naïve façade, déjà vu, señor, Ærø, smørrebrød. "),
        ("Cyrillic", "Съешь же ещё этих мягких французских булок. "),
        ("CJK", "診断用のポートと環境変数の一覧を読み取る。"),
        ("emoji", "😀🎉🚀🌍👩🔧💾📈"),
    ];
    let mut cases: Vec<Case> =
        scripts.into_iter().flat_map(|(script, text)| of(script, text)).collect();
    cases.push(display(scripts[0].1));
    cases
}

/// As most callers have the text: through `Display`, of which `to_string` is one use. Into a string
/// that is large enough: growth is not ours.
fn display(text: &str) -> Case {
    let units = UNITS / text.len() * text.len();
    let wire = wire(text.repeat(units / text.len()).leak());
    let mut shown = String::with_capacity(units);
    Case::new("ASCII through Display", units).by("ours", move || {
        let string = IpcString::decode(&mut Reader::new(black_box(wire))).unwrap();
        shown.clear();
        write!(shown, "{string}").unwrap();
        black_box(&shown);
    })
}

/// The text as it is on the wire, after the count.
pub fn wire(text: &str) -> &'static [u8] {
    let units: Vec<u16> = text.encode_utf16().chain([0]).collect();
    keep_bytes(
        (units.len() as u32)
            .to_le_bytes()
            .into_iter()
            .chain(units.iter().flat_map(|unit| unit.to_le_bytes()))
            .collect(),
    )
}

pub fn to_utf16(name: String, text: &'static str, units: usize) -> Case {
    let mut buffer = vec![0; 6 + 2 * units];
    Case::new(name, units).by("ours", move || {
        let mut sink = SliceSink::new(&mut buffer);
        IpcString::new(black_box(text)).encode(&mut sink).unwrap();
        black_box(sink.finish().unwrap());
    })
}

pub fn from_utf16(name: String, wire: &'static [u8], units: usize) -> Case {
    Case::new(name, units).by("ours", move || {
        let string = IpcString::decode(&mut Reader::new(black_box(wire))).unwrap();
        black_box(string.to_unicode().unwrap());
    })
}

fn of(script: &str, text: &str) -> [Case; 2] {
    let times = UNITS / text.encode_utf16().count() + 1;
    let text: &'static str = text.repeat(times).leak();
    let units: &'static [u16] = text.encode_utf16().collect::<Vec<_>>().leak();
    let wire = wire(text);
    let to = to_utf16(format!("{script} to UTF-16"), text, units.len())
        .by("std", move || drop(black_box(black_box(text).encode_utf16().collect::<Vec<u16>>())));
    let from = from_utf16(format!("{script} from UTF-16"), wire, units.len())
        .by("std", move || drop(black_box(String::from_utf16(black_box(units)).unwrap())));
    #[cfg(feature = "peers")]
    let (to, from) = peers(text, units, to, from);
    [to, from]
}

#[cfg(feature = "peers")]
fn peers(text: &'static str, units: &'static [u16], to: Case, from: Case) -> (Case, Case) {
    let mut wide = vec![0u16; text.len() + 1];
    let mut wide_too = wide.clone();
    let mut narrow = vec![0u8; 3 * units.len() + 1];
    let mut narrow_too = narrow.clone();
    let to = to
        .by("encoding_rs", move || {
            black_box(encoding_rs::mem::convert_str_to_utf16(black_box(text), &mut wide));
        })
        .by("simdutf", move || {
            // SAFETY: there is a unit for each byte.
            black_box(unsafe {
                simdutf::convert_utf8_to_utf16le(
                    black_box(text).as_ptr(),
                    text.len(),
                    wide_too.as_mut_ptr(),
                )
            });
        });
    let from = from
        .by("encoding_rs", move || {
            black_box(encoding_rs::mem::convert_utf16_to_utf8(black_box(units), &mut narrow));
        })
        .by("simdutf", move || {
            // SAFETY: there are three bytes for each unit.
            black_box(unsafe {
                simdutf::convert_utf16le_to_utf8(
                    black_box(units).as_ptr(),
                    units.len(),
                    narrow_too.as_mut_ptr(),
                )
            });
        });
    (to, from)
}
