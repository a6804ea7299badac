//! `ProcessInfo3` → 2 → 1.

use super::{Ladder, Losses, NoFurther, Reason, Rung, Step, sealed};
use crate::command::Command;
use crate::message::process::ProcessInfo3;
use crate::wire::{Encode, EncodeError, Sink};

/// From `ProcessInfo3` down. The request has no payload in any of them; what is lost are fields of the reply.
///
/// | from | to | lost |
/// |---|---|---|
/// | 3 | 2 | `version`, `runtimeIdentifier` |
/// | 2 | 1 | `managedEntrypointAssemblyName`, `clrProductVersion` |
///
/// ```
/// use dotnet_diagnostics_ipc::exchange::ladder::{ProcessInfoLadder, Reason, Rung as _};
/// use dotnet_diagnostics_ipc::{hresult::HResult, message::process::ProcessInfo3};
///
/// // .NET Core 3.1 has none of them (F-68).
/// let mut ladder = ProcessInfoLadder::new(ProcessInfo3 {});
/// let error = loop {
///     if let Err(error) = ladder.refused(HResult::UNKNOWN_COMMAND) {
///         break error;
///     }
/// };
/// assert_eq!((error.command().code(), error.reason()), (0x0400, Reason::Oldest));
/// ```
pub type ProcessInfoLadder = Ladder<ProcessInfoRung>;

/// One of `ProcessInfo3`, `ProcessInfo2` and `ProcessInfo`.
///
/// ```
/// use dotnet_diagnostics_ipc::exchange::ladder::ProcessInfoRung;
/// use dotnet_diagnostics_ipc::{message::process::ProcessInfo3, wire::Encode as _};
///
/// assert_eq!(ProcessInfoRung::from(ProcessInfo3 {}).encoded_len(), Ok(0));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ProcessInfoRung(Version);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Version {
    Three,
    Two,
    One,
}

impl From<ProcessInfo3> for ProcessInfoRung {
    fn from(_: ProcessInfo3) -> Self {
        Self(Version::Three)
    }
}

impl sealed::Sealed for ProcessInfoRung {}

impl Rung for ProcessInfoRung {
    fn command(&self) -> Command {
        match self.0 {
            Version::Three => Command::PROCESS_INFO3,
            Version::Two => Command::PROCESS_INFO2,
            Version::One => Command::PROCESS_INFO,
        }
    }

    fn older(&self, _: Losses) -> Result<Step<Self>, NoFurther> {
        match self.0 {
            Version::Three => Ok(Step { rung: Self(Version::Two), lost: Losses::REPLY_VERSION.with(Losses::RUNTIME_IDENTIFIER) }),
            Version::Two => Ok(Step { rung: Self(Version::One), lost: Losses::ENTRYPOINT_ASSEMBLY.with(Losses::CLR_VERSION) }),
            Version::One => Err(NoFurther::new(self.command(), Reason::Oldest)),
        }
    }
}

/// No payload.
impl Encode for ProcessInfoRung {
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
    fn every_rung_is_a_header() {
        let mut ladder = ProcessInfoLadder::new(ProcessInfo3 {});
        let mut buffer = [0; 20];
        let mut write = |ladder: &ProcessInfoLadder| {
            assert_eq!(encode(ladder.rung().command(), &ladder.rung(), &mut buffer), Ok(20));
            buffer
        };
        let three = write(&ladder);
        assert_eq!(&three, b"DOTNET_IPC_V1\0\x14\0\x04\x08\0\0");
        assert_eq!(Message::decode_exact(&three).unwrap().request_as(), Ok(ProcessInfo3 {}));

        let step = ladder.refused(HResult::UNKNOWN_COMMAND).unwrap();
        assert_eq!((step.rung, step.lost.to_string()), (ladder.rung(), "version, runtimeIdentifier".into()));
        let two = write(&ladder);
        assert_eq!(&two, b"DOTNET_IPC_V1\0\x14\0\x04\x04\0\0");
        assert_eq!(Message::decode_exact(&two).unwrap().request_as(), Ok(process::ProcessInfo2 {}));

        let step = ladder.refused(HResult::UNKNOWN_COMMAND).unwrap();
        assert_eq!(step.lost.to_string(), "managedEntrypointAssemblyName, clrProductVersion");
        let one = write(&ladder);
        assert_eq!(&one, b"DOTNET_IPC_V1\0\x14\0\x04\0\0\0");
        assert_eq!(Message::decode_exact(&one).unwrap().request_as(), Ok(process::ProcessInfo {}));
        assert_eq!(ladder.rung().continuation(), process::ProcessInfo {}.continuation());

        let bottom = ladder;
        let error = ladder.refused(HResult::UNKNOWN_COMMAND).unwrap_err();
        assert_eq!((error.to_string(), ladder), ("ProcessInfo: there is no older command".into(), bottom));
        let lost = "version, runtimeIdentifier, managedEntrypointAssemblyName, clrProductVersion";
        assert_eq!(ladder.lost().to_string(), lost);
    }
}
