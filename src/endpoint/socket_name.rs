//! `dotnet-diagnostic-{pid}-{key}-socket`.

use core::fmt;

use super::{NameError, NameErrorKind, NamePrefix, number, put_text};
use crate::wire::{Encode, EncodeError, Sink};

const SUFFIX: &str = "-socket";

/// The name of a default port's socket, without its directory.
///
/// | text | what |
/// |---|---|
/// | `dotnet-diagnostic-` | [`NamePrefix`] |
/// | `{pid}` | the process id, decimal |
/// | `-{key}` | the disambiguation key, decimal: when the process started, or [`UNKNOWN_KEY`](super::UNKNOWN_KEY) |
/// | `-socket` | missing in one place of the document: [`SocketForm`] |
///
/// Compare ids as numbers: as text, `dotnet-diagnostic-12` also begins the name of process 123.
///
/// ```
/// use dotnet_diagnostics_ipc::endpoint::SocketName;
///
/// let name = SocketName::parse("dotnet-diagnostic-123-4567-socket")?;
/// assert_eq!((name.pid, name.key), (123, 4567));
/// assert_eq!(name.to_string(), "dotnet-diagnostic-123-4567-socket");
/// # Ok::<(), dotnet_diagnostics_ipc::endpoint::NameError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct SocketName {
    /// The edition's prefix.
    pub prefix: NamePrefix,
    /// The process id, in the runtime's own pid namespace.
    pub pid: u32,
    /// The disambiguation key.
    pub key: u64,
    /// Whether `-socket` follows.
    pub form: SocketForm,
}

/// The ending of a socket name.
///
/// ```
/// use dotnet_diagnostics_ipc::endpoint::{SocketForm, SocketName};
///
/// assert_eq!(SocketName::parse("dotnet-diagnostic-12-345").unwrap().form, SocketForm::AsPrinted);
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum SocketForm {
    /// With `-socket`: a file name.
    #[default]
    Socket,
    /// `dotnet-diagnostic-<pid>-<epoch>`: as printed in section "Diagnostic Ports" (F-85). No
    /// runtime creates such a file.
    AsPrinted,
}

impl SocketName {
    /// The name that a runtime gives its socket.
    pub const fn new(pid: u32, key: u64) -> Self {
        Self { prefix: NamePrefix::Current, pid, key, form: SocketForm::Socket }
    }

    /// Reads a name.
    ///
    /// # Errors
    /// [`NameError`] at the invalid part: [`UnknownPrefix`](NameErrorKind::UnknownPrefix),
    /// [`BadNumber`](NameErrorKind::BadNumber), [`MissingKey`](NameErrorKind::MissingKey),
    /// [`UnknownSuffix`](NameErrorKind::UnknownSuffix).
    pub fn parse(name: &str) -> Result<Self, NameError> {
        let at = |rest: &str, kind| NameError::new(kind, name.len().saturating_sub(rest.len()));
        let (prefix, rest) = NamePrefix::strip(name)
            .ok_or_else(|| NameError::new(NameErrorKind::UnknownPrefix, 0))?;
        let (pid, rest) = number(rest).ok_or_else(|| at(rest, NameErrorKind::BadNumber))?;
        let rest = rest.strip_prefix('-').ok_or_else(|| at(rest, NameErrorKind::MissingKey))?;
        let (key, rest) = number(rest).ok_or_else(|| at(rest, NameErrorKind::BadNumber))?;
        let form = match rest {
            SUFFIX => SocketForm::Socket,
            "" => SocketForm::AsPrinted,
            _ => return Err(at(rest, NameErrorKind::UnknownSuffix)),
        };
        Ok(Self { prefix, pid, key, form })
    }

    /// Reads the last part of a path. Error offsets count from the start of that part.
    ///
    /// # Errors
    /// As [`parse`](Self::parse).
    ///
    /// ```
    /// use dotnet_diagnostics_ipc::endpoint::SocketName;
    ///
    /// assert_eq!(SocketName::from_path("/tmp/dotnet-diagnostic-12-0-socket"), Ok(SocketName::new(12, 0)));
    /// ```
    pub fn from_path(path: &str) -> Result<Self, NameError> {
        Self::parse(path.rsplit('/').next().unwrap_or_default())
    }
}

impl fmt::Display for SocketName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let suffix = match self.form {
            SocketForm::Socket => SUFFIX,
            SocketForm::AsPrinted => "",
        };
        write!(f, "{}{}-{}{suffix}", self.prefix.text(), self.pid, self.key)
    }
}

impl Encode for SocketName {
    fn encode<S: Sink + ?Sized>(&self, sink: &mut S) -> Result<(), EncodeError> {
        put_text(self, sink);
        Ok(())
    }
}
