//! Why a fallback goes no further down.

use core::fmt;

use super::DroppedFields;
use crate::command::Command;
use crate::hresult::HResult;
use crate::wire::Field;

/// Why no older command can be used. The fallback is unchanged.
///
/// ```
/// use dotnet_diagnostics_ipc::exchange::fallback::{DumpFallback, DroppedFields, FallbackErrorKind};
/// use dotnet_diagnostics_ipc::hresult::HResult;
/// use dotnet_diagnostics_ipc::message::dump::{DumpFlags, DumpType, GenerateCoreDump3};
///
/// let request = GenerateCoreDump3 { dump_name: "d".into(), dump_type: DumpType::FULL, flags: DumpFlags::CRASH_REPORT };
/// let mut fallback = DumpFallback::new(&request);
/// fallback.refused(HResult::UNKNOWN_COMMAND)?; // GenerateCoreDump2 says the same
/// let error = fallback.refused(HResult::UNKNOWN_COMMAND).unwrap_err();
/// assert_eq!(error.kind(), FallbackErrorKind::CannotSay(DroppedFields::DUMP_FLAGS));
/// assert_eq!(error.to_string(), "GenerateCoreDump2.flags: no older command has this field");
/// # Ok::<(), dotnet_diagnostics_ipc::exchange::fallback::FallbackError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct FallbackError {
    command: Command,
    kind: FallbackErrorKind,
    /// For an error in a provider.
    provider: Option<u32>,
}

/// Why a fallback goes no further down.
///
/// ```
/// use dotnet_diagnostics_ipc::exchange::fallback::{ProcessInfoFallback, FallbackErrorKind};
/// use dotnet_diagnostics_ipc::{hresult::HResult, message::process::ProcessInfo3};
///
/// // The command is known: an older one would be refused for the same kind.
/// let error = ProcessInfoFallback::new(ProcessInfo3 {}).refused(HResult::FAIL).unwrap_err();
/// assert_eq!(error.kind(), FallbackErrorKind::OtherError(HResult::FAIL));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum FallbackErrorKind {
    /// The error is not [`HResult::UNKNOWN_COMMAND`]: the command is known, and something else is
    /// wrong.
    OtherError(HResult),
    /// There is no older command.
    Oldest,
    /// The session writes `user_events`; older commands only stream.
    UserEvents,
    /// The older command lacks a field, and the caller did not allow losing it.
    CannotSay(DroppedFields),
}

impl FallbackError {
    pub(super) const fn new(command: Command, kind: FallbackErrorKind) -> Self {
        Self { command, kind, provider: None }
    }

    /// For the field `loss` of the provider at this index.
    pub(super) const fn in_provider(command: Command, loss: DroppedFields, index: u32) -> Self {
        Self { command, kind: FallbackErrorKind::CannotSay(loss), provider: Some(index) }
    }

    /// The refused command, which no other can replace.
    pub const fn command(&self) -> Command {
        self.command
    }

    /// The reason.
    pub const fn kind(&self) -> FallbackErrorKind {
        self.kind
    }

    /// The index of the provider with the field.
    pub fn provider(&self) -> Option<usize> {
        self.provider.and_then(|index| usize::try_from(index).ok())
    }

    /// The path of the field that would be lost, such as `CollectTracing5.providers[3].filter`;
    /// only the command if the kind has no field.
    pub fn path(&self) -> impl fmt::Display + use<> {
        FieldPath(*self)
    }
}

struct FieldPath(FallbackError);

impl fmt::Display for FieldPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0.command.name().unwrap_or_default())?;
        if let Some(index) = self.0.provider {
            write!(f, ".{}[{index}]", Field::Providers.name())?;
        }
        match self.0.kind {
            FallbackErrorKind::OtherError(_) | FallbackErrorKind::Oldest => Ok(()),
            FallbackErrorKind::UserEvents => write!(f, ".{}", Field::SessionType.name()),
            FallbackErrorKind::CannotSay(loss) => write!(f, ".{loss}"),
        }
    }
}

impl fmt::Display for FallbackError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.path().fmt(f)?;
        match self.kind {
            FallbackErrorKind::OtherError(hresult) => {
                write!(f, ": {hresult} does not mean an unknown command")
            }
            FallbackErrorKind::Oldest => f.write_str(": there is no older command"),
            FallbackErrorKind::UserEvents => f.write_str(": older commands only stream"),
            FallbackErrorKind::CannotSay(_) => f.write_str(": no older command has this field"),
        }
    }
}

impl core::error::Error for FallbackError {}
