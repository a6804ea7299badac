//! The same things once, twice, four and eight times as large.

use dotnet_diagnostics_ipc::message::eventpipe::CollectTracing2;
use dotnet_diagnostics_ipc::message::{Message, Request as _};

use super::{arrays, environment, limits, providers, text};
use crate::case::Case;

pub fn cases() -> Vec<Case> {
    [1, 2, 4, 8].into_iter().flat_map(at).collect()
}

fn at(times: usize) -> Vec<Case> {
    let (request, value) = (providers::request(50 * times), providers::value(50 * times));
    let (_, block) = environment::block(50 * times);
    let ascii: &'static str = "0123456789abcdef".repeat(250 * times).leak();
    let kanji: &'static str = "診断用".repeat(500 * times).leak();
    // Ids enough that a copy of them is done by one instruction that callgrind counts for each
    // byte.
    let providers = [
        Case::new("decode providers", 50 * times).reads("ours", request, |bytes| {
            Message::decode(bytes).ok()?.request_as::<CollectTracing2<'_>>().ok()
        }),
        Case::new("encode providers", 50 * times).writes(
            "ours",
            value,
            request,
            |value, buffer| value.encode_message(buffer).ok(),
        ),
        limits::decoded(50 * times),
        environment::in_pieces(block, usize::MAX),
        environment::in_pieces(block, 1000),
        environment::to_utf8("to UTF-8", block),
        text::to_utf16("ASCII to UTF-16".into(), ascii, ascii.len()),
        text::from_utf16("ASCII from UTF-16".into(), text::wire(ascii), ascii.len()),
        text::to_utf16("CJK to UTF-16".into(), kanji, 1500 * times),
        text::from_utf16("CJK from UTF-16".into(), text::wire(kanji), 1500 * times),
    ];
    let mut cases: Vec<Case> =
        providers.into_iter().chain(arrays::ids(8000 * times).into_iter().skip(1)).collect();
    for case in &mut cases {
        case.contenders.truncate(1);
        // Sizes are in other names too.
        let name: String = case
            .name
            .split_whitespace()
            .filter(|word| word.parse::<usize>().is_err())
            .collect::<Vec<_>>()
            .join(" ");
        case.name = format!("linear {name} x{times}");
    }
    cases
}
