//! Find a runtime's default port: the names of sockets and pipes, their directory, and the key in a
//! name.
//!
//! This module does not access the system. The caller provides file names, the value of `TMPDIR`
//! and the text of `/proc/PID/stat`. See section "Naming and Location Conventions" of the document.
//!
//! | system | name | directory |
//! |---|---|---|
//! | Unix | [`SocketName`]: `dotnet-diagnostic-{pid}-{key}-socket` | [`directory`] |
//! | Windows | [`PipeName`]: `dotnet-diagnostic-{pid}` | `\\.\pipe\` |
//!
//! For the device behind it, dotnet-dsrouter has a second one, with [`NamePrefix::Router`].
//!
//! The key is the start time of the process. On Linux it is in jiffies since boot, from
//! `/proc/PID/stat` ([`ProcessStat`]). On macOS it is in seconds since 1970, and the system returns
//! it. [`UNKNOWN_KEY`] means that the runtime could not determine it (F-61).
//!
//! A socket file does not prove that its process is alive, because only a clean shutdown removes
//! the file (F-61, F-82).
#![forbid(unsafe_code)]

//! # Example
//!
//! Find the process that owns a socket, and the name of a process's socket:
//!
//! ```
//! use dotnet_diagnostics_ipc::endpoint::{ProcessStat, SocketName};
//!
//! assert_eq!(SocketName::parse("dotnet-diagnostic-12-345-socket")?.pid, 12);
//!
//! // The text of /proc/12/stat. Its start time is the key in the name.
//! let stat = ProcessStat::parse(b"12 (app) S 1 12 12 0 -1 4194304 9 0 0 0 1 2 0 0 20 0 7 0 345 99")?;
//! assert_eq!(SocketName::new(stat.pid, stat.start_time).to_string(), "dotnet-diagnostic-12-345-socket");
//! # Ok::<(), dotnet_diagnostics_ipc::text::TextError>(())
//! ```

mod names;

use core::fmt;

pub use names::{PIPE_PREFIX, PipeName, ProcessStat, SocketForm, SocketName, strip_pipe_prefix};

use crate::text::{TextError, TextErrorKind};
use crate::wire::{Encode as _, Sink};

/// The key in the name of a runtime that could not determine when its process started (F-61).
pub const UNKNOWN_KEY: u64 = 0;

/// The maximum length of a socket path on Linux: `sun_path` has 108 bytes, one for the NUL (F-61).
pub const SUN_PATH_LINUX: usize = 107;

/// The maximum length of a socket path on macOS: `sun_path` has 104 bytes, one for the NUL (F-61).
pub const SUN_PATH_MACOS: usize = 103;

/// The prefix of the names of an edition, or of dotnet-dsrouter.
///
/// ```
/// use dotnet_diagnostics_ipc::endpoint::NamePrefix;
///
/// assert_eq!(NamePrefix::Draft.text(), "dotnetcore-diagnostic-");
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum NamePrefix {
    /// `dotnet-diagnostic-`, which every released runtime writes.
    #[default]
    Current,
    /// `dotnetcore-diagnostic-`, from the draft of 2019-05.
    Draft,
    /// `dotnet-diagnostic-dsrouter-`: not a runtime, but the device behind the `dotnet-dsrouter` with this
    /// process id (F-162).
    Router,
}

impl NamePrefix {
    /// Returns the text, with the hyphen before the process id.
    pub const fn text(self) -> &'static str {
        match self {
            Self::Current => "dotnet-diagnostic-",
            Self::Draft => "dotnetcore-diagnostic-",
            Self::Router => "dotnet-diagnostic-dsrouter-",
        }
    }

    /// Returns the prefix of `name`, and the rest.
    fn strip(name: &str) -> Option<(Self, &str)> {
        // The first begins with the second.
        [Self::Router, Self::Current, Self::Draft]
            .into_iter()
            .find_map(|prefix| Some((prefix, name.strip_prefix(prefix.text())?)))
    }
}

/// Returns the directory of the default port's socket: `tmpdir`, the value of `TMPDIR`, or `/tmp`
/// if it is unset or empty.
///
/// On macOS, a sandboxed application has its socket in the container directory of its Application
/// Group, whatever the value of `TMPDIR`. Ask the system for that directory, and use its path
/// instead of this function's result.
///
/// The text is returned unchanged. The document does not mention a final slash. [`SocketPath`] adds
/// a slash only if there is none, as runtimes do: `/x` and `/x/` give the same path, and `/x//`
/// keeps both slashes.
///
/// ```
/// use dotnet_diagnostics_ipc::endpoint::directory;
///
/// assert_eq!(directory(None), "/tmp");
/// assert_eq!(directory(Some("")), "/tmp");
/// assert_eq!(directory(Some("/var/tmp/")), "/var/tmp/");
/// ```
pub fn directory(tmpdir: Option<&str>) -> &str {
    tmpdir.filter(|text| !text.is_empty()).unwrap_or("/tmp")
}

/// Checks that a socket path of `len` bytes can be bound or connected to, because `len` is at most
/// `most`. The address of a diagnostic port has the same limit.
pub(crate) fn check_path_len(len: usize, most: usize) -> Result<(), TextError> {
    if len <= most {
        return Ok(());
    }
    Err(TextError::new(TextErrorKind::PathTooLong { needed: len, most }, most))
}

/// The path of a default port's socket. [`Display`](fmt::Display) or
/// [`Encode`](crate::wire::Encode) join its directory and name.
///
/// ```
/// use dotnet_diagnostics_ipc::endpoint::{SUN_PATH_LINUX, SocketName, SocketPath, directory};
/// use dotnet_diagnostics_ipc::wire::{Encode as _, SliceSink};
///
/// let path = SocketPath { directory: directory(None), name: SocketName::new(12, 345) };
/// assert_eq!(path.to_string(), "/tmp/dotnet-diagnostic-12-345-socket");
/// path.check(SUN_PATH_LINUX)?;
///
/// let mut buffer = [0; SUN_PATH_LINUX];
/// let mut sink = SliceSink::new(&mut buffer);
/// path.encode(&mut sink)?;
/// let len = sink.finish()?;
/// assert_eq!(&buffer[..len], b"/tmp/dotnet-diagnostic-12-345-socket");
///
/// // A sandboxed application on macOS, whose container the system returns.
/// let container = "/Users/me/Library/Group Containers/TEAM.group";
/// let path = SocketPath { directory: container, name: SocketName::new(12, 345) };
/// assert_eq!(path.to_string(), "/Users/me/Library/Group Containers/TEAM.group/dotnet-diagnostic-12-345-socket");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct SocketPath<'a> {
    /// The directory, from [`directory`] or an Application Group's container.
    pub directory: &'a str,
    /// The name of the socket in the directory.
    pub name: SocketName,
}

impl SocketPath<'_> {
    /// Checks that the path has at most `most` bytes ([`SUN_PATH_LINUX`], [`SUN_PATH_MACOS`]). If
    /// its path is longer, a runtime runs without a socket (F-82).
    ///
    /// # Errors
    /// [`PathTooLong`](TextErrorKind::PathTooLong) with both lengths.
    pub fn check(&self, most: usize) -> Result<(), TextError> {
        // Encoding a path never fails.
        check_path_len(self.encoded_len().unwrap_or(usize::MAX), most)
    }
}

impl fmt::Display for SocketPath<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let slash = if self.directory.ends_with('/') { "" } else { "/" };
        write!(f, "{}{slash}{}", self.directory, self.name)
    }
}

encode_as_text! { SocketPath<'_> }

/// Writes formatted text to a sink.
pub(crate) struct TextSink<'s, S: ?Sized>(pub(crate) &'s mut S);

impl<S: Sink + ?Sized> fmt::Write for TextSink<'_, S> {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        self.0.put(text.as_bytes());
        Ok(())
    }
}

/// Implements `Encode` with the text that `Display` writes.
macro_rules! encode_as_text {
    ($Name:ty) => {
        impl $crate::wire::Encode for $Name {
            fn encode<S: $crate::wire::Sink + ?Sized>(
                &self,
                sink: &mut S,
            ) -> Result<(), $crate::wire::EncodeError> {
                // A sink accepts everything.
                let mut sink = $crate::endpoint::TextSink(sink);
                let _ = core::fmt::write(&mut sink, format_args!("{self}"));
                Ok(())
            }
        }
    };
}

pub(crate) use encode_as_text;

/// Returns the decimal number at the front of `text`, as `%d` and `%llu` write it, and the rest.
/// The number has no sign and no leading zero.
fn number<T: core::str::FromStr>(text: &str) -> Option<(T, &str)> {
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    let (number, rest) = text.split_at_checked(digits)?;
    if number.len() > 1 && number.starts_with('0') {
        return None;
    }
    Some((number.parse().ok()?, rest))
}

#[cfg(test)]
mod tests {
    extern crate std;
    use super::*;
    use std::string::ToString;

    #[test]
    fn slash_is_added_only_if_missing() {
        let path = |directory| SocketPath { directory, name: SocketName::new(1, 2) }.to_string();
        assert_eq!(path("/x"), "/x/dotnet-diagnostic-1-2-socket");
        assert_eq!(path("/x/"), "/x/dotnet-diagnostic-1-2-socket");
        assert_eq!(path("/x//"), "/x//dotnet-diagnostic-1-2-socket");
        assert_eq!(path("/"), "/dotnet-diagnostic-1-2-socket");
    }

    #[test]
    fn sandboxed_application_socket_is_in_its_container() {
        let directory = "/Users/me/Library/Group Containers/TEAM.group";
        let path = SocketPath { directory, name: SocketName::new(12, 345) }.to_string();
        assert_eq!(
            path,
            "/Users/me/Library/Group Containers/TEAM.group/dotnet-diagnostic-12-345-socket"
        );
    }

    #[test]
    fn path_length_equals_its_text() {
        // The name has 31 bytes, so a directory of 75 bytes and a slash make 107.
        let name = SocketName::new(12, 345);
        assert_eq!(name.to_string().len(), 31);
        let (fits, too_long) = ("é".repeat(37) + "/", "é".repeat(38));
        let at = |directory| SocketPath { directory, name };
        assert_eq!((at(&fits).encoded_len(), at(&fits).check(SUN_PATH_LINUX)), (Ok(106), Ok(())));
        let error = at(&too_long).check(SUN_PATH_LINUX).unwrap_err();
        assert_eq!(error.kind(), TextErrorKind::PathTooLong { needed: 108, most: 107 });
        assert_eq!(
            at(&fits).check(SUN_PATH_MACOS).unwrap_err().to_string(),
            "at byte 103: the socket path has 106 bytes, the maximum is 103"
        );
    }

    #[test]
    fn number_parses_only_as_printf_writes() {
        assert_eq!(number::<u32>("12-x"), Some((12, "-x")));
        assert_eq!(number::<u32>("0"), Some((0, "")));
        assert_eq!(number::<u32>("4294967295"), Some((u32::MAX, "")));
        for text in ["", "012", "+1", "-1", " 1", "4294967296"] {
            assert_eq!(number::<u32>(text), None, "{text:?}");
        }
    }
}
