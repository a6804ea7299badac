//! Look up a command: its code, its first .NET version, its reply, and what follows the reply.
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

pub(crate) mod table;

use core::{fmt, str::FromStr};

use crate::number_formats::number_formats;
use crate::text::{TextError, TextErrorKind};
use table::{each_command, each_reply};

/// A command: its set and its id, one byte each, written `0xSSII`. The set is first on the wire, so
/// it is no little-endian `u16` (F-85).
///
/// Any pair is a valid value. The constants are the commands of the document or of a runtime.
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
/// assert_eq!(format!("{command:#06x}"), "0x0203");
/// ```
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Command {
    /// The `command_set` byte.
    pub set: u8,
    /// The `command_id` byte.
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

macro_rules! reply_types {
    ($($(#[$meta:meta])* $Variant:ident($module:ident::$Reply:ident $(<$lt:lifetime>)?), announces $What:ident { $($field:ident),* };)*) => {
        /// The payload type of a command's OK reply.
        ///
        /// A runtime may instead send the generic OK without payload (F-2), or an error.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        #[non_exhaustive]
        pub enum ReplyType {$(
            $(#[$meta])*
            #[doc = concat!("[`", stringify!($Reply), "`](crate::message::", stringify!($module), "::", stringify!($Reply), ").")]
            $Variant,
        )*}

        impl ReplyType {
            /// Returns the name of the payload's type.
            pub const fn name(self) -> &'static str {
                match self {
                    $(Self::$Variant => stringify!($Reply),)*
                }
            }
        }
    };
}

each_reply!(reply_types);

/// What follows a command's OK reply on the same connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Continuation {
    /// Nothing follows, and the server closes the connection.
    Close,
    /// A nettrace (or netperf) stream follows until the session ends.
    Nettrace,
    /// The environment block follows. The reply gives its number of bytes.
    EnvironmentBlock,
    /// Nothing follows, but the connection must stay open, because the session ends with it (F-23).
    /// The client has passed a file descriptor before the reply arrived (F-19).
    UserEvents,
    /// [`Nettrace`](Self::Nettrace) or [`UserEvents`](Self::UserEvents), depending on the request's
    /// `session_type`.
    BySessionType,
}

macro_rules! commands {
    ($($(#[$meta:meta])* $CONST:ident = $code:literal, $set:literal $module:ident::$Request:ident $(<$lt:lifetime>)?,
       since ($major:literal, $minor:literal), $reply:ident, $continuation:ident;)*) => {
        impl Command {
            $($(#[$meta])* pub const $CONST: Self = Self::from_code($code);)*

            /// Returns all known commands, in the order of their codes.
            pub fn known() -> impl ExactSizeIterator<Item = Self> + Clone {
                const KNOWN: &[Command] = &[$(Command::$CONST),*];
                KNOWN.iter().copied()
            }

            /// Returns the document's name of the command, such as `"CollectTracing2"`.
            pub const fn name(self) -> Option<&'static str> {
                match self.code() {
                    $($code => Some(stringify!($Request)),)*
                    0xff00 => Some("OK"),
                    0xffff => Some("Error"),
                    _ => None,
                }
            }

            /// Returns the document's name of the set, such as `"EventPipe"`.
            pub fn set_name(self) -> Option<&'static str> {
                match self.set {
                    0xff => Some("Server"),
                    $(set if set == Self::$CONST.set => Some($set),)*
                    _ => None,
                }
            }

            /// Returns the first .NET version that has the command (F-48, F-68).
            pub const fn since(self) -> Option<DotnetVersion> {
                match self.code() {
                    $($code => Some(DotnetVersion { major: $major, minor: $minor }),)*
                    _ => None,
                }
            }

            /// Returns the payload type of the OK reply.
            pub const fn reply_type(self) -> Option<ReplyType> {
                match self.code() {
                    $($code => Some(ReplyType::$reply),)*
                    _ => None,
                }
            }

            /// Returns what follows the OK reply.
            pub const fn continuation(self) -> Option<Continuation> {
                match self.code() {
                    $($code => Some(Continuation::$continuation),)*
                    _ => None,
                }
            }
        }
    };
}

each_command!(commands);

impl Command {
    /// The OK reply: `0xFF00`.
    pub const OK: Self = Self::from_code(0xff00);
    /// The Error reply: `0xFFFF`.
    pub const ERROR: Self = Self::from_code(0xffff);

    /// Returns the command with the code `0xSSII`, as the document writes codes.
    pub const fn from_code(code: u16) -> Self {
        let [set, id] = code.to_be_bytes();
        Self { set, id }
    }

    /// Returns the code `0xSSII`, as the document writes codes.
    pub const fn code(self) -> u16 {
        u16::from_be_bytes([self.set, self.id])
    }
}

/// Writes `Set/Name`, with a hexadecimal number in place of an unknown name.
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

number_formats! { Command, |it| it.code(), LowerHex UpperHex }

impl fmt::Debug for Command {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Command({:#06x} {self})", self.code())
    }
}

/// Parses `EventPipe/CollectTracing2`, `CollectTracing2` or `0x0203`. Names may be in any case.
impl FromStr for Command {
    type Err = TextError;

    fn from_str(text: &str) -> Result<Self, TextError> {
        let error = TextError::new(TextErrorKind::NotACommand, 0);
        if let Some(digits) = text.strip_prefix("0x").filter(|digits| digits.len() == 4) {
            return u16::from_str_radix(digits, 16).map(Self::from_code).map_err(|_| error);
        }
        let (set, name) =
            text.split_once('/').map_or((None, text), |(set, name)| (Some(set), name));
        let is = |own: Option<&str>, text| own.is_some_and(|own| own.eq_ignore_ascii_case(text));
        Self::known()
            .find(|it| is(it.name(), name) && set.is_none_or(|set| is(it.set_name(), set)))
            .ok_or(error)
    }
}

#[cfg(test)]
mod tests {
    extern crate std;
    use super::*;
    use std::string::ToString;

    #[test]
    fn known_command_parses_from_text_and_code() {
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
