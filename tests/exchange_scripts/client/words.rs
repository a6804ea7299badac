//! The words of `vectors/exchanges/README.md` for what the crate's types say.

use dotnet_diagnostics_ipc::exchange::End;
use dotnet_diagnostics_ipc::hresult::HResult;
use dotnet_diagnostics_ipc::vectors::{ScriptEnd, ScriptFault};
use dotnet_diagnostics_ipc::wire::{DecodeError, DecodeErrorKind, ErrorKind as _};

pub(super) fn text_of(hresult: HResult) -> String {
    format!("0x{:08X}", hresult.0)
}

pub(super) fn fault(kind: DecodeErrorKind, offset: u32) -> ScriptFault {
    let offset = usize::try_from(offset).unwrap();
    ScriptFault { layer: kind.layer().name().to_owned(), kind: kind.name().to_owned(), offset }
}

pub(super) fn fault_of(error: DecodeError) -> ScriptFault {
    fault(error.kind(), u32::try_from(error.offset()).unwrap())
}

pub(super) fn words(end: End) -> ScriptEnd {
    match end {
        End::Closed => ScriptEnd::Closed,
        End::Reset => ScriptEnd::Reset,
        End::TimedOut => ScriptEnd::TimedOut,
    }
}
