//! The key from `/proc/PID/stat`.

use core::fmt;

use super::{NameError, NameErrorKind, number, put_text};
use crate::wire::{Encode, EncodeError, Sink};

/// The position of the start time among the fields after the process name: it is the 22nd field,
/// the name the second.
const START_TIME: usize = 19;

/// The fields of `/proc/PID/stat` that the name of a socket contains: the process id and the start
/// time (F-82).
///
/// | field | what |
/// |---|---|
/// | 1 | the process id |
/// | 2 | the process name in parentheses. It may contain spaces, parentheses and newlines: the last `)` of the text ends it |
/// | 3–21 | skipped |
/// | 22 | when the process started, in jiffies since boot: the key |
/// | 23– | skipped |
///
/// ```
/// use dotnet_diagnostics_ipc::endpoint::{ProcessStat, SocketName};
///
/// let stat = ProcessStat::parse(b"12 (a) b (c) S 1 12 12 0 -1 4194304 9 0 0 0 1 2 0 0 20 0 7 0 345 99 ...")?;
/// assert_eq!(stat.start_time, 345);
/// assert_eq!(SocketName::new(stat.pid, stat.start_time).to_string(), "dotnet-diagnostic-12-345-socket");
/// # Ok::<(), dotnet_diagnostics_ipc::endpoint::NameError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ProcessStat {
    /// The process id, in the reader's pid namespace.
    pub pid: u32,
    /// In jiffies since boot.
    pub start_time: u64,
}

impl ProcessStat {
    /// Reads the whole text of the file. Bytes, since a process name may contain any.
    ///
    /// # Errors
    /// [`BadNumber`](NameErrorKind::BadNumber) at field 1 or 22,
    /// [`MissingName`](NameErrorKind::MissingName) at the end of a text without `)`,
    /// [`MissingField`](NameErrorKind::MissingField) at the end of a text that ends before or with
    /// field 22: its last digits may be missing. A runtime that cannot find the key uses
    /// [`UNKNOWN_KEY`](super::UNKNOWN_KEY); callers may do the same.
    pub fn parse(text: &[u8]) -> Result<Self, NameError> {
        let at = |rest: &[u8], kind| NameError::new(kind, text.len().saturating_sub(rest.len()));
        let close = text
            .iter()
            .rposition(|b| *b == b')')
            .ok_or_else(|| at(&[], NameErrorKind::MissingName))?;
        let (pid, _) = field(text);
        let pid = whole_number(pid).ok_or_else(|| at(text, NameErrorKind::BadNumber))?;
        let mut rest = text.get(close.saturating_add(1)..).unwrap_or_default();
        for _ in 0..START_TIME {
            rest = field(rest.trim_ascii_start()).1;
        }
        rest = rest.trim_ascii_start();
        let (start_time, behind) = field(rest);
        if behind.is_empty() {
            return Err(at(&[], NameErrorKind::MissingField));
        }
        let start_time =
            whole_number(start_time).ok_or_else(|| at(rest, NameErrorKind::BadNumber))?;
        Ok(Self { pid, start_time })
    }
}

/// The shortest text with these numbers that [`parse`](ProcessStat::parse) accepts: for testing a
/// reader without a process.
impl fmt::Display for ProcessStat {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} () S", self.pid)?;
        for _ in 1..START_TIME {
            f.write_str(" 0")?;
        }
        writeln!(f, " {}", self.start_time)
    }
}

impl Encode for ProcessStat {
    fn encode<S: Sink + ?Sized>(&self, sink: &mut S) -> Result<(), EncodeError> {
        put_text(self, sink);
        Ok(())
    }
}

/// The bytes up to white space, and the rest.
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
            // 58 bytes up to field 22, and one that ends it.
            let stat = ProcessStat::parse(text.get(..len).unwrap());
            assert_eq!(stat.is_ok(), len > 58, "{len}: {stat:?}");
        }
    }
}
