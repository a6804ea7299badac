#![cfg_attr(not(feature = "afl"), no_main)]

#[allow(dead_code, reason = "a part of the tool")]
#[path = "../../src/bin/diagipc/annotated.rs"]
mod annotated;
#[path = "../../tests/generate/fuzz_corpus/cli_decode.rs"]
mod cli_decode;
#[allow(dead_code, reason = "a part of the tool")]
#[path = "../../src/bin/diagipc/items.rs"]
mod items;

dotnet_diagnostics_ipc_fuzz::target!(cli_decode::cli_decode);
