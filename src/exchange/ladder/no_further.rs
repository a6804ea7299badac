//! Why a ladder goes no further down.

use core::fmt;

use super::Losses;
use crate::command::Command;
use crate::hresult::HResult;
use crate::wire::Field;

/// Why there is no older command to ask with. The ladder stays where it is.
///
/// ```
/// use dotnet_diagnostics_ipc::exchange::ladder::{DumpLadder, Losses, Reason};
/// use dotnet_diagnostics_ipc::hresult::HResult;
/// use dotnet_diagnostics_ipc::message::dump::{DumpFlags, DumpType, GenerateCoreDump3};
///
/// let request = GenerateCoreDump3 { dump_name: "d".into(), dump_type: DumpType::FULL, flags: DumpFlags::CRASH_REPORT };
/// let mut ladder = DumpLadder::new(&request);
/// ladder.refused(HResult::UNKNOWN_COMMAND)?; // GenerateCoreDump2 says the same
/// let error = ladder.refused(HResult::UNKNOWN_COMMAND).unwrap_err();
/// assert_eq!(error.reason(), Reason::CannotSay(Losses::DUMP_FLAGS));
/// assert_eq!(error.to_string(), "GenerateCoreDump2.flags: no older command says it");
/// # Ok::<(), dotnet_diagnostics_ipc::exchange::ladder::NoFurther>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct NoFurther {
    command: Command,
    reason: Reason,
    /// For a fault in a provider.
    provider: Option<u32>,
}

/// Why a ladder goes no further down.
///
/// ```
/// use dotnet_diagnostics_ipc::exchange::ladder::{ProcessInfoLadder, Reason};
/// use dotnet_diagnostics_ipc::{hresult::HResult, message::process::ProcessInfo3};
///
/// // The command is known: an older one would be refused for the same reason.
/// let error = ProcessInfoLadder::new(ProcessInfo3 {}).refused(HResult::FAIL).unwrap_err();
/// assert_eq!(error.reason(), Reason::OtherError(HResult::FAIL));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Reason {
    /// The error is another than [`HResult::UNKNOWN_COMMAND`]: the command is known, and something else is wrong.
    OtherError(HResult),
    /// There is no older command.
    Oldest,
    /// The session writes `user_events`; older commands only stream.
    UserEvents,
    /// The older command cannot say a field, and the caller did not allow to lose it.
    CannotSay(Losses),
}

impl NoFurther {
    pub(super) const fn new(command: Command, reason: Reason) -> Self {
        Self { command, reason, provider: None }
    }

    /// For the field `loss` of the provider at this index.
    pub(super) const fn in_provider(command: Command, loss: Losses, index: u32) -> Self {
        Self { command, reason: Reason::CannotSay(loss), provider: Some(index) }
    }

    /// The command that was refused, and that no other takes the place of.
    pub const fn command(&self) -> Command {
        self.command
    }

    /// Why.
    pub const fn reason(&self) -> Reason {
        self.reason
    }

    /// The index of the provider whose field cannot be said.
    pub fn provider(&self) -> Option<usize> {
        self.provider.and_then(|index| usize::try_from(index).ok())
    }

    /// The field that cannot be said, as a path such as `CollectTracing5.providers[3].filter`; the command alone where the reason
    /// is no field.
    pub fn path(&self) -> impl fmt::Display + use<> {
        FieldPath(*self)
    }
}

struct FieldPath(NoFurther);

impl fmt::Display for FieldPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0.command.name().unwrap_or_default())?;
        if let Some(index) = self.0.provider {
            write!(f, ".{}[{index}]", Field::Providers.name())?;
        }
        match self.0.reason {
            Reason::OtherError(_) | Reason::Oldest => Ok(()),
            Reason::UserEvents => write!(f, ".{}", Field::SessionType.name()),
            Reason::CannotSay(loss) => write!(f, ".{loss}"),
        }
    }
}

impl fmt::Display for NoFurther {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.path().fmt(f)?;
        match self.reason {
            Reason::OtherError(hresult) => write!(f, ": {hresult} does not say that the command is unknown"),
            Reason::Oldest => f.write_str(": there is no older command"),
            Reason::UserEvents => f.write_str(": older commands only stream"),
            Reason::CannotSay(_) => f.write_str(": no older command says it"),
        }
    }
}

impl core::error::Error for NoFurther {}
