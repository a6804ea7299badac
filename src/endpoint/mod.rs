//! Find a runtime's default port: names of sockets and pipes, their directory, and the key in a
//! name.
//!
//! Section "Naming and Location Conventions". This module does not access the system: the caller
//! provides file names, the value of `TMPDIR` and the text of `/proc/PID/stat`.
//!
//! | on | name | in |
//! |---|---|---|
//! | Unix | [`SocketName`]: `dotnet-diagnostic-{pid}-{key}-socket` | [`directory`] |
//! | Windows | [`PipeName`]: `dotnet-diagnostic-{pid}` | `\\.\pipe\` |
//!
//! For the device behind it, dotnet-dsrouter has a second one, with [`NamePrefix::Router`].
//!
//! The key is the start time of the process. Linux: in jiffies since boot, from `/proc/PID/stat`
//! ([`ProcessStat`]). macOS: in seconds since 1970; ask the system. [`UNKNOWN_KEY`] if the runtime
//! could not determine it (F-61).
//!
//! A socket file does not prove a live process: only a clean shutdown removes it (F-61, F-82).
#![forbid(unsafe_code)]

//! # Example
//!
//! Find out which process a socket belongs to, and how the socket of a process is named:
//!
//! ```
//! use dotnet_diagnostics_ipc::endpoint::{ProcessStat, SocketName};
//!
//! assert_eq!(SocketName::parse("dotnet-diagnostic-12-345-socket")?.pid, 12);
//!
//! // What /proc/12/stat has. Its start time is a part of the name.
//! let stat = ProcessStat::parse(b"12 (app) S 1 12 12 0 -1 4194304 9 0 0 0 1 2 0 0 20 0 7 0 345 99")?;
//! assert_eq!(SocketName::new(stat.pid, stat.start_time).to_string(), "dotnet-diagnostic-12-345-socket");
//! # Ok::<(), dotnet_diagnostics_ipc::text::TextError>(())
//! ```

mod names;

use core::fmt;

pub use names::{PIPE_PREFIX, PipeName, ProcessStat, SocketForm, SocketName};

use crate::text::{TextError, TextErrorKind};
use crate::wire::{Encode as _, Sink};

/// The key in a name if the runtime could not determine when its process started (F-61).
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
    /// `dotnet-diagnostic-`: what every released runtime writes.
    #[default]
    Current,
    /// `dotnetcore-diagnostic-`: the draft of 2019-05.
    Draft,
    /// `dotnet-diagnostic-dsrouter-`: not a runtime, but the device behind the `dotnet-dsrouter` with this
    /// process id (F-162).
    Router,
}

impl NamePrefix {
    /// The text, with the hyphen before the process id.
    pub const fn text(self) -> &'static str {
        match self {
            Self::Current => "dotnet-diagnostic-",
            Self::Draft => "dotnetcore-diagnostic-",
            Self::Router => "dotnet-diagnostic-dsrouter-",
        }
    }

    /// The prefix of `name`, and the rest.
    fn strip(name: &str) -> Option<(Self, &str)> {
        // The first begins with the second.
        [Self::Router, Self::Current, Self::Draft]
            .into_iter()
            .find_map(|prefix| Some((prefix, name.strip_prefix(prefix.text())?)))
    }
}

/// The directory of the default port's socket: `tmpdir`, the value of `TMPDIR`; `/tmp` if it is
/// unset or empty.
///
/// A sandboxed application on macOS has its socket in the container directory of its Application
/// Group instead, whatever the value of `TMPDIR`. Only the system knows that directory: use its
/// path in place of this function's result.
///
/// The text is returned unchanged. The document does not mention a final slash; [`SocketPath`] adds
/// one only if there is none, as runtimes do: `/x` and `/x/` give the same path, and `/x//` keeps
/// both slashes.
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

/// Checks that a socket path of `len` bytes can be bound or connected to: that `len` is at most
/// `most`. The address of a diagnostic port has the same limit.
pub(crate) fn check_path_len(len: usize, most: usize) -> Result<(), TextError> {
    if len <= most {
        return Ok(());
    }
    Err(TextError::new(TextErrorKind::PathTooLong { needed: len, most }, most))
}

/// The path of a default port's socket: a directory and a name, joined by [`Display`](fmt::Display)
/// or [`Encode`](crate::wire::Encode).
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
/// // Of a sandboxed application on macOS: the container is what the system says it is.
/// let container = "/Users/me/Library/Group Containers/TEAM.group";
/// let path = SocketPath { directory: container, name: SocketName::new(12, 345) };
/// assert_eq!(path.to_string(), "/Users/me/Library/Group Containers/TEAM.group/dotnet-diagnostic-12-345-socket");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct SocketPath<'a> {
    /// The directory: the result of [`directory`], or an Application Group's container.
    pub directory: &'a str,
    /// The name in it.
    pub name: SocketName,
}

impl SocketPath<'_> {
    /// Checks that the path has at most `most` bytes ([`SUN_PATH_LINUX`], [`SUN_PATH_MACOS`]). A
    /// runtime with a longer path has no socket and runs without one (F-82).
    ///
    /// # Errors
    /// [`PathTooLong`](TextErrorKind::PathTooLong), with both numbers.
    pub fn check(&self, most: usize) -> Result<(), TextError> {
        // A path always encodes.
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

/// Writes text to a sink.
pub(crate) struct TextSink<'s, S: ?Sized>(pub(crate) &'s mut S);

impl<S: Sink + ?Sized> fmt::Write for TextSink<'_, S> {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        self.0.put(text.as_bytes());
        Ok(())
    }
}

/// Implements `Encode` by `Display`: the bytes of the text.
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

/// The decimal number at the front of `text`, as `%d` and `%llu` write it, and the rest. No sign,
/// no leading zero.
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
        // 31 bytes of name and a slash: 75 more make 107.
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
