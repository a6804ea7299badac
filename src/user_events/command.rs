//! The command string that registers a tracepoint: its name, and the fields of a record.

use core::fmt;

use crate::message::eventpipe::MAX_TRACEPOINT_NAME_LEN;
use crate::wire::{
    self, Encode, EncodeError, Field, IpcString, Sink, SliceSink, WireError, WireErrorKind, clamp,
};

/// The fields of a record, as registered with the kernel ("Tracepoint Format V1").
pub const TRACEPOINT_FORMAT_V1: &str =
    "u8 version; u16 event_id; __rel_loc u8[] extension; __rel_loc u8[] payload";

/// The longest command string that the kernel accepts, including the NUL (F-65).
pub const MAX_COMMAND_LEN: usize = 512;

/// The command string of a tracepoint (section "`User_events` Registration", F-65).
///
/// | bytes | what |
/// |---|---|
/// | 1 to 436 | the name, in UTF-8 |
/// | 1 | a space |
/// | 74 | [`TRACEPOINT_FORMAT_V1`] |
///
/// A [`UserReg`](super::UserReg) points to it, followed by a NUL. Names are UTF-16 in a session
/// request, and UTF-8 here: the limit is in bytes, not units. A name that contains a space or NUL,
/// or is not valid Unicode, has no command string. Runtimes do not check: they register the part
/// before the NUL, a session whose name has a space fails with `E_FAIL` (P-22), and released .NET
/// 10 builds crash on a longer name (P-19).
///
/// ```
/// use dotnet_diagnostics_ipc::user_events::TracepointCommand;
///
/// let command = TracepointCommand::new("MyTracepoint".into())?;
/// let text = "MyTracepoint u8 version; u16 event_id; __rel_loc u8[] extension; __rel_loc u8[] payload";
/// assert_eq!(command.to_string(), text);
/// assert_eq!(TracepointCommand::parse(text.as_bytes()), Ok(command));
///
/// let mut buffer = [0xff; 100];
/// let len = command.write_c_string(&mut buffer)?;
/// assert_eq!((len, &buffer[..13], buffer[len - 1]), (text.len() + 1, &b"MyTracepoint "[..], 0));
/// # Ok::<(), dotnet_diagnostics_ipc::wire::EncodeError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TracepointCommand<'a> {
    /// Checked: not empty, no NUL or space, Unicode, not too long.
    name: IpcString<'a>,
}

impl<'a> TracepointCommand<'a> {
    /// The command string of the tracepoint `name`.
    ///
    /// # Errors
    /// [`EncodeError::EmptyName`] if it is empty or absent, [`EncodeError::ForbiddenUnit`] at a
    /// space, a NUL or half a surrogate pair, [`EncodeError::PartTooLong`] with its length in
    /// UTF-8 above [`MAX_TRACEPOINT_NAME_LEN`].
    pub fn new(name: IpcString<'a>) -> Result<Self, EncodeError> {
        if name.is_empty() {
            return Err(EncodeError::EmptyName);
        }
        let mut len = 0usize;
        for c in name.chars() {
            match c {
                Ok(' ') => return Err(EncodeError::ForbiddenUnit { unit: 0x20 }),
                Ok('\0') => return Err(EncodeError::ForbiddenUnit { unit: 0 }),
                Ok(c) => len = len.saturating_add(c.len_utf8()),
                Err(lone) => {
                    return Err(EncodeError::ForbiddenUnit { unit: lone.unpaired_surrogate() });
                }
            }
        }
        if len > MAX_TRACEPOINT_NAME_LEN {
            return Err(EncodeError::PartTooLong { len, max: wire::MAX_TRACEPOINT_NAME_LEN });
        }
        Ok(Self { name })
    }

    /// Reads a command string, without the final NUL. The first space ends the name.
    ///
    /// # Errors
    /// For `tracepoint_name`: [`EmptyTracepointName`](WireErrorKind::EmptyCommandName) at
    /// its place, [`BadTracepointName`](WireErrorKind::BadTracepointName) at the first
    /// NUL or byte that is not UTF-8,
    /// [`TracepointNameTooLong`](WireErrorKind::CommandNameTooLong) at the first byte
    /// beyond the limit. Otherwise
    /// [`UnknownTracepointFormat`](WireErrorKind::UnknownTracepointFormat) at the first byte
    /// that differs from [`TRACEPOINT_FORMAT_V1`] (or at the end of the text).
    pub fn parse(text: &'a [u8]) -> Result<Self, WireError> {
        let of_name =
            |kind, offset| Err(WireError::new(kind, offset).within(Field::TracepointName));
        let end = text.iter().position(|byte| *byte == b' ').unwrap_or(text.len());
        let (name, rest) = text.split_at_checked(end).unwrap_or((text, &[]));
        if name.is_empty() {
            return of_name(WireErrorKind::EmptyCommandName, 0);
        }
        let utf8 = core::str::from_utf8(name);
        let valid = utf8.map_or_else(|error| error.valid_up_to(), str::len);
        let bad = name.iter().position(|byte| *byte == 0).unwrap_or(valid).min(valid);
        if let Some(byte) = name.get(bad) {
            return of_name(WireErrorKind::BadTracepointName { byte: *byte }, bad);
        }
        if name.len() > MAX_TRACEPOINT_NAME_LEN {
            return of_name(
                WireErrorKind::CommandNameTooLong { len: clamp(name.len()) },
                MAX_TRACEPOINT_NAME_LEN,
            );
        }
        if rest.strip_prefix(b" ") != Some(TRACEPOINT_FORMAT_V1.as_bytes()) {
            let format = b" ".iter().chain(TRACEPOINT_FORMAT_V1.as_bytes());
            let same = rest.iter().zip(format).take_while(|(have, want)| have == want).count();
            return Err(WireError::new(
                WireErrorKind::UnknownTracepointFormat,
                end.saturating_add(same),
            ));
        }
        Ok(Self { name: IpcString::new(utf8.unwrap_or_default()) })
    }

    /// The tracepoint's name.
    pub const fn name(&self) -> IpcString<'a> {
        self.name
    }

    /// Writes the text and a final NUL, as the kernel expects, and returns the length in bytes,
    /// including the NUL.
    ///
    /// # Errors
    /// [`EncodeError::BufferTooSmall`]; [`MAX_COMMAND_LEN`] bytes are always enough.
    pub fn write_c_string(&self, buffer: &mut [u8]) -> Result<usize, EncodeError> {
        let mut sink = SliceSink::new(buffer);
        self.encode(&mut sink)?;
        sink.put(&[0]);
        sink.finish()
    }
}

/// The text, without a NUL.
impl fmt::Display for TracepointCommand<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {TRACEPOINT_FORMAT_V1}", self.name)
    }
}

/// The text in UTF-8, without a NUL.
impl Encode for TracepointCommand<'_> {
    #[inline]
    fn encode<S: Sink + ?Sized>(&self, sink: &mut S) -> Result<(), EncodeError> {
        // All of it is text: `new` and `parse` checked that.
        self.name.put_utf8(sink);
        sink.put(b" ");
        sink.put(TRACEPOINT_FORMAT_V1.as_bytes());
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    extern crate std;
    use super::*;
    use std::{format, string::ToString as _, vec::Vec};

    #[test]
    fn longest_name_fills_the_command() {
        let name = "n".repeat(436);
        let command = TracepointCommand::new(IpcString::new(&name)).unwrap();
        let mut buffer = [0xff; MAX_COMMAND_LEN];
        assert_eq!(command.write_c_string(&mut buffer), Ok(512));
        assert_eq!(buffer[511], 0);
        assert_eq!(TracepointCommand::parse(&buffer[..511]), Ok(command));
        assert_eq!(
            command.write_c_string(&mut buffer[..511]),
            Err(EncodeError::BufferTooSmall { needed: 512 })
        );
    }

    #[test]
    fn utf16_units_become_utf8() {
        let units: Vec<u16> = "Ereignis-Ü😀".encode_utf16().collect();
        let command = TracepointCommand::new(IpcString::from_units(&units)).unwrap();
        let mut bytes = Vec::new();
        command.encode(&mut bytes).unwrap();
        assert_eq!(bytes, format!("Ereignis-Ü😀 {TRACEPOINT_FORMAT_V1}").as_bytes());
        assert_eq!(command.to_string().as_bytes(), bytes);
    }
}
