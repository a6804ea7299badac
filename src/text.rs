//! The error of everything that parses text: names of sockets and pipes, ports, commands, GUIDs.
#![forbid(unsafe_code)]

use core::fmt;

/// Declares an enum of reasons: for each one its name in the vectors, and its text.
macro_rules! reasons {
    (
        $(#[$meta:meta])*
        pub enum $Name:ident {
            $($(#[$doc:meta])* $Reason:ident $({ $($(#[$field_doc:meta])* $field:ident: $Type:ty),* })?,
              $name:literal, $text:literal;)*
        }
    ) => {
        $(#[$meta])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        #[non_exhaustive]
        pub enum $Name {$(
            $(#[$doc])*
            $Reason $({ $($(#[$field_doc])* $field: $Type),* })?,
        )*}

        impl $Name {
            /// Returns the name in the vectors, in lower case with underscores.
            pub const fn name(self) -> &'static str {
                match self {
                    $(Self::$Reason { .. } => $name,)*
                }
            }
        }

        impl core::fmt::Display for $Name {
            fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
                match self {
                    $(Self::$Reason $({ $($field),* })? => write!(f, $text),)*
                }
            }
        }
    };
}

pub(crate) use reasons;

/// What is wrong with a text, and at which byte.
///
/// ```
/// use dotnet_diagnostics_ipc::{endpoint::SocketName, text::TextErrorKind};
///
/// let error = SocketName::parse("dotnet-diagnostic-12-x-socket").unwrap_err();
/// assert_eq!((error.kind(), error.offset()), (TextErrorKind::BadNumber, 21));
/// assert_eq!(error.to_string(), "at byte 21: not a decimal number, or too large");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct TextError {
    kind: TextErrorKind,
    offset: usize,
}

reasons! {
    /// What is wrong with a text.
    pub enum TextErrorKind {
        /// The name of a socket or pipe begins with neither `dotnet-diagnostic-` nor
        /// `dotnetcore-diagnostic-`.
        UnknownPrefix, "unknown_prefix", "expected \"dotnet-diagnostic-\" or \"dotnetcore-diagnostic-\"";
        /// Not a decimal number, or too large: a process id has 32 bits, a key 64.
        BadNumber, "bad_number", "not a decimal number, or too large";
        /// No `-` and key after the process id of a socket: the name may be a pipe's.
        MissingKey, "missing_key", "expected \"-\" and the key after the process id";
        /// Text follows the end of the name, or the name does not end with `-socket`.
        UnknownSuffix, "unknown_suffix", "expected the end of the name";
        /// No `)` in a `/proc/PID/stat`.
        MissingName, "missing_name", "expected a process name in parentheses";
        /// A `/proc/PID/stat` that ends before the end of its 22nd field.
        MissingField, "missing_field", "the text ends before the end of field 22";
        /// The path of a socket is too long for `sun_path`. It is never truncated.
        PathTooLong {
            /// The length of the path in bytes, without NUL.
            needed: usize,
            /// The maximum, without NUL. It is also the offset of the error.
            most: usize
        }, "path_too_long", "the socket path has {needed} bytes, the maximum is {most}";
        /// The address of a port is empty or only white space; also: no port at all.
        EmptyAddress, "empty_address", "the address is empty";
        /// `\\.\pipe\` before the name of a pipe in a port's address.
        PrefixedPipeName, "prefixed_pipe_name", "a pipe name must not include \\\\.\\pipe\\ here";
        /// A port's tag is empty.
        EmptyTag, "empty_tag", "the tag is empty";
        /// Not one of `suspend`, `nosuspend`, `connect`, in lower case. `listen` is not allowed (F-58).
        UnknownTag, "unknown_tag", "expected \"suspend\", \"nosuspend\" or \"connect\"";
        /// A NUL, which environment variables cannot contain.
        Nul, "nul", "a NUL is not allowed here";
        /// Not the `8-4-4-4-12` hexadecimal digits of a GUID, with or without braces.
        NotAGuid, "not_a_guid", "not a GUID (xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx)";
        /// Not the name or code of a command.
        NotACommand, "not_a_command",
            "not a command, expected a form like EventPipe/CollectTracing2, CollectTracing2 or 0x0203";
    }
}

impl TextError {
    pub(crate) const fn new(kind: TextErrorKind, offset: usize) -> Self {
        Self { kind, offset }
    }

    /// Returns what is wrong.
    pub const fn kind(&self) -> TextErrorKind {
        self.kind
    }

    /// Returns the byte offset in the text.
    pub const fn offset(&self) -> usize {
        self.offset
    }
}

impl fmt::Display for TextError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "at byte {}: {}", self.offset, self.kind)
    }
}

impl core::error::Error for TextError {}
