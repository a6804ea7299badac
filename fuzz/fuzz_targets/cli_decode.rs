#![no_main]

#[path = "../../tests/fuzz_corpus/cli_decode.rs"]
mod cli_decode;
#[allow(dead_code, reason = "a part of the tool")]
#[path = "../../src/bin/diagipc/dump.rs"]
mod dump;
#[allow(dead_code, reason = "a part of the tool")]
#[path = "../../src/bin/diagipc/items.rs"]
mod items;

libfuzzer_sys::fuzz_target!(|input: &[u8]| cli_decode::cli_decode(input));
