//! The variable as the document allows it.

use core::fmt;

use super::config::{PortType, SuspendMode, is_blank};
use super::{Ports, offset_in};
use crate::endpoint::PIPE_PREFIX;
use crate::wire::clamp;

/// Reads `DOTNET_DiagnosticPorts` strictly by the document's grammar, and returns the ports like
/// [`Ports`].
///
/// ```text
/// <port address>[,tag[...]][;<port address>[,tag[...]][...]]
/// tag ::= <SUSPEND_MODE> | <PORT_TYPE>    <SUSPEND_MODE> ::= suspend | nosuspend    <PORT_TYPE> ::= connect
/// ```
///
/// No part is empty, and tags are spelled as printed. More than one of a kind is allowed: the text
/// says that the first counts. An address is anything except white space, even the name of a tag
/// (`nosuspend,connect`), and has no `\\.\pipe\` prefix. The document's "full path" is not checked,
/// since the same text is a pipe's name on Windows.
///
/// By this grammar two of the document's examples are wrong: `…;~/mydiagport.sock,nosuspend;` ends
/// with a semicolon and `<path>,nosuspend,suspend,suspend,` with a comma. Runtimes accept both.
///
/// # Errors
/// [`PortsError`] for the first invalid part.
///
/// ```
/// use dotnet_diagnostics_ipc::port::{PortsErrorKind, strict};
///
/// assert_eq!(strict("/a,nosuspend;/b")?.count(), 2);
/// let error = strict("/a,NoSuspend").unwrap_err();
/// assert_eq!((error.kind(), error.offset()), (PortsErrorKind::UnknownTag, 3));
/// # Ok::<(), dotnet_diagnostics_ipc::port::PortsError>(())
/// ```
pub fn strict(text: &str) -> Result<Ports<'_>, PortsError> {
    for entry in text.split(';') {
        let mut fields = entry.split(',');
        let address = fields.next().unwrap_or_default();
        let fail = |kind, part| Err(PortsError { kind, offset: clamp(offset_in(text, part)) });
        if is_blank(address) {
            return fail(PortsErrorKind::EmptyAddress, address);
        }
        if address.starts_with(PIPE_PREFIX) {
            return fail(PortsErrorKind::PrefixedPipeName, address);
        }
        if let Some((nul, _)) = entry.match_indices('\0').next() {
            return fail(PortsErrorKind::Nul, entry.get(nul..).unwrap_or_default());
        }
        for tag in fields {
            if tag.is_empty() {
                return fail(PortsErrorKind::EmptyTag, tag);
            }
            if ![
                SuspendMode::Suspend.text(),
                SuspendMode::NoSuspend.text(),
                PortType::Connect.text(),
            ]
            .contains(&tag)
            {
                return fail(PortsErrorKind::UnknownTag, tag);
            }
        }
    }
    Ok(Ports::new(text))
}

/// A violation of the document's grammar, with its byte offset.
///
/// ```
/// use dotnet_diagnostics_ipc::port::strict;
///
/// assert_eq!(strict("/a;").unwrap_err().to_string(), "at byte 3: the address is empty");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct PortsError {
    kind: PortsErrorKind,
    offset: u32,
}

/// A violation of the document's grammar.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum PortsErrorKind {
    /// The address is empty or only white space; also: the whole text is empty.
    EmptyAddress,
    /// `\\.\pipe\` before the name of a pipe.
    PrefixedPipeName,
    /// A tag is empty.
    EmptyTag,
    /// Not one of `suspend`, `nosuspend`, `connect`, in lower case. `listen` is not allowed (F-58).
    UnknownTag,
    /// A NUL, which environment variables cannot contain.
    Nul,
}

impl PortsErrorKind {
    /// The name in the vectors, such as `"empty_address"`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::EmptyAddress => "empty_address",
            Self::PrefixedPipeName => "prefixed_pipe_name",
            Self::EmptyTag => "empty_tag",
            Self::UnknownTag => "unknown_tag",
            Self::Nul => "nul",
        }
    }
}

impl PortsError {
    /// What is wrong.
    pub const fn kind(&self) -> PortsErrorKind {
        self.kind
    }

    /// The byte offset in the text.
    pub const fn offset(&self) -> usize {
        self.offset as usize
    }
}

impl fmt::Display for PortsErrorKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::EmptyAddress => "the address is empty",
            Self::PrefixedPipeName => r"a pipe name must not include \\.\pipe\ here",
            Self::EmptyTag => "the tag is empty",
            Self::UnknownTag => "expected \"suspend\", \"nosuspend\" or \"connect\"",
            Self::Nul => "a NUL is not allowed here",
        })
    }
}

impl fmt::Display for PortsError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "at byte {}: {}", self.offset, self.kind)
    }
}

impl core::error::Error for PortsError {}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::port::Ignored;

    #[test]
    fn strict_accepts_only_what_runtime_reads_whole() {
        for text in
            ["/a", "/a,connect", "/a,suspend,connect;b,nosuspend", "nosuspend,connect", " /a "]
        {
            assert!(strict(text).is_ok(), "{text}");
            assert_eq!(Ignored::new(text).count(), 0, "{text}");
        }
    }
}
