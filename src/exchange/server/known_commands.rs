//! Which commands a server knows.

use crate::command::{Command, DotnetVersion};

/// Which commands a server knows.
///
/// ```
/// use dotnet_diagnostics_ipc::command::{Command, DotnetVersion};
/// use dotnet_diagnostics_ipc::exchange::KnownCommands;
///
/// let net8 = KnownCommands::UpTo(DotnetVersion { major: 8, minor: 0 });
/// assert!(net8.contains(Command::PROCESS_INFO3) && !net8.contains(Command::COLLECT_TRACING5));
///
/// // The protocol has no command 0x04EE, but this server has.
/// let own = KnownCommands::These(&[Command { set: 4, id: 0xee }]);
/// assert!(own.contains(Command { set: 4, id: 0xee }) && !own.contains(Command::PROCESS_INFO3));
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum KnownCommands {
    /// Every command of the protocol: [`Command::known`].
    #[default]
    All,
    /// The commands that this version of .NET has (F-48, F-68).
    UpTo(DotnetVersion),
    /// These commands, including any outside the protocol.
    These(&'static [Command]),
}

impl KnownCommands {
    /// Whether the server knows the command.
    pub fn contains(self, command: Command) -> bool {
        match self {
            Self::All => command.since().is_some(),
            Self::UpTo(version) => command.since().is_some_and(|since| since <= version),
            Self::These(commands) => commands.contains(&command),
        }
    }
}
