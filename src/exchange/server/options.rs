//! How strict a server is, and which commands it knows.

use super::KnownCommands;

/// The order in which a server checks a request, and so which of several errors it answers.
///
/// ```
/// use dotnet_diagnostics_ipc::exchange::{CheckOrder, RefusalReason, Server, ServerAction, ServerOptions};
///
/// // A wrong magic, and a size of 19.
/// let buffer = *b"DOTNET_IPC_V2\0\x13\0\x04\0\0\0";
/// let answers = [CheckOrder::AsShipped, CheckOrder::Strict].map(|order| {
///     let mut server = Server::with_options(ServerOptions { order, ..ServerOptions::DEFAULT });
///     server.received(&buffer, 20).unwrap();
///     let ServerAction::Refuse(reason) = server.action() else { panic!() };
///     reason.hresult().name().unwrap()
/// });
/// assert_eq!(answers, ["DS_IPC_E_BAD_ENCODING", "DS_IPC_E_UNKNOWN_MAGIC"]);
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum CheckOrder {
    /// As runtimes do (F-69): 20 bytes, `size`, all of the payload, magic, command, payload. The
    /// end of the input inside the message, even before its first byte, is answered.
    #[default]
    AsShipped,
    /// Each error is answered as soon as it is certain: magic at its first wrong byte, `size`,
    /// command, and then the payload. A connection without any bytes is closed silently.
    Strict,
}

/// How strict a server is, and which commands it knows.
///
/// ```
/// use dotnet_diagnostics_ipc::command::{Command, DotnetVersion};
/// use dotnet_diagnostics_ipc::exchange::{KnownCommands, RefusalReason, Server, ServerAction, ServerOptions};
///
/// // A server that knows what .NET 8 knows receives CollectTracing5 (0x0206).
/// let commands = KnownCommands::UpTo(DotnetVersion { major: 8, minor: 0 });
/// let mut server = Server::with_options(ServerOptions { commands, ..ServerOptions::DEFAULT });
/// server.received(b"DOTNET_IPC_V1\0\x14\0\x02\x06\0\0", 20)?;
/// assert_eq!(server.action(), ServerAction::Refuse(RefusalReason::UnknownCommand { command: Command::COLLECT_TRACING5 }));
/// # Ok::<(), dotnet_diagnostics_ipc::exchange::MisuseError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ServerOptions {
    /// The order of the checks.
    pub order: CheckOrder,
    /// Which commands the server knows; it answers the others with `UNKNOWN_COMMAND`.
    pub commands: KnownCommands,
    /// The most providers in a session. Runtimes accept 1,000 (F-16); a higher value has no
    /// effect.
    pub max_providers: u32,
    #[doc(hidden)]
    pub more: (),
}

impl ServerOptions {
    /// As runtimes: their order of checks, all commands, 1,000 providers.
    pub const DEFAULT: Self = Self {
        order: CheckOrder::AsShipped,
        commands: KnownCommands::All,
        max_providers: 1000,
        more: (),
    };
}

impl Default for ServerOptions {
    fn default() -> Self {
        Self::DEFAULT
    }
}
