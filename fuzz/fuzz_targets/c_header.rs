#![cfg_attr(not(feature = "afl"), no_main)]

use dotnet_diagnostics_ipc_fuzz::bodies;

dotnet_diagnostics_ipc_fuzz::asks!(header_ask, header_forget);

fn c_header(input: &[u8]) {
    bodies::c_header(input, &mut ask);
}

dotnet_diagnostics_ipc_fuzz::target!(c_header);
