#![cfg_attr(not(feature = "afl"), no_main)]

use dotnet_diagnostics_ipc_fuzz::bodies;

dotnet_diagnostics_ipc_fuzz::asks!(oracle_ask, oracle_forget);

fn differential(input: &[u8]) {
    bodies::differential(input, &mut ask);
}

dotnet_diagnostics_ipc_fuzz::target!(differential);
