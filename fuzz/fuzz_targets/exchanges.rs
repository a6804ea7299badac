#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| dotnet_diagnostics_ipc_fuzz::bodies::exchanges(input));
