#![cfg_attr(not(feature = "afl"), no_main)]

use dotnet_diagnostics_ipc::testing::fuzzing;

dotnet_diagnostics_ipc_fuzz::asks!(oracle_ask, oracle_forget);

fn differential(input: &[u8]) {
    fuzzing::differential(input, &mut ask);
}

dotnet_diagnostics_ipc_fuzz::target!(differential);
