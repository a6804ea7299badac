#![cfg_attr(not(feature = "afl"), no_main)]

dotnet_diagnostics_ipc_fuzz::target!(dotnet_diagnostics_ipc_fuzz::bodies::exchanges);
