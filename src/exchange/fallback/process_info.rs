//! `ProcessInfo3` → 2 → 1.

use super::{
    DroppedFields, Fallback, FallbackError, FallbackErrorKind, FallbackRequest, FallbackStep,
    sealed,
};
use crate::command::Command;
use crate::message::process::ProcessInfo3;
use crate::wire::{Encode, EncodeError, Sink};

/// From `ProcessInfo3` down. The request has no payload in any of them; only fields of the reply
/// are dropped.
///
/// | from | to | dropped |
/// |---|---|---|
/// | 3 | 2 | `version`, `runtimeIdentifier` |
/// | 2 | 1 | `managedEntrypointAssemblyName`, `clrProductVersion` |
///
/// ```
/// use dotnet_diagnostics_ipc::exchange::fallback::{ProcessInfoFallback, FallbackErrorKind, FallbackRequest as _};
/// use dotnet_diagnostics_ipc::{hresult::HResult, message::process::ProcessInfo3};
///
/// // .NET Core 3.1 has none of them (F-68).
/// let mut fallback = ProcessInfoFallback::new(ProcessInfo3 {});
/// let error = loop {
///     if let Err(error) = fallback.refused(HResult::UNKNOWN_COMMAND) {
///         break error;
///     }
/// };
/// assert_eq!((error.command().code(), error.kind()), (0x0400, FallbackErrorKind::Oldest));
/// ```
pub type ProcessInfoFallback = Fallback<ProcessInfoRequest>;

/// One of `ProcessInfo3`, `ProcessInfo2` and `ProcessInfo`.
///
/// ```
/// use dotnet_diagnostics_ipc::exchange::fallback::ProcessInfoRequest;
/// use dotnet_diagnostics_ipc::{message::process::ProcessInfo3, wire::Encode as _};
///
/// assert_eq!(ProcessInfoRequest::from(ProcessInfo3 {}).encoded_len(), Ok(0));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ProcessInfoRequest(Version);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Version {
    Three,
    Two,
    One,
}

impl From<ProcessInfo3> for ProcessInfoRequest {
    fn from(_: ProcessInfo3) -> Self {
        Self(Version::Three)
    }
}

impl sealed::Sealed for ProcessInfoRequest {}

impl FallbackRequest for ProcessInfoRequest {
    fn command(&self) -> Command {
        match self.0 {
            Version::Three => Command::PROCESS_INFO3,
            Version::Two => Command::PROCESS_INFO2,
            Version::One => Command::PROCESS_INFO,
        }
    }

    fn older(&self, _: DroppedFields) -> Result<FallbackStep<Self>, FallbackError> {
        match self.0 {
            Version::Three => Ok(FallbackStep {
                request: Self(Version::Two),
                dropped: DroppedFields::REPLY_VERSION.with(DroppedFields::RUNTIME_IDENTIFIER),
            }),
            Version::Two => Ok(FallbackStep {
                request: Self(Version::One),
                dropped: DroppedFields::ENTRYPOINT_ASSEMBLY.with(DroppedFields::CLR_VERSION),
            }),
            Version::One => Err(FallbackError::new(self.command(), FallbackErrorKind::Oldest)),
        }
    }
}

/// No payload.
impl Encode for ProcessInfoRequest {
    fn encode<S: Sink + ?Sized>(&self, _: &mut S) -> Result<(), EncodeError> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    extern crate std;
    use super::*;
    use crate::hresult::HResult;
    use crate::message::{Message, Request as _, encode, process};
    use std::string::ToString;

    #[test]
    fn each_request_is_a_bare_header() {
        let mut fallback = ProcessInfoFallback::new(ProcessInfo3 {});
        let mut buffer = [0; 20];
        let mut write = |fallback: &ProcessInfoFallback| {
            assert_eq!(
                encode(fallback.request().command(), &fallback.request(), &mut buffer),
                Ok(20)
            );
            buffer
        };
        let three = write(&fallback);
        assert_eq!(&three, b"DOTNET_IPC_V1\0\x14\0\x04\x08\0\0");
        assert_eq!(Message::decode(&three).unwrap().request_as(), Ok(ProcessInfo3 {}));

        let step = fallback.refused(HResult::UNKNOWN_COMMAND).unwrap();
        assert_eq!(
            (step.request, step.dropped.to_string()),
            (fallback.request(), "version, runtimeIdentifier".into())
        );
        let two = write(&fallback);
        assert_eq!(&two, b"DOTNET_IPC_V1\0\x14\0\x04\x04\0\0");
        assert_eq!(Message::decode(&two).unwrap().request_as(), Ok(process::ProcessInfo2 {}));

        let step = fallback.refused(HResult::UNKNOWN_COMMAND).unwrap();
        assert_eq!(step.dropped.to_string(), "managedEntrypointAssemblyName, clrProductVersion");
        let one = write(&fallback);
        assert_eq!(&one, b"DOTNET_IPC_V1\0\x14\0\x04\0\0\0");
        assert_eq!(Message::decode(&one).unwrap().request_as(), Ok(process::ProcessInfo {}));
        assert_eq!(fallback.request().continuation(), process::ProcessInfo {}.continuation());

        let bottom = fallback;
        let error = fallback.refused(HResult::UNKNOWN_COMMAND).unwrap_err();
        assert_eq!(
            (error.to_string(), fallback),
            ("ProcessInfo: there is no older command".into(), bottom)
        );
        let dropped =
            "version, runtimeIdentifier, managedEntrypointAssemblyName, clrProductVersion";
        assert_eq!(fallback.dropped().to_string(), dropped);
    }
}
