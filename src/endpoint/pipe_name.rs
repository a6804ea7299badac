//! `dotnet-diagnostic-{pid}`.

use core::fmt;

use super::{NameError, NameErrorKind, NamePrefix, number, put_text};
use crate::wire::{Encode, EncodeError, Sink};

/// The prefix that makes the name of a pipe a path.
pub const PIPE_PREFIX: &str = r"\\.\pipe\";

/// The name of a default port's pipe on Windows: `dotnet-diagnostic-{pid}`, with or without
/// [`PIPE_PREFIX`].
///
/// ```
/// use dotnet_diagnostics_ipc::endpoint::PipeName;
///
/// let name = PipeName::parse(r"\\.\pipe\dotnet-diagnostic-12")?;
/// assert_eq!((name.pid, name.is_path), (12, true));
/// assert_eq!(PipeName::new(12).to_string(), "dotnet-diagnostic-12");
/// # Ok::<(), dotnet_diagnostics_ipc::endpoint::NameError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct PipeName {
    /// The edition's prefix.
    pub prefix: NamePrefix,
    /// The process id.
    pub pid: u32,
    /// Whether it begins with [`PIPE_PREFIX`], which opening it needs.
    pub is_path: bool,
}

impl PipeName {
    /// The name that a runtime gives its pipe, without [`PIPE_PREFIX`].
    pub const fn new(pid: u32) -> Self {
        Self { prefix: NamePrefix::Current, pid, is_path: false }
    }

    /// Reads a name. Case matters, as runtimes write it; Windows itself ignores case.
    ///
    /// # Errors
    /// [`NameError`] at the invalid part: [`UnknownPrefix`](NameErrorKind::UnknownPrefix),
    /// [`BadNumber`](NameErrorKind::BadNumber),
    /// [`UnknownSuffix`](NameErrorKind::UnknownSuffix).
    pub fn parse(name: &str) -> Result<Self, NameError> {
        let at = |rest: &str, kind| NameError::new(kind, name.len().saturating_sub(rest.len()));
        let (is_path, rest) =
            name.strip_prefix(PIPE_PREFIX).map_or((false, name), |rest| (true, rest));
        let (prefix, rest) =
            NamePrefix::strip(rest).ok_or_else(|| at(rest, NameErrorKind::UnknownPrefix))?;
        let (pid, rest) = number(rest).ok_or_else(|| at(rest, NameErrorKind::BadNumber))?;
        if !rest.is_empty() {
            return Err(at(rest, NameErrorKind::UnknownSuffix));
        }
        Ok(Self { prefix, pid, is_path })
    }
}

impl fmt::Display for PipeName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let before = if self.is_path { PIPE_PREFIX } else { "" };
        write!(f, "{before}{}{}", self.prefix.text(), self.pid)
    }
}

impl Encode for PipeName {
    fn encode<S: Sink + ?Sized>(&self, sink: &mut S) -> Result<(), EncodeError> {
        put_text(self, sink);
        Ok(())
    }
}
