//! The error for text that does not parse: names of sockets and pipes, ports, commands, GUIDs.
#![forbid(unsafe_code)]

use core::fmt;

/// Declares an enum of reasons. Each reason has its name in the vectors and its text.
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
            /// Returns the reason's name in the vectors, in lower case with underscores.
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

/// An error in a text, with its byte offset.
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
    /// The reason why a text does not parse.
    pub enum TextErrorKind {
        /// The name of a socket or pipe begins with neither `dotnet-diagnostic-` nor `dotnetcore-diagnostic-`.
        UnknownPrefix, "unknown_prefix", "expected \"dotnet-diagnostic-\" or \"dotnetcore-diagnostic-\"";
        /// The number is not decimal or too large. A process id has 32 bits, a key 64.
        BadNumber, "bad_number", "not a decimal number, or too large";
        /// No `-` and key follow the process id in the name of a socket. The name may be that of a pipe.
        MissingKey, "missing_key", "expected \"-\" and the key after the process id";
        /// Text follows the end of the name, or the name does not end with `-socket`.
        UnknownSuffix, "unknown_suffix", "expected the end of the name";
        /// A `/proc/PID/stat` has no `)`.
        MissingName, "missing_name", "expected a process name in parentheses";
        /// A `/proc/PID/stat` ends before the end of its 22nd field.
        MissingField, "missing_field", "the text ends before the end of field 22";
        /// The path of a socket is too long for `sun_path`. It is never truncated.
        PathTooLong {
            /// The length of the path in bytes, without the NUL.
            needed: usize,
            /// The maximum, without the NUL, which is also the offset of the error.
            most: usize
        }, "path_too_long", "the socket path has {needed} bytes, the maximum is {most}";
        /// The address of a port is empty or only white space, or there is no port at all.
        EmptyAddress, "empty_address", "the address is empty";
        /// The name of a pipe in a port's address begins with `\\.\pipe\`, which does not belong there.
        PrefixedPipeName, "prefixed_pipe_name", "a pipe name must not include \\\\.\\pipe\\ here";
        /// The tag of a port is empty.
        EmptyTag, "empty_tag", "the tag is empty";
        /// The tag is not `suspend`, `nosuspend` or `connect` in lower case. `listen` is not allowed (F-58).
        UnknownTag, "unknown_tag", "expected \"suspend\", \"nosuspend\" or \"connect\"";
        /// The text contains a NUL, which an environment variable cannot contain.
        Nul, "nul", "a NUL is not allowed here";
        /// The text is not the `8-4-4-4-12` hexadecimal digits of a GUID, with or without braces.
        NotAGuid, "not_a_guid", "not a GUID (xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx)";
        /// The text is neither the name nor the code of a command.
        NotACommand, "not_a_command",
            "not a command, expected a form like EventPipe/CollectTracing2, CollectTracing2 or 0x0203";
    }
}

impl TextError {
    pub(crate) const fn new(kind: TextErrorKind, offset: usize) -> Self {
        Self { kind, offset }
    }

    /// Returns the reason.
    pub const fn kind(&self) -> TextErrorKind {
        self.kind
    }

    /// Returns the byte offset of the error in the text.
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
