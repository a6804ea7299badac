//! Look up a command: its code, the first .NET that has it, its reply, and what follows the reply.
#![forbid(unsafe_code)]

//! # Example
//!
//! Look up a command by its code:
//!
//! ```
//! use dotnet_diagnostics_ipc::command::{Command, Continuation};
//!
//! let command = Command::from_code(0x0402);
//! assert_eq!(command, Command::PROCESS_ENVIRONMENT);
//! assert_eq!(command.to_string(), "Process/ProcessEnvironment");
//! assert_eq!(command.continuation(), Some(Continuation::EnvironmentBlock)); // what follows its reply
//! ```

use core::{fmt, str::FromStr};

/// A command: its set and its id, one byte each in this order (`0xSSII`; no little-endian `u16`:
/// F-85).
///
/// Every pair is a value; the constants are the commands in the document or in a runtime.
///
/// ```
/// use dotnet_diagnostics_ipc::command::{Command, Continuation, DotnetVersion, ReplyType};
///
/// let command = Command::from_code(0x0203);
/// assert_eq!(command, Command::COLLECT_TRACING2);
/// assert_eq!(command.to_string(), "EventPipe/CollectTracing2");
/// assert_eq!(command.since(), Some(DotnetVersion { major: 3, minor: 1 }));
/// assert_eq!(command.reply_type(), Some(ReplyType::Session));
/// assert_eq!(command.continuation(), Some(Continuation::Nettrace));
/// assert_eq!(Command::from_code(0x0463).to_string(), "Process/0x63");
/// ```
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Command {
    /// `command_set`.
    pub set: u8,
    /// `command_id`.
    pub id: u8,
}

/// A version of .NET.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct DotnetVersion {
    /// The `8` of 8.0.
    pub major: u8,
    /// The `0` of 8.0.
    pub minor: u8,
}

impl fmt::Display for DotnetVersion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.major, self.minor)
    }
}

/// The payload of a command's OK reply.
///
/// Any of them may be replaced by the generic OK without payload (F-2), or by an error.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ReplyType {
    /// [`ResultReply`](crate::message::server::ResultReply): a HRESULT.
    Result,
    /// [`SessionReply`](crate::message::eventpipe::SessionReply): a session id.
    Session,
    /// [`ProcessInfoReply`](crate::message::process::ProcessInfoReply).
    ProcessInfo,
    /// [`ProcessInfo2Reply`](crate::message::process::ProcessInfo2Reply).
    ProcessInfo2,
    /// [`ProcessInfo3Reply`](crate::message::process::ProcessInfo3Reply).
    ProcessInfo3,
    /// [`ProcessEnvironmentReply`](crate::message::process::ProcessEnvironmentReply).
    ProcessEnvironment,
}

/// What follows a command's OK reply on the same connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Continuation {
    /// Nothing: the server closes the connection.
    Close,
    /// A nettrace (or netperf) stream, until the session ends.
    Nettrace,
    /// The environment block, with the number of bytes given in the reply.
    EnvironmentBlock,
    /// Nothing, but the connection must stay open: the session ends with it (F-23). The client
    /// passed a file descriptor before the reply arrived (F-19).
    UserEvents,
    /// [`Nettrace`](Self::Nettrace) or [`UserEvents`](Self::UserEvents), depending on the request's
    /// `session_type`.
    BySessionType,
}

/// What the exchanges need of a command.
struct Row {
    command: Command,
    reply: ReplyType,
    continuation: Continuation,
}

/// Separate tables: a program that prints no names does not link them.
struct Names {
    set: &'static str,
    name: &'static str,
}

macro_rules! commands {
    ($($(#[$meta:meta])* $CONST:ident = $code:literal, $set:literal $name:literal, since $major:literal . $minor:tt, $reply:ident, $continuation:ident;)*) => {
        impl Command {
            $($(#[$meta])* pub const $CONST: Self = Self::from_code($code);)*
        }

        const TABLE: &[Row] = &[$(Row {
            command: Command::$CONST,
            reply: ReplyType::$reply,
            continuation: Continuation::$continuation,
        },)*];

        /// The names of each row of [`TABLE`].
        const NAMES: &[Names] = &[$(Names { set: $set, name: $name },)*];

        /// The first .NET with each row of [`TABLE`].
        const SINCE: &[DotnetVersion] = &[$(DotnetVersion { major: $major, minor: $minor },)*];
    };
}

// Since when: F-48 and, for older and newer commands, F-68 (3.1 is the oldest runtime tested).
commands! {
    /// Write a dump. Called `CreateCoreDump` in older editions (F-49).
    GENERATE_CORE_DUMP = 0x0101, "Dump" "GenerateCoreDump", since 3 . 1, Result, Close;
    /// Write a dump, with flags.
    GENERATE_CORE_DUMP2 = 0x0102, "Dump" "GenerateCoreDump2", since 6 . 0, Result, Close;
    /// Write a dump, with flags; a failure includes a text.
    GENERATE_CORE_DUMP3 = 0x0103, "Dump" "GenerateCoreDump3", since 7 . 0, Result, Close;
    /// Stop a session.
    STOP_TRACING = 0x0201, "EventPipe" "StopTracing", since 3 . 1, Session, Close;
    /// Start a session.
    COLLECT_TRACING = 0x0202, "EventPipe" "CollectTracing", since 3 . 1, Session, Nettrace;
    /// Start a session, with or without rundown.
    COLLECT_TRACING2 = 0x0203, "EventPipe" "CollectTracing2", since 3 . 1, Session, Nettrace;
    /// Start a session, with or without stacks.
    COLLECT_TRACING3 = 0x0204, "EventPipe" "CollectTracing3", since 9 . 0, Session, Nettrace;
    /// Start a session, with a rundown keyword.
    COLLECT_TRACING4 = 0x0205, "EventPipe" "CollectTracing4", since 9 . 0, Session, Nettrace;
    /// Start a session that streams, or one that writes `user_events`.
    COLLECT_TRACING5 = 0x0206, "EventPipe" "CollectTracing5", since 10 . 0, Session, BySessionType;
    /// Start a session that streams and may block when its buffer is full, or one that writes `user_events`.
    COLLECT_TRACING6 = 0x0207, "EventPipe" "CollectTracing6", since 11 . 0, Session, BySessionType;
    /// Attach a profiler.
    ATTACH_PROFILER = 0x0301, "Profiler" "AttachProfiler", since 3 . 1, Result, Close;
    /// Set the start-up profiler of a suspended runtime.
    STARTUP_PROFILER = 0x0302, "Profiler" "StartupProfiler", since 6 . 0, Result, Close;
    /// Ask for pid, cookie, command line, OS and architecture.
    PROCESS_INFO = 0x0400, "Process" "ProcessInfo", since 5 . 0, ProcessInfo, Close;
    /// Let a suspended runtime start.
    RESUME_RUNTIME = 0x0401, "Process" "ResumeRuntime", since 5 . 0, Result, Close;
    /// Ask for the environment block.
    PROCESS_ENVIRONMENT = 0x0402, "Process" "ProcessEnvironment", since 5 . 0, ProcessEnvironment, EnvironmentBlock;
    /// Set or delete an environment variable.
    SET_ENVIRONMENT_VARIABLE = 0x0403, "Process" "SetEnvironmentVariable", since 6 . 0, Result, Close;
    /// Ask for the same plus the entry assembly and the version of the runtime.
    PROCESS_INFO2 = 0x0404, "Process" "ProcessInfo2", since 6 . 0, ProcessInfo2, Close;
    /// Write a perf map or jitdump.
    ENABLE_PERF_MAP = 0x0405, "Process" "EnablePerfMap", since 8 . 0, Result, Close;
    /// Stop writing it.
    DISABLE_PERF_MAP = 0x0406, "Process" "DisablePerfMap", since 8 . 0, Result, Close;
    /// Run a startup hook.
    APPLY_STARTUP_HOOK = 0x0407, "Process" "ApplyStartupHook", since 8 . 0, Result, Close;
    /// Ask for the same plus the runtime identifier, in a versioned form.
    PROCESS_INFO3 = 0x0408, "Process" "ProcessInfo3", since 8 . 0, ProcessInfo3, Close;
}

impl Command {
    /// The OK reply: `0xFF00`.
    pub const OK: Self = Self::from_code(0xff00);
    /// The Error reply: `0xFFFF`.
    pub const ERROR: Self = Self::from_code(0xffff);

    /// From `0xSSII`, as the document writes codes.
    pub const fn from_code(code: u16) -> Self {
        let [set, id] = code.to_be_bytes();
        Self { set, id }
    }

    /// `0xSSII`, as the document writes codes.
    pub const fn code(self) -> u16 {
        u16::from_be_bytes([self.set, self.id])
    }

    /// All known commands, in the order of their codes.
    pub fn known() -> impl ExactSizeIterator<Item = Self> + Clone {
        TABLE.iter().map(|row| row.command)
    }

    fn named() -> impl Iterator<Item = (Self, &'static Names)> {
        TABLE.iter().map(|row| row.command).zip(NAMES)
    }

    const fn row(self) -> Option<&'static Row> {
        let mut rows = TABLE;
        while let [row, rest @ ..] = rows {
            if row.command.code() == self.code() {
                return Some(row);
            }
            rows = rest;
        }
        None
    }

    /// The document's name of the command, such as `"CollectTracing2"`.
    pub fn name(self) -> Option<&'static str> {
        match self {
            Self::OK => Some("OK"),
            Self::ERROR => Some("Error"),
            _ => Self::named().find(|(command, _)| *command == self).map(|(_, names)| names.name),
        }
    }

    /// The document's name of the set, such as `"EventPipe"`.
    pub fn set_name(self) -> Option<&'static str> {
        if self.set == Self::OK.set {
            return Some("Server");
        }
        Self::named().find(|(command, _)| command.set == self.set).map(|(_, names)| names.set)
    }

    /// The first .NET that has the command (F-48, F-68).
    pub fn since(self) -> Option<DotnetVersion> {
        TABLE.iter().zip(SINCE).find(|(row, _)| row.command == self).map(|(_, since)| *since)
    }

    /// The payload of the OK reply.
    pub const fn reply_type(self) -> Option<ReplyType> {
        match self.row() {
            Some(row) => Some(row.reply),
            None => None,
        }
    }

    /// What follows the OK reply.
    pub fn continuation(self) -> Option<Continuation> {
        self.row().map(|row| row.continuation)
    }
}

/// `Set/Name`; a hexadecimal number for each part without a name.
impl fmt::Display for Command {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.set_name() {
            Some(set) => f.write_str(set)?,
            None => write!(f, "{:#04x}", self.set)?,
        }
        match self.name() {
            Some(name) => write!(f, "/{name}"),
            None => write!(f, "/{:#04x}", self.id),
        }
    }
}

impl fmt::Debug for Command {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Command({:#06x} {self})", self.code())
    }
}

/// Text that is not a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ParseCommandError(());

impl fmt::Display for ParseCommandError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("not a command, expected a form like EventPipe/CollectTracing2, CollectTracing2 or 0x0203")
    }
}

impl core::error::Error for ParseCommandError {}

/// From `EventPipe/CollectTracing2`, `CollectTracing2` or `0x0203`; names in any case.
impl FromStr for Command {
    type Err = ParseCommandError;

    fn from_str(text: &str) -> Result<Self, ParseCommandError> {
        if let Some(digits) = text.strip_prefix("0x").filter(|digits| digits.len() == 4) {
            return u16::from_str_radix(digits, 16)
                .map(Self::from_code)
                .map_err(|_| ParseCommandError(()));
        }
        let (set, name) =
            text.split_once('/').map_or((None, text), |(set, name)| (Some(set), name));
        Self::named()
            .find(|(_, names)| {
                names.name.eq_ignore_ascii_case(name)
                    && set.is_none_or(|set| names.set.eq_ignore_ascii_case(set))
            })
            .map(|(command, _)| command)
            .ok_or(ParseCommandError(()))
    }
}

#[cfg(test)]
mod tests {
    extern crate std;
    use super::*;
    use std::string::ToString;

    #[test]
    fn known_command_parses_from_text_and_code() {
        assert_eq!(Command::known().len(), 21);
        for command in Command::known() {
            assert_eq!(command.to_string().parse(), Ok(command));
            assert_eq!(command.name().unwrap().parse(), Ok(command));
            assert_eq!(std::format!("{:#06x}", command.code()).parse(), Ok(command));
        }
        assert!(Command::known().zip(Command::known().skip(1)).all(|(a, b)| a < b));
    }

    #[test]
    fn unknown_text_is_refused() {
        for text in [
            "",
            "/",
            "CollectTracing9",
            "Dump/CollectTracing",
            "0x",
            "0x203",
            "0xzzzz",
            "Server/OK",
        ] {
            assert!(text.parse::<Command>().is_err(), "{text}");
        }
    }

    #[test]
    fn code_is_set_then_id() {
        assert_eq!(Command { set: 2, id: 3 }.code(), 0x0203);
        assert_eq!(Command::from_code(0x6301).to_string(), "0x63/0x01");
        assert_eq!(Command::OK.to_string(), "Server/OK");
    }
}
