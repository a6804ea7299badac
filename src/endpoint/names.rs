//! Parses the names of sockets and pipes, and `/proc/PID/stat`.

use super::{NamePrefix, encode_as_text, number};
use crate::text::{TextError, TextErrorKind};
use core::fmt;

const SUFFIX: &str = "-socket";

/// The name of a default port's socket without its directory:
/// `dotnet-diagnostic-{pid}-{key}-socket`, with decimal numbers.
///
/// Compare ids as numbers: the text `dotnet-diagnostic-12` also begins the name of process 123.
///
/// ```
/// use dotnet_diagnostics_ipc::endpoint::SocketName;
///
/// let name = SocketName::parse("dotnet-diagnostic-123-4567-socket")?;
/// assert_eq!((name.pid, name.key), (123, 4567));
/// assert_eq!(name.to_string(), "dotnet-diagnostic-123-4567-socket");
/// # Ok::<(), dotnet_diagnostics_ipc::text::TextError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct SocketName {
    /// The prefix: of an edition, or of dotnet-dsrouter.
    pub prefix: NamePrefix,
    /// The process id, in the runtime's own pid namespace.
    pub pid: u32,
    /// The disambiguation key: the start time of the process, or
    /// [`UNKNOWN_KEY`](super::UNKNOWN_KEY).
    pub key: u64,
    /// The ending, with or without `-socket`.
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
    /// The name ends with `-socket`, as a file name does.
    #[default]
    Socket,
    /// The name ends after the key, `dotnet-diagnostic-<pid>-<epoch>`, as section "Diagnostic
    /// Ports" prints it (F-85). No runtime creates such a file.
    AsPrinted,
}

impl SocketName {
    /// Returns the name that a runtime gives its socket.
    pub const fn new(pid: u32, key: u64) -> Self {
        Self { prefix: NamePrefix::Current, pid, key, form: SocketForm::Socket }
    }

    /// Parses the name of a socket.
    ///
    /// # Errors
    /// [`TextError`] at the invalid part: [`UnknownPrefix`](TextErrorKind::UnknownPrefix),
    /// [`BadNumber`](TextErrorKind::BadNumber), [`MissingKey`](TextErrorKind::MissingKey),
    /// [`UnknownSuffix`](TextErrorKind::UnknownSuffix).
    pub fn parse(name: &str) -> Result<Self, TextError> {
        let at = |rest: &str, kind| TextError::new(kind, name.len().saturating_sub(rest.len()));
        let (prefix, rest) = NamePrefix::strip(name)
            .ok_or_else(|| TextError::new(TextErrorKind::UnknownPrefix, 0))?;
        let (pid, rest) = number(rest).ok_or_else(|| at(rest, TextErrorKind::BadNumber))?;
        let rest = rest.strip_prefix('-').ok_or_else(|| at(rest, TextErrorKind::MissingKey))?;
        let (key, rest) = number(rest).ok_or_else(|| at(rest, TextErrorKind::BadNumber))?;
        let form = match rest {
            SUFFIX => SocketForm::Socket,
            "" => SocketForm::AsPrinted,
            _ => return Err(at(rest, TextErrorKind::UnknownSuffix)),
        };
        Ok(Self { prefix, pid, key, form })
    }

    /// Parses the last part of a path. Error offsets count from the start of that part.
    ///
    /// # Errors
    /// Returns the errors of [`parse`](Self::parse).
    ///
    /// ```
    /// use dotnet_diagnostics_ipc::endpoint::SocketName;
    ///
    /// assert_eq!(SocketName::from_path("/tmp/dotnet-diagnostic-12-0-socket"), Ok(SocketName::new(12, 0)));
    /// ```
    pub fn from_path(path: &str) -> Result<Self, TextError> {
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

encode_as_text! { SocketName }

/// The prefix that turns the name of a pipe into a path.
pub const PIPE_PREFIX: &str = r"\\.\pipe\";

/// Returns the name in the path of a pipe: what follows [`PIPE_PREFIX`], which Windows accepts in
/// upper and lower case.
///
/// ```
/// use dotnet_diagnostics_ipc::endpoint::strip_pipe_prefix;
///
/// assert_eq!(strip_pipe_prefix(r"\\.\PIPE\dotnet-diagnostic-12"), Some("dotnet-diagnostic-12"));
/// assert_eq!(strip_pipe_prefix("dotnet-diagnostic-12"), None);
/// ```
pub fn strip_pipe_prefix(path: &str) -> Option<&str> {
    let (prefix, name) = path.split_at_checked(PIPE_PREFIX.len())?;
    prefix.eq_ignore_ascii_case(PIPE_PREFIX).then_some(name)
}

/// The name of a default port's pipe on Windows: `dotnet-diagnostic-{pid}`, with or without
/// [`PIPE_PREFIX`].
///
/// ```
/// use dotnet_diagnostics_ipc::endpoint::PipeName;
///
/// let name = PipeName::parse(r"\\.\pipe\dotnet-diagnostic-12")?;
/// assert_eq!((name.pid, name.is_path), (12, true));
/// assert_eq!(PipeName::new(12).to_string(), "dotnet-diagnostic-12");
/// # Ok::<(), dotnet_diagnostics_ipc::text::TextError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct PipeName {
    /// The prefix: of an edition, or of dotnet-dsrouter.
    pub prefix: NamePrefix,
    /// The process id.
    pub pid: u32,
    /// Whether the name begins with [`PIPE_PREFIX`], which is needed to open the pipe.
    pub is_path: bool,
}

impl PipeName {
    /// Returns the name that a runtime gives its pipe, without [`PIPE_PREFIX`].
    pub const fn new(pid: u32) -> Self {
        Self { prefix: NamePrefix::Current, pid, is_path: false }
    }

    /// Parses the name of a pipe. Case matters here, as runtimes write the name in lower case;
    /// Windows ignores case.
    ///
    /// # Errors
    /// [`TextError`] at the invalid part: [`UnknownPrefix`](TextErrorKind::UnknownPrefix),
    /// [`BadNumber`](TextErrorKind::BadNumber),
    /// [`UnknownSuffix`](TextErrorKind::UnknownSuffix).
    pub fn parse(name: &str) -> Result<Self, TextError> {
        let at = |rest: &str, kind| TextError::new(kind, name.len().saturating_sub(rest.len()));
        let (is_path, rest) =
            name.strip_prefix(PIPE_PREFIX).map_or((false, name), |rest| (true, rest));
        let (prefix, rest) =
            NamePrefix::strip(rest).ok_or_else(|| at(rest, TextErrorKind::UnknownPrefix))?;
        let (pid, rest) = number(rest).ok_or_else(|| at(rest, TextErrorKind::BadNumber))?;
        if !rest.is_empty() {
            return Err(at(rest, TextErrorKind::UnknownSuffix));
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

encode_as_text! { PipeName }

/// The index of the start time (field 22) among the fields after the process name (field 2).
const START_TIME: usize = 19;

/// The fields of `/proc/PID/stat` that the name of a socket contains: the process id and the start
/// time (F-82).
///
/// | field | what |
/// |---|---|
/// | 1 | the process id |
/// | 2 | the process name in parentheses. It may contain spaces, parentheses and newlines, so it ends at the last `)` of the text |
/// | 3–21 | skipped |
/// | 22 | the start time of the process in jiffies since boot, which is the key |
/// | 23– | skipped |
///
/// ```
/// use dotnet_diagnostics_ipc::endpoint::{ProcessStat, SocketName};
///
/// let stat = ProcessStat::parse(b"12 (a) b (c) S 1 12 12 0 -1 4194304 9 0 0 0 1 2 0 0 20 0 7 0 345 99 ...")?;
/// assert_eq!(stat.start_time, 345);
/// assert_eq!(SocketName::new(stat.pid, stat.start_time).to_string(), "dotnet-diagnostic-12-345-socket");
/// # Ok::<(), dotnet_diagnostics_ipc::text::TextError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ProcessStat {
    /// The process id, in the reader's pid namespace.
    pub pid: u32,
    /// The start time in jiffies since boot.
    pub start_time: u64,
}

impl ProcessStat {
    /// Parses the whole text of the file. It is bytes, because a process name may contain any byte.
    ///
    /// # Errors
    /// [`BadNumber`](TextErrorKind::BadNumber) at field 1 or 22,
    /// [`MissingName`](TextErrorKind::MissingName) at the end of a text without `)`, and
    /// [`MissingField`](TextErrorKind::MissingField) at the end of a text that ends before or with
    /// field 22, because its last digits may be missing. A runtime that cannot find the key uses
    /// [`UNKNOWN_KEY`](super::UNKNOWN_KEY), and callers may do the same.
    pub fn parse(text: &[u8]) -> Result<Self, TextError> {
        let at = |rest: &[u8], kind| TextError::new(kind, text.len().saturating_sub(rest.len()));
        let close = text
            .iter()
            .rposition(|b| *b == b')')
            .ok_or_else(|| at(&[], TextErrorKind::MissingName))?;
        let (pid, _) = field(text);
        let pid = whole_number(pid).ok_or_else(|| at(text, TextErrorKind::BadNumber))?;
        let mut rest = text.get(close.saturating_add(1)..).unwrap_or_default();
        for _ in 0..START_TIME {
            rest = field(rest.trim_ascii_start()).1;
        }
        rest = rest.trim_ascii_start();
        let (start_time, behind) = field(rest);
        if behind.is_empty() {
            return Err(at(&[], TextErrorKind::MissingField));
        }
        let start_time =
            whole_number(start_time).ok_or_else(|| at(rest, TextErrorKind::BadNumber))?;
        Ok(Self { pid, start_time })
    }
}

/// Writes the shortest text with these numbers that [`parse`](ProcessStat::parse) accepts, for
/// tests without a process.
impl fmt::Display for ProcessStat {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} () S", self.pid)?;
        for _ in 1..START_TIME {
            f.write_str(" 0")?;
        }
        writeln!(f, " {}", self.start_time)
    }
}

encode_as_text! { ProcessStat }

/// Returns the bytes up to white space, and the rest.
fn field(text: &[u8]) -> (&[u8], &[u8]) {
    let len = text.iter().take_while(|b| !b.is_ascii_whitespace()).count();
    text.split_at_checked(len).unwrap_or_default()
}

fn whole_number<T: core::str::FromStr>(field: &[u8]) -> Option<T> {
    match number(core::str::from_utf8(field).ok()?)? {
        (number, "") => Some(number),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    extern crate std;
    use super::*;

    #[test]
    fn every_prefix_is_refused_or_read_without_panic() {
        let text = b"12 (a) S 1 2 3 4 -1 6 7 8 9 10 11 12 13 14 15 16 17 18 345 7 8\n";
        for len in 0..=text.len() {
            // The 58 bytes up to field 22, and one byte that ends the field.
            let stat = ProcessStat::parse(text.get(..len).unwrap());
            assert_eq!(stat.is_ok(), len > 58, "{len}: {stat:?}");
        }
    }
}
