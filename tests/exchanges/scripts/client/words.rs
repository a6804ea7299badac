//! The crate's values in the words of `vectors/exchanges/README.md`.

use dotnet_diagnostics_ipc::hresult::HResult;
use dotnet_diagnostics_ipc::wire::WireErrorKind;
use dotnet_diagnostics_ipc_vectors::script::ScriptFault;

pub(super) fn text_of(hresult: HResult) -> String {
    format!("0x{:08X}", hresult.0)
}

pub(super) fn fault(kind: WireErrorKind, offset: u32) -> ScriptFault {
    ScriptFault::new(kind, usize::try_from(offset).unwrap())
}
